"""The fresh process of one measurement of `bench.interface`: one peer's tokenizer under the calls of transformers.

It reads a request from stdin and prints a reply as the last line of stdout. Digests are taken of the first pass of each
call, outside of the timed passes.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

from . import adapters
from .request import Reply

LIBRARY, FASTOKENS, SWITCH = PEERS = ("transformers", "fastokens", "switch")
ENGINES = {LIBRARY: "tokenizers", FASTOKENS: "fastokens", SWITCH: adapters.OURS}
COLD = "batch, first call"
BATCH, ONE, SHORT = "batch", "one by one", "short calls"
BARE = " of the engine alone"
CUT = {"truncation": True, "max_length": 512}
TENSORS = {**CUT, "padding": True}
Calls = dict[str, Callable[[], Any]]


@dataclass(frozen=True)
class InterfaceRequest:
    """One measurement of one peer.

    Attributes:
        peer: One of `PEERS`.
        folder: A folder that `AutoTokenizer` loads.
        texts: A file with the texts as JSON: "documents" and "short".
        passes: The timed passes of each call after the first; a figure is their median.
        threads: The number of threads that the engine can use.
    """

    peer: str
    folder: str
    texts: str
    passes: int
    threads: int

    def dump(self) -> str:
        """The request as JSON."""
        return json.dumps(asdict(self))


def load_peer(peer: str, folder: str) -> Any:
    """The tokenizer of a folder, with the peer's engine."""
    if peer == FASTOKENS:
        adapters._engine.import_peer("fastokens").patch_transformers()
    elif peer == SWITCH:
        import toksmith

        toksmith.accelerate(check_every=None)
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def encoding_calls(tok: Any, documents: list[str], short: list[str]) -> Calls:
    """Calls that encode, by name; the first is also timed cold."""
    talks = [[{"role": "user", "content": one}, {"role": "assistant", "content": two}] for one, two in pairwise(short)]
    return {
        BATCH: lambda: tok(documents),
        ONE: lambda: [tok(text) for text in documents],
        "batch, offsets": lambda: tok(documents, return_offsets_mapping=True),
        "batch, cut to 512": lambda: tok(documents, **CUT),
        "batch, cut and padded, numpy": lambda: tok(documents, **TENSORS, return_tensors="np"),
        "batch, cut and padded, torch": lambda: tok(documents, **TENSORS, return_tensors="pt"),
        "batch of pairs": lambda: tok(documents[::2], documents[1::2]),
        SHORT: lambda: [tok(text) for text in short],
        "short calls, offsets": lambda: [tok(text, return_offsets_mapping=True) for text in short],
        "short calls, cut and padded, numpy": lambda: [tok(text, **TENSORS, return_tensors="np") for text in short],
        "short calls of encode": lambda: [tok.encode(text) for text in short],
        "short calls of apply_chat_template": lambda: [tok.apply_chat_template(each, tokenize=True) for each in talks],
    }


def decoding_calls(tok: Any, rows: list[list[int]], few: list[list[int]]) -> Calls:
    """Calls that decode, by name."""

    def stream() -> list[Any]:
        library = importlib.import_module(type(tok._tokenizer).__module__.rpartition("._")[0] or "tokenizers")
        if library.__name__.startswith("fastokens"):  # its patch replaces the library's class
            library = importlib.import_module("tokenizers")
        made = []
        for row in few:
            steps = library.decoders.DecodeStream(skip_special_tokens=True)
            made.append([steps.step(tok._tokenizer, number) for number in row])
        return made

    return {
        "batch_decode": lambda: tok.batch_decode(rows, skip_special_tokens=True),
        "short calls of decode": lambda: [tok.decode(row) for row in few],
        "DecodeStream, short texts": stream,
    }


def bare_calls(peer: str, folder: str, documents: list[str], short: list[str], threads: int) -> Calls:
    """The same texts in the engine alone, to lists of ids."""
    file = str(Path(folder, "tokenizer.json"))
    engine = adapters.load(ENGINES[peer], adapters.Encoding("interface", "json", file, "", "", file))
    return {
        BATCH: lambda: engine.batch_lists(documents, threads),
        ONE: lambda: engine.lists(documents),
        SHORT: lambda: engine.lists(short),
    }


def digest(value: Any) -> str:
    """A digest of ids, masks and texts, whatever holds them."""
    return hashlib.sha256(json.dumps(as_plain(value), ensure_ascii=True).encode()).hexdigest()[:12]


def as_plain(value: Any) -> Any:
    """The value as lists and dictionaries."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "items"):
        return {name: as_plain(each) for name, each in sorted(value.items())}
    return [as_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of a call without the garbage collector, as `timeit` measures, and its result."""
    gc.collect()
    gc.disable()
    begun = perf_counter()
    made = call()
    seconds = perf_counter() - begun
    gc.enable()
    return seconds, made


def measure(request: InterfaceRequest) -> Reply:
    """The figures and digests of every call; the digest of a call that fails is the error."""
    texts: dict[str, list[str]] = json.loads(Path(request.texts).read_text(encoding="utf-8"))
    documents, short = texts["documents"], texts["short"]
    tok = load_peer(request.peer, request.folder)
    tok("low")
    figures: dict[str, float] = {}
    proof: dict[str, str | int] = {}
    calls = encoding_calls(tok, documents, short)
    figures[COLD], made = timed(calls[BATCH])
    proof[COLD] = digest(made)
    run_calls(calls, request.passes, figures, proof)
    rows, few = made["input_ids"], [tok.encode(text) for text in short]
    run_calls(decoding_calls(tok, rows, few), request.passes, figures, proof)
    bare = bare_calls(request.peer, request.folder, documents, short, request.threads)
    run_calls({name + BARE: call for name, call in bare.items()}, request.passes, figures, {})
    return Reply(figures, proof)


def run_calls(calls: Calls, passes: int, figures: dict[str, float], proof: dict[str, str | int]) -> None:
    """One pass for the digest, then the timed ones."""
    for name, call in calls.items():
        try:
            proof[name] = digest(call())
            figures[name] = statistics.median(timed(call)[0] for _ in range(passes))
        except Exception as error:  # noqa: BLE001 - a call that a peer lacks
            proof[name] = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:80]}"


def main() -> None:
    """Answer."""
    request = InterfaceRequest(**json.loads(sys.stdin.readline()))
    print(json.dumps(asdict(measure(request))), flush=True)


if __name__ == "__main__":
    main()
