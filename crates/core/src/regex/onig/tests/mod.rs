//! Every translation against Oniguruma itself. `TOKSMITH_EXHAUSTIVE=1` draws twenty times as much, and looks at every
//! code point.
//!
//! Reading order: this file has the comparison. `edges` are cases by hand, `published` the regexes of published
//! tokenizers, `drawn` regexes at random, and `characters` the classes of characters.
//!
//! Left out: what splitting does with the matches ([`crate::split`]).

mod characters;
mod drawn;
mod edges;
mod published;

use super::translate;
use crate::error::Result;
use crate::regex::Found;
use crate::regex::RegexSearch;
use crate::steps::find::{Finder, onig};
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;

/// What a search finds in a text of its own.
fn finds(finder: &Finder, text: &str) -> Result<Vec<Found>> {
    let stop = Stop::default();
    finder.find(text, &Bounds::new(text.len(), &stop))
}

/// Characters that some class, fold or anchor tells from others.
const HARD: &[char] = &[
    'a',
    'b',
    'c',
    'A',
    'B',
    's',
    'S',
    'f',
    'i',
    'l',
    't',
    'n',
    'k',
    'z',
    '0',
    '1',
    '9',
    '_',
    ' ',
    ' ',
    '\n',
    '\n',
    '\r',
    '\t',
    '\x0B',
    '\x0C',
    '\x1C',
    '\0',
    '\x07',
    '\x08',
    '\'',
    '!',
    '-',
    '^',
    '&',
    '~',
    '[',
    ']',
    '{',
    '}',
    '(',
    ')',
    '|',
    ':',
    ',',
    '.',
    '$',
    '+',
    '\\',
    '\u{85}',
    '\u{a0}',
    '\u{ad}',
    'ª',
    '²',
    '½',
    'µ',
    'ß',
    'ẞ',
    'ſ',
    'K',
    'ŉ',
    'ʼ',
    'ǰ',
    'İ',
    'ı',
    'é',
    'É',
    'ǅ',
    'ʰ',
    'Σ',
    'σ',
    'ς',
    'ι',
    '\u{345}',
    'ΐ',
    '\u{1fbe}',
    'ᾳ',
    'և',
    'ե',
    'ւ',
    'ﬀ',
    'ﬆ',
    '\u{300}',
    '\u{301}',
    '\u{30c}',
    '\u{307}',
    '\u{903}',
    '\u{20dd}',
    'Ж',
    'ж',
    'א',
    'ع',
    '٣',
    '०',
    '๓',
    'ไ',
    'Ⅷ',
    'ⅷ',
    'Ⓐ',
    'ⓐ',
    '①',
    '一',
    '龥',
    'ひ',
    'ァ',
    '゠',
    '가',
    '。',
    '、',
    '…',
    '，',
    '€',
    '©',
    '‿',
    '\u{1680}',
    '\u{180e}',
    '\u{2003}',
    '\u{200b}',
    '\u{200c}',
    '\u{200d}',
    '\u{2028}',
    '\u{2029}',
    '\u{202f}',
    '\u{2060}',
    '\u{3000}',
    '\u{feff}',
    '\u{fffd}',
    '\u{e000}',
    '😀',
    '\u{1f3fb}',
    '🇩',
    '𐐀',
    '𐐨',
    '𝟙',
    '𑀀',
    '\u{10d40}',
    '\u{1e5d0}',
    '\u{11f50}',
    '\u{10ffff}',
    '\u{378}',
];

/// Numbers that look random and are the same each time (`SplitMix64`).
struct Draw(u64);

impl Draw {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % count as u64) as usize
    }

    fn of<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    fn text(&mut self, alphabet: &[char], most: usize) -> String {
        let few: Vec<char> = (0..=self.below(6)).map(|_| alphabet[self.below(alphabet.len())]).collect();
        (0..=self.below(most)).map(|_| few[self.below(few.len())]).collect()
    }
}

fn times(usual: usize) -> usize {
    if std::env::var_os("TOKSMITH_EXHAUSTIVE").is_some() { usual * 20 } else { usual }
}

