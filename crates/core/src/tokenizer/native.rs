//! Reads the native format, and writes the byte-level models that this crate makes: `docs/format.md` is its contract. A
//! model that this crate cannot run is refused by the name of the part.

use std::io::Write;
use std::sync::Arc;
use std::{fmt, io};

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Value as Json, json};

use crate::error::{Error, Result};
use crate::kinds::hf_characters::HfCharacters;
use crate::kinds::sentencepiece::CharRule;
use crate::kinds::unigram::Unigram;
use crate::kinds::wordpiece::WordPiece;
use crate::kinds::{Kernel, PieceEncoder};
use crate::split::special::{AddedToken, AddedTokenFlags};
use crate::steps::{Spec, Value};
use crate::table::{self, Lines};
use crate::tokenizer::whole_text::{DENORMALIZER, SENTENCEPIECE, WholeText, WholeTextModel};
use crate::vocab::{MergeRule, Tables, Unit, Vocab};

/// The most bytes of a file, and of one JSON object in it.
const FILE_LIMIT: usize = 1 << 30;
const JSON_LIMIT: usize = 1 << 24;

/// The parts of a model that runs.
#[derive(Debug)]
pub struct ModelParts {
    /// The encoder of pieces.
    pub pieces: Arc<PieceEncoder>,
    /// The added tokens.
    pub added: Vec<AddedToken>,
    /// The steps before tokens are searched in a text.
    pub normalizers: Vec<Spec>,
    /// The steps that cut a text into pieces.
    pub splitters: Vec<Spec>,
    /// The steps that turn tokens into a text.
    pub decoders: Vec<Spec>,
    /// The symbols of pieces of characters.
    pub symbols: Option<HfCharacters>,
    /// The engine of texts that are one piece of characters, which takes the place of all steps.
    pub whole_text: Option<WholeText>,
}

/// The section `model`. Fields with `_` do not affect ids or texts here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    added_tokens: Vec<AddedField>,
    byte_fallback: bool,
    #[serde(default)]
    continuing_subword_prefix: String,
    decoders: Vec<StepField>,
    #[serde(default)]
    end_of_word_suffix: String,
    #[serde(default)]
    fuse_unknown: bool,
    kind: String,
    max_piece_chars: Option<usize>,
    merge_rule: String,
    normalizers: Vec<StepField>,
    #[serde(rename = "post")]
    _post: Vec<IgnoredAny>,
    score_type: Option<String>,
    splitters: Vec<StepField>,
    unit: String,
    #[serde(deserialize_with = "Option::deserialize")]
    unknown_id: Option<u32>,
    #[serde(default)]
    unused_ids: Vec<u32>,
    whole_piece: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
// The file has each by its name.
#[allow(clippy::struct_excessive_bools)]
struct AddedField {
    content: String,
    id: u32,
    special: bool,
    lstrip: bool,
    rstrip: bool,
    single_word: bool,
    normalized: bool,
}

/// A step: an object with the field `kind` and options.
struct StepField(Spec);

impl<'de> Deserialize<'de> for StepField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct StepVisitor;
        impl<'de> Visitor<'de> for StepVisitor {
            type Value = StepField;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a step with the field kind")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> std::result::Result<StepField, M::Error> {
                // A repeated name stays in the list, and the step then refuses it as an option that it does not have.
                let mut options: Vec<(String, Value)> = Vec::new();
                while let Some(option) = map.next_entry()? {
                    options.push(option);
                }
                let kind = options.iter().position(|(name, _)| name == "kind").map(|place| options.remove(place).1);
                let Some(Value::Text(kind)) = kind else { return Err(serde::de::Error::missing_field("kind")) };
                Ok(StepField(Spec { kind, options }))
            }
        }
        deserializer.deserialize_map(StepVisitor)
    }
}

