//! Everything that encoding needs, put together once.

use std::sync::Arc;

use crate::encode::session::Session;
use crate::encode::stages::Stages;
use crate::error::Result;
use crate::kinds::PieceEncoder;
use crate::kinds::sentencepiece::Chars;
use crate::split::Splitter;
use crate::split::special::{AddedTokens, Flags};
use crate::steps::Line;
use crate::switches::slow;
use crate::threads::parallel::Stop;
use crate::threads::sessions::Kept;
use crate::vocab::Vocab;

/// Everything that encoding needs. Only the sessions that wait for the next call change.
#[derive(Debug)]
pub struct Encoder {
    pieces: Arc<PieceEncoder>,
    added: AddedTokens,
    splitter: Splitter,
    chars: Option<Chars>,
    stages: Stages,
    /// Whether texts between added tokens go through the stages.
    staged: bool,
    slow: bool,
    sessions: Kept<Session>,
}

impl Encoder {
    /// An encoder whose pieces become ids by `pieces`. `TOKSMITH_SLOW=1` makes it merge every piece anew.
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
            sessions: Kept::default(),
        }
    }

    /// The same encoder, with everything that a model does to a text besides cutting and merging.
    ///
    /// # Errors
    /// `Model` of [`crate::Error`], when the added tokens cannot be normalized.
    pub fn with_stages(mut self, stages: Stages) -> Result<Self> {
        let (stop, added) = (Stop::default(), self.added);
        let bounds = stages.bounds_of(added.tokens(), &stop);
        self.added = added.normalized(|content| {
            let mut line = Line::new(content);
            stages.normalize_added(&mut line, &bounds)?;
            Ok(line.text().to_owned())
        })?;
        self.staged = !stages.is_empty() || self.added.any_normalized();
        self.stages = stages;
        Ok(self)
    }

    /// Whether it searches with a regex, which takes longer than the length of the text suggests.
    #[must_use]
    pub fn searches(&self) -> bool {
        self.splitter.searches() || self.stages.searches()
    }

    /// The same encoder, which leaves texts between added tokens to `chars`.
    #[must_use]
    pub fn with_chars(mut self, chars: Option<Chars>) -> Self {
        self.chars = chars;
        self
    }

    /// The tokens that are cut out first.
    #[must_use]
    pub fn added(&self) -> &AddedTokens {
        &self.added
    }

    /// What is done besides cutting and merging.
    #[must_use]
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Whether texts are pieces of characters.
    #[must_use]
    pub fn has_chars(&self) -> bool {
        self.chars.is_some()
    }

    /// Whether texts go through the stages.
    #[must_use]
    pub fn is_staged(&self) -> bool {
        self.staged
    }

    /// The engine of texts that are one piece of characters.
    #[must_use]
    pub fn chars(&self) -> Option<&Chars> {
        self.chars.as_ref()
    }

    /// Pieces to ids.
    #[must_use]
    pub fn piece_encoder(&self) -> &PieceEncoder {
        &self.pieces
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocab(&self) -> &Vocab {
        self.pieces.vocab()
    }

    /// Whether everything is done the slow way.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.slow
    }

    /// Whether a text between added tokens is one piece, as it is.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        let flagged = self.added.tokens().iter().any(|token| token.flags != Flags::default());
        self.splitter.is_none() && self.chars.is_none() && !self.staged && !flagged
    }

    /// Text to pieces.
    #[must_use]
    pub fn splitter(&self) -> &Splitter {
        &self.splitter
    }

    /// Runs `work` with a session of an earlier call, or a new one.
    pub fn with_session<T>(&self, work: impl FnOnce(&mut Session) -> T) -> T {
        self.sessions.lend(work)
    }

    /// The bytes of the tables that the encoder was made with, and of those made since.
    #[must_use]
    pub fn table_bytes(&self) -> (usize, usize) {
        let (made, since) = self.pieces.table_bytes();
        (made + self.added.bytes() + self.chars.as_ref().map_or(0, Chars::table_bytes), since)
    }

    /// How many sessions wait for the next calls, and their bytes.
    #[must_use]
    pub fn sessions(&self) -> (usize, usize) {
        let (count, bytes) = self.sessions.held();
        let (more, of_these) = self.chars.as_ref().map_or((0, 0), Chars::sessions);
        (count + more, bytes + of_these)
    }

    /// Drops the sessions that wait. Running calls keep theirs.
    pub fn release(&self) {
        self.sessions.release();
        if let Some(chars) = &self.chars {
            chars.release();
        }
    }
}
