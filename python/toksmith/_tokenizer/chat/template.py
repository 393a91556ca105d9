"""Renders a chat template of Hugging Face, so that each character of the result keeps its origin.

The environment is that of transformers: a Jinja sandbox that trims blocks, with `tojson`, `raise_exception`, `strftime_now`,
`break`, `continue` and `{% generation %}`. `TemplateRewriter` changes the template before Jinja compiles it: each text that the
template itself spells becomes `Marked`, and `~` becomes `marked.concat`. `TemplateCompiler` calls these functions directly.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache, partial, reduce, wraps
from itertools import product
from typing import Any

from jinja2 import Environment, TemplateError, TemplateSyntaxError, nodes, pass_environment
from jinja2.compiler import CodeGenerator
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import make_attrgetter
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from ...errors import FormatError, InvalidOption
from .budget import (
    NODE,
    OPERATION,
    OverBudget,
    allow_work,
    pay_copy,
    pay_filter,
    pay_items,
    pay_method,
    pay_operator,
    pay_text,
    pay_value,
    size_of,
    spend,
)
from .marked import TEMPLATE, Marked, Origin, concat, join_parts, mark_text
from .parts import ADVICE, NotText, Parts, refuse_lost

__all__ = ["render_template"]

MOST_CHARACTERS = 1 << 18
GENERATION = "{% generation %}"
TEXTS = (nodes.TemplateData, nodes.Const)
LOOP = {"depth", "depth0", "first", "last", "length", "nextitem", "previtem"}
LOOP |= {"index", "index0", "revindex", "revindex0"}
OWN_TYPES = {"Marked": "str", "Part": "dict", "Parts": "list"}  # our types, and what they are for the caller
COMPARING = {operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}

FAILURES: tuple[type[Exception], ...] = (ArithmeticError, AssertionError, AttributeError, LookupError)
FAILURES += (MemoryError, RecursionError, TypeError, ValueError)


def pay_and_return(pay: Callable[[Any], None], value: Any) -> Any:
    """The value, after paying."""
    pay(value)
    return value


class TemplateRefusal(TemplateError):
    """The template refuses the messages."""


class TemplateRewriter(NodeTransformer):
    """Marks the texts that the template spells, and adds payments for loops and for operations that Python does in one go."""

    def __init__(self, own_texts: list[Marked]) -> None:
        self._own_texts = own_texts

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Node:
        return self.own_text(node.data, node)

    def visit_Const(self, node: nodes.Const) -> nodes.Node:
        return self.own_text(node.value, node) if isinstance(node.value, str) else node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return self.call("concat", [nodes.List(node.nodes)], node)

    def visit_Add(self, node: nodes.Add) -> nodes.Node:
        first, rest = node.left, [node.right]
        while isinstance(first, nodes.Add):
            rest.append(first.right)
            first = first.left
        return self.call("add", [nodes.List([self.visit(part) for part in (first, *reversed(rest))])], node)

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        self.generic_visit(node)
        parts: list[nodes.Expr] = []
        for part in node.nodes:
            for piece in self.pieces_of(part):
                if parts and is_call(piece, "own_texts") and is_call(parts[-1], "own_texts"):
                    both = [self._own_texts[each.args[0].value] for each in (parts.pop(), piece)]  # type: ignore[attr-defined]
                    piece = self.own_text("".join(both), node)
                parts.append(piece)
        node.nodes = parts
        return node

    def pieces_of(self, part: nodes.Expr) -> list[nodes.Expr]:
        """The expressions whose texts are those of a written expression, one after another."""
        values: list[nodes.Expr] = part.args[0].items if is_call(part, "concat", "add") else []  # type: ignore[attr-defined]
        if not values or is_call(part, "concat"):
            return values or [part]
        if not any(is_call(value, "own_texts") for value in values[:2]):
            return [part]
        ways = ("as_first_text", *["as_text"] * (len(values) - 1))
        pairs = zip(ways, values, strict=True)
        return [value if is_call(value, "own_texts") else self.call(way, [value], part) for way, value in pairs]

    def visit_For(self, node: nodes.For) -> nodes.Node:
        price = self.price(node)
        self.generic_visit(node)
        node.body.insert(0, price)
        if isinstance(node.test, nodes.Expr):
            node.test = self.call("pay_operation", [node.test], node)
        return node

    def visit_Macro(self, node: nodes.Macro | nodes.Block | nodes.CallBlock) -> nodes.Node:
        price = self.price(node)
        self.generic_visit(node)
        node.body.insert(0, price)
        return node

    visit_Block = visit_CallBlock = visit_Macro

    def visit_Compare(self, node: nodes.Compare) -> nodes.Expr:
        operands: list[Any] = [node, *node.ops]
        constant = any(isinstance(operand.expr, nodes.Const) for operand in operands)
        if constant and len(operands) == 2 and node.ops[0].op in ("eq", "ne"):  # compares no more than the constant
            for operand in operands:
                operand.expr = operand.expr if isinstance(operand.expr, nodes.Const) else self.visit(operand.expr)
            return node
        self.generic_visit(node)
        node.expr = self.call("pay_items", [node.expr], node)
        for operand in node.ops:
            membership = operand.op in ("in", "notin")
            operand.expr = self.call("pay_value" if membership else "pay_items", [operand.expr], node)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        if isinstance(node.arg, nodes.Const):
            node.node = self.visit(node.node)
            return node
        self.generic_visit(node)
        return self.call("pay_copied", [node], node) if isinstance(node.arg, nodes.Slice) else node

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return self.call("pay_items", [node], node) if node.ctx == "load" else node

    def price(self, node: nodes.Node) -> nodes.Node:
        """A statement that pays for a body: each node is an operation, its texts are written, and it makes its collections."""
        found: Iterator[Any] = node.find_all(TEXTS)
        texts = (each.data if isinstance(each, nodes.TemplateData) else each.value for each in found)
        size = sum(len(text) for text in texts if isinstance(text, str))
        price = nodes.Const(OPERATION * sum(1 for _ in node.find_all(nodes.Node)) + size)
        room = nodes.Const(NODE * sum(1 for _ in node.find_all((nodes.List, nodes.Dict))))
        return nodes.ExprStmt(self.call("spend", [price, room], node)).set_lineno(node.lineno)

    def own_text(self, text: str, node: nodes.Node) -> nodes.Expr:
        """The text of the template, marked."""
        self._own_texts.append(mark_text(text, TEMPLATE))
        return self.call("own_texts", [nodes.Const(len(self._own_texts) - 1)], node)

    def call(self, name: str, arguments: list[nodes.Expr], node: nodes.Node) -> nodes.Expr:
        """A call of a function of the environment in the place of a node. Names in templates cannot reach the function."""
        call_node = nodes.Call(nodes.EnvironmentAttribute(name), arguments, [], None, None)
        call_node.set_lineno(node.lineno)
        return call_node


class TemplateCompiler(CodeGenerator):
    """Writes the calls of `TemplateRewriter` as direct calls, without the checks of the sandbox."""

    def visit_Call(self, node: nodes.Call, frame: Any, forward_caller: bool = False) -> None:
        if not isinstance(node.node, nodes.EnvironmentAttribute):
            super().visit_Call(node, frame, forward_caller=forward_caller)
            return
        brackets = "[]" if node.node.name == "own_texts" else "()"
        self.write(f"environment.{node.node.name}{brackets[0]}")
        for number, argument in enumerate(node.args):
            self.write(", " if number else "")
            self.visit(argument, frame)
        self.write(brackets[1])

    def visit_Filter(self, node: nodes.Filter, frame: Any) -> None:
        if node.name == GENERATION:
            self.write(f"environment.as_generated({frame.buffer})")
        else:
            super().visit_Filter(node, frame)

    def _output_child_pre(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super()._output_child_pre(node, frame, finalize)
        else:
            self.write(
                "(" if is_call(node, "own_texts", "concat", "as_text", "as_first_text") else "environment.finalize("
            )

    def _output_child_post(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super()._output_child_post(node, frame, finalize)
        else:
            self.write(")")


def is_call(node: nodes.Node, *names: str) -> bool:
    """Whether an expression calls one of these functions of the environment."""
    called = node.node if isinstance(node, nodes.Call) else None
    return isinstance(called, nodes.EnvironmentAttribute) and called.name in names


class Generation(Extension):
    """`{% generation %}`: text that the model writes."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """The block as a filter, whose name no template can write."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.FilterBlock(body, nodes.Filter(None, GENERATION, [], [], None, None), lineno=line)


