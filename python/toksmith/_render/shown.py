"""The base class of all results: from a title and blocks to print, a page, a picture and JSON.

One result has the same content in every medium. `repr` is one line; print a result, or end a notebook cell with it.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

from rich.console import Group

from .._base.wording import shorten_middle
from .._storage.atomic_files import AtomicFiles, write_file
from .blocks import View
from .html import fragment
from .pages import document
from .streams import one_line
from .terminal import make_console, picture, renderables

__all__ = ["Shown", "check_writable", "json_of", "notebook", "save_text", "token_json", "with_tokenizer_name"]

WIDTH = 80  # cells of `print(result)` on every terminal, so that documentation matches every user's output
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
    """Writes a text into a file, atomically.

    Raises:
        FormatError: The file cannot be written; it is unchanged.
    """
    write_file(path, text.encode())


def json_of(value: Any) -> Any:
    """A value as JSON values: a record as its fields; its `token` becomes `text` and `hex` among them."""
    if isinstance(value, bytes):
        return token_json(value)
    if dataclasses.is_dataclass(value) or hasattr(value, "_asdict"):
        fields = vars(value) if dataclasses.is_dataclass(value) else value._asdict()
        record = {name: json_of(each) for name, each in fields.items()}
        return record if isinstance(record.get("token"), str) else record | record.pop("token", {})
    if isinstance(value, Mapping):
        return {str(name): json_of(each) for name, each in value.items()}
    return [*map(json_of, value)] if isinstance(value, (tuple, list)) else value


def token_json(token: bytes) -> dict[str, str]:
    """Bytes as JSON values: `text` for reading, and the exact `hex`."""
    return {"text": token.decode("utf-8", "replace"), "hex": token.hex()}


Result = TypeVar("Result", bound="Shown")


def with_tokenizer_name(result: Result, name: str) -> Result:
    """A result about one tokenizer with the user's name for it; any other result unchanged.

    A library call knows only the tokenizer, and describes it by its kind and size.
    """
    about: Any = result
    if dataclasses.is_dataclass(about) and any(field.name == "tokenizer" for field in dataclasses.fields(about)):
        return cast("Result", dataclasses.replace(cast("Any", about), tokenizer=name))
    return result


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raises FormatError if a file cannot be written, for use before long work; it changes no file."""
    with AtomicFiles([path]) as files:
        files.add(path)


class Shown:
    """A result for every medium; a subclass defines `_parts`."""

    __slots__ = ()

    def view(self) -> View:
        """The content of the result, as plain data."""
        title, *blocks = self._parts()
        return View(title, tuple(blocks))

    def _parts(self) -> Iterator[Any]:
        """The title of the view, then its blocks from top to bottom."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {shorten_middle(one_line(next(self._parts())), MOST_TITLE)}>"

    def to_dict(self) -> dict[str, Any]:
        """All content of the result, as JSON values; bytes are hex."""
        return dict(json_of(self))

    def __str__(self) -> str:
        """The result as plain text without colour, 80 cells wide, for `print`.

        A long one ends early with a note.
        """
        out = io.StringIO()
        console = make_console(out, width=WIDTH, color_system=None, legacy_windows=False)
        console.print(self.__rich__())
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    def __rich__(self) -> Group:
        """The result for a rich console, with its width and its colours.

        A long one ends early with a note; `to_html`, `to_json` and `to_dict` have everything.
        """
        return Group(*renderables(self.view(), items=TERMINAL_ITEMS, chars=TERMINAL_CHARS))

    def _repr_html_(self) -> str:
        """The result as HTML for a notebook: inline styles only, no script, at most 200,000 characters.

        A longer one leaves rows out, and the view gives their number.
        """
        return notebook(self.view())

    def to_html(self) -> str:
        """The result as one self-contained HTML page, complete at any size."""
        return document(self.view())

    def to_svg(self) -> str:
        """The result as an SVG picture of its terminal view, in colour; a long
        one ends early with a note."""
        view = self.view()
        return picture(view.title, renderables(view, items=TERMINAL_ITEMS, chars=TERMINAL_CHARS), width=WIDTH)

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes `to_html()` into a file, atomically.

        Raises:
            FormatError: The file cannot be written; it is unchanged.
        """
        save_text(path, self.to_html())

    def save_svg(self, path: str | os.PathLike[str]) -> None:
        """Writes `to_svg()` into a file; see `save_html`."""
        save_text(path, self.to_svg())

    def to_json(self) -> str:
        """`to_dict()` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_rows(self) -> list[dict[str, Any]]:
        """The main table of the result: the first list of records in `to_dict()`;
        without one, the whole result as one record."""
        values = self.to_dict()
        tables = [
            each for each in values.values() if isinstance(each, list) and all(isinstance(row, dict) for row in each)
        ]
        return next(filter(None, tables), []) if tables else [values]

    def to_pandas(self) -> Any:
        """`to_rows()` as a `pandas.DataFrame`.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas", name="pandas") from error
        return pd.DataFrame(self.to_rows())