/// What came out of drawing.
#[derive(Default, Debug)]
struct Tally {
    patterns: usize,
    valid: usize,
    translated: usize,
    refused_by_rust: usize,
    texts: usize,
    finds: usize,
    gave_up: usize,
    /// How many differ somewhere where they run as they are written.
    other_as_written: usize,
    wrong: Vec<String>,
}

impl Tally {
    /// As `hold`, on texts of characters of the pattern and of the alphabet.
    fn hold_drawn(&mut self, pattern: &str, draw: &mut Draw, alphabet: &[char]) {
        let own: Vec<char> = pattern.chars().collect();
        let texts: Vec<String> = (0..12).map(|turn| draw.text(if turn < 4 { &own } else { alphabet }, 9)).collect();
        self.hold(pattern, &texts);
    }

    /// Holds the translation of a pattern, if there is one, to Oniguruma's finds in texts.
    fn hold(&mut self, pattern: &str, texts: &[String]) {
        self.patterns += 1;
        let peer = onig(pattern);
        self.valid += usize::from(peer.is_ok());
        let Some(translation) = translate(pattern) else { return };
        let Ok(peer) = peer else {
            self.wrong.push(format!("{pattern:?} is refused by Oniguruma and translated to {translation:?}"));
            return;
        };
        self.translated += 1;
        let Ok(own) = RegexSearch::translated(&translation, pattern).map(|search| Finder::Rust(Box::new(search)))
        else {
            self.refused_by_rust += 1;
            return;
        };
        let written = if translation == pattern { None } else { Finder::new(pattern, "rust").ok() };
        let differs = |written: &Finder| texts.iter().any(|text| finds(written, text).ok() != finds(&peer, text).ok());
        self.other_as_written += usize::from(written.as_ref().is_some_and(differs));
        for text in texts {
            match (finds(&peer, text), finds(&own, text)) {
                (Ok(expected), Ok(found)) if expected == found => {
                    self.texts += 1;
                    self.finds += found.iter().filter(|found| found.is_match).count();
                }
                (Ok(expected), Ok(found)) => {
                    self.wrong.push(format!("{pattern:?} as {translation:?} in {text:?}: {found:?}, not {expected:?}"));
                    break;
                }
                (peer, own) => {
                    let who = [("Oniguruma", peer.err()), ("this engine", own.err())];
                    println!("{pattern:?} on {:?}…: {who:?}", text.chars().take(5).collect::<String>());
                    self.gave_up += 1;
                }
            }
        }
    }

    fn check(self, subject: &str) {
        let Self { patterns, valid, translated, refused_by_rust, texts, finds, gave_up, other_as_written, wrong } =
            self;
        println!(
            "{subject}: {patterns} patterns, {valid} valid, {translated} translated, {refused_by_rust} refused by Rust's engine, {texts} texts with {finds} finds, {gave_up} given up; {other_as_written} patterns differ as they are written"
        );
        // A text that tells nothing apart proves nothing.
        assert!(finds > 0 && other_as_written > 0);
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(25)].join("\n"));
    }
}

/// Letters that become others, or several of them.
const CASED: &[char] = &[
    's', 'S', 'ſ', 'f', 'F', 'i', 'I', 'l', 't', 'T', 'n', 'h', 'k', 'K', 'K', 'ß', 'ẞ', 'ﬀ', 'ﬁ', 'ﬃ', 'ﬆ', 'ŉ', 'ʼ',
    'İ', 'ı', '\u{307}', '\u{331}', 'ẖ', 'ι', 'Ι', '\u{345}', '\u{1fbe}', 'α', 'Α', 'ᾳ', 'ᾼ', 'ΐ', '\u{308}',
    '\u{301}', 'ե', 'ւ', 'և', 'Ե', 'մ', 'ն', 'ﬓ', 'Σ', 'ς', 'σ', 'é', 'É', 'Ⓐ', 'ⓐ', 'ǅ', 'ǆ', 'Ǆ', 'a', 'b', '1', ' ',
];
