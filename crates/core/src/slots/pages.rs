//! The memory of the slots of a table. A large table requests huge pages from the system: with small ones, most lookups
//! cost a walk of the page tables.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

/// The size of a huge page on most systems. A smaller table uses ordinary memory.
pub const HUGE: usize = 2 << 20;

#[derive(Debug)]
pub(super) enum Pages<S> {
    Small(Vec<S>),
    /// A mapping, and the byte range of the slots in it: they begin at the start of a huge page.
    Large(MmapMut, usize, usize),
}

impl<S: Pod> Pages<S> {
    /// `count` slots of zeros.
    pub(super) fn zeros(count: usize) -> Self {
        let bytes = count * size_of::<S>();
        if bytes >= HUGE
            && let Ok(mapping) = MmapMut::map_anon(bytes + HUGE)
        {
            // Without huge pages the mapping has small ones.
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