/// Reads a file as a whole.
///
/// # Errors
/// [`Error::Format`] with the line, [`Error::Model`] for a broken invariant or for a part that cannot be run.
pub fn read_model(data: &[u8]) -> Result<ModelParts> {
    let mut lines = Lines::new(data, 0);
    if data.len() > FILE_LIMIT {
        return Err(lines.error(format!("the file has more than {FILE_LIMIT} bytes")));
    }
    let version = match lines.next_required()? {
        b"toksmith 1" => 1,
        b"toksmith 2" => 2,
        other => {
            return Err(lines.error(format!("expected 'toksmith 1' or 'toksmith 2', not {}", table::quote(other))));
        }
    };
    let header: Header = json(&mut lines, "model")?;
    let count = count(&mut lines, "tokens")?;
    let (tokens, end) = table::parse_token_lines(data, lines.next, count)?;
    lines.next = end;
    let (merges, end) = numbers(&mut lines, "merges", 3)?;
    lines.next = end;
    let scores = scores(&mut lines, count, version, header.score_type.is_some())?;
    if comes_next(&lines, "training") {
        let _: IgnoredAny = json(&mut lines, "training")?;
        lines.next = numbers(&mut lines, "counts", 2)?.1;
    }
    if comes_next(&lines, "metadata") {
        let _: IgnoredAny = json(&mut lines, "metadata")?;
    }
    let digest = table::sha256(&data[..lines.next]);
    let signed = section(&mut lines, "sha256")?;
    if signed != digest.as_bytes() {
        let signed = String::from_utf8_lossy(&signed[..signed.len().min(digest.len())]);
        let problem = format!("the file was changed: the checksum of the lines above is {digest}, not '{signed}'");
        return Err(lines.error(problem));
    }
    if lines.next < data.len() {
        let _ = lines.next_required();
        return Err(lines.error("expected the end of the file after the checksum"));
    }
    // No token has the largest id, so that the vocabulary refuses a merge with a larger one.
    let ids = |number: &u64| u32::try_from(*number).unwrap_or(u32::MAX);
    let merges: Vec<[u32; 3]> = merges.as_chunks::<3>().0.iter().map(|row| row.each_ref().map(ids)).collect();
    let endless = scores.iter().flatten().any(|score| !score.is_finite());
    if (version == 2) != (endless || !header.unused_ids.is_empty()) {
        return Err(lines.error("version 2 is for unused ids and scores that are not finite, and only for them"));
    }
    let tables = Tables { blob: &tokens.blob, ends: &tokens.ends, ids: &tokens.ids, merges: &merges };
    model_parts(header, tables, scores.as_deref())
}

fn comes_next(lines: &Lines<'_>, name: &str) -> bool {
    lines.data[lines.next..].strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b" "))
}

/// The rest of the next line, after the section's name.
fn section<'d>(lines: &mut Lines<'d>, name: &str) -> Result<&'d [u8]> {
    let line = lines.next_required().map_err(|_| lines.error("the file ends before its checksum"))?;
    let rest = line.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
    rest.ok_or_else(|| lines.error(format!("expected the section '{name}', not {}", table::quote(line))))
}

fn json<T: DeserializeOwned>(lines: &mut Lines<'_>, name: &str) -> Result<T> {
    let text = section(lines, name)?;
    if text.len() > JSON_LIMIT {
        return Err(lines.error(format!("the JSON has {} bytes; at most {JSON_LIMIT} are allowed", text.len())));
    }
    serde_json::from_slice(text).map_err(|error| {
        let (message, place) = (error.to_string(), error.column().saturating_sub(1));
        let problem = message.rsplit_once(" at line ").map_or(&*message, |(problem, _)| problem);
        let what = if error.is_data() { name } else { "not JSON" };
        lines.error(format!("{what}: {problem} at character {place}"))
    })
}

fn count(lines: &mut Lines<'_>, name: &str) -> Result<usize> {
    let digits = section(lines, name)?;
    let count = table::number(digits).and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| lines.error(format!("expected a number of lines, not {}", table::quote(digits))))
}

/// The numbers of a section, row by row, and the end of its lines.
fn numbers(lines: &mut Lines<'_>, name: &str, columns: usize) -> Result<(Vec<u64>, usize)> {
    let count = count(lines, name)?;
    table::parse_number_lines(lines.data, lines.next, count, columns)
}

/// The score of each token, with the precision that the model has; None if there is no such section.
fn scores(lines: &mut Lines<'_>, tokens: usize, version: u8, double: bool) -> Result<Option<Vec<f64>>> {
    if !comes_next(lines, "scores") {
        return Ok(None);
    }
    let number = count(lines, "scores")?;
    if number != tokens {
        let problem = format!("there are {tokens} tokens but {number} scores; each token needs one");
        return Err(lines.error(problem));
    }
    let most = if double { f64::MAX } else { f64::from(f32::MAX) };
    let score = |_| {
        let line = lines.next_required()?;
        let is_decimal = line.strip_prefix(b"-").unwrap_or(line).first().is_some_and(u8::is_ascii_digit);
        let is_endless = version == 2 && matches!(line, b"inf" | b"-inf");
        let score = std::str::from_utf8(line).ok().and_then(|digits| digits.parse::<f64>().ok());
        let score = score.filter(|score| is_endless || (is_decimal && score.abs() <= most));
        let score = score
            .ok_or_else(|| lines.error(format!("expected a finite decimal number, not {}", table::quote(line))))?;
        Ok(if double { score } else { f64::from(score as f32) })
    };
    (0..tokens).map(score).collect::<Result<_>>().map(Some)
}

