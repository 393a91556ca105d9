"""Training on several languages: the core equals the specification, and bad input is refused."""

import logging
import random as random_numbers
from pathlib import Path
from typing import Any

import pytest
from bench.parity import declarations
from hypothesis import given
from hypothesis import strategies as st

import toksmith
from toksmith.errors import CorpusError, InvalidOption, TrainingInterrupted
from toksmith.metrics import LANGUAGES
from toksmith.reference import parity_training as specification
from toksmith.reference.training import DIGITS

PATTERNS = [[], [r" ?\p{L}+| ?\p{N}+"], ["[ab]+"], [r"\S+"]]
MODES = ("hybrid", "parity", "window")
CORPORA = {name: [LANGUAGES[name]] for name in ("English", "German", "Greek", "Hindi", "Thai", "Swahili")}
TEXTS = {name: texts[0] for name, texts in CORPORA.items()}


@st.composite
def trainings(draw: st.DrawFn) -> tuple[dict[str, list[str]], list[str], dict[str, Any]]:
    """Corpora of languages that share letters, a pattern, and options that the specification also takes."""
    names = draw(st.lists(st.sampled_from(["en", "hi", "th", "xx"]), min_size=2, max_size=4, unique=True))
    letters = {name: draw(st.sampled_from(["ab ", "abc 12", "aé☀ ", "b☀ \n"])) for name in names}

    def texts(name: str) -> st.SearchStrategy[list[str]]:
        return st.lists(st.text(letters[name], min_size=1, max_size=16), min_size=1, max_size=2)

    corpora = {name: ["a", *draw(texts(name))] for name in names}
    mode = draw(st.sampled_from(MODES))
    options: dict[str, Any] = {
        "parity": mode,
        "min_count": draw(st.sampled_from([1, 1, 2, 3])),
        "max_token_bytes": draw(st.sampled_from([None, None, 2, 4])),
        "whole_characters": draw(st.booleans()),
        "digits": draw(st.sampled_from([*DIGITS])),
        "min_piece_count": draw(st.sampled_from([1, 1, 2])),
        "alphabet": draw(st.sampled_from([None, "gpt2"])),
    }
    limit = draw(st.integers(0, 14))
    options |= draw(st.sampled_from([{"merges": limit}, {"vocab_size": 257 + limit, "special_tokens": ["<|x|>"]}]))
    if draw(st.booleans()):
        options["development"] = {name: ["a", *draw(texts(name))] for name in names}
    else:
        options["ratios"] = {name: draw(st.sampled_from([0.5, 1.0, 1.0, 2.0])) for name in names}
    if mode != "parity" and draw(st.booleans()):
        options["global_merges"] = draw(st.integers(0, 12))
    if mode == "window":
        options |= {"parity_window": draw(st.integers(1, 9)), "parity_alpha": draw(st.sampled_from([1.0, 1.5, 2.0]))}
    if options.get("global_merges"):
        options["other"] = draw(st.sampled_from([[], ["ab ab c"]]))
    return corpora, draw(st.sampled_from(PATTERNS)), options


def train_both(
    corpora: dict[str, list[str]], patterns: list[str], options: dict[str, Any], **more: Any
) -> tuple[list[specification.Learned], toksmith.Tokenizer]:
    """The merges of the specification, and the tokenizer of the core."""
    asked = {name: value for name, value in options.items() if name not in ("parity", "other")}
    other = options.get("other", [])
    due = specification.learn_merges(corpora, patterns, mode=options["parity"], other=other, **asked)
    tok = toksmith.train(
        other or None,
        pattern=patterns or None,
        parity=options["parity"],
        languages=corpora,
        progress=False,
        **asked,
        **more,
    )
    return due, tok


