//! Exact counts of what encoding made of texts, taken in the pass that encodes them. Metrics are ratios of these counts.
//!
//! One bit a byte says where tokens end. Bit algebra finds words, numbers and indentation in blocks of 64 bytes, so that
//! comparing them with token ends takes a few instructions for all of them. Tallies of parts of a corpus add up to that of
//! the whole, in any order. Left out: every ratio.
//!
//! A *word* is a letter with the letters and marks after it. A space (U+0020) before a word counts with it, because a
//! tokenizer puts it into the token of the word wherever it can. A *number* is a run of ASCII digits. An *indented
//! line* begins with spaces or tabs and goes on with something else.

use crate::decode::Decoder;
use crate::kinds::PieceEncoder;
use crate::measure::id_counts::IdCounts;
use crate::simd::{AsksMasks, BLOCK, Masks, with_masks};
use crate::split::scan::class::{CASELESS, Classes, LETTER, classes};
use crate::split::{Text, utf8_parts};
use crate::utf8::text_of;

/// The most digits of a number whose cuts are counted one by one.
pub const DIGITS: usize = 12;
/// The widest indentation that has a row of its own, in spaces.
pub const SPACES: usize = 64;
/// The same in tabs.
pub const TABS: usize = 16;

/// The counts that are one number each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextTotals {
    /// Texts.
    pub documents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their bytes that begin a character.
    pub chars: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Texts that decoding does not give back from their ids.
    pub changed: u64,
    /// Texts that are not the bytes of their tokens, one after another: the counts below leave them out.
    pub unplaced: u64,
    /// Words.
    pub words: u64,
    /// Tokens that hold a byte of a word, summed over words.
    pub word_tokens: u64,
    /// Words that no single token holds.
    pub cut_words: u64,
    /// Words with a space before them.
    pub spaced: u64,
    /// Those whose first letter is in the token of that space.
    pub glued: u64,
    /// Numbers of more than [`DIGITS`] digits.
    pub long_numbers: u64,
}

impl TextTotals {
    /// The counts by name.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 12] {
        [
            ("documents", self.documents),
            ("bytes", self.bytes),
            ("chars", self.chars),
            ("tokens", self.tokens),
            ("changed", self.changed),
            ("unplaced", self.unplaced),
            ("words", self.words),
            ("word_tokens", self.word_tokens),
            ("cut_words", self.cut_words),
            ("spaced", self.spaced),
            ("glued", self.glued),
            ("long_numbers", self.long_numbers),
        ]
    }
}

/// All counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// See [`TextTotals`].
    pub totals: TextTotals,
    /// By place among [`Decoder::tokens`]: how often the id was emitted.
    pub ids: Vec<u64>,
    /// By `1 << (digits - 1) | cuts`, where bit i of `cuts` is set if a token ends after digit i + 1: numbers.
    pub numbers: Vec<u64>,
    /// By width (spaces from 1 on, then tabs from 1 on, then all others): lines, and tokens that end in the indentation.
    pub indents: Vec<[u64; 2]>,
}

impl Counts {
    /// No counts of so many tokens.
    #[must_use]
    pub fn new(tokens: usize) -> Self {
        let (numbers, indents) = (vec![0; 1 << DIGITS], vec![[0; 2]; SPACES + TABS + 1]);
        Self { totals: TextTotals::default(), ids: vec![0; tokens], numbers, indents }
    }

    /// Adds the counts of other texts by the same tokens.
    pub fn merge(&mut self, other: &Self) {
        let (own, more) = (&mut self.totals, &other.totals);
        own.documents += more.documents;
        own.bytes += more.bytes;
        own.chars += more.chars;
        own.tokens += more.tokens;
        own.changed += more.changed;
        own.unplaced += more.unplaced;
        own.words += more.words;
        own.word_tokens += more.word_tokens;
        own.cut_words += more.cut_words;
        own.spaced += more.spaced;
        own.glued += more.glued;
        own.long_numbers += more.long_numbers;
        self.ids.iter_mut().zip(&other.ids).for_each(|(own, more)| *own += more);
        self.numbers.iter_mut().zip(&other.numbers).for_each(|(own, more)| *own += more);
        self.indents.iter_mut().zip(&other.indents).for_each(|(own, more)| *own = [own[0] + more[0], own[1] + more[1]]);
    }
}

