//! Decodes ids to bytes with one copy for each token.
//!
//! A slot holds the bytes of a token of up to 15 bytes. Decoding copies the whole slot; the next token overwrites the
//! bytes after the token, or they are cut off. A blob holds the bytes of longer and of empty tokens. The slots are
//! built at the first decoding, because many programs only encode; until then the vocabulary has the bytes.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::error::{Error, Result};
use crate::kinds::sentencepiece::shown_texts::ShownTexts;
use crate::split::special::AddedToken;
use crate::steps::DecoderChain;
use crate::switches::slow;
use crate::table::Tokens;
use crate::threads::once::Once;
use crate::threads::parallel::Stop;
use crate::vocab::Vocab;
use crate::vocab::by_id::ById;
use crate::vocab::trie::TrieKey;

/// The bytes of a slot.
const SLOT: usize = 16;
/// The longest token that fits a slot.
const SHORT: usize = SLOT - 1;
/// The ids decoded between two checks of the stop flag.
const IDS_PER_LOOK: usize = 1 << 20;
/// The last byte of a slot whose token is longer or shows nothing. For a shorter token it is the length, for a hole 0.
const LONG: u8 = 0xFF;

/// Decoder steps see this token before those that do not begin a text.
const BEFORE: &str = "a";

/// A token's bytes and, as last byte, their number; or their start and end in the blob, and [`LONG`].
type DecodeSlot = [u8; SLOT];

/// The bytes of every id, added tokens included.
#[derive(Debug)]
pub struct Decoder {
    vocab: Arc<Vocab>,
    /// The bytes of the ids of added tokens.
    added: HashMap<u32, Box<[u8]>>,
    /// The largest id + 1.
    size: usize,
    slots: Once<DecodeSlots>,
    slow: bool,
    /// The shown texts of tokens, if they differ from the bytes.
    shown: Option<ShownTexts>,
    /// The decoder steps, if a text is not just the bytes of its tokens.
    chain: Option<DecoderChain>,
}

/// The bytes of every id in one table.
#[derive(Debug)]
struct DecodeSlots {
    slots: ById<DecodeSlot>,
    long: Vec<u8>,
}

impl DecodeSlots {
    fn new(vocab: &Vocab, added: &HashMap<u32, Box<[u8]>>) -> Self {
        let mut table = Self { slots: ById::new(added.keys().copied().chain(vocab.ids())), long: Vec::new() };
        for (&id, bytes) in added {
            table.set_token(id, bytes);
        }
        for (token, id) in vocab.tokens() {
            table.set_token(id, token);
        }
        table
    }

    fn bytes(&self) -> usize {
        self.slots.bytes() + self.long.capacity()
    }

    fn set_token(&mut self, id: u32, bytes: &[u8]) {
        let Some(slot) = self.slots.get_mut(id).filter(|slot| slot[SHORT] == 0) else { return };
        if (1..=SHORT).contains(&bytes.len()) {
            slot[..bytes.len()].copy_from_slice(bytes);
            slot[SHORT] = bytes.len() as u8;
        } else {
            slot[..4].copy_from_slice(&(self.long.len() as u32).to_le_bytes());
            self.long.extend_from_slice(bytes);
            slot[4..8].copy_from_slice(&(self.long.len() as u32).to_le_bytes());
            slot[SHORT] = LONG;
        }
    }

    fn token(&self, id: u32) -> Option<&[u8]> {
        let slot = self.slots.get(id)?;
        match slot[SHORT] {
            0 => None,
            LONG => {
                let number =
                    |at: usize| u32::from_le_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]]) as usize;
                Some(&self.long[number(0)..number(4)])
            }
            len => Some(&slot[..usize::from(len)]),
        }
    }
}

