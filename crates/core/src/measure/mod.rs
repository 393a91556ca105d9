//! Exact counts about tokens and texts, from which the Python package computes its metrics.
//!
//! Reading order: [`counts`], the counts of a text and its ids; [`token_facts`], the properties of a token's bytes;
//! [`mod@digests`], for comparing texts.
//!
//! Left out: every ratio, name and limit, which the Python package has.

pub mod counts;
pub mod digests;
pub mod token_facts;
