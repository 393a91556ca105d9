//! Pieces and their ids, remembered: one table that holds the vocabulary and what was merged before.
//!
//! A piece of up to [`LONGEST`] bytes is its own key, so that finding it is one comparison of 32 bytes, and its ids lie
//! beside the key. Tokens are put in first and stay; pieces that merging has solved are added until the table has its
//! largest size, and then take the places of others. Nothing here decides an id: without the table every piece would
//! be merged, with equal results.

use crate::merge::{Scratch, merge_symbols};
use crate::parallel::Stop;
use crate::simd::prefetch;
use crate::vocab::{MergeRule, Unit, Vocab};
use crate::Result;

/// The longest piece, in bytes, that is remembered.
pub const LONGEST: usize = 31;
/// The largest table, in slots of 64 bytes: 64 MiB.
const MOST_SLOTS: usize = 1 << 20;
const FEWEST_SLOTS: usize = 1 << 12;
/// How many ids a slot holds; one that is a token keeps two places for its rank and id.
const MOST_IDS: usize = 7;
const MOST_IDS_OF_TOKEN: usize = 5;
const RANK: usize = 5;
const ID: usize = 6;
const META: usize = 7;

/// In `META`: the number of ids; 0 if they are not known.
const COUNT: u32 = 7;
/// In `META`: the key is a token.
const TOKEN: u32 = 8;
/// In `META`: the ids are what merging gives, and not only what the whole-piece lookup gives.
const MERGED: u32 = 16;

/// The bytes of a piece, zeros after them, and the length in the last byte.
type Key = [u64; 4];

#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Slot {
    key: Key,
    words: [u32; 8],
}

impl Slot {
    fn is_empty(&self) -> bool {
        self.key[3] == 0
    }

    fn ids(&self) -> &[u32] {
        &self.words[..(self.words[META] & COUNT) as usize]
    }
}

/// A text whose pieces can be loaded as keys, wherever they stand.
pub struct Window<'t> {
    text: &'t [u8],
    /// The last bytes of the text, and zeros.
    tail: [u8; 2 * LONGEST + 2],
    tail_start: usize,
}

impl<'t> Window<'t> {
    /// A window on `text`.
    #[must_use]
    pub fn new(text: &'t [u8]) -> Self {
        let tail_start = text.len().saturating_sub(LONGEST);
        let mut tail = [0; 2 * LONGEST + 2];
        tail[..text.len() - tail_start].copy_from_slice(&text[tail_start..]);
        Self { text, tail, tail_start }
    }

    #[inline]
    fn key(&self, start: usize, len: usize) -> Key {
        let bytes: &[u8; 32] = match self.text[start..].first_chunk() {
            Some(bytes) => bytes,
            None => self.tail[start - self.tail_start..].first_chunk().unwrap_or(&[0; 32]),
        };
        let mask = &MASKS[len];
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte])) & mask[at];
        [word(0), word(1), word(2), word(3) | (len as u64) << 56]
    }
}

/// By length: the bits of a key that belong to the piece.
static MASKS: [Key; LONGEST + 1] = {
    let mut masks = [[0; 4]; LONGEST + 1];
    let mut len = 0;
    while len <= LONGEST {
        let mut byte = 0;
        while byte < len {
            masks[len][byte / 8] |= 0xFF << (byte % 8 * 8);
            byte += 1;
        }
        len += 1;
    }
    masks
};

#[inline]
fn hash(key: &Key) -> u64 {
    let fold = |left: u64, right: u64| {
        let product = u128::from(left) * u128::from(right);
        (product as u64) ^ (product >> 64) as u64
    };
    let head = fold(key[0] ^ 0x9E37_79B9_7F4A_7C15, key[1] ^ 0xD1B5_4A32_D192_ED03);
    let tail = fold(key[2] ^ 0x8CB9_2BA7_2F3D_8DD7, key[3] ^ 0xA24B_AED4_963E_E407);
    head ^ tail
}

