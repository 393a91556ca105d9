//! Sources of texts for threads, whole or in parts, and the parts of texts in Python's units.
//!
//! The thread that works on a text in units writes its UTF-8. So a long text is cut in its units, and no thread waits
//! for the UTF-8 of the whole. The twin is the text in UTF-8, with [`text_parts`].

use crate::split::Text;
use crate::split::special::AddedTokens;
use crate::split::text_cuts::{TextCuts, WINDOW, cut_up, text_parts};
use crate::text::utf8::{CodeUnit, estimate_len, exact_len, utf8_in};

/// A text for the thread that works on it, which writes its UTF-8 first if needed.
pub trait TextSource: Sync {
    /// The approximate bytes of the text.
    fn size(&self) -> usize;

    /// The text, possibly written into the thread's buffer `room`.
    fn read<'r>(&'r self, room: &'r mut Vec<u8>) -> Text<'r>;

    /// The parts of a text without added tokens, each of at least about `least` bytes, except for the last.
    fn parts(&self, cuts: Option<&TextCuts>, least: usize) -> Vec<TextPart>;

    /// The same as [`Self::read`] for a part.
    fn read_part<'r>(&'r self, part: TextPart, room: &'r mut Vec<u8>) -> Text<'r>;
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPart {
    /// Its start in the units of the text.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// Its start in the UTF-8 of the text.
    pub byte: usize,
}

impl TextSource for Text<'_> {
    fn size(&self) -> usize {
        self.as_bytes().len()
    }

    fn read<'r>(&'r self, _: &'r mut Vec<u8>) -> Text<'r> {
        *self
    }

    fn parts(&self, cuts: Option<&TextCuts>, least: usize) -> Vec<TextPart> {
        let none = AddedTokens::default();
        let all = text_parts(self.as_bytes(), cuts, &none, least);
        all.map(|(start, end)| TextPart { start, end, byte: start }).collect()
    }

    fn read_part<'r>(&'r self, part: TextPart, _: &'r mut Vec<u8>) -> Text<'r> {
        self.part(part.start, part.end)
    }
}

/// A text in units.
#[derive(Debug, Clone, Copy)]
pub struct UnitText<'t, U>(pub &'t [U]);

impl<U: CodeUnit> TextSource for UnitText<'_, U> {
    fn size(&self) -> usize {
        estimate_len(self.0)
    }

    fn read<'r>(&'r self, room: &'r mut Vec<u8>) -> Text<'r> {
        Text::Str(utf8_in(self.0, room))
    }

    fn parts(&self, cuts: Option<&TextCuts>, least: usize) -> Vec<TextPart> {
        let whole = TextPart { start: 0, end: self.0.len(), byte: 0 };
        cuts.and_then(|cuts| self.cut(cuts, least)).unwrap_or_else(|| vec![whole])
    }

    fn read_part<'r>(&'r self, part: TextPart, room: &'r mut Vec<u8>) -> Text<'r> {
        Text::Str(utf8_in(&self.0[part.start..part.end], room))
    }
}

impl<U: CodeUnit> UnitText<'_, U> {
    /// The parts; None if the text has surrogates, because a part could end between two that form one character.
    fn cut(&self, cuts: &TextCuts, least: usize) -> Option<Vec<TextPart>> {
        // The number of units that have about `least` bytes.
        let least = (least.saturating_mul(self.0.len()) / self.size().max(1)).max(1);
        let (mut room, mut byte) = (Vec::new(), 0);
        let all = cut_up(self.0.len(), least, |from| self.first_cut(cuts, from, &mut room));
        all.map(|(start, end)| {
            let part = TextPart { start, end, byte };
            byte += exact_len(&self.0[start..end])?;
            Some(part)
        })
        .collect()
    }

    /// The first cut after `from`, if it is near.
    fn first_cut(&self, cuts: &TextCuts, from: usize, room: &mut Vec<u8>) -> Option<usize> {
        let window = utf8_in(&self.0[from..self.0.len().min(from + WINDOW)], room);
        let cut = cuts.find(window.as_bytes(), 0, &AddedTokens::default())?;
        Some(from + window[..cut].chars().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::{Draw, split_text};
    use crate::split::Splitter;
    use crate::split::pattern::PATTERNS;

    const LEAST: usize = 100;

    /// Checks that the parts are the text, have correct places and give its pieces. Returns their number.
    fn check_parts<U: CodeUnit>(units: &[U], splitter: &Splitter, cuts: &TextCuts) -> usize {
        let (source, mut room) = (UnitText(units), Vec::new());
        let whole = source.read(&mut room).as_bytes().to_vec();
        let (mut written, mut split, parts) = (Vec::new(), Vec::new(), source.parts(Some(cuts), LEAST));
        for &part in &parts {
            assert_eq!(part.byte, written.len());
            let mut room = Vec::new();
            let text = source.read_part(part, &mut room);
            written.extend_from_slice(text.as_bytes());
            split.extend(split_text(splitter, text));
        }
        assert_eq!(written, whole);
        assert_eq!(split, split_text(splitter, Text::Bytes(&whole)));
        assert_eq!((parts[0].start, parts[parts.len() - 1].end), (0, units.len()));
        assert!(parts.windows(2).all(|two| two[0].end == two[1].start && two[0].start < two[0].end));
        parts.len()
    }

    #[test]
    fn parts_have_the_pieces_of_the_text() {
        let classes =
            ["a", "A", "é", "日", "\u{301}", "7", "²", "\u{1D7CE}", " ", "\t", "\u{3000}", "\n", "'", "/", "😀"];
        let mut draw = Draw(7);
        for row in PATTERNS.iter().filter(|row| row.has_cuts) {
            let (splitter, cuts) = (Splitter::new(row.regexes).unwrap(), TextCuts::for_patterns(row.regexes).unwrap());
            let mut found = 0;
            for _ in 0..100 {
                let some = 1 + draw.below(classes.len());
                let text: String = (0..draw.below(2000)).map(|_| classes[draw.below(some)]).collect();
                let units: Vec<u32> = text.chars().map(u32::from).collect();
                found += check_parts(&units, &splitter, &cuts);
                let narrow: Vec<u16> = units.iter().filter_map(|&unit| unit.try_into().ok()).collect();
                found += check_parts(&narrow, &splitter, &cuts);
                let narrow: Vec<u8> = units.iter().filter_map(|&unit| unit.try_into().ok()).collect();
                found += check_parts(&narrow, &splitter, &cuts);
            }
            assert!(found > 2_000, "{}: {found}", row.name);
        }
    }

    #[test]
    fn a_text_with_surrogates_or_without_cuts_is_one_part() {
        let cuts = PATTERNS.iter().find_map(|row| TextCuts::for_patterns(row.regexes));
        let mut units = [0x31u16, 0x20].repeat(LEAST);
        let whole = |end| vec![TextPart { start: 0, end, byte: 0 }];
        assert!(UnitText(&units).parts(cuts.as_ref(), LEAST).len() > 1);
        assert_eq!(UnitText(&units).parts(None, LEAST), whole(units.len()));
        units.extend([0xD835, 0xDFCE]);
        assert_eq!(UnitText(&units).parts(cuts.as_ref(), LEAST), whole(units.len()));
        assert_eq!(UnitText::<u8>(&[]).parts(cuts.as_ref(), LEAST), whole(0));
    }
}
