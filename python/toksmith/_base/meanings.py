"""What names of other programs mean here: the table that a wrong name is looked up in before similar spellings."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["MOST", "close_names"]

LONGEST = 200  # a longer name is no slip
MOST = 5  # names that a message lists
CUTOFF = 0.61  # "nope" and "minbpe" are 0.6 alike

# By a name without case and marks, the names here that it may mean; a caller sees those that fit its place.
MEANINGS = {
    # Models, and what trains with their encodings.
    "gpt": "gpt2",
    "gpt1": "gpt2",
    "gpt2small": "gpt2",
    "gpt2xl": "gpt2",
    "r50k": "r50k_base gpt2",
    "gpt3": "r50k_base gpt2",
    "davinci": "r50k_base p50k_base",
    "textdavinci003": "p50k_base",
    "codex": "p50k_base",
    "p50k": "p50k_base",
    "gpt35": "cl100k_base cl100k",
    "gpt35turbo": "cl100k_base cl100k",
    "chatgpt": "cl100k_base o200k_base cl100k",
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
    "gptoss": "o200k_harmony o200k_base o200k",
    "harmony": "o200k_harmony",
    "llama": "llama3",
    "qwen": "qwen2",
    "qwen3": "qwen2",
    "gpt2tokenizer": "gpt2",
    "textembedding3small": "cl100k_base",
    "textembedding3large": "cl100k_base",
    "textembeddingada002": "cl100k_base",
    "r50kbase": "r50k_base gpt2",
    "meta": "llama3",
    "meta3": "llama3",
    # File formats of tokenizers.
    "hf": "tokenizer_json",
    "huggingface": "tokenizer_json hf",
    "tokenizers": "tokenizer_json",
    "tokenizer": "tokenizer_json tok toks",
    "transformers": "tokenizer_json",
    "json": "tokenizer_json merge_dict tekken",
    "fast": "tokenizer_json",
    "toksmith": "native",
    "openai": "tiktoken gpt2",
    "ranks": "tiktoken",
    "spm": "sentencepiece",
    "sp": "sentencepiece",
    "model": "sentencepiece minbpe kind",
    "llamacpp": "gguf",
    "ggml": "gguf",
    "mistral": "tekken sentencepiece",
    "bert": "vocab_txt wordpiece",
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
    "arrow": "hf parquet",
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
    # Kinds of tokenizers, figures about them, and what else has a name.
    "pickle": "native",
    "bytes": "npy",
    "tokensperword": "fertility",
    "compression": "bytes_per_token",
    "compressionratio": "bytes_per_token",
    "wordlevel": "words",
    "word": "words",
    "char": "chars",
    "character": "chars",
    "bbpe": "bpe",
    "bytelevelbpe": "bpe",
    "ulm": "unigram",
    # Arguments.
    "vocab": "vocab_size",
    "nvocab": "vocab_size",
    "size": "vocab_size max_tokens n",
    "nummerges": "merges",
    "nmerges": "merges",
    "specials": "special_tokens special",
    "specialtokens": "special",
    "allowedspecial": "special",
    "disallowedspecial": "special",
    "addspecialtokens": "add_special_tokens",
    "numthreads": "threads",
    "nthreads": "threads",
    "workers": "threads",
    "regex": "pattern",
    "patstr": "pattern",
    "pretokenizer": "pattern",
    "splitpattern": "pattern",
    "minfrequency": "min_count",
    "minfreq": "min_count",
    "modeltype": "kind",
    "algorithm": "kind",
    "maxlength": "max_tokens",
    "maxlen": "max_tokens",
    "path": "source corpus",
    "name": "source",
    "filename": "path source",
    "file": "path source corpus",
    "modelfile": "source",
    "modelpath": "source",
    "pretrainedmodelnameorpath": "source",
    "input": "corpus",
    "sentence": "text",
    "sequence": "text",
    "sentences": "corpus texts",
    "tokenids": "ids",
    "tokens": "ids",
    "fmt": "format",
    "to": "to_format",
    "ref": "reference",
    "stride": "overlap",
    "sep": "separator",
    "delimiter": "separator",
    "nbest": "n",
    "verbose": "progress",
    "showprogress": "progress",
    "text": "corpus texts",
    "texts": "corpus text",
    "files": "corpus",
    "column": "field",
    "key": "field",
    "jsonkeys": "field",
    "vocabularysize": "vocab_size",
    "steps": "merges",
    "type": "kind dtype",
    "split": "pattern",
    "eos": "append",
    "appendeod": "append",
    "jobs": "threads",
    "numworkers": "threads",
    "limitalphabet": "character_coverage",
    "silent": "progress",
    "quiet": "progress",
    "noprogress": "progress",
    "string": "text",
    "seed": "shuffle",
}


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names that a wrong one probably means, at most five: those that differ only in case and signs, else those
    that mean the same, else those that are spelt like it.

    >>> close_names("GPT-4", ["gpt2", "cl100k_base"]), close_names("gpt22", ["gpt2", "cl100k_base"])
    (['cl100k_base'], ['gpt2'])
    """
    import difflib  # slow to import, and only errors need it

    if len(name) > LONGEST:
        return []
    names, own = list(known), bare(name)
    same = [each for each in names if bare(each) == own]
    by_meaning = [each for each in MEANINGS.get(own, "").split() if each in names]
    return (same or by_meaning or difflib.get_close_matches(name, names, cutoff=CUTOFF))[:MOST]


def bare(name: str) -> str:
    """The letters and digits of a name, small."""
    return "".join(filter(str.isalnum, name.lower()))
