//! The tokens of a file, in flat buffers.

/// The most bytes of one token of a file.
pub const TOKEN_LIMIT: usize = 1 << 20;

/// A table of tokens as flat buffers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Token bytes, one after another.
    pub blob: Vec<u8>,
    /// The end of each token in `blob`.
    pub ends: Vec<u32>,
    /// The id of each token.
    pub ids: Vec<u32>,
}

impl Tokens {
    /// Appends the token whose bytes were appended to `blob` since the last one.
    ///
    /// # Errors
    /// The problem of its length, in words.
    pub fn close(&mut self, id: u32) -> std::result::Result<(), String> {
        let start = self.ends.last().map_or(0, |&end| end as usize);
        match self.blob.len() - start {
            0 => return Err("the token has no bytes".into()),
            1..=TOKEN_LIMIT => {}
            bytes => return Err(format!("the token has {bytes} bytes; at most {TOKEN_LIMIT} are allowed")),
        }
        let end = u32::try_from(self.blob.len()).map_err(|_| "the tokens hold more than 4 GiB".to_owned())?;
        self.ends.push(end);
        self.ids.push(id);
        Ok(())
    }

    /// The bytes of a token by its place.
    #[must_use]
    pub fn token(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.blob[start..self.ends[index] as usize]
    }
}

/// The value of a hex digit.
#[inline(always)]
#[must_use]
pub fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
