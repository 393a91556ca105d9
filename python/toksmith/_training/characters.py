"""Trains on characters as SentencePiece does: code-point BPE and unigram models.

Each text gets a space before it. A word begins at each space, which is written `▁`. The most frequent characters form the
alphabet, and all others cut words. The core learns from the words: `train/` learns merges, after the merges that join
the bytes of each character into one symbol; `train/unigram.rs` learns scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.errors import CorpusError, InvalidOption, number_of
from .._corpus import batches, documents
from .._model.model import AddedToken, Model, Step, TokenTable, TrainingRecord
from .._model.special import check_special_tokens
from .._render.progress import Reporter
from .checkpoint import Checkpoint
from .counts import PieceCounts, need
from .merge_loop import NO_LIMIT, Merge, MergeRules, Phase, Start, learn
from .options import Outcome, Run, check_merging, said_stop

__all__ = ["CharacterOptions", "train_characters"]

BOUNDARY = "\uffff"  # replaces a user symbol; no word contains it
WORDS = f" ?[^ \n{BOUNDARY}]+| |\n"
TEXTS = f"[^{BOUNDARY}]+"
BLOCK = "▁"
LONGEST = 16
SEEDS = 1_000_000
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class CharacterOptions:
    """The arguments of `train` that decide a model of characters; `words` is whether tokens end where words end."""

    kind: str
    vocab_size: int | None
    merges: int | None
    special_tokens: tuple[str, ...]
    user_symbols: tuple[str, ...]
    character_coverage: float
    byte_fallback: bool
    dummy_prefix: bool
    words: bool
    ties: str
    min_count: int
    max_token_bytes: int | None
    unknown_token: str = "<unk>"

    @property
    def extra(self) -> int:
        """The number of tokens that are not learned: the unknown token, bytes, symbols and special tokens."""
        return 1 + 256 * self.byte_fallback + len(self.user_symbols) + len(self.special_tokens)

    def learned(self, alphabet: int) -> int:
        """The largest number of tokens to learn beside the alphabet."""
        if self.vocab_size is None:
            return NO_LIMIT if self.merges is None else self.merges
        least = self.extra + alphabet
        if self.vocab_size < least:
            parts = f"the alphabet of {number_of(alphabet, 'character')} and {number_of(self.extra, 'other token')}"
            raise InvalidOption("vocab_size", self.vocab_size, f"at least {least}: {parts}")
        return self.vocab_size - least

    def check(self) -> None:
        """Raises InvalidOption for the first argument that is out of range."""
        need(self, 0 < self.character_coverage <= 1, "character_coverage", "above 0 and at most 1")
        need(self, (self.vocab_size or 0) <= NO_LIMIT, "vocab_size", f"at most {NO_LIMIT}")
        check_merging(self)
        if self.kind == "unigram":
            need(self, self.vocab_size is not None, "vocab_size", "a number of tokens for kind='unigram'")
        elif self.vocab_size is None and self.merges is None:
            what = "a number of tokens; or pass merges=, or min_count=2 to stop at rare pairs"
            need(self, self.min_count >= 2, "vocab_size", what)
        for symbol in self.user_symbols:
            if {" ", BLOCK} & {*symbol}:
                allowed = "symbols without spaces and ▁, because spaces become ▁ before symbols are found"
                raise InvalidOption("user_symbols", symbol, allowed)
        check_special_tokens((self.unknown_token, *self.user_symbols, *self.special_tokens))


def train_characters(run: Run, options: CharacterOptions) -> Outcome:
    """Counts the words of the corpus and trains on them."""
    counts = counted(run, options)
    counted_s = run.reporter.elapsed_s
    characters = [(char, count) for char, count in counts.characters() if char != BOUNDARY]
    alphabet = covering(characters, options.character_coverage)
    most = options.learned(len(alphabet))
    words = counts.within(alphabet)
    if options.kind == "unigram":
        model = unigram_of(counts, words, alphabet, options, run)
        return Outcome(model, counts.unique, counted_s)
    tokens, learned = merged_characters(words, alphabet, options, most, run.reporter)
    scores = -np.arange(len(tokens), dtype=np.float64)
    # No merge makes a character, so its score decides nothing. Characters come first, and merges keep their order.
    first = len(alphabet)
    record = TrainingRecord(
        **facts(counts, options),
        symbols=sum(count for _, count in characters),
        counts=learned.counts[len(learned.counts) - (len(tokens) - first) :],
        left=learned.left[len(learned.left) - (len(tokens) - first) :],
        stopped_because=said_stop(learned.stopped, options),
    )
    interrupted = "merging" if learned.stopped == "interrupted" else ""
    return Outcome(model_of(tokens, scores, options, record), counts.unique, counted_s, interrupted)


def counted(run: Run, options: CharacterOptions) -> _core.CountedPieces:
    """The words of the corpus with their counts."""
    corpus, limits, threads = run.corpus, run.limits, run.threads
    if isinstance(corpus, PieceCounts):
        raise InvalidOption("corpus", corpus, "documents: this kind does not train on counts of pieces")
    counter = _core.Counter([WORDS if options.words else TEXTS], (0, 0), None, "", limits.max_piece_bytes)
    for batch in batches(documents(corpus)):
        counter.add([tidied(document, options) for document in batch], threads)
        run.reporter.report("counting", counter.bytes, None)
    counts = counter.finish(limits.min_count, threads)
    if counts.bytes == 0:
        raise CorpusError(
            None,
            None,
            f"the corpus is empty: {number_of(counts.documents, 'document')} without a byte; expected text to learn from",
        )
    return counts


def tidied(document: str | bytes, options: CharacterOptions) -> str:
    """The text as the model's normalizer returns it, but with spaces unescaped and a mark for each user symbol."""
    text = document.decode("utf-8", "replace") if isinstance(document, bytes) else document
    if options.user_symbols:
        longest_first = sorted(options.user_symbols, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, longest_first)), BOUNDARY, text)
    text = text.replace(BLOCK, " ")
    return f" {text}" if text and options.dummy_prefix else text


