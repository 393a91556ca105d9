//! Figures about tokens and texts: exact counts, of which the metrics of the Python package are ratios.
//!
//! Reading order: [`text_sums`], which counts in the same pass that encodes; [`token_facts`], what a token is by its
//! bytes.
//!
//! Left out: every ratio, name and limit, which the Python package has.

pub mod text_sums;
pub mod token_facts;
