//! `Engine`: encoding and decoding with one model.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use toksmith_core::decode::Decoder;
use toksmith_core::encode::Encoder;
use toksmith_core::encode::long_text::{self, LongText, PART};
use toksmith_core::encode::session::Session;
use toksmith_core::encode::stages::Stages as CoreStages;
use toksmith_core::split::special::{AddedToken, AddedTokenFlags, AddedTokens, Allow};
use toksmith_core::split::text_cuts::TextCuts;
use toksmith_core::split::text_source::TextSource;
use toksmith_core::split::{Splitter, Text as CoreText};
use toksmith_core::switches::slow;
use toksmith_core::threads::parallel::{Jobs, Stop};
use toksmith_guard::guarded;

use crate::batch::{BufferPool, JobPlan, JoinedIds, ObjectSink, Parts, shrink_ids};
use crate::batch_texts::{BatchText, ThreadText, batch_texts};
use crate::call::{call, table_weight, weight};
use crate::chars::Chars;
use crate::column::TextBlock;
use crate::guard::Arg;
use crate::ids::IdSource;
use crate::stages::Stages;
use crate::tables::{Buffers, buffers};
use crate::text::{Errors, Text, check_signals_at, items, type_error};
use crate::vocab::Vocab;
use crate::{errors, ids, objects};

/// A text of this many bytes uses all processors.
const LONG: usize = 1 << 20;
/// For a text of this many bytes, the system maps the memory of the ids separately.
const MUCH: usize = 1 << 17;

/// The encoder and decoder of a model.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Engine {
    encoder: Encoder,
    cuts: Option<TextCuts>,
    decoder: Decoder,
    slow: bool,
}

/// The most ids whose memory is kept for the next call.
const MOST_ROOM: usize = 1 << 14;

thread_local! {
    /// The memory for the ids of a call that returns a list.
    static ROOM: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
}

type Ragged<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u64>>);

