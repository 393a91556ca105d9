"""Replays the inputs of `fuzz/corpus` through the fuzz targets that go through Python; atheris is not needed."""

from importlib import import_module
from pathlib import Path

import fuzz
import numpy as np
import pytest

import toksmith

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
INPUTS = [path for target in fuzz.TARGETS for path in sorted((CORPUS / target).iterdir())]


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_input_keeps_the_rules(path: Path) -> None:
    import_module(f"fuzz.{path.parent.name}").run(path.read_bytes())


def test_calls_that_once_raised_raw_errors_raise_ours() -> None:
    tok = toksmith.train("low lower", 260, progress=False)
    assert tok.post_process(np.array([1, 2], np.uint32), np.array([3])) == [1, 2, 3]
    unigram = toksmith.train("low lower " * 9, 24, kind="unigram", progress=False)
    with pytest.raises(toksmith.errors.InvalidOption, match="n=1180"):
        unigram.encode_best("low", 2**70)
    for call in (tok.decode, lambda ids, errors: tok.decode_batch([ids], errors=errors)):
        with pytest.raises(toksmith.errors.InvalidOption, match="errors="):
            call([97], errors="a\0b")
    with pytest.raises(toksmith.errors.InvalidOption, match="errors="):
        tok.decoder(errors="a\0b")
