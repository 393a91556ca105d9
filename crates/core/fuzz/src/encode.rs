//! Compares the fast encoder and decoder with the rule applied piece by piece.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use toksmith_core::decode::Decoder;
use toksmith_core::encode::Encoder;
use toksmith_core::kinds::{PieceEncoder, PieceScratch};
use toksmith_core::split::pattern::PATTERNS;
use toksmith_core::split::special::{AddedToken, AddedTokenFlags, AddedTokens, Allow, Segment};
use toksmith_core::split::{Splitter, Text};
use toksmith_core::table::parse_tiktoken;
use toksmith_core::text::bounds::Bounds;
use toksmith_core::threads::parallel::Stop;
use toksmith_core::vocab::{MergeRule, Tables, Unit, Vocab};

use crate::text::text_of;

/// An encoder with its slow twin.
struct Twins {
    pieces: Arc<PieceEncoder>,
    fast: Encoder,
    slow: &'static Splitter,
    decoder: Decoder,
}

/// No split, and the regex of each row. Compiled once, because compiling takes longer than all else.
fn engines() -> &'static [Splitter] {
    static ENGINES: OnceLock<Vec<Splitter>> = OnceLock::new();
    ENGINES.get_or_init(|| {
        let regexes = std::iter::once(&[][..]).chain(PATTERNS.iter().map(|row| row.regexes));
        regexes.map(|regexes| Splitter::without_scanners(regexes).expect("the regexes compile")).collect()
    })
}

impl Twins {
    /// The encoders of a pattern row, or without a split for None.
    fn new(vocab: Vocab, row: Option<usize>) -> Self {
        let pieces = Arc::new(PieceEncoder::plain(Arc::new(vocab)));
        let vocab = pieces.vocab();
        let regexes = row.map_or(&[][..], |row| PATTERNS[row].regexes);
        let token = |content: &str, past: u32, special| AddedToken {
            content: content.to_owned(),
            id: vocab.size() as u32 + past,
            special,
            flags: AddedTokenFlags::default(),
        };
        let added = vec![token("<|end|>", 0, true), token("<|end", 1, true), token("##", 2, false)];
        let added = AddedTokens::new(added).expect("the added tokens are possible");
        let fast = Encoder::new(pieces.clone(), added, Splitter::new(regexes).expect("the regexes compile"));
        let decoder = Decoder::new(Arc::clone(vocab), fast.added().tokens());
        Self { pieces, fast, slow: &engines()[row.map_or(0, |row| row + 1)], decoder }
    }

    /// Encodes enough pieces of wide characters that new ones are cut from then on.
    fn begin_to_cut(&self) {
        static WIDE: OnceLock<String> = OnceLock::new();
        let wide = WIDE.get_or_init(|| {
            let letter = |place: u32| char::from_u32(0x0E01 + place % 32).unwrap_or('ก');
            (0..3000)
                .map(|word| [' ', 'ก', letter(word), letter(word / 32), letter(word / 1024)])
                .map(String::from_iter)
                .collect()
        });
        self.encode(Text::Str(wide), &Allow::Text);
    }

    fn encode(&self, text: Text<'_>, allow: &Allow) -> Vec<u32> {
        let (mut ids, stop) = (Vec::new(), Stop::default());
        let outcome = self.fast.with_session(|session| self.fast.encode(text, allow, &stop, session, &mut ids));
        outcome.expect("every byte has an id");
        ids
    }

    fn encode_slowly(&self, text: Text<'_>, allow: &Allow) -> Vec<u32> {
        let (mut ids, mut scratch, stop) = (Vec::new(), PieceScratch::default(), Stop::default());
        let cut = self.fast.added().cut(text.as_bytes(), allow, |segment| match segment {
            Segment::Token(id, ..) => {
                ids.push(id);
                Ok(())
            }
            Segment::Text(start, end) => {
                let bounds = Bounds::new(end - start, &stop);
                let each = |piece: &[u8]| self.pieces.encode(piece, &stop, &mut scratch, &mut ids);
                self.slow.split(text.part(start, end), &bounds, each)
            }
        });
        cut.expect("every byte has an id");
        ids
    }

    /// Checks the text when new and when repeated, as text and as bytes, in a batch on two threads, and decoded.
    fn check(&self, text: &[u8]) {
        for allow in [Allow::Text, Allow::All] {
            let expected = self.encode_slowly(Text::Bytes(text), &allow);
            assert_eq!(self.encode(Text::Bytes(text), &allow), expected, "new");
            assert_eq!(self.encode(Text::Bytes(text), &allow), expected, "met before");
            if let Ok(text) = std::str::from_utf8(text) {
                assert_eq!(self.encode(Text::Str(text), &allow), expected, "as text");
            }
            let texts = [text, &text[..text.len() / 2], &text[text.len() / 2..], b"", text].map(Text::Bytes);
            let batch = self.fast.encode_batch(&texts, &allow, 2, &Stop::default()).expect("every byte has an id");
            for (text, ids) in texts.iter().zip(&batch) {
                assert_eq!(*ids, self.encode_slowly(*text, &allow), "in a batch");
            }
            let mut bytes = Vec::new();
            self.decoder.decode(&expected, &mut bytes).expect("the ids are known");
            assert_eq!(bytes, text, "and back");
        }
    }
}

