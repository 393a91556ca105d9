//! Cutting added tokens out of a text, before anything else happens to it.
//!
//! One scan finds all added tokens, leftmost first and then longest. Tokens that are not special are always cut. What
//! happens to a special one is the caller's choice, [`Allow`]; by default it is an error, so that text from outside can
//! never slip a control token in.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, Input, MatchKind};
use hashbrown::HashMap;

use crate::error::{Error, Result};
use crate::vocab::ID_LIMIT;

/// A token that is found in the text before it is split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedToken {
    /// Its text, never empty.
    pub content: String,
    /// Its id; several may share one.
    pub id: u32,
    /// Whether it is a control token, found only where the call allows it.
    pub special: bool,
}

/// What to do with special tokens in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allow {
    /// None may occur.
    Raise,
    /// All turn into their ids.
    All,
    /// All are ordinary text.
    Text,
    /// These (by place in the list of added tokens, sorted) turn into their ids; the others may not occur.
    Some(Vec<usize>),
}

/// A part of a text: ordinary, or one added token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// Text to split: where it starts and ends.
    Text(usize, usize),
    /// An added token's id, and where it ends.
    Token(u32, usize),
}

/// The added tokens of a tokenizer, ready to be searched.
#[derive(Debug)]
pub struct AddedTokens {
    tokens: Vec<AddedToken>,
    places: HashMap<String, usize>,
    longest: usize,
    all: Option<AhoCorasick>,
    /// Finds only the tokens that are not special, whose places are in `plain`.
    ordinary: Option<AhoCorasick>,
    plain: Vec<usize>,
}

