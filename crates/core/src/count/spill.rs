//! Sorted runs on disk for pieces beyond the memory limit, and their merge.
//!
//! A run is an unnamed file, so that nothing is left of it however the process ends. It holds pieces in the order of
//! their bytes. Merging reads all runs at once, and so finds all tallies of a piece together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::count::arena::Arena;
use crate::count::tally::Tally;
use crate::error::{Error, Result};
use crate::threads::parallel::Stop;

/// The most runs of a level. These are then merged into one run of the next level.
const MOST_OPEN: usize = 64;
const BUFFER: usize = 1 << 18;
/// The pieces merged between two checks of the stop flag.
const PIECES_PER_LOOK: u64 = 1 << 14;

/// Length, count, document, byte.
type PieceHeader = [u64; 4];

/// All runs, in levels. Each run is an open file, so their number must stay small. A piece is written once per level,
/// and the number of levels is the number of digits of the run count in base 64.
#[derive(Debug, Default)]
pub struct Runs {
    levels: Vec<Vec<Run>>,
    /// The number of runs before any were merged.
    pub count: u64,
}

impl Runs {
    /// Adds a run.
    ///
    /// # Errors
    /// As [`Self::merge`].
    pub fn push(&mut self, mut run: Run, stop: &Stop) -> Result<()> {
        self.count += 1;
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(run);
            if self.levels[level].len() < MOST_OPEN {
                break;
            }
            run = merge_runs(std::mem::take(&mut self.levels[level]), stop)?;
        }
        Ok(())
    }

    /// Calls `each` with every distinct piece and its summed tally, in the order of the bytes.
    ///
    /// # Errors
    /// [`Error::Corpus`] for files that cannot be read or written, [`Error::Option`] for counts of 2^64 or more,
    /// [`Error::Interrupted`], and the errors of `each`.
    pub fn merge(self, stop: &Stop, each: impl FnMut(&[u8], Tally) -> Result<()>) -> Result<()> {
        merge(self.levels.into_iter().flatten().collect(), stop, each)
    }
}

/// Pieces in a file, in the order of their bytes.
#[derive(Debug)]
pub struct Run {
    file: File,
    folder: PathBuf,
    pieces: u64,
}

struct RunWriter {
    file: BufWriter<File>,
    folder: PathBuf,
    pieces: u64,
}

impl RunWriter {
    fn new(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|problem| spill_error(folder, &problem))?;
        Ok(Self { file: BufWriter::with_capacity(BUFFER, file), folder: folder.to_owned(), pieces: 0 })
    }

    fn push(&mut self, piece: &[u8], tally: Tally) -> Result<()> {
        let head: PieceHeader = [piece.len() as u64, tally.count, tally.first.0, tally.first.1];
        self.pieces += 1;
        let written = self.file.write_all(bytemuck::bytes_of(&head)).and_then(|()| self.file.write_all(piece));
        written.map_err(|problem| spill_error(&self.folder, &problem))
    }

    fn finish(self) -> Result<Run> {
        let Self { file, folder, pieces } = self;
        let file = file.into_inner().map_err(|problem| spill_error(&folder, problem.error()))?;
        Ok(Run { file, folder, pieces })
    }
}

impl Run {
    /// Writes the pieces into a file in `folder`.
    ///
    /// # Errors
    /// [`Error::Corpus`] for a disk that is full or cannot be written.
    pub fn write(arena: &Arena, folder: &Path) -> Result<Self> {
        let mut writer = RunWriter::new(folder)?;
        for number in arena.byte_order() {
            writer.push(arena.piece(number as usize), arena.tallies[number as usize])?;
        }
        writer.finish()
    }

    fn open(self) -> Result<RunReader> {
        let Self { file, folder, pieces } = self;
        let mut file = BufReader::with_capacity(BUFFER, file);
        file.rewind().map_err(|problem| spill_error(&folder, &problem))?;
        Ok(RunReader { file, folder, pieces })
    }
}

struct RunReader {
    file: BufReader<File>,
    folder: PathBuf,
    pieces: u64,
}

