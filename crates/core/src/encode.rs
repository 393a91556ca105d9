//! The conductor: cuts added tokens out of a text, splits the rest into pieces, and merges each piece to ids.

use crate::cache::{Engine, Memory};
use crate::error::{Error, Result};
use crate::merge::{Scratch, merge};
use crate::parallel::{Stop, map};
use crate::special::{AddedTokens, Allow, Segment};
use crate::split::Splitter;
use crate::vocab::Vocab;

/// How many pieces are encoded between two looks at the stop flag.
const PIECES_PER_LOOK: usize = 1 << 12;

/// What a thread keeps from call to call.
#[derive(Debug)]
pub struct Session {
    /// The pieces.
    pub memory: Memory,
    /// Buffers.
    pub scratch: Scratch,
}

/// Everything that encoding needs, immutable.
#[derive(Debug)]
pub struct Encoder {
    /// The tokens and merges.
    pub vocab: std::sync::Arc<Vocab>,
    /// The tokens that are cut out first.
    pub added: AddedTokens,
    /// Text to pieces.
    pub splitter: Splitter,
}

impl Encoder {
    /// Appends the ids of `text` to `out`.
    ///
    /// # Errors
    /// [`Error::SpecialTokenInText`], [`Error::NotInVocabulary`], [`Error::Pattern`], [`Error::Interrupted`].
    pub fn encode(
        &self,
        text: &[u8],
        allow: &Allow,
        stop: &Stop,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.added.cut(text, allow, |segment| match segment {
            Segment::Token(id) => {
                out.push(id);
                Ok(())
            }
            Segment::Text(text, start) => self.encode_ordinary(text, start, stop, scratch, out),
        })
    }

    /// The same with a memory of pieces.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub fn encode_with(
        &self,
        text: &[u8],
        allow: &Allow,
        stop: &Stop,
        session: &mut Session,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.added.cut(text, allow, |segment| match segment {
            Segment::Token(id) => {
                out.push(id);
                Ok(())
            }
            Segment::Text(text, start) => {
                let Session { memory, scratch } = session;
                let mut engine = Engine::new(&self.vocab, memory, scratch, stop, text, out);
                let mut at = 0;
                let mut pieces_until_look = PIECES_PER_LOOK;
                self.splitter.split(text, |piece| {
                    engine.piece(at, piece.len()).map_err(|error| error.shifted(start))?;
                    at += piece.len();
                    pieces_until_look -= 1;
                    if pieces_until_look == 0 {
                        stop.check()?;
                        pieces_until_look = PIECES_PER_LOOK;
                    }
                    Ok(())
                })?;
                engine.finish().map_err(|error| error.shifted(start))
            }
        })
    }

    fn encode_ordinary(
        &self,
        text: &[u8],
        mut start: usize,
        stop: &Stop,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let mut pieces_until_look = PIECES_PER_LOOK;
        self.splitter.split(text, |piece| {
            merge(&self.vocab, piece, stop, scratch, out).map_err(|error| error.shifted(start))?;
            start += piece.len();
            pieces_until_look -= 1;
            if pieces_until_look == 0 {
                stop.check()?;
                pieces_until_look = PIECES_PER_LOOK;
            }
            Ok(())
        })
    }

    /// The ids of each text, in order.
    ///
    /// # Errors
    /// Those of [`Self::encode`], of the first text that has one, as [`Error::InBatch`].
    pub fn encode_batch<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        allow: &Allow,
        threads: usize,
        stop: &Stop,
    ) -> Result<Vec<Vec<u32>>> {
        map(texts.len(), threads, Scratch::default, |scratch, place| {
            let mut ids = Vec::new();
            stop.check()?;
            self.encode(texts[place].as_ref(), allow, stop, scratch, &mut ids)
                .map_err(|error: Error| error.in_batch(place))?;
            Ok(ids)
        })
    }

    /// The number of ids of each text, in order.
    ///
    /// # Errors
    /// Those of [`Self::encode_batch`].
    pub fn count_batch<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        allow: &Allow,
        threads: usize,
        stop: &Stop,
    ) -> Result<Vec<u64>> {
        let state = || (Scratch::default(), Vec::new());
        map(texts.len(), threads, state, |(scratch, ids), place| {
            ids.clear();
            stop.check()?;
            self.encode(texts[place].as_ref(), allow, stop, scratch, ids).map_err(|error| error.in_batch(place))?;
            Ok(ids.len() as u64)
        })
    }
}
