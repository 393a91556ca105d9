//! Encodes documents of a file, or of bytes fed in blocks, with as little memory as the text allows.
//!
//! A stream returns the text in parts. A part ends where a document ends or where the text can be cut
//! ([`crate::split::text_cuts`]). Only a document that cannot be cut is in memory as a whole. The stream reads a file
//! and does not map it, so that a file that shrinks is an error and not a crash.
//!
//! A separator ends a document and belongs to none. Separators are found from left to right and do not overlap. The end
//! of the text ends a document too, unless the text ends with a separator, as with the lines of a file.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

use memchr::memmem::Finder;

use crate::encode::long_text::{LongText, RaggedIds, encode_parts};
use crate::error::{Error, Result};
use crate::split::Text;
use crate::split::text_cuts::WINDOW;
use crate::threads::parallel::Stop;

/// The end of a document, and the start of the next.
type DocumentBreak = (usize, usize);

/// A part of the text: ends of documents, parts of documents, or both.
#[derive(Debug, PartialEq, Eq)]
struct FilePart {
    text: Vec<u8>,
    /// The document that the part begins in, and the bytes of it before the part.
    document: usize,
    offset: usize,
    /// The separators in `text`.
    breaks: Vec<DocumentBreak>,
    /// Whether a document ends at the end of the part.
    ends: bool,
}

#[derive(Debug)]
struct SourceFile {
    file: File,
    path: String,
    before: Metadata,
    read: u64,
}

/// Text to be encoded.
#[derive(Debug)]
pub struct Stream {
    separator: Option<Finder<'static>>,
    source: Option<SourceFile>,
    /// Text that was read or fed; the part before `start` is already returned.
    buffer: Vec<u8>,
    start: usize,
    complete: bool,
    finished: bool,
    document: usize,
    offset: usize,
}

impl Stream {
    /// A stream of fed text. With an empty separator, all of the text is one document.
    #[must_use]
    pub fn new(separator: &[u8]) -> Self {
        let separator = (!separator.is_empty()).then(|| Finder::new(separator).into_owned());
        let (buffer, start, document, offset) = (Vec::new(), 0, 0, 0);
        Self { separator, source: None, buffer, start, complete: false, finished: false, document, offset }
    }

    /// A stream of the text of a file, which takes no fed text.
    ///
    /// # Errors
    /// [`Error::Corpus`] for a file that cannot be opened.
    pub fn open(path: &Path, separator: &[u8]) -> Result<Self> {
        let name = path.to_string_lossy().into_owned();
        let opened = File::open(path).and_then(|file| file.metadata().map(|before| (file, before)));
        let (file, before) = opened.map_err(|problem| corpus_error(&name, &problem))?;
        let source = Some(SourceFile { file, path: name, before, read: 0 });
        Ok(Self { source, ..Self::new(separator) })
    }

    /// Adds text; `last` marks its end.
    ///
    /// # Errors
    /// [`Error::Corpus`] if the buffered text does not fit in memory.
    pub fn feed(&mut self, text: &[u8], last: bool) -> Result<()> {
        self.drop_returned();
        Error::reserve(&mut self.buffer, text.len(), "")?;
        self.buffer.extend_from_slice(text);
        self.complete |= last;
        Ok(())
    }

    /// Whether every document has been returned.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// The remaining bytes, as far as known.
    #[must_use]
    pub fn remaining_bytes(&self) -> u64 {
        let unread = self.source.as_ref().map_or(0, |source| source.before.len().saturating_sub(source.read));
        unread + (self.buffer.len() - self.start) as u64
    }

