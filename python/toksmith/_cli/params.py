"""Options and arguments: what a command's annotations say, as parameters of click.

A command is a function whose parameters are annotated `Annotated[type, Option(...)]` or `Annotated[type, Argument(...)]`.
Every default is shown in the help: the parameter's own, or the words of `default`, where the called function has it.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["Argument", "BadParameter", "Exit", "FileName", "Option", "flags_of", "hints_of", "parameters_of"]

if TYPE_CHECKING:
    Parameter = click.ParamType[Any]
else:
    Parameter = click.ParamType  # no generic class in older releases

Exit = click.exceptions.Exit
BadParameter = click.BadParameter
Completion = Callable[[str], Iterable[str]]


class Option:
    """What the help says of an option, and how it is completed.

    Attributes: `flags` (made of the parameter's name, if none is given); `help`; `default`, in words, of an option that is
    passed on only if it is given; `metavar`; `panel`, the heading in the help; `choices`; `envvar`; `hidden`; `complete`
    gives the values for the beginning of one; `argument`, the name in Python, where it differs; `once`, that a second value
    is an error, and what to do instead.
    """

    help: str = ""
    default: str = ""
    metavar: str | None = None
    panel: str = ""
    choices: tuple[str, ...] = ()
    envvar: str | None = None
    hidden: bool = False
    complete: Completion | None = None
    argument: str = ""
    once: str = ""

    def __init__(self, *flags: str, **more: Any) -> None:
        if wrong := more.keys() - Option.__annotations__.keys():
            raise TypeError(f"an option has no {', '.join(sorted(wrong))}")
        self.flags = flags
        vars(self).update(more)


class Argument:
    """What the help says of an argument: its name there, its meaning, its default in words, and how it is completed.

    Attributes: `after` gives the values that may follow those that were given before.
    """

    def __init__(
        self,
        metavar: str = "",
        help: str = "",
        default: str = "",
        complete: Completion | None = None,
        *,
        after: Callable[[Sequence[str]], Iterable[str]] | None = None,
    ) -> None:
        self.metavar, self.help, self.default, self.complete, self.after = metavar, help, default, complete, after


class FileName(str):
    """The name of a file, as a command gets it that must not wait for `pathlib`."""

    __slots__ = ()


class Value(Parameter):
    """The value of an option: converts it, completes it, and says what was expected."""

    def __init__(self, kind: Any, info: Option | Argument) -> None:
        self.kind, self.info = kind, info
        self.choices = info.choices if isinstance(info, Option) else ()
        self.is_path = kind is FileName or hasattr(kind, "__fspath__")
        self.name = {int: "n", float: "number"}.get(kind, "path" if self.is_path else "text")

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str | None:
        """The choices, if there are few."""
        return "|".join(self.choices) if 0 < len(self.choices) <= 5 else None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; an error says what was expected."""
        if isinstance(value, str):
            try:
                value = self.kind(value)
            except ValueError:
                expected = "a whole number" if self.kind is int else "a number"
                self.fail(f"expected {expected}, not {value!r}{written(value)}", param, ctx)
        if self.choices and value not in self.choices:
            self.fail(f"expected {or_list(self.choices)}, not {value!r}", param, ctx)
        return value

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        """One value, which may hold white space."""
        return [rv]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The choices, the names, or files."""
        from click.shell_completion import CompletionItem  # only completion needs it

        names = [*self.choices, *(() if self.info.complete is None else self.info.complete(incomplete))]
        takes_files = isinstance(self.info, Argument) or self.is_path or self.info.complete is not None
        if isinstance(self.info, Argument) and self.info.after is not None:
            names, takes_files = [*self.info.after(ctx.params.get(param.name or "") or ())], False
        found = [
            CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete) and name.isprintable()
        ]
        return found or ([CompletionItem(incomplete, type="file")] if takes_files and not self.choices else [])


def written(value: str) -> str:
    """How to write a number such as 32k or 32,000."""
    found = re.fullmatch(r"(\d[\d,']*)([kKmM]?)", value)
    if found is None:
        return ""
    return f"; write {int(re.sub(r'[^0-9]', '', found[1])) * {'k': 1000, 'm': 1_000_000}.get(found[2].lower(), 1)}"


def or_list(names: Sequence[str]) -> str:
    """The names in words; at most five."""
    shown = list(names[:5]) if len(names) > 5 else list(names)
    if len(names) > 5:
        return f"{', '.join(shown)}, …"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def parameters_of(function: Callable[..., None]) -> list[click.Parameter]:
    """The parameters of a command."""
    hints = hints_of(function)
    found: list[click.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if get_origin(hints[name]) is not Annotated:
            raise TypeError(f"{function.__name__}: {name} has neither an Option nor an Argument")
        kind, info = get_args(hints[name])
        required = parameter.default is inspect.Parameter.empty
        default = None if required else parameter.default
        make = argument_of if isinstance(info, Argument) else option_of
        found.append(make(name, kind, info, default=default, required=required))
    return found


def hints_of(function: Callable[..., None]) -> dict[str, Any]:
    """The annotation of each parameter. CPython 3.10 wraps one into `Optional` if the default is None."""
    hints = get_type_hints(function, include_extras=True)
    return {name: get_args(hint)[0] if get_origin(hint) is Union else hint for name, hint in hints.items()}


def bare(kind: Any) -> tuple[Any, bool]:
    """A type without None, and whether many values are allowed."""
    if isinstance(kind, types.UnionType):
        [kind] = [each for each in get_args(kind) if each is not types.NoneType]
    return (get_args(kind)[0], True) if get_origin(kind) is list else (kind, False)


def argument_of(name: str, kind: Any, info: Argument, *, default: Any, required: bool) -> click.Argument:
    """An argument for click."""
    plain, many = bare(kind)
    more: dict[str, Any] = {} if required or many else {"default": default}
    made = click.Argument([name], type=Value(plain, info), nargs=-1 if many else 1, required=required, **more)
    made.metavar = None
    made.said = info  # type: ignore[attr-defined]
    shown = info.metavar or name.upper()
    made.make_metavar = functools.partial(usage_of, shown, many=many, required=required)  # type: ignore[method-assign]
    return made


def usage_of(shown: str, *_: object, many: bool, required: bool, **__: object) -> str:
    """An argument as the usage line shows it."""
    shown = f"{shown}..." if many else shown
    return shown if required else f"[{shown}]"


def option_of(name: str, kind: Any, info: Option, *, default: Any, required: bool) -> click.Option:
    """An option for click."""
    plain, many = bare(kind)
    flags = info.flags or (f"--{name.replace('_', '-')}",)
    said = info.help if not info.hidden else ""
    more: dict[str, Any] = {}
    if plain is bool:
        more["is_flag"] = True
        default = default if default is not None or "/" in flags[0] else None
    else:
        more |= {"type": Value(plain, info), "multiple": many or bool(info.once), "metavar": info.metavar}
        if info.once:
            more["callback"] = functools.partial(only, info.once)
        in_words = info.default or ("" if default is None else str(default))
        said += f"  [default: {in_words}]" if in_words and not required else ""
        said += f"  [env: {info.envvar}]" if info.envvar else ""
    if plain is bool and info.default:
        said += f"  [default: {info.default}]"
    if not required:
        more["default"] = default
    made = click.Option([name, *flags], help=said, required=required, hidden=info.hidden, envvar=info.envvar, **more)
    made.said = info  # type: ignore[attr-defined]
    return made


def only(instead: str, ctx: click.Context, parameter: click.Parameter, values: Sequence[Any]) -> Any:
    """The one value of an option. The last of several would win, and the others would be ignored in silence."""
    if len(values) > 1:
        raise BadParameter(f"is given twice; {instead}", ctx, parameter)
    return values[0] if values else None


def flags_of(parameters: Sequence[click.Parameter]) -> dict[str, str]:
    """By argument of Python, the flag that sets it."""
    found: dict[str, str] = {}
    for parameter in parameters:
        if isinstance(parameter, click.Option) and parameter.name and not parameter.hidden:
            info = getattr(parameter, "said", None)
            long = next((flag for flag in parameter.opts if flag.startswith("--")), parameter.opts[0])
            found[(info.argument if info else "") or parameter.name] = long
    return found
