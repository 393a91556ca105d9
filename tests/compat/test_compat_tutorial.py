"""The tutorials' interface: rewritten cells of their notebooks, with both imports: toksmith's, and plain Python."""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from systems import require
from test_tutorials import HELLO_IDS, HINDI, KNIGHT, KNIGHT_IDS, KNIGHT_MERGES, MERGES, PARAGRAPH

import toksmith
from toksmith.compat import tutorial

Pair = tuple[int, int]


def counted(ids: Sequence[int], counts: dict[Pair, int] | None = None) -> dict[Pair, int]:
    """The tutorials' `get_stats`, with its default argument corrected."""
    counts = {} if counts is None else counts
    for pair in pairwise(ids):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def replaced(ids: Sequence[int], pair: Pair, idx: int) -> list[int]:
    """The tutorials' `merge`."""
    new, at = [], 0
    while at < len(ids):
        if at + 1 < len(ids) and (ids[at], ids[at + 1]) == pair:
            new.append(idx)
            at += 2
        else:
            new.append(ids[at])
            at += 1
    return new


class PlainTokenizer:
    """The notebooks' class: the loop of the tutorials."""

    def __init__(self, unit: str = "byte") -> None:
        self.unit = unit
        self.merges: dict[Pair, int] = {}

    @property
    def first(self) -> int:
        return 256 if self.unit == "byte" else 128

    def base(self, text: str) -> list[int]:
        return [*text.encode()] if self.unit == "byte" else [ord(char) for char in text]

    def train(
        self, text: str, vocab_size: int | None = None, verbose: bool = False, *, num_merges: int | None = None
    ) -> "PlainTokenizer":
        ids, self.merges = self.base(text), {}
        wanted = vocab_size - self.first if vocab_size is not None else num_merges
        while wanted is None or len(self.merges) < wanted:
            counts = counted(ids)
            if not counts or (wanted is None and max(counts.values()) == 1):
                break
            pair = max(counts, key=lambda each: counts[each])
            self.merges[pair] = self.first + len(self.merges)
            ids = replaced(ids, pair, self.merges[pair])
        return self

    @property
    def vocab(self) -> dict[int, bytes]:
        vocab = {id: bytes([id]) for id in range(self.first)}
        for (left, right), id in self.merges.items():
            vocab[id] = vocab[left] + vocab[right]
        return vocab

    @property
    def vocab_size(self) -> int:
        return self.first + len(self.merges)

    def encode(self, text: str) -> list[int]:
        ids = self.base(text)
        while len(ids) > 1:
            pair = min(counted(ids), key=lambda each: self.merges.get(each, float("inf")))
            if pair not in self.merges:
                break
            ids = replaced(ids, pair, self.merges[pair])
        return ids

    def decode(self, ids: Sequence[int], errors: str = "replace") -> str:
        vocab = self.vocab
        return b"".join(vocab[id] for id in ids).decode(errors=errors)

    def save(self, path: str) -> None:
        Path(path).write_text(json.dumps({id: pair for pair, id in self.merges.items()}), encoding="utf-8")

    @classmethod
    def from_pretrained(cls, path: str) -> "PlainTokenizer":
        merges = json.loads(Path(path).read_text(encoding="utf-8"))
        tok = cls("byte" if min(map(int, merges), default=256) == 256 else "char")
        tok.merges = {(left, right): int(id) for id, (left, right) in merges.items()}
        return tok


PLAIN = {"Tokenizer": PlainTokenizer, "get_stats": counted, "merge": replaced}
OURS = {name: getattr(tutorial, name) for name in PLAIN}


def run(cells: Sequence[str], names: dict[str, Any]) -> dict[str, Any]:
    """Run the cells of a notebook from top to bottom."""
    shared = {**names}
    for number, cell in enumerate(cells):
        exec(compile(cell, f"cell {number}", "exec"), shared)
    return {name: value for name, value in shared.items() if not name.startswith("_") and name not in names}