fn refuse(part: impl fmt::Display) -> Error {
    Error::model(format!("the model has {part}, which this crate cannot run; the Python package can"), None)
}

/// How a model runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Tokens cover pieces without merging.
    Covers,
    /// Each text is one piece of characters, as in `SentencePiece`.
    WholeText,
    /// Pieces of characters merge by pairs, so that symbols can be unknown or have a prefix or suffix.
    Symbols,
    /// Pieces merge.
    Merges,
}

impl Header {
    fn way(&self, scored: bool) -> Way {
        let has = |steps: &[StepField], kind: &str| steps.iter().any(|step| step.0.kind == kind);
        let rewrites = has(&self.normalizers, SENTENCEPIECE);
        let kind = &*self.kind;
        let symbols = (kind, &*self.unit, &*self.merge_rule) == ("bpe", "char", "pair") && !scored;
        if matches!(kind, "chars" | "wordpiece") || (matches!(kind, "unigram" | "words") && !rewrites) {
            Way::Covers
        } else if rewrites
            || has(&self.decoders, SENTENCEPIECE)
            || has(&self.decoders, DENORMALIZER)
            || (!symbols && (scored || self.byte_fallback || self.unknown_id.is_some()))
        {
            Way::WholeText
        } else if symbols {
            Way::Symbols
        } else {
            Way::Merges
        }
    }

    /// The way a piece becomes ids.
    fn kernel(&self, way: Way, vocab: &Vocab, scores: Option<&[f64]>) -> Result<Kernel> {
        let (prefix, unknown) = (&*self.continuing_subword_prefix, self.unknown_id);
        Ok(match &*self.kind {
            "wordpiece" => Kernel::WordPiece(WordPiece::new(vocab, prefix, self.max_piece_chars, unknown)),
            "unigram" if way == Way::Covers => {
                let (scores, single) = (scores.unwrap_or_default(), self.score_type.is_none());
                Kernel::Unigram(Box::new(Unigram::of_pieces(vocab, scores, single, self.byte_fallback, unknown)?))
            }
            "unigram" => Kernel::Words(None),
            "words" => Kernel::Words(unknown),
            "chars" => Kernel::Merge(unknown),
            _ => Kernel::Merge(None),
        })
    }

    /// Whether a text can be one piece of characters: merged by the tokens, or covered by words or by scores.
    fn fits_whole_text(&self) -> bool {
        let kind = &*self.kind;
        let merges = kind == "bpe" && self.merge_rule == "bytes" && !self.whole_piece;
        let covers = kind == "words" || (kind == "unigram" && self.score_type.is_none());
        self.unit == "char" && (merges || covers) && self.splitters.is_empty()
    }
}

/// Refuses what no code here runs. Steps refuse themselves when they are made.
fn refuse_unsupported(header: &Header, way: Way, scored: bool) -> Result<()> {
    let (kind, symbols) = (&*header.kind, way == Way::Symbols);
    let unigram = kind == "unigram" && way == Way::Covers;
    let runs = match way {
        Way::Covers => unigram,
        Way::WholeText => header.fits_whole_text(),
        Way::Symbols | Way::Merges => false,
    };
    for (is_refused, part) in [
        (!matches!(kind, "bpe" | "chars" | "unigram" | "wordpiece" | "words"), format!("the kind {kind:?}")),
        (unigram && !scored, "the kind \"unigram\" without scores".to_owned()),
        (scored && !runs, "scores".to_owned()),
        (header.byte_fallback && !symbols && !runs, "byte_fallback".to_owned()),
        (header.unknown_id.is_some() && !runs && !symbols && way != Way::Covers, "unknown_id".to_owned()),
        (!header.continuing_subword_prefix.is_empty() && !symbols && kind != "wordpiece", "a prefix".to_owned()),
        (!header.end_of_word_suffix.is_empty() && !symbols, "a suffix".to_owned()),
        (header.fuse_unknown && !symbols, "fuse_unknown".to_owned()),
        (header.max_piece_chars.is_some() && kind != "wordpiece", "max_piece_chars".to_owned()),
        (!header.unused_ids.is_empty() && way != Way::WholeText, "unused_ids".to_owned()),
        (way == Way::WholeText && !runs, "SentencePiece's steps".to_owned()),
    ] {
        if is_refused {
            return Err(refuse(part));
        }
    }
    Ok(())
}

