"""The families of models whose tokens are bytes, in GPT-2's alphabet: one row each.

Files of one structure share a row, unless their added tokens differ. A part that is a list is a `Sequence`.
"""

from dropins.families import Family, tokens
from dropins.family_parts import (
    BYTES_DECODER,
    CLS_SEP,
    EXTRA,
    GPT2,
    MASK,
    NEW,
    NO_TRIM,
    OLD,
    OLDER,
    ONLY_BYTES,
    SPACES,
    TRIM,
    WHOLE,
    around,
    byte_level,
    digits,
    gpt2,
    punctuation,
    put,
    regex_bytes,
    replace,
    roberta,
    runs,
    split,
    split_text,
    strip,
)

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
CHATML = tokens("s", "<|endoftext|>", "<|im_start|>", "<|im_end|>")
QWEN3 = (*CHATML, *tokens("", "<tool_call>", "</tool_call>", "<think>", "</think>"))
LLAMA3 = tokens("s", "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
LLAMA3_POST = [byte_level(True, False), put("<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1")]
NEOX = (*tokens("s", "<|endoftext|>", "<|padding|>"), *runs("n", " ", range(24, 1, -1)))
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
WHISPER = tokens(
    "s",
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|en|>",
    "<|transcribe|>",
    "<|notimestamps|>",
    *(f"<|{time / 50:.2f}|>" for time in range(3)),
)

OF_BYTES: dict[str, Family] = {
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
            split(BLOOM),
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
        first=("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"),
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
}
