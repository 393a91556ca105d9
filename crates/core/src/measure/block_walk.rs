//! The walk over a text that counts its words, numbers and indented lines, and how tokens cut them.
//!
//! Comparing the ends of tokens with words takes a few instructions for all words of a block. Numbers and indented lines
//! take a step each.

use crate::measure::counts::{Counts, DIGITS, SPACES, TABS};
use crate::measure::rows::{BLOCKS, BytePlace, KindRows, Places};
use crate::measure::token_ends::TokenEnds;
use crate::simd::{AsksMasks, BLOCK, Masks};
use crate::split::scan::class::classes;

/// One walk over a text.
#[derive(Debug)]
pub struct BlockWalk<'t> {
    /// Where to add what is found.
    pub counts: &'t mut Counts,
    /// Where tokens end.
    pub ends: &'t TokenEnds,
    /// The text, which is UTF-8.
    pub text: &'t [u8],
    /// Whether a line begins with it.
    pub begins: bool,
    /// Whether `ends` belongs to it: otherwise only its characters are counted.
    pub placed: bool,
}

impl AsksMasks for BlockWalk<'_> {
    type Result = ();

    #[inline(always)]
    fn run(mut self, masks: impl Fn(&[u8; BLOCK]) -> Masks, _: impl Fn(usize, u64, &mut [usize; BLOCK])) {
        let (mut rows, mut places, mut whole) = (KindRows::default(), Places::default(), false);
        rows.newline.0[0] = u64::from(self.begins) << 63;
        for base in (0..=self.text.len()).step_by(BLOCKS * BLOCK) {
            rows.read(self.text, base, &masks);
            self.chars(&rows);
            if self.placed {
                rows.find_words(self.text, classes(), &mut places);
                self.words(&rows, &mut whole);
                let numbers = |block: usize| rows.digit.0[block] & !rows.digit.after(block);
                places.each(rows.blocks, numbers, |place| self.number(&rows, place));
                let white = |block: usize| rows.space.0[block] | rows.tab.0[block];
                let indents = |block: usize| white(block) & rows.newline.after(block);
                places.each(rows.blocks, indents, |place| self.indent(&rows, place));
            }
            rows.turn();
        }
    }
}

impl BlockWalk<'_> {
    #[inline(always)]
    fn chars(&mut self, rows: &KindRows) {
        let inner: u32 = rows.inner.0[1..=rows.blocks].iter().map(|word| word.count_ones()).sum();
        let bytes = (self.text.len() - rows.base).min(BLOCKS * BLOCK);
        self.counts.totals.chars += bytes as u64 - u64::from(inner);
    }

    /// Counts words. `whole` says whether the last one has not been cut so far.
    #[inline(always)]
    fn words(&mut self, rows: &KindRows, whole: &mut bool) {
        let ends = self.ends.blocks(rows.base, rows.blocks);
        let count = |mask: u64| u64::from(mask.count_ones());
        let (mut words, mut all_cuts, mut all_spaced, mut glued, mut cut_words) = (0, 0, 0, 0, 0);
        let (mut firsts, mut cuts) = ([0; BLOCKS], [0; BLOCKS]);
        for (place, &ends) in ends.iter().take(BLOCKS).enumerate() {
            let block = place + 1;
            let first = rows.word.0[block] & !rows.word.after(block);
            let spaced = first & rows.space.after(block);
            // Where a token ends inside a word, or between it and its space.
            let cut = ends & (rows.word.0[block] & !first | spaced);
            (firsts[place], cuts[place]) = (first, cut);
            words += count(first);
            all_cuts += count(cut);
            all_spaced += count(spaced);
            glued += count(spaced & !ends);
        }
        for (place, (&first, &cut)) in firsts.iter().zip(&cuts).take(rows.blocks).enumerate() {
            // From the first byte of each word a one is carried up to the first cut, or to the end of the word.
            let (sum, over) = (rows.word.0[place + 1] & !cut).overflowing_add(first);
            let (sum, again) = sum.overflowing_add(u64::from(*whole));
            *whole = over | again;
            cut_words += count(sum & cut);
        }
        let totals = &mut self.counts.totals;
        totals.words += words;
        totals.word_tokens += words + all_cuts;
        totals.cut_words += cut_words;
        totals.spaced += all_spaced;
        totals.glued += glued;
    }

    /// Counts the number that begins at a place.
    #[inline(always)]
    fn number(&mut self, rows: &KindRows, place: BytePlace) {
        let (start, run) = (rows.at(place), rows.digit.from(place).trailing_ones());
        let digits = if rows.goes_on(place, run) {
            long_run(&self.text[start..], |byte| byte.is_ascii_digit())
        } else {
            run as usize
        };
        if digits > DIGITS {
            self.counts.totals.long_numbers += 1;
        } else {
            let first = 1 << (digits - 1);
            let cuts = self.ends.bits(start + 1) as usize & (first - 1);
            self.counts.numbers[first | cuts] += 1;
        }
    }

    /// Counts the line whose indentation begins at a place, unless nothing else is in it.
    #[inline(always)]
    fn indent(&mut self, rows: &KindRows, place: BytePlace) {
        let (start, tab) = (rows.at(place), rows.tab.from(place));
        let run = (rows.space.from(place) | tab).trailing_ones();
        let (width, tabs, tokens, blank) = if run == u64::BITS || rows.goes_on(place, run) {
            self.long_indent(start)
        } else {
            let all = (1 << run) - 1;
            let (tabs, tokens) = ((tab & all).count_ones(), (self.ends.bits(start + 1) & all).count_ones());
            (run as usize, tabs as usize, u64::from(tokens), rows.newline.from(place) >> run & 1 == 1)
        };
        if blank {
            return;
        }
        let row = match tabs {
            0 if width <= SPACES => width - 1,
            tabs if tabs == width && width <= TABS => SPACES + width - 1,
            _ => SPACES + TABS,
        };
        let [lines, all_tokens] = &mut self.counts.indents[row];
        *lines += 1;
        *all_tokens += tokens;
    }

    /// The width of an indentation, its tabs, how many tokens end in it, and whether nothing else is in the line.
    #[cold]
    fn long_indent(&self, start: usize) -> (usize, usize, u64, bool) {
        let line = &self.text[start..];
        let width = long_run(line, |byte| matches!(byte, b' ' | b'\t'));
        let tabs = memchr::memchr_iter(b'\t', &line[..width]).count();
        let blank = matches!(line.get(width), None | Some(b'\n' | b'\r'));
        (width, tabs, self.ends.between(start, start + width), blank)
    }
}

/// How many bytes of that kind a text begins with.
#[cold]
fn long_run(text: &[u8], is: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|&&byte| is(byte)).count()
}