fn model_parts(header: Header, tables: Tables<'_>, scores: Option<&[f64]>) -> Result<ModelParts> {
    let way = header.way(scores.is_some());
    refuse_unsupported(&header, way, scores.is_some())?;
    let merge_rule = match &*header.merge_rule {
        "pair" => MergeRule::Pair,
        "bytes" => MergeRule::Bytes,
        other => return Err(refuse(format!("the merge_rule {other:?}"))),
    };
    let unit = match (&*header.kind, &*header.unit) {
        ("bpe", "byte") => Unit::Byte,
        ("bpe" | "chars", "char") => Unit::Char,
        ("unigram" | "wordpiece" | "words", "byte" | "char") => Unit::Piece,
        (kind, unit) => return Err(refuse(format!("the kind {kind:?} with the unit {unit:?}"))),
    };
    let (prefix, unknown) = (&*header.continuing_subword_prefix, header.unknown_id);
    let merge_prefix = if unit == Unit::Piece { "" } else { prefix };
    let vocab = Vocab::with_prefix(unit, merge_rule, header.whole_piece, tables, merge_prefix.as_bytes());
    let vocab = vocab.map_err(|error| locate(&error, tables))?;
    let vocab = Arc::new(vocab);
    let kernel = header.kernel(way, &vocab, scores)?;
    let added = header.added_tokens.into_iter().map(|token| {
        let AddedField { content, id, special, lstrip, rstrip, single_word, normalized } = token;
        AddedToken { content, id, special, flags: AddedTokenFlags { lstrip, rstrip, single_word, normalized } }
    });
    let specs = |steps: Vec<StepField>| steps.into_iter().map(|step| step.0).collect();
    let mut parts = ModelParts {
        pieces: Arc::new(PieceEncoder::new(Arc::clone(&vocab), kernel)),
        added: added.collect(),
        normalizers: specs(header.normalizers),
        splitters: specs(header.splitters),
        decoders: specs(header.decoders),
        symbols: None,
        whole_text: None,
    };
    let is_marked = !prefix.is_empty() || !header.end_of_word_suffix.is_empty();
    if way == Way::Symbols && (is_marked || header.byte_fallback || unknown.is_some()) {
        parts.symbols = Some(HfCharacters {
            prefix: prefix.to_owned(),
            suffix: header.end_of_word_suffix,
            unknown,
            fuse_unknown: header.fuse_unknown,
            byte_fallback: header.byte_fallback,
            drops_unknown: false,
        });
    }
    if way == Way::WholeText {
        let rule = match &*header.kind {
            "unigram" => CharRule::Unigram,
            "words" => CharRule::Words,
            _ => CharRule::Merge,
        };
        let (unused, byte_fallback) = (&*header.unused_ids, header.byte_fallback);
        let model = WholeTextModel { vocab: &vocab, scores, rule, unused, byte_fallback, unknown };
        parts.whole_text = Some(model.engine(&parts.normalizers, &parts.decoders, &parts.added)?);
        (parts.normalizers, parts.decoders) = (Vec::new(), Vec::new());
    }
    Ok(parts)
}

/// The error of a broken rule with the line of the token or the merge that breaks it, or that of the section `model`.
fn locate(error: &Error, Tables { ids, .. }: Tables<'_>) -> Error {
    let Error::Model { invariant, id } = error else { return error.clone() };
    let rank = invariant.strip_prefix("merge ").and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    let token = id.and_then(|id| ids.iter().rposition(|&other| other == id));
    let line = rank.map(|rank| 5 + ids.len() + rank).or(token.map(|row| 4 + row)).unwrap_or(2);
    Error::Format { place: Some(line.to_string()), problem: error.to_string() }
}