def as_generated(parts: list[Any]) -> Marked:
    """The text of a block `{% generation %}`, which consists of these parts."""
    marked = concat(parts)
    new = marked if len(parts) > 1 else str.__new__(Marked, marked)
    new.ends = tuple([(end, generated_of(origin)) for end, origin in marked.ends])
    return new


@lru_cache(maxsize=4096)
def generated_of(origin: Origin) -> Origin:
    """The origin within `{% generation %}`."""
    return origin._replace(generated=True)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """The environment of templates, with texts that keep their origins and operations that are paid."""

    code_generator_class = TemplateCompiler
    concat = staticmethod(concat)
    as_generated = staticmethod(as_generated)
    spend = staticmethod(spend)
    pay_operation = staticmethod(partial(pay_and_return, lambda _: spend(OPERATION)))
    pay_value = staticmethod(partial(pay_and_return, pay_value))
    pay_items = staticmethod(partial(pay_and_return, pay_items))
    pay_copied = staticmethod(partial(pay_and_return, pay_copy))
    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def __init__(self) -> None:
        # Jinja's optimizer would run parts of the template when it compiles them, without a budget.
        options: dict[str, Any] = {
            "trim_blocks": True,
            "lstrip_blocks": True,
            "optimized": False,
            "finalize": pay_output,
        }
        super().__init__(extensions=[Generation, loopcontrols], **options)
        self.own_texts: list[Marked] = []
        self.filters |= {"tojson": as_json, "join": join_with_origins}
        self.filters = {name: wrap_filter(name, function) for name, function in self.filters.items()}
        self.filters |= {GENERATION: as_generated, "trim": strip_first(self.filters["trim"])}
        tests: dict[str, Any] = dict(self.tests)
        comparing = (name for name, test in tests.items() if test in COMPARING or name == "in")
        self.tests |= {name: wrap_test(tests[name]) for name in comparing}
        self.globals |= {"raise_exception": refuse_messages, "strftime_now": format_now}
        del self.globals["lipsum"]  # random text

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template can use an attribute: of a text only those of `str`, of bytes only `decode`."""
        exists = hasattr(str, attr) if isinstance(obj, Marked) else attr == "decode" if isinstance(obj, bytes) else True
        return exists and super().is_safe_attribute(obj, attr, value)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`; a field of a message needs no check."""
        if type(obj) is dict and not hasattr(dict, attribute):
            found = obj.get(attribute, self)
            return self.undefined(obj=obj, name=attribute) if found is self else found
        return (
            getattr(obj, attribute)
            if isinstance(obj, LoopContext) and attribute in LOOP
            else super().getattr(obj, attribute)
        )

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The result of a call, paid before it runs."""
        spend(OPERATION * (1 + len(args)))
        if type(function) is Macro:  # its body pays
            kwargs.pop("_loop_vars", None)
            kwargs.pop("_block_vars", None)
            return function(context.eval_ctx, *args, **kwargs)
        method = getattr(function, "__wrapped__", function)  # Jinja wraps `format`
        values = [*args, *kwargs.values()]
        text = getattr(method, "__self__", None)
        if isinstance(text, (str, bytes)):
            if method.__name__ == "join" and args:
                values = args = ([*args[0]],)  # type: ignore[assignment]
            pay_method(text, method.__name__, values)
        else:
            for value in (text, *values):
                pay_copy(value)
        return super().call(context, function, *args, **kwargs)

    def add(self, values: list[Any]) -> Any:
        """The sum of the values."""
        if all(type(value) is Marked for value in values):
            return concat(values)
        return reduce(lambda left, right: self.call_binop(None, "+", left, right), values)

    def as_first_text(self, value: Any) -> Any:
        """The first part of a sum of texts."""
        return value if isinstance(value, str) else self.call_binop(None, "+", value, "")

    def as_text(self, value: Any) -> Any:
        """The second part of a sum of texts."""
        return value if isinstance(value, str) else self.call_binop(None, "+", "", value)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """The result of an operator, paid before it runs."""
        pay_operator(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        rewritten: nodes.Template = TemplateRewriter(self.own_texts).visit(super()._parse(source, name, filename))
        rewritten.set_environment(self)
        return rewritten


def pay_output(value: Any) -> str:
    """A value that the template writes, as text."""
    if isinstance(value, str):
        return value
    pay_text(value)
    return str(value)


def strip_first(trim: Callable[..., Any]) -> Callable[..., Any]:
    """The filter `trim`, sooner for a text without other arguments."""

    def strip(value: Any, *args: Any, **kwargs: Any) -> Any:
        if type(value) is not Marked or args or kwargs:
            return trim(value, *args, **kwargs)
        spend(OPERATION + len(value))
        return value.strip()

    return strip


def wrap_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The filter with a payment before it runs."""
    first = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def paying(*args: Any, **kwargs: Any) -> Any:
        pay_filter(name, args[first] if len(args) > first else None, [*args[first + 1 :], *kwargs.values()])
        result = function(*args, **kwargs)
        return pay_for_each(result) if isinstance(result, Iterator) else result

    return paying


