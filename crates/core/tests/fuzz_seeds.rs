//! Replays the inputs of `fuzz/seeds` through the functions of the fuzz targets, without libFuzzer.

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

type Target = fn(&[u8]);

/// The function of each target that needs no data of its own; `encode_published` needs vocabularies.
const TARGETS: &[(&str, Target)] = &[
    ("decode", encode::decode),
    ("encode", encode::drawn),
    ("scan", split::scanners),
    ("split", split::any),
    ("table", table::any),
    ("tokenizer", tokenizer::any),
];

#[test]
fn every_seed_of_every_target_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    for (name, target) in TARGETS {
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
