//! Reads rows of `.jsonl` into a column: the texts of a block one after another, on several threads.

use std::ops::Range;

use crate::count::jsonl::{Fields, RowName, Rows, text_and_name};
use crate::error::{Error, Result};
use crate::threads::parallel::{Stop, map_items};

/// The approximate bytes of rows that a thread takes at a time.
const PART: usize = 1 << 18;

/// The rows without a text. There can be as many as lines, so [`problem_of`] finds the problem of one on request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BadRows {
    /// The line number of each row in the block.
    pub lines: Vec<u64>,
    /// The start of each row in the block.
    pub starts: Vec<u64>,
}

/// Returns the problem of a row; `None` if it has a text.
#[must_use]
pub fn problem_of(row: &[u8], fields: Fields<'_>) -> Option<String> {
    text_and_name(row, fields).err()
}

/// The names of the rows that have a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowNames {
    /// All names, one after another.
    pub bytes: Vec<u8>,
    /// The end of each name.
    pub ends: Vec<u64>,
    /// Whether the name of each row is stored here.
    pub known: Vec<bool>,
    /// The rows whose name the caller must read.
    pub unread: Vec<u64>,
}

impl RowNames {
    fn push(&mut self, name: &RowName<'_>) {
        match name {
            RowName::Known(name) => self.bytes.extend_from_slice(name.as_bytes()),
            RowName::Unread => self.unread.push(self.ends.len() as u64),
            RowName::Missing => {}
        }
        self.ends.push(self.bytes.len() as u64);
        self.known.push(matches!(name, RowName::Known(_)));
    }

    fn append(&mut self, next: Self) {
        let (before, rows) = (self.bytes.len() as u64, self.ends.len() as u64);
        self.bytes.extend(next.bytes);
        self.ends.extend(next.ends.iter().map(|end| end + before));
        self.known.extend(next.known);
        self.unread.extend(next.unread.iter().map(|place| place + rows));
    }
}

/// The texts of rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// All texts, one after another.
    pub texts: Vec<u8>,
    /// The end of each text.
    pub ends: Vec<u64>,
    /// The line number of each text in the block.
    pub lines: Vec<u64>,
    /// The start of each text's row in the block.
    pub starts: Vec<u64>,
    /// The names of the rows; empty if no name field is requested.
    pub names: RowNames,
    /// The rows without a text.
    pub bad: BadRows,
    /// The number of lines in the block, blank ones included.
    pub count: u64,
}

impl Column {
    /// Reads a block of whole lines.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and [`Error::Corpus`] if there is not enough memory.
    pub fn new(block: &[u8], fields: Fields<'_>, threads: usize, stop: &Stop) -> Result<Self> {
        let rows = Rows::new(block);
        let parts = divide_rows(&rows);
        let threads = if block.len() <= PART { 1 } else { threads };
        let columns = map_items(parts.len(), threads, stop, |items| {
            items.for_each_item(|part| Self::read_part(&rows, parts[part].clone(), fields, stop));
        })?;
        let mut columns = columns.into_iter();
        let mut whole = columns.next().unwrap_or_default();
        let rest: Vec<_> = columns.collect();
        reserve_text(&mut whole.texts, rest.iter().map(|column| column.texts.len()).sum())?;
        for column in rest {
            whole.append(column);
        }
        whole.count = rows.lines;
        Ok(whole)
    }

    fn read_part(rows: &Rows<'_>, part: Range<usize>, fields: Fields<'_>, stop: &Stop) -> Result<Self> {
        let mut column = Self::default();
        let places = &rows.places[part.clone()];
        // A text is never longer than its row.
        let size = places.last().map_or(0, |last| last.bytes.end) - places.first().map_or(0, |first| first.bytes.start);
        reserve_text(&mut column.texts, size)?;
        for (number, place) in part.zip(places) {
            stop.check()?;
            let start = place.bytes.start as u64;
            let Ok((text, name)) = text_and_name(rows.row(number), fields) else {
                column.bad.lines.push(place.line);
                column.bad.starts.push(start);
                continue;
            };
            column.texts.extend_from_slice(text.as_bytes());
            column.ends.push(column.texts.len() as u64);
            column.lines.push(place.line);
            column.starts.push(start);
            if fields.name.is_some() {
                column.names.push(&name);
            }
        }
        Ok(column)
    }

