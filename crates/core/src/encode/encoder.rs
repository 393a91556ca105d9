//! The encoder: everything that encoding needs, built once.

use std::sync::Arc;

use crate::encode::session::Session;
use crate::encode::stages::Stages;
use crate::error::Result;
use crate::kinds::PieceEncoder;
use crate::kinds::sentencepiece::CharEngine;
use crate::split::Splitter;
use crate::split::special::{AddedTokenFlags, AddedTokens};
use crate::split::text_cuts::TextCuts;
use crate::steps::Line;
use crate::switches::slow;
use crate::threads::parallel::Stop;
use crate::threads::sessions::Pool;
use crate::vocab::Vocab;

/// Everything that encoding needs. Only the pool of idle sessions changes.
#[derive(Debug)]
pub struct Encoder {
    pieces: Arc<PieceEncoder>,
    added: AddedTokens,
    splitter: Splitter,
    chars: Option<CharEngine>,
    stages: Stages,
    /// Whether texts between added tokens go through the stages.
    staged: bool,
    slow: bool,
    sessions: Pool<Session>,
}

impl Encoder {
    /// An encoder whose pieces `pieces` encodes. `TOKSMITH_SLOW=1` makes it merge every piece without the memory.
    #[must_use]
    pub fn new(pieces: Arc<PieceEncoder>, added: AddedTokens, splitter: Splitter) -> Self {
        let staged = added.any_normalized();
        Self {
            pieces,
            added,
            splitter,
            chars: None,
            stages: Stages::default(),
            staged,
            slow: slow(),
            sessions: Pool::default(),
        }
    }

    /// The same encoder with the steps of a model.
    ///
    /// # Errors
    /// [`crate::Error::Model`] if the added tokens cannot be normalized.
    pub fn with_stages(mut self, stages: Stages) -> Result<Self> {
        let (stop, added) = (Stop::default(), self.added);
        let bounds = stages.content_bounds(added.tokens(), &stop);
        self.added = added.normalize_contents(|content| {
            let mut line = Line::new(content);
            stages.normalize_added(&mut line, &bounds)?;
            Ok(line.text().to_owned())
        })?;
        self.staged = !stages.is_empty() || self.added.any_normalized();
        self.stages = stages;
        Ok(self)
    }

    /// Whether a regex runs, which takes longer than the length of the text suggests.
    #[must_use]
    pub fn uses_regex(&self) -> bool {
        self.splitter.uses_regex() || self.stages.uses_regex()
    }

    /// The same encoder with `chars` as the engine of texts between added tokens.
    #[must_use]
    pub fn with_chars(mut self, chars: Option<CharEngine>) -> Self {
        self.chars = chars;
        self
    }

    /// The added tokens, which are cut out first.
    #[must_use]
    pub fn added(&self) -> &AddedTokens {
        &self.added
    }

    /// The steps.
    #[must_use]
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Whether texts go through the stages.
    #[must_use]
    pub fn is_staged(&self) -> bool {
        self.staged
    }

    /// The engine of texts that are one piece of characters, if there is one.
    #[must_use]
    pub fn chars(&self) -> Option<&CharEngine> {
        self.chars.as_ref()
    }

    /// The encoder of pieces.
    #[must_use]
    pub fn piece_encoder(&self) -> &PieceEncoder {
        &self.pieces
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocab(&self) -> &Vocab {
        self.pieces.vocab()
    }

    /// Whether the slow path is taken throughout.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.slow
    }

    /// Whether a text between added tokens is one unchanged piece.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        self.splitter.keeps_whole() && self.is_plain()
    }

    /// Whether only the splitter cuts a text between added tokens, unchanged.
    fn is_plain(&self) -> bool {
        let flagged = self.added.tokens().iter().any(|token| token.flags != AddedTokenFlags::default());
        self.chars.is_none() && !self.staged && !flagged
    }

    /// The cuts of long texts. A normalizer can change the characters that their rule looks at.
    #[must_use]
    pub fn cuts(&self) -> Option<&'static TextCuts> {
        self.splitter.row().filter(|_| self.is_plain()).and_then(TextCuts::for_row)
    }

    /// The splitter.
    #[must_use]
    pub fn splitter(&self) -> &Splitter {
        &self.splitter
    }

    /// Runs `work` with a session of an earlier call, or a new one.
    pub fn with_session<T>(&self, work: impl FnOnce(&mut Session) -> T) -> T {
        self.sessions.with_session(work)
    }

    /// The memory of the tables in bytes: those made at construction, and those made since.
    #[must_use]
    pub fn table_bytes(&self) -> (usize, usize) {
        let (tables, since) = self.pieces.table_bytes();
        (tables + self.added.bytes() + self.chars.as_ref().map_or(0, CharEngine::table_bytes), since)
    }

    /// The number of idle sessions, and their bytes.
    #[must_use]
    pub fn sessions(&self) -> (usize, usize) {
        let (count, bytes) = self.sessions.idle();
        let (more, of_these) = self.chars.as_ref().map_or((0, 0), CharEngine::sessions);
        (count + more, bytes + of_these)
    }

    /// Drops the idle sessions. Running calls keep theirs.
    pub fn release(&self) {
        self.sessions.release();
        if let Some(chars) = &self.chars {
            chars.release();
        }
    }
}
