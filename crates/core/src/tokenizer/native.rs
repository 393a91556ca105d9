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
use crate::kinds::wordpiece::WordPiece;
use crate::kinds::{Kernel, PieceEncoder};
use crate::split::special::{AddedToken, AddedTokenFlags};
use crate::steps::{Spec, Value};
use crate::table::{self, Lines};
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
    match lines.next_required()? {
        b"toksmith 1" => {}
        b"toksmith 2" => return Err(refuse("unused ids or scores that are not finite (version 2 of the format)")),
        other => return Err(lines.error(format!("expected 'toksmith 1', not {}", table::quote(other)))),
    }
    let header: Header = json(&mut lines, "model")?;
    refuse_unsupported(&header)?;
    let count = count(&mut lines, "tokens")?;
    let (tokens, end) = table::parse_token_lines(data, lines.next, count)?;
    lines.next = end;
    let (merges, end) = numbers(&mut lines, "merges", 3)?;
    lines.next = end;
    if comes_next(&lines, "scores") {
        return Err(refuse("scores"));
    }
    if comes_next(&lines, "training") {
        let _: IgnoredAny = json(&mut lines, "training")?;
        lines.next = numbers(&mut lines, "counts", 2)?.1;
    }
    if comes_next(&lines, "metadata") {
        let _: IgnoredAny = json(&mut lines, "metadata")?;
    }
    let digest = table::sha256(&data[..lines.next]);
    if section(&mut lines, "sha256")? != digest.as_bytes() {
        return Err(lines.error(format!("the file was changed: the checksum of the lines above is {digest}")));
    }
    if lines.next < data.len() {
        return Err(lines.error("expected the end of the file after the checksum"));
    }
    // No token has the largest id, so that the vocabulary refuses a merge with a larger one.
    let ids = |number: &u64| u32::try_from(*number).unwrap_or(u32::MAX);
    let merges: Vec<[u32; 3]> = merges.as_chunks::<3>().0.iter().map(|row| row.each_ref().map(ids)).collect();
    model_parts(header, Tables { blob: &tokens.blob, ends: &tokens.ends, ids: &tokens.ids, merges: &merges })
}

fn comes_next(lines: &Lines<'_>, name: &str) -> bool {
    lines.data[lines.next..].strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b" "))
}

/// The rest of the next line, after the section's name.
fn section<'d>(lines: &mut Lines<'d>, name: &str) -> Result<&'d [u8]> {
    let line = lines.next_required()?;
    let rest = line.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
    rest.ok_or_else(|| lines.error(format!("expected the section '{name}', not {}", table::quote(line))))
}

