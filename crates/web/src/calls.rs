//! The calls of one instance: arguments from the buffer, one call of the core, and the answer.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use toksmith_core::encode::boundaries::StableCuts;
use toksmith_core::merge::recover::recover_merges;
use toksmith_core::split::Text;
use toksmith_core::split::pattern::PATTERNS;
use toksmith_core::split::spans::{Count, PlacedIds, Spans};
use toksmith_core::text::utf8::text_of;
use toksmith_core::threads::parallel::Stop;
use toksmith_core::tokenizer::native::{self, PlainModel};
use toksmith_core::tokenizer::trained::Training;
use toksmith_core::tokenizer::{StreamState, regexes_of};
use toksmith_core::train::Trained;
use toksmith_core::vocab::Tables;
use toksmith_core::{Error, Result, Special, Tokenizer};

use crate::merges;

/// The first word of a native file.
const NATIVE: &[u8] = b"toksmith ";

/// The flag of a choice about special tokens with which offsets count bytes.
const IN_BYTES: u32 = 4;

/// The state of an instance.
#[derive(Debug, Default)]
pub struct Instance {
    /// The arguments, aligned for ids.
    input: Vec<u32>,
    /// The answer of the last call.
    pub answer: Answer,
    tokenizer: Option<Tokenizer>,
    /// The pattern and the special tokens of a `.tiktoken` file.
    ranks: Option<RanksOptions>,
    /// The streams that are decoded, by the numbers that JavaScript gives them.
    streams: BTreeMap<u32, StreamState>,
    /// The tokens in the order of their bytes, by whether they begin a text; those that a call needed.
    sorted: BTreeMap<bool, SortedTokens>,
}

/// Tokens with their ids, in the order of their bytes.
type SortedTokens = Vec<(Box<[u8]>, u32)>;

/// What a call returns.
#[derive(Debug)]
pub enum Answer {
    /// Bytes, such as UTF-8.
    Bytes(Vec<u8>),
    /// Ids and other numbers.
    Numbers(Vec<u32>),
}

/// The facts that a `.tiktoken` file leaves out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RanksOptions {
    pattern: Option<String>,
    special_tokens: Vec<(String, u32)>,
}

/// The options of a training.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrainingOptions {
    /// The end of each text.
    ends: Vec<usize>,
    vocab_size: usize,
    pattern: Option<String>,
    special_tokens: Vec<String>,
    min_count: u64,
    max_token_bytes: Option<u32>,
}

impl Default for Answer {
    fn default() -> Self {
        Self::Numbers(Vec::new())
    }
}

impl Answer {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Numbers(numbers) => bytemuck::cast_slice(numbers),
        }
    }
}

impl Instance {
    /// The address of a buffer for the arguments; null if there is no memory for them.
    pub fn lend(&mut self, bytes: usize) -> *const u32 {
        let size = bytes.div_ceil(size_of::<u32>());
        if self.input.try_reserve_exact(size.saturating_sub(self.input.len())).is_err() {
            return std::ptr::null();
        }
        self.input.resize(size, 0);
        self.input.as_ptr()
    }

