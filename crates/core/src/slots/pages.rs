//! The memory of the slots of a table. A large table asks the system for huge pages: with small ones, most looks cost a walk
//! of the page tables.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

/// The size of a huge page on most systems. A smaller table is in ordinary memory.
pub const HUGE: usize = 2 << 20;

#[derive(Debug)]
pub(super) enum Pages<S> {
    Small(Vec<S>),
    /// A mapping, and from where to where the slots are in it, in bytes: they begin where a huge page does.
    Large(MmapMut, usize, usize),
}

impl<S: Pod> Pages<S> {
    /// `count` slots of zeros.
    pub(super) fn zeros(count: usize) -> Self {
        let bytes = count * size_of::<S>();
        if bytes >= HUGE
            && let Ok(mapping) = MmapMut::map_anon(bytes + HUGE)
        {
            // Where the system has no huge pages, small ones do.
            #[cfg(target_os = "linux")]
            let _ = mapping.advise(memmap2::Advice::HugePage);
            let start = mapping.as_ptr().align_offset(HUGE);
            return Self::Large(mapping, start, start + bytes);
        }
        Self::Small(bytemuck::zeroed_vec(count))
    }
}

impl<S: Pod> Deref for Pages<S> {
    type Target = [S];

    #[inline(always)]
    fn deref(&self) -> &[S] {
        match self {
            Self::Small(slots) => slots,
            Self::Large(mapping, start, end) => bytemuck::cast_slice(&mapping[*start..*end]),
        }
    }
}

impl<S: Pod> DerefMut for Pages<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [S] {
        match self {
            Self::Small(slots) => slots,
            Self::Large(mapping, start, end) => bytemuck::cast_slice_mut(&mut mapping[*start..*end]),
        }
    }
}
