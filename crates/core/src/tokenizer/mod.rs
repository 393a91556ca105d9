//! The door for Rust programs: a file to a [`Tokenizer`], which encodes, counts and decodes.
//!
//! Reading order: this file; [`native`] reads and writes a file of the native format, with [`whole_text`] for the models
//! of `SentencePiece`; [`trained`] makes one from texts.
//!
//! Left out: many texts, threads, offsets and sampling, which [`crate::encode`] has for the Python package.

pub mod native;
#[cfg(test)]
mod tests;
pub mod trained;
pub mod whole_text;

use std::path::Path;
use std::sync::Arc;

use crate::decode::Decoder;
use crate::encode::Encoder;
use crate::encode::stages::Stages;
use crate::error::{Error, Result};
use crate::kinds::PieceEncoder;
use crate::split::Splitter;
use crate::split::pattern::PATTERNS;
use crate::split::special::{AddedToken, AddedTokenFlags, AddedTokens, Allow};
use crate::steps::decoders;
use crate::table;
use crate::threads::parallel::Stop;
use crate::tokenizer::native::ModelParts;
use crate::vocab::{MergeRule, Tables, Unit, Vocab};

/// What happens to a special token that a text spells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Special {
    /// It is an error: a text from outside cannot contain a control token.
    #[default]
    Raise,
    /// It becomes its id. Only for texts that you trust.
    Allow,
    /// It is ordinary text.
    Text,
}

/// A tokenizer: immutable, and shared by threads.
///
/// ```
/// use toksmith_core::{Special, Tokenizer};
///
/// let tokenizer = Tokenizer::from_file("examples/small.toksmith")?;
/// let ids = tokenizer.encode("the cat sat")?;
/// assert_eq!(tokenizer.decode(&ids)?, "the cat sat");
/// assert_eq!(tokenizer.count("the cat sat")?, ids.len() as u64);
/// assert!(tokenizer.encode("the<|end|>").is_err());
/// assert_eq!(tokenizer.encode_with("<|end|>", Special::Allow)?.len(), 1);
/// # Ok::<(), toksmith_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Tokenizer {
    encoder: Encoder,
    decoder: Decoder,
    /// With decoder steps, the token that changes the text before it most.
    breaker: Option<u32>,
}

