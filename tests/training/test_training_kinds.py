"""The rows of `train`: each option is in a row, other options are refused, and help and documents show the rows."""

import inspect
import re
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import ROOT

import toksmith
from toksmith import _cli
from toksmith.errors import InvalidOption
from toksmith.types import TrainingKind

KINDS = toksmith.training_kinds()
PARAMETERS = inspect.signature(toksmith.train).parameters
# A value of each option that is not its default.
OTHER: dict[str, Any] = {
    "merges": 3,
    "alphabet": "gpt2",
    "ties": "first_seen",
    "min_count": 2,
    "max_token_bytes": 4,
    "character_coverage": 0.5,
    "byte_fallback": True,
    "dummy_prefix": False,
    "user_symbols": ["<sep>"],
    "unknown_token": "<?>",
    "end_of_word_suffix": "</w>",
    "lowercase": False,
    "digits": "1",
    "whole_characters": True,
    "seed_tokens": ["lo"],
    "superwords": 1,
    "superword_pattern": "[a-z ]+",
    "base": toksmith.train("low", 256, progress=False),
    "parity": "window",
    "languages": {"en": "low", "xx": "wol"},
    "development": {"en": "low", "xx": "wol"},
    "ratios": {"en": 1.0, "xx": 1.0},
    "global_merges": 1,
    "parity_window": 9,
    "parity_alpha": 3.0,
    "min_piece_count": 2,
    "max_piece_bytes": 9,
    "max_memory": 64 << 20,
    "spill_to": ".",
    "errors": "skip",
    "checkpoint": "kept",
}
EVERYWHERE = frozenset.intersection(*(row.options for row in KINDS.values()))


CHOOSES_ANOTHER = {
    ("bpe of characters", "alphabet"),
    ("bpe of characters", "end_of_word_suffix"),
    ("bpe of bytes", "end_of_word_suffix"),
}


def unsupported_options() -> list[Any]:
    pairs = [(row, option) for row in KINDS.values() for option in OTHER if option not in row.options]
    chosen = [(row, option) for row, option in pairs if (row.name, option) not in CHOOSES_ANOTHER]
    return [pytest.param(row, option, id=f"{row.name}-{option}") for row, option in chosen]


def test_the_rows_list_the_arguments_of_train() -> None:
    assert frozenset.union(*(row.options for row in KINDS.values())) == {*PARAMETERS}
    assert {*OTHER} | EVERYWHERE == {*PARAMETERS} and not {*OTHER} & EVERYWHERE


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_is_trained_by_the_arguments_of_its_row(name: str) -> None:
    given: Any = dict(KINDS[name].arguments)
    size = None if name in ("chars", "words") else 300
    tok = toksmith.train("low lower lowest low", size, progress=False, **given)
    assert tok.model.kind == given["kind"]
    assert tok.model.end_of_word_suffix == given.get("end_of_word_suffix", "")


@pytest.mark.parametrize(("row", "option"), unsupported_options())
def test_an_unsupported_option_names_the_kinds_that_take_it(row: TrainingKind, option: str) -> None:
    given: Any = {**dict(row.arguments), option: OTHER[option]}
    with pytest.raises(InvalidOption) as caught:
        toksmith.train("low lower", 300, progress=False, **given)
    assert caught.value.argument == option
    before, after = caught.value.allowed.split("only")
    assert str(row) in before
    for other in KINDS.values():
        assert (str(other) in after) == (option in other.options)


def test_an_unknown_kind_or_unit_is_refused() -> None:
    with pytest.raises(InvalidOption, match="'bpe', 'unigram', 'wordpiece', 'chars' or 'words'"):
        toksmith.train("low", 300, kind="bep")  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="'byte' or 'char'"):
        toksmith.train("low", 300, kind="unigram", unit="bit")  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="pattern"):
        toksmith.train("low", kind="chars", pattern="gpt2")


def test_the_specification_shows_the_rows() -> None:
    groups: dict[tuple[bool, ...], list[str]] = {}
    for option in PARAMETERS:
        if option not in EVERYWHERE:
            groups.setdefault(tuple(option in row.options for row in KINDS.values()), []).append(f"`{option}`")
    heads = [f"| option | {' | '.join(KINDS)} |", "|---" * (len(KINDS) + 1) + "|"]
    rows = [
        f"| {', '.join(options)} | {' | '.join('yes' if taken else '' for taken in takers)} |"
        for takers, options in groups.items()
    ]
    asked = [f"| {name} | `{str(row).replace(' with ', ', ')}` |" for name, row in KINDS.items()]
    due = "\n".join([*heads, *rows])
    text = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    assert due in text, due
    assert "\n".join(asked) in text, "\n".join(asked)
    assert f"Every kind takes {', '.join(f'`{name}`' for name in PARAMETERS if name in EVERYWHERE)}." in text


def test_help_names_the_kinds_that_take_an_option() -> None:
    said = CliRunner().invoke(_cli.app, ["train", "--help-all"], env={"COLUMNS": "200"}).stdout
    lines = {
        match[1]: " ".join(match[2].split())
        for match in re.finditer(r"  (--[a-z-]+)(.*?)(?=\n  -|\n\n|$)", said, re.DOTALL)
    }
    assert "For wordpiece. [default: (on)]" in lines["--lowercase"]
    assert "For bpe of bytes. [default: (none)]" in lines["--digits"]
    assert "For bpe, wordpiece. [default: (lowest_ids)]" in lines["--ties"]
    assert "For bpe" not in lines["--vocab-size"] + lines["--pattern"]
    counting = CliRunner().invoke(_cli.app, ["corpus", "count", "--help"], env={"COLUMNS": "200"}).stdout
    assert "--max-piece-bytes" in counting and "unigram" not in counting


def test_errors_of_the_shell_name_flags() -> None:
    result = CliRunner().invoke(_cli.app, ["train", "--json", "--kind", "words", "--byte-fallback"], input="low")
    assert result.exit_code == 2
    assert result.stderr.startswith("toksmith: --byte-fallback: expected ")
    assert "--kind words does not take this option, only --kind bpe --unit char and --kind unigram do" in result.stderr
    result = CliRunner().invoke(_cli.app, ["train", "--json", "--merges", "3", "--vocab-size", "300"], input="low")
    assert "--merges: expected no value when --vocab-size is given, not 3" in result.stderr
