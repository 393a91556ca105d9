//! Exact counts of what encoding made of texts, taken in the pass that encodes them. Metrics are ratios of these counts.
//!
//! First a pass over the ids counts them and finds where tokens end, then [`BlockWalk`] walks over the text. Left out: every
//! ratio.

use crate::decode::Decoder;
use crate::measure::block_walk::BlockWalk;
use crate::measure::counts::Counts;
use crate::measure::id_counts::IdCounts;
use crate::measure::token_ends::{EndWriter, TokenEnds};
use crate::simd::with_masks;
use crate::split::{Text, utf8_parts};
use crate::text::utf8::text_of;

/// Counts, and the buffers for the next text.
#[derive(Debug)]
pub struct TextSums<'d> {
    /// What was counted so far, ids aside.
    counts: Counts,
    ids: IdCounts,
    decoder: &'d Decoder,
    ends: TokenEnds,
    decoded: Vec<u8>,
}

impl<'d> TextSums<'d> {
    /// Nothing counted yet; `decoder` knows the tokens, and `ids` are those counts of its ids to which others are added.
    #[must_use]
    pub fn new(decoder: &'d Decoder, ids: IdCounts) -> Self {
        decoder.prepare();
        Self { counts: Counts::new(0), ids, decoder, ends: TokenEnds::default(), decoded: Vec::new() }
    }

    /// Adds what was counted to other counts.
    pub fn add_to(&self, sum: &mut Counts) {
        sum.merge(&self.counts);
        self.ids.add_to(&mut sum.ids);
    }

    /// Counts a document, or a part of it (`begins` for the first), and the ids that it was encoded to. `ends` says where
    /// each ends in the text; None where the ids spell it, as those of bytes do.
    pub fn add(&mut self, text: Text<'_>, ids: &[u32], ends: Option<&[usize]>, begins: bool) {
        let spelt = self.count(text.as_bytes(), ids) && ends.is_none();
        let totals = &mut self.counts.totals;
        totals.documents += u64::from(begins);
        totals.bytes += text.as_bytes().len() as u64;
        totals.tokens += ids.len() as u64;
        if !spelt {
            self.decoded.clear();
            let decoded = self.decoder.decode(ids, &mut self.decoded);
            totals.changed += u64::from(decoded.is_err() || self.decoded != text.as_bytes());
            totals.unplaced += u64::from(ends.is_none());
        }
        if let Some(ends) = ends {
            self.ends.place(ends, text.as_bytes().len());
        }
        let placed = spelt || ends.is_some();
        let repaired;
        let text = match text {
            Text::Str(text) => text.as_bytes(),
            Text::Bytes(text) if text_of(text).is_ok() => text,
            Text::Bytes(text) => {
                repaired = without_invalid(text);
                &repaired
            }
        };
        let Self { counts, ends, .. } = self;
        with_masks(BlockWalk { counts, ends, text, begins, placed });
    }

    /// Counts the ids, and says whether they spell the text. Then `self.ends` says where each ends.
    fn count(&mut self, text: &[u8], ids: &[u32]) -> bool {
        let Self { decoder, ids: counts, ends, .. } = self;
        let (mut ends, mut rest) = (ends.writer(text.len()), ids);
        let spelt = loop {
            rest = &rest[take_plain(rest, counts, &mut ends)..];
            let Some((&id, more)) = rest.split_first() else { break ends.at() == text.len() };
            rest = more;
            let width = match counts.add(id) {
                0 => text.get(ends.at()..).and_then(|rest| decoder.begins(id, rest)),
                width => Some(width),
            };
            let Some(width) = width else {
                for &id in rest {
                    counts.add(id);
                }
                break false;
            };
            ends.end(width);
        };
        ends.done();
        spelt
    }
}

/// Counts ids and sets their ends, as long as a look at a word tells all about an id, and says how many it took. It is a
/// function of its own, so that the loop keeps everything in registers.
#[inline(never)]
fn take_plain(ids: &[u32], counts: &mut IdCounts, ends: &mut EndWriter<'_>) -> usize {
    let near = counts.near();
    ends.take(ids, |id| near.get_mut(id as usize).and_then(IdCounts::add_plain))
}

