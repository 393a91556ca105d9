"""`toksmith study`: compares vocabulary sizes, patterns and kinds for texts and a planned model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

import toksmith
from toksmith import _render

from .._render import print_lines, tell
from .arguments import PATH, complete_from, drop_none, threads, with_files, with_report
from .inputs import corpus_of, file_or_bytes, files_by_language, progress_argument
from .output import check_suffix, prepare_result
from .program import command
from .training_options import max_memory, parse_numbers, parse_size, special_token

KINDS = ("bpe", "bpe-characters", "unigram", "wordpiece")  # a test compares them with the library's


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
    shell_complete=complete_from(lambda: [*toksmith.patterns(), "none"]),
)
@click.option(
    "--kind", type=click.Choice(KINDS), multiple=True, help="Kind to compare; repeatable.", show_default="bpe"
)
@click.option("--params", type=float, help="Model parameters outside the vocabulary's matrices.", show_default="1e9")
@click.option("--tokens", type=float, help="Number of tokens that the model will be trained on.", show_default="2e10")
@click.option("--tied", is_flag=True, help="Assume one matrix for input and output, not two.")
@click.option(
    "--width", type=int, help="Width of these matrices in numbers.", show_default="the usual width at --params"
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

    Each candidate is trained on the corpus without its held-out texts, and measured on the held-out texts. The result
    is a range of sizes with its reasons, next to the sizes of published scaling laws.
    """
    arguments: dict[str, Any] = drop_none(params=params, tokens=tokens, width=width, keep=keep, threads=more["threads"])
    arguments |= drop_none(
        special_tokens=special_token,
        kinds=kind,
        languages=None if language is None else files_by_language(language, "--language"),
    )
    arguments |= drop_none(sizes=None if sizes is None else parse_numbers(sizes, "--sizes"))
    arguments |= drop_none(patterns=None if pattern is None else [None if each == "none" else each for each in pattern])
    arguments |= drop_none(max_memory=None if max_memory is None else parse_size(max_memory))
    for path, suffixes, flag in ((more["html"], ("html", "htm"), "--html"), (more["svg"], ("svg",), "--svg")):
        check_suffix(path, suffixes, flag)
        if path is not None:
            _render.check_writable(path)
    if held_out is not None:
        arguments["held_out"] = [file_or_bytes(name, more["field"], raw=more["raw"]) for name in held_out]
    corpus = corpus_of(more, files, again=True)
    try:
        result = toksmith.study(corpus, tied=tied, **arguments, **progress_argument(more))
    except KeyboardInterrupt:
        again = "nothing is kept; with --keep FOLDER, the same command would continue"
        tell(f"interrupted; {again if keep is None else f'the same command continues in {keep}'}")
        raise Exit(130) from None
    except toksmith.errors.CheckpointError as error:
        tell(f"{error.path}: cannot write the checkpoint: {error.problem}")
        raise Exit(1) from None
    prepare_result(result, more)()
    if result.keep is not None and not (more["as_json"] or more["quiet"]):
        print_lines(f"the tokenizers are kept in {result.keep}")