def covering(characters: Sequence[tuple[str, int]], coverage: float) -> list[str]:
    """The fewest characters that together reach this share of the text, sorted by code point.

    Shares are compared in single precision, as in SentencePiece. Among equal counts a space sorts as `▁`.
    """
    total, reached = sum(count for _, count in characters), 0
    kept = []
    for char, count in sorted(characters, key=lambda item: (-item[1], item[0].replace(" ", BLOCK))):
        if np.float32(reached / total) >= np.float32(coverage):
            break
        reached += count
        kept.append(char)
    return sorted(kept)


def joined_characters(alphabet: Sequence[str]) -> tuple[list[Merge], dict[str, int]]:
    """The merges of bytes that make each character one symbol, and these symbols by code point.

    >>> joined_characters(["a", "é", "日"])
    ([(195, 169, 256), (230, 151, 257), (257, 165, 258)], {'a': 97, 'é': 256, '日': 258})
    """
    known = {bytes([byte]): byte for byte in range(256)}
    merges: list[Merge] = []
    encoded = sorted(char.encode() for char in alphabet)
    for length in (2, 3, 4):
        for char in encoded:
            part = char[:length]
            if len(part) == length and part not in known:
                known[part] = 256 + len(merges)
                merges.append((known[part[:-1]], part[-1], known[part]))
    return merges, {char.decode(): known[char] for char in encoded}


def merged_characters(
    words: _core.CountedPieces, alphabet: list[str], options: CharacterOptions, most: int, reporter: Reporter
) -> tuple[list[bytes], _core.LearnedMerges]:
    """The characters and the tokens that are merged from them, with the merges."""
    given, symbols = joined_characters(alphabet)
    learned = learned_after(given, words, options, most, reporter)
    texts = {id: char.encode() for char, id in symbols.items()}
    for left, right, id in learned.merges[len(given) :].tolist():
        texts[id] = texts[left] + texts[right]
    return list(texts.values()), learned


