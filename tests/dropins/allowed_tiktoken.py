"""What may differ between tiktoken and `toksmith.compat.tiktoken`, and why."""

from itertools import permutations

from dropins import Allowed, Case


def begins_with_another(case: Case, _: frozenset[str]) -> bool:
    """Both encode, and one special token of the encoding begins with another one."""
    contents = case.about["specials"]
    both = "raises" not in case.peer and "raises" not in case.ours
    return both and any(one.startswith(other) for one, other in permutations(contents, 2))


def panics(case: Case, _: frozenset[str]) -> bool:
    """The library panics."""
    return case.peer.get("raises") == "PanicException"


def takes_bytes_as_ids(case: Case, _: frozenset[str]) -> bool:
    """Ids are given as `bytes`."""
    return (
        isinstance(case.about["input"], bytes)
        and case.feature.startswith("decode")
        and case.ours == {"raises": "TypeError"}
    )


ROWS = [
    Allowed(
        "tiktoken",
        "special tokens of which one begins with another",
        "tiktoken finds the one that its hash table lists first, so that ids differ from process to process; we find the longest",
        begins_with_another,
    ),
    Allowed("tiktoken", "a panic", "we return a result, or raise one of Python's exceptions", panics),
    Allowed(
        "tiktoken", "`bytes` as ids", "tiktoken reads each byte as an id; we raise TypeError, because the caller has mistaken text for ids", takes_bytes_as_ids
    ),
]  # fmt: skip
