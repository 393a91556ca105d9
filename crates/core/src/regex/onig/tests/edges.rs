//! What is not translated, and translations worked by hand.

use super::super::{LONGEST, translate};
use crate::steps::find::{Finder, onig};

#[test]
fn what_lies_deep_or_is_long_is_not_translated() {
    let deep = |open: &str, close: &str, times| format!("{}a{}", open.repeat(times), close.repeat(times));
    for (open, close) in [
        ("(", ")"),
        ("(?:", ")"),
        ("[", "]"),
        ("(?i)", ""),
        ("(?=", ")"),
        ("(?<=", ")"),
        ("(", ""),
        ("[", ""),
        ("", "+"),
    ] {
        for times in [LONGEST / 5, 100_000] {
            let pattern = deep(open, close, times);
            assert!(!open.is_empty() && translate(&pattern).is_none() || close == "+", "{open}");
            let _ = Finder::new(&pattern, "onig");
        }
    }
    assert!(translate(&deep("(?:", ")", 90)).is_some() && translate(&deep("[", "]", 90)).is_some());
    assert!(translate(&"a".repeat(LONGEST)).is_some() && translate(&"a".repeat(LONGEST + 1)).is_none());
    assert!(translate(&r"[^[^\p{L}]]".repeat(LONGEST / 11)).is_none());
}

/// Each runs in Oniguruma, and a word on why.
const NOT_TRANSLATED: &[(&str, &str)] = &[
    ("a*", "an empty match counts there"),
    ("", "so here"),
    ("(?=a)", "and here"),
    ("(?:a?)+", "loops over nothing end in other ways"),
    ("(?i:ss)", "ß is two letters"),
    ("(?i:s+)", "so here"),
    ("(?i:s(?:s|b))", "and here"),
    ("(?i:ß)", "and the other way round"),
    (r"(?i:[\p{L}])", "it holds ß"),
    (r"(?i:(a)\1)", "folds of what was captured"),
    (r"(a\1)", "a group in itself"),
    (r"(?<n>a)(b)\1", "no numbers beside names"),
    (r"(?!(a))b\1", "nothing gets out"),
    ("(?<=a+)b", "as far as one likes"),
    ("(?<=^)b", "a place in a look-behind"),
    (r"\X", "clusters"),
    (r"a\K", "what is kept"),
    (r"\Ga", "where the search began"),
    (r"(?<n>a\g<n>?)", "calls"),
    ("(?~a)b", "absence"),
    ("(a)?(?(1)b|c)", "conditions"),
    ("(*FAIL)", "calls of the program"),
    (r"\xE9", "bytes of no character"),
    (r"[\w-a]", "no range there"),
    (r"[^s[^\D\d]]", "characters of several bytes that Oniguruma loses"),
    (r"[^s[a[^\D\d]]]", "so here"),
    (r"[s[^\x{0}-é]]", "characters of several bytes that Oniguruma adds"),
    (r"[s[^[\x{0}-é]]]", "so here"),
    (r"\p{InBasicLatin}", "blocks"),
    ("(?W:a)", "options of its own"),
    ("a(?)", "no option at all"),
    ("^*", "a place again and again"),
    (r"\Qa", "letters without a meaning"),
    ("a{1001}", "beyond what is counted"),
];

#[test]
fn what_may_differ_runs_in_oniguruma() {
    for (pattern, why) in NOT_TRANSLATED {
        assert_eq!(translate(pattern), None, "{pattern}: {why}");
        let made = Finder::new(pattern, "onig");
        assert!(made.is_err() == onig(pattern).is_err() && !matches!(made, Ok(Finder::Rust(_))), "{pattern}: {why}");
    }
}

#[test]
fn translations_worked_by_hand() {
    for (pattern, expected) in [
        ("^a$", r"(?:\A|(?<=\n)(?!\z))a(?m:$)"),
        (r"\p{N}{1,3}+", r"(?:\p{N}{1,3})+"),
        ("a{2}?b", "(?:a{2})?b"),
        ("a{3,1}", "(?>a{1,3})"),
        ("a{,3}b", "a{0,3}b"),
        ("a(?i)b|c", "a(?i:b|c)"),
        ("a (?x) b # c\n{2}", "a (?:b{2})"),
        ("a(?#c)+", "a+"),
        (r"(?m:.)\H", "(?:(?s:.))[^0-9A-Fa-f]"),
        ("[]a]", r"[\]a]"),
        ("[a&&b]c", r"[^\x{0}-\x{10FFFF}]c"),
        ("[a-c[^b]]", "[\\x{0}-\u{10FFFF}]"),
        (r"[^\x{0}-\x{d7ff}\x{e000}-\x{10fffe}]", "[^\\x{0}-\u{10fffe}]"),
        ("(?i:\\p{Lu}k)", r"(?i:(?-i:\p{Lu})k)"),
        ("(?<=a|bc)d", "(?<=a|bc)d"),
        (r"(a)\1", r"(a)(?:\1)"),
        ("a{x}]", r"a\{x\}\]"),
    ] {
        assert_eq!(translate(pattern).unwrap_or_default(), expected, "{pattern}");
    }
}

#[test]
fn what_grows_beyond_the_other_engine_runs_in_oniguruma() {
    for pattern in [
        r"(?:\p{L}{1000}){1000}",
        r"(?=(?:\p{L}{900}){900})a",
        r"(?:[^\s\p{L}]{300}){1000}\b",
        r"(?:(?:a{30}b){30}){1000}\s",
    ] {
        assert!(translate(pattern).is_some(), "{pattern}");
        assert!(matches!(Finder::new(pattern, "onig"), Ok(Finder::Onig(..))), "{pattern}");
    }
}
