//! The conductor: cuts added tokens out of a text, splits the rest into pieces, and merges each piece to ids.

pub mod boundaries;
pub mod files;
pub mod long_text;
pub mod pieces;
pub mod sampled;
pub mod spans;
pub mod staged;

use std::sync::Arc;

use crate::bounds::Bounds;
use crate::encode::pieces::{Pieces, Session};
use crate::encode::spans::Spans;
use crate::encode::staged::{Call, Stages};
use crate::error::Result;
use crate::fault;
use crate::kinds::sentencepiece::Chars;
use crate::merge::{Scratch, merge, merge_with_ends};
use crate::slow::slow;
use crate::split::special::{AddedTokens, Allow, Flags, Segment};
use crate::split::{Splitter, Text};
use crate::steps::Line;
use crate::threads::parallel::{Stop, map};
use crate::threads::sessions::Kept;
use crate::vocab::{Unit, Vocab};

/// More bytes than most ids stand for, so that room is made once and little of it is left over.
const BYTES_PER_ID: usize = 5;

/// Everything that encoding needs. Immutable but for the sessions that wait for the next call.
#[derive(Debug)]
pub struct Encoder {
    vocab: Arc<Vocab>,
    added: AddedTokens,
    splitter: Splitter,
    chars: Option<Chars>,
    stages: Stages,
    /// Whether texts between added tokens go through the stages.
    staged: bool,
    slow: bool,
    sessions: Kept<Session>,
}

impl Encoder {
    /// The encoder of a vocabulary. `TOKSMITH_SLOW=1` makes it merge every piece anew.
    #[must_use]
    pub fn new(vocab: Arc<Vocab>, added: AddedTokens, splitter: Splitter) -> Self {
        let staged = added.any_normalized();
        Self {
            vocab,
            added,
            splitter,
            chars: None,
            stages: Stages::default(),
            staged,
            slow: slow(),
            sessions: Kept::default(),
        }
    }

    /// The same encoder, which does all that a model says of a text beside cutting and merging.
    ///
    /// # Errors
    /// `Model` of [`crate::Error`], when the added tokens cannot be normalized.
    pub fn with_stages(mut self, stages: Stages) -> Result<Self> {
        let (stop, added) = (Stop::default(), self.added);
        let bounds = stages.bounds_of(added.tokens(), &stop);
        self.added = added.normalized(|content| {
            let mut line = Line::new(content);
            stages.normalize_added(&mut line, &bounds)?;
            Ok(line.text().to_owned())
        })?;
        self.staged = !stages.is_empty() || self.added.any_normalized();
        self.stages = stages;
        Ok(self)
    }

    /// Whether it searches with a regex, which takes longer than the text lets expect.
    #[must_use]
    pub fn searches(&self) -> bool {
        self.splitter.searches() || self.stages.searches()
    }

    /// The same encoder, which leaves texts between added tokens to `chars`.
    #[must_use]
    pub fn with_chars(mut self, chars: Option<Chars>) -> Self {
        self.chars = chars;
        self
    }

    /// The tokens that are cut out first.
    #[must_use]
    pub fn added(&self) -> &AddedTokens {
        &self.added
    }

    /// What is done beside cutting and merging.
    #[must_use]
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Whether texts are pieces of characters.
    #[must_use]
    pub fn has_chars(&self) -> bool {
        self.chars.is_some()
    }

    /// Whether texts go through the stages.
    #[must_use]
    pub fn is_staged(&self) -> bool {
        self.staged
    }

    /// What does all of it where a text is one piece of characters.
    #[must_use]
    pub fn chars(&self) -> Option<&Chars> {
        self.chars.as_ref()
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// The vocabulary, if the ids of a text spell its bytes as they are, as far as it knows them.
    #[must_use]
    pub fn spelling(&self) -> Option<&Vocab> {
        let plain = self.vocab.unit() == Unit::Byte && self.chars.is_none() && !self.staged && !self.slow;
        plain.then_some(&*self.vocab)
    }

    /// Whether everything is done the slow way.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.slow
    }

