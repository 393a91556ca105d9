"""What the page asks for: one row for each view, a function of what was asked that gives JSON values.

The rules: every answer is one of the library's results, or a window onto one; nothing here knows how a text is cut.
A text is sent once and then named by its key; what was computed of it last is kept. Every argument is checked, and
what is wrong with it is an `InvalidOption` that says what was expected. Left out: HTTP, which is `_server`'s.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

import toksmith
from toksmith import _render, explain

from ._layout import Frame, Widths, moved_starts, row_starts
from ._opened import new_name, proposed, received_tokenizer
from ._rows import RIGHT_TO_LEFT, Rows, colours
from ._texts import Cut, Held, cut_of, edited, edited_cut, key_of, looks_of

__all__ = ["EXPORTS", "MOST_BYTES", "VIEWS", "Asked", "Session", "UnknownText", "exported", "shown"]

MOST_BYTES = 10_000_000  # of one text
MOST_TOKENIZERS = 4  # beside each other
MOST_LOADED = 50  # on a page
MOST_CELLS = 400  # in a row
MOST_ROWS = 200  # in one window
MOST_IDS = 2000
MOST_LISTED = 600
# The last used of each kind; of cuts and rows those of an edited text and of the text before it.
KEPT = {"text": 8, "data": 2, "cut": 8, "starts": 3, "right": 8, "compare": 2, "looks": 50, "doctor": 8}
T = TypeVar("T")
Shown = _render.Shown
NEAR = 20_000  # characters on each side that a piece is looked for in


class UnknownText(toksmith.UnknownName):
    """A text that is not kept any more; the page sends it again."""


class Session:
    """The tokenizers of one page, and what was asked of them last.

    Attributes:
        toks: The tokenizers by name.
        failed: What could not be loaded, with the reason.
        texts: The same text in several languages, by name; see `toksmith.parity`.
    """

    def __init__(
        self, toks: Mapping[str, toksmith.Tokenizer], failed: Mapping[str, str], texts: Mapping[str, str]
    ) -> None:
        self.toks, self.failed, self.texts = dict(toks), dict(failed), dict(texts)
        self.kept: dict[str, OrderedDict[Any, Slot]] = {kind: OrderedDict() for kind in KEPT}
        self.lock = threading.Lock()
        self.widths = Widths()

    def about(self) -> dict[str, Any]:
        """What the page has to know before anything is asked."""
        toks = [
            {"name": name, "kind": tok.model.kind, "entries": len(tok), "vocab_size": tok.vocab_size}
            | {"fingerprint": tok.fingerprint, "special_tokens": [*tok.special_tokens][:50]}
            for name, tok in self.toks.items()
        ]
        limits = {"bytes": MOST_BYTES, "tokenizers": MOST_TOKENIZERS, "ids": MOST_IDS}
        own = {"version": toksmith.__version__, "tokenizers": toks, "failed": self.failed, "limits": limits}
        return own | {
            "patterns": [*toksmith.patterns()],
            "contexts": dict(explain.CONTEXTS),
            "languages": [*self.texts],
            "views": [*VIEWS],
        }

    def keep(self, text: str) -> str:
        """Keep a text, and give its key."""
        key = key_of(text)
        self.once("text", key, lambda: Held(text))
        return key

    def had(self, kind: str, key: Any) -> Any:
        """What is kept already; None where it is not."""
        with self.lock:
            slot = self.kept[kind].get(key)
        return slot.value if slot is not None and slot.made else None

    def once(self, kind: str, key: Any, make: Callable[[], T]) -> T:
        """What `make` gives, made once and kept as long as it is among the last of its kind that were used."""
        kept = self.kept[kind]
        with self.lock:
            slot: Slot = kept.setdefault(key, Slot())
            kept.move_to_end(key)
            while len(kept) > KEPT[kind]:
                kept.popitem(last=False)
        with slot.lock:  # the same request waits for it
            if not slot.made:
                slot.value, slot.made = make(), True
        value: T = slot.value
        return value


class Slot:
    """Something that is kept, once it is made."""

    def __init__(self) -> None:
        self.lock, self.made = threading.Lock(), False
        self.value: Any = None


class Asked:
    """What a view is asked, checked: the text, the tokenizers and the rest of the arguments."""

    def __init__(self, session: Session, values: object) -> None:
        if not isinstance(values, dict):
            raise toksmith.InvalidOption("body", type(values).__name__, "a JSON object")
        self.session, self.values = session, values

    def string(self, name: str, default: str | None = None) -> str:
        """A text argument."""
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise toksmith.InvalidOption(name, value, "a text")
        return value

    def number(self, name: str, default: int | None = None, *, least: int = 0, most: int = 1 << 53) -> int:
        """A whole number in a range."""
        value = self.values.get(name, default)
        if type(value) is not int or not least <= value <= most:
            raise toksmith.InvalidOption(name, value, f"a whole number from {least:,} to {most:,}")
        return value

    def strings(self, name: str) -> list[str]:
        """A list of texts."""
        value = self.values.get(name, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise toksmith.InvalidOption(name, value, "a list of texts")
        return value

    @property
    def text(self) -> str:
        """The text: sent with the question, or sent before and named by its key."""
        if "text" in self.values:
            text = self.string("text")
            if len(text) > MOST_BYTES or len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
                raise toksmith.InvalidOption("text", f"{len(text):,} characters", f"at most {MOST_BYTES:,} bytes")
            self.values["key"] = self.session.keep(text)
            return text
        return self.held.text

    @property
    def key(self) -> str:
        """The key of the text."""
        if "key" not in self.values or "text" in self.values:
            _ = self.text
        return self.string("key")

    @property
    def held(self) -> Held:
        """The text that is named by its key, or by `edits` of the text whose key is `base`."""
        if "edits" in self.values:
            base = self.string("base")
            before = self.session.once("text", base, lambda: unknown_text(base))
            key, held = edited(base, before.text, self.values.pop("edits"))
            if len(held.text) > MOST_BYTES or len(held.text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
                raise toksmith.InvalidOption("edits", key, f"a text of at most {MOST_BYTES:,} bytes")
            self.values["key"] = key
            return self.session.once("text", key, lambda: held)
        key = self.string("key")
        return self.session.once("text", key, lambda: unknown_text(key))

    @property
    def names(self) -> list[str]:
        """The names of the tokenizers, in order."""
        names = self.strings("tokenizers")
        if not 1 <= len(names) <= MOST_TOKENIZERS:
            raise toksmith.InvalidOption("tokenizers", names, f"1 to {MOST_TOKENIZERS} names")
        for name in names:
            if name not in self.session.toks:
                raise toksmith.UnknownName("tokenizer", name, self.session.toks)
        return names

    @property
    def toks(self) -> dict[str, toksmith.Tokenizer]:
        """The tokenizers by name."""
        return {name: self.session.toks[name] for name in self.names}

    @property
    def tok(self) -> toksmith.Tokenizer:
        """The tokenizer that a question about one is for."""
        return self.session.toks[self.names[self.which]]

    @property
    def which(self) -> int:
        """The place of that tokenizer among the names; the page gives its name as `of`, or it is the first."""
        names = self.names
        name = self.string("of", names[0])
        if name not in names:
            raise toksmith.UnknownName("tokenizer", name, names)
        return names.index(name)

    @property
    def special(self) -> Any:
        """What special tokens in the text are."""
        value = self.string("special", "text")
        if value not in ("text", "allow", "raise"):
            raise toksmith.InvalidOption("special", value, "text, allow or raise")
        return value


def unknown_text(key: str) -> Held:
    raise UnknownText("text", key, ())


def compared(asked: Asked) -> explain.Comparison:
    text, special = asked.text, asked.special
    key = (asked.key, *asked.names, special)
    return asked.session.once("compare", key, lambda: explain.compare(asked.toks, text, special=special))


def data_of(asked: Asked) -> bytes:
    """The bytes of the text."""
    text = asked.text
    return asked.session.once("data", asked.key, lambda: toksmith.reference.utf8(text))


def held_of(asked: Asked) -> Held:
    """The text as it is kept."""
    key = asked.key
    return asked.session.once("text", key, lambda: unknown_text(key))


def cut_by(asked: Asked, name: str) -> Cut:
    """What a tokenizer makes of the text; of an edited one from what it made of the text before."""
    session, tok, special = asked.session, asked.session.toks[name], asked.special
    data, held, key = data_of(asked), held_of(asked), asked.key
    look = session.once("looks", name, lambda: looks_of(tok))

    def make() -> Cut:
        before = session.had("cut", (held.base, name, special)) if held.base else None
        changed = edited_cut(tok, key, held, before, data) if before else None
        return changed or cut_of(tok, key, held.text, special, look)

    return session.once("cut", (key, name, special), make)


def laid_out(asked: Asked) -> Rows:
    """The text in rows."""
    cells = asked.number("cells", 80, least=1, most=MOST_CELLS)
    session, data, held, key = asked.session, data_of(asked), held_of(asked), asked.key
    cuts = [cut_by(asked, name) for name in asked.names]
    frame = Frame(cells, session.widths, cuts)
    about = (cells, session.widths.version, asked.special, *asked.names)

    def make() -> np.ndarray[Any, Any]:
        before = session.had("starts", (held.base, *about)) if held.base else None
        stretches = [cut.changed for cut in cuts if cut.changed is not None]
        if before is None or held.edit is None or len(stretches) < len(cuts):
            return row_starts(data.decode(), frame)
        at, size = held.edit.start, held.edit.size
        begin = len(toksmith.reference.utf8(held.text[:at]))
        end = begin + len(toksmith.reference.utf8(held.text[at : at + size]))
        at, until = min(begin, *(at for at, _ in stretches)), max(end, *(until for _, until in stretches))
        return moved_starts(before, data, frame, at, until)

    return Rows(data, session.once("starts", (key, *about), make), cuts)


def has_right_to_left(asked: Asked) -> bool:
    """Whether the text has letters from right to left."""
    session, held = asked.session, held_of(asked)

    def make() -> bool:
        if held.edit is not None and session.had("right", held.base) is False:
            start, size = held.edit.start, held.edit.size
            return RIGHT_TO_LEFT.search(held.text[start : start + size]) is not None
        return RIGHT_TO_LEFT.search(held.text) is not None

    return session.once("right", asked.key, make)


def measured(asked: Asked) -> dict[str, Any]:
    """Takes how wide the page draws characters."""
    widths = asked.values.get("widths")
    if not isinstance(widths, dict):
        raise toksmith.InvalidOption("widths", widths, "the width of each character")
    asked.session.widths.take(widths)
    return {"wanted": asked.session.widths.wanted()}


def counts(asked: Asked) -> dict[str, Any]:
    """How long the text is, in bytes, characters and tokens: the first answer to a long text."""
    totals = [tok.count(asked.text, special=asked.special) for tok in asked.toks.values()]
    return {"bytes": len(data_of(asked)), "chars": len(asked.text), "totals": totals}


def rows(asked: Asked) -> dict[str, Any]:
    """The rows from `first` to `last`, with the figures of the whole text."""
    laid = laid_out(asked)
    first, last = asked.number("first", 0), asked.number("last", 0)
    last = min(last, first + MOST_ROWS)
    facts = {"bytes": len(laid.data), "chars": len(asked.text), "wanted": asked.session.widths.wanted()}
    return {**laid.window(first, last), **facts, "right_to_left": has_right_to_left(asked)}


def opened(asked: Asked) -> dict[str, Any]:
    """Adds a tokenizer from files; what the page then has to know, and its name."""
    tok = received_tokenizer(asked.values.get("files"), asked.values.get("pattern"))
    session = asked.session
    with session.lock:
        if len(session.toks) >= MOST_LOADED:
            raise toksmith.InvalidOption("files", len(session.toks), f"at most {MOST_LOADED} tokenizers on a page")
        name = new_name(asked.string("name", "tokenizer"), {**session.toks, **session.failed})
        session.toks = {**session.toks, name: tok}
    return {"name": name, "about": session.about()}


def differences(asked: Asked) -> dict[str, Any]:
    """How many stretches are cut differently."""
    found = compared(asked)
    return {"total": len(found.differences), "shared": len(found.shared)}


def ids(asked: Asked) -> dict[str, Any]:
    """The ids from place `first` to `last` of one tokenizer, with what each token looks like."""
    cut = cut_by(asked, asked.names[asked.which])
    first = min(asked.number("first", 0), len(cut.ids))
    last = min(asked.number("last", 0), first + MOST_IDS, len(cut.ids))
    shown = zip(cut.ids[first:last].tolist(), colours(cut.ends, first, last), strict=True)
    tokens = [[id, cut.look(id)[0], colour] for id, colour in shown]
    return {"total": len(cut.ids), "first": first, "tokens": tokens}


def all_ids(asked: Asked) -> dict[str, Any]:
    """All ids of one tokenizer, to be copied."""
    return {"ids": asked.tok.encode(asked.text, special=asked.special)}


def decode(asked: Asked) -> dict[str, Any]:
    """The text of ids."""
    values = asked.values.get("ids")
    if not isinstance(values, list) or not all(type(id) is int for id in values):
        raise toksmith.InvalidOption("ids", values, "a list of whole numbers")
    data = asked.tok.decode_bytes(values)
    return {"text": data.decode("utf-8", "replace"), "bytes": len(data), "hex": data[:200].hex()}


def place(asked: Asked) -> dict[str, Any]:
    """The place of a token: its row and its bytes."""
    laid, which = laid_out(asked), asked.which
    count = len(laid.cuts[which].ends)
    token = asked.number("token", least=0, most=max(0, count - 1))
    span = laid.span(which, token) if count else (0, 0)
    return {"row": laid.row_of(span[0]), "token": token, "span": span}


def difference(asked: Asked) -> dict[str, Any]:
    """The next stretch that is cut differently behind the byte `after`, or before it (`back`); round the end."""
    laid, compare = laid_out(asked), compared(asked)
    total = len(compare.differences)
    if not total:
        return {"total": 0}
    after = asked.number("after", -1, least=-1)
    starts = np.fromiter((each.start for each in compare.differences), np.int64, total)
    if asked.values.get("back"):
        number = (int(starts.searchsorted(after, "left")) - 1) % total
    else:
        number = int(starts.searchsorted(after, "right")) % total
    found = compare.differences[number]
    tokens = []
    for cut, stretch in zip(laid.cuts, found.places, strict=True):
        drawn = zip(stretch[:50], colours(cut.ends, stretch.start, stretch.stop), strict=False)
        tokens.append([[at, int(cut.ids[at]), cut.look(int(cut.ids[at]))[0], colour] for at, colour in drawn])
    span = {"start": found.start, "end": found.end, "row": laid.row_of(found.start)}
    return {"total": total, "number": number, **span, "tokens": tokens}


def piece(asked: Asked) -> dict[str, Any]:
    """The piece that contains a byte of the text; in a long text only its neighbourhood is examined."""
    data = data_of(asked)
    byte = asked.number("byte", 0, most=len(data))
    start = 0 if byte <= NEAR else data.rfind(b"\n", 0, byte - NEAR // 2) + 1
    if byte - start > 2 * NEAR:
        start = byte - NEAR
        while start < byte and 0x80 <= data[start] < 0xC0:
            start += 1
    near = data[start : byte + NEAR].decode("utf-8", "ignore").encode()
    for begin, end, _ in explain.pieces(asked.tok, near, special=asked.special).rows():
        if start + begin <= byte < start + end:
            return {"piece": near[begin:end].decode("utf-8", "replace"), "start": start + begin, "end": start + end}
    return {"piece": "", "start": byte, "end": byte}


def repair(asked: Asked) -> dict[str, Any]:
    """The text with findings of the lint repaired."""
    return {"text": explain.lint(asked.tok, asked.text).repaired(*asked.strings("names"))}


def pieces(asked: Asked) -> Shown:
    """One tokenizer on the text, or several compared."""
    if len(asked.names) > 1:
        return compared(asked)
    return explain.pieces(asked.tok, asked.text, special=asked.special)


def budget(asked: Asked) -> Shown:
    """Tokens against context lengths, the user's own among them."""
    contexts = dict(explain.CONTEXTS)
    if (own := asked.number("context", 0, most=1 << 40)) > 0:
        contexts["yours"] = own
    return explain.budget(asked.toks, asked.text, context=contexts, special=asked.special)


