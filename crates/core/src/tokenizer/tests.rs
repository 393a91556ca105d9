use std::ops::ControlFlow;

use super::trained::Training;
use super::*;
use crate::split::Text;

const NATIVE: &[u8] = include_bytes!("../../examples/small.toksmith");
const TIKTOKEN: &[u8] = include_bytes!("../../examples/small.tiktoken");

/// Texts with the ids that `toksmith.reference` gives them with the small file, special tokens as text.
const IDS: &[(&str, &[u32])] = &[
    ("", &[]),
    ("the cat sat", &[288, 271, 297]),
    ("The  cat\n\n sat ", &[84, 258, 32, 271, 10, 10, 297, 32]),
    ("für die Übung 🐈!", &[102, 292, 274, 285, 296, 287, 279, 33]),
    ("2,026 times", &[50, 44, 280, 54, 294, 284]),
    ("it's the rat\u{a0}ran", &[105, 116, 39, 115, 259, 269, 194, 160, 114, 264]),
    ("übt\tüber", &[195, 267, 116, 9, 195, 267, 283]),
    ("a<|end|>b", &[97, 60, 124, 101, 110, 100, 124, 62, 98]),
];

fn native(from: &str, to: &str) -> Result<Tokenizer> {
    let (body, _) = std::str::from_utf8(NATIVE).unwrap().rsplit_once("sha256 ").unwrap();
    let body = body.replace(from, to);
    assert!(from == to || body.as_bytes() != &NATIVE[..body.len().min(NATIVE.len())], "{from} is in the file");
    Tokenizer::from_bytes(format!("{body}sha256 {}\n", table::sha256(body.as_bytes())).as_bytes())
}

#[test]
fn both_formats_give_the_ids_of_the_reference() {
    let tiktoken = Tokenizer::from_tiktoken(TIKTOKEN, "gpt2", &[("<|end|>", 299)]).unwrap();
    for tokenizer in [Tokenizer::from_bytes(NATIVE).unwrap(), tiktoken] {
        assert_eq!(tokenizer.vocab_size(), 300);
        for &(text, ids) in IDS {
            assert_eq!(tokenizer.encode_with(text, Special::Text).unwrap(), ids, "{text}");
            assert_eq!(tokenizer.count_with(text, Special::Text).unwrap(), ids.len() as u64);
            assert_eq!(tokenizer.decode(ids).unwrap(), text);
            assert_eq!(tokenizer.decode_bytes(ids).unwrap(), text.as_bytes());
        }
    }
}

#[test]
fn a_special_token_in_a_text_is_an_error_unless_allowed() {
    let tokenizer = Tokenizer::from_bytes(NATIVE).unwrap();
    let refused = Error::SpecialTokenInText { token: "<|end|>".into(), offset: 1 };
    assert_eq!(Special::default(), Special::Raise);
    assert_eq!(tokenizer.encode("a<|end|>b"), Err(refused.clone()));
    assert_eq!(tokenizer.count("a<|end|>b"), Err(refused));
    assert_eq!(tokenizer.encode_with("a<|end|>b", Special::Allow).unwrap(), [97, 299, 98]);
    assert_eq!(tokenizer.count_with("a<|end|>b", Special::Allow).unwrap(), 3);
    assert_eq!(tokenizer.decode(&[97, 299, 98]).unwrap(), "a<|end|>b");
    let unknown = Error::UnknownId { id: 300, position: 1, vocab_size: 300 };
    assert_eq!(tokenizer.decode(&[97, 300]), Err(unknown));
}

#[test]
fn a_stream_shows_whole_characters() {
    let tokenizer = Tokenizer::from_bytes(NATIVE).unwrap();
    // ü; two bytes of a character and a letter; bytes that begin no character; an unfinished character.
    let bytes = [0xC3, 0xBC, 0xE2, 0x82, b'a', 0xFF, 0xBC, 0xF0, 0x9F];
    let expected = ["", "ü", "", "", "\u{FFFD}a", "\u{FFFD}", "\u{FFFD}", "", ""];
    let mut decoder = tokenizer.decoder();
    for _ in 0..2 {
        for (byte, expected) in bytes.into_iter().zip(expected) {
            assert_eq!(decoder.feed(&[u32::from(byte)]).unwrap(), expected, "{byte:x}");
            assert!(decoder.feed(&[97, 300]).is_err());
        }
        assert_eq!(decoder.finish().unwrap(), "\u{FFFD}");
    }
}