#[guarded]
#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (vocab, patterns, added, chars=None, stages=None))]
    #[allow(clippy::needless_pass_by_value)]
    fn new(
        py: Python<'_>,
        vocab: &Bound<'_, Vocab>,
        patterns: Arg<Vec<String>>,
        added: Arg<Vec<(String, u32, bool)>>,
        chars: Option<Arg<Chars<'_>>>,
        stages: Option<Arg<Stages>>,
    ) -> PyResult<Self> {
        let (Arg(patterns), Arg(added)) = (patterns, added);
        let (chars, stages) = (chars.map(|chars| chars.0), stages.map(|stages| stages.0));
        let pieces = Arc::clone(&vocab.get().0);
        let vocab = Arc::clone(pieces.vocab());
        let added = added.into_iter().map(|(content, id, special)| {
            let flags = stages.as_ref().map(|stages| stages.flags_of(&content)).unwrap_or_default();
            AddedToken { content, id, special, flags }
        });
        let added: Vec<AddedToken> = added.collect();
        let engine = chars.as_ref().map(|chars| chars.engine(py, &vocab)).transpose()?;
        let shown_texts = chars.as_ref().map(|chars| chars.shown(py, &vocab, &added)).transpose()?.flatten();
        let frozen = chars.map(|chars| chars.frozen).unwrap_or_default();
        call(py, table_weight(vocab.len() * 8), move |_| {
            let plain = added.iter().all(|token| token.flags == AddedTokenFlags::default());
            let (stages, splitter, chain) = match stages {
                Some(stages) => stages.parts()?,
                None => (CoreStages::default(), Splitter::new(&patterns)?, None),
            };
            let spelt = stages.shown_tokens(&added)?;
            let decoder = Decoder::new(vocab, &spelt).with_shown(shown_texts).with_chain(chain);
            let frozen: HashSet<&str> = frozen.iter().map(|(content, _)| &**content).collect();
            let cut = added.into_iter().filter(|token| !frozen.contains(&*token.content));
            let added = AddedTokens::new(cut.collect())?;
            // A normalizer can change the characters that the rule for cuts looks at.
            let encoder = Encoder::new(pieces, added, splitter).with_chars(engine).with_stages(stages)?;
            let cuts = TextCuts::for_patterns(&patterns)
                .filter(|_| plain && encoder.chars().is_none() && !encoder.is_staged());
            Ok(Self { encoder, cuts, decoder, slow: slow() })
        })
    }

    pub fn encode<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        special: &Bound<'py, PyAny>,
        errors: &Bound<'py, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let ids = self.encode_one(text, special, errors, threads, ROOM.take())?;
        let list = self.list(text.py(), &ids);
        keep_memory(ids);
        list
    }

    pub fn encode_array<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        special: &Bound<'py, PyAny>,
        errors: &Bound<'py, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let ids = self.encode_one(text, special, errors, threads, ROOM.take())?;
        if ids.capacity() > MOST_ROOM {
            return Ok(shrink_ids(ids).into_pyarray(text.py()));
        }
        let array = PyArray1::from_slice(text.py(), &ids);
        keep_memory(ids);
        Ok(array)
    }

    fn encode_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        special: &Bound<'py, PyAny>,
        errors: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, allow) = (batch.py(), self.allow(special)?);
        let texts = batch_texts(batch, Errors::from_name(errors)?)?;
        let spare = BufferPool::new();
        let mut lists = ObjectSink::new(|py, ids: &[u32]| self.list(py, ids).map(Bound::into_any), &spare);
        self.encode_sources(py, &thread_texts(&texts)?, &allow, threads, &spare, |parts| lists.take(parts))
            .map_err(|problem| errors::with_batch_offset(py, &problem, &texts, BatchText::offset))?;
        PyList::new(py, lists.finish(py)?)
    }

    fn encode_ragged<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        special: &Bound<'py, PyAny>,
        errors: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Ragged<'py>> {
        let (py, allow) = (batch.py(), self.allow(special)?);
        let texts = batch_texts(batch, Errors::from_name(errors)?)?;
        let (mut joined, spare) = (JoinedIds::default(), BufferPool::new());
        self.encode_sources(py, &thread_texts(&texts)?, &allow, threads, &spare, joined.sink(&spare))
            .map_err(|problem| errors::with_batch_offset(py, &problem, &texts, BatchText::offset))?;
        Ok(arrays(py, joined))
    }

    /// The ids of a block's texts, with their ends. Offsets in errors are bytes.
    fn encode_block<'py>(
        &self,
        block: &Bound<'py, TextBlock>,
        special: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Ragged<'py>> {
        let py = block.py();
        let allow = self.allow(special)?;
        let each: Vec<_> = block.get().as_texts(py).into_iter().map(ThreadText::Written).collect();
        let (mut joined, spare) = (JoinedIds::default(), BufferPool::new());
        self.encode_sources(py, &each, &allow, threads, &spare, joined.sink(&spare))?;
        Ok(arrays(py, joined))
    }

    fn count(&self, text: &Bound<'_, PyAny>, special: &Bound<'_, PyAny>, errors: &Bound<'_, PyAny>) -> PyResult<u64> {
        let py = text.py();
        let allow = self.allow(special)?;
        let text = Text::new(text, Errors::from_name(errors)?, None)?;
        let threads = threads_for(py, text.as_text()?.as_bytes().len(), None)?;
        self.call_on(py, &text, |encoder, text, stop| {
            let cuts = self.cuts.as_ref();
            if threads > 1 && cuts.is_some() {
                return long_text::count(&LongText { encoder, cuts, allow: &allow, part: PART }, text, threads, stop);
            }
            encoder.with_session(|session| encoder.count(text, &allow, stop, session, &mut Vec::new()))
        })
    }

    fn count_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        special: &Bound<'py, PyAny>,
        errors: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let (py, allow) = (batch.py(), self.allow(special)?);
        let texts = batch_texts(batch, Errors::from_name(errors)?)?;
        let mut counts: Vec<u64> = Vec::new();
        let new = |_: &JobPlan, _| (Vec::new(), Vec::new());
        let work = |text: CoreText<'_>, stop: &Stop, session: &mut Session, to: &mut (Vec<u64>, Vec<u32>)| {
            to.0.push(self.encoder.count(text, &allow, stop, session, &mut to.1)?);
            Ok(())
        };
        let sink = |parts: Vec<(Vec<u64>, _)>| {
            counts.extend(parts.into_iter().flat_map(|(counts, _)| counts));
            Ok(())
        };
        self.map_sources(py, &thread_texts(&texts)?, threads, new, work, sink)
            .map_err(|problem| errors::with_batch_offset(py, &problem, &texts, BatchText::offset))?;
        Ok(counts.into_pyarray(py))
    }

    fn split<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let py = text.py();
        let text = Text::new(text, Errors::Replace, None)?;
        let pieces = self.call_on(py, &text, Encoder::pieces)?;
        Ok(pieces.iter().map(|piece| PyBytes::new(py, piece)).collect())
    }

    /// The bytes of tables, of tables made since construction, the number of idle sessions, and their bytes.
    fn memory(&self) -> PyResult<(usize, usize, usize, usize)> {
        let (tables, since) = self.encoder.table_bytes();
        let (sessions, bytes) = self.encoder.sessions();
        let (decoder, slots) = self.decoder.bytes();
        Ok((tables + decoder, since + slots, sessions, bytes))
    }

    fn release(&self) -> PyResult<()> {
        self.encoder.release();
        drop(ROOM.take());
        Ok(())
    }

    fn token<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.decoder.token(id).map(|token| PyBytes::new(py, token)))
    }

    fn decode<'py>(&self, ids: &Bound<'py, PyAny>, errors: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        self.text(ids.py(), &self.decode_one(ids)?, &handler_name(errors)?)
    }

    fn decode_bytes<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(ids.py(), &self.decode_one(ids)?))
    }

    /// The bytes of more ids of a stream, and whether the stream has shown no text yet.
    fn decode_more<'py>(&self, ids: &Bound<'py, PyAny>, fresh: bool) -> PyResult<(Bound<'py, PyBytes>, bool)> {
        let mut numbers = Vec::new();
        ids::extend(&mut numbers, ids, self.origin(None))?;
        let (bytes, fresh) = call(ids.py(), weight(numbers.len() * 4, self.decoder.uses_regex()), |stop| {
            let (mut bytes, mut fresh) = (Vec::new(), fresh);
            self.decoder.decode_more(&numbers, &mut fresh, stop, &mut bytes)?;
            Ok((bytes, fresh))
        })?;
        Ok((PyBytes::new(ids.py(), &bytes), fresh))
    }

    /// The vocabulary's tokens by their decoded bytes; `fresh` is whether they begin a text.
    fn sorted_tokens<'py>(&self, py: Python<'py>, fresh: bool) -> PyResult<Buffers<'py>> {
        let size = weight(self.decoder.size() * 4, self.decoder.uses_regex());
        Ok(buffers(py, call(py, size, |stop| self.decoder.sorted_tokens(fresh, stop))?))
    }

    fn decode_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        errors: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, errors) = (batch.py(), handler_name(errors)?);
        let mut sequences = Parts::default();
        for (index, ids) in items(batch, "batch", "a list of ids")?.enumerate() {
            ids::extend(&mut sequences.all, &ids?, self.origin(Some(index)))?;
            sequences.end();
            check_signals_at(py, index)?;
        }
        let each: Vec<&[u32]> = sequences.iter().collect();
        let load = JobPlan::new(each.iter().map(|ids| ids.len() * 4), threads, self.decoder.uses_regex());
        let spare = BufferPool::new();
        let mut texts = ObjectSink::new(|py, bytes: &[u8]| self.text(py, bytes, &errors).map(Bound::into_any), &spare);
        let work = |jobs: &mut Jobs<'_, usize, Parts<u8>>, stop: &Stop| {
            jobs.for_each(|job| {
                let mut parts = spare.take(&load, job, load.size(job) * 2);
                for place in load.texts(job) {
                    stop.check()?;
                    self.decoder
                        .decode_long(each[place], stop, &mut parts.all)
                        .map_err(|error| error.in_batch(place))?;
                    parts.end();
                }
                Ok(parts)
            });
        };
        load.run(py, work, |parts| texts.take(parts))?;
        PyList::new(py, texts.finish(py)?)
    }
}

