//! Replays the inputs of `fuzz/seeds` through the functions of the fuzz targets, without libFuzzer; and compares drawn
//! ids with a digest, which is the same with and without the feature `fast`.

#[path = "../fuzz/src/encode.rs"]
#[allow(dead_code, reason = "published vocabularies are not on every machine")]
mod encode;
#[path = "../fuzz/src/parts.rs"]
mod parts;
#[path = "../fuzz/src/split.rs"]
mod split;
#[path = "../fuzz/src/table.rs"]
mod table;
#[path = "../fuzz/src/text.rs"]
mod text;
#[path = "../fuzz/src/tokenizer.rs"]
mod tokenizer;

use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use toksmith_core::count::PieceCounts;
use toksmith_core::encode::Encoder;
use toksmith_core::kinds::PieceEncoder;
use toksmith_core::kinds::sentencepiece::normalize::{AddedSpace, Normalizer};
use toksmith_core::kinds::sentencepiece::{CharEngine, CharEngineOptions, CharRule};
use toksmith_core::split::pattern::PATTERNS;
use toksmith_core::split::special::{AddedTokens, Allow};
use toksmith_core::split::{Splitter, Text};
use toksmith_core::threads::parallel::Stop;
use toksmith_core::train::{TrainOptions, train};
use toksmith_core::vocab::{MergeRule, Tables, Unit, Vocab};

type Target = fn(&[u8]);

/// The function of each target that needs no external data; `encode_published` needs vocabularies.
const TARGETS: &[(&str, Target)] = &[
    ("decode", encode::decode),
    ("encode", encode::check_drawn),
    ("scan", split::scanners),
    ("split", split::any),
    ("table", table::any),
    ("tokenizer", tokenizer::any),
];

#[test]
fn every_seed_of_every_target_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    // Without `fast` there are no scanners to compare.
    for (name, target) in TARGETS.iter().filter(|(name, _)| cfg!(feature = "fast") || *name != "scan") {
        let files = std::fs::read_dir(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut count = 0;
        for file in files {
            let path = file.expect("the folder can be read").path();
            println!("{}", path.display());
            target(&std::fs::read(path).expect("the file can be read"));
            count += 1;
        }
        assert!(count >= 5, "{name} has {count} seeds");
    }
}

#[test]
fn every_target_is_replayed() {
    let manifest = include_str!("../fuzz/Cargo.toml");
    let names = manifest.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let left_out = ["toksmith-fuzz", "encode_published"];
    let mut found: Vec<&str> = names.filter(|name| !left_out.contains(name)).collect();
    found.sort_unstable();
    assert_eq!(found, TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

/// Pseudo-random bytes, the same in each run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }

    fn words(&mut self, of: &[String], count: usize) -> String {
        (0..count).map(|_| of[self.below(of.len())].as_str()).collect()
    }
}

/// An engine of `SentencePiece` with drawn tokens, and the parts of its texts.
fn draw_char_encoder(draw: &mut Draw) -> (Encoder, Vec<String>) {
    let mut pool: Vec<String> = ["a", "b", "c", "▁", "é", "日", "\u{301}"].map(str::to_owned).to_vec();
    for _ in 0..5 + draw.below(40) {
        let joined = draw.words(&pool, 2);
        if joined.len() < 40 && !pool.contains(&joined) {
            pool.push(joined);
        }
    }
    let scores: Vec<f64> = (0..pool.len()).map(|_| f64::from(draw.below(30) as u32)).collect();
    let ends: Vec<u32> = (1..=pool.len()).map(|count| pool[..count].concat().len() as u32).collect();
    let ids: Vec<u32> = (1..=pool.len() as u32).collect();
    let blob = pool.concat();
    let tables = Tables { blob: blob.as_bytes(), ends: &ends, ids: &ids, merges: &[] };
    let vocab = Arc::new(Vocab::new(Unit::Piece, MergeRule::Bytes, false, tables).expect("the tokens differ"));
    let normalizer =
        Normalizer { charsmap: None, dummy: AddedSpace::Before, remove_extra: draw.below(2) == 0, escape: true };
    let frozen = if draw.below(2) == 0 { vec![("<s>".to_owned(), 0)] } else { Vec::new() };
    let options = CharEngineOptions {
        scores: Some(&scores),
        way: CharRule::Merge,
        unused: &[],
        byte_fallback: false,
        unknown: Some(0),
        frozen,
        normalizer,
    };
    let chars = CharEngine::new(&vocab, options).expect("the options are possible");
    let (added, splitter) = (AddedTokens::default(), Splitter::new(&[] as &[&str]).expect("it splits nothing"));
    pool.extend([" ", "x", "<s>", "  "].map(str::to_owned));
    (Encoder::new(Arc::new(PieceEncoder::plain(vocab)), added, splitter).with_chars(Some(chars)), pool)
}

/// Drawn tokenizers of every kind, drawn models of `SentencePiece`, and trainings on drawn texts with every pattern.
#[test]
fn ids_and_merges_equal_the_build_without_fast() {
    let (mut draw, mut digest, stop) = (Draw(1), Sha256::new(), Stop::default());
    let mut found = 0;
    for _ in 0..400 {
        let ids = tokenizer::ids(&draw.bytes(300));
        found += usize::from(matches!(&ids, Some(Ok(ids)) if ids.len() > 20));
        digest.update(format!("{ids:?}\n"));
    }
    assert!(found > 100, "{found}");
    for _ in 0..60 {
        let (encoder, words) = draw_char_encoder(&mut draw);
        for count in [3, 40, 40, 900] {
            let (text, mut ids) = (draw.words(&words, count), Vec::new());
            let done =
                encoder.with_session(|session| encoder.encode(Text::Str(&text), &Allow::All, &stop, session, &mut ids));
            digest.update(format!("{done:?} {ids:?}\n"));
        }
    }
    for row in PATTERNS {
        let texts: Vec<Vec<u8>> = (0..60).map(|_| text::text_of(&[&[1][..], &draw.bytes(80)].concat())).collect();
        let texts: Vec<Text<'_>> = texts.iter().map(|text| Text::Bytes(text)).collect();
        let mut counts = PieceCounts::new(Splitter::new(row.regexes).expect("the regexes compile"));
        counts.add(&texts, 1, &stop).expect("the texts are counted");
        let options = TrainOptions { limit: 80, ..TrainOptions::for_bytes() };
        let trained = train(&counts, &options, &mut |_| std::ops::ControlFlow::Continue(())).expect("it trains");
        digest.update(format!("{:?}\n", trained.merges));
    }
    let first = u64::from_be_bytes(*digest.finalize().first_chunk().expect("a digest has 32 bytes"));
    assert_eq!(format!("{first:016x}"), "d1cbc9699b83e98f");
}
