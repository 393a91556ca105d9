//! Learns merges from piece counts: repeatedly merges the pair with the highest count everywhere.
//!
//! Reading order: `learn` has the loop. All distinct pieces are one after another in one array of cells (`text`,
//! `cell`), and every pair keeps the places where it occurs (`pairs`), so that a merge touches only those places and
//! the whole training costs n log n. `queue` holds the waiting pairs, `rules` decides which can merge at all, `options`
//! are the caller's, and `watch` reports progress and stops. [`alphabet`] chooses the base characters. [`unigram`]
//! trains the other kind, from [`unigram_seeds`]. The unsplit stream is the case of few, long pieces and needs no
//! separate code.
//!
//! A count is the number of places where the pair occurs, each times the count of its piece: `aaa` holds `aa` twice,
//! though it merges only once. After a pair's first count its counts only fall, and its first place only grows: new
//! places arise only when the younger of its two tokens does.
//!
//! Given merges come first, whatever their counts. So one loop continues a tokenizer, resumes an interrupted training,
//! makes seed tokens, and trains superwords on the result of the word merges.
//!
//! [`by_text`] is another loop, for the drop-in of HF's library: there a token is identified by its text.
//!
//! `parity` trains on several languages: it runs this loop for the merges that they choose together, and then gives
//! each language a separate text, pairs and queue.
//!
//! Left out: counting ([`crate::count`]), and the model of the merges, which the Python package makes.

pub mod alphabet;
pub mod by_text;
pub mod unigram;
pub mod unigram_seeds;

mod cell;
mod learn;
mod options;
mod pairs;
mod parity;
mod queue;
mod rules;
mod text;
mod watch;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use crate::count::PieceCounts;
use crate::error::Result;
use cell::CellWidth;
use learn::learn;
use text::TrainText;
use watch::Watch;

pub use options::{LearnedMerge, NO_ID, Ties, TrainOptions};
pub use parity::{Aim, Corpora, NO_LANGUAGE, ParityOptions, ParityTrained, train_parity};
pub use watch::{StopReason, Trained};

/// Learns the merges of a corpus. `report` regularly gets the merges so far, and can end training.
///
/// # Errors
/// [`crate::Error::NotInVocabulary`] for a byte outside the alphabet; [`crate::Error::Option`] for contradictory
/// options, and for more than 4 GiB of distinct pieces; [`crate::Error::Interrupted`] before the pieces are laid out.
pub fn train(
    counts: &PieceCounts,
    options: &TrainOptions,
    report: &mut dyn FnMut(&Trained) -> ControlFlow<()>,
) -> Result<Trained> {
    options.check()?;
    let in_cells = if cell::fits_narrow(options) { in_cells::<u16> } else { in_cells::<u32> };
    in_cells(counts, options, Watch::new(report))
}

/// [`train`] after its checks, with cells of this size.
fn in_cells<C: CellWidth>(counts: &PieceCounts, options: &TrainOptions, mut watch: Watch<'_>) -> Result<Trained> {
    let mut text = TrainText::<C>::new(counts, options, &mut watch)?;
    watch.trained.symbols = text.symbols;
    let stopped = learn(&mut text, options, &mut watch);
    let mut trained = watch.trained;
    trained.stopped = stopped.unwrap_or(StopReason::Interrupted);
    Ok(trained)
}
