"""Cases of `toksmith.compat.tokenizers`: each builds one feature with both libraries, and makes one call.

A case prints as two lines of Python, which run with `lib = tokenizers` or `from toksmith.compat import tokenizers as
lib` and with the names of tests/dropins/tokenizers_features.py.
"""

import builtins
import functools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from dropins import Case
from dropins import tokenizers_features as definitions
from dropins import tokenizers_texts as drawn
from dropins import tokenizers_trainings as trainings

COLUMNS = (
    "ids",
    "tokens",
    "offsets",
    "word_ids",
    "sequence_ids",
    "type_ids",
    "attention_mask",
    "special_tokens_mask",
    "n_sequences",
)
NAMES = {name: value for name, value in vars(definitions).items() if name.isupper()}
MOST_MADE = 500  # tokenizers that are kept for further cases
Values = dict[str, Any]


def fields(encoding: Any) -> Values:
    """Every field of an encoding, the results of its methods for each place, and the same for its overflow."""
    found = {name: getattr(encoding, name) for name in COLUMNS}
    count, sequences = len(encoding), range(max(encoding.n_sequences, 1) + 1)
    for name in ("token_to_chars", "token_to_word", "token_to_sequence"):
        found[name] = [getattr(encoding, name)(place) for place in range(count + 1)]
    characters = max((end for _, end in found["offsets"]), default=0) + 2
    pieces = max((word for word in found["word_ids"] if word is not None), default=0) + 2
    for name, size in (
        ("char_to_token", characters),
        ("char_to_word", characters),
        ("word_to_tokens", pieces),
        ("word_to_chars", pieces),
    ):
        found[name] = [getattr(encoding, name)(at, sequence) for sequence in sequences for at in range(size)]
    return found | {
        f"overflowing {place} {name}": value
        for place, each in enumerate(encoding.overflowing)
        for name, value in fields(each).items()
    }


def shown(value: Any) -> Values:
    """The fields of any result."""
    if type(value).__name__ == "Encoding":
        return fields(value)
    if isinstance(value, list) and value and all(type(each).__name__ == "Encoding" for each in value):
        return {f"{place} {name}": field for place, each in enumerate(value) for name, field in fields(each).items()}
    if isinstance(value, dict):
        value = {key: repr(each) if type(each).__name__ == "AddedToken" else each for key, each in value.items()}
    return {"result": value}


def outcome(call: Callable[[], Any], shown: Callable[[Any], Values] = shown) -> tuple[Values, BaseException | None]:
    """The fields of a call's result, and its error."""
    try:
        return shown(call()), None
    except (Exception, BaseException) as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit, SyntaxError, NameError)):  # an error of the case itself
            raise
        return {"raises": type(error).__name__}, error


def caught(theirs: Values, own: Values, error: BaseException | None) -> Values:
    """The drop-in's values, with the library's class in place of its subclass."""
    kind = getattr(builtins, theirs.get("raises", ""), None)
    return theirs if error is not None and kind is not None and isinstance(error, kind) else own


class Features:
    """The built features, each with both libraries."""

    def __init__(self, libraries: tuple[Any, Any]) -> None:
        self.libraries = libraries
        self.all = [*definitions.features()]
        self.kinds: dict[str, list[tuple[str, str]]] = {}
        for name, code in self.all:
            self.kinds.setdefault(name.split("=")[0].split(" ")[0], []).append((name, code))
        self.made: dict[str, list[Any]] = {}

    def drawn(self, rng: random.Random) -> tuple[str, str, list[Any]]:
        """A feature, its code, and the namespace of each library."""
        name, code = rng.choice(self.kinds[rng.choice([*self.kinds])])
        if code not in self.made:
            if len(self.made) == MOST_MADE:
                self.made.clear()
            self.made[code] = [namespace(code, lib=library) for library in self.libraries]
        return name, code, self.made[code]


def namespace(code: str, **given: Any) -> Values:
    """The names that a feature's code defines, or its error."""
    names: Values = {**NAMES, **given}
    try:
        exec(code, names)
    except Exception as error:
        if isinstance(error, (SyntaxError, NameError)):  # an error of the case itself
            raise
        names["made"] = error
    return names


