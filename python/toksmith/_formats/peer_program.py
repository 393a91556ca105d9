"""The program that runs a format's library on files that toksmith wrote, in a separate process.

`peers.py` starts it as `python -c`, so it imports nothing of toksmith. It opens the files as the library's users do, with
arguments for data that the files lack. Each request and each answer is a line of JSON. The first request names the
library and the files to open; each further request is a list of texts, and the answer is their ids.
"""

import importlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable
from typing import Any

Encode = Callable[[list[str]], list[list[int]]]


def open_tiktoken(tiktoken: Any, paths: list[str], pattern: str | None) -> Encode:
    """Ranks in tiktoken; its users supply the pattern, because the file has none."""
    ranks = importlib.import_module("tiktoken.load").load_tiktoken_bpe(paths[0])
    encoding = tiktoken.Encoding(
        name="own",
        pat_str=r"[\s\S]+" if pattern is None else pattern,
        mergeable_ranks=ranks,
        special_tokens={},
    )
    return lambda texts: [list(encoding.encode_ordinary(text)) for text in texts]


def open_tokenizers(tokenizers: Any, paths: list[str], pattern: str | None) -> Encode:
    """A tokenizer.json in HF tokenizers, which finds added tokens in texts and adds the template's tokens around them.

    Truncation and padding are off: they depend on the batch, not on the text.
    """
    tokenizer = tokenizers.Tokenizer.from_file(paths[0])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda texts: [tokenizer.encode(text).ids for text in texts]


def open_two_files(tokenizers: Any, paths: list[str], pattern: str | None) -> Encode:
    """Vocabulary and merges in the class of HF tokenizers that reads the two files; it splits as GPT-2 does."""
    implementations = importlib.import_module("tokenizers.implementations")
    tokenizer = implementations.ByteLevelBPETokenizer.from_file(paths[0], paths[1])
    return lambda texts: [tokenizer.encode(text).ids for text in texts]


def open_sentencepiece(sentencepiece: Any, paths: list[str], pattern: str | None) -> Encode:
    processor = sentencepiece.SentencePieceProcessor(model_file=paths[0])
    return lambda texts: [list(processor.encode(text)) for text in texts]


def open_mistral(tekken: Any, paths: list[str], pattern: str | None) -> Encode:
    tokenizer = tekken.Tekkenizer.from_file(paths[0])
    return lambda texts: [list(tokenizer.encode(text, bos=False, eos=False)) for text in texts]


def open_minbpe(minbpe: Any, paths: list[str], pattern: str | None) -> Encode:
    """A model in minbpe: in the class that splits if the file has a pattern, even if the class uses another pattern."""
    with open(paths[0], encoding="utf-8") as file:
        has_pattern = file.read().split("\n")[1].strip() != ""
    tokenizer = minbpe.RegexTokenizer() if has_pattern else minbpe.BasicTokenizer()
    tokenizer.load(paths[0])
    encode = tokenizer.encode_ordinary if has_pattern else tokenizer.encode
    return lambda texts: [list(encode(text)) for text in texts]


def open_transformers(transformers: Any, paths: list[str], pattern: str | None) -> Encode:
    """The folder in the class that `AutoTokenizer` chooses by its files."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(os.path.dirname(paths[0]))
    return lambda texts: [tokenizer(text)["input_ids"] for text in texts]


OPEN = {
    "minbpe": open_minbpe,
    "mistral": open_mistral,
    "sentencepiece": open_sentencepiece,
    "tiktoken": open_tiktoken,
    "tokenizers": open_tokenizers,
    "transformers": open_transformers,
    "two_files": open_two_files,
}


def find_own_module(folder: str) -> str | None:
    """The error of a process that imported a module of toksmith, from this folder or another; None if it did not."""
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        in_folder = isinstance(file, str) and os.path.realpath(file).startswith(os.path.join(folder, ""))
        if in_folder or name.partition(".")[0] == "toksmith":
            return f"{name} is a module of toksmith here ({file}), which would be compared with itself"
    return None


def open_library(request: dict[str, Any]) -> tuple[dict[str, str], Encode | None]:
    """The answer to the first request, and the function for the ids of texts; None if the library is missing."""
    try:
        module = importlib.import_module(request["module"])
        version = importlib.metadata.version(request["package"])
    except ImportError as error:
        absent = error.name in (request["module"].partition(".")[0], request["package"])
        return {"missing": "is not installed" if absent else f"cannot be imported: {error}".partition("\n")[0]}, None
    return {"version": version}, OPEN[request["open"]](module, request["paths"], request["pattern"])


def main() -> None:
    """Answers requests until the input ends."""
    # Output of a library must not mix with the answers, so file descriptor 1 becomes stderr.
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
                answer, encode = open_library(request)
            else:
                answer = [[int(id) for id in ids] for ids in encode(request)]
        except BaseException as error:  # noqa: BLE001 - a Rust panic is not an Exception
            answer = {"raised": f"{type(error).__name__}: {error}"}
        if refusal := find_own_module(folder):
            answer = {"refused": refusal}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
