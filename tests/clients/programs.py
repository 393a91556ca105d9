"""Typical programs on libraries that take a tokenizer: each prints a digest of its result for each document.

`python programs.py NAME LIBRARY DOCUMENTS FOLDER`: LIBRARY is the library that `compat.install` replaces, "" for the
real one, or "accelerate" for the real one with `toksmith.accelerate()`. DOCUMENTS is a JSON list of texts. FOLDER holds a tokenizer.json of GPT-2. Run by `test_client_programs.py`,
which compares the two runs.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

SWITCH = "accelerate"
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


def chonkie_tiktoken(texts: list[str], folder: str) -> Made:
    """chonkie: windows of ids, and recursive chunks that an encoding of tiktoken measures."""
    import tiktoken
    from chonkie import RecursiveChunker, TokenChunker

    encoding = tiktoken.get_encoding("o200k_base")
    yield from chonkie_chunks(texts, TokenChunker(encoding, 50, 10), RecursiveChunker(encoding, 60))


def chonkie_tokenizers(texts: list[str], folder: str) -> Made:
    """chonkie: windows of ids, and sentences that a tokenizer measures."""
    from chonkie import SentenceChunker, TokenChunker
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(f"{folder}/tokenizer.json")
    yield from chonkie_chunks(texts, TokenChunker(tok, 50, 10), SentenceChunker(tok, 60, 10))


def chonkie_chunks(texts: list[str], *chunkers: Any) -> Made:
    for text in texts:
        made = [chunk for chunker in chunkers for chunk in chunker(text)]
        yield [(chunk.text, chunk.start_index, chunk.end_index, chunk.token_count) for chunk in made]


def haystack(texts: list[str], folder: str) -> Made:
    """haystack: two splitters that measure in ids, and the count of a conversation."""
    from haystack import Document
    from haystack.components.preprocessors import DocumentSplitter, RecursiveDocumentSplitter
    from haystack.dataclasses import ChatMessage
    from haystack.token_counters import TiktokenCounter

    counter = TiktokenCounter("cl100k_base")
    by_ids = DocumentSplitter(split_by="token", split_length=50, split_overlap=10)
    by_marks = RecursiveDocumentSplitter(split_length=60, split_unit="token", separators=["\n\n", "\n", " "])
    for text in texts:
        documents = [Document(content=text)]
        parts = [*by_ids.run(documents)["documents"], *by_marks.run(documents)["documents"]]
        yield (
            [(part.content, part.meta["split_idx_start"]) for part in parts],
            counter.count([ChatMessage.from_user(text)]),
        )


def langchain_openai(texts: list[str], folder: str) -> Made:
    """langchain-openai: the ids of a chat model, and the count of a conversation."""
    from langchain_core.messages import HumanMessage, SystemMessage
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="gpt-4o", api_key="no network")
    for text in texts:
        yield (
            model.get_token_ids(text),
            model.get_num_tokens_from_messages([SystemMessage("Answer."), HumanMessage(text)]),
        )


def tokencost(texts: list[str], folder: str) -> Made:
    """tokencost: the counts and prices of a text and a conversation."""
    from tokencost import calculate_all_costs_and_tokens, count_message_tokens

    for text in texts:
        messages = [{"role": "system", "content": "Answer."}, {"role": "user", "content": text}]
        yield count_message_tokens(messages, "gpt-4o"), calculate_all_costs_and_tokens(messages, text, "gpt-4o")


def ttok(texts: list[str], folder: str) -> Made:
    """ttok, the program: a count, a truncated text, tokens, and the text of ids."""
    from click.testing import CliRunner
    from ttok.cli import cli

    for text in texts:
        said = [CliRunner().invoke(cli, asked, text) for asked in ([], ["-t", "30"], ["--encode"], ["--tokens"])]
        said.append(CliRunner().invoke(cli, ["--decode"], said[2].output))
        yield [(each.exit_code, each.output) for each in said]


CHAT = (
    "{% for message in messages %}{{ '<' + message.role + '>' }}{% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content + '<|endoftext|>' }}{% endgeneration %}"
    "{% else %}{{ message.content }}{% endif %}{% endfor %}"
)


def trl(texts: list[str], folder: str) -> Made:
    """trl: the examples that SFTTrainer makes of conversations, and their batches."""
    from datasets import Dataset
    from transformers import PreTrainedTokenizerFast
    from trl import SFTConfig, SFTTrainer

    ends = {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
    tok = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json", chat_template=CHAT, **ends)
    talks = [[{"role": "user", "content": text[:40]}, {"role": "assistant", "content": text}] for text in texts]
    asked = SFTConfig(
        f"{folder}/trl", assistant_only_loss=True, max_length=200, report_to="none", use_cpu=True, bf16=False
    )
    data = Dataset.from_dict({"messages": talks})
    trainer = SFTTrainer(small_model(), asked, train_dataset=data, processing_class=tok)
    for row in trainer.train_dataset:
        batch = trainer.data_collator([row, {**row, "input_ids": [1], "labels": [1]}])
        yield row, {name: value.tolist() for name, value in batch.items()}


def axolotl(texts: list[str], folder: str) -> Made:
    """axolotl: the rows that its strategies make of texts, instructions and conversations."""
    from axolotl.datasets import wrap_dataset_for_tokenized_prompt
    from axolotl.prompt_strategies.chat_template import ChatTemplatePrompter, ChatTemplateStrategy
    from axolotl.prompt_strategies.completion import CompletionPromptTokenizingStrategy
    from axolotl.prompt_tokenizers import AlpacaPromptTokenizingStrategy
    from axolotl.prompters import AlpacaPrompter
    from datasets import Dataset
    from transformers import PreTrainedTokenizerFast

    ends = {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "bos_token": "<|endoftext|>"}
    tok = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json", chat_template=CHAT, **ends)
    talks = [[{"role": "user", "content": text[:40]}, {"role": "assistant", "content": text}] for text in texts]
    chat = ChatTemplatePrompter(tokenizer=tok, chat_template=CHAT, max_length=512)
    columns = {
        CompletionPromptTokenizingStrategy(AlpacaPrompter(), tok, False, 2048): {"text": texts},
        AlpacaPromptTokenizingStrategy(AlpacaPrompter(), tok, False, 256): {
            "instruction": [text[:40] for text in texts],
            "input": [text[40:60] for text in texts],
            "output": texts,
        },
        ChatTemplateStrategy(chat, tok, train_on_inputs=False, sequence_len=512, roles_to_train=["assistant"]): {
            "messages": talks
        },
    }
    made = [wrap_dataset_for_tokenized_prompt(each, Dataset.from_dict(column)) for each, column in columns.items()]
    yield from zip(*made, strict=True)


def lm_eval(texts: list[str], folder: str) -> Made:
    """lm-eval: the log-likelihood of a continuation, and what its model encodes and decodes."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    from transformers import PreTrainedTokenizerFast

    tok = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json", eos_token="<|endoftext|>")
    model = HFLM(small_model(), tokenizer=tok, batch_size=8, max_length=64, device="cpu")
    parts = [(f"Question: {text[:20]}", f" Answer: {text[20:30]}") for text in texts]
    pairs = [Instance("loglikelihood", {}, part, place) for place, part in enumerate(parts)]
    for text, (score, is_greedy) in zip(texts, model.loglikelihood(pairs, disable_tqdm=True), strict=True):
        ids, mask = model.tok_batch_encode([text, text[:20]], left_truncate_len=100)
        whole = model.tok_encode(text)
        yield round(score, 3), is_greedy, ids.tolist(), mask.tolist(), whole, model.tok_decode(whole)


