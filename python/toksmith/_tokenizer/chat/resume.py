"""Renders a chat template for a longer conversation without the turns that it has already written.

The rule: the text is that of `template.render_template`. A template's main loop visits the messages one by one. Before each
visit, a run notes its state (`Boundary`): the namespaces, and the length of the text. If it has read only the messages before
that place, and not their number, then a run for more messages is in the same state there, so it can begin there. Between two
visits a Jinja loop keeps no other state: `set` in a loop ends with the visit. A run that cannot show this has no boundary.

Some templates first look for the last message of a user, and then compare each place with it (`loop.index0 > ns.last`). In the
loop such an integer is a `Place`, which knows the values with which all comparisons so far have the same results: with another
one of these, a run can begin at the boundary too.

`Turns` is the list that a run sees; it notes what the template reads. `instrument` changes the template before Jinja compiles it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from itertools import count
from math import inf
from typing import Any, NamedTuple, NoReturn

from jinja2 import Undefined, nodes
from jinja2.runtime import LoopContext, Macro
from jinja2.utils import Namespace, missing

from .budget import ITEM, LEFT, allow_work, spend
from .budget import RUN as COST
from .marked import Marked, concat
from .parts import Part
from .template import TemplateEnvironment, compile_template

__all__ = ["Boundary", "Run", "is_plain", "render_from"]

# Parts of Jinja that keep a state elsewhere, or that are not in one sequence of statements.
STATEFUL = (nodes.Block, nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)
STATEFUL_NAMES = {"cycler", "joiner", "random", "sameas"}
LATE = 2  # messages at the end; before each the state is kept
ALWAYS_RUN = (nodes.Assign, nodes.AssignBlock, nodes.Macro)

RUN: ContextVar[Run | None] = ContextVar("RUN", default=None)


class Unfit(Exception):
    """The template uses the messages in a way that only a list allows."""


class Entry(NamedTuple):
    """What a run has made before a loop, if it depends on the number of messages: its text, and its variables."""

    pieces: Sequence[str]
    variables: Mapping[str, Any]


class Boundary(NamedTuple):
    """The state of a run before a loop visits a message.

    Attributes:
        loop: The number of the loop.
        message: The number of that message.
        entry: What a run must make before the loop so that it can begin here; None if every run makes the same.
        spaces: The variables of each namespace.
        spent: The work and the room so far.
        length, written: The length of the text so far, in characters, and the room for joining it.
        ranges: The least and the largest value of each `Place` with which the run so far is the same.
        earlier: The last boundary before it where no place has a largest value.
    """

    loop: int
    message: int
    entry: Entry | None
    spaces: Mapping[str, Mapping[str, Any]]
    spent: Sequence[int]
    length: int
    written: int
    ranges: Mapping[tuple[str, str], tuple[float, float]]
    earlier: Boundary | None


class Place:
    """An integer in a namespace. A template can only order it; everything else ends the run."""

    __slots__ = ("_range", "_value")
    __class__ = property(lambda _: int)  # for `isinstance`

    def __init__(self, value: int) -> None:
        self._value = value
        self._range: tuple[float, float] = (-inf, inf)

    def __ge__(self, other: int) -> bool:
        if type(other) is not int:
            self._refuse()
        found, (low, high) = self._value >= other, self._range
        self._range = (max(low, other), high) if found else (low, min(high, other - 1))
        return found

    def __lt__(self, other: int) -> bool:
        return not self >= other

    def __gt__(self, other: int) -> bool:
        return self >= other + 1

    def __le__(self, other: int) -> bool:
        return not self >= other + 1

    def _refuse(self, *_: object) -> Any:
        raise Unfit

    __eq__ = __ne__ = __hash__ = __bool__ = __int__ = __index__ = __float__ = __str__ = __repr__ = __getattr__ = _refuse


class Run:
    """One run of a template: what it reads and writes."""

    def __init__(self, messages: Sequence[Any], target: Boundary | None, environment: TurnEnvironment) -> None:
        self.messages, self.target = messages, target  # target: where the run begins, as long as it has not
        self.skips = environment.skips and target is not None and target.entry is None
        self.orders = environment.orders
        self.unfit = self.stateful = False
        self.closed = False  # since its loop began, it has read the number of messages: no boundary follows
        self.context: Any = None
        self.entry: Entry | None = None
        self.spaces: dict[str, dict[str, Any]] = {}
        self.places: dict[tuple[str, str], Place] = {}
        self.pieces: list[str] = []
        self.start = self.length = self.written = 0
        self.limits: Sequence[int] = ()
        self.boundary: Boundary | None = None
        self.earlier: Boundary | None = None

    def enter(self, turns: Turns, loop: int) -> Any:
        """The messages that a loop visits."""
        target, start = self.target, turns.first
        if target is not None and target.entry is None and target.loop != loop:
            return turns
        variables = self.context.vars
        self.leave()
        namespaces = ((name, value) for name, value in variables.items() if isinstance(value, Namespace))
        self.spaces = {name: value._Namespace__attrs for name, value in namespaces}
        for name, space in self.spaces.items() if self.orders else ():
            places = {key: Place(value) for key, value in space.items() if type(value) is int}
            self.places |= {(name, key): place for key, place in places.items()}
            space.update(places)
        known = {name: value for name, value in variables.items() if not isinstance(value, Macro)} | self.states()
        self.stateful |= not is_plain([value for value in known.values() if not isinstance(value, Turns)])
        self.entry = Entry(tuple(self.pieces), known) if self.closed or (target and target.entry) else None
        self.closed, self.boundary = False, None
        if target is not None and target.loop == loop:
            self.target = None
            if target.entry is not None and not is_same(self.entry, target.entry):
                target = None
            while target is not None and not self.is_within(target.ranges):
                target = target.earlier
            if target is not None:
                self.jump(target)
                start = target.message
        return MainLoop(turns, start, loop)

    def states(self) -> dict[str, dict[str, Any]]:
        """The variables of each namespace, without places."""
        return {
            name: {key: value for key, value in space.items() if value is not self.places.get((name, key), self)}
            for name, space in self.spaces.items()
        }

    def is_within(self, ranges: Mapping[tuple[str, str], tuple[float, float]]) -> bool:
        """Whether the places have values of these ranges."""
        return all(at in self.places and low <= self.places[at]._value <= high for at, (low, high) in ranges.items())

    def leave(self) -> None:
        """Ends a loop: its places are integers again."""
        for (name, key), place in self.places.items():
            if self.spaces[name][key] is place:
                self.spaces[name][key] = place._value
        self.places = {}

    def jump(self, target: Boundary) -> None:
        """Begins at a boundary."""
        for name, values in target.spaces.items():
            self.spaces[name].update(values)
        for at, ends in target.ranges.items():
            self.places[at]._range = ends
        self.earlier = target.earlier or target
        self.pieces.clear()
        self.start = self.length = target.length
        self.written, self.boundary = target.written, target
        budget = LEFT.get()
        if budget is not None:
            budget[:] = [limit - spent for limit, spent in zip(self.limits, target.spent, strict=True)]

    def note_boundary(self, loop: int, message: int) -> None:
        """Keeps the state as the place where a later run can begin. Most runs can begin at one of the last messages."""
        budget = LEFT.get()
        ranges = {at: place._range for at, place in self.places.items()}
        is_open = all(high == inf for _, high in ranges.values())
        early = self.boundary is not None and message < len(self.messages) - LATE and not (ranges and is_open)
        if self.closed or self.stateful or early or budget is None:
            return
        spaces = self.states()
        self.stateful = not is_plain(spaces)
        if not self.stateful:
            spent = [limit - left for limit, left in zip(self.limits, budget, strict=True)]
            state = (spaces, spent, self.length, self.written, ranges, None if is_open else self.earlier)
            self.boundary = Boundary(loop, message, self.entry, *state)
            self.earlier = self.boundary if is_open else self.earlier

    def write(self, piece: str) -> None:
        """Adds a part of the text; `concat` will pay for it."""
        self.pieces.append(piece)
        self.length += len(piece)
        runs = len(piece.ends) if isinstance(piece, Marked) else 1
        self.written += len(piece) + COST * runs + (0 if isinstance(piece, Marked) else len(piece) + ITEM)

    def refuse(self) -> NoReturn:
        """Ends the run, because the template needs a list."""
        self.unfit = True
        raise Unfit


class Turns:
    """The messages from number `first` on, as a run sees them. What only a list can do ends the run."""

    def __init__(self, run: Run, first: int) -> None:
        self._run, self.first = run, first

    def __len__(self) -> int:
        self._run.closed = True
        return max(0, len(self._run.messages) - self.first)

    def __bool__(self) -> bool:
        found = len(self._run.messages) > self.first
        self._run.closed |= not found
        return found

    def __iter__(self) -> Iterator[Any]:
        messages = self._run.messages
        spend(ITEM * max(0, len(messages) - self.first))
        for index in range(self.first, len(messages)):
            yield messages[index]
        self._run.closed = True

    def __getitem__(self, place: Any) -> Any:
        run, messages = self._run, self._run.messages
        if isinstance(place, int):
            if 0 <= place < len(messages) - self.first:
                return messages[self.first + place]
            run.closed = True
            if self.first - len(messages) <= place < 0:
                return messages[place]
            raise IndexError("list index out of range")
        if not isinstance(place, slice):
            run.refuse()
        if place.stop is None and place.step in (None, 1) and isinstance(place.start, int | None):
            start = place.start or 0
            if start >= 0:
                return Turns(run, self.first + start)
        run.closed = True
        return [*messages[self.first :]][place]

    def __getattr__(self, name: str) -> Any:
        self._run.refuse()

    def _refuse(self, *_: object) -> Any:
        self._run.refuse()

    __add__ = __radd__ = __mul__ = __rmul__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __str__ = __repr__ = __contains__ = __reversed__ = _refuse


class MainLoop:
    """The messages that the main loop visits, from number `start` on."""

    def __init__(self, turns: Turns, start: int, loop: int) -> None:
        self.turns, self.start, self.loop = turns, start, loop
        self.has_context = False  # then `TurnLoop` notes the boundaries, because it reads ahead

    def __len__(self) -> int:
        return len(self.turns)

    def __iter__(self) -> Iterator[Any]:
        run = self.turns._run
        for index in range(self.start, len(run.messages)):
            if not self.has_context:
                run.note_boundary(self.loop, index)
            yield run.messages[index]
        if not self.has_context:
            run.note_boundary(self.loop, max(self.start, len(run.messages)))
        run.closed = True
        run.leave()


class TurnLoop(LoopContext):
    """The variable `loop` of the main loop."""

    def __init__(self, iterable: MainLoop, undefined: type[Undefined]) -> None:
        super().__init__(iterable, undefined)
        iterable.has_context = True
        self._turns = iterable
        before = iterable.start - iterable.turns.first
        self.index0 = before - 1
        self._current = iterable.turns._run.messages[iterable.start - 1] if before else missing

    def __next__(self) -> tuple[Any, LoopContext]:
        self._turns.turns._run.note_boundary(self._turns.loop, self._turns.turns.first + self.index0 + 1)
        return super().__next__()

    def __repr__(self) -> str:
        return f"<LoopContext {self.index}/{self.length}>"

    def changed(self, *value: Any) -> bool:
        """As in Jinja; a run does not note what it remembers."""
        self._turns.turns._run.closed = True
        return super().changed(*value)


def make_loop(iterable: Any, undefined: type[Undefined], *more: Any) -> LoopContext:
    """The variable `loop`."""
    return TurnLoop(iterable, undefined) if isinstance(iterable, MainLoop) else LoopContext(iterable, undefined, *more)


class TurnEnvironment(TemplateEnvironment):
    """The environment of templates that can begin at a boundary."""

    fit = skips = False
    orders = True  # whether each integer in a namespace can be a place

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`; a variable of a namespace needs no check."""
        if type(obj) is Namespace and attribute[:1] != "_" and attribute in obj._Namespace__attrs:
            return obj._Namespace__attrs[attribute]
        return super().getattr(obj, attribute)

    @staticmethod
    def writes() -> bool:
        """Whether a statement before the main loop runs: not if its only effect is text that is known."""
        run = RUN.get()
        return run is None or run.target is None or not run.skips

    @staticmethod
    def visit(arguments: list[Any]) -> Any:
        """The values that a loop outside other statements visits; `arguments` are they, its number, and whether it only writes."""
        iterable, loop, only_writes = arguments
        run = RUN.get()
        if run is None:
            return iterable
        if isinstance(iterable, Turns):
            return run.enter(iterable, loop)
        return () if run.target is not None and run.skips and only_writes else iterable

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        names = {node.name for node in tree.find_all((nodes.Name, nodes.Filter, nodes.Test))}  # type: ignore[attr-defined]
        self.fit = not any(tree.find_all(STATEFUL)) and not names & STATEFUL_NAMES
        if self.fit:
            noted: list[nodes.Node] = []
            tree.body = instrument(tree.body, count(), noted)
            self.skips = len([*tree.find_all(nodes.NSRef)]) == len(noted)
            tree.set_environment(self)
        return tree


