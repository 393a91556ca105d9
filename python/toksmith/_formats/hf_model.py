"""The `model` of a `tokenizer.json`: byte-pair encoding with all its flags, WordPiece, WordLevel and Unigram.

HF writes bytes as characters (GPT-2's alphabet) and merges characters. A plain byte-level model is read as a model of
bytes; every other model is read as a model of characters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import _core
from .._base import lazy_numpy as np
from .._base.wording import number_of
from .._model.model import ID_LIMIT, AddedToken, Model, Step, TokenTable
from ..errors import CannotRepresent, InvalidOption
from .hf_numbers import read_number
from .hf_steps import make_step
from .json import JsonObject
from .texts import from_gpt2_alphabet

NO_UNKNOWN = "[UNK]"


def read_vocab(part: JsonObject) -> dict[str, int]:
    vocab: dict[str, int] = part.take("vocab", dict)
    token_of: dict[int, str] = {}
    for token, id in vocab.items():
        if type(id) is not int or not 0 <= id < ID_LIMIT:
            part.fail(f"{token!r} must have an id from 0 to {ID_LIMIT - 1}, not {id!r}", "vocab")
        if token_of.setdefault(id, token) != token:
            part.fail(f"{token!r} and {token_of[id]!r} have the same id, {id}", "vocab")
        if not token:
            part.fail("contains an empty token", "vocab")
    return vocab


def read_merges(part: JsonObject) -> list[tuple[str, str]]:
    """The pairs in rank order, from the old spelling (`"a b"`) or the new spelling (`["a", "b"]`)."""
    merges = []
    for at, merge in enumerate(part.take("merges", list)):
        if isinstance(merge, str):
            if merge.startswith("#version"):
                continue
            merge = merge.split(" ")
        if type(merge) is not list or len(merge) != 2 or type(merge[0]) is not str or type(merge[1]) is not str:
            part.fail("must be two tokens, as a list or with one space between", f"merges[{at}]")
        merges.append((merge[0], merge[1]))
    return merges


def merge_ids(part: JsonObject, vocab: Mapping[str, int], prefix: str) -> list[int]:
    """The three ids of each merge, in rank order. A repeated pair has its last rank."""
    merges = read_merges(part)
    last = {pair: rank for rank, pair in enumerate(merges)}
    ids: list[Any] = []
    for rank, pair in enumerate(merges):
        if last[pair] != rank:
            continue
        left, right = pair
        if prefix and not right.startswith(prefix):
            part.fail(f"{right!r} does not start with the prefix {prefix!r}", f"merges[{rank}]")
        result = left + right[len(prefix) :]
        row = (vocab.get(left), vocab.get(right), vocab.get(result))
        if None in row:
            token = (left, right, result)[row.index(None)]
            part.fail(f"{token!r} is not in the vocabulary", f"merges[{rank}]")
        ids += row
    return ids


def read_bpe(part: JsonObject, steps: dict[str, tuple[Step, ...]], added: tuple[AddedToken, ...]) -> Model:
    """The model of a `BPE` part with the file's steps and added tokens."""
    if part.left.get("dropout"):
        part.fail(f"is {part.left['dropout']!r}: skipping merges at random is not supported", "dropout")
    part.left.pop("dropout", None)
    prefix, suffix = part.text("continuing_subword_prefix", ""), part.text("end_of_word_suffix", "")
    unknown = part.text("unk_token", None)
    fuse, fallback = part.flag("fuse_unk", False), part.flag("byte_fallback", False)
    whole_piece = part.flag("ignore_merges", False)
    vocab = read_vocab(part)
    merges = merge_ids(part, vocab, prefix)
    fields: dict[str, Any] = {"merges": _core.Memory(merges), "whole_piece": whole_piece, "added_tokens": added}
    if not (prefix or suffix) and (plain := as_byte_model(vocab, steps, {*merges}, fields)):
        return plain
    if unknown is not None and unknown not in vocab:
        # HF fails at the first unknown character; here such a character counts as not in the vocabulary.
        unknown = None
    return make_character_model(
        vocab,
        steps,
        unknown_id=None if unknown is None else vocab[unknown],
        fuse_unknown=fuse and unknown is not None,
        byte_fallback=fallback,
        continuing_subword_prefix=prefix,
        end_of_word_suffix=suffix,
        **fields,
    )


