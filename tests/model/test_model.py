"""A model is a value: neither memory that the caller holds nor another thread changes it."""

import copy
import dataclasses
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from toksmith import Model, _core, _formats
from toksmith._model.model import Step, TrainingRecord, freeze
from toksmith.errors import ModelError
from toksmith.types import TokenTable

BYTES = [bytes([byte]) for byte in range(256)]
TOKENS = [*BYTES, b"ab", b"abc"]
MERGES = [[97, 98, 256], [256, 99, 257]]


def of(ids: Any = None, merges: Any = None, **more: Any) -> Model:
    ids = np.arange(len(TOKENS), dtype=np.uint32) if ids is None else ids
    return Model(TokenTable.of(TOKENS), ids, merges=np.array(MERGES, np.uint32) if merges is None else merges, **more)


def owning(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    return values, values


def viewed(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """A read-only view of writable memory."""
    view = values.view()
    view.flags.writeable = False
    return view, values


def flagged(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """A read-only array that owns its memory, with an earlier writable view."""
    before = values[:]
    values.flags.writeable = False
    return values, before


def unflagged(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """The same without a view: `overwrite` sets the flag again."""
    values.flags.writeable = False
    return values, values


def in_bytearray(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    memory = bytearray(values.tobytes())
    given = np.frombuffer(memory, values.dtype).reshape(values.shape)
    given.flags.writeable = False
    return given, np.frombuffer(memory, values.dtype).reshape(values.shape)


def strided(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    wide = np.zeros((len(values) * 2, *values.shape[1:]), values.dtype)
    wide[::2] = values
    return wide[::2], wide[::2]


def fortran(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    made = np.asfortranarray(values)
    return made, made


def swapped(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    made = values.astype(values.dtype.newbyteorder())
    return made, made


def signed(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    made = values.astype(np.int64)
    return made, made


class Own(np.ndarray):  # type: ignore[type-arg]
    """An array whose methods return wrong values."""

    def tobytes(self, *_: Any) -> bytes:
        return b"\0" * self.nbytes

    def astype(self, *_: Any, **__: Any) -> Any:
        return self * 0

    def copy(self, *_: Any) -> Any:
        return self

    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.zeros(self.shape, self.dtype)


def subclass(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    return values.view(Own), values


class Converts:
    """An object that converts to another array each time."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values, self.asked = values, 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        self.asked += 1
        return self.values if self.asked == 1 else np.zeros_like(self.values)


def converting(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    return Converts(values), values


def buffer(values: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    return memoryview(values), values


GIVEN = (
    owning,
    viewed,
    flagged,
    unflagged,
    in_bytearray,
    strided,
    fortran,
    swapped,
    signed,
    subclass,
    converting,
    buffer,
)


def overwrite(memory: NDArray[Any]) -> None:
    """Writes to memory that the caller still holds."""
    if not memory.flags.writeable:
        memory.flags.writeable = True
    memory[...] = 7


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: given.__name__)
def test_changes_by_the_caller_do_not_reach_a_model(given: Callable[..., Any], tmp_path: Any) -> None:
    ids, its_ids = given(np.arange(len(TOKENS), dtype=np.uint32))
    merges, its_merges = given(np.array(MERGES, np.uint32))
    of_scores = owning if given is signed else given
    scores, its_scores = of_scores(np.linspace(0, -1, len(TOKENS)).astype(np.float32))
    ends, its_ends = given(np.cumsum([len(token) for token in TOKENS]).astype(np.uint32))
    blob = bytearray(b"".join(TOKENS))
    table = TokenTable(memoryview(blob) if given is buffer else blob, ends)
    model = Model(table, ids, merges=merges, scores=scores)
    expected = model.fingerprint()
    assert expected == of(scores=np.linspace(0, -1, len(TOKENS)).astype(np.float32)).fingerprint()
    for memory in (its_ids, its_merges, its_scores, its_ends):
        overwrite(memory)
    blob[:] = b"x" * len(blob)
    assert model.fingerprint() == expected
    assert (model.ids.tolist(), model.merges.tolist()) == (list(range(len(TOKENS))), MERGES)
    assert [*model.tokens] == TOKENS
    _formats.write_model(model, tmp_path / "model.toksmith")
    assert _formats.read_model(tmp_path / "model.toksmith") == model


def test_nothing_of_a_model_can_be_set() -> None:
    record = TrainingRecord({"ties": ["a"]}, 1, 2, "00", 3, np.array([1]), np.array([2]), "limit")
    model = of(scores=np.zeros(len(TOKENS)), training=record, metadata={"a": "b"}, splitters=[Step("bert")])
    arrays = (model.ids, model.merges, model.scores, model.tokens.ends, record.counts, record.left)
    for array in arrays:
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.view().flags.writeable = True
    for name in ("blob", "ends", "other"):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(model.tokens, name, b"")
        with pytest.raises(AttributeError, match="cannot be changed"):
            delattr(model.tokens, name)
    with pytest.raises(TypeError):
        model.metadata["a"] = "c"  # type: ignore[index]
    with pytest.raises(TypeError):
        record.options["ties"] = "c"  # type: ignore[index]
    assert isinstance(model.splitters, tuple)


def test_arrays_that_the_core_reads_are_kept_without_a_copy() -> None:
    lines = b"".join(b"%d a%02d\n" % (3 * at, at) for at in range(99))
    (blob, ends, ids), _, _ = _core.parse_token_lines(lines, 0, 99, "a file", 0)
    model = Model(TokenTable(blob, ends), ids, kind="words")
    assert (len(blob), model.tokens.ends[-1], model.ids[-1]) == (3 * 99, 3 * 99, 294)
    for memory, array in ((ends, model.tokens.ends), (ids, model.ids)):
        assert np.shares_memory(np.frombuffer(memory, np.uint32), array)
        assert freeze(array, np.uint32, "ids") is memory
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("size", range(4))
def test_constant_memory_is_a_copy(size: int, dtype: type[np.unsignedinteger[Any]]) -> None:
    given = np.arange(size, dtype=dtype)
    memory = memoryview(_core.Memory(given))
    given += 1
    assert memory.readonly and np.frombuffer(memory, dtype).tolist() == [*range(size)]


@pytest.mark.parametrize("numbers", [[-1], [1 << 32], ["1"], np.zeros(1), (1, 2)])
def test_memory_of_other_numbers_is_refused(numbers: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        _core.Memory(numbers)


def test_options_and_metadata_are_copied() -> None:
    deep = ["a"]
    metadata, options, steps = {"a": "b"}, {"ties": deep}, [Step("other", (("pieces", deep),))]
    record = TrainingRecord(options, 1, 2, "00", 3, np.array([1]), np.array([2]), "limit")
    model = of(training=record, metadata=metadata, post=steps)
    expected = model.fingerprint()
    deep.append("b")
    metadata["a"] = "c"
    options["new"] = []
    steps.append(Step("bert"))
    assert model.fingerprint() == expected
    assert (model.metadata, record.options) == ({"a": "b"}, {"ties": ["a"]})


def test_a_changed_model_shares_the_other_arrays() -> None:
    model = of(scores=np.zeros(len(TOKENS)), metadata={"a": "b"})
    for other in (dataclasses.replace(model, whole_piece=True), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert [*other.tokens] == TOKENS
        assert other.metadata == {"a": "b"}
    other = dataclasses.replace(model, whole_piece=True)
    assert np.shares_memory(other.ids, model.ids) and other.merges.base is not None
    assert np.shares_memory(other.merges, model.merges)


@pytest.mark.parametrize(
    ("ids", "error"),
    [
        (np.full(len(TOKENS), -1), ModelError),
        (np.full(len(TOKENS), 1 << 32), ModelError),
        (np.full(len(TOKENS), 1 << 63, np.uint64), ModelError),
        (np.linspace(0, 1, len(TOKENS)), TypeError),
        (["1"] * len(TOKENS), TypeError),
        (np.array([None] * len(TOKENS)), TypeError),
        (np.ones(len(TOKENS), bool), TypeError),
        (np.zeros(len(TOKENS), "M8[s]"), TypeError),
    ],
)
def test_numbers_that_would_change_are_refused(ids: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="ids"):
        of(ids)
    assert memoryview(freeze(np.asarray(ids[:0]), np.uint32, "ids")).nbytes == 0


def test_a_blob_that_is_not_bytes_is_refused() -> None:
    with pytest.raises(TypeError, match="blob: expected bytes, not str"):
        TokenTable("a", np.array([1], np.uint32))  # type: ignore[arg-type]


def test_models_are_consistent_while_other_threads_write() -> None:
    """The core reads no memory of a caller without the GIL."""
    size = 20_000
    tokens = TokenTable.of([*BYTES, *(f"t{number}".encode() for number in range(size))])
    right = np.arange(len(tokens), dtype=np.uint32)
    memory = right.copy()
    given = memory.view()
    given.flags.writeable = False
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            np.copyto(memory, right[::-1])
            np.copyto(memory, right)

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(40):
            try:
                model = Model(tokens, given)
            except ModelError:  # a mixture of both was copied, which has an id twice
                continue
            ids = model.ids.tolist()
            assert sorted(ids) == right.tolist()
            assert [model.vocab.token(id) for id in ids[:300]] == [tokens[place] for place in range(300)]
            assert model.fingerprint() == model.fingerprint()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
