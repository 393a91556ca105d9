//! Regexes of published tokenizers that another engine runs as Oniguruma does.
//!
//! Each is compared as a whole string. A regex that is not here runs in Oniguruma.

/// The regexes that mean the same unchanged in both dialects.
pub const SAME: &[&str] = &[
    // GPT-2, with and without possessive quantifiers
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    // GPT-4 as in minbpe, and with `\p{N}{1,3}` where tiktoken has `\p{N}{1,3}+`
    concat!(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|",
        r"\s+(?!\S)|\s+"
    ),
    concat!(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|",
        r"\s+(?!\S)|\s"
    ),
    // Llama 3, DBRX, GLM-4, OLMo 2
    concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|",
        r"\s+(?!\S)|\s+"
    ),
    // Qwen 2 to 3, StableLM 2; Qwen 3.5
    concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|",
        r"\s+(?!\S)|\s+"
    ),
    concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|",
        r"\s+(?!\S)|\s+"
    ),
    // GPT-4o, gpt-oss, Llama 4
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    // Mistral's tekken, Nemotron 3
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|",
        r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    // Kimi K2
    concat!(
        r"[\p{Han}]+|",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    // DeepSeek 1, one after another
    r"[\r\n]",
    r"\s?\p{L}+",
    r"\s?\p{P}+",
    "[一-龥ࠀ-一가-퟿]+",
    r"\p{N}",
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-Ⴥ]+",
    r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
    // DeepSeek 3, one after another
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    concat!(
        r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"##,
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    // Falcon and StarCoder; Falcon 3; BLOOM; CLIP
    "[0-9][0-9][0-9]",
    r"\d",
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
    r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    r"\s+",
    // EXAONE's mixture of experts
    concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|",
        r"\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    // The normalizers of ALBERT and T5, and of models of SentencePiece as HF tokenizers has them
    " {2,}",
    r"\A +",
    r"▁+\z",
    r" +\z",
];

/// The regexes that mean different things, each with its spelling in the other dialect.
///
/// `{1,3}+` repeats what `{1,3}` finds. `$` is the end of any line. `\w` holds more characters outside of a class than
/// in one, and no joiners. `\b` uses the former.
pub const OTHER: &[(&str, &str)] = &[
    // GPT-4 as in tiktoken
    (
        concat!(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|",
            r"\s+(?!\S)|\s"
        ),
        concat!(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|",
            r"\s+(?!\S)|\s"
        ),
    ),
    // DeepSeek 1
    (r"\s+$", r"\s+(?m:$)"),
    // Tiny Aya, before the regex of GPT-4o
    (r"\d{1,3}(?=(?:\d{3})*\b)", r"\d{1,3}(?=(?:\d{3})*(?![\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼½¾]))"),
    // HF's `Whitespace`
    (r"\w+|[^\w\s]+", r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼½¾]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\s]+"),
];

/// The Rust spelling of an Oniguruma regex that is in one of the tables.
#[must_use]
pub fn in_rust(pattern: &str) -> Option<&'static str> {
    let other = OTHER.iter().find(|(onig, _)| *onig == pattern).map(|(_, rust)| *rust);
    other.or_else(|| SAME.iter().copied().find(|same| *same == pattern))
}
