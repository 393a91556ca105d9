"""Typical programs on libraries that take a tokenizer: each prints a digest of its result for each document.

`python programs.py NAME LIBRARY DOCUMENTS FOLDER`: LIBRARY is the library that `compat.install` replaces, or "" for the
real one. DOCUMENTS is a JSON list of texts. FOLDER holds a tokenizer.json of GPT-2. Run by `test_client_programs.py`,
which compares the two runs.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Made = Iterator[Any]


def langchain_tiktoken(texts: list[str], folder: str) -> Made:
    """langchain-text-splitters with an encoding of tiktoken: windows of ids, and paragraphs measured in ids."""
    import tiktoken
    from langchain_text_splitters import RecursiveCharacterTextSplitter, TokenTextSplitter

    encoding = tiktoken.get_encoding("o200k_base")
    windows = TokenTextSplitter(encoding_name="o200k_base", chunk_size=50, chunk_overlap=10)
    paragraphs = RecursiveCharacterTextSplitter.from_tiktoken_encoder("cl100k_base", chunk_size=60, chunk_overlap=0)
    for text in texts:
        yield encoding.encode_ordinary(text), windows.split_text(text), paragraphs.split_text(text)


def langchain_tokenizers(texts: list[str], folder: str) -> Made:
    """langchain-text-splitters with a tokenizer of transformers."""
    from langchain_text_splitters import CharacterTextSplitter
    from transformers import PreTrainedTokenizerFast

    tok = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json")
    splitter = CharacterTextSplitter.from_huggingface_tokenizer(tok, separator=" ", chunk_size=40, chunk_overlap=5)
    for text in texts:
        yield tok(text)["input_ids"], splitter.split_text(text)


def llama_index(texts: list[str], folder: str) -> Made:
    """llama-index-core: its default tokenizer, and a splitter of sentences that counts with it."""
    from llama_index.core.node_parser import SentenceSplitter, TokenTextSplitter
    from llama_index.core.utils import get_tokenizer

    encode = get_tokenizer("gpt-4")
    sentences = SentenceSplitter(
        chunk_size=60, chunk_overlap=10, tokenizer=encode, chunking_tokenizer_fn=str.splitlines
    )
    tokens = TokenTextSplitter(chunk_size=40, chunk_overlap=5, tokenizer=encode)
    for text in texts:
        yield encode(text), sentences.split_text(text), tokens.split_text(text)


def litellm_tiktoken(texts: list[str], folder: str) -> Made:
    """litellm: the ids of a model, and the count of a conversation."""
    import litellm

    for text in texts:
        messages = [{"role": "system", "content": "Answer."}, {"role": "user", "content": text}]
        ids = litellm.encode(model="gpt-4", text=text)
        yield ids, litellm.decode(model="gpt-4", tokens=ids), litellm.token_counter(model="gpt-4", messages=messages)


def litellm_tokenizers(texts: list[str], folder: str) -> Made:
    """litellm with a custom tokenizer."""
    import litellm

    own = litellm.create_tokenizer(Path(folder, "tokenizer.json").read_text(encoding="utf-8"))
    for text in texts:
        ids = litellm.encode(custom_tokenizer=own, text=text)
        yield (
            ids,
            litellm.decode(custom_tokenizer=own, tokens=ids),
            litellm.token_counter(custom_tokenizer=own, text=text),
        )


def semantic_text_splitter(texts: list[str], folder: str) -> Made:
    """semantic-text-splitter calls a function for counts. Its own readers of tokenizers are compiled in."""
    import tiktoken
    from semantic_text_splitter import TextSplitter

    encoding = tiktoken.get_encoding("cl100k_base")
    splitter = TextSplitter.from_callback(lambda text: len(encoding.encode_ordinary(text)), 60)
    for text in texts:
        yield encoding.encode_ordinary(text), splitter.chunks(text)


def llguidance_tiktoken(texts: list[str], folder: str) -> Made:
    """llguidance: a tokenizer from an encoding, and the tokens that a grammar allows after a text's first words."""
    import llguidance
    import tiktoken
    from llguidance import tiktoken as guidance

    encoding = tiktoken.get_encoding("cl100k_base")
    tok = guidance.lltokenizer_from_encoding(encoding)
    grammar = llguidance.LLMatcher.grammar_from_regex(r"(?s:.*)")
    for text in texts:
        ids = tok.tokenize_str(text)
        matcher = llguidance.LLMatcher(tok, grammar)
        yield ids, encoding.encode_ordinary(text), matcher.try_consume_tokens(ids), tok.decode_str(ids)