impl Engine {
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The encoder, and the cuts of long texts.
    pub fn for_long_texts(&self) -> (&Encoder, Option<&TextCuts>) {
        (&self.encoder, self.cuts.as_ref())
    }

    /// Runs `work` on a text; an error's offset is in the unit of the caller's text.
    pub fn call_on<T: Send>(
        &self,
        py: Python<'_>,
        text: &Text<'_>,
        work: impl FnOnce(&Encoder, CoreText<'_>, &Stop) -> toksmith_core::Result<T> + Send,
    ) -> PyResult<T> {
        let core_text = text.as_text()?;
        let size = weight(core_text.as_bytes().len(), self.encoder.uses_regex());
        call(py, size, |stop| work(&self.encoder, core_text, stop))
            .map_err(|problem| errors::with_offset(py, &problem, |offset, _| text.offset(offset)))
    }

    /// Appends the ids of a text to `ids`.
    fn encode_one(
        &self,
        text: &Bound<'_, PyAny>,
        special: &Bound<'_, PyAny>,
        errors: &Bound<'_, PyAny>,
        threads: Option<usize>,
        mut ids: Vec<u32>,
    ) -> PyResult<Vec<u32>> {
        let py = text.py();
        let allow = self.allow(special)?;
        let text = Text::new(text, Errors::from_name(errors)?, None)?;
        let size = text.as_text()?.as_bytes().len();
        let threads = threads_for(py, size, threads)?;
        self.call_on(py, &text, |encoder, text, stop| {
            let cuts = self.cuts.as_ref();
            if threads > 1 && cuts.is_some() {
                return long_text::encode(&LongText { encoder, cuts, allow: &allow, part: PART }, text, threads, stop);
            }
            ids.clear();
            ids.reserve(room_for(size));
            encoder.with_session(|session| encoder.encode(text, &allow, stop, session, &mut ids))?;
            Ok(ids)
        })
    }

    /// Encodes each text; `sink` gets the ids of several texts at a time, in order. Offsets in errors are bytes.
    fn encode_sources(
        &self,
        py: Python<'_>,
        texts: &[ThreadText<'_>],
        allow: &Allow,
        threads: usize,
        spare: &BufferPool<u32>,
        sink: impl FnMut(Vec<Parts<u32>>) -> PyResult<()> + Send,
    ) -> PyResult<()> {
        let new = |load: &JobPlan, job| spare.take(load, job, load.size(job) / 3);
        let work = |text: CoreText<'_>, stop: &Stop, session: &mut Session, to: &mut Parts<u32>| {
            self.encoder.encode(text, allow, stop, session, &mut to.all)?;
            to.end();
            Ok(())
        };
        self.map_sources(py, texts, threads, new, work, sink)
    }

    /// Runs `work` for each text in jobs of several texts, each of which adds to a value from `new`; `sink` gets the
    /// results in order. Offsets in errors are bytes.
    fn map_sources<T: Send>(
        &self,
        py: Python<'_>,
        texts: &[ThreadText<'_>],
        threads: usize,
        new: impl Fn(&JobPlan, usize) -> T + Sync,
        work: impl Fn(CoreText<'_>, &Stop, &mut Session, &mut T) -> toksmith_core::Result<()> + Sync,
        sink: impl FnMut(Vec<T>) -> PyResult<()> + Send,
    ) -> PyResult<()> {
        let load = JobPlan::new(texts.iter().map(ThreadText::size), threads, self.encoder.uses_regex());
        let run = |jobs: &mut Jobs<'_, usize, T>, stop: &Stop| {
            let mut room = Vec::new();
            self.encoder.with_session(|session| {
                jobs.for_each(|job| {
                    let mut result = new(&load, job);
                    for place in load.texts(job) {
                        stop.check()?;
                        work(texts[place].read(&mut room), stop, session, &mut result)
                            .map_err(|error| error.in_batch(place))?;
                    }
                    Ok(result)
                });
            });
        };
        load.run(py, run, sink)
    }

    fn decode_one(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let mut numbers = Vec::new();
        ids::extend(&mut numbers, ids, self.origin(None))?;
        call(ids.py(), weight(numbers.len() * 4, self.decoder.uses_regex()), |stop| {
            let mut bytes = Vec::new();
            self.decoder.decode_long(&numbers, stop, &mut bytes)?;
            Ok(bytes)
        })
    }

    fn origin(&self, index: Option<usize>) -> IdSource {
        IdSource { vocab_size: self.decoder.size(), index, slow: self.slow }
    }

    fn list<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
        if self.slow { objects::list_slowly(py, ids) } else { objects::list(py, ids) }
    }

    fn text<'py>(&self, py: Python<'py>, bytes: &[u8], errors: &CStr) -> PyResult<Bound<'py, PyString>> {
        if self.slow { objects::text_slowly(py, bytes, errors) } else { objects::text(py, bytes, errors) }
    }

    /// The meaning of a `special` argument.
    pub fn allow(&self, special: &Bound<'_, PyAny>) -> PyResult<Allow> {
        let py = special.py();
        if special.is(intern!(py, "raise")) {
            return Ok(Allow::Raise);
        }
        if let Ok(name) = special.cast::<PyString>() {
            return match name.to_str() {
                Ok("raise") => Ok(Allow::Raise),
                Ok("allow") => Ok(Allow::All),
                Ok("text") => Ok(Allow::Text),
                _ => {
                    let allowed = "'raise', 'allow', 'text' or a collection of special tokens";
                    Err(errors::new_exception(py, "InvalidOption", ("special", name, allowed))?)
                }
            };
        }
        let mut places = Vec::new();
        for content in items(special, "special", "a str or a collection of str")? {
            let content = content?;
            let Ok(text) = content.cast::<PyString>() else {
                return Err(type_error(&content, "special", "a collection of str"));
            };
            let Some(place) = text.to_str().ok().and_then(|text| self.encoder.added().place(text)) else {
                return Err(errors::new_exception(py, "UnknownName", ("special token", content, ()))?);
            };
            places.push(place);
        }
        places.sort_unstable();
        Ok(Allow::Some(places))
    }
}

