//! Trains byte-pair encodings of bytes on texts in memory, for a caller without the Python package, whose file it makes.

use std::ops::ControlFlow;

use serde_json::json;

use crate::count::PieceCounts;
use crate::error::{Error, Result};
use crate::split::{Splitter, Text};
use crate::threads::parallel::Stop;
use crate::tokenizer::native::PlainModel;
use crate::tokenizer::regexes_of;
use crate::train::{self, StopReason, TrainOptions, Trained};
use crate::vocab::Tables;

/// The bytes, which are the first tokens.
const BYTES: usize = 256;
/// The largest vocabulary.
const MOST_TOKENS: usize = 1 << 23;

/// What to train.
#[derive(Debug)]
pub struct Training<'t> {
    /// The documents.
    pub texts: &'t [Text<'t>],
    /// The number of tokens, with the bytes and the special tokens.
    pub vocab_size: usize,
    /// The name of a pattern, or a regex; None to split nothing.
    pub pattern: Option<&'t str>,
    /// The contents of the special tokens, which get the last ids.
    pub special_tokens: &'t [&'t str],
    /// The lowest count at which a pair merges.
    pub min_count: u64,
    /// The longest token, in bytes.
    pub max_token_bytes: Option<u32>,
}

impl Training<'_> {
    /// The file of the trained tokenizer, which equals that of `toksmith.train` for these arguments. `report` gets the
    /// merges so far at every check, which can end the training (the file then has these merges), and all at the end.
    ///
    /// # Errors
    /// [`Error::Option`] for an argument out of range, [`Error::Corpus`] for texts without a byte, [`Error::Pattern`] if
    /// the regex gives up on a text, [`Error::Interrupted`] if `report` ends it before the pieces are laid out.
    pub fn run(&self, report: &mut dyn FnMut(&Trained) -> ControlFlow<()>) -> Result<Vec<u8>> {
        let least = BYTES + self.special_tokens.len();
        let refuse = |argument, value: String, allowed: String| Err(Error::Option { argument, value, allowed });
        if !(least..=MOST_TOKENS).contains(&self.vocab_size) {
            return refuse("vocab_size", self.vocab_size.to_string(), format!("from {least} to {MOST_TOKENS}"));
        }
        if self.min_count == 0 {
            return refuse("min_count", "0".to_owned(), "at least 1".to_owned());
        }
        for (place, content) in self.special_tokens.iter().enumerate() {
            if content.is_empty() || self.special_tokens[..place].contains(content) {
                let allowed = "contents that are not empty, each once".to_owned();
                return refuse("special_tokens", format!("{content:?}"), allowed);
            }
        }
        let (regexes, stop) = (self.pattern.map_or(Ok(Vec::new()), regexes_of)?, Stop::default());
        let mut counts = PieceCounts::new(Splitter::new(&regexes)?);
        counts.add(self.texts, 1, &stop)?;
        if counts.bytes() == 0 {
            let problem = "the texts are empty; expected text to learn from".to_owned();
            return Err(Error::Corpus { path: "texts".to_owned(), problem });
        }
        let limit = self.vocab_size - least;
        let &Self { min_count, max_token_bytes, .. } = self;
        let options = TrainOptions { limit, min_count, max_token_bytes, ..TrainOptions::for_bytes() };
        let trained = train::train(&counts, &options, report)?;
        let _ = report(&trained); // has the merges since the last check; the training has ended
        let record = json!({
            "bytes": counts.bytes(),
            "digest": format!("{:032x}", counts.digest(1, &stop)?),
            "documents": counts.documents(),
            "options": {"alphabet": null, "kind": "bpe", "max_token_bytes": max_token_bytes, "merges": null,
                "min_count": min_count, "patterns": regexes, "special_tokens": self.special_tokens,
                "ties": "lowest_ids", "unit": "byte", "vocab_size": self.vocab_size},
            "stopped_because": self.reason(trained.stopped),
            "symbols": trained.symbols,
        });
        let rows: Vec<u64> =
            trained.counts.iter().zip(&trained.left).flat_map(|(&count, &left)| [count, left]).collect();
        let (blob, ends) = tokens_of(&trained);
        let ids: Vec<u32> = (0..ends.len() as u32).collect();
        let merges: Vec<[u32; 3]> = trained.merges.iter().map(|&(left, right, id)| [left, right, id]).collect();
        let special: Vec<_> = self.special_tokens.iter().copied().zip(ends.len() as u32..).collect();
        let tables = Tables { blob: &blob, ends: &ends, ids: &ids, merges: &merges };
        let model = PlainModel {
            tables,
            by_bytes: false,
            regexes: &regexes,
            special_tokens: &special,
            training: Some((record, &rows)),
        };
        model.write()
    }

    /// The reason why training ended, in the words of the Python package.
    fn reason(&self, stopped: StopReason) -> String {
        match stopped {
            StopReason::Limit => format!("it reached vocab_size={}", self.vocab_size),
            StopReason::NoPairs => "no pair is left".to_owned(),
            StopReason::MinCount if self.min_count == 2 => "no pair repeats".to_owned(),
            StopReason::MinCount => format!("no pair occurs {} times", self.min_count),
            StopReason::Interrupted => "it was interrupted".to_owned(),
        }
    }
}

/// The bytes and the merged tokens, one after another, with the end of each.
fn tokens_of(trained: &Trained) -> (Vec<u8>, Vec<u32>) {
    let mut blob: Vec<u8> = (0..=u8::MAX).collect();
    let mut ends: Vec<u32> = (1..=BYTES as u32).collect();
    for &(left, right, _) in &trained.merges {
        for part in [left, right] {
            let start = part.checked_sub(1).map_or(0, |before| ends[before as usize]);
            blob.extend_from_within(start as usize..ends[part as usize] as usize);
        }
        ends.push(blob.len() as u32);
    }
    (blob, ends)
}
