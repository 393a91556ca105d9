//! Cuts added tokens out of a text, before any other step.
//!
//! One scan finds all added tokens, leftmost first and then longest. Tokens that are not special are always cut. The
//! caller decides about special tokens by [`Allow`]; by default they are an error, so that a text from outside can
//! never contain a control token.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, Input, MatchKind, StartKind};
use hashbrown::HashMap;

use crate::error::{Error, Result};
use crate::split::prefixes::PrefixTrie;
use crate::threads::once::Once;
use crate::vocab::ID_LIMIT;

/// A token that is found in the text before splitting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedToken {
    /// Its text, never empty.
    pub content: String,
    /// Its id; several may share one.
    pub id: u32,
    /// Whether it is a control token, found only if the call allows it.
    pub special: bool,
    /// The rules for finding it.
    pub flags: AddedTokenFlags,
}

/// The rules for finding an added token, and for the text around it that belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
// They are independent, and files have each by its name.
#[allow(clippy::struct_excessive_bools)]
pub struct AddedTokenFlags {
    /// Whether white space before it belongs to it.
    pub lstrip: bool,
    /// Whether white space after it belongs to it.
    pub rstrip: bool,
    /// Whether it is found only with no word character directly before or after it.
    pub single_word: bool,
    /// Whether it is searched in the normalized text, and its content is normalized too.
    pub normalized: bool,
}

/// The handling of special tokens in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allow {
    /// They are an error.
    Raise,
    /// All become their ids.
    All,
    /// All are ordinary text.
    Text,
    /// Those at these places in the list of added tokens, sorted, become their ids; the others are an error.
    Some(Vec<usize>),
}

/// A part of a text: ordinary, or one added token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// Text to split: its start and end.
    Text(usize, usize),
    /// An added token: its id, start and end. White space that two tokens share belongs to the first, but the second
    /// can begin in it.
    Token(u32, usize, usize),
}

/// The added tokens of a tokenizer, with the automata to find them.
#[derive(Debug, Default)]
pub struct AddedTokens {
    tokens: Vec<AddedToken>,
    places: HashMap<String, usize>,
    longest: usize,
    beginnings: Once<PrefixTrie>,
    raw: TokenSearch,
    /// The tokens that are found in the normalized text.
    normalized: TokenSearch,
}

/// An automaton for some of the added tokens.
#[derive(Debug, Default)]
struct TokenSearch {
    all: Option<AhoCorasick>,
    places: Vec<usize>,
    /// Finds only the tokens that are not special.
    ordinary: Option<AhoCorasick>,
    ordinary_places: Vec<usize>,
}