#[test]
fn a_stream_of_decoder_steps_shows_what_no_later_token_changes() {
    let with = |steps: &str| native(r#""decoders": []"#, &format!(r#""decoders": [{steps}]"#)).unwrap();
    let strip = r#"{"content": " ", "kind": "strip", "start": 1, "stop": 0}"#;
    let tokenizer = with(&format!(r#"{{"kind": "byte_fallback"}}, {{"kind": "fuse"}}, {strip}"#));
    let mut decoder = tokenizer.decoder();
    let parts = [271, 297, 33].map(|id| decoder.feed(&[id]).unwrap());
    assert!(decoder.feed(&[300]).is_err());
    assert_eq!(parts.concat() + &decoder.finish().unwrap(), "cat sat!");
    assert_eq!(parts, ["cat", " sat", "!"]);
    // The next token decides whether a space follows.
    let mut spaced = with(r#"{"kind": "spaced"}"#);
    spaced.breaker = Some(97);
    let mut decoder = spaced.decoder();
    let parts = [97, 98].map(|id| decoder.feed(&[id]).unwrap());
    assert_eq!((parts.concat() + &decoder.finish().unwrap()).as_str(), "a b");
}

#[test]
fn a_broken_file_is_an_error_with_its_line() {
    for end in 0..NATIVE.len() {
        assert!(matches!(Tokenizer::from_bytes(&NATIVE[..end]), Err(Error::Format { place: Some(_), .. })), "{end}");
    }
    for (from, to, line, problem) in [
        ("toksmith 1", "toksmith 3", "1", "toksmith 1"),
        ("toksmith 1", "toksmith 2", "392", "only for them"),
        ("\"kind\": \"bpe\"", "\"kind\": \"bpe\", \"unused_ids\": [7]", "392", "only for them"),
        ("\ntraining {", "\nscores 0\ntraining {", "347", "299 tokens but 0 scores"),
        ("\"kind\": \"bpe\"", "\"kind\": \"bpe\", \"kind\": \"bpe\"", "2", "duplicate field"),
        ("\"post\"", "\"last\"", "2", "unknown field"),
        ("\"unknown_id\": null, ", "", "2", "missing field"),
        ("tokens 299", "tokens 99999", "4", "ends before"),
        ("\n7 \\x07\n", "\n7 \n", "11", "no bytes"),
        ("merges 43", "merges x", "303", "number of lines"),
    ] {
        match native(from, to) {
            Err(Error::Format { place: Some(place), problem: found }) => {
                assert_eq!(place, line, "{found}");
                assert!(found.contains(problem), "{found}");
            }
            other => panic!("{to}: {other:?}"),
        }
    }
    let mut changed = NATIVE.to_vec();
    let digit = changed.len() - 2;
    changed[digit] ^= 1;
    let problem = Tokenizer::from_bytes(&changed).unwrap_err().to_string();
    assert!(problem.contains("the file was changed"), "{problem}");
    assert!(Tokenizer::from_bytes(&[NATIVE, b"\n"].concat()).unwrap_err().to_string().contains("end of the file"));
}

#[test]
fn a_part_that_does_not_run_is_refused_by_name() {
    for (from, to, part) in [
        ("\"kind\": \"bpe\"", "\"kind\": \"unigram\"", "unigram"),
        ("\"merge_rule\": \"pair\"", "\"merge_rule\": \"score\"", "score"),
        ("\"byte_fallback\": false", "\"byte_fallback\": true", "byte_fallback"),
        ("\"unknown_id\": null", "\"unknown_id\": 5", "unknown_id"),
        ("\"kind\": \"bpe\"", "\"kind\": \"bpe\", \"max_piece_chars\": 5", "max_piece_chars"),
        ("\"kind\": \"bpe\"", "\"fuse_unknown\": true, \"kind\": \"bpe\"", "fuse_unknown"),
        ("\"kind\": \"regex\"", "\"kind\": \"tarot\"", "tarot"),
        ("\"kind\": \"regex\"", "\"kind\": \"regex\", \"kind\": \"regex\"", "kind"),
        ("\"normalizers\": []", "\"normalizers\": [{\"kind\": \"sentencepiece\"}]", "SentencePiece's steps"),
        ("\"id\": 299", "\"id\": 97", "<|end|>"),
    ] {
        let problem = native(from, to).expect_err(to);
        assert!(matches!(problem, Error::Model { .. }) && problem.to_string().contains(part), "{to}: {problem}");
    }
    assert!(native("", "").is_ok());
}

/// The tokenizer of a draft with these fields, tokens `a`, `b`, `ab` and `▁`, and scores.
fn drafted(fields: &str, scores: [&str; 4]) -> Result<Tokenizer> {
    let model = format!(
        r#"{{"post":[],"added_tokens":[],"byte_fallback":false,"splitters":[],"unit":"char","whole_piece":false,{fields}}}"#
    );
    let scores = scores.join("\n");
    let draft = format!("toksmith 1\nmodel {model}\ntokens 4\n0 a\n1 \\x62\n2 ab\n3 ▁\nmerges 0\nscores 4\n{scores}\n");
    Tokenizer::from_bytes(&native::finish_draft(draft.as_bytes())?)
}

#[test]
fn scores_decide_the_ids_of_a_draft() {
    let unigram = r#""kind":"unigram","merge_rule":"pair","unknown_id":3,"normalizers":[],"decoders":[]"#;
    for (score, ids) in [("-1.5", &[2][..]), ("-5.0", &[0, 1])] {
        let tokenizer = drafted(unigram, ["-1.0", "-1.0", score, "-9.0"]).unwrap();
        assert_eq!(tokenizer.encode("ab").unwrap(), ids);
        assert_eq!(tokenizer.encode("x").unwrap(), [3]);
    }
    for score in ["inf", "nan", "1e39", "+1", ""] {
        let problem = drafted(unigram, ["-1.0", "-1.0", score, "-9.0"]).unwrap_err().to_string();
        assert!(problem.contains("finite decimal number"), "{problem}");
    }
}

#[test]
fn a_text_of_sentencepiece_is_one_piece() {
    let step = r#"{"kind":"sentencepiece","charsmap":"","dummy":"before","escape":true,"remove_extra":true}"#;
    let shown = r#"{"kind":"sentencepiece","strip":"once","unknown":"?"}"#;
    let fields = |step: &str| {
        format!(r#""kind":"bpe","merge_rule":"bytes","unknown_id":null,"normalizers":[{step}],"decoders":[{shown}]"#)
    };
    let scores = ["-1.0", "-2.0", "-3.0", "-4.0"];
    let tokenizer = drafted(&fields(step), scores).unwrap();
    assert_eq!(tokenizer.encode(" ab  a").unwrap(), [3, 2, 3, 0]);
    assert_eq!(tokenizer.decode(&[3, 2, 3, 0]).unwrap(), "ab a");
    for (from, to, part) in [("before", "beside", "dummy"), ("true", "1", "remove_extra"), ("\"\"", "\"?\"", "base 64")]
    {
        let problem = drafted(&fields(&step.replace(from, to)), scores).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
    }
}

#[test]
fn a_tiktoken_file_needs_a_pattern_and_unique_tokens() {
    for bad in ["gtp2", "", "("] {
        assert!(matches!(Tokenizer::from_tiktoken(TIKTOKEN, bad, &[]), Err(Error::Option { argument: "pattern", .. })));
    }
    let repeated = [TIKTOKEN, b"YQ== 400\n"].concat();
    let problem = Tokenizer::from_tiktoken(&repeated, "gpt2", &[]).unwrap_err().to_string();
    assert!(problem.starts_with("300: the token a is in line 98"), "{problem}");
    let taken = Tokenizer::from_tiktoken(TIKTOKEN, "gpt2", &[("<|end|>", 97)]);
    assert!(matches!(taken, Err(Error::Model { id: Some(97), .. })));
}

#[test]
fn a_file_is_named_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.toksmith");
    assert!(matches!(Tokenizer::from_file(&path), Err(Error::Corpus { .. })));
    std::fs::write(&path, "toksmith 1\nmodel {}\n").unwrap();
    let problem = Tokenizer::from_file(&path).unwrap_err().to_string();
    assert!(problem.starts_with(&format!("{}:2: model: missing field", path.display())), "{problem}");
}

#[test]
fn threads_share_a_tokenizer() {
    let tokenizer = Tokenizer::from_bytes(NATIVE).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(tokenizer.encode("the cat sat").unwrap(), IDS[1].1));
        }
    });
}

