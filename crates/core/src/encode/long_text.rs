//! Encodes the parts of a long text on several threads, with results in order.
//!
//! The scheduler ([`crate::threads::parallel`]) makes parts one at a time, so that a source that is read in pieces
//! needs no separate thread. Neither ids nor errors depend on the number of threads.

use std::sync::Mutex;

use crate::encode::encoder::Encoder;
use crate::encode::session::Session;
use crate::error::Result;
use crate::split::Text;
use crate::split::special::Allow;
use crate::split::text_cuts::{TextCuts, text_parts};
use crate::threads::parallel::{Jobs, Plan, Stop, lock, run_ordered};

/// The minimum bytes of a part, unless it is the last. It is long enough to make the cost of starting a part
/// negligible, and short enough that the threads end at about the same time.
pub const PART: usize = 1 << 18;

/// The rules for cutting a text.
#[derive(Debug, Clone, Copy)]
pub struct LongText<'e> {
    /// The encoder of the text.
    pub encoder: &'e Encoder,
    /// The cuts of the text; without them a document is in memory as a whole.
    pub cuts: Option<&'e TextCuts>,
    /// The allowed special tokens.
    pub allow: &'e Allow,
    /// The minimum bytes of a part (normally [`PART`]).
    pub part: usize,
}

/// Ids, and the ends of documents in them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RaggedIds {
    /// The ids of the documents, one after another.
    pub ids: Vec<u32>,
    /// The end of each document in `ids`.
    pub ends: Vec<u64>,
}

impl RaggedIds {
    fn append(&mut self, part: &Self) {
        let before = self.ids.len() as u64;
        self.ids.extend_from_slice(&part.ids);
        self.ends.extend(part.ends.iter().map(|end| before + end));
    }

    fn clear(&mut self) {
        self.ids.clear();
        self.ends.clear();
    }
}

/// Runs `work` on each part that `next` returns, and joins the results in order; None from `next` ends the parts.
///
/// # Errors
/// The error of the first part that has one, from `next` or from `work`; [`crate::Error::Interrupted`].
pub fn encode_parts<P: Send>(
    encoder: &Encoder,
    threads: usize,
    stop: &Stop,
    next: impl FnMut() -> Result<Option<P>> + Send,
    work: impl Fn(P, &mut Session, &mut RaggedIds) -> Result<()> + Sync,
) -> Result<RaggedIds> {
    // Buffers are reused: allocating them would cost more than copying their content out.
    let (mut all, rooms) = (RaggedIds::default(), Mutex::new(Vec::new()));
    let run = |parts: &mut Jobs<'_, P, RaggedIds>| {
        encoder.with_session(|session| {
            parts.for_each(|part| {
                let mut room: RaggedIds = lock(&rooms).pop().unwrap_or_default();
                work(part, session, &mut room)?;
                Ok(room)
            });
        });
    };
    run_ordered(Plan { threads, watched: false, stop }, next, run, |ready| {
        for mut part in ready {
            if all.ids.is_empty() && all.ends.is_empty() {
                std::mem::swap(&mut all, &mut part); // the only part, perhaps, which is then not copied
                continue;
            }
            all.append(&part);
            part.clear();
            lock(&rooms).push(part);
        }
        Ok(())
    })?;
    Ok(all)
}

/// Returns the ids of one text, on several threads if it can be cut.
///
/// # Errors
/// As [`Encoder::encode`], with the same offsets.
pub fn encode(rules: &LongText<'_>, text: Text<'_>, threads: usize, stop: &Stop) -> Result<Vec<u32>> {
    let &LongText { encoder, cuts, allow, part } = rules;
    let mut parts = text_parts(text.as_bytes(), cuts, encoder.added(), part);
    let work = |(start, end), session: &mut Session, out: &mut RaggedIds| {
        let part = text.part(start, end);
        encoder.encode(part, allow, stop, session, &mut out.ids).map_err(|error| error.shift_offset(start))
    };
    let threads = threads.min(text.as_bytes().len() / part + 1);
    encode_parts(encoder, threads, stop, || Ok(parts.next()), work).map(|ragged| ragged.ids)
}

/// Returns the ids of the first part of a text, and the end of that part: the first cut at `least` bytes or more.
///
/// # Errors
/// As [`Encoder::encode`], with the same offsets.
pub fn encode_first(
    rules: &LongText<'_>,
    text: Text<'_>,
    least: usize,
    threads: usize,
    stop: &Stop,
) -> Result<(Vec<u32>, usize)> {
    let first = text_parts(text.as_bytes(), rules.cuts, rules.encoder.added(), least).next();
    let end = first.map_or(0, |(_, end)| end);
    Ok((encode(rules, text.part(0, end), threads, stop)?, end))
}