    fn bytes(&self, end: usize) -> &[u8] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.input);
        &bytes[..end.min(bytes.len())]
    }

    fn text(&self, bytes: usize) -> Result<&str> {
        text(self.bytes(bytes))
    }

    fn options<T: DeserializeOwned>(&self, start: usize, size: usize) -> Result<T> {
        let options = &self.bytes(start + size)[start..];
        serde_json::from_slice(options).map_err(|error| refuse("options", &error.to_string(), "the named options"))
    }

    fn tokenizer(&self) -> Result<&Tokenizer> {
        self.tokenizer.as_ref().ok_or_else(not_loaded)
    }

    /// Loads a native or a `.tiktoken` file.
    pub fn load(&mut self, file: usize, options: usize) -> Result<Answer> {
        let data = self.bytes(file);
        let ranks: RanksOptions = self.options(file, options)?;
        let (tokenizer, ranks) = if data.starts_with(NATIVE) {
            if ranks.pattern.is_some() || !ranks.special_tokens.is_empty() {
                let allowed = "no pattern and no special tokens: a native file has them";
                return Err(refuse("options", "a pattern or special tokens", allowed));
            }
            (Tokenizer::from_bytes(data)?, None)
        } else {
            let pattern = ranks.pattern.as_ref().ok_or_else(|| {
                let problem = "a .tiktoken file has no pattern; pass one, such as {pattern: \"cl100k\"}";
                Error::Format { place: None, problem: problem.to_owned() }
            })?;
            let special: Vec<_> = ranks.special_tokens.iter().map(|(content, id)| (&**content, *id)).collect();
            (Tokenizer::from_tiktoken(data, pattern, &special)?, Some(ranks))
        };
        let added = tokenizer.encoder().added().tokens();
        let added: Vec<_> = added.iter().map(|token| json!([token.content, token.id, token.special])).collect();
        let facts = json!({"vocabSize": tokenizer.vocab_size(), "added": added}).to_string();
        (self.tokenizer, self.ranks, self.sorted) = (Some(tokenizer), ranks, BTreeMap::new());
        Ok(Answer::Bytes(facts.into()))
    }

    /// The native file of a draft, which JavaScript's readers of other formats write.
    pub fn finish_draft(&self, draft: usize) -> Result<Answer> {
        native::finish_draft(self.bytes(draft)).map(Answer::Bytes)
    }

    /// The names of the patterns.
    pub fn patterns() -> Answer {
        let names: Vec<_> = PATTERNS.iter().map(|row| row.name).collect();
        Answer::Bytes(json!(names).to_string().into())
    }

    /// Trains; the tokenizer that is loaded stays.
    pub fn train(
        &self,
        texts: usize,
        options: usize,
        report: &mut dyn FnMut(&Trained) -> ControlFlow<()>,
    ) -> Result<Answer> {
        let options: TrainingOptions = self.options(texts, options)?;
        let (mut start, mut documents) = (0, Vec::new());
        for end in options.ends {
            let document = &self.bytes(end)[start..];
            documents.push(text_of(document).map_or(Text::Bytes(document), Text::Str));
            start = end;
        }
        let special: Vec<_> = options.special_tokens.iter().map(|content| &**content).collect();
        let training = Training {
            texts: &documents,
            vocab_size: options.vocab_size,
            pattern: options.pattern.as_deref(),
            special_tokens: &special,
            min_count: options.min_count,
            max_token_bytes: options.max_token_bytes,
        };
        training.run(report).map(Answer::Bytes)
    }

    /// The native file of what a `.tiktoken` file holds.
    pub fn save(&self) -> Result<Answer> {
        let Some(RanksOptions { pattern: Some(pattern), special_tokens }) = &self.ranks else {
            return Err(Error::model("the tokenizer has its file already", None));
        };
        let vocab = self.tokenizer()?.encoder().vocab();
        let (mut blob, mut ends, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        for (token, id) in vocab.tokens() {
            blob.extend_from_slice(token);
            ends.push(blob.len() as u32);
            ids.push(id);
        }
        let special: Vec<_> = special_tokens.iter().map(|(content, id)| (&**content, *id)).collect();
        let tables = Tables { blob: &blob, ends: &ends, ids: &ids, merges: vocab.merges() };
        let regexes = regexes_of(pattern)?;
        let model = PlainModel { tables, by_bytes: true, regexes: &regexes, special_tokens: &special, training: None };
        model.write().map(Answer::Bytes)
    }

    /// The ids of a text.
    pub fn encode(&self, text: usize, special: u32) -> Result<Answer> {
        let text = self.text(text)?;
        let ids = self.tokenizer()?.encode_with(text, choice(special));
        ids.map(Answer::Numbers).map_err(|error| convert_offset(error, text))
    }

    /// The number of ids of a text.
    pub fn count(&self, text: usize, special: u32) -> Result<Answer> {
        let text = self.text(text)?;
        let count = self.tokenizer()?.count_with(text, choice(special)).map_err(|error| convert_offset(error, text))?;
        Ok(Answer::Numbers(vec![count as u32]))
    }

    /// The ids of a text, their starts and their ends.
    pub fn encode_with_offsets(&self, text: usize, special: u32) -> Result<Answer> {
        let (text, encoder) = (self.text(text)?, self.tokenizer()?.encoder());
        let unit = if special & IN_BYTES == 0 { Count::Characters } else { Count::Bytes };
        let (mut numbers, mut spans) = (Vec::new(), Spans::new(unit));
        let out = PlacedIds { ids: &mut numbers, spans: &mut spans };
        let (allow, stop) = (choice(special).allow(), Stop::default());
        encoder
            .with_session(|session| encoder.encode_with_offsets(text.into(), &allow, &stop, session, out))
            .map_err(|error| convert_offset(error, text))?;
        let places = spans.starts.iter().chain(&spans.ends);
        if text.is_ascii() || unit == Count::Bytes {
            numbers.extend(places.map(|&place| place as u32));
            return Ok(Answer::Numbers(numbers));
        }
        let mut units = vec![0];
        units.extend(text.chars().scan(0, |at, char| {
            *at += char.len_utf16() as u32;
            Some(*at)
        }));
        numbers.extend(places.map(|&place| units[place]));
        Ok(Answer::Numbers(numbers))
    }

    /// The start and the end of the part of a text whose ids an edit from `start` to `end` can change; then the ids of
    /// the part and their ends, in bytes.
    pub fn encode_around(&self, text: usize, special: u32, start: usize, end: usize) -> Result<Answer> {
        let (text, encoder) = (self.bytes(text), self.tokenizer()?.encoder());
        if start > end || end > text.len() {
            return Err(refuse("range", &format!("{start} to {end}"), &format!("a part of 0 to {}", text.len())));
        }
        let (first, last) = StableCuts::new(encoder, encoder.cuts()).around(text, start, end);
        let (mut numbers, mut spans) = (vec![first as u32, last as u32], Spans::new(Count::Bytes));
        let (allow, stop) = (choice(special).allow(), Stop::default());
        let out = PlacedIds { ids: &mut numbers, spans: &mut spans };
        let part = self::text(&text[first..last])?;
        encoder.with_session(|session| encoder.encode_with_offsets(part.into(), &allow, &stop, session, out))?;
        numbers.extend(spans.ends.iter().map(|&place| (first + place) as u32));
        Ok(Answer::Numbers(numbers))
    }

    /// The part of a prompt that allows every continuation: the number of its ids, and its end in bytes; then the ids,
    /// and those of the tokens that begin with the rest of the text.
    pub fn heal(&mut self, text: usize, special: u32) -> Result<Answer> {
        let Self { input, tokenizer, sorted, .. } = self;
        let tokenizer = tokenizer.as_ref().ok_or_else(not_loaded)?;
        let (encoder, decoder) = (tokenizer.encoder(), tokenizer.token_decoder());
        let text = self::text(&bytemuck::cast_slice(input)[..text])?;
        let cut = StableCuts::new(encoder, encoder.cuts()).last_cut(text.as_bytes(), 0).unwrap_or(0);
        let (stable, part) = text.split_at(cut);
        let mut ids = tokenizer.encode_with(stable, choice(special)).map_err(|error| convert_offset(error, text))?;
        let (mut more, mut spans) = (Vec::new(), Spans::new(Count::Bytes));
        let (allow, stop) = (choice(special).allow(), Stop::default());
        let out = PlacedIds { ids: &mut more, spans: &mut spans };
        encoder
            .with_session(|session| encoder.encode_with_offsets(part.into(), &allow, &stop, session, out))
            .map_err(|error| convert_offset(error.shift_offset(cut), text))?;
        let (mut is_fresh, mut shown) = (true, Vec::new());
        decoder.decode_more(&ids, &mut is_fresh, &stop, &mut shown)?;
        // A normalizer can remove text from the end, which has no id.
        let counts = (0..=more.len()).chain([more.len()]);
        for (count, end) in counts.zip(std::iter::once(0).chain(spans.ends).chain([part.len()])) {
            decoder.decode_more(&more[count.saturating_sub(1)..count], &mut is_fresh, &stop, &mut shown)?;
            if let Entry::Vacant(room) = sorted.entry(is_fresh) {
                let tokens = decoder.sorted_tokens(is_fresh, &stop)?;
                room.insert((0..).zip(&tokens.ids).map(|(at, &id)| (tokens.token(at).into(), id)).collect());
            }
            let (tokens, rest) = (&sorted[&is_fresh], &part.as_bytes()[end..]);
            let tokens = &tokens[tokens.partition_point(|(token, _)| &token[..] < rest)..];
            let found = tokens.iter().take_while(|(token, _)| token.starts_with(rest));
            let mut found: Vec<u32> = found.map(|&(_, id)| id).collect();
            if !found.is_empty() || rest.is_empty() {
                found.sort_unstable();
                ids.extend_from_slice(&more[..count]);
                return Ok(Answer::Numbers([&[ids.len() as u32, (cut + end) as u32][..], &ids, &found].concat()));
            }
        }
        Ok(Answer::default())
    }

    /// The form of a text without special tokens that becomes tokens, after the steps that rewrite it.
    pub fn normalize(&self, text: usize) -> Result<Answer> {
        let pieces = self.tokenizer()?.encoder().pieces(self.text(text)?.into(), &Stop::default())?;
        Ok(Answer::Bytes(pieces.concat()))
    }

    /// The end of each piece of a text without special tokens, in bytes.
    pub fn split(&self, text: usize) -> Result<Answer> {
        let pieces = self.tokenizer()?.encoder().pieces(self.text(text)?.into(), &Stop::default())?;
        let ends = pieces.iter().scan(0, |end, piece| {
            *end += piece.len() as u32;
            Some(*end)
        });
        Ok(Answer::Numbers(ends.collect()))
    }

    /// The merges of the vocabulary: the two ids and that of the result for each, in rank order.
    pub fn all_merges(&self) -> Result<Answer> {
        Ok(Answer::Numbers(recover_merges(self.tokenizer()?.encoder().vocab()).into_flattened()))
    }

    /// The bytes of ids.
    pub fn decode(&self, ids: usize) -> Result<Answer> {
        self.tokenizer()?.decode_bytes(&self.input[..ids / size_of::<u32>()]).map(Answer::Bytes)
    }

    /// The characters of a stream that ids complete.
    pub fn feed(&mut self, stream: u32, ids: usize) -> Result<Answer> {
        let tokenizer = self.tokenizer.as_ref().ok_or_else(not_loaded)?;
        let state = self.streams.entry(stream).or_default();
        let text = state.feed(tokenizer, &self.input[..ids / size_of::<u32>()])?;
        Ok(Answer::Bytes(text.into()))
    }

    /// The rest of a stream, which ends.
    pub fn finish(&mut self, stream: u32) -> Result<Answer> {
        let state = self.streams.remove(&stream).unwrap_or_default();
        Ok(Answer::Bytes(state.finish(self.tokenizer()?)?.into()))
    }

    /// The bytes of one token.
    pub fn token(&self, id: u32) -> Result<Answer> {
        let tokenizer = self.tokenizer()?;
        let vocab_size = tokenizer.vocab_size();
        let token = tokenizer.token(id).ok_or(Error::UnknownId { id: id.into(), position: 0, vocab_size })?;
        Ok(Answer::Bytes(token.to_vec()))
    }

    /// The ids of a token: one, or none.
    pub fn token_id(&self, token: usize) -> Result<Answer> {
        let (token, encoder) = (self.bytes(token), self.tokenizer()?.encoder());
        let added = encoder.added().tokens().iter().find(|added| added.content.as_bytes() == token);
        let id = added.map(|added| added.id).or_else(|| encoder.vocab().id(token));
        Ok(Answer::Numbers(id.into_iter().collect()))
    }

    /// The merges of a piece.
    pub fn merges(&self, piece: usize) -> Result<Answer> {
        let json = merges::merges_of(self.tokenizer()?.encoder(), self.bytes(piece))?;
        Ok(Answer::Bytes(json.to_string().into()))
    }
}

fn not_loaded() -> Error {
    Error::model("no tokenizer is loaded", None)
}

fn choice(special: u32) -> Special {
    match special & !IN_BYTES {
        1 => Special::Allow,
        2 => Special::Text,
        _ => Special::Raise,
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    text_of(bytes).map_err(|error| refuse("text", &error.to_string(), "UTF-8"))
}

/// The error with its place in units of UTF-16, as JavaScript counts them.
fn convert_offset(error: Error, text: &str) -> Error {
    error.map_offset(|bytes| text.get(..bytes).map_or(bytes, |before| before.encode_utf16().count()))
}

fn refuse(argument: &'static str, value: &str, allowed: &str) -> Error {
    Error::Option { argument, value: value.to_owned(), allowed: allowed.to_owned() }
}