def sorted_table(tokens: Iterable[tuple[bytes, int]]) -> tuple[TokenTable, Any]:
    """The token table and the ids, both sorted by id."""
    ordered = sorted(tokens, key=lambda pair: pair[1])
    return TokenTable.of([token for token, _ in ordered]), _core.Memory([id for _, id in ordered])


def as_byte_model(
    vocab: Mapping[str, int], steps: dict[str, tuple[Step, ...]], merged: set[int], fields: dict[str, Any]
) -> Model | None:
    """The byte-level model if the vocabulary's characters stand for bytes (GPT-2's alphabet); None otherwise."""
    splitters, byte_step = steps["splitters"], make_step("byte_characters")
    if steps["decoders"] != (byte_step,) or splitters.count(byte_step) != 1 or byte_step in steps["normalizers"]:
        return None
    contents = {token.content: token for token in fields["added_tokens"]}
    tokens: list[tuple[bytes, int]] = []
    others: list[tuple[bytes, int]] = []
    for token, id in vocab.items():
        token_bytes = from_gpt2_alphabet(token)
        is_added = token in contents and id not in merged
        if token_bytes is None and not is_added:
            return None
        if token_bytes is not None:
            (others if is_added else tokens).append((token_bytes, id))
    if len({token_bytes for token_bytes, _ in tokens if len(token_bytes) == 1}) < 256:
        return None
    # HF decodes added tokens like all tokens, so their characters must not stand for other bytes.
    decoded_contents = decode_contents(fields["added_tokens"], steps["normalizers"])
    if any(
        from_gpt2_alphabet(content) not in (None, content.encode("utf-8", "surrogatepass"))
        for content in decoded_contents
    ):
        return None
    if splitters[-1] == byte_step:
        splitters = splitters[:-1]
    fields |= {"normalizers": steps["normalizers"], "splitters": splitters, "post": steps["post"]}
    model = Model(*sorted_table(tokens), **fields)
    # An added token is also an ordinary token only if the lookup of whole pieces could find it.
    is_piece = whole_piece_test(model) if model.whole_piece and others else None
    ordinary = [(token, id) for token, id in others if is_piece and is_piece(token)]
    return Model(*sorted_table([*tokens, *ordinary]), **fields) if ordinary else model


def decode_contents(added: Iterable[AddedToken], normalizers: Iterable[Step]) -> list[str]:
    """The decoded text of each added token: the normalized content if it is matched in the normalized text."""
    tokens = [(token.content, 256 + place, False) for place, token in enumerate(added)]
    stages = {
        "normalizers": [(each.kind, list(each.options)) for each in normalizers],
        "splitters": [],
        "decoders": [],
        "flags": {token.content: (False, False, False, token.normalized) for token in added},
        "symbols": None,
    }
    bare = Model(*sorted_table((bytes([byte]), byte) for byte in range(256)))
    engine = _core.Engine(bare.vocab, [], tokens, None, stages)
    return [(engine.token(id) or b"").decode("utf-8", "replace") for _, id, _ in tokens]


def whole_piece_test(model: Model) -> Callable[[bytes], bool]:
    """A function that returns whether the splitters can leave these bytes as one piece; True if that is not known."""
    if model.normalizers or any(each.kind != "regex" or each["dialect"] != "rust" for each in model.splitters):
        return lambda token: True
    try:
        engine = _core.Engine(model.vocab, [each["pattern"] for each in model.splitters], [])
    except InvalidOption as error:  # loading accepts a regex that no engine can run
        raise CannotRepresent("tokenizer_json", "splitters", str(error)) from None
    return lambda token: engine.split(token) == [token]


