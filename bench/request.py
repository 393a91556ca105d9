"""The runner's request to one fresh process, and the reply; both are JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from .adapters import Encoding
from .texts import TextFile

READY = "ready"


@dataclass(frozen=True)
class Request:
    """One measurement of one engine.

    Attributes:
        measure: A name of `measures.MEASURES`.
        first: The operation that is timed on texts that the engine has not seen.
        again: Operations that are timed on the same texts afterwards.
        passes: The number of timings of each operation of `again`.
        threads: The number of threads that the engine can use.
        cpus: The processors that the process is pinned to; empty for any.
        clock: "wall" or "cpu".
        warm: Whether the engine encodes one word before the clock starts, so that the time excludes lazy setup.
        check_only: Whether the first pass is checked id by id instead of being timed.
        ids: The file with the ids to decode, or the file for the ids of the answer.
        share: The number of this process's part of the text, and the number of parts.
    """

    measure: str
    engine: str
    encoding: Encoding
    text: TextFile
    first: str = ""
    again: tuple[str, ...] = ()
    passes: int = 2
    threads: int = 1
    cpus: tuple[int, ...] = ()
    clock: str = "wall"
    warm: bool = False
    check_only: bool = False
    ids: str = ""
    share: tuple[int, int] = (0, 1)

    def dump(self) -> str:
        """The request as JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def parse(line: str) -> Request:
        """The request in a line of JSON."""
        fields: dict[str, Any] = json.loads(line)
        fields |= {"encoding": Encoding(**fields["encoding"]), "text": TextFile(**fields["text"])}
        fields |= {name: tuple(fields[name]) for name in ("again", "cpus", "share")}
        return Request(**fields)


@dataclass(frozen=True)
class Reply:
    """The reply to a request.

    Attributes:
        figures: Seconds (or bytes, of `memory`) by the name of the figure: "first", and one for each of `again`.
        proof: Digests of the engine's results, to compare with the expected answer.
        problem: The reason why there are no figures; "" if there are. "unsupported: …", "failed: …", "crashed …",
        "timeout".
    """

    figures: dict[str, float] = field(default_factory=dict)
    proof: dict[str, str | int] = field(default_factory=dict)
    problem: str = ""
