"""`toksmith study`: which vocabulary size, pattern and kind suit some texts and a planned model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import toksmith
from toksmith import _render

from . import params as cli
from . import training_options as options
from .arguments import Files, GivenText, Json, Quiet, Raw, Threads, file_or_bytes, given, pattern_names
from .corpus import corpus_of
from .flags import flagged
from .languages import one_file_by_language
from .printed import print_lines, tell
from .progress import progress_of
from .shown import Html, Svg, prepared, refuse_other

__all__ = ["study"]

KINDS = ("bpe", "bpe-characters", "unigram", "wordpiece")  # those of the library, which a test compares
FLAGS = {name: f"--{name.replace('_', '-')}" for name in ("sizes", "params", "tokens", "width", "held_out", "keep")}
FLAGS |= {
    "patterns": "--pattern",
    "kinds": "--kind",
    "kind": "--kind",
    "pattern": "--pattern",
    "languages": "--language",
}
FLAGS |= {"special_tokens": "--special-token", "threads": "--threads", "max_memory": "--max-memory", "corpus": "FILE"}

Sizes = Annotated[
    str | None,
    cli.Option(help="Vocabulary sizes, such as 16000,32000.", default="powers of two around the scaling laws"),
]
Patterns = Annotated[
    list[str] | None,
    cli.Option(
        help="Split pattern to compare: a name, a regex, or none for no split; repeatable.",
        default="o200k",
        complete=pattern_names,
    ),
]
Kinds = Annotated[
    list[str] | None,
    cli.Option(choices=KINDS, help="Kind to compare; repeatable.", default="bpe"),
]
Params = Annotated[
    float | None, cli.Option(help="Parameters of the model outside the vocabulary's matrices.", default="1e9")
]
Tokens = Annotated[float | None, cli.Option(help="Tokens that the model is to be trained on.", default="2e10")]
Tied = Annotated[bool, cli.Option("--tied", help="The model has one matrix for input and output, not two.")]
Width = Annotated[
    int | None, cli.Option(help="Numbers in a row of these matrices.", default="the usual one of so many parameters")
]
Language = Annotated[
    list[str] | None,
    cli.Option(
        metavar="[NAME=]FILE",
        help="The same text in one language, for parity; repeatable.",
        default="no parity",
        argument="languages",
    ),
]
HeldOut = Annotated[
    list[str] | None,
    cli.Option(metavar="FILE", help="Texts to measure; repeatable.", default="5 % of the corpus, by a fixed rule"),
]
Keep = Annotated[
    Path | None,
    cli.Option(
        help="Folder for the trained tokenizers; the same command continues there after an interruption.",
        default="keep nothing",
    ),
]


def study(
    files: Files = None,
    *,
    text: GivenText = None,
    sizes: Sizes = None,
    pattern: Patterns = None,
    kind: Kinds = None,
    params: Params = None,
    tokens: Tokens = None,
    tied: Tied = False,
    width: Width = None,
    language: Language = None,
    held_out: HeldOut = None,
    special_token: options.SpecialToken = None,
    keep: Keep = None,
    field: options.Field = None,
    raw: Raw = False,
    max_memory: options.MaxMemory = None,
    threads: Threads = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare vocabulary sizes, patterns and kinds for texts and a planned model.

    Each candidate is trained on the corpus without its held-out texts and measured on those. The result is a range of sizes
    with its reasons, beside the sizes that published scaling laws give.
    """
    asked: dict[str, Any] = given(params=params, tokens=tokens, width=width, keep=keep, threads=threads)
    asked |= given(
        special_tokens=special_token,
        kinds=kind,
        languages=None if language is None else one_file_by_language(language, "--language"),
    )
    asked |= given(sizes=None if sizes is None else sizes_of(sizes))
    asked |= given(patterns=None if pattern is None else [None if each == "none" else each for each in pattern])
    asked |= given(max_memory=None if max_memory is None else options.bytes_of(max_memory))
    for path, suffixes, flag in ((html, ("html", "htm"), "--html"), (svg, ("svg",), "--svg")):
        refuse_other(path, suffixes, flag)
        if path is not None:
            _render.check_writable(path)
    if held_out is not None:
        asked["held_out"] = [file_or_bytes(name, field, raw=raw) for name in held_out]
    corpus = corpus_of(files, text, field=field, raw=raw, again=True)
    try:
        with flagged(FLAGS):
            found = toksmith.study(corpus, tied=tied, **asked, **progress_of(as_json=as_json, quiet=quiet))
    except KeyboardInterrupt:
        again = "nothing is kept; with --keep FOLDER, the same command would continue"
        tell(f"interrupted; {again if keep is None else f'the same command continues in {keep}'}")
        raise cli.Exit(130) from None
    except toksmith.CheckpointError as error:
        tell(f"{error.path}: cannot write the checkpoint: {error.problem}")
        raise cli.Exit(1) from None
    prepared(found, as_json=as_json, html=html, svg=svg)()
    if found.keep is not None and not (as_json or quiet):
        print_lines(f"the tokenizers are kept in {found.keep}")


def sizes_of(words: str) -> list[int]:
    """The sizes of --sizes."""
    plain = [word.replace("_", "").strip() for word in words.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 20 for word in plain):
        raise cli.BadParameter(f"{words!r} is not a list of sizes such as 8000,16000,32000", param_hint="--sizes")
    return [int(word) for word in plain]
