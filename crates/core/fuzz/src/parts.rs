//! Draws the parts of a tokenizer: a vocabulary of every kind, added tokens with all flags, and every row of the step
//! tables.

use std::sync::Arc;

use toksmith_core::kinds::hf_characters::HfCharacters;
use toksmith_core::kinds::sentencepiece::merge::MissingRule;
use toksmith_core::kinds::unigram::{Unigram, UnigramRules};
use toksmith_core::kinds::wordpiece::WordPiece;
use toksmith_core::kinds::{Kernel, PieceEncoder};
use toksmith_core::split::pattern::PATTERNS;
use toksmith_core::split::special::{AddedToken, AddedTokenFlags};
use toksmith_core::steps::{Spec, Value};
use toksmith_core::vocab::{MergeRule, Tables, Unit, Vocab};

/// The bytes of `data` one at a time; zeros after its end.
pub struct Codes<'d>(&'d [u8]);

impl<'d> Codes<'d> {
    /// Starts at the first byte of `data`.
    #[must_use]
    pub fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    /// The bytes not drawn from yet.
    #[must_use]
    pub fn rest(self) -> &'d [u8] {
        self.0
    }

    /// Draws a number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(first) % count
    }

    fn one<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len())]
    }

    fn number(&mut self, count: usize) -> i64 {
        i64::try_from(self.below(count)).unwrap_or(0)
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }
}

/// The parts of a tokenizer.
pub struct Drawn {
    /// The encoder of pieces.
    pub pieces: PieceEncoder,
    /// The symbols of pieces of characters.
    pub symbols: Option<HfCharacters>,
    /// The added tokens, cut out first.
    pub added: Vec<AddedToken>,
    /// The normalizers.
    pub normalizers: Vec<Spec>,
    /// The splitters.
    pub cuts: Vec<Spec>,
    /// The decoders.
    pub decoders: Vec<Spec>,
}

/// The characters that have tokens where the unit is the character.
const CHARACTERS: &[&str] = &[
    "a", "b", "c", "e", "l", "o", "s", "t", "w", "A", "1", "2", " ", "▁", "é", "\u{301}", "中", "文", "Ġ", "!", ".",
    "'", "ſ", "\n", "😀", "가",
];
/// Contents of added tokens. They overlap each other, and normalizers change them.
const CONTENTS: &[&str] = &[
    "<s>", "</s>", "<|end|>", "<|end", "a b", " a", "É", "e\u{301}", "ß", "▁a", "##", "aa", "[X]", " ", "\u{fb01}",
    "Å", "\t", "1", "<s", "中",
];
const REGEXES: &[&str] = &[r"\s+", r"\w+", r"\d", "a", r"a*", r"\s?\w+|\S", "é|ß", r"(?=a)", r"[^a]+", r"$", r"^."];
const LITERALS: &[&str] = &[" ", "a", "", "▁", "e\u{301}", "aa", "中", "  "];
const NEW: &[&str] = &["", "▁", " ", "a", "bb", "e\u{301}", "\u{fb01}", "<s>", "éé"];
const BEHAVIORS: &[&str] = &["removed", "isolated", "contiguous", "merged_with_previous", "merged_with_next"];
/// Values for options that take a short string.
const MARKS: &[&str] = &["▁", " ", "a", "é", "😀"];

/// Draws a tokenizer; None if the drawn tables are not a vocabulary.
pub fn draw_tokenizer(codes: &mut Codes<'_>) -> Option<Drawn> {
    let (pieces, symbols) = pieces(codes)?;
    let size = u32::try_from(pieces.vocab().size()).ok()?;
    let added = draw_added_tokens(codes, size);
    let steps = |codes: &mut Codes<'_>, one: fn(&mut Codes<'_>) -> Spec| {
        let count = codes.below(4);
        (0..count).map(|_| one(codes)).collect::<Vec<_>>()
    };
    let (normalizers, cuts, decoders) = (steps(codes, normalizer), steps(codes, splitter), steps(codes, decoder));
    Some(Drawn { pieces, symbols, added, normalizers, cuts, decoders })
}

