"""Usage: scripts/classic_js.py FOLDER OUT
Writes the ES modules of FOLDER as classic scripts into OUT, for pages that are opened as files: browsers load no modules,
workers or WebAssembly there. `toksmith.js` defines the global `toksmith`, and each `.wasm.js` holds a module.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from pathlib import Path

IMPORT = re.compile(r'import\s+(?:\{([^}]*)\}|\* as (\w+))\s+from\s+["\'](\./[^"\']+)["\'];?')
LATER = re.compile(r'\bawait import\(["\'](\./[^"\']+)["\']\)')
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
LEFT = re.compile(r'^(?:import|export)\b.*|import\(["\']\..*', re.MULTILINE)


class Bundle:
    """Modules as functions that give their names, in the order in which they need each other."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.numbers: dict[Path, int | None] = {}

    def add(self, path: Path) -> str:
        """Adds a module after the modules that it imports; returns the variable that has its names."""
        if path not in self.numbers:
            self.numbers[path] = None
            code, names = self.translate(path)
            self.numbers[path] = len(self.parts)
            exports = ", ".join(names)
            self.parts.append(f"const m{self.numbers[path]} = (() => {{\n{code}\nreturn {{ {exports} }};\n}})();\n")
        if self.numbers[path] is None:
            raise ValueError(f"{path} imports itself through another module")
        return f"m{self.numbers[path]}"

    def translate(self, path: Path) -> tuple[str, list[str]]:
        """The code of a module without imports and exports, and the names that it exports."""

        def named(match: re.Match[str]) -> str:
            variable = self.add((path.parent / match[3]).resolve())
            names = match[2] or "{" + match[1].replace(" as ", ": ") + "}"
            return f"const {names} = {variable};"

        code = IMPORT.sub(named, path.read_text("utf-8"))
        code = LATER.sub(lambda match: self.add((path.parent / match[1]).resolve()), code)
        names = EXPORT.findall(code)
        code = EXPORT.sub("", code)
        if left := LEFT.search(code):
            raise ValueError(f"{path}: {left[0]!r} has a form that this script does not translate")
        return code.replace("import.meta.url", "globalThis.toksmithFiles.url"), names


def main(folder: Path, out: Path) -> None:
    """Writes the scripts."""
    worker = Bundle()
    code, _ = worker.translate((folder / "worker.js").resolve())
    page = Bundle()
    names = [page.add((folder / name).resolve()) for name in ("toksmith.js", "playground/source.js")]
    files = "globalThis.toksmithFiles ??= {}"
    script = "".join(worker.parts) + f"(async () => {{\n{code}}})();\n"
    packed = json.dumps(f"{files};\n{script}")
    head = (
        f"{files};\n"
        "toksmithFiles.url ??= globalThis.document?.currentScript?.src ?? globalThis.location.href;\n"
        f'toksmithFiles["worker.js"] = {packed};\n'
    )
    modules, exports = "".join(page.parts), ", ".join(f"...{name}" for name in names)
    body = f"globalThis.toksmith = (() => {{\n{modules}return {{ {exports} }};\n}})();\n"
    (out / "toksmith.js").write_text(head + body, "utf-8")
    for path in folder.glob("*.wasm"):
        data = base64.b64encode(gzip.compress(path.read_bytes(), 9, mtime=0)).decode()
        (out / f"{path.name}.js").write_text(f'({files})["{path.name}"] = "{data}";\n', "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
