"""Encodes text that comes in parts to ids that no later text can change."""

from __future__ import annotations

from collections.abc import Collection

from .. import _core
from .._base.errors import moved
from .._base.threads import alone

__all__ = ["CONTEXT", "Special", "StreamEncoder", "as_utf8", "offset_in"]

Special = str | Collection[str]
CONTEXT = 8  # how many bytes before a cut decide it, besides added tokens

HALVES = ("\ud800", "\udbff")  # the first of a pair of surrogates


def as_utf8(text: str | bytes) -> bytes:
    """The bytes of a text as they are encoded; adjacent surrogates that form a pair become one character."""
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
    units = len(before.encode("utf-16-le")) // 2  # of lone surrogates, two may be one character here
    for number, char in enumerate(text):
        if units <= 0:
            return number
        units -= 2 if ord(char) > 0xFFFF else 1
    return len(text)


class StreamEncoder:
    """Encodes text as it comes; made by `Tokenizer.encoder`.

    The results of `feed` and `finish`, joined, are the ids of the whole text.
    `feed` holds back the text that later text could affect: about a word with
    a pattern of `toksmith.patterns()` and in a raw stream of bytes; all of it
    with another pattern or with normalizers. One call at a time may use it:
    another raises RuntimeError.
    """

    def __init__(self, engine: _core.Engine, special: Special, longest_added: int) -> None:
        from threading import Lock  # slow to import

        self._engine, self._special = engine, special
        self._margin = longest_added + CONTEXT
        self._kept = bytearray()
        self._searched = 0  # there is no cut before it
        self._half = ""  # the first of a pair of surrogates, at the end of a text
        self._given = 0
        self._free, self._what = Lock(), "encoder"

    @alone
    def feed(self, text: str | bytes) -> list[int]:
        """The ids that this text makes final and that were not returned before.

        Args:
            text: `str`, or `bytes` that may end inside a character.
        Raises:
            SpecialTokenInText, NotInVocabulary: as `encode`; the encoder is
            unchanged. Offsets are bytes of the whole stream as UTF-8.
        """
        data, half = self._joined(text)
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

    @alone
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

    def _joined(self, text: str | bytes) -> tuple[bytes, str]:
        """The bytes that the text adds, and a half character that it leaves."""
        if isinstance(text, bytes):
            return as_utf8(self._half) + text, ""
        if not isinstance(text, str):
            raise TypeError(f"text: expected str or bytes, not {type(text).__name__}")
        whole = self._half + text
        ends_in_half = HALVES[0] <= whole[-1:] <= HALVES[1]
        return as_utf8(whole[:-1] if ends_in_half else whole), whole[-1:] if ends_in_half else ""

    def _encoded(self, end: int) -> list[int]:
        """The ids of the held text up to `end`, which is then dropped."""
        if not end:
            return []
        with moved(lambda offset: self._given + offset):
            ids = self._engine.encode(bytes(self._kept[:end]), self._special, "replace", None)
        del self._kept[:end]
        self._given += end
        return ids
