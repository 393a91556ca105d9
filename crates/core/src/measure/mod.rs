//! Figures about tokens and texts: exact counts, of which the metrics of the Python package are ratios.
//!
//! Reading order: [`counts`], what is counted; [`text_sums`], which counts in the same pass that encodes; [`id_counts`], its
//! table of ids; [`token_ends`], which its pass over ids finds; [`block_walk`], its pass over the text, by [`rows`];
//! [`token_facts`], what a token is by its bytes; [`mod@digests`], by which others compare texts.
//!
//! Left out: every ratio, name and limit, which the Python package has.

pub mod block_walk;
pub mod counts;
pub mod digests;
pub mod id_counts;
pub mod rows;
pub mod text_sums;
pub mod token_ends;
pub mod token_facts;
