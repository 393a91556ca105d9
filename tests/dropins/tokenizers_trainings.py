"""Trainings of `toksmith.compat.tokenizers`: each trainer with each option on drawn corpora."""

import random
from collections.abc import Sequence

CORPORA = (
    ["the hello held hex hexes world", "lower lowest newest", "hex hex hello"] * 3,
    ["low lower lowest slow", "new newer newest", "wide wider widest"] * 5,
    ["na\u00efve caf\u00e9 caf\u00e9 漢字 漢字 漢 é é", "Hello World. Hello, world!", "a b c aa ab abab ababab"] * 2,
    ["abcabc abc bc bca cab abcab", "aaaa aaaaaaaa aaa", "banana bandana ananas"] * 4,
    [],
    [""],
    [["in", "ing", "ng", "king ring"], ["sing song", "long"]] * 4,
)
COMMON: dict[str, Sequence[object]] = {
    "vocab_size": (0, 5, 20, 30, 45, 60, 100),
    "min_frequency": (0, 1, 2, 3, 5),
    "special_tokens": (
        ["[UNK]"],
        ["h", "e", "the"],
        ["he", "lo", "é"],
        ["[UNK]", "[UNK]", " "],
        ['lib.AddedToken("ab", lstrip=True)'],
    ),
}
LETTERS: dict[str, Sequence[object]] = {
    **COMMON,
    "limit_alphabet": (0, 1, 4, 10, 1000),
    "initial_alphabet": (["z"], ["q", "é", "xyz"], ["漢", "a", "b", ""]),
    "max_token_length": (0, 1, 2, 3, 4, 5, 6, 9),
    "continuing_subword_prefix": ("", "##", "_"),
    "end_of_word_suffix": ("", "</w>", "e"),
}
OPTIONS: dict[str, dict[str, Sequence[object]]] = {
    "Bpe": LETTERS,
    "WordPiece": {name: values for name, values in LETTERS.items() if name != "max_token_length"},
    "WordLevel": COMMON,
    "Unigram": {
        "vocab_size": (30, 45, 60, 100),  # the library does not end with fewer
        "special_tokens": COMMON["special_tokens"],
        "initial_alphabet": LETTERS["initial_alphabet"],
        "unk_token": ("[UNK]", "<unk>"),
        "max_piece_length": (1, 2, 3, 5),
        "n_sub_iterations": (1, 3),
        "shrinking_factor": (0.5, 0.9),
        "seed_size": (10, 30),
    },
}
MODELS = {"Bpe": "BPE", "WordPiece": "WordPiece", "WordLevel": "WordLevel", "Unigram": "Unigram"}
PRE_TOKENIZERS = (
    "",
    "; t.pre_tokenizer = lib.pre_tokenizers.Whitespace()",
    "; t.pre_tokenizer = lib.pre_tokenizers.ByteLevel()",
)


def drawn(rng: random.Random) -> tuple[str, str, str]:
    """A trainer with one or two options: the name of the feature, the code before training, and the training."""
    kind = rng.choice(("Bpe", "Bpe", "Bpe", "WordPiece", "WordLevel", "Unigram"))
    options = OPTIONS[kind]
    chosen = rng.sample([*options], rng.choice((0, 1, 1, 2)))
    given = ", ".join(f"{name}={written(rng.choice(options[name]))}" for name in chosen)
    model = f"lib.models.{MODELS[kind]}({'' if kind == 'Unigram' else 'unk_token=' + repr('[UNK]')})"
    made = f"t = lib.Tokenizer({model}){rng.choice(PRE_TOKENIZERS)}"
    given += "" if "vocab_size" in chosen else f"{', ' if given else ''}vocab_size=60"
    training = f"t.train_from_iterator({rng.choice(CORPORA if kind != 'Unigram' else CORPORA[:4])!r}, lib.trainers.{kind}Trainer(show_progress=False, {given}))"
    return f"trainer={kind} {'+'.join(sorted(chosen))}", made, training


def written(value: object) -> str:
    """A value as Python."""
    if isinstance(value, list):
        return "[" + ", ".join(each if each.startswith("lib.") else repr(each) for each in value) + "]"
    return repr(value)