def small_model() -> Any:
    """A random model of GPT-2's kind."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    return GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=1))


def xgrammar(texts: list[str], folder: str) -> Made:
    """xgrammar: the tokens that a grammar accepts, and the ids that may follow."""
    import xgrammar as grammars
    from transformers import PreTrainedTokenizerFast

    tok = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json", eos_token="<|endoftext|>")
    info = grammars.TokenizerInfo.from_huggingface(tok)
    compiled = grammars.GrammarCompiler(info).compile_regex(r"[^0-9]*")
    mask = grammars.allocate_token_bitmask(1, info.vocab_size)
    about = (info.vocab_size, info.vocab_type, info.add_prefix_space, info.stop_token_ids)
    for text in texts:
        ids, matcher, allowed = tok(text)["input_ids"], grammars.GrammarMatcher(compiled), []
        for number in ids:
            matcher.fill_next_token_bitmask(mask)
            allowed.append(hashlib.sha256(mask.numpy().tobytes()).hexdigest())
            if not matcher.accept_token(number):
                break
        yield ids, allowed, about


def polars(texts: list[str], folder: str) -> Made:
    """polars: columns of ids, counts and texts, by row and by column."""
    import polars as pl
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    text = pl.col("text")
    by_row, by_column = encoding.encode_ordinary, encoding.encode_ordinary_batch
    made = pl.DataFrame({"text": texts}).with_columns(
        text.map_elements(by_row, pl.List(pl.Int64)).alias("ids"),
        text.map_elements(lambda each: pl.Series(encoding.encode_to_numpy(each)), pl.List(pl.UInt32)).alias("array"),
        text.map_batches(lambda rows: pl.Series(by_column(rows.to_list())), pl.List(pl.Int64)).alias("batch"),
    )
    made = made.with_columns(
        pl.col("array").list.len().alias("count"),
        pl.col("array").map_elements(encoding.decode, pl.String).alias("again"),  # of a Series
    )
    yield from made.iter_rows()


def duckdb(texts: list[str], folder: str) -> Made:
    """duckdb: functions of SQL that return ids, counts and texts."""
    import duckdb as sql
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    base = sql.connect()
    base.create_function("ids", encoding.encode_ordinary, ["VARCHAR"], "INTEGER[]")
    base.create_function("text_of", lambda ids: encoding.decode(ids, "replace"), ["INTEGER[]"], "VARCHAR")
    base.execute("CREATE TABLE documents (place INTEGER, text VARCHAR)")
    base.executemany("INSERT INTO documents VALUES (?, ?)", list(enumerate(texts)))
    yield from base.execute(
        "SELECT ids(text), len(ids(text)), text_of(ids(text)[:9]) FROM documents ORDER BY place"
    ).fetchall()


def mistral_tiktoken(texts: list[str], folder: str) -> Made:
    """mistral-common: conversations and texts with Tekken's vocabulary, which it brings."""
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    yield from mistral_talks(texts, MistralTokenizer.v3(is_tekken=True))


