"""explain.folder: what it reads, against git; what it counts, against the tokenizer; its rules and its drawing, by hand."""

from __future__ import annotations

import base64
import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from command_line import run
from hypothesis import given
from hypothesis import strategies as st
from shown_results import check_page, check_shown
from systems import needs
from trainings import trained

from toksmith import _render, explain
from toksmith._render.areas import squarify
from toksmith.errors import CorpusError, InvalidOption
from toksmith.explain import _folder, _folder_files, _waste

TOK = trained(["the low lower lowest slow new newer"], pattern="o200k", merges=12)
PICTURE = base64.b64encode(random.Random(5).randbytes(600))


def test_a_small_folder_has_the_worked_figures(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_bytes(b"if low:\n    lower\n")
    (tmp_path / "a" / "two.py").write_bytes(b"if low:\n    lower\n")
    (tmp_path / "Cargo.lock").write_bytes(b"lowest")
    (tmp_path / "x.bin").write_bytes(b"\0low")
    found = explain.folder(TOK, tmp_path)
    text, lock = (TOK.count(each, special="text") for each in ("if low:\n    lower\n", "lowest"))
    assert [(file.path, file.bytes, file.tokens) for file in found.files] == [
        ("Cargo.lock", 6, lock),
        ("a/one.py", 18, text),
        ("a/two.py", 18, text),
    ]
    assert found.skipped == (explain.SkippedFile("x.bin", "binary"),)
    assert found.left_out == {"Cargo.lock": "lock file", "a/two.py": "copy"}
    indented = text - TOK.count("if low:\nlower\n", special="text")
    assert indented > 0
    assert [(waste.name, waste.files, waste.tokens) for waste in found.wastes] == [
        ("lock file", 1, lock),
        ("copy", 1, text),
        ("indentation", 1, indented),  # only of the file that is kept
    ]
    assert (found.tokens, found.bytes, found.saved) == (lock + 2 * text, 42, lock + text)
    area = found.areas()
    assert [(each.name, each.size) for each in area.below] == [("Cargo.lock", lock), ("a/", 2 * text)]


def repository(folder: Path) -> None:
    for path in (
        *("a.py", "b.log", "keep.log", "build/x.py", "build/keep.py", "src/build/y.py", "src/z.tmp", "src/deep/q.tmp"),
        *("src/deep/keep.tmp", "docs/a b.md", "docs/#x", "docs/!y", "foo/bar/baz.txt", "foo/other/bar"),
        *("é.txt", "own.txt"),
    ):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("low\n", encoding="utf-8")
    (folder / ".gitignore").write_text("*.log\n!keep.log\n/build/\n# no\n\\#x\nfoo/**/baz.txt\n\n", encoding="utf-8")
    (folder / "src" / ".gitignore").write_text("*.tmp\n", encoding="utf-8")
    (folder / "src" / "deep" / ".gitignore").write_text("!keep.tmp\n", encoding="utf-8")


@needs("git")
def test_the_files_read_are_those_that_git_lists(tmp_path: Path) -> None:
    repository(tmp_path)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def git(*words: str) -> bytes:
        return subprocess.run(["git", *words], cwd=tmp_path, env=environment, check=True, capture_output=True).stdout

    git("init", "-q")
    (tmp_path / ".git" / "info" / "exclude").write_text("own.txt\nkeep.tmp\n", encoding="utf-8")
    for folder in ("", "src", "src/deep", "docs"):
        listed = git("ls-files", "-z", "--others", "--exclude-standard", folder or ".").decode().split("\0")[:-1]
        below = f"{folder}/" if folder else ""
        found = explain.folder(TOK, tmp_path / folder)
        assert [below + file.path for file in found.files] == sorted(listed)
    assert not any(file.path.startswith(".git/") for file in explain.folder(TOK, tmp_path, ignored=True).files)


def test_files_in_memory_are_read_as_those_of_a_folder(tmp_path: Path) -> None:
    repository(tmp_path)
    files = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    held, there = explain.folder(TOK, files), explain.folder(TOK, tmp_path)
    assert held.files == there.files
    assert len(explain.folder(TOK, files, ignored=True).files) == len(files)
    rules = {path: data.decode() for path, data in files.items() if path.endswith(".gitignore")}
    assert explain.unignored(sorted(files), rules) == [file.path for file in there.files]
    assert explain.unignored(["a/.git/x", ".git/y", "z"], {}) == ["z"]


def test_maps_add_up() -> None:
    files = {"b.txt": "low", "a.txt": "low", "Cargo.lock": "lower", "c": b"\0"}
    whole = explain.folder(TOK, files)
    parts = [explain.folder(TOK, {path: text}) for path, text in files.items()]
    joined = parts[3] + parts[0] + parts[2] + parts[1]
    assert joined == whole and joined.left_out == {"Cargo.lock": "lock file", "b.txt": "copy"}
    with pytest.raises(InvalidOption, match="a map by"):
        _ = whole + explain.folder(trained(["low"], pattern="o200k", merges=1), files)


@pytest.mark.parametrize(
    ("path", "data", "rule"),
    [
        ("sub/package-lock.json", b"{}", "lock file"),
        ("package-lock.json.md", b"{}", ""),
        ("a_pb2.py", b"x", "generated"),
        ("a.py", b"# Code generated by protoc. DO NOT EDIT.\n", "generated"),
        ("a.ts", b"/**\n * @generated by us\n */", "generated"),
        ("a.py", b"print('DO NOT EDIT')\n", ""),  # not in a comment
        ("a.py", b"x\n" * 1200 + b"# @generated\n", ""),  # not at the beginning
        ("a.min.js", b"x", "minified"),
        ("a.js", b"x" * 2000, "minified"),
        ("a.js", b"x" * 1999, ""),
        ("a.js", (b"x" * 499 + b"\n") * 10, ""),
        ("a.json", b"x" * 5000, ""),
    ],
)
def test_a_file_has_the_rule_of_its_name_or_content(path: str, data: bytes, rule: str) -> None:
    assert _waste.file_rule(path, data) == rule


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (b"a " + PICTURE + b" b", b"a  b"),
        (b"data:image/png;base64," + PICTURE + b'"', b'data:image/png;base64,"'),
        (b"\n".join(PICTURE[at : at + 64] for at in range(0, 800, 64)) + b"\nend of it", b"\nend of it"),
        (b"\\n".join(PICTURE[at : at + 76] for at in range(0, 800, 76)), b""),  # in a notebook
        (PICTURE[:99], PICTURE[:99]),
        (b"0123456789abcdef" * 20, b"0123456789abcdef" * 20),  # hex
        (b"aaaa" * 50, b"aaaa" * 50),
    ],
)
def test_base64_is_found(data: bytes, left: bytes) -> None:
    assert _waste.remove_parts("base64", data) == left


