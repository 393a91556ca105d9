"""The features in cases of `toksmith.compat.tokenizers`: each on a simple base, as the code that makes it.

The code runs with `lib`, which is the library or the drop-in, and with the names of this module's vocabularies. It
leaves the tokenizer in `t`.
"""

import itertools
from collections.abc import Iterator

LETTERS = "abcdefghijklmnopqrstuvwxyzHNY0123456789.,!?'-▁é"
WORDS = (
    "lo",
    "low",
    "er",
    "th",
    "the",
    "he",
    "ll",
    "hell",
    "hello",
    "ne",
    "new",
    "in",
    "ing",
    "es",
    "est",
    "New",
    "Yo",
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def bpe(
    extra: list[str] | None = None, prefix: str = "", suffix: str = ""
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A vocabulary of letters and their merges, with marks."""
    tokens = [
        "[UNK]",
        *LETTERS,
        " ",
        *(prefix + each for each in LETTERS if prefix),
        *(each + suffix for each in LETTERS if suffix),
    ]
    tokens += [prefix + each + suffix for each in LETTERS if prefix and suffix]
    merges = [
        ("l", prefix + "o"),
        ("l" if not prefix else prefix + "l", prefix + "l"),
        ("t", prefix + "h"),
        ("h", prefix + "e"),
    ]
    merges += [
        ("e", prefix + "r" + suffix),
        ("n", prefix + "e"),
        ("a", prefix + "b"),
        ("lo", prefix + "w" + suffix),
        ("th", prefix + "e" + suffix),
    ]
    merges += [] if suffix else [("he", prefix + "ll"), ("ab", prefix + "c")]
    tokens += [left + right[len(prefix) :] for left, right in merges]
    tokens += extra or []
    vocab = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
    return vocab, [pair for pair in merges if pair[0] in vocab and pair[1] in vocab]


V, M = bpe()
VP, MP = bpe(prefix="##")
VS, MS = bpe(suffix="</w>")
VB, MB = bpe(BYTES)
VH, MH = bpe(BYTES[:128])
PIECES = ["[UNK]", *LETTERS, *(f"##{each}" for each in LETTERS), *WORDS, *(f"##{each}" for each in WORDS), "漢", "##漢"]
VW = {token: id for id, token in enumerate(dict.fromkeys(PIECES))}
VL = {
    token: id for id, token in enumerate(dict.fromkeys(["[UNK]", *WORDS, *LETTERS, "Hello", " ", "漢", "world", "é"]))
}
SCORED = [("[UNK]", 0.0), *((each, -5.0 - place / 8) for place, each in enumerate(LETTERS))]
SCORED += [(each, -3.0 - place / 4) for place, each in enumerate((*WORDS, "▁the", "▁he", "▁low", "1", "a1", "▁▁"))]
U = list(dict(SCORED).items())
UB = [*U, *((each, -9.0) for each in BYTES)]
UH = [*U, *((each, -9.0) for each in BYTES[:128])]
SPLITS = 'lib.Regex(r"\\s+|[aeiou]")'

BASES = {
    "bpe": 't = lib.Tokenizer(lib.models.BPE(V, M, unk_token="[UNK]"))',
    "words": 't = lib.Tokenizer(lib.models.WordLevel(VL, unk_token="[UNK]")); t.pre_tokenizer = lib.pre_tokenizers.Whitespace()',
    "wordpiece": 't = lib.Tokenizer(lib.models.WordPiece(VW, unk_token="[UNK]")); t.pre_tokenizer = lib.pre_tokenizers.BertPreTokenizer()',
    "unigram": "t = lib.Tokenizer(lib.models.Unigram(U, 0, False)); t.pre_tokenizer = lib.pre_tokenizers.Metaspace()",
    "bytes": "t = lib.Tokenizer(lib.models.BPE({c: i for i, c in enumerate(sorted(lib.pre_tokenizers.ByteLevel.alphabet()))}, [])); "
    "t.pre_tokenizer = lib.pre_tokenizers.ByteLevel(add_prefix_space=False); t.decoder = lib.decoders.ByteLevel()",
}
MODELS = {
    "BPE": "lib.models.BPE(V, M)",
    "BPE unk": 'lib.models.BPE(V, M, unk_token="[UNK]")',
    "BPE fuse_unk": 'lib.models.BPE(V, M, unk_token="[UNK]", fuse_unk=True)',
    "BPE unk not in vocab": 'lib.models.BPE(V, M, unk_token="[NONE]")',
    "BPE byte_fallback": 'lib.models.BPE(VB, MB, unk_token="[UNK]", byte_fallback=True)',
    "BPE byte_fallback fuse": 'lib.models.BPE(VB, MB, unk_token="[UNK]", byte_fallback=True, fuse_unk=True)',
    "BPE byte_fallback no unk": "lib.models.BPE(VB, MB, byte_fallback=True)",
    "BPE some bytes": 'lib.models.BPE(VH, MH, unk_token="[UNK]", byte_fallback=True)',
    "BPE some bytes no unk": "lib.models.BPE(VH, MH, byte_fallback=True)",
    "BPE ignore_merges": 'lib.models.BPE({**V, "zq": 900, "abz": 901}, M, unk_token="[UNK]", ignore_merges=True)',
    "BPE prefix": 'lib.models.BPE(VP, MP, unk_token="[UNK]", continuing_subword_prefix="##")',
    "BPE prefix no unk": 'lib.models.BPE(VP, MP, continuing_subword_prefix="##")',
    "BPE suffix": 'lib.models.BPE(VS, MS, unk_token="[UNK]", end_of_word_suffix="</w>")',
    "BPE suffix no unk": 'lib.models.BPE(VS, MS, end_of_word_suffix="</w>")',
    "BPE suffix fallback": 'lib.models.BPE({**VS, **{b: 500 + i for i, b in enumerate(BYTES)}}, MS, end_of_word_suffix="</w>", byte_fallback=True)',
    "BPE empty": "lib.models.BPE()",
    "BPE dropout 0": 'lib.models.BPE(V, M, unk_token="[UNK]", dropout=0.0)',
    "BPE dropout": 'lib.models.BPE(V, M, unk_token="[UNK]", dropout=0.5)',
    "WordPiece": 'lib.models.WordPiece(VW, unk_token="[UNK]")',
    "WordPiece prefix": 'lib.models.WordPiece(VW, unk_token="[UNK]", continuing_subword_prefix="")',
    "WordPiece short": 'lib.models.WordPiece(VW, unk_token="[UNK]", max_input_chars_per_word=4)',
    "WordPiece no unk": 'lib.models.WordPiece(VW, unk_token="[NONE]")',
    "WordLevel": 'lib.models.WordLevel(VL, unk_token="[UNK]")',
    "WordLevel no unk": 'lib.models.WordLevel(VL, unk_token="[NONE]")',
    "Unigram": "lib.models.Unigram(U, 0, False)",
    "Unigram another unk": "lib.models.Unigram(U, 3, False)",
    "Unigram no unk": "lib.models.Unigram(U, None, False)",
    "Unigram byte_fallback": "lib.models.Unigram(UB, 0, True)",
    "Unigram byte_fallback no unk": "lib.models.Unigram(UB, None, True)",
    "Unigram some bytes": "lib.models.Unigram(UH, 0, True)",
    "Unigram samples": "lib.models.Unigram(U, 0, False, alpha=0.5, nbest_size=9)",
    "Unigram empty": "lib.models.Unigram()",
}
NORMALIZERS = (
    *("NFC()", "NFD()", "NFKC()", "NFKD()", "Nmt()", "Lowercase()", "StripAccents()", "ByteLevel()"),
    *("BertNormalizer()", "BertNormalizer(clean_text=False)", "BertNormalizer(handle_chinese_chars=False)"),
    *(
        "BertNormalizer(strip_accents=False)",
        "BertNormalizer(strip_accents=True, lowercase=False)",
        "BertNormalizer(lowercase=False)",
    ),
    *(
        "Strip()",
        "Strip(left=False)",
        "Strip(right=False)",
        'Prepend("▁")',
        'Prepend("ab")',
        'Replace(" ", "▁")',
        'Replace("a", "")',
    ),
    *('Replace(lib.Regex(r"\\s+"), " ")', 'Replace(lib.Regex("[aeiou]"), "xy")', 'Replace("", "a")', "Sequence([])"),
    *("Sequence([lib.normalizers.NFD(), lib.normalizers.StripAccents(), lib.normalizers.Lowercase()])",),
    *('Sequence([lib.normalizers.Prepend("▁"), lib.normalizers.Replace(" ", "▁")])',),
    *('Sequence([lib.normalizers.Strip(), lib.normalizers.Replace(lib.Regex(" {2,}"), " "), lib.normalizers.NFKC()])',),
)
BEHAVIORS = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
PRE_TOKENIZERS = (
    *("BertPreTokenizer()", "ByteLevel()", "ByteLevel(add_prefix_space=False)", "ByteLevel(use_regex=False)"),
    *("ByteLevel(add_prefix_space=False, use_regex=False)", "ByteLevel(trim_offsets=False)", 'CharDelimiterSplit("e")'),
    *("Digits()", "Digits(individual_digits=True)", "FixedLength()", "FixedLength(length=1)", "FixedLength(length=2)"),
    *(
        "Metaspace()",
        'Metaspace(replacement="_")',
        'Metaspace(prepend_scheme="never")',
        'Metaspace(prepend_scheme="first")',
    ),
    *("Metaspace(split=False)", "UnicodeScripts()", "Whitespace()", "WhitespaceSplit()", "Sequence([])"),
    *(f'Punctuation("{each}")' for each in BEHAVIORS),
    *(f'Split(" ", "{each}")' for each in BEHAVIORS),
    *(f'Split({SPLITS}, "{each}")' for each in BEHAVIORS),
    *(f'Split({SPLITS}, "{each}", invert=True)' for each in BEHAVIORS),
    "Sequence([lib.pre_tokenizers.WhitespaceSplit(), lib.pre_tokenizers.Punctuation()])",
    "Sequence([lib.pre_tokenizers.Digits(), lib.pre_tokenizers.ByteLevel(add_prefix_space=False)])",
    "Sequence([lib.pre_tokenizers.UnicodeScripts(), lib.pre_tokenizers.Metaspace()])",
)
DECODERS = (
    *("BPEDecoder()", 'BPEDecoder(suffix="")', 'BPEDecoder(suffix="r")', "ByteFallback()", "ByteLevel()", "CTC()"),
    *(
        'CTC(pad_token="a")',
        'CTC(word_delimiter_token="l")',
        "CTC(cleanup=False)",
        "Fuse()",
        "Metaspace()",
        "Sequence([])",
    ),
    *(
        'Metaspace(replacement="_")',
        'Metaspace(prepend_scheme="never")',
        "Metaspace(split=False)",
        'Replace("a", "bc")',
    ),
    *(
        'Replace(lib.Regex("[lo]+"), "")',
        "Strip()",
        'Strip("l", 1, 0)',
        'Strip("l", 0, 2)',
        "WordPiece()",
        'WordPiece(prefix="l")',
    ),
    *(
        "WordPiece(cleanup=False)",
        'Sequence([lib.decoders.Replace("▁", " "), lib.decoders.ByteFallback(), lib.decoders.Fuse()])',
    ),
    *('Sequence([lib.decoders.ByteFallback(), lib.decoders.Fuse(), lib.decoders.Strip(" ", 1, 0)])',),
)
SPECIALS = (
    't.add_special_tokens(["<s>", "</s>", "<mask>"]); s, e, m = (t.token_to_id(x) for x in ("<s>", "</s>", "<mask>"))'
)
TEMPLATE = 'special_tokens=[("<s>", s), ("</s>", e)]'
PROCESSORS = (
    *('BertProcessing(("</s>", e), ("<s>", s))', 'RobertaProcessing(("</s>", e), ("<s>", s))'),
    *(
        'RobertaProcessing(("</s>", e), ("<s>", s), trim_offsets=False)',
        'RobertaProcessing(("</s>", e), ("<s>", s), add_prefix_space=False)',
    ),
    *(
        "ByteLevel()",
        "ByteLevel(trim_offsets=False)",
        "ByteLevel(add_prefix_space=False)",
        "ByteLevel(use_regex=False)",
    ),
    *(
        "TemplateProcessing()",
        f'TemplateProcessing("<s> $A </s>", {TEMPLATE})',
        f'TemplateProcessing("$0 </s>:3", "$B:2 </s> $A:1", {TEMPLATE})',
    ),
    *(
        f'TemplateProcessing("<s> $A", "<s> $A </s>:1 $B:1 </s>:1", {TEMPLATE})',
        'TemplateProcessing("$A $A", "$A $B $A")',
    ),
    'TemplateProcessing("x $A", special_tokens=[{"id": "x", "ids": [s, e], "tokens": ["<s>", "</s>"]}])',
    f'Sequence([lib.processors.ByteLevel(), lib.processors.TemplateProcessing("<s> $A", "$A $B:1", {TEMPLATE})])',
)
TRUNCATIONS = [
    f'max_length={most}, stride={stride}, strategy="{strategy}", direction="{side}"'
    for most, stride, strategy, side in itertools.product(
        (0, 1, 2, 3, 5, 8), (0, 1, 2), ("longest_first", "only_first", "only_second"), ("left", "right")
    )
]
PADDINGS = (
    *("", "length=6", "length=0", "pad_to_multiple_of=4", "length=5, pad_to_multiple_of=3", 'direction="left"'),
    *(
        'direction="left", length=9',
        "pad_id=7",
        "pad_type_id=2",
        'pad_token="<p>"',
        'direction="left", pad_id=3, pad_token="P", length=7',
    ),
)
CONTENTS = ("New York", "<x>", "é", "E\u0301", "ing", " x ", "low", "ﬁ", "漢", "Hey", "##a", "1", "İ", "a b")


def added() -> Iterator[tuple[str, str]]:
    """Added tokens with flags."""
    flags = ("lstrip", "rstrip", "single_word", "normalized", "special")
    sets = [
        (),
        *((flag,) for flag in flags),
        ("lstrip", "rstrip"),
        ("special", "lstrip", "rstrip"),
        ("special", "normalized"),
        ("single_word", "normalized"),
    ]
    for chosen in sets:
        given = "".join(f", {flag}=True" for flag in chosen)
        for normalized in ("", ", normalized=False") if "normalized" not in chosen else ("",):
            code = f"t.add_tokens([lib.AddedToken(c{given}{normalized}) for c in {CONTENTS!r}])"
            yield f"added {'+'.join(chosen) or 'plain'}{normalized}", code
    yield "added str", f"t.add_tokens({list(CONTENTS)!r})"
    yield "added special str", f"t.add_special_tokens({list(CONTENTS)!r})"
    yield "added as text", f"t.add_special_tokens({list(CONTENTS)!r}); t.encode_special_tokens = True"
    yield "added spaces", 't.add_tokens([lib.AddedToken(c, lstrip=True, rstrip=True) for c in ("a", " ", "\\t", "b")])'


def features() -> Iterator[tuple[str, str]]:
    """Every feature: its name, and the code that makes a tokenizer with it."""
    pre = "t.pre_tokenizer = lib.pre_tokenizers."
    for name, code in MODELS.items():
        for split in ("", pre + "WhitespaceSplit()", pre + "Metaspace()"):
            yield f"model={name}", f"t = lib.Tokenizer({code}); {split}"
    for base, made in BASES.items():
        yield f"base={base}", made
        for code in NORMALIZERS:
            yield f"normalizer={code}", f"{made}; t.normalizer = lib.normalizers.{code}"
        for code in PRE_TOKENIZERS:
            yield f"pre_tokenizer={code}", f"{made}; {pre}{code}"
        for code in DECODERS:
            yield f"decoder={code}", f"{made}; t.decoder = lib.decoders.{code}"
        for code in PROCESSORS:
            yield f"post_processor={code}", f"{made}; {SPECIALS}; t.post_processor = lib.processors.{code}"
        for code in TRUNCATIONS:
            yield f"truncation={code}", f"{made}; t.enable_truncation({code})"
        for code in TRUNCATIONS[::3]:
            put = f'{SPECIALS}; t.post_processor = lib.processors.TemplateProcessing("<s> $A", "<s> $A </s> $B:1", {TEMPLATE})'
            yield "truncation with a template", f"{made}; {put}; t.enable_truncation({code})"
        for code in PADDINGS:
            yield f"padding={code}", f"{made}; t.enable_padding({code})"
            both = f"t.enable_truncation(5, stride=1); t.enable_padding({code})"
            yield (
                f"padding={code} after truncation",
                f"{made}; {SPECIALS}; t.post_processor = lib.processors.TemplateProcessing('<s> $A', '$A $B:1', {TEMPLATE}); {both}",
            )
        for name, code in added():
            yield name, f"{made}; {code}"
            yield (
                name + " with NFKC+Lowercase",
                f"{made}; t.normalizer = lib.normalizers.Sequence([lib.normalizers.NFKC(), lib.normalizers.Lowercase()]); {code}",
            )
            yield name + " with NFD", f"{made}; t.normalizer = lib.normalizers.NFD(); {code}"
            yield name + " with Prepend", f'{made}; t.normalizer = lib.normalizers.Prepend("▁"); {code}'
