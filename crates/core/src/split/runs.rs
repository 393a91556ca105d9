//! Runs: the parts of a text that have different origins.
//!
//! It gives the run of each id, and whether a mark is spelled by text that is not trusted. A mark is an added token that
//! only trusted text can spell.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::error::{Error, Result};

/// The marks of a tokenizer.
#[derive(Debug)]
pub struct Marks {
    finder: AhoCorasick,
    /// For each id, whether it is a mark.
    ids: Vec<bool>,
    /// The smallest of these ids.
    first: u32,
}

/// The runs of a text, in order and with at least one.
#[derive(Debug, Clone, Copy)]
pub struct OriginRuns<'r> {
    /// The end of each run, in characters.
    pub ends: &'r [usize],
    /// Whether the template wrote the run.
    pub trusted: &'r [bool],
    /// Whether it comes from a message or the model.
    pub spoken: &'r [bool],
}

impl Marks {
    /// The marks with these contents, and the ids that they have.
    ///
    /// # Errors
    /// [`Error::Model`] for too many contents.
    pub fn new(contents: &[String], ids: &[u32]) -> Result<Self> {
        let finder = AhoCorasick::builder().match_kind(MatchKind::Standard).build(contents);
        let finder =
            finder.map_err(|error| Error::model(format!("the marks cannot be searched for: {error}"), None))?;
        let mut is_mark = vec![false; ids.iter().max().map_or(0, |&id| id as usize + 1)];
        for &id in ids {
            is_mark[id as usize] = true;
        }
        Ok(Self { finder, ids: is_mark, first: ids.iter().copied().min().unwrap_or(0) })
    }

    /// Whether trusted text spells all marks completely: those in the text, and those among its ids.
    #[must_use]
    pub fn are_trusted(&self, text: &str, ids: &[u32], places: (&[usize], &[usize]), runs: OriginRuns<'_>) -> bool {
        let is_mark = |id: u32| id >= self.first && self.ids.get(id as usize).is_some_and(|&is_mark| is_mark);
        let marks = ids.iter().enumerate().filter(|&(_, &id)| is_mark(id));
        let mut places = marks.map(|(index, _)| (places.0[index], places.1[index]));
        places.all(|(start, end)| runs.are_trusted(start, end.max(start + 1)))
            && self.are_spelled_by_trusted(text, runs)
    }

    fn are_spelled_by_trusted(&self, text: &str, runs: OriginRuns<'_>) -> bool {
        let mut ends = Vec::new();
        if !text.is_ascii() {
            let (mut rest, mut at) = (text.chars(), 0);
            for &end in runs.ends {
                if let Some(last) = (end - at).checked_sub(1) {
                    rest.nth(last);
                }
                at = end;
                ends.push(text.len() - rest.as_str().len());
            }
        }
        let runs = OriginRuns { ends: if ends.is_empty() { runs.ends } else { &ends }, ..runs };
        self.finder.find_overlapping_iter(text).all(|hit| runs.are_trusted(hit.start(), hit.end()))
    }
}

impl OriginRuns<'_> {
    /// Whether all text from `start` to `end` is trusted.
    fn are_trusted(&self, start: usize, end: usize) -> bool {
        let first = self.ends.partition_point(|&at| at <= start);
        let last = self.ends.partition_point(|&at| at < end);
        self.trusted.get(first..self.ends.len().min(last + 1)).is_none_or(|runs| runs.iter().all(|&trusted| trusted))
    }

    /// Calls `each` with the run of each id, and with the number of next ids in the same run. An id that the template
    /// and a message share belongs to the message. Starts and ends ascend.
    pub fn of_ids(self, starts: &[usize], ends: &[usize], mut each: impl FnMut(usize, usize)) {
        let (most, mut at) = (self.ends.len() - 1, 0);
        for (run, &end) in self.ends.iter().enumerate() {
            let to = if run == most { starts.len() } else { at + count_below(&starts[at..], end) };
            let shared = at + ends[at..to].partition_point(|&at| at <= end);
            if shared > at {
                each(run, shared - at);
            }
            for &end in &ends[shared..to] {
                let last = (run..most).find(|&at| self.ends[at] >= end).unwrap_or(most);
                each((run..=last).find(|&at| self.spoken[at]).unwrap_or(run), 1);
            }
            at = to;
        }
    }
}

/// The number of ascending places below `end`, which is small beside all.
fn count_below(places: &[usize], end: usize) -> usize {
    let mut reach = 64;
    while places.get(reach).is_some_and(|&place| place < end) {
        reach *= 2;
    }
    places[..places.len().min(reach)].partition_point(|&place| place < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: OriginRuns<'_> =
        OriginRuns { ends: &[2, 4, 5, 9], trusted: &[true, false, true, true], spoken: &[false, true, false, true] };

    #[test]
    fn a_range_belongs_to_its_first_run_or_to_a_message() {
        let (starts, ends): (Vec<_>, Vec<_>) =
            [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (3, 5), (4, 5), (4, 9), (5, 9), (9, 9)].into_iter().unzip();
        let mut found = Vec::new();
        RUNS.of_ids(&starts, &ends, |run, ids| found.extend(std::iter::repeat_n(run, ids)));
        assert_eq!(found, [0, 0, 1, 1, 1, 1, 2, 3, 3, 3]);
    }

    #[test]
    fn a_mark_is_trusted_if_no_other_text_spells_a_part() {
        let marks = Marks::new(&["<a>".into(), "a><".into()], &[7]).unwrap();
        let spelled = |text| marks.are_trusted(text, &[], (&[], &[]), RUNS);
        assert!(spelled("éé<-><a>é") && spelled("nothing") && spelled(""));
        assert!(!spelled("é<a>é<a>x") && !spelled("<a>"));
        let crossing = Marks::new(&["<a".into(), "a>".into()], &[]).unwrap();
        assert!(crossing.are_trusted("<a--", &[], (&[], &[]), RUNS));
        assert!(!crossing.are_trusted("<a>-", &[], (&[], &[]), RUNS), "the second crosses the first");
        assert!(marks.are_trusted("", &[7, 6, 7], (&[0, 2, 5], &[2, 4, 9]), RUNS));
        assert!(!marks.are_trusted("", &[7, 7], (&[0, 2], &[2, 2]), RUNS));
    }
}