fn pieces(codes: &mut Codes<'_>) -> Option<(PieceEncoder, Option<HfCharacters>)> {
    let kind = codes.below(6);
    let unknown = codes.flag();
    let whole = codes.flag();
    let (prefix, suffix) = (codes.one(&["", "##"]), codes.one(&["", "</w>"]));
    let of_bytes = kind < 2;
    let mut tokens: Vec<Vec<u8>> = Vec::new();
    if of_bytes {
        tokens.extend((0..=u8::MAX).map(|byte| vec![byte]));
    } else {
        let marked =
            |char: &str| [format!("{prefix}{char}"), format!("{char}{suffix}"), format!("{prefix}{char}{suffix}")];
        let forms = CHARACTERS.iter().flat_map(|&char| std::iter::once(char.to_owned()).chain(marked(char)));
        tokens.extend(forms.map(String::into_bytes));
        tokens.extend((0..=u8::MAX).filter(|_| whole).map(|byte| format!("<0x{byte:02X}>").into_bytes()));
        tokens.push(b"<unk>".to_vec());
        let mut distinct = std::collections::HashSet::new();
        tokens.retain(|token| distinct.insert(token.clone()));
    }
    let unknown_id = u32::try_from(tokens.len() - 1).ok().filter(|_| unknown && !of_bytes);
    let merges = draw_merges(codes, &mut tokens, prefix);
    let rule = if kind == 1 { MergeRule::Bytes } else { MergeRule::Pair };
    let unit = [Unit::Byte, Unit::Byte, Unit::Char, Unit::Piece, Unit::Piece, Unit::Piece][kind];
    let merges = if rule == MergeRule::Pair && unit != Unit::Piece { merges } else { Vec::new() };
    let merging = Merging { unit, rule, whole_piece: whole, prefix: if kind == 2 { prefix } else { "" } };
    let vocab = Arc::new(table(&tokens, &merges, &merging)?);
    let mut symbols = None;
    let kernel = match kind {
        2 => {
            let (prefix, suffix) = (prefix.to_owned(), suffix.to_owned());
            let (fuse_unknown, byte_fallback, drops_unknown) = (codes.flag(), whole, false);
            let unknown = unknown_id;
            symbols = Some(HfCharacters { prefix, suffix, unknown, fuse_unknown, byte_fallback, drops_unknown });
            Kernel::Merge(None)
        }
        3 => {
            let pieces = WordPiece::new(&vocab, "##", Some(20), unknown_id);
            Kernel::WordPiece(pieces)
        }
        4 => Kernel::Words(Some(unknown_id.unwrap_or(0))),
        5 => {
            let scores: Vec<f64> =
                (0..vocab.size() as u32).take(vocab.len()).map(|place| -f64::from(place * 7 % 23) / 2.0).collect();
            let missing = unknown_id.map_or(MissingRule::Error, MissingRule::Unknown);
            let rules = UnigramRules {
                scores: &scores,
                single: codes.flag(),
                symbols: &[],
                silent: &[],
                missing,
                unknown: unknown_id,
                escape: false,
            };
            let unigram = Unigram::new(&vocab, rules).ok()?;
            Kernel::Unigram(Box::new(unigram))
        }
        _ => Kernel::Merge(None),
    };
    Some((PieceEncoder::new(vocab, kernel), symbols))
}

/// Adds up to 31 tokens, each the concatenation of two, and returns the merges that make them.
fn draw_merges(codes: &mut Codes<'_>, tokens: &mut Vec<Vec<u8>>, prefix: &str) -> Vec<[u32; 3]> {
    let count = codes.below(32);
    let mut merges = Vec::new();
    for _ in 0..count {
        // Half the draws pick the latest token, so that long tokens occur.
        let mut place = || {
            let (code, last) = (codes.below(256), tokens.len() - 1);
            if code < 128 { code % (last + 1) } else { last - (code - 128) % last.min(16) }
        };
        let (left, right) = (place(), place());
        let rest = tokens[right].strip_prefix(prefix.as_bytes()).unwrap_or(&tokens[right]);
        let joined = [&tokens[left][..], rest].concat();
        if joined.len() <= 100 && !tokens.contains(&joined) {
            merges.push([left, right, tokens.len()].map(|place| u32::try_from(place).unwrap_or(0)));
            tokens.push(joined);
        }
    }
    merges
}

struct Merging<'a> {
    unit: Unit,
    rule: MergeRule,
    whole_piece: bool,
    prefix: &'a str,
}

fn table(tokens: &[Vec<u8>], merges: &[[u32; 3]], merging: &Merging<'_>) -> Option<Vocab> {
    let ids: Vec<u32> = (0..u32::try_from(tokens.len()).ok()?).collect();
    let mut ends = Vec::with_capacity(tokens.len());
    for token in tokens {
        ends.push(ends.last().copied().unwrap_or(0) + u32::try_from(token.len()).ok()?);
    }
    let tables = Tables { blob: &tokens.concat(), ends: &ends, ids: &ids, merges };
    let Merging { unit, rule, whole_piece, prefix } = *merging;
    Vocab::with_prefix(unit, rule, whole_piece, tables, prefix.as_bytes()).ok()
}

fn draw_added_tokens(codes: &mut Codes<'_>, size: u32) -> Vec<AddedToken> {
    let mut added: Vec<AddedToken> = Vec::new();
    for past in 0..codes.below(5) {
        let content = codes.one(CONTENTS).to_owned();
        let bits = codes.below(32);
        let flag = |bit: usize| bits >> bit & 1 == 1;
        let flags = AddedTokenFlags { lstrip: flag(0), rstrip: flag(1), single_word: flag(2), normalized: flag(3) };
        if added.iter().all(|token| token.content != content) {
            added.push(AddedToken { content, id: size + u32::try_from(past).unwrap_or(0), special: flag(4), flags });
        }
    }
    added
}

