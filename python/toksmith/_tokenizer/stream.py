"""Encodes a stream of text to ids that no later text can change."""

from __future__ import annotations

from collections.abc import Collection

from .. import _core
from .._base.threads import one_call_at_a_time
from ..errors import shift_offsets

Special = str | Collection[str]
CONTEXT = 8  # bytes before a cut that decide it, in addition to added tokens

HALVES = ("\ud800", "\udbff")  # the range of the first surrogate of a pair


def check_text(text: object) -> None:
    """Raises TypeError unless the value is a text."""
    if not isinstance(text, str | bytes):
        raise TypeError(f"text: expected str or bytes, not {type(text).__name__}")


def as_utf8(text: str | bytes) -> bytes:
    """The bytes of a text as the core encodes them; adjacent surrogates that form a pair become one character."""
    check_text(text)
    if isinstance(text, bytes):
        return text
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def offset_in(text: str | bytes, place: int) -> int:
    """The offset in the text of a byte of its encoded form: in characters for `str`, in bytes for `bytes`."""
    if isinstance(text, bytes):
        return place
    before = as_utf8(text)[:place].decode(errors="ignore")
    if text.startswith(before):
        return len(before)
    units = len(before.encode("utf-16-le")) // 2  # two lone surrogates of the text can be one character in `before`
    for number, char in enumerate(text):
        if units <= 0:
            return number
        units -= 2 if ord(char) > 0xFFFF else 1
    return len(text)


class StreamEncoder:
    """Encodes a stream of text; made by `Tokenizer.encoder`.

    The joined results of `feed` and `finish` are the ids of the whole text.
    `feed` holds back the text whose ids later text could change: about a word
    with a pattern of `toksmith.patterns()` and in a raw stream of bytes; the
    whole text with another pattern or with normalizers. One call at a time
    can use it: a concurrent call raises RuntimeError.
    """

    def __init__(self, engine: _core.Engine, special: Special, longest_added: int) -> None:
        from threading import Lock  # slow to import

        self._engine, self._special = engine, special
        self._margin = longest_added + CONTEXT
        self._kept = bytearray()
        self._searched = 0  # no cut exists before this byte of `_kept`
        self._half = ""  # the first surrogate of a pair, at the end of a text
        self._given = 0
        self._free, self._what = Lock(), "encoder"

    @one_call_at_a_time
    def feed(self, text: str | bytes) -> list[int]:
        """The ids that this text makes final and that were not returned before.

        Args:
            text: `str`, or `bytes` that can end inside a character.
        Raises:
            SpecialTokenInText, NotInVocabulary: as `encode`; the encoder is
            unchanged. Offsets are bytes of the whole stream as UTF-8.
        """
        data, half = self._join_half(text)
        before = len(self._kept)
        self._kept += data
        begin = max(0, self._searched - self._margin)
        try:
            tail = bytes(self._kept[begin:])
            cut = _core.find_cut(self._engine, tail, self._searched - begin, last=True)
            end = 0 if cut is None else begin + cut
            ids = self._encoded(end)
        except BaseException:
            del self._kept[before:]
            raise
        self._half = half
        self._searched = max(0, len(self._kept) - self._margin)
        return ids

    @one_call_at_a_time
    def finish(self) -> list[int]:
        """The ids of the text that was held back; the encoder then starts again.

        Raises: as `feed`.
        """
        before = len(self._kept)
        self._kept += as_utf8(self._half)
        try:
            ids = self._encoded(len(self._kept))
        except BaseException:
            del self._kept[before:]
            raise
        self._half, self._searched, self._given = "", 0, 0
        return ids

    def _join_half(self, text: str | bytes) -> tuple[bytes, str]:
        """The bytes that the text adds, and the first surrogate of a pair at its end."""
        if isinstance(text, bytes):
            return as_utf8(self._half) + text, ""
        check_text(text)
        joined = self._half + text
        ends_in_half = HALVES[0] <= joined[-1:] <= HALVES[1]
        return as_utf8(joined[:-1] if ends_in_half else joined), joined[-1:] if ends_in_half else ""

    def _encoded(self, end: int) -> list[int]:
        """The ids of the text that is held back up to `end`, which is then dropped."""
        if not end:
            return []
        with shift_offsets(lambda offset: self._given + offset):
            ids = self._engine.encode(bytes(self._kept[:end]), self._special, "replace", None)
        del self._kept[:end]
        self._given += end
        return ids