/// Counts, and the buffers for the next text.
#[derive(Debug)]
pub struct TextSums<'d> {
    /// What was counted so far, ids aside.
    counts: Counts,
    ids: IdCounts,
    decoder: &'d Decoder,
    ends: EndBits,
    decoded: Vec<u8>,
}

impl<'d> TextSums<'d> {
    /// Nothing counted yet; `decoder` knows the tokens. `spelling` is the vocabulary of an encoder that puts the bytes of a
    /// text into its ids as they are ([`crate::encode::Encoder::spelling`]): then they are not compared again.
    #[must_use]
    pub fn new(decoder: &'d Decoder, spelling: Option<&'d PieceEncoder>) -> Self {
        decoder.prepare();
        let ids = IdCounts::new(decoder, spelling.and_then(|pieces| Some((&**pieces.vocab(), pieces.widths()?))));
        Self { counts: Counts::new(0), ids, decoder, ends: EndBits::default(), decoded: Vec::new() }
    }

    /// What was counted.
    #[must_use]
    pub fn done(mut self) -> Counts {
        self.counts.ids = self.ids.all();
        self.counts
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
            self.ends.place(text.as_bytes(), ends);
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
        with_masks(BlockWalk { counts: &mut self.counts, ends: &self.ends, text, begins, placed });
    }

    /// Counts the ids, and says whether they spell the text. Then `self.ends` says where each ends.
    fn count(&mut self, text: &[u8], ids: &[u32]) -> bool {
        let Self { decoder, ids: counts, ends, .. } = self;
        let (mut ends, mut rest) = (ends.writer(text.len()), ids);
        loop {
            rest = &rest[take_plain(rest, counts, &mut ends)..];
            let Some((&id, more)) = rest.split_first() else { return ends.at == text.len() };
            rest = more;
            let width = match counts.add(id) {
                0 => text.get(ends.at..).and_then(|rest| decoder.begins(id, rest)),
                width => Some(width),
            };
            let Some(width) = width else {
                for &id in rest {
                    counts.add(id);
                }
                return false;
            };
            ends.end(width);
        }
    }
}

/// Counts ids and sets their ends, as long as a look at a word tells all about an id, and says how many it took. It is a
/// function of its own, so that the loop keeps everything in registers.
#[inline(never)]
fn take_plain(ids: &[u32], counts: &mut IdCounts, ends: &mut EndWriter<'_>) -> usize {
    let (near, mut own) = (counts.near(), EndWriter { words: &mut *ends.words, ..*ends });
    let taken = ids.iter().take_while(|&&id| {
        let width = near.get_mut(id as usize).and_then(IdCounts::add_plain);
        width.map(|width| own.end(width)).is_some()
    });
    let taken = taken.count();
    (ends.at, ends.place, ends.bits) = (own.at, own.place, own.bits);
    taken
}

/// The text with a zero in the place of each byte that is not UTF-8. A zero is not a letter, digit or space.
fn without_invalid(text: &[u8]) -> Vec<u8> {
    utf8_parts(text).flat_map(|(part, valid)| part.iter().map(move |&byte| if valid { byte } else { 0 })).collect()
}

/// Where tokens end: bit `at % 64` of word `at / 64` is set if one ends before the byte at `at`.
#[derive(Debug, Default)]
struct EndBits(Vec<u64>);

impl EndBits {
    /// No ends in a text of so many bytes.
    fn clear(&mut self, bytes: usize) {
        self.0.clear();
        self.0.resize(bytes / BLOCK + 2, 0);
    }

    /// Sets the ends in a text of so many bytes, one after another.
    fn writer(&mut self, bytes: usize) -> EndWriter<'_> {
        self.clear(bytes);
        EndWriter { words: &mut self.0, at: 0, place: 0, bits: 0 }
    }

    /// Sets ends that are known.
    fn place(&mut self, text: &[u8], ends: &[usize]) {
        self.clear(text.len());
        for &end in ends {
            self.0[end / BLOCK] |= 1 << (end % BLOCK);
        }
    }

    /// The 64 bits from `at` on.
    fn bits(&self, at: usize) -> u64 {
        let (low, high) = (self.0[at / BLOCK], self.0.get(at / BLOCK + 1).copied().unwrap_or(0));
        ((u128::from(high) << BLOCK | u128::from(low)) >> (at % BLOCK)) as u64
    }

    /// How many tokens end behind `start` and not behind `end`.
    fn between(&self, start: usize, end: usize) -> u64 {
        let (mut at, mut count) = (start + 1, 0);
        while at <= end {
            let kept = (end - at + 1).min(BLOCK);
            count += u64::from((self.bits(at) & u64::MAX >> (BLOCK - kept)).count_ones());
            at += kept;
        }
        count
    }
}