/// The text with a zero in the place of each byte that is not UTF-8. A zero is not a letter, digit or space.
fn without_invalid(text: &[u8]) -> Vec<u8> {
    utf8_parts(text).flat_map(|(part, valid)| part.iter().map(move |&byte| if valid { byte } else { 0 })).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::drawn::{Draw, bytes_vocab};
    use crate::kinds::PieceEncoder;
    use crate::measure::counts::{DIGITS, SPACES, TABS, TextTotals};
    use crate::split::pattern::PATTERNS;
    use crate::split::scan::class::{CASELESS, LETTER, classes};
    use crate::split::special::{AddedToken, AddedTokens, Flags};
    use crate::split::text_cuts::{TextCuts, parts};

    /// What was counted.
    fn all(sums: &TextSums<'_>) -> Counts {
        let mut all = Counts::new(sums.decoder.ids().len());
        sums.add_to(&mut all);
        all
    }

    /// The counts by the plainest reading of the definitions.
    fn plainly(text: &str, ends: &[usize], counts: &mut Counts) {
        let totals = &mut counts.totals;
        let inside = |start: usize, end: usize| ends.iter().filter(|&&at| start < at && at < end).count();
        let chars: Vec<(usize, char)> = text.char_indices().collect();
        totals.chars += chars.len() as u64;
        let class = |char: char| classes().of(char as u32);
        let letter = |char: char| class(char) & LETTER != 0;
        let mark = |char: char| !letter(char) && class(char) & CASELESS != 0;
        let run = |from: usize, of: &dyn Fn(char) -> bool| {
            chars[from..].iter().find(|(_, char)| !of(*char)).map_or(text.len(), |&(at, _)| at)
        };
        let mut after = 0;
        for (place, &(at, char)) in chars.iter().enumerate() {
            if at < after {
                continue;
            }
            if letter(char) {
                after = run(place, &|char| letter(char) || mark(char));
                let spaced = at > 0 && text.as_bytes()[at - 1] == b' ';
                let cuts = inside(at - usize::from(spaced), after) as u64;
                totals.words += 1;
                totals.word_tokens += cuts + 1;
                totals.cut_words += u64::from(cuts > 0);
                totals.spaced += u64::from(spaced);
                totals.glued += u64::from(spaced && !ends.contains(&at));
            } else if char.is_ascii_digit() {
                after = run(place, &|char| char.is_ascii_digit());
                if after - at > DIGITS {
                    totals.long_numbers += 1;
                    continue;
                }
                let cuts = (1..after - at).filter(|cut| ends.contains(&(at + cut)));
                counts.numbers[cuts.map(|cut| 1 << (cut - 1)).sum::<usize>() + (1 << (after - at - 1))] += 1;
            }
        }
        for line in text.split_inclusive(['\n', '\r']) {
            let start = line.as_ptr() as usize - text.as_ptr() as usize;
            let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            let width = indent.len();
            if width == 0 || matches!(line[width..].chars().next(), None | Some('\n' | '\r')) {
                continue;
            }
            let row = match indent.trim_start_matches(' ').len() {
                0 if width <= SPACES => width - 1,
                tabs if tabs == width && !indent.contains(' ') && width <= TABS => SPACES + width - 1,
                _ => SPACES + TABS,
            };
            counts.indents[row][0] += 1;
            counts.indents[row][1] += ends.iter().filter(|&&at| start < at && at <= start + width).count() as u64;
        }
    }

    #[test]
    fn blocks_count_as_the_definitions_do() {
        let atoms: Vec<&str> = concat!(
            "a|Word| |  |\t|\n|\r\n|    |1|2024|é|ж|日本|\u{301}|हिन्दी|😀|-|ß|\u{a0}|एक|ʰ|\u{10400}|한글|1234567890123",
            "|\n   x|\n\t\ty|z z|\u{b}|\n\u{c}\tx"
        )
        .split('|')
        .collect();
        let tokens = ["Wo", "rd", "2024", "12", "34", "本", "    ", " a", "한", "\n ", "  ", "zz", "\u{93F}\u{928}"];
        let vocab = PieceEncoder::plain(Arc::new(bytes_vocab(&tokens)));
        let decoder = Decoder::new(Arc::clone(vocab.vocab()), &[]);
        let mut draw = Draw(5);
        for round in 0..3000 {
            // A few texts have several rows of blocks, and windows of ends.
            let size = if round % 50 == 0 { round } else { round % 120 };
            let text: String = (0..size).map(|_| atoms[draw.below(atoms.len())]).collect();
            let mut ids = Vec::new();
            let mut ends = Vec::new();
            let mut at = 0;
            while at < text.len() {
                let fits = |token: &&&str| text.as_bytes()[at..].starts_with(token.as_bytes());
                let long = if draw.below(3) == 0 { None } else { tokens.iter().find(fits) };
                let token = long.map_or(&text.as_bytes()[at..=at], |token| token.as_bytes());
                ids.push(vocab.vocab().id(token).unwrap());
                at += token.len();
                ends.push(at);
            }
            let mut tally = TextSums::new(&decoder, IdCounts::new(&decoder, (round % 2 == 0).then_some(&vocab)));
            tally.add(Text::Str(&text), &ids, None, true);
            let mut plain = Counts::new(decoder.tokens().count());
            plain.totals.documents = 1;
            plain.totals.bytes = text.len() as u64;
            plain.totals.tokens = ids.len() as u64;
            for &id in &ids {
                plain.ids[id as usize] += 1;
            }
            plainly(&text, &ends, &mut plain);
            assert_eq!(all(&tally), plain, "{text:?} {ends:?}");
            let mut placed = TextSums::new(&decoder, IdCounts::new(&decoder, None));
            placed.add(Text::Str(&text), &ids, Some(&ends), true);
            assert_eq!(all(&placed), plain);
        }
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let row = PATTERNS.iter().find(|row| row.name == "cl100k").unwrap();
        let (cuts, added) = (TextCuts::of(row.regexes), AddedTokens::new(Vec::new()).unwrap());
        let vocab = PieceEncoder::plain(Arc::new(bytes_vocab(&[])));
        let decoder = Decoder::new(Arc::clone(vocab.vocab()), &[]);
        let text = "One 123 zwei\n    drei é日本\n\n\tvier  fünf".repeat(40);
        let ids: Vec<u32> = text.bytes().map(u32::from).collect();
        let mut whole = TextSums::new(&decoder, IdCounts::new(&decoder, None));
        whole.add(Text::Str(&text), &ids, None, true);
        let whole = all(&whole);
        for least in [1, 7, 64, 500] {
            let mut sum = Counts::new(decoder.tokens().count());
            let all: Vec<_> = parts(text.as_bytes(), cuts.as_ref(), &added, least).collect();
            assert!(all.len() > 1 && all[0].0 == 0 && all.windows(2).all(|pair| pair[0].1 == pair[1].0));
            for (start, end) in all {
                let mut part = TextSums::new(&decoder, IdCounts::new(&decoder, None));
                part.add(Text::Str(&text[start..end]), &ids[start..end], None, start == 0);
                part.add_to(&mut sum);
            }
            assert_eq!(sum, whole);
        }
    }

    #[test]
    fn tokens_that_the_vocabulary_does_not_know_are_compared() {
        let vocab = PieceEncoder::plain(Arc::new(bytes_vocab(&["ab"])));
        let added = AddedToken { content: "<s>".into(), id: 300, special: true, flags: Flags::default() };
        let decoder = Decoder::new(Arc::clone(vocab.vocab()), &[added]);
        let mut tally = TextSums::new(&decoder, IdCounts::new(&decoder, Some(&vocab)));
        tally.add(Text::Bytes(b"ab<s>b"), &[256, 300, 98], None, true);
        assert_eq!((tally.counts.totals.changed, tally.counts.totals.unplaced), (0, 0));
        tally.add(Text::Bytes(b"ab<t>b"), &[256, 300, 98], None, true);
        assert_eq!((tally.counts.totals.changed, tally.counts.totals.unplaced), (1, 1));
    }

    #[test]
    fn a_text_that_its_tokens_do_not_spell_is_only_counted() {
        let vocab = PieceEncoder::plain(Arc::new(bytes_vocab(&[])));
        let decoder = Decoder::new(Arc::clone(vocab.vocab()), &[]);
        let mut spelling = TextSums::new(&decoder, IdCounts::new(&decoder, Some(&vocab)));
        spelling.add(Text::Bytes(b"a b"), &[97, 98], None, true);
        assert_eq!((spelling.counts.totals.changed, spelling.counts.totals.unplaced), (1, 1));
        let mut tally = TextSums::new(&decoder, IdCounts::new(&decoder, None));
        tally.add(Text::Bytes(b"a b"), &[97, 98], None, true);
        let TextTotals { changed, unplaced, words, tokens, .. } = tally.counts.totals;
        assert_eq!((changed, unplaced, words, tokens), (1, 1, 0, 2));
        tally.add(Text::Bytes(b"a\xFFb"), &[97, 255, 98], None, true);
        assert_eq!((tally.counts.totals.unplaced, tally.counts.totals.words), (1, 2));
    }
}
