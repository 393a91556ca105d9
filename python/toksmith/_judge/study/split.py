"""Splits the corpus of a study into training texts and held-out texts, by the texts alone, in bounded memory.

The texts with the smallest hashes are held out, up to 5 % of the bytes and 16 MiB, so equal texts are always on the same side,
and a held-out text is measured once. The texts with the next smallest hashes are the sample, in which tokens are counted. If a
corpus has few texts, they are cut at line ends. Left out: texts that are nearly equal.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..._base.arguments import WrongDocument
from ..._base.wording import number_of
from ..._corpus import Corpus, Document, WholeFile, iter_unread
from ..._corpus.encode_files import open_unpacked, wrap_corpus_errors
from ..._tokenizer.stream import as_utf8
from ...errors import CorpusError, InvalidOption

HELD_OUT_SHARE = 20  # one byte in this number is held out
HELD_OUT_BYTES, SAMPLE_BYTES = 16 << 20, 32 << 20
LONGEST = 1 << 20  # longer texts are cut
FEWEST, WANTED, SHORTEST = (
    200,
    400,
    256,
)  # fewer than FEWEST texts are cut into about WANTED, each of at least SHORTEST bytes
READ = 8 << 20
OnBytes = Callable[[int], None]


@dataclass(frozen=True)
class Split:
    """The two sides of a corpus.

    Attributes:
        corpus: The argument, unchanged.
        longest: Bytes; longer texts are cut at line ends.
        last: The largest held-out hash; None if the caller gave held-out
            texts, so that the whole corpus is trained on.
        held_out: The texts to measure, each once.
        sample: Training texts, with the occurrences of each.
        texts, all_bytes: The size of the whole corpus, held-out texts included.
        trained_bytes: The bytes of the training texts.
        held_out_bytes: The bytes of the held-out texts.
        left_out: Number of given held-out texts that occur in the corpus.
        digest: Hash of the texts of the corpus in order, and of the split.
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
        return (text for text in corpus_texts(self.corpus, self.longest) if text_hash(text) > (self.last or 0))

    def sample_texts(self) -> Iterator[bytes]:
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


class SmallestHashes:
    """The distinct texts with the smallest hashes, up to `room` bytes."""

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
        """Hash, text and occurrences, the smallest hash first."""
        return [(hash, *self.texts[hash]) for hash in sorted(self.texts)]


@dataclass
class CorpusReading:
    """The result of one reading of a corpus."""

    smallest: SmallestHashes
    texts: int = 0
    bytes: int = 0
    digest: str = ""