impl RunReader {
    /// Reads the next piece into `piece` and returns its tally.
    fn next(&mut self, piece: &mut Vec<u8>) -> Result<Option<Tally>> {
        if self.pieces == 0 {
            return Ok(None);
        }
        self.pieces -= 1;
        let mut head = PieceHeader::default();
        piece.clear();
        let read = self.file.read_exact(bytemuck::bytes_of_mut(&mut head)).and_then(|()| {
            piece.resize(head[0] as usize, 0);
            self.file.read_exact(piece)
        });
        read.map_err(|problem| spill_error(&self.folder, &problem))?;
        Ok(Some(Tally { count: head[1], first: (head[2], head[3]) }))
    }
}

fn spill_error(folder: &Path, problem: &std::io::Error) -> Error {
    let message = format!(
        "counts cannot be spilled into this folder: {problem}; make room, name another folder with spill_to=, or \
         allow more with max_memory="
    );
    Error::Corpus { path: folder.display().to_string(), problem: message }
}

fn merge_runs(runs: Vec<Run>, stop: &Stop) -> Result<Run> {
    let mut writer = RunWriter::new(&runs[0].folder)?;
    merge(runs, stop, |piece, tally| writer.push(piece, tally))?;
    writer.finish()
}

fn merge(runs: Vec<Run>, stop: &Stop, mut each: impl FnMut(&[u8], Tally) -> Result<()>) -> Result<()> {
    let mut runs = runs.into_iter().map(Run::open).collect::<Result<Vec<_>>>()?;
    let mut heads = BinaryHeap::new();
    for (number, run) in runs.iter_mut().enumerate() {
        let mut piece = Vec::new();
        if let Some(tally) = run.next(&mut piece)? {
            heads.push(Reverse((piece, number, tally)));
        }
    }
    let mut merged = 0u64;
    while let Some(Reverse((piece, number, mut tally))) = heads.pop() {
        if merged.is_multiple_of(PIECES_PER_LOOK) {
            stop.check()?;
        }
        merged += 1;
        let mut again = vec![(piece, number)];
        while heads.peek().is_some_and(|head| head.0.0 == again[0].0) {
            if let Some(Reverse((piece, number, other))) = heads.pop() {
                tally = tally.checked_add(other)?;
                again.push((piece, number));
            }
        }
        each(&again[0].0, tally)?;
        for (mut piece, number) in again {
            if let Some(tally) = runs[number].next(&mut piece)? {
                heads.push(Reverse((piece, number, tally)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_merge_in_byte_order() {
        let folder = std::env::temp_dir();
        let mut runs = Runs::default();
        for run in 0..150u64 {
            let mut arena = Arena::default();
            for piece in [format!("{:03}", 999 - run), "always".to_owned(), format!("{:03}", run % 10)] {
                arena.push(piece.as_bytes(), Tally { count: run + 1, first: (1000 - run, run) });
            }
            runs.push(Run::write(&arena, &folder).unwrap(), &Stop::default()).unwrap();
        }
        assert_eq!(runs.levels.iter().map(Vec::len).collect::<Vec<_>>(), [150 % 64, 2]);
        assert_eq!(runs.count, 150);
        let mut found = Vec::new();
        let collect = |piece: &[u8], tally: Tally| {
            found.push((String::from_utf8(piece.to_vec()).unwrap(), tally));
            Ok(())
        };
        runs.merge(&Stop::default(), collect).unwrap();
        assert!(found.is_sorted_by(|left, right| left.0 < right.0));
        assert_eq!(found.len(), 10 + 150 + 1);
        assert_eq!(found[160], ("always".to_owned(), Tally { count: 150 * 151 / 2, first: (851, 149) }));
        assert_eq!(found[3].1, Tally { count: (0..15).map(|ten| ten * 10 + 4).sum(), first: (857, 143) });
    }

    #[test]
    fn a_missing_folder_is_named() {
        let problem = Run::write(&Arena::default(), Path::new("/nowhere/at all")).unwrap_err();
        assert!(matches!(problem, Error::Corpus { path, .. } if path == "/nowhere/at all"));
    }
}
