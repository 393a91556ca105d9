"""What every result can do once it gives its title and its blocks: print itself, and become a page, a picture or JSON.

The rule: one result says the same in every medium. `repr` stays one line; print it, or end a notebook cell with it.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

from rich.console import Group

from .._base.errors import shortened
from .._storage.atomic_files import AtomicFiles, write_file
from .blocks import View
from .html import fragment
from .pages import document
from .streams import one_line
from .terminal import make_console, picture, renderables

__all__ = ["Shown", "called", "check_writable", "json_of", "notebook", "save_text", "token_json"]

WIDTH = 80  # of `print(result)` on every terminal, so that documents show what everyone sees
NOTEBOOK_ITEMS, NOTEBOOK_CHARS = 2000, 200_000
MOST_TITLE = 300  # characters in a `repr`
TERMINAL_ITEMS, TERMINAL_CHARS = 2000, 8000  # of each block, and of each line and cell; also in pictures


def notebook(view: View) -> str:
    """A view as HTML for a notebook, of at most 200,000 characters; see `Shown._repr_html_`."""
    items = NOTEBOOK_ITEMS
    while len(html := fragment(view, items=items, chars=4 * items)) > NOTEBOOK_CHARS and items > 1:
        items //= 2
    return html


def save_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a text into a file, which holds its old content until it holds all of the new.

    Raises:
        FormatError: The file cannot be written. Nothing has changed.
    """
    write_file(path, text.encode())


def json_of(value: Any) -> Any:
    """A value as JSON values: a record by its fields, and its `token` as `text` and `hex` among them."""
    if isinstance(value, bytes):
        return token_json(value)
    if dataclasses.is_dataclass(value) or hasattr(value, "_asdict"):
        fields = vars(value) if dataclasses.is_dataclass(value) else value._asdict()
        found = {name: json_of(each) for name, each in fields.items()}
        return found if isinstance(found.get("token"), str) else found | found.pop("token", {})
    if isinstance(value, Mapping):
        return {str(name): json_of(each) for name, each in value.items()}
    return [*map(json_of, value)] if isinstance(value, (tuple, list)) else value


def token_json(token: bytes) -> dict[str, str]:
    """Bytes as JSON values: `text` to read, `hex` exact."""
    return {"text": token.decode("utf-8", "replace"), "hex": token.hex()}


Result = TypeVar("Result", bound="Shown")


def called(result: Result, name: str) -> Result:
    """A result about one tokenizer under the name that somebody gave it; any other result as it is.

    A library call knows only the tokenizer, and describes it by its kind and size.
    """
    about: Any = result
    if dataclasses.is_dataclass(about) and any(field.name == "tokenizer" for field in dataclasses.fields(about)):
        return cast("Result", dataclasses.replace(cast("Any", about), tokenizer=name))
    return result


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raises FormatError for a file that cannot be written, before long work whose result it is for. Nothing changes."""
    with AtomicFiles([path]) as files:
        files.add(path)


class Shown:
    """A result that is shown in every medium. It gives `_parts`."""

    __slots__ = ()

    def view(self) -> View:
        """What is to be seen, as plain data."""
        title, *blocks = self._parts()
        return View(title, tuple(blocks))

    def _parts(self) -> Iterator[Any]:
        """The title of the view, then its blocks from top to bottom."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {shortened(one_line(next(self._parts())), MOST_TITLE)}>"

    def to_dict(self) -> dict[str, Any]:
        """Everything that the result holds, as JSON values; bytes are hex."""
        return dict(json_of(self))

    def __str__(self) -> str:
        """The result as plain text without colour, 80 cells wide: what `print` shows.

        A long one stops and says so.
        """
        out = io.StringIO()
        console = make_console(out, width=WIDTH, color_system=None, legacy_windows=False)
        console.print(self.__rich__())
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    def __rich__(self) -> Group:
        """The result for a rich console: as wide as the console is, and as coloured as the terminal can.

        A long one stops and says so; `to_html`, `to_json` and `to_dict` have everything.
        """
        return Group(*renderables(self.view(), items=TERMINAL_ITEMS, chars=TERMINAL_CHARS))

    def _repr_html_(self) -> str:
        """The result as HTML for a notebook: inline styles only, no script, at most 200,000 characters.

        What does not fit is left out, and the view says how much.
        """
        return notebook(self.view())

    def to_html(self) -> str:
        """The result as one self-contained HTML page, complete at any size."""
        return document(self.view())

    def to_svg(self) -> str:
        """The result as an SVG picture of its terminal view, in colour; a long
        one stops and says so."""
        view = self.view()
        return picture(view.title, renderables(view, items=TERMINAL_ITEMS, chars=TERMINAL_CHARS), width=WIDTH)

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes `to_html()` into a file, which holds its old content until it
        holds all of the new.

        Raises:
            FormatError: The file cannot be written. Nothing has changed.
        """
        save_text(path, self.to_html())

    def save_svg(self, path: str | os.PathLike[str]) -> None:
        """Writes `to_svg()` into a file; see `save_html`."""
        save_text(path, self.to_svg())

    def to_json(self) -> str:
        """`to_dict()` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)
