//! `Engine`: encoding and decoding with one model.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use toksmith_core::decode::Decoder;
use toksmith_core::encode::Encoder;
use toksmith_core::parallel::map;
use toksmith_core::special::{AddedToken, AddedTokens, Allow};
use toksmith_core::split::{Splitter, Text as CoreText};

use crate::call::call;
use crate::text::{Errors, Text, as_texts, texts};
use crate::vocab::Vocab;
use crate::{errors, ids};

/// The encoder and decoder of a model.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Engine {
    encoder: Encoder,
    decoder: Decoder,
}

type Ragged<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u64>>);

#[pymethods]
impl Engine {
    #[new]
    #[allow(clippy::needless_pass_by_value)]
    fn new(
        py: Python<'_>,
        vocab: &Bound<'_, Vocab>,
        patterns: Vec<String>,
        added: Vec<(String, u32, bool)>,
    ) -> PyResult<Self> {
        let vocab = Arc::clone(&vocab.get().0);
        call(py, vocab.len() * 8, move |_| {
            let splitter = Splitter::new(&patterns)?;
            let added = added.into_iter().map(|(content, id, special)| AddedToken { content, id, special });
            let added = AddedTokens::new(added.collect())?;
            let decoder = Decoder::new(&vocab, added.tokens());
            Ok(Self { encoder: Encoder::new(vocab, added, splitter), decoder })
        })
    }

    fn encode<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        special: &Bound<'py, PyAny>,
        errors: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        ids::to_list(text.py(), &self.encode_one(text, special, errors)?)
    }

    fn encode_array<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        special: &Bound<'py, PyAny>,
        errors: &str,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(self.encode_one(text, special, errors)?.into_pyarray(text.py()))
    }

    fn encode_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        special: &Bound<'py, PyAny>,
        errors: &str,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = batch.py();
        let lists = self.encode_many(batch, special, errors, threads)?;
        let lists = lists.iter().map(|ids| ids::to_list(py, ids)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, lists)
    }

    fn encode_ragged<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        special: &Bound<'py, PyAny>,
        errors: &str,
        threads: usize,
    ) -> PyResult<Ragged<'py>> {
        let lists = self.encode_many(batch, special, errors, threads)?;
        let mut end = 0;
        let ends: Vec<u64> = lists
            .iter()
            .map(|ids| {
                end += ids.len() as u64;
                end
            })
            .collect();
        Ok((lists.concat().into_pyarray(batch.py()), ends.into_pyarray(batch.py())))
    }

    fn count_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        special: &Bound<'py, PyAny>,
        errors: &str,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let counts = self.with_batch(batch, special, errors, |encoder, texts, allow, stop| {
            encoder.count_batch(texts, allow, threads, stop)
        })?;
        Ok(counts.into_pyarray(batch.py()))
    }

    fn split<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let py = text.py();
        let text = Text::new(text, Errors::Replace, None)?;
        let text = text.as_text()?;
        let pieces = call(py, text.as_bytes().len(), |_| {
            let mut pieces = Vec::new();
            self.encoder.splitter().split(text, |piece| {
                pieces.push(piece);
                Ok(())
            })?;
            Ok(pieces)
        })?;
        Ok(pieces.into_iter().map(|piece| PyBytes::new(py, piece)).collect())
    }

    fn token<'py>(&self, py: Python<'py>, id: u32) -> Option<Bound<'py, PyBytes>> {
        self.decoder.token(id).map(|token| PyBytes::new(py, token))
    }

    fn decode_bytes<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let ids_in = ids::from_py(ids, self.decoder.size(), None)?;
        let bytes = call(ids.py(), ids_in.len() * 4, |_| {
            let mut bytes = Vec::with_capacity(ids_in.len() * 5);
            self.decoder.decode(&ids_in, &mut bytes)?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(ids.py(), &bytes))
    }

    fn decode_batch<'py>(&self, batch: &Bound<'py, PyAny>, threads: usize) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let size = self.decoder.size();
        let each = batch.try_iter()?.enumerate();
        let lists = each.map(|(index, ids)| ids::from_py(&ids?, size, Some(index))).collect::<PyResult<Vec<_>>>()?;
        let total: usize = lists.iter().map(Vec::len).sum();
        let texts = call(batch.py(), total * 4, |_| {
            map(lists.len(), threads, |items| {
                items.each(|place| {
                    let mut bytes = Vec::new();
                    self.decoder.decode(&lists[place], &mut bytes).map_err(|error| error.in_batch(place))?;
                    Ok(bytes)
                });
            })
        })?;
        Ok(texts.iter().map(|bytes| PyBytes::new(batch.py(), bytes)).collect())
    }
}

impl Engine {
    fn encode_one(&self, text: &Bound<'_, PyAny>, special: &Bound<'_, PyAny>, errors: &str) -> PyResult<Vec<u32>> {
        let py = text.py();
        let allow = self.allow(special)?;
        let text = Text::new(text, Errors::from_name(py, errors)?, None)?;
        let core_text = text.as_text()?;
        let size = core_text.as_bytes().len();
        let result = call(py, size, |stop| {
            let mut ids = Vec::with_capacity(size / 4);
            self.encoder.with_session(|session| self.encoder.encode(core_text, &allow, stop, session, &mut ids))?;
            Ok(ids)
        });
        result.map_err(|problem| errors::with_offset(py, &problem, |offset, _| text.offset(offset)))
    }

    fn encode_many(
        &self,
        batch: &Bound<'_, PyAny>,
        special: &Bound<'_, PyAny>,
        errors: &str,
        threads: usize,
    ) -> PyResult<Vec<Vec<u32>>> {
        self.with_batch(batch, special, errors, |encoder, texts, allow, stop| {
            encoder.encode_batch(texts, allow, threads, stop)
        })
    }

    fn with_batch<T: Send>(
        &self,
        batch: &Bound<'_, PyAny>,
        special: &Bound<'_, PyAny>,
        errors: &str,
        work: impl FnOnce(&Encoder, &[CoreText<'_>], &Allow, &toksmith_core::parallel::Stop) -> toksmith_core::Result<T>
        + Send,
    ) -> PyResult<T> {
        let py = batch.py();
        let allow = self.allow(special)?;
        let texts = texts(batch, Errors::from_name(py, errors)?)?;
        let core_texts = as_texts(&texts)?;
        let size = core_texts.iter().map(|text| text.as_bytes().len() + 64).sum();
        let result = call(py, size, |stop| work(&self.encoder, &core_texts, &allow, stop));
        result.map_err(|problem| {
            errors::with_offset(py, &problem, |offset, index| {
                index.and_then(|index| texts.get(index)).map_or(offset, |text| text.offset(offset))
            })
        })
    }

    fn allow(&self, special: &Bound<'_, PyAny>) -> PyResult<Allow> {
        let py = special.py();
        if let Ok(name) = special.cast::<PyString>() {
            return match name.to_str()? {
                "raise" => Ok(Allow::Raise),
                "allow" => Ok(Allow::All),
                "text" => Ok(Allow::Text),
                other => {
                    let allowed = "'raise', 'allow', 'text' or a collection of special tokens";
                    Err(errors::new(py, "InvalidOption", ("special", other, allowed))?)
                }
            };
        }
        let mut places = Vec::new();
        for content in special.try_iter()? {
            let content = content?.extract::<String>()?;
            let Some(place) = self.encoder.added().place(&content) else {
                return Err(errors::new(py, "UnknownName", ("special token", content, ()))?);
            };
            places.push(place);
        }
        places.sort_unstable();
        Ok(Allow::Some(places))
    }
}
