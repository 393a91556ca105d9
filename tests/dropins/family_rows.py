"""The families of models whose structure `dropins.families` rebuilds: one row each, with the parts of the published file.

Files of one structure share a row unless their added tokens differ. A part that is a list is a `Sequence`.
"""

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


def put(single: str, pair: str = "$A $B:1", **several: tuple[str, ...]) -> Post:
    """A template; a name in `several` puts some tokens."""

    def part(ids: Ids) -> Json:
        names = {re.sub(r":\d+$", "", each) for each in f"{single} {pair}".split() if each[0] != "$"}
        special = [
            {
                "id": each,
                "ids": [ids[token] for token in several.get(each, (each,))],
                "tokens": [*several.get(each, (each,))],
            }
            for each in sorted(names)
        ]
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

# Split patterns.
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CASES = r"(?i:[sdmt]|ll|ve|re)"
TIKTOKEN = (
    rf"'{CASES}|[^\r\n\p{{L}}\p{{N}}]?+\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
QWEN = CL100K.replace("{1,3}", "", 1)
QWEN_MARKS = QWEN.replace(r"\p{L}+", r"[\p{L}\p{M}]+", 1).replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
ENDS = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*{CONTRACTIONS}|{ENDS}"
TEKKEN = O200K.replace(CONTRACTIONS, "").replace("{1,3}", "", 1)
KIMI = rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}&&[^\p{{Han}}]]*[{LOWER}&&[^\p{{Han}}]]+{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}&&[^\p{{Han}}]]+[{LOWER}&&[^\p{{Han}}]]*{CONTRACTIONS}|{ENDS.replace('/', '')}"
DEEPSEEK_WORDS = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
DEEPSEEK_V3 = [split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK_WORDS), ONLY_BYTES]
DEEPSEEK_V2 = [
    split("[\r\n]"),
    split(r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕ]+"),
    split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"),
    split(r"\s+$"),
    split("[一-龥ࠀ-一가-퟿]+"),
    digits(True),
    ONLY_BYTES,
]
DEEPSEEK_CODER = [
    split("[\r\n]"),
    split(r"\s?\p{L}+"),
    split(r"\s?\p{P}+"),
    split("[一-龥ࠀ-一가-퟿]+"),
    digits(True),
    ONLY_BYTES,
]
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
CLIP_SPECIAL = r"<\|startoftext\|>|<\|endoftext\|>|" + CLIP
SMILES = r"(\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>|\*|\$|\%[0-9]{2}|[0-9])"


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


