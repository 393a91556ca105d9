//! The bytes of a text that each id covers.

use crate::kinds::sentencepiece::normalize::SPACE_MARK;
use crate::vocab::Vocab;
use crate::vocab::by_id::ById;

#[derive(Debug)]
pub(crate) struct CharWidths {
    /// By id, the bytes of its token: with `▁` unchanged, and as a space. 0 for an id without a token, and [`UNKNOWN`]
    /// for the id of any one character.
    pub(crate) escaped: ById<u32>,
    pub(crate) spaced: ById<u32>,
    /// Whether every id determines the text that it covers, and a space has an id.
    pub(crate) plain: bool,
}

/// The width of the unknown id, which is that of the character.
pub(crate) const UNKNOWN: u32 = u32::MAX;

impl CharWidths {
    /// The memory of the tables in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.escaped.bytes() + self.spaced.bytes()
    }

    /// The widths of the tokens of a vocabulary, given the ids of bytes and the unknown id.
    pub(crate) fn new(
        vocab: &Vocab,
        frozen: &[(String, u32)],
        bytes: &[u32],
        unknown: Option<u32>,
        escape: bool,
    ) -> Self {
        let ids = vocab.ids().chain(frozen.iter().map(|(_, id)| *id)).chain(bytes.iter().copied()).chain(unknown);
        let mut widths = Self { escaped: ById::new(ids.clone()), spaced: ById::new(ids), plain: true };
        let frozen_tokens = frozen.iter().map(|(content, id)| (content.as_bytes(), *id));
        for (token, id) in frozen_tokens.chain(vocab.tokens()) {
            let blocks =
                if escape { token.windows(SPACE_MARK.len()).filter(|&part| part == SPACE_MARK).count() } else { 0 };
            widths.set(id, token.len(), token.len() - (SPACE_MARK.len() - 1) * blocks);
        }
        for &id in bytes {
            widths.set(id, 1, 1);
        }
        if let Some(id) = unknown.filter(|_| bytes.is_empty()) {
            widths.set(id, UNKNOWN as usize, UNKNOWN as usize);
        }
        let same = |(content, id): &(String, u32)| {
            let token = vocab.token(*id).is_some_and(|token| token == content.as_bytes());
            token && !bytes.contains(id) && unknown != Some(*id)
        };
        let has_space = !escape || bytes.is_empty() || vocab.id(SPACE_MARK).is_some();
        widths.plain = has_space && frozen.iter().all(same);
        widths
    }

    fn set(&mut self, id: u32, escaped: usize, spaced: usize) {
        for (table, width) in [(&mut self.escaped, escaped), (&mut self.spaced, spaced)] {
            if let Some(entry) = table.get_mut(id) {
                *entry = width as u32;
            }
        }
    }
}
