"""The tutorials' class: its files, its log and its refusals. `test_tutorial_walks.py` has the notebooks' calls."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from test_tutorials import PARAGRAPH

import toksmith
from toksmith.compat import tutorial


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
    Path("merge_dict_folder").mkdir()
    tok.save("merge_dict_folder")
    assert tutorial.Tokenizer.from_pretrained("merge_dict_folder").merges == tok.merges, "the file, not the folder"
    Path("merge_dict_paragraph").write_text('{"256": [97, 97]}', encoding="utf-8")
    with pytest.raises(toksmith.errors.FormatError, match="rename one of them"):
        tutorial.Tokenizer.from_pretrained("merge_dict_paragraph")
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