@given(st.binary(max_size=200))
def test_parts_are_removed_from_any_bytes(data: bytes) -> None:
    for name in _waste.PART_RULES:
        assert len(_waste.remove_parts(name, data)) <= len(data)
    lines = _waste.remove_parts("indentation", data).split(b"\n")
    assert lines == [line.lstrip(b" \t") for line in data.split(b"\n")]


def test_a_missing_folder_and_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="there is no such folder"):
        explain.folder(TOK, tmp_path / "none")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(CorpusError, match="is not a folder"):
        explain.folder(TOK, tmp_path / "file")
    (tmp_path / "file").unlink()
    empty = explain.folder(TOK, tmp_path)
    assert (empty.files, empty.tokens, empty.saved, empty.wastes) == ((), 0, 0, ())
    check_shown(empty)
    assert "no text file was found" in str(empty)


def test_empty_one_byte_and_invalid_files_are_counted() -> None:
    found = explain.folder(
        TOK, {"empty": b"", "empty too": b"", "one": b"\n", "bad": b"\xff\xfe\xc3", "lone": "\ud800"}
    )
    assert {file.path: (file.bytes, file.tokens) for file in found.files} == {
        "bad": (3, TOK.count(b"\xff\xfe\xc3")),
        "empty": (0, 0),
        "empty too": (0, 0),
        "lone": (3, TOK.count("\ud800")),
        "one": (1, 1),
    }
    assert found.left_out == {}  # an empty file is no copy
    check_shown(found)


@needs("links")
def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "link").symlink_to(tmp_path / "a.txt")
    found = explain.folder(TOK, tmp_path)
    assert [file.path for file in found.files] == ["a.txt"]
    assert [*found.skipped] == [("link", "link"), ("loop", "link")]


