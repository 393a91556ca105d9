"""Other programs that write the same files of ids, each called as its users do, and the same `toksmith corpus tokenize`.

Both run as commands, in turn, from the same rows to the format of the peer, on two processors. `whole` compares the
commands. `without start` subtracts the time for one document: interpreter, imports and vocabulary. A target is judged
by the smaller of both. The files are read back, and must have the same ids document by document.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..places import ROOT, scratch
from .commands import Cost, best_cost, run_command
from .contents import hash_of
from .inputs import END, Text, folder_of_hugging_face, native
from .settings import Outcome, Settings, target_verdict

PROGRAMS = Path(__file__).parent / "programs"
ONE_DOCUMENT = 0
Command = Callable[[Text, Path], "list[str | Path]"]


@dataclass(frozen=True)
class Peer:
    """A program: its requirements, its output format, and toksmith's targets relative to it."""

    needs: tuple[str, ...]
    form: str
    least: float
    command: Command
    most_memory: float | None = None
    large: bool = False
    halves: bool = False
    megatron: bool = False


def datatrove(text: Text, out: Path) -> list[str | Path]:
    """The reader of JSON lines and the tokenizer of documents: two tasks of one file each."""
    folder = text.halves[0].parent
    return [PROGRAMS / "datatrove_tokens.py", folder, folder_of_hugging_face() / "tokenizer.json", END, out]


def datasets_map(text: Text, out: Path) -> list[str | Path]:
    """`load_dataset`, `map` and `save_to_disk`."""
    return [PROGRAMS / "datasets_map.py", text.rows, folder_of_hugging_face(), out]


def megatron(tool: str, *options: str) -> Command:
    """A tool of a checkout of Megatron-LM."""

    def command(text: Text, out: Path) -> list[str | Path]:
        words: list[str | Path] = ["--input", text.rows, "--output-prefix", out / "own", "--append-eod", *options]
        kind: list[str | Path] = [
            "--tokenizer-type",
            "HuggingFaceTokenizer",
            "--tokenizer-model",
            folder_of_hugging_face(),
        ]
        return [PROGRAMS / "megatron_tool.py", f"tools/{tool}.py", *words, *kind]

    return command


IN_MEGATRON = ("torch", "transformers")
PEERS = {
    "datatrove": Peer(("datatrove", "orjson", "tokenizers"), "datatrove", 10, datatrove, halves=True),
    "datasets": Peer(("datasets", "transformers"), "hf", 15, datasets_map),
    "megatron": Peer(IN_MEGATRON, "megatron", 10, megatron("preprocess_data", "--workers", "2"), megatron=True),
    "megatron-fast": Peer(
        (*IN_MEGATRON, "gigatoken", "awkward"), "megatron", 1.2, megatron("preprocess_data_fast", "--use-gigatoken"),
        most_memory=0.25, large=True, megatron=True,
    ),
}  # fmt: skip


def peer_section(peer: Peer) -> Callable[[Settings], Outcome]:
    """The section of a peer."""
    return lambda settings: (
        Outcome([f"skipped: {lack}"])
        if (lack := missing_requirements(peer, settings))
        else run_beside_peer(peer, settings)
    )


def missing_requirements(peer: Peer, settings: Settings) -> str:
    """The missing requirements of the peer, with the command that adds them; "" if nothing is missing."""
    if peer.megatron and not (settings.checkout and (settings.checkout / "tools" / "preprocess_data.py").is_file()):
        return "needs TOKSMITH_MEGATRON=/path, a checkout of github.com/NVIDIA/Megatron-LM"
    if not settings.peers.is_file():
        return f"no interpreter {settings.peers}; `make .venv-readers/.made` makes one with the peers, of 6 GB"
    ask = "import importlib.util, sys; print(*(name for name in sys.argv[1:] if not importlib.util.find_spec(name)))"
    command = [str(settings.peers), "-c", ask, *peer.needs]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return f"{settings.peers} lacks {names}; `make .venv-readers/.made` adds it" if names else ""


def tokenize(text: Text, peer: Peer, out: Path) -> list[str | Path]:
    """The same with toksmith."""
    rows = text.halves if peer.halves else [text.rows]
    options = ["--append", END, "--special", "allow", "--to", peer.form, "--threads", "2", "--quiet"]
    return [sys.executable, "-m", "toksmith", "tokenize", *rows, "-t", native(), "-o", out, *options]


def run_beside_peer(peer: Peer, settings: Settings) -> Outcome:
    """Run both in turn, and make a table of one row."""
    text = settings.large if peer.large else settings.small
    one = Text(text.corpus, ONE_DOCUMENT)
    costs: dict[str, list[Cost]] = {name: [] for name in ("ours", "theirs", "our start", "their start")}
    hashes: list[str] = []
    for _ in range(settings.runs):
        for name, input in (("our start", one), ("their start", one), ("ours", text), ("theirs", text)):
            out = scratch("corpus") / "out"
            if name.startswith("our"):
                command, cwd = tokenize(input, peer, out), ROOT
            else:
                command = [settings.peers, *peer.command(input, out)]
                cwd = settings.checkout if peer.megatron and settings.checkout else ROOT
            costs[name].append(run_command([*map(str, command)], out, cwd, environment()))
            if input is text:
                hashes.append(hash_of(out, peer.form))
            shutil.rmtree(out)
    return Outcome(peer_table(peer, text.size, costs, hashes), wrong=len({*hashes}) > 1)


def peer_table(peer: Peer, size: int, costs: dict[str, list[Cost]], hashes: list[str]) -> list[str]:
    """The lines of a peer."""
    ours, theirs, our_start, their_start = (
        best_cost(costs[name]) for name in ("ours", "theirs", "our start", "their start")
    )
    our_rest, their_rest = ours.subtract_start(our_start), theirs.subtract_start(their_start)
    whole, rest = theirs.wall_s / ours.wall_s, their_rest.wall_s / our_rest.wall_s
    pairs = [their.wall_s / our.wall_s for our, their in zip(costs["ours"], costs["theirs"], strict=True)]
    memory = ours.peak_mb / theirs.peak_mb
    judged = [target_verdict(min(whole, rest), peer.least)]
    if peer.most_memory:
        judged.append(
            f"memory: target {peer.most_memory}, seen {memory:.2f}: {'holds' if memory <= peer.most_memory else 'short'}"
        )
    return [
        "| | MB/s, without start | wall s | start s | processor s | start s | peak MB |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *(
            f"| {name} | {size / 1e6 / net.wall_s:.1f} | {cost.wall_s:.2f} | {start.wall_s:.2f} | {cost.cpu_s:.2f} "
            f"| {start.cpu_s:.2f} | {cost.peak_mb:.0f} |"
            for name, cost, start, net in (
                ("toksmith", ours, our_start, our_rest),
                ("peer", theirs, their_start, their_rest),
            )
        ),
        "",
        (
            f"Times as fast: whole command {whole:.2f} (pairs {min(pairs):.2f} to {max(pairs):.2f}), without start {rest:.2f}, "
            f"by processor time {their_rest.cpu_s / our_rest.cpu_s:.2f}; memory {memory:.2f} of the peer's."
        ),
        "; ".join(judged),
        f"equal: {hashes[0]}" if len({*hashes}) == 1 else f"The ids differ: {'; '.join(dict.fromkeys(hashes))}",
    ]


def environment() -> dict[str, str]:
    """The environment without network; otherwise unchanged."""
    return {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
