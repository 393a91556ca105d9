//! Compares the scanner of each row with its regex, and checks any regexes on any bytes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::OnceLock;

use toksmith_core::split::pattern::{PATTERNS, Pattern};
use toksmith_core::split::{Splitter, Text};
use toksmith_core::text::bounds::Bounds;
use toksmith_core::threads::parallel::Stop;

use crate::text::text_of;

/// A row with its scanner and its regex, compiled.
struct Twins {
    row: &'static Pattern,
    scanner: Splitter,
    regex: Splitter,
}

fn chosen_twins() -> &'static [Twins] {
    static TWINS: OnceLock<Vec<Twins>> = OnceLock::new();
    TWINS.get_or_init(|| {
        let only = std::env::var("TOKSMITH_ROW").ok();
        assert!(!toksmith_core::switches::slow(), "TOKSMITH_SLOW=1 would compare the regex with itself");
        let scanner = |row: &Pattern| Splitter::new(row.regexes).expect("a row's regexes compile");
        let regex = |row: &Pattern| Splitter::without_scanners(row.regexes).expect("a row's regexes compile");
        let rows = PATTERNS.iter().filter(|row| row.scanner.is_some());
        let rows = rows.filter(|row| only.as_deref().is_none_or(|only| only == row.name));
        let twins: Vec<_> = rows.map(|row| Twins { row, scanner: scanner(row), regex: regex(row) }).collect();
        assert!(!twins.is_empty(), "no row with a scanner is called {only:?}");
        twins
    })
}

/// Returns the ends of the pieces; None if the regex engine gives up.
fn find_ends(splitter: &Splitter, text: Text<'_>) -> Option<Vec<usize>> {
    let (mut ends, mut end) = (Vec::new(), 0);
    let whole = text.as_bytes();
    let stop = Stop::default();
    let split = splitter.split(text, &Bounds::new(whole.len(), &stop), |piece| {
        assert!(!piece.is_empty() && whole[end..].starts_with(piece), "a piece is not what comes next");
        end += piece.len();
        ends.push(end);
        Ok(())
    });
    split.ok()?;
    assert_eq!(end, whole.len(), "bytes are lost");
    Some(ends)
}

/// Splits by the scanner and regex of each row, or of the row `TOKSMITH_ROW` only.
///
/// # Panics
/// If their pieces differ on the text of `data`, or the row does not exist.
pub fn scanners(data: &[u8]) {
    let text = text_of(data);
    for twins in chosen_twins() {
        let expected = find_ends(&twins.regex, Text::Bytes(&text)).expect("a row's regex does not give up");
        assert_eq!(find_ends(&twins.scanner, Text::Bytes(&text)), Some(expected), "{}", twins.row.name);
        if let Ok(text) = std::str::from_utf8(&text) {
            assert_eq!(
                find_ends(&twins.scanner, text.into()),
                find_ends(&twins.regex, text.into()),
                "{}",
                twins.row.name
            );
        }
    }
}

/// Regexes of many shapes without a scanner.
const REGEXES: &[&str] = &[
    r"\w+",
    r"\s+",
    "x*",
    r"(?=a)\w+",
    r"\p{L}+|\d",
    r"[^a]",
    "'",
    r".",
    r"(?s).",
    r"a(?!b)",
    r"(?i)s+|\n",
    r"\P{L}+",
];

/// Splits by one to four regexes in sequence, pattern rows among them, with and without scanners.
///
/// # Panics
/// If a byte is lost or the pieces differ.
pub fn any(data: &[u8]) {
    let Some((&[first, second, third], data)) = data.split_first_chunk() else { return };
    let mut regexes = Vec::new();
    for code in [first, second, third].map(usize::from) {
        match code % 3 {
            0 => {}
            1 => regexes.push(REGEXES[code / 3 % REGEXES.len()]),
            _ => regexes.extend(PATTERNS[code / 3 % PATTERNS.len()].regexes),
        }
    }
    let text = text_of(data);
    let (scanners, engine) = &*compile_once(&regexes);
    assert_eq!(find_ends(scanners, Text::Bytes(&text)), find_ends(engine, Text::Bytes(&text)), "{regexes:?}");
}

/// A splitter with scanners, and its twin without.
type Pair = Rc<(Splitter, Splitter)>;

/// The number of regex lists kept, as compiling takes longer than all else.
const KEPT: usize = 400;

fn compile_once(regexes: &[&'static str]) -> Pair {
    thread_local! {
        static COMPILED: RefCell<HashMap<Vec<&'static str>, Pair>> = RefCell::default();
    }
    COMPILED.with_borrow_mut(|compiled| {
        if compiled.len() >= KEPT {
            compiled.clear();
        }
        let compile = || {
            let pair = (Splitter::new(regexes), Splitter::without_scanners(regexes));
            Rc::new((pair.0.expect("these regexes compile"), pair.1.expect("these regexes compile")))
        };
        compiled.entry(regexes.to_vec()).or_insert_with(compile).clone()
    })
}
