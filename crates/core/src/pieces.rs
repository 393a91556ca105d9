//! Pieces to ids, with a memory: what [`crate::merge::merge`] gives, faster.
//!
//! A piece that was met before is one look into the memory. A new one is cut where no merge can cross, and each stretch
//! between two cuts, which is likely to have been met before, is looked up or merged.

use crate::Result;
use crate::cache::{Memory, Words, count};
use crate::key::{Key, LONGEST, Window};
use crate::merge::{Scratch, merge_symbols};
use crate::parallel::Stop;
use crate::stretch::{Ids, merge_stretch};
use crate::vocab::{Unit, Vocab};

/// What one call at a time works with, and the next one takes over.
#[derive(Debug, Default)]
pub struct Session {
    /// The pieces met so far.
    pub memory: Memory,
    /// Buffers for long pieces.
    pub scratch: Scratch,
}

/// How many pieces wait for their slots at a time.
const WAITING: usize = 32;

/// A piece whose slot is on its way from memory.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    key: Key,
    slot: usize,
    start: usize,
    len: usize,
}

/// Pieces on their way to ids: each waits a little, so that its slot is there when it is looked at.
pub struct Pieces<'e, 't> {
    vocab: &'e Vocab,
    session: &'e mut Session,
    stop: &'e Stop,
    window: Window<'t>,
    out: Out<'e>,
    waiting: [Waiting; WAITING],
    count: usize,
}

impl<'e, 't> Pieces<'e, 't> {
    /// The pieces of one text, which is split elsewhere.
    pub fn new(
        vocab: &'e Vocab,
        session: &'e mut Session,
        stop: &'e Stop,
        text: &'t [u8],
        out: &'e mut Vec<u32>,
    ) -> Self {
        let waiting = [Waiting::default(); WAITING];
        Self { vocab, session, stop, window: Window::new(text), out: Out::new(out), waiting, count: 0 }
    }

    /// Takes the piece at `start` of the text; its ids are appended in time.
    ///
    /// # Errors
    /// Those of [`crate::merge::merge`], of this piece or one before.
    #[inline(always)]
    pub fn push(&mut self, start: usize, len: usize) -> Result<()> {
        if len > LONGEST {
            self.drain()?;
            return self.long_piece(start, len);
        }
        let key = self.window.key(start, len);
        let slot = self.session.memory.expect(&key);
        self.waiting[self.count] = Waiting { key, slot, start, len };
        self.count += 1;
        if self.count == WAITING { self.drain() } else { Ok(()) }
    }

