"""The formats of other libraries: what they hold, what they refuse, hostile files, and those libraries on what is written.

`tests/hostile/` has a folder for each of these rows; every file there is refused with its place by the row's loader.
"""

import dataclasses
import json
import pickle
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_texts import HARD_TEXTS
from trainings import SHORT, trained

import toksmith
from toksmith import Model, Tokenizer
from toksmith._formats import FORMATS, STARTS, UNSET, FileContent
from toksmith._formats.texts import SETS
from toksmith._model import patterns
from toksmith.errors import CannotRepresent, FormatError, InvalidOption
from toksmith.types import AddedToken, Step, TokenTable

HOSTILE = Path(__file__).parents[1] / "hostile"
PLAIN: dict[str, Any] = {"merges": 8, "pattern": "cl100k_minbpe", "special_tokens": ["<|e|>"]}
SCALARS = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in HARD_TEXTS.values()]


def shifted() -> Model:
    """Ranks above two special tokens."""
    model = trained(**PLAIN | {"special_tokens": ()}).model
    added = (AddedToken("<unk>", 0), AddedToken("<s>", 1))
    fields: dict[str, Any] = {"splitters": model.splitters, "added_tokens": added}
    return Model(model.tokens, model.ids + 2, merge_rule="bytes", whole_piece=True, **fields)


def scored() -> Model:
    """Characters merged by their scores."""
    contents = ["▁", "l", "o", "w", "lo", "low", "▁low", *(f"<0x{byte:02X}>" for byte in range(256))]
    options = {"charsmap": "", "dummy": "before", "escape": True, "remove_extra": True}
    return Model(
        TokenTable.of([content.encode() for content in contents]),
        np.arange(3, 3 + len(contents), dtype=np.uint32),
        unit="char",
        merge_rule="bytes",
        scores=np.arange(len(contents), dtype=np.float32),
        unknown_id=0,
        byte_fallback=True,
        normalizers=(Step("sentencepiece", tuple(sorted(options.items()))),),
        decoders=(Step("sentencepiece", (("strip", "each"), ("unknown", " ⁇ "))),),
        added_tokens=(AddedToken("<unk>", 0), AddedToken("<s>", 1), AddedToken("<sep>", 2, False, normalized=True)),
        metadata={"normalizer": "identity"},
    )


MODELS: dict[str, Callable[[], Model]] = {
    "minbpe": lambda: trained(**PLAIN).model,
    "sentencepiece": scored,
    "stoi": lambda: toksmith.train(SHORT, kind="chars").model,
    "tekken": shifted,
}


def loaded(name: str, data: Any, path: str = "file", **arguments: Any) -> Model:
    given = {"pattern": UNSET, "special_tokens": None, **arguments}
    row = FORMATS[name]
    return row.load([FileContent(path, part) for part in data] if row.files else data, path, **given)


def saved(name: str, model: Model) -> Any:
    return FORMATS[name].save(model)


