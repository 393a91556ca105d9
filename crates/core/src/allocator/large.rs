//! The allocator: what is large, and what becomes of it.

#![allow(unsafe_code, reason = "the trait of allocators is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::Mutex;

use super::mapping::{HUGE, Mapping};

/// See [`crate::allocator`].
#[derive(Debug, Clone, Copy)]
pub struct Allocator;

/// From so many bytes on, an allocation is large. With fewer, too much of a huge page would stay empty.
const LEAST: usize = HUGE / 4 * 3;
/// A multiple of the size of small pages on every machine.
const PAGES: usize = 1 << 16;
/// What every mapping is aligned to at least.
const ALIGNED: usize = 1 << 12;
/// The most bytes that are kept for the next allocation.
const MOST_KEPT: usize = 32 << 20;

/// The mapping that was freed last. Nobody waits for it: whoever finds it locked does without.
static KEPT: Mutex<Option<Mapping>> = Mutex::new(None);

/// Gives the memory that is kept for the next large allocation back to the system.
pub fn give_back() {
    if let Ok(mut kept) = KEPT.try_lock() {
        free(kept.take());
    }
}

fn free(mapping: Option<Mapping>) {
    if let Some(mapping) = mapping {
        // SAFETY: nobody has what was kept, or was not.
        unsafe { mapping.free() };
    }
}

fn is_large(size: usize, align: usize) -> bool {
    size >= LEAST && align <= ALIGNED
}

/// The bytes of the mapping of a large allocation. The last huge page is whole if most of it is asked for.
fn mapped(size: usize) -> usize {
    size.next_multiple_of(if size % HUGE >= LEAST { HUGE } else { PAGES })
}

/// The mapping of a large allocation of so many bytes.
fn mapping(memory: *mut u8, size: usize) -> Mapping {
    Mapping { start: memory.expose_provenance(), bytes: mapped(size) }
}

/// What is kept, if it has so many bytes and not more than twice as many.
fn take(bytes: usize) -> Option<Mapping> {
    let kept = KEPT.try_lock().ok()?.take_if(|kept| bytes <= kept.bytes && kept.bytes / 2 <= bytes)?;
    // SAFETY: nobody has what was kept.
    Some(unsafe { kept.cut(bytes) })
}

/// Keeps memory that nobody has any more in place of what was kept, which is freed.
#[cold]
fn keep(mapping: Mapping) {
    free(match KEPT.try_lock() {
        Ok(mut kept) if mapping.bytes <= MOST_KEPT => kept.replace(mapping),
        _ => Some(mapping),
    });
}

fn memory_of(mapping: Option<Mapping>) -> *mut u8 {
    mapping.map_or(ptr::null_mut(), Mapping::memory)
}

// SAFETY: a large allocation has a mapping of its own, of `mapped(size)` bytes: all four functions agree on which are large
// and on that number. Nothing else gets that memory before it is freed. The others are those of `System`.
unsafe impl GlobalAlloc for Allocator {
    // SAFETY: what the trait asks of its callers is all that it needs.
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size(), layout.align()) {
            return alloc_large(layout.size());
        }
        // SAFETY: that of the caller.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: what the trait asks of its callers is all that it needs.
    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size(), layout.align()) {
            return zeroed_large(layout.size());
        }
        // SAFETY: that of the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    // SAFETY: what the trait asks of its callers is all that it needs.
    #[inline(never)]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if is_large(layout.size(), layout.align()) {
            return keep(mapping(memory, layout.size()));
        }
        // SAFETY: that of the caller.
        unsafe { System.dealloc(memory, layout) }
    }

    // SAFETY: what the trait asks of its callers is all that it needs.
    #[inline(never)]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (is_large(layout.size(), layout.align()), is_large(size, layout.align())) {
            // SAFETY: that of the caller.
            (false, false) => unsafe { System.realloc(memory, layout, size) },
            // SAFETY: that of the caller.
            (true, true) => unsafe { resize(memory, layout.size(), size) },
            // SAFETY: that of the caller.
            _ => unsafe { move_over(memory, layout, size) },
        }
    }
}

#[cold]
fn alloc_large(size: usize) -> *mut u8 {
    let bytes = mapped(size);
    memory_of(take(bytes).or_else(|| Mapping::new(bytes)))
}

#[cold]
fn zeroed_large(size: usize) -> *mut u8 {
    memory_of(Mapping::new(mapped(size)))
}

