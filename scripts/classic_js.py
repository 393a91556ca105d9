"""Usage: scripts/classic_js.py FOLDER OUT
Writes the ES modules of FOLDER as classic scripts into OUT, for pages that are opened as files: browsers load no modules,
workers or WebAssembly there. `toksmith.js` defines the global `toksmith`, `playground.js` the engine of the playground's
page, and each `.wasm.js` holds a module.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from pathlib import Path

IMPORT = re.compile(r'import\s+(?:\{([^}]*)\}|\* as (\w+))\s+from\s+["\'](\.{1,2}/[^"\']+)["\'];?')
LATER = re.compile(r'\bawait import\(["\'](\./[^"\']+)["\']\)')
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) ([\w$]+))", re.MULTILINE)
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


def worker_code(path: Path) -> str:
    """The text of a classic worker."""
    bundle = Bundle()
    code, _ = bundle.translate(path.resolve())
    return f"globalThis.toksmithFiles ??= {{}};\n{''.join(bundle.parts)}(async () => {{\n{code}}})();\n"


def page_code(name: str, *paths: Path) -> str:
    """A script that makes the names of modules those of a global."""
    bundle = Bundle()
    names = ", ".join(f"...{bundle.add(path.resolve())}" for path in paths)
    return f"globalThis.{name} = (() => {{\n{''.join(bundle.parts)}return {{ {names} }};\n}})();\n"


def held_file(name: str, data: bytes) -> str:
    """A script that holds a file."""
    packed = base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
    return f'(globalThis.toksmithFiles ??= {{}})["{name}"] = "{packed}";\n'


def main(folder: Path, out: Path) -> None:
    """Writes the scripts."""
    files = {"worker.js": json.dumps(worker_code(folder / "worker.js"))}
    page = page_code("toksmith", folder / "toksmith.js", folder / "playground" / "source.js")
    write_script(out / "toksmith.js", folder, files, page)
    files["playground.js"] = json.dumps(worker_code(folder / "playground" / "worker.js"))
    write_script(out / "playground.js", folder, files, page_code("toksmithPage", folder / "playground" / "engine.js"))
    for path in folder.glob("*.wasm"):
        (out / f"{path.name}.js").write_text(held_file(path.name, path.read_bytes()), "utf-8")


def write_script(path: Path, folder: Path, files: dict[str, str], code: str) -> None:
    """Writes a script with the texts of workers."""
    held = "".join(f"toksmithFiles[{json.dumps(name)}] = {text};\n" for name, text in files.items())
    path.write_text((folder / "classic.js").read_text("utf-8") + held + code, "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
