"""convert: the written files, the proof, and the report where ids differ."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import toksmith
from toksmith import Tokenizer, _cli, _formats
from toksmith._formats import peers
from toksmith._sources import convert
from toksmith.errors import CannotRepresent


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    text = "low lower lowest slow slower, it's 12 lows"
    return toksmith.train(text, merges=8, pattern="cl100k_minbpe", special_tokens=["<|end|>", "<|pad|>"])


def test_a_conversion_is_proved_on_hard_texts(tok: Tokenizer, tmp_path: Path) -> None:
    pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0")
    report = toksmith.convert(tok, tmp_path / "a.tiktoken")
    assert report.equal and report.difference is None and report.documents == len(convert.SAMPLE)
    assert (report.from_format, report.to_format, report.lost) == (None, "tiktoken", ())
    assert report.peer.library == "tiktoken 0.14.0" and report.peer.documents == report.documents
    assert "30 documents, all ids equal\ntiktoken 0.14.0: 30 documents, all ids equal" in str(report)
    assert json.loads(report.to_json())["equal"] is True


def test_files_are_converted_between_formats(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "a.toksmith")
    texts: list[str | bytes] = ["low", b"\xff slow"]
    report = toksmith.convert(
        tmp_path / "a.toksmith", tmp_path / "b", to_format="gpt2", verify=texts, allow_loss=["splitters"]
    )
    assert report.equal and report.documents == 2 and report.from_format == "native"
    assert toksmith.load(tmp_path / "b") == tok
    again = toksmith.convert(tmp_path / "b", tmp_path / "c.toksmith")
    assert again.from_format == "gpt2" and "native" in str(again.peer.problem)
    assert toksmith.load(tmp_path / "c.toksmith") == tok


def test_lossy_features_are_named_and_need_allow_loss(tok: Tokenizer, tmp_path: Path) -> None:
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
    broken = toksmith.types.Format(
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


LIBRARY = """
class Panic(BaseException):
    pass

class Encoding:
    def __init__(self, **given):
        if {raises!r} == "at once":
            raise Panic("at the start")
    def encode_ordinary(self, text):
        if {raises!r} == "later":
            raise Panic("at a text")
        if {raises!r} == "ends":
            import os
            print("about to end")
            os._exit(7)
        return [0]