impl AddedTokens {
    /// The tokens, in order of preference where several share an id.
    ///
    /// # Errors
    /// [`Error::Model`] for an empty content or one listed twice.
    pub fn new(tokens: Vec<AddedToken>) -> Result<Self> {
        let mut places = HashMap::with_capacity(tokens.len());
        for (place, token) in tokens.iter().enumerate() {
            if token.content.is_empty() {
                return Err(Error::model("an added token has no content", Some(token.id)));
            }
            if token.id >= ID_LIMIT {
                return Err(Error::model(format!("ids must lie below {ID_LIMIT}"), Some(token.id)));
            }
            if places.insert(token.content.clone(), place).is_some() {
                let content = &token.content;
                return Err(Error::model(format!("the added token {content} is listed twice"), Some(token.id)));
            }
        }
        let plain: Vec<usize> = (0..tokens.len()).filter(|&place| !tokens[place].special).collect();
        let all = automaton(tokens.iter())?;
        let ordinary = automaton(plain.iter().map(|&place| &tokens[place]))?;
        let longest = tokens.iter().map(|token| token.content.len()).max().unwrap_or(0);
        Ok(Self { tokens, places, longest, all, ordinary, plain })
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

    /// Whether some token's content, special or not, stands in `text` with a part before `at` and a part behind it.
    #[must_use]
    pub fn cross(&self, text: &[u8], at: usize) -> bool {
        let Some(finder) = &self.all else { return false };
        let end = text.len().min(at + self.longest);
        let mut start = at.saturating_sub(self.longest);
        // The longest content that starts at a place crosses `at` if any that starts there does.
        while let Some(found) = finder.find(Input::new(text).span(start..end)).filter(|found| found.start() < at) {
            if found.end() > at {
                return true;
            }
            start = found.start() + 1;
        }
        false
    }

    /// How many bytes at the end of `text` some token's content may have begun with, that more text would complete.
    #[must_use]
    pub fn begun(&self, text: &[u8]) -> usize {
        let most = text.len().min(self.longest.saturating_sub(1));
        let begins = |len: usize| {
            let end = &text[text.len() - len..];
            self.tokens.iter().any(|token| token.content.len() > len && token.content.as_bytes().starts_with(end))
        };
        (1..=most).rev().find(|&len| begins(len)).unwrap_or(0)
    }

    /// Calls `each` with every part of `text`, in order; empty text parts are left out.
    ///
    /// # Errors
    /// [`Error::SpecialTokenInText`] for one that `allow` does not allow, before anything after it is looked at, and
    /// whatever `each` returns.
    pub fn cut(&self, text: &[u8], allow: &Allow, mut each: impl FnMut(Segment) -> Result<()>) -> Result<()> {
        let finder = if *allow == Allow::Text { &self.ordinary } else { &self.all };
        let mut start = 0;
        if let Some(finder) = finder {
            for found in finder.find_iter(text) {
                let place = found.pattern().as_usize();
                let place = if *allow == Allow::Text { self.plain[place] } else { place };
                let token = &self.tokens[place];
                if !allowed(token, place, allow) {
                    return Err(Error::SpecialTokenInText { token: token.content.clone(), offset: found.start() });
                }
                if start < found.start() {
                    each(Segment::Text(start, found.start()))?;
                }
                each(Segment::Token(token.id, found.end()))?;
                start = found.end();
            }
        }
        if start < text.len() { each(Segment::Text(start, text.len())) } else { Ok(()) }
    }
}

fn allowed(token: &AddedToken, place: usize, allow: &Allow) -> bool {
    match allow {
        Allow::All | Allow::Text => true,
        Allow::Raise => !token.special,
        Allow::Some(places) => !token.special || places.binary_search(&place).is_ok(),
    }
}

fn automaton<'a>(tokens: impl ExactSizeIterator<Item = &'a AddedToken>) -> Result<Option<AhoCorasick>> {
    if tokens.len() == 0 {
        return Ok(None);
    }
    AhoCorasickBuilder::new()
        .match_kind(MatchKind::LeftmostLongest)
        .build(tokens.map(|token| token.content.as_bytes()))
        .map(Some)
        .map_err(|error| Error::model(format!("the added tokens cannot be searched for: {error}"), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> AddedTokens {
        let token = |content: &str, id, special| AddedToken { content: content.into(), id, special };
        AddedTokens::new(vec![token("<a", 1, true), token("<ab", 2, true), token("##", 3, false)]).unwrap()
    }

    fn cut(text: &str, allow: &Allow) -> Result<Vec<String>> {
        let mut parts = Vec::new();
        tokens().cut(text.as_bytes(), allow, |segment| {
            parts.push(match segment {
                Segment::Text(start, end) => format!("{}@{start}", &text[start..end]),
                Segment::Token(id, _) => id.to_string(),
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
    fn contents_cross_a_place_that_lies_inside_them() {
        let crossed =
            |text: &str| (0..=text.len()).filter(|&at| tokens().cross(text.as_bytes(), at)).collect::<Vec<_>>();
        assert_eq!(crossed("<ab<a"), [1, 2, 4]);
        assert_eq!(crossed("x###"), [2, 3]);
        assert_eq!(crossed("x< a"), [0; 0]);
    }

    #[test]
    fn contents_may_have_begun_at_the_end() {
        let begun = |text: &str| tokens().begun(text.as_bytes());
        assert_eq!((begun("x<"), begun("x<a"), begun("x<ab"), begun("##"), begun("a#"), begun("")), (1, 2, 0, 1, 1, 0));
    }

    #[test]
    fn special_tokens_need_leave_and_the_others_do_not() {
        let token = |token: &str, offset| Error::SpecialTokenInText { token: token.into(), offset };
        assert_eq!(cut("x##y<ab", &Allow::Raise).unwrap_err(), token("<ab", 4));
        assert_eq!(cut("x##y<ab", &Allow::Text).unwrap(), ["x@0", "3", "y<ab@3"]);
        assert_eq!(cut("x<a", &Allow::Some(vec![0])).unwrap(), ["x@0", "1"]);
        assert_eq!(cut("x<ab", &Allow::Some(vec![0])).unwrap_err(), token("<ab", 1));
    }
}
