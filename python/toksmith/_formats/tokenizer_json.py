"""HF's `tokenizer.json`: a model with its steps and added tokens, each part a row of a table.

HF tokenizers 0.23.3 defines the meaning of each part. Its regexes are Oniguruma's: Oniguruma runs them, or the Rust engine
if they are known to mean the same there. HF ignores the `id` of an added token: a content that is not in the vocabulary
takes the next free id. toksmith does the same, so saving adds the content to the vocabulary if that id would differ.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .._model.model import AddedToken, Model, Step
from .._model.patterns import PatternArgument
from ..errors import CannotRepresent, FormatError, InvalidOption, ModelError
from . import refuse_arguments
from .arguments import refuse_losses
from .hf_model import DUMPS, READERS, vocab_ids, whole_piece_test
from .hf_numbers import read_number, spell_number
from .hf_post import dump_post, read_padding, read_post, read_truncation
from .hf_sentencepiece import NAMES, is_sentencepiece, to_hf_steps
from .hf_steps import TABLES, dump_steps, make_step, read_steps
from .json import SURROGATE, JsonObject, check_texts, refuse_constant, refuse_crowds, unique_names
from .texts import encode_text, from_gpt2_alphabet, to_gpt2_alphabet

NAME = "tokenizer_json"
MOST_BYTES = 1 << 28
SUFFIXES = ("tokenizer.json",)
DOC = "HF's tokenizer.json"

HEAD_BYTES = 1 << 16
ADDED_LIMIT = 1 << 16
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
HOLDS = (
    "added_tokens",
    "byte_fallback",
    "continuing_subword_prefix",
    "decoders",
    "end_of_word_suffix",
    "fuse_unknown",
    "kind",
    "max_piece_chars",
    "normalizers",
    "post",
    "scores",
    "splitters",
    "unknown_id",
)


def sniff(data: bytes, path: str) -> bool:
    """Whether the data are a JSON object that names parts of a tokenizer near its start."""
    head = data[:HEAD_BYTES].lstrip()
    return head.startswith(b"{") and (b'"added_tokens"' in head or b'"pre_tokenizer"' in head)


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    refuse_arguments("a tokenizer.json", pattern, special_tokens)
    try:
        return read_tokenizer(parse_file(data, path), path)
    except RecursionError as error:
        raise FormatError(path, None, "the JSON is nested too deeply") from error


def read_tokenizer(value: Any, path: str = "the tokenizer") -> Model:
    top = JsonObject(value, path, "")
    if (version := top.text("version", "1.0")) != "1.0":
        top.fail(f"is {version!r}; only 1.0 is supported", "version")
    spaces = top.left.get("decoder") is None
    steps = {table.field: read_part_steps(top, name) for name, table in TABLES.items()}
    if spaces:
        steps["decoders"] = (make_step("spaced"),)
    elif steps["decoders"] == (make_step("fuse"),):  # joins tokens without spaces, as a model without decoders does
        steps["decoders"] = ()
    steps["post"] = read_post_steps(top)
    model = top.part("model")
    kind = model.text("type", guess_kind(model.left))
    if kind not in READERS:
        model.fail(f"{kind!r} is not supported; supported are {', '.join(READERS)}", "type")
    added = clear_normalized(read_added_tokens(top, model.left.get("vocab")), steps["normalizers"])
    top.finish()
    try:
        result = READERS[kind](model, steps, added)
    except (ModelError, InvalidOption) as error:
        raise FormatError(path, "model", str(error)) from error
    model.finish()
    return result


def clear_normalized(added: tuple[AddedToken, ...], normalizers: tuple[Step, ...]) -> tuple[AddedToken, ...]:
    """The added tokens; without normalizers `normalized` changes nothing, so if all tokens have it, it is cleared."""
    if normalizers or not all(token.normalized for token in added):
        return added
    return tuple(dataclasses.replace(token, normalized=False) for token in added)


def guess_kind(fields: Mapping[str, object]) -> str:
    """The type of a model by its fields: early tokenizer.json files lack the type."""
    if "merges" in fields:
        return "BPE"
    if isinstance(fields.get("vocab"), list):
        return "Unigram"
    if {"continuing_subword_prefix", "max_input_chars_per_word"} <= fields.keys():
        return "WordPiece"
    return "WordLevel" if "unk_token" in fields else ""


def parse_file(data: bytes, path: str) -> Any:
    """The JSON value of the file; raises FormatError for repeated names and lone surrogates."""
    try:
        refuse_crowds(data)
        text = data.decode()
        value = json.loads(
            text, object_pairs_hook=unique_names, parse_float=read_number, parse_constant=refuse_constant
        )
        if SURROGATE.search(data):
            check_texts(value)
    except UnicodeDecodeError as error:
        raise FormatError(path, f"byte {error.start}", "is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise FormatError(path, f"line {error.lineno}", f"is not JSON: {error.msg}") from error
    except ValueError as error:
        raise FormatError(path, None, str(error)) from error
    return value


def read_part_steps(top: JsonObject, name: str) -> tuple[Step, ...]:
    """The steps of a part; none if the part is null or missing."""
    if top.left.get(name) is None:
        top.left.pop(name, None)
        return ()
    return tuple(read_steps(top.part(name), TABLES[name]))


def read_post_steps(top: JsonObject) -> tuple[Step, ...]:
    """The steps on ids, in order: truncation, post-processors and padding."""
    names = ("truncation", "post_processor", "padding")
    parts = {name: top.part(name) for name in names if top.left.get(name) is not None}
    for name in names:
        top.left.pop(name, None)
    first = [read_truncation(parts["truncation"])] if "truncation" in parts else []
    last = [read_padding(parts["padding"])] if "padding" in parts else []
    return (*first, *(read_post(parts["post_processor"]) if "post_processor" in parts else ()), *last)


def read_added_tokens(top: JsonObject, vocab: object) -> tuple[AddedToken, ...]:
    """The added tokens with the ids that HF gives them; a repeated content has its last flags."""
    ids = vocab_ids(vocab)
    token_of: dict[str, AddedToken] = {}
    if top.left.get("added_tokens") is None:
        top.left["added_tokens"] = []
    next_id = len(ids)
    if isinstance(entries := top.left["added_tokens"], list) and len(entries) > ADDED_LIMIT:
        top.fail(f"has {len(entries)} tokens; at most {ADDED_LIMIT} are allowed", "added_tokens")
    for part in top.parts("added_tokens"):
        content = part.text("content")
        part.number("id")
        flags = {name: part.flag(name) for name in FLAGS}
        part.finish()
        if not content:
            continue
        before = token_of.get(content)
        flags["special"] |= before is not None and before.special
        id = before.id if before else ids.get(content)
        if id is None:
            id, next_id = next_id, next_id + 1
        if type(id) is not int or not 0 <= id < 1 << 24:
            part.fail(f"has the id {id!r} in the vocabulary", "content")
        token_of[content] = AddedToken(content, id, **flags)
    return tuple(token_of.values())


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    """The bytes of a file that HF tokenizers loads; it gives the same ids for every text."""
    refuse_losses(model, NAME, allow_loss, holds=HOLDS if model.metadata.keys() - NAMES else (*HOLDS, "metadata"))
    if is_sentencepiece(model):
        model = to_hf_steps(model, allow_loss)
    dump = DUMPS.get(model.kind)
    if dump is None:
        raise CannotRepresent(NAME, "kind", f"the format has no model of kind {model.kind!r}")
    if model.kind == "bpe" and model.scores is not None:
        raise CannotRepresent(NAME, "scores", "the format merges byte-pair encodings by a list of pairs")
    vocab = spell_vocab(model)
    added = list(clear_normalized(model.added_tokens, model.normalizers))
    if not has_hf_ids(added, vocab):  # HF would give them other ids in this order
        added.sort(key=lambda token: token.id)
    vocab |= tokens_for_vocab(model, added, vocab)
    vocab = dict(sorted(vocab.items(), key=lambda entry: entry[1]))
    splitters, decoders = model.splitters, model.decoders
    byte_step = make_step("byte_characters")
    if is_byte_level(model):
        splitters = splitters if byte_step in splitters else (*splitters, byte_step)
        decoders = decoders or (byte_step,)
    post, spaced = dump_post(model.post, NAME), decoders == (make_step("spaced"),)
    tokenizer = {
        "version": "1.0",
        "truncation": post["truncation"],
        "padding": post["padding"],
        "added_tokens": [{"id": token.id, **vars(token)} for token in added],
        "normalizer": dump_steps(model.normalizers, TABLES["normalizer"], NAME),
        "pre_tokenizer": dump_steps(splitters, TABLES["pre_tokenizer"], NAME),
        "post_processor": post["post_processor"],
        # Without a decoder HF joins tokens with spaces; `Fuse` joins them unchanged.
        "decoder": None if spaced else dump_steps(decoders or (make_step("fuse"),), TABLES["decoder"], NAME),
        "model": dump(model, vocab, NAME),
    }
    return encode_json(tokenizer)


def is_byte_level(model: Model) -> bool:
    """Whether tokens are bytes, which the format writes in GPT-2's alphabet."""
    return model.kind == "bpe" and model.unit == "byte"


