"""Trains on characters as SentencePiece does: code-point BPE and unigram models.

A space is added before each text. A word begins at each space, which is written `▁`. The most frequent characters form the
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
from .._base.wording import number_of
from .._corpus import batch_texts, iter_documents
from .._model.model import AddedToken, Model, Step, TokenTable, TrainingRecord
from .._model.special import check_special_tokens
from .._render.progress import Reporter
from ..errors import CorpusError, InvalidOption
from .checkpoint import Checkpoint
from .counts import PieceCounts, require_option
from .merge_loop import NO_LIMIT, Merge, MergeRules, Phase, Start, learn_merges
from .options import Outcome, Run, check_merging, stop_reason

BOUNDARY = "\uffff"  # replaces a user symbol; no word contains it
WORDS = f" ?[^ \n{BOUNDARY}]+| |\n"
TEXTS = f"[^{BOUNDARY}]+"
BLOCK = "▁"
LONGEST = 16
SEEDS = 1_000_000
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class CharacterOptions:
    """The arguments of `train` that decide a model of characters; `words`: whether texts are split into words."""

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
        """The largest number of tokens to learn in addition to the alphabet."""
        if self.vocab_size is None:
            return NO_LIMIT if self.merges is None else self.merges
        least = self.extra + alphabet
        if self.vocab_size < least:
            parts = f"the alphabet of {number_of(alphabet, 'character')} and {number_of(self.extra, 'other token')}"
            raise InvalidOption("vocab_size", self.vocab_size, f"at least {least}: {parts}")
        return self.vocab_size - least

    def check(self) -> None:
        require_option(self, 0 < self.character_coverage <= 1, "character_coverage", "above 0 and at most 1")
        require_option(self, (self.vocab_size or 0) <= NO_LIMIT, "vocab_size", f"at most {NO_LIMIT}")
        check_merging(self)
        if self.kind == "unigram":
            require_option(self, self.vocab_size is not None, "vocab_size", "a number of tokens for kind='unigram'")
        elif self.vocab_size is None and self.merges is None:
            allowed_size = "a number of tokens; or pass merges=, or min_count=2 to stop at rare pairs"
            require_option(self, self.min_count >= 2, "vocab_size", allowed_size)
        for symbol in self.user_symbols:
            if {" ", BLOCK} & {*symbol}:
                allowed = "symbols without spaces and ▁, because spaces become ▁ before symbols are found"
                raise InvalidOption("user_symbols", symbol, allowed)
        check_special_tokens((self.unknown_token, *self.user_symbols, *self.special_tokens))


def train_characters(run: Run, options: CharacterOptions) -> Outcome:
    counts = count_words(run, options)
    counted_s = run.reporter.elapsed_s
    characters = [(char, count) for char, count in counts.characters() if char != BOUNDARY]
    alphabet = choose_alphabet(characters, options.character_coverage)
    most = options.learned(len(alphabet))
    words = counts.restrict_to(alphabet)
    if options.kind == "unigram":
        model = train_unigram_model(counts, words, alphabet, options, run)
        return Outcome(model, counts.unique, counted_s)
    tokens, learned_merges = merge_characters(words, alphabet, options, most, run.reporter)
    scores = -np.arange(len(tokens), dtype=np.float64)
    # No merge forms a character, so its score has no effect. Characters come first, and merges keep their order.
    first = len(alphabet)
    record = TrainingRecord(
        **character_record_fields(counts, options),
        symbols=sum(count for _, count in characters),
        counts=learned_merges.counts[len(learned_merges.counts) - (len(tokens) - first) :],
        left=learned_merges.left[len(learned_merges.left) - (len(tokens) - first) :],
        stopped_because=stop_reason(learned_merges.stopped, options),
    )
    interrupted = "merging" if learned_merges.stopped == "interrupted" else ""
    return Outcome(character_model(tokens, scores, options, record), counts.unique, counted_s, interrupted)


def count_words(run: Run, options: CharacterOptions) -> _core.CountedPieces:
    corpus, limits, threads = run.corpus, run.limits, run.threads
    if isinstance(corpus, PieceCounts):
        raise InvalidOption("corpus", corpus, "documents: this kind does not train on counts of pieces")
    counter = _core.Counter([WORDS if options.words else TEXTS], (0, 0), None, "", limits.max_piece_bytes)
    for batch in batch_texts(iter_documents(corpus)):
        counter.add([normalize_document(document, options) for document in batch], threads)
        run.reporter.report("counting", counter.bytes, None)
    counts = counter.finish(limits.min_count, threads)
    if counts.bytes == 0:
        raise CorpusError(
            None,
            None,
            f"the corpus is empty: {number_of(counts.documents, 'document')} without a byte; expected text to learn from",
        )
    return counts


def normalize_document(document: str | bytes, options: CharacterOptions) -> str:
    """The text as the model's normalizer returns it, but with plain spaces and a mark for each user symbol."""
    text = document.decode("utf-8", "replace") if isinstance(document, bytes) else document
    if options.user_symbols:
        longest_first = sorted(options.user_symbols, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, longest_first)), BOUNDARY, text)
    text = text.replace(BLOCK, " ")
    return f" {text}" if text and options.dummy_prefix else text


