"""A value passed as a corpus by mistake is refused, and the message names the call that was probably meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from systems import needs

import toksmith
from toksmith.errors import CorpusError, InvalidOption

NAMES = ["corpus_final_v2.txt", "data/*.txt", "a\\b", "x.jsonl.gz", "Table.PARQUET", "/", "no/such", "*.md"]
TEXTS = ["low", "a b/c", "see corpus.txt", "a/b\n", " x.txt", "txt", "x.text", "x" * 300 + ".txt", "a\0/b", "…"]
CALLS = [
    lambda corpus: toksmith.train(corpus, 300, progress=False),
    lambda corpus: toksmith.corpus.count(corpus, progress=False),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("call", CALLS)
def test_a_text_that_looks_like_a_name_is_refused(name: str, call: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        call(name)
    assert caught.value.argument == "corpus"
    for meant in (f"pathlib.Path({name!r})", f"toksmith.files({name!r})", f"[{name!r}]"):
        assert meant in str(caught.value)


@pytest.mark.parametrize("text", TEXTS)
def test_other_texts_are_texts(text: str) -> None:
    assert toksmith.corpus.count(text, progress=False).bytes == len(text.encode())


@pytest.mark.parametrize("name", NAMES)
def test_the_call_that_the_error_names_takes_the_text(name: str) -> None:
    assert toksmith.corpus.count([name], progress=False).bytes == len(name.encode())


def test_a_file_that_exists_is_refused_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my notes").write_text("low lower", encoding="utf-8")
    with pytest.raises(InvalidOption, match="my notes"):
        toksmith.train("my notes", 300, progress=False)


class Frame:
    """An iterable of the names of its columns, as data frames are."""

    columns = ("text",)

    def __iter__(self) -> Any:
        return iter(self.columns)


@pytest.mark.parametrize("corpus", [{"text": "low"}, Frame()])
@pytest.mark.parametrize("call", CALLS)
def test_mappings_and_frames_are_refused(corpus: Any, call: Any) -> None:
    with pytest.raises(TypeError, match=rf"corpus: .*not {type(corpus).__name__}; pass "):
        call(corpus)


def test_handlers_of_exceptions_do_not_catch_an_interruption() -> None:
    assert not issubclass(toksmith.errors.TrainingInterrupted, Exception)
    assert toksmith.errors.TrainingInterrupted.__mro__[1] is KeyboardInterrupt


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_file_of_utf_16_is_named(encoding: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("\ufefflow lower".encode(encoding))
    toksmith.train(path, 260)
    assert f"iconv -f UTF-16 -t UTF-8 {path}" in caplog.text
    caplog.clear()
    path.write_bytes(b"\xef\xbb\xbflow lower")
    toksmith.train(path, 260)
    assert not caplog.text


@needs("posix")
def test_a_file_with_the_name_of_a_glob_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a[1].txt", "a1.txt", "b*.txt", "b2.txt"):
        Path(name).write_bytes(name.encode())
    Path("in/deep").mkdir(parents=True)
    Path("in/deep/r.jsonl").write_bytes(b'{"text": "row"}\n')
    for glob, texts in {
        "a[1].txt": [b"a[1].txt"],
        "a[0-9].txt": [b"a1.txt"],
        "b*.txt": [b"b*.txt"],
        "b?.txt": [b"b*.txt", b"b2.txt"],
        "in/**/*.jsonl": ["row"],
    }.items():
        assert [*toksmith.files(glob).documents()] == texts, glob
    with pytest.raises(CorpusError, match=r"^none/\*\.txt: no file matches this glob"):
        next(toksmith.files("none/*.txt").documents())