/// Sets ends of tokens one after another.
struct EndWriter<'e> {
    words: &'e mut [u64],
    /// The last end.
    at: usize,
    /// Its word, and the bits that are set there.
    place: usize,
    bits: u64,
}

impl EndWriter<'_> {
    /// Ends a token of so many bytes. An end behind the text sets nothing.
    #[inline(always)]
    fn end(&mut self, width: usize) {
        self.at += width;
        // The word is only written, so that no token waits until the one before it comes back from memory.
        self.bits = (if self.at / BLOCK == self.place { self.bits } else { 0 }) | 1 << (self.at % BLOCK);
        self.place = self.at / BLOCK;
        if let Some(word) = self.words.get_mut(self.place) {
            *word = self.bits;
        }
    }
}

/// One walk over a text.
struct BlockWalk<'t> {
    counts: &'t mut Counts,
    ends: &'t EndBits,
    text: &'t [u8],
    begins: bool,
    placed: bool,
}

/// What a block leaves to the next one.
#[derive(Default)]
struct Carry {
    /// Bytes of letters, and of marks, whose character began before.
    letter: u64,
    mark: u64,
    /// 1 if the last byte was of that kind.
    letter_or_mark: u64,
    leading: u64,
    word: u64,
    space: u64,
    digit: u64,
    newline: u64,
    /// 1 if the last word has not been cut so far.
    whole: u64,
    number: usize,
}

impl AsksMasks for BlockWalk<'_> {
    type Result = ();

    #[inline(always)]
    fn run(mut self, masks: impl Fn(&[u8; BLOCK]) -> Masks, _: impl Fn(usize, u64, &mut [usize; BLOCK])) {
        let classes = classes();
        let mut carry = Carry { newline: u64::from(self.begins), ..Carry::default() };
        let mut chars = 0;
        // The last block may be empty: it ends what goes to the end of the text.
        for base in (0..=self.text.len()).step_by(BLOCK) {
            let rest = &self.text[base..];
            let block = rest.first_chunk().copied().unwrap_or_else(|| {
                let mut block = [0; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                block
            });
            let masks = masks(&block);
            chars += BLOCK.min(rest.len()) as u64 - u64::from(masks.inner.count_ones());
            if self.placed {
                let ends = self.ends.0[base / BLOCK];
                self.words(rest, &masks, ends, classes, &mut carry);
                self.numbers(masks.digit, base, &mut carry);
                self.indents(&masks, base, &mut carry);
            }
        }
        self.counts.totals.chars += chars;
    }
}

