"""Columns of Arrow as texts, and ids in arrays: types, padding, masks, lists of Arrow."""

import sys
from typing import Any

import numpy as np
import pyarrow as arrow
import pytest

import toksmith
from toksmith._tokenizer import arrays
from toksmith.errors import InvalidOption, SpecialTokenInText

TOK = toksmith.train("low lower lowest é 日本", 262, special_tokens=["<pad>"])
TEXTS = ["low", "", "lower é", "日本 lowest low", "x" * 50]
KINDS = [
    arrow.string(),
    arrow.large_string(),
    arrow.string_view(),
    arrow.binary(),
    arrow.dictionary(arrow.int32(), arrow.string()),
]


def columns() -> dict[str, Any]:
    found = {str(kind): arrow.array(TEXTS, arrow.string()).cast(kind) for kind in KINDS}
    found["chunks"] = arrow.chunked_array([TEXTS[:2], [], TEXTS[2:]])
    found["slice"] = arrow.array(["a", *TEXTS, "b"]).slice(1, len(TEXTS))
    found["sliced chunks"] = arrow.chunked_array([["a", *TEXTS[:3]], TEXTS[3:]]).slice(1)
    return found


def test_an_arrow_array_is_a_corpus() -> None:
    texts = ["low lower", "lowest é"]
    for column in (arrow.array(texts), arrow.chunked_array([texts[:1], texts[1:]])):
        assert toksmith.train(column, 260) == toksmith.train(texts, 260)
    with pytest.raises(TypeError, match="document 1: expected str, bytes or a path, not NoneType"):
        toksmith.train(arrow.array(["low", None]), 260)


@pytest.mark.parametrize("name", columns())
def test_a_column_has_the_ids_of_its_texts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    column = columns()[name]
    expected = TOK.encode_batch(TEXTS)
    assert TOK.encode_batch(column) == expected
    ragged = TOK.encode_ragged(column, threads=2)
    assert [ids.tolist() for ids in ragged] == expected
    # No text becomes a Python object: the list of texts is never requested.
    monkeypatch.setattr(arrays, "as_sequence", None)
    assert TOK.encode_ragged(column).ids.tolist() == ragged.ids.tolist()
    assert TOK.encode_padded(column, pad="<pad>").mask.sum() == len(ragged.ids)


class Foreign:
    """A column of another library, which shares its memory through Arrow's interface."""

    def __init__(self, column: Any) -> None:
        self.column = column

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.column.__arrow_c_stream__(requested_schema)


def test_columns_of_any_library_that_shares_them_are_read() -> None:
    assert TOK.encode_batch(Foreign(arrow.chunked_array([TEXTS]))) == TOK.encode_batch(TEXTS)


def test_an_empty_column_has_no_ids() -> None:
    for column in (arrow.array([], arrow.string()), arrow.chunked_array([], arrow.string())):
        assert TOK.encode_batch(column) == [] and len(TOK.encode_ragged(column)) == 0
        assert TOK.encode_padded(column, pad=0).ids.shape == (0, 0)


class Frame:
    """A table whose items are the names of its columns."""

    columns = ("text",)

    def __getitem__(self, name: str) -> list[str]:
        return ["low"]

    def __iter__(self) -> Any:
        return iter(self.columns)


REFUSED = [
    (arrow.array(["a", None, "b"]), "texts: item 1: expected str or bytes, not null; drop_null"),
    (arrow.array([1, 2]), "texts: expected a column of texts, not of int64"),
    (arrow.table({"text": ["a"]}), "texts: expected a column, not a table; pass one column of it"),
    (Frame(), "texts: expected a batch of texts .*; pass one of its columns"),
    ({"text": ["a"]}, "values"),
]


@pytest.mark.parametrize("texts, expected", REFUSED, ids=range(len(REFUSED)))
def test_a_value_that_is_not_a_column_of_texts_is_refused(texts: Any, expected: str) -> None:
    for call in (TOK.encode_ragged, TOK.encode_batch, lambda texts: TOK.encode_padded(texts, pad=0)):
        with pytest.raises(TypeError, match=expected):
            call(texts)


def test_an_error_gives_the_place_in_characters() -> None:
    texts = ["low", "é日<pad>"]
    for batch in (texts, arrow.array(texts)):
        with pytest.raises(SpecialTokenInText) as caught:
            TOK.encode_ragged(batch)
        assert (caught.value.index, caught.value.offset) == (1, 2)


