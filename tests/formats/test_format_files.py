"""Files in and out: which format a file has, and writing that is whole or not at all."""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from systems import needs

import toksmith
from toksmith import Tokenizer, _formats
from toksmith._base import paths
from toksmith.errors import FormatError, InvalidOption, UnknownFormat, UnknownName

POSIX = needs("posix", "pipes", "descriptors", "links")


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train("low lower lowest", merges=3, pattern=None)


LOAD_ONLY = {
    "gguf",
    "sentencepiece",
    "tekken",
    "stoi",
    "vocab_txt",
    "transformers",
}  # or of other models: see tests/formats/test_format_rows.py, test_format_gguf.py, test_covered_formats.py


@pytest.mark.parametrize("name", [name for name in toksmith.formats() if name not in LOAD_ONLY])
def test_each_format_knows_its_own_content(name: str, tok: Tokenizer) -> None:
    saved = toksmith.formats()[name].save(tok.model, allow_loss=["splitters"])
    for data in [saved] if isinstance(saved, bytes) else saved[: toksmith.formats()[name].reads]:
        assert [row.name for row in toksmith.formats().values() if row.sniff(data, "a")] == [name]


SUFFIXES = {
    "a.toksmith": "native",
    "a.b.TOKSMITH": "native",
    "cl100k_base.tiktoken": "tiktoken",
    "merge_dict.json": "merge_dict",
    "tokenizer.json": "tokenizer_json",
    "Tokenizer.JSON": "tokenizer_json",
}


