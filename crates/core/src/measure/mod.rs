//! Figures about tokens and texts: exact counts, of which the metrics of the Python package are ratios.
//!
//! Reading order: [`counts`], what is counted of a text and its ids; [`token_facts`], what a token is by its bytes;
//! [`mod@digests`], by which others compare texts.
//!
//! Left out: every ratio, name and limit, which the Python package has.

pub mod counts;
pub mod digests;
pub mod token_facts;