/// A training on one text, ended by `report` if it breaks.
fn trained(text: &str, vocab_size: usize, special_tokens: &[&str], flow: ControlFlow<()>) -> Result<Vec<u8>> {
    let texts = &[Text::Str(text)];
    let (pattern, min_count, max_token_bytes) = (Some("o200k"), 1, None);
    Training { texts, vocab_size, pattern, special_tokens, min_count, max_token_bytes }.run(&mut |_| flow)
}

#[test]
fn a_training_gives_the_file_of_the_python_package() {
    // toksmith.train("low lower lowest low", 262, special_tokens=["<|end|>"]).save("it.toksmith")
    const DIGEST: &[u8] = b"sha256 98c99a29ddcd19237d8f06b351dbb628f7b82433665920bdfccca27dcfa6cd6a\n";
    let file = trained("low lower lowest low", 262, &["<|end|>"], ControlFlow::Continue(())).unwrap();
    assert!(file.ends_with(DIGEST), "{}", String::from_utf8_lossy(&file));
    let tokenizer = Tokenizer::from_bytes(&file).unwrap();
    assert_eq!(tokenizer.encode(" low").unwrap(), [258]);
    assert_eq!(tokenizer.encode_with("<|end|>", Special::Allow).unwrap(), [261]);
}

#[test]
fn a_training_that_is_stopped_before_its_first_merge_has_no_file() {
    assert_eq!(trained("low lower", 262, &[], ControlFlow::Break(())), Err(Error::Interrupted));
}

#[test]
fn a_training_refuses_what_it_cannot_do() {
    for (vocab_size, special_tokens, argument) in [
        (256, &["a"][..], "vocab_size"),
        (1 << 24, &[], "vocab_size"),
        (300, &["a", "a"], "special_tokens"),
        (300, &[""], "special_tokens"),
    ] {
        match trained("low", vocab_size, special_tokens, ControlFlow::Continue(())) {
            Err(Error::Option { argument: found, .. }) => assert_eq!(found, argument),
            other => panic!("{argument}: {other:?}"),
        }
    }
    assert!(matches!(trained("", 300, &[], ControlFlow::Continue(())), Err(Error::Corpus { .. })));
}
