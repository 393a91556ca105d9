//! Figures about tokens and texts: exact counts, of which the metrics of the Python package are ratios.
//!
//! Reading order: [`text_sums`], which counts in the same pass that encodes; [`id_counts`], its table of ids;
//! [`token_facts`], what a token is by its bytes; [`mod@digests`], by which others compare texts.
//!
//! Left out: every ratio, name and limit, which the Python package has.

pub mod digests;
pub mod id_counts;
pub mod text_sums;
pub mod token_facts;