def split_corpus(corpus: Corpus, held_out: Corpus | None, on_bytes: OnBytes) -> Split:
    """Reads a corpus and splits it.

    Args:
        held_out: Texts to measure; None to take them from the corpus.
        on_bytes: A callback that gets the number of bytes read so far.
    """
    refuse_once(corpus, "corpus")
    if held_out is not None:
        refuse_once(held_out, "held_out")
        return split_given(corpus, held_out, on_bytes)
    reading, longest = read_corpus(corpus, LONGEST, {}, on_bytes), LONGEST
    if 0 < len(reading.smallest.texts) < FEWEST:
        longest = min(LONGEST, max(SHORTEST, reading.bytes // WANTED))
        reading = read_corpus(corpus, longest, {}, on_bytes)
    refuse_empty(reading)
    ordered = reading.smallest.in_order()
    most = min(HELD_OUT_BYTES, reading.bytes // HELD_OUT_SHARE)
    number, size, trained = 0, 0, reading.bytes
    for _, text, times in ordered[:-1]:
        if number and size + len(text) > most:
            break
        number, size, trained = number + 1, size + len(text), trained - len(text) * times
    if not number:
        raise CorpusError(None, None, "the corpus is one text, so no text can be held out; give held_out=")
    last = ordered[number - 1][0]
    digest = hashlib.blake2b(f"{reading.digest} {longest} {last}".encode(), digest_size=16).hexdigest()
    return Split(
        corpus,
        longest,
        last,
        tuple(text for _, text, _ in ordered[:number]),
        tuple((text, times) for _, text, times in ordered[number:]),
        reading.texts,
        reading.bytes,
        trained,
        size,
        0,
        digest,
    )


def split_given(corpus: Corpus, held_out: Corpus, on_bytes: OnBytes) -> Split:
    """The split with given held-out texts, without those that the corpus contains."""
    with as_argument("held_out", "corpus"):
        candidates = read_corpus(held_out, LONGEST, {}, lambda _: None, HELD_OUT_BYTES).smallest.texts
    if not candidates:
        raise CorpusError(None, None, "the held-out text is empty: no byte in any of its documents")
    met: dict[int, bool] = dict.fromkeys(candidates, False)
    reading = read_corpus(corpus, LONGEST, met, on_bytes)
    refuse_empty(reading)
    measured = tuple(candidates[hash][0] for hash in sorted(candidates) if not met[hash])
    if not measured:
        problem = f"all held-out texts ({len(candidates):,}) are texts of the corpus; give texts that are not in it"
        raise CorpusError(None, None, problem)
    size = sum(map(len, measured))
    sample = tuple((text, times) for _, text, times in reading.smallest.in_order())
    left = len(candidates) - len(measured)
    return Split(
        corpus, LONGEST, None, measured, sample, reading.texts, reading.bytes, reading.bytes, size, left, reading.digest
    )


@contextmanager
def as_argument(name: str, other: str) -> Iterator[None]:
    """Reports type errors of an inner call, which names the argument `other`, under the name of our argument."""
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


def refuse_empty(seen: CorpusReading) -> None:
    if not seen.bytes:
        problem = (
            f"the corpus is empty: {number_of(seen.texts, 'document')} without a byte; expected text to learn from"
        )
        raise CorpusError(None, None, problem)


def read_corpus(
    corpus: Corpus, longest: int, met: dict[int, bool], on_bytes: OnBytes, room: int = HELD_OUT_BYTES + SAMPLE_BYTES
) -> CorpusReading:
    """Reads a corpus once.

    Args:
        met: By hash, whether the corpus has this text; this function fills in the values.
    """
    reading = CorpusReading(SmallestHashes(room))
    digest = hashlib.blake2b(digest_size=16)
    for text in corpus_texts(corpus, longest):
        hash = text_hash(text)
        digest.update(hash.to_bytes(8, "big"))
        reading.smallest.add(hash, text)
        reading.texts += 1
        reading.bytes += len(text)
        if hash in met:
            met[hash] = True
        on_bytes(reading.bytes)
    reading.digest = digest.hexdigest()
    return reading


def text_hash(text: bytes) -> int:
    """The hash of a text, by which texts are ordered."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def corpus_texts(corpus: Corpus, longest: int) -> Iterator[bytes]:
    """The non-empty texts of a corpus, cut to `longest` bytes; no file is in memory as a whole."""
    for part in iter_unread(corpus):
        if isinstance(part, Document):
            yield from filter(None, cut_text(as_utf8(part.text), longest))
        else:
            yield from texts_of_file(part, longest)


def texts_of_file(part: WholeFile, longest: int) -> Iterator[bytes]:
    """The texts of a file, which is one document."""
    assert isinstance(part.source, Path), "open files are refused"
    with wrap_corpus_errors(part.source), open_unpacked(part.source) as stream:
        rest = b""
        while block := stream.read(max(READ, 8 * longest)):
            *whole, rest = cut_text(rest + block, longest, more=True)
            yield from whole
        yield from filter(None, cut_text(rest, longest))


def cut_text(text: bytes, longest: int, *, more: bool = False) -> Iterator[bytes]:
    r"""A text cut after the first line end from `longest` bytes on, or inside a line that is four times as long.

    Args:
        more: Whether the text continues; the last part, which can be empty, is then incomplete.

    >>> [*cut_text(b"one line\nanother line\nend", 5)]
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
