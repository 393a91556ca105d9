//! The WebAssembly module: `js/toksmith.js` writes the arguments of a call into a buffer, makes the call, and reads the
//! answer.
//!
//! An instance of the module has one tokenizer. A call returns 1, or 0 for an error, whose name and message are then the
//! answer. Everything here but the names of functions is safe code: memory is lent to JavaScript as numbers.

mod calls;
mod host;
mod merges;

use std::cell::RefCell;
use std::ops::ControlFlow;

use toksmith_core::Error;

use crate::calls::{Answer, Instance};

thread_local! {
    static INSTANCE: RefCell<Instance> = RefCell::default();
}

/// Runs a call, and keeps its answer.
fn answer(call: impl FnOnce(&mut Instance) -> toksmith_core::Result<Answer>) -> u32 {
    INSTANCE.with_borrow_mut(|instance| {
        let result = call(instance);
        let is_answer = result.is_ok();
        instance.answer = result.unwrap_or_else(|error| Answer::Bytes(format!("{}\n{error}", name(&error)).into()));
        u32::from(is_answer)
    })
}

/// The name of an error, which is that of its exception in Python.
fn name(error: &Error) -> &'static str {
    match error {
        Error::Model { .. } => "ModelError",
        Error::Format { .. } => "FormatError",
        // JavaScript then takes the module with an engine.
        Error::Option { argument: "pattern", .. } if cfg!(not(feature = "regex")) => "NoRegexEngine",
        Error::Option { .. } => "InvalidOption",
        Error::Pattern { .. } => "PatternError",
        Error::TooLong { .. } => "TextTooLong",
        Error::SpecialTokenInText { .. } => "SpecialTokenInText",
        Error::UnknownId { .. } => "UnknownId",
        Error::NotInVocabulary { .. } => "NotInVocabulary",
        Error::Corpus { .. } => "CorpusError",
        Error::Interrupted => "Interrupted",
        _ => "Error",
    }
}

/// Makes a panic tell JavaScript its message.
fn start() {
    std::panic::set_hook(Box::new(|panic| host::fail(&panic.to_string())));
}

/// The functions that JavaScript calls. Texts and ids are in the buffer of [`input`]; the lengths are in bytes.
#[allow(unsafe_code)]
mod exports {
    use super::{ControlFlow, INSTANCE, Instance, answer, host, start};

    /// The address of a buffer for `bytes` bytes, which holds the arguments of the next call.
    #[unsafe(no_mangle)]
    pub extern "C" fn input(bytes: usize) -> *const u32 {
        INSTANCE.with_borrow_mut(|instance| instance.lend(bytes))
    }

    /// The address of the answer.
    #[unsafe(no_mangle)]
    pub extern "C" fn answer_at() -> *const u8 {
        INSTANCE.with_borrow(|instance| instance.answer.bytes().as_ptr())
    }

    /// The length of the answer.
    #[unsafe(no_mangle)]
    pub extern "C" fn answer_size() -> usize {
        INSTANCE.with_borrow(|instance| instance.answer.bytes().len())
    }

    /// Loads a file, which JSON options follow. The answer is the JSON of its facts.
    #[unsafe(no_mangle)]
    pub extern "C" fn load(file: usize, options: usize) -> u32 {
        start();
        answer(|instance| instance.load(file, options))
    }

    /// The native file of a draft.
    #[unsafe(no_mangle)]
    pub extern "C" fn finish_draft(draft: usize) -> u32 {
        start();
        answer(|instance| instance.finish_draft(draft))
    }

    /// The JSON of the names of the patterns.
    #[unsafe(no_mangle)]
    pub extern "C" fn patterns() -> u32 {
        answer(|_| Ok(Instance::patterns()))
    }

