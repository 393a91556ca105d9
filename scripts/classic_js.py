"""Usage: scripts/classic_js.py FOLDER OUT
Writes the ES modules of FOLDER as classic scripts into OUT, for pages that are opened as files: browsers load no modules,
workers or WebAssembly there. `toksmith.js` defines the global `toksmith`, `playground.js` the engine of the playground's
page, and each `.wasm.js` holds a module.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from pathlib import Path

from toksmith._playground.bundle import Bundle


def worker_code(path: Path) -> str:
    """The text of a classic worker."""
    bundle = Bundle()
    code, _ = bundle.translate(path.resolve())
    return with_address(f"globalThis.toksmithFiles ??= {{}};\n{''.join(bundle.parts)}(async () => {{\n{code}}})();\n")


def page_code(name: str, *paths: Path) -> str:
    """A script that makes the names of modules those of a global."""
    bundle = Bundle()
    names = ", ".join(f"...{bundle.add(path.resolve())}" for path in paths)
    return with_address(f"globalThis.{name} = (() => {{\n{''.join(bundle.parts)}return {{ {names} }};\n}})();\n")


def with_address(code: str) -> str:
    """The code with the address of the files in place of that of a module, which a script does not have."""
    return code.replace("import.meta.url", "globalThis.toksmithFiles.url")


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
