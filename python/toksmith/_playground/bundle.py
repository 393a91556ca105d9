"""The files of the page that its browser loads first: one script and one style sheet, so that it asks once and not file after file.

Each module becomes a function that returns its exports, after the modules that it imports; the forms of import and export are
those that the page's files have, and another form is an error. Left out: minifying, which a local page does not need.
"""

from __future__ import annotations

import re
from pathlib import Path

IMPORT = re.compile(r'import\s+(?:\{([^}]*)\}|\* as (\w+))\s+from\s+["\'](\.{1,2}/[^"\']+)["\'];?')
LATER = re.compile(r'\bawait import\(["\'](\./[^"\']+)["\']\)')
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) ([\w$]+))", re.MULTILINE)
EXPORTS = re.compile(r"^export \{([^}]*)\};", re.MULTILINE)
LINK = '<link rel="stylesheet" href="/static/{}">\n'
STYLES = re.compile(LINK.format('([^"]+)'))
LEFT = re.compile(r'^(?:import|export)\b.*|import\(["\']\..*', re.MULTILINE)


class Bundle:
    """The `parts` of a script: modules as functions that return their exports, in the order in which they need each other."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.variables: dict[Path, str | None] = {}

    def add(self, path: Path) -> str:
        """Adds a module after the modules that it imports; returns the variable that has its exports."""
        if path not in self.variables:
            self.variables[path] = None
            code, names = self.translate(path)
            self.variables[path] = f"m{len(self.parts)}"
            body = f"{code}\nreturn {{ {', '.join(names)} }};"
            self.parts.append(f"const {self.variables[path]} = (() => {{ // {path.name}\n{body}\n}})();\n")
        variable = self.variables[path]
        if variable is None:
            raise ValueError(f"{path} imports itself through another module")
        return variable

    def translate(self, path: Path) -> tuple[str, list[str]]:
        """The code of a module without imports and exports, and the names that it exports."""

        def named(match: re.Match[str]) -> str:
            variable = self.add((path.parent / match[3]).resolve())
            return f"const {match[2] or '{' + match[1].replace(' as ', ': ') + '}'} = {variable};"

        code = IMPORT.sub(named, path.read_text("utf-8"))
        code = LATER.sub(lambda match: self.add((path.parent / match[1]).resolve()), code)
        names = EXPORT.findall(code) + [name.strip() for match in EXPORTS.findall(code) for name in match.split(",")]
        code = EXPORTS.sub("", EXPORT.sub("", code))
        if left := LEFT.search(code):
            raise ValueError(f"{path}: {left[0]!r} has a form that a bundle cannot have")
        return code, names


def first_files(static: Path) -> dict[str, str]:
    """The texts of `index.html`, its script and its style sheet, by their names in the folder of the page."""
    page = (static / "index.html").read_text("utf-8")
    styles = STYLES.findall(page)
    page = STYLES.sub("", page).replace("</title>\n", f"</title>\n{LINK.format('page.css')}", 1)
    bundle = Bundle()
    bundle.add((static / "main.js").resolve())
    css = "".join((static / name).read_text("utf-8") for name in styles)
    return {"index.html": page, "page.css": css, "main.js": "".join(bundle.parts)}
