//! Helpers of tests: small vocabularies and encoders, pieces, ids, and pseudo-random numbers, the same in each run.

use std::sync::Arc;

use crate::encode::Encoder;
use crate::error::Result;
use crate::kinds::PieceEncoder;
use crate::split::special::{AddedToken, AddedTokenFlags, AddedTokens, Allow};
use crate::split::{Splitter, Text};
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;
use crate::vocab::{MergeRule, Tables, Unit, Vocab};

/// A vocabulary of the 256 bytes followed by `tokens`, with ids in order.
pub(crate) fn bytes_vocab(tokens: &[&str]) -> Vocab {
    vocab_of(tokens, false)
}

/// The same, with or without the whole-piece lookup.
pub(crate) fn vocab_of(tokens: &[&str], whole_piece: bool) -> Vocab {
    let mut blob: Vec<u8> = (0..=255).collect();
    let mut ends: Vec<u32> = (1..=256).collect();
    for token in tokens {
        blob.extend_from_slice(token.as_bytes());
        ends.push(blob.len() as u32);
    }
    let ids: Vec<u32> = (0..ends.len() as u32).collect();
    let tables = Tables { blob: &blob, ends: &ends, ids: &ids, merges: &[] };
    Vocab::new(Unit::Byte, MergeRule::Bytes, whole_piece, tables).unwrap()
}

/// A vocabulary of `tokens` with ids in order; the tokens that continue a piece start with `prefix`.
pub(crate) fn listed_vocab(unit: Unit, tokens: &[&str], merges: &[[u32; 3]], prefix: &str) -> Vocab {
    let ends: Vec<u32> = (1..=tokens.len()).map(|count| tokens[..count].concat().len() as u32).collect();
    let ids: Vec<u32> = (0..tokens.len() as u32).collect();
    let blob = tokens.concat();
    let tables = Tables { blob: blob.as_bytes(), ends: &ends, ids: &ids, merges };
    Vocab::with_prefix(unit, MergeRule::Pair, false, tables, prefix.as_bytes()).unwrap()
}

/// An added token without flags.
pub(crate) fn added_token(content: &str, id: u32, special: bool) -> AddedToken {
    AddedToken { content: content.into(), id, special, flags: AddedTokenFlags::default() }
}

/// The encoder of a vocabulary with added tokens and regexes.
pub(crate) fn plain_encoder(vocab: Vocab, added: Vec<AddedToken>, regexes: &[&str]) -> Encoder {
    let pieces = Arc::new(PieceEncoder::plain(Arc::new(vocab)));
    Encoder::new(pieces, AddedTokens::new(added).unwrap(), Splitter::new(regexes).unwrap())
}

/// The ids of a text in one call.
pub(crate) fn encode_text(encoder: &Encoder, text: Text<'_>, allow: &Allow) -> Result<Vec<u32>> {
    let mut ids = Vec::new();
    encoder.with_session(|session| encoder.encode(text, allow, &Stop::default(), session, &mut ids))?;
    Ok(ids)
}

/// The pieces of a text.
pub(crate) fn split_text(splitter: &Splitter, text: Text<'_>) -> Vec<Vec<u8>> {
    let (mut pieces, stop) = (Vec::new(), Stop::default());
    let outcome = splitter.split(text, &Bounds::new(text.as_bytes().len(), &stop), |piece| {
        pieces.push(piece.to_vec());
        Ok(())
    });
    outcome.map(|()| pieces).unwrap()
}

/// Pseudo-random numbers, the same in each run.
pub(crate) struct Draw(pub u64);

impl Draw {
    /// The next number, below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// `count` drawn items of `of`, one after another.
    pub(crate) fn bytes(&mut self, of: &[&[u8]], count: usize) -> Vec<u8> {
        (0..count).map(|_| of[self.below(of.len())]).collect::<Vec<_>>().concat()
    }
}
