"""Which contents can be special tokens beside each other."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toksmith import InvalidOption
from toksmith._special import check_special_tokens

REFUSED: dict[str, tuple[list[str], object]] = {
    "listed twice": (["<a>", "<b>", "<a>"], "<a>"),
    "one inside another": (["<a>", "x<a>y"], ("x<a>y", "<a>")),
    "one at the start of another": (["<a>", "<a>b"], ("<a>b", "<a>")),
    "an end that is a start": (["ab", "bc"], ("ab", "bc")),
    "a long end that is a start": (["abcdef", "x", "cdefg"], ("abcdef", "cdefg")),
    "nothing": (["<a>", ""], ""),
    "too long": (["a" * 1025], "a" * 1025),
    "a lone surrogate": (["\ud83d"], "\ud83d"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_contents_that_clash_are_named(name: str) -> None:
    contents, value = REFUSED[name]
    with pytest.raises(InvalidOption) as caught:
        check_special_tokens(contents)
    assert (caught.value.argument, caught.value.value) == ("special_tokens", value)


@pytest.mark.parametrize("contents", [[], ["aa"], ["<|a|>", "<|b|>"], ["a", "☀", " "], ["a" * 1024]])
def test_contents_that_stand_beside_each_other(contents: list[str]) -> None:
    check_special_tokens(contents)


@pytest.mark.parametrize("content", [b"<a>", 1, None])
def test_other_types_are_a_type_error(content: Any) -> None:
    with pytest.raises(TypeError, match="str"):
        check_special_tokens([content])


@given(st.lists(st.text("ab<", min_size=1, max_size=4), max_size=4))
def test_the_check_equals_its_definition(contents: list[str]) -> None:
    def meet(left: str, right: str) -> bool:
        ends = any(left.endswith(right[:size]) for size in range(1, min(len(left), len(right))))
        return right in left or ends

    places = range(len(contents))
    clash = any(meet(contents[one], contents[other]) for one in places for other in places if one != other)
    try:
        check_special_tokens(contents)
    except InvalidOption:
        assert clash
    else:
        assert not clash