def same(due: list[specification.Learned], tok: toksmith.Tokenizer) -> bool:
    record, report = tok.model.training, tok.run_report
    assert record is not None and report is not None
    chosen = {name: facts["merges"] for name, facts in report["languages"].items()}
    expected = {name: sum(merge[3] == name for merge in due) for name in chosen}
    learned = [tuple(row) for row in tok.model.merges.tolist()]
    counted = (record.counts.tolist(), record.left.tolist(), chosen)
    return learned == [merge[0] for merge in due] and counted == (
        [merge[1] for merge in due],
        [merge[2] for merge in due],
        expected,
    )


@given(trainings())
def test_the_core_equals_the_specification(training: Any) -> None:
    corpora, patterns, options = training
    due, tok = train_both(corpora, patterns, options)
    assert same(due, tok)


@given(trainings(), st.integers(0, 24), st.sampled_from([b"ab", b"ba", b"aab"]))
def test_a_cut_checkpoint_and_seeds_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, training: Any, lines: int, seed: bytes
) -> None:
    corpora, _, options = training
    patterns = [r"\S+|\s+"]
    options = {name: value for name, value in options.items() if name != "digits"} | {"seed_tokens": [seed]}
    kept = tmp_path_factory.mktemp("kept") / "kept"
    due, tok = train_both(corpora, patterns, options, checkpoint=kept)
    assert same(due, tok)
    whole = kept.read_bytes()
    kept.write_bytes(b"".join(whole.splitlines(keepends=True)[: 1 + lines]))
    again = train_both(corpora, patterns, options, checkpoint=kept)[1]
    assert again == tok and kept.read_bytes() == whole
    assert again.run_report["languages"] == tok.run_report["languages"]


@given(trainings(), st.integers(0, 6))
def test_training_goes_on_from_a_base(training: Any, before: int) -> None:
    corpora, patterns, options = training
    options = options | {"digits": "none", "alphabet": None}
    start = toksmith.train(["abab ab", "a☀a"], merges=before, pattern=patterns or None, progress=False)
    own = toksmith.reference.Model(
        {token: id for id, token in enumerate(start.model.tokens)},
        toksmith.reference.pair_rule(start.model.merges.tolist()),
        patterns=patterns,
    )
    if "vocab_size" in options:
        options["vocab_size"] += before
    asked = {name: value for name, value in options.items() if name not in ("parity", "other")}
    due = specification.learn_merges(
        corpora, patterns, mode=options["parity"], other=options.get("other", []), base=own, **asked
    )
    tok = toksmith.train(
        options.get("other") or None, parity=options["parity"], languages=corpora, base=start, progress=False, **asked
    )
    assert [tuple(row) for row in tok.model.merges[len(start.model.merges) :].tolist()] == [merge[0] for merge in due]


def test_the_worst_language_chooses() -> None:
    corpora = {"en": ["ab ab ab"], "xx": ["cd"]}
    tok = toksmith.train(languages=corpora, development={"en": "ab", "xx": "cd cd"}, merges=3, parity="parity")
    assert [tok.token_bytes(id) for id in range(256, 259)] == [b"cd", b"ab", b" ab"]
    assert tok.model.training is not None and tok.run_report is not None
    assert tok.model.training.counts.tolist() == [1, 3, 2]
    # " cd" turns 5 tokens into 3, whose pairs the corpus lacks.
    assert tok.run_report["languages"]["xx"] == {
        "merges": 1,
        "tokens_before": 5,
        "tokens_after": 3,
        "no_pairs_after": 1,
    }


@pytest.mark.parametrize("mode", MODES)
def test_a_language_without_pairs_does_not_end_training(mode: str) -> None:
    """The worst language has one pair, which does not shorten its development text."""
    tok = toksmith.train(
        languages={"worst": ["xy"], "other": ["abcdefgh" * 3]},
        development={"worst": "qrstuvw" * 9, "other": "ab"},
        merges=6,
        parity=mode,  # type: ignore[arg-type]
        pattern=None,
    )
    assert tok.model.training is not None
    assert len(tok.model.merges) == 6
    assert tok.run_report["languages"]["worst"]["no_pairs_after"] is not None
    assert tok.model.training.stopped_because == "it reached merges=6"