def call(rng: random.Random, name: str, size: int, known: list[str]) -> tuple[str, Values]:
    """A call in a user's form, and its arguments."""
    text, pair = drawn.text(rng), drawn.text(rng)
    given = rng.choice(("", "", ", add_special_tokens=False"))
    kind = rng.random()
    if name.startswith("normalizer") and kind < 0.4:
        return f"t.normalizer.normalize_str({text!r})", {"text": text}
    if name.startswith("pre_tokenizer") and kind < 0.4:
        return f"t.pre_tokenizer.pre_tokenize_str({text!r})", {"text": text}
    if name.startswith("decoder") and kind < 0.7:
        return decoding(rng, size, known, alone=kind < 0.4)
    if name.startswith("model") and kind < 0.2:
        return f"[x.as_tuple() for x in t.model.tokenize({text!r})]", {"text": text}
    if kind < 0.5:
        return f"t.encode({text!r}{given})", {"text": text}
    if kind < 0.68:
        return f"t.encode({text!r}, {pair!r}{given})", {"text": text, "pair": pair}
    if kind < 0.78:
        words, more = drawn.words(rng), f", {drawn.words(rng)!r}" if rng.random() < 0.3 else ""
        return f"t.encode({words!r}{more}, is_pretokenized=True{given})", {"words": words}
    if kind < 0.8:
        each = [f"t.encode({one!r}, add_special_tokens=False)" for one in (text, pair)]
        return f"t.post_process({', '.join(each[: rng.randint(1, 2)])}{given})", {"text": text}
    if kind < 0.87:
        batch = [drawn.text(rng), (drawn.text(rng), text)] if rng.random() < 0.5 else [text, pair, drawn.text(rng)]
        fast = rng.choice(("", "_fast"))
        return f"t.encode_batch{fast}({batch!r}{given})", {"batch": batch}
    if kind < 0.93:
        return decoding(rng, size, known, alone=False)
    return vocabulary(rng, size, known), {}


def decoding(rng: random.Random, size: int, known: list[str], *, alone: bool) -> tuple[str, Values]:
    """A call that decodes."""
    if alone:
        tokens = drawn.tokens(rng, known)
        return f"t.decoder.decode({tokens!r})", {"tokens": tokens}
    skip = rng.choice(("", ", skip_special_tokens=False"))
    if rng.random() < 0.7:
        ids = drawn.numbers(rng, size)
        return f"t.decode({ids!r}{skip})", {"ids": ids}
    return f"t.decode_batch({[drawn.numbers(rng, size) for _ in range(2)]!r}{skip})", {}


def vocabulary(rng: random.Random, size: int, known: list[str]) -> str:
    """A call for the content of a tokenizer."""
    token, id = rng.choice([*known, *drawn.MARKS]), rng.randrange(size + 3)
    calls = (
        "get_vocab()",
        "get_vocab(with_added_tokens=False)",
        "get_vocab_size()",
        "get_vocab_size(False)",
        "get_added_tokens_decoder()",
    )
    more = (
        f"token_to_id({token!r})",
        f"id_to_token({id})",
        "num_special_tokens_to_add(True)",
        "num_special_tokens_to_add(False)",
    )
    return "t." + rng.choice((*calls, *more, "to_str()", "truncation", "padding", "encode_special_tokens"))


def training(rng: random.Random, libraries: tuple[Any, Any]) -> Case:
    """A training, and the trained tokenizer."""
    name, made, line = trainings.drawn(rng)
    results = []
    for library in libraries:
        names: Values = {**NAMES, "lib": library}
        results.append(outcome(functools.partial(trained, made, line, names)))
    (peer, _), (mine, error) = results
    return Case(name, f"{made}\n{line}", peer, caught(peer, mine, error), {"code": made, "call": line, "given": {}})


def trained(made: str, line: str, names: Values) -> dict[str, Any]:
    """The content of a trained tokenizer's file, the vocabulary in order."""
    exec(f"{made}; {line}", names)
    value = json.loads(names["t"].to_str())
    vocab = value["model"]["vocab"]
    return value | {"model": {**value["model"], "vocab": [*vocab.items()] if isinstance(vocab, dict) else vocab}}


def cases(count: int, seed: int, libraries: tuple[Any, Any]) -> Iterator[Case]:
    """Draw `count` cases."""
    rng, features = random.Random(seed), Features(libraries)
    for _ in range(count):
        if rng.random() < 0.04:
            yield training(rng, libraries)
            continue
        name, code, (theirs, own) = features.drawn(rng)
        about: Values = {"code": code, "given": {}}
        if "made" in theirs or "made" in own:
            yield unmade(name, code, theirs, own, about)
            continue
        vocab = theirs.setdefault("known", [*theirs["t"].get_vocab()])
        line, given = call(rng, name, len(vocab), vocab)
        about |= {"call": line, "given": given, "peer": theirs["t"]}
        yield called(name, code, line, (theirs, own), about)


def unmade(name: str, code: str, theirs: Values, own: Values, about: Values) -> Case:
    """The case of a definition that a library refuses."""
    peer, mine = (
        {"raises": type(names["made"]).__name__} if "made" in names else {"made": True} for names in (theirs, own)
    )
    return Case(name, code, peer, caught(peer, mine, own.get("made")), about)


def called(
    name: str,
    code: str,
    line: str,
    both: tuple[Values, Values],
    about: Values,
    shown: Callable[[Any], Values] = shown,
) -> Case:
    """The case of a call in the names of either library."""
    (peer, _), (mine, error) = (outcome(functools.partial(eval, line, names), shown) for names in both)
    return Case(name, f"{code}\n{line}", peer, caught(peer, mine, error), about)
