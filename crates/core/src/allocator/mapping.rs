//! Memory that the system maps for one allocation.

#![allow(unsafe_code, reason = "the calls of the system have no safe names")]

use std::ptr;

use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE};

/// The size of a huge page.
pub const HUGE: usize = 2 << 20;

/// So many bytes of zeros that nobody else has, and where they are.
#[derive(Debug, Clone, Copy)]
pub struct Mapping {
    pub start: usize,
    pub bytes: usize,
}

impl Mapping {
    /// Memory of huge pages, if the system has them, or None if it has no memory. `bytes` is a multiple of its small pages.
    pub fn new(bytes: usize) -> Option<Self> {
        // A huge page begins at a multiple of its size, and not every system gives memory there.
        let whole = Self::anywhere(bytes.checked_add(HUGE)?)?;
        let start = whole.start.next_multiple_of(HUGE);
        let after = start + bytes;
        // SAFETY: nobody has the memory yet. Where the system has no huge pages, small ones do.
        unsafe {
            Self { start: whole.start, bytes: start - whole.start }.free();
            Self { start: after, bytes: whole.start + whole.bytes - after }.free();
            libc::madvise(ptr::with_exposed_provenance_mut(start), bytes, libc::MADV_HUGEPAGE);
        }
        Some(Self { start, bytes })
    }

    fn anywhere(bytes: usize) -> Option<Self> {
        let (access, kind) = (PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
        // SAFETY: the system chooses a place where nothing is.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
        (start != MAP_FAILED).then(|| Self { start: start.expose_provenance(), bytes })
    }

    /// The memory.
    pub fn memory(self) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.start)
    }

    /// Gives all of it back to the system.
    ///
    /// # Safety
    /// Nobody looks at it from now on.
    pub unsafe fn free(self) {
        if self.bytes > 0 {
            // SAFETY: that of the caller. If the system refuses, the memory stays as it is.
            unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.start), self.bytes) };
        }
    }

    /// Gives what lies behind so many bytes back.
    ///
    /// # Safety
    /// Nobody looks at that from now on.
    pub unsafe fn cut(self, bytes: usize) -> Self {
        // SAFETY: that of the caller.
        unsafe { Self { start: self.start + bytes, bytes: self.bytes - bytes }.free() };
        Self { start: self.start, bytes }
    }

    /// The same bytes with more behind them, at another place if need be, or None, and then nothing has changed.
    ///
    /// # Safety
    /// Whoever has the mapping looks for its bytes at the new place from now on.
    pub unsafe fn grow(self, bytes: usize) -> Option<Self> {
        let old = ptr::with_exposed_provenance_mut(self.start);
        // The system moves it to where a huge page begins only if it consists of them.
        let whole = bytes.next_multiple_of(HUGE);
        // SAFETY: that of the caller; nobody has what lies behind.
        unsafe {
            let start = libc::mremap(old, self.bytes, whole, libc::MREMAP_MAYMOVE);
            (start != MAP_FAILED).then(|| Self { start: start.expose_provenance(), bytes: whole }.cut(bytes))
        }
    }
}
