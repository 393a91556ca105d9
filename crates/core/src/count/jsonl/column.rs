//! Rows of `.jsonl` to a column: the texts of a block one after another, made on several threads.

use crate::count::jsonl::{lines, text};
use crate::error::{Error, Result};
use crate::threads::parallel::{Stop, map};

/// A thread takes about so many bytes of rows at a time.
const PART: usize = 1 << 18;

/// The texts of rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// All texts, one after another.
    pub texts: Vec<u8>,
    /// Where each text ends.
    pub ends: Vec<u64>,
    /// The number of each text's line in the block.
    pub lines: Vec<u64>,
    /// The rows without a text: the number of the line, and what is wrong.
    pub problems: Vec<(u64, String)>,
    /// How many lines the block has, blank ones included.
    pub count: u64,
}

impl Column {
    /// The column of a block of whole lines.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and [`Error::Corpus`] if there is not enough memory.
    pub fn new(block: &[u8], field: &str, threads: usize, stop: &Stop) -> Result<Self> {
        let parts: Vec<_> = in_parts(block).collect();
        let threads = if block.len() <= PART { 1 } else { threads };
        let columns = map(parts.len(), threads, stop, |items| {
            items.each_item(|part| Self::part(parts[part], field, stop));
        })?;
        let mut columns = columns.into_iter();
        let mut whole = columns.next().unwrap_or_default();
        let rest: Vec<_> = columns.collect();
        make_room(&mut whole.texts, rest.iter().map(|column| column.texts.len()).sum())?;
        for column in rest {
            whole.append(column);
        }
        Ok(whole)
    }

    fn part(rows: &[u8], field: &str, stop: &Stop) -> Result<Self> {
        let mut column = Self { count: lines_of(rows), ..Self::default() };
        // A text is never longer than its row.
        make_room(&mut column.texts, rows.len())?;
        for (line, row) in lines(rows) {
            stop.check()?;
            match text(row, field) {
                Ok(text) => {
                    column.texts.extend_from_slice(text.as_bytes());
                    column.ends.push(column.texts.len() as u64);
                    column.lines.push(line as u64);
                }
                Err(problem) => column.problems.push((line as u64, problem)),
            }
        }
        Ok(column)
    }

    /// Adds the column of the lines that follow.
    fn append(&mut self, next: Self) {
        let before = self.texts.len() as u64;
        self.texts.extend_from_slice(&next.texts);
        self.ends.extend(next.ends.iter().map(|end| end + before));
        self.lines.extend(next.lines.iter().map(|line| line + self.count));
        self.problems.extend(next.problems.into_iter().map(|(line, problem)| (line + self.count, problem)));
        self.count += next.count;
    }
}

fn make_room(texts: &mut Vec<u8>, more: usize) -> Result<()> {
    texts.try_reserve(more).map_err(|_| Error::Corpus {
        path: String::new(),
        problem: format!("cannot be read: there is not enough memory for {more} bytes of rows"),
    })
}

/// How many lines there are; the last one may have no line feed.
fn lines_of(rows: &[u8]) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', rows).count();
    (feeds + usize::from(rows.last().is_some_and(|&last| last != b'\n'))) as u64
}

/// A block in parts of whole lines.
fn in_parts(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = block;
    std::iter::from_fn(move || {
        let after = rest.get(PART..).and_then(|after| memchr::memchr(b'\n', after));
        let (part, left) = rest.split_at(after.map_or(rest.len(), |end| PART + end + 1));
        rest = left;
        (!part.is_empty()).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_text_of_each_row_and_tells_the_bad_ones() {
        let block =
            "{\"text\": \"a\\u00e9\"}\n\n  \n{\"text\": 5}\n{\"text\": \"\"}\r\n[]\n{\"text\": \"last\"}".as_bytes();
        let column = Column::new(block, "text", 2, &Stop::default()).unwrap();
        assert_eq!(column.texts, "aélast".as_bytes());
        assert_eq!((column.ends, column.lines, column.count), (vec![3, 3, 7], vec![0, 4, 6], 7));
        assert_eq!(column.problems.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 5]);
    }

    #[test]
    fn parts_change_nothing() {
        let row = |number: usize| match number % 11 {
            3 => "\n".to_owned(),
            7 => "no row\n".to_owned(),
            _ => format!("{{\"id\": {number}, \"text\": \"{}\"}}\n", "é\\n".repeat(number % 300)),
        };
        let block: String = (0..6000).map(row).collect();
        assert!(in_parts(block.as_bytes()).count() > 4);
        let whole = Column::part(block.as_bytes(), "text", &Stop::default()).unwrap();
        for threads in [1, 2, 7] {
            assert_eq!(Column::new(block.as_bytes(), "text", threads, &Stop::default()).unwrap(), whole);
        }
        assert_eq!(whole.count, 6000);
        assert_eq!(Column::new(b"", "text", 2, &Stop::default()).unwrap(), Column::default());
    }
}
