//! How one piece becomes tokens, merge by merge: the rule of byte-pair encoding, with all candidates of each step.

use serde_json::{Value, json};
use toksmith_core::encode::Encoder;
use toksmith_core::kinds::sentencepiece::CharEngine;
use toksmith_core::vocab::Unit;
use toksmith_core::{Error, Result};

/// The most symbols of a piece, as in `toksmith.explain.merges`.
const MOST_SYMBOLS: usize = 512;

/// A symbol of a piece: its start, its id if it is a token, and whether it stays whole.
struct Symbol {
    start: usize,
    id: Option<u32>,
    is_frozen: bool,
}

/// The steps of a piece as JSON: the ids and starts of the symbols, the candidates (place, rank and id), and the one that
/// merges. A symbol without a token has no id.
///
/// # Errors
/// [`Error::Option`] for a tokenizer that does not merge, and for a longer piece.
pub fn merges_of(encoder: &Encoder, piece: &[u8]) -> Result<Value> {
    let vocab = encoder.vocab();
    let mut symbols = symbols_of(encoder, piece)?;
    if symbols.len() > MOST_SYMBOLS {
        let value = format!("{} symbols", symbols.len());
        return Err(Error::Option { argument: "piece", value, allowed: format!("at most {MOST_SYMBOLS}") });
    }
    let mut steps = Vec::new();
    loop {
        let ends = symbols.iter().skip(1).map(|symbol| symbol.start).chain([piece.len()]);
        let ends: Vec<usize> = ends.collect();
        let candidates = symbols.windows(2).enumerate().filter_map(|(place, pair)| {
            let [left, right] = pair else { return None };
            if left.is_frozen || right.is_frozen {
                return None;
            }
            let joined = &piece[left.start..ends[place + 1]];
            let merge = match encoder.chars() {
                Some(chars) => chars.merge_of(joined),
                // No token has the largest id.
                None => vocab.merge(left.id.unwrap_or(u32::MAX), right.id.unwrap_or(u32::MAX), joined),
            }?;
            Some((place, merge.rank, merge.id))
        });
        let candidates: Vec<_> = candidates.collect();
        let ids: Vec<_> = symbols.iter().map(|symbol| symbol.id).collect();
        let starts: Vec<_> = symbols.iter().map(|symbol| symbol.start).collect();
        let Some(&(place, _, id)) = candidates.iter().min_by_key(|&&(_, rank, _)| rank) else {
            let whole = vocab.id(piece).filter(|_| vocab.whole_piece());
            return Ok(json!({"whole": whole, "steps": steps, "ids": ids, "starts": starts}));
        };
        steps.push(json!({"ids": ids, "starts": starts, "candidates": candidates, "chosen": place}));
        symbols[place].id = Some(id);
        symbols.remove(place + 1);
    }
}

/// The symbols of a piece before the first merge; a byte outside of characters is one.
fn symbols_of(encoder: &Encoder, piece: &[u8]) -> Result<Vec<Symbol>> {
    let (vocab, chars) = (encoder.vocab(), encoder.chars());
    let has_words = chars.map_or_else(|| encoder.piece_encoder().looks_up_whole(), CharEngine::has_words);
    let (mut symbols, mut start) = (Vec::new(), 0);
    let mut push = |token: &[u8], frozen: Option<u32>| {
        symbols.push(Symbol { start, id: frozen.or_else(|| vocab.id(token)), is_frozen: frozen.is_some() });
        start += token.len();
    };
    let mut push_part = |part: &[u8], frozen: Option<u32>| {
        for chunk in part.utf8_chunks().filter(|_| frozen.is_none()) {
            chunk.valid().split_inclusive(|_| true).for_each(|char| push(char.as_bytes(), None));
            chunk.invalid().chunks(1).for_each(|byte| push(byte, None));
        }
        if frozen.is_some() {
            push(part, frozen);
        }
        Ok(())
    };
    match (vocab.unit(), chars) {
        (Unit::Char, Some(chars)) => chars.for_each_part(piece, push_part)?,
        (Unit::Char, None) => push_part(piece, None)?,
        (Unit::Byte, _) => piece.chunks(1).for_each(|byte| push(byte, None)),
        (Unit::Piece, _) if has_words => push(piece, None),
        (Unit::Piece, _) => {
            let (value, allowed) = ("one that does not merge".to_owned(), "a tokenizer that merges".to_owned());
            return Err(Error::Option { argument: "tokenizer", value, allowed });
        }
    }
    Ok(symbols)
}
