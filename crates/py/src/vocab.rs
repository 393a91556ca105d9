//! `Vocab`: the checked tables of a model; and the table of patterns.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toksmith_core::merge::recover_merges;
use toksmith_core::pattern::PATTERNS;
use toksmith_core::vocab::{MergeRule, Tables, Unit, Vocab as CoreVocab};

use crate::call::call;
use crate::errors;

/// The immutable vocabulary of a model.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Vocab(pub Arc<CoreVocab>);

#[pymethods]
impl Vocab {
    #[new]
    #[pyo3(signature = (kind, unit, blob, ends, ids, merges, merge_rule, whole_piece, prefix=""))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)]
    fn new(
        py: Python<'_>,
        kind: &str,
        unit: &str,
        blob: &Bound<'_, PyBytes>,
        ends: PyReadonlyArray1<'_, u32>,
        ids: PyReadonlyArray1<'_, u32>,
        merges: PyReadonlyArray2<'_, u32>,
        merge_rule: &str,
        whole_piece: bool,
        prefix: &str,
    ) -> PyResult<Self> {
        let invalid = |name: &str, value: &str, allowed: &str| errors::new(py, "InvalidOption", (name, value, allowed));
        let unit = match (kind, unit) {
            ("bpe", "byte") => Unit::Byte,
            ("bpe" | "chars", "char") => Unit::Char,
            ("words" | "unigram" | "wordpiece", "byte" | "char") => Unit::Piece,
            ("bpe" | "chars", _) => return Err(invalid("unit", unit, "'byte' or 'char' ('char' for kind='chars')")?),
            _ => return Err(invalid("kind", kind, "'bpe', 'unigram', 'wordpiece', 'chars' or 'words'")?),
        };
        let merge_rule = match merge_rule {
            "pair" => MergeRule::Pair,
            "bytes" => MergeRule::Bytes,
            _ => return Err(invalid("merge_rule", merge_rule, "'pair' or 'bytes'")?),
        };
        let (merge_numbers, _) = merges.as_slice()?.as_chunks::<3>();
        let tables =
            Tables { blob: blob.as_bytes(), ends: ends.as_slice()?, ids: ids.as_slice()?, merges: merge_numbers };
        let size = tables.blob.len() + merge_numbers.len();
        call(py, size, move |_| CoreVocab::with_prefix(unit, merge_rule, whole_piece, tables, prefix.as_bytes()))
            .map(|vocab| Self(Arc::new(vocab)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn token<'py>(&self, py: Python<'py>, id: u32) -> Option<Bound<'py, PyBytes>> {
        self.0.token(id).map(|token| PyBytes::new(py, token))
    }

    fn id(&self, token: &[u8]) -> Option<u32> {
        self.0.id(token)
    }

    fn recover_merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let merges = call(py, self.0.len() * 8, |_| Ok(recover_merges(&self.0)))?;
        let count = merges.len();
        merges.into_flattened().into_pyarray(py).reshape([count, 3])
    }
}

/// The rows of the pattern table: name, regexes, source.
#[pyfunction]
pub fn patterns() -> Vec<(&'static str, Vec<&'static str>, &'static str)> {
    PATTERNS.iter().map(|row| (row.name, row.regexes.to_vec(), row.source)).collect()
}
