"""Suggestions for a wrong name: similar names, and the names of other libraries and programs for the same thing.

The rule: only the adapters in `toksmith.compat` have the names of other libraries. Elsewhere such a name is an error,
which gives the name in toksmith. `docs/coming-from.md` has the same tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LONGEST = 200  # a longer name is not a typing error
MOST = 5  # names that a message lists
CUTOFF = 0.61  # difflib's ratio of "nope" and "minbpe" is 0.6

# By a name in toksmith: other names for it, in lower case and without punctuation.
OTHER_NAMES: Mapping[str, str] = {
    # Encodings and split patterns, by the models that use them.
    "p50k_base": "p50k codex textdavinci003 davinci",
    "r50k_base": "r50k r50kbase gpt3 davinci",
    "gpt2": "gpt gpt1 gpt2small gpt2xl gpt2tokenizer r50k r50kbase gpt3 openai merges",
    "o200k_harmony": "gptoss harmony",
    "cl100k_base": "cl100k chatgpt gpt35 gpt35turbo gpt4 gpt4turbo textembedding3small textembedding3large textembeddingada002",
    "o200k_base": "o200k chatgpt gpt4o gpt4omini gpt41 gpt5 o1 o3 gptoss",
    "cl100k": "cl100kbase chatgpt gpt35 gpt35turbo gpt4 gpt4turbo",
    "o200k": "o200kbase gpt4o gpt4omini gpt41 gpt5 o1 o3 gptoss",
    "llama3": "llama meta meta3",
    "qwen2": "qwen qwen3",
    # File formats of tokenizers.
    "tokenizer_json": "hf huggingface tokenizers tokenizer transformers json fast",
    "native": "toksmith pickle",
    "tiktoken": "openai ranks",
    "tekken": "mistral json",
    "sentencepiece": "spm sp model mistral",
    "gguf": "llamacpp ggml",
    "vocab_txt": "bert wordpiece",
    "minbpe": "karpathy model",
    "merge_dict": "tutorial json merges",
    # Formats of files of ids, and where their shards are written.
    "megatron": "megatronlm megatroncore nemo gptneox bin idx",
    "nanogpt": "bin memmap",
    "llmc": "llmcc bin",
    "npy": "numpy npz memmap bytes",
    "hf": "huggingface datasets arrow",
    "parquet": "arrow",
    "mds": "mosaic mosaicml streaming",
    "dolma": "olmo olmocore",
    "litdata": "lightning",
    "datatrove": "nanotron",
    "ray": "cluster",
    "local": "here",
    # Kinds of tokenizers, and figures about them.
    "wordpiece": "bert",
    "words": "wordlevel word",
    "chars": "char character",
    "bpe": "bbpe bytelevelbpe",
    "unigram": "ulm",
    "fertility": "tokensperword",
    "bytes_per_token": "compression compressionratio",
}

# Attributes and methods of other libraries' tokenizers.
OF_A_TOKENIZER: Mapping[str, str] = {
    "n_vocab": "tok.vocab_size",
    "max_token_value": "tok.vocab_size - 1",
    "get_vocab_size": "tok.vocab_size, or len(tok) without holes",
    "piece_size": "tok.vocab_size",
    "get_piece_size": "tok.vocab_size",
    "get_vocab": "dict(zip(tok.model.tokens, tok.model.ids.tolist())) for the ids by token",
    "vocab": "tok.model.tokens and tok.model.ids",
    "merges": "tok.model.merges",
    "bpe_ranks": "tok.model.merges",
    "encode_ordinary": 'tok.encode(text, special="text")',
    "encode_ordinary_batch": 'tok.encode_batch(texts, special="text")',
    "encode_to_numpy": "tok.encode_array(text)",
    "encode_as_ids": "tok.encode(text)",
    "EncodeAsIds": "tok.encode(text)",
    "encode_as_pieces": "[tok.token_bytes(id) for id in tok.encode(text)]",
    "encode_single_token": "tok.token_id(token)",
    "encode_plus": "tok(text)",
    "batch_encode_plus": "tok(texts)",
    "tokenize": "[tok.token_bytes(id) for id in tok.encode(text)]",
    "token_to_id": "tok.token_id(token)",
    "piece_to_id": "tok.token_id(token)",
    "convert_tokens_to_ids": "tok.token_id(token)",
    "id_to_token": "tok.token_bytes(id)",
    "id_to_piece": "tok.token_bytes(id)",
    "convert_ids_to_tokens": "tok.token_bytes(id)",
    "decode_single_token_bytes": "tok.token_bytes(id)",
    "decode_tokens_bytes": "[tok.token_bytes(id) for id in ids]",
    "decode_with_offsets": "tok.encode_with_offsets(text)",
    "decode_ids": "tok.decode(ids)",
    "batch_decode": "tok.decode_batch(batch)",
    "convert_tokens_to_string": "tok.decode(ids)",
    "special_tokens_set": "tok.special_tokens",
    "all_special_tokens": "tok.special_tokens",
    **dict.fromkeys(
        ("bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "eos_id", "bos_id", "pad_id"),
        "tok.special_tokens, which has the id of each by its text",
    ),
    "eot_token": 'tok.special_tokens["<|endoftext|>"]',
    "add_special_tokens": "toksmith.add_special(tok, tokens), which gives a new tokenizer",
    "add_tokens": "toksmith.add_special(tok, tokens), which gives a new tokenizer",
    "register_special_tokens": "toksmith.add_special(tok, tokens), which gives a new tokenizer",
    "train": "toksmith.train(corpus, vocab_size), which gives a new tokenizer",
    "train_from_iterator": "toksmith.train(texts, vocab_size), which gives a new tokenizer",
    "train_new_from_iterator": "toksmith.train(texts, vocab_size), which gives a new tokenizer",
    "load": "toksmith.load(source)",
    "from_file": "toksmith.load(source)",
    "from_pretrained": "toksmith.load(source)",
    "save_pretrained": "tok.save('folder/')",
    "save_model": "tok.save(path)",
}

# Functions and classes of other libraries' modules.
OF_THE_PACKAGE = {
    "count_pieces": "toksmith.corpus.count",
    "encode_corpus": "toksmith.corpus.encode",
    "measure": "toksmith.compare, or toksmith.metrics.measure",
    "parity": "toksmith.compare, or toksmith.metrics.parity",
    "fairness": "toksmith.compare, or toksmith.metrics.fairness",
    "get_encoding": "toksmith.load(name)",
    "encoding_for_model": "toksmith.compat.tiktoken.encoding_for_model(model)",
    "list_encoding_names": "toksmith.encodings()",
    "AutoTokenizer": "toksmith.load(source)",
    "PreTrainedTokenizerFast": "toksmith.accelerate(), or tok.save('folder/')",
    "BpeTrainer": "toksmith.train(corpus, vocab_size)",
    "SentencePieceProcessor": "toksmith.load(source)",
    "SentencePieceTrainer": "toksmith.train(corpus, vocab_size)",
    "BasicTokenizer": "toksmith.compat.minbpe.BasicTokenizer",
    "RegexTokenizer": "toksmith.compat.minbpe.RegexTokenizer",
    "GPT4Tokenizer": "toksmith.compat.minbpe.GPT4Tokenizer",
    "get_stats": "toksmith.reference.pair_counts(ids)",
    "merge": "toksmith.reference.replace_pair(ids, pair, id)",
    "open": "toksmith.load(source)",
    "save": "tok.save(path)",
    "encode": "tok.encode(text), with tok = toksmith.load(source)",
    "decode": "tok.decode(ids), with tok = toksmith.load(source)",
}


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names that a wrong name probably means, at most five: names that differ only in case and punctuation, else
    names with the same meaning, else names with a similar spelling.

    >>> close_names("GPT-4", ["gpt2", "cl100k_base"]), close_names("gpt22", ["gpt2", "cl100k_base"])
    (['cl100k_base'], ['gpt2'])
    """
    import difflib  # slow to import, and only errors need it

    if len(name) > LONGEST:
        return []
    names, bare_name = list(known), fold_name(name)
    same_spelling = [word for word in names if fold_name(word) == bare_name]
    by_meaning = [word for word, others in OTHER_NAMES.items() if word in names and bare_name in others.split()]
    return (same_spelling or by_meaning or difflib.get_close_matches(name, names, cutoff=CUTOFF))[:MOST]


def fold_name(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def missing_attribute(owner: object, what: str, name: str, ours: Mapping[str, str]) -> AttributeError:
    """The error for a missing attribute; `what` is `owner` in words, `ours` has the expressions to use for other libraries' names."""
    hint = f"; use {ours[name]}" if name in ours else ""
    return AttributeError(f"{what} has no attribute {name!r}{hint}", name=name, obj=owner)
