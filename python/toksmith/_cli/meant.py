"""What a wrong word of a command line probably means: other programs' words first, then similar spellings."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["meant"]

from .._base.suggestions import MOST

# Words of other programs and of other spellings, and ours.
WORDS = {
    "tokenise": "tokenize encode",
    "tokenization": "tokenize encode",
    "preprocess": "tokenize",
    "shard": "tokenize shards",
    "pack": "tokenize",
    "ids": "encode",
    "enc": "encode",
    "dec": "decode",
    "detokenize": "decode",
    "detokenise": "decode",
    "learn": "train",
    "fit": "train",
    "build": "train",
    "learn-bpe": "train",
    "wc": "count",
    "length": "count",
    "len": "count",
    "view": "show",
    "visualize": "show play",
    "visualise": "show play",
    "split": "explain show",
    "why": "explain",
    "merges": "explain",
    "diff": "compare",
    "export": "convert",
    "import": "convert",
    "save": "convert train",
    "list": "encodings formats",
    "ls": "encodings formats",
    "models": "encodings",
    "vocabs": "encodings",
    "stats": "measure",
    "metrics": "measure",
    "evaluate": "measure",
    "eval": "measure",
    "bench": "measure",
    "languages": "parity",
    "lint": "doctor explain",
    "check": "doctor verify",
    "validate": "verify doctor",
    "health": "doctor",
    "serve": "play",
    "ui": "play",
    "web": "play",
    "playground": "play",
    "progress": "status",
    "ps": "status",
    "man": "help",
    "usage": "help",
    "-v": "-V",
    "--vocab": "--vocab-size",
    "--size": "--vocab-size",
    "--vocabulary-size": "--vocab-size",
    "--num-merges": "--merges",
    "--steps": "--merges",
    "--out": "--output",
    "--output-file": "--output",
    "--output-prefix": "--output",
    "--model-prefix": "--output",
    "--save": "--output",
    "--model": "--tokenizer --kind",
    "--model-type": "--kind",
    "--type": "--kind --dtype",
    "--algorithm": "--kind",
    "--encoding": "--tokenizer",
    "--tok": "--tokenizer",
    "--tokenizer-model": "--tokenizer",
    "--name": "--tokenizer",
    "--format": "--to --from",
    "--to-format": "--to",
    "--from-format": "--from",
    "--regex": "--pattern",
    "--split": "--pattern",
    "--special-tokens": "--special-token --special",
    "--allowed-special": "--special",
    "--add-special-tokens": "--special --append",
    "--append-eod": "--append",
    "--eos": "--append",
    "--bos": "--prepend",
    "--column": "--field",
    "--key": "--field",
    "--json-keys": "--field",
    "--jobs": "--workers --threads",
    "--num-workers": "--workers --threads",
    "--num-threads": "--threads",
    "--min-frequency": "--min-count",
    "--min-freq": "--min-count",
    "--limit-alphabet": "--character-coverage",
    "--silent": "--quiet",
    "--no-progress": "--quiet",
    "--string": "--text",
    "--bytes": "--raw",
    "--seed": "--shuffle",
    "--verbose": "--debug",
    "--overwrite": "--force",
}


def meant(word: str, known: Collection[str]) -> list[str]:
    """The known words that a wrong one probably means, at most five.

    >>> meant("tokenise", ["encode", "tokenize"]), meant("--vocab", ["--vocab-size"]), meant("trian", ["train"])
    (['tokenize', 'encode'], ['--vocab-size'], ['train'])
    """
    import difflib  # slow to import, and only errors need it

    low = word.lower()
    by_meaning = [each for each in WORDS.get(low.replace("_", "-"), "").split() if each in known]
    if by_meaning:
        return by_meaning[:MOST]
    beginning = sorted(each for each in known if len(low.strip("-")) > 1 and each.startswith(low))
    bare = {each.lstrip("-"): each for each in sorted(known)}  # all flags have their hyphens in common
    return (beginning or [bare[each] for each in difflib.get_close_matches(low.lstrip("-"), bare)])[:MOST]