def instrument(body: Sequence[nodes.Node], loops: Iterator[int], noted: list[nodes.Node]) -> list[nodes.Node]:
    """The statements, with loops that can be main loops, and with a condition for statements that only write.

    `noted` gets the assignments to namespaces outside statements that only write.
    """
    found: list[nodes.Node] = []
    for node in body:
        if isinstance(node, nodes.If):
            for branch in (node, *node.elif_):
                branch.body = instrument(branch.body, loops, noted)
            node.else_ = instrument(node.else_, loops, noted)
            found.append(node)
        elif isinstance(node, nodes.For) and not (node.test or node.recursive or node.else_):
            spaces = [*node.find_all(nodes.NSRef)]
            noted += spaces
            arguments = nodes.List([node.iter, nodes.Const(next(loops)), nodes.Const(not spaces)])
            node.iter = call("visit", [arguments], node)
            found.append(node)
        elif isinstance(node, ALWAYS_RUN):
            noted += [] if isinstance(node, nodes.Macro) else node.find_all(nodes.NSRef)
            found.append(node)
        else:
            found.append(nodes.If(call("writes", [], node), [node], [], []).set_lineno(node.lineno))
    return found


def call(name: str, arguments: list[nodes.Expr], node: nodes.Node) -> nodes.Expr:
    """A call of a function of the environment."""
    made = nodes.Call(nodes.EnvironmentAttribute(name), arguments, [], None, None)
    made.set_lineno(node.lineno)
    return made