impl Tokenizer {
    /// Loads a `.toksmith` file, as `toksmith.save` writes it.
    ///
    /// All that the Python package runs, runs here: byte-pair encodings, unigram models and `WordPiece`, whole words and
    /// characters, with their steps. What it can only hold is refused.
    ///
    /// # Errors
    /// [`Error::Corpus`] if the file cannot be read, and as [`Self::from_bytes`] with the file's name before the line.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let name = path.as_ref().display().to_string();
        let data = std::fs::read(path)
            .map_err(|error| Error::Corpus { path: name.clone(), problem: format!("cannot be read: {error}") })?;
        Self::from_bytes(&data).map_err(|error| match error {
            Error::Format { place, problem } => {
                Error::Format { place: Some(place.map_or(name.clone(), |line| format!("{name}:{line}"))), problem }
            }
            other => other,
        })
    }

    /// The same for the bytes of a `.toksmith` file.
    ///
    /// # Errors
    /// [`Error::Format`] with the line that breaks the format or an invariant; [`Error::Model`] with the
    /// name of a part that this crate cannot run; [`Error::Option`] for a regex that does not compile.
    pub fn from_bytes(data: &[u8]) -> Result<Self> {
        let model = native::read_model(data)?;
        let (stages, splitter) = Stages::of_specs(&model.normalizers, &model.splitters, model.symbols.clone())?;
        Self::new(model, stages, splitter)
    }

    /// Loads the bytes of a `.tiktoken` file, which has only the tokens: `pattern` is the split pattern that they were
    /// trained with (a name of toksmith, such as `cl100k`, or a regex), and `special_tokens` have a content and an id.
    ///
    /// ```
    /// use toksmith_core::Tokenizer;
    ///
    /// let ranks = std::fs::read("examples/small.tiktoken").expect("the example is there");
    /// let tokenizer = Tokenizer::from_tiktoken(&ranks, "gpt2", &[("<|end|>", 300)])?;
    /// assert_eq!(tokenizer.decode(&tokenizer.encode("the cat sat")?)?, "the cat sat");
    /// # Ok::<(), toksmith_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] with the line that breaks the format, or if a byte has no token; [`Error::Model`] if a special
    /// token has the id of another token; [`Error::Option`] for an unknown name or a regex that does not compile.
    pub fn from_tiktoken(data: &[u8], pattern: &str, special_tokens: &[(&str, u32)]) -> Result<Self> {
        let splitter = Splitter::new(&regexes_of(pattern)?)?;
        let tokens = table::parse_tiktoken(data)?;
        let tables = Tables { blob: &tokens.blob, ends: &tokens.ends, ids: &tokens.ids, merges: &[] };
        let vocab = Vocab::new(Unit::Byte, MergeRule::Bytes, true, tables)
            .map_err(|error| Error::Format { place: None, problem: error.to_string() })
            .map_err(|error| table::refuse_repeats(data).err().unwrap_or(error))?;
        let special = |&(content, id): &(&str, u32)| AddedToken {
            content: content.to_owned(),
            id,
            special: true,
            flags: AddedTokenFlags::default(),
        };
        let model = ModelParts {
            pieces: Arc::new(PieceEncoder::plain(Arc::new(vocab))),
            added: special_tokens.iter().map(special).collect(),
            normalizers: Vec::new(),
            splitters: Vec::new(),
            decoders: Vec::new(),
            symbols: None,
            whole_text: None,
        };
        Self::new(model, Stages::default(), splitter)
    }

    fn new(model: ModelParts, stages: Stages, splitter: Splitter) -> Result<Self> {
        let ModelParts { pieces, mut added, decoders: chain, whole_text, .. } = model;
        let vocab = Arc::clone(pieces.vocab());
        for token in &added {
            if vocab.token(token.id).is_some_and(|bytes| bytes != token.content.as_bytes()) {
                let problem = format!("the added token {:?} has the id of another token", token.content);
                return Err(Error::model(problem, Some(token.id)));
            }
        }
        let breaker = || vocab.id(b"<0xFF>").or_else(|| vocab.id("ÿ".as_bytes())).or_else(|| vocab.ids().next());
        let breaker = if chain.is_empty() { None } else { breaker() };
        let chain = if chain.is_empty() { None } else { Some(decoders(&chain)?) };
        let decoder = Decoder::new(vocab, &stages.shown_tokens(&added)?).with_chain(chain);
        let (chars, shown) = whole_text.map_or((None, None), |whole| (Some(whole.engine), whole.shown));
        if chars.is_some() {
            added.retain(|token| !token.flags.normalized); // symbols of the engine
        }
        let decoder = decoder.with_shown(shown);
        let encoder = Encoder::new(pieces, AddedTokens::new(added)?, splitter).with_chars(chars).with_stages(stages)?;
        Ok(Self { encoder, decoder, breaker })
    }

    /// What encodes.
    #[doc(hidden)]
    #[must_use]
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The bytes that an id becomes without decoder steps; None if no token has the id.
    #[doc(hidden)]
    #[must_use]
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.decoder.token(id)
    }

    /// What decodes.
    #[doc(hidden)]
    #[must_use]
    pub fn token_decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The largest id + 1.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        self.decoder.size()
    }

    /// The ids of a text. Ids that a model's template puts around a text are not added.
    ///
    /// # Errors
    /// [`Error::SpecialTokenInText`] if the text spells a special token; [`Error::NotInVocabulary`] for a character or
    /// piece without a token; [`Error::Pattern`] and [`Error::TooLong`] if a step gives up on the text.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        self.encode_with(text, Special::Raise)
    }

    /// The same with a choice about special tokens.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_with(&self, text: &str, special: Special) -> Result<Vec<u32>> {
        let (mut ids, stop) = (Vec::new(), Stop::default());
        self.encoder
            .with_session(|session| self.encoder.encode(text.into(), &special.allow(), &stop, session, &mut ids))?;
        Ok(ids)
    }

    /// The number of ids of a text, without storing them.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn count(&self, text: &str) -> Result<u64> {
        self.count_with(text, Special::Raise)
    }

    /// The same with a choice about special tokens.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn count_with(&self, text: &str, special: Special) -> Result<u64> {
        let (encoder, stop) = (&self.encoder, Stop::default());
        encoder.with_session(|session| encoder.count(text.into(), &special.allow(), &stop, session, &mut Vec::new()))
    }

    /// The bytes of ids: the ids of a part of a text can end inside a character.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for an id without a token; [`Error::Pattern`] and [`Error::TooLong`] if a step gives up.
    pub fn decode_bytes(&self, ids: &[u32]) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.decoder.decode(ids, &mut bytes)?;
        Ok(bytes)
    }

    /// The text of ids, with U+FFFD for bytes that are not UTF-8.
    ///
    /// # Errors
    /// As [`Self::decode_bytes`].
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.decode_bytes(ids)?).into_owned())
    }

    /// A decoder of a stream of ids.
    #[must_use]
    pub fn decoder(&self) -> StreamDecoder<'_> {
        StreamDecoder { tokenizer: self, state: StreamState::default() }
    }
}

/// The regexes of a pattern: a name of the table, or one regex.
///
/// # Errors
/// [`Error::Option`] for a word that is no name.
#[doc(hidden)]
pub fn regexes_of(pattern: &str) -> Result<Vec<&str>> {
    let row = PATTERNS.iter().find(|row| row.name == pattern);
    if row.is_none() && pattern.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '-')) {
        let names: Vec<&str> = PATTERNS.iter().map(|row| row.name).collect();
        let allowed = format!("a regex or one of {}", names.join(", "));
        return Err(Error::Option { argument: "pattern", value: pattern.to_owned(), allowed });
    }
    Ok(row.map_or_else(|| vec![pattern], |row| row.regexes.to_vec()))
}

