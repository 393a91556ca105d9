"""What names of other programs mean here: the table that a wrong name is looked up in before similar spellings."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["close_names"]

LONGEST = 200  # a longer name is no slip
MOST = 5

# By a name without case and marks, the names here that it may mean; a caller sees those that fit its place.
MEANINGS = {
    # Models, and what trains with their encodings.
    "gpt": "gpt2",
    "gpt1": "gpt2",
    "gpt2small": "gpt2",
    "gpt2xl": "gpt2",
    "r50k": "r50k_base",
    "gpt3": "r50k_base p50k_base",
    "davinci": "r50k_base p50k_base",
    "textdavinci003": "p50k_base",
    "codex": "p50k_base",
    "p50k": "p50k_base",
    "gpt35": "cl100k_base cl100k",
    "gpt35turbo": "cl100k_base cl100k",
    "chatgpt": "cl100k_base o200k_base",
    "gpt4": "cl100k_base cl100k",
    "gpt4turbo": "cl100k_base cl100k",
    "cl100k": "cl100k_base",
    "cl100kbase": "cl100k_base cl100k",
    "gpt4o": "o200k_base o200k",
    "gpt4omini": "o200k_base o200k",
    "gpt41": "o200k_base o200k",
    "gpt5": "o200k_base o200k",
    "o1": "o200k_base o200k",
    "o3": "o200k_base o200k",
    "o200k": "o200k_base",
    "o200kbase": "o200k_base o200k",
    "gptoss": "o200k_harmony",
    "harmony": "o200k_harmony",
    "llama": "llama3",
    "qwen": "qwen2",
    "qwen3": "qwen2",
    # File formats of tokenizers.
    "hf": "tokenizer_json",
    "huggingface": "tokenizer_json hf",
    "tokenizers": "tokenizer_json",
    "tokenizer": "tokenizer_json",
    "transformers": "tokenizer_json",
    "json": "tokenizer_json",
    "fast": "tokenizer_json",
    "toksmith": "native",
    "openai": "tiktoken",
    "ranks": "tiktoken",
    "spm": "sentencepiece",
    "sp": "sentencepiece",
    "model": "sentencepiece minbpe",
    "llamacpp": "gguf",
    "ggml": "gguf",
    "mistral": "tekken",
    "bert": "vocab_txt",
    "wordpiece": "vocab_txt",
    "merges": "gpt2 merge_dict",
    "tutorial": "merge_dict",
    "karpathy": "minbpe",
    # Formats of files of ids.
    "megatronlm": "megatron",
    "megatroncore": "megatron",
    "nemo": "megatron",
    "gptneox": "megatron",
    "bin": "megatron nanogpt llmc",
    "idx": "megatron",
    "numpy": "npy",
    "npz": "npy",
    "memmap": "nanogpt npy",
    "llmcc": "llmc",
    "datasets": "hf",
    "arrow": "hf",
    "mosaic": "mds",
    "mosaicml": "mds",
    "streaming": "mds",
    "olmo": "dolma",
    "olmocore": "dolma",
    "lightning": "litdata",
    "nanotron": "datatrove",
    # Where shards run.
    "cluster": "ray",
    "here": "local",
}


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names that a wrong one probably means, at most five: by meaning, then by spelling.

    >>> close_names("GPT-4", ["gpt2", "cl100k_base"]), close_names("gpt22", ["gpt2", "cl100k_base"])
    (['cl100k_base'], ['gpt2'])
    """
    import difflib  # slow to import, and only errors need it

    if len(name) > LONGEST:
        return []
    names = list(known)
    word = "".join(filter(str.isalnum, name.lower()))
    by_meaning = [each for each in MEANINGS.get(word, "").split() if each in names]
    return (by_meaning or difflib.get_close_matches(name, names))[:MOST]
