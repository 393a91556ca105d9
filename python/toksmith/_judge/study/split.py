"""A corpus for a study: which texts are trained on, and which are held out. Fixed by the texts alone, in bounded memory.

The rule: each text has the place of its hash. The texts with the smallest hashes are held out, up to 5 % of the bytes and
16 MiB, so equal texts are always on the same side, and a text that is held out is measured once. Of the others, those with
the smallest hashes are the sample, in which tokens are counted. Where there are few texts, they are cut at line ends.
Left out: texts that are nearly equal.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..._base.arguments import WrongDocument
from ..._base.errors import CorpusError, InvalidOption, number_of
from ..._corpus import Corpus, Document, WholeFile, parts
from ..._corpus.encode_files import opened, readable
from ..._tokenizer.stream import as_utf8

__all__ = ["Split", "as_argument", "split_corpus"]

HELD_OUT_SHARE = 20  # one in so many bytes
HELD_OUT_BYTES, SAMPLE_BYTES = 16 << 20, 32 << 20
LONGEST = 1 << 20  # longer texts are cut
FEWEST, WANTED, SHORTEST = (
    200,
    400,
    256,
)  # texts; below the first they are cut into about so many, of at least so many bytes
READ = 8 << 20
Told = Callable[[int], None]


@dataclass(frozen=True)
class Split:
    """The two sides of a corpus.

    Attributes:
        corpus: As it was given.
        longest: Longer texts are cut at line ends.
        last: The largest hash that is held out; None if held-out texts were
            given, so that everything is trained on.
        held_out: The texts to measure, each once.
        sample: Texts of training, with how often each occurs.
        texts, all_bytes: The size of the whole corpus, held-out texts included.
        trained_bytes: The bytes that are trained on.
        held_out_bytes: Those of the held-out texts.
        left_out: Held-out texts that were given and occur in the corpus.
        digest: The texts of the corpus in order, and what is held out.
    """

    corpus: Corpus
    longest: int
    last: int | None
    held_out: tuple[bytes, ...]
    sample: tuple[tuple[bytes, int], ...]
    texts: int
    all_bytes: int
    trained_bytes: int
    held_out_bytes: int
    left_out: int
    digest: str

    def training(self) -> Corpus:
        """The corpus to train on; a new iterator at each call."""
        if self.last is None:
            return self.corpus
        return (text for text in texts(self.corpus, self.longest) if place(text) > (self.last or 0))

    def sampled(self) -> Iterator[bytes]:
        for text, times in self.sample:
            for _ in range(times):
                yield text

    @property
    def rule(self) -> str:
        size = f"{number_of(len(self.held_out), 'text')}, {self.held_out_bytes:,} bytes"
        if self.last is None:
            more = (
                f"; {number_of(self.left_out, 'text')} left out, because the corpus has the same"
                if self.left_out
                else ""
            )
            return f"the given ones ({size}{more})"
        cut = f"; texts are cut at line ends into about {self.longest:,} bytes" if self.longest < LONGEST else ""
        return f"those with the smallest hashes ({size}), never trained on, equal texts together{cut}"


class Smallest:
    """The different texts with the smallest hashes, in so many bytes."""

    def __init__(self, room: int) -> None:
        self.room, self.size = room, 0
        self.texts: dict[int, tuple[bytes, int]] = {}
        self.heap: list[int] = []

    def add(self, hash: int, text: bytes) -> None:
        if hash in self.texts:
            self.texts[hash] = (text, self.texts[hash][1] + 1)
            return
        if self.size + len(text) > self.room and self.heap and hash > -self.heap[0]:
            return
        self.texts[hash] = (text, 1)
        heapq.heappush(self.heap, -hash)
        self.size += len(text)
        while self.size > self.room and len(self.heap) > 1:
            self.size -= len(self.texts.pop(-heapq.heappop(self.heap))[0])

    def in_order(self) -> list[tuple[int, bytes, int]]:
        """Hash, text and how often it came, the smallest hash first."""
        return [(hash, *self.texts[hash]) for hash in sorted(self.texts)]


@dataclass
class Seen:
    """What one reading of a corpus found."""

    smallest: Smallest
    texts: int = 0
    bytes: int = 0
    digest: str = ""


def split_corpus(corpus: Corpus, held_out: Corpus | None, told: Told) -> Split:
    """Reads a corpus, and divides it.

    Args:
        held_out: Texts to measure; None to take them from the corpus.
        told: Is called with the bytes that were read.
    """
    refuse_once(corpus, "corpus")
    if held_out is not None:
        refuse_once(held_out, "held_out")
        return beside(corpus, held_out, told)
    seen, longest = read(corpus, LONGEST, {}, told), LONGEST
    if 0 < len(seen.smallest.texts) < FEWEST:
        longest = min(LONGEST, max(SHORTEST, seen.bytes // WANTED))
        seen = read(corpus, longest, {}, told)
    refuse_empty(seen)
    found = seen.smallest.in_order()
    most = min(HELD_OUT_BYTES, seen.bytes // HELD_OUT_SHARE)
    number, size, trained = 0, 0, seen.bytes
    for _, text, times in found[:-1]:
        if number and size + len(text) > most:
            break
        number, size, trained = number + 1, size + len(text), trained - len(text) * times
    if not number:
        raise CorpusError(None, None, "the corpus is one text, of which nothing can be held out; give held_out=")
    last = found[number - 1][0]
    digest = hashlib.blake2b(f"{seen.digest} {longest} {last}".encode(), digest_size=16).hexdigest()
    return Split(
        corpus,
        longest,
        last,
        tuple(text for _, text, _ in found[:number]),
        tuple((text, times) for _, text, times in found[number:]),
        seen.texts,
        seen.bytes,
        trained,
        size,
        0,
        digest,
    )


def beside(corpus: Corpus, held_out: Corpus, told: Told) -> Split:
    """The division where held-out texts are given: those that the corpus has too are left out."""
    with as_argument("held_out", "corpus"):
        given = read(held_out, LONGEST, {}, lambda _: None, HELD_OUT_BYTES).smallest.texts
    if not given:
        raise CorpusError(None, None, "the held-out text is empty: no byte in any of its documents")
    met: dict[int, bool] = dict.fromkeys(given, False)
    seen = read(corpus, LONGEST, met, told)
    refuse_empty(seen)
    kept = tuple(given[hash][0] for hash in sorted(given) if not met[hash])
    if not kept:
        said = f"all held-out texts ({len(given):,}) are texts of the corpus; give texts that training does not see"
        raise CorpusError(None, None, said)
    size = sum(map(len, kept))
    sample = tuple((text, times) for _, text, times in seen.smallest.in_order())
    left = len(given) - len(kept)
    return Split(corpus, LONGEST, None, kept, sample, seen.texts, seen.bytes, seen.bytes, size, left, seen.digest)


@contextmanager
def as_argument(name: str, other: str) -> Iterator[None]:
    """Errors of a wrong type by the name of the argument, where another function has another name for it."""
    try:
        yield
    except WrongDocument as error:
        raise TypeError(f"{name}: {str(error).removeprefix('corpus: ')}") from None
    except TypeError as error:
        raise TypeError(str(error).replace(f"{other}:", f"{name}:", 1)) from None


def refuse_once(corpus: Corpus, name: str) -> None:
    several = isinstance(corpus, (list, tuple)) and any(hasattr(each, "read") for each in corpus)
    if isinstance(corpus, Iterator) or hasattr(corpus, "read") or several:
        allowed = "texts, paths or a list of them: a study reads them more than once, which iterators and open files do not allow"
        raise InvalidOption(name, corpus, allowed)


def refuse_empty(seen: Seen) -> None:
    if not seen.bytes:
        said = f"the corpus is empty: {number_of(seen.texts, 'document')} without a byte; expected text to learn from"
        raise CorpusError(None, None, said)


def read(
    corpus: Corpus, longest: int, met: dict[int, bool], told: Told, room: int = HELD_OUT_BYTES + SAMPLE_BYTES
) -> Seen:
    """Reads a corpus once.

    Args:
        met: By hash, whether the corpus has such a text; it is filled in.
    """
    seen = Seen(Smallest(room))
    digest = hashlib.blake2b(digest_size=16)
    for text in texts(corpus, longest):
        hash = place(text)
        digest.update(hash.to_bytes(8, "big"))
        seen.smallest.add(hash, text)
        seen.texts += 1
        seen.bytes += len(text)
        if hash in met:
            met[hash] = True
        told(seen.bytes)
    seen.digest = digest.hexdigest()
    return seen


def place(text: bytes) -> int:
    """The place of a text among all."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def texts(corpus: Corpus, longest: int) -> Iterator[bytes]:
    """The texts of a corpus that have a byte; longer ones are cut, and no file is in memory as a whole."""
    for part in parts(corpus):
        if isinstance(part, Document):
            yield from filter(None, cut(as_utf8(part.text), longest))
        else:
            yield from of_file(part, longest)


def of_file(part: WholeFile, longest: int) -> Iterator[bytes]:
    """The texts of a file that is one document."""
    assert isinstance(part.source, Path), "open files are refused"
    with readable(part.source), opened(part.source) as stream:
        rest = b""
        while block := stream.read(max(READ, 8 * longest)):
            *whole, rest = cut(rest + block, longest, more=True)
            yield from whole
        yield from filter(None, cut(rest, longest))


def cut(text: bytes, longest: int, *, more: bool = False) -> Iterator[bytes]:
    r"""A text, cut behind the first line end from `longest` bytes on; within a line only if it is four times as long.

    Args:
        more: Whether the text goes on: then the last part, which may be empty, is not complete.

    >>> [*cut(b"one line\nanother line\nend", 5)]
    [b'one line\n', b'another line\n', b'end']
    """
    start, ahead = 0, 4 * longest
    while len(text) - start > (ahead if more else longest):
        end = text.find(b"\n", start + longest - 1, start + ahead) + 1
        if not end:
            end = min(start + longest, len(text))
            while end > start + 1 and end < len(text) and text[end] & 0xC0 == 0x80:
                end -= 1
        yield text[start:end]
        start = end
    yield text[start:]
