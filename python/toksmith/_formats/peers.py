"""Runs a format's original library on files that toksmith wrote: one row for each format.

The library runs in a fresh process (`peer_program.py`), which imports nothing of toksmith and refuses toksmith's modules.
The process gets the inputs of the library's users: the files, and the split pattern for formats whose files contain none.
All libraries are optional; a missing one is not compared.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._base.system import SYSTEM
from .._model.model import Model

PROGRAM = Path(__file__).with_name("peer_program.py")
OWN = os.path.realpath(Path(__file__).parent.parent)
# tiktoken caches every file by its path, and would return an older file of the same name.
SETTINGS = {"TIKTOKEN_CACHE_DIR": "", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
LAST_LINES = 300  # the last characters of a process's error output that a message quotes


class PeerFailed(Exception):
    """The library is not installed, cannot run a part of the model, or failed."""


@dataclass(frozen=True)
class Peer:
    """The library of one format: the package to install and the module to import."""

    package: str
    module: str
    open: str  # the row of `OPEN` in `peer_program.py` that opens the files
    needs_pattern: bool = False  # the files contain no split pattern, so readers need it as an argument
    finds_special: bool = False  # by default it finds special tokens in texts, and adds the tokens around a text


class PeerProcess:
    """A library (`library`: its name and version) in a separate process, with opened files."""

    def __init__(self, peer: Peer, paths: Sequence[str], pattern: str | None) -> None:
        import subprocess  # slow to import, as is the next
        import tempfile

        self.finds_special = peer.finds_special
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM.read_text(encoding="utf-8")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.stderr,
                env={**os.environ, **SETTINGS},
            )
        except OSError as error:
            self.stderr.close()
            raise PeerFailed(f"{sys.executable or 'Python'} cannot be started for it: {error}") from error
        try:
            answer = self.ask({**vars(peer), "paths": [*map(os.path.abspath, paths)], "pattern": pattern, "own": OWN})
            if "missing" in answer:
                raise PeerFailed(f"{peer.package} {answer['missing']}")
        except BaseException:
            self.close()
            raise
        self.library = f"{peer.package} {answer['version']}"

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        ids: list[list[int]] = self.ask([*texts])
        return ids

    def ask(self, request: object) -> Any:
        to, output = self.process.stdin, self.process.stdout
        assert to is not None and output is not None  # both are pipes
        try:
            to.write(json.dumps(request).encode() + b"\n")
            to.flush()
            line = output.readline()
        except OSError as error:
            if error.errno not in SYSTEM.lost_reader:
                raise
            line = b""
        if not line:
            self.stderr.seek(0)
            tail = self.stderr.read().decode("utf-8", "replace").strip()[-LAST_LINES:]
            raise PeerFailed(f"its process ended with the code {self.process.wait()}: {tail or 'it wrote nothing'}")
        answer = json.loads(line)
        if isinstance(answer, dict) and "raised" in answer:
            raise PeerFailed(f"it raised {answer['raised']}")
        if isinstance(answer, dict) and "refused" in answer:
            raise PeerFailed(answer["refused"])
        return answer

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # the process ended before it read all input
                    pipe.close()
        self.process.kill()
        self.process.wait()
        self.stderr.close()


def open_peer(format: str, paths: Sequence[str], model: Model) -> PeerProcess:
    """The process of a format's library with these files; raises PeerFailed if the library cannot run the model."""
    peer = PEERS.get(format)
    if peer is None:
        raise PeerFailed(f"no other library reads {format!r} files")
    regexes = [str(step["pattern"]) for step in model.splitters] if peer.needs_pattern else []
    if len(regexes) > 1:
        raise PeerFailed(f"{peer.package} supports only one regex")
    return PeerProcess(peer, paths, regexes[0] if regexes else None)


PEERS: Mapping[str, Peer] = {
    "gpt2": Peer("tokenizers", "tokenizers", "two_files"),
    "minbpe": Peer("minbpe", "minbpe", "minbpe"),
    "sentencepiece": Peer("sentencepiece", "sentencepiece", "sentencepiece"),
    "tekken": Peer("mistral-common", "mistral_common.tokens.tokenizers.tekken", "mistral"),
    "tiktoken": Peer("tiktoken", "tiktoken", "tiktoken", needs_pattern=True),
    "tokenizer_json": Peer("tokenizers", "tokenizers", "tokenizers", finds_special=True),
    "transformers": Peer("transformers", "transformers", "transformers", finds_special=True),
}
