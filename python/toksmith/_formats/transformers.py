"""A folder that transformers' `AutoTokenizer` loads: tokenizer.json, and in tokenizer_config.json the class and the settings.

The class accepts every tokenizer.json, so the files decide the ids. A model records no settings. A special token gets its role
(`eos_token`) from a GGUF file's metadata or by its content; chat templates and limits come from the caller, who can also
replace the roles. `load` reads only tokenizer.json, as it does without a format.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from .._model.model import Model
from .._model.patterns import PatternArgument
from ..errors import CannotRepresent, InvalidOption
from . import tokenizer_json
from .gguf import KEYS, dump_metadata, roles_by_content
from .hf_sentencepiece import NAMES
from .texts import TRANSFORMERS, FileContent, encode_text, to_gpt2_alphabet

NAME = "transformers"
SUFFIXES = ("/",)
MOST_BYTES = tokenizer_json.MOST_BYTES
FILES = TRANSFORMERS
CONFLICTS = ("added_tokens.json", "additional_chat_templates", "chat_template.jinja", "special_tokens_map.json")
DOC = "a folder for transformers' AutoTokenizer, new or existing: tokenizer.json and tokenizer_config.json"

ROLES = tuple(f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))
INPUTS = ("input_ids", "token_type_ids", "attention_mask")
BERT = {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
# The names of roles in GGUF's keys, where they differ; `seperator` is GGUF's spelling.
GGUF_NAMES = {"unk": "unknown", "sep": "seperator", "pad": "padding"}
GGUF_KEYS = {f"{KEYS}{GGUF_NAMES.get(role[:-6], role[:-6])}_token_id": role for role in ROLES}


def sniff(data: bytes, path: str) -> bool:
    """False: the folder's first file is a tokenizer.json."""
    return False


def load(
    files: Sequence[FileContent], path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None
) -> Model:
    return tokenizer_json.load(files[0].data, files[0].path, pattern=pattern, special_tokens=special_tokens)


def save(
    model: Model, *, allow_loss: Collection[str] = (), settings: Mapping[str, Any] | None = None
) -> tuple[bytes, bytes]:
    """The bytes of both files. `settings` are further fields of the second, and None as the token of a role leaves it open."""
    vocab, chosen = display_vocabulary(model), settings or {}
    for role in ROLES:
        if (token := chosen.get(role)) is not None and token not in vocab:
            raise InvalidOption(role, token, "a token of the vocabulary")
    values = {"clean_up_tokenization_spaces": False, "model_input_names": model_inputs(model)}
    values |= {**dict(known_settings(model, allow_loss)), **chosen, "tokenizer_class": "PreTrainedTokenizerFast"}
    named = {values.get(role) for role in ROLES}
    others = [token.content for token in model.added_tokens if token.special and token.content not in named]
    if others and "extra_special_tokens" not in values:
        values.setdefault("additional_special_tokens", others)
    try:
        data = tokenizer_json.save(model, allow_loss={*allow_loss, "metadata"})
    except CannotRepresent as error:
        raise CannotRepresent(NAME, error.field, error.problem) from None
    return data, encode_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n", NAME)


def known_settings(model: Model, allow_loss: Collection[str]) -> Iterator[tuple[str, str]]:
    """The settings that the model knows; raises CannotRepresent for other metadata, unless it can be lost."""
    ids = {token.content: token.id for token in model.added_tokens if token.special}
    content_of = {id: content for content, id in ids.items()}
    yield from ((role, content) for role, content in BERT.items() if content in ids)
    if model.unknown_id in content_of:
        yield "unk_token", content_of[model.unknown_id]
    left = {*model.metadata} - {*NAMES, "gguf"}
    for key, value in (roles_by_content(ids) | dump_metadata(model, ())[0]).items():
        if key == "tokenizer.chat_template":
            yield "chat_template", value
        elif key in GGUF_KEYS and value in content_of:
            yield GGUF_KEYS[key], content_of[value]
        else:
            left.add(key)
    yield from (("pad_token", step["token"]) for step in model.post if step.kind == "pad" and step["token"] in ids)
    if left and "metadata" not in allow_loss:
        problem = f"the format has no field for {', '.join(sorted(left))}; allow_loss=['metadata'] leaves it out"
        raise CannotRepresent(NAME, "metadata", problem)


def model_inputs(model: Model) -> list[str]:
    """The inputs of the model: types of texts only for BERT-like models."""
    tokens = {name for step in model.post if step.kind == "template" for name in step["special_tokens"]}
    typed = model.kind == "wordpiece" or "[CLS]" in tokens or any(step.kind == "bert" for step in model.post)
    return [name for name in INPUTS if name != "token_type_ids" or typed]


def display_vocabulary(model: Model) -> dict[str, int]:
    """The ids of all tokens in transformers' form: bytes in the characters of GPT-2's alphabet."""
    is_bytes = (model.kind, model.unit) == ("bpe", "byte")
    spell = to_gpt2_alphabet if is_bytes else lambda token: token.decode("utf-8", "replace")
    ids = {spell(token): id for token, id in zip(model.tokens, model.ids.tolist(), strict=True)}
    return ids | {token.content: token.id for token in model.added_tokens}
