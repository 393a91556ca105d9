"""Surgery: the core adds and removes the tokens that the specification does."""

from random import Random
from typing import Any

import pytest
from test_surgery import drawn_text, drawn_tok

import toksmith
from toksmith import Tokenizer, reference
from toksmith.reference import surgery

CASES = 150


def own_model(tok: Tokenizer) -> reference.Model:
    """The model of a tokenizer as the specification has it."""
    model = tok.model
    tokens = dict(zip(model.tokens, model.ids.tolist(), strict=True))
    by_bytes = model.merge_rule == "bytes"
    ranks = reference.bytes_rule(tokens) if by_bytes else reference.pair_rule(model.merges.tolist())
    patterns = [step["pattern"] for step in model.splitters]
    return reference.Model(tokens, ranks, model.whole_piece, patterns, {t.content: t.id for t in model.added_tokens})


def test_added_tokens_of_extended_tokenizers() -> None:
    random, added = Random(1), 0
    for _ in range(CASES):
        tok, corpus = drawn_tok(random), [drawn_text(random) for _ in range(4)]
        corpus += ["".join(random.choices("ab", k=random.randrange(40)))]
        options: dict[str, Any] = {"min_count": random.choice([1, 2, 3])}
        n = random.randrange(1, 9)
        wanted = surgery.extended(own_model(tok), corpus, n, by_bytes=tok.model.merge_rule == "bytes", **options)
        if not wanted:
            with pytest.raises(toksmith.CorpusError):
                toksmith.extend(tok, corpus, n, **options)
            continue
        more, _ = toksmith.extend(tok, corpus, n, **options)
        assert [(more.token_bytes(id), id) for id in range(tok.vocab_size, more.vocab_size)] == wanted
        added += len(wanted)
    assert added > 2 * CASES


def test_tokens_that_are_pruned() -> None:
    random, removed = Random(2), 0
    for _ in range(CASES):
        tok, corpus = drawn_tok(random), [drawn_text(random) for _ in range(3)]
        if tok.model.merge_rule == "bytes":
            continue
        own = own_model(tok)
        used: dict[int, int] = {}
        for text in corpus:
            for id in reference.encode(text, own, "text"):
                used[id] = used.get(id, 0) + 1
        known = random.random() < 0.6
        order = [*surgery.removed(own, used if known else None)]
        n = None if known and random.random() < 0.5 else random.randint(0, len(order))
        gone = [id for id, _ in order][:n]
        if n is None:
            unused = next((place for place, (_, uses) in enumerate(order) if uses), len(order))
            gone = gone[:unused]
        fewer, ids = toksmith.prune(tok, n, corpus=corpus if known else None)
        kept = surgery.renumbered([*own.tokens.values(), *own.specials.values()], gone)
        assert dict(ids.old_to_new) == kept
        assert {tok.token_bytes(old): new for old, new in kept.items()} == {
            fewer.token_bytes(id): id for id in kept.values()
        }
        removed += len(gone)
    assert removed > CASES // 2