/// A byte-level model that regexes split and that has no other steps, as trainings and `.tiktoken` files give it.
#[derive(Debug)]
pub struct PlainModel<'m> {
    /// Its tokens and merges.
    pub tables: Tables<'m>,
    /// Whether neighbours merge that join to a token, and pieces that are a token stay whole; else the merges count.
    pub by_bytes: bool,
    /// The regexes that split, in order.
    pub regexes: &'m [&'m str],
    /// The special tokens with their ids.
    pub special_tokens: &'m [(&'m str, u32)],
    /// The record of a training, and for each merge its count and the symbols left.
    pub training: Option<(Json, &'m [u64])>,
}

impl PlainModel<'_> {
    /// The bytes of its file, which are those that the Python package writes.
    ///
    /// # Errors
    /// [`Error::Model`] if the tables do not fit together.
    pub fn write(&self) -> Result<Vec<u8>> {
        let Tables { blob, ends, ids, merges } = self.tables;
        let added = self.special_tokens.iter().map(|(content, id)| {
            json!({"content": content, "id": id, "lstrip": false, "normalized": false, "rstrip": false,
                "single_word": false, "special": true})
        });
        let splitters = self.regexes.iter().map(|regex| {
            json!({"behavior": "isolated", "dialect": "rust", "invert": false, "kind": "regex", "pattern": regex})
        });
        let header = json!({"added_tokens": added.collect::<Vec<_>>(), "byte_fallback": false, "decoders": [],
            "kind": "bpe", "merge_rule": if self.by_bytes { "bytes" } else { "pair" }, "normalizers": [], "post": [],
            "splitters": splitters.collect::<Vec<_>>(), "unit": "byte", "unknown_id": null,
            "whole_piece": self.by_bytes});
        let numbers: Vec<u64> = merges.iter().flatten().copied().map(u64::from).collect();
        let mut rest = Vec::new();
        if let Some((record, counts)) = &self.training {
            rest.extend(format!("training {}\ncounts {}\n", spaced(record), counts.len() / 2).bytes());
            rest.extend(table::dump_number_lines(counts, 2));
        }
        file(b"toksmith 1", &header, (blob, ends, ids), &numbers, &rest)
    }
}

/// The file of a draft, which has no checksum, and whose objects and tokens can have any spelling that a reader accepts.
///
/// # Errors
/// [`Error::Format`] with the line that breaks the format. The sections after the merges are not read.
pub fn finish_draft(draft: &[u8]) -> Result<Vec<u8>> {
    let mut lines = Lines::new(draft, 0);
    let version = lines.next_required()?;
    let header: Json = json(&mut lines, "model")?;
    let count = count(&mut lines, "tokens")?;
    let (tokens, end) = table::parse_token_lines(draft, lines.next, count)?;
    lines.next = end;
    let (merges, end) = numbers(&mut lines, "merges", 3)?;
    file(version, &header, (&tokens.blob, &tokens.ends, &tokens.ids), &merges, &draft[end..])
}

/// A file with its checksum; `rest` has the sections after the merges.
fn file(
    version: &[u8],
    header: &Json,
    (blob, ends, ids): (&[u8], &[u32], &[u32]),
    merges: &[u64],
    rest: &[u8],
) -> Result<Vec<u8>> {
    let mut file = version.to_vec();
    file.extend(format!("\nmodel {}\ntokens {}\n", spaced(header), ids.len()).bytes());
    file.extend(table::dump_token_lines(blob, ends, ids)?);
    file.extend(format!("merges {}\n", merges.len() / 3).bytes());
    file.extend(table::dump_number_lines(merges, 3));
    file.extend_from_slice(rest);
    let digest = table::sha256(&file);
    file.extend(format!("sha256 {digest}\n").bytes());
    Ok(file)
}

/// The JSON of a section.
fn spaced(value: &Json) -> String {
    /// Writes a space after each comma and colon, and escapes hidden characters.
    struct Spaced;

    impl Formatter for Spaced {
        fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
            writer.write_all(if first { b"" } else { b", " })
        }

        fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
            self.begin_array_value(writer, first)
        }

        fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
            writer.write_all(b": ")
        }

        fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
            for char in text.chars() {
                if char != ' ' && table::is_hidden(char) {
                    char.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(writer, "\\u{unit:04x}"))?;
                } else {
                    write!(writer, "{char}")?;
                }
            }
            Ok(())
        }
    }

    let mut bytes = Vec::new();
    // Neither writing to memory nor a value of JSON fails.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, Spaced));
    String::from_utf8(bytes).unwrap_or_default()
}
