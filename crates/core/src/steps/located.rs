//! A step with its place in a model.

use std::ops::Deref;

/// A step, its kind and its place in a model.
#[derive(Debug)]
pub struct LocatedStep<T> {
    pub(super) step: T,
    pub(super) field: &'static str,
    pub(super) place: usize,
    pub(super) kind: &'static str,
}

impl<T> Deref for LocatedStep<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.step
    }
}

impl<T> LocatedStep<T> {
    /// The place and the kind, for errors.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}[{}] ({})", self.field, self.place, self.kind)
    }
}
