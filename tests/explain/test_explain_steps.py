"""Training by hand: the walk of the textbooks, the same merges as `train`, and every step held to a plain count."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from command_line import misused, run
from hypothesis import given
from hypothesis import strategies as st
from shown_results import check_shown
from test_tutorials import PARAGRAPH

import toksmith
from toksmith import explain

WALK = ["aaabdaaabac", "ZabdZabac", "ZYdZYac", "XdXac"]


def test_steps_give_the_example_of_the_textbooks() -> None:
    walk = explain.steps("aaabdaaabac", merges=3)
    assert [*(walk.written(step.ids) for step in walk.steps), walk.written(walk.ids)] == WALK
    first = {walk.written([pair.left, pair.right]): pair.times for pair in walk.steps[0].counts}
    assert first == {"aa": 4, "ab": 2, "ac": 1, "ba": 1, "bd": 1, "da": 1}
    assert [step.tied for step in walk.steps] == [1, 2, 1]
    assert [walk.tokens[step.id] for step in walk.steps] == [b"aa", b"ab", b"aaab"]
    assert walk.stopped_because == "no pair repeats" and explain.steps("aaabdaaabac") == walk
    text = str(walk)
    assert "step 2: ZabdZabac" in text and "ab        2  becomes Y (257)" in text and "the same count" in text
    check_shown(walk)


def test_the_other_rule_takes_the_pair_that_comes_first() -> None:
    walk = explain.steps("aaabdaaabac", ties="first_seen")
    assert [walk.tokens[step.id] for step in walk.steps] == [b"aa", b"aaa", b"aaab"]
    assert walk.written(walk.ids) == "XdXac"


@pytest.mark.parametrize("ties", ["lowest_ids", "first_seen"])
@given(text=st.text(alphabet="abé Z", min_size=1, max_size=40))
def test_every_step_equals_a_plain_count(text: str, ties: str) -> None:
    walk = explain.steps(text, ties=ties)
    tok = toksmith.train([text], min_count=2, pattern=None, ties=ties, progress=False)
    assert [[step.chosen.left, step.chosen.right, step.id] for step in walk.steps] == tok.model.merges.tolist()
    assert list(walk.ids) == tok.encode(text)
    for step in walk.steps:
        assert {(pair.left, pair.right): pair.times for pair in step.counts} == Counter(pairwise(step.ids))
        assert step.chosen.times == max(pair.times for pair in step.counts)
        assert step.tied == sum(pair.times == step.chosen.times for pair in step.counts)
    assert not {*walk.names.values()} & {*text}


@pytest.mark.slow
def test_a_paragraph_has_more_steps_than_letters() -> None:
    walk = explain.steps(PARAGRAPH, ties="first_seen")
    assert (len(walk.steps), len(walk.ids)) == (38, 150)
    assert (len(walk.steps[0].counts), walk.steps[0].chosen) == (151, explain.PairCount(105, 110, 6))
    assert len(walk.names) < 38 and f"<{256 + 37}>" in walk.written([256 + 37])
    assert "left out" in str(walk) and "the first 8 of 151 pairs" in str(walk)
    check_shown(walk)


def test_steps_stop_at_the_limit() -> None:
    assert explain.steps("abab abab", merges=1).stopped_because == "after 1 merge, as asked"
    assert explain.steps("abc", merges=0).steps == () == explain.steps("abc").steps
    for text, merges in (("", 1), ("a" * 4097, 1), ("ab", -1)):
        with pytest.raises(toksmith.errors.InvalidOption):
            explain.steps(text, merges)
    with pytest.raises(toksmith.errors.UnknownId):
        explain.steps("ab").written([300])


def test_the_command_prints_what_the_function_returns(tmp_path: Path) -> None:
    expected = explain.steps("aaabdaaabac", merges=3)
    arguments = ["--text", "aaabdaaabac", "--merges", "3"]
    assert run("explain", "steps", *arguments).stdout.rstrip("\n") == str(expected)
    assert json.loads(run("explain", "steps", *arguments, "--json").stdout) == expected.to_dict()
    path = tmp_path / "a.txt"
    path.write_text("aaabdaaabac\n", encoding="utf-8")
    seen = run("explain", "steps", path, "--ties", "first_seen", "--svg", tmp_path / "a.svg")
    assert seen.stdout.strip() == str(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == explain.steps("aaabdaaabac", ties="first_seen").to_svg()
    misused(run("explain", "steps", "--text", ""), "--text: expected 1 to 4,096 bytes")