impl Decoder {
    /// Makes a decoder of a vocabulary and added tokens; if several share an id, the first gives its bytes.
    /// `TOKSMITH_SLOW=1` makes it look up every token in the vocabulary.
    #[must_use]
    pub fn new(vocab: Arc<Vocab>, added: &[AddedToken]) -> Self {
        let mut contents = HashMap::new();
        for token in added {
            contents.entry(token.id).or_insert_with(|| token.content.as_bytes().into());
        }
        let size = contents.keys().fold(vocab.size(), |size, &id| size.max(id as usize + 1));
        Self { vocab, added: contents, size, slots: Once::default(), slow: slow(), shown: None, chain: None }
    }

    /// The memory of the tables in bytes: those made at construction, and the slots if they are built.
    #[must_use]
    pub fn bytes(&self) -> (usize, usize) {
        let added = self.added.allocation_size() + self.added.values().map(|bytes| bytes.len()).sum::<usize>();
        let tables = added + self.shown.as_ref().map_or(0, ShownTexts::bytes);
        (tables, self.slots.peek().map_or(0, DecodeSlots::bytes))
    }

    /// The same decoder with the shown texts `shown`, which must be made from the same tokens.
    #[must_use]
    pub fn with_shown(mut self, shown: Option<ShownTexts>) -> Self {
        self.shown = shown;
        self
    }

    /// The same decoder with the decoder steps `chain`.
    #[must_use]
    pub fn with_chain(mut self, chain: Option<DecoderChain>) -> Self {
        self.chain = chain;
        self
    }

    /// The slots, built at the first call; `None` while another thread builds them.
    fn slots(&self) -> Option<&DecodeSlots> {
        self.slots.get(|| DecodeSlots::new(&self.vocab, &self.added))
    }

    /// Builds the tables for decoding and comparing many ids.
    pub fn prepare(&self) {
        if !self.slow {
            let _ = self.slots();
        }
    }

    /// The largest id + 1.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether a regex runs, which takes longer than the number of ids suggests.
    #[must_use]
    pub fn uses_regex(&self) -> bool {
        self.chain.as_ref().is_some_and(DecoderChain::uses_regex)
    }

    /// Whether a decoded text is rewritten as a whole.
    #[must_use]
    pub fn rewrites_whole_texts(&self) -> bool {
        self.shown.as_ref().is_some_and(ShownTexts::has_denormalizer)
    }

