//! Encodes texts into ids: [`Encoder`] has the tables, [`call`] walks one text.
//!
//! Reading order: this file, [`encoder`], [`call`], then its branches: [`staged`] (with [`stages`]) if steps rewrite a
//! text, and `pieces`, which remembers pieces and uses `learn` for new ones. On top of the walk: [`long_text`] encodes
//! the parts of a long text on all threads, [`files`] reads documents in blocks, [`boundaries`] finds cuts that no
//! later text changes, and [`best_encodings`] the best encodings of a unigram model. [`in_pieces`] gives the piece and
//! the origin of each id. [`template`] adds special ids around texts.
//!
//! Left out: splitting ([`crate::split`]), merging ([`crate::merge`]), the kinds that do not merge ([`crate::kinds`]),
//! and ids to texts ([`crate::decode`]).

pub mod best_encodings;
pub mod boundaries;
pub mod call;
pub mod encoder;
pub mod files;
pub mod in_pieces;
#[cfg(feature = "fast")]
pub mod learn;
pub mod long_text;
#[cfg(feature = "fast")]
pub mod pieces;
pub mod session;
pub mod staged;
pub mod stages;
pub mod template;

use crate::encode::call::EncodeCall;
use crate::encode::session::Session;
use crate::error::Result;
use crate::kinds::{Drawing, Sampling};
use crate::merge::draws::Draws;
use crate::split::Text;
use crate::split::spans::PlacedIds;
use crate::split::special::Allow;
use crate::text::bounds::Bounds;
use crate::threads::parallel::{Stop, map_items};

pub use encoder::Encoder;

impl Encoder {
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
        EncodeCall::new(self, allow, bounds, session, out).run(text)
    }

    /// The same with the range of each id in the text.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_with_offsets(
        &self,
        text: Text<'_>,
        allow: &Allow,
        stop: &Stop,
        session: &mut Session,
        out: PlacedIds<'_>,
    ) -> Result<()> {
        let bounds = &Bounds::new(text.as_bytes().len(), stop);
        let PlacedIds { ids, spans } = out;
        spans.begin();
        EncodeCall::new(self, allow, bounds, session, ids).with_spans(spans).run(text)?;
        spans.finish(text);
        Ok(())
    }

    /// Returns the number of ids of a text without storing them; `room` is a buffer.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn count(
        &self,
        text: Text<'_>,
        allow: &Allow,
        stop: &Stop,
        session: &mut Session,
        room: &mut Vec<u32>,
    ) -> Result<u64> {
        let bounds = &Bounds::new(text.as_bytes().len(), stop);
        EncodeCall::new(self, allow, bounds, session, room).count(text)
    }

    /// Appends the ids of a sampled encoding of `text`. `WordPiece` and whole words have only one encoding.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn sample(
        &self,
        text: Text<'_>,
        allow: &Allow,
        sampling: &Sampling,
        stop: &Stop,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let bounds = &Bounds::new(text.as_bytes().len(), stop);
        let drawing = Drawing { sampling: *sampling, draws: &mut Draws::new(sampling.seed) };
        self.with_session(|session| EncodeCall::new(self, allow, bounds, session, out).with_drawing(drawing).run(text))
    }

    /// Returns the ids of each text, in order.
    ///
    /// # Errors
    /// The first text's error, as of [`Self::encode`], in an [`crate::Error::InBatch`].
    pub fn encode_batch(
        &self,
        texts: &[Text<'_>],
        allow: &Allow,
        threads: usize,
        stop: &Stop,
    ) -> Result<Vec<Vec<u32>>> {
        map_items(texts.len(), threads, stop, |next| {
            self.with_session(|session| {
                next.for_each_item(|place| {
                    let mut ids = Vec::new();
                    let outcome = self.encode(texts[place], allow, stop, session, &mut ids);
                    outcome.map(|()| ids).map_err(|error| error.in_batch(place))
                });
            });
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::{Draw, bytes_vocab, plain_encoder, vocab_of};

    /// The ids of a text with and without a memory, the memory new and filled.
    fn encode_in_each_way(encoder: &Encoder, text: Text<'_>) -> Vec<u32> {
        let (mut slow, mut new, mut filled) = (Vec::new(), Vec::new(), Vec::new());
        let stop = Stop::default();
        let bounds = Bounds::new(text.as_bytes().len(), &stop);
        let mut session = Session::default();
        let mut run = |slow, out: &mut Vec<u32>| {
            let mut call = EncodeCall::new(encoder, &Allow::All, &bounds, &mut session, out);
            call.slow = slow;
            call.run(text).unwrap();
        };
        run(true, &mut slow);
        run(false, &mut new);
        run(false, &mut filled);
        let count = encoder.count(text, &Allow::All, &stop, &mut session, &mut Vec::new()).unwrap();
        assert_eq!(slow.len() as u64, count);
        assert_eq!(slow, new);
        assert_eq!(slow, filled);
        slow
    }

    #[test]
    fn the_memory_of_pieces_changes_no_id() {
        let long = "ab".repeat(16);
        let tokens = ["aa", "ab", "abab", "ba", "日", "日本", "本日", "aaaaaaaa", "x1", &long, "zzz"];
        let encoder = |patterns: &[&str]| plain_encoder(bytes_vocab(&tokens), Vec::new(), patterns);
        let encoders = [encoder(&[]), encoder(&["[a-z]+|x"]), encoder(crate::split::pattern::PATTERNS[0].regexes)];
        let words = ["a", "b", "ab", "日本", "本", " ", "x1", "zzz", "\n", "\u{FF}"];
        let mut draw = Draw(1);
        for length in 0..600 {
            let text: String = (0..length % 90).map(|_| words[draw.below(words.len())]).collect();
            for encoder in &encoders {
                encode_in_each_way(encoder, Text::Str(&text));
                encode_in_each_way(encoder, Text::Bytes(&[text.as_bytes(), b"\xFF\xE6\x97"].concat()));
            }
        }
    }

    #[test]
    fn a_piece_and_an_equal_stretch_can_have_different_ids() {
        let whole = plain_encoder(vocab_of(&["bc", "abcd"], true), Vec::new(), &["[a-z]+"]);
        // `x` is in no token, so that `abcd` is a separate stretch, which merges to `a bc d`.
        assert_eq!(encode_in_each_way(&whole, Text::Str("xabcdx abcd xabcdx")).len(), 5 + 1 + 1 + 1 + 5);
    }

    #[test]
    fn a_full_memory_changes_no_id() {
        let encoder = plain_encoder(bytes_vocab(&["12", "34", "1234"]), Vec::new(), &["[0-9]+"]);
        let text = (0..60_000).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        assert!(encode_in_each_way(&encoder, Text::Str(&text)).len() > 60_000);
    }
}
