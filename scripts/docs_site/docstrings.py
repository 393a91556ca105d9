"""Docstrings as Markdown: what mkdocstrings, which builds the API's pages, is given in their place.

toksmith's docstrings have the sections that mkdocstrings knows (Args, Returns, Raises, Attributes), two of their own (Cost,
Source), and examples without a heading. `as_markdown` gives examples a block and sections of one line their title, and makes
links of the documents that a docstring names.
"""

from __future__ import annotations

import re

from .pages import place_of

__all__ = ["as_markdown"]

TITLE = re.compile(r"(?:Args|Attributes|Raises|Returns|Yields):$")
PROSE = re.compile(r"^Raises:\n    (?!\w[\w, ]*:)", re.MULTILINE)  # a section of sentences, without names of errors
CONTINUED = re.compile(r" {4}(?!\S[\w., ]*:)\S")  # a line below `Args:` that names nothing continues the one above
DOCUMENT = re.compile(r"`?\b(docs/[\w/-]+\.md)\b`?")
ONE_LINE = re.compile(r"(?:Attributes|Cost|Raises|Returns|Source|Yields):(?: |(?<=Cost:)$|(?<=Source:)$)")


def as_markdown(text: str) -> str:
    """A docstring, without the indentation of its source, as mkdocstrings reads it best."""
    made: list[str] = []
    # "example" up to the next empty line, "section" in one that begins on the line of its title, "items" below a title.
    inside = ""
    for line in [*PROSE.sub("Raises: ", text).split("\n"), ""]:
        ends = not line.strip() or (inside in ("section", "items") and not line.startswith(" "))
        if ends and inside == "example":
            made.append("```")
        if inside != "example" and not line.startswith(">>> "):
            line = DOCUMENT.sub(link, line)
        inside = "" if ends else inside
        if inside == "example":
            made.append("" if line == "<BLANKLINE>" else line)
        elif inside == "section":
            made.append(line.strip())
        elif inside == "items":
            made.append(f"    {line}" if CONTINUED.match(line) else line)
        elif line.startswith(">>> "):
            made += [*empty_line(made), "```pycon", line]
            inside = "example"
        elif ONE_LINE.match(line):
            made += [*empty_line(made), re.sub(r"^(\w+:)", r"**\1**", line)]
            inside = "section"
        elif TITLE.match(line):
            made += [*empty_line(made), line]
            inside = "" if line in ("Returns:", "Yields:") else "items"
        else:
            made.append(line)
    return "\n".join(made).rstrip("\n")


def link(found: re.Match[str]) -> str:
    """A document that is named, as a link from a page in the folder of the API."""
    return f"[`{found[1]}`](../{place_of(found[1])})"


def empty_line(made: list[str]) -> list[str]:
    """An empty line, where the last one is not empty."""
    return [""] if made and made[-1].strip() else []