    /// Trains on texts, which JSON options follow. The answer is the file of the tokenizer.
    #[unsafe(no_mangle)]
    pub extern "C" fn train(texts: usize, options: usize) -> u32 {
        start();
        let mut told = 0;
        answer(|instance| {
            instance.train(texts, options, &mut |trained| {
                let new = told.min(trained.merges.len())..trained.merges.len();
                told = new.end;
                let rows = trained.merges[new.clone()].iter().zip(&trained.counts[new]);
                let rows: Vec<f64> = rows
                    .flat_map(|(&(left, right, id), &count)| {
                        // The texts are in memory, whose addresses have 32 bits.
                        let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
                        [left, right, id].map(f64::from).into_iter().chain([count])
                    })
                    .collect();
                if host::report(&rows) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
        })
    }

    /// The file of the tokenizer, if it was not loaded from such a file.
    #[unsafe(no_mangle)]
    pub extern "C" fn save() -> u32 {
        answer(|instance| instance.save())
    }

    /// The ids of a text.
    #[unsafe(no_mangle)]
    pub extern "C" fn encode(text: usize, special: u32) -> u32 {
        answer(|instance| instance.encode(text, special))
    }

    /// The ids of a text, their starts and their ends, in units of UTF-16, or with the flag 4 of `special` in bytes.
    #[unsafe(no_mangle)]
    pub extern "C" fn encode_with_offsets(text: usize, special: u32) -> u32 {
        answer(|instance| instance.encode_with_offsets(text, special))
    }

    /// The part of a text whose ids an edit from `start` to `end` can change, its ids, and their ends.
    #[unsafe(no_mangle)]
    pub extern "C" fn encode_around(text: usize, special: u32, start: usize, end: usize) -> u32 {
        answer(|instance| instance.encode_around(text, special, start, end))
    }

    /// The part of a prompt that allows every continuation, and the tokens that continue it.
    #[unsafe(no_mangle)]
    pub extern "C" fn heal(text: usize, special: u32) -> u32 {
        answer(|instance| instance.heal(text, special))
    }

    /// The form of a text that becomes tokens.
    #[unsafe(no_mangle)]
    pub extern "C" fn normalize(text: usize) -> u32 {
        answer(|instance| instance.normalize(text))
    }

    /// The end of each piece of a text, in bytes.
    #[unsafe(no_mangle)]
    pub extern "C" fn split(text: usize) -> u32 {
        answer(|instance| instance.split(text))
    }

    /// The merges of the vocabulary.
    #[unsafe(no_mangle)]
    pub extern "C" fn all_merges() -> u32 {
        answer(|instance| instance.all_merges())
    }

    /// The number of ids of a text.
    #[unsafe(no_mangle)]
    pub extern "C" fn count(text: usize, special: u32) -> u32 {
        answer(|instance| instance.count(text, special))
    }

    /// The bytes of ids.
    #[unsafe(no_mangle)]
    pub extern "C" fn decode(ids: usize) -> u32 {
        answer(|instance| instance.decode(ids))
    }

    /// The characters of a stream that ids complete.
    #[unsafe(no_mangle)]
    pub extern "C" fn feed(stream: u32, ids: usize) -> u32 {
        answer(|instance| instance.feed(stream, ids))
    }

    /// The rest of a stream, which ends.
    #[unsafe(no_mangle)]
    pub extern "C" fn finish(stream: u32) -> u32 {
        answer(|instance| instance.finish(stream))
    }

    /// The bytes of one token, without decoder steps.
    #[unsafe(no_mangle)]
    pub extern "C" fn token(id: u32) -> u32 {
        answer(|instance| instance.token(id))
    }

    /// The ids of the token with these bytes: one or none.
    #[unsafe(no_mangle)]
    pub extern "C" fn token_id(token: usize) -> u32 {
        answer(|instance| instance.token_id(token))
    }

    /// The JSON of the merges of a piece.
    #[unsafe(no_mangle)]
    pub extern "C" fn merges(piece: usize) -> u32 {
        answer(|instance| instance.merges(piece))
    }
}
