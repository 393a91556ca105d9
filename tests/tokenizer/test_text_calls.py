"""`encode` and `encode_array` of the core equal their Python twins for all arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import toksmith
from toksmith import Tokenizer, ToksmithError

TEXTS: tuple[Any, ...] = ("", "low lower", "low<|end|>", b"low\xff", "\ud800low", "日本 " * 50, 5, ["low"], None)
NAMED: dict[str, tuple[Any, ...]] = {
    "special": ("raise", "text", "allow", ["<|end|>"], [], "sometimes", None, 5),
    "errors": ("replace", "strict", "ignore", None),
    "threads": (None, 2, 0, "2"),
    "add_special_tokens": (False, True, 1, "yes"),
    "unknown": (1,),
}


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train("low lower lowest", merges=3, pattern="gpt2", special_tokens=["<|end|>"])


def outcome(call: Callable[..., Any], *placed: Any, **named: Any) -> tuple[str, object]:
    """The result of a call, or its error."""
    try:
        result = call(*placed, **named)
    except (ToksmithError, TypeError, UnicodeError) as error:
        return type(error).__name__, str(error).replace("_encode", "encode")
    return type(result).__name__, list(result)


def combinations() -> list[dict[str, Any]]:
    """No argument, each value of each argument, and all pairs of values of two."""
    single = [{name: value} for name, values in NAMED.items() for value in values]
    pairs = [{**one, **other} for one, other in itertools.combinations(single, 2) if not {*one} & {*other}]
    return [{}, *single, *pairs]


@pytest.mark.parametrize("name", ["encode", "encode_array"])
def test_a_call_equals_its_twin(tok: Tokenizer, name: str) -> None:
    call, twin = getattr(tok, name), getattr(tok, f"_{name}")
    for text, named in itertools.product(TEXTS, combinations()):
        kind, given = outcome(call, text, **named)
        assert (kind, given) == outcome(twin, text, **named) or has_advice(given), (text, named)


def has_advice(given: object) -> bool:
    """Whether an error has the advice of the core's call."""
    return isinstance(given, str) and given.endswith("; encode_batch takes a list of texts")


@pytest.mark.parametrize("name", ["encode", "encode_array"])
def test_missing_named_and_surplus_texts_equal_the_twin(tok: Tokenizer, name: str) -> None:
    call, twin = getattr(tok, name), getattr(tok, f"_{name}")
    assert outcome(call) == outcome(twin)
    assert outcome(call, "low", "text") == outcome(twin, "low", "text")
    assert outcome(call, text="low") == outcome(twin, "low")
    assert outcome(call, "low", text="low")[0] == "TypeError"


@pytest.mark.parametrize("dtype", ["uint32", "int64", "int8", "float32", None])
def test_the_type_of_an_array_equals_the_twin(tok: Tokenizer, dtype: Any) -> None:
    given, due = (outcome(call, "low lower 日本", dtype=dtype) for call in (tok.encode_array, tok._encode_array))
    assert given == due


def test_a_subclass_can_override_encode() -> None:
    class Loud(Tokenizer):
        def encode(self, text: Any, **named: Any) -> list[int]:
            return [*super().encode(text, **named), 0]

    tok = Loud(toksmith.train("low lower lowest", merges=3, pattern=None).model)
    assert tok.encode("low") == [257, 0]


def test_a_tokenizer_without_init_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="_engine"):
        Tokenizer.__new__(Tokenizer).encode("low")
