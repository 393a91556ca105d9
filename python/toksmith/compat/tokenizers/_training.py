"""Trains the model of a tokenizer: counts the pieces that its normalizer and pre-tokenizer make, and asks our core.

Pieces are texts of characters here, byte-level ones too. Merging follows the library's order: special tokens, the alphabet
by code point, merges; of pairs with equal counts, that of the lowest ids first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..._counts import PieceCounts
from ..._threads import thread_count
from ..._training import _merging as merging
from ._added import AddedToken
from ._parts import refused
from ._pieces import Pieces
from .trainers import Trainer

__all__ = ["trained"]

FIRST, LAST = b"\xff", b"\xfe"


def trained(tokenizer: Any, iterator: Iterable[Any], trainer: Any) -> tuple[Any, list[AddedToken]]:
    """The trained model and the special tokens of the trainer."""
    trainer = Trainer.of(tokenizer.model.get_trainer() if trainer is None else trainer)
    if trainer.MODEL != tokenizer.model.TYPE:
        raise ValueError(f"{type(trainer).__name__} can only train a {trainer.MODEL}")
    names = ("normalizer", "pre_tokenizer")
    parts = {name: None if getattr(tokenizer, name) is None else getattr(tokenizer, name).data for name in names}
    counts = counted(Pieces(json.dumps(parts)), iterator)
    changed = MAKERS[trainer.MODEL](counts, trainer)
    return tokenizer.model.of({**tokenizer.model.data, **changed}), trainer.special_tokens


def counted(pieces: Pieces, iterator: Iterable[Any]) -> Counter[str]:
    """The pieces of texts, or of lists of texts."""
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
    kept = set(characters) | set(trainer.initial_alphabet)
    if trainer.limit_alphabet is not None and len(kept) > trainer.limit_alphabet:
        first = sorted(kept, key=lambda each: (each not in trainer.initial_alphabet, -characters[each], each))
        kept = set(first[: trainer.limit_alphabet])
    return sorted(kept)


def merged(counts: Mapping[str, int], trainer: Any) -> tuple[dict[str, int], list[list[str]]]:
    """The ids and merges of byte-pair encoding."""
    prefix, suffix = trainer.continuing_subword_prefix or "", trainer.end_of_word_suffix or ""
    if prefix and suffix:
        refused("trainers with continuing_subword_prefix and end_of_word_suffix", "pass one of the two")
    alphabet = alphabet_of(counts, trainer)
    known = set(alphabet)
    mark = (FIRST, b"") if prefix else (b"", LAST if suffix else b"")
    words: Counter[bytes] = Counter()
    for piece, count in sorted(counts.items()):
        kept = "".join(each for each in piece if each in known)
        if kept:
            words[mark[0] + kept.encode() + mark[1]] += count
    given, symbols = merging.joined_characters(alphabet)
    tokens = {id: (prefix + char if prefix else char) for char, id in symbols.items()}
    for char, id in list(symbols.items()) if prefix or suffix else []:
        pair = (FIRST[0], id) if prefix else (id, LAST[0])
        given.append((*pair, 256 + len(given)))
        tokens[given[-1][2]] = char + suffix
    used = set(words) if prefix or suffix else set()
    vocab = {token.content: place for place, token in enumerate(trainer.special_tokens)}
    for char in alphabet:
        vocab.setdefault(char, len(vocab))
    for token in marked(used, prefix, suffix):
        vocab.setdefault(token, len(vocab))
    most = max(trainer.vocab_size - len(vocab), 0)
    if not words:
        return vocab, []
    core = PieceCounts.of(dict(words), pattern=None)._core
    rules = {"ties": "lowest_ids", "min_count": max(trainer.min_frequency, 1), "max_token_bytes": None}
    learned = merging.learned_merges(core, given, most, rules)
    merges = []
    for left, right, id in learned[len(given) :]:
        tokens[id] = tokens[left] + tokens[right].removeprefix(prefix)
        merges.append([tokens[left], tokens[right]])
        vocab.setdefault(tokens[id], len(vocab))
    return vocab, merges


def marked(words: Iterable[bytes], prefix: str, suffix: str) -> Iterator[str]:
    """The characters with marks in words."""
    for word in words:
        text = word.strip(FIRST + LAST).decode()
        yield from (prefix + char for char in (text[1:] if prefix else ""))
        yield from (char + suffix for char in (text[-1:] if suffix else ""))


def bpe(counts: Mapping[str, int], trainer: Any) -> dict[str, Any]:
    """What training changes in a model of byte-pair encoding."""
    vocab, merges = merged(counts, trainer)
    names = ("continuing_subword_prefix", "end_of_word_suffix")
    return {**{name: getattr(trainer, name) for name in names}, "vocab": vocab, "merges": merges}


def wordpiece(counts: Mapping[str, int], trainer: Any) -> dict[str, Any]:
    """What training changes in a WordPiece model."""
    return {"vocab": merged(counts, trainer)[0], "continuing_subword_prefix": trainer.continuing_subword_prefix or "##"}


def word_level(counts: Mapping[str, int], trainer: Any) -> dict[str, Any]:
    """What training changes in a model of whole pieces: the most frequent ones get tokens."""
    vocab = {token.content: place for place, token in enumerate(trainer.special_tokens)}
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if len(vocab) >= trainer.vocab_size or count < trainer.min_frequency:
            break
        vocab.setdefault(word, len(vocab))
    return {"vocab": vocab}


def unigram(counts: Mapping[str, int], trainer: Any) -> dict[str, Any]:
    """What training changes in a unigram model."""
    special = [token.content for token in trainer.special_tokens]
    if trainer.unk_token is not None and trainer.unk_token not in special:
        special.insert(0, trainer.unk_token)
    characters = {char for piece in counts for char in piece} | set(trainer.initial_alphabet)
    wanted = {
        "size": max(trainer.vocab_size - len(special), len(characters)),
        "seeds": trainer.seed_size,
        "longest": trainer.max_piece_length,
        "shrink": trainer.shrinking_factor,
        "rounds": trainer.n_sub_iterations,
        "threads": thread_count(None),
    }
    words = {piece.encode(): count for piece, count in sorted(counts.items()) if piece}
    rows = (
        merging.unigram_tokens(PieceCounts.of(words, pattern=None)._core, sorted(characters), wanted) if words else []
    )
    vocab = [[token, 0.0] for token in special] + [[token, score] for token, score in rows if token not in special]
    unknown = special.index(trainer.unk_token) if trainer.unk_token is not None else None
    return {"unk_id": unknown, "vocab": vocab[: max(trainer.vocab_size, len(special))]}


MAKERS = {"BPE": bpe, "WordPiece": wordpiece, "WordLevel": word_level, "Unigram": unigram}