def test_training_ends_when_no_language_has_a_pair() -> None:
    options: dict[str, Any] = {"languages": {"a": ["ab"], "b": ["cd cd"]}, "development": {"a": "ab", "b": "cd"}}
    tok = toksmith.train(**options, vocab_size=300, parity="parity")
    assert tok.model.training is not None
    assert tok.model.training.stopped_because == "no pair is left in any language"
    # In both together "ab" would occur twice; in each language it occurs once.
    options["languages"] = {"a": ["ab"], "b": ["ab", "cd cd"]}
    tok = toksmith.train(**options, min_count=2, parity="parity")
    assert tok.model.training is not None
    assert [tok.token_bytes(id) for id in tok.model.merges[:, 2].tolist()] == [b"cd"]
    assert tok.model.training.stopped_because == "no pair repeats in any language"


@pytest.mark.parametrize("mode", MODES)
def test_rewinding_is_training_with_the_same_global_merges(mode: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"languages": CORPORA, "development": TEXTS, "parity": mode}
    tok = toksmith.train(**options, vocab_size=420, special_tokens=["<|end|>"])
    assert tok.model.training is not None
    shared = tok.model.training.options["parity"]["global_merges"]
    assert shared == (81 if mode == "hybrid" else 0)
    for size in (257, 338, 339, 420):
        due = toksmith.train(**options, vocab_size=size, special_tokens=["<|end|>"], global_merges=shared)
        due.save(tmp_path / "due.toksmith")
        toksmith.rewind(tok, size).save(tmp_path / "found.toksmith")
        assert (tmp_path / "found.toksmith").read_bytes() == (tmp_path / "due.toksmith").read_bytes()
    rows = toksmith.sweep(tok, [300, 420], TEXTS["Hindi"])
    assert [row.vocab_size for row in rows] == [300, 420] and rows[0].ids > rows[1].ids


def test_all_ratios_equal_make_compression_equal() -> None:
    spread = []
    each: Any
    for each in (
        {"corpus": [*TEXTS.values()]},
        {"languages": CORPORA, "ratios": dict.fromkeys(CORPORA, 1.0), "parity": "parity"},
    ):
        tok = toksmith.train(**each, vocab_size=600)
        rates = [len(text.encode()) / tok.count(text) for text in TEXTS.values()]
        spread.append(max(rates) / min(rates))
    assert spread[1] < 1.1 < spread[0]


def test_texts_counts_and_files_give_equal_tokenizers(tmp_path: Path) -> None:
    options: dict[str, Any] = {"vocab_size": 400, "parity": "window", "pattern": "gpt2"}
    due = toksmith.train(languages=CORPORA, development=TEXTS, **options)
    counts = {name: toksmith.corpus.count(each, pattern="gpt2") for name, each in CORPORA.items()}
    development = {name: toksmith.corpus.count(each, pattern="gpt2") for name, each in TEXTS.items()}
    assert toksmith.train(languages=counts, development=development, **options) == due
    del options["pattern"]  # the counts record it
    assert toksmith.train(languages=counts, development=development, **options) == due
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    paths = {name: tmp_path / f"{name}.txt" for name in TEXTS}
    found = toksmith.train(languages=paths, development=paths, max_memory=1 << 20, threads=2, pattern="gpt2", **options)
    assert found == due


def test_text_of_no_language_counts_in_global_merges() -> None:
    options: dict[str, Any] = {"languages": {"a": ["ab"], "b": ["cd"]}, "ratios": {"a": 1, "b": 1}, "merges": 3}
    tok = toksmith.train(["xyxy xyxy"], **options)
    assert [tok.token_bytes(id) for id in range(256, 259)] == [b"xy", b"ab", b"cd"]
    assert tok.model.training is not None
    assert tok.model.training.documents == 3 and tok.model.training.left.tolist()[-1] == 7
    with pytest.raises(
        InvalidOption, match=r"^corpus=.*expected None: text of no language counts in global merges only"
    ):
        toksmith.train(["xyxy"], parity="parity", **options)


