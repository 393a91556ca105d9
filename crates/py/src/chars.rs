//! `Chars`: the options of a vocabulary of characters, and the shown texts of its tokens.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toksmith_core::kinds::sentencepiece::normalize::{AddedSpace, Normalizer};
use toksmith_core::kinds::sentencepiece::shown_texts::{ShownTexts, Strip};
use toksmith_core::kinds::sentencepiece::{CharEngineOptions, CharRule};
use toksmith_core::split::special::AddedToken;
use toksmith_core::steps::charsmap::Charsmap;
use toksmith_core::vocab::Vocab;

use crate::errors;

/// The options of an engine, in Python's types until the engine is made.
#[derive(FromPyObject)]
pub struct Chars<'py> {
    #[pyo3(item)]
    scores: Option<PyReadonlyArray1<'py, f64>>,
    #[pyo3(item)]
    kind: String,
    #[pyo3(item)]
    unused: Vec<u32>,
    #[pyo3(item)]
    byte_fallback: bool,
    #[pyo3(item)]
    unknown: Option<u32>,
    #[pyo3(item)]
    pub frozen: Vec<(String, u32)>,
    #[pyo3(item)]
    normalizer: NormalizerOptions<'py>,
    #[pyo3(item)]
    shown: Option<(String, String)>,
    #[pyo3(item)]
    denormalizer: Option<NormalizerOptions<'py>>,
}

/// The options of a normalizer.
#[derive(FromPyObject)]
struct NormalizerOptions<'py> {
    #[pyo3(item)]
    charsmap: Option<Bound<'py, PyBytes>>,
    #[pyo3(item)]
    dummy: String,
    #[pyo3(item)]
    remove_extra: bool,
    #[pyo3(item)]
    escape: bool,
}

/// The value with this name.
fn named<T>(py: Python<'_>, option: &str, name: &str, from_name: fn(&str) -> Option<T>, allowed: &str) -> PyResult<T> {
    match from_name(name) {
        Some(value) => Ok(value),
        None => Err(errors::new_exception(py, "InvalidOption", (option, name, allowed))?),
    }
}

impl NormalizerOptions<'_> {
    fn normalizer(&self, py: Python<'_>) -> PyResult<Normalizer> {
        let charsmap = self.charsmap.as_ref().map(|blob| Charsmap::new(blob.as_bytes())).transpose();
        let allowed = "'nowhere', 'before' or 'after'";
        let dummy = named(py, "dummy", &self.dummy, AddedSpace::from_name, allowed)?;
        let (remove_extra, escape) = (self.remove_extra, self.escape);
        let normalizer = charsmap.map(|charsmap| Normalizer { charsmap, dummy, remove_extra, escape });
        normalizer.map_err(|error| errors::to_py(py, error))
    }
}

impl Chars<'_> {
    pub fn engine(&self, py: Python<'_>, vocab: &Vocab) -> PyResult<toksmith_core::kinds::sentencepiece::CharEngine> {
        let normalizer = self.normalizer.normalizer(py)?;
        let scores = self.scores.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        let way = match &*self.kind {
            "unigram" => CharRule::Unigram,
            "words" => CharRule::Words,
            _ => CharRule::Merge,
        };
        let (byte_fallback, unknown, unused) = (self.byte_fallback, self.unknown, &self.unused[..]);
        let frozen = self.frozen.clone();
        let options = CharEngineOptions { scores, way, unused, byte_fallback, unknown, frozen, normalizer };
        let engine = toksmith_core::kinds::sentencepiece::CharEngine::new(vocab, options);
        engine.map_err(|error| errors::to_py(py, error))
    }

    /// The shown texts of the tokens, if they differ from the bytes.
    pub fn shown(&self, py: Python<'_>, vocab: &Vocab, added: &[AddedToken]) -> PyResult<Option<ShownTexts>> {
        let Some((strip, surface)) = &self.shown else { return Ok(None) };
        let strip = named(py, "strip", strip, Strip::from_name, "'nothing', 'once' or 'each'")?;
        let unknown = self.unknown.map(|id| (id, surface.as_str()));
        let denormalizer = self.denormalizer.as_ref().map(|options| options.normalizer(py)).transpose()?;
        Ok(Some(ShownTexts::new(vocab, added, self.byte_fallback, unknown, strip).with_denormalizer(denormalizer)))
    }
}
