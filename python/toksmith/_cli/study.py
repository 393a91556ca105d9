"""`toksmith study`: which vocabulary size, pattern and kind suit some texts and a planned model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

import toksmith
from toksmith import _render

from .._render import print_lines, tell
from .arguments import PATH, completing, given, threads, with_files, with_report
from .inputs import corpus_of, file_or_bytes, one_file_by_language, progress_of
from .printed import prepared, refuse_other
from .program import command
from .training_options import bytes_of, max_memory, numbers_of, special_token

__all__ = ["study"]

KINDS = ("bpe", "bpe-characters", "unigram", "wordpiece")  # those of the library, which a test compares


@command("study", patterns="--pattern", kinds="--kind", languages="--language", corpus="FILE")
@with_files
@click.option(
    "--sizes", help="Vocabulary sizes, such as 16000,32000.", show_default="powers of two around the scaling laws"
)
@click.option(
    "--pattern",
    multiple=True,
    help="Split pattern to compare: a name, a regex, or none for no split; repeatable.",
    show_default="o200k",
    shell_complete=completing(lambda: [*toksmith.patterns(), "none"]),
)
@click.option(
    "--kind", type=click.Choice(KINDS), multiple=True, help="Kind to compare; repeatable.", show_default="bpe"
)
@click.option(
    "--params", type=float, help="Parameters of the model outside the vocabulary's matrices.", show_default="1e9"
)
@click.option("--tokens", type=float, help="Tokens that the model is to be trained on.", show_default="2e10")
@click.option("--tied", is_flag=True, help="The model has one matrix for input and output, not two.")
@click.option(
    "--width", type=int, help="Numbers in a row of these matrices.", show_default="the usual one of so many parameters"
)
@click.option(
    "--language",
    multiple=True,
    metavar="[NAME=]FILE",
    help="The same text in one language, for parity; repeatable.",
    show_default="no parity",
)
@click.option(
    "--held-out",
    multiple=True,
    metavar="FILE",
    help="Texts to measure; repeatable.",
    show_default="5 % of the corpus, by a fixed rule",
)
@special_token
@click.option(
    "--keep",
    type=PATH,
    help="Folder for the trained tokenizers; the same command continues there after an interruption.",
    show_default="keep nothing",
)
@max_memory(kinds=False)
@threads
@with_report
def study(
    files: list[str] | None,
    *,
    sizes: str | None,
    pattern: list[str] | None,
    kind: list[str] | None,
    params: float | None,
    tokens: float | None,
    tied: bool,
    width: int | None,
    language: list[str] | None,
    held_out: list[str] | None,
    special_token: list[str] | None,
    keep: Path | None,
    max_memory: str | None,
    **more: Any,
) -> None:
    """Compare vocabulary sizes, patterns and kinds for texts and a planned model.

    Each candidate is trained on the corpus without its held-out texts and measured on those. The result is a range of sizes
    with its reasons, beside the sizes that published scaling laws give.
    """
    asked: dict[str, Any] = given(params=params, tokens=tokens, width=width, keep=keep, threads=more["threads"])
    asked |= given(
        special_tokens=special_token,
        kinds=kind,
        languages=None if language is None else one_file_by_language(language, "--language"),
    )
    asked |= given(sizes=None if sizes is None else numbers_of(sizes, "--sizes"))
    asked |= given(patterns=None if pattern is None else [None if each == "none" else each for each in pattern])
    asked |= given(max_memory=None if max_memory is None else bytes_of(max_memory))
    for path, suffixes, flag in ((more["html"], ("html", "htm"), "--html"), (more["svg"], ("svg",), "--svg")):
        refuse_other(path, suffixes, flag)
        if path is not None:
            _render.check_writable(path)
    if held_out is not None:
        asked["held_out"] = [file_or_bytes(name, more["field"], raw=more["raw"]) for name in held_out]
    corpus = corpus_of(more, files, again=True)
    try:
        found = toksmith.study(corpus, tied=tied, **asked, **progress_of(more))
    except KeyboardInterrupt:
        again = "nothing is kept; with --keep FOLDER, the same command would continue"
        tell(f"interrupted; {again if keep is None else f'the same command continues in {keep}'}")
        raise Exit(130) from None
    except toksmith.CheckpointError as error:
        tell(f"{error.path}: cannot write the checkpoint: {error.problem}")
        raise Exit(1) from None
    prepared(found, more)()
    if found.keep is not None and not (more["as_json"] or more["quiet"]):
        print_lines(f"the tokenizers are kept in {found.keep}")