    /// Returns the ids of the next `limit` bytes or slightly more; of fed text, only ids that no later text can
    /// change. The ends are the ends of documents in it.
    ///
    /// # Errors
    /// As [`crate::encode::Encoder::encode`] (with a separator as [`Error::InBatch`]), with offsets in their document,
    /// and [`Error::Corpus`] for a file that cannot be read or changes meanwhile. The rest of the text is then lost.
    pub fn read(&mut self, rules: &LongText<'_>, limit: u64, threads: usize, stop: &Stop) -> Result<RaggedIds> {
        let batch = self.separator.is_some();
        let threads =
            threads.min(usize::try_from(self.remaining_bytes().min(limit)).unwrap_or(usize::MAX) / rules.part + 1);
        let mut bytes = 0;
        let next = || {
            let part = if bytes < limit { self.next_part(rules, stop)? } else { None };
            bytes += part.as_ref().map_or(0, |part| part.text.len() as u64);
            Ok(part)
        };
        encode_parts(rules.encoder, threads, stop, next, |part: FilePart, session, out| {
            let (mut at, mut offset, mut document) = (0, part.offset, part.document);
            let last = part.text.len();
            for &(end, after) in part.breaks.iter().chain([&(last, last)]) {
                stop.check()?;
                let text = Text::Bytes(&part.text[at..end]);
                rules.encoder.encode(text, rules.allow, stop, session, &mut out.ids).map_err(|error| {
                    let error = error.shift_offset(offset);
                    if batch { error.in_batch(document) } else { error }
                })?;
                out.ends.push(out.ids.len() as u64);
                (at, offset, document) = (after, 0, document + 1);
            }
            if !part.ends {
                out.ends.pop();
            }
            Ok(())
        })
    }

    /// Returns the next part; None if it needs text that is not fed yet, or at the end.
    fn next_part(&mut self, rules: &LongText<'_>, stop: &Stop) -> Result<Option<FilePart>> {
        let mut reach = rules.part;
        while !self.finished {
            stop.check()?;
            let separator = self.separator.as_ref().map_or(0, |finder| finder.needle().len());
            // The search for a cut can begin after a separator that begins before `reach`; the buffer must hold the cut
            // and the text after it.
            let needed = reach + WINDOW + 2 * separator + rules.encoder.added().longest();
            self.fill_buffer(needed)?;
            if self.buffer.len() - self.start <= needed {
                return if self.complete { self.take_rest().map(Some) } else { Ok(None) };
            }
            if let Some((breaks, end, after)) = self.end_of_part(reach, rules) {
                return self.take_part(breaks, end, after).map(Some);
            }
            reach *= 2;
        }
        Ok(None)
    }

    /// Returns the breaks before the end of the next part, the end of its text, and the start of the part after it. The
    /// end is the first suitable one at `reach` bytes or more, or else the last end of a document before `reach`.
    fn end_of_part(&self, reach: usize, rules: &LongText<'_>) -> Option<(Vec<DocumentBreak>, usize, usize)> {
        let text = &self.buffer[self.start..];
        let mut breaks = Vec::new();
        let mut separators = self.separators(text);
        let mut next = separators.next();
        while let Some(document_break) = next.filter(|document_break| document_break.0 < reach) {
            breaks.push(document_break);
            next = separators.next();
        }
        let from = breaks.last().map_or(reach, |&(_, after)| after.max(reach));
        let cut = rules.cuts.and_then(|cuts| cuts.find(text, from, rules.encoder.added()));
        let next = next.filter(|document_break| cut.is_none_or(|cut| document_break.0 < cut));
        match next.or_else(|| if cut.is_none() { breaks.pop() } else { None }) {
            Some((end, after)) => Some((breaks, end, after)),
            None => cut.map(|cut| (breaks, cut, cut)),
        }
    }

    fn separators<'s>(&'s self, text: &'s [u8]) -> impl Iterator<Item = (usize, usize)> + 's {
        let finder = self.separator.as_ref();
        let breaks = finder.map(|finder| finder.find_iter(text).map(|at| (at, at + finder.needle().len())));
        breaks.into_iter().flatten()
    }

    /// Takes the text up to `end` as a part; a document ends there if the next part begins later.
    fn take_part(&mut self, breaks: Vec<DocumentBreak>, end: usize, after: usize) -> Result<FilePart> {
        let mut text = Vec::new();
        let path = self.source.as_ref().map_or("", |source| &source.path);
        Error::reserve(&mut text, end, path)?;
        text.extend_from_slice(&self.buffer[self.start..self.start + end]);
        let (document, offset, ends) = (self.document, self.offset, after > end);
        self.document += breaks.len() + usize::from(ends);
        self.offset = match breaks.last() {
            _ if ends => 0,
            Some(&(_, begun)) => end - begun,
            None => offset + end,
        };
        self.start += after;
        Ok(FilePart { text, document, offset, breaks, ends })
    }

