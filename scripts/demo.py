"""The demo (`make demo`): trains, saves, loads and uses one tokenizer on real text, and replays the tutorials' figures.

It trains on the sources of Python's standard library, which every machine has, then saves, reloads, encodes and decodes
each source. The exit code is 1 if a decoded source differs. It needs no network and no data file. The figures hold for
this machine and moment; docs/perf.md does not cite them.
"""

from __future__ import annotations

import inspect
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import toksmith
from toksmith import _render
from toksmith._cli.output import merge_views
from toksmith._cli.program import use_utf8

if TYPE_CHECKING:
    from rich.console import Console

VOCAB_SIZE = 8192
NOT_THE_LIBRARY = {"site-packages", "dist-packages", "test", "tests", "idle_test"}

TUTORIAL_TEXT = (
    "Byte-Pair Encoding (BPE) was initially developed as an algorithm to compress texts, and then used by OpenAI for "
    "tokenization when pretraining the GPT model. It’s used by a lot of Transformer models, including GPT, GPT-2, "
    "RoBERTa, BART, and DeBERTa."
)
TUTORIAL_PAIRS = [
    *((105, 110), (32, 97), (32, 116), (101, 110), (44, 32), (111, 100), (256, 103), (101, 108), (101, 100)),
    *((257, 110), (111, 114), (71, 80), (267, 84), (82, 84), (114, 32), (262, 32), (32, 119), (115, 32)),
    *((105, 116), (121, 32)),
]
TUTORIAL_IDS = [104, 263, 108, 111, 272, 266, 108, 100, 33]


class Demo:
    """State of the demo: the console, the figures of the closing table, and whether all checks passed."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.seconds: dict[str, float] = {}
        self.well = True

    def check(self, claim: str, holds: bool) -> None:
        """Print a claim with its verdict, and record a failure."""
        self.console.print("  [green]ok[/]  " if holds else "  [bold red]NO[/]  ", end="")
        self.console.print(claim, markup=False)
        self.well = self.well and holds

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Keep the seconds of a step."""
        start = time.perf_counter()
        yield
        self.seconds[step] = time.perf_counter() - start


def library_sources() -> list[Path]:
    """The Python sources of the running standard library, in order."""
    library = Path(sysconfig.get_paths()["stdlib"])
    sources = sorted(library.rglob("*.py"))
    return [path for path in sources if NOT_THE_LIBRARY.isdisjoint(path.relative_to(library).parts)]


def train_and_reload(demo: Demo, sources: list[Path]) -> toksmith.Tokenizer:
    """Train, save to a new folder, load, compare."""
    demo.console.rule(f"Training to {VOCAB_SIZE:,} tokens", align="left")
    with demo.timed("train"):
        tok = toksmith.train(sources, VOCAB_SIZE, special_tokens=["<|endoftext|>"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "python.toksmith"
        tok.save(path)
        size = path.stat().st_size
        with demo.timed("load"):
            again = toksmith.load(path)
    demo.check(
        f"saved as python.toksmith ({size:,} bytes), reloaded, and equal ({tok.fingerprint[:12]}…)", again == tok
    )
    return again


def show_merges(demo: Demo, tok: toksmith.Tokenizer) -> None:
    """Print ten merges, from the first to the last."""
    demo.console.rule("Ten of its merges, from the first to the last", align="left")
    views = merge_views(tok)
    picked = [views[round(len(views) ** (step / 9)) - 1] for step in range(10)]
    for line in _render.merge_lines(picked, width=20):
        demo.console.print(f"  {line}", markup=False)


def encode_and_decode(demo: Demo, tok: toksmith.Tokenizer, sources: list[Path]) -> None:
    """Encode and decode every source, and compare; print sizes and speed."""
    demo.console.rule("Encoding and decoding the whole library", align="left")
    texts = [path.read_bytes() for path in sources]
    with demo.timed("encode"):
        rows = tok.encode_ragged(texts, special="text")
    with demo.timed("decode"):
        back = [tok.decode_bytes(rows[place]) for place in range(len(texts))]
    demo.check(f"all {len(texts):,} files are restored byte for byte", back == texts)
    size = sum(map(len, texts))
    tokens = len(rows.ids)
    demo.console.print(f"  {size:,} bytes are {tokens:,} tokens: {size / tokens:.2f} bytes per token")
    demo.console.print("  one run on this machine; training and encoding on all processors, decoding on one:")
    for step, seconds in demo.seconds.items():
        speed = "" if step == "load" else f"{size / 1e6 / seconds:10.1f} MB/s"
        demo.console.print(f"    {step:<8}{seconds:6.2f} s{speed}")


def show_tokens(demo: Demo, tok: toksmith.Tokenizer) -> None:
    """Draw some lines of code, and characters that are rare in the library, as tokens."""
    demo.console.rule("How it encodes code, and text unlike its own", align="left")
    code = inspect.getsource(show_merges).rstrip("\n")
    for text in (code, "नमस्ते, 👋! naïve café<|endoftext|>"):
        views = _render.token_views(tok.encode(text, special="allow"), tok.token_bytes, tok.special_tokens.values())
        demo.console.print(*_render.draw_tokens(views), sep="\n")
        demo.console.print(f"  {_render.summary(views)}", end="\n\n")


def tutorials(demo: Demo) -> None:
    """Repeat the tutorials' training: their text, unsplit; their 20 merges; their ids of "hello world!"."""
    demo.console.rule("The tutorials' 20 merges", align="left")
    tok = toksmith.train(TUTORIAL_TEXT, merges=20, pattern=None, ties="first_seen", progress=False)
    views = merge_views(tok)
    for line in _render.merge_lines(views):
        demo.console.print(f"  {line}", markup=False)
    size = len(TUTORIAL_TEXT.encode())
    demo.check(
        f"{size} bytes become {views[-1].left} ids, {size / views[-1].left:.2f} bytes per id", views[-1].left == 186
    )
    pairs = [(left, right) for left, right, _ in tok.model.merges.tolist()]
    demo.check("the tutorials print these merges, in this order", pairs == TUTORIAL_PAIRS)
    ids = tok.encode("hello world!")
    demo.check(f"encode('hello world!') is {ids}, as in the tutorials", ids == TUTORIAL_IDS)
    demo.check(f"decode returns {tok.decode(ids)!r}", tok.decode(ids) == "hello world!")


def main() -> int:
    """Run the demo; 0 when every check holds, else 1."""
    use_utf8()
    demo = Demo(_render.make_console(sys.stdout, soft_wrap=not sys.stdout.isatty()))
    sources = library_sources()
    if not sources:
        demo.console.print("This Python has no source files of its standard library to train on.")
        return 1
    demo.console.print(f"toksmith {toksmith.__version__} on {len(sources):,} sources of Python's standard library")
    tok = train_and_reload(demo, sources)
    show_merges(demo, tok)
    encode_and_decode(demo, tok, sources)
    show_tokens(demo, tok)
    tutorials(demo)
    demo.console.print("\nAll checks passed." if demo.well else "\nA check failed: see NO above.")
    return 0 if demo.well else 1


if __name__ == "__main__":
    sys.exit(main())