/// Keeps the memory of ids for the next call.
fn keep_memory(ids: Vec<u32>) {
    if ids.capacity() <= MOST_ROOM {
        ROOM.set(ids);
    }
}

/// Room for the ids of a text of `size` bytes. For a long text it is more than most need: untouched pages take no
/// memory, and ids that must move take new memory.
fn room_for(size: usize) -> usize {
    if size < MUCH { size / 4 } else { size / 2 }
}

/// The threads for a text of `size` bytes: the requested number; else one, or all processors for a long text.
fn threads_for(py: Python<'_>, size: usize, threads: Option<usize>) -> PyResult<usize> {
    match threads {
        Some(threads) => Ok(threads),
        None if size < LONG => Ok(1),
        None => py.import("toksmith._base.threads")?.getattr("thread_count")?.call1((py.None(),))?.extract(),
    }
}

fn handler_name(errors: &Bound<'_, PyAny>) -> PyResult<Cow<'static, CStr>> {
    let Ok(errors) = errors.cast::<PyString>() else {
        return Err(type_error(errors, "errors", "str"));
    };
    match errors.to_str() {
        Ok("replace") => Ok(Cow::Borrowed(c"replace")),
        Ok("strict") => Ok(Cow::Borrowed(c"strict")),
        Ok(other) if other.contains('\0') => {
            Err(errors::new_exception(errors.py(), "InvalidOption", ("errors", errors, "a name without a nul byte"))?)
        }
        Ok(other) if errors.py().import("codecs")?.call_method1("lookup_error", (errors,)).is_ok() => {
            Ok(Cow::Owned(CString::new(other)?))
        }
        _ => Err(errors::new_exception(errors.py(), "UnknownName", ("error handler", errors, ("replace", "strict")))?),
    }
}

fn thread_texts<'t>(texts: &'t [BatchText<'_>]) -> PyResult<Vec<ThreadText<'t>>> {
    texts.iter().map(BatchText::source).collect()
}

fn arrays(py: Python<'_>, joined: JoinedIds) -> Ragged<'_> {
    (shrink_ids(joined.ids).into_pyarray(py), joined.ends.into_pyarray(py))
}
