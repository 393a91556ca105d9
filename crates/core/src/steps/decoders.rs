//! The table of decoders, which turn tokens into a text one after another: one row for each kind.

use super::bytes::byte_of;
use super::find::Finder;
use super::located::LocatedStep;
use super::normalizers::replaced_len;
use super::options::StepRow;
use crate::error::{Error, Result};
use crate::regex::MatchSpan;
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;

/// One decoder.
#[derive(Debug)]
pub enum DecodeStep {
    /// Joins all tokens, and turns byte characters into bytes.
    ByteCharacters,
    /// Decodes tokens that spell a byte (`<0x41>`).
    ByteFallback,
    /// Replaces the matches in each token.
    Replace(Finder, String),
    /// Joins all tokens into one.
    Fuse,
    /// Removes up to the given numbers of a character from the start and the end of each token.
    Strip(char, usize, usize),
    /// Turns a character back into spaces; with the flag, the first token loses it.
    Metaspace(char, bool),
    /// Replaces the mark of a word's end by a space, and removes the last mark.
    WordEnd(String),
    /// Inserts spaces before tokens that do not continue a word; with the flag, not before punctuation.
    WordPiece(String, bool),
    /// For speech models: merges repeated tokens, and drops the pad token.
    Ctc(String, String, bool),
    /// Inserts a space between two tokens.
    Spaced,
}

/// Every kind, by name.
pub const ROWS: &[StepRow<DecodeStep>] = &[
    ("byte_characters", |_| Ok(vec![DecodeStep::ByteCharacters])),
    ("byte_fallback", |_| Ok(vec![DecodeStep::ByteFallback])),
    ("ctc", |options| {
        let (pad, delimiter) = (options.text("pad")?.to_owned(), options.text("delimiter")?.to_owned());
        Ok(vec![DecodeStep::Ctc(pad, delimiter, options.flag("cleanup")?)])
    }),
    ("fuse", |_| Ok(vec![DecodeStep::Fuse])),
    ("metaspace", |options| Ok(vec![DecodeStep::Metaspace(options.char("replacement")?, options.flag("drop_first")?)])),
    ("replace", |options| {
        let finder = Finder::new(options.text("pattern")?, options.text("dialect")?)?;
        Ok(vec![DecodeStep::Replace(finder, options.text("content")?.to_owned())])
    }),
    ("spaced", |_| Ok(vec![DecodeStep::Spaced])),
    ("strip", |options| {
        Ok(vec![DecodeStep::Strip(options.char("content")?, options.count("start")?, options.count("stop")?)])
    }),
    ("word_end", |options| Ok(vec![DecodeStep::WordEnd(options.text("suffix")?.to_owned())])),
    ("wordpiece", |options| {
        Ok(vec![DecodeStep::WordPiece(options.text("prefix")?.to_owned(), options.flag("cleanup")?)])
    }),
];

/// Decoders, one after the other.
#[derive(Debug)]
pub struct DecoderChain {
    pub(super) decoders: Vec<LocatedStep<DecodeStep>>,
}

impl DecoderChain {
    /// Whether a regex runs, which takes longer than the number of tokens suggests.
    #[must_use]
    pub fn uses_regex(&self) -> bool {
        self.decoders.iter().any(|decoder| matches!(&**decoder, DecodeStep::Replace(finder, _) if finder.uses_regex()))
    }

    /// Decodes tokens into a text.
    ///
    /// # Errors
    /// [`Error::Pattern`] if a regex engine gives up, [`Error::TooLong`] and [`Error::Interrupted`].
    pub fn decode(&self, mut tokens: Vec<String>, stop: &Stop) -> Result<String> {
        let bounds = Bounds::new(total_len(&tokens), stop);
        for decoder in &self.decoders {
            stop.check()?;
            let before = total_len(&tokens);
            let resize = |after: usize| bounds.resize(before, after, || decoder.name());
            if let DecodeStep::Replace(finder, content) = &**decoder {
                tokens = replace_matches(&tokens, finder, content, &bounds, &resize)?;
            } else {
                tokens = decoder.apply(tokens, stop)?;
                resize(total_len(&tokens))?;
            }
        }
        Ok(tokens.concat())
    }
}

fn total_len(tokens: &[String]) -> usize {
    tokens.iter().map(String::len).sum()
}

impl DecodeStep {
    /// Applies the step: the result is at most a few times as long. Only [`replace_matches`] can make more.
    fn apply(&self, tokens: Vec<String>, stop: &Stop) -> Result<Vec<String>> {
        let last = tokens.len().saturating_sub(1);
        let each = |tokens: Vec<String>, change: &dyn Fn(usize, String) -> String| {
            tokens.into_iter().enumerate().map(|(place, token)| stop.check().map(|()| change(place, token))).collect()
        };
        match self {
            Self::ByteCharacters => Ok(vec![decode_byte_characters(&tokens)]),
            Self::ByteFallback => Ok(decode_byte_tokens(tokens)),
            Self::Replace(..) => Ok(tokens),
            Self::Fuse => Ok(vec![tokens.concat()]),
            Self::Strip(content, start, stop) => each(tokens, &|_, token| strip_token(&token, *content, *start, *stop)),
            Self::Metaspace(mark, drop_first) => each(tokens, &|place, token| {
                let space = if place == 0 && *drop_first { "" } else { " " };
                token.replace(*mark, space)
            }),
            Self::WordEnd(suffix) => {
                each(tokens, &|place, token| token.replace(suffix, if place == last { "" } else { " " }))
            }
            Self::WordPiece(prefix, cleanup) => each(tokens, &|place, token| {
                let token = match token.strip_prefix(prefix.as_str()) {
                    _ if place == 0 => token,
                    Some(rest) => rest.to_owned(),
                    None => format!(" {token}"),
                };
                if *cleanup { clean_token(&token) } else { token }
            }),
            Self::Ctc(pad, delimiter, cleanup) => Ok(decode_ctc(tokens, pad, delimiter, *cleanup)),
            Self::Spaced => each(tokens, &|place, token| if place == 0 { token } else { format!(" {token}") }),
        }
    }
}