    /// Whether a text between added tokens is one piece, as it is.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        let flagged = self.added.tokens().iter().any(|token| token.flags != Flags::default());
        self.splitter.is_none() && self.chars.is_none() && !self.staged && !flagged
    }

    /// Text to pieces.
    #[must_use]
    pub fn splitter(&self) -> &Splitter {
        &self.splitter
    }

    /// Runs `work` with a session of an earlier call, or a new one.
    pub fn with_session<T>(&self, work: impl FnOnce(&mut Session) -> T) -> T {
        self.sessions.lend(work)
    }

    /// The bytes of the tables that the encoder was made with, and of those made since.
    #[must_use]
    pub fn table_bytes(&self) -> (usize, usize) {
        let (made, since) = self.vocab.table_bytes();
        (made + self.added.bytes() + self.chars.as_ref().map_or(0, Chars::table_bytes), since)
    }

    /// How many sessions wait for the next calls, and their bytes.
    #[must_use]
    pub fn sessions(&self) -> (usize, usize) {
        let (count, bytes) = self.sessions.held();
        let (more, of_these) = self.chars.as_ref().map_or((0, 0), Chars::sessions);
        (count + more, bytes + of_these)
    }

    /// Drops the sessions that wait. Calls that are at work keep theirs.
    pub fn release(&self) {
        self.sessions.release();
        if let Some(chars) = &self.chars {
            chars.release();
        }
    }

    /// Appends the ids of `text` to `out`.
    ///
    /// # Errors
    /// `SpecialTokenInText`, `NotInVocabulary`, `Pattern`, `TooLong` and `Interrupted` of [`crate::Error`].
    pub fn encode(
        &self,
        text: Text<'_>,
        allow: &Allow,
        stop: &Stop,
        session: &mut Session,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let bounds = &Bounds::new(text.as_bytes().len(), stop);
        self.added.cut(text.as_bytes(), allow, |segment| match segment {
            Segment::Token(id, _) => {
                out.push(id);
                Ok(())
            }
            Segment::Text(start, end) if self.staged => {
                Call::new(self, (allow, bounds), session, out, None).text(text.part(start, end), start)
            }
            Segment::Text(start, end) => {
                self.encode_part(text.part(start, end), bounds, session, out).map_err(|error| error.shifted(start))
            }
        })
    }

    /// The same with the range of each id in the text.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub fn encode_with_offsets(
        &self,
        text: Text<'_>,
        allow: &Allow,
        stop: &Stop,
        session: &mut Session,
        (out, spans): (&mut Vec<u32>, &mut Spans),
    ) -> Result<()> {
        let bounds = &Bounds::new(text.as_bytes().len(), stop);
        spans.begin();
        self.added.cut(text.as_bytes(), allow, |segment| match segment {
            Segment::Token(id, end) => {
                out.push(id);
                spans.push(end, end);
                Ok(())
            }
            Segment::Text(start, end) => {
                let part = text.part(start, end);
                let first = out.len();
                if self.staged {
                    return Call::new(self, (allow, bounds), session, out, Some(&mut *spans)).text(part, start);
                }
                if let Some(chars) = &self.chars {
                    let result = chars.encode_with_offsets(part, start, (self.slow, bounds), (&mut *out, &mut *spans));
                    return result.map_err(|error| error.shifted(start));
                }
                if self.vocab.hides_widths() {
                    let result = self.encode_with_ends(part, start, bounds, (&mut session.scratch, &mut *out, spans));
                    return result.map_err(|error| error.shifted(start));
                }
                self.encode_part(part, bounds, session, out).map_err(|error| error.shifted(start))?;
                match self.vocab.widths().filter(|_| !self.slow) {
                    Some(widths) => spans.extend(out[first..].iter().map(|&id| widths.of(&self.vocab, id))),
                    None => spans.extend(out[first..].iter().map(|&id| self.vocab.width(id))),
                }
                Ok(())
            }
        })?;
        spans.finish(text);
        Ok(())
    }

    /// The same for a text without added tokens, which starts at `start`, where ids do not say what they stand for.
    fn encode_with_ends(
        &self,
        text: Text<'_>,
        start: usize,
        bounds: &Bounds<'_>,
        (scratch, out, spans): (&mut Scratch, &mut Vec<u32>, &mut Spans),
    ) -> Result<()> {
        let (mut at, mut ends, stop) = (0, Vec::new(), bounds.stop());
        self.splitter.split(text, bounds, |piece| {
            stop.check()?;
            merge_with_ends(&self.vocab, piece, stop, (&mut *scratch, &mut *out), &mut ends)
                .map_err(|error| error.shifted(at))?;
            for end in ends.drain(..) {
                spans.push(start + at + end, start + at + end);
            }
            at += piece.len();
            Ok(())
        })
    }

    /// The number of ids of a text, which are not kept; `room` is a buffer for some of them.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub fn count(
        &self,
        text: Text<'_>,
        allow: &Allow,
        stop: &Stop,
        session: &mut Session,
        room: &mut Vec<u32>,
    ) -> Result<u64> {
        let (mut count, bounds) = (0, &Bounds::new(text.as_bytes().len(), stop));
        self.added.cut(text.as_bytes(), allow, |segment| {
            count += match segment {
                Segment::Token(..) => 1,
                Segment::Text(start, end) if self.staged => {
                    room.clear();
                    Call::new(self, (allow, bounds), session, room, None).text(text.part(start, end), start)?;
                    room.len() as u64
                }
                Segment::Text(start, end) => {
                    let counted = self.count_part(text.part(start, end), bounds, session, room);
                    counted.map_err(|error| error.shifted(start))?
                }
            };
            Ok(())
        })?;
        Ok(count)
    }

    fn count_part(
        &self,
        text: Text<'_>,
        bounds: &Bounds<'_>,
        session: &mut Session,
        room: &mut Vec<u32>,
    ) -> Result<u64> {
        room.clear();
        if self.slow || self.chars.is_some() {
            self.encode_part(text, bounds, session, room)?;
            return Ok(room.len() as u64);
        }
        let mut count = 0;
        let mut ends = session.ends.take().unwrap_or_default();
        let mut pieces = Pieces::new(&self.vocab, session, bounds.stop(), text.as_bytes(), room);
        let counted = self.splitter.ends(text, bounds, &mut ends, |ends| {
            pieces.take(ends)?;
            count += pieces.count();
            Ok(())
        });
        let result = counted.and_then(|()| pieces.finish());
        session.ends = Some(ends);
        result.map(|()| count + room.len() as u64)
    }

    /// Appends the ids of a text without added tokens, which goes through no stage.
    pub(crate) fn encode_part(
        &self,
        text: Text<'_>,
        bounds: &Bounds<'_>,
        session: &mut Session,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        fault::point();
        if let Some(chars) = &self.chars {
            chars.encode(text, self.slow, bounds, out)
        } else if self.slow {
            self.encode_slowly(text, bounds, &mut session.scratch, out)
        } else {
            self.encode_ordinary(text, bounds, session, out)
        }
    }

    fn encode_ordinary(
        &self,
        text: Text<'_>,
        bounds: &Bounds<'_>,
        session: &mut Session,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let mut ends = session.ends.take().unwrap_or_default();
        out.reserve(text.as_bytes().len() / BYTES_PER_ID);
        let mut pieces = Pieces::new(&self.vocab, session, bounds.stop(), text.as_bytes(), out);
        let result =
            self.splitter.ends(text, bounds, &mut ends, |ends| pieces.take(ends)).and_then(|()| pieces.finish());
        session.ends = Some(ends);
        result
    }

    /// The twin of [`Self::encode_ordinary`] without a memory: every piece is merged.
    fn encode_slowly(
        &self,
        text: Text<'_>,
        bounds: &Bounds<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let (mut at, stop) = (0, bounds.stop());
        self.splitter.split(text, bounds, |piece| {
            stop.check()?;
            merge(&self.vocab, piece, stop, scratch, out).map_err(|error| error.shifted(at))?;
            at += piece.len();
            Ok(())
        })
    }

    /// The ids of each text, in order.
    ///
    /// # Errors
    /// Those of [`Self::encode`], of the first text that has one, as [`crate::Error::InBatch`].
    pub fn encode_batch(
        &self,
        texts: &[Text<'_>],
        allow: &Allow,
        threads: usize,
        stop: &Stop,
    ) -> Result<Vec<Vec<u32>>> {
        self.each(texts, threads, stop, |text, session| {
            let mut ids = Vec::new();
            self.encode(text, allow, stop, session, &mut ids)?;
            Ok(ids)
        })
    }

    /// The number of ids of each text, in order.
    ///
    /// # Errors
    /// Those of [`Self::encode_batch`].
    pub fn count_batch(&self, texts: &[Text<'_>], allow: &Allow, threads: usize, stop: &Stop) -> Result<Vec<u64>> {
        self.each(texts, threads, stop, |text, session| self.count(text, allow, stop, session, &mut Vec::new()))
    }

    fn each<T: Send>(
        &self,
        texts: &[Text<'_>],
        threads: usize,
        stop: &Stop,
        work: impl Fn(Text<'_>, &mut Session) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        map(texts.len(), threads, |next| {
            self.with_session(|session| {
                next.each(|place| {
                    stop.check()?;
                    work(texts[place], session).map_err(|error| error.in_batch(place))
                });
            });
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::tests::bytes_vocab;

    /// The ids of a text with and without a memory, the memory new and filled.
    fn encoded(encoder: &Encoder, text: Text<'_>) -> Vec<u32> {
        let (mut slow, mut new, mut filled) = (Vec::new(), Vec::new(), Vec::new());
        let stop = Stop::default();
        let bounds = Bounds::new(text.as_bytes().len(), &stop);
        encoder.encode_slowly(text, &bounds, &mut Scratch::default(), &mut slow).unwrap();
        let mut session = Session::default();
        encoder.encode_ordinary(text, &bounds, &mut session, &mut new).unwrap();
        encoder.encode_ordinary(text, &bounds, &mut session, &mut filled).unwrap();
        let count = encoder.count_part(text, &bounds, &mut session, &mut Vec::new()).unwrap();
        assert_eq!(slow.len() as u64, count);
        assert_eq!(slow, new);
        assert_eq!(slow, filled);
        slow
    }

    #[test]
    fn a_memory_changes_no_id() {
        let tokens = [
            "aa",
            "ab",
            "abab",
            "ba",
            "日",
            "日本",
            "本日",
            "aaaaaaaa",
            "x1",
            "abababababababababababababababab",
            "zzz",
        ];
        let encoder = |pattern: &[&str]| {
            let added = AddedTokens::new(Vec::new()).unwrap();
            Encoder::new(Arc::new(bytes_vocab(&tokens)), added, Splitter::new(pattern).unwrap())
        };
        let encoders = [encoder(&[]), encoder(&["[a-z]+|x"]), encoder(crate::split::pattern::PATTERNS[0].regexes)];
        let words = ["a", "b", "ab", "日本", "本", " ", "x1", "zzz", "\n", "\u{FF}"];
        let mut state = 1u64;
        for length in 0..600 {
            let mut text = String::new();
            for _ in 0..length % 90 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(words[(state >> 33) as usize % words.len()]);
            }
            for encoder in &encoders {
                encoded(encoder, Text::Str(&text));
                encoded(encoder, Text::Bytes(&[text.as_bytes(), b"\xFF\xE6\x97"].concat()));
            }
        }
    }

    #[test]
    fn a_token_that_only_the_whole_piece_lookup_reaches_keeps_both_answers() {
        let whole = |pattern: &str| {
            let added = AddedTokens::new(Vec::new()).unwrap();
            let vocab = crate::merge::tests::vocab_of(&["bc", "abcd"], true);
            Encoder::new(Arc::new(vocab), added, Splitter::new(&[pattern]).unwrap())
        };
        // `x` is in no token, so that `abcd` is a stretch of its own, which merges to `a bc d`.
        assert_eq!(encoded(&whole("[a-z]+"), Text::Str("xabcdx abcd xabcdx")).len(), 5 + 1 + 1 + 1 + 5);
    }

    #[test]
    fn a_full_memory_still_knows_every_piece() {
        let added = AddedTokens::new(Vec::new()).unwrap();
        let splitter = Splitter::new(&["[0-9]+"]).unwrap();
        let encoder = Encoder::new(Arc::new(bytes_vocab(&["12", "34", "1234"])), added, splitter);
        let text = (0..60_000).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        assert!(encoded(&encoder, Text::Str(&text)).len() > 60_000);
    }
}