def llguidance_tokenizers(texts: list[str], folder: str) -> Made:
    """llguidance with a tokenizer of transformers."""
    from llguidance import hf
    from transformers import PreTrainedTokenizerFast

    loaded = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json")
    tok = hf.from_tokenizer(loaded)
    for text in texts:
        yield tok.tokenize_str(text), loaded(text)["input_ids"], tok.vocab_size


def outlines_core(texts: list[str], folder: str) -> Made:
    """outlines-core: the ids that a regular expression allows, after each word of a document that is a number or letters."""
    from outlines_core import Guide, Index, Vocabulary
    from transformers import PreTrainedTokenizerFast

    tok = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json")
    tokens: dict[bytes | str, list[int]] = {}
    for name, number in tok.get_vocab().items():
        if name != "<|endoftext|>":
            tokens.setdefault(tok.convert_tokens_to_string([name]), []).append(number)
    index = Index(r"[a-zA-Z]{1,40}", Vocabulary(50256, tokens))
    for text in texts:
        ids = tok(text)["input_ids"]
        guide, allowed = Guide(index), []
        for number in ids:
            allowed.append(sorted(guide.get_tokens()))
            if number not in allowed[-1]:
                break
            guide.advance(number)
        yield ids, [len(each) for each in allowed], allowed[-1][:100]


def datasets_map(texts: list[str], folder: str) -> Made:
    """datasets.map in two processes; the tokenizer goes to them by pickle."""
    from datasets import Dataset
    from transformers import PreTrainedTokenizerFast

    tok = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json")
    data = Dataset.from_dict({"text": texts})
    made = data.map(lambda batch: tok(batch["text"]), batched=True, num_proc=2, load_from_cache_file=False)
    yield from made["input_ids"]


def sentence_transformers(texts: list[str], folder: str) -> Made:
    """sentence-transformers: the ids and masks for a model of two small layers."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = sorted({word.lower() for text in texts for word in text.split() if word.isascii() and word.isalpha()})
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(chr, range(33, 127)), *words[:2000]]
    vocab = list(dict.fromkeys([*vocab, *(f"##{chr(each)}" for each in range(97, 123))]))
    Path(folder, "vocab.txt").write_text("\n".join(vocab), encoding="utf-8")
    BertTokenizerFast(vocab=f"{folder}/vocab.txt").save_pretrained(f"{folder}/model")
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    BertModel(BertConfig(vocab_size=len(vocab), **sizes)).save_pretrained(f"{folder}/model")
    body = Transformer(f"{folder}/model", max_seq_length=64)
    model = SentenceTransformer(modules=[body, Pooling(8)], device="cpu")
    for text in texts:
        made = model.tokenize([text, text[:20]])
        yield made["input_ids"].tolist(), made["attention_mask"].tolist()


PROGRAMS: dict[str, tuple[str, Callable[[list[str], str], Made]]] = {
    "langchain-text-splitters, tiktoken": ("tiktoken", langchain_tiktoken),
    "langchain-text-splitters, tokenizers": ("tokenizers", langchain_tokenizers),
    "llama-index-core": ("tiktoken", llama_index),
    "litellm, tiktoken": ("tiktoken", litellm_tiktoken),
    "litellm, tokenizers": ("tokenizers", litellm_tokenizers),
    "semantic-text-splitter": ("tiktoken", semantic_text_splitter),
    "llguidance, tiktoken": ("tiktoken", llguidance_tiktoken),
    "llguidance, tokenizers": ("tokenizers", llguidance_tokenizers),
    "outlines-core": ("tokenizers", outlines_core),
    "datasets.map(num_proc=2)": ("tokenizers", datasets_map),
    "sentence-transformers": ("tokenizers", sentence_transformers),
}


def main() -> None:
    name, library, documents, folder = sys.argv[1:]
    if library:
        from toksmith import compat

        compat.install(library)  # type: ignore[arg-type]
    texts = json.loads(Path(documents).read_text(encoding="utf-8"))
    digests = [hashlib.sha256(repr(made).encode()).hexdigest()[:16] for made in PROGRAMS[name][1](texts, folder)]
    used = sys.modules[PROGRAMS[name][0]].__file__
    print(json.dumps({"used": used, "digests": digests}))


if __name__ == "__main__":
    main()
