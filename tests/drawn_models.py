"""Random models: every field of `Model`, also fields that are held but not executed."""

from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from toksmith import Model
from toksmith.types import AddedToken, Step, TokenTable, TrainingRecord

BYTES = [bytes([byte]) for byte in range(256)]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
options = st.dictionaries(words.filter(lambda name: name != "kind"), json_values, max_size=3)
steps = st.lists(st.builds(lambda kind, values: Step(kind, tuple(sorted(values.items()))), words, options), max_size=2)
counts = st.integers(0, 2**64 - 1)


@st.composite
def merged(draw: st.DrawFn, most: int = 30) -> tuple[list[bytes], list[tuple[int, int, int]]]:
    """Tokens after the bytes, and merges as places among all tokens; the results are unique."""
    tokens, merges = list(BYTES), []
    some = st.sampled_from([*range(97, 103), 32, 0xC3, 0xA9, 0xE2, 0x80])
    for _ in range(draw(st.integers(0, most))):
        choice = some | st.integers(256, len(tokens) - 1) if len(tokens) > 256 else some
        left, right = draw(choice), draw(choice)
        if (joined := tokens[left] + tokens[right]) not in tokens:
            merges.append((left, right, len(tokens)))
            tokens.append(joined)
    return tokens[256:], merges


@st.composite
def training_records(draw: st.DrawFn) -> TrainingRecord:
    """Any record."""
    rows = draw(st.lists(st.tuples(counts, counts), max_size=4))
    table = np.array(rows, np.uint64).reshape(-1, 2)
    plain: Any = [draw(st.integers(0, 2**70)) for _ in range(3)]
    return TrainingRecord(
        draw(options), plain[0], plain[1], draw(texts), plain[2], table[:, 0], table[:, 1], draw(texts)
    )


score_types: Any = st.sampled_from([np.float32, np.float64])


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Any model: byte-level merges under permuted ids with holes, or whole words or characters with scores."""
    kind: Any = draw(st.sampled_from(["bpe", "bpe", "words", "chars", "unigram"]))
    merges: Any = np.empty((0, 3), np.uint32)
    rule: Any = "pair"
    if kind == "bpe":
        joined, places = draw(merged())
        tokens = [*BYTES, *joined]
        size = len(tokens)
        order = list(range(size))
        if draw(st.booleans()):
            Random(draw(st.integers(0, 99))).shuffle(order)  # drawn as a seed: permutations are slow to draw
        ids = np.array(order)
        ids = ids + draw(st.sampled_from([0, 7, 2**24 - size]))
        rule = draw(st.sampled_from(["pair", "bytes"]))
        if rule == "pair":
            merges = ids[np.array(places, np.int64).reshape(-1, 3)]
    else:
        one = st.binary(min_size=1, max_size=6) if kind == "words" else words.map(lambda word: word[0].encode())
        tokens = draw(st.lists(one, unique=True, max_size=12))
        ids = np.array(draw(st.lists(st.integers(0, 99), min_size=len(tokens), max_size=len(tokens), unique=True)))
    free = st.integers(0, 2**24 - 1).filter(lambda id: id not in set(ids.tolist()))
    flags = st.tuples(*[st.booleans()] * 5)
    contents = draw(st.lists(words, max_size=3, unique=True))
    scores = draw(st.none() | st.just(st.floats(width=32, allow_nan=False, allow_infinity=False)))
    return Model(
        TokenTable.of(tokens),
        ids.astype(np.uint32),
        kind=kind,
        unit="byte" if kind in ("bpe", "words") else "char",
        merges=merges.astype(np.uint32),
        merge_rule=rule,
        whole_piece=draw(st.booleans()),
        scores=None if scores is None else np.array([draw(scores) for _ in tokens], draw(score_types)),
        unknown_id=draw(st.none() | st.integers(0, 2**24 - 1)),
        byte_fallback=draw(st.booleans()),
        continuing_subword_prefix=draw(st.sampled_from(["", "##"])),
        end_of_word_suffix=draw(st.sampled_from(["", "</w>"])),
        max_piece_chars=draw(st.sampled_from([None, 100])),
        **{name: tuple(draw(steps)) for name in ("normalizers", "splitters", "decoders", "post")},
        added_tokens=tuple(AddedToken(content, draw(free), *draw(flags)) for content in contents),
        training=draw(st.none() | training_records()),
        metadata=draw(st.dictionaries(texts, texts, max_size=2)),
    )