@needs("permissions")
def test_files_that_cannot_be_read_are_listed(tmp_path: Path) -> None:
    for name in ("a.txt", "folder/b.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"low")
    for name in ("a.txt", "folder"):
        (tmp_path / name).chmod(0)
    try:
        assert [*explain.folder(TOK, tmp_path).skipped] == [
            ("a.txt", "cannot be read: Permission denied"),
            ("folder/", "cannot be read: Permission denied"),
        ]
    finally:
        (tmp_path / "folder").chmod(0o700)


def test_an_error_of_one_file_does_not_end_the_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> os.stat_result:
        raise OSError(5, "Input/output error", str(path))

    (tmp_path / "a.txt").write_bytes(b"low")
    monkeypatch.setattr(Path, "lstat", refused)
    assert [*explain.folder(TOK, tmp_path).skipped] == [("a.txt", "cannot be read: Input/output error")]


def test_a_file_that_is_too_large_is_counted_and_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"the low lower lowest\n" * 1000
    (tmp_path / "large.txt").write_bytes(data)
    whole = explain.folder(TOK, tmp_path)
    monkeypatch.setattr(_folder_files, "HELD", 1000)
    monkeypatch.setattr(_folder, "AT_ONCE", 3000)
    [file] = explain.folder(TOK, tmp_path).files
    assert (file.tokens, file.bytes) == (whole.tokens, len(data)) and (file.parts, file.digest) == ({}, "")


def test_a_file_that_the_tokenizer_refuses_is_listed() -> None:
    words = trained(["low lower"], vocab_size=20, kind="words")
    found = explain.folder(words, {"a.txt": "low", "b.txt": "unheard", "c.txt": "low"})
    assert [file.path for file in found.files] == ["a.txt", "c.txt"]
    assert found.skipped == (explain.SkippedFile("b.txt", "cannot be encoded"),)
    special = trained(["low"], pattern="o200k", merges=2, special_tokens=["<|end|>"])
    raised = explain.folder(special, {"a": "low", "b": "<|end|>"}, special="raise")
    assert [file.path for file in raised.files] == ["a"] and raised.skipped == (("b", "cannot be encoded"),)


@needs("any names")
def test_a_name_that_is_not_unicode_is_escaped(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\x1b.txt")).write_bytes(b"low")
    found = explain.folder(TOK, tmp_path)
    assert [file.path for file in found.files] == ["\\xff\x1b.txt"]
    check_shown(found)


def test_a_map_is_shown_in_every_medium(tmp_path: Path) -> None:
    files = {f"{letter}/{number}.py": "    low\n" * number for letter in "abc" for number in range(1, 60)}
    found = explain.folder(TOK, files | {"a/<b>&.txt": PICTURE})
    check_shown(found)
    page = found.to_html()
    check_page(page)
    assert page.count('class="folder"') == 3 and "&lt;b&gt;&amp;.txt" in page
    assert "low" not in json.dumps(found.to_dict()["wastes"])
    assert str(found).splitlines()[2] == "Tokens of each folder"


@given(st.lists(st.floats(0.001, 1e6), max_size=30), st.floats(0.2, 5))
def test_areas_have_their_sizes_and_fill_the_room(sizes: list[float], shape: float) -> None:
    sizes.sort(reverse=True)
    found = squarify(sizes, (0, 0, 100, 50), shape)
    for size, (x, y, wide, high) in zip(sizes, found, strict=True):
        assert wide * high == pytest.approx(5000 * size / sum(sizes), rel=1e-6)
        assert x >= 0 and y >= 0 and x + wide <= 100.001 and y + high <= 50.001
    for at, (x, y, wide, high) in enumerate(found):
        for left, top, across, down in found[:at]:
            overlap = min(x + wide, left + across) - max(x, left), min(y + high, top + down) - max(y, top)
            assert min(overlap) <= 0.001


def test_small_areas_are_drawn_as_one() -> None:
    root = _render.Area("", 10, "", "", below=[_render.Area(str(size), size, "", "") for size in (4, 3, 2, 1)])
    drawn = [(each.area.name, each.area.size) for each in _render.place_areas(root, shape=1, most=3)]
    assert drawn == [("4", 4), ("3", 3), ("2 more", 3)]


def test_the_command_prints_what_the_function_returns(tmp_path: Path) -> None:
    repository(tmp_path)
    saved = tmp_path / "tok.toksmith"
    TOK.save(saved)
    folder = tmp_path / "src"
    found = _render.with_tokenizer_name(explain.folder(TOK, folder), str(saved))
    assert run("explain", "folder", folder, "-t", saved).stdout.rstrip() == str(found)
    assert json.loads(run("explain", "folder", folder, "-t", saved, "--json").stdout) == found.to_dict()
    everything = json.loads(run("explain", "folder", folder, "-t", saved, "--json", "--all").stdout)
    assert len(everything["files"]) == len(found.files) + 2
    page = tmp_path / "map.html"
    assert run("explain", "folder", folder, "-t", saved, "--html", page).stdout.strip() == str(page)
    check_page(page.read_text(encoding="utf-8"))
    refused = run("explain", "folder", tmp_path / "none", "-t", saved)
    assert refused.exit_code == 1 and "there is no such folder" in refused.output