impl AddedTokens {
    /// The memory of the tokens and the automata in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let contents: usize = self.tokens.iter().map(|token| 2 * token.content.len() + size_of::<AddedToken>()).sum();
        contents + self.places.allocation_size() + self.raw.bytes() + self.normalized.bytes()
    }

    /// Builds the automata of these tokens. If several share an id, earlier ones take precedence.
    ///
    /// # Errors
    /// [`Error::Model`] for an empty content or a repeated one.
    pub fn new(tokens: Vec<AddedToken>) -> Result<Self> {
        let mut places = HashMap::with_capacity(tokens.len());
        for (place, token) in tokens.iter().enumerate() {
            if token.content.is_empty() {
                return Err(Error::model("an added token has no content", Some(token.id)));
            }
            if token.id >= ID_LIMIT {
                return Err(Error::model(format!("ids must be below {ID_LIMIT}"), Some(token.id)));
            }
            if places.insert(token.content.clone(), place).is_some() {
                let content = &token.content;
                return Err(Error::model(format!("the added token {content} is listed twice"), Some(token.id)));
            }
        }
        let longest = tokens.iter().map(|token| token.content.len()).max().unwrap_or(0);
        let of = |normalized| {
            let found = tokens.iter().enumerate().filter(move |(_, token)| token.flags.normalized == normalized);
            found.map(|(place, token)| (place, token.content.clone())).collect()
        };
        let (raw, normalized) = (TokenSearch::new(&tokens, of(false))?, TokenSearch::new(&tokens, of(true))?);
        Ok(Self { tokens, places, longest, beginnings: Once::default(), raw, normalized })
    }

    /// The same tokens; tokens of the normalized text are found in the form that `normalize` gives them.
    /// An empty form is found before every character: it cuts the text there, and is a token where its flags give it
    /// white space. Of several equal forms, the first token is found.
    ///
    /// # Errors
    /// The errors of `normalize`.
    pub fn normalize_contents(mut self, normalize: impl Fn(&str) -> Result<String>) -> Result<Self> {
        let mut contents = Vec::new();
        for (place, token) in self.tokens.iter().enumerate().filter(|(_, token)| token.flags.normalized) {
            contents.push((place, normalize(&token.content)?));
        }
        self.normalized = TokenSearch::new(&self.tokens, contents)?;
        Ok(self)
    }

    /// Whether a token is found in the normalized text.
    #[must_use]
    pub fn any_normalized(&self) -> bool {
        self.normalized.all.is_some()
    }

    /// The place of the token with this content.
    #[must_use]
    pub fn place(&self, content: &str) -> Option<usize> {
        self.places.get(content).copied()
    }

    /// The tokens, in order.
    #[must_use]
    pub fn tokens(&self) -> &[AddedToken] {
        &self.tokens
    }

    /// The length of the longest content, in bytes; 0 without tokens.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Whether the content of a token, special or not, occurs in `text` across `at`.
    #[must_use]
    pub fn crosses(&self, text: &[u8], at: usize) -> bool {
        let Some(finder) = &self.raw.all else { return false };
        let end = text.len().min(at + self.longest);
        let mut start = at.saturating_sub(self.longest);
        // The longest content that starts at a place crosses `at` if any content that starts there does.
        while let Some(hit) = finder.find(Input::new(text).span(start..end)).filter(|hit| hit.start() < at) {
            if hit.end() > at {
                return true;
            }
            start = hit.start() + 1;
        }
        false
    }

    /// The most bytes at the end of `text` that can begin the content of a token, which more text would complete.
    #[must_use]
    pub fn partial_len(&self, text: &[u8]) -> usize {
        let make = || PrefixTrie::new(self.tokens.iter().map(|token| token.content.as_bytes()));
        self.beginnings
            .get(make)
            .map_or_else(|| make().open_suffix_len(text), |prefixes| prefixes.open_suffix_len(text))
    }

    /// Calls `each` with every part of `text`, in order; empty text parts are left out.
    ///
    /// # Errors
    /// [`Error::SpecialTokenInText`] for the first token that `allow` does not allow, before anything after it is
    /// examined, and the errors of `each`.
    pub fn cut(&self, text: &[u8], allow: &Allow, each: impl FnMut(Segment) -> Result<()>) -> Result<()> {
        self.search(&self.raw, text, allow, each)
    }

    /// The same for a normalized text and the tokens that are found in it.
    ///
    /// # Errors
    /// As [`Self::cut`].
    pub fn cut_normalized(&self, text: &str, allow: &Allow, each: impl FnMut(Segment) -> Result<()>) -> Result<()> {
        self.search(&self.normalized, text.as_bytes(), allow, each)
    }

    fn search(
        &self,
        search: &TokenSearch,
        text: &[u8],
        allow: &Allow,
        mut each: impl FnMut(Segment) -> Result<()>,
    ) -> Result<()> {
        let (finder, places) = match allow {
            Allow::Text => (&search.ordinary, &search.ordinary_places),
            _ => (&search.all, &search.places),
        };
        let mut at = 0;
        for hit in finder.iter().flat_map(|finder| finder.find_iter(text)) {
            if hit.is_empty() && text.get(hit.start()).is_some_and(|&byte| is_continuation(byte)) {
                continue;
            }
            let place = places[hit.pattern().as_usize()];
            let token = &self.tokens[place];
            let Some((start, end)) = token.flags.widen(text, hit.start(), hit.end()) else { continue };
            if start < end && !is_allowed(token, place, allow) {
                return Err(Error::SpecialTokenInText { token: token.content.clone(), offset: hit.start() });
            }
            // The white space before it can already belong to the token before. Then it can be empty.
            if token.flags.lstrip && end <= at {
                continue;
            }
            if at < start {
                each(Segment::Text(at, start))?;
            }
            let start = if token.flags.lstrip { start.max(at) } else { start };
            if start < end {
                each(Segment::Token(token.id, start, end))?;
            }
            at = end;
        }
        if at < text.len() { each(Segment::Text(at, text.len())) } else { Ok(()) }
    }
}

impl TokenSearch {
    fn bytes(&self) -> usize {
        let searches = [&self.all, &self.ordinary].into_iter().flatten();
        let places = size_of_val(&self.places[..]) + size_of_val(&self.ordinary_places[..]);
        searches.map(AhoCorasick::memory_usage).sum::<usize>() + places
    }