/// The table.
#[derive(Debug)]
pub struct Memory {
    slots: Box<[Slot]>,
    used: usize,
}

impl Memory {
    /// A table that holds the tokens of `vocab`.
    #[must_use]
    pub fn new(vocab: &Vocab) -> Self {
        let slots = (vocab.len() * 2).next_power_of_two().clamp(FEWEST_SLOTS, MOST_SLOTS * 4);
        let mut memory = Self { slots: vec![Slot::default(); slots].into(), used: 0 };
        for (rank, (token, id)) in vocab.tokens().enumerate() {
            if token.len() <= LONGEST {
                let key = Window::new(token).key(0, token.len());
                let mut words = [0; 8];
                words[0] = id;
                words[RANK] = rank as u32;
                words[ID] = id;
                words[META] = TOKEN | u32::from(vocab.whole_piece() || vocab.unit() == Unit::Piece);
                memory.insert(Slot { key, words });
            }
        }
        memory
    }

    #[inline]
    fn place(&self, key: &Key) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash(key) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.key == *key || slot.is_empty() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn find(&self, key: &Key) -> Option<&Slot> {
        let slot = &self.slots[self.place(key)];
        (!slot.is_empty()).then_some(slot)
    }

    fn insert(&mut self, slot: Slot) {
        let at = self.place(&slot.key);
        self.used += usize::from(self.slots[at].is_empty());
        self.slots[at] = slot;
    }

    /// Remembers the ids of a piece, if they fit.
    fn learn(&mut self, key: Key, ids: &[u32]) {
        let at = self.place(&key);
        let slot = &mut self.slots[at];
        let token = slot.words[META] & TOKEN;
        if ids.len() > if token == 0 { MOST_IDS } else { MOST_IDS_OF_TOKEN } {
            return;
        }
        if slot.is_empty() {
            if self.used * 10 > self.slots.len() * 7 && !self.grow() {
                return;
            }
            return self.insert(Slot { key, words: words(ids, MERGED) });
        }
        slot.words[..ids.len()].copy_from_slice(ids);
        slot.words[META] = token | MERGED | ids.len() as u32;
    }

    fn grow(&mut self) -> bool {
        if self.slots.len() >= MOST_SLOTS {
            return false;
        }
        let slots = vec![Slot::default(); self.slots.len() * 2].into();
        let old = std::mem::replace(&mut self.slots, slots);
        self.used = 0;
        for slot in old.iter().filter(|slot| !slot.is_empty()) {
            self.insert(*slot);
        }
        true
    }
}

fn words(ids: &[u32], flags: u32) -> [u32; 8] {
    let mut words = [0; 8];
    words[..ids.len()].copy_from_slice(ids);
    words[META] = flags | ids.len() as u32;
    words
}

const ROOM: usize = 1024;

/// Ids on their way out, in a buffer that can always take one more slot.
pub struct Out<'o> {
    buffer: [u32; ROOM + 8],
    len: usize,
    ids: &'o mut Vec<u32>,
}

impl<'o> Out<'o> {

    /// Appends to `ids`.
    pub fn new(ids: &'o mut Vec<u32>) -> Self {
        Self { buffer: [0; ROOM + 8], len: 0, ids }
    }

    #[inline]
    fn slot(&mut self, words: &[u32; 8]) {
        if let Some(room) = self.buffer[self.len..].first_chunk_mut::<8>() {
            *room = *words;
        }
        self.len += (words[META] & COUNT) as usize;
        if self.len > ROOM {
            self.flush();
        }
    }

    fn slice(&mut self, ids: &[u32]) {
        self.flush();
        self.ids.extend_from_slice(ids);
    }