    /// Appends the ids of all pieces taken.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn finish(&mut self) -> Result<()> {
        let result = self.drain();
        self.out.flush();
        result
    }

    #[inline(never)]
    fn drain(&mut self) -> Result<()> {
        let count = std::mem::take(&mut self.count);
        for at in 0..count {
            let Waiting { key, slot, start, len } = self.waiting[at];
            match self.session.memory.at(slot, &key) {
                Some(words) => self.out.words(words),
                None => self.far_piece(key, start, len)?,
            }
        }
        Ok(())
    }

    /// A piece that is not where its hash says, or nowhere.
    #[inline(never)]
    fn far_piece(&mut self, key: Key, start: usize, len: usize) -> Result<()> {
        if let Some((ids, _)) = self.session.memory.find(&key) {
            self.out.slice(ids);
            return Ok(());
        }
        let piece = &self.window.text[start..start + len];
        if (self.vocab.whole_piece() || self.vocab.unit() == Unit::Piece)
            && let Some(id) = self.vocab.id(piece)
        {
            self.session.memory.learn(key, &[id], false);
            self.out.slice(&[id]);
            return Ok(());
        }
        let mut ids = Ids::default();
        if self.vocab.unit() == Unit::Byte {
            let mut at = start;
            while at < start + len {
                let end = self.vocab.crossings().next_cut(self.window.text, at, start + len);
                if at == start && end == start + len {
                    merge_stretch(self.vocab, &self.window, at, len, &mut ids);
                } else {
                    self.segment(at, end - at, &mut ids);
                }
                at = end;
            }
        } else {
            merge_symbols(self.vocab, piece, self.stop, &mut self.session.scratch)
                .map_err(|error| error.shifted(start))?;
            ids.extend(&self.session.scratch.ids);
        }
        self.session.memory.learn(key, ids.as_slice(), true);
        self.out.slice(ids.as_slice());
        Ok(())
    }

    #[inline(never)]
    fn long_piece(&mut self, start: usize, len: usize) -> Result<()> {
        let piece = &self.window.text[start..start + len];
        let hash = self.session.memory.hash_long(piece);
        if let Some(ids) = self.session.memory.find_long(hash, piece) {
            self.out.slice(ids);
            return Ok(());
        }
        if (self.vocab.whole_piece() || self.vocab.unit() == Unit::Piece)
            && let Some(id) = self.vocab.id(piece)
        {
            self.session.memory.learn_long(hash, piece, &[id]);
            self.out.slice(&[id]);
            return Ok(());
        }
        self.out.flush();
        let before = self.out.ids.len();
        if self.vocab.unit() == Unit::Byte {
            let mut at = start;
            while at < start + len {
                let end = self.vocab.crossings().next_cut(self.window.text, at, start + len);
                if end - at <= LONGEST {
                    let mut ids = Ids::default();
                    self.segment(at, end - at, &mut ids);
                    self.out.ids.extend_from_slice(ids.as_slice());
                } else {
                    merge_symbols(self.vocab, &self.window.text[at..end], self.stop, &mut self.session.scratch)?;
                    self.out.ids.extend_from_slice(&self.session.scratch.ids);
                }
                at = end;
            }
        } else {
            merge_symbols(self.vocab, piece, self.stop, &mut self.session.scratch)
                .map_err(|error| error.shifted(start))?;
            self.out.ids.extend_from_slice(&self.session.scratch.ids);
        }
        self.session.memory.learn_long(hash, piece, &self.out.ids[before..]);
        Ok(())
    }

    /// The ids that merging gives for a stretch between two cuts.
    fn segment(&mut self, start: usize, len: usize, ids: &mut Ids) {
        if len == 1 {
            return ids.push(self.vocab.byte_id(self.window.text[start]));
        }
        let key = self.window.key(start, len);
        if let Some((known, true)) = self.session.memory.find(&key) {
            return ids.extend(known);
        }
        let before = ids.as_slice().len();
        merge_stretch(self.vocab, &self.window, start, len, ids);
        let merged = &ids.as_slice()[before..];
        // What only the whole-piece lookup makes one token has another answer as a piece, and is merged anew each time.
        let whole = self.vocab.whole_piece().then(|| self.vocab.id(&self.window.text[start..start + len])).flatten();
        if whole.is_none_or(|id| merged == [id]) {
            self.session.memory.learn(key, merged, true);
        }
    }
}

/// How many ids wait to be appended at a time.
const ROOM: usize = 1024;

/// Ids on their way out, in a buffer that can always take one more slot.
struct Out<'o> {
    buffer: [u32; ROOM + 8],
    len: usize,
    ids: &'o mut Vec<u32>,
}

impl<'o> Out<'o> {
    /// Appends to `ids`.
    fn new(ids: &'o mut Vec<u32>) -> Self {
        Self { buffer: [0; ROOM + 8], len: 0, ids }
    }

    #[inline]
    fn words(&mut self, words: &Words) {
        if let Some(room) = self.buffer[self.len..].first_chunk_mut::<8>() {
            *room = *words;
        }
        self.len += count(words);
        if self.len > ROOM {
            self.flush();
        }
    }

    #[inline]
    fn slice(&mut self, ids: &[u32]) {
        if let Some(room) = self.buffer[self.len..].get_mut(..ids.len()) {
            room.copy_from_slice(ids);
            self.len += ids.len();
            if self.len > ROOM {
                self.flush();
            }
        } else {
            self.flush();
            self.ids.extend_from_slice(ids);
        }
    }

    /// Hands over what the buffer holds.
    fn flush(&mut self) {
        self.ids.extend_from_slice(&self.buffer[..self.len]);
        self.len = 0;
    }
}
