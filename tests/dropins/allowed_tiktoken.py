"""The allowed differences between tiktoken and `toksmith.compat.tiktoken`."""

from __future__ import annotations

import re

from dropins import Allowed, Case
from dropins.tiktoken_cases import PATTERNS

__all__ = ["ROWS"]


def is_unmatched(case: Case, fields: frozenset[str]) -> bool:
    """Whether the pattern does not match a part of the text, or of the text continued with a token."""
    pattern, method = case.about["pattern"], case.about.get("method")
    if pattern != "letters alone":
        return False
    text = case.about.get("text", case.about.get("given", ""))
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return method == "encode_with_unstable" or (isinstance(text, str) and bool(re.sub(PATTERNS[pattern], "", text)))


def is_ambiguous(case: Case, fields: frozenset[str]) -> bool:
    """Whether one special token in the text begins with another, so that tiktoken's hash order decides."""
    names, text = case.about["special_tokens"], case.about.get("text")
    texts = [text] if isinstance(text, str) else []
    longer = [name for name in names if any(other != name and name.startswith(other) for other in names)]
    return any(name in each for name in longer for each in texts)


def has_shared_id(case: Case, fields: frozenset[str]) -> bool:
    """Whether an id of the call belongs to two special tokens, so that the order of a hash table decides."""
    ids = [*case.about["special_tokens"].values()]
    shared = {id for id in ids if ids.count(id) > 1}
    given = case.about.get("given", [])
    rows = given if isinstance(given, (list, tuple)) and given and isinstance(given[0], list) else [given]
    return any(not shared.isdisjoint(row if hasattr(row, "__iter__") else [row]) for row in rows)


def panics(case: Case, fields: frozenset[str]) -> bool:
    """Whether the library panics."""
    return case.peer.get("raises") == "PanicException"


def reads_bytes_as_ids(case: Case, fields: frozenset[str]) -> bool:
    """Whether ids are given as `bytes`."""
    return (
        isinstance(case.about.get("given"), bytes)
        and case.about["method"].startswith("decode")
        and case.ours["raises"] == "TypeError"
    )


ROWS = [
    Allowed(
        "tiktoken",
        "an error or a result where the library panics",
        "a panic is no `Exception`, and a server may not survive it",
        panics,
    ),
    Allowed(
        "tiktoken",
        "`bytes` as ids raise TypeError",
        "the library reads each byte as an id; the caller has mistaken text for ids",
        reads_bytes_as_ids,
    ),
    Allowed(
        "tiktoken",
        "text that the pattern does not match is kept",
        "the library drops it, so that decoding loses text; here it is a piece",
        is_unmatched,
    ),
    Allowed(
        "tiktoken",
        "of two special tokens at one place the longer counts",
        "the library takes the one that a hash table happens to list first, another in each process",
        is_ambiguous,
    ),
    Allowed(
        "tiktoken",
        "of two special tokens with one id the first is shown",
        "the library shows the one that a hash table happens to list last, another in each process",
        has_shared_id,
    ),
]
