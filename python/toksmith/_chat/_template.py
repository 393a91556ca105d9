"""A chat template of Hugging Face, rendered so that each character of the result keeps its origin.

The environment is that of transformers: a Jinja sandbox that trims blocks, with `tojson`, `raise_exception`, `strftime_now`,
`break`, `continue` and `{% generation %}`. `RULES` change the template before Jinja compiles it: each text that the template
itself spells becomes `Marked`, and `~` becomes our `concat`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

from jinja2 import Environment, TemplateError, TemplateSyntaxError, nodes, pass_environment
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import make_attrgetter
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from .._errors import FormatError, InvalidOption
from ._marked import TEMPLATE, Marked, concat, marked

__all__ = ["rendered"]

FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


class Refused(TemplateError):
    """The template refuses the messages."""


class OwnTexts(NodeTransformer):
    """Marks the texts that the template spells."""

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Node:
        return self.call("own_text", [nodes.Const(node.data)], node)

    def visit_Const(self, node: nodes.Const) -> nodes.Node:
        return self.call("own_text", [node], node) if isinstance(node.value, str) else node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        return self.call("concat", [nodes.List([self.visit(each) for each in node.nodes])], node)

    def call(self, name: str, arguments: list[nodes.Expr], node: nodes.Node) -> nodes.Node:
        """A call of a function of the environment in the place of a node. No name that a template writes reaches it."""
        made = nodes.Call(nodes.EnvironmentAttribute(name), arguments, [], None, None)
        return made.set_lineno(node.lineno)


class Generation(Extension):
    """`{% generation %}`: what the model writes."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """The block as a call."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("written"), [], [], body).set_lineno(line)

    def written(self, caller: Callable[[], str]) -> str:
        """The block's text."""
        return Marked.of((text, origin._replace(generated=True)) for text, origin in concat([caller()]).runs())


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """The environment, with texts that keep their origins."""

    concat = staticmethod(concat)
    own_text = staticmethod(partial(marked, origin=TEMPLATE))

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
        self.filters |= {"tojson": as_json, "join": joined}
        self.globals |= {"raise_exception": refuse, "strftime_now": now}

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """A text has the methods of `str`, and not those that make text trusted."""
        return super().is_safe_attribute(obj, attr, value) and (not isinstance(obj, Marked) or hasattr(str, attr))

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        changed: nodes.Template = OwnTexts().visit(super()._parse(source, name, filename))
        changed.set_environment(self)
        return changed


def refuse(message: str) -> None:
    """What templates call when they cannot go on."""
    raise Refused(message)


def now(form: str) -> str:
    """The time, as the template wants to see it."""
    return datetime.now().astimezone().strftime(form)


@pass_environment
def joined(environment: Environment, value: Any, d: str = "", attribute: str | int | None = None) -> str:
    """Jinja's filter `join`, which otherwise loses the origins."""
    values = value if attribute is None else map(make_attrgetter(environment, attribute), value)
    parts: list[object] = []
    for number, each in enumerate(values):
        parts += [d, each] if number and d else [each]
    return concat(parts)


def as_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """The filter `tojson`, without the escapes for HTML.

    Its result has an origin if all texts that it is made of have the same. It is trusted only if it is made of nothing else.
    """
    text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    leaves = [*leaves_of([value, indent if isinstance(indent, str) else "", *(separators or ())])]
    origins = {origin for leaf in leaves if isinstance(leaf, str) for _, origin in concat([leaf]).runs()}
    if len(origins) != 1 or (next(iter(origins)).trusted and not all(isinstance(leaf, str) for leaf in leaves)):
        return text
    return marked(text, *origins)


def leaves_of(value: Any) -> Iterator[Any]:
    """What a value of JSON consists of, keys included."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from leaves_of(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from leaves_of(each)
    else:
        yield value


@lru_cache(maxsize=16)
def compiled(source: str) -> Any:
    """The template.

    Raises:
        FormatError: It is no Jinja.
    """
    try:
        return TemplateEnvironment().from_string(source)
    except TemplateSyntaxError as error:
        raise FormatError("the chat template", error.lineno, f"is not valid Jinja: {error.message}") from error
    except (RecursionError, MemoryError, SyntaxError) as error:
        raise FormatError("the chat template", None, "is nested too deeply") from error


def rendered(source: str, variables: Mapping[str, object]) -> Marked:
    """The text that the template makes of the variables.

    Raises:
        FormatError: It is no Jinja, or fails.
        InvalidOption: It refuses the messages.
    """
    template = compiled(source)
    try:
        return concat(template.root_render_func(template.new_context(dict(variables))))
    except Refused as error:
        raise InvalidOption("messages", variables["messages"], f"what the template accepts; it says: {error}") from None
    except TemplateError as error:
        raise FormatError("the chat template", None, f"fails: {error}") from error
    except FAILURES as error:
        raise FormatError("the chat template", None, f"fails with {type(error).__name__}: {error}") from error