    fn new(tokens: &[AddedToken], contents: Vec<(usize, String)>) -> Result<Self> {
        let ordinary = contents.iter().filter(|(place, _)| !tokens[*place].special);
        let (ordinary_places, ordinary): (Vec<usize>, Vec<&String>) =
            ordinary.map(|(place, text)| (*place, text)).unzip();
        let ordinary = build_automaton(&ordinary, StartKind::Unanchored)?;
        let (places, contents): (Vec<usize>, Vec<String>) = contents.into_iter().unzip();
        let all = build_automaton(&contents, StartKind::Unanchored)?;
        Ok(Self { all, places, ordinary, ordinary_places })
    }
}

impl AddedTokenFlags {
    /// The range of a token whose content goes from `start` to `end`; None if the token does not count there.
    fn widen(self, text: &[u8], mut start: usize, mut end: usize) -> Option<(usize, usize)> {
        if self == Self::default() {
            return Some((start, end));
        }
        if self.single_word {
            let in_word = |char: Option<char>| char.is_some_and(regex_syntax::is_word_character);
            if in_word(last_char(&text[..start])) || in_word(first_char(&text[end..])) {
                return None;
            }
        }
        while let Some(char) = last_char(&text[..start]).filter(|char| self.lstrip && char.is_whitespace()) {
            start -= char.len_utf8();
        }
        while let Some(char) = first_char(&text[end..]).filter(|char| self.rstrip && char.is_whitespace()) {
            end += char.len_utf8();
        }
        Some((start, end))
    }
}

/// Whether a byte of UTF-8 continues a character.
fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The character that starts a text; None if the text starts with bytes that are not UTF-8.
fn first_char(text: &[u8]) -> Option<char> {
    text[..text.len().min(4)].utf8_chunks().next()?.valid().chars().next()
}

/// The character that ends a text.
fn last_char(text: &[u8]) -> Option<char> {
    let ends = (1..=4).filter_map(|len| text.get(text.len().checked_sub(len)?..));
    ends.filter_map(|end| std::str::from_utf8(end).ok()).find_map(|end| end.chars().next())
}

fn is_allowed(token: &AddedToken, place: usize, allow: &Allow) -> bool {
    match allow {
        Allow::All | Allow::Text => true,
        Allow::Raise => !token.special,
        Allow::Some(places) => !token.special || places.binary_search(&place).is_ok(),
    }
}

