"""`Tokenizer.conversation`: a conversation whose ids grow with its turns.

The rule: after each call the text and the ids are those of `Tokenizer.chat` for the same messages, except that sampled ids stay
as long as the template writes their text. `resume.py` renders only the new turns where it can show that the template writes the
earlier ones again; otherwise the template writes everything. `segments.py` encodes the text from the first change on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate, chain, islice
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..._base.arguments import check_flag, check_int, check_items, check_text
from ..._base.threads import one_call_at_a_time
from ..._base.wording import number_of, preview_items
from ...errors import FormatError, InvalidOption
from ..session import IdEdit, common_prefix
from .block_hashes import HASHES, SEED, hash_blocks
from .budget import size_of
from .conversation import add_origins, check_mappings, mark_message, need_templates, prepare_template
from .ids import is_trusted, label_ids, trusted_runs
from .marked import Marked, concat, map_texts
from .segments import Change, GrownText, Held, Kept, TextEncoder, before_of, first_place, last_end

if TYPE_CHECKING:
    from .resume import Boundary

__all__ = ["Conversation", "TurnEdit"]

STAYS = {"system", "developer"}  # the roles that `truncate` keeps at the start
DRIFT = ("report", "refuse")
Text = GrownText | None
NO_IDS = np.zeros(0, np.uint32)
NEAR = 64  # ids: so many show whether the text has begun


@dataclass(frozen=True, eq=False, repr=False)
class TurnEdit(IdEdit):
    """The change of a conversation's ids by a call: `ids` replace `removed` ids
    from number `first` on. All others stay.

    Attributes:
        rewritten: The number of the first earlier message whose text the
            template moved or changed; None if it only appended.
        kept: Of the ids given to `add_sampled`, the number that is in the
            conversation unchanged.
        drift: The number of the first id given to `add_sampled` that differs
            from the canonical ids, or that is not kept; None if none does.
        canonical: uint32, the canonical ids of the kept text.
        drifting: The messages whose sampled ids differ from the canonical ids
            since this call, because the text around them changed.
        replaced: The messages whose sampled ids canonical ids replaced,
            because the template no longer writes their text.
        dropped: The messages that `truncate` dropped, by their former numbers.
    """

    rewritten: int | None = None
    kept: int = 0
    drift: int | None = None
    canonical: NDArray[np.uint32] = field(default_factory=lambda: NO_IDS)
    drifting: tuple[int, ...] = ()
    replaced: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()

    def __repr__(self) -> str:
        notes = [f"message {self.rewritten} was rewritten"] if self.rewritten is not None else []
        notes += [f"the sampled ids drift from {self.drift} on"] if self.drift is not None else []
        notes += [f"drift in {preview_items(self.drifting)}"] if self.drifting else []
        notes += [f"sampled ids replaced in {preview_items(self.replaced)}"] if self.replaced else []
        notes += [f"dropped {preview_items(self.dropped)}"] if self.dropped else []
        ids = f"{number_of(self.removed, 'id')} from {self.first} on become {preview_items(self.ids)}"
        return f"<TurnEdit {'; '.join([ids, *notes])}>"


class Log(NamedTuple):
    """The messages: as given, with origins, their roles, and the size of each with all before it (`budget.size_of`)."""

    messages: list[dict[str, Any]]
    marked: list[Any]
    roles: list[str]
    sizes: list[int]

    def cut(self, count: int) -> None:
        """Leaves only the first messages."""
        for column in self:
            del column[count:]


class View(NamedTuple):
    """The text of the conversation, with or without the prompt, as far as it is rendered.

    Attributes:
        text: The text with its ids.
        boundary: Where the next rendering can begin.
        version: The version of the conversation that the text shows.
    """

    text: Text
    boundary: Boundary | None
    version: int


class Conversation:
    """A conversation with its ids; made by `Tokenizer.conversation`.

    One call at a time can change it: a concurrent change raises RuntimeError.
    A refused call changes nothing.
    """

    def __init__(
        self,
        tok: Any,
        template: str | os.PathLike[str],
        messages: Iterable[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        variables: Mapping[str, Any],
    ) -> None:
        need_templates()  # the modules that need jinja2 are imported in the methods, because types of the package need none
        from .resume import TurnEnvironment, is_plain
        from .template import compile_template

        now = datetime.now().astimezone()
        self._tok, self._encoder = tok, TextEncoder(tok)
        self._source, known = prepare_template(tok, template, tools, variables)
        self._variables = {"strftime_now": now.strftime, **known}  # one time for all turns
        self._whole = not is_plain(known)
        self._log, self._size = Log([], [], [], []), size_of(known | {"messages": [], "add_generation_prompt": False})
        self._held: dict[int, Held] = {}
        self._hashes: dict[tuple[Any, ...], tuple[NDArray[np.uint32], tuple[bytes, ...]]] = {}
        self._version = 0
        self._views = {prompt: View(None, None, -1) for prompt in (False, True)}
        self._free, self._what = Lock(), "conversation"
        self._put(check_mappings(messages, "messages", "mappings with role and content"))
        compile_template(self._source, TurnEnvironment)
        with suppress(*() if self._log.messages else (FormatError, InvalidOption)):  # many templates need a message
            self._view(False)

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The messages: copies."""
        return [map_texts(message, str.__str__) for message in self._log.messages]

    @property
    def text(self) -> str:
        """The text that the template writes."""
        text = self._views[False].text
        return str.__str__(text.after(0)) if text else ""

    @property
    def ids(self) -> NDArray[np.uint32]:
        """The ids: uint32, shape (n,)."""
        return ids_of(self._views[False].text)

    @property
    def messages(self) -> NDArray[np.int32]:
        """int32, shape (n,): the number of the message that each id comes from; -1 for text of the template."""
        return self._labels()[0]

    @property
    def assistant_mask(self) -> NDArray[np.uint8]:
        """uint8, shape (n,): 1 for text of the assistant, as in `ChatEncoding`, and for all sampled ids."""
        return self._labels()[1]

    @property
    def drifts(self) -> dict[int, int]:
        """The messages whose sampled ids differ from the canonical ids, with
        the number of the first id that differs. Without them `ids` are those
        of `Tokenizer.chat`.
        """
        return {each.message: each.drift for each in reversed([*self._kept()]) if each.drift is not None}

    def __len__(self) -> int:
        """The number of ids."""
        text = self._views[False].text
        return text.id_count if text else 0

    def __repr__(self) -> str:
        return f"<Conversation {number_of(len(self._log.messages), 'message')}, {number_of(len(self), 'id')}>"

    @one_call_at_a_time
    def add(self, role: str | Mapping[str, Any], content: Any = None, /, **fields: Any) -> TurnEdit:
        """Adds a message.

        Args:
            role: The role; or the whole message, a mapping.
            content: The content.
            fields: Further fields of the message, such as `tool_calls`.
        Returns: the change of the ids.
        Raises: as `Tokenizer.chat`.
        """
        if not isinstance(role, str) and (content is not None or fields):
            raise TypeError("pass a role with its content and fields, or a whole message alone")
        with self._or_nothing():
            self._put([{"role": role, "content": content, **fields} if isinstance(role, str) else role])
            return self._change(False, *self._render(False))

    @one_call_at_a_time
    def add_sampled(
        self, ids: Iterable[int], message: Mapping[str, Any] | None = None, *, drift: str = "report"
    ) -> TurnEdit:
        """Adds the assistant's turn as the model sampled it after `prompt`.

        The conversation has exactly these ids for as long as the template
        writes their text, beginning with the first id; where it writes another
        text, canonical ids follow. The mark that ends the turn can be the last
        id; then the template's own mark is not added to it. Sampled ids are
        trusted: marks among them stay marks.

        Args:
            ids: What the model sampled.
            message: The message for the template, for example with tool calls;
                None for a message of the assistant with the text of the ids.
            drift: "report": the result says where the ids differ from the
                canonical ids, or from the template's text; "refuse": such
                ids raise InvalidOption.
        Returns: the change of the ids, with `kept`, `drift` and `canonical`.
        Raises: UnknownId, if no token has one of the ids; as `add`.
        """
        if drift not in DRIFT:
            raise InvalidOption("drift", drift, "'report' or 'refuse'")
        sampled, number = check_items(ids, "ids", "ids (integers)"), len(self._log.messages)
        prompt = self._view(True).text
        size, last = (prompt.id_count, prompt.ids(max(0, prompt.id_count - NEAR))) if prompt else (0, NO_IDS)
        fresh = size <= NEAR and self._tok._engine.decode_more(last, True)[1]
        whole = self._decode(sampled, fresh)
        sampled = tuple(map(int, sampled))
        token = next((token for token in self._tok._marks if sampled and token.id == sampled[-1]), None)
        closing = token.content if token and whole.endswith(token.content) else ""
        with self._or_nothing():
            # The last token may be content if it is not special: then the template writes another mark after it.
            for mark in [closing] if not closing or token.special else [closing, ""]:  # type: ignore[union-attr]
                self._log.cut(number)
                body = whole[: len(whole) - len(mark)]
                self._put([{"role": "assistant", "content": body} if message is None else message])
                start, tail, boundary = self._render(False)
                place = self._place_of_turn(prompt, start, tail)
                written = tail.part(place, len(tail)) if place >= 0 else Marked()
                closes = bool(mark) and written.startswith(whole) and is_trusted(written.part(len(body), len(whole)))
                if closes:
                    break
            own = sampled[:-1] if mark else sampled
            count, text = len(own), body
            if not written.startswith(body):
                count, text = self._common(own, written, fresh)
            lead = first_place(tail, number)
            if count and lead is not None:
                held = Held(np.array(own[:count], np.uint32), text, mark if closes else "", lead - place)
                self._held = {**self._held, number: held}
            edit = self._change(False, start, tail, boundary)
            found = next((each for each in self._kept() if each.message == number), None)
            kept = count + closes if found or not count else 0
            drifts = [kept] * (kept < len(sampled))
            drifts += [found.drift] if found and found.drift is not None else []
            if drifts and drift == "refuse":
                allowed = f"ids that are the canonical ids of the turn; number {min(drifts)} is not"
                raise InvalidOption("ids", [*sampled], allowed)
            last = np.array(sampled[-1:] if closes else (), np.uint32)
            canonical = np.append(found.canonical if found else NO_IDS, last)
            return replace(edit, kept=kept, drift=min(drifts, default=None), canonical=canonical, drifting=())

    @one_call_at_a_time
    def prompt(self) -> NDArray[np.uint32]:
        """The ids up to the place where the assistant begins to write: uint32,
        shape (n,).

        Raises: as `Tokenizer.chat`.
        """
        return ids_of(self._view(True).text)

    @one_call_at_a_time
    def fork(self) -> Conversation:
        """A copy that changes independently; it shares texts and ids with this
        conversation.
        """
        return self._copy()

    @one_call_at_a_time
    def truncate(self, budget: int) -> TurnEdit:
        """Drops the oldest turns, as few as possible, until at most `budget` ids
        remain. A turn is a message of a user with all messages up to the next
        one. Messages of the system at the start stay, and so does the last
        turn.

        Returns: the change of the ids, with the messages that it dropped.
        Raises: InvalidOption, if the rest has more ids; as `Tokenizer.chat`.
        """
        if check_int(budget, "budget") < 0:
            raise InvalidOption("budget", budget, "at least 0")
        first = next((n for n, role in enumerate(self._log.roles) if role not in STAYS), len(self._log.roles))
        turns = [n for n, role in enumerate(self._log.roles) if n >= first and (n == first or role == "user")]
        numbers, indices = np.unique(self.messages, return_index=True)
        places = np.full(
            len(self._log.roles) + 1, len(self), np.int64
        )  # of the first id of each message or a later one
        places[numbers[numbers >= 0]] = indices[numbers >= 0]
        places = np.minimum.accumulate(places[::-1])[::-1]
        sizes = [len(self) - int(places[number] - places[first]) for number in turns]
        at = next((at for at, size in enumerate(sizes) if size <= budget), len(turns) - 1)
        tried = {0: (self, TurnEdit(len(self), 0, NO_IDS, 0))}

        def size_without(count: int) -> int:
            if count not in tried:
                tried[count] = self._without(range(first, turns[count]))
            return len(tried[count][0])

        while at > 0 and size_without(at - 1) <= budget:
            at -= 1
        while at < len(turns) - 1 and size_without(at) > budget:
            at += 1
        if size_without(max(at, 0)) > budget:
            least = f"at least {size_without(max(at, 0))}, the ids without the turns that can be dropped"
            raise InvalidOption("budget", budget, least)
        rest, edit = tried[max(at, 0)]
        self.__dict__.update({name: value for name, value in vars(rest).items() if name != "_free"})
        return edit

    def cut_points(
        self, block_size: int = 16, *, prompt: bool = False, algorithm: str = "sha256", seed: str = SEED
    ) -> list[tuple[int, bytes]]:
        """The places where a prefix cache can reuse the ids: each number of ids
        that fills blocks, with the hash of these blocks.

        The hashes are those of vLLM, for text without images, adapters or a
        salt: the hash of the block before and of the ids of the block.

        Args:
            block_size: The ids of a block.
            prompt: Whether the ids are those of `prompt` and not `ids`.
            algorithm: "sha256" or "sha256_cbor"; vLLM's
                `--prefix-caching-hash-algo`.
            seed: The server's environment variable `PYTHONHASHSEED`; the
                default is that of vLLM 0.33 without this variable.
        """
        check_text(seed, "seed")
        if check_text(algorithm, "algorithm") not in HASHES:
            raise InvalidOption("algorithm", algorithm, " or ".join(map(repr, HASHES)))
        if check_int(block_size, "block_size") < 1:
            raise InvalidOption("block_size", block_size, "at least 1")
        ids = self.prompt() if check_flag(prompt, "prompt") else self.ids
        key = (block_size, prompt, algorithm, seed)
        old_ids, old = self._hashes.get(key, (NO_IDS, ()))
        known = old[: common_prefix(old_ids, ids) // block_size]
        hashes = hash_blocks(ids, block_size, algorithm, seed, known)
        self._hashes = {**self._hashes, key: (ids, hashes)}
        return [((number + 1) * block_size, each) for number, each in enumerate(hashes)]

    @contextmanager
    def _or_nothing(self) -> Iterator[None]:
        """Takes back everything if the block fails."""
        size, state = len(self._log.messages), {name: value for name, value in vars(self).items() if name != "_free"}
        try:
            yield
        except BaseException:
            self.__dict__.update(state)
            self._log.cut(size)
            raise

    def _copy(self, _memo: object = None) -> Conversation:
        new = object.__new__(Conversation)
        new.__dict__.update(self.__dict__, _log=Log(*map(list.copy, self._log)), _free=Lock())
        return new

    __copy__ = __deepcopy__ = _copy

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Conversation cannot be pickled; keep its `turns`, and make it again")

    def _put(self, messages: Sequence[Any]) -> None:
        """Adds messages that are not rendered yet."""
        from .resume import is_plain

        size = len(self._log.messages)
        marked = add_origins("messages", messages, lambda message, number: mark_message(message, size + number))
        self._log.messages.extend(map_texts(dict(message), str.__str__) for message in messages)
        self._log.marked.extend(marked)
        self._log.roles.extend(str(message.get("role", "")) for message in messages)
        sizes = accumulate(map(size_of, marked), initial=self._log.sizes[-1] if size else self._size)
        self._log.sizes.extend(islice(sizes, 1, None))
        self._whole |= not is_plain(marked)
        self._version += 1

    def _render(self, prompt: bool) -> tuple[int, Marked, Boundary | None]:
        """The text from a place on; before it, the text is that of the view."""
        from .resume import render_from
        from .template import render_template

        variables = {**self._variables, "add_generation_prompt": prompt}
        boundary = self._views[prompt].boundary
        if not self._whole:
            size = self._log.sizes[-1] if self._log.sizes else self._size
            found = render_from(self._source, self._log.marked, variables, size, boundary)
            if found is not None:
                return found
        messages = add_origins("messages", self._log.messages, mark_message)  # because parts note what a template reads
        text = render_template(self._source, {**variables, "messages": messages})
        self._whole = True
        return 0, text, None

    def _change(self, prompt: bool, start: int, tail: Marked, boundary: Boundary | None) -> TurnEdit:
        """Shows a rendered text."""
        old = self._views[prompt if start else False].text
        change = self._encoder.change(old, start, tail, self._held)
        self._views = {**self._views, prompt: View(change.text, boundary, self._version)}
        return self._compare(old, change)

    def _compare(self, old: Text, change: Change) -> TurnEdit:
        new, place = change.text, change.text.start if change.text else 0
        before, after = (text.ids(change.kept) if text else NO_IDS for text in (old, new))
        head = common_prefix(before, after)
        end = common_prefix(before[head:][::-1], after[head:][::-1])
        moved = old.parts_after(change.common) if old else ()
        numbers = [origin.message for part in moved for _, origin in part.ends if origin.message >= 0]
        kept = (text.kept_after(place) if text else () for text in (old, new))
        were, are = ({each.message: each.drift for each in places} for places in kept)
        return TurnEdit(
            change.kept + head,
            len(before) - head - end,
            after[head : len(after) - end].copy(),
            change.encoded,
            min(numbers, default=None),
            drifting=tuple(sorted(at for at, drift in are.items() if drift is not None and were.get(at) is None)),
            replaced=tuple(sorted(were.keys() - are.keys())),
        )

    def _view(self, prompt: bool) -> View:
        """The view, rendered if the conversation has changed since."""
        if self._views[prompt].version != self._version:
            self._change(prompt, *self._render(prompt))
        return self._views[prompt]

    def _kept(self) -> Iterator[Kept]:
        text = self._views[False].text
        yield from text.kept_after(0) if text else ()

    def _labels(self) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """The message of each id, and the mask."""
        text = self._views[False].text
        if text is None:
            return np.zeros(0, np.int32), np.zeros(0, np.uint8)
        _, starts, ends = text.places()
        messages, mask = label_ids(text.after(0), starts, ends, self._log.roles)
        for each in text.kept_after(0):
            last = each.end + len(self._held[each.message].closing)
            mask[slice(*np.searchsorted(starts, (each.start, last)).tolist())] = 1
        return messages, mask

    def _decode(self, ids: Sequence[int], fresh: bool) -> str:
        """The text of ids that follow other ids."""
        found: bytes = self._tok._engine.decode_more(ids, fresh)[0]
        return found.decode(errors="replace")

    def _common(self, ids: Sequence[int], text: str, fresh: bool) -> tuple[int, str]:
        """How many of the ids, from the first on, spell whole characters that `text` begins with, and these characters."""
        data, place = text.encode("utf-8", "surrogatepass"), 0
        found = 0, 0
        for number, id in enumerate(ids, 1):
            piece, fresh = self._tok._engine.decode_more([id], fresh)
            if not data.startswith(piece, place):
                break
            place += len(piece)
            if place == len(data) or data[place] & 0xC0 != 0x80:
                found = number, place
        return found[0], data[: found[1]].decode("utf-8", "surrogatepass")

    def _place_of_turn(self, prompt: Text, start: int, tail: Marked) -> int:
        """Where in `tail`, the text from `start` on, the last message begins after the text of the prompt; -1 if it does not.

        A message can spell the marks of a prompt; these are other ids.
        """
        number, old = len(self._log.messages) - 1, self._views[False].text
        place = last_end(prompt.runs_before(prompt.end), number) if prompt else 0
        rest = prompt.after(place) if prompt else Marked()
        ends = ((start + end, origin) for end, origin in reversed(tail.ends))
        place = last_end(chain(ends, old.runs_before(start) if old else ()), number)
        whole = tail if place >= start else concat([before_of(old, place, start), tail])
        first = max(0, place - start)
        written = whole.part(first, first + len(rest))
        return place + len(rest) - start if trusted_runs(written) == trusted_runs(rest) else -1

    def _without(self, numbers: range) -> tuple[Conversation, TurnEdit]:
        """The conversation without some messages, and the change that this is."""
        new = self._copy()
        keep = [number for number in range(len(self._log.messages)) if number not in numbers]
        new._log.cut(0)
        new._held = {at: self._held[number] for at, number in enumerate(keep) if number in self._held}
        new._views = {prompt: view._replace(boundary=None, version=-1) for prompt, view in self._views.items()}
        new._put([self._log.messages[number] for number in keep])
        edit = new._change(False, *new._render(False))
        kept, held = {keep[each.message] for each in new._kept()}, {each.message for each in self._kept()}
        replaced = tuple(sorted(held - kept - {*numbers}))
        return new, replace(edit, rewritten=None, drifting=(), replaced=replaced, dropped=tuple(numbers))


def ids_of(text: Text) -> NDArray[np.uint32]:
    """The ids of a text: a copy."""
    return text.ids().copy() if text else NO_IDS.copy()