fn json<T: DeserializeOwned>(lines: &mut Lines<'_>, name: &str) -> Result<T> {
    let text = section(lines, name)?;
    if text.len() > JSON_LIMIT {
        return Err(lines.error(format!("the JSON has {} bytes; at most {JSON_LIMIT} are allowed", text.len())));
    }
    serde_json::from_slice(text).map_err(|error| lines.error(format!("{name}: {error}")))
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

fn refuse(part: impl fmt::Display) -> Error {
    Error::model(format!("the model has {part}, which this crate cannot run; the Python package can"), None)
}

/// Refuses what no code here runs. Steps refuse themselves when they are made.
fn refuse_unsupported(header: &Header) -> Result<()> {
    let (symbols, kind) = (has_symbols(header), &*header.kind);
    let covered = matches!(kind, "wordpiece" | "words" | "chars");
    for (is_refused, part) in [
        (!covered && kind != "bpe", format!("the kind {kind:?}")),
        (header.score_type.is_some(), "scores".to_owned()),
        (header.byte_fallback && !symbols, "byte_fallback".to_owned()),
        (header.unknown_id.is_some() && !covered && !symbols, "unknown_id".to_owned()),
        (!header.continuing_subword_prefix.is_empty() && !symbols && kind != "wordpiece", "a prefix".to_owned()),
        (!header.end_of_word_suffix.is_empty() && !symbols, "a suffix".to_owned()),
        (header.fuse_unknown && !symbols, "fuse_unknown".to_owned()),
        (header.max_piece_chars.is_some() && kind != "wordpiece", "max_piece_chars".to_owned()),
    ] {
        if is_refused {
            return Err(refuse(part));
        }
    }
    Ok(())
}

/// Whether pieces of characters merge by pairs, so that symbols can be unknown or have a prefix or suffix.
fn has_symbols(header: &Header) -> bool {
    header.kind == "bpe" && header.unit == "char" && header.merge_rule == "pair"
}

fn model_parts(header: Header, tables: Tables<'_>) -> Result<ModelParts> {
    let merge_rule = match &*header.merge_rule {
        "pair" => MergeRule::Pair,
        "bytes" => MergeRule::Bytes,
        other => return Err(refuse(format!("the merge_rule {other:?}"))),
    };
    let unit = match (&*header.kind, &*header.unit) {
        ("bpe", "byte") => Unit::Byte,
        ("bpe" | "chars", "char") => Unit::Char,
        ("wordpiece" | "words", "byte" | "char") => Unit::Piece,
        (kind, unit) => return Err(refuse(format!("the kind {kind:?} with the unit {unit:?}"))),
    };
    let (prefix, unknown) = (&*header.continuing_subword_prefix, header.unknown_id);
    let merge_prefix = if unit == Unit::Piece { "" } else { prefix };
    let vocab = Vocab::with_prefix(unit, merge_rule, header.whole_piece, tables, merge_prefix.as_bytes())?;
    let vocab = Arc::new(vocab);
    let kernel = match (&*header.kind, unknown) {
        ("wordpiece", _) => Kernel::WordPiece(WordPiece::new(&vocab, prefix, header.max_piece_chars, unknown)),
        ("words", _) => Kernel::Words(unknown),
        ("chars", _) => Kernel::Merge(unknown),
        _ => Kernel::Merge(None),
    };
    let is_marked = !prefix.is_empty() || !header.end_of_word_suffix.is_empty();
    let needs_symbols = has_symbols(&header) && (is_marked || header.byte_fallback || unknown.is_some());
    let symbols = needs_symbols.then(|| HfCharacters {
        prefix: prefix.to_owned(),
        suffix: header.end_of_word_suffix,
        unknown,
        fuse_unknown: header.fuse_unknown,
        byte_fallback: header.byte_fallback,
        drops_unknown: false,
    });
    let added = header.added_tokens.into_iter().map(|token| {
        let AddedField { content, id, special, lstrip, rstrip, single_word, normalized } = token;
        AddedToken { content, id, special, flags: AddedTokenFlags { lstrip, rstrip, single_word, normalized } }
    });
    let specs = |steps: Vec<StepField>| steps.into_iter().map(|step| step.0).collect();
    Ok(ModelParts {
        pieces: Arc::new(PieceEncoder::new(vocab, kernel)),
        added: added.collect(),
        normalizers: specs(header.normalizers),
        splitters: specs(header.splitters),
        decoders: specs(header.decoders),
        symbols,
    })
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
        let mut file = format!("toksmith 1\nmodel {}\ntokens {}\n", spaced(&header), ids.len()).into_bytes();
        file.extend(table::dump_token_lines(blob, ends, ids)?);
        file.extend(format!("merges {}\n", merges.len()).bytes());
        file.extend(table::dump_number_lines(&numbers, 3));
        if let Some((record, counts)) = &self.training {
            file.extend(format!("training {}\ncounts {}\n", spaced(record), counts.len() / 2).bytes());
            file.extend(table::dump_number_lines(counts, 2));
        }
        let digest = table::sha256(&file);
        file.extend(format!("sha256 {digest}\n").bytes());
        Ok(file)
    }
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
