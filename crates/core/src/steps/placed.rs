//! A step, and where a model has it.

use std::ops::Deref;

/// See the module.
#[derive(Debug)]
pub struct Placed<T> {
    pub(super) step: T,
    pub(super) field: &'static str,
    pub(super) place: usize,
    pub(super) kind: &'static str,
}

impl<T> Deref for Placed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.step
    }
}

impl<T> Placed<T> {
    /// The place and the kind, as errors name them.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}[{}] ({})", self.field, self.place, self.kind)
    }
}