def encode_json(tokenizer: Mapping[str, Any]) -> bytes:
    """The JSON in UTF-8, with scores spelt so that HF reads the exact floats."""
    model = tokenizer["model"]
    rows = model["vocab"] if isinstance(model["vocab"], list) else []
    text = json.dumps({**tokenizer, "model": {**model, "vocab": []}} if rows else tokenizer, ensure_ascii=False)
    head, vocab, tail = text.rpartition('"vocab": [' if rows else "\0")
    spelt = ", ".join(f"[{json.dumps(token, ensure_ascii=False)}, {spell_number(score)}]" for token, score in rows)
    return encode_text(f"{head}{vocab}{spelt}{tail}\n", NAME)


def spell_vocab(model: Model) -> dict[str, int]:
    """The ids by the spelling of each token, in id order."""
    tokens = zip(model.ids.tolist(), model.tokens, strict=True)
    try:
        return {to_gpt2_alphabet(token) if is_byte_level(model) else token.decode(): id for id, token in sorted(tokens)}
    except UnicodeDecodeError as error:
        raise CannotRepresent(NAME, "tokens", f"{error.object!r} is not UTF-8") from error


def has_hf_ids(added: Sequence[AddedToken], vocab: Mapping[str, int]) -> bool:
    """Whether HF gives these ids: the vocabulary's id for a content in it, the next free id for any other content."""
    next_id = len(vocab)
    for token in added:
        if token.id != vocab.get(token.content, next_id):
            return False
        next_id += token.content not in vocab
    return True