def wrap_test(function: Callable[..., Any]) -> Callable[..., Any]:
    """The test, which compares its arguments, with a payment before it runs."""

    @wraps(function)
    def paying(*args: Any) -> Any:
        spend(OPERATION)
        for value in args:
            pay_items(value)
        return function(*args)

    return paying


def pay_for_each(values: Iterator[Any]) -> Iterator[Any]:
    """The values of a filter's iterator, each paid."""
    for value in values:
        spend(OPERATION)
        yield value


def refuse_messages(message: str) -> None:
    """The function `raise_exception` of templates."""
    raise TemplateRefusal(message)


def format_now(form: str) -> str:
    """The local time in the given form (`strftime_now`)."""
    return datetime.now().astimezone().strftime(form)


@pass_environment
def join_with_origins(environment: Environment, value: Any, d: str = "", attribute: str | int | None = None) -> str:
    """The filter `join` with origins, which Jinja's own filter loses."""
    values = value if attribute is None else map(make_attrgetter(environment, attribute), value)
    parts: list[object] = []
    for number, item in enumerate(values):
        parts += [d, item] if number and d else [item]
    return concat(parts)


def as_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """The filter `tojson`, without the escapes for HTML.

    The result has an origin if all texts in the value have the same. It is trusted only if the value consists of texts alone.
    """
    text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    leaves = [*leaves_of([value, indent if isinstance(indent, str) else "", *(separators or ())])]
    origins = {origin for leaf in leaves if isinstance(leaf, str) for _, origin in concat([leaf]).runs()}
    if len(origins) != 1 or (next(iter(origins)).trusted and not all(isinstance(leaf, str) for leaf in leaves)):
        return text
    return mark_text(text, *origins)


