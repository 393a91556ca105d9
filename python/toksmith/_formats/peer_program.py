"""The program that runs the library of a format on files that toksmith wrote, in a process of its own.

`peers.py` starts it as `python -c`, so nothing of toksmith is imported here, and the library is used as its users use it:
with the files and what these do not contain. A request is a line of JSON, and so is each answer. The first request says
what to open; each further one is a list of texts, whose ids are the answer.
"""

import importlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable
from typing import Any

Encode = Callable[[list[str]], list[list[int]]]


def by_tiktoken(tiktoken: Any, paths: list[str], pattern: str | None) -> Encode:
    """Ranks in tiktoken, whose users supply the pattern, because the file has none."""
    ranks = importlib.import_module("tiktoken.load").load_tiktoken_bpe(paths[0])
    encoding = tiktoken.Encoding(
        name="own",
        pat_str=r"[\s\S]+" if pattern is None else pattern,
        mergeable_ranks=ranks,
        special_tokens={},
    )
    return lambda texts: [list(encoding.encode_ordinary(text)) for text in texts]


def by_tokenizers(tokenizers: Any, paths: list[str], pattern: str | None) -> Encode:
    """A tokenizer.json in HF tokenizers, which finds its added tokens in texts and puts the template around them.

    Truncation and padding, which a file may ask for, are those of a batch and not of a text.
    """
    tokenizer = tokenizers.Tokenizer.from_file(paths[0])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda texts: [tokenizer.encode(text).ids for text in texts]


def by_two_files(tokenizers: Any, paths: list[str], pattern: str | None) -> Encode:
    """Vocabulary and merges in the class of HF tokenizers that reads the two files, which splits as GPT-2 does."""
    implementations = importlib.import_module("tokenizers.implementations")
    tokenizer = implementations.ByteLevelBPETokenizer.from_file(paths[0], paths[1])
    return lambda texts: [tokenizer.encode(text).ids for text in texts]


def by_sentencepiece(sentencepiece: Any, paths: list[str], pattern: str | None) -> Encode:
    """A model in SentencePiece."""
    processor = sentencepiece.SentencePieceProcessor(model_file=paths[0])
    return lambda texts: [list(processor.encode(text)) for text in texts]


def by_mistral(tekken: Any, paths: list[str], pattern: str | None) -> Encode:
    """A tekken.json in Mistral's library."""
    tokenizer = tekken.Tekkenizer.from_file(paths[0])
    return lambda texts: [list(tokenizer.encode(text, bos=False, eos=False)) for text in texts]


def by_minbpe(minbpe: Any, paths: list[str], pattern: str | None) -> Encode:
    """A model in minbpe: of the class that splits if the file has a pattern, whatever this class then splits at."""
    with open(paths[0], encoding="utf-8") as file:
        has_pattern = file.read().split("\n")[1].strip() != ""
    tokenizer = minbpe.RegexTokenizer() if has_pattern else minbpe.BasicTokenizer()
    tokenizer.load(paths[0])
    encode = tokenizer.encode_ordinary if has_pattern else tokenizer.encode
    return lambda texts: [list(encode(text)) for text in texts]


OPEN = {
    "minbpe": by_minbpe,
    "mistral": by_mistral,
    "sentencepiece": by_sentencepiece,
    "tiktoken": by_tiktoken,
    "tokenizers": by_tokenizers,
    "two_files": by_two_files,
}


def own_module(folder: str) -> str | None:
    """Why the process is refused: it imported a module of toksmith, from this folder or another; None if it did not."""
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        here = isinstance(file, str) and os.path.realpath(file).startswith(os.path.join(folder, ""))
        if here or name.partition(".")[0] == "toksmith":
            return f"{name} is a module of toksmith here ({file}), which would be compared with itself"
    return None


def opened(request: dict[str, Any]) -> tuple[dict[str, str], Encode | None]:
    """What answers the first request, and what then gives the ids of texts."""
    try:
        module = importlib.import_module(request["module"])
        version = importlib.metadata.version(request["package"])
    except ImportError as error:
        absent = error.name in (request["module"].partition(".")[0], request["package"])
        return {"missing": "is not installed" if absent else f"cannot be imported: {error}"}, None
    return {"version": version}, OPEN[request["open"]](module, request["paths"], request["pattern"])


def main() -> None:
    """Answers requests until there are no more."""
    # What a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    encode: Encode | None = None
    folder = ""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer: Any
        try:
            if encode is None:
                folder = request["own"]
                answer, encode = opened(request)
            else:
                answer = [[int(id) for id in ids] for ids in encode(request)]
        except BaseException as error:  # noqa: BLE001 - a panic of Rust is not an Exception
            answer = {"raised": f"{type(error).__name__}: {error}"}
        if own := own_module(folder):
            answer = {"refused": own}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