def parity(asked: Asked) -> Shown:
    """What the same text costs in each language: the playground's own texts, or `lines` of `name: text`."""
    lines = asked.strings("lines")
    texts = dict(own_texts(lines)) if lines else asked.session.texts
    return toksmith.parity(asked.tok, texts)


def own_texts(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        name, colon, text = line.partition(":")
        if not colon or not name.strip():
            raise toksmith.InvalidOption(f"line {number}", line[:40], "a language, a colon and a text in that language")
        yield name.strip(), text.strip()


def prompt(asked: Asked) -> Shown:
    """The text up to `end` characters as a prompt."""
    text = asked.text
    end = asked.number("end", len(text), most=len(text))
    return explain.prompt(asked.tok, text, end, special=asked.special)


def doctor(asked: Asked) -> Shown:
    """What is wrong with the tokenizer."""
    tok = asked.tok
    return asked.session.once("doctor", tok.fingerprint, lambda: toksmith.doctor(tok))


def by(asked: Asked) -> Any:
    return asked.string("by", "text")


VIEWS: Mapping[str, Callable[[Asked], Shown | dict[str, Any]]] = {
    # windows and answers
    "counts": counts,
    "rows": rows,
    "differences": differences,
    "measured": measured,
    "opened": opened,
    "proposed": lambda asked: proposed(asked.tok, asked.text),
    "ids": ids,
    "all_ids": all_ids,
    "decode": decode,
    "place": place,
    "difference": difference,
    "piece": piece,
    "repair": repair,
    # results of the library, which can be exported
    "tokens": pieces,
    "merges": lambda asked: explain.merges(asked.tok, asked.string("piece")),
    "tree": lambda asked: explain.tree(asked.tok, asked.number("id")),
    "history": lambda asked: explain.history(asked.tok, asked.number("id")),
    "budget": budget,
    "parity": parity,
    "prompt": prompt,
    "lint": lambda asked: explain.lint(asked.tok, asked.text),
    "specials": lambda asked: explain.specials(asked.tok, asked.text),
    "search": lambda asked: explain.search(asked.tok, asked.string("query"), by=by(asked), most=200),
    "lengths": lambda asked: explain.lengths(asked.toks),
    "doctor": doctor,
}


class Named(Shown):
    """A result with the names and fingerprints of the tokenizers that it is about, as it is exported."""

    def __init__(self, result: Shown, toks: Mapping[str, toksmith.Tokenizer]) -> None:
        self.result, self.toks = result, toks

    def view(self) -> _render.View:
        """What is to be seen."""
        view = self.result.view()
        lines = [_render.Line(f"{name}: {tok.fingerprint}", "dim") for name, tok in self.toks.items()]
        return _render.View(view.title, [*view.blocks, *lines])

    def to_dict(self) -> dict[str, Any]:
        """The result, and what it is of, as JSON values."""
        made_by = {name: tok.fingerprint for name, tok in self.toks.items()}
        return {"toksmith": toksmith.__version__, "tokenizers": made_by, "result": self.result.to_dict()}


EXPORTS: Mapping[str, tuple[str, Callable[[Shown], str]]] = {
    "html": ("text/html", Shown.to_html),
    "svg": ("image/svg+xml", Shown.to_svg),
    "json": ("application/json", Shown.to_json),
}


def shown(view: str, asked: Asked) -> dict[str, Any]:
    """The answer to a question: what the view gives, as JSON values, and the key of the text that it was asked of."""
    result = VIEWS[view](asked)
    found = result if isinstance(result, dict) else listed(result.to_dict())
    return {"result": found, "key": asked.values.get("key")}


def listed(found: Any) -> Any:
    """A result as the page takes it: what bytes look like beside them, and of long lists the beginning and the length."""
    if isinstance(found, list):
        return [listed(each) for each in found]
    if not isinstance(found, dict):
        return found
    made: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, list) and len(value) > MOST_LISTED and isinstance(value[0], dict):
            made[f"{name}_total"] = len(value)
            value = value[:MOST_LISTED]
        made[name] = listed(value)
    if isinstance(found.get("hex"), str):
        made["shown"] = _render.token_text(bytes.fromhex(found["hex"]))
    return made


def exported(view: str, format: str, asked: Asked) -> tuple[str, str]:
    """The content type and the text of an exported view."""
    result = VIEWS[view](asked)
    if isinstance(result, dict):
        raise toksmith.InvalidOption("view", view, "one that has a result of its own")
    kind, make = EXPORTS[format]
    return kind, make(Named(result, asked.toks))
