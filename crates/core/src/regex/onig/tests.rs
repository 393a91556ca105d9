//! Compares every regex of the table with Oniguruma. `TOKSMITH_EXHAUSTIVE=1` draws twenty times as many texts, and
//! tests every code point.

use super::published::{OTHER, SAME, in_rust};
use super::search::OnigSearch;
use crate::drawn::Draw;
use crate::regex::MatchSpan;
use crate::steps::find::Finder;
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;

/// Characters that some class, fold or anchor distinguishes.
const HARD: &str = "\
    abcABsSfiltnkz019_  \n\n\r\t\x0B\x0C\x1C\0\x07\x08'!-^&~[]{}()|:,.$+\\/\u{85}\u{a0}\u{ad}ª²½µßẞſKŉʼǰİıéÉǅʰΣσςι\u{345}ΐ\
    \u{1fbe}ᾳևեւﬀﬆ\u{300}\u{301}\u{30c}\u{307}\u{903}\u{20dd}Жжאع٣०๓ไⅧⅷⒶⓐ①一龥ひァ゠가。、…，€©‿▁▁\u{1680}\u{180e}\u{2003}\
    \u{200b}\u{200c}\u{200d}\u{2028}\u{2029}\u{202f}\u{2060}\u{3000}\u{feff}\u{fffd}\u{e000}😀\u{1f3fb}🇩𐐀𐐨𝟙𑀀\u{10d40}\u{1e5d0}\
    \u{11f50}\u{10ffff}\u{378}";
/// The parts of contractions, and characters that ignoring case can match to them.
const CONTRACTED: &str = "'''sSſtTrReEvVmMlLdDßﬆ’ 1a\n";

impl Draw {
    /// A text of a few characters of an alphabet.
    fn text(&mut self, alphabet: &[char], most: usize) -> String {
        let few: Vec<char> = (0..=self.below(6)).map(|_| alphabet[self.below(alphabet.len())]).collect();
        (0..=self.below(most)).map(|_| few[self.below(few.len())]).collect()
    }
}

fn is_exhaustive() -> bool {
    std::env::var_os("TOKSMITH_EXHAUSTIVE").is_some()
}

fn listed_regexes() -> impl Iterator<Item = &'static str> {
    SAME.iter().copied().chain(OTHER.iter().map(|(onig, _)| *onig))
}

fn find_all(finder: &Finder, text: &str) -> Vec<MatchSpan> {
    let stop = Stop::default();
    finder.find(text, &Bounds::new(text.len(), &stop)).unwrap()
}

/// Compares the matches of every regex of the table with Oniguruma's in texts; each regex must have some.
fn check_texts(texts: &[String]) {
    for regex in listed_regexes() {
        let peer = Finder::Onig(Box::new(OnigSearch::new(regex).unwrap()));
        let own = Finder::new(regex, "onig").unwrap();
        assert!(matches!(own, Finder::Rust(_)), "{regex}");
        let mut matches = 0;
        for text in texts {
            let (expected, found) = (find_all(&peer, text), find_all(&own, text));
            if let Some((left, right)) = expected.iter().zip(&found).find(|(left, right)| left != right) {
                panic!(
                    "{regex:?} in {:?}: {right:?}, not {left:?}",
                    &text[left.start.min(right.start)..left.end.max(right.end)]
                );
            }
            assert_eq!(expected.len(), found.len());
            matches += found.iter().filter(|found| found.is_match).count();
        }
        println!("{matches} matches in {} texts: {regex}", texts.len());
        assert!(matches > 0, "{regex}");
    }
}

#[test]
fn drawn_texts_have_equal_matches() {
    let (hard, contracted): (Vec<char>, Vec<char>) = (HARD.chars().collect(), CONTRACTED.chars().collect());
    let (mut draw, times) = (Draw(3), if is_exhaustive() { 20_000 } else { 1_000 });
    let mut texts: Vec<String> =
        (0..times).map(|turn| draw.text(if turn % 4 == 0 { &contracted } else { &hard }, 20)).collect();
    texts.extend(["a1234567", "  a", "a▁", "a▁▁", "a  ", "123"].map(str::to_owned));
    check_texts(&texts);
}

#[test]
fn long_runs_have_equal_matches() {
    let runs = [" ", "\n", " \n", "a", "A", "1", "!", "'", "'s", "一", "aA", "e\u{301}", "1a", "\r", "/", "▁"];
    check_texts(&runs.iter().flat_map(|run| ["", "a", " ", "1"].map(|end| run.repeat(600) + end)).collect::<Vec<_>>());
}

#[test]
fn code_points_have_equal_classes() {
    let last = if is_exhaustive() { char::MAX } else { '\u{33FF}' };
    // Alone; then among letters, capitals, digits and white space.
    let alone = ('\0'..=last).flat_map(|char| [char, ' ', '\n']).collect();
    let among = ('\0'..=last).flat_map(|char| ['a', char, 'A', char, '1', char, char, ' ']).collect();
    check_texts(&[alone, among, "▁▁".to_owned(), "  a".to_owned(), "  ".to_owned()]);
}

#[test]
fn each_regex_is_listed_once() {
    let mut all: Vec<_> = listed_regexes().collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), SAME.len() + OTHER.len());
    assert!(OTHER.iter().all(|(onig, rust)| onig != rust));
}

#[test]
fn any_other_regex_runs_in_oniguruma() {
    for pattern in ["a*", "", r"\X", r"a\K", "(?i:ss)", "^a", r" ?\w+", r"[\r\n]{1}"] {
        assert_eq!(in_rust(pattern), None);
        assert!(matches!(Finder::new(pattern, "onig"), Ok(Finder::Onig(_))), "{pattern}");
    }
    for (open, close) in
        [("(", ")"), ("(?:", ")"), ("[", "]"), ("(?i)", ""), ("(?=", ")"), ("(", ""), ("[", ""), ("", "+")]
    {
        for times in [3_000, 100_000] {
            let _ = Finder::new(&format!("{}a{}", open.repeat(times), close.repeat(times)), "onig");
        }
    }
}
