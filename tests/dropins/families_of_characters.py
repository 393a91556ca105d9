"""The families of models whose tokens are characters, as families_of_bytes.py lists the others."""

from dropins.families import Family, tokens
from dropins.family_parts import (
    BERT,
    BYTES_DECODER,
    CHARACTERS,
    CLS_SEP,
    EXTRA,
    FALLBACK,
    GPT2,
    LLAMA_DECODER,
    LLAMA_FIRST,
    LLAMA_NORMALIZER,
    MASK,
    NEW,
    OLD,
    OLD_WORDS_OF_SPM,
    OLDER,
    ONLY_BYTES,
    QUOTES,
    ROBERTA_FIRST,
    SPACES,
    STRIP_FIRST,
    TO_SPACE,
    WORDPIECE,
    around,
    bert,
    digits,
    fairseq,
    llama,
    metaspace,
    old_metaspace,
    precompiled,
    punctuation,
    put,
    replace,
    replace_regex,
    runs,
    sentencepiece,
    split,
    split_text,
    strip,
    unigram,
    wordpiece,
)

CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
CLIP_SPECIAL = r"<\|startoftext\|>|<\|endoftext\|>|" + CLIP
SMILES = r"(\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>|\*|\$|\%[0-9]{2}|[0-9])"
PHI3 = tokens("sr", "<|assistant|>", "<|placeholder1|>", "<|system|>", "<|end|>", "<|user|>")
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
    "first": ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>"),
}
LANGUAGES = tokens("s", "ar_AR", "en_XX", "de_DE")
PROTEIN = {
    token: id
    for id, token in enumerate(
        ("<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>")
    )
}
CTC = {token: id for id, token in enumerate(("<pad>", "<s>", "</s>", "<unk>", "|", *"ETAONIHSRDLUMWCFGYPBVK'XJQZ"))}

OF_CHARACTERS: dict[str, Family] = {
    # SentencePiece's byte pairs.
    "Llama 2, Mistral v1, Mixtral": llama(),
    "Llama 1": llama(added=tokens("sn", *LLAMA_FIRST)),
    "Llama 2 fast, no legacy": llama(normalizer=None, pre_tokenizer=metaspace("first", False)),
    "Llama with always": llama(normalizer=None, pre_tokenizer=metaspace("always", False)),
    "Llama with never": llama(normalizer=None, pre_tokenizer=metaspace("never", False), decoder=TO_SPACE),
    "Llama, split at first": llama(normalizer=None, pre_tokenizer=metaspace("first", True)),
    "Llama, split always": llama(normalizer=None, pre_tokenizer=metaspace("always", True)),
    "Vicuna, Zephyr, Alpaca": llama(added=tokens("n", "[PAD]", "<|im_end|>", "USER:")),
    "Code Llama": llama(added=tokens("s", "▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>")),
    "TinyLlama, OpenLLaMA": llama(post_processor=put("<s> $A", "<s> $A $B:1")),
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
    "Grok-1 (converted)": llama(
        normalizer=[SPACES],
        pre_tokenizer=old_metaspace(),
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
    "ESM C": Family(
        model={**NEW, "unk_token": "<unk>", "vocab": PROTEIN, "merges": []},
        decoder=None,
        post_processor=put("<cls> $A <eos>"),
        first=("<cls>", "<pad>", "<eos>", "<unk>"),
        added=(*MASK, *tokens("s", "|")),
    ),
    "ESM-2 (converted)": Family(
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
        decoder=[BYTES_DECODER],
        first=("<pad>", "</s>", "<unk>"),
        added=tokens("s", *EXTRA),
        post_processor=put("$A </s>"),
    ),
}