/// Returns the number of ids of one text, computed in the same way.
///
/// # Errors
/// As [`encode`].
pub fn count(rules: &LongText<'_>, text: Text<'_>, threads: usize, stop: &Stop) -> Result<u64> {
    let &LongText { encoder, cuts, allow, part } = rules;
    let mut parts = text_parts(text.as_bytes(), cuts, encoder.added(), part);
    let work = |(start, end), session: &mut Session, out: &mut RaggedIds| {
        let part = text.part(start, end);
        let counted =
            encoder.count(part, allow, stop, session, &mut out.ids).map_err(|error| error.shift_offset(start))?;
        out.ids.clear();
        out.ends.push(counted);
        Ok(())
    };
    let threads = threads.min(text.as_bytes().len() / part + 1);
    encode_parts(encoder, threads, stop, || Ok(parts.next()), work).map(|ragged| ragged.ends.iter().sum())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Error;
    use crate::drawn::{Draw, added_token, bytes_vocab, encode_text, plain_encoder};
    use crate::split::pattern::PATTERNS;

    /// An encoder with overlapping added tokens, and words that are likely to be cut.
    pub fn make_encoder(regexes: &[&str]) -> Encoder {
        let added = [("<|end|>", 900, true), ("a b", 901, false), ("b 7", 902, true)];
        let added = added.map(|(content, id, special)| added_token(content, id, special));
        plain_encoder(bytes_vocab(&["ab", "abab", " a", "日本", "\n\n", "77", "  "]), added.into(), regexes)
    }

    /// A drawn text of `words` words, in which all kinds of cuts and of uncuttable places are near each other.
    pub fn draw_text(draw: &mut Draw, words: usize) -> Vec<u8> {
        let all = ["a", "b", " ", "  ", "\n", "7", "日本", "。", "'s", "<|end|>", "<|en", "a b", "\u{301}", "/"];
        draw.bytes(&[&all.map(str::as_bytes)[..], &[b"\xFF\xE6"]].concat(), words)
    }

    #[test]
    fn threads_and_parts_change_neither_ids_nor_errors() {
        let mut draw = Draw(5);
        let (mut errors, mut found) = (0, 0);
        for row in PATTERNS.iter().filter(|row| TextCuts::for_patterns(row.regexes).is_some()) {
            let (encoder, cuts) = (make_encoder(row.regexes), TextCuts::for_patterns(row.regexes).unwrap());
            for round in 0..150 {
                let bytes = draw_text(&mut draw, round % 60);
                let lossy = String::from_utf8_lossy(&bytes).into_owned();
                for (text, allow) in [Allow::All, Allow::Text, Allow::Raise, Allow::Some(vec![0])]
                    .iter()
                    .flat_map(|allow| [(Text::Bytes(&bytes), allow), (Text::Str(&lossy), allow)])
                {
                    let expected = encode_text(&encoder, text, allow);
                    errors += usize::from(expected.is_err());
                    for (threads, part) in [(1, 3), (2, 1), (3, 11), (5, 40)] {
                        let rules = LongText { encoder: &encoder, cuts: Some(&cuts), allow, part };
                        let got = super::encode(&rules, text, threads, &Stop::default());
                        assert_eq!(got, expected, "{} {part} {:?}", row.name, bytes.escape_ascii().to_string());
                    }
                    found += 1;
                }
            }
        }
        assert!(errors > 500 && found > 5 * errors / 4, "{errors} of {found}");
    }

    #[test]
    fn first_parts_together_have_the_ids_of_the_text() {
        let mut draw = Draw(7);
        let mut several = 0;
        for row in PATTERNS.iter().filter(|row| TextCuts::for_patterns(row.regexes).is_some()) {
            let (encoder, cuts) = (make_encoder(row.regexes), TextCuts::for_patterns(row.regexes).unwrap());
            for round in 0..60 {
                let bytes = draw_text(&mut draw, round);
                for allow in [Allow::All, Allow::Raise] {
                    let rules = LongText { encoder: &encoder, cuts: Some(&cuts), allow: &allow, part: 5 };
                    let (mut all, mut at, mut calls) = (Ok(Vec::new()), 0, 0);
                    while at < bytes.len() {
                        calls += 1;
                        let rest = Text::Bytes(&bytes[at..]);
                        match encode_first(&rules, rest, 9, 2, &Stop::default()) {
                            Ok((ids, end)) => {
                                assert!(end >= 9 || at + end == bytes.len());
                                all.as_mut().unwrap().extend(ids);
                                at += end;
                            }
                            Err(error) => {
                                all = Err(error.shift_offset(at));
                                break;
                            }
                        }
                    }
                    assert_eq!(all, encode_text(&encoder, Text::Bytes(&bytes), &allow), "{} {round}", row.name);
                    several += usize::from(calls > 2);
                }
            }
        }
        assert!(several > 100, "{several}");
    }

    #[test]
    fn a_stopped_call_ends() {
        let stop = Stop::default();
        stop.raise();
        let row = PATTERNS[0].regexes;
        let text = Text::Str("a b c");
        let encoder = make_encoder(row);
        for cuts in [TextCuts::for_patterns(row), None] {
            let rules = LongText { encoder: &encoder, cuts: cuts.as_ref(), allow: &Allow::All, part: 1 };
            assert_eq!(super::encode(&rules, text, 2, &stop), Err(Error::Interrupted));
        }
    }

    #[test]
    fn results_keep_the_order_of_their_parts() {
        let encoder = make_encoder(&[]);
        for threads in [1, 2, 9] {
            let mut numbers = 0..500u32;
            let next = || Ok(numbers.next());
            let ragged = encode_parts(&encoder, threads, &Stop::default(), next, |number, _, out| {
                std::thread::sleep(std::time::Duration::from_micros(u64::from(number % 7) * 20));
                out.ids.extend([number; 3]);
                out.ends.extend([1, 3]);
                Ok(())
            })
            .unwrap();
            assert!(ragged.ids.iter().copied().eq((0..1500).map(|place| place / 3)));
            assert!(ragged.ends.iter().copied().eq((0..500).flat_map(|part| [3 * part + 1, 3 * part + 3])));
        }
    }
}
