"""The guard of every entry turns a panic of the core into ToksmithError."""

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from guarded_calls import CALLS, entries

import toksmith
from toksmith import _core

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "target" / "fault"
QUIET = {name: value for name, value in os.environ.items() if name != "RUST_BACKTRACE"}
# Types whose conversion runs no code of an object; other arguments are an `Arg`, whose conversion is guarded.
PLAIN = re.compile(
    r"&self|Python<'\w+>|&?Bound<'\w+, \w+>|&\[u8\]|&str|&\w+|bool|u32|u64|usize|f64"
    r"|Option<(usize|PathBuf|Py<PyAny>|&?Bound<'\w+, \w+>)>|Given<'\w+>|Py<\w+>|PathBuf|PyReadonlyArray\d<'\w+, \w+>"
    r"|\*mut ffi::Py_buffer|c_int"
)


class Liar(list[str]):
    """A list whose length is larger than any memory."""

    def __len__(self) -> int:
        return 1 << 62


def test_every_entry_is_in_the_walk() -> None:
    called = {re.split(r",| on | of ", name)[0] for name in CALLS}
    assert called == entries(_core)


def test_every_entry_is_guarded_and_converts_inside_of_the_guard() -> None:
    found = 0
    for path in sorted((ROOT / "crates/py/src").glob("*.rs")):
        source = path.read_text(encoding="utf-8")
        blocks = re.split(r"(?=#\[guarded\])", source)[1:]
        marked = len(re.findall(r"#\[(pymethods|pyfunction)\]", source)) - source.count("fn fail_at")
        assert marked == len(blocks), f"{path.name}: #[guarded] stands above each #[pymethods] and #[pyfunction]"
        for block in blocks:
            methods = block.split("\n}\n")[0]
            for arguments in re.findall(r"\bfn \w+(?:<[^>]*>)?\((.*?)\) ->", methods, re.DOTALL):
                for argument in re.findall(r"(?:^|,)\s*(&self|\w+: .*?)(?=,\s*\w+: |,?\s*$)", arguments, re.DOTALL):
                    kind = argument.partition(": ")[2] or argument
                    assert kind.startswith(("Arg<", "Option<Arg<")) or PLAIN.fullmatch(kind), f"{path.name}: {argument}"
                    found += 1
    assert found > 100


def test_a_panic_during_conversion_is_a_toksmith_error() -> None:
    tok = toksmith.train("low lower", 260)
    with pytest.raises(toksmith.ToksmithError, match="internal error, please report it: capacity overflow"):
        _core.always_cut(tok._engine, Liar(["a"]))


@pytest.mark.slow
def test_a_panic_is_not_printed() -> None:
    program = """
import toksmith, toksmith._core as core
class Liar(list):
    __len__ = lambda self: 1 << 62
try:
    core.always_cut(toksmith.train("low", 256)._engine, Liar())
except toksmith.ToksmithError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=QUIET, check=True)
    assert done.stderr == "" and "capacity overflow" in done.stdout
    loud = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=QUIET | {"RUST_BACKTRACE": "1"}
    )
    assert "panicked at" in loud.stderr and "capacity overflow" in loud.stdout


@pytest.fixture(scope="module")
def failing() -> Path:
    """A separate build of the core with places that fail."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # the home directory of the toolchain; the one of the tests is empty
    cargo = shutil.which("cargo", path=os.pathsep.join([os.environ["PATH"], str(home / ".cargo/bin")]))
    if cargo is None:
        pytest.skip("lacks cargo, to build the core with places that fail")
    options = {"HOME": str(home), "PYO3_PYTHON": sys.executable, "PYO3_BUILD_EXTENSION_MODULE": "1"}
    options["CARGO_PROFILE_DEV_DEBUG"] = "0"
    command = [cargo, "build", "--quiet", "--locked", "--offline", "--package", "toksmith-py", "--features", "fault"]
    command += ["--target-dir", str(TARGET), "--manifest-path", str(ROOT / "Cargo.toml")]
    done = subprocess.run(command, env=QUIET | options, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    libraries = [TARGET / "debug" / name for name in ("lib_core.so", "lib_core.dylib", "_core.dll")]
    return next(path for path in libraries if path.exists())


@pytest.mark.proof
def test_each_place_of_each_entry_can_fail(failing: Path) -> None:
    program = Path(__file__).parents[1] / "guarded_calls.py"
    done = subprocess.run(
        [sys.executable, str(program), str(failing)], capture_output=True, text=True, check=False, env=QUIET
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found.keys() == CALLS.keys()
    assert not {name: outcomes for name, outcomes in found.items() if any(outcomes)}
    assert all(found.values()), f"not guarded: {[name for name, places in found.items() if not places]}"
    assert sum(map(len, found.values())) > 2 * len(found)
    assert done.stderr == ""