SMALL = [
    f"text = {PARAGRAPH!r}\nids = list(text.encode('utf-8'))\nlength = len(text), len(ids)",
    "stats = get_stats(ids)\ntop = max(stats, key=stats.get)\ntop_count = stats[top]\ndistinct = len(stats)",
    "once = merge(ids, top, 256)\nafter = len(once)",
    "small = merge([5, 6, 6, 7, 9, 1], (6, 7), 99), merge([1, 2, 1, 2, 3, 1, 2], (1, 2), 11)",
    "tok = Tokenizer()\n_ = tok.train(text, vocab_size=276)\nmerges = list(tok.merges.items())",
    "encoded = tok.encode(text)\nratio = round(len(ids) / len(encoded), 2)\nback = tok.decode(encoded)",
    "hello = tok.encode('hello world!')\nvocab = tok.vocab\nsize = tok.vocab_size",
    "tok.save('merge_dict_paragraph.json')\nagain = Tokenizer.from_pretrained('merge_dict_paragraph.json')",
    "same = again.encode('hello world!') == hello, again.merges == tok.merges\none_byte = again.decode([128])",
    "until = Tokenizer().train(text)\nleft = len(until.encode(text)), len(until.merges)",
    "wiki = Tokenizer().train('aaabdaaabac', num_merges=3)\nxdxac = wiki.encode('aaabdaaabac')",
    "wiki = Tokenizer()\nwiki.train('aaabdaaabac', 256 + 3)\nwalked = wiki.encode('aaabdaaabac') == xdxac, wiki.decode(xdxac)",
    "del tok, again, until, wiki",
]
FILM = [
    f"merges = {{128 + place: pair for place, pair in enumerate({KNIGHT_MERGES!r})}}",
    "import json\nwith open('merge_dict_film.json', 'w') as file:\n    json.dump(merges, file)\ndel json, file",
    f"film = Tokenizer.from_pretrained('merge_dict_film.json')\nids = film.encode({KNIGHT!r})\nback = film.decode(ids)",
    f"tok = Tokenizer('char').train({KNIGHT!r}, vocab_size=128 + 7)\nlearnt = tok.merges\ndel tok, film",
]