impl BlockWalk<'_> {
    #[inline(always)]
    fn words(&mut self, rest: &[u8], masks: &Masks, ends: u64, classes: &Classes, carry: &mut Carry) {
        let (mut letter, mut mark) = (masks.upper | masks.lower | carry.letter, carry.mark);
        (carry.letter, carry.mark) = (0, 0);
        if masks.not_ascii != 0 {
            let two = masks.wide_upper | masks.wide_lower;
            letter |= masks.han | masks.han << 1 | masks.han << 2 | two | two << 1;
            let firsts = masks.not_ascii & !(masks.inner | masks.han | two);
            let found = others(rest, firsts, classes);
            letter |= found.0 as u64;
            mark |= found.1 as u64;
            (carry.letter, carry.mark) = ((found.0 >> BLOCK) as u64, (found.1 >> BLOCK) as u64);
        }
        let either = letter | mark;
        let mut word = either;
        if mark | carry.leading != 0 {
            // Marks without a letter before them belong to no word; adding the first of them to a run of marks clears the run.
            let heads = either & !(either << 1 | carry.letter_or_mark) & mark | carry.leading & mark;
            let leading = mark & !mark.wrapping_add(heads);
            carry.leading = leading >> 63;
            word &= !leading;
        }
        carry.letter_or_mark = either >> 63;
        let first = word & !(word << 1 | carry.word);
        let spaced = first & (masks.space << 1 | carry.space);
        (carry.word, carry.space) = (word >> 63, masks.space >> 63);
        // Where a token ends inside a word, or between it and its space.
        let cuts = ends & (word & !first | spaced);
        // From the first byte of each word a one is carried up to the first cut, or to the end of the word.
        let uncut = word & !cuts;
        let (sum, over) = uncut.overflowing_add(first);
        let (sum, again) = sum.overflowing_add(carry.whole);
        carry.whole = u64::from(over | again);
        let count = |mask: u64| u64::from(mask.count_ones());
        let totals = &mut self.counts.totals;
        totals.words += count(first);
        totals.word_tokens += count(first) + count(cuts);
        totals.cut_words += count(sum & cuts);
        totals.spaced += count(spaced);
        totals.glued += count(spaced & !ends);
    }

    #[inline(always)]
    fn numbers(&mut self, digit: u64, base: usize, carry: &mut Carry) {
        let mut edges = digit ^ (digit << 1 | carry.digit);
        carry.digit = digit >> 63;
        while edges != 0 {
            let at = edges.trailing_zeros() as usize;
            edges &= edges - 1;
            if digit >> at & 1 != 0 {
                carry.number = base + at;
                continue;
            }
            let digits = base + at - carry.number;
            if digits > DIGITS {
                self.counts.totals.long_numbers += 1;
            } else {
                let first = 1 << (digits - 1);
                let cuts = self.ends.bits(carry.number + 1) as usize & (first - 1);
                self.counts.numbers[first | cuts] += 1;
            }
        }
    }

    #[inline(always)]
    fn indents(&mut self, masks: &Masks, base: usize, carry: &mut Carry) {
        let mut starts = (masks.newline << 1 | carry.newline) & (masks.space | masks.tab);
        carry.newline = masks.newline >> 63;
        while starts != 0 {
            let at = starts.trailing_zeros();
            starts &= starts - 1;
            let (start, run) = (base + at as usize, |mask: u64| (mask >> at).trailing_ones() as usize);
            let line = &self.text[start..];
            let (mut spaces, mut tabs, mut width) = (run(masks.space), run(masks.tab), run(masks.space | masks.tab));
            if width == BLOCK - at as usize {
                // It may go on behind the block.
                let long = |of: fn(u8) -> bool| line.iter().take_while(|&&byte| of(byte)).count();
                (spaces, tabs) = (long(|byte| byte == b' '), long(|byte| byte == b'\t'));
                width = long(|byte| matches!(byte, b' ' | b'\t'));
            }
            if matches!(line.get(width), None | Some(b'\n' | b'\r')) {
                continue;
            }
            let row = match (spaces, tabs) {
                (1..=SPACES, 0) if spaces == width => spaces - 1,
                (0, 1..=TABS) if tabs == width => SPACES + tabs - 1,
                _ => SPACES + TABS,
            };
            let [lines, tokens] = &mut self.counts.indents[row];
            *lines += 1;
            *tokens += self.ends.between(start, start + width);
        }
    }
}

