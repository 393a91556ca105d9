"""The parts of published tokenizer.json files, in short forms, and the structures that many families share."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from dropins.families import Family, Json, charsmap, tokens
from toksmith.compat import tokenizers as ours

Ids = Mapping[str, int]
Post = Callable[[Ids], Json]

# Models, as old and new files spell them.
OLD = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": "",
    "end_of_word_suffix": "",
    "fuse_unk": False,
}
OLDER = {
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "type": "BPE",
}
NEW = {**OLDER, "byte_fallback": False, "ignore_merges": False}
WHOLE = {**NEW, "ignore_merges": True}
CHARACTERS = {**NEW, "unk_token": "<unk>", "fuse_unk": True}
FALLBACK = {**CHARACTERS, "byte_fallback": True}
WORDPIECE = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}


def unigram(unk_id: int, fallback: bool = False) -> Json:
    return {"type": "Unigram", "unk_id": unk_id, "byte_fallback": fallback}


# Parts.
def byte_level(prefix: bool = False, trim: bool = True, regex: bool = True) -> Json:
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": trim, "use_regex": regex}


def split(regex: str, behavior: str = "Isolated", invert: bool = False) -> Json:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


def split_text(text: str, behavior: str = "Isolated") -> Json:
    return {"type": "Split", "pattern": {"String": text}, "behavior": behavior, "invert": False}


def replace(old: str, new: str) -> Json:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def replace_regex(regex: str, new: str) -> Json:
    return {"type": "Replace", "pattern": {"Regex": regex}, "content": new}


def strip(left: bool, right: bool) -> Json:
    return {"type": "Strip", "strip_left": left, "strip_right": right}


def metaspace(scheme: str = "always", cut: bool | None = True) -> Json:
    return {
        "type": "Metaspace",
        "replacement": "▁",
        "prepend_scheme": scheme,
        **({} if cut is None else {"split": cut}),
    }


def old_metaspace() -> Json:
    return {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "str_rep": "▁"}


def bert(lower: bool = True, accents: bool | None = None, chinese: bool = True, clean: bool = True) -> Json:
    options = {"clean_text": clean, "handle_chinese_chars": chinese, "strip_accents": accents, "lowercase": lower}
    return {"type": "BertNormalizer", **options}


def digits(single: bool) -> Json:
    return {"type": "Digits", "individual_digits": single}


def punctuation(behavior: str = "Isolated") -> Json:
    return {"type": "Punctuation", "behavior": behavior}


def precompiled(rule: str = "nmt_nfkc") -> Post:
    return lambda _: {"type": "Precompiled", "precompiled_charsmap": charsmap(rule)}


def put(single: str, pair: str = "$A $B:1") -> Post:
    """A template."""

    def part(ids: Ids) -> Json:
        names = {re.sub(r":\d+$", "", each) for each in f"{single} {pair}".split() if each[0] != "$"}
        special = [(name, ids[name]) for name in sorted(names)]
        template = ours.processors.TemplateProcessing(single, pair, special)
        return dict(template.data)

    return part


def around(kind: str, cls: str, sep: str, **options: bool) -> Post:
    """`BertProcessing` or `RobertaProcessing`."""
    return lambda ids: {"type": kind, "sep": [sep, ids[sep]], "cls": [cls, ids[cls]], **options}


GPT2 = byte_level()
BYTES_DECODER = byte_level(True)
TRIM, NO_TRIM = byte_level(True, True), byte_level(False, False, False)
ONLY_BYTES = byte_level(False, False, False)
ROBERTA = around("RobertaProcessing", "<s>", "</s>", trim_offsets=True, add_prefix_space=False)
CLS_SEP = put("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
MASK = tokens("sl", "<mask>")
TO_SPACE = [replace("▁", " "), "ByteFallback", "Fuse"]
STRIP_FIRST = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
LLAMA_DECODER = [*TO_SPACE, STRIP_FIRST]
LLAMA_NORMALIZER = [{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")]
LLAMA_FIRST = ("<unk>", "<s>", "</s>")
LLAMA_POST = put("<s> $A", "<s> $A <s>:1 $B:1")
SPACES = replace_regex(" {2,}", " ")
QUOTES = [replace("``", '"'), replace("''", '"')]
WORDS_OF_SPM = ["WhitespaceSplit", metaspace()]
OLD_WORDS_OF_SPM = ["WhitespaceSplit", old_metaspace()]
EXTRA = tuple(f"<extra_id_{number}>" for number in range(6))


def runs(flags: str, unit: str, lengths: range) -> tuple[Json, ...]:
    """Added tokens that are runs of white space."""
    return tokens(flags, *(unit * length for length in lengths))


def gpt2(added: tuple[Json, ...] = tokens("s", "<|endoftext|>"), **fields: Any) -> Family:
    """GPT-2's, with other parts."""
    defaults: Json = {
        "model": OLD,
        "pre_tokenizer": GPT2,
        "decoder": BYTES_DECODER,
        "post_processor": byte_level(True, False),
    }
    return Family(**{**defaults, **fields}, added=added)


def roberta(**fields: Any) -> Family:
    """RoBERTa's."""
    defaults: Json = {"post_processor": ROBERTA, "first": ROBERTA_FIRST, "added": MASK}
    return gpt2(**{**defaults, **fields})


def regex_bytes(regex: str, added: tuple[Json, ...], post: Any = None, **fields: Any) -> Family:
    """Byte-level after a split by one regex."""
    defaults: Json = {"model": NEW, "pre_tokenizer": [split(regex), ONLY_BYTES], "decoder": BYTES_DECODER}
    return Family(**{**defaults, "post_processor": post or NO_TRIM, **fields}, added=added)


def llama(**fields: Any) -> Family:
    """Llama's BPE with byte fallback."""
    defaults: Json = {"model": FALLBACK, "normalizer": LLAMA_NORMALIZER, "decoder": LLAMA_DECODER}
    return Family(**{**defaults, "post_processor": LLAMA_POST, "first": LLAMA_FIRST, **fields})


def wordpiece(**fields: Any) -> Family:
    """BERT's."""
    defaults: Json = {"model": WORDPIECE, "normalizer": bert(), "pre_tokenizer": "BertPreTokenizer", "first": BERT}
    decoder = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    return Family(**{**defaults, "decoder": decoder, "post_processor": CLS_SEP, **fields})


def sentencepiece(**fields: Any) -> Family:
    """A unigram of SentencePiece with T5's parts."""
    defaults: Json = {"model": unigram(2), "normalizer": precompiled(), "pre_tokenizer": WORDS_OF_SPM}
    defaults |= {
        "decoder": metaspace(),
        "post_processor": put("$A </s>", "$A </s> $B </s>"),
        "first": ("<pad>", "</s>", "<unk>"),
    }
    return Family(**{**defaults, **fields})


def fairseq(**fields: Any) -> Family:
    """XLM-R's, with fairseq's first tokens."""
    defaults: Json = {"model": unigram(3), "first": ROBERTA_FIRST, "last": ("<mask>",), "added": MASK}
    return sentencepiece(**{**defaults, "post_processor": put("<s> $A </s>", "<s> $A </s> </s> $B </s>"), **fields})