/// The text of the bytes that all tokens spell. A token with other characters stays unchanged.
fn decode_byte_characters(tokens: &[String]) -> String {
    let mut bytes = Vec::with_capacity(tokens.len() * 4);
    for token in tokens {
        match token.chars().map(byte_of).collect::<Option<Vec<u8>>>() {
            Some(decoded) => bytes.extend(decoded),
            None => bytes.extend_from_slice(token.as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The byte of a token that spells one.
fn byte_token(token: &str) -> Option<u8> {
    let digits =
        token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>')).filter(|digits| digits.len() == 2)?;
    u8::from_str_radix(digits, 16).ok()
}

/// The tokens, with each run of byte tokens as one text, or as U+FFFD for each byte if the run is not UTF-8.
fn decode_byte_tokens(tokens: Vec<String>) -> Vec<String> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut run = Vec::new();
    let finish = |run: &mut Vec<u8>, out: &mut Vec<String>| {
        let bytes = std::mem::take(run);
        let count = bytes.len();
        match String::from_utf8(bytes) {
            Ok(text) => out.extend((count > 0).then_some(text)),
            Err(_) => out.extend(std::iter::repeat_n("\u{FFFD}".to_owned(), count)),
        }
    };
    for token in tokens {
        if let Some(byte) = byte_token(&token) {
            run.push(byte);
        } else {
            finish(&mut run, &mut out);
            out.push(token);
        }
    }
    finish(&mut run, &mut out);
    out
}

/// The tokens with each match replaced by `content`. `resize` gets their new length before they grow.
fn replace_matches(
    tokens: &[String],
    finder: &Finder,
    content: &str,
    bounds: &Bounds<'_>,
    resize: &dyn Fn(usize) -> Result<()>,
) -> Result<Vec<String>> {
    let found = tokens.iter().map(|token| finder.find(token, bounds).map_err(Error::without_offset));
    let found = found.collect::<Result<Vec<_>>>()?;
    resize(found.iter().fold(0, |len: usize, found| len.saturating_add(replaced_len(found, content))))?;
    let with = |(token, found): (&String, Vec<MatchSpan>)| {
        let part = |found: MatchSpan| if found.is_match { content } else { &token[found.start..found.end] };
        found.into_iter().map(part).collect()
    };
    Ok(tokens.iter().zip(found).map(with).collect())
}

fn strip_token(token: &str, content: char, start: usize, stop: usize) -> String {
    let leading = token.chars().take(start).take_while(|&char| char == content).count();
    let rest: &str = &token[leading * content.len_utf8()..];
    let trailing = rest.chars().rev().take(stop).take_while(|&char| char == content).count();
    rest[..rest.len() - trailing * content.len_utf8()].to_owned()
}

/// The token without spaces before punctuation and contractions.
fn clean_token(token: &str) -> String {
    const PAIRS: [(&str, &str); 11] = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" do not", " don't"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    PAIRS.iter().fold(token.to_owned(), |token, (from, to)| token.replace(from, to))
}

fn decode_ctc(mut tokens: Vec<String>, pad: &str, delimiter: &str, cleanup: bool) -> Vec<String> {
    tokens.dedup();
    let shown = |token: String| {
        let token = token.replace(pad, "");
        if cleanup { clean_token(&token).replace(delimiter, " ") } else { token }
    };
    tokens.into_iter().map(shown).filter(|token| !token.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply_step(decoder: &DecodeStep, tokens: &[&str]) -> Vec<String> {
        decoder.apply(tokens.iter().map(ToString::to_string).collect(), &Stop::default()).unwrap()
    }

    #[test]
    fn bytes_become_characters_if_they_are_utf8() {
        assert_eq!(apply_step(&DecodeStep::ByteFallback, &["a", "<0xC3>", "<0xA9>", "b"]), ["a", "é", "b"]);
        assert_eq!(apply_step(&DecodeStep::ByteFallback, &["<0xC3>", "b", "<0xc3>"]), ["\u{FFFD}", "b", "\u{FFFD}"]);
        assert_eq!(apply_step(&DecodeStep::ByteCharacters, &["Ġa", "<｜b｜>", "Ã", "©"]), [" a<｜b｜>é"]);
    }

    #[test]
    fn marks_become_spaces() {
        assert_eq!(apply_step(&DecodeStep::Strip(' ', 2, 1), &["   a  ", "b", " "]), [" a ", "b", ""]);
        assert_eq!(apply_step(&DecodeStep::Metaspace('▁', true), &["▁a▁b", "▁c"]), ["ab", " c"]);
        assert_eq!(apply_step(&DecodeStep::WordEnd("</w>".into()), &["a</w>", "b</w>"]), ["a ", "b"]);
        assert_eq!(
            apply_step(&DecodeStep::WordPiece("##".into(), true), &["a", "##b", "c", "."]),
            ["a", "b", " c", "."]
        );
        let ctc = DecodeStep::Ctc("<pad>".into(), "|".into(), true);
        assert_eq!(apply_step(&ctc, &["<pad>", "h", "h", "<pad>", "h", "|"]), ["h", "h", " "]);
    }
}
