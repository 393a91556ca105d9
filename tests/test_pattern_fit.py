"""A wrong pattern is noticed: how many tokens do not encode to themselves under it."""

from pathlib import Path

import pytest

import toksmith

# Of the 99,483 tokens of cl100k that are UTF-8.
FIGURES = {"cl100k": 0, "o200k": 5_599, "gpt2": 21_687, "single digits": 1_102}


@pytest.mark.slow
@pytest.mark.parametrize("pattern", FIGURES)
def test_the_figures_of_cl100k(pattern: str, vocab_dir: Path) -> None:
    cl100k = toksmith.patterns()["cl100k"].regexes[0]
    digits = cl100k.replace(r"\p{N}{1,3}+", r"\p{N}")
    assert digits != cl100k
    tok = toksmith.load(vocab_dir / "cl100k_base.tiktoken", pattern=digits if pattern == "single digits" else pattern)
    fit = tok.pattern_fits()
    assert (fit.misfits, fit.tokens, bool(fit)) == (FIGURES[pattern], 99_483, pattern == "cl100k")
    assert len(fit.examples) == (5 if fit.misfits else 0)
    for id, token in fit.examples:
        assert tok.token_bytes(id) == token and tok.encode(token) != [id]
    assert tok.pattern_fits() is fit


def test_what_it_says() -> None:
    tok = toksmith.train("a;\na;\na;\n", merges=1, pattern="cl100k")
    assert str(tok.pattern_fits()) == "each of 129 tokens encodes to itself"
    import dataclasses

    model = dataclasses.replace(tok.model, splitters=toksmith._patterns.splitters("gpt2"))
    fit = toksmith.Tokenizer(model).pattern_fits()
    assert (fit.misfits, fit.examples) == (1, ((256, b";\n"),))
    assert str(fit) == "1 of 129 tokens do not encode to themselves, such as ';\\n'"


def test_tokens_that_are_no_text_are_left_out() -> None:
    tok = toksmith.train(b"\xe2\x82\xe2\x82", merges=1, pattern=None)
    assert tok.token_bytes(256) == b"\xe2\x82"
    assert tok.pattern_fits().tokens == 128