def leaves_of(value: Any) -> Iterator[Any]:
    """The leaves of a JSON value, including keys."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from leaves_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves_of(item)
    else:
        yield value


@lru_cache(maxsize=16)
def compile_template(source: str, environment: type[TemplateEnvironment] = TemplateEnvironment) -> Any:
    """The compiled template.

    Raises:
        FormatError: It is not Jinja.
    """
    if len(source) > MOST_CHARACTERS:
        raise FormatError(
            "the chat template", None, f"has more than {MOST_CHARACTERS:,} characters, the limit for a template"
        )
    try:
        return environment().from_string(source)
    except TemplateSyntaxError as error:
        raise FormatError("the chat template", error.lineno, f"is not valid Jinja: {error.message}") from error
    except (RecursionError, MemoryError, SyntaxError) as error:
        raise FormatError("the chat template", None, "is nested too deeply") from error
    except ValueError as error:
        raise FormatError("the chat template", None, f"cannot be read: {error}") from error


def render_template(source: str, variables: Mapping[str, Any]) -> Marked:
    """The text that the template writes with the variables.

    Raises:
        FormatError: It is not Jinja, or fails.
        InvalidOption: It refuses the messages.
    """
    template = compile_template(source)
    environment = template.environment
    context = Context(environment, {**environment.globals, **variables}, None, template.blocks)
    try:
        with allow_work(lambda: len(source) + size_of(variables)):
            text = join_parts(template.root_render_func(context))
    except TemplateRefusal as error:
        raise InvalidOption("messages", variables["messages"], f"what the template accepts; error: {error}") from None
    except OverBudget as error:
        advice = "pass a template that does less (docs/spec.md, Bounds)"
        raise FormatError("the chat template", None, f"{error}; {advice}") from error
    except NotText:
        raise failure_of("writes a list as a text", variables["messages"]) from None
    except TemplateError as error:
        raise failure_of(f"fails: {error}", variables["messages"]) from error
    except FAILURES as error:
        raise failure_of(f"fails with {type(error).__name__}: {error}", variables["messages"]) from error
    refuse_lost(variables["messages"])
    return text


def failure_of(problem: str, messages: Any) -> FormatError | InvalidOption:
    """The error of a template that fails; it names the first message whose role or content is not a text, if one has such a value."""
    names = r"(?<=['\"])(?:toksmith\.[\w.]+\.)?(Marked|Parts?)(?= object'|['\"])"
    problem = re.sub(names, lambda found: OWN_TYPES[found[1]], problem)
    for (number, message), name in product(enumerate(messages), ("role", "content")):
        value = message.get(name, None if f"no attribute '{name}'" in problem else "")
        if not isinstance(value, str):
            in_parts = isinstance(value, Parts)
            if in_parts and "TypeError" in problem:
                problem = "writes a list as a text"
            kind = "in parts" if in_parts else f"of type {type(value).__name__}"
            found = f"message {number} without {name}" if value is None else f"message {number} with a {name} {kind}"
            allowed = f"a str as {name}, because the template {problem}{f'; {ADVICE}' if in_parts else ''}"
            return InvalidOption("messages", found, allowed)
    return FormatError("the chat template", None, problem)
