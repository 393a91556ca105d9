"""Libraries that take a tokenizer, in typical programs: with the real library, with the drop-in under its name, and with the switch.

All runs must produce the same for 1,000 documents: ids, chunks, counts, masks. Run by `make test-clients`, which
prints the table of docs/clients.md.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from clients.programs import PROGRAMS, SWITCH, SWITCHED
from conftest import DATA, existing_or_skip
from peers import CORPORA
from peers import documents as documents_of
from test_clients import HERE, with_vocabularies

COUNT, LONGEST = 1_000, 1_500
ENCODE_IN_CHILDREN = {"datasets.map(num_proc=2)"}  # their calls are not those of the process that reports
pytestmark = pytest.mark.skipif(
    "TOKSMITH_PROGRAMS" not in os.environ, reason="lacks the programs; run make test-clients"
)


def documents() -> list[str]:
    """The first documents of each corpus, equally many of each."""
    texts: list[str] = []
    for number, name in enumerate(CORPORA):
        wanted = COUNT * (number + 1) // len(CORPORA) - len(texts)
        rows = documents_of(existing_or_skip(DATA) / "corpora" / f"{name}.jsonl.gz")
        texts += [text[:LONGEST] for text in itertools.islice(rows, wanted)]
    return texts


def run(name: str, library: str, folder: Path) -> dict[str, Any]:
    command = [
        sys.executable,
        str(HERE / "clients" / "programs.py"),
        name,
        library,
        str(folder / "texts.json"),
        str(folder),
    ]
    paths = os.pathsep.join([str(HERE), str(HERE.parent / "python")])
    env = {**os.environ, "PYTHONPATH": paths, "HF_HUB_OFFLINE": "1", "HAYSTACK_TELEMETRY_ENABLED": "False"}
    env |= {"HF_HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "TIKTOKEN_CACHE_DIR": str(folder / "cache")}
    env["TOKENIZERS_PARALLELISM"] = "false"
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    answer: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return answer


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_equal_results_on_every_document(name: str, tmp_path: Path) -> None:
    texts = documents()
    (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    (tmp_path / "tokenizer.json").symlink_to(DATA / "vocab" / "gpt2_tokenizer.json")
    with_vocabularies(tmp_path / "cache")
    real = run(name, "", tmp_path)
    for library in (PROGRAMS[name][0], *([SWITCH] if name in SWITCHED else [])):
        ours = run(name, library, tmp_path)
        equal = sum(a == b for a, b in zip(real["digests"], ours["digests"], strict=True))
        print(
            f"\n| {name} | {library} | {equal:,} of {len(texts):,} | {real['seconds']:.1f} s | {ours['seconds']:.1f} s |"
        )
        assert equal == len(texts) == COUNT
        if library == SWITCH:
            assert name in ENCODE_IN_CHILDREN or any(calls > returned for calls, returned, _ in ours["used"])
            assert not any(reason for *_, reason in ours["used"]), ours["used"]
        else:
            assert "compat" in ours["used"] and "compat" not in real["used"]