    fn take_rest(&mut self) -> Result<FilePart> {
        let text = &self.buffer[self.start..];
        let breaks: Vec<_> = self.separators(text).collect();
        let end = text.len();
        let begun = breaks.last().map_or(end + self.offset, |&(_, after)| end - after);
        let ends = begun > 0 || self.separator.is_none();
        self.finished = true;
        Ok(FilePart { ends, ..self.take_part(breaks, end, end)? })
    }

    /// Reads until more than `needed` bytes are buffered, or the file ends.
    fn fill_buffer(&mut self, needed: usize) -> Result<()> {
        while self.buffer.len() - self.start <= needed && !self.complete {
            self.drop_returned();
            let Some(source) = &mut self.source else { return Ok(()) };
            let missing = needed + 1 - self.buffer.len();
            Error::reserve(&mut self.buffer, missing, &source.path)?;
            let read = (&source.file).take(missing as u64).read_to_end(&mut self.buffer);
            let read = read.map_err(|problem| corpus_error(&source.path, &problem))?;
            source.read += read as u64;
            if read < missing {
                self.complete = true;
                source.check_unchanged()?;
            }
        }
        Ok(())
    }

    fn drop_returned(&mut self) {
        self.buffer.drain(..self.start);
        self.start = 0;
    }
}

impl SourceFile {
    fn check_unchanged(&self) -> Result<()> {
        let now = self.file.metadata().map_err(|problem| corpus_error(&self.path, &problem))?;
        let same = now.modified().ok() == self.before.modified().ok() && now.len() == self.before.len();
        // A file that the system generates while it is read, as in /proc, reports size 0.
        if !now.is_file() || same && (self.read == now.len() || now.len() == 0) {
            return Ok(());
        }
        let problem = format!(
            "changed while it was read: it had {} bytes, {} were read, and it has {} now; encode a copy of it",
            self.before.len(),
            self.read,
            now.len()
        );
        Err(Error::Corpus { path: self.path.clone(), problem })
    }
}

