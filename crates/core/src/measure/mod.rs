//! Figures about tokens and texts.

pub mod text_sums;
pub mod token_facts;
