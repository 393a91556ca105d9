//! Pieces and their ids, remembered: one table that holds the vocabulary and what was merged before.
//!
//! A piece of up to [`LONGEST`] bytes is its own key, so that finding it is one comparison of 32 bytes, and its ids lie
//! beside the key. Tokens are put in first and stay; pieces that merging has solved are added until the table has its
//! largest size, and then take the places of others. Nothing here decides an id: without the table every piece would
//! be merged, with equal results.

use crate::merge::{Scratch, merge_symbols};
use crate::parallel::Stop;
use crate::simd::prefetch;
use crate::vocab::{MergeRule, SHORT, ShortKey, Unit, Vocab};
use crate::Result;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// The longest piece, in bytes, that has a slot.
pub const LONGEST: usize = 31;
/// The longest piece, in bytes, that is remembered at all.
const LONGEST_REMEMBERED: usize = 1 << 10;
/// The largest table, in slots of 64 bytes: 64 MiB.
const MOST_SLOTS: usize = 1 << 20;
const FEWEST_SLOTS: usize = 1 << 12;
/// The most bytes kept for what slots have no room for; then all of it is forgotten.
const MOST_SPILT: usize = 16 << 20;
/// How many long pieces that came once are kept in mind.
const SEEN: usize = 1 << 14;
const META: usize = 7;

/// In `META`: the number of ids; 0 if they are elsewhere.
const COUNT: u32 = 7;
/// In `META`: the words say where the ids are.
const SPILT: u32 = 8;
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

impl Window<'_> {
    #[inline]
    fn short_key(&self, start: usize, len: usize) -> ShortKey {
        let bytes: &[u8; 16] = match self.text[start..].first_chunk() {
            Some(bytes) => bytes,
            None => self.tail[start - self.tail_start..].first_chunk().unwrap_or(&[0; 16]),
        };
        u128::from_le_bytes(*bytes) & ((1 << (len * 8)) - 1) | (len as u128) << 124
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
    long: HashTable<LongPiece>,
    bytes: Vec<u8>,
    ids: Vec<u32>,
    /// How often `bytes` and `ids` were emptied.
    round: u32,
    /// Hashes of long pieces that came once.
    seen: Box<[u64; SEEN]>,
}

/// A piece that no slot has room for: where its bytes and ids lie.
#[derive(Debug, Clone, Copy)]
struct LongPiece {
    hash: u64,
    bytes: (u32, u32),
    ids: (u32, u32),
}

impl Default for Memory {
    fn default() -> Self {
        let slots = vec![Slot::default(); FEWEST_SLOTS].into();
        Self { slots, used: 0, long: HashTable::new(), bytes: Vec::new(), ids: Vec::new(), round: 0, seen: Box::new([0; SEEN]) }
    }
}

impl Memory {
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

    /// Remembers the ids of a piece; `merged` says that merging gave them.
    fn learn(&mut self, key: Key, ids: &[u32], merged: bool) {
        if self.used * 10 > self.slots.len() * 6 && !self.grow() {
            return;
        }
        let mut words = [0; 8];
        if let Some(room) = words[..META].get_mut(..ids.len()) {
            room.copy_from_slice(ids);
            words[META] = ids.len() as u32;
        } else {
            let (start, end) = self.keep_ids(ids);
            words = [start, end, self.round, 0, 0, 0, 0, SPILT];
        }
        words[META] |= if merged { MERGED } else { 0 };
        let at = self.place(&key);
        self.used += usize::from(self.slots[at].is_empty());
        self.slots[at] = Slot { key, words };
    }

    fn grow(&mut self) -> bool {
        if self.slots.len() >= MOST_SLOTS {
            return false;
        }
        let slots = vec![Slot::default(); self.slots.len() * 4].into();
        let old = std::mem::replace(&mut self.slots, slots);
        for slot in old.iter().filter(|slot| !slot.is_empty()) {
            let at = self.place(&slot.key);
            self.slots[at] = *slot;
        }
        true
    }

    /// The ids of a slot that is full, if they are known.
    #[inline]
    fn ids_of<'s>(&'s self, slot: &'s Slot) -> Option<&'s [u32]> {
        if slot.words[META] & SPILT == 0 {
            return (!slot.is_empty()).then(|| slot.ids());
        }
        let [start, end, round, ..] = slot.words;
        (round == self.round).then(|| &self.ids[start as usize..end as usize])
    }

    fn keep_ids(&mut self, ids: &[u32]) -> (u32, u32) {
        if self.ids.len() * 4 + self.bytes.len() > MOST_SPILT {
            self.long.clear();
            self.bytes.clear();
            self.ids.clear();
            self.round += 1;
        }
        let start = self.ids.len() as u32;
        self.ids.extend_from_slice(ids);
        (start, self.ids.len() as u32)
    }