/// A large allocation with another large size.
///
/// # Safety
/// That of [`GlobalAlloc::realloc`].
#[cold]
unsafe fn resize(memory: *mut u8, before: usize, size: usize) -> *mut u8 {
    let (old, bytes) = (mapping(memory, before), mapped(size));
    // SAFETY: from now on the caller looks at the new memory only. Both have the bytes that are copied.
    unsafe {
        if bytes <= old.bytes {
            return old.cut(bytes).memory();
        }
        let Some(new) = take(bytes) else { return memory_of(old.grow(bytes)) };
        ptr::copy_nonoverlapping(memory, new.memory(), before);
        keep(old);
        new.memory()
    }
}

/// An allocation that becomes large or small.
///
/// # Safety
/// That of [`GlobalAlloc::realloc`].
#[cold]
unsafe fn move_over(memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // SAFETY: that of the caller; the alignment is that of `layout`, and both have the bytes that are copied.
    unsafe {
        let new = Allocator.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !new.is_null() {
            ptr::copy_nonoverlapping(memory, new, layout.size().min(size));
            Allocator.dealloc(memory, layout);
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;

    /// One allocation, and the byte that it is full of.
    struct Held {
        memory: *mut u8,
        layout: Layout,
        byte: u8,
    }

    impl Held {
        fn new(size: usize, byte: u8, zeroed: bool) -> Self {
            let layout = Layout::from_size_align(size, 4).unwrap();
            // SAFETY: the layout has bytes.
            let memory = unsafe { if zeroed { Allocator.alloc_zeroed(layout) } else { Allocator.alloc(layout) } };
            let mut held = Self { memory, layout, byte };
            assert!(!zeroed || held.bytes().iter().all(|&byte| byte == 0), "zeros");
            held.bytes().fill(byte);
            held
        }

        fn bytes(&mut self) -> &mut [u8] {
            // SAFETY: the memory has so many bytes, and this is the only one who has it.
            unsafe { std::slice::from_raw_parts_mut(self.memory, self.layout.size()) }
        }

        fn is_whole(&mut self) -> bool {
            let byte = self.byte;
            self.bytes().iter().all(|&at| at == byte)
        }

        fn resize(&mut self, size: usize) {
            let both = size.min(self.layout.size());
            // SAFETY: the memory is that of the allocator, and the size is not zero.
            self.memory = unsafe { Allocator.realloc(self.memory, self.layout, size) };
            self.layout = Layout::from_size_align(size, 4).unwrap();
            let byte = self.byte;
            assert!(self.bytes()[..both].iter().all(|&at| at == byte), "what was there stays");
            self.bytes()[both..].fill(byte);
        }

        fn free(mut self) {
            assert!(self.is_whole(), "nobody else writes here");
            // SAFETY: the memory is that of the allocator, and nobody looks at it again.
            unsafe { Allocator.dealloc(self.memory, self.layout) };
        }
    }

    #[test]
    fn every_allocation_has_memory_of_its_own() {
        let mut draw = Draw(1);
        let mut held: Vec<Held> = Vec::new();
        for round in 0..400_usize {
            let around = [LEAST, HUGE, 2 * HUGE, 3 * HUGE][draw.below(4)];
            let size = around + draw.below(2 * PAGES) - PAGES;
            match draw.below(4) {
                0 if !held.is_empty() => held.swap_remove(draw.below(held.len())).free(),
                1 if !held.is_empty() => {
                    let at = draw.below(held.len());
                    held[at].resize(size);
                }
                2 if round % 50 == 0 => give_back(),
                way => held.push(Held::new(size, round as u8, way == 3)),
            }
            if held.len() > 6 {
                held.remove(0).free();
            }
        }
        held.into_iter().for_each(Held::free);
    }

    #[test]
    fn large_memory_begins_where_a_huge_page_does() {
        for size in [LEAST, HUGE - 1, HUGE, HUGE + 1, 5 * HUGE + LEAST] {
            let held = Held::new(size, 1, true);
            assert_eq!(held.memory.addr() % HUGE, 0, "{size}");
            held.free();
        }
        assert_eq!([LEAST, HUGE, HUGE + 1, 2 * HUGE - 1].map(mapped), [HUGE, HUGE, HUGE + PAGES, 2 * HUGE]);
    }

    #[test]
    fn what_no_system_has_is_refused() {
        let layout = Layout::from_size_align(isize::MAX as usize - 7, 4).unwrap();
        // SAFETY: the layout has bytes.
        assert!(unsafe { Allocator.alloc(layout) }.is_null());
        let mut held = Held::new(HUGE, 3, false);
        // SAFETY: the memory is that of the allocator, and the size is not zero.
        assert!(unsafe { Allocator.realloc(held.memory, held.layout, layout.size()) }.is_null());
        assert!(held.is_whole(), "and nothing has changed");
        held.free();
    }
}
