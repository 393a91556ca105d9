"""Contents that can, and cannot, be special tokens together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from counted_work import lines_run
from hypothesis import example, given
from hypothesis import strategies as st

from toksmith._model.special import check_special_tokens
from toksmith.errors import InvalidOption

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
def test_contents_that_do_not_clash_are_accepted(contents: list[str]) -> None:
    check_special_tokens(contents)


@pytest.mark.parametrize("content", [b"<a>", 1, None])
def test_other_types_are_a_type_error(content: Any) -> None:
    with pytest.raises(TypeError, match=r"special_tokens: .*str"):
        check_special_tokens([content])


def clash_by_definition(contents: list[str]) -> object:
    """The value of the error: the first repeated content; else the first that holds another, or ends as another
    begins, with that other: the one that starts first, then one that is whole in it, then the shortest.
    """
    for place, content in enumerate(contents):
        if content in contents[:place]:
            return content
    for content in contents:
        others = [other for other in contents if other != content]
        for start in range(len(content)):
            whole = [other for other in others if content.startswith(other, start)]
            cut = [other for other in others if start and other.startswith(content[start:])]
            if whole or cut:
                return content, min(whole, key=len) if whole else cut[0]
    return None


@given(
    st.one_of(
        *(
            st.lists(st.text(alphabet, min_size=1, max_size=longest), max_size=many)
            for alphabet, longest, many in (("ab<", 4, 4), ("a", 9, 3), ("ab", 12, 3), ("abc☀", 3, 9))
        )
    )
)
@example(["aa", "aaa"])
@example(["abab", "babc"])
@example(["xaby", "ab", "b", "yab"])
def test_the_check_names_what_its_definition_names(contents: list[str]) -> None:
    try:
        check_special_tokens(contents)
    except InvalidOption as error:
        assert error.value == clash_by_definition(contents)
    else:
        assert clash_by_definition(contents) is None


def apart(count: int, length: int) -> list[str]:
    """Contents with unique first and last characters and equal middles."""
    return [f"{chr(0x4E00 + place)}{'x' * (length - 2)}{chr(0xAC00 + place)}" for place in range(count)]


HOSTILE: dict[str, Callable[[int], list[str]]] = {
    "each longer than the one before": lambda size: ["a" * length for length in range(size, 0, -1)],
    "of all lengths, and apart": lambda size: [content[:-1] for n in range(3, size) for content in apart(n, n)[-1:]],
    "one character and ends that repeat": lambda size: [f"{'a' * length}☀" for length in range(size)][::-1],
    "many": lambda size: apart(size * 4, 16),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_check_takes_time_in_proportion_to_the_characters(name: str) -> None:
    def steps(size: int) -> float:
        contents = HOSTILE[name](size)
        return lines_run(lambda: checked(contents)) / sum(map(len, contents))

    few, many = steps(50), steps(200)
    assert 0 < many < 2 * few, f"{few:.1f} lines run for each character of 50 contents, {many:.1f} of 200"
    assert many < 60


def checked(contents: list[str]) -> None:
    with contextlib.suppress(InvalidOption):
        check_special_tokens(contents)
