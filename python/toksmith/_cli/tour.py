"""The command tour: the lesson in the terminal, on the user's own text, in stops.

A stop is a function that yields paragraphs and results, and a row in `STOPS`. On a terminal the tour waits after each.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import click

import toksmith

from .. import _render
from .._render import print_json, print_lines
from .arguments import STDIN, TOKENIZER, as_json, with_text
from .flags import error_message
from .inputs import read_one_text
from .output import merge_views, print_renderables
from .program import command

MOST_CHARS = 200_000  # of the training text
SHORT_CHARS = 48  # of the beginning that is explained in detail
MERGES = 300
PIECE_BYTES = 16  # of the piece that is merged step by step; a longer piece fills the screen
SAMPLE = (
    "A language model does not read letters. A tokenizer cuts the text into tokens and gives each a number, and the model "
    "reads the numbers. Frequent words are one token, rare words are several. A café, a naïve zoölogist and a 😄 show "
    "that letters are bytes, too. The tokenizer learned its tokens from texts, and the texts that it learned from decide "
    "which texts are short and which texts are long."
)
Part = str | _render.Shown


class Traveller(NamedTuple):
    """The subject of the stops: the text, its beginning, a tokenizer trained on it, and the tokenizers of -t.

    `notes` describe how the text differs from the input.
    """

    text: str
    short: str
    tok: toksmith.Tokenizer
    named: Mapping[str, toksmith.Tokenizer]
    notes: tuple[str, ...] = ()


def characters(on: Traveller) -> Iterator[Part]:
    """Characters and bytes."""
    yield f"To a computer your text begins with these numbers, its code points: {[ord(char) for char in on.short[:12]]}."
    yield "Files hold bytes instead. UTF-8 takes one byte for an English letter and up to four for others."
    yield toksmith.explain.sizes(on.short)
    yield "With 256 ids, one for each byte, every text can be written. But it is long. So frequent bytes are joined."


def pairs(on: Traveller) -> Iterator[Part]:
    """Which neighbours are frequent."""
    yield "Byte-pair encoding looks for the two neighbours that occur together most often. In your text:"
    yield toksmith.explain.ngrams(on.text, 2, unit="byte")


def by_hand(on: Traveller) -> Iterator[Part]:
    """Merging by hand."""
    yield "It joins that pair everywhere, counts again, and repeats. On the beginning of your text, three times:"
    yield toksmith.explain.steps(on.short, merges=3)


def training(on: Traveller) -> Iterator[Part]:
    """Training on all of your text."""
    merges = _render.number_of(len(on.tok.model.merges), "merge")
    yield f"The same on all of your text: {merges}, until no pair repeats or there are {MERGES}. The log of the first:"
    yield "\n".join(_render.merge_lines(merge_views(on.tok)[:8])) or "There are none: your text is too short."
    size, ids = len(on.text.encode()), on.tok.count(on.text)
    sizes = f"{_render.number_of(size, 'byte')} become{'s' if size == 1 else ''} {_render.number_of(ids, 'id')}"
    yield f"{sizes}, {size / ids:.2f} bytes for each id. A longer text gives a better tokenizer."


def pieces(on: Traveller) -> Iterator[Part]:
    """Where merging must stop."""
    yield "Merges would join whatever is frequent, across words. So a pattern first cuts the text into pieces:"
    yield " ".join(map(repr, on.tok.split(on.short, special="text")))
    yield "No token reaches from one piece into the next. A word holds the space before it, so nothing is lost."


def encoding(on: Traveller) -> Iterator[Part]:
    """Encoding."""
    short = [piece for piece in on.tok.split(on.short, special="text") if len(piece.encode()) <= PIECE_BYTES]
    word = max(short, key=len, default=on.short[: PIECE_BYTES // 4])
    yield f"To encode, merges are applied in the order in which they were learned. The piece {word!r}, step by step:"
    yield toksmith.explain.merges(on.tok, word)
    yield "And the beginning of your text:"
    yield toksmith.explain.text(on.tok, on.short)


def decoding(on: Traveller) -> Iterator[Part]:
    """Decoding."""
    ids = on.tok.encode(on.short, special="text")
    yield f"Each id stands for bytes. Joined, the bytes of {ids[:8]} … are your text: {on.tok.decode(ids)!r}."
    yield f"An id can be half a character, so not every list of ids is text: id 195 alone is {on.tok.decode([195])!r}."


def specials(on: Traveller) -> Iterator[Part]:
    """Special tokens."""
    tok, _ = toksmith.add_special(on.tok, ["<|endoftext|>"])
    yield "Some ids are for the program alone, such as the end of a text. A user can type their name. Then:"
    text = f"{on.short[:16]}<|endoftext|>"
    view = toksmith.explain.specials(tok, text)
    try:
        tok.encode(text)
    except toksmith.errors.SpecialTokenInText as error:  # the view shows Python's message
        view = replace(view, refusal=error_message(error, {"special": "--special"}))
    yield view
    yield "encode refuses such a text unless you say what it is. For a text of users, give --special text."


def model(on: Traveller) -> Iterator[Part]:
    """In a language model."""
    yield toksmith.explain.flow(on.tok, on.short)
    yield "One training step asks for the next token at each place at once:"
    yield toksmith.explain.targets(on.tok, on.short, window=8)


def others(on: Traveller) -> Iterator[Part]:
    """Other tokenizers on your text."""
    if not on.named:
        yield "Name published tokenizers to see how they cut your text: toksmith tour -t gpt2 -t o200k_base FILE."
        return
    yield "Your tokenizer knows your text and nothing else. Others were trained on much more text:"
    yield toksmith.explain.differences({"yours": on.tok, **on.named}, on.short)
    yield toksmith.explain.sizes(on.text, {"yours": on.tok, **on.named})


def further(on: Traveller) -> Iterator[Part]:
    """What next?"""
    yield "Train a tokenizer that you keep: toksmith train FILE -o my.toksmith --vocab-size 1000"
    yield "Draw a text as its tokens: toksmith explain text FILE -t my.toksmith"
    yield "Walk through a training: toksmith explain steps --text TEXT --merges 5"
    yield "Open all of this in a browser: toksmith play"
    yield "docs/lesson says more about each stop, and docs/guides about each task, with examples that run."


STOPS: tuple[Callable[[Traveller], Iterator[Part]], ...] = (
    *(characters, pairs, by_hand, training, pieces, encoding, decoding, specials, model, others, further),
)


@command("tour")
@click.option(
    "--tokenizer",
    "-t",
    type=TOKENIZER,
    multiple=True,
    envvar="TOKSMITH_TOKENIZER",
    show_envvar=True,
    help="Published name or tokenizer file to compare with; repeatable.",
)
@with_text
@click.option("--stop", type=int, help="Show only this stop, from 1.", show_default="all")
@as_json
def tour(tokenizer: list[str] | None, stop: int | None, **flags: Any) -> None:
    """Walk through the lesson in ten minutes, on your own text.

    Without a text the tour shows a sample. On a terminal it waits after each stop: Enter goes on, q ends it.
    """
    if stop is not None and not 1 <= stop <= len(STOPS):
        raise click.BadParameter(f"expected 1 to {len(STOPS)}, not {stop}", param_hint="--stop")
    tokenizers = {name: toksmith.load(name) for name in tokenizer or ()}
    nothing = flags["text"] is None and flags["file"] == STDIN and sys.stdin.isatty()
    content = "" if nothing else read_one_text(flags)
    on = make_traveller(content, tokenizers)
    stops = [*enumerate(STOPS, 1)] if stop is None else [(stop, STOPS[stop - 1])]
    notes = ("You gave no text, so the tour shows a sample: toksmith tour FILE shows yours.",) if nothing else on.notes
    if flags["as_json"]:
        print_json([stop_to_json(number, each, on) for number, each in stops])
        return
    for note in notes:
        print_lines("", *wrap_paragraph(note))
    for number, each in stops:
        print_lines("", f"{number} of {len(STOPS)}: {stop_title(each)}", "")
        for part in each(on):
            if isinstance(part, str):
                print_lines(*wrap_paragraph(part), "")
            else:
                print_renderables([part])
                print_lines("")
        if number != stops[-1][0] and not wait_for_enter():
            return


def make_traveller(source: str | bytes, published: Mapping[str, toksmith.Tokenizer]) -> Traveller:
    """The text and the values made from it; a sample if the input has no text."""
    text = source.decode(errors="replace") if isinstance(source, bytes) else source
    whole = text.strip()[:MOST_CHARS] or SAMPLE
    notes = []
    if not text.strip():
        notes.append("Your text is empty or white space, so the tour shows a sample.")
    if isinstance(source, bytes) and (invalid := text.count("\ufffd") - source.count("\ufffd".encode())):
        places = _render.number_of(invalid, "place")
        notes.append(f"Your text is not UTF-8 in {places}, where the tour shows U+FFFD. Is the file a text?")
    if len(text.strip()) > MOST_CHARS:
        notes.append(f"Your text is long. The tour looks at its first {MOST_CHARS:,} characters.")
    line = next((line.strip() for line in whole.splitlines() if len(line.strip()) > 3), whole)
    tok = toksmith.train([whole], min_count=2, progress=False)
    tok = toksmith.rewind(tok, min(len(tok), 256 + MERGES))
    return Traveller(whole, line[:SHORT_CHARS], tok, published, tuple(notes))


def stop_title(stop: Callable[..., object]) -> str:
    """The title of a stop."""
    return (stop.__doc__ or "").strip().rstrip(".")


def wrap_paragraph(text: str) -> list[str]:
    """A paragraph in lines of at most 80 columns; existing lines stay."""
    return [part for line in text.splitlines() for part in textwrap.wrap(line, 80) or [""]]


def stop_to_json(number: int, stop: Callable[[Traveller], Iterator[Part]], on: Traveller) -> dict[str, object]:
    """A stop as JSON values."""
    parts = [*stop(on)]
    views = [part.to_dict() for part in parts if not isinstance(part, str)]
    return {
        "stop": number,
        "title": stop_title(stop),
        "says": [part for part in parts if isinstance(part, str)],
        "views": views,
    }


def wait_for_enter() -> bool:
    """Whether to continue: at once without a terminal, else after Enter."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    try:
        return input("Enter goes on, q ends: ").strip().lower() != "q"
    except EOFError:
        return False