def make_character_model(vocab: Mapping[str, int], steps: dict[str, tuple[Step, ...]], **fields: Any) -> Model:
    table, ids = sorted_table([(token.encode("utf-8", "surrogatepass"), id) for token, id in vocab.items()])
    return Model(table, ids, unit="char", **{**steps, **fields})


def dump_bpe(model: Model, vocab: dict[str, int], format: str) -> dict[str, Any]:
    """The `BPE` part; `vocab` has the spelling of each token."""
    spelt = {id: token for token, id in vocab.items()}
    prefix = model.continuing_subword_prefix
    if model.unit == "byte":
        for field, is_set in (("byte_fallback", model.byte_fallback), ("unknown_id", model.unknown_id is not None)):
            if is_set:
                raise CannotRepresent(format, field, "a model of bytes encodes every text, so nothing uses it")
        merges = model.vocab.recover_merges()
    elif model.merge_rule != "pair":
        raise CannotRepresent(format, "merge_rule", "the format merges characters by a list of pairs")
    else:
        merges = model.merges
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None if model.unknown_id is None else unknown_spelling(model, vocab, format),
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": model.end_of_word_suffix or None,
        "fuse_unk": model.fuse_unknown,
        "byte_fallback": model.byte_fallback,
        "ignore_merges": model.whole_piece,
        "vocab": vocab,
        "merges": [[spelt[left], spelt[right]] for left, right, _ in merges.tolist()],
    }


# WordPiece, WordLevel and Unigram


def vocab_ids(vocab: object) -> Mapping[str, int]:
    """The ids by token of an unchecked `vocab`: an object, or a list of tokens with scores; empty for other values."""
    if isinstance(vocab, list):
        rows = [row[0] if isinstance(row, list) and row else None for row in vocab]
        return {token: id for id, token in enumerate(rows) if isinstance(token, str)}
    return vocab if isinstance(vocab, dict) else {}


def read_wordpiece(part: JsonObject, steps: dict[str, tuple[Step, ...]], added: tuple[AddedToken, ...]) -> Model:
    """The model of a `WordPiece` part. Without an unknown token, encoding refuses pieces that no tokens cover, as HF does."""
    prefix, unknown = part.text("continuing_subword_prefix", "##"), part.text("unk_token", NO_UNKNOWN)
    longest = part.number("max_input_chars_per_word", 100)
    vocab = read_vocab(part)
    fields = {"continuing_subword_prefix": prefix, "max_piece_chars": longest, "unknown_id": vocab.get(unknown)}
    return make_character_model(vocab, steps, kind="wordpiece", added_tokens=added, **fields)


def read_words(part: JsonObject, steps: dict[str, tuple[Step, ...]], added: tuple[AddedToken, ...]) -> Model:
    unknown = part.text("unk_token", NO_UNKNOWN)
    vocab = read_vocab(part)
    return make_character_model(vocab, steps, kind="words", added_tokens=added, unknown_id=vocab.get(unknown))


