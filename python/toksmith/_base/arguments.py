"""What arguments may be: a row for each type that public functions name, which refuses what is of another.

The rules: a wrong type is a `TypeError` that names the argument as the caller does, and says what was expected and what
was given; a value that is out of every range is an `InvalidOption`. What an object says of itself (its length, that it
is an index) is not believed: a function gets plain numbers and tuples. What a hostile object raises is the caller's own.
Left out: ranges and names that only one function knows.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import operator
import os
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar

from .errors import InvalidOption, ToksmithError, close_names, quoted, some_of

__all__ = [
    "WrongDocument",
    "advised",
    "all_or_texts",
    "as_sequence",
    "checked",
    "checked_fields",
    "checked_late",
    "closed",
    "flag",
    "items",
    "one_or_several",
    "path_text",
    "text",
    "texts",
    "texts_or_bytes",
    "unknown_argument",
    "whole_number",
]

LONGEST_NUMBER = 20  # digits in a text that a message gives as a number

P = ParamSpec("P")
R = TypeVar("R")
Check = Callable[[Any, str], Any]


class WrongDocument(TypeError):
    """A document of a corpus has a wrong type; `checked` adds the name of the argument."""


def refuse(name: str, expected: str, value: object, advice: str = "") -> NoReturn:
    """Raises the TypeError; `advice` says what to pass, where that can be known."""
    said = f"{name}: expected {expected}, not {type(value).__name__}"
    raise TypeError(f"{said}; {advice}" if advice else said) from None


def whole_number(value: Any, name: str) -> int:
    """An int, or an object that converts to one (numpy's)."""
    try:
        return operator.index(value)
    except TypeError:
        written = isinstance(value, str) and value.strip().isdecimal() and len(value) < LONGEST_NUMBER
        whole = isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53
        refuse(name, "an int", value, f"pass {int(value)}" if written or whole else "")


def number(value: Any, name: str) -> float:
    """A real number."""
    if not isinstance(value, numbers.Real):
        refuse(name, "a number", value)
    try:
        return float(value)
    except OverflowError:
        raise InvalidOption(name, value, "a number that fits a float") from None


def flag(value: Any, name: str) -> bool:
    """True or False, or the numbers that are equal to them."""
    try:
        found = operator.index(value) if not hasattr(value, "dtype") else operator.index(value.item())
    except (TypeError, ValueError):
        refuse(name, "True or False", value)
    if found not in (0, 1):
        raise InvalidOption(name, value, "True or False")
    return bool(found)


def text(value: Any, name: str) -> str:
    """A str that is text in every encoding."""
    if not isinstance(value, str):
        refuse(name, "str", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidOption(name, value, "text without lone surrogates") from None
    return value


def text_or_bytes(value: Any, name: str) -> str | bytes:
    """A text to encode."""
    if not isinstance(value, (str, bytes)):
        refuse(name, "str or bytes", value)
    return value


def path_text(value: Any, name: str) -> str:
    """The name of a file."""
    if not isinstance(value, (str, os.PathLike)):
        refuse(name, "a path (str or os.PathLike)", value)
    try:
        plain = os.fspath(value)
    except TypeError:
        refuse(name, "a path", value)
    if not isinstance(plain, str):
        refuse(name, "a path of str", plain)
    return plain


def path(value: Any, name: str) -> str | os.PathLike[str]:
    """The path as given, because a `Path` may mean something else than a `str`."""
    path_text(value, name)
    return value  # type: ignore[no-any-return]


def paths(value: Any, name: str) -> tuple[str | os.PathLike[str], ...]:
    """Several paths as given."""
    return tuple(path(item, name) for item in items(value, name, "a list of paths"))


def items(value: Any, name: str, expected: str) -> tuple[Any, ...]:
    """The items of an iterable. A single text is refused: nobody means its characters."""
    if isinstance(value, (str, bytes)):
        refuse(name, expected, value, f"pass [{quoted(value)}]" if "str" in expected else "")
    try:
        iterator = iter(value)
    except TypeError:
        refuse(name, expected, value)
    return tuple([item for item in iterator])  # noqa: C416 - because a reported length may be wrong


def as_sequence(batch: Iterable[Any]) -> Sequence[Any]:
    """A batch as it is if it has a length, else as a tuple; the core refuses a single text."""
    if isinstance(batch, (list, tuple, str, bytes)):
        return batch
    return listed(batch, "texts", "a batch of texts (a list)")


def listed(value: Any, name: str, expected: str, part: str = "values") -> tuple[Any, ...]:
    """The items of an iterable of texts. A mapping or a frame is refused: whoever passes one means more than its keys."""
    if isinstance(value, Mapping):
        refuse(name, expected, value, f"pass its {part}(), as a list")
    if hasattr(type(value), "columns") and hasattr(type(value), "__getitem__"):
        refuse(name, expected, value, "pass one of its columns")
    return items(value, name, expected)


def advised(error: TypeError | ToksmithError, value: Any) -> BaseException:
    """What the core says of a text or of ids, with what to do."""
    if isinstance(error, ToksmithError):
        return without_our_frames(error)
    if isinstance(value, (list, tuple)):
        advice = "; encode_batch takes a list of texts" if "str" in str(error).partition("expected")[2][:5] else ""
    else:
        one_id = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32
        advice = f"; pass [{value}]" if one_id and str(error).startswith("ids") else ""
    return TypeError(f"{error}{advice}")


def texts(value: Any, name: str) -> tuple[str, ...]:
    """Several texts."""
    found = listed(value, name, "a list of str", "keys")
    for place, item in enumerate(found):
        if not isinstance(item, str):
            refuse(name, f"a list of str, at place {place}", item)
    return found


def texts_or_bytes(value: Any, name: str) -> tuple[str | bytes, ...]:
    """Several texts or tokens."""
    return tuple(text_or_bytes(item, name) for item in items(value, name, "a list of str or bytes"))


def one_or_several(value: Any, name: str) -> tuple[str | bytes, ...]:
    """The texts of a call that takes one text or several, and got no single one."""
    return tuple(text_or_bytes(item, name) for item in listed(value, name, "str, bytes or a list of them"))


def text_or_texts(value: Any, name: str) -> str | tuple[str, ...]:
    """A name or regex, or several."""
    if isinstance(value, str):
        return text(value, name)
    return tuple(text(item, name) for item in listed(value, name, "str or a list of str", "keys"))


def pattern(value: Any, name: str) -> str | tuple[str, ...] | None:
    """How texts are split; None for not at all."""
    return None if value is None else text_or_texts(value, name)


def whole_numbers(value: Any, name: str) -> tuple[int, ...]:
    """Several numbers."""
    return tuple(whole_number(item, name) for item in items(value, name, "a list of int"))


def mapping(value: Any, name: str) -> Mapping[Any, Any]:
    """A mapping with any content."""
    if not isinstance(value, Mapping):
        refuse(name, "a mapping (a dict)", value, "pass a dict, such as {'en': lines}" if name == "texts" else "")
    return value


def texts_by_name(value: Any, name: str) -> Mapping[str, str]:
    """Texts by names that are texts."""
    for item in [part for pair in mapping(value, name).items() for part in pair]:
        if not isinstance(item, str):
            refuse(name, "a dict of str to str", item)
    return value  # type: ignore[no-any-return]


def by_name(check: Check) -> Check:
    """Values by names that are texts."""
    return lambda value, name: {text(key, name): check(each, name) for key, each in mapping(value, name).items()}


def special(value: Any, name: str) -> str | tuple[str, ...]:
    """What special tokens in a text are."""
    if not isinstance(value, str):
        return texts([*value] if isinstance(value, Mapping) else value, name)
    if value not in ("raise", "allow", "text"):
        raise InvalidOption(name, value, "'raise', 'allow', 'text' or a collection of special tokens")
    return value


def corpus(value: Any, name: str) -> Any:
    """Documents; reading checks them."""
    if not isinstance(value, (str, bytes, os.PathLike)) and not hasattr(value, "read"):
        try:
            iter(value)
        except TypeError:
            if not hasattr(value, "globs"):
                advice = "the corpus comes before the size" if isinstance(value, int) else ""
                refuse(name, "texts, paths or open files", value, advice)
    elif isinstance(value, os.PathLike):
        path_text(value, name)
    return value


def several_texts(value: Any, name: str) -> Any:
    """An iterable of texts, which are checked later."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: expected a list, not a single text; pass [{quoted(value)}]")
    return several(value, name)


def several(value: Any, name: str) -> Any:
    """An iterable whose items are checked later."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: expected a list, not a single text")
    try:
        iter(value)
    except TypeError:
        refuse(name, "a list", value)
    return value


def plain_bytes(value: Any, name: str) -> bytes:
    """Bytes."""
    return value if isinstance(value, bytes) else refuse(name, "bytes", value)


def sequences(value: Any, name: str) -> tuple[tuple[int, ...], ...]:
    """Several sequences of numbers."""
    return tuple(whole_numbers(item, name) for item in items(value, name, "a list of lists of int"))


def all_or_texts(value: Any, name: str) -> str | tuple[str, ...]:
    """Texts, or the text that means some of them."""
    return value if isinstance(value, str) else texts(value, name)


def index(value: Any, name: str) -> int | slice:
    """A place, or several."""
    return value if isinstance(value, slice) else whole_number(value, name)


def index_or_name(value: Any, name: str) -> int | str:
    """A place, or the name of a field."""
    return value if isinstance(value, str) else whole_number(value, name)


def call_or_flag(value: Any, name: str) -> Any:
    """A callable, or a bool."""
    return value if callable(value) or isinstance(value, bool) else refuse(name, "a callable or a bool", value)


def call(value: Any, name: str) -> Any:
    """A callable."""
    return value if callable(value) else refuse(name, "a callable", value)


# By annotation, without "| None"; `Literal` is a text, and a class is itself.
CHECKS: Mapping[str, Check] = {
    "int": whole_number,
    "float": number,
    "bool": flag,
    "str": text,
    "By": text,
    "Kind": text,
    "MergeRule": text,
    "Text": text_or_bytes,
    "Some": text_or_bytes,
    "str | bytes": text_or_bytes,
    "bytes | str": text_or_bytes,
    "bytes": plain_bytes,
    "int | slice": index,
    "int | str": index_or_name,
    "str | os.PathLike[str]": path,
    "Sequence[str | os.PathLike[str]]": paths,
    "Iterable[str]": texts,
    "Collection[str]": text_or_texts,
    "Iterable[str | bytes]": texts_or_bytes,
    "str | Sequence[str]": text_or_texts,
    "PatternArgument": pattern,
    "Sequence[int]": whole_numbers,
    "list[int]": whole_numbers,
    "Pair": whole_numbers,
    "Sequence[Sequence[int]]": sequences,
    "list[str]": texts,
    "Mapping[str, Corpus | PieceCounts]": by_name(corpus),
    "Mapping[str, float]": by_name(number),
    "Mapping[str, str]": texts_by_name,
    **dict.fromkeys(("dict[str, int]", "dict[bytes, int]", "dict[Pair, int]"), mapping),
    **dict.fromkeys(("Mapping[str, int]", "Mapping[str, Any]", "Mapping[str, Parallel]"), mapping),
    "Special": special,
    "All | AbstractSet[str]": all_or_texts,
    "All | Collection[str]": all_or_texts,
    "str | Collection[str]": all_or_texts,
    "Corpus": corpus,
    "Iterable[int]": several,
    "Iterable[Text]": several_texts,
    "Iterable[Iterable[int]]": several,
    "Iterable[tuple[Text, bool]]": several,
    "Callable[[Progress], object] | bool": call_or_flag,
    "Callable[[JobEvent], object]": call,
}


class ArgumentRule(NamedTuple):
    """One argument of a function: its default and the values that it accepts."""

    name: str
    default: Any
    optional: bool
    classes: tuple[str, ...]
    check: Check | None

    def taken(self, value: Any, known: Mapping[str, Any]) -> Any:
        """The value for the function; `known` holds the names of its module."""
        if value is self.default or (value is None and self.optional):
            return value
        if self.check is not None and not self.classes:
            return self.check(value, self.name)
        # A name that is not a class means several types, which the function checks itself.
        classes = tuple(known[name] for name in self.classes if isinstance(known.get(name), type))
        if not classes or isinstance(value, classes):
            return value
        if self.check:
            return self.check(value, self.name)
        refuse(self.name, f"a {' or '.join(self.classes)}", value, advice_for(self.classes, value))


def advice_for(classes: tuple[str, ...], value: Any) -> str:
    """What to pass for a class of ours, if a name or a text was given."""
    import pathlib  # slow to import

    if not isinstance(value, (str, pathlib.PurePath)):
        return ""
    shown = quoted(str(value))
    if "Tokenizer" in classes:
        return f"the tokenizer comes first: pass toksmith.load({shown}) if this is its name or file"
    return f"toksmith.load({shown}) gives a tokenizer" if "Model" in classes else ""


def row_of(parameter: inspect.Parameter) -> ArgumentRule:
    """The row of an argument, from its annotation."""
    said = str(parameter.annotation)
    plain = said.removesuffix(" | None")
    check = CHECKS.get(plain)
    classes: tuple[str, ...] = ()
    if plain.startswith("Literal["):
        check = text
    elif check is None and parameter.annotation is not parameter.empty:
        parts = plain.split(" | ")
        named = [part for part in parts if part.isidentifier() and part[0].isupper() and part not in (*CHECKS, "Any")]
        check = CHECKS.get(" | ".join(part for part in parts if part not in named))
        classes = tuple(named) if check or len(named) == len(parts) else ()
    return ArgumentRule(parameter.name, parameter.default, said != plain, classes, check)


class Arguments:
    """The arguments of one function, which are looked at when the first call needs them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.known = function.__globals__

    @functools.cached_property
    def parameters(self) -> Collection[inspect.Parameter]:
        """As the function declares them."""
        return inspect.signature(self.function).parameters.values()

    @functools.cached_property
    def rows(self) -> dict[str, ArgumentRule]:
        """The row of each, by name."""
        return {parameter.name: row_of(parameter) for parameter in self.parameters}

    @functools.cached_property
    def positional(self) -> list[ArgumentRule]:
        """The rows of those that may be given without their name."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [self.rows[one.name] for one in self.parameters if one.kind in kinds]

    @functools.cached_property
    def open(self) -> bool:
        """Whether the function takes any keyword."""
        return any(one.kind is one.VAR_KEYWORD for one in self.parameters)

    @property
    def corpus(self) -> str:
        """The name of the argument that is a corpus, if there is one."""
        return next((row.name for row in self.rows.values() if row.check is corpus), "")

    @property
    def name(self) -> str:
        """The function as a caller names it."""
        name = self.function.__name__
        return name if name != "__init__" else self.function.__qualname__.split(".")[0]

    def unexpected(self, name: str) -> TypeError:
        """The error for an argument that the function does not have: what else to pass, or to call."""
        from .meanings import MEANINGS, bare  # tables that only errors need
        from .other_names import OF_CALLS

        known = [each for each in self.rows if each != "self"]
        meant = close_names(name, known)
        hint = f"; did you mean {meant[0]}=?" if meant else f"; it takes {some_of(known)}" if known else ""
        if name in OF_CALLS and not {*MEANINGS.get(bare(name), "").split()} & {*known}:
            hint = f"; {OF_CALLS[name]}"
        return TypeError(f"{self.name}() got an unexpected keyword argument {name!r}{hint}")

    def taken(self, placed: tuple[Any, ...], named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as the function gets them.

        Raises:
            TypeError: One is unknown, or has a wrong type. That one is missing, the function says itself.
        """
        if not self.open:
            for name in named:
                if name not in self.rows:
                    raise self.unexpected(name)
        first = [row.taken(value, self.known) for row, value in zip(self.positional, placed, strict=False)]
        rest = {
            name: self.rows[name].taken(named[name], self.known) if name in self.rows else named[name] for name in named
        }
        return [*first, *placed[len(first) :]], rest


# Errors that say everything in their message: where this package raised them helps nobody who calls it.
TOLD = (ToksmithError, TypeError, UnicodeError, KeyboardInterrupt)
OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
INSTALLED = ("site-packages", "dist-packages")


def without_our_frames(error: BaseException, names: Collection[str] = ()) -> BaseException:
    """The error, whose traceback begins anew where it is raised: the caller sees the own call and one line of ours.

    An error that says all it knows in its message loses the frames of this package. Any other error, which may be a
    fault of ours, keeps them, and so does one that went through code of the caller, such as an iterable or a callback.
    `TOKSMITH_TRACEBACK=full` keeps all.

    Args:
        names: The arguments of the call; a TypeError that begins with one of them is about the argument.
    """
    if os.environ.get("TOKSMITH_TRACEBACK") == "full" or not says_enough(error, names):
        return error
    if isinstance(error, ToksmithError):
        error.__suppress_context__ = True
    if error.__cause__ is not None and ours_alone(error.__cause__.__traceback__):
        error.__cause__.__traceback__ = None
    return error.with_traceback(None)


def says_enough(error: BaseException, names: Collection[str]) -> bool:
    """Whether the frames of an error tell its reader nothing."""
    frames = error.__traceback__
    if not isinstance(error, TOLD) or not ours_alone(frames):
        return False
    if isinstance(error, (ToksmithError, KeyboardInterrupt)) or str(error).partition(":")[0] in names:
        return True
    while frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    return frames is not None and frames.tb_frame.f_code.co_filename == refuse.__code__.co_filename


def ours_alone(frames: types.TracebackType | None) -> bool:
    """Whether all frames are in this package, or in the standard library, which it calls."""
    while frames is not None:
        path = os.path.abspath(frames.tb_frame.f_code.co_filename)
        standard = path.startswith(LIBRARY) and not any(name in path for name in INSTALLED)
        if not path.startswith(OWN) and not standard and not path.endswith(">"):
            return False
        frames = frames.tb_next
    return True


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function; its arguments are checked before each call."""
    arguments = Arguments(function)

    @functools.wraps(function)
    def run(*placed: P.args, **named: P.kwargs) -> R:
        try:
            first, rest = arguments.taken(placed, named)
            return function(*first, **rest)
        except WrongDocument as error:
            raise TypeError(f"{arguments.corpus}: {error}") from None
        except TOLD as error:
            raise without_our_frames(error, arguments.rows)  # noqa: B904 - the same error

    return run


def closed(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose signature hides the `**unknown` that it has to name what it does not take. For the fastest calls."""
    signature = inspect.signature(function)
    shown = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    function.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return function


def twin(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a `closed` method known by the name of the public method of its class that calls it."""

    def named(function: Callable[P, R]) -> Callable[P, R]:
        function.__qualname__ = function.__qualname__.replace(function.__name__, name)
        function.__name__ = name
        return closed(function)

    return named


def unknown_argument(function: Callable[..., Any], named: Collection[str]) -> TypeError:
    """The error for the arguments that a `closed` function does not take."""
    return Arguments(function).unexpected(next(iter(named)))


def checked_late(
    function: Callable[P, R], passed: tuple[type[Exception], ...] = (ToksmithError, UnicodeError)
) -> Callable[P, R]:
    """The function; its arguments are checked only if it fails. For functions that must be fast.

    Errors of the classes in `passed` say enough by themselves.
    """
    arguments = Arguments(function)
    kept: tuple[type[BaseException], ...] = (KeyboardInterrupt, *passed)

    @functools.wraps(function)
    def run(*placed: P.args, **named: P.kwargs) -> R:
        try:
            return function(*placed, **named)
        except TOLD as error:
            said = None if isinstance(error, kept) else wrong_argument(arguments, placed, named)
            raise said or without_our_frames(error, arguments.rows)  # noqa: B904 - of the same call
        except Exception:
            if said := wrong_argument(arguments, placed, named):
                raise said from None
            raise

    return run


def wrong_argument(arguments: Arguments, placed: tuple[Any, ...], named: dict[str, Any]) -> BaseException | None:
    """What is wrong with the arguments of a call that failed; None if nothing is."""
    try:
        arguments.taken(placed, named)
    except TOLD as error:
        error.__suppress_context__ = True  # the failure that made us look
        return without_our_frames(error)
    return None


def checked_fields(made: type[R]) -> type[R]:
    """The dataclass, whose fields are looked at when it cannot be made of them."""
    made.__init__ = checked_late(made.__init__, (ToksmithError,))  # type: ignore[method-assign]
    return made
