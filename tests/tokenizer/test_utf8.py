"""The core writes the same UTF-8 for a `str` as Python."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from systems import needs

import toksmith


class Own(str):
    """A subclass, whose characters have another place in memory than in a plain `str`."""

    __slots__ = ()


@pytest.fixture(scope="module")
def tok() -> toksmith.Tokenizer:
    """Bytes, and a few merges inside and across characters."""
    return toksmith.train(["naïve café, наивный случай, 天真 天真 🙂🙂"] * 4, 290, progress=False)


fast = pytest.mark.skipif(os.environ.get("TOKSMITH_SLOW") == "1", reason="Python writes the UTF-8 for the slow twin")

WIDE = {
    "latin-1": "naïve café ÿ\x80",
    "two bytes": "наивный случай ߿",
    "three bytes": "天真\u0800\uffff“quoted”",
    "four bytes": "🙂 \U0010ffff\U00010000",
}


def fresh(text: str, kind: type[str] = str) -> str:
    """An equal text as a new object."""
    return kind("".join(list(text)))


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("kind", [str, Own])
@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 63, 64, 65, 4000])
def test_a_text_and_its_bytes_have_equal_ids(tok: toksmith.Tokenizer, name: str, kind: type[str], length: int) -> None:
    text = fresh((WIDE[name] * length)[-length:], kind)
    expected = tok.encode(text.encode())
    for _ in range(3):
        assert tok.encode(text) == expected
    assert tok.encode_batch([fresh(text, kind), text]) == [expected] * 2
    assert tok.count(fresh(text, kind)) == len(expected)


def test_ascii_of_every_class_has_the_ids_of_its_bytes(tok: toksmith.Tokenizer) -> None:
    for text in ("", "plain", Own(""), Own("plain")):
        assert tok.encode(text) == tok.encode(text.encode())


@fast
def test_one_call_does_not_cache_the_utf8_of_a_text(tok: toksmith.Tokenizer) -> None:
    text = fresh(WIDE["three bytes"] * 100)
    before = sys.getsizeof(text)
    tok.encode(text)
    assert sys.getsizeof(text) == before
    tok.encode(text)
    assert sys.getsizeof(text) > before, "the second time Python keeps the UTF-8"


@fast
def test_training_does_not_cache_the_utf8_of_texts() -> None:
    texts = [fresh(text * 50) for text in WIDE.values()]
    before = [sys.getsizeof(text) for text in texts]
    models = [toksmith.train(given, 300, progress=False) for given in (texts, texts, [text.encode() for text in texts])]
    assert [sys.getsizeof(text) for text in texts] == before
    assert models[0].encode(texts[0]) == models[2].encode(texts[0])
    assert len({model.fingerprint for model in models}) == 1


FULL = """
import resource
from pathlib import Path
import numpy, toksmith
tok = toksmith.train("low lower", 260, progress=False)
tok.encode_array("low")
text = "天" * (40 << 20)
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), used + (64 << 20)))
try:
    tok.encode_array(text)
except MemoryError:
    print("refused")
"""


@pytest.mark.slow
@needs("proc", "limits")
def test_no_room_for_the_utf8_is_a_memory_error() -> None:
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, encoding="utf-8", check=False)
    assert (done.stdout.split(), done.stderr) == (["refused"], "")


def test_offsets_in_errors_are_characters(tok: toksmith.Tokenizer) -> None:
    guarded, _ = toksmith.add_special(tok, ["<|end|>"])
    with pytest.raises(toksmith.errors.SpecialTokenInText) as caught:
        guarded.encode("天真<|end|>", special="raise")
    assert caught.value.offset == 2
