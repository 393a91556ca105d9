"""Training where a token is its text: the core equals the executable specification."""

import random

from toksmith import _core
from toksmith.reference.text_training import train_by_text


def test_the_core_trains_as_the_reference() -> None:
    rng, shared = random.Random(3), 0
    for _ in range(400):
        letters = "abc"[: rng.randint(1, 3)]
        given = [*dict.fromkeys((*rng.choice((["ab"], ["abc", "b"], ["aa", "ba"], [])), *letters))]
        drawn = {
            tuple(rng.choice(letters) for _ in range(rng.randint(0, 9))): rng.randint(1, 9)
            for _ in range(rng.randint(0, 9))
        }
        size, least = rng.choice((4, 9, 99)), rng.choice((0, 1, 5))
        longest, prefix = rng.choice((None, None, 0, 2, 4, 5)), rng.choice(("", "", "a"))
        tokens, pairs = train_by_text(drawn, given, size, min_count=least, prefix=prefix, longest=longest)
        words = [[given.index(char) for char in word] for word in drawn]
        rules = {"size": size, "min_count": least, "prefix": prefix, "longest": longest}
        found, merges = _core.train_by_text(given, words, [*drawn.values()], rules)
        assert found == [*given, *tokens]
        assert [(found[left], found[right]) for left, right in merges] == pairs, (drawn, given, rules)
        shared += len(pairs) > len(tokens)
    assert shared > 50, "pairs that spell one text were drawn"
