"""The numbers of a `tokenizer.json`: read as HF's reader rounds them, and written so that it returns them."""

import json
import math
import re
import struct
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from toksmith import Tokenizer, _formats
from toksmith._formats.hf_numbers import read_number, spell_number
from toksmith.compat import tokenizers as ours

peer: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3 (tests/requirements.txt)")

ROW = _formats.FORMATS["tokenizer_json"]
CASES = 200_000


def digits(random: Random, least: int, most: int) -> str:
    return "".join(random.choices("0123456789", k=random.randint(least, most)))


def single(random: Random) -> float:
    """A score in single precision, as SentencePiece stores it."""
    return float(np.float32(-random.uniform(0, 20)))


EDGES = ["1844674407370955161", "18446744073709551615", "18446744073709551616", "9223372036854775808"]
DRAWS: dict[str, Callable[[Random], str]] = {
    "scores": lambda random: repr(-random.expovariate(0.1)),
    "scores of SentencePiece": lambda random: repr(single(random)),
    "any float": lambda random: repr(random.uniform(-1, 1) * 10.0 ** random.randint(-307, 307)),
    "long integers": lambda random: random.choice(["", "-"]) + random.choice("123456789") + digits(random, 0, 40),
    "long fractions": lambda random: f"-{random.randrange(100)}.{digits(random, 1, 40)}",
    "both": lambda random: f"{random.choice('123456789')}{digits(random, 0, 25)}.{digits(random, 1, 25)}",
    "exponents": lambda random: (
        f"{random.randrange(10)}.{digits(random, 1, 25)}{random.choice('eE')}{random.choice(['', '+', '-', '-0'])}{digits(random, 1, 3)}"
    ),
    "leading zeros": lambda random: f"0.{'0' * random.randrange(40)}{digits(random, 1, 25)}",
    "64 bits": lambda random: (
        f"{random.choice(EDGES)}{digits(random, 0, 2)}{random.choice(['', '.5', '.' + digits(random, 1, 3), 'e-19'])}"
    ),
    "huge exponents": lambda random: f"{random.choice('01')}e-{digits(random, 3, 14)}",
}


def file_of(numbers: list[str]) -> str:
    rows = ",".join(f'["t{place}",{number}]' for place, number in enumerate(numbers))
    parts = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    head = "".join(f'"{name}":null,' for name in parts)
    model = f'"model":{{"type":"Unigram","unk_id":null,"vocab":[{rows}],"byte_fallback":false}}'
    return f'{{"version":"1.0","added_tokens":[],{head}{model}}}'


def scores_of(file: str) -> list[float]:
    """What HF reads: it writes each score as the shortest number of that float."""
    return [float(score) for score in re.findall(r'\["t\d+",([^\]]+)\]', peer.Tokenizer.from_str(file).to_str())]


def load(file: str | bytes) -> Tokenizer:
    data = file if isinstance(file, bytes) else file.encode()
    return Tokenizer(ROW.load(data, "tokenizer.json", pattern=_formats.UNSET, special_tokens=None))


def bits(scores: Any) -> bytes:
    return struct.pack(f"<{len(scores)}d", *scores)


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_rounded_as_in_hf(name: str) -> None:
    random = Random(3)
    numbers, others = [], 0
    for _ in range(CASES // len(DRAWS)):
        number = DRAWS[name](random)
        try:
            others += read_number(number) != float(number)
        except ValueError:
            with pytest.raises(Exception, match="number out of range"):
                peer.Tokenizer.from_str(file_of([number]))
            continue
        numbers.append(number)
    assert bits([read_number(number) for number in numbers]) == bits(scores_of(file_of(numbers)))
    assert others or name in ("scores of SentencePiece", "huge exponents")
    if name != "huge exponents":  # which are all read as 0
        assert others > 10


def test_a_file_has_the_scores_that_hf_reads() -> None:
    """Loaded, built with the drop-in, saved and loaded again."""
    random = Random(4)
    numbers = [draw(random) for draw in DRAWS.values() for _ in range(300)]
    numbers = [number for number in numbers if not math.isinf(abs_of(number))]
    file = file_of(numbers)
    due, tok = scores_of(file), load(file)
    assert bits(due) == bits(tok.model.scores)
    dropped = [score for _, score in json.loads(ours.Tokenizer.from_str(file).to_str())["model"]["vocab"]]
    assert all(score == own or isinstance(own, int) for score, own in zip(due, dropped, strict=True))
    saved = ROW.save(tok.model)
    assert bits(scores_of(saved.decode())) == bits(due)
    assert load(saved) == tok and ROW.save(load(saved).model) == saved


def abs_of(number: str) -> float:
    try:
        return abs(read_number(number))
    except ValueError:
        return math.inf


@pytest.mark.parametrize("draw", [lambda random: -random.expovariate(0.1), single], ids=["double", "single"])
def test_almost_every_score_can_be_written(draw: Callable[[Random], float]) -> None:
    random = Random(5)
    scores = [draw(random) for _ in range(20_000)]
    read = [read_number(spell_number(score)) for score in scores]
    usual = [read_number(repr(score)) for score in scores]
    neighbours = [(score, found) for score, found in zip(scores, read, strict=True) if score != found]
    assert len(neighbours) < len(scores) / 500 < sum(map(float.__ne__, scores, usual))
    assert all(abs(score - found) <= math.ulp(score) for score, found in neighbours)