@pytest.mark.slow
def test_ctrl_c_gives_the_merges_so_far() -> None:
    # Large enough that a fast machine reports merging before its end.
    random = random_numbers.Random(5)
    corpora = {
        name: ["".join(random.choices(letters, k=2_000_000))] for name, letters in (("a", "abcde"), ("b", "vwxyz"))
    }
    options: dict[str, Any] = {"languages": corpora, "ratios": {"a": 1, "b": 2}, "pattern": None, "parity": "parity"}
    phases: list[tuple[str, int]] = []

    def interrupt(progress: toksmith.types.Progress) -> None:
        phases.append((progress.phase, progress.done))
        if progress.phase == "merging" and progress.done and ("stopped", 0) not in phases:
            phases.append(("stopped", 0))
            raise KeyboardInterrupt

    with pytest.raises(TrainingInterrupted) as stopped:
        toksmith.train(**options, merges=20_000, progress=interrupt)
    tok = stopped.value.tokenizer
    assert tok is not None and stopped.value.phase == "merging"
    merges = len(tok.model.merges)
    assert 0 < merges < 20_000 and tok == toksmith.train(**options, merges=merges)
    # Bytes of both corpora, one after another.
    assert [done for phase, done in phases if phase == "counting"][-1] == 4_000_000

    def early(progress: toksmith.types.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(TrainingInterrupted) as stopped:
        toksmith.train(**options, merges=20, progress=early)
    assert stopped.value.tokenizer is None and stopped.value.phase == "counting"


def test_left_out_pieces_make_merges_uncertain() -> None:
    corpora = {"a": ["ab ab ab ab q"], "b": ["cd cd cd cd x y"]}
    options: dict[str, Any] = {"languages": corpora, "merges": 4, "parity": "parity", "pattern": r"\S+|\s+"}
    for more, first in (
        ({"min_piece_count": 1, "ratios": {"a": 1, "b": 1}}, None),
        ({"min_piece_count": 2, "ratios": {"a": 1, "b": 1}}, 0),  # lengths lack the left-out pieces
    ):
        report = toksmith.train(**options, **more).run_report
        assert report["first_uncertified_merge"] == first
    texts = {"a": "ab ab", "b": "cd"}
    report = toksmith.train(**(options | {"merges": 1}), development=texts, min_piece_count=2).run_report
    assert report["first_uncertified_merge"] is None


def test_every_format_of_merges_holds_the_tokenizer(tmp_path: Path) -> None:
    tok = toksmith.train(languages=CORPORA, development=TEXTS, vocab_size=500, pattern="gpt2")
    for name in ("x.toksmith", "tokenizer.json", "x.tiktoken"):
        loss = ["splitters"] if name.endswith(".tiktoken") else []
        tok.save(tmp_path / name, allow_loss=loss)
        given: Any = {"pattern": "gpt2"} if loss else {}
        again = toksmith.load(tmp_path / name, **given)
        assert [again.encode(text) for text in TEXTS.values()] == [tok.encode(text) for text in TEXTS.values()]
    record, again_record = tok.model.training, toksmith.load(tmp_path / "x.toksmith").model.training
    assert record is not None and again_record is not None and record.options == again_record.options


GIVEN: dict[str, Any] = {
    "languages": {"en": ["a b"], "hi": ["c d"]},
    "development": {"en": "a", "hi": "c"},
    "merges": 4,
}


@pytest.mark.parametrize(
    ("argument", "change"),
    [
        ("languages", {"languages": None}),
        ("languages", {"languages": {"en": ["a"]}}),
        ("languages", {"languages": {}}),
        ("languages", {"languages": {"": ["a"], "hi": ["b"]}}),
        ("parity", {"parity": "fair"}),
        ("development", {"development": None}),
        ("ratios", {"ratios": {"en": 1, "hi": 1}}),
        ("development", {"development": {"en": "a"}}),
        ("development", {"development": {"en": "a", "hi": "c", "xx": "e"}}),
        ("ratios", {"development": None, "ratios": {"en": 1}}),
        ("ratios", {"development": None, "ratios": {"en": 1, "hi": 0}}),
        ("ratios", {"development": None, "ratios": {"en": 1, "hi": float("nan")}}),
        ("global_merges", {"global_merges": -1}),
        ("global_merges", {"parity": "parity", "global_merges": 3}),
        ("global_merges", {"merges": None, "min_count": 2}),
        ("parity_window", {"parity_window": 9}),
        ("parity_alpha", {"parity_alpha": 3}),
        ("parity_window", {"parity": "window", "parity_window": 0}),
        ("parity_alpha", {"parity": "window", "parity_alpha": 0.5}),
        ("ties", {"ties": "first_seen"}),
        ("superwords", {"superwords": 1}),
        ("languages", {"kind": "unigram", "merges": None, "vocab_size": 300}),
        ("pattern", {"development": {"en": "a", "hi": toksmith.corpus.count("c", pattern="gpt2")}}),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(argument: str, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption) as caught:
        toksmith.train(**(GIVEN | change))
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"languages": {"en": ["a"], "hi": []}}, "the corpus of 'hi' is empty: 0 documents without a byte"),
        ({"languages": {"en": ["a"], "hi": ["", ""]}}, "the corpus of 'hi' is empty: 2 documents"),
        ({"development": {"en": "a", "hi": ""}}, "the development text of 'hi' is empty"),
        ({"languages": {"en": ["a"], "hi": Path("no such file")}}, "no such file"),
    ],
)
def test_empty_and_missing_texts_are_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(CorpusError, match=said):
        toksmith.train(**(GIVEN | change))


