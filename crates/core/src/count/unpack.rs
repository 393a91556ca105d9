//! Unpacks gzip files of any number of members, and zstd files of any number of frames.
//!
//! A file that ends inside a member or a frame is an error ([`io::ErrorKind::UnexpectedEof`]). Zeros after a gzip
//! member are padding. Left out: the limit on the unpacked size, which the reader of the file sets.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;
#[cfg(feature = "zstd")]
use zstd::stream::read::Decoder as ZstdDecoder;

/// The largest window of a zstd frame, as a power of two: the format's limit for readers of this pointer width.
#[cfg(feature = "zstd")]
const LARGEST_WINDOW: u32 = if cfg!(target_pointer_width = "64") { 31 } else { 30 };

/// An open packed file.
pub struct PackedFile(Box<dyn Read + Send>);

impl PackedFile {
    /// Opens a file: gzip unless the name ends in `.zst`.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = BufReader::with_capacity(1 << 17, File::open(path)?);
        if path.extension().is_some_and(|end| end == "zst") { Self::zstd(file) } else { Ok(Self::gzip(file)) }
    }

    fn gzip(packed: impl BufRead + Send + 'static) -> Self {
        Self(Box::new(GzipMembers { rest: Some(packed), open: None, padded: false }))
    }

    #[cfg(feature = "zstd")]
    fn zstd(mut packed: impl BufRead + Send + 'static) -> io::Result<Self> {
        if is_at_end(&mut packed)? {
            return Ok(Self(Box::new(io::empty()))); // no frame at all, as gzip without a member
        }
        let mut decoder = ZstdDecoder::with_buffer(packed)?;
        decoder.window_log_max(LARGEST_WINDOW)?;
        Ok(Self(Box::new(decoder)))
    }

    #[cfg(not(feature = "zstd"))]
    fn zstd(_: impl BufRead) -> io::Result<Self> {
        let problem = "this build reads no zstd; unpack the file, or build toksmith-core with its feature `zstd`";
        Err(io::Error::new(io::ErrorKind::Unsupported, problem))
    }

    /// Fills the buffer with the next bytes and returns their number; fewer than fit only at the end.
    ///
    /// # Errors
    /// The file cannot be read, is not in this format, or ends too early.
    pub fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
                Err(problem) => return Err(problem),
            }
        }
        Ok(filled)
    }
}

impl fmt::Debug for PackedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PackedFile")
    }
}

/// The members of a gzip file, one after another.
struct GzipMembers<R> {
    /// The packed bytes after the last member, if none is open.
    rest: Option<R>,
    open: Option<GzDecoder<R>>,
    /// Whether zeros are allowed now: only after a member.
    padded: bool,
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(member) = &mut self.open {
                let size = member.read(buffer)?;
                if size > 0 || buffer.is_empty() {
                    return Ok(size);
                }
                self.rest = self.open.take().map(GzDecoder::into_inner);
                self.padded = true;
            }
            // An error leaves the reader at its place, so that the next read resumes there.
            let Some(rest) = &mut self.rest else { return Ok(0) };
            if self.padded && !skip_padding(rest)? || is_at_end(rest)? {
                self.rest = None;
                return Ok(0);
            }
            self.open = self.rest.take().map(GzDecoder::new);
        }
    }
}

/// Whether the input has ended; a signal changes nothing.
fn is_at_end(packed: &mut impl BufRead) -> io::Result<bool> {
    loop {
        match packed.fill_buf() {
            Ok(bytes) => return Ok(bytes.is_empty()),
            Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
            Err(problem) => return Err(problem),
        }
    }
}

/// Skips zeros and returns whether input remains.
fn skip_padding(packed: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = packed.fill_buf()?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let ended = zeros < bytes.len();
        packed.consume(zeros);
        if ended {
            return Ok(true);
        }
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use std::io::{Cursor, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn read_all(mut file: PackedFile, at_a_time: usize) -> io::Result<Vec<u8>> {
        let (mut found, mut buffer) = (Vec::new(), vec![0; at_a_time]);
        loop {
            let size = file.fill(&mut buffer)?;
            found.extend_from_slice(&buffer[..size]);
            if size < at_a_time {
                return Ok(found);
            }
        }
    }

    fn gzip_member(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn members_and_frames_are_joined() {
        let texts: [&[u8]; 4] = [b"low", b"", &b"lower ".repeat(50_000), b"lowest"];
        let whole = texts.concat();
        let mut gzip: Vec<u8> = texts.iter().flat_map(|text| gzip_member(text)).collect();
        let frames: Vec<u8> = texts.iter().flat_map(|text| zstd::encode_all(*text, 1).unwrap()).collect();
        for at_a_time in [1 << 20, 7777] {
            assert_eq!(read_all(PackedFile::gzip(Cursor::new(gzip.clone())), at_a_time).unwrap(), whole);
            assert_eq!(read_all(PackedFile::zstd(Cursor::new(frames.clone())).unwrap(), at_a_time).unwrap(), whole);
        }
        gzip.extend([0; 600]);
        assert_eq!(read_all(PackedFile::gzip(Cursor::new(gzip.clone())), 4096).unwrap(), whole);
        gzip.extend(b"no member");
        assert!(read_all(PackedFile::gzip(Cursor::new(gzip)), 4096).is_err());
        assert!(read_all(PackedFile::gzip(Cursor::new(vec![0; 600])), 4096).is_err());
        assert!(read_all(PackedFile::gzip(Cursor::new(Vec::new())), 4096).unwrap().is_empty());
        assert!(read_all(PackedFile::zstd(Cursor::new(Vec::new())).unwrap(), 4096).unwrap().is_empty());
    }

    /// A reader that a signal interrupts before each of its buffers.
    struct Interrupting(Cursor<Vec<u8>>, bool);

    impl Read for Interrupting {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            let most = buffer.len().min(5);
            if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { self.0.read(&mut buffer[..most]) }
        }
    }

    #[test]
    fn a_signal_loses_no_byte() {
        let packed = [gzip_member(b"low"), gzip_member(b"lower"), vec![0; 9], gzip_member(b"lowest")].concat();
        let file = BufReader::with_capacity(5, Interrupting(Cursor::new(packed), false));
        assert_eq!(read_all(PackedFile::gzip(file), 4096).unwrap(), b"lowlowerlowest");
    }

    #[test]
    fn a_truncated_file_is_an_error() {
        let text: Vec<u8> =
            (0..40_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let (gzip, frame) = (gzip_member(&text), zstd::encode_all(&text[..], 1).unwrap());
        for end in [1, 5, 12, gzip.len() / 2, gzip.len() - 9, gzip.len() - 1] {
            let problem = read_all(PackedFile::gzip(Cursor::new(gzip[..end].to_vec())), 4096).unwrap_err();
            assert_eq!(problem.kind(), io::ErrorKind::UnexpectedEof, "{end}");
        }
        for end in [1, 5, 12, frame.len() / 2, frame.len() - 1] {
            let problem = read_all(PackedFile::zstd(Cursor::new(frame[..end].to_vec())).unwrap(), 4096).unwrap_err();
            assert_eq!(problem.kind(), io::ErrorKind::UnexpectedEof, "{end}");
        }
    }
}
