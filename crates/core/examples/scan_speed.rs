//! How fast each row of the pattern table splits a text: by its regex, by its scanner on 64-bit words, which every
//! processor has, and by its scanner with each set of vectors that this processor has.
//!
//! It reads lines of JSON with a `text`: `zcat english.jsonl.gz | cargo run --release -p toksmith-core --example scan_speed`

use std::hint::black_box;
use std::io::BufRead;
use std::time::Instant;

use toksmith_core::simd::Instructions;
use toksmith_core::split::Splitter;
use toksmith_core::split::pattern::{PATTERNS, Pattern};
use toksmith_core::split::scan::{Ends, Scanner};
use toksmith_core::text::bounds::Bounds;
use toksmith_core::threads::parallel::Stop;

/// Bytes that each way splits in one round: few, so that other programs seldom interrupt the best one.
const LENGTH: usize = 400_000;
/// Rounds, in which the ways take turns; the best of each counts.
const ROUNDS: usize = 25;

fn main() {
    let text = read();
    let all = Instructions::all();
    let names: Vec<&str> = std::iter::once("regex").chain(all.iter().map(|instructions| instructions.name())).collect();
    println!("MB/s on {} bytes, the best of {ROUNDS} rounds, and divided by the speed of others", text.len());
    println!("{:16}{}", "row", columns(&names));
    for row in PATTERNS {
        if let Some(scanner) = row.scanner {
            let best = seconds(row, scanner, &all, &text);
            report(row.name, &names, &best, text.len());
        }
    }
}

/// The texts of the input, up to [`LENGTH`].
fn read() -> String {
    let mut all = String::new();
    for line in std::io::stdin().lock().lines().map(|line| line.expect("lines of UTF-8")) {
        let row: serde_json::Value = serde_json::from_str(&line).expect("lines of JSON");
        all.push_str(row["text"].as_str().expect("each with a text"));
        if all.len() >= LENGTH {
            break;
        }
    }
    let end = (0..=LENGTH.min(all.len())).rev().find(|&at| all.is_char_boundary(at));
    all.truncate(end.unwrap_or(0));
    all
}

/// The time of the regex, and of the scanner with each set of instructions.
fn seconds(row: &Pattern, scanner: Scanner, all: &[Instructions], text: &str) -> Vec<f64> {
    let regex = Splitter::without_scanners(row.regexes).expect("a row's regexes compile");
    let mut ways: Vec<Box<dyn Fn() -> usize + '_>> = vec![Box::new(|| match_pieces(&regex, text))];
    for &instructions in all {
        ways.push(Box::new(move || scan_pieces(scanner, instructions, text)));
    }
    let pieces: Vec<usize> = ways.iter().map(|way| way()).collect();
    assert!(pieces.iter().all(|&count| count == pieces[0]), "the ways differ: {pieces:?}");
    let mut best = vec![f64::INFINITY; ways.len()];
    for _ in 0..ROUNDS {
        for (way, best) in ways.iter().zip(&mut best) {
            let start = Instant::now();
            black_box(way());
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    best
}

/// Prints the speeds of a row, and what they are relative to the regex and to AVX2.
fn report(row: &str, names: &[&str], seconds: &[f64], length: usize) {
    let length = f64::from(u32::try_from(length).expect("LENGTH is small"));
    println!("{row:16}{}", columns(seconds.iter().map(|seconds| format!("{:.0}", length / seconds / 1e6))));
    for base in ["regex", "AVX2"] {
        if let Some(at) = names.iter().position(|&name| name == base) {
            let ratios = seconds.iter().map(|time| format!("{:.3}", seconds[at] / time));
            println!("{:16}{}", format!("  by {base}"), columns(ratios));
        }
    }
}

fn columns(cells: impl IntoIterator<Item: std::fmt::Display>) -> String {
    cells.into_iter().map(|cell| format!("{cell:>12}")).collect::<Vec<_>>().concat()
}

fn match_pieces(regex: &Splitter, text: &str) -> usize {
    let (mut pieces, stop) = (0, Stop::default());
    let split = regex.split(text, &Bounds::new(text.len(), &stop), |_| {
        pieces += 1;
        Ok(())
    });
    split.expect("a row's regex does not give up");
    pieces
}

fn scan_pieces(scanner: Scanner, instructions: Instructions, text: &str) -> usize {
    let (mut pieces, mut at, mut ends) = (0, 0, Ends::default());
    while at < text.len() {
        scanner.fill_with(instructions, text, at, &mut ends);
        let found = ends.take();
        at = found.last().copied().unwrap_or(text.len());
        pieces += black_box(found).len();
    }
    pieces
}