    /// Hands over what the buffer holds.
    pub fn flush(&mut self) {
        self.ids.extend_from_slice(&self.buffer[..self.len]);
        self.len = 0;
    }
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
pub struct Engine<'e, 't> {
    vocab: &'e Vocab,
    memory: &'e mut Memory,
    scratch: &'e mut Scratch,
    stop: &'e Stop,
    window: Window<'t>,
    out: Out<'e>,
    waiting: [Waiting; WAITING],
    count: usize,
}

impl<'e, 't> Engine<'e, 't> {
    /// The engine for one text.
    pub fn new(
        vocab: &'e Vocab,
        memory: &'e mut Memory,
        scratch: &'e mut Scratch,
        stop: &'e Stop,
        text: &'t [u8],
        out: &'e mut Vec<u32>,
    ) -> Self {
        let waiting = [Waiting::default(); WAITING];
        Self { vocab, memory, scratch, stop, window: Window::new(text), out: Out::new(out), waiting, count: 0 }
    }

    /// Takes the piece at `start` of the text; its ids are appended in time.
    ///
    /// # Errors
    /// Those of [`crate::merge::merge`], of this piece or one before.
    #[inline(always)]
    pub fn piece(&mut self, start: usize, len: usize) -> Result<()> {
        if len > LONGEST {
            self.drain()?;
            return self.long_piece(start, len);
        }
        let key = self.window.key(start, len);
        let slot = hash(&key) as usize & (self.memory.slots.len() - 1);
        prefetch(&self.memory.slots[slot]);
        self.waiting[self.count] = Waiting { key, slot, start, len };
        self.count += 1;
        if self.count == WAITING { self.drain() } else { Ok(()) }
    }

