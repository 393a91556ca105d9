"""Trains the model of a tokenizer: counts the pieces of its normalizer and pre-tokenizer, and calls the core.

Pieces are texts of characters here, byte-level ones too. Ids follow the library's order: special tokens, the alphabet
by code point, characters with marks, merges; among pairs with equal counts, the lowest ids come first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ... import _core
from ..._base.threads import thread_count
from ..._training.counts import PieceCounts
from ._added import AddedToken
from ._runtime import Pieces
from .trainers import Trainer


def train_model(tokenizer: Any, iterator: Iterable[Any], trainer: Any) -> tuple[Any, list[AddedToken]]:
    """The trained model, and the special tokens of the trainer."""
    trainer = Trainer.of(tokenizer.model.get_trainer() if trainer is None else trainer)
    if trainer.MODEL != tokenizer.model.TYPE:
        raise ValueError(f"{type(trainer).__name__} can only train a {trainer.MODEL}")
    names = ("normalizer", "pre_tokenizer")
    parts = {name: None if getattr(tokenizer, name) is None else getattr(tokenizer, name).data for name in names}
    counts = count_pieces(Pieces(json.dumps(parts)), iterator)
    changed = MAKERS[trainer.MODEL](counts, trainer)
    return tokenizer.model.of({**tokenizer.model.data, **changed}), trainer.special_tokens


def count_pieces(pieces: Pieces, iterator: Iterable[Any]) -> Counter[str]:
    """The counts of pieces of texts, or of lists of texts."""
    counts: Counter[str] = Counter()
    for each in iterator:
        for text in [each] if isinstance(each, str) else each:
            if not isinstance(text, str):
                raise TypeError(f"train_from_iterator: expected texts or lists of texts, not {type(text).__name__}")
            counts.update(pieces.texts(text))
    return counts


def alphabet_of(counts: Mapping[str, int], trainer: Any) -> list[str]:
    """The characters that become tokens, by code point."""
    characters: Counter[str] = Counter()
    for piece, count in counts.items():
        for character in piece:
            characters[character] += count
    alphabet = set(characters) | set(trainer.initial_alphabet)
    if trainer.limit_alphabet is not None and len(alphabet) > trainer.limit_alphabet:
        first = sorted(alphabet, key=lambda each: (each not in trainer.initial_alphabet, -characters[each], each))
        alphabet = set(first[: trainer.limit_alphabet])
    return sorted(alphabet)


def train_merges(counts: Mapping[str, int], trainer: Any) -> tuple[dict[str, int], list[list[str]]]:
    prefix, suffix = trainer.continuing_subword_prefix or "", trainer.end_of_word_suffix or ""
    ids: dict[str, int] = {}
    for token in (*(each.content for each in trainer.special_tokens), *alphabet_of(counts, trainer)):
        ids.setdefault(token, len(ids))
    characters = {token for token in ids if len(token) == 1}
    words = []
    for piece in sorted(counts):
        word = []
        for place, char in enumerate(piece):
            if char in characters:
                token = (prefix if place else "") + char + (suffix if place == len(piece) - 1 else "")
                word.append(ids.setdefault(token, len(ids)))
        words.append(word)
    rules = {
        "size": trainer.vocab_size,
        "min_count": trainer.min_frequency,
        "prefix": prefix,
        "longest": trainer.max_token_length,
    }
    tokens, pairs = _core.train_by_text([*ids], words, [counts[piece] for piece in sorted(counts)], rules)
    # A pair that is learned again has the later rank.
    last = {pair: rank for rank, pair in enumerate(pairs)}
    merges = [[tokens[left], tokens[right]] for left, right in sorted(last, key=last.__getitem__)]
    return {token: id for id, token in enumerate(tokens)}, merges


def train_bpe(counts: Mapping[str, int], trainer: Any) -> dict[str, Any]:
    vocab, merges = train_merges(counts, trainer)
    names = ("continuing_subword_prefix", "end_of_word_suffix")
    return {**{name: getattr(trainer, name) for name in names}, "vocab": vocab, "merges": merges}


def train_wordpiece(counts: Mapping[str, int], trainer: Any) -> dict[str, Any]:
    prefix = trainer.continuing_subword_prefix
    return {"vocab": train_merges(counts, trainer)[0], "continuing_subword_prefix": "##" if prefix is None else prefix}


def train_word_level(counts: Mapping[str, int], trainer: Any) -> dict[str, Any]:
    """The fields of a word-level model that training changes: the most frequent pieces get tokens."""
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    words = [word for word, count in frequent if count >= trainer.min_frequency]
    tokens = [*(token.content for token in trainer.special_tokens), *words][: trainer.vocab_size]
    return {"vocab": {token: id for id, token in enumerate(tokens)}}  # a repeated token has its last id


def train_unigram(counts: Mapping[str, int], trainer: Any) -> dict[str, Any]:
    special = [token.content for token in trainer.special_tokens]
    if trainer.unk_token is not None and trainer.unk_token not in special:
        special.insert(0, trainer.unk_token)
    characters = {char for piece in counts for char in piece} | set(trainer.initial_alphabet)
    options = {
        "size": max(trainer.vocab_size - len(special), len(characters)),
        "seeds": trainer.seed_size,
        "longest": trainer.max_piece_length,
        "shrink": trainer.shrinking_factor,
        "rounds": trainer.n_sub_iterations,
        "threads": thread_count(None),
    }
    words = {piece.encode(): count for piece, count in sorted(counts.items()) if piece}
    rows: list[tuple[str, float]] = []
    if words:
        counted = PieceCounts.of(words, pattern=None)._core
        tokens, scores = _core.train_unigram(counted, sorted(characters), options, lambda left: None)
        rows = [(token.decode(), score) for token, score in zip(tokens, scores.tolist(), strict=True)]
    vocab = [[token, 0.0] for token in special] + [[token, score] for token, score in rows if token not in special]
    unknown = special.index(trainer.unk_token) if trainer.unk_token is not None else None
    return {"unk_id": unknown, "vocab": vocab[: max(trainer.vocab_size, len(special))]}


MAKERS = {"BPE": train_bpe, "WordPiece": train_wordpiece, "WordLevel": train_word_level, "Unigram": train_unigram}
