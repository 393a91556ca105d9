//! How one piece becomes tokens, merge by merge: the rule of byte-pair encoding, with all candidates of each step.

use serde_json::{Value, json};
use toksmith_core::encode::Encoder;
use toksmith_core::merge::rule::Symbols;
use toksmith_core::vocab::Unit;
use toksmith_core::{Error, Result};

/// The most symbols of a piece, as in `toksmith.explain.merges`.
const MOST_SYMBOLS: usize = 512;

/// The steps of a piece as JSON: the ids and starts of the symbols, the candidates (place, rank and id), and the one that
/// merges.
///
/// # Errors
/// [`Error::Option`] for a tokenizer that does not merge or merges marked characters, and for a longer piece;
/// [`Error::NotInVocabulary`] for a character without a token.
pub fn merges_of(encoder: &Encoder, piece: &[u8]) -> Result<Value> {
    let vocab = encoder.vocab();
    if vocab.unit() == Unit::Piece || encoder.chars().is_some() || encoder.is_staged() {
        let (value, allowed) = ("other steps".to_owned(), "one whose pieces merge as they are".to_owned());
        return Err(Error::Option { argument: "tokenizer", value, allowed });
    }
    let mut symbols = Symbols::default();
    symbols.start(vocab, None, piece)?;
    if symbols.ids.len() > MOST_SYMBOLS {
        let value = format!("{} symbols", symbols.ids.len());
        return Err(Error::Option { argument: "piece", value, allowed: format!("at most {MOST_SYMBOLS}") });
    }
    let mut steps = Vec::new();
    loop {
        let Symbols { ids, starts } = &mut symbols;
        let candidates: Vec<_> = (1..ids.len())
            .filter_map(|right| {
                let joined = &piece[starts[right - 1] as usize..starts[right + 1] as usize];
                vocab.merge(ids[right - 1], ids[right], joined).map(|merge| (right - 1, merge.rank, merge.id))
            })
            .collect();
        let Some(&(place, _, id)) = candidates.iter().min_by_key(|&&(_, rank, _)| rank) else { break };
        steps.push(json!({"ids": ids, "starts": starts, "candidates": candidates, "chosen": place}));
        ids[place] = id;
        ids.remove(place + 1);
        starts.remove(place + 1);
    }
    let whole = vocab.id(piece).filter(|_| vocab.whole_piece());
    Ok(json!({"whole": whole, "steps": steps, "ids": symbols.ids, "starts": symbols.starts}))
}
