//! What all threads of a counting share: how texts are split, the limits, and the runs on disk.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::count::arena::Arena;
use crate::count::spill::{Run, Runs};
use crate::count::tally::TallyTable;
use crate::error::Result;
use crate::split::Splitter;
use crate::threads::parallel::{Stop, locked};

/// What counting may use, and what it leaves out.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// The bytes of memory for all tables; None for no limit.
    pub memory: Option<usize>,
    /// The folder for what they have no room for.
    pub folder: PathBuf,
    /// The longest piece, in bytes, that is counted as others are.
    pub longest: Option<usize>,
}

/// See the module.
#[derive(Debug)]
pub struct Shared {
    /// How texts are split.
    pub splitter: Arc<Splitter>,
    /// What counting may use.
    pub limits: Limits,
    /// What memory had no room for.
    pub runs: Mutex<Runs>,
}

impl Shared {
    /// Puts a table on disk, and empties it.
    ///
    /// # Errors
    /// [`crate::Error::Corpus`] for a full disk, and [`crate::Error::Interrupted`].
    pub fn spill(&self, table: &mut TallyTable, stop: &Stop) -> Result<()> {
        let run = Run::write(&Arena::of(table), &self.limits.folder)?;
        locked(&self.runs).push(run, stop)?;
        table.clear();
        Ok(())
    }
}
