"""Trains on words whose characters carry marks: WordPiece (`##` before a token that continues a word), and byte-pair
encoding with word ends (`</w>`).

Both merge characters by counts. WordPiece keeps the tokens and drops the merges. In the words that the core counts, a byte
that never occurs in UTF-8 represents a mark, and given merges join it to its character.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.wording import number_of
from .._corpus import iter_documents
from .._model.model import AddedToken, Model, Step, TokenTable, TrainingRecord
from .._tokenizer.tokenizer import Tokenizer
from ..errors import CorpusError, InvalidOption
from .characters import CharacterOptions, character_record_fields, choose_alphabet, join_characters, learn_after
from .counts import PieceCounts
from .merge_loop import Merge
from .options import Outcome, Run, stop_reason

FIRST, LAST = 0xFF, 0xFE  # bytes that UTF-8 never uses: before the first character of a word, and after the last
BATCH = 1 << 18  # characters
BETWEEN_WORDS = re.compile("[ \n]")
PREFIX = "##"
LONGEST = 100


def make_step(kind: str, **options: Any) -> Step:
    return Step(kind, tuple(sorted(options.items())))


@dataclass(frozen=True)
class MarkedOptions(CharacterOptions):
    end_of_word_suffix: str = ""
    lowercase: bool = True
    splitters: tuple[Step, ...] = ()

    @property
    def prefix(self) -> str:
        return PREFIX if self.kind == "wordpiece" else ""

    def steps(self) -> dict[str, Any]:
        """The steps of the model by field: BERT's, or words between white space."""
        if self.kind == "wordpiece":
            normal = make_step(
                "bert", clean_text=True, handle_chinese_chars=True, lowercase=self.lowercase, strip_accents=None
            )
            decoder = make_step("wordpiece", prefix=PREFIX, cleanup=True)
            return {
                "normalizers": (normal,),
                "splitters": self.splitters or (make_step("bert"),),
                "decoders": (decoder,),
            }
        words = self.splitters or (make_step("whitespace_split"),)
        return {"splitters": words, "decoders": (make_step("word_end", suffix=self.end_of_word_suffix),)}


def train_marked(run: Run, options: MarkedOptions) -> Outcome:
    words, documents_, size = count_marked_words(run, options)
    counted_s = run.reporter.elapsed_s
    counts = PieceCounts.of(dict(sorted(words.items())), pattern=None)._core
    characters = counts.characters()
    alphabet = choose_alphabet(characters, options.character_coverage)
    parts = restrict_to_alphabet(words, alphabet, options)
    character_merges, symbols = marked_characters(alphabet, parts, options)
    most = options.learned(len({*alphabet, *symbols.values()}))
    result = learn_after(character_merges, PieceCounts.of(parts, pattern=None)._core, options, most, run.reporter)
    record = TrainingRecord(
        **{**character_record_fields(counts, options), "documents": documents_, "bytes": size},
        symbols=sum(count for _, count in characters),
        counts=result.counts[len(character_merges) :],
        left=result.left[len(character_merges) :],
        stopped_because=stop_reason(result.stopped, options),
    )
    model = marked_model(alphabet, symbols, result.merges[len(character_merges) :].tolist(), options, record)
    return Outcome(model, len(words), counted_s, "merging" if result.stopped == "interrupted" else "")


def count_marked_words(run: Run, options: MarkedOptions) -> tuple[Counter[bytes], int, int]:
    """The words of the corpus with their counts, the number of documents, and their bytes."""
    if isinstance(run.corpus, PieceCounts):
        raise InvalidOption("corpus", run.corpus, "documents: this kind does not train on counts of pieces")
    steps = {field: value for field, value in options.steps().items() if field != "decoders"}
    splitter = Tokenizer(Model(TokenTable.of([b"a"]), np.zeros(1, np.uint32), kind="words", **steps))
    words: Counter[bytes] = Counter()
    document_count = size = done_size = batch_size = 0
    batch: list[str] = []
    for document in iter_documents(run.corpus):
        text = document.decode("utf-8", "replace") if isinstance(document, bytes) else document
        document_count, size = document_count + 1, size + len(document)
        # Words end at white space, so texts can be joined and cut there. A custom pattern may depend on the ends of texts.
        for part in [text] if options.splitters else cut_batches(text):
            batch.append(part)
            batch_size += len(part)
            if options.splitters or batch_size >= BATCH:
                words.update(splitter._engine.split("\n".join(batch)))
                batch, done_size, batch_size = [], done_size + batch_size, 0
                run.reporter.report("counting", done_size, None)
    words.update(splitter._engine.split("\n".join(batch)))
    run.reporter.report("counting", size, size)
    if not words:
        raise CorpusError(None, None, f"the corpus is empty: {number_of(document_count, 'document')} without a word")
    return words, document_count, size


