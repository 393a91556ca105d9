"""Usage: python -m docs_site.playground FOLDER: writes the playground's page without a server into FOLDER.

FOLDER/index.html runs from files alone: it is the page of `toksmith play` with the engine of `make web` in place of the server,
and with tokenizers that are trained here, on this project's documents and code. An existing folder is replaced.
"""

from __future__ import annotations

import ast
import base64
import json
import posixpath
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from classic_js import held_file

import toksmith
from toksmith._playground.bundle import first_files

from .pages import ROOT

__all__ = ["ENGINE", "has_engine", "link_playground", "write_playground"]

ENGINE = ROOT / "build" / "web"
STATIC = ROOT / "python" / "toksmith" / "_playground" / "static"
SIZE = 4096  # tokens
# The texts of each tokenizer, as patterns of paths.
TEXTS = {"docs": ("*.md", "docs/**/*.md"), "code": ("python/**/*.py", "crates/**/*.rs", "crates/web/js/**/*.js")}
SNAPSHOT = re.compile(r"<!-- snapshot: (.+?) -->", re.DOTALL)
SCRIPT = '<script type="module" src="/static/main.js"></script>'


def has_engine() -> bool:
    """Whether `make web` has built the engine."""
    return (ENGINE / "classic" / "playground.js").is_file()


def write_playground(folder: Path, engine: str = "engine") -> None:
    """Writes the page.

    Args:
        folder: The folder of index.html.
        engine: The address of the engine's classic scripts relative to the folder. If they are in the folder, they are copied.
    Raises:
        SystemExit: The engine is not built.
    """
    if not has_engine():
        raise SystemExit("toksmith: the playground needs build/web; run make web")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not engine.startswith(".."):
        shutil.copytree(ENGINE / "classic", folder / engine, ignore=shutil.ignore_patterns("toksmith.js"))
    files = first_files(STATIC)
    (folder / "page.css").write_text(files["page.css"], "utf-8")
    (folder / "page.js").write_text(files["main.js"], "utf-8")
    shutil.copy(STATIC / "icon.svg", folder)
    (folder / "tokenizers.js").write_text("".join(tokenizers()), "utf-8")
    scripts = "".join(
        f'<script src="{name}"></script>\n' for name in ("tokenizers.js", f"{engine}/playground.js", "page.js")
    )
    page = files["index.html"].replace(SCRIPT, "").replace("/static/", "")
    (folder / "index.html").write_text(page.replace("</body>", f"{scripts}</body>"), "utf-8")


def tokenizers() -> Iterator[str]:
    """The script with the trained tokenizers, and with what the page knows before its first request."""
    facts = []
    for name, patterns in TEXTS.items():
        paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
        tok = toksmith.train([path.read_text("utf-8") for path in paths], SIZE, progress=False)
        with tempfile.TemporaryDirectory() as room:
            tok.save(file := Path(room) / f"{name}.toksmith")
            yield held_file(file.name, file.read_bytes())
        row = {"name": name, "kind": tok.model.kind, "entries": len(tok), "vocab_size": tok.vocab_size}
        facts.append(row | {"special_tokens": [*tok.special_tokens], "file": file.name})
    page: dict[str, object] = {"version": toksmith.__version__, "texts": dict(toksmith.metrics.LANGUAGES)}
    page |= {"patterns": [*toksmith.patterns()], "tokenizers": facts}
    yield f"toksmithFiles.page = {json.dumps(page)};\n"


def link_playground(text: str, place: str) -> str:
    """The Markdown of the page at `place` with a link to the playground below its title, on the text of the page's first snapshot."""
    snapshot = SNAPSHOT.search(text)
    call = ast.parse(snapshot[1].strip(), mode="eval").body if snapshot else None
    shown = ast.literal_eval(call.args[1]) if isinstance(call, ast.Call) else None
    address = posixpath.relpath("playground/index.html", posixpath.dirname(place) or ".")
    if shown:
        address += f"#{fragment({'text': shown})}"
    title, end, rest = text.partition("\n\n")
    return f"{title}{end}[Try it in the playground]({address}), in this browser.\n\n{rest}"


def fragment(state: dict[str, Any]) -> str:
    """The part of the playground's address with a state, as static/state.js reads it."""
    deflate = zlib.compressobj(wbits=-15)
    packed = deflate.compress(json.dumps(state).encode()) + deflate.flush()
    return f"1.{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


if __name__ == "__main__":
    write_playground(Path(sys.argv[1]))
