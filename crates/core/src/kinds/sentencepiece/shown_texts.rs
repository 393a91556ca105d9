//! The texts that `SentencePiece`'s tokens show when decoded, which differ from their bytes.
//!
//! `▁` (U+2581) shows a space, a byte token its byte, a control token nothing and the unknown token a separate text.
//! Decoding removes the space that normalizing put before a text.

use crate::error::Result;
use crate::kinds::sentencepiece::normalize::{Normalizer, SPACE_MARK, write_form};
use crate::split::Text;
use crate::split::special::AddedToken;
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;
use crate::vocab::Vocab;
use crate::vocab::by_id::ById;

/// The leading spaces that decoding removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strip {
    /// None.
    Nothing,
    /// The space of the first token that shows text.
    Once,
    /// One space of each token, until a token shows text.
    Each,
}

impl Strip {
    /// The rule by its name in a model.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "nothing" => Self::Nothing,
            "once" => Self::Once,
            "each" => Self::Each,
            _ => return None,
        })
    }
}

/// The shown text of each id, in one table.
#[derive(Debug)]
pub struct ShownTexts {
    strip: Strip,
    blob: Vec<u8>,
    spans: ById<ShownSpan>,
    /// Rewrites a whole decoded text.
    denormalizer: Option<Normalizer>,
}

#[derive(Debug, Clone, Copy, Default)]
struct ShownSpan {
    /// Its start and end in the blob.
    start: u32,
    end: u32,
    /// Whether it begins with a space that decoding can remove.
    leads: bool,
}

impl ShownTexts {
    /// The memory of the table in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.blob.capacity() + self.spans.bytes()
    }

    /// The shown texts of a vocabulary and the added tokens; `unknown` is the id and the text of the unknown token.
    #[must_use]
    pub fn new(
        vocab: &Vocab,
        added: &[AddedToken],
        byte_fallback: bool,
        unknown: Option<(u32, &str)>,
        strip: Strip,
    ) -> Self {
        let spans = ById::new(added.iter().map(|token| token.id).chain(vocab.ids()));
        let mut texts = Self { strip, blob: Vec::new(), spans, denormalizer: None };
        for (token, id) in vocab.tokens() {
            match byte_of(token) {
                Some(byte) if byte_fallback => texts.set(id, &[byte]),
                _ => texts.set_text(id, token),
            }
        }
        for token in added.iter().rev() {
            if token.special { texts.set(token.id, b"") } else { texts.set_text(token.id, token.content.as_bytes()) }
        }
        if let Some((id, text)) = unknown {
            texts.set(id, text.as_bytes());
        }
        texts
    }

    /// The same with a normalizer that rewrites a whole decoded text.
    #[must_use]
    pub fn with_denormalizer(mut self, denormalizer: Option<Normalizer>) -> Self {
        self.denormalizer = denormalizer;
        self
    }

    /// Whether a decoded text is rewritten.
    #[must_use]
    pub fn has_denormalizer(&self) -> bool {
        self.denormalizer.is_some()
    }

    /// Rewrites a decoded text.
    ///
    /// # Errors
    /// [`crate::Error::TooLong`].
    pub fn rewrite_text(&self, decoded: Vec<u8>, stop: &Stop) -> Result<Vec<u8>> {
        let Some(denormalizer) = &self.denormalizer else { return Ok(decoded) };
        denormalizer.normalize_whole(Text::Bytes(&decoded), None, &Bounds::new(decoded.len(), stop))
    }

    fn set(&mut self, id: u32, bytes: &[u8]) {
        let start = self.blob.len() as u32;
        self.blob.extend_from_slice(bytes);
        if let Some(span) = self.spans.get_mut(id) {
            *span = ShownSpan { start, end: self.blob.len() as u32, leads: false };
        }
    }

    fn set_text(&mut self, id: u32, token: &[u8]) {
        self.set(id, &write_form(token, true));
        if let Some(span) = self.spans.get_mut(id) {
            span.leads = token.starts_with(SPACE_MARK);
        }
    }

    /// Appends the shown text of `id`, which must have a token. `fresh` is true until text is shown or stripped.
    #[inline]
    pub fn push(&self, id: u32, fresh: &mut bool, out: &mut Vec<u8>) {
        let ShownSpan { start, end, leads } = self.spans.get(id).copied().unwrap_or_default();
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
