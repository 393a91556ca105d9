//! The memory of a program: [`Allocator`] takes what is large from the system in huge pages.
//!
//! The system gives a page at its first touch. Where pages are small, these touches take up to half of the time of a long
//! text, and most looks into a large table cost a walk of the page tables. So each large allocation gets a mapping of its
//! own, which begins where a huge page does (`mapping.rs`). The mapping that was freed last is kept for the next allocation
//! that needs about as much (`large.rs`); [`give_back`] frees it too. Small allocations, and all on other systems than Linux,
//! are those of [`std::alloc::System`], which is the plain twin.
//!
//! The Python package has it. Another program says `#[global_allocator] static MEMORY: Allocator = Allocator;`.

#[cfg(target_os = "linux")]
mod large;
#[cfg(target_os = "linux")]
mod mapping;

#[cfg(target_os = "linux")]
pub use large::{Allocator, give_back};
#[cfg(target_os = "linux")]
pub use mapping::HUGE;
#[cfg(not(target_os = "linux"))]
pub use std::alloc::System as Allocator;

/// The size of a huge page on most systems that have them.
#[cfg(not(target_os = "linux"))]
pub const HUGE: usize = 2 << 20;

/// Nothing is kept here.
#[cfg(not(target_os = "linux"))]
pub fn give_back() {}
