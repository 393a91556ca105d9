//! The Python binding: convert, release the GIL, make one call of the core, convert back. No logic, no defaults.

use pyo3::prelude::*;

mod batch;
mod batch_texts;
mod call;
mod chars;
mod column;
mod counting;
mod engine;
mod errors;
mod guard;
mod ids;
mod memory;
mod objects;
mod offsets;
mod packed;
mod runs;
mod sampling;
mod stages;
mod stream;
mod tables;
mod tally;
mod text;
mod text_calls;
mod training;
mod unigram;
mod utf8;
mod vocab;

/// The interpreter's alignment of objects.
const ALIGNED: usize = 16;
const _: () = assert!(align_of::<vocab::Vocab>() <= ALIGNED && align_of::<engine::Engine>() <= ALIGNED);
const _: () = assert!(align_of::<text_calls::Calls>() <= ALIGNED);
const _: () = assert!(align_of::<stream::TextStream>() <= ALIGNED && align_of::<tally::Tally>() <= ALIGNED);
const _: () = assert!(align_of::<counting::Counter>() <= ALIGNED && align_of::<counting::CountedPieces>() <= ALIGNED);
const _: () = assert!(align_of::<column::TextBlock>() <= ALIGNED && align_of::<packed::PackedFile>() <= ALIGNED);
const _: () = assert!(align_of::<training::LearnedMerges>() <= ALIGNED && align_of::<stream::TextParts>() <= ALIGNED);
const _: () = assert!(align_of::<memory::Memory>() <= ALIGNED && align_of::<runs::Marks>() <= ALIGNED);

/// The compiled core of toksmith.
///
/// It needs no lock of the interpreter: docs/architecture/threads.md lists what threads share, and what protects it.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    guard::keep_quiet();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("unicode_version", toksmith_core::split::pattern::UNICODE_VERSION)?;
    module.add_class::<vocab::Vocab>()?;
    module.add_class::<memory::Memory>()?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<text_calls::Calls>()?;
    module.add_class::<stream::TextStream>()?;
    module.add_class::<stream::TextParts>()?;
    module.add_class::<column::TextBlock>()?;
    module.add_function(wrap_pyfunction!(column::around, module)?)?;
    module.add_class::<packed::PackedFile>()?;
    module.add_class::<counting::Counter>()?;
    module.add_class::<counting::CountedPieces>()?;
    module.add_function(wrap_pyfunction!(counting::check_rows, module)?)?;
    module.add_function(wrap_pyfunction!(counting::line_feeds, module)?)?;
    module.add_function(wrap_pyfunction!(counting::merge_rows, module)?)?;
    module.add_function(wrap_pyfunction!(counting::row_text, module)?)?;
    module.add_class::<training::LearnedMerges>()?;
    module.add_function(wrap_pyfunction!(offsets::encode_with_offsets, module)?)?;
    module.add_function(wrap_pyfunction!(offsets::encode_ragged_with_offsets, module)?)?;
    module.add_function(wrap_pyfunction!(offsets::encode_in_pieces, module)?)?;
    module.add_function(wrap_pyfunction!(offsets::find_origins, module)?)?;
    module.add_class::<runs::Marks>()?;
    module.add_function(wrap_pyfunction!(runs::encode_runs, module)?)?;
    module.add_function(wrap_pyfunction!(runs::encode_ragged_runs, module)?)?;
    module.add_function(wrap_pyfunction!(runs::label_ids, module)?)?;
    module.add_function(wrap_pyfunction!(stream::find_cut, module)?)?;
    module.add_class::<tally::Tally>()?;
    module.add_function(wrap_pyfunction!(training::train, module)?)?;
    module.add_function(wrap_pyfunction!(training::train_by_text, module)?)?;
    module.add_function(wrap_pyfunction!(training::train_parity, module)?)?;
    module.add_function(wrap_pyfunction!(unigram::train_unigram, module)?)?;
    module.add_function(wrap_pyfunction!(vocab::patterns, module)?)?;
    module.add_function(wrap_pyfunction!(sampling::sample, module)?)?;
    module.add_function(wrap_pyfunction!(sampling::best_encodings, module)?)?;
    module.add_function(wrap_pyfunction!(tally::always_cut, module)?)?;
    module.add_function(wrap_pyfunction!(tally::token_facts, module)?)?;
    #[cfg(feature = "fault")]
    module.add_function(wrap_pyfunction!(fail_at, module)?)?;
    tables::register(module)
}

/// Makes the `number`th fault point from now on fail.
#[cfg(feature = "fault")]
#[pyfunction]
fn fail_at(number: usize) {
    toksmith_core::switches::fail_at(number);
}
