use std::collections::HashMap;

use super::watch::REPORT_EVERY;
use super::*;
use crate::count::arena::Arena;
use crate::count::{CountFacts, Tally};
use crate::drawn::Draw;
use crate::error::Error;
use crate::split::{Splitter, Text as Document};
use crate::threads::parallel::Stop;

fn count_pieces(documents: &[Vec<u8>], patterns: &[&str]) -> PieceCounts {
    let mut counts = PieceCounts::new(Splitter::new(patterns).unwrap());
    let documents: Vec<_> = documents.iter().map(|document| Document::Bytes(document)).collect();
    counts.add(&documents, 1, &Stop::default()).unwrap();
    counts
}

fn train_texts(documents: &[&str], options: &TrainOptions) -> Trained {
    let documents: Vec<_> = documents.iter().map(|text| text.as_bytes().to_vec()).collect();
    train(&count_pieces(&documents, &[]), options, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Trains with cells of 16 bits and of 32, and compares the results.
fn train_in_both_cells(counts: &PieceCounts, options: &TrainOptions) -> Trained {
    assert!(cell::fits_narrow(options), "small ids");
    let found = train(counts, options, &mut |_| ControlFlow::Continue(())).unwrap();
    let wide = in_cells::<u32>(counts, options, Watch::new(&mut |_| ControlFlow::Continue(()))).unwrap();
    assert_eq!((&found.merges, &found.counts, &found.leads), (&wide.merges, &wide.counts, &wide.leads));
    assert_eq!((&found.left, found.symbols, found.stopped), (&wide.left, wide.symbols, wide.stopped));
    found
}

fn options(limit: usize) -> TrainOptions {
    TrainOptions { limit, min_count: 2, ..TrainOptions::for_bytes() }
}

fn merged_pairs(trained: &Trained) -> Vec<(u32, u32)> {
    trained.merges.iter().map(|&(left, right, _)| (left, right)).collect()
}

#[test]
fn the_textbook_example_learns_its_merges() {
    // aaabdaaabac: aa 4 times (counted), then ab, then ZY; XdXac is left.
    let found = train_texts(&["aaabdaaabac"], &options(100));
    assert_eq!(found.merges, [(97, 97, 256), (97, 98, 257), (256, 257, 258)]);
    assert_eq!((found.counts, found.left), (vec![4, 2, 2], vec![9, 7, 5]));
    assert_eq!(found.stopped, StopReason::MinCount);
    let found = train_texts(&["aaabdaaabac"], &TrainOptions { ties: Ties::FirstSeen, ..options(2) });
    assert_eq!(merged_pairs(&found), [(97, 97), (256, 97)]);
}

#[test]
fn runs_and_repeated_documents_are_counted() {
    let found = train_texts(&["aaaa", "aaaa", "b"], &TrainOptions { min_count: 1, ..options(100) });
    assert_eq!(merged_pairs(&found), [(97, 97), (256, 256)]);
    assert_eq!((found.counts, found.left), (vec![6, 2], vec![5, 3]));
    assert_eq!((found.symbols, found.stopped), (9, StopReason::NoPairs));
}

#[test]
fn long_tokens_can_be_forbidden() {
    let found = train_texts(&["abcabc"], &TrainOptions { max_token_bytes: Some(2), ..options(100) });
    assert_eq!(merged_pairs(&found), [(97, 98)]);
    assert_eq!(found.stopped, StopReason::NoPairs);
}

#[test]
fn given_merges_come_first_whatever_their_counts() {
    // In abab the given merge makes a X b; the pair Xb occurs once, and so does aX.
    let found =
        train_texts(&["abab"], &TrainOptions { given: vec![(98, 97, 300), (1, 2, 256)], next_id: 301, ..options(1) });
    assert_eq!(found.merges, [(98, 97, 300), (1, 2, 256)]);
    assert_eq!((found.counts, found.left), (vec![1, 0], vec![3, 3]));
    for given in [vec![(97, 256, 257)], vec![(97, 98, 98)], vec![(97, 98, 256), (98, 97, 256)], vec![(97, 98, 900)]] {
        let refused = train(
            &count_pieces(&[b"ab".to_vec()], &[]),
            &TrainOptions { given, next_id: 300, ..options(1) },
            &mut |_| ControlFlow::Continue(()),
        );
        assert!(matches!(refused, Err(Error::Option { argument: "given", .. })));
    }
}

#[test]
fn training_ends_on_request() {
    let text = "abcdefghij".repeat(20_000);
    let counts = count_pieces(&[text.into_bytes()], &[]);
    let mut calls = 0;
    let found = train(&counts, &options(1 << 20), &mut |_| {
        calls += 1;
        std::thread::sleep(REPORT_EVERY);
        if calls == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((found.unwrap().stopped, calls), (StopReason::Interrupted, 3));
}

#[test]
fn counts_above_32_bits_are_exact() {
    let weighed = |pieces: &[(&str, u64)]| {
        let mut arena = Arena::default();
        for (place, &(piece, count)) in pieces.iter().enumerate() {
            arena.push(piece.as_bytes(), Tally { count, first: (0, 10 * place as u64) });
        }
        let facts = CountFacts { documents: 1, positions: true, ..CountFacts::default() };
        PieceCounts::from_arena(Splitter::new(&[""; 0]).unwrap(), arena, facts, &Stop::default()).unwrap()
    };
    // In 32 bits bc would occur 7 times, and -2^31 times ab; he occurs in both of its pieces.
    let counts = weighed(&[("ab", 1 << 31), ("bc", (1 << 32) + 7), ("the", 3 << 31), ("he", 1 << 40), ("x", 1)]);
    let found = train(&counts, &options(100), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(merged_pairs(&found), [(104, 101), (116, 256), (98, 99), (97, 98)]);
    assert_eq!(found.counts, [(1 << 40) + (3 << 31), 3 << 31, (1 << 32) + 7, 1 << 31]);
}

#[test]
fn symbols_can_be_longer_than_a_narrow_cell_holds() {
    let documents = ["ab".repeat(150_000) + "xyzxyz", "x".repeat(40_000) + "yz", "ab".repeat(33_000), "yz".to_owned()];
    let documents = documents.map(String::into_bytes);
    let counts = count_pieces(&documents.iter().cycle().take(7).cloned().collect::<Vec<_>>(), &[]);
    let found = train_in_both_cells(&counts, &TrainOptions { ties: Ties::FirstSeen, ..options(300) });
    assert_eq!((found.left.last(), found.stopped), (Some(&7), StopReason::NoPairs), "every document is one token");
    assert!(!cell::fits_narrow(&options(usize::MAX)) && !cell::fits_narrow(&options((1 << 15) - 255)));
    assert!(cell::fits_narrow(&options((1 << 15) - 256)));
}

/// Training by definition: every pair is counted again after each merge.
struct Naive<'o> {
    options: &'o TrainOptions,
    /// By first position.
    pieces: Vec<(Vec<u32>, u64)>,
    tokens: HashMap<u32, Vec<u8>>,
}

impl<'o> Naive<'o> {
    fn new(counts: &PieceCounts, options: &'o TrainOptions) -> Self {
        let ids = |piece: &[u8]| piece.iter().map(|&byte| options.alphabet[usize::from(byte)]).collect();
        let pieces = counts.arena().iter().map(|(piece, tally)| (ids(piece), tally.count)).collect();
        let tokens = (0..=255).map(|byte| (options.alphabet[usize::from(byte)], vec![byte])).collect();
        Self { options, pieces, tokens }
    }

    fn left(&self) -> u64 {
        self.pieces.iter().map(|(ids, count)| ids.len() as u64 * count).sum()
    }

    fn train(mut self) -> Trained {
        let mut found = Trained {
            merges: vec![],
            counts: vec![],
            leads: vec![],
            left: vec![],
            symbols: self.left(),
            stopped: StopReason::Limit,
        };
        let end = self.options.given.len() + self.options.limit;
        while found.merges.len() < end {
            let totals = self.totals();
            let next = self.options.given.get(found.merges.len()).copied();
            let best = next.or_else(|| {
                let (key, _) = self.best(&totals)?;
                Some((key.0, key.1, self.options.next_id + (found.merges.len() - self.options.given.len()) as u32))
            });
            let Some(merge) = best else {
                let rare = totals.iter().any(|(key, _)| self.allows(*key));
                found.stopped = if rare { StopReason::MinCount } else { StopReason::NoPairs };
                break;
            };
            found.leads.push(if next.is_some() { 0 } else { self.lead(&totals, (merge.0, merge.1)) });
            found.counts.push(totals.iter().find(|(key, _)| *key == (merge.0, merge.1)).map_or(0, |(_, total)| *total));
            self.apply(merge);
            found.merges.push(merge);
            found.left.push(self.left());
        }
        found
    }

    /// The counts of all pairs, by first place.
    fn totals(&self) -> Vec<((u32, u32), u64)> {
        let mut numbers = HashMap::new();
        let mut totals = Vec::new();
        for (ids, count) in &self.pieces {
            for pair in ids.windows(2) {
                let key = (pair[0], pair[1]);
                let number = *numbers.entry(key).or_insert_with(|| {
                    totals.push((key, 0));
                    totals.len() - 1
                });
                totals[number].1 += count;
            }
        }
        totals
    }

    fn best(&self, totals: &[((u32, u32), u64)]) -> Option<((u32, u32), u64)> {
        let fits = totals.iter().filter(|(key, total)| *total >= self.options.min_count && self.allows(*key));
        let most = fits.clone().map(|(_, total)| *total).max()?;
        let mut best = fits.filter(|(_, total)| *total == most);
        match self.options.ties {
            Ties::FirstSeen => best.next().copied(),
            Ties::LowestIds => best.min().copied(),
        }
    }

    /// The lead of the best pair's count over all others, or over a pair that is too rare.
    fn lead(&self, totals: &[((u32, u32), u64)], best: (u32, u32)) -> u64 {
        let count = |wanted: bool| {
            let counts = totals.iter().filter(|(key, _)| (*key == best) == wanted && self.allows(*key));
            counts.map(|(_, total)| *total).max().unwrap_or(0)
        };
        count(true) - count(false).max(self.options.min_count - 1)
    }

    fn allows(&self, key: (u32, u32)) -> bool {
        let (left, right) = (&self.tokens[&key.0], &self.tokens[&key.1]);
        let joined = [&left[..], &right[..]].concat();
        let characters = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok();
        let begun = |bytes: &[u8]| {
            // Some ending completes these bytes to one character.
            let ends: [&[u8]; 6] =
                [&[0x80], &[0x80, 0x80], &[0x90, 0x80], &[0x80; 3], &[0x90, 0x80, 0x80], &[0xA0, 0x80]];
            ends.iter()
                .any(|end| std::str::from_utf8(&[bytes, end].concat()).is_ok_and(|text| text.chars().count() == 1))
        };
        let one = std::str::from_utf8(&joined).is_ok_and(|text| text.chars().count() == 1);
        let whole = characters(left) && characters(right) || begun(left) && (one || begun(&joined));
        joined.len() <= self.options.max_token_bytes.unwrap_or(u32::MAX) as usize
            && (whole || !self.options.whole_characters)
    }

    fn apply(&mut self, (left, right, id): LearnedMerge) {
        let joined = [&self.tokens[&left][..], &self.tokens[&right][..]].concat();
        self.tokens.insert(id, joined);
        for (ids, _) in &mut self.pieces {
            let mut at = 0;
            while at + 1 < ids.len() {
                if ids[at] == left && ids[at + 1] == right {
                    ids.splice(at..at + 2, [id]);
                }
                at += 1;
            }
        }
    }
}

impl Draw {
    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Short texts of few symbols, runs of one symbol, characters of every width and bytes that are not UTF-8.
    fn document(&mut self) -> Vec<u8> {
        let symbols: &[&[u8]] = match self.below(5) {
            0 => &[b"a"],
            1 => &[b"a", b"b"],
            2 => &[b"a", b"b", b" ", b"c"],
            3 => &[
                "é".as_bytes(),
                "è".as_bytes(),
                "☀".as_bytes(),
                "☂".as_bytes(),
                "😀".as_bytes(),
                "😁".as_bytes(),
                b"a",
            ],
            _ => &["☀".as_bytes(), b"\xe2", b"\x98", b"\x80", b"\xc3", b"\xf0\x9f", b"\xff", b"a"],
        };
        (0..self.below(40)).flat_map(|_| self.of(symbols).repeat(1 + self.below(8) / 7 * self.below(9))).collect()
    }

    fn options(&mut self) -> TrainOptions {
        let mut options = TrainOptions {
            limit: self.of(&[0, 1, 5, 60, 1000]),
            min_count: self.of(&[1, 1, 2, 3]),
            ties: self.of(&[Ties::LowestIds, Ties::FirstSeen]),
            max_token_bytes: self.of(&[None, None, Some(1), Some(2), Some(5)]),
            whole_characters: self.below(3) == 0,
            ..TrainOptions::for_bytes()
        };
        if self.below(3) == 0 {
            options.alphabet = std::array::from_fn(|byte| (byte as u32 * 77 + 13) % 256 * self.0.count_ones().max(1));
            options.next_id = 256 * 64;
        }
        options
    }
}

#[test]
fn merges_equal_a_naive_recount_of_two_thousand_drawn_corpora() {
    let mut draw = Draw(2026);
    let mut merges = 0;
    for number in 0..2000 {
        let documents: Vec<_> = (0..=draw.below(6)).map(|_| draw.document()).collect();
        let counts = count_pieces(&documents, if draw.below(2) == 0 { &[] } else { &["[ab]+|é+"] });
        let mut options = draw.options();
        if draw.below(3) == 0 {
            // The merges of an earlier training, perhaps under other rules or of another corpus, come first.
            let earlier = draw.options();
            let other = count_pieces(&[draw.document(), documents[0].clone()], &[]);
            let first =
                TrainOptions { alphabet: options.alphabet, next_id: options.next_id, limit: draw.below(20), ..earlier };
            options.given = train(&other, &first, &mut |_| ControlFlow::Continue(())).unwrap().merges;
            options.next_id += 20;
        }
        let found = train_in_both_cells(&counts, &options);
        let expected = Naive::new(&counts, &options).train();
        assert_eq!(found.merges, expected.merges, "corpus {number}: {options:?} {documents:?}");
        assert_eq!((found.counts, found.left), (expected.counts, expected.left), "corpus {number}");
        assert_eq!(found.leads, expected.leads, "corpus {number}: {options:?} {documents:?}");
        assert_eq!((found.symbols, found.stopped), (expected.symbols, expected.stopped), "corpus {number}");
        merges += found.merges.len();
    }
    assert!(merges > 15_000, "{merges} merges are too few to prove anything");
}

#[test]
fn the_worst_language_chooses_until_it_runs_out_of_pairs() {
    let texts = [b"ab ab ab".to_vec(), b"cd".to_vec()];
    let languages: Vec<_> = texts.iter().map(|text| count_pieces(std::slice::from_ref(text), &[r" ?\S+"])).collect();
    let development: Vec<_> = ["ab", "cd cd"].map(|text| count_pieces(&[text.as_bytes().to_vec()], &[r" ?\S+"])).into();
    let sum = PieceCounts::sum(&languages.iter().collect::<Vec<_>>(), false, &Stop::default()).unwrap();
    let (parts, texts): (Vec<_>, Vec<_>) = (languages.iter().collect(), development.iter().collect());
    let corpora = Corpora { sum: &sum, languages: &parts, others: &[] };
    let learn = |given: Vec<LearnedMerge>, shared: usize, seeds: usize, window| {
        let (next_id, limit) = (256 + given.len() as u32, 9 - given.len());
        let options = TrainOptions { given, next_id, limit, ..TrainOptions::for_bytes() };
        let parity = ParityOptions { shared, seeds, window, aim: Aim::Development(&texts) };
        train_parity(corpora, &options, &parity, &mut |_| ControlFlow::Continue(())).unwrap()
    };
    let (cd, ab, both) = ((99, 100, 256), (97, 98, 257), (32, 257, 258));
    let whole = learn(vec![], 0, 0, None);
    assert_eq!(whole.trained.merges, [cd, ab, both]);
    assert_eq!((whole.trained.counts.clone(), whole.trained.left.clone()), (vec![1, 3, 2], vec![9, 6, 4]));
    assert_eq!(whole.trained.leads, [1, 1, 2]);
    // " cd" of the text is in no corpus, so the second language needs three tokens to the end.
    assert_eq!((whole.chosen, whole.tokens), (vec![1, 0, 0], vec![(2, 1), (5, 3)]));
    assert_eq!((whole.ran_out, whole.trained.stopped), (vec![Some(3), Some(1)], StopReason::NoPairs));
    // Merges of an earlier run get the languages that chose them.
    let again = learn(vec![cd, ab], 0, 0, None);
    assert_eq!((again.trained.merges, again.chosen), (vec![cd, ab, both], vec![1, 0, 0]));
    // Merges of seed tokens, and merges that all choose together, belong to no language.
    assert_eq!(learn(vec![cd], 0, 1, Some((1, 1.0))).chosen, [NO_LANGUAGE, 0, 0]);
    let shared = learn(vec![], 1, 0, None);
    assert_eq!((shared.trained.counts[0], shared.chosen), (3, vec![NO_LANGUAGE, 1, 0]));
}
