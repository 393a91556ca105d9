"""The expected answers: the results of the reference engine of a vocabulary, computed once per text and stored.

tiktoken is the reference for ranks, sentencepiece for its own models. If tiktoken's regex engine gives up on a run that
the pattern keeps in one piece, its merge engine encodes that piece directly.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from .adapters import Encoding
from .places import scratch, write_whole
from .process import run_worker
from .request import Request
from .texts import TextFile

REFERENCE = {"ranks": "tiktoken", "sentencepiece": "sentencepiece"}
SLOWEST = 900


class NoAnswer(Exception):
    """The reference engine gave no answer."""


@dataclass(frozen=True)
class Answer:
    """The required result of every engine for a text.

    Attributes:
        proof: The digests of `request.Reply.proof`, by name.
        ids: The file with the ids themselves.
    """

    proof: dict[str, str | int]
    ids: str

    @property
    def tokens(self) -> int:
        """The number of ids."""
        return int(self.proof["tokens"])


def expected_answer(text: TextFile, encoding: Encoding) -> Answer:
    """The expected answer, read from the scratch folder if it exists there."""
    engine = REFERENCE[encoding.kind]
    question = f"{engine} {version(engine)} {encoding.regex} {digest(encoding.source)} {digest(text.path)}"
    name = hashlib.sha256(question.encode("utf-8")).hexdigest()[:16]
    path, ids = scratch("answers") / f"{name}.json", scratch("answers") / f"{name}.npz"
    if not path.is_file():
        reply = run_worker(Request("answer", engine, encoding, text, ids=str(ids)), timeout=SLOWEST)
        if reply.problem:
            raise NoAnswer(f"{engine} on {text.name}: {reply.problem}")
        proof = reply.proof | {"text": digest(text.path)}
        write_whole(path, json.dumps(proof).encode("utf-8"))
    return Answer(json.loads(path.read_text(encoding="utf-8")), str(ids))


def digest(path: str) -> str:
    """The sha256 of a file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