def choose_alphabet(characters: Sequence[tuple[str, int]], coverage: float) -> list[str]:
    """The fewest characters that together reach this share of the text, sorted by code point.

    Shares are compared in single precision, as in SentencePiece. Among equal counts a space sorts as `▁`.
    """
    total, covered = sum(count for _, count in characters), 0
    alphabet = []
    for char, count in sorted(characters, key=lambda item: (-item[1], item[0].replace(" ", BLOCK))):
        if np.float32(covered / total) >= np.float32(coverage):
            break
        covered += count
        alphabet.append(char)
    return sorted(alphabet)


def join_characters(alphabet: Sequence[str]) -> tuple[list[Merge], dict[str, int]]:
    """The merges of bytes that join each character into one symbol, and these symbols by code point.

    >>> join_characters(["a", "é", "日"])
    ([(195, 169, 256), (230, 151, 257), (257, 165, 258)], {'a': 97, 'é': 256, '日': 258})
    """
    symbol_of = {bytes([byte]): byte for byte in range(256)}
    merges: list[Merge] = []
    encoded = sorted(char.encode() for char in alphabet)
    for length in (2, 3, 4):
        for char in encoded:
            part = char[:length]
            if len(part) == length and part not in symbol_of:
                symbol_of[part] = 256 + len(merges)
                merges.append((symbol_of[part[:-1]], part[-1], symbol_of[part]))
    return merges, {char.decode(): symbol_of[char] for char in encoded}


def merge_characters(
    words: _core.CountedPieces, alphabet: list[str], options: CharacterOptions, most: int, reporter: Reporter
) -> tuple[list[bytes], _core.LearnedMerges]:
    """The characters and the tokens that are merged from them, with the merges."""
    character_merges, symbols = join_characters(alphabet)
    learned_merges = learn_after(character_merges, words, options, most, reporter)
    texts = {id: char.encode() for char, id in symbols.items()}
    for left, right, id in learned_merges.merges[len(character_merges) :].tolist():
        texts[id] = texts[left] + texts[right]
    return list(texts.values()), learned_merges


def learn_after(
    given: Sequence[Merge], words: _core.CountedPieces, options: CharacterOptions, most: int, reporter: Reporter
) -> _core.LearnedMerges:
    """Up to `most` learned merges, after the given merges that form the characters."""
    total = None if most == NO_LIMIT else most

    def report(done: int) -> None:
        reporter.report("merging", max(done - len(given), 0), total)

    rules = MergeRules(options.ties, options.min_count, options.max_token_bytes, False)
    phase = Phase(1, given, len(given) + most)
    start = Start(tuple(range(256)), 256)
    return learn_merges(words, start, rules, phase, checkpoint=Checkpoint(None, {}), report=report)


def train_unigram_model(
    counts: _core.CountedPieces,
    words: _core.CountedPieces,
    alphabet: list[str],
    options: CharacterOptions,
    run: Run,
) -> Model:
    assert options.vocab_size is not None
    settings = {
        "size": options.vocab_size - options.extra,
        "seeds": SEEDS,
        "longest": LONGEST,
        "shrink": 0.85,
        "rounds": 2,
        "threads": run.threads,
    }
    tokens, scores = _core.train_unigram(
        words, alphabet, settings, lambda left: run.reporter.report("pruning", left, None)
    )
    is_full = len(tokens) + options.extra >= options.vocab_size
    record = TrainingRecord(
        **character_record_fields(counts, options),
        symbols=sum(count for _, count in counts.characters()),
        counts=np.empty(0, np.uint64),
        left=np.empty(0, np.uint64),
        stopped_because=f"it reached vocab_size={options.vocab_size}" if is_full else "the corpus has no more tokens",
    )
    return character_model(tokens, scores, options, record)


def character_record_fields(counts: _core.CountedPieces, options: CharacterOptions) -> dict[str, Any]:
    """The corpus and the options for the training record."""
    values = {name: value for name, value in vars(options).items() if name != "splitters"}
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {
        "options": {**values, "unit": "char"},
        "documents": counts.documents,
        "bytes": counts.bytes,
        "digest": counts.digest,
    }


def character_model(
    tokens: Sequence[bytes], scores: Scores, options: CharacterOptions, training: TrainingRecord
) -> Model:
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
        added_tokens=(AddedToken(options.unknown_token, 0), *added_tokens_from(options, first)),
        training=training,
    )


def added_tokens_from(options: CharacterOptions, first: int) -> Iterator[AddedToken]:
    """User symbols (found in the normalized text) and special tokens, with ids from `first`."""
    for place, content in enumerate(options.user_symbols):
        yield AddedToken(content, first + place, special=False, normalized=True)
    for place, content in enumerate(options.special_tokens):
        yield AddedToken(content, first + len(options.user_symbols) + place)