CHATML = tokens("s", "<|endoftext|>", "<|im_start|>", "<|im_end|>")
QWEN3 = (*CHATML, *tokens("", "<tool_call>", "</tool_call>", "<think>", "</think>"))
LLAMA3 = tokens("s", "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
LLAMA3_POST = [byte_level(True, False), put("<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1")]
EXTRA = tuple(f"<extra_id_{number}>" for number in range(6))
NEOX = (*tokens("s", "<|endoftext|>", "<|padding|>"), *runs("n", " ", range(24, 1, -1)))
PHI3 = tokens("sr", "<|assistant|>", "<|placeholder1|>", "<|system|>", "<|end|>", "<|user|>")
GEMMA_FIRST = ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>")
GEMMA_ADDED = (
    *runs("", "\n", range(1, 6)),
    *runs("", "▁", range(2, 8)),
    *tokens("", "<table>", "</h1>"),
    *tokens("s", "<start_of_turn>", "<end_of_turn>"),
)
GEMMA = {
    "model": FALLBACK,
    "normalizer": replace(" ", "▁"),
    "pre_tokenizer": split_text(" ", "MergedWithPrevious"),
    "decoder": TO_SPACE,
    "first": GEMMA_FIRST,
}
DEEPSEEK = (
    *tokens("s", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
    *tokens("n", "<｜User｜>", "<｜Assistant｜>", "<think>"),
    *tokens("", "<｜fim▁hole｜>"),
)
DEEPSEEK_POST = put("<｜begin▁of▁sentence｜> $A", "<｜begin▁of▁sentence｜> $A <｜begin▁of▁sentence｜>:1 $B:1")
STARCODER = tokens("s", "<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<filename>", "<gh_stars>")
COHERE_FIRST = ("<PAD>", "<UNK>", "<CLS>", "<SEP>", "<MASK_TOKEN>", "<BOS_TOKEN>", "<EOS_TOKEN>")
HARMONY = tokens(
    "s",
    "<|startoftext|>",
    "<|endoftext|>",
    "<|return|>",
    "<|constrain|>",
    "<|channel|>",
    "<|start|>",
    "<|end|>",
    "<|message|>",
    "<|call|>",
)
LANGUAGES = tokens("s", "ar_AR", "en_XX", "de_DE")
WHISPER = tokens(
    "s",
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|en|>",
    "<|transcribe|>",
    "<|notimestamps|>",
    *(f"<|{time / 50:.2f}|>" for time in range(3)),
)
PROTEIN = {
    token: id
    for id, token in enumerate(
        ("<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>")
    )
}
CTC = {token: id for id, token in enumerate(("<pad>", "<s>", "</s>", "<unk>", "|", *"ETAONIHSRDLUMWCFGYPBVK'XJQZ"))}

FAMILIES: dict[str, Family] = {
    # Byte-level with GPT-2's split.
    "GPT-2, DistilGPT2, GPT-Neo": gpt2(),
    "GPT-2 with its newer file": gpt2(model=NEW),
    "GPT-J": gpt2(
        added=(*tokens("sn", "<|endoftext|>"), *tokens("n", *(f"<|extratoken_{number}|>" for number in range(1, 5))))
    ),
    "CodeGen, Phi-1, Phi-2": gpt2(
        added=(*tokens("s", "<|endoftext|>"), *runs("n", " ", range(31, 1, -1)), *runs("n", "\t", range(9, 1, -1)))
    ),
    "GPT-NeoX, Pythia, Dolly, RWKV-4, Mamba": gpt2(model=OLDER, normalizer="NFC", added=NEOX, post_processor=None),
    "MPT, StableLM alpha": gpt2(model=NEW, normalizer="NFC", added=(*NEOX, *CHATML[1:]), post_processor=TRIM),
    "OLMo 1": gpt2(
        model=NEW,
        normalizer="NFC",
        added=(
            *tokens("s", "<|endoftext|>", "<|padding|>"),
            *tokens("n", "|||IP_ADDRESS|||", "|||EMAIL_ADDRESS|||"),
            *runs("n", " ", range(2, 9)),
        ),
        post_processor=put("$A <|endoftext|>"),
    ),
    "ModernBERT": gpt2(
        model=NEW,
        normalizer="NFC",
        added=(*NEOX, *tokens("s", "[UNK]", "[CLS]", "[SEP]", "[PAD]"), *tokens("sl", "[MASK]")),
        post_processor=CLS_SEP,
    ),
    "OPT, Galactica's sisters": gpt2(
        model=OLD,
        first=("<s>", "<pad>", "</s>", "<unk>"),
        added=tokens("sn", "</s>"),
        post_processor=put("</s> $A", "</s> $A </s> $B:1"),
    ),
    "Galactica": gpt2(
        model=NEW,
        pre_tokenizer=[split_text("SPL1T-TH1S-Pl3A5E", "Removed"), digits(True), GPT2],
        first=("<s>", "<pad>", "</s>", "<unk>"),
        added=tokens("s", "[START_REF]", "[END_REF]", "<work>"),
        post_processor=None,
    ),
    "Nougat": gpt2(
        model=NEW,
        normalizer="NFKC",
        pre_tokenizer=[
            split_text("SPL1T-TH1S-Pl3A5E", "Removed"),
            digits(True),
            split(r"[\(\)\[\]\{\}]|([!\"\#\$%\&'\*\+,\-\./:;<=>\?\\\^_`\|\~])\1*"),
            split_text("\n"),
            GPT2,
        ],
        first=("<s>", "<pad>", "</s>", "<unk>"),
        post_processor=put("<s> $A </s>"),
    ),
    "RoBERTa, Longformer, LayoutLMv3, CLAP": roberta(),
    "BART, LED": roberta(added=tokens("sln", "<mask>")),
    "DistilRoBERTa with a prefix": roberta(
        pre_tokenizer=byte_level(True),
        post_processor=around("RobertaProcessing", "<s>", "</s>", trim_offsets=True, add_prefix_space=True),
    ),
    "Blenderbot": roberta(pre_tokenizer=byte_level(True), post_processor=put("$A </s>")),
    "CodeBERT, GraphCodeBERT": roberta(model=NEW),
    "UniXcoder": roberta(
        model=NEW,
        added=(*MASK, *tokens("n", "<mask0>", "<mask1>", "<encoder-only>", "<decoder-only>", "<encoder-decoder>")),
    ),
    "CodeT5": roberta(first=("<pad>", "<s>", "</s>", "<unk>"), added=(*MASK, *tokens("sl", *EXTRA))),
    "CodeT5+": roberta(added=(*MASK, *tokens("s", *EXTRA), *tokens("ns", "<s_>"))),
    "InCoder": roberta(added=(*MASK, *tokens("n", "<|mask:0|>", "<|endofmask|>", "<| file"))),
    "Florence-2": roberta(
        model=NEW, added=(*MASK, *tokens("", "<od>", "</od>", *(f"<loc_{number}>" for number in range(4))))
    ),
    "ChemBERTa": roberta(
        pre_tokenizer=GPT2,
        post_processor=around("RobertaProcessing", "<s>", "</s>", trim_offsets=True, add_prefix_space=True),
    ),
    "DeBERTa v1": gpt2(
        first=("[CLS]", "[PAD]", "[SEP]", "[UNK]"), added=tokens("sl", "[MASK]"), post_processor=CLS_SEP
    ),
    "jina v2 code, RoBERTa with a template": roberta(
        post_processor=[byte_level(), put("<s> $A </s>", "<s> $A </s> </s> $B </s>")]
    ),
    "Whisper": gpt2(
        added=WHISPER,
        post_processor=put(
            "<|startoftranscript|> <|notimestamps|> $A <|endoftext|>",
            "<|startoftranscript|> <|notimestamps|> $A $B:1 <|endoftext|>:1",
        ),
    ),
    "StarCoder, SantaCoder, Granite 3": gpt2(
        model=OLDER, pre_tokenizer=[digits(True), GPT2], added=STARCODER, post_processor=None
    ),
    "StarCoder2": gpt2(
        model=NEW,
        pre_tokenizer=[digits(True), GPT2],
        first=("<|endoftext|>", "<fim_prefix>", "<jupyter_code>"),
        added=tokens("s", "<pr_base>"),
        post_processor=None,
    ),
    "SmolLM, SmolLM2": gpt2(
        model=NEW,
        pre_tokenizer=[digits(True), GPT2],
        first=("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>"),
        added=(),
        post_processor=None,
    ),
    "CodeParrot, PolyCoder, mGPT": gpt2(
        model=NEW, added=tokens("s", "<|endoftext|>", "<s>", "</s>"), post_processor=NO_TRIM
    ),
    "Falcon": gpt2(
        model=OLDER,
        pre_tokenizer=[punctuation("Contiguous"), GPT2, digits(False), split("[0-9][0-9][0-9]")],
        added=tokens("s", ">>TITLE<<", ">>ABSTRACT<<", "<|endoftext|>"),
        post_processor=None,
    ),
    "Falcon3": gpt2(
        model=NEW,
        pre_tokenizer=[punctuation("Contiguous"), GPT2, digits(True)],
        first=("<|endoftext|>", "<|pad|>"),
        added=tokens("s", ">>UNUSED_0<<", "<|assistant|>"),
        post_processor=None,
    ),
    "Command-R, Aya": gpt2(
        model=NEW,
        normalizer="NFC",
        pre_tokenizer=[digits(True), GPT2],
        first=COHERE_FIRST,
        added=tokens("", "<|START_OF_TURN_TOKEN|>", "<|USER_TOKEN|>"),
        post_processor=put("<BOS_TOKEN> $A", "<BOS_TOKEN> $A <BOS_TOKEN>:1 $B:1"),
    ),
    "EXAONE": gpt2(
        model=NEW,
        normalizer="NFC",
        pre_tokenizer=[digits(True), GPT2],
        first=("[PAD]", "[BOS]", "[EOS]", "[UNK]"),
        added=tokens("", "[|system|]", "[|user|]", "[|endofturn|]", "PI:URL"),
        post_processor=None,
    ),
    "Jais, GPT-2 Arabic": gpt2(normalizer=["NFKC", replace("ـ", "")]),
    "KoGPT": gpt2(
        model=NEW,
        normalizer="NFKC",
        pre_tokenizer=byte_level(True),
        first=("[BOS]", "[EOS]", "[PAD]", "[UNK]"),
        added=(),
    ),
    "CamemBERT 2 (byte-level)": roberta(
        normalizer=["NFC", strip(True, True), SPACES],
        pre_tokenizer=[split(r"\s+", "MergedWithNext"), digits(True), byte_level(True, True, False)],
    ),
    # Byte-level after regexes.
    "BLOOM, BLOOMZ, Poro": Family(
        model=OLDER,
        pre_tokenizer=[split(BLOOM), byte_level(False, True, False)],
        decoder=BYTES_DECODER,
        post_processor=byte_level(True, False, False),
        first=("<unk>", "<s>", "</s>", "<pad>"),
    ),
    "Viking": Family(
        model=NEW,
        normalizer="NFC",
        pre_tokenizer=[
            split(BLOOM.replace(")]", ")]|[0-9]").replace("]|[0-9]", "]", 1)),
            digits(True),
            byte_level(False, True, False),
        ],
        decoder=BYTES_DECODER,
        post_processor=byte_level(True, False, False),
        first=("<unk>", "<s>", "</s>", "<pad>", "<mask>"),
    ),
    "Llama 3, 3.1, SmolLM3, EuroBERT": regex_bytes(CL100K, LLAMA3, LLAMA3_POST, model=WHOLE),
    "Llama 3.2 with its Python tag": regex_bytes(
        CL100K, (*LLAMA3, *tokens("s", "<|python_tag|>"), *tokens("", "<|image|>")), LLAMA3_POST, model=WHOLE
    ),
    "Llama 4": regex_bytes(
        O200K,
        tokens("s", "<|begin_of_text|>", "<|header_start|>", "<|eot|>", "<|image|>"),
        put("<|begin_of_text|> $A"),
        model=NEW,
    ),
    "Qwen 1.5, 2, 2.5": regex_bytes(QWEN, CHATML, normalizer="NFC"),
    "Qwen 2 VL": regex_bytes(QWEN, (*CHATML, *tokens("s", "<|vision_start|>", "<|image_pad|>")), normalizer="NFC"),
    "Qwen 3": regex_bytes(QWEN, QWEN3, normalizer="NFC"),
    "Qwen 3.5": regex_bytes(QWEN_MARKS, QWEN3, normalizer="NFC"),
    "gte-Qwen2, Qwen3-Embedding": regex_bytes(
        QWEN, CHATML, [NO_TRIM, put("$A <|endoftext|>", "$A <|endoftext|> $B:1 <|endoftext|>:1")], normalizer="NFC"
    ),
    "DeepSeek V3, R1": Family(
        model=NEW,
        normalizer=[],
        pre_tokenizer=DEEPSEEK_V3,
        decoder=BYTES_DECODER,
        post_processor=byte_level(True, False),
        first=(),
        added=DEEPSEEK,
    ),
    "DeepSeek V3.1 with its start": Family(
        model=NEW,
        normalizer=[],
        pre_tokenizer=DEEPSEEK_V3,
        decoder=BYTES_DECODER,
        post_processor=DEEPSEEK_POST,
        first=DEEPSEEK and ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"),
        added=DEEPSEEK,
    ),
    "DeepSeek V2, LLM": Family(
        model=OLDER,
        normalizer=[],
        pre_tokenizer=DEEPSEEK_V2,
        decoder=BYTES_DECODER,
        post_processor=byte_level(True, False),
        added=DEEPSEEK,
    ),
    "DeepSeek Coder": Family(
        model=OLDER,
        normalizer=[],
        pre_tokenizer=DEEPSEEK_CODER,
        decoder=BYTES_DECODER,
        post_processor=DEEPSEEK_POST,
        added=DEEPSEEK,
    ),
    "DeepSeek R1 Distill Qwen": regex_bytes(QWEN, DEEPSEEK, DEEPSEEK_POST),
    "Mistral Nemo, Tekken, Pixtral": regex_bytes(
        TEKKEN,
        (),
        put("<s> $A", "<s> $A <s>:1 $B:1"),
        model=WHOLE,
        first=("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]"),
    ),
    "Nemotron 3, Apertus": regex_bytes(TEKKEN, (), model=NEW, first=("<unk>", "<s>", "</s>", "<SPECIAL_10>")),
    "gpt-oss, GPT-4o": regex_bytes(O200K, HARMONY, model=NEW),
    "GPT-4, DBRX, OLMo 2, StableLM 2, Phi-4": regex_bytes(
        CL100K, (*CHATML, *tokens("s", "<|fim_prefix|>", "<|endofprompt|>"))
    ),
    "GPT-4 in tiktoken's spelling": regex_bytes(
        TIKTOKEN, (*tokens("n", "<|endofprompt|>"), *tokens("s", "<|endoftext|>"))
    ),
    "Phi-4-mini": regex_bytes(
        O200K, (*tokens("s", "<|endoftext|>"), *tokens("r", "<|tool|>"), *tokens("sr", "<|assistant|>", "<|end|>"))
    ),
    "GLM-4, GLM-4.5": regex_bytes(
        CL100K,
        (
            *tokens("s", "<|endoftext|>", "[MASK]", "[gMASK]", "<sop>", "<|user|>"),
            *tokens("", "<think>", "<|begin_of_box|>"),
        ),
        put("[gMASK] <sop> $A"),
        normalizer=[],
    ),
    "Kimi K2, Moonlight": regex_bytes(KIMI, tokens("s", "[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>")),
    "MiniMax": gpt2(
        model=NEW,
        added=tokens("s", "<end_of_sentence>", "<beginning_of_sentence>", "]<]minimax[>["),
        post_processor=None,
    ),
    "Grok-2": regex_bytes(O200K.replace("/", ""), tokens("s", "<|pad|>", "<|eos|>", "<|separator|>")),
    "EXAONE 4": regex_bytes(
        O200K, tokens("n", "[|user|]", "[|assistant|]"), normalizer="NFC", first=("[PAD]", "[BOS]", "[EOS]", "[UNK]")
    ),
    "Seed-OSS": regex_bytes(
        r"(?:\r?\n)+(?!\r?\n)|" + CL100K,
        tokens("s", "<seed:bos>", "<seed:eos>", "<seed:think>"),
        put("<seed:bos>:0 $A"),
        first=(),
    ),
    "Granite 4, Jina code": regex_bytes(
        CL100K, tokens("s", "<|end_of_text|>", "<|start_of_role|>"), model=WHOLE, normalizer=None
    ),
    "Arctic Embed, digits from the right": regex_bytes(
        r"\d{1,3}(?=(?:\d{3})*\b)", CHATML, pre_tokenizer=[split(r"\d{1,3}(?=(?:\d{3})*\b)"), split(QWEN), ONLY_BYTES]
    ),
    "Hunyuan": regex_bytes(CL100K, tokens("s", "<|startoftext|>", "<|extra_0|>"), put("<|startoftext|> $A")),
    "ESM C": Family(
        model={**NEW, "unk_token": "<unk>", "vocab": PROTEIN, "merges": []},
        decoder=None,
        post_processor=put("<cls> $A <eos>"),
        first=("<cls>", "<pad>", "<eos>", "<unk>"),
        added=(*MASK, *tokens("s", "|")),
    ),
    # SentencePiece's byte pairs.
    "Llama 2": llama(added=tokens("s", *LLAMA_FIRST)),
    "Llama 1": llama(added=tokens("sn", *LLAMA_FIRST)),
    "Llama 2 fast, no legacy": llama(normalizer=None, pre_tokenizer=metaspace("first", False)),
    "Llama with always": llama(normalizer=None, pre_tokenizer=metaspace("always", False)),
    "Llama with never": llama(normalizer=None, pre_tokenizer=metaspace("never", False), decoder=TO_SPACE),
    "Llama, split at first": llama(normalizer=None, pre_tokenizer=metaspace("first", True)),
    "Llama, split always": llama(normalizer=None, pre_tokenizer=metaspace("always", True)),
    "Vicuna, Zephyr, Alpaca": llama(added=tokens("n", "[PAD]", "<|im_end|>", "USER:")),
    "Code Llama": llama(added=tokens("s", "▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>")),
    "TinyLlama, OpenLLaMA": llama(post_processor=put("<s> $A", "<s> $A $B:1")),
    "Mistral v1, Mixtral": llama(),
    "Mistral v3": llama(
        normalizer=None,
        pre_tokenizer=metaspace("first", False),
        first=("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]"),
    ),
    "Solar, Orca": llama(added=(*tokens("sn", "<s>"), *tokens("n", "<|im_start|>", "<|im_end|>"))),
    "Phi-3": llama(added=(*tokens("s", "<s>"), *tokens("r", "</s>"), *tokens("s", "<|endoftext|>"), *PHI3)),
    "Phi-3.5 with strips": llama(
        added=(*tokens("slr", "<|assistant|>"), *tokens("lr", "<|end|>"), *tokens("lrw", "<|user|>"))
    ),
    "Yi": llama(
        normalizer=replace(" ", "▁"),
        decoder=TO_SPACE,
        post_processor=put("$A"),
        first=("<unk>", "<|startoftext|>", "<|endoftext|>", "<|im_start|>"),
        added=tokens("", "<fim_prefix>", "<reponame>"),
    ),
    "InternLM 2, Baichuan": llama(
        normalizer=None,
        pre_tokenizer=metaspace("always", False),
        added=(*tokens("s", "<|im_start|>", "[UNUSED_TOKEN_141]"), *tokens("n", "<|plugin|>")),
    ),
    "MiniCPM": llama(
        normalizer=[{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁"), strip(False, False)],
        added=tokens("n", "<用户>", "<AI>"),
    ),
    "ERNIE 4.5": llama(
        normalizer=replace(" ", "▁"),
        decoder=TO_SPACE,
        added=tokens("", "<mask:4>", "<|IMAGE_PLACEHOLDER|>"),
        post_processor=put("$A"),
    ),
    "Grok-1, Viking by SentencePiece": llama(
        normalizer=[precompiled("identity"), SPACES][1:],
        pre_tokenizer=old_metaspace(),
        decoder=LLAMA_DECODER,
        first=("[PAD]", "[BOS]", "[EOS]", "<unk>"),
        post_processor=put("$A"),
    ),
    "Jamba, EuroLLM": llama(
        normalizer=[{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")],
        first=("<|pad|>", "<|startoftext|>", "<|endoftext|>", "<unk>"),
        post_processor=put("<|startoftext|> $A"),
    ),
    "Gemma 1, 2": Family(**GEMMA, added=GEMMA_ADDED, post_processor=put("<bos> $A", "<bos> $A <bos>:1 $B:1")),
    "Gemma 3, PaliGemma": Family(
        **GEMMA,
        added=(*GEMMA_ADDED, *tokens("n", "<loc0001>", "<image_soft_token>")),
        post_processor=put("<bos> $A", "<bos> $A <bos>:1 $B:1"),
    ),
    "EmbeddingGemma": Family(
        **GEMMA, added=GEMMA_ADDED, post_processor=put("<bos> $A <eos>", "<bos> $A <eos> <bos>:1 $B:1 <eos>:1")
    ),
    "SigLIP 2": Family(
        **{**GEMMA, "normalizer": ["Lowercase", replace(" ", "▁")]}, added=GEMMA_ADDED, post_processor=put("$A <eos>")
    ),
    "GPT-SW3, Salamandra": llama(
        normalizer=["NFKC", SPACES, {"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")],
        added=tokens("", "<|endoftext|>", "<user_defined>", "https://"),
        first=("<pad>", "<unk>", "<s>", "</s>"),
    ),
    "PolyLM, TigerBot": llama(
        normalizer=None,
        pre_tokenizer={**metaspace("never", None), "add_prefix_space": False},
        decoder=TO_SPACE,
        added=tokens("n", "<n>", "<tab>"),
    ),
    "KoGPT2": Family(
        model={**OLDER, "unk_token": "<unk>"},
        normalizer="NFKC",
        pre_tokenizer=old_metaspace(),
        decoder=old_metaspace(),
        first=("</s>", "<usr>", "<pad>", "<sys>", "<unk>", "<mask>"),
        added=tokens("", "<unused0>", ":-)"),
    ),
    "NLLB": Family(
        model=CHARACTERS,
        normalizer=[precompiled(), SPACES],
        pre_tokenizer=metaspace(),
        decoder=metaspace(),
        first=ROBERTA_FIRST,
        added=(*tokens("s", "eng_Latn", "deu_Latn"), *MASK),
        post_processor=put("eng_Latn $A </s>", "eng_Latn $A $B </s>"),
    ),
    "NLLB, old": Family(
        model={**OLDER, "unk_token": "<unk>", "fuse_unk": True},
        normalizer=[precompiled(), SPACES],
        pre_tokenizer=OLD_WORDS_OF_SPM,
        decoder=old_metaspace(),
        first=ROBERTA_FIRST,
        added=tokens("s", "eng_Latn", "<mask>"),
        post_processor=put("$A </s> eng_Latn", "$A $B </s> eng_Latn"),
    ),
    "SeamlessM4T": Family(
        model=CHARACTERS,
        normalizer=[
            replace_regex(r"[\n\r\t]", " "),
            "NFKC",
            strip(False, True),
            replace_regex(" +▁", "▁"),
            replace_regex("^▁+$", ""),
            replace_regex(" {2,}", "▁"),
        ],
        pre_tokenizer=metaspace("first"),
        decoder=metaspace("first"),
        first=("<pad>", "<unk>", "<s>", "</s>"),
        added=tokens("sn", "__eng__", "__fra__"),
        post_processor=put("</s> __eng__ $A </s>"),
    ),
    "Reformer": Family(
        model=CHARACTERS,
        normalizer=[precompiled(), SPACES],
        pre_tokenizer=metaspace(),
        decoder=metaspace(),
        first=("</s>", "<unk>"),
    ),
    "M2M100, Speech2Text": Family(
        model=CHARACTERS,
        normalizer=[precompiled(), SPACES],
        pre_tokenizer=metaspace(),
        decoder=metaspace(),
        first=ROBERTA_FIRST,
        added=tokens("s", "__en__", "__de__"),
        post_processor=put("__en__ $A </s>"),
    ),
    # Byte pairs with a mark at a word's end.
    "CLIP, BLIP-2's text, Stable Diffusion": Family(
        model={**OLD, "unk_token": "<|endoftext|>", "end_of_word_suffix": "</w>"},
        normalizer=["NFC", replace_regex(r"\s+", " "), "Lowercase"],
        pre_tokenizer=[split(CLIP, "Removed", True), GPT2],
        decoder=BYTES_DECODER,
        first=("<|startoftext|>", "<|endoftext|>"),
        added=tokens("ns", "<|startoftext|>"),
        post_processor=around(
            "RobertaProcessing", "<|startoftext|>", "<|endoftext|>", trim_offsets=False, add_prefix_space=False
        ),
    ),
    "CLIP, special tokens in its split": Family(
        model={**OLD, "unk_token": "<|endoftext|>", "end_of_word_suffix": "</w>"},
        normalizer=["NFC", replace_regex(r"\s+", " "), "Lowercase"],
        pre_tokenizer=[split(CLIP_SPECIAL, "Removed", True), GPT2],
        decoder=BYTES_DECODER,
        first=("<|startoftext|>", "<|endoftext|>"),
        added=tokens("s", "!"),
        post_processor=around(
            "RobertaProcessing", "<|startoftext|>", "<|endoftext|>", trim_offsets=False, add_prefix_space=False
        ),
    ),
    "OWL-ViT, padded": Family(
        model={**OLD, "unk_token": "<|endoftext|>", "end_of_word_suffix": "</w>"},
        normalizer=["NFC", replace_regex(r"\s+", " "), "Lowercase"],
        pre_tokenizer=[split(CLIP, "Removed", True), GPT2],
        decoder=BYTES_DECODER,
        first=("<|startoftext|>", "<|endoftext|>"),
        post_processor=around(
            "RobertaProcessing", "<|startoftext|>", "<|endoftext|>", trim_offsets=False, add_prefix_space=False
        ),
        more={
            "padding": {
                "strategy": {"Fixed": 16},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "!",
            }
        },
    ),
    "OpenAI GPT": Family(
        model={**OLD, "unk_token": "<unk>", "end_of_word_suffix": "</w>"},
        normalizer=bert(),
        pre_tokenizer="BertPreTokenizer",
        decoder={"type": "BPEDecoder", "suffix": "</w>"},
        first=("<unk>",),
    ),
    "HerBERT": Family(
        model={**OLD, "unk_token": "<unk>", "end_of_word_suffix": "</w>"},
        normalizer=bert(False, False),
        pre_tokenizer="BertPreTokenizer",
        decoder={"type": "BPEDecoder", "suffix": "</w>"},
        first=("<s>", "<pad>", "</s>", "<unk>", "<mask>"),
        post_processor=around("BertProcessing", "<s>", "</s>"),
    ),
    "XLM, FlauBERT (converted)": Family(
        model={**OLD, "unk_token": "<unk>", "end_of_word_suffix": "</w>"},
        normalizer=["NFKD", "StripAccents", "Lowercase"],
        pre_tokenizer="WhitespaceSplit",
        decoder={"type": "BPEDecoder", "suffix": "</w>"},
        first=("<s>", "</s>", "<pad>", "<unk>", "<special0>"),
        post_processor=put("</s> $A </s>", "</s> $A </s> $B:1 </s>:1"),
    ),
    "DNABERT-2": Family(
        model={**NEW, "unk_token": "[UNK]"}, pre_tokenizer="Whitespace", first=BERT, post_processor=CLS_SEP
    ),
    # WordPiece.
    "BERT uncased, MiniLM, bge, gte, e5": wordpiece(),
    "BERT cased": wordpiece(normalizer=bert(False)),
    "BERT multilingual cased": wordpiece(normalizer=bert(False, False)),
    "BERT multilingual uncased, LaBSE": wordpiece(normalizer=bert(True, True)),
    "BERT Chinese": wordpiece(model={**WORDPIECE, "max_input_chars_per_word": 40}, normalizer=bert(False, None, True)),
    "BERT Japanese by characters": wordpiece(
        normalizer=["NFKC", bert(False, False)], model={**WORDPIECE, "max_input_chars_per_word": 4}
    ),
    "KLUE, KoELECTRA": wordpiece(
        normalizer=bert(False, False, False, True), added=tokens("", "[unused0]", "[unused1]")
    ),
    "DistilBERT, MobileBERT, SqueezeBERT": wordpiece(post_processor=put("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]")),
    "ELECTRA, ConvBERT, LayoutLM 1 and 2": wordpiece(post_processor=around("BertProcessing", "[CLS]", "[SEP]")),
    "all-MiniLM with truncation and padding": wordpiece(
        more={
            "truncation": {"direction": "Right", "max_length": 16, "strategy": "LongestFirst", "stride": 0},
            "padding": {
                "strategy": {"Fixed": 16},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "[PAD]",
            },
        }
    ),
    "MPNet": wordpiece(
        first=("<s>", "<pad>", "</s>", "<unk>", "[UNK]"),
        added=MASK,
        post_processor=around("RobertaProcessing", "<s>", "</s>", trim_offsets=True, add_prefix_space=False),
    ),
    "Funnel": wordpiece(
        first=("<pad>", "<unk>", "<cls>", "<sep>", "<mask>"),
        model={**WORDPIECE, "unk_token": "<unk>"},
        post_processor=put("<cls>:2 $A:0 <sep>:0", "<cls>:2 $A:0 <sep>:0 $B:1 <sep>:1"),
    ),
    "Splinter": wordpiece(
        first=(*BERT, "[QUESTION]", "."),
        post_processor=put("[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [QUESTION] . [SEP]:0 $B:1 [SEP]:1"),
    ),
    "BLIP": wordpiece(added=tokens("s", "[DEC]", "[ENC]")),
    "Nomic, Snowflake": wordpiece(added=(*tokens("s", "[MASK]"), *tokens("n", "search_query:", "search_document:"))),
    "SciBERT, PubMedBERT": wordpiece(normalizer=bert(True, None, True), added=tokens("wn", "[citation]", "dna")),
    "CamemBERTa v2": wordpiece(
        normalizer=[replace("\n", " "), replace_regex("…", "..."), "NFC", strip(True, True), SPACES],
        pre_tokenizer=["WhitespaceSplit", digits(True), punctuation()],
        added=tokens("sl", "[MASK]"),
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": False},
    ),
    "ruBERT, rut5's encoder": wordpiece(normalizer=bert(False, False), added=tokens("s", "[unused1]")),
    # Unigram.
    "T5, Flan-T5, UL2, LongT5": sentencepiece(first=("<pad>", "</s>", "<unk>"), last=EXTRA),
    "T5, old": sentencepiece(pre_tokenizer=OLD_WORDS_OF_SPM, decoder=old_metaspace(), added=tokens("s", *EXTRA)),
    "mT5, MADLAD, UMT5": sentencepiece(
        normalizer=[precompiled("nmt_nfkc"), strip(False, True), replace_regex(" {2,}", "▁")],
        pre_tokenizer=metaspace(),
        added=tokens("sn", *EXTRA),
    ),
    "UDOP": sentencepiece(added=tokens("s", *EXTRA, "<loc_0>", "<other_0>")),
    "Pegasus, BigBird-Pegasus": sentencepiece(
        normalizer=[precompiled(), SPACES],
        pre_tokenizer=metaspace(),
        post_processor=put("$A </s>", "$A $B </s>"),
        first=("<pad>", "</s>", "<mask_1>", "<mask_2>", "<unk_2>", "<unk>"),
        model=unigram(5),
        added=tokens("", "<n>"),
    ),
    "XLM-R, multilingual e5, bge-m3, jina v3": fairseq(),
    "XLM-R, old": fairseq(pre_tokenizer=OLD_WORDS_OF_SPM, decoder=old_metaspace(), added=tokens("sln", "<mask>")),
    "XLM-R, padded": fairseq(
        normalizer=[precompiled(), SPACES],
        pre_tokenizer=metaspace(),
        more={
            "padding": {
                "strategy": "BatchLongest",
                "direction": "Right",
                "pad_to_multiple_of": 8,
                "pad_id": 1,
                "pad_type_id": 0,
                "pad_token": "<pad>",
            }
        },
    ),
    "CamemBERT": fairseq(first=("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>")),
    "mBART": fairseq(added=(*LANGUAGES, *MASK), post_processor=put("$A </s> en_XX", "$A $B </s> en_XX")),
    "mBART-50": fairseq(
        normalizer=[precompiled(), SPACES],
        pre_tokenizer=metaspace(),
        added=(*LANGUAGES, *MASK),
        post_processor=put("en_XX $A </s>", "en_XX $A $B </s>"),
    ),
    "BARThez": fairseq(
        normalizer=[replace_regex(r"\s{2,}|[\n\r\t]", " "), "NFC", strip(False, True)], pre_tokenizer=metaspace()
    ),
    "LayoutXLM": fairseq(normalizer=[strip(False, True), replace_regex(" {2,}", "▁")], pre_tokenizer=metaspace()),
    "XGLM": fairseq(
        normalizer=[precompiled(), SPACES],
        pre_tokenizer=metaspace(),
        post_processor=put("</s> $A", "</s> $A </s> </s> $B"),
        added=tokens("s", *(f"<madeupword{number}>" for number in range(7))),
    ),
    "ALBERT": sentencepiece(
        model=unigram(1),
        normalizer=[*QUOTES, "NFKD", "StripAccents", "Lowercase", precompiled("nmt_nfkc_cf"), SPACES],
        first=("<pad>", "<unk>", "[CLS]", "[SEP]"),
        added=tokens("sl", "[MASK]"),
        post_processor=CLS_SEP,
    ),
    "XLNet": sentencepiece(
        model=unigram(0),
        normalizer=[*QUOTES, "NFKD", "StripAccents", precompiled(), SPACES],
        first=("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"),
        added=tokens("s", "<eod>", "<eop>"),
        post_processor=put("$A:0 <sep>:0 <cls>:2", "$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2"),
        more={
            "padding": {
                "strategy": "BatchLongest",
                "direction": "Left",
                "pad_to_multiple_of": None,
                "pad_id": 5,
                "pad_type_id": 3,
                "pad_token": "<pad>",
            }
        },
    ),
    "RemBERT": sentencepiece(
        model=unigram(2),
        normalizer=[*QUOTES, SPACES, precompiled()],
        pre_tokenizer=metaspace(),
        first=("[PAD]", "[UNK]", "<unk>", "[CLS]", "[SEP]", "[MASK]"),
        post_processor=CLS_SEP,
    ),
    "BigBird": sentencepiece(
        model=unigram(1),
        normalizer=[strip(False, False), replace_regex(" {2,}", "▁")],
        pre_tokenizer=metaspace(),
        first=("<pad>", "<unk>", "<s>", "</s>", "[SEP]", "[CLS]"),
        added=tokens("sl", "[MASK]"),
        post_processor=CLS_SEP,
    ),
    "DeBERTa v2": sentencepiece(
        model=unigram(3),
        normalizer=["Lowercase", replace_regex(r"\s{2,}|[\n\r\t]", " "), "NFC", strip(False, True)],
        pre_tokenizer=[punctuation(), metaspace()],
        first=("[PAD]", "[CLS]", "[SEP]", "[unk]"),
        last=("[MASK]",),
        post_processor=CLS_SEP,
    ),
    "DeBERTa v3": sentencepiece(
        model=unigram(3),
        normalizer=[strip(True, True), precompiled(), SPACES],
        pre_tokenizer=metaspace(),
        first=("[PAD]", "[CLS]", "[SEP]", "[UNK]"),
        added=tokens("s", "[MASK]"),
        post_processor=CLS_SEP,
    ),
    "SigLIP": sentencepiece(
        normalizer=[
            "Lowercase",
            replace_regex(r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]", ""),
            replace_regex(r"\s+", " "),
            strip(True, True),
            precompiled("nmt_nfkc_cf"),
        ],
        pre_tokenizer=metaspace(),
        post_processor=put("$A </s>"),
    ),
    "rinna, Japanese T5": sentencepiece(
        normalizer=["Nmt", "NFKC", SPACES], pre_tokenizer=metaspace(), added=tokens("s", "[CLS]", "[MASK]")
    ),
    "MarianMT (converted)": sentencepiece(
        model=unigram(1),
        normalizer=precompiled("nmt_nfkc"),
        first=("</s>", "<unk>"),
        last=("<pad>",),
        added=tokens("", ">>fra<<", ">>deu<<"),
    ),
    "Helium, Moshi": sentencepiece(
        model=unigram(0, True),
        normalizer=LLAMA_NORMALIZER,
        pre_tokenizer=None,
        first=LLAMA_FIRST,
        decoder=[replace("▁", " "), "ByteFallback", "Fuse", STRIP_FIRST],
        post_processor=put("<s> $A"),
    ),
    "Fuyu, Persimmon": sentencepiece(
        model=unigram(0, True),
        normalizer=[{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")],
        pre_tokenizer=None,
        first=("<unk>", "<s>", "</s>", "|ENDOFTEXT|"),
        decoder=LLAMA_DECODER,
        added=tokens("n", "|SPEAKER|", "<box>"),
        post_processor=put("<s> $A", "<s> $A <s>:1 $B:1"),
    ),
    "Nemotron-4": sentencepiece(
        model=unigram(0, True),
        normalizer=[precompiled("nfkc"), replace(" ", "▁")],
        pre_tokenizer=split_text("▁", "MergedWithNext"),
        first=LLAMA_FIRST,
        decoder=TO_SPACE,
        post_processor=put("<s> $A"),
    ),
    "Parakeet": sentencepiece(
        model=unigram(0),
        normalizer=[precompiled(), SPACES],
        pre_tokenizer=metaspace(),
        first=("<unk>",),
        post_processor=None,
    ),
    # Words.
    "ESM-2": Family(
        model={"type": "WordLevel", "vocab": PROTEIN, "unk_token": "<unk>"},
        pre_tokenizer=split("", "Isolated"),
        first=("<cls>", "<pad>", "<eos>", "<unk>"),
        added=tokens("s", "<mask>"),
        post_processor=put("<cls> $A <eos>", "<cls> $A <eos> $B:1 <eos>:1"),
    ),
    "wav2vec 2.0, CTC": Family(
        model={"type": "WordLevel", "vocab": CTC, "unk_token": "<unk>"},
        normalizer=replace(" ", "|"),
        pre_tokenizer=split("", "Isolated"),
        decoder={"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
        first=("<pad>", "<s>", "</s>", "<unk>"),
    ),
    "Transfo-XL, words": Family(
        model={"type": "WordLevel", "unk_token": "<unk>"},
        normalizer=["Lowercase"],
        pre_tokenizer=["Whitespace", digits(False)],
        first=("<unk>", "<eos>", "<formula>"),
    ),
    "MoLFormer, SMILES": Family(
        model={"type": "WordLevel", "unk_token": "<unk>"},
        normalizer=strip(True, True),
        pre_tokenizer=split(SMILES),
        decoder="Fuse",
        first=("<bos>", "<eos>", "<pad>", "<mask>", "<unk>"),
        post_processor=put("<bos> $A <eos>"),
    ),
    "ByT5 as words": Family(
        model={"type": "WordLevel", "unk_token": "<unk>"},
        pre_tokenizer=[ONLY_BYTES, split("", "Isolated")],
        decoder=[*["ByteLevel"][:0], BYTES_DECODER],
        first=("<pad>", "</s>", "<unk>"),
        added=tokens("s", *EXTRA),
        post_processor=put("$A </s>"),
    ),
}