def mistral_sentencepiece(texts: list[str], folder: str) -> Made:
    """mistral-common: conversations and texts with a model of SentencePiece, which it brings."""
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    yield from mistral_talks(texts, MistralTokenizer.v3())


def mistral_talks(texts: list[str], whole: Any) -> Made:
    from mistral_common.protocol.instruct.messages import AssistantMessage, UserMessage
    from mistral_common.protocol.instruct.request import ChatCompletionRequest

    tok = whole.instruct_tokenizer.tokenizer
    for text in texts:
        talk = [UserMessage(content=text), AssistantMessage(content=text[:50]), UserMessage(content="Why?")]
        made = whole.encode_chat_completion(ChatCompletionRequest(messages=talk))
        ids = tok.encode(text, bos=True, eos=True)
        yield made.tokens, made.text, ids, tok.decode(ids), [tok.id_to_piece(number) for number in ids[:50]]


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
    "chonkie, tiktoken": ("tiktoken", chonkie_tiktoken),
    "chonkie, tokenizers": ("tokenizers", chonkie_tokenizers),
    "haystack": ("tiktoken", haystack),
    "langchain-openai": ("tiktoken", langchain_openai),
    "tokencost": ("tiktoken", tokencost),
    "ttok": ("tiktoken", ttok),
    "trl": ("tokenizers", trl),
    "axolotl": ("tokenizers", axolotl),
    "lm-eval": ("tokenizers", lm_eval),
    "xgrammar": ("tokenizers", xgrammar),
    "polars": ("tiktoken", polars),
    "duckdb": ("tiktoken", duckdb),
    "mistral-common, tiktoken": ("tiktoken", mistral_tiktoken),
    "mistral-common, sentencepiece": ("sentencepiece", mistral_sentencepiece),
}

SWITCHED = (  # they call tokenizers of transformers
    *(
        "axolotl",
        "datasets.map(num_proc=2)",
        "langchain-text-splitters, tokenizers",
        "llguidance, tokenizers",
        "lm-eval",
    ),
    *("outlines-core", "sentence-transformers", "trl", "xgrammar"),
)


def main() -> None:
    name, library, documents, folder = sys.argv[1:]
    if library == SWITCH:
        import toksmith

        toksmith.accelerate(check_every=None)
    elif library:
        from toksmith import compat

        compat.install(library)  # type: ignore[arg-type]
    texts = json.loads(Path(documents).read_text(encoding="utf-8"))
    begun = process_time()
    program = PROGRAMS[name][1](texts, folder)
    results = [next(program)]
    used: Any = sys.modules[PROGRAMS[name][0]].__file__
    if library == SWITCH:  # now, while the program keeps its tokenizers
        used = [(each.calls, each.returned, each.reason) for each in toksmith.accelerate().tokenizers]
    results += program
    seconds = process_time() - begun
    digests = [hashlib.sha256(repr(made).encode()).hexdigest()[:16] for made in results]
    print(json.dumps({"used": used, "digests": digests, "seconds": seconds}))


if __name__ == "__main__":
    main()
