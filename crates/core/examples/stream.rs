//! Writes a small `.tiktoken` file, loads it, and decodes ids one by one: `cargo run --example stream`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use toksmith_core::{Error, Special, Tokenizer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The bytes, then tokens in the order in which they merge.
    let bytes = (0..=255).map(|byte| vec![byte]);
    let merged = ["th", "the", " c", "at", " cat", "ü"].map(|token| token.as_bytes().to_vec());
    let lines = bytes.chain(merged).enumerate().map(|(rank, token)| format!("{} {rank}\n", STANDARD.encode(token)));
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("cats.tiktoken");
    std::fs::write(&path, lines.collect::<String>())?;

    let tokenizer = Tokenizer::from_tiktoken(&std::fs::read(&path)?, "gpt2", &[("<|end|>", 262)])?;
    let text = "the cat 🐈 für dich<|end|>";

    // A text from outside cannot spell a special token, unless you allow it.
    match tokenizer.encode(text) {
        Err(Error::SpecialTokenInText { token, offset }) => println!("{token} at byte {offset}"),
        other => return Err(format!("expected an error, not {other:?}").into()),
    }
    let ids = tokenizer.encode_with(text, Special::Allow)?;
    println!("{} ids of {}: {ids:?}", ids.len(), tokenizer.vocab_size());

    // 🐈 has four ids here: the decoder shows it when the last of them comes.
    let mut decoder = tokenizer.decoder();
    let mut shown = String::new();
    for &id in &ids {
        let characters = decoder.feed(&[id])?;
        println!("{id:>4} {characters:?}");
        shown += &characters;
    }
    shown += &decoder.finish()?;
    assert_eq!(shown, text);
    Ok(())
}
