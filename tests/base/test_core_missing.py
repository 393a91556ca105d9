"""A package without its compiled core, with a core for another interpreter, or with that of another version."""

import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import toksmith
from toksmith._base import core_missing

PACKAGE = Path(toksmith.__file__).parent
CORE = Path(toksmith._core.__file__)  # type: ignore[attr-defined]
FREE = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
REMEDY = "install toksmith with `python[0-9.]* -m pip install --force-reinstall toksmith`"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package without its core."""
    made = tmp_path / "site" / "toksmith"
    shutil.copytree(PACKAGE, made, ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    return made


def run(package: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python with this package before all others."""
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); sys.dont_write_bytecode = True; exec(sys.argv.pop(1))"
    full = [sys.executable, "-I", "-c", code, str(package.parent), *command]
    return subprocess.run(full, capture_output=True, text=True, check=False, encoding="utf-8")


def why(package: Path) -> str:
    """The sentence of the error, after checking that every entry to the package prints it."""
    failed = run(package, "import toksmith\nfrom toksmith import train")
    assert failed.returncode == 1
    said = failed.stderr.strip().splitlines()[-1]
    assert said.startswith("ImportError: ")
    sentence = said.removeprefix("ImportError: ")
    for entry in ("import toksmith; toksmith.Tokenizer", "from toksmith.explain import merges"):
        assert run(package, entry).stderr.strip().splitlines()[-1] == said, entry
    for flags in ((), ("--version",), ("count", "x")):
        shown = run(package, "from toksmith._cli import main; main()", *flags)
        assert (shown.returncode, shown.stdout, shown.stderr) == (1, "", f"toksmith: {sentence}\n")
    reference = run(package, "from toksmith import reference; print(reference.split('low 7', [r'\\w+', r'\\s']))")
    assert reference.stdout == "[b'low', b' ', b'7']\n", reference.stderr
    return sentence


@pytest.mark.slow
def test_a_package_without_a_core_names_the_remedy(package: Path) -> None:
    said = rf"the compiled core of toksmith is missing from '.+toksmith'; {REMEDY}, or `make` in a clone"
    assert re.fullmatch(said, why(package))


@pytest.mark.slow
def test_a_core_for_another_interpreter_is_named_with_this_interpreter(package: Path) -> None:
    for tags in ("cpython-39-aarch64-linux-gnu", "pypy310-pp73-x86_64-linux-gnu"):
        (package / f"_core.{tags}.so").write_bytes(b"")
    said = why(package)
    assert "built for cpython-39-aarch64-linux-gnu, pypy310-pp73-x86_64-linux-gnu, and this is CPython 3." in said
    assert f" on {core_missing.SYSTEMS[sys.platform]} {platform.machine()}; " in said
    assert re.search(f"{REMEDY}$", said)


@pytest.mark.slow
def test_a_core_that_does_not_load_is_named(package: Path) -> None:
    (package / CORE.name).write_bytes(b"not a library")
    said = rf"the compiled core of toksmith cannot be loaded: .*{re.escape(CORE.name)}.*; {REMEDY}"
    assert re.fullmatch(said, why(package))


@pytest.mark.slow
def test_a_core_of_another_version_is_refused(package: Path) -> None:
    shutil.copyfile(CORE, package / CORE.name)
    old = package.parent / "toksmith-0.0.7.dist-info"
    old.mkdir()
    own = toksmith.__version__
    assert re.fullmatch(
        f"the compiled core of toksmith has version {re.escape(own)}, and the package 0.0.7; {REMEDY}", why(package)
    )
    (package.parent / f"toksmith-{own}.dist-info").mkdir()  # an update left the old one next to it
    assert run(package, "import toksmith; print(toksmith.__version__, toksmith.__file__)").stdout == (
        f"{own} {package / '__init__.py'}\n"
    )
    old.rename(package.parent / "toksmith-0.9.0rc1.dist-info")
    (package.parent / f"toksmith-{own}.dist-info").rmdir()
    assert run(package, "import toksmith; print(toksmith.train)").returncode == 0  # Cargo spells 0.9.0-rc.1


def test_a_clone_needs_no_installed_folder(package: Path) -> None:
    shutil.copyfile(CORE, package / CORE.name)
    assert run(package, "import sys, toksmith; print('toksmith._base.core_missing' in sys.modules)").stdout == "False\n"


@pytest.mark.parametrize(
    ("system", "python", "bits", "said"),
    [
        ("emscripten", "CPython", 64, "CPython {} of 64 bits on emscripten"),
        ("linux", "PyPy", 64, "PyPy {} of 64 bits on Linux"),
        ("win32", "CPython", 32, "CPython {} of 32 bits on Windows"),
    ],
)
def test_an_unsupported_platform_is_named(
    system: str, python: str, bits: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(sys, "maxsize", (1 << (bits - 1)) - 1)
    monkeypatch.setattr(platform, "python_implementation", lambda: python)
    found = core_missing.explain_import_error(ImportError("no module"), str(PACKAGE))
    monkeypatch.undo()
    assert found.startswith("toksmith runs on CPython 3.10 or newer of 64 bits, on Linux, macOS and Windows; this is ")
    version = f"{platform.python_version()}{' free-threaded' if FREE else ''}"
    assert said.format(version) in found
    assert found.endswith(": use such a Python (toksmith.reference works here as well)")


def test_a_second_interpreter_gets_the_refusal_of_the_core() -> None:
    """The core itself refuses a second interpreter in one process."""
    refused = "PyO3 modules do not yet support subinterpreters"
    assert core_missing.explain_import_error(ImportError(refused), str(PACKAGE)) == refused
