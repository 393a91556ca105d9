//! Threads, and what calls share.

pub mod once;
pub mod ordered;
pub mod parallel;
pub mod sessions;
