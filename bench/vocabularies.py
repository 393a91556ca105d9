"""The vocabularies of the questions, each in the file formats that the engines need.

Published files are only read; conversions go to the scratch folder. Without published files, one vocabulary is trained
on the sources of Python's library, so that the benchmark runs on any machine.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from .adapters import Encoding
from .places import data, scratch, write_whole
from .tokenizer_json import from_ranks, from_sentencepiece

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

# The publishers' spelling, in tiktoken's dialect. They are copied here and not taken from toksmith, so that the
# expected answers do not depend on the measured code.
REGEXES = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k": rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTIONS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "llama3": rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
# The same splits in the spelling of the files for Hugging Face's format, by which its engines recognize their fast
# paths; "" is its built-in split of GPT-2. The ids of the published vocabularies are equal with both spellings.
TOKENIZER_JSON_REGEXES = REGEXES | {"gpt2": "", "cl100k": REGEXES["llama3"]}
RANKS = {
    "r50k": ("r50k_base.tiktoken", "gpt2"),
    "cl100k": ("cl100k_base.tiktoken", "cl100k"),
    "o200k": ("o200k_base.tiktoken", "o200k"),
    "llama3": ("llama3.tiktoken", "llama3"),
}
SENTENCEPIECE = {"mistral_v1": "mistral_v1.model"}
FALLBACK = "trained"
FALLBACK_SIZE = 16_384


class MissingVocabulary(Exception):
    """A vocabulary is not available on this machine; the message says what is missing."""


def encoding(name: str) -> Encoding:
    """A vocabulary by name, without conversions."""
    if name == FALLBACK:
        return Encoding(name, "ranks", str(train_fallback()), "cl100k", REGEXES["cl100k"])
    if name in RANKS:
        file, pattern = RANKS[name]
        return Encoding(name, "ranks", str(published_file(file)), pattern, REGEXES[pattern])
    if name in SENTENCEPIECE:
        return Encoding(name, "sentencepiece", str(published_file(SENTENCEPIECE[name])), "", "")
    raise MissingVocabulary(f"no encoding {name!r}; known are {', '.join((*RANKS, *SENTENCEPIECE, FALLBACK))}")


def published_file(file: str) -> Path:
    """A file of the data folder."""
    path = data() / "vocab" / file
    if not path.is_file():
        raise MissingVocabulary(f"no {path}; name a folder with corpora/ and vocab/ in TOKSMITH_TEST_DATA")
    return path


def with_tokenizer_json(encoding: Encoding) -> Encoding:
    """The encoding with its `tokenizer.json`, converted if it does not exist."""
    path = derived_path(encoding, ".tokenizer.json")
    if not path.is_file():
        source = Path(encoding.source).read_bytes()
        if encoding.kind == "sentencepiece":
            content = from_sentencepiece(source)
        else:
            content = from_ranks(source, TOKENIZER_JSON_REGEXES[encoding.pattern])
        write_whole(path, content.encode("utf-8"))
    return replace(encoding, tokenizer_json=str(path))


def derived_path(encoding: Encoding, suffix: str) -> Path:
    """The path of a conversion of a vocabulary."""
    digest = hashlib.sha256(
        Path(encoding.source).read_bytes() + TOKENIZER_JSON_REGEXES.get(encoding.pattern, "").encode("utf-8")
    ).hexdigest()[:12]
    return scratch("vocabularies") / f"{encoding.name}-{digest}{suffix}"


def train_fallback() -> Path:
    """Ranks trained on Python's own library, for machines without published files."""
    path = scratch("vocabularies") / f"{FALLBACK}-{FALLBACK_SIZE}.tiktoken"
    if not path.is_file():
        import toksmith

        from .texts import MB, limit_documents, stdlib_documents

        texts = list(limit_documents(stdlib_documents(), 10 * MB))
        tok = toksmith.train(texts, FALLBACK_SIZE, pattern="cl100k", progress=False)
        tok.save(path, format="tiktoken", allow_loss=("splitters",))
    return path