@pytest.mark.parametrize("name", MODELS)
def test_load_after_save_is_the_same_model_and_save_after_load_the_same_bytes(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    content = saved(name, model)
    back = loaded(name, content)
    assert back == model
    assert saved(name, back) == content
    first = content if isinstance(content, bytes) else content[0]
    assert [row.name for row in FORMATS.values() if row.sniff(first, "x")] == [name]
    tok = Tokenizer(model)
    path = tmp_path / ("tekken.json" if name == "tekken" else "x.model")
    tok.save(path, format=name)
    assert toksmith.load(path) == tok


@pytest.mark.parametrize("name", ["minbpe", "sentencepiece", "stoi"])
def test_a_name_of_two_formats_is_refused_until_one_is_named(name: str, tmp_path: Path) -> None:
    """Also if only one of them can hold the model: a reader would find another file than after another training."""
    tok, target = Tokenizer(MODELS[name]()), tmp_path / "spiece.model"
    for write in (lambda: tok.save(target), lambda: toksmith.convert(tok, target)):
        with pytest.raises(FormatError, match=r"fits 'sentencepiece' and 'minbpe'; give format=, or end .*toksmith"):
            write()
        assert not [*tmp_path.iterdir()]
    tok.save(target, format=name)
    assert FORMATS[name].sniff(target.read_bytes(), "spiece.model") and toksmith.load(tmp_path) == tok


# --- what the libraries make of it ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_sentencepiece_reads_the_written_file(vocab_dir: Path, tmp_path: Path) -> None:
    sentencepiece: Any = pytest.importorskip("sentencepiece", "0.2.3", reason="lacks sentencepiece==0.2.3")
    toksmith.load(vocab_dir / "mistral_v1.model").save(tmp_path / "own.model", format="sentencepiece")
    for path, model in ((tmp_path / "own.model", None), (tmp_path / "drawn.model", scored())):
        if model is not None:
            Tokenizer(model).save(path, format="sentencepiece")
        tok = toksmith.load(path)
        peer = sentencepiece.SentencePieceProcessor(model_file=str(path))
        assert peer.encode(SCALARS) == tok.encode_batch(SCALARS, special="text")
        assert peer.get_piece_size() == len(tok) and peer.is_control(1) and peer.unk_id() == 0
    assert toksmith.load(tmp_path / "own.model") == toksmith.load(vocab_dir / "mistral_v1.model")


def test_mistrals_library_reads_the_written_file(tmp_path: Path) -> None:
    tekken: Any = pytest.importorskip("mistral_common.tokens.tokenizers.tekken", reason="lacks mistral-common")
    tok = Tokenizer(shifted())
    tok.save(tmp_path / "tekken.json")
    peer = tekken.Tekkenizer.from_file(tmp_path / "tekken.json")
    for text in SCALARS:
        assert peer.encode(text, bos=False, eos=False) == tok.encode(text, special="text")
    assert peer.n_words == tok.vocab_size and peer.bos_id == 1


def minbpe_loads(text: str) -> tuple[str, dict[str, int], dict[tuple[int, int], int]]:
    """A `.model` by minbpe's rule: version, pattern, number of special tokens, those, and merges from 256 on."""
    lines = iter(text.splitlines())
    assert next(lines) == "minbpe v1"
    pattern = next(lines).strip()
    rows = [next(lines).split() for _ in range(int(next(lines)))]
    special = {content: int(id) for content, id in rows}
    pairs = ((int(left), int(right)) for left, right in map(str.split, lines))
    return pattern, special, {pair: id for id, pair in enumerate(pairs, 256)}


@pytest.mark.parametrize("pattern", [None, "cl100k_minbpe"])
def test_files_have_the_layout_of_minbpe(pattern: str | None, tmp_path: Path) -> None:
    tok = trained(**PLAIN | {"pattern": pattern})
    tok.save(tmp_path / "x.model", format="minbpe")
    found, special, merges = minbpe_loads((tmp_path / "x.model").read_text(encoding="utf-8"))
    assert found == ("" if pattern is None else toksmith.patterns()["cl100k_minbpe"].regexes[0])
    assert special == tok.special_tokens and [*merges.items()] == [((a, b), c) for a, b, c in tok.model.merges.tolist()]
    lines = (tmp_path / "x.vocab").read_text(encoding="utf-8").split("\n")
    left, right, id = tok.model.merges.tolist()[0]
    assert f"[{chr(left)}][{chr(right)}] -> [{chr(left) + chr(right)}] {id}" in lines
    assert "[\\u0000] 0" in lines and "[\\u007f] 127" in lines and "[a] 97" in lines and "[\ufffd] 255" in lines
    assert lines[-2] == "[<|e|>] 264"


# --- what is refused -----------------------------------------------------------------------------------------------

SPLIT = {"splitters": patterns.splitters(["[0-9]", "gpt2"])}
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "minbpe": ("splitters", SPLIT, "only one regex"),
    "minbpe, a class of Rust's": ("splitters", {"splitters": patterns.splitters(r"[\w&&[^\d]]+")}, "class"),
    "minbpe, a regex of two lines": ("splitters", {"splitters": patterns.splitters("a\nb")}, "single line"),
    "minbpe, a space": ("added_tokens", {"added_tokens": (AddedToken("a b", 264),)}, "one word"),
    "minbpe, flags": ("added_tokens", {"added_tokens": (AddedToken("a", 264, lstrip=True),)}, "no flags"),
    "minbpe, metadata": ("metadata", {"metadata": {"a": "b"}}, "no field for it"),
    "sentencepiece": ("splitters", SPLIT, "splitters"),
    "sentencepiece, scores": ("scores", {"scores": None}, "requires scores"),
    "sentencepiece, unknown": ("unknown_id", {"unknown_id": None, "byte_fallback": False}, "requires one"),
    "sentencepiece, no normalizer": ("normalizers", {"normalizers": ()}, "a single SentencePiece step"),
    "sentencepiece, strip": (
        "decoders", {"decoders": (Step("sentencepiece", (("strip", "once"), ("unknown", "?"))),)}, "normalizer decides"
    ),
    "sentencepiece, flags": (
        "added_tokens", {"added_tokens": (AddedToken("<unk>", 0), AddedToken("a", 1, rstrip=True))}, "flags"
    ),
    "sentencepiece, ids": ("ids", {"added_tokens": (AddedToken("<unk>", 0),)}, "without holes"),
    "stoi": ("splitters", SPLIT, "into characters|Rust"),
    "stoi, normalizers": ("normalizers", {"normalizers": (Step("nfc"),)}, "no field for it"),
    "tekken": ("splitters", SPLIT, "one regex"),
    "tekken, ids": ("added_tokens", {"added_tokens": (AddedToken("<unk>", 0),)}, "ids|first ids"),
    "tekken, metadata": ("metadata", {"metadata": {"a": "b"}}, "no field for it"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_a_format_cannot_hold_is_refused_by_its_field(name: str) -> None:
    field, fields, said = REFUSED[name]
    row = name.partition(",")[0]
    with pytest.raises(CannotRepresent, match=said) as caught:
        saved(row, dataclasses.replace(MODELS[row](), **fields))
    assert caught.value.format == row
    assert caught.value.field in (field, "ids")


@pytest.mark.parametrize("name", MODELS)
def test_models_of_other_kinds_are_refused(name: str) -> None:
    for other, model in MODELS.items():
        if other != name:
            with pytest.raises(CannotRepresent):
                saved(name, model())


def test_arguments_that_contradict_a_file_are_refused() -> None:
    for name in ("minbpe", "sentencepiece", "tekken"):
        for given in ({"pattern": "gpt2"}, {"special_tokens": {"<a>": 9}}):
            with pytest.raises(InvalidOption):
                loaded(name, saved(name, MODELS[name]()), **given)
    with pytest.raises(InvalidOption, match="characters"):
        loaded("stoi", b'{"a": 0}', pattern="gpt2")
    assert loaded("stoi", b'{"a": 0}', special_tokens={"<a>": 9}).special_tokens == {"<a>": 9}


def test_tekken_files_of_old_versions_load() -> None:
    """They list no special tokens, and hold more tokens than are used."""
    value = json.loads(saved("tekken", shifted()))
    del value["special_tokens"]
    value["config"] |= {"default_num_special_tokens": 22, "default_vocab_size": 22 + 260, "version": "v3"}
    value["image"] = {"image_patch_size": 16}
    model = loaded("tekken", json.dumps(value).encode())
    assert len(model.tokens) == 260 and model.ids.tolist() == list(range(22, 282))
    assert [token.content for token in model.added_tokens][:4] == ["<unk>", "<s>", "</s>", "[INST]"]
    assert [token.content for token in model.added_tokens][19:] == ["[TOOL_CONTENT]", "<SPECIAL_20>", "<SPECIAL_21>"]
    again = json.loads(saved("tekken", model))
    assert again["image"] == {"image_patch_size": 16} and again["config"]["version"] == "v3"


# --- what is known before a module is imported -----------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_the_table_agrees_with_the_modules(name: str) -> None:
    row = FORMATS[name]
    assert row.name == name and set(row.files) <= set(SETS)
    for start in (start for start, own in STARTS.items() if own == name):
        assert [other.name for other in FORMATS.values() if other.sniff(start + bytes(64), "x")] in ([name], [])


# --- hostile files -------------------------------------------------------------------------------------------------

FILES = [
    (folder.name, path) for folder in sorted(HOSTILE.iterdir()) for path in sorted(folder.iterdir()) if folder.is_dir()
]


@pytest.mark.parametrize("name, path", FILES, ids=[f"{name}/{path.name}" for name, path in FILES])
def test_a_hostile_file_is_refused_with_its_place(name: str, path: Path) -> None:
    given: dict[str, Any] = {"pattern": None} if "pattern" in FORMATS[name].arguments else {}
    with pytest.raises(FormatError) as caught:
        toksmith.load(path, format=name, **given)
    assert caught.value.path.startswith(str(path).rpartition("-")[0] or str(path)) and len(str(caught.value)) < 600
    assert caught.value.place is not None or len(caught.value.problem) > 10


class Evil:
    """What must not be executed."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("executed"),))


def disguises() -> dict[str, bytes]:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("tokenizer.json", "{}")
    return {
        "a zip": packed.getvalue(),
        "a pickle": pickle.dumps(Evil()),
        "nothing": b"",
        "NULs": bytes(1 << 20),
        "deep lists": b"[" * (1 << 20),
        "deep objects": b'{"a":' * (1 << 20),
        "deep messages": b"\x0a\x7e" * (1 << 19),
        "UTF-16": '{"a": 0, "b": 1}'.encode("utf-16"),
        "Latin-1": '{"é": 0}'.encode("latin-1"),
        "a huge claim": b"minbpe v1\n\n999999999\n",
        "a huge length": b"\x0a\xff\xff\xff\xff\x0f",
    }


@pytest.mark.parametrize("name", FORMATS)
def test_disguises_are_refused_by_every_loader(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = FORMATS[name]
    given = {"pattern": None if "pattern" in row.arguments else UNSET, "special_tokens": None}
    for said, data in disguises().items():
        content = [FileContent("hostile", data)] * row.reads if row.files else data
        with pytest.raises(FormatError) as caught:
            row.load(content, "hostile", **given)
        assert len(str(caught.value)) < 600, said
    assert not (tmp_path / "executed").exists()
