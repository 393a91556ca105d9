//! The slow twin of everything that has a fast one, and the switch that asks for it.

/// Whether `TOKSMITH_SLOW=1` asks for the slow twin of everything that has one. No id depends on it.
#[must_use]
pub fn slow() -> bool {
    std::env::var_os("TOKSMITH_SLOW").is_some_and(|slow| slow == "1")
}