def read_unigram(part: JsonObject, steps: dict[str, tuple[Step, ...]], added: tuple[AddedToken, ...]) -> Model:
    """The model of a `Unigram` part: a list of tokens with scores; ids are list indices."""
    unknown, fallback = part.number("unk_id", None), part.flag("byte_fallback", False)
    rows = part.take("vocab", list)
    vocab: dict[str, int] = {}
    scores = []
    for id, row in enumerate(rows):
        if type(row) is not list or len(row) != 2 or type(row[0]) is not str or type(row[1]) not in (int, float):
            part.fail("must be a token and its score", f"vocab[{id}]")
        if not row[0]:
            part.fail("contains an empty token", f"vocab[{id}]")
        if vocab.setdefault(row[0], id) != id:
            part.fail(f"{row[0]!r} is already at place {vocab[row[0]]}", f"vocab[{id}]")
        scores.append(to_finite_score(part, row[1], id))
    if not vocab:
        part.fail("must contain a token", "vocab")
    if unknown is not None and unknown >= len(vocab):
        part.fail(f"is {unknown}, but the vocabulary has only {number_of(len(vocab), 'token')}", "unk_id")
    every_byte = fallback and all(f"<0x{byte:02X}>" in vocab for byte in range(256))
    if fallback and not every_byte:
        part.fail("requires a token for each byte, <0x00> to <0xFF>", "byte_fallback")
    fields = {"scores": np.array(scores, np.float64), "unknown_id": unknown, "byte_fallback": fallback}
    return make_character_model(vocab, steps, kind="unigram", added_tokens=added, **fields)


def to_finite_score(part: JsonObject, score: float, id: int) -> float:
    """The score as a finite float. Python reads an integer exactly; HF rounds it, so `read_number` does."""
    try:
        number = read_number(str(score)) if isinstance(score, int) else score
    except ValueError:
        number = math.inf
    if not math.isfinite(number):
        part.fail("has a score that is not finite", f"vocab[{id}]")
    return number


def unknown_spelling(model: Model, vocab: Mapping[str, int], format: str) -> str:
    """The spelling of the unknown token; for a model without one, a spelling that is not in the vocabulary."""
    if model.unknown_id is None:
        if NO_UNKNOWN in vocab:
            problem = f"the format requires one, and the vocabulary uses {NO_UNKNOWN} for another token"
            raise CannotRepresent(format, "unknown_id", problem)
        return NO_UNKNOWN
    unknown_token = next((token for token, id in vocab.items() if id == model.unknown_id), None)
    if unknown_token is None:
        raise CannotRepresent(format, "unknown_id", f"no token in the vocabulary has the id {model.unknown_id}")
    return unknown_token


def dump_wordpiece(model: Model, vocab: dict[str, int], format: str) -> dict[str, Any]:
    if model.max_piece_chars is None:
        raise CannotRepresent(format, "max_piece_chars", "the format requires a limit on the length of a piece")
    return {
        "type": "WordPiece",
        "unk_token": unknown_spelling(model, vocab, format),
        "continuing_subword_prefix": model.continuing_subword_prefix,
        "max_input_chars_per_word": model.max_piece_chars,
        "vocab": vocab,
    }


def dump_words(model: Model, vocab: dict[str, int], format: str) -> dict[str, Any]:
    return {"type": "WordLevel", "vocab": vocab, "unk_token": unknown_spelling(model, vocab, format)}


def dump_unigram(model: Model, vocab: dict[str, int], format: str) -> dict[str, Any]:
    """The `Unigram` part; ids are list indices, so they must have no holes."""
    if model.scores is None or model.scores.dtype != np.float64:
        raise CannotRepresent(format, "scores", "the format stores scores in double precision, which can change ids")
    scores = dict(zip(model.ids.tolist(), model.scores.tolist(), strict=True))
    if sorted(vocab.values()) != list(range(len(scores))):
        raise CannotRepresent(format, "ids", "the format requires ids without holes and a score for each token")
    return {
        "type": "Unigram",
        "unk_id": model.unknown_id,
        "vocab": [[token, scores[id]] for token, id in sorted(vocab.items(), key=lambda item: item[1])],
        "byte_fallback": model.byte_fallback,
    }


READERS = {"BPE": read_bpe, "WordPiece": read_wordpiece, "WordLevel": read_words, "Unigram": read_unigram}
DUMPS: Mapping[str, Callable[[Model, dict[str, int], str], dict[str, Any]]] = {
    "bpe": dump_bpe,
    "wordpiece": dump_wordpiece,
    "words": dump_words,
    "unigram": dump_unigram,
}