@pytest.mark.parametrize("cells", [SMALL, FILM], ids=["paragraph", "film"])
def test_the_cells_give_the_same_under_both_imports(
    cells: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ours = run(cells, OURS)
    assert ours == run(cells, PLAIN)
    if cells is FILM:
        assert len(ours["ids"]) == 74 and ours["ids"][:24] == KNIGHT_IDS and ours["back"] == KNIGHT
        return
    assert (ours["length"], ours["distinct"], ours["top"], ours["top_count"]) == ((248, 250), 151, (105, 110), 6)
    assert (ours["after"], ours["small"]) == (244, ([5, 6, 99, 9, 1], [11, 11, 3, 11]))
    assert [pair for pair, _ in ours["merges"]] == MERGES and [id for _, id in ours["merges"]] == [*range(256, 276)]
    assert (len(ours["encoded"]), ours["ratio"], ours["back"]) == (186, 1.34, PARAGRAPH)
    assert (ours["hello"], ours["size"], ours["same"]) == (HELLO_IDS, 276, (True, True))
    assert ours["walked"] == (True, "aaabdaaabac")
    assert (ours["left"], ours["xdxac"]) == ((150, 38), [258, 100, 258, 97, 99])


ARTICLE = [
    "with open('taylorswift.txt', encoding='utf-8') as file:\n    text = file.read()\nids = list(text.encode('utf-8'))",
    "stats = get_stats(ids)\nranked = sorted(((count, pair) for pair, count in stats.items()), reverse=True)[:3]",
    "tok = Tokenizer().train(text, vocab_size=1000)\nencoded = tok.encode(text)",
    "tok.save('merge_dict_taylor_swift.json')\nloaded = Tokenizer.from_pretrained('merge_dict_taylor_swift.json')",
    f"greeting = 'Hi there, how are you? {HINDI}'\ngreeted = loaded.encode(greeting)\nback = loaded.decode(greeted)",
]


def test_the_notebook_gives_its_figures_on_the_article(
    corpora_dir: Path, vocab_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (corpora_dir / "taylorswift.txt").is_file():
        pytest.skip(f"lacks taylorswift.txt in {corpora_dir}")
    require("links")
    monkeypatch.chdir(tmp_path)
    Path("taylorswift.txt").symlink_to(corpora_dir / "taylorswift.txt")
    found = run(ARTICLE, OURS)
    assert found["ranked"] == [(2981, (101, 32)), (2961, (44, 32)), (2633, (32, 50))]
    assert (len(found["encoded"]), len(found["greeted"]), found["back"]) == (58_300, 61, found["greeting"])
    merges = vocab_dir / "seed_taylorswift_merges_1000.json"
    if merges.is_file():
        saved = json.loads(Path("merge_dict_taylor_swift.json").read_text(encoding="utf-8"))
        assert [*saved.values()] == json.loads(merges.read_text(encoding="utf-8"))
        assert [*map(int, saved)] == [*range(256, 1000)]


def test_from_pretrained_fills_the_instance_that_it_is_called_on(tmp_path: Path) -> None:
    path = tmp_path / "merge_dict_any_name.json"
    tutorial.Tokenizer("char").train("low lower", num_merges=2).save(path)
    assert json.loads(path.read_text(encoding="utf-8")) == {"128": [108, 111], "129": [128, 119]}
    tok = tutorial.Tokenizer()
    assert tok.from_pretrained(path) is tok
    assert (tok.unit, tok.merge_dict, len(tok), tok.stopped_because) == (
        "char",
        {128: [108, 111], 129: [128, 119]},
        130,
        None,
    )
    assert tutorial.Tokenizer.from_pretrained(path) is not tok
    assert "chars, 130 tokens" in repr(tok)


def test_training_saves_the_file_that_its_third_argument_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tok = tutorial.Tokenizer().train(PARAGRAPH, 276, "merge_dict_paragraph")
    saved = json.loads(Path("merge_dict_paragraph.json").read_text(encoding="utf-8"))
    assert saved == {str(id): pair for id, pair in tok.merge_dict.items()}
    for name in ("merge_dict_paragraph", "merge_dict_paragraph.json"):
        assert tutorial.Tokenizer.from_pretrained(name).merges == tok.merges
    assert tok.merge_dict[256].copy() == [105, 110]
    assert not capsys.readouterr().out
    tutorial.Tokenizer().train("low lower", 257, True)
    assert capsys.readouterr().out.startswith("merge 1: ")
    tutorial.Tokenizer().train("a" * 64, num_merges=5, verbose=True)
    assert f"▏{'a' * 16}▏  7 times" in capsys.readouterr().out, "a blank is between a long token and its count"


def test_training_gives_its_reason_to_stop_and_prints_its_log(capsys: pytest.CaptureFixture[str]) -> None:
    tok = tutorial.Tokenizer().train(PARAGRAPH, 276, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20 and "(105, 110) → 256" in lines[0] and lines[0].endswith("6 times, 244 ids left")
    assert tok.stopped_because == "it reached merges=20"
    assert tutorial.Tokenizer().train("abcd").merges == {}


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: tutorial.Tokenizer("word"), toksmith.errors.InvalidOption),  # type: ignore[arg-type]
        (lambda: tutorial.Tokenizer().train("low", 100), toksmith.errors.InvalidOption),
        (lambda: tutorial.Tokenizer().train("low", num_merges=-1), toksmith.errors.InvalidOption),
        (lambda: tutorial.Tokenizer().train("low", 300, num_merges=3), toksmith.errors.InvalidOption),
        (lambda: tutorial.Tokenizer().train(""), toksmith.errors.CorpusError),
        (lambda: tutorial.Tokenizer("char").train("é"), toksmith.errors.CorpusError),
        (lambda: tutorial.Tokenizer("char").encode("é"), toksmith.errors.NotInVocabulary),
        (lambda: tutorial.Tokenizer().decode([256]), toksmith.errors.UnknownId),
        (lambda: tutorial.Tokenizer.from_pretrained("merge_dict_missing.json"), toksmith.errors.FormatError),
    ],
)
def test_mistakes_are_refused(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
