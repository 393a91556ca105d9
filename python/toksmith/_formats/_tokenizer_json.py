"""HF's `tokenizer.json`, out only: byte-level byte-pair encodings with regex splitters.

HF writes bytes as characters (GPT-2's alphabet), runs its regexes in Oniguruma, and ignores the `id` of an added token
whose content is not in the vocabulary: it then takes the next free number. So regexes are translated or refused, and
added tokens are put into the vocabulary where the numbers would differ.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from .. import _core
from .._errors import CannotRepresent, FormatError
from .._model import AddedToken, Model, Step
from ._arguments import PatternArgument, refuse_losses
from ._onig import NotTranslatable, to_onig

__all__ = ["DOC", "NAME", "SUFFIXES", "load", "save", "sniff"]

NAME = "tokenizer_json"
SUFFIXES = ("tokenizer.json",)
DOC = "HF's tokenizer.json for byte-level encodings; it can be saved, and not yet loaded"

HEAD_BYTES = 1 << 16
BEHAVIORS = {
    "isolated": "Isolated",
    "removed": "Removed",
    "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext",
    "contiguous": "Contiguous",
}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}


def sniff(data: bytes, path: str) -> bool:
    """Whether it is a JSON object that names parts of a tokenizer near its start."""
    head = data[:HEAD_BYTES].lstrip()
    return head.startswith(b"{") and (b'"added_tokens"' in head or b'"pre_tokenizer"' in head)


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> NoReturn:
    """Raises FormatError: this format can only be saved."""
    raise FormatError(path, None, "is a tokenizer.json, which this version can save but not load")


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    """The JSON that HF tokenizers loads; it gives the same ids for every text."""
    refuse_losses(model, NAME, allow_loss, holds=("added_tokens", "splitters"))
    if model.unit != "byte":
        raise CannotRepresent(NAME, "unit", "only byte-level encodings can be saved in it")
    alphabet = byte_characters()
    spelt = {id: spell(token, alphabet) for id, token in zip(model.ids.tolist(), model.tokens, strict=True)}
    vocab = {spelt[id]: id for id in sorted(spelt)}
    added = sorted(model.added_tokens, key=lambda token: token.id)
    listed = tokens_for_vocab(model, added, vocab)
    merges = [[spelt[left], spelt[right]] for left, right, _ in model.vocab.recover_merges().tolist()]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": token.id, **vars(token)} for token in added],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer(model.splitters),
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": model.whole_piece,
            "vocab": vocab | listed,
            "merges": merges,
        },
    }
    return encoded(tokenizer)


def encoded(tokenizer: Mapping[str, Any]) -> bytes:
    """The JSON in UTF-8."""
    try:
        return (json.dumps(tokenizer, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError as error:
        raise CannotRepresent(NAME, "added_tokens", "UTF-8 cannot hold a lone surrogate") from error


def byte_characters() -> list[str]:
    """The character that stands for each byte: itself where Latin-1 shows one, else the next from U+0100 on."""
    shown = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in shown else next(others)) for byte in range(256)]


def spell(token: bytes, alphabet: list[str]) -> str:
    """The token with a character for each byte."""
    return "".join([alphabet[byte] for byte in token])


def pre_tokenizer(splitters: tuple[Step, ...]) -> dict[str, Any]:
    """The step that splits and then writes bytes as characters."""
    if not splitters:
        return BYTE_LEVEL
    return {"type": "Sequence", "pretokenizers": [*map(split, splitters), BYTE_LEVEL]}


def split(step: Step) -> dict[str, Any]:
    """HF's step for one of ours."""
    options = dict(step.options)
    if step.kind != "regex" or options.get("behavior") not in BEHAVIORS:
        raise CannotRepresent(NAME, "splitters", f"there is no step for {step}")
    pattern = options["pattern"]
    if options["dialect"] == "rust":
        try:
            pattern = to_onig(pattern)
        except NotTranslatable as error:
            raise CannotRepresent(NAME, "splitters", str(error)) from error
    behavior = BEHAVIORS[options["behavior"]]
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": options["invert"]}


def tokens_for_vocab(model: Model, added: list[AddedToken], vocab: Mapping[str, int]) -> dict[str, int]:
    """The added tokens that must stand in the vocabulary as well, so that HF gives them the ids they have."""
    ids = [token.id for token in added]
    if len(set(ids)) < len(ids):
        raise CannotRepresent(
            NAME, "added_tokens", "two of them share an id, and each content has one of its own there"
        )
    if ids == list(range(len(vocab), len(vocab) + len(ids))) and not any(token.content in vocab for token in added):
        return {}
    used = set(vocab.values())
    for token in added:
        content = token.content
        if vocab.get(content, token.id) != token.id:
            problem = f"{content!r} is how the token with the id {vocab[content]} is written there"
            raise CannotRepresent(NAME, "added_tokens", problem)
        if token.id in used and content not in vocab:
            raise CannotRepresent(NAME, "added_tokens", f"{content!r} has the id of a token that is written otherwise")
        if model.whole_piece and content not in vocab and is_piece(model, content):
            problem = f"{content!r} would stand in the vocabulary to keep its id, and be found as an ordinary piece"
            raise CannotRepresent(NAME, "added_tokens", problem)
    return {token.content: token.id for token in added}


def is_piece(model: Model, content: str) -> bool:
    """Whether some text has this content, or what HF writes for it, as one piece."""
    engine = _core.Engine(model.vocab, [step["pattern"] for step in model.splitters], [])
    spelt = [content]
    alphabet = byte_characters()
    if all(char in alphabet for char in content):
        spelt.append(bytes(map(alphabet.index, content)).decode("utf-8", "replace"))
    return any(engine.split(text) == [text.encode()] for text in spelt)