@pytest.mark.parametrize("name", SUFFIXES)
def test_the_name_of_a_new_file_selects_its_format(name: str, tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == toksmith.formats()[SUFFIXES[name]].save(tok.model)


@pytest.mark.parametrize("name", ["a", "a.json", "my_tokenizer.json", "a.mod", "toksmith", "a.toksmith.txt"])
def test_a_name_without_a_format_lists_names_with_one(name: str, tok: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match=r"\.toksmith, tokenizer\.json, \.tiktoken, .* \(toksmith\.formats\(\) lists all\)"
    ):
        tok.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    tok.save(tmp_path / name, format="native")
    assert toksmith.load(tmp_path / name) == tok


def test_the_content_decides_and_not_the_name(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "a.tiktoken", format="native")
    assert toksmith.load(tmp_path / "a.tiktoken") == tok
    with pytest.raises(FormatError):
        toksmith.load(tmp_path / "a.tiktoken", format="tiktoken", pattern=None)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"hello\n", b"{}x", b"[]", b"\x00" * 99, b"PK\x03\x04", b'{"a": [1]}', b"YQ== 0\n"]
)
def test_unknown_content_names_the_list_of_formats(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.toksmith"
    path.write_bytes(data)
    with pytest.raises(
        UnknownFormat, match=r"matches no known format of tokenizers; .* \(toksmith\.formats\(\) lists all\)"
    ) as caught:
        toksmith.load(path)
    assert caught.value.path == str(path)


def test_content_that_looks_like_two_formats_lists_both(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"toksmith 1\nYQ== 2\n")  # "toksmith" is base64, too
    with pytest.raises(FormatError, match=r"looks like 'native' and 'tiktoken'; choose with format="):
        toksmith.load(path)


def test_a_new_row_is_a_format(tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = replace(toksmith.formats()["native"], name="other", suffixes=(".other",), sniff=lambda data, path: False)
    monkeypatch.setattr(_formats, "FORMATS", MappingProxyType({**_formats.FORMATS, "other": row}))
    tok.save(tmp_path / "a.other")
    assert toksmith.load(tmp_path / "a.other", format="other") == tok


def test_unknown_formats_and_losses_are_named(tok: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'tiktoken'"):
        tok.save(tmp_path / "a", format="tiktokens")
    with pytest.raises(UnknownName, match="did you mean 'native'"):
        toksmith.load(tmp_path / "a", format="nativ")
    with pytest.raises(InvalidOption) as caught:
        tok.save(tmp_path / "a.toksmith", allow_loss=["metadata", "merges"])
    assert (caught.value.argument, caught.value.value) == ("allow_loss", "merges")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_read_gives_the_reason(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path, problem in {"none.toksmith": "there is no such file", "folder": "the folder holds no file"}.items():
        with pytest.raises(FormatError, match=problem) as caught:
            toksmith.load(tmp_path / path)
        assert caught.value.path == str(tmp_path / path)
        assert isinstance(caught.value.__cause__, OSError) or path == "folder"
    with pytest.raises(FormatError, match="NUL"):
        toksmith.load(Path("a\0b.toksmith"))
    with pytest.raises(FormatError, match="the folder holds no file"):
        toksmith.load(str(tmp_path / "folder"))


def test_a_file_beyond_the_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.toksmith"
    with open(path, "wb") as file:
        file.write(b"toksmith 1\n")
        file.truncate(paths.FILE_LIMIT + 1)
    with pytest.raises(FormatError, match="larger than 1073741824 bytes"):
        toksmith.load(path)


@POSIX
def test_a_pipe_is_read(tok: Tokenizer, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with open(writing, "wb") as file:
        file.write(toksmith.formats()["native"].save(tok.model))
    try:
        assert toksmith.load(Path(f"/dev/fd/{reading}")) == tok
    finally:
        os.close(reading)


def test_the_old_file_is_replaced_whole(tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "a.toksmith"
    path.write_bytes(b"old" * 100_000)
    tok.save(str(path))
    assert toksmith.load(path) == tok
    assert list(tmp_path.iterdir()) == [path]


@POSIX
def test_permissions_are_kept_or_those_of_a_new_file(tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "a.toksmith"
    mask = os.umask(0o027)
    try:
        tok.save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        tok.save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(mask)


@POSIX
def test_a_link_is_followed(tok: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "link.toksmith").symlink_to("there.toksmith")
    tok.save(tmp_path / "link.toksmith")
    assert (tmp_path / "link.toksmith").is_symlink()
    assert toksmith.load(tmp_path / "there.toksmith") == tok


def read_only(path: Path) -> None:
    path.write_bytes(b"precious")
    path.chmod(0o444)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


PROBLEMS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a read-only file": (read_only, "read-only; make it writable"),
    "a folder": (Path.mkdir, "it is a folder"),
    "a pipe": (make_pipe, "not a regular file"),
}


@POSIX
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_target_that_must_not_be_replaced_is_left_alone(name: str, tok: Tokenizer, tmp_path: Path) -> None:
    make, problem = PROBLEMS[name]
    path = tmp_path / "a.toksmith"
    make(path)
    before = (path.stat().st_mode, path.read_bytes() if path.is_file() else None)
    with pytest.raises(FormatError, match=problem) as caught:
        tok.save(path)
    assert caught.value.path == str(path)
    assert (path.stat().st_mode, path.read_bytes() if path.is_file() else None) == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named(tok: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"there is no folder .*none.*; make it first"):
        tok.save(tmp_path / "none" / "a.toksmith")
    with pytest.raises(FormatError, match="NUL"):
        tok.save("a\0.toksmith")


@needs("posix", "permissions")
def test_a_read_only_folder_is_named(tok: Tokenizer, tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(FormatError, match="permissions"):
            tok.save(tmp_path / "a.toksmith")
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_the_old_file(
    step: str, error: BaseException, tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.toksmith"
    path.write_bytes(b"old")

    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(os, step, fail)
    expected = FormatError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected, match="No space left" if isinstance(error, OSError) else None):
        tok.save(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_refused_model_touches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "merge_dict.json"
    path.write_bytes(b"old")
    tok = toksmith.train("it will rain", kind="words", pattern=r"\w+|\s")
    with pytest.raises(toksmith.errors.CannotRepresent):
        tok.save(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@needs("any names")
def test_names_of_any_bytes_are_paths(tok: Tokenizer, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.toksmith"))
    tok.save(path)
    assert toksmith.load(path) == tok
    path.write_bytes(b"x")
    with pytest.raises(FormatError):
        toksmith.load(path)