def cut_batches(text: str) -> Iterator[str]:
    """The text in parts of at least `BATCH` characters, which end between words."""
    start = 0
    while (space := BETWEEN_WORDS.search(text, start + BATCH)) is not None:
        yield text[start : space.start()]
        start = space.end()
    yield text[start:]


def restrict_to_alphabet(
    words: Mapping[bytes, int], alphabet: Iterable[str], options: MarkedOptions
) -> dict[bytes, int]:
    """The words with marks and their counts. Characters outside the alphabet cut a word into parts.

    WordPiece ignores parts: a word with an unknown character is unknown as a whole.
    """
    characters = set(alphabet)
    parts: Counter[bytes] = Counter()
    for word, count in words.items():
        text = word.decode()
        if characters.issuperset(text):
            parts[add_marks(text, options, True, True)] += count
        elif options.kind != "wordpiece":
            for part, at in known_parts(text, characters):
                parts[add_marks(part, options, at == 0, at + len(part) == len(text))] += count
    return dict(sorted(parts.items()))


def add_marks(text: str, options: MarkedOptions, first: bool, last: bool) -> bytes:
    """Part of a word, with a byte for each mark at its ends."""
    before = bytes([FIRST]) if options.prefix and first else b""
    return before + text.encode() + (bytes([LAST]) if options.end_of_word_suffix and last else b"")


def known_parts(text: str, known: set[str]) -> Iterator[tuple[str, int]]:
    """The parts between characters outside the alphabet, with their places."""
    start = 0
    for at, char in enumerate([*text, ""]):
        if char not in known:
            if at > start:
                yield text[start:at], start
            start = at + 1


def marked_characters(
    alphabet: Sequence[str], words: Iterable[bytes], options: MarkedOptions
) -> tuple[list[Merge], dict[int, str]]:
    r"""The merges of bytes and marks that make each character one symbol, and the tokens of these symbols.

    >>> options = MarkedOptions("wordpiece", 9, None, (), (), 1.0, False, False, True, "lowest_ids", 1, None)
    >>> marked_characters(["a", "b"], [b"\xffab", b"\xffb"], options)
    ([(255, 97, 256), (255, 98, 257)], {256: 'a', 257: 'b', 98: '##b'})
    """
    merges, symbols = join_characters(alphabet)
    marked_chars: set[str] = set()
    inside_chars: set[str] = set()
    for word in words:
        text = word.strip(bytes([FIRST, LAST])).decode()
        start, end = word[:1] == bytes([FIRST]), len(text) - (word[-1:] == bytes([LAST]))
        marked_chars |= {*text[:start], *text[end:]}
        inside_chars |= {*text[start:end]}
    tokens = {} if options.prefix else {symbols[char]: char for char in sorted(inside_chars)}
    for char in sorted(marked_chars):
        pair = (FIRST, symbols[char]) if options.prefix else (symbols[char], LAST)
        merges.append((*pair, 256 + len(merges)))
        tokens[merges[-1][2]] = char + options.end_of_word_suffix
    if options.prefix:
        tokens |= {symbols[char]: options.prefix + char for char in sorted(inside_chars)}
    return merges, tokens


def marked_model(
    alphabet: Sequence[str],
    symbols: Mapping[int, str],
    merges: Sequence[Sequence[int]],
    options: MarkedOptions,
    training: TrainingRecord,
) -> Model:
    """The model. The unknown token has the id 0. Characters, marked characters, merges and special tokens follow."""
    texts = dict(symbols)
    for left, right, id in merges:
        texts[id] = texts[left] + texts[right].removeprefix(options.prefix)
    tokens = list(dict.fromkeys([*alphabet, *texts.values()]))
    ids = {token: 1 + place for place, token in enumerate(tokens)}
    first = 1 + len(tokens)
    special = [options.unknown_token, *options.special_tokens]
    added = [
        AddedToken(content, id) for content, id in zip(special, [0, *range(first, first + len(special))], strict=False)
    ]
    # Files of such models list special tokens among the ordinary ones.
    all_tokens = [special[0], *tokens, *special[1:]]
    fields: dict[str, Any] = {"unit": "char", "unknown_id": 0, "added_tokens": tuple(added), "training": training}
    if options.kind == "wordpiece":
        fields |= {"kind": "wordpiece", "continuing_subword_prefix": PREFIX, "max_piece_chars": LONGEST}
    else:
        rows = [[ids[texts[part]] for part in merge] for merge in merges]
        fields |= {"merges": np.array(rows, np.uint32).reshape(-1, 3), "end_of_word_suffix": options.end_of_word_suffix}
    table = TokenTable.of([token.encode() for token in all_tokens])
    return Model(table, np.arange(len(all_tokens), dtype=np.uint32), **fields, **options.steps())