/// Draws a vocabulary of the bytes and up to 63 tokens, each the join of two, and returns it with the rest of `data`.
fn drawn_vocab(data: &[u8]) -> Option<(Vocab, &[u8])> {
    let (&[options, count], data) = data.split_first_chunk()?;
    let (pairs, data) = data.split_at_checked(2 * usize::from(count % 64))?;
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut merges = Vec::new();
    for pair in pairs.chunks_exact(2) {
        // High codes pick the latest tokens, so that long tokens occur.
        let place =
            |code: u8| if code < 0x80 { usize::from(code) } else { tokens.len() - 1 - usize::from(code & 0x7F) };
        let (left, right) = (place(pair[0]), place(pair[1]));
        let joined = [&tokens[left][..], &tokens[right]].concat();
        if joined.len() <= 200 && !tokens.contains(&joined) {
            merges.push([left as u32, right as u32, tokens.len() as u32]);
            tokens.push(joined);
        }
    }
    // Ids in reverse order, so that an id is not a place.
    let most = tokens.len() as u32 - 1;
    let id = |place: u32| if options & 4 == 0 { place } else { most - place };
    let merges: Vec<[u32; 3]> = merges.into_iter().map(|merge| merge.map(id)).collect();
    let ids: Vec<u32> = (0..=most).map(id).collect();
    let blob = tokens.concat();
    let ends: Vec<u32> = tokens
        .iter()
        .scan(0, |end, token| {
            Some({
                *end += token.len() as u32;
                *end
            })
        })
        .collect();
    let (rule, merges) = if options & 1 == 0 { (MergeRule::Pair, &merges[..]) } else { (MergeRule::Bytes, &[][..]) };
    let tables = Tables { blob: &blob, ends: &ends, ids: &ids, merges };
    let vocab = Vocab::new(Unit::Byte, rule, options & 2 != 0, tables).expect("the tables hold what they must");
    Some((vocab, data))
}

/// Checks a drawn vocabulary of either rule, with or without whole-piece lookup, a pattern row, or a long text before.
///
/// # Panics
/// If the ids differ from the slow twin's, or decoding does not return the text.
pub fn check_drawn(data: &[u8]) {
    let (Some(options), Some((vocab, [row, data @ ..]))) = (data.first(), drawn_vocab(data)) else { return };
    let row = usize::from(*row) % (PATTERNS.len() + 2);
    let twins = Twins::new(vocab, (row < PATTERNS.len()).then_some(row));
    if *options & 8 != 0 {
        twins.begin_to_cut();
    }
    twins.check(&text_of(data));
}

fn published_twins() -> &'static [Twins] {
    static TWINS: OnceLock<Vec<Twins>> = OnceLock::new();
    TWINS.get_or_init(|| {
        let folder = std::env::var_os("TOKSMITH_TEST_DATA").expect("TOKSMITH_TEST_DATA names a folder with vocab/");
        let twins = |(file, row): (&str, &str)| {
            let path = PathBuf::from(&folder).join("vocab").join(file);
            let data = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let tokens = parse_tiktoken(&data).expect("a published file is well-formed");
            let tables = Tables { blob: &tokens.blob, ends: &tokens.ends, ids: &tokens.ids, merges: &[] };
            let vocab = Vocab::new(Unit::Byte, MergeRule::Bytes, true, tables).expect("a published vocabulary");
            let row = PATTERNS.iter().position(|pattern| pattern.name == row).expect("a row of the table");
            Twins::new(vocab, Some(row))
        };
        [
            ("r50k_base.tiktoken", "gpt2"),
            ("cl100k_base.tiktoken", "cl100k"),
            ("o200k_base.tiktoken", "o200k"),
            ("llama3.tiktoken", "llama3"),
        ]
        .map(twins)
        .into()
    })
}

/// Checks the published vocabularies in the folder `TOKSMITH_TEST_DATA`, with one memory for all texts.
///
/// # Panics
/// If the folder is missing, and where [`check_drawn`] panics.
pub fn check_published(data: &[u8]) {
    let text = text_of(data);
    for twins in published_twins() {
        twins.check(&text);
    }
}

/// Checks the decoding of any ids, known or not, against the tokens one by one.
///
/// # Panics
/// If the bytes or the first unknown id differ.
pub fn decode(data: &[u8]) {
    let Some((vocab, data)) = drawn_vocab(data) else { return };
    let ids: Vec<u32> = data
        .chunks(2)
        .map(|code| match *code {
            [0xFF, low] => u32::MAX - u32::from(low),
            [high, low] => u32::from(high & 1) << 8 | u32::from(low),
            _ => u32::from(code[0]),
        })
        .collect();
    let expected: Vec<u8> = ids.iter().map_while(|&id| vocab.token(id)).flatten().copied().collect();
    let stops = ids.iter().position(|&id| vocab.token(id).is_none());
    let mut bytes = Vec::new();
    match Decoder::new(Arc::new(vocab), &[]).decode(&ids, &mut bytes) {
        Ok(()) => assert_eq!((bytes, stops), (expected, None)),
        Err(toksmith_core::Error::UnknownId { position, .. }) => assert_eq!((bytes, Some(position)), (expected, stops)),
        Err(other) => panic!("{other}"),
    }
}