fn corpus_error(path: &str, problem: &std::io::Error) -> Error {
    Error::Corpus { path: path.to_owned(), problem: format!("cannot be read: {problem}") }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;
    use crate::drawn::{Draw, encode_text};
    use crate::encode::encoder::Encoder;
    use crate::encode::long_text::tests::{draw_text, make_encoder};
    use crate::split::pattern::PATTERNS;
    use crate::split::special::Allow;
    use crate::split::text_cuts::TextCuts;

    /// The documents of a text, by the plainest reading of the rule.
    fn split_documents<'t>(text: &'t [u8], separator: &[u8]) -> Vec<&'t [u8]> {
        if separator.is_empty() {
            return vec![text];
        }
        let (mut all, mut begun, mut at) = (Vec::new(), 0, 0);
        while at < text.len() {
            if text[at..].starts_with(separator) {
                all.push(&text[begun..at]);
                at += separator.len();
                begun = at;
            } else {
                at += 1;
            }
        }
        if begun < text.len() {
            all.push(&text[begun..]);
        }
        all
    }

    fn encode_documents(encoder: &Encoder, text: &[u8], separator: &[u8], allow: &Allow) -> Result<RaggedIds> {
        let mut ragged = RaggedIds::default();
        for (index, document) in split_documents(text, separator).into_iter().enumerate() {
            let ids = encode_text(encoder, Text::Bytes(document), allow);
            ragged.ids.extend(ids.map_err(|error| if separator.is_empty() { error } else { error.in_batch(index) })?);
            ragged.ends.push(ragged.ids.len() as u64);
        }
        Ok(ragged)
    }

    /// A file that is deleted when it is dropped.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str, text: &[u8]) -> Self {
            let path = std::env::temp_dir().join(format!("toksmith-{}-{name}", std::process::id()));
            std::fs::write(&path, text).unwrap();
            Self(path)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            drop(std::fs::remove_file(&self.0));
        }
    }

    /// All results of a stream, `limit` bytes at a time, fed in blocks of `block` bytes or read from its file. Every
    /// eighth call uses three threads.
    fn read_all(
        mut stream: Stream,
        text: &[u8],
        rules: &LongText<'_>,
        (block, limit): (usize, u64),
    ) -> Result<RaggedIds> {
        let mut all = RaggedIds::default();
        let (mut blocks, mut threads) = (text.chunks(block), [3, 1, 1, 1, 1, 1, 1, 1].into_iter().cycle());
        while !stream.is_finished() {
            if stream.source.is_none() {
                let next = blocks.next();
                stream.feed(next.unwrap_or_default(), next.is_none()).unwrap();
            }
            let part = stream.read(rules, limit, threads.next().unwrap(), &Stop::default())?;
            let before = all.ids.len() as u64;
            all.ids.extend(part.ids);
            all.ends.extend(part.ends.iter().map(|end| before + end));
        }
        Ok(all)
    }

    #[test]
    fn files_and_blocks_have_the_ids_of_their_documents() {
        let mut draw = Draw(11);
        let none = ["[a-z]+| "];
        for regexes in PATTERNS.iter().map(|row| row.regexes).chain([&none[..], &[]]) {
            let (encoder, cuts) = (make_encoder(regexes), TextCuts::for_patterns(regexes));
            for round in 0..120 {
                // Some texts are longer than the search for a cut, so that cuts are also missed.
                let text = draw_text(&mut draw, if round % 10 == 0 { 3000 } else { round % 60 });
                let separator: &[u8] = [&b""[..], b"\n", b"  ", b" a ", b"  a  a ", b"<|end|>"][round % 6];
                let allow = [Allow::All, Allow::Text, Allow::Raise][round % 3].clone();
                let wanted = encode_documents(&encoder, &text, separator, &allow);
                let rules = LongText { encoder: &encoder, cuts: cuts.as_ref(), allow: &allow, part: 1 + round % 29 };
                let fed = read_all(Stream::new(separator), &text, &rules, (1 + round * 7, u64::MAX));
                assert_eq!(fed, wanted, "{:?} at {:?}", text.escape_ascii().to_string(), separator);
                let file = Temporary::new("drawn.txt", &text);
                for limit in [text.len() as u64 / 60 + 1, 50, u64::MAX] {
                    let stream = Stream::open(&file.0, separator).unwrap();
                    assert_eq!(read_all(stream, b"", &rules, (1, limit)), wanted);
                }
            }
        }
    }

    #[test]
    fn a_file_that_changes_is_an_error() {
        let row = PATTERNS[0].regexes;
        let (encoder, cuts) = (make_encoder(row), TextCuts::for_patterns(row));
        let rules = LongText { encoder: &encoder, cuts: cuts.as_ref(), allow: &Allow::All, part: 1 };
        let text = b"a b ".repeat(5000);
        let file = Temporary::new("changing.txt", &text);
        let mut shrunk = Stream::open(&file.0, b"").unwrap();
        shrunk.read(&rules, 1, 1, &Stop::default()).unwrap();
        std::fs::write(&file.0, b"a").unwrap();
        let Error::Corpus { path, problem } = shrunk.read(&rules, u64::MAX, 2, &Stop::default()).unwrap_err() else {
            panic!("expected a corpus error")
        };
        assert!(path.ends_with("changing.txt") && problem.contains("it had 20000 bytes"), "{problem}");
        let mut grown = Stream::open(&file.0, b"").unwrap();
        std::fs::OpenOptions::new().append(true).open(&file.0).unwrap().write_all(b"more").unwrap();
        assert!(matches!(grown.read(&rules, u64::MAX, 2, &Stop::default()), Err(Error::Corpus { .. })));
        assert!(matches!(Stream::open(&file.0.join("x"), b""), Err(Error::Corpus { .. })));
    }

    #[test]
    fn memory_is_bounded_if_a_text_can_be_cut() {
        let row = PATTERNS[0].regexes;
        let (encoder, cuts) = (make_encoder(row), TextCuts::for_patterns(row));
        let rules = LongText { encoder: &encoder, cuts: cuts.as_ref(), allow: &Allow::All, part: 1000 };
        let file = Temporary::new("large.txt", &b"some text ".repeat(100_000));
        let mut stream = Stream::open(&file.0, b"").unwrap();
        while !stream.is_finished() {
            stream.read(&rules, 10_000, 2, &Stop::default()).unwrap();
            assert!(stream.buffer.capacity() < 20_000);
        }
    }
}
