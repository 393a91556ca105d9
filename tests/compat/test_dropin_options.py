"""The drop-in reads each option of tokenizers as the library does, or raises NotImplementedError."""

import ast
import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dropins import tokenizers_features
from dropins.tokenizers_cases import COLUMNS
from dropins.tokenizers_options import ABSENT, INITS, ROWS, SILENT, UNLIKE

from toksmith.compat import tokenizers as ours

peer: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")

FOLDER = Path(peer.__file__).parent
# Parts that run Python, which the drop-in refuses by name, and a trainer that it lacks.
REFUSED = ("NormalizedString", "PreTokenizedString", "ParityBpeTrainer")


def stubbed_options() -> Iterator[str]:
    """Each argument with a default in the library's stubs, with its class, method and module."""
    for path in sorted(FOLDER.rglob("__init__.pyi")):
        module = "" if path.parent == FOLDER else f"{path.parent.name}."
        for kind in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(kind, ast.ClassDef) or kind.name in REFUSED:
                continue
            for method in kind.body:
                if isinstance(method, ast.FunctionDef):
                    listed = [*method.args.posonlyargs, *method.args.args]
                    with_default = listed[len(listed) - len(method.args.defaults) :] + method.args.kwonlyargs
                    yield from (f"{module}{kind.name}.{method.name}.{option.arg}" for option in with_default)


def ready_made_options() -> Iterator[str]:
    """Each argument that the ready-made tokenizers read themselves."""
    for kind in INITS:
        for method in ("__init__", "train_from_iterator"):
            parameters = inspect.signature(getattr(getattr(peer.implementations, kind), method)).parameters
            yield from (
                f"implementations.{kind}.{method}.{name}" for name in parameters if name not in ("self", "iterator")
            )


def columns(encoding: Any) -> list[Any]:
    """The columns of an encoding and of its overflow."""
    return [[getattr(each, name) for name in COLUMNS] for each in (encoding, *encoding.overflowing)]


def caught(call: Callable[[], Any]) -> Any:
    """The result of a call, or a note that it raises."""
    try:
        return call()
    except Exception:  # noqa: BLE001 - each library has its classes
        return "raises"


async def awaited(call: Callable[[], Any]) -> Any:
    """The result of an asynchronous call."""
    return await call()


def result(library: Any, code: str) -> Any:
    """The value that code leaves in `r`."""
    more = {"lib": library, "columns": columns, "caught": caught, "awaited": awaited, "AB": {"a": 0, "b": 1, "ab": 2}}
    names = {**{name: value for name, value in vars(tokenizers_features).items() if name.isupper()}, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # deprecated names are options too
        exec(code, names)
    return names["r"]


def test_every_option_of_the_library_has_a_row() -> None:
    assert {*stubbed_options(), *ready_made_options()} <= {*ROWS, *ABSENT}
    assert {*SILENT, *UNLIKE} <= {*ROWS}


@pytest.mark.parametrize("name", ROWS)
def test_an_option_is_read(name: str) -> None:
    code, option = ROWS[name]
    usual, given = code.replace("{}", ""), code.replace("{}", option)
    theirs = [result(peer, each) for each in (usual, given)]
    assert (theirs[0] == theirs[1]) == (name in SILENT) or name in UNLIKE, "the call does not show the option"
    try:
        own = [result(ours, each) for each in (usual, given)]
    except NotImplementedError as error:
        assert name.rsplit(".", 1)[1] in str(error)
        return
    if name in UNLIKE:
        assert name in SILENT or own[0] != own[1]
    else:
        assert own == theirs
