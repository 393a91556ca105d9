//! The state that a call uses and leaves for the next one.

#[cfg(feature = "fast")]
use crate::encode::pieces::FastSession;
use crate::kinds::PieceScratch;
use crate::threads::sessions::{MOST_BUFFERS, Reusable};

/// The buffers and the memory of one call at a time, reused by the next.
#[derive(Debug, Default)]
pub struct Session {
    /// Buffers for single pieces.
    pub scratch: PieceScratch,
    /// The pieces remembered so far.
    #[cfg(feature = "fast")]
    pub fast: FastSession,
}

impl Reusable for Session {
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
