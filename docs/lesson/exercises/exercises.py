"""Exercises of the lesson. Fill in the functions, then run `python check.py` in this folder.

Each docstring says what to write, and after which chapter. Write plain Python; the checks compare it with toksmith.
`toksmith.reference` has the rules in plain Python: one page of about 430 lines, then one page an idea.
"""

from __future__ import annotations

Pair = tuple[int, int]


def code_points(text: str) -> list[int]:
    """Chapter 1. The code points of a text: `code_points("né")` is `[110, 233]`."""
    raise NotImplementedError


def utf8_of(code_point: int) -> list[int]:
    """Chapter 2. The bytes of one code point in UTF-8, without `str.encode`: `utf8_of(233)` is `[195, 169]`."""
    raise NotImplementedError


def pair_counts(ids: list[int]) -> dict[Pair, int]:
    """Chapter 3. How often each pair of neighbours occurs: `pair_counts([1, 2, 1, 2])` is `{(1, 2): 2, (2, 1): 1}`."""
    raise NotImplementedError


def replace_pair(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Chapter 3. The ids with `new` for each occurrence of a pair, from the left, without overlap."""
    raise NotImplementedError


def train(text: str, merges: int) -> list[Pair]:
    """Chapter 3. The pairs that merge, in order. New ids start at 256. Of equally frequent pairs take the first one.

    Stop early if no pair repeats.
    """
    raise NotImplementedError


def encode(text: str, merges: list[Pair]) -> list[int]:
    """Chapter 4. The ids of a text: of all pairs that can merge, always merge the one that was learned first."""
    raise NotImplementedError


def decode(ids: list[int], merges: list[Pair]) -> str:
    """Chapter 4. The text of ids; bytes that are not UTF-8 become U+FFFD."""
    raise NotImplementedError


def first_difference(one: list[int], two: list[int]) -> int | None:
    """Chapter 7. The place where two lists of ids differ first; None if they are equal. One may be longer."""
    raise NotImplementedError


def fill_in_the_middle(before: list[int], after: list[int], marks: dict[str, int]) -> list[int]:
    """Chapter 7. The ids of a prompt in the order PSM; `marks` has the keys "prefix", "suffix" and "middle"."""
    raise NotImplementedError


def fits(ids: list[int], context: int, answer: int) -> list[int]:
    """Chapter 13. The last ids of a prompt that leave room for an answer of `answer` ids in the context."""
    raise NotImplementedError


def ways(text: bytes, tokens: set[bytes]) -> int:
    """Chapter 14. In how many ways a text can be written with these tokens: `ways(b"aa", {b"a", b"aa"})` is 2."""
    raise NotImplementedError


def kept_blocks(before: list[int], after: list[int], size: int) -> int:
    """Chapter 15. How many blocks of `size` ids a cache of the prompt `before` keeps for `after`: `([1, 2, 3], [1, 2, 4], 2)` gives 1."""
    raise NotImplementedError
