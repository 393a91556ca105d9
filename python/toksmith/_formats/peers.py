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

__all__ = ["PEERS", "NotComparable", "Peer", "PeerFailed", "PeerProcess", "open_peer"]

PROGRAM = Path(__file__).with_name("peer_program.py")
OWN = os.path.realpath(Path(__file__).parent.parent)
# tiktoken caches every file by its path, and would return an older file of the same name.
SETTINGS = {"TIKTOKEN_CACHE_DIR": "", "TOKENIZERS_PARALLELISM": "false"}
LAST_LINES = 300  # the last characters of a process's error output that a message quotes


class NotComparable(Exception):
    """The library cannot run a part of the model, or it is not installed."""


class PeerFailed(Exception):
    """The library raised an error, or its process ended."""


@dataclass(frozen=True)
class Peer:
    """The library of one format.

    Attributes:
        package: The package to install.
        module: The module to import.
        open: The row of `OPEN` in `peer_program.py` that opens the files.
        needs_pattern: Whether the files contain no split pattern, so that
            readers need it as an argument.
        finds_special: Whether the library by default finds special tokens in
            texts and adds those around a text.
    """

    package: str
    module: str
    open: str
    needs_pattern: bool = False
    finds_special: bool = False


class PeerProcess:
    """A library in a separate process, with opened files.

    Attributes: `library`, its name and version; `finds_special`, as in its row.
    """

    def __init__(self, peer: Peer, paths: Sequence[str], pattern: str | None) -> None:
        import subprocess  # slow to import, as is the next
        import tempfile

        self.finds_special = peer.finds_special
        self.said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM.read_text(encoding="utf-8")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.said,
                env={**os.environ, **SETTINGS},
            )
        except OSError as error:
            self.said.close()
            raise NotComparable(f"{sys.executable or 'Python'} cannot be started for it: {error}") from error
        try:
            answer = self.ask(
                {
                    "package": peer.package,
                    "module": peer.module,
                    "open": peer.open,
                    "paths": [os.path.abspath(path) for path in paths],
                    "pattern": pattern,
                    "own": OWN,
                }
            )
            if "missing" in answer:
                raise NotComparable(f"{peer.package} {answer['missing']}")
        except BaseException:
            self.close()
            raise
        self.library = f"{peer.package} {answer['version']}"

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        ids: list[list[int]] = self.ask([*texts])
        return ids

    def ask(self, request: object) -> Any:
        """The answer to a request."""
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
            self.said.seek(0)
            tail = self.said.read().decode("utf-8", "replace").strip()[-LAST_LINES:]
            raise PeerFailed(f"its process ended with the code {self.process.wait()}: {tail or 'it wrote nothing'}")
        answer = json.loads(line)
        if isinstance(answer, dict) and "raised" in answer:
            raise PeerFailed(f"it raised {answer['raised']}")
        if isinstance(answer, dict) and "refused" in answer:
            raise NotComparable(answer["refused"])
        return answer

    def close(self) -> None:
        """Ends the process."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # the process ended before it read all input
                    pipe.close()
        self.process.kill()
        self.process.wait()
        self.said.close()


def open_peer(format: str, paths: Sequence[str], model: Model) -> PeerProcess:
    """The process of a format's library with these files; raises NotComparable if the library cannot run the model."""
    peer = PEERS.get(format)
    if peer is None:
        raise NotComparable(f"no other library reads {format!r} files")
    regexes = [str(step["pattern"]) for step in model.splitters] if peer.needs_pattern else []
    if len(regexes) > 1:
        raise NotComparable(f"{peer.package} supports only one regex")
    return PeerProcess(peer, paths, regexes[0] if regexes else None)


PEERS: Mapping[str, Peer] = {
    "gpt2": Peer("tokenizers", "tokenizers", "two_files"),
    "minbpe": Peer("minbpe", "minbpe", "minbpe"),
    "sentencepiece": Peer("sentencepiece", "sentencepiece", "sentencepiece"),
    "tekken": Peer("mistral-common", "mistral_common.tokens.tokenizers.tekken", "mistral"),
    "tiktoken": Peer("tiktoken", "tiktoken", "tiktoken", needs_pattern=True),
    "tokenizer_json": Peer("tokenizers", "tokenizers", "tokenizers", finds_special=True),
}