    /// Appends the ids of all pieces taken.
    ///
    /// # Errors
    /// As [`Self::piece`].
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
            let slot = &self.memory.slots[slot];
            if slot.key == key && slot.words[META] & COUNT != 0 {
                self.out.slot(&slot.words);
            } else {
                self.far_piece(key, start, len)?;
            }
        }
        Ok(())
    }

    /// A piece that is not where its hash says, or nowhere.
    #[inline(never)]
    fn far_piece(&mut self, key: Key, start: usize, len: usize) -> Result<()> {
        let slot = &self.memory.slots[self.memory.place(&key)];
        if slot.words[META] & COUNT != 0 {
            self.out.slot(&slot.words);
            return Ok(());
        }
        self.new_piece(start, len, key)
    }

    #[cold]
    #[inline(never)]
    fn new_piece(&mut self, start: usize, len: usize, key: Key) -> Result<()> {
        let mut ids = Small::default();
        if self.vocab.unit() == Unit::Byte {
            let mut at = start;
            while at < start + len {
                let end = self.vocab.cut_after(self.window.text, at, start + len);
                self.segment(at, end - at, &mut ids);
                at = end;
            }
        } else {
            merge_symbols(self.vocab, &self.window.text[start..start + len], self.stop, self.scratch)?;
            ids.extend(&self.scratch.ids);
        }
        self.memory.learn(key, ids.as_slice());
        self.out.slice(ids.as_slice());
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn long_piece(&mut self, start: usize, len: usize) -> Result<()> {
        let piece = &self.window.text[start..start + len];
        if (self.vocab.whole_piece() || self.vocab.unit() == Unit::Piece)
            && let Some(id) = self.vocab.id(piece)
        {
            self.out.slice(&[id]);
            return Ok(());
        }
        if self.vocab.unit() != Unit::Byte {
            merge_symbols(self.vocab, piece, self.stop, self.scratch)?;
            self.out.slice(&self.scratch.ids);
            return Ok(());
        }
        let mut at = start;
        while at < start + len {
            let end = self.vocab.cut_after(self.window.text, at, start + len);
            if end - at <= LONGEST {
                let mut ids = Small::default();
                self.segment(at, end - at, &mut ids);
                self.out.slice(ids.as_slice());
            } else {
                merge_symbols(self.vocab, &self.window.text[at..end], self.stop, self.scratch)?;
                self.out.slice(&self.scratch.ids);
            }
            at = end;
        }
        Ok(())
    }

    /// The ids that merging gives for a stretch between two cuts.
    fn segment(&mut self, start: usize, len: usize, ids: &mut Small) {
        let key = self.window.key(start, len);
        if let Some(slot) = self.memory.find(&key)
            && slot.words[META] & MERGED != 0
        {
            ids.extend(slot.ids());
            return;
        }
        let before = ids.len;
        self.merge_small(start, len, ids);
        let merged = &ids.as_slice()[before..];
        // A token that only the whole-piece lookup reaches is merged anew each time: its slot has the other answer.
        let other_answer = self.memory.find(&key).is_some_and(|slot| slot.ids() != merged && !slot.ids().is_empty());
        if !other_answer {
            self.memory.learn(key, merged);
        }
    }

    /// Merges a stretch of at most [`LONGEST`] bytes. Ranks wait beside their positions in one word each, so that the
    /// smallest word is the lowest rank and the leftmost of equals.
    fn merge_small(&self, start: usize, len: usize, out: &mut Small) {
        const NEVER: u32 = u32::MAX;
        let bytes = &self.window.text[start..start + len];
        let mut waiting = [NEVER; LONGEST + 1];
        let mut ids = [0; LONGEST + 1];
        let mut made = [0; LONGEST + 1];
        // A symbol ends where the one after it starts.
        let mut end = [0u8; LONGEST + 1];
        let mut before = [0u8; LONGEST + 1];
        for at in 0..len {
            ids[at] = self.vocab.byte_id(bytes[at]);
            end[at] = at as u8 + 1;
            before[at] = (at as u8).wrapping_sub(1);
        }
        for at in 0..len - 1 {
            let merge = self.vocab.byte_pair(bytes[at], bytes[at + 1]);
            made[at] = merge.id;
            waiting[at] = if merge.rank == NEVER { NEVER } else { merge.rank << 5 | at as u32 };
        }
        let lanes = len.next_multiple_of(8);
        loop {
            let mut lowest = [NEVER; 8];
            for lane in waiting[..lanes].chunks_exact(8) {
                for (low, &word) in lowest.iter_mut().zip(lane) {
                    *low = (*low).min(word);
                }
            }
            let low = lowest.into_iter().fold(NEVER, u32::min);
            if low == NEVER {
                break;
            }
            let at = (low & 31) as usize;
            let right = end[at] as usize;
            ids[at] = made[at];
            let after = end[right] as usize;
            end[at] = after as u8;
            waiting[right] = NEVER;
            waiting[at] = NEVER;
            if after < len {
                before[after] = at as u8;
                let joined = end[after] as usize;
                if let Some((rank, id)) = self.join(start + at, joined - at, ids[at], ids[after]) {
                    waiting[at] = rank << 5 | at as u32;
                    made[at] = id;
                }
            }
            if at > 0 {
                let left = before[at] as usize;
                waiting[left] = NEVER;
                if let Some((rank, id)) = self.join(start + left, after - left, ids[left], ids[at]) {
                    waiting[left] = rank << 5 | left as u32;
                    made[left] = id;
                }
            }
        }
        let mut at = 0;
        while at < len {
            out.push(ids[at]);
            at = end[at] as usize;
        }
    }

    #[inline]
    fn join(&self, start: usize, len: usize, left: u32, right: u32) -> Option<(u32, u32)> {
        match self.vocab.merge_rule() {
            MergeRule::Bytes => {
                let slot = self.memory.find(&self.window.key(start, len))?;
                (slot.words[META] & TOKEN != 0).then(|| (slot.words[RANK], slot.words[ID]))
            }
            MergeRule::Pair => self.vocab.merge(left, right, &[]).map(|merge| (merge.rank, merge.id)),
        }
    }
}

/// The ids of a short piece.
#[derive(Default)]
struct Small {
    ids: [u32; LONGEST + 1],
    len: usize,
}

impl Small {
    fn push(&mut self, id: u32) {
        self.ids[self.len] = id;
        self.len += 1;
    }

    fn extend(&mut self, ids: &[u32]) {
        self.ids[self.len..self.len + ids.len()].copy_from_slice(ids);
        self.len += ids.len();
    }

    fn as_slice(&self) -> &[u32] {
        &self.ids[..self.len]
    }
}

