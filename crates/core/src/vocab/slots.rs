//! Large tables of zeros.
//!
//! A table that is looked into at random places costs a walk of the page tables at most looks, unless its pages are
//! huge. Those have to be asked for before the memory is first touched.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

/// Tables of fewer bytes are ordinary memory.
const LARGE: usize = 2 << 20;

/// An array that begins as zeros.
#[derive(Debug)]
pub struct Slots<T>(SlotKind<T>);

#[derive(Debug)]
enum SlotKind<T> {
    Heap(Box<[T]>),
    Pages(MmapMut),
}

impl<T: Pod> Slots<T> {
    /// So many zeros.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let pages = if count * size_of::<T>() < LARGE { None } else { huge_pages(count * size_of::<T>()) };
        Self(pages.map_or_else(|| SlotKind::Heap(vec![T::zeroed(); count].into()), SlotKind::Pages))
    }
}

/// Memory of its own for a large table; None where the system has none to give.
fn huge_pages(bytes: usize) -> Option<MmapMut> {
    let pages = MmapMut::map_anon(bytes).ok()?;
    #[cfg(target_os = "linux")]
    // Where the system has no huge pages, small ones do.
    let _ = pages.advise(memmap2::Advice::HugePage);
    Some(pages)
}

impl<T: Pod> Deref for Slots<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.0 {
            SlotKind::Heap(slots) => slots,
            SlotKind::Pages(pages) => bytemuck::cast_slice(pages),
        }
    }
}

impl<T: Pod> DerefMut for Slots<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            SlotKind::Heap(slots) => slots,
            SlotKind::Pages(pages) => bytemuck::cast_slice_mut(pages),
        }
    }
}
