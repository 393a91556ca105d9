"""Sizes of a vocabulary: a rewound training equals a training of the smaller size, and the command compares sizes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hard_texts import small_texts
from hypothesis import given
from hypothesis import strategies as st

import toksmith
from toksmith import _cli, reference
from toksmith.errors import CorpusError, InvalidOption

SEEN = Path(reference.__file__).read_text(encoding="utf-8")
UNSEEN = Path(_cli.__file__).read_text(encoding="utf-8")
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"pattern": None, "ties": "first_seen"},
    {"special_tokens": ["<|end|>", "<|pad|>"], "max_token_bytes": 4},
    {"pattern": ["[a-z]+", "[aeiou]"], "min_count": 2},
)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(_cli.app, [str(argument) for argument in arguments], prog_name="toksmith")


def bytes_of(tok: toksmith.Tokenizer, path: Path) -> bytes:
    tok.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("options", OPTIONS, ids=["default", "unsplit", "special", "two patterns"])
def test_a_rewound_training_equals_the_smaller_size(options: dict[str, Any], tmp_path: Path) -> None:
    tok = toksmith.train(SEEN, 900, **options)
    least = len(tok) - len(tok.model.merges)
    for size in (least, least + 1, 500, len(tok) - 1, len(tok)):
        direct, rewound = toksmith.train(SEEN, size, **options), toksmith.rewind(tok, size)
        assert rewound == direct
        assert bytes_of(rewound, tmp_path / "a.toksmith") == bytes_of(direct, tmp_path / "b.toksmith")
        assert rewound.encode(UNSEEN) == direct.encode(UNSEEN)


@given(text=small_texts(), unit=st.sampled_from(["byte", "char"]), data=st.data())
def test_drawn_trainings_are_rewound(text: str, unit: Any, data: st.DataObject) -> None:
    text = f"x{text}" if unit == "byte" else f"x{text}".encode("ascii", "ignore").decode()
    options: dict[str, Any] = {"unit": unit, "alphabet": "ascii" if unit == "char" else None, "pattern": None}
    tok = toksmith.train(text, merges=12, **options)
    size = data.draw(st.integers(len(tok) - len(tok.model.merges), len(tok)))
    rewound = toksmith.rewind(tok, size)
    assert rewound == toksmith.train(text, size, **options)
    assert toksmith.rewind(rewound, size) == rewound


def test_a_loaded_tokenizer_is_rewound_too(tmp_path: Path) -> None:
    tok = toksmith.train(SEEN, 600)
    tok.save(tmp_path / "tok.toksmith")
    assert toksmith.rewind(toksmith.load(tmp_path / "tok.toksmith"), 400) == toksmith.train(SEEN, 400)


def test_other_sizes_and_tokenizers_are_not_rewound(tmp_path: Path) -> None:
    tok = toksmith.train(SEEN, 600, special_tokens=["<|end|>"])
    for size in (256, 601):
        with pytest.raises(InvalidOption, match=r"from 257 \(no merges\) to 600"):
            toksmith.rewind(tok, size)
    words = toksmith.train(SEEN, 300, kind="words")
    tok.save(tmp_path / "tok.tiktoken", allow_loss=("splitters", "added_tokens"))
    ranks = toksmith.load(tmp_path / "tok.tiktoken", pattern="o200k")
    for other in (words, ranks):
        with pytest.raises(InvalidOption, match=r"kind='bpe' from train\(\), with its record"):
            toksmith.rewind(other, 256)


def test_each_size_has_the_figures_of_a_separate_training(tmp_path: Path) -> None:
    texts = ["", UNSEEN, "naïve 中文 <|end|> \ud800"]
    tok = toksmith.train(SEEN, 800, special_tokens=["<|end|>"])
    rows = toksmith.sweep(tok, [800, 300, 500, 300], texts)
    assert [row.vocab_size for row in rows] == [300, 500, 800]
    for row in rows:
        direct = toksmith.train(SEEN, row.vocab_size, special_tokens=["<|end|>"])
        ids = [id for text in texts for id in direct.encode(text, special="text")]
        assert (row.ids, row.used, row.documents) == (len(ids), len(set(ids)), 3)
        assert row.bytes == len(direct.decode_bytes(ids))
        assert row.bytes_per_id == row.bytes / row.ids
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    assert toksmith.sweep(tok, [300, 500, 800], path, threads=1) == rows


def test_an_empty_held_out_text_is_refused() -> None:
    with pytest.raises(CorpusError, match="held-out text is empty"):
        toksmith.sweep(toksmith.train(SEEN, 300), [300], ["", b""])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    seen, unseen = tmp_path / "seen.txt", tmp_path / "unseen.txt"
    seen.write_text(SEEN, encoding="utf-8")
    unseen.write_text(UNSEEN, encoding="utf-8")
    return seen, unseen


def test_the_command_prints_a_table_and_a_chart(files: tuple[Path, Path]) -> None:
    seen, unseen = files
    result = run("train", seen, "--sweep", "500,300,1000", "--held-out", unseen, "--quiet")
    assert result.exit_code == 0, result.output
    rows = toksmith.sweep(toksmith.train(SEEN, 1000), [300, 500, 1000], UNSEEN)
    table, chart = result.stdout.split("bytes per id (longer is better)\n")
    for row, line in zip(rows, table.splitlines()[3:], strict=False):
        assert line.split()[:3] == [f"{row.vocab_size:,}", f"{row.ids:,}", f"{row.bytes_per_id:.3f}"]
    lengths = [line.count("█") for line in chart.splitlines()]
    assert lengths == sorted(lengths)
    assert len(lengths) == 3
    assert lengths[-1] == 40
    assert lengths[0] == int(40 * rows[0].bytes_per_id / rows[2].bytes_per_id)


def test_the_command_prints_json_and_saves_the_largest(files: tuple[Path, Path], tmp_path: Path) -> None:
    seen, unseen = files
    out = tmp_path / "largest.toksmith"
    result = run("train", seen, "--sweep", "300,1_000", "--held-out", unseen, "--json", "-o", out, "--quiet")
    assert [row["vocab_size"] for row in json.loads(result.stdout)] == [300, 1000]
    assert toksmith.load(out) == toksmith.train(SEEN, 1000)


def test_sizes_out_of_range_are_adjusted_with_a_warning(files: tuple[Path, Path]) -> None:
    seen, unseen = files
    result = run("train", seen, "--sweep", "100,300,90000", "--held-out", unseen, "--json", "--quiet")
    most = len(toksmith.train(SEEN, 90_000))
    assert [row["vocab_size"] for row in json.loads(result.stdout)] == [256, 300, most]
    assert "smaller sizes are raised to 256 tokens, the size without merges" in result.stderr
    assert f"larger sizes are lowered to {most:,} tokens, where training ended" in result.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--sweep", "300,many", "--held-out", "UNSEEN"], "not a list of sizes"),
        (["--sweep", "300"], "requires --held-out"),
        (["--held-out", "UNSEEN", "-o", "x.toksmith", "--merges", "3"], "requires --sweep"),
        (["--sweep", "300", "--held-out", "SEEN"], "is a training text"),
        (["--sweep", "300", "--held-out", "UNSEEN", "--merges", "3"], "cannot be combined with --sweep"),
    ],
)
def test_the_command_refuses_before_it_trains(arguments: list[str], said: str, files: tuple[Path, Path]) -> None:
    names = {"SEEN": str(files[0]), "UNSEEN": str(files[1])}
    result = run("train", files[0], *(names.get(word, word) for word in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_a_missing_held_out_text_is_named_before_training(files: tuple[Path, Path], tmp_path: Path) -> None:
    result = run("train", files[0], "--sweep", "300", "--held-out", tmp_path / "missing.txt")
    assert result.exit_code == 1
    assert "missing.txt: No such file or directory" in result.stderr
