//! Regexes for one character, on code points.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::super::{class, names, translate};
use super::drawn::ITEMS;
use super::{CASED, HARD};

/// Whether one character is all that a regex of Oniguruma matches.
fn is_in(peer: &onig::Regex, char: char) -> bool {
    peer.is_match(char.encode_utf8(&mut [0; 4]))
}

/// The characters that a translation matches.
fn characters(pattern: &str) -> ClassUnicode {
    match regex_syntax::parse(pattern).unwrap().kind() {
        HirKind::Class(Class::Unicode(set)) => set.clone(),
        HirKind::Class(Class::Bytes(set)) => set.to_unicode_class().unwrap(),
        HirKind::Literal(literal) => {
            let char = std::str::from_utf8(&literal.0).unwrap().parse().unwrap();
            ClassUnicode::new([ClassUnicodeRange::new(char, char)])
        }
        other => panic!("{pattern}: {other:?}"),
    }
}

/// Holds the translation of a regex for one character to Oniguruma, at both sides of all its edges and on hard
/// characters, or on all; whether there is a translation.
fn holds_the_same(pattern: &str) -> bool {
    let Some(translation) = translate(pattern) else { return false };
    let (peer, set) = (onig::Regex::new(pattern).unwrap(), characters(&translation));
    let has = |char: char| set.ranges().iter().any(|range| (range.start()..=range.end()).contains(&char));
    let mut wrong = Vec::new();
    if std::env::var_os("TOKSMITH_EXHAUSTIVE").is_some() {
        let mut own = vec![false; 0x11_0000];
        for range in set.ranges() {
            own[range.start() as usize..=range.end() as usize].fill(true);
        }
        wrong.extend(('\0'..=char::MAX).filter(|&char| is_in(&peer, char) != own[char as usize]));
    } else {
        for range in set.ranges() {
            let (start, end) = (u32::from(range.start()), u32::from(range.end()));
            let (before, after) = (start.checked_sub(1), end.checked_add(1));
            wrong.extend([range.start(), range.end()].into_iter().filter(|&char| !is_in(&peer, char)));
            let outside = [before, after].into_iter().flatten().filter_map(char::from_u32);
            wrong.extend(outside.filter(|&char| is_in(&peer, char) != has(char)));
        }
        wrong.extend(HARD.iter().chain(CASED).copied().filter(|&char| is_in(&peer, char) != has(char)));
    }
    assert!(wrong.is_empty(), "{pattern} as {translation:.200}: {} wrong: {:.200}", wrong.len(), format!("{wrong:?}"));
    true
}

#[test]
fn properties_hold_the_same_characters() {
    let other = ["alnum", "any", "blank", "graph", "posixpunct", "print", "word", "xdigit"];
    for name in names::shared().chain(other) {
        let spelt = format!("{}_ {}", name[..1].to_ascii_uppercase(), &name[1..]);
        for pattern in [format!(r"\p{{{name}}}"), format!(r"[^\P{{{spelt}}}]"), format!(r"(?i:\p{{^{name}}})")] {
            assert!(holds_the_same(&pattern), "{pattern}");
        }
        // Where something in it stands for several characters, a class of them is not translated.
        holds_the_same(&format!(r"(?i:[\p{{{name}}}])"));
        assert!(holds_the_same(&format!(r"(?i:[^\p{{{name}}}])")), "{name}");
    }
    assert_eq!(names::property("InBasicLatin"), None);
    assert_eq!(names::property("Old_Italic"), Some(r"\p{olditalic}".to_owned()));
}

#[test]
fn classes_hold_the_same_characters() {
    let mut patterns: Vec<String> = "wWdDsShHNO".chars().map(|letter| format!(r"\{letter}")).collect();
    let items: Vec<String> =
        ITEMS.iter().map(|item| format!("[{item}]")).filter(|class| translate(class).is_some()).collect();
    assert!(items.len() > ITEMS.len() / 2);
    patterns.extend(items);
    for name in [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
        "word", "xdigit",
    ] {
        patterns.extend([format!("[[:{name}:]]"), format!("[[:^{name}:]]"), format!("[^[:{name}:]]")]);
    }
    patterns.extend(
        [".", "(?m:.)", r"[^(\s|[.,!?…])]", r"[\p{L}&&[^\p{Han}]&&\P{Lu}]", r"(?i:[^\W])", r"(?i:\w)", r"(?i:[^a-z])"]
            .map(str::to_owned),
    );
    for pattern in patterns {
        assert!(holds_the_same(&pattern), "{pattern}");
    }
}

#[test]
fn characters_without_case_hold_their_folds() {
    let cased = ('\0'..=char::MAX).filter(|char| {
        let set = class::set_of(&format!(r"(?i:\x{{{:X}}})", u32::from(*char)).replace("(?i:", "").replace(')', ""));
        set.is_some_and(|mut set| {
            set.try_case_fold_simple().is_ok() && set.ranges().iter().map(ClassUnicodeRange::len).sum::<usize>() > 1
        })
    });
    let held = cased.filter(|char| holds_the_same(&format!("(?i:{char})"))).count();
    assert!(held > 2500, "{held}");
}