    fn find_long(&self, hash: u64, piece: &[u8]) -> Option<&[u32]> {
        let same = |long: &LongPiece| long.hash == hash && self.bytes[long.bytes.0 as usize..long.bytes.1 as usize] == *piece;
        let found = self.long.find(hash, same)?;
        Some(&self.ids[found.ids.0 as usize..found.ids.1 as usize])
    }

    /// Remembers a long piece when it comes for the second time: most never do.
    fn learn_long(&mut self, hash: u64, piece: &[u8], ids: &[u32]) {
        let seen = &mut self.seen[hash as usize % SEEN];
        if std::mem::replace(seen, hash) == hash && piece.len() <= LONGEST_REMEMBERED {
            let ids = self.keep_ids(ids);
            let start = self.bytes.len() as u32;
            self.bytes.extend_from_slice(piece);
            let bytes = (start, self.bytes.len() as u32);
            self.long.insert_unique(hash, LongPiece { hash, bytes, ids }, |long| long.hash);
        }
    }
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
        if let Some(ids) = self.memory.ids_of(slot) {
            self.out.slice(ids);
            return Ok(());
        }
        let piece = &self.window.text[start..start + len];
        if (self.vocab.whole_piece() || self.vocab.unit() == Unit::Piece)
            && let Some(id) = self.vocab.id(piece)
        {
            self.memory.learn(key, &[id], false);
            self.out.slice(&[id]);
            return Ok(());
        }
        let mut ids = Small::default();
        if self.vocab.unit() == Unit::Byte {
            let mut at = start;
            while at < start + len {
                let end = self.vocab.crossings().next_cut(self.window.text, at, start + len);
                if at == start && end == start + len {
                    self.merge_small(at, len, &mut ids);
                } else {
                    self.segment(at, end - at, &mut ids);
                }
                at = end;
            }
        } else {
            merge_symbols(self.vocab, piece, self.stop, self.scratch)?;
            ids.extend(&self.scratch.ids);
        }
        self.memory.learn(key, ids.as_slice(), true);
        self.out.slice(ids.as_slice());
        Ok(())
    }

    #[inline(never)]
    fn long_piece(&mut self, start: usize, len: usize) -> Result<()> {
        let piece = &self.window.text[start..start + len];
        let hash = FxBuildHasher.hash_one(piece);
        if let Some(ids) = self.memory.find_long(hash, piece) {
            self.out.slice(ids);
            return Ok(());
        }
        if (self.vocab.whole_piece() || self.vocab.unit() == Unit::Piece)
            && let Some(id) = self.vocab.id(piece)
        {
            self.memory.learn_long(hash, piece, &[id]);
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
                    let mut ids = Small::default();
                    self.segment(at, end - at, &mut ids);
                    self.out.ids.extend_from_slice(ids.as_slice());
                } else {
                    merge_symbols(self.vocab, &self.window.text[at..end], self.stop, self.scratch)?;
                    self.out.ids.extend_from_slice(&self.scratch.ids);
                }
                at = end;
            }
        } else {
            merge_symbols(self.vocab, piece, self.stop, self.scratch)?;
            self.out.ids.extend_from_slice(&self.scratch.ids);
        }
        self.memory.learn_long(hash, piece, &self.out.ids[before..]);
        Ok(())
    }

    /// The ids that merging gives for a stretch between two cuts.
    fn segment(&mut self, start: usize, len: usize, ids: &mut Small) {
        if len == 1 {
            return ids.push(self.vocab.byte_id(self.window.text[start]));
        }
        let key = self.window.key(start, len);
        let slot = &self.memory.slots[self.memory.place(&key)];
        if slot.words[META] & MERGED != 0
            && let Some(known) = self.memory.ids_of(slot)
        {
            return ids.extend(known);
        }
        // What only the whole-piece lookup makes one token is merged anew each time: its slot has the other answer.
        let other = if slot.is_empty() { None } else { Some(slot.words[0]) };
        let before = ids.len;
        self.merge_small(start, len, ids);
        let merged = &ids.as_slice()[before..];
        if other.is_none_or(|id| merged == [id]) {
            self.memory.learn(key, merged, true);
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
        let merge = match self.vocab.merge_rule() {
            MergeRule::Bytes if len <= SHORT => self.vocab.short_merge(self.window.short_key(start, len)),
            _ => self.vocab.merge(left, right, &self.window.text[start..start + len]),
        };
        merge.map(|merge| (merge.rank, merge.id))
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