def test_without_pyarrow_items_are_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Column(list[str]):
        __arrow_c_stream__ = None

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert TOK.encode_ragged(Column(TEXTS)).ids.tolist() == TOK.encode_ragged(TEXTS).ids.tolist()
    with pytest.raises(ImportError, match=r"pip install 'toksmith\[parquet\]'"):
        TOK.encode_ragged(TEXTS).to_arrow()


def test_ids_are_lists_of_arrow_that_share_memory() -> None:
    ragged = TOK.encode_ragged(TEXTS)
    found = ragged.to_arrow()
    assert found.type == arrow.list_(arrow.uint32()) and found.to_pylist() == TOK.encode_batch(TEXTS)
    assert found.values.buffers()[1].address == ragged.ids.ctypes.data


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    "length, multiple, truncate", [(None, 1, False), (None, 8, False), (60, 1, False), (3, 1, True), (0, 1, True)]
)
def test_padding_equals_a_plain_loop(side: str, length: int | None, multiple: int, truncate: bool) -> None:
    lists = TOK.encode_batch(TEXTS)
    width = max(map(len, lists)) if length is None else length
    width = -(-width // multiple) * multiple
    pad = TOK.token_id("<pad>")
    rows, masks = [], []
    for ids in lists:
        kept = ids[:width]
        gap = width - len(kept)
        rows.append([pad] * gap + kept if side == "left" else kept + [pad] * gap)
        masks.append([0] * gap + [1] * len(kept) if side == "left" else [1] * len(kept) + [0] * gap)
    found = TOK.encode_padded(TEXTS, pad="<pad>", side=side, length=length, multiple=multiple, truncate=truncate)
    assert found.ids.tolist() == rows and found.mask.tolist() == masks
    assert (found.ids.dtype, found.mask.dtype) == (np.int64, np.uint8)
    assert found.ids.flags.c_contiguous and found.mask.flags.c_contiguous
    assert np.from_dlpack(found.ids).ctypes.data == found.ids.ctypes.data  # as torch and jax take it: without copying
    assert {name: array.tolist() for name, array in dict(found).items()} == {"input_ids": rows, "attention_mask": masks}
    assert len(found) == len(TEXTS) and f"of {width:,} id" in repr(found)


def test_types_hold_every_id_or_are_refused() -> None:
    for dtype in ("uint16", np.int32, np.int64, np.dtype("uint32")):
        found = TOK.encode_array("low é", dtype=dtype)
        assert found.dtype == np.dtype(dtype) and found.tolist() == TOK.encode("low é")
        assert TOK.encode_padded(["low"], pad=0, dtype=dtype).ids.dtype == np.dtype(dtype)
    assert TOK.encode_array("", dtype="uint8").shape == (0,)
    for call in (
        lambda **more: TOK.encode_array("low", **more),
        lambda **more: TOK.encode_padded(["low"], pad=0, **more),
    ):
        with pytest.raises(
            InvalidOption, match=r"dtype='uint8' is not possible; expected a type that holds the id 25\d"
        ):
            call(dtype="uint8")
        for wrong in ("float32", "nothing", bool):
            with pytest.raises(InvalidOption, match="an integer type of numpy"):
                call(dtype=wrong)
    with pytest.raises(InvalidOption, match="a type that holds the id 70000"):
        TOK.encode_padded(["low"], pad=70_000, dtype="uint16")


def test_wrong_options_of_padding_say_what_to_do() -> None:
    with pytest.raises(
        InvalidOption, match=r"length=3 is not possible; expected at least 50, or truncate=True: text 4 has 50 ids"
    ):
        TOK.encode_padded(["", "", "low", "a", "x" * 50], pad=0, length=3)
    with pytest.raises(InvalidOption, match="side='top'"):
        TOK.encode_padded(["low"], pad=0, side="top")
    with pytest.raises(InvalidOption, match="multiple=0"):
        TOK.encode_padded(["low"], pad=0, multiple=0)
    with pytest.raises(InvalidOption, match="pad=-1"):
        TOK.encode_padded(["low"], pad=-1)
    with pytest.raises(toksmith.errors.NotInVocabulary):
        TOK.encode_padded(["low"], pad="<none>")


def test_special_tokens_can_be_left_out_of_a_text() -> None:
    ids = TOK.encode("low<pad>er<pad>", special="allow")
    assert TOK.decode(ids) == "low<pad>er<pad>"
    for given in (ids, np.array(ids), iter(ids)):
        assert TOK.decode(given, skip_special_tokens=True) == "lower"