def learned_after(
    given: Sequence[Merge], words: _core.CountedPieces, options: CharacterOptions, most: int, reporter: Reporter
) -> _core.LearnedMerges:
    """Up to `most` learned merges, after the given ones that make the characters."""
    total = None if most == NO_LIMIT else most

    def report(done: int) -> None:
        reporter.report("merging", max(done - len(given), 0), total)

    rules = MergeRules(options.ties, options.min_count, options.max_token_bytes, False)
    phase = Phase(1, given, len(given) + most)
    start = Start(tuple(range(256)), 256)
    return learn(words, start, rules, phase, checkpoint=Checkpoint(None, {}), report=report)


def unigram_of(
    counts: _core.CountedPieces,
    words: _core.CountedPieces,
    alphabet: list[str],
    options: CharacterOptions,
    run: Run,
) -> Model:
    """The unigram model of these words."""
    assert options.vocab_size is not None
    wanted = {
        "size": options.vocab_size - options.extra,
        "seeds": SEEDS,
        "longest": LONGEST,
        "shrink": 0.85,
        "rounds": 2,
        "threads": run.threads,
    }
    tokens, scores = _core.train_unigram(
        words, alphabet, wanted, lambda left: run.reporter.report("pruning", left, None)
    )
    full = len(tokens) + options.extra >= options.vocab_size
    record = TrainingRecord(
        **facts(counts, options),
        symbols=sum(count for _, count in counts.characters()),
        counts=np.empty(0, np.uint64),
        left=np.empty(0, np.uint64),
        stopped_because=f"it reached vocab_size={options.vocab_size}" if full else "the corpus has no more tokens",
    )
    return model_of(tokens, scores, options, record)


def facts(counts: _core.CountedPieces, options: CharacterOptions) -> dict[str, Any]:
    """The corpus and the options for the training record."""
    values = {name: value for name, value in vars(options).items() if name != "splitters"}
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {
        "options": {**values, "unit": "char"},
        "documents": counts.documents,
        "bytes": counts.bytes,
        "digest": counts.digest,
    }


def model_of(tokens: Sequence[bytes], scores: Scores, options: CharacterOptions, training: TrainingRecord) -> Model:
    """The model. The unknown token has the id 0, bytes follow, then the tokens, then symbols and special tokens."""
    bytes_ = [f"<0x{byte:02X}>".encode() for byte in range(256)] if options.byte_fallback else []
    all_tokens = [*bytes_, *(token.replace(b" ", BLOCK.encode()) for token in tokens)]
    first = 1 + len(all_tokens)
    normalizer = {"charsmap": "", "dummy": "before" if options.dummy_prefix else "nowhere"}
    strip = "once" if options.dummy_prefix else "nothing"
    return Model(
        tokens=TokenTable.of(all_tokens),
        ids=np.arange(1, first, dtype=np.uint32),
        kind="unigram" if options.kind == "unigram" else "bpe",
        unit="char",
        merge_rule="pair" if options.kind == "unigram" else "bytes",
        scores=np.concatenate([np.zeros(len(bytes_)), scores]).astype(np.float32),
        unknown_id=0,
        byte_fallback=options.byte_fallback,
        normalizers=(Step("sentencepiece", (*normalizer.items(), ("escape", True), ("remove_extra", False))),),
        decoders=(Step("sentencepiece", (("strip", strip), ("unknown", " ⁇ "))),),
        added_tokens=(AddedToken(options.unknown_token, 0), *added(options, first)),
        training=training,
    )


def added(options: CharacterOptions, first: int) -> Iterator[AddedToken]:
    """User symbols (found in the normalized text) and special tokens, with ids from `first`."""
    for place, content in enumerate(options.user_symbols):
        yield AddedToken(content, first + place, special=False, normalized=True)
    for place, content in enumerate(options.special_tokens):
        yield AddedToken(content, first + len(options.user_symbols) + place)
