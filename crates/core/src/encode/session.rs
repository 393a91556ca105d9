//! What calls work with, and leave for the next ones.

#[cfg(feature = "fast")]
use crate::encode::pieces::FastSession;
use crate::kinds::PieceScratch;
use crate::threads::sessions::{MOST_BUFFERS, Worth};

/// What one call at a time works with, and the next one takes over.
#[derive(Debug, Default)]
pub struct Session {
    /// Buffers for single pieces.
    pub scratch: PieceScratch,
    /// The pieces that came so far.
    #[cfg(feature = "fast")]
    pub fast: FastSession,
}

impl Worth for Session {
    fn bytes(&self) -> usize {
        let bytes = size_of::<Self>() + self.scratch.bytes();
        #[cfg(feature = "fast")]
        let bytes = bytes + self.fast.bytes();
        bytes
    }

    fn shrink(&mut self) {
        if self.scratch.bytes() > MOST_BUFFERS {
            self.scratch = PieceScratch::default();
        }
        #[cfg(feature = "fast")]
        self.fast.shrink();
    }
}
