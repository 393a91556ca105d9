//! What `SentencePiece`'s tokens show when they are decoded. They are written in another way.
//!
//! `▁` (U+2581) shows a space, a byte token its byte, a control token nothing and the unknown token a text of its own.
//! Decoding leaves out the space that normalizing put before a text.

use crate::error::Result;
use crate::kinds::sentencepiece::normalize::{BLOCK, Normalizer, written};
use crate::split::Text;
use crate::split::special::AddedToken;
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;
use crate::vocab::Vocab;
use crate::vocab::by_id::ById;

/// Which leading spaces decoding leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strip {
    /// None.
    Nothing,
    /// That of the first token that shows something.
    Once,
    /// One of each token, until something is shown.
    Each,
}

/// What each id shows, in one table.
#[derive(Debug)]
pub struct Shown {
    strip: Strip,
    blob: Vec<u8>,
    spans: ById<Span>,
    /// What rewrites a decoded text as a whole.
    denormalizer: Option<Normalizer>,
}

/// What one id shows.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    /// Where it starts and ends in the blob.
    start: u32,
    end: u32,
    /// Whether it shows a leading space that decoding may leave out.
    leads: bool,
}

impl Shown {
    /// The memory of the table.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.blob.capacity() + self.spans.bytes()
    }

    /// What the tokens of a vocabulary and the added ones show; `unknown` is the id of the unknown token, and its text.
    #[must_use]
    pub fn new(
        vocab: &Vocab,
        added: &[AddedToken],
        byte_fallback: bool,
        unknown: Option<(u32, &str)>,
        strip: Strip,
    ) -> Self {
        let spans = ById::new(added.iter().map(|token| token.id).chain(vocab.ids()));
        let mut shown = Self { strip, blob: Vec::new(), spans, denormalizer: None };
        for (token, id) in vocab.tokens() {
            match byte_of(token) {
                Some(byte) if byte_fallback => shown.set(id, &[byte]),
                _ => shown.set_text(id, token),
            }
        }
        for token in added.iter().rev() {
            if token.special { shown.set(token.id, b"") } else { shown.set_text(token.id, token.content.as_bytes()) }
        }
        if let Some((id, text)) = unknown {
            shown.set(id, text.as_bytes());
        }
        shown
    }

    /// The same, with what rewrites a decoded text as a whole.
    #[must_use]
    pub fn with_denormalizer(mut self, denormalizer: Option<Normalizer>) -> Self {
        self.denormalizer = denormalizer;
        self
    }

    /// Whether a decoded text is rewritten as a whole.
    #[must_use]
    pub fn rewrites(&self) -> bool {
        self.denormalizer.is_some()
    }

    /// The text that is returned for a decoded text.
    ///
    /// # Errors
    /// [`crate::Error::TooLong`].
    pub fn rewritten(&self, decoded: Vec<u8>, stop: &Stop) -> Result<Vec<u8>> {
        let Some(denormalizer) = &self.denormalizer else { return Ok(decoded) };
        denormalizer.whole(Text::Bytes(&decoded), None, &Bounds::new(decoded.len(), stop))
    }

    fn set(&mut self, id: u32, bytes: &[u8]) {
        let start = self.blob.len() as u32;
        self.blob.extend_from_slice(bytes);
        if let Some(span) = self.spans.get_mut(id) {
            *span = Span { start, end: self.blob.len() as u32, leads: false };
        }
    }

    fn set_text(&mut self, id: u32, token: &[u8]) {
        self.set(id, &written(token, true));
        if let Some(span) = self.spans.get_mut(id) {
            span.leads = token.starts_with(BLOCK);
        }
    }

    /// Appends what `id` shows, which must be the id of a token. `fresh` says whether nothing was shown or stripped before.
    #[inline]
    pub fn push(&self, id: u32, fresh: &mut bool, out: &mut Vec<u8>) {
        let Span { start, end, leads } = self.spans.get(id).copied().unwrap_or_default();
        let mut bytes = &self.blob[start as usize..end as usize];
        if *fresh {
            if self.strip != Strip::Nothing && leads {
                bytes = &bytes[1..];
                *fresh = self.strip == Strip::Each && bytes.is_empty();
            } else {
                *fresh = bytes.is_empty();
            }
        }
        out.extend_from_slice(bytes);
    }
}

/// The byte of a token of the form `<0x41>`.
fn byte_of(token: &[u8]) -> Option<u8> {
    let digits = token.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let upper = digits.len() == 2 && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'));
    std::str::from_utf8(digits).ok().filter(|_| upper).and_then(|digits| u8::from_str_radix(digits, 16).ok())
}
