//! The regexes of published files.

use std::time::Duration;

use super::{CASED, Draw, HARD, Tally, times};
use crate::steps::find::{Finder, onig};

/// Regexes of published files of HF tokenizers, each of a family that has it.
const PUBLISHED: &[(&str, &str)] = &[
    ("GPT-2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    (
        "GPT-4",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        "GPT-4 as in tiktoken",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
    (
        "GPT-4o",
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
    ),
    (
        "Qwen 2",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        "Qwen 3.5",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        "Mistral's tekken",
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+",
            r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
    ),
    ("DeepSeek 1, line ends", r"[\r\n]"),
    ("DeepSeek 1, letters", r"\s?\p{L}+"),
    ("DeepSeek 1, punctuation", r"\s?\p{P}+"),
    ("DeepSeek 1, Chinese and Japanese", "[一-龥ࠀ-一가-퟿]+"),
    ("DeepSeek 1, white space", r"\s+$"),
    ("DeepSeek 1, digits", r"\p{N}"),
    ("DeepSeek 1, cased letters", r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-Ⴥ]+"),
    ("DeepSeek 1, signs", r"\s?[!-/:-~！-／：-～‘-‟　-。]+"),
    ("DeepSeek 3, digits", r"\p{N}{1,3}"),
    ("DeepSeek 3, Chinese and Japanese", "[一-龥぀-ゟ゠-ヿ]+"),
    (
        "DeepSeek 3",
        concat!(
            r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"##,
            r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
    ),
    ("Falcon and StarCoder, digits", "[0-9][0-9][0-9]"),
    ("Falcon 3, digits", r"\d"),
    ("BLOOM", r" ?[^(\s|[.,!?…。，、।۔،])]+"),
    ("CLIP", r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"),
    ("CLIP, white space", r"\s+"),
    (
        "Kimi K2",
        concat!(
            r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
    ),
    ("ALBERT and T5, normalizing", " {2,}"),
    ("Python's ways with words", r"\w+|[^\w\s]+"),
];

#[test]
fn published_patterns_do_not_run_in_oniguruma() {
    let (mut tally, mut draw) = (Tally::default(), Draw(3));
    for (name, pattern) in PUBLISHED {
        let finder = Finder::new(pattern, "onig").unwrap();
        assert!(matches!(finder, Finder::Rust(_)), "{name}");
        let texts: Vec<String> =
            (0..times(400)).map(|turn| draw.text(if turn % 4 == 0 { CASED } else { HARD }, 20)).collect();
        tally.hold(pattern, &texts);
    }
    assert_eq!(tally.translated, PUBLISHED.len());
    tally.check("published");
}

#[test]
fn published_patterns_find_the_same_in_long_runs() {
    let runs = [" ", "\n", " \n", "a", "A", "1", "!", "'", "'s", "一", "aA", "e\u{301}", "1a", "\r", "/"];
    let texts: Vec<String> =
        runs.iter().flat_map(|run| ["", "a", " ", "1"].map(|end| run.repeat(3000) + end)).collect();
    let mut tally = Tally::default();
    for (_, pattern) in PUBLISHED {
        tally.hold(pattern, &texts);
    }
    assert_eq!((tally.texts, tally.gave_up), (PUBLISHED.len() * texts.len(), 0));
    tally.check("long runs");
}

/// Where Linux says how long this thread ran, without the time of others on the machine.
const RAN: &str = "/proc/thread-self/schedstat";

fn ran() -> Duration {
    let status = std::fs::read_to_string(RAN).unwrap();
    Duration::from_nanos(status.split(' ').next().unwrap().parse().unwrap())
}

/// Prints how much faster each runs than in Oniguruma, on this repository's documents.
#[test]
fn published_patterns_run_faster() {
    if std::env::var_os("TOKSMITH_SPEED").is_none() {
        return;
    }
    if !std::path::Path::new(RAN).exists() {
        println!("not measured: lacks {RAN}");
        return;
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let read = |name: &str| std::fs::read_to_string(format!("{root}{name}")).unwrap();
    let text = ["README.md", "docs/spec.md", "CONTRIBUTING.md"].map(read).concat().repeat(10);
    for (name, pattern) in PUBLISHED {
        let finders = [onig(pattern).unwrap(), Finder::new(pattern, "onig").unwrap()];
        let mut took = [Duration::ZERO; 2];
        // The clock of a thread may go on by milliseconds at a time.
        while took.iter().any(|took| took.as_millis() < 200) {
            for (took, finder) in took.iter_mut().zip(&finders) {
                let start = ran();
                super::finds(finder, &text).unwrap();
                *took += ran().saturating_sub(start);
            }
        }
        let times = took[0].as_secs_f64() / took[1].as_secs_f64();
        println!("{name}: {times:.1} times");
    }
}