impl Special {
    /// The same for the engine.
    #[doc(hidden)]
    #[must_use]
    pub fn allow(self) -> Allow {
        match self {
            Self::Raise => Allow::Raise,
            Self::Allow => Allow::All,
            Self::Text => Allow::Text,
        }
    }
}

/// Decodes a stream of ids to characters that no later id can change; made by [`Tokenizer::decoder`].
///
/// It holds the bytes of an unfinished character back.
///
/// ```
/// use toksmith_core::Tokenizer;
///
/// let tokenizer = Tokenizer::from_file("examples/small.toksmith")?;
/// let mut decoder = tokenizer.decoder();
/// let parts: Vec<String> = tokenizer.encode("ü!")?.iter().map(|&id| decoder.feed(&[id])).collect::<Result<_, _>>()?;
/// assert_eq!(parts, ["", "ü", "!"]);
/// assert_eq!(decoder.finish()?, "");
/// # Ok::<(), toksmith_core::Error>(())
/// ```
#[derive(Debug)]
pub struct StreamDecoder<'t> {
    tokenizer: &'t Tokenizer,
    state: StreamState,
}

/// The state of a [`StreamDecoder`], for programs that keep it next to the tokenizer.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct StreamState {
    /// With decoder steps or a denormalizer, which need all tokens together: the ids so far, and the bytes settled before.
    ids: Vec<u32>,
    sent: Vec<u8>,
    /// Without them: whether an id was fed.
    begun: bool,
    /// The bytes of an unfinished character.
    held: Vec<u8>,
}

impl StreamDecoder<'_> {
    /// The characters that these ids complete.
    ///
    /// # Errors
    /// As [`Tokenizer::decode_bytes`]; the decoder is then unchanged.
    pub fn feed(&mut self, ids: &[u32]) -> Result<String> {
        self.state.feed(self.tokenizer, ids)
    }

    /// The rest of the text, with U+FFFD for an unfinished character; the decoder then starts again.
    ///
    /// # Errors
    /// As [`Tokenizer::decode_bytes`].
    pub fn finish(&mut self) -> Result<String> {
        std::mem::take(&mut self.state).finish(self.tokenizer)
    }
}

impl StreamState {
    /// As [`StreamDecoder::feed`]; each call must have the same tokenizer.
    ///
    /// # Errors
    /// As [`StreamDecoder::feed`].
    pub fn feed(&mut self, tokenizer: &Tokenizer, ids: &[u32]) -> Result<String> {
        if tokenizer.decoder.rewrites_whole_texts() {
            tokenizer.decode_bytes(ids)?;
            self.ids.extend_from_slice(ids);
        } else if let Some(breaker) = tokenizer.breaker {
            let before = self.ids.len();
            self.ids.extend_from_slice(ids);
            let settled = self.settled(tokenizer, breaker).inspect_err(|_| self.ids.truncate(before))?;
            if let Some(new) = settled.strip_prefix(&self.sent[..]) {
                self.held.extend_from_slice(new);
                self.sent = settled;
            }
        } else {
            let (before, mut fresh) = (self.held.len(), !self.begun);
            if let Err(error) = tokenizer.decoder.decode_more(ids, &mut fresh, &Stop::default(), &mut self.held) {
                self.held.truncate(before);
                return Err(error);
            }
            self.begun = !fresh;
        }
        Ok(take_characters(&mut self.held))
    }

    /// As [`StreamDecoder::finish`].
    ///
    /// # Errors
    /// As [`StreamDecoder::finish`].
    pub fn finish(mut self, tokenizer: &Tokenizer) -> Result<String> {
        if !self.ids.is_empty() {
            let all = tokenizer.decode_bytes(&self.ids)?;
            self.held.extend_from_slice(all.get(self.sent.len()..).unwrap_or_default());
        }
        Ok(String::from_utf8_lossy(&self.held).into_owned())
    }

    /// The bytes so far that another token does not change.
    fn settled(&self, tokenizer: &Tokenizer, breaker: u32) -> Result<Vec<u8>> {
        let mut now = tokenizer.decode_bytes(&self.ids)?;
        let then = tokenizer.decode_bytes(&[&self.ids[..], &[breaker]].concat())?;
        now.truncate(now.iter().zip(&then).take_while(|(a, b)| a == b).count());
        // Later bytes can complete the character.
        while now.ends_with("\u{FFFD}".as_bytes()) {
            now.truncate(now.len() - '\u{FFFD}'.len_utf8());
        }
        Ok(now)
    }
}

/// Takes all characters but an unfinished one at the end.
fn take_characters(held: &mut Vec<u8>) -> String {
    let (mut text, mut taken) = (String::new(), 0);
    for chunk in held.utf8_chunks() {
        text.push_str(chunk.valid());
        taken += chunk.valid().len();
        let invalid = chunk.invalid();
        let is_open = std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
        if is_open && taken + invalid.len() == held.len() {
            break;
        }
        if !invalid.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            taken += invalid.len();
        }
    }
    held.drain(..taken);
    text
}
