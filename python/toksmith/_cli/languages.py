"""Files that are named by language: those of `parity`, `fairness`, `study --language` and `train --parity`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from .arguments import STDIN
from .counts import loaded_counts
from .inputs import corpus_of

__all__ = ["languages_asked", "of_languages", "one_file_by_language"]

OF_LANGUAGES = ("development", "ratio", "global_merges", "parity_window", "parity_alpha", "other")


def language_and_file(argument: str, hint: str = "FILE") -> tuple[str, str]:
    """The language, which is the part before = or the file name without its suffix, and the file."""
    name, equals, file = argument.partition("=")
    if not argument or (equals and not (name and file)):
        raise click.BadParameter(f"expected NAME=FILE or FILE, not {argument!r}", param_hint=hint)
    return (name, file) if equals else (Path(argument).stem, argument)


def one_file_by_language(arguments: Sequence[str], hint: str = "FILE") -> dict[str, Path]:
    """The file of each language."""
    found: dict[str, Path] = {}
    for argument in arguments:
        name, file = language_and_file(argument, hint)
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice; write NAME=FILE", param_hint=hint)
        found[name] = Path(file)
    return found


def languages_asked(asked: Mapping[str, Any]) -> bool:
    """Whether the options of `train` are those of several languages."""
    return asked["parity"] is not None or any(asked[name] is not None for name in OF_LANGUAGES)


def of_languages(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `toksmith.train` for several languages."""
    if asked["text"] is not None:
        raise click.BadParameter("is one text; with --parity give NAME=FILE for each language", param_hint="--text")
    found: dict[str, Any] = {"languages": corpora(asked)}
    if asked["development"] is not None:
        texts = by_language(asked["development"], "--development")
        found["development"] = {name: corpus_of(asked, files) for name, files in texts.items()}
    if asked["ratio"] is not None:
        found["ratios"] = dict(language_and_ratio(each) for each in asked["ratio"])
    if asked["other"] is not None:
        found["corpus"] = corpus_of(asked, asked["other"])
    return found


def corpora(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The corpus of each language, or its counts."""
    if asked["from_counts"]:
        if asked["files"]:
            raise click.BadParameter("trains on counts; give no texts", param_hint="--from-counts")
        named = by_language([str(each) for each in asked["from_counts"]], "--from-counts")
        return {name: loaded_counts([Path(file) for file in files]) for name, files in named.items()}
    if not asked["files"]:
        raise click.BadParameter("is missing; give NAME=FILE for each language", param_hint="FILE")
    named = by_language(asked["files"], "FILE")
    if len(named) < 2:
        said = f"expected files of at least two languages, not of {', '.join(named)} alone; write NAME=FILE"
        raise click.BadParameter(said, param_hint="FILE")
    return {name: corpus_of(asked, files) for name, files in named.items()}


def by_language(arguments: Sequence[str], hint: str) -> dict[str, list[str]]:
    """The files of each language; a language may have several."""
    found: dict[str, list[str]] = {}
    for argument in arguments:
        if argument == STDIN:
            raise click.BadParameter("stdin has no language; give NAME=-", param_hint=hint)
        name, file = language_and_file(argument, hint)
        found.setdefault(name, []).append(file)
    return found


def language_and_ratio(argument: str) -> tuple[str, float]:
    """The language and its ratio."""
    name, _, number = argument.partition("=")
    try:
        return name, float(number)
    except ValueError:
        raise click.BadParameter(
            f"expected NAME=NUMBER, such as hi=1.0, not {argument!r}", param_hint="--ratio"
        ) from None
