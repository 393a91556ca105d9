"""The lattice of a unigram model: its best path is the tokenizer's."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn_texts import Drawing

import toksmith
from toksmith._playground import views
from toksmith._playground.lattice import MOST_CHARACTERS, lattice

UNIGRAM = toksmith.train(["low lower lowest newest widest", "a new low"] * 9, 60, kind="unigram", progress=False)


@pytest.mark.parametrize("source", ["trained", "sentencepiece"])
def test_the_best_path_is_the_encoding_of_the_tokenizer(source: str, vocab_dir: Path) -> None:
    tok = UNIGRAM if source == "trained" else toksmith.load(vocab_dir / "sp_unigram_en.model")
    words = ["", " ", "lowest", "newlowest", "Stra\u00dfe", "\ufb01ne", "a b", "unbelievable", *Drawing(3).texts(60)]
    texts = {text[:12].encode("utf-8", "replace").decode() for text in words}
    for text in texts:
        found = lattice(tok, "own", text)
        [(ids, total)] = tok.encode_best(text, 1)
        path = [found.arcs[place] for place in found.path]
        assert b"".join(arc.token for arc in path) == found.piece
        assert [arc.end for arc in path[:-1]] == [arc.start for arc in path[1:]]
        known = [arc.id for arc in path]
        if None not in known:  # an unknown character is drawn as the text has it, also where the model sees another
            assert found.sums[-1] == pytest.approx(total, abs=1e-3), text
            assert known == ids == tok.encode(text, special="text"), text


def test_every_sum_is_the_best_over_all_ways_to_its_place() -> None:
    found = lattice(UNIGRAM, "own", "newlowest")
    for end in range(1, len(found.sums)):
        ways = [found.sums[arc.start] + arc.score for arc in found.arcs if arc.end == end]
        assert found.sums[end] == pytest.approx(max(ways))


def test_the_merges_of_a_unigram_model_are_its_lattice() -> None:
    session = views.Session({"own": UNIGRAM}, {}, {})

    def ask(view: str, **values: object) -> dict[str, object]:
        about = {"tokenizers": ["own"], **values}
        return views.answer_values(view, views.ViewRequest(session, about))["result"]  # type: ignore[no-any-return]

    proposed = ask("proposed", text="a newest low")["pieces"]
    assert isinstance(proposed, list) and proposed[0]["piece"] == "newest"
    assert ask("piece", text="a newest low", byte=4)["piece"] == "newest"
    found = ask("merges", piece="newest")
    assert found["piece"] == {"text": "\u2581newest", "hex": "\u2581newest".encode().hex(), "shown": "\u2581newest"}
    kind, page = views.export_view(
        "merges", "html", views.ViewRequest(session, {"tokenizers": ["own"], "piece": "low"})
    )
    assert kind == "text/html" and "best path" in page
    with pytest.raises(toksmith.errors.InvalidOption, match=f"at most {MOST_CHARACTERS}"):
        ask("merges", piece="x" * (MOST_CHARACTERS + 1))