/// Builds the automaton that finds the leftmost of these contents, then the longest, at such starts; None for no
/// contents.
///
/// # Errors
/// [`Error::Model`] for too many contents.
pub fn build_automaton(contents: &[impl AsRef<str>], starts: StartKind) -> Result<Option<AhoCorasick>> {
    if contents.is_empty() {
        return Ok(None);
    }
    let mut builder = AhoCorasickBuilder::new();
    let builder = builder.match_kind(MatchKind::LeftmostLongest).start_kind(starts);
    let built = builder.build(contents.iter().map(AsRef::as_ref));
    built.map(Some).map_err(|error| Error::model(format!("the added tokens cannot be searched for: {error}"), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::added_token;

    fn make_tokens() -> AddedTokens {
        let tokens = [("<a", 1, true), ("<ab", 2, true), ("##", 3, false)];
        AddedTokens::new(tokens.map(|(content, id, special)| added_token(content, id, special)).into()).unwrap()
    }

    fn cut(text: &str, allow: &Allow) -> Result<Vec<String>> {
        let mut parts = Vec::new();
        make_tokens().cut(text.as_bytes(), allow, |segment| {
            parts.push(match segment {
                Segment::Text(start, end) => format!("{}@{start}", &text[start..end]),
                Segment::Token(id, ..) => id.to_string(),
            });
            Ok(())
        })?;
        Ok(parts)
    }

    #[test]
    fn the_longest_of_the_leftmost_is_cut() {
        assert_eq!(cut("x<ab<a##", &Allow::All).unwrap(), ["x@0", "2", "1", "3"]);
        assert_eq!(cut("", &Allow::All).unwrap(), [""; 0]);
    }

    #[test]
    fn contents_cross_the_places_inside_them() {
        let crossed =
            |text: &str| (0..=text.len()).filter(|&at| make_tokens().crosses(text.as_bytes(), at)).collect::<Vec<_>>();
        assert_eq!(crossed("<ab<a"), [1, 2, 4]);
        assert_eq!(crossed("x###"), [2, 3]);
        assert_eq!(crossed("x< a"), [0; 0]);
    }

    #[test]
    fn flags_extend_a_token_or_refuse_it() {
        let token = |content: &str, id, lstrip, rstrip, single_word| AddedToken {
            content: content.into(),
            id,
            special: false,
            flags: AddedTokenFlags { lstrip, rstrip, single_word, normalized: false },
        };
        let tokens = [
            token("<l>", 1, true, false, false),
            token("<r>", 2, false, true, false),
            token("w", 3, false, false, true),
            token("\u{2003}", 4, true, false, false),
        ];
        let added = AddedTokens::new(tokens.into()).unwrap();
        let cut = |text: &str| {
            let mut parts = Vec::new();
            let push = |segment| {
                parts.push(segment);
                Ok(())
            };
            added.cut(text.as_bytes(), &Allow::Text, push).unwrap();
            parts
        };
        assert_eq!(cut("a\u{3000} <l> b"), [Segment::Text(0, 1), Segment::Token(1, 1, 8), Segment::Text(8, 10)]);
        assert_eq!(cut("<r>  <l>"), [Segment::Token(2, 0, 5), Segment::Token(1, 5, 8)]);
        assert_eq!(cut("<r> \u{2003}b"), [Segment::Token(2, 0, 7), Segment::Text(7, 8)]);
        assert_eq!(cut("w ww é w"), [Segment::Token(3, 0, 1), Segment::Text(1, 8), Segment::Token(3, 8, 9)]);
    }

    #[test]
    fn a_token_that_normalizes_to_nothing_cuts_at_every_character() {
        let cut = |text: &str, flags: AddedTokenFlags| {
            let flags = AddedTokenFlags { normalized: true, ..flags };
            let token = AddedToken { content: "x".into(), id: 7, special: true, flags };
            let added = AddedTokens::new(vec![token]).unwrap().normalize_contents(|_| Ok(String::new())).unwrap();
            let mut parts = Vec::new();
            let result = added.cut_normalized(text, &Allow::Raise, |segment| {
                parts.push(segment);
                Ok(())
            });
            result.map(|()| parts)
        };
        let token = |content: &str, id, special| {
            let flags = AddedTokenFlags { normalized: true, ..AddedTokenFlags::default() };
            AddedToken { flags, ..added_token(content, id, special) }
        };
        let alike = AddedTokens::new(vec![token("a", 1, true), token("b", 2, false)]).unwrap();
        let alike = alike.normalize_contents(|_| Ok("c".into())).unwrap();
        let push = |segment| {
            assert_eq!(segment, Segment::Token(1, 0, 1));
            Ok(())
        };
        alike.cut_normalized("c", &Allow::All, push).unwrap();
        let plain = AddedTokenFlags::default();
        assert_eq!(cut("aé b", plain).unwrap(), [(0, 1), (1, 3), (3, 4), (4, 5)].map(|(a, b)| Segment::Text(a, b)));
        assert_eq!(cut("", plain).unwrap(), []);
        let words = cut("ab  c", AddedTokenFlags { single_word: true, ..plain }).unwrap();
        assert_eq!(words, [Segment::Text(0, 3), Segment::Text(3, 5)]);
        let spaces = AddedTokenFlags { rstrip: true, ..plain };
        let special = Error::SpecialTokenInText { token: "x".into(), offset: 1 };
        assert_eq!(cut("a b", spaces).unwrap_err(), special);
        assert_eq!(cut("ab", spaces).unwrap(), [Segment::Text(0, 1), Segment::Text(1, 2)]);
    }

    #[test]
    fn the_end_of_a_text_can_begin_a_content() {
        let begun = |text: &str| make_tokens().partial_len(text.as_bytes());
        assert_eq!((begun("x<"), begun("x<a"), begun("x<ab"), begun("##"), begun("a#"), begun("")), (1, 2, 0, 1, 1, 0));
    }

    #[test]
    fn only_special_tokens_need_permission() {
        let token = |token: &str, offset| Error::SpecialTokenInText { token: token.into(), offset };
        assert_eq!(cut("x##y<ab", &Allow::Raise).unwrap_err(), token("<ab", 4));
        assert_eq!(cut("x##y<ab", &Allow::Text).unwrap(), ["x@0", "3", "y<ab@3"]);
        assert_eq!(cut("x<a", &Allow::Some(vec![0])).unwrap(), ["x@0", "1"]);
        assert_eq!(cut("x<ab", &Allow::Some(vec![0])).unwrap_err(), token("<ab", 1));
    }
}