"""


def library(folder: Path, raises: str) -> None:
    """A package that claims to be tiktoken and comes before the real one."""
    (folder / "tiktoken").mkdir(exist_ok=True)
    (folder / "tiktoken" / "__init__.py").write_text(LIBRARY.format(raises=raises), encoding="utf-8")
    (folder / "tiktoken" / "load.py").write_text("def load_tiktoken_bpe(path):\n    return {}\n", encoding="utf-8")
    (folder / "tiktoken-0.0.dist-info").mkdir(exist_ok=True)
    (folder / "tiktoken-0.0.dist-info" / "METADATA").write_text("Name: tiktoken\nVersion: 0.0\n", encoding="utf-8")


@pytest.mark.parametrize(
    "raises, said",
    [
        ("at once", "it raised Panic: at the start"),
        ("later", "it raised Panic: at a text"),
        ("ends", "its process ended with the code 7: about to end"),
    ],
)
def test_a_library_that_fails_is_reported(
    raises: str, said: str, tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library(tmp_path, raises)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report = toksmith.convert(tok, tmp_path / "a.tiktoken")
    assert report.equal and report.peer.problem == said and report.peer.documents == 0


def test_a_library_that_is_missing_or_differs_is_reported(
    tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library(tmp_path, "nothing")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report = toksmith.convert(tok, tmp_path / "a.tiktoken")
    assert not report.equal and report.difference is None and report.peer.library == "tiktoken 0.0"
    assert f"tiktoken 0.0 differs ({report.peer.differing} of 30 documents): document 0" in str(report)
    monkeypatch.setattr(peers, "PEERS", {"tiktoken": peers.Peer("none", "no_such_module_at_all", "tiktoken")})
    assert toksmith.convert(tok, tmp_path / "a.tiktoken").peer.problem == "none is not installed"


# Modules that take the place of tiktoken: under its name, as a part of it, and through a module that loads late.
IMPOSTORS = {
    "the module": "import sys, toksmith.compat.tiktoken as own\nsys.modules['tiktoken'] = own\n",
    "a part": "from toksmith.compat.tiktoken import Encoding\n",
    "late": "def __getattr__(name):\n    import toksmith.compat.tiktoken as own\n    return getattr(own, name)\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("way", IMPOSTORS)
def test_a_peer_that_is_toksmith_itself_is_refused(
    way: str, tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if tiktoken were toksmith's drop-in, a proof would compare toksmith with itself."""
    library(tmp_path, "nothing")
    (tmp_path / "tiktoken" / "__init__.py").write_text(IMPOSTORS[way], encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report = toksmith.convert(tok, tmp_path / "a.tiktoken")
    assert report.peer.library is None and report.peer.documents == 0
    assert "is a module of toksmith here" in str(report.peer), str(report.peer)


def test_the_imports_of_this_process_do_not_reach_a_peer(
    tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that takes tiktoken's name in this process is not the peer, which runs in its own."""
    pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0")
    import toksmith.compat.tiktoken as own

    monkeypatch.setitem(sys.modules, "tiktoken", own)
    report = toksmith.convert(tok, tmp_path / "a.tiktoken")
    assert report.equal and report.peer.library == "tiktoken 0.14.0" and report.peer.documents == report.documents


def test_a_peer_gets_only_what_its_users_have(tmp_path: Path) -> None:
    """HF's reader of the two files splits as GPT-2 does; that a pattern was lost shows, if it was allowed."""
    pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
    tok = toksmith.train("a;\nb;\nc;\n it's IT'S", merges=3, pattern="cl100k")
    with pytest.raises(CannotRepresent, match="GPT-2's pattern") as caught:
        toksmith.convert(tok, tmp_path / "b", to_format="gpt2")
    assert caught.value.field == "splitters"
    texts = ["a;\nb", "plain"]
    report = toksmith.convert(tok, tmp_path / "b", to_format="gpt2", allow_loss="splitters", verify=texts)
    assert report.lost == ("splitters",) and "split with GPT-2's pattern" in report.reasons[0]
    assert report.difference is None and report.peer.difference is not None and not report.equal
    assert (report.peer.differing, report.peer.documents) == (1, 2)
    assert "tokenizers 0.23.3 differs (1 of 2 documents): document 0" in str(report)
    gpt2 = toksmith.train("a;\nb;\nc;\n it's IT'S", merges=3, pattern="gpt2")
    again = toksmith.convert(gpt2, tmp_path / "c", to_format="gpt2")
    assert again.equal and again.peer.documents == again.documents


# minbpe's `load` reads the pattern of the file, but keeps the pattern of the constructor.
MINBPE = r'''
import regex

class BasicTokenizer:
    def load(self, path):
        lines = open(path, encoding="utf-8").read().splitlines()
        self.pattern = lines[1].strip()
        pairs = [tuple(map(int, line.split())) for line in lines[3 + int(lines[2]):]]
        self.merges = {pair: id for id, pair in enumerate(pairs, 256)}

    def encode(self, text):
        ids = list(text.encode())
        while len(ids) > 1:
            pair = min(zip(ids, ids[1:]), key=lambda pair: self.merges.get(pair, float("inf")))
            if pair not in self.merges:
                break
            at, new = 0, []
            while at < len(ids):
                both = tuple(ids[at:at + 2]) == pair
                new.append(self.merges[pair] if both else ids[at])
                at += 2 if both else 1
            ids = new
        return ids

class RegexTokenizer(BasicTokenizer):
    def __init__(self, pattern=None):
        gpt4 = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"""
        self.compiled_pattern = regex.compile(gpt4 if pattern is None else pattern)

    def encode_ordinary(self, text):
        return [id for piece in regex.findall(self.compiled_pattern, text) for id in self.encode(piece)]
'''


def test_the_report_shows_that_minbpe_keeps_its_own_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "minbpe.py").write_text(MINBPE, encoding="utf-8")
    (tmp_path / "minbpe-1.0.dist-info").mkdir()
    (tmp_path / "minbpe-1.0.dist-info" / "METADATA").write_text("Name: minbpe\nVersion: 1.0\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    text = "12345 12345 lower lower"
    for pattern, differs in ((None, False), ("cl100k_minbpe", False), ("gpt2", True)):
        tok = toksmith.train(text, merges=12, pattern=pattern)
        target = tmp_path / "a.model"
        report = toksmith.convert(tok, target, to_format="minbpe", verify=[text, "low 1234567 '"])
        assert report.difference is None and report.peer.library == "minbpe 1.0"
        assert report.equal is not differs and (report.peer.difference is not None) is differs


def test_tiktoken_does_not_hold_several_split_steps(tmp_path: Path) -> None:
    tok = toksmith.train("low lower 1234", merges=3, pattern=["[0-9]", "gpt2"])
    with pytest.raises(CannotRepresent, match=r"splits in 2 steps.*save a tokenizer\.json") as caught:
        toksmith.convert(tok, tmp_path / "a.tiktoken")
    assert caught.value.field == "splitters" and not [*tmp_path.iterdir()]
    report = toksmith.convert(tok, tmp_path / "a.tiktoken", allow_loss=["splitters"])
    assert report.difference is None and report.peer.problem == "tiktoken supports only one regex"


def test_every_peer_belongs_to_a_format() -> None:
    assert peers.PEERS.keys() <= toksmith.formats().keys()


def test_the_command_converts_and_reports(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "a.toksmith")
    (tmp_path / "text.txt").write_text("lows lower", encoding="utf-8")

    def run(*arguments: object) -> Any:
        return CliRunner().invoke(_cli.app, ["convert", *map(str, arguments)], prog_name="toksmith")

    done = run(tmp_path / "a.toksmith", tmp_path / "b.tiktoken", "--verify", tmp_path / "text.txt")
    assert done.exit_code == 0 and "1 document, all ids equal" in done.stdout
    to = (tmp_path / "b.tiktoken", tmp_path / "c", "--to", "gpt2")
    done = run(*to, "--pattern", "cl100k_minbpe")
    assert done.exit_code == 1 and "--allow-loss" in done.stderr and "splitters" in done.stderr
    done = run(*to, "--pattern", "cl100k_minbpe", "--allow-loss", "splitters", "--json")
    assert done.exit_code in (0, 3) and json.loads(done.stdout)["to_format"] == "gpt2"
    done = run(tmp_path / "b.tiktoken", tmp_path / "c", "--to", "gpt2")
    assert done.exit_code == 2 and "--pattern is missing" in done.stderr