    /// The bytes of one id.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        match self.slots.peek() {
            Some(slots) => slots.token(id),
            None => self.added.get(&id).map(|bytes| &**bytes).or_else(|| self.vocab.token(id)),
        }
    }

    /// The ids of all tokens, ascending.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        let mut added: Vec<u32> = self.added.keys().copied().filter(|&id| self.vocab.token(id).is_none()).collect();
        added.sort_unstable();
        // Most vocabularies are in the order of their ids, with added tokens after them: sorting then takes one pass.
        let mut ids: Vec<u32> = self.vocab.ids().chain(added).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// All tokens, in the order of their ids.
    pub fn tokens(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.ids().into_iter().filter_map(|id| self.token(id).map(|token| (id, token)))
    }

    /// Appends the bytes of `ids` to `out`.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for the first id without a token; `out` then holds the bytes before it.
    pub fn decode(&self, ids: &[u32], out: &mut Vec<u8>) -> Result<()> {
        self.decode_long(ids, &Stop::default(), out)
    }

    /// The same for many ids, with checks of the stop flag.
    ///
    /// # Errors
    /// As [`Self::decode`], and [`Error::Interrupted`].
    pub fn decode_long(&self, ids: &[u32], stop: &Stop, out: &mut Vec<u8>) -> Result<()> {
        if self.chain.is_some() || self.rewrites_whole_texts() {
            return self.decode_more(ids, &mut true, stop, out);
        }
        let mut fresh = true;
        for (number, part) in ids.chunks(IDS_PER_LOOK).enumerate() {
            stop.check()?;
            self.decode_more(part, &mut fresh, stop, out).map_err(|error| match error {
                Error::UnknownId { id, position, vocab_size } => {
                    Error::UnknownId { id, position: position + number * IDS_PER_LOOK, vocab_size }
                }
                other => other,
            })?;
        }
        Ok(())
    }

    /// The same for a stream of ids; `fresh` is true before the first.
    ///
    /// # Errors
    /// As [`Self::decode_long`]; with decoder steps also [`Error::Pattern`] and [`Error::TooLong`].
    pub fn decode_more(&self, ids: &[u32], fresh: &mut bool, stop: &Stop, out: &mut Vec<u8>) -> Result<()> {
        self.prepare();
        if let Some(chain) = &self.chain {
            let before = if *fresh { None } else { Some(Ok(BEFORE.to_owned())) };
            let tokens = ids.iter().enumerate().map(|(position, &id)| {
                stop.check()?;
                let token = self.token(id).map_or_else(|| self.known_token(id, position), Ok)?;
                Ok(String::from_utf8_lossy(token).into_owned())
            });
            let decoded = chain.decode(before.into_iter().chain(tokens).collect::<Result<_>>()?, stop)?;
            let text = if *fresh { None } else { decoded.strip_prefix(BEFORE) };
            out.extend_from_slice(text.unwrap_or(&decoded).as_bytes());
            *fresh &= ids.is_empty();
            return Ok(());
        }
        if let Some(shown) = &self.shown {
            let start = out.len();
            for (position, &id) in ids.iter().enumerate() {
                stop.check()?;
                if self.token(id).is_none() {
                    self.known_token(id, position)?;
                }
                shown.push(id, fresh, out);
            }
            if shown.has_denormalizer() {
                let decoded = out.split_off(start);
                out.extend(shown.rewrite_text(decoded, stop)?);
            }
            return Ok(());
        }
        match self.slots.peek() {
            Some(slots) => self.decode_slots(slots, ids, out),
            None => self.decode_slowly(ids, out),
        }
    }

    /// The vocabulary's tokens in the order of their decoded bytes; `fresh` is whether they begin a text.
    ///
    /// # Errors
    /// As [`Self::decode_more`].
    pub fn sorted_tokens(&self, fresh: bool, stop: &Stop) -> Result<Tokens> {
        let (mut decoded, mut sorted) = (Tokens::default(), Tokens::default());
        for id in self.vocab.ids() {
            self.decode_more(&[id], &mut { fresh }, stop, &mut decoded.blob)?;
            decoded.ends.push(decoded.blob.len() as u32);
        }
        let keys = self.vocab.ids().enumerate().map(|(place, id)| TrieKey::new(decoded.token(place), id));
        let mut keys: Vec<TrieKey<'_>> = keys.collect();
        keys.sort_unstable();
        for key in keys {
            sorted.blob.extend_from_slice(key.bytes);
            sorted.ends.push(sorted.blob.len() as u32);
            sorted.ids.push(key.value);
        }
        Ok(sorted)
    }

    fn decode_slots(&self, slots: &DecodeSlots, ids: &[u32], out: &mut Vec<u8>) -> Result<()> {
        let mut end = out.len();
        out.resize(end + ids.len() * 6 + SLOT, 0);
        let slots = slots.slots.dense();
        for (position, &id) in ids.iter().enumerate() {
            // The slow path looks up an id outside the table, as it does an id with a long token.
            let slot = slots.get(id as usize).unwrap_or(&[0; SLOT]);
            let len = slot[SHORT];
            if len.wrapping_sub(1) < SHORT as u8
                && let Some(room) = out.get_mut(end..end + SLOT)
            {
                room.copy_from_slice(slot);
                end += usize::from(len);
                continue;
            }
            let token = match self.known_token(id, position) {
                Ok(token) => token,
                Err(error) => {
                    out.truncate(end);
                    return Err(error);
                }
            };
            // The room only grows: allocating it for each long token would take quadratic time.
            let needed = end + token.len() + SLOT;
            if needed > out.len() {
                out.resize(needed + (ids.len() - position) * 6, 0);
            }
            out[end..end + token.len()].copy_from_slice(token);
            end += token.len();
        }
        out.truncate(end);
        Ok(())
    }

    /// The twin of [`Self::decode_slots`] that copies only the token's bytes.
    fn decode_slowly(&self, ids: &[u32], out: &mut Vec<u8>) -> Result<()> {
        for (position, &id) in ids.iter().enumerate() {
            out.extend_from_slice(self.known_token(id, position)?);
        }
        Ok(())
    }

    #[cold]
    fn known_token(&self, id: u32, position: usize) -> Result<&[u8]> {
        let unknown = || Error::UnknownId { id: i64::from(id), position, vocab_size: self.size() };
        self.token(id).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::{Draw, added_token, bytes_vocab};

    fn make_decoder(tokens: &[&str], added: &[(&str, u32)]) -> Decoder {
        let added: Vec<_> = added.iter().map(|&(content, id)| added_token(content, id, true)).collect();
        Decoder::new(Arc::new(bytes_vocab(tokens)), &added)
    }

    #[test]
    fn ids_decode_to_their_bytes_and_unknown_ids_are_named() {
        let decoder = make_decoder(&["ab"], &[("<s>", 258), ("</s>", 258), ("", 259)]);
        let mut out = Vec::new();
        decoder.decode(&[256, 259, 258, 99], &mut out).unwrap();
        assert_eq!(out, b"ab<s>c");
        let unknown = Error::UnknownId { id: 257, position: 1, vocab_size: 260 };
        assert_eq!(decoder.decode(&[97, 257], &mut out).unwrap_err(), unknown);
        assert_eq!(out, b"ab<s>ca");
    }

    #[test]
    fn many_ids_decode_in_parts_and_unknown_ids_keep_their_position() {
        let decoder = make_decoder(&["ab"], &[]);
        let mut ids = vec![256; IDS_PER_LOOK + 5];
        let (mut whole, mut parts) = (Vec::new(), Vec::new());
        decoder.decode(&ids, &mut whole).unwrap();
        decoder.decode_long(&ids, &Stop::default(), &mut parts).unwrap();
        assert_eq!(whole, parts);
        ids[IDS_PER_LOOK + 3] = 999;
        let unknown = Error::UnknownId { id: 999, position: IDS_PER_LOOK + 3, vocab_size: 257 };
        assert_eq!(decoder.decode_long(&ids, &Stop::default(), &mut parts).unwrap_err(), unknown);
        let stop = Stop::default();
        stop.raise();
        assert_eq!(decoder.decode_long(&ids, &stop, &mut parts).unwrap_err(), Error::Interrupted);
    }

    #[test]
    fn sorted_tokens_are_in_the_order_of_their_bytes() {
        let decoder = make_decoder(&["ab", "a longer token", "a longer one", "abc", "a\0"], &[("<s>", 261)]);
        let sorted = decoder.sorted_tokens(true, &Stop::default()).unwrap();
        let mut expected: Vec<(&[u8], u32)> = decoder.vocab.tokens().collect();
        expected.sort_unstable();
        assert_eq!((0..261).map(|at| (sorted.token(at), sorted.ids[at])).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn slots_decode_like_the_slow_path() {
        let lengths = [1, 2, 14, 15, 16, 17, 31, 254, 255, 256, 257, 1000];
        let tokens: Vec<String> = lengths.iter().map(|&length| "x".repeat(length - 1) + "y").skip(1).collect();
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let added = [("<|a token of more than fifteen bytes|>", 300)];
        // One of them never makes its slots.
        let (plain, decoder) = (make_decoder(&tokens, &added), make_decoder(&tokens, &added));
        let slots = decoder.slots().unwrap();
        let mut draw = Draw(1);
        for length in 0..400 {
            let mut ids = Vec::new();
            for _ in 0..length {
                let id = draw.below(302) as u32;
                ids.push(if id < 267 || id == 300 || draw.below(16) == 0 { id } else { id % 256 });
            }
            let (mut fast, mut slow) = (b"before".to_vec(), b"before".to_vec());
            assert_eq!(decoder.decode_slots(slots, &ids, &mut fast), plain.decode_slowly(&ids, &mut slow));
            assert_eq!(fast, slow);
        }
    }
}