    fn append(&mut self, next: Self) {
        let before = self.texts.len() as u64;
        self.texts.extend_from_slice(&next.texts);
        self.ends.extend(next.ends.iter().map(|end| end + before));
        self.lines.extend(next.lines);
        self.starts.extend(next.starts);
        self.names.append(next.names);
        self.bad.lines.extend(next.bad.lines);
        self.bad.starts.extend(next.bad.starts);
    }
}

fn reserve_text(texts: &mut Vec<u8>, more: usize) -> Result<()> {
    texts.try_reserve(more).map_err(|_| Error::Corpus {
        path: String::new(),
        problem: format!("cannot be read: there is not enough memory for {more} bytes of rows"),
    })
}

/// The rows in parts of about [`PART`] bytes.
fn divide_rows(rows: &Rows<'_>) -> Vec<Range<usize>> {
    let (mut parts, mut first) = (Vec::new(), 0);
    for (number, place) in rows.places.iter().enumerate() {
        if place.bytes.end - rows.places[first].bytes.start >= PART {
            parts.push(first..number + 1);
            first = number + 1;
        }
    }
    if first < rows.places.len() {
        parts.push(first..rows.places.len());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: Fields<'_> = Fields { text: "text", name: Some("id") };

    #[test]
    fn a_column_has_the_text_of_each_row_and_lists_bad_rows() {
        let block = "{\"text\": \"a\\u00e9\", \"id\": \"x\"}\n\n  \n{\"text\": 5}\n{\"text\": \"\"}\r\n[]\n{\"text\": \"last\", \"id\": 1.0}"
            .as_bytes();
        let column = Column::new(block, NAMED, 2, &Stop::default()).unwrap();
        assert_eq!(column.texts, "aélast".as_bytes());
        assert_eq!((column.ends, column.lines, column.count), (vec![3, 3, 7], vec![0, 4, 6], 7));
        assert_eq!(column.starts, [0, 47, 64]);
        assert_eq!(column.bad, BadRows { lines: vec![3, 5], starts: vec![35, 61] });
        assert!(problem_of(&block[35..46], NAMED).is_some_and(|said| said.contains("text")));
        assert_eq!(problem_of(b"{\"text\": \"a\"}", NAMED), None);
        let names =
            RowNames { bytes: b"x".to_vec(), ends: vec![1, 1, 1], known: vec![true, false, false], unread: vec![2] };
        assert_eq!(column.names, names);
        let unnamed = Column::new(block, Fields { name: None, ..NAMED }, 2, &Stop::default()).unwrap();
        assert_eq!((unnamed.names, unnamed.texts), (RowNames::default(), column.texts));
    }

    #[test]
    fn parts_do_not_change_a_column() {
        let row = |number: usize| match number % 11 {
            3 => "\n".to_owned(),
            7 => "no row\n".to_owned(),
            5 => format!("{{\"text\": \"a\", \"id\": [{number}]}}\n"),
            _ => format!("{{\"id\": {number}, \"text\": \"{}\"}}\n", "é\\n".repeat(number % 300)),
        };
        let block: String = (0..6000).map(row).collect();
        let rows = Rows::new(block.as_bytes());
        assert!(divide_rows(&rows).len() > 4);
        let mut whole = Column::read_part(&rows, 0..rows.places.len(), NAMED, &Stop::default()).unwrap();
        whole.count = 6000;
        assert!(whole.names.unread.len() > 500);
        for threads in [1, 2, 7] {
            assert_eq!(Column::new(block.as_bytes(), NAMED, threads, &Stop::default()).unwrap(), whole);
        }
        assert_eq!(Column::new(b"", NAMED, 2, &Stop::default()).unwrap(), Column::default());
    }
}