def test_wrong_types_are_named() -> None:
    for change, said in (
        ({"languages": ["a", "b"]}, r"languages: expected a mapping \(a dict\), not list"),
        ({"languages": {"en": 5, "hi": ["c"]}}, "int"),
        ({"development": None, "ratios": {"en": "1", "hi": 1}}, "str"),
    ):
        with pytest.raises(TypeError, match=said):
            toksmith.train(**(GIVEN | change))
    with pytest.raises(
        TypeError, match="corpus: expected texts, paths or open files, not NoneType; or pass languages="
    ):
        toksmith.train(merges=2)


def test_doubtful_inputs_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "toksmith"):
        toksmith.train(**(GIVEN | {"development": {"en": "a\nb\nc", "hi": "c"}}))
        toksmith.train(**(GIVEN | {"global_merges": 4}))
    said = [record.message for record in caplog.records if "stopped after" not in record.message]
    assert said[0].startswith(
        "the development texts may not have the same meaning: hi has 1 document with 0 line feeds, "
    )
    assert said[1] == "global_merges=4 leaves no merge for the languages to choose: 4 are learned at most"
    assert len(said) == 2


def test_languages_get_fairer_on_unseen_articles(corpora_dir: Path) -> None:
    """The declaration of human rights: development on odd articles, figures on even ones."""
    declared = declarations(corpora_dir / "udhr")
    names = ("eng", "fra", "hin", "tam", "tha", "kor", "ell_monotonic", "yor")
    odd = {name: "\n".join(declared[name][::2]) for name in names}
    even = {name: "\n".join(declared[name][1::2]) for name in names}
    plain = toksmith.train([*odd.values()], 2000)
    fair = toksmith.train(languages=odd, development=odd, vocab_size=2000, parity="parity")
    before, after = toksmith.metrics.parity(plain, even), toksmith.metrics.parity(fair, even)
    assert before.gini is not None and after.gini is not None and after.gini < 0.7 * before.gini
