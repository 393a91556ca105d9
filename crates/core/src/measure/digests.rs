//! Computes the SHA-256 of each text, on several threads.

use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::split::Text;
use crate::threads::parallel::{Stop, map_items};

/// The bytes of a digest.
pub const DIGEST: usize = 32;
/// Fewer bytes than this are hashed by one thread.
const ALONE: usize = 1 << 18;

/// The digests, one after another.
///
/// # Errors
/// [`crate::Error::Interrupted`].
pub fn digests(texts: &[Text<'_>], threads: usize, stop: &Stop) -> Result<Vec<u8>> {
    let size: usize = texts.iter().map(|text| text.as_bytes().len()).sum();
    let threads = if size < ALONE { 1 } else { threads };
    let each: Vec<[u8; DIGEST]> = map_items(texts.len(), threads, stop, |items| {
        items.for_each_item(|number| Ok(Sha256::digest(texts[number].as_bytes()).into()));
    })?;
    Ok(each.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_change_no_digest() {
        let texts: Vec<Vec<u8>> = (0..4000).map(|number| vec![number as u8; number % 700]).collect();
        let texts: Vec<_> = texts.iter().map(|text| Text::Bytes(text)).collect();
        let expected: Vec<u8> = texts.iter().flat_map(|text| Sha256::digest(text.as_bytes())).collect();
        for threads in [1, 2, 7] {
            assert_eq!(digests(&texts, threads, &Stop::default()).unwrap(), expected);
        }
        assert!(digests(&[], 2, &Stop::default()).unwrap().is_empty());
        // The digest of no bytes, of FIPS 180-4.
        let empty = digests(&[Text::Bytes(b"")], 1, &Stop::default()).unwrap();
        assert_eq!(empty[..4], [0xe3, 0xb0, 0xc4, 0x42]);
    }
}
