"""Memory grows with the number of tokens and not with the largest id: a file of 300 bytes with the id 16,777,215.

A separate process runs each use, and measures its memory beyond the same use of a file with small ids.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from systems import needs
from trainings import trained

import toksmith
from toksmith import Model, Tokenizer
from toksmith.errors import CannotRepresent
from toksmith.types import AddedToken, TokenTable

LARGEST = (1 << 24) - 1
TOK = trained("abba baab ab abab abba" * 10, merges=8)
MOST_MB = 8

CHILD = """
import json, sys
import numpy, toksmith, toksmith.explain, toksmith.metrics
from toksmith._judge import doctor as _doctor
from toksmith._training import surgery as _surgery
from toksmith import _formats
from toksmith._formats import hf_model as _hf_model, stoi as _stoi

def peak_mb():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024

def used(path, use):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = peak_mb()
    use(toksmith.load(path))
    return peak_mb() - before

text = "abba <s> ab\\n" * 1000
# A long piece without a cut.
stretch = "ab" * 100_000
USES = {
    "load": lambda tok: None,
    "encode": lambda tok: [tok.encode(each, special="text") for each in (text, stretch)],
    "decode": lambda tok: tok.decode(tok.encode(text, special="text")),
    "offsets": lambda tok: [tok.encode_with_offsets(each, special="text") for each in (text, stretch)],
    "measure": lambda tok: toksmith.metrics.measure(tok, [text]),
    "doctor": lambda tok: toksmith.doctor(tok, corpus=[text]),
    "pieces": lambda tok: toksmith.explain.text(tok, text[:100]),
    "prune": lambda tok: toksmith.prune(tok, corpus=[text]),
}
small, large, name = sys.argv[1:]
used(small, USES[name])  # imports, and the tables of the process
print(json.dumps([used(small, USES[name]), used(large, USES[name])]))
"""


def spread_out(tok: Tokenizer, largest: int) -> Tokenizer:
    """The tokenizer, whose last token and special token have large ids."""
    model = tok.model
    ids = model.ids.copy()
    ids[-1] = largest - 1
    merges = np.where(model.merges == model.ids[-1], largest - 1, model.merges).astype(np.uint32)
    added = (AddedToken("<s>", largest),)
    return Tokenizer(Model(model.tokens, ids, merges=merges, splitters=model.splitters, added_tokens=added))


def test_the_largest_ids_behave_like_others() -> None:
    near, far = spread_out(TOK, 500), spread_out(TOK, LARGEST)
    moved = {499: LARGEST - 1, 500: LARGEST}
    text = f"abba <s> baab{TOK.token_bytes(len(TOK) - 1).decode()} abab" * 3
    expected = [moved.get(id, id) for id in near.encode(text, special="allow")]
    assert far.encode(text, special="allow") == expected and {LARGEST, LARGEST - 1} <= {*expected}
    assert far.decode(expected) == text and far.token_bytes(LARGEST) == b"<s>"
    with pytest.raises(toksmith.errors.UnknownId):
        far.decode([LARGEST - 2])
    for long in ("ab" * 50_000, "abbaab" * 20_000):
        assert far.encode(long) == [moved.get(id, id) for id in near.encode(long)]
    found, same = (toksmith.metrics.measure(tok, [text], special="allow").sample for tok in (far, near))
    assert found.emitted.tolist() == same.emitted.tolist() and found.vocabulary.ids.tolist()[-1] == LARGEST
    assert found.ids.shape == (LARGEST + 1,) and found.ids[LARGEST] == same.ids[500] == 3
    assert [check.counts for check in toksmith.doctor(far, corpus=[text]).findings] == [
        check.counts for check in toksmith.doctor(near, corpus=[text]).findings
    ]


@pytest.mark.slow
@needs("proc")
@pytest.mark.parametrize("use", ["load", "encode", "decode", "offsets", "measure", "doctor", "pieces", "prune"])
@pytest.mark.parametrize("kind", ["bpe", "words", "sentencepiece"])
def test_a_large_id_costs_no_memory(kind: str, use: str, tmp_path: Path) -> None:
    if kind != "bpe" and use == "prune":
        pytest.skip("these have no merges")
    paths = []
    for largest in (500, LARGEST):
        paths.append(str(tmp_path / f"{largest}.toksmith"))
        made(kind, largest).save(paths[-1])
    run = subprocess.run([sys.executable, "-c", CHILD, *paths, use], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    small, large = json.loads(run.stdout)
    assert large < small + MOST_MB, f"{large:.0f} MB instead of {small:.0f}"


def made(kind: str, largest: int) -> Tokenizer:
    """A tokenizer of a kind with a large id."""
    if kind == "bpe":
        return spread_out(TOK, largest)
    tokens = ["<unk>", "▁", "a", "b", "ab", "\n", "<", "s", ">"]
    ids = np.array([*range(len(tokens) - 1), largest], np.uint32)
    table = TokenTable.of([token.encode() for token in tokens])
    if kind == "words":
        return Tokenizer(Model(table, ids, kind="words", unit="char", unknown_id=0))
    scores = -np.arange(len(tokens), dtype=np.float32)
    return Tokenizer(Model(table, ids, kind="unigram", unit="char", scores=scores, unknown_id=0))


def test_a_format_with_a_slot_for_each_id_refuses_holes(tmp_path: Path) -> None:
    with pytest.raises(CannotRepresent, match="16777216"):
        spread_out(TOK, LARGEST).save(tmp_path / "large.gguf", allow_loss=["splitters"])