def is_plain(value: Any) -> bool:
    """Whether the value has no state: texts, numbers, and collections of them, but not parts that note what a template reads."""
    if type(value) in (Part, Place):
        return False
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (str, bytes, int, float, Undefined))


def is_same(one: Any, other: Any) -> bool:
    """Whether two plain values are equal, with the origins of their texts."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Marked):
        return bool(str.__eq__(one, other)) and one.ends == other.ends
    if isinstance(one, dict):
        return is_same([*one.items()], [*other.items()])
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one.first == other.first if isinstance(one, Turns) else bool(one == other)


def render_from(
    source: str, messages: Sequence[Any], variables: Mapping[str, Any], size: int, target: Boundary | None
) -> tuple[int, Marked, Boundary | None] | None:
    """The place where the run begins, the text from there on, and the last boundary of the run.

    Args:
        size: Of the messages and variables (`budget.size_of`), for the limit of work.
        target: The boundary of an earlier run for the first of these messages; None for all text.
    Returns: None if the run fails, or if the template cannot run this way.
    """
    template = compile_template(source, TurnEnvironment)
    if not template.environment.fit:
        return None
    template.root_render_func.__globals__["LoopContext"] = make_loop
    if target is not None and target.ranges and not template.environment.orders:
        target = None
    run = Run(messages, target, template.environment)
    token = RUN.set(run)
    try:
        with allow_work(len(source) + size):
            run.limits = [*(LEFT.get() or ())]
            run.context = template.new_context({**variables, "messages": Turns(run, 0)})
            for piece in template.root_render_func(run.context):
                run.write(piece)
            if run.unfit or (run.target is not None and run.target.entry is None):
                return None
            spend(0, target.written if run.start and target else 0)
            return run.start, concat(run.pieces), run.boundary
    except Exception as error:  # noqa: BLE001 - the whole run raises it again, with its place
        if run.unfit or not run.places or not isinstance(error, (TypeError, Unfit)):
            return None
        template.environment.orders = False
    finally:
        RUN.reset(token)
    found = render_from(source, messages, variables, size, None)
    template.environment.orders = found is None  # else the template does more than order integers
    return found