def tokens_for_vocab(model: Model, added: list[AddedToken], vocab: Mapping[str, int]) -> dict[str, int]:
    """The added tokens that must also be in the vocabulary, so that HF gives them their ids."""
    ids = [token.id for token in added]
    if len(set(ids)) < len(ids):
        raise CannotRepresent(
            NAME, "added_tokens", "two of them share an id, and the format gives each content its own id"
        )
    if has_hf_ids(added, vocab):
        return {}
    used_ids = set(vocab.values())
    is_piece = whole_piece_test(model)
    for token in added:
        content = token.content
        if vocab.get(content, token.id) != token.id:
            problem = f"{content!r} is the spelling of the token with the id {vocab[content]}"
            raise CannotRepresent(NAME, "added_tokens", problem)
        if token.id in used_ids and content not in vocab:
            raise CannotRepresent(NAME, "added_tokens", f"{content!r} has the id of a token with another spelling")
        spelling = from_gpt2_alphabet(content) if is_byte_level(model) else content.encode("utf-8", "surrogatepass")
        if model.whole_piece and content not in vocab and spelling and is_piece(spelling):
            problem = f"{content!r} must be in the vocabulary to keep its id, and would be found as an ordinary piece"
            raise CannotRepresent(NAME, "added_tokens", problem)
    return {token.content: token.id for token in added}
