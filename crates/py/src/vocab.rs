//! `Vocab`: the checked tables of a model; and the pattern table.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toksmith_core::kinds::unigram::Unigram;
use toksmith_core::kinds::wordpiece::WordPiece;
use toksmith_core::kinds::{Kernel, PieceEncoder};
use toksmith_core::merge::recover::recover_merges;
use toksmith_core::split::pattern::{PATTERNS, Pattern};
use toksmith_core::threads::parallel::Stop;
use toksmith_core::vocab::{MergeRule, Tables, Unit, Vocab as CoreVocab};
use toksmith_guard::guarded;

use crate::call::{call, table_weight};
use crate::errors;
use crate::guard::Arg;
use crate::memory::Memory;
use crate::text::type_error;

/// The data that a kind without merges needs besides its tokens.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct KindOptions<'py> {
    unknown: Option<Bound<'py, PyAny>>,
    prefix: String,
    longest: Option<Bound<'py, PyAny>>,
    scores: Option<PyReadonlyArray1<'py, f64>>,
    single: bool,
    byte_fallback: bool,
}

impl KindOptions<'_> {
    /// The kernel of a kind that needs more than its tokens.
    fn kernel(&self, vocab: &CoreVocab, kind: &str) -> PyResult<toksmith_core::Result<Option<Kernel>>> {
        let scores = self.scores.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        let unknown = self.unknown.as_ref().map(|id| number(id, "unknown_id", "an id")).transpose()?;
        Ok(match (kind, unknown) {
            ("wordpiece", unknown) => {
                let most = "a number of characters, at least 0 and below 2**64";
                let longest =
                    self.longest.as_ref().map(|most_chars| number(most_chars, "max_piece_chars", most)).transpose()?;
                let pieces = WordPiece::new(vocab, &self.prefix, longest, unknown);
                Ok(Some(Kernel::WordPiece(pieces)))
            }
            ("unigram", unknown) => {
                let scores = scores.unwrap_or_default();
                let kernel = Unigram::of_pieces(vocab, scores, self.single, self.byte_fallback, unknown);
                kernel.map(|unigram| Some(Kernel::Unigram(Box::new(unigram))))
            }
            ("words", Some(unknown)) => Ok(Some(Kernel::Words(Some(unknown)))),
            ("chars", Some(unknown)) => Ok(Some(Kernel::Merge(Some(unknown)))),
            _ => Ok(None),
        })
    }
}

/// A number of a model; one that does not fit is a broken invariant.
fn number<'a, 'py, T: FromPyObject<'a, 'py, Error = PyErr>>(
    value: &'a Bound<'py, PyAny>,
    field: &str,
    expected: &str,
) -> PyResult<T> {
    value.extract().map_err(|problem: PyErr| {
        let py = value.py();
        if problem.is_instance_of::<PyTypeError>(py) {
            return type_error(value, field, "an int");
        }
        let invariant = format!("{field} must be {expected}");
        errors::new_exception(py, "ModelError", (invariant,)).unwrap_or_else(|other| other)
    })
}

/// The immutable vocabulary of a model, with the encoder of its pieces.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Vocab(pub Arc<PieceEncoder>);

#[guarded]
#[pymethods]
impl Vocab {
    #[new]
    #[pyo3(signature = (kind, unit, blob, ends, ids, merges, merge_rule, whole_piece, prefix="", cover=None))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)]
    fn new(
        py: Python<'_>,
        kind: &str,
        unit: &str,
        blob: &Bound<'_, PyBytes>,
        ends: &Bound<'_, Memory>,
        ids: &Bound<'_, Memory>,
        merges: &Bound<'_, Memory>,
        merge_rule: &str,
        whole_piece: bool,
        prefix: &str,
        cover: Option<Arg<KindOptions<'_>>>,
    ) -> PyResult<Self> {
        let invalid =
            |name: &str, value: &str, allowed: &str| errors::new_exception(py, "InvalidOption", (name, value, allowed));
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
        let (merge_numbers, _) = merges.get().as_slice()?.as_chunks::<3>();
        let (ends, ids) = (ends.get().as_slice()?, ids.get().as_slice()?);
        let tables = Tables { blob: blob.as_bytes(), ends, ids, merges: merge_numbers };
        let size = table_weight(tables.blob.len() + merge_numbers.len());
        let vocab =
            call(py, size, move |_| CoreVocab::with_prefix(unit, merge_rule, whole_piece, tables, prefix.as_bytes()))?;
        let vocab = Arc::new(vocab);
        let kernel = match cover {
            Some(Arg(cover)) => cover.kernel(&vocab, kind)?.map_err(|error| errors::to_py(py, error))?,
            None => None,
        };
        // Building the tables takes time.
        let build = move |_: &Stop| {
            Ok(match kernel {
                Some(kernel) => PieceEncoder::new(vocab, kernel),
                None => PieceEncoder::plain(vocab),
            })
        };
        Ok(Self(Arc::new(call(py, size, build)?)))
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.0.vocab().len())
    }

    fn token<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.0.vocab().token(id).map(|token| PyBytes::new(py, token)))
    }

    fn id(&self, token: &[u8]) -> PyResult<Option<u32>> {
        Ok(self.0.vocab().id(token))
    }

    fn recover_merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let merges = call(py, self.0.vocab().len() * 8, |_| Ok(recover_merges(self.0.vocab())))?;
        let count = merges.len();
        merges.into_flattened().into_pyarray(py).reshape([count, 3])
    }
}

type HardTexts = Vec<(&'static str, Vec<&'static str>)>;
type Row = (&'static str, &'static [&'static str], &'static str, HardTexts);

/// The rows of the pattern table: name, regexes, source, hard texts.
#[guarded]
#[pyfunction]
pub fn patterns() -> PyResult<Vec<Row>> {
    let hard_texts = |row: &Pattern| row.hard_texts.iter().map(|&(why, pieces)| (why, pieces.to_vec())).collect();
    Ok(PATTERNS.iter().map(|row| (row.name, row.regexes, row.source, hard_texts(row))).collect())
}