fn spec<const N: usize>(kind: &str, options: [(&str, Value); N]) -> Spec {
    Spec { kind: kind.to_owned(), options: options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect() }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Draws a pattern with its dialect.
fn draw_search(codes: &mut Codes<'_>) -> (Value, Value) {
    match codes.below(3) {
        0 => (text(codes.one(REGEXES)), text("rust")),
        1 => (text(codes.one(REGEXES)), text("onig")),
        _ => (text(codes.one(LITERALS)), text("literal")),
    }
}

fn normalizer(codes: &mut Codes<'_>) -> Spec {
    let plain = ["nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents", "nmt", "byte_characters"];
    match codes.below(plain.len() + 4) {
        0 => {
            let ((pattern, dialect), content) = (draw_search(codes), text(codes.one(NEW)));
            spec("replace", [("pattern", pattern), ("dialect", dialect), ("content", content)])
        }
        1 => spec("prepend", [("prepend", text(codes.one(&NEW[1..])))]),
        2 => spec("strip", [("left", Value::Flag(codes.flag())), ("right", Value::Flag(codes.flag()))]),
        3 => {
            let flags = ["clean_text", "handle_chinese_chars", "strip_accents", "lowercase"];
            spec("bert", flags.map(|name| (name, Value::Flag(codes.flag()))))
        }
        other => spec(plain[other - 4], []),
    }
}

fn splitter(codes: &mut Codes<'_>) -> Spec {
    let plain = ["bert", "byte_characters", "prefix_space", "unicode_scripts", "whitespace", "whitespace_split"];
    let cut = |codes: &mut Codes<'_>| [("behavior", text(codes.one(BEHAVIORS))), ("invert", Value::Flag(codes.flag()))];
    match codes.below(plain.len() + 7) {
        0 => {
            let (pattern, dialect) = draw_search(codes);
            let [behavior, invert] = cut(codes);
            if dialect == text("literal") {
                return spec("literal", [("pattern", pattern), behavior, invert]);
            }
            spec("regex", [("pattern", pattern), ("dialect", dialect), behavior, invert])
        }
        1 => {
            let row = &PATTERNS[codes.below(PATTERNS.len())];
            let (pattern, behavior) = (text(row.regexes[0]), ("behavior", text("isolated")));
            spec("regex", [("pattern", pattern), ("dialect", text("rust")), behavior, ("invert", Value::Flag(false))])
        }
        2 => spec("delimiter", [("delimiter", text(codes.one(MARKS)))]),
        3 => spec("digits", [("individual", Value::Flag(codes.flag()))]),
        4 => spec("fixed_length", [("length", Value::Number(codes.number(5) + 1))]),
        5 => {
            let prepend = text(codes.one(&["always", "first", "never"]));
            let (mark, splits) = (text(codes.one(MARKS)), Value::Flag(codes.flag()));
            spec("metaspace", [("replacement", mark), ("prepend", prepend), ("split", splits)])
        }
        6 => spec("punctuation", [("behavior", text(codes.one(BEHAVIORS)))]),
        other => spec(plain[other - 7], []),
    }
}

fn decoder(codes: &mut Codes<'_>) -> Spec {
    let plain = ["byte_characters", "byte_fallback", "fuse", "spaced"];
    match codes.below(plain.len() + 6) {
        0 => {
            let ((pattern, dialect), content) = (draw_search(codes), text(codes.one(NEW)));
            spec("replace", [("pattern", pattern), ("dialect", dialect), ("content", content)])
        }
        1 => {
            let (start, stop) = (codes.number(4), codes.number(4));
            let content = text(codes.one(MARKS));
            spec("strip", [("content", content), ("start", Value::Number(start)), ("stop", Value::Number(stop))])
        }
        2 => {
            let (mark, drops) = (text(codes.one(MARKS)), Value::Flag(codes.flag()));
            spec("metaspace", [("replacement", mark), ("drop_first", drops)])
        }
        3 => spec("word_end", [("suffix", text(codes.one(&["</w>", " ", "a"])))]),
        4 => spec("wordpiece", [("prefix", text(codes.one(&["##", "", "a"]))), ("cleanup", Value::Flag(codes.flag()))]),
        5 => {
            let (pad, delimiter) = (text(codes.one(CHARACTERS)), text(codes.one(MARKS)));
            spec("ctc", [("pad", pad), ("delimiter", delimiter), ("cleanup", Value::Flag(codes.flag()))])
        }
        other => spec(plain[other - 6], []),
    }
}