/// The bytes of letters and those of marks among the characters whose first bytes are given; they may reach behind the block.
#[inline(always)]
fn others(rest: &[u8], mut firsts: u64, classes: &Classes) -> (u128, u128) {
    let (mut letters, mut marks) = (0, 0);
    while firsts != 0 {
        let at = firsts.trailing_zeros() as usize;
        firsts &= firsts - 1;
        let four = rest[at..].first_chunk().copied().unwrap_or_else(|| {
            let mut four = [0; 4];
            four[..rest.len() - at].copy_from_slice(&rest[at..]);
            four
        });
        let low = |place: usize| u32::from(four[place] & 0x3F);
        let (code_point, length) = match four[0] {
            first @ ..0xE0 => (u32::from(first & 0x1F) << 6 | low(1), 2),
            first @ 0xE0..0xF0 => (u32::from(first & 0x0F) << 12 | low(1) << 6 | low(2), 3),
            first => (u32::from(first & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4),
        };
        let class = classes.of(code_point);
        let bytes = ((1u128 << length) - 1) << at;
        if class & LETTER != 0 {
            letters |= bytes;
        } else if class & CASELESS != 0 {
            marks |= bytes;
        }
    }
    (letters, marks)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::drawn::bytes_vocab;
    use crate::split::pattern::PATTERNS;
    use crate::split::special::{AddedToken, AddedTokens, Flags};
    use crate::split::text_cuts::{TextCuts, parts};

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
            "|\n   x|\n\t\ty|z z"
        )
        .split('|')
        .collect();
        let tokens = ["Wo", "rd", "2024", "12", "34", "本", "    ", " a", "한", "\n ", "  ", "zz", "\u{93F}\u{928}"];
        let vocab = PieceEncoder::plain(Arc::new(bytes_vocab(&tokens)));
        let decoder = Decoder::new(Arc::clone(vocab.vocab()), &[]);
        let mut state = 5u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for round in 0..3000 {
            let text: String = (0..round % 120).map(|_| atoms[draw(atoms.len())]).collect();
            let mut ids = Vec::new();
            let mut ends = Vec::new();
            let mut at = 0;
            while at < text.len() {
                let fits = |token: &&&str| text.as_bytes()[at..].starts_with(token.as_bytes());
                let long = if draw(3) == 0 { None } else { tokens.iter().find(fits) };
                let token = long.map_or(&text.as_bytes()[at..=at], |token| token.as_bytes());
                ids.push(vocab.vocab().id(token).unwrap());
                at += token.len();
                ends.push(at);
            }
            let mut tally = TextSums::new(&decoder, (round % 2 == 0).then_some(&vocab));
            tally.add(Text::Str(&text), &ids, None, true);
            let mut plain = Counts::new(decoder.tokens().count());
            plain.totals.documents = 1;
            plain.totals.bytes = text.len() as u64;
            plain.totals.tokens = ids.len() as u64;
            for &id in &ids {
                plain.ids[id as usize] += 1;
            }
            plainly(&text, &ends, &mut plain);
            assert_eq!(tally.done(), plain, "{text:?} {ends:?}");
            let mut placed = TextSums::new(&decoder, None);
            placed.add(Text::Str(&text), &ids, Some(&ends), true);
            assert_eq!(placed.done(), plain);
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
        let mut whole = TextSums::new(&decoder, None);
        whole.add(Text::Str(&text), &ids, None, true);
        let whole = whole.done();
        for least in [1, 7, 64, 500] {
            let mut sum = Counts::new(decoder.tokens().count());
            let all: Vec<_> = parts(text.as_bytes(), cuts.as_ref(), &added, least).collect();
            assert!(all.len() > 1 && all[0].0 == 0 && all.windows(2).all(|pair| pair[0].1 == pair[1].0));
            for (start, end) in all {
                let mut part = TextSums::new(&decoder, None);
                part.add(Text::Str(&text[start..end]), &ids[start..end], None, start == 0);
                sum.merge(&part.done());
            }
            assert_eq!(sum, whole);
        }
    }

    #[test]
    fn tokens_that_the_vocabulary_does_not_know_are_compared() {
        let vocab = PieceEncoder::plain(Arc::new(bytes_vocab(&["ab"])));
        let added = AddedToken { content: "<s>".into(), id: 300, special: true, flags: Flags::default() };
        let decoder = Decoder::new(Arc::clone(vocab.vocab()), &[added]);
        let mut tally = TextSums::new(&decoder, Some(&vocab));
        tally.add(Text::Bytes(b"ab<s>b"), &[256, 300, 98], None, true);
        assert_eq!((tally.counts.totals.changed, tally.counts.totals.unplaced), (0, 0));
        tally.add(Text::Bytes(b"ab<t>b"), &[256, 300, 98], None, true);
        assert_eq!((tally.counts.totals.changed, tally.counts.totals.unplaced), (1, 1));
    }

    #[test]
    fn a_text_that_its_tokens_do_not_spell_is_only_counted() {
        let vocab = PieceEncoder::plain(Arc::new(bytes_vocab(&[])));
        let decoder = Decoder::new(Arc::clone(vocab.vocab()), &[]);
        let mut spelling = TextSums::new(&decoder, Some(&vocab));
        spelling.add(Text::Bytes(b"a b"), &[97, 98], None, true);
        assert_eq!((spelling.counts.totals.changed, spelling.counts.totals.unplaced), (1, 1));
        let mut tally = TextSums::new(&decoder, None);
        tally.add(Text::Bytes(b"a b"), &[97, 98], None, true);
        let TextTotals { changed, unplaced, words, tokens, .. } = tally.counts.totals;
        assert_eq!((changed, unplaced, words, tokens), (1, 1, 0, 2));
        tally.add(Text::Bytes(b"a\xFFb"), &[97, 255, 98], None, true);
        assert_eq!((tally.counts.totals.unplaced, tally.counts.totals.words), (1, 2));
    }
}
