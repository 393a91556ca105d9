"""Surgery: the core and the specification add and remove the same tokens, and map ids equally."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import numpy as np
import pytest
from drawn_pieces import drawn_model
from test_surgery import character_model, draw_text, draw_tokenizer

import toksmith
from toksmith import Model, Tokenizer, _formats, reference
from toksmith.reference import pruning, surgery
from toksmith.reference.added import Steps, pieces_of
from toksmith.reference.search import line_of
from toksmith.reference.surgery import Continued, Word
from toksmith.reference.unknown import Symbols, encode_symbols

CASES = 60


def tokens_of(model: Model) -> dict[int, bytes]:
    return dict(zip(model.ids.tolist(), model.tokens, strict=True))


def apart_of(model: Model) -> set[int]:
    """The ids whose token is not their text."""
    added = {token.id for token in model.added_tokens}
    if model.unknown_id is not None:
        added.add(model.unknown_id)
    bytes_ = {id for id, token in tokens_of(model).items() if pruning.BYTE.fullmatch(token)}
    return added | (bytes_ if model.byte_fallback else set())


def scores_of(model: Model) -> dict[int, float] | None:
    if model.scores is None:
        return None
    return dict(zip(model.ids.tolist(), model.scores.tolist(), strict=True))


def continued_of(model: Model) -> Continued:
    tokens, apart = tokens_of(model), apart_of(model)
    contents = [token.content.encode() for token in model.added_tokens]
    if model.merge_rule == "pair":
        return surgery.by_pairs(tokens, model.merges.tolist(), apart, contents)
    scores = scores_of(model)
    if scores is None:
        return surgery.by_ranks(tokens, apart, contents)
    assert model.scores is not None
    return surgery.by_scores(tokens, scores, apart, contents, single=model.scores.dtype == np.float32)


def own_model(tok: Tokenizer) -> reference.Model:
    """The model of a byte-level tokenizer in the form of the specification."""
    model = tok.model
    tokens = {token: id for id, token in tokens_of(model).items()}
    by_bytes = model.merge_rule == "bytes"
    ranks = reference.bytes_rule(tokens) if by_bytes else reference.pair_rule(model.merges.tolist())
    patterns = [step["pattern"] for step in model.splitters]
    return reference.Model(tokens, ranks, model.whole_piece, patterns, {t.content: t.id for t in model.added_tokens})


def words_of(tok: Tokenizer, corpus: Iterable[str]) -> dict[Word, int]:
    """The words of a corpus; for a model that does not split, from the ids of the tokenizer."""
    model = tok.model
    if model.unit == "byte":
        own = own_model(tok)
        bare = own._replace(patterns=(), specials={})
        counts = reference.count(corpus, own.patterns)
        return surgery.words_of(counts, lambda piece: reference.encode(piece, bare), model.whole_piece)
    if not model.splitters:
        return surgery.words_at_blocks([tok.encode(text, special="text") for text in corpus], tokens_of(model))
    ids = {token.decode(): id for id, token in tokens_of(model).items()}
    ranks = reference.pair_rule(model.merges.tolist())
    symbols = Symbols(ids, ranks, "", model.end_of_word_suffix, model.unknown_id, model.fuse_unknown)
    steps = Steps(splitters=[(step.kind, {}) for step in model.splitters], unit="char")
    counts = {}
    for text in corpus:
        for piece in pieces_of(line_of(text), steps):
            counts[piece] = counts.get(piece, 0) + 1
    return surgery.words_of(counts, lambda piece: encode_symbols(piece.decode(), symbols), model.whole_piece)


def tied_model(random: Random) -> Tokenizer:
    """A byte-pair model with equal scores, and with tokens whose characters have no token."""
    data = drawn_model(random)
    while data_is_unigram(data):
        data = drawn_model(random)
    row = _formats.FORMATS["sentencepiece"]
    return Tokenizer(row.load(data, "drawn.model", pattern=_formats.UNSET, special_tokens=None))


def data_is_unigram(data: bytes) -> bool:
    return bool(_formats.protobuf.parse_model(data, "drawn.model").trainer_spec.model_type == 1)


MAKERS = {"bytes": draw_tokenizer, "characters": character_model, "ties": tied_model}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_extended_tokenizers_equal_the_specification(name: str) -> None:
    random, added = Random(1), 0
    for _ in range(CASES):
        tok, corpus = MAKERS[name](random), [draw_text(random) for _ in range(4)]
        corpus += ["".join(random.choices("ab", k=random.randrange(40)))]
        options: dict[str, Any] = {"min_count": random.choice([1, 2, 3])}
        n = random.randrange(1, 9)
        wanted = surgery.extend_model(continued_of(tok.model), words_of(tok, corpus), n, **options)
        if not wanted:
            with pytest.raises(toksmith.errors.CorpusError):
                toksmith.extend(tok, corpus, n, **options)
            continue
        try:
            more, ids = toksmith.extend(tok, corpus, n, **options)
        except toksmith.errors.ModelError as error:
            assert name == "ties" and "merging would not reach" in str(error)
            continue
        new = range(tok.vocab_size, more.vocab_size)
        assert [(more.token_bytes(id), id, ids.sources[id]) for id in new] == [
            (each.token, each.id, each.sources) for each in wanted
        ]
        assert ids.old_size == tok.vocab_size and dict(ids.old_to_new) == {id: id for id in all_ids(tok)}
        if tok.model.scores is not None and more.model.scores is not None:
            scores = np.array([-each.rank for each in wanted], tok.model.scores.dtype)
            assert more.model.scores[-len(scores) :].tolist() == scores.tolist()
        added += len(wanted)
    assert added > CASES


def all_ids(tok: Tokenizer) -> list[int]:
    return [*tok.model.ids.tolist(), *(token.id for token in tok.model.added_tokens)]


def parts_of(model: Model) -> Mapping[int, list[int]]:
    """The two parts of each token."""
    if model.kind != "bpe":
        return {}
    if model.merge_rule == "pair":
        return pruning.parts_of(model.merges.tolist())
    tokens, apart, scores = tokens_of(model), apart_of(model) if model.scores is not None else set(), scores_of(model)
    own = {id: token for id, token in tokens.items() if id not in apart}
    ranks = {token: -scores[id] if scores else float(place) for place, (id, token) in enumerate(own.items())}
    ids = {token: id for id, token in own.items()}
    last = {id: pruning.last_merge(reference.symbols(token, model.unit), ranks) for id, token in own.items()}
    return {id: [ids[part] for part in parts if part in ids] for id, parts in last.items() if parts}


def other_kind(random: Random) -> Tokenizer:
    """A tokenizer without merges."""
    texts = [draw_text(random) for _ in range(9)]
    kind: Any = random.choice(["words", "chars", "wordpiece", "unigram"])
    options: dict[str, Any] = {"words": {}, "chars": {}, "wordpiece": {"merges": 9}, "unigram": {"vocab_size": 30}}[
        kind
    ]
    return toksmith.train(texts, kind=kind, **options)


PRUNED = MAKERS | {"kinds without merges": other_kind}


@pytest.mark.parametrize("name", PRUNED)
def test_pruned_tokenizers_equal_the_specification(name: str) -> None:
    random, removed, restored = Random(2), 0, 0
    for _ in range(CASES):
        tok, corpus = PRUNED[name](random), [draw_text(random) for _ in range(3)]
        model, used = tok.model, dict[int, int]()
        corpus = [text for text in corpus if is_encoded(tok, text)]
        for text in corpus:
            for id in tok.encode(text, special="text"):
                used[id] = used.get(id, 0) + 1
        known = random.random() < 0.6
        marks: dict[str, Any] = {"prefix": model.continuing_subword_prefix, "suffix": model.end_of_word_suffix}
        marks |= {"byte_fallback": model.byte_fallback}
        stay = {id for id, token in tokens_of(model).items() if pruning.stays(token, model.kind, model.unit, **marks)}
        stay |= {token.id for token in model.added_tokens} | {model.unknown_id}
        free = {*model.ids.tolist()} - stay
        order = [*pruning.removed_ids(free, parts_of(model), used if known else None, scores_of(model))]
        n = None if known and random.random() < 0.5 else random.randint(0, len(order))
        gone = [id for id, _ in order][:n]
        if n is None:
            unused = next((place for place, (_, uses) in enumerate(order) if uses), len(order))
            gone = gone[:unused]
        fewer, ids = toksmith.prune(tok, n, corpus=corpus if known else None)
        kept = pruning.renumber_ids(all_ids(tok), gone)
        assert dict(ids.old_to_new) == kept
        assert dict(ids.sources) == {new: (old,) for old, new in kept.items()}
        assert {new: tok.token_bytes(old) for old, new in kept.items()} == {
            id: fewer.token_bytes(id) for id in kept.values()
        }
        removed += len(gone)
        for text in corpus:
            before = tok.encode(text, special="text")
            if model.kind == "bpe" and not {*before} & {*gone}:
                assert fewer.encode(text, special="text") == [kept[id] for id in before], text
                restored += 1
    assert removed > CASES // 2
    assert restored > CASES // 2 or name == "kinds without merges"


def is_encoded(tok: Tokenizer, text: str) -> bool:
    try:
        tok.encode(text, special="text")
    except toksmith.errors.NotInVocabulary:
        return False
    return True


def test_added_special_tokens_equal_the_specification() -> None:
    random = Random(3)
    for _ in range(CASES // 3):
        tok, contents = draw_tokenizer(random), random.sample(["<|y|>", "aab", "c b", "é", "日日"], k=3)
        own = own_model(tok)
        wanted = surgery.special_sources(all_ids(tok), contents, lambda content: reference.encode(content, own, "text"))  # noqa: B023
        more, ids = toksmith.add_special(tok, contents)
        assert [more.special_tokens[content] for content in contents] == [*wanted]
        assert {id: ids.sources[id] for id in wanted} == wanted
        rows = np.array([random.randrange(100) for _ in range(tok.vocab_size)], float)
        sources = {id: (id,) for id in all_ids(tok)} | wanted
        assert ids.apply(rows).tolist() == pytest.approx(surgery.rows_of(rows.tolist(), sources))
