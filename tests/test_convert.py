"""convert: what is written, the proof, and what is said where ids differ."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import toksmith
from toksmith import CannotRepresent, Tokenizer, _cli, _convert, _formats
from toksmith._formats import _peers


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    text = "low lower lowest slow slower, it's 12 lows"
    return toksmith.train(text, merges=8, pattern="cl100k_minbpe", special_tokens=["<|end|>", "<|pad|>"])


def test_a_conversion_is_proved_on_hard_texts(tok: Tokenizer, tmp_path: Path) -> None:
    pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0")
    report = toksmith.convert(tok, tmp_path / "a.tiktoken")
    assert report.equal and report.difference is None and report.documents == len(_convert.SAMPLE)
    assert (report.from_format, report.to_format, report.lost) == (None, "tiktoken", ())
    assert report.peer.library == "tiktoken 0.14.0" and report.peer.documents == report.documents
    assert "30 documents, all ids equal\ntiktoken 0.14.0: 30 documents, all ids equal" in str(report)
    assert json.loads(report.to_json())["equal"] is True


def test_files_are_converted(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "a.toksmith")
    report = toksmith.convert(tmp_path / "a.toksmith", tmp_path / "b", to_format="gpt2", verify=["low", b"\xff slow"])
    assert report.equal and report.documents == 2 and report.from_format == "native"
    assert toksmith.load(tmp_path / "b") == tok
    again = toksmith.convert(tmp_path / "b", tmp_path / "c.toksmith")
    assert again.from_format == "gpt2" and "native" in str(again.peer.problem)
    assert toksmith.load(tmp_path / "c.toksmith") == tok


def test_lossy_features_are_named_and_need_leave(tok: Tokenizer, tmp_path: Path) -> None:
    import dataclasses

    model = dataclasses.replace(tok.model, metadata={"by": "me"})
    with pytest.raises(CannotRepresent) as caught:
        toksmith.convert(Tokenizer(model), tmp_path / "a.tiktoken")
    assert caught.value.field == "metadata" and not list(tmp_path.iterdir())
    report = toksmith.convert(Tokenizer(model), tmp_path / "a.tiktoken", allow_loss=["metadata", "decoders"])
    assert report.lost == ("metadata",) and report.equal
    assert "left out: metadata" in str(report)


def test_a_difference_is_shown_with_both_segmentations(
    tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A format that lost the last merge in silence would be found out."""
    row = _formats.FORMATS["tiktoken"]
    data = row.save(tok.model)
    assert isinstance(data, bytes)
    cut = data.splitlines(keepends=True)[-1]
    broken = toksmith.Format(
        row.name, row.suffixes, row.sniff, row.load, lambda *a, **k: data[: -len(cut)], row.doc, row.arguments
    )
    monkeypatch.setattr(_formats, "FORMATS", {**_formats.FORMATS, "tiktoken": broken})
    last = tok.token_bytes(263).decode()
    report = toksmith.convert(tok, tmp_path / "a.tiktoken", verify=["low", last])
    assert not report.equal and report.difference is not None
    assert report.difference.document == 1
    assert [b"".join(t for _, t in row) for row in (report.difference.expected, report.difference.found)] == [
        last.encode()
    ] * 2
    assert report.difference.expected != report.difference.found
    assert "document 1, id" in str(report) and "became" in str(report)
    assert json.loads(report.to_json())["difference"]["document"] == 1
    assert report.peer.difference is not None and not report.peer.problem


def test_a_library_that_fails_or_is_missing_is_told(
    tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Panic(BaseException):
        pass

    def fail(*_: Any) -> Any:
        raise Panic("of its own")

    rows = {"tiktoken": _peers.Peer("pytest", "pytest", fail)}
    monkeypatch.setattr(_peers, "PEERS", rows)
    report = toksmith.convert(tok, tmp_path / "a.tiktoken")
    assert report.equal and report.peer.problem == "it raised Panic: of its own"
    rows["tiktoken"] = _peers.Peer("none", "no_such_module_at_all", fail)
    assert toksmith.convert(tok, tmp_path / "a.tiktoken").peer.problem == "none is not installed"
    rows["tiktoken"] = _peers.Peer("pytest", "pytest", lambda *_: fail)
    assert "Panic" in str(toksmith.convert(tok, tmp_path / "a.tiktoken").peer)
    rows["tiktoken"] = _peers.Peer("pytest", "pytest", lambda *_: lambda text: [0])
    report = toksmith.convert(tok, tmp_path / "a.tiktoken")
    assert not report.equal and report.difference is None and "differs" in str(report.peer)


def test_every_peer_is_of_a_format() -> None:
    assert _peers.PEERS.keys() <= toksmith.formats().keys()


def test_the_command(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "a.toksmith")
    (tmp_path / "text.txt").write_text("lows lower", encoding="utf-8")

    def run(*arguments: object) -> Any:
        return CliRunner().invoke(_cli.app, ["convert", *map(str, arguments)], prog_name="toksmith")

    done = run(tmp_path / "a.toksmith", tmp_path / "b.tiktoken", "--verify", tmp_path / "text.txt")
    assert done.exit_code == 0 and "1 document, all ids equal" in done.stdout
    done = run(tmp_path / "b.tiktoken", tmp_path / "c", "--to", "gpt2", "--pattern", "cl100k_minbpe", "--json")
    assert done.exit_code == 0 and json.loads(done.stdout)["to_format"] == "gpt2"
    done = run(tmp_path / "b.tiktoken", tmp_path / "c", "--to", "gpt2")
    assert done.exit_code == 2 and "--pattern is missing" in done.stderr
