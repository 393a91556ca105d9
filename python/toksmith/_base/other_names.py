"""What other libraries and programs call things that toksmith has under another name: for errors that say ours.

The rule: only the adapters in `toksmith.compat` have the names of other libraries. Elsewhere such a name is an error,
and the error names ours. `docs/coming-from.md` has the same in tables. Left out: wrong names of encodings, formats
and arguments (`_base/meanings.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["OF_A_TOKENIZER", "OF_CALLS", "OF_THE_PACKAGE", "told"]

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
    "save_pretrained": "toksmith.compat.transformers.export(tok, folder)",
    "save_model": "tok.save(path)",
}

# Arguments of other libraries' calls that none of ours is like.
OF_CALLS: Mapping[str, str] = {
    "clean_up_tokenization_spaces": "decoding changes no spaces, so leave it out",
    "return_tensors": "tok.encode_array(text) and tok.encode_ragged(texts) give NumPy arrays",
    "return_offsets_mapping": "tok.encode_with_offsets(text) gives offsets",
    "return_attention_mask": 'tok(text)["attention_mask"] gives it',
    "truncation": "tok.truncate(text, max_tokens) cuts a text",
    "max_length": "tok.truncate(text, max_tokens) cuts a text",
    "padding": "tok.encode_ragged(texts) gives the ids of several texts without padding",
    "is_split_into_words": "tok.encode_batch(words) encodes each word",
    "out_type": "[tok.token_bytes(id) for id in ids] gives the tokens of ids",
    "add_special_tokens": "tok(text) adds none; tok.encode(text, add_special_tokens=True) adds those of the model's template",
    "add_bos": "add_special_tokens=True of encode adds what the model's template says",
    "add_eos": "add_special_tokens=True of encode adds what the model's template says",
    "bos": "add_special_tokens=True of encode adds what the model's template says",
    "cache_dir": "the variable TOKSMITH_CACHE names the folder of downloads",
    "use_fast": "there is one kind of tokenizer, so leave it out",
    "trust_remote_code": "loading runs no code of a file, so leave it out",
    "model_prefix": "tok.save(path) saves the trained tokenizer",
    "output": "tok.save(path) saves the trained tokenizer",
    "save_path": "tok.save(path) saves the trained tokenizer",
    "overwrite": "saving replaces the file, so leave it out",
    "exist_ok": "saving replaces the file, so leave it out",
}

# Functions and classes of other libraries' modules.
OF_THE_PACKAGE: Mapping[str, str] = {
    "get_encoding": "toksmith.load(name)",
    "encoding_for_model": "toksmith.compat.tiktoken.encoding_for_model(model)",
    "list_encoding_names": "toksmith.encodings()",
    "AutoTokenizer": "toksmith.load(source)",
    "PreTrainedTokenizerFast": "toksmith.compat.transformers",
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


def told(owner: object, what: str, name: str, names: Mapping[str, str]) -> AttributeError:
    """The error for an attribute that is missing; Python itself adds an attribute that is spelt like it.

    Args:
        owner: The object.
        what: It in words.
        names: What other libraries call things.
    """
    hint = f"; use {names[name]}" if name in names else ""
    return AttributeError(f"{what} has no attribute {name!r}{hint}", name=name, obj=owner)
