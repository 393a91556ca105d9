//! Prints the ids of texts, a line for each: `cargo run --example ids -- [FILE [PATTERN]] < texts`.
//!
//! FILE is a `.toksmith` file, or with a PATTERN a `.tiktoken` file. Texts are separated by a NUL byte. A special token in
//! a text is text.

use std::io::Read;

use toksmith_core::{Special, Tokenizer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file =
        arguments.next().unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/examples/small.toksmith").into());
    let tokenizer = match arguments.next() {
        Some(pattern) => Tokenizer::from_tiktoken(&std::fs::read(&file)?, &pattern, &[])?,
        None => Tokenizer::from_file(&file)?,
    };
    let mut texts = String::new();
    std::io::stdin().read_to_string(&mut texts)?;
    for text in texts.split('\0') {
        let ids = tokenizer.encode_with(text, Special::Text)?;
        assert_eq!(tokenizer.count_with(text, Special::Text)?, ids.len() as u64);
        println!("{}", ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
    }
    Ok(())
}
