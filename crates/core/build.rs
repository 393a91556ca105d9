//! Makes the table of `src/split/scan/class.rs`: one byte of class bits for each code point.

use std::path::Path;

use regex_syntax::hir::{Class, HirKind};

#[path = "src/split/scan/class_bits.rs"]
#[allow(dead_code, reason = "the scanners have more bits")]
mod class_bits;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/split/scan/class_bits.rs");
    let mut table = vec![0; char::MAX as usize + 1];
    for (class, bit) in class_bits::CLASSES {
        for (first, last) in ranges(class) {
            table[first as usize..=last as usize].iter_mut().for_each(|bits| *bits |= bit);
        }
    }
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&folder).join("classes"), table).expect("cargo made the folder");
}

fn ranges(class: &str) -> Vec<(char, char)> {
    let parsed = regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind);
    match parsed {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        _ => unreachable!("each of CLASSES is a class"),
    }
}
