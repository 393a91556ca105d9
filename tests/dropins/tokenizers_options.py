"""Every option of the classes and methods of tokenizers: a call that shows its effect, and a non-default value.

`{}` is the place of the option. `tests/compat/test_dropin_options.py` reads the library's stubs: an option that has no
row here fails.
"""

T = 't = lib.Tokenizer(lib.models.BPE(V, M, unk_token="[UNK]")); t.pre_tokenizer = lib.pre_tokenizers.Whitespace(); '
S = (
    T + 't.add_special_tokens(["<s>"]); s = t.token_to_id("<s>"); '
    't.post_processor = lib.processors.TemplateProcessing("<s> $A", "<s> $A $B:1", [("<s>", s)]); '
)
AB_FIRST = S.replace("t.post_processor", 'a, b = t.encode("low"), t.encode("he"); t.post_processor', 1)
BYTES = "t = lib.Tokenizer(lib.models.BPE(V, M)); t.pre_tokenizer = lib.pre_tokenizers.ByteLevel(); "
FILE = 'import os, pathlib, tempfile; f = os.path.join(tempfile.mkdtemp(), "x"); p = pathlib.Path(f); p.write_text("low lower"); '
RUN = "import asyncio; run = lambda call: asyncio.run(awaited(call)); "


def of_encoding(code: str) -> str:
    """A call that returns an encoding."""
    return f"{code}; r = columns(e)"


def trained(kind: str, model: str, more: str = "") -> str:
    """A training with a trainer of a kind."""
    corpus = "['low lower lowest na', 'newest hex hexes'] * 4"
    corpus = corpus if model != "Unigram" else "[' '.join(str(n * n) for n in range(300))]"
    made = f"t = lib.Tokenizer(lib.models.{model}({'' if model == 'Unigram' else 'unk_token=None' if model == 'BPE' else ''}))"
    return f"{made}; t.pre_tokenizer = lib.pre_tokenizers.Whitespace(); t.train_from_iterator({corpus}, lib.trainers.{kind}({more}{{}})); r = t.get_vocab()"


def each(prefix: str, code: str, options: dict[str, str]) -> dict[str, tuple[str, str]]:
    """A row for each option of one call."""
    return {f"{prefix}.{name}": (code, f"{name}={value}") for name, value in options.items()}


LETTERS = {
    "vocab_size": "18",
    "min_frequency": "5",
    "show_progress": "False",
    "special_tokens": '["<s>", "lo"]',
    "limit_alphabet": "5",
    "initial_alphabet": '["z", "q"]',
    "continuing_subword_prefix": '"_"',
    "end_of_word_suffix": '"</w>"',
}
UNIGRAM = {name: LETTERS[name] for name in ("vocab_size", "show_progress", "special_tokens", "initial_alphabet")}
ENCODE = {"add_special_tokens": "False"}
WORDS = {"is_pretokenized": "True", **ENCODE}
PADDING = {"direction": '"left"', "pad_id": "3", "pad_type_id": "2", "pad_token": '"<p>"'}
ROBERTA = {"trim_offsets": "False", "add_prefix_space": "False"}
METASPACE = {"replacement": '"_"', "prepend_scheme": '"never"', "split": "False"}
AB = 't.encode("low lower", "hello")'

ROWS = {
    **each(
        "AddedToken.__new__",
        T + 'a = lib.AddedToken("low", {}); t.add_tokens([a]); e = t.encode("a low lowe"); r = (repr(a), e.ids, e.offsets)',
        {"single_word": "True", "lstrip": "True", "rstrip": "True", "special": "True", "normalized": "False"},
    ),
    "AddedToken.__new__.content": ("r = repr(lib.AddedToken({}))", 'content="x"'),
    **each("Encoding.char_to_token", S + f"r = {AB}.char_to_token(4, {{}})", {"sequence_index": "1"}),
    **each("Encoding.char_to_word", S + f"r = {AB}.char_to_word(4, {{}})", {"sequence_index": "1"}),
    **each("Encoding.word_to_tokens", S + f"r = {AB}.word_to_tokens(0, {{}})", {"sequence_index": "1"}),
    **each("Encoding.word_to_chars", S + f"r = {AB}.word_to_chars(0, {{}})", {"sequence_index": "1"}),
    **each("Encoding.merge", T + of_encoding('e = t.encode("low"); e = lib.Encoding.merge([e, e], {})'), {"growing_offsets": "False"}),
    **each("Encoding.pad", T + of_encoding('e = t.encode("low"); e.pad(9, {})'), PADDING),
    **each("Encoding.truncate", T + of_encoding('e = t.encode("axbxcx"); e.truncate(4, {})'), {"stride": "1", "direction": '"left"'}),
    **each("Tokenizer.enable_padding", T + 't.enable_padding({}); r = [columns(e) for e in t.encode_batch(["a", "axbxc"])]', {**PADDING, "length": "9", "pad_to_multiple_of": "4"}),
    **each("Tokenizer.enable_truncation", T + of_encoding('t.enable_truncation(4, {}); e = t.encode("abxc", "dxefxghi")'), {"stride": "1", "strategy": '"only_second"', "direction": '"left"'}),
    **each("Tokenizer.encode", S + of_encoding('e = t.encode("low", {})'), {"pair": '"he"', **ENCODE}),
    "Tokenizer.encode.is_pretokenized": (S + 'r = caught(lambda: columns(t.encode(["low", "he"], {})))', "is_pretokenized=True"),
    **each("Tokenizer.encode_batch", S + 'r = caught(lambda: [columns(e) for e in t.encode_batch([("low", "he")], {})])', WORDS),
    **each("Tokenizer.encode_batch_fast", S + 'r = caught(lambda: [columns(e) for e in t.encode_batch_fast([("low", "he")], {})])', WORDS),
    **each("Tokenizer.async_encode", RUN + S + of_encoding('e = run(lambda: t.async_encode("low", {}))'), {"pair": '"he"', **ENCODE}),
    "Tokenizer.async_encode.is_pretokenized": (RUN + S + 'r = caught(lambda: columns(run(lambda: t.async_encode(["low", "he"], {}))))', "is_pretokenized=True"),
    **each("Tokenizer.async_encode_batch", RUN + S + 'r = [columns(e) for e in run(lambda: t.async_encode_batch([("low", "he")], {}))]', ENCODE),
    **each("Tokenizer.async_encode_batch_fast", RUN + S + 'r = [columns(e) for e in run(lambda: t.async_encode_batch_fast([("low", "he")], {}))]', ENCODE),
    **each("Tokenizer.decode", S + "r = t.decode([s, 1, 2], {})", {"skip_special_tokens": "False"}),
    **each("Tokenizer.decode_batch", S + "r = t.decode_batch([[s, 1, 2]], {})", {"skip_special_tokens": "False"}),
    **each("Tokenizer.async_decode_batch", RUN + S + "r = run(lambda: t.async_decode_batch([[s, 1, 2]], {}))", {"skip_special_tokens": "False"}),
    **each("Tokenizer.get_vocab", S + "r = t.get_vocab({})", {"with_added_tokens": "False"}),
    **each("Tokenizer.get_vocab_size", S + "r = t.get_vocab_size({})", {"with_added_tokens": "False"}),
    **each("Tokenizer.post_process", AB_FIRST + of_encoding("e = t.post_process(a, {})"), {"pair": "b", **ENCODE}),
    **each("Tokenizer.to_str", T + "r = t.to_str({})", {"pretty": "True"}),
    **each("Tokenizer.save", FILE + T + "t.save(f, {}); r = p.read_text()", {"pretty": "False"}),
    **each("Tokenizer.train", FILE + T + "t.train([f], {}); r = t.get_vocab()", {"trainer": "lib.trainers.BpeTrainer(vocab_size=8, show_progress=False)"}),
    **each("Tokenizer.train_from_iterator", T + 't.train_from_iterator(["low lower"], {}); r = t.get_vocab()', {"trainer": "lib.trainers.BpeTrainer(vocab_size=8, show_progress=False)", "length": "1"}),
    **each("decoders.BPEDecoder.__new__", 'r = lib.decoders.BPEDecoder({}).decode(["a</w>", "bx", "c"])', {"suffix": '"x"'}),
    **each("decoders.ByteLevel.__new__", "r = repr(lib.decoders.ByteLevel({}))", {}),
    **each("decoders.CTC.__new__", 'r = lib.decoders.CTC({}).decode(["a", "a", "<pad>", "|", ".", "b", "n\'t"])', {"pad_token": '"b"', "word_delimiter_token": '"a"', "cleanup": "False"}),
    **each("decoders.DecodeStream.__new__", S + "d = lib.decoders.DecodeStream({}); r = [d.step(t, i) for i in (s, 1, 2)]", {"ids": "[1, 2]", "skip_special_tokens": "True"}),
    **each("decoders.Metaspace.__new__", 'd = lib.decoders.Metaspace({}); r = (d.split, d.decode(["▁a", "_b", "▁c"]))', METASPACE),
    **each("decoders.Strip.__new__", 'd = lib.decoders.Strip(**({"left": 1} | dict({}))); r = d.decode([" a ", "xbx"])', {"content": '"x"', "left": "0", "right": "1"}),
    **each("decoders.WordPiece.__new__", 'r = lib.decoders.WordPiece({}).decode(["a", "##b", "_c", "."])', {"prefix": '"_"', "cleanup": "False"}),
    **each("normalizers.BertNormalizer.__new__", 'r = lib.normalizers.BertNormalizer({}).normalize_str("É\\t漢A")', {"clean_text": "False", "handle_chinese_chars": "False", "strip_accents": "False", "lowercase": "False"}),
    **each("normalizers.Strip.__new__", 'r = lib.normalizers.Strip({}).normalize_str(" a ")', {"left": "False", "right": "False"}),
    **each("normalizers.Prepend.__new__", 'r = lib.normalizers.Prepend({}).normalize_str("a")', {"prepend": '"x"'}),
    **each("pre_tokenizers.ByteLevel.__new__", 'p = lib.pre_tokenizers.ByteLevel({}); r = (p.pre_tokenize_str("a b"), repr(p))', {"add_prefix_space": "False", "trim_offsets": "False", "use_regex": "False"}),
    **each("pre_tokenizers.Digits.__new__", 'r = lib.pre_tokenizers.Digits({}).pre_tokenize_str("a12")', {"individual_digits": "True"}),
    **each("pre_tokenizers.FixedLength.__new__", 'r = lib.pre_tokenizers.FixedLength({}).pre_tokenize_str("abcdefgh")', {"length": "2"}),
    **each("pre_tokenizers.Metaspace.__new__", 'r = lib.pre_tokenizers.Metaspace({}).pre_tokenize_str("a b")', METASPACE),
    **each("pre_tokenizers.Punctuation.__new__", 'r = lib.pre_tokenizers.Punctuation({}).pre_tokenize_str("a.b")', {"behavior": '"removed"'}),
    **each("pre_tokenizers.Split.__new__", 'r = lib.pre_tokenizers.Split(" ", "removed", {}).pre_tokenize_str("a b")', {"invert": "True"}),
    **each("processors.ByteLevel.__new__", BYTES + of_encoding('t.post_processor = lib.processors.ByteLevel({}); e = t.encode("a  b"); r = repr(t.post_processor)') + ", r", {"add_prefix_space": "False", "trim_offsets": "False", "use_regex": "False"}),
    **each("processors.RobertaProcessing.__new__", BYTES + of_encoding('t.post_processor = lib.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), {}); e = t.encode("a  b"); r = repr(t.post_processor)') + ", r", ROBERTA),
    "processors.PostProcessor.process.pair": (AB_FIRST + of_encoding("e = t.post_processor.process(a, {})"), "pair=b"),
    "processors.PostProcessor.process.add_special_tokens": (AB_FIRST + of_encoding("e = t.post_processor.process(a, {})"), "add_special_tokens=False"),
    "processors.TemplateProcessing.__new__.single": (T + of_encoding('t.post_processor = lib.processors.TemplateProcessing({}); e = t.encode("low")'), 'single="$A:2"'),
    "processors.TemplateProcessing.__new__.pair": (T + of_encoding('t.post_processor = lib.processors.TemplateProcessing({}); e = t.encode("low", "he")'), 'pair="$B:2 $A"'),
    "processors.TemplateProcessing.__new__.special_tokens": ("r = repr(lib.processors.TemplateProcessing({}))", 'special_tokens=[("<s>", 1)]'),
    **each("models.BPE.__new__", 'r = [x.as_tuple() for x in lib.models.BPE(**({"vocab": VB, "merges": MB} | dict({}))).tokenize("漢lox")]', {"vocab": '{"x": 0}, merges=[]', "unk_token": '"[UNK]"', "byte_fallback": "True"}),
    "models.BPE.__new__.merges": ('r = [x.as_tuple() for x in lib.models.BPE(**({"vocab": AB, "merges": []} | dict({}))).tokenize("ab")]', 'merges=[("a", "b")]'),
    "models.BPE.__new__.dropout": ('r = len({str([x.as_tuple() for x in lib.models.BPE(V, M, {}).tokenize("hello" * 9)]) for _ in range(9)}) > 1', "dropout=0.5"),
    "models.BPE.__new__.fuse_unk": ('r = [x.as_tuple() for x in lib.models.BPE(V, M, unk_token="[UNK]", {}).tokenize("漢漢")]', "fuse_unk=True"),
    "models.BPE.__new__.ignore_merges": ('r = [x.as_tuple() for x in lib.models.BPE(AB, [], {}).tokenize("ab")]', "ignore_merges=True"),
    "models.BPE.__new__.continuing_subword_prefix": ('r = [x.as_tuple() for x in lib.models.BPE(VP, [], {}).tokenize("abc")]', 'continuing_subword_prefix="##"'),
    "models.BPE.__new__.end_of_word_suffix": ('r = [x.as_tuple() for x in lib.models.BPE(VS, [], {}).tokenize("abc")]', 'end_of_word_suffix="</w>"'),
    "models.BPE.__new__.cache_capacity": ('r = [x.as_tuple() for x in lib.models.BPE(V, M, {}).tokenize("abc")]', "cache_capacity=9"),
    **each("models.Unigram.__new__", 'r = [x.as_tuple() for x in lib.models.Unigram(**({"vocab": UB, "unk_id": 0} | dict({}))).tokenize("aZé")]', {"vocab": '[("x", 0.0), ("a", -1.0)]', "unk_id": "3", "byte_fallback": "True", "alpha": "0.1", "nbest_size": "2"}),
    "models.WordLevel.__new__.vocab": ('r = lib.models.WordLevel(unk_token="a", {}).token_to_id("a")', 'vocab={"a": 7}'),
    "models.WordLevel.__new__.unk_token": ('r = caught(lambda: [x.as_tuple() for x in lib.models.WordLevel(VL, {}).tokenize("zzz")])', 'unk_token="[UNK]"'),
    "models.WordLevel.from_file.unk_token": ('import json; ' + FILE + 'p.write_text(json.dumps(VL)); m = lib.models.WordLevel.from_file(f, {}); r = m.unk_token', 'unk_token="[UNK]"'),
    "models.WordPiece.__new__.vocab": ('r = lib.models.WordPiece({}).token_to_id("a")', 'vocab={"a": 7}'),
    **each("models.WordPiece.__new__", 'm = lib.models.WordPiece(VW, **({"unk_token": "[UNK]"} | dict({}))); r = caught(lambda: [[x.as_tuple() for x in m.tokenize(w)] for w in ("lowers", "字字")])', {"unk_token": '"e"', "continuing_subword_prefix": '""', "max_input_chars_per_word": "2"}),
    "models.Model.save.prefix": (FILE + 'r = [os.path.basename(p) for p in lib.models.BPE(V, M).save(os.path.dirname(f), {})]', 'prefix="p"'),
    "models.Model.save.name": (FILE + 'r = [os.path.basename(p) for p in lib.models.BPE(V, M).save(os.path.dirname(f), {})]', 'name="p"'),
    **each("trainers.BpeTrainer.__new__", trained("BpeTrainer", "BPE"), {**LETTERS, "max_token_length": "3", "progress_format": '"Silent"'}),
    **each("trainers.WordPieceTrainer.__new__", trained("WordPieceTrainer", "WordPiece"), LETTERS),
    **each("trainers.WordLevelTrainer.__new__", trained("WordLevelTrainer", "WordLevel"), {**{name: LETTERS[name] for name in ("min_frequency", "show_progress", "special_tokens")}, "vocab_size": "3"}),
    **each("trainers.UnigramTrainer.__new__", trained("UnigramTrainer", "Unigram", "unk_token='[UNK]', special_tokens=['[UNK]'], vocab_size=24, "), {"n_sub_iterations": "4", "shrinking_factor": "0.3", "max_piece_length": "2", "seed_size": "3", "initial_alphabet": '["z", "q"]', "show_progress": "False"}),
    "trainers.UnigramTrainer.__new__.vocab_size": (trained("UnigramTrainer", "Unigram"), "vocab_size=20"),
    "trainers.UnigramTrainer.__new__.special_tokens": (trained("UnigramTrainer", "Unigram", "vocab_size=24, "), 'special_tokens=["[S]"]'),
    "trainers.UnigramTrainer.__new__.unk_token": (trained("UnigramTrainer", "Unigram", "vocab_size=24, ").replace("r = t.get_vocab()", "r = '[UNK]' in t.get_vocab()"), 'unk_token="[UNK]"'),
}  # fmt: skip
INITS = {
    "ByteLevelBPETokenizer": ("vocab=V, merges=M, ", {"add_prefix_space": "True", "lowercase": "True", "dropout": "0.5", "unicode_normalizer": '"nfc"', "end_of_word_suffix": '"</w>"', "trim_offsets": "True"}),
    "CharBPETokenizer": ("vocab=VS, merges=MS, ", {"unk_token": '"[UNK]"', "suffix": '""', "dropout": "0.5", "lowercase": "True", "unicode_normalizer": '"nfkd"', "bert_normalizer": "False", "split_on_whitespace_only": "True"}),
    "BertWordPieceTokenizer": ("vocab={**VW, '[CLS]': 900, '[SEP]': 901}, ", {"unk_token": '"[CLS]"', "sep_token": '"low"', "cls_token": '"low"', "pad_token": '"low"', "mask_token": '"low"', "clean_text": "False", "handle_chinese_chars": "False", "strip_accents": "False", "lowercase": "False", "wordpieces_prefix": '"_"'}),
    "SentencePieceBPETokenizer": ("vocab=V, merges=M, ", {"unk_token": '"[UNK]"', "replacement": '"_"', "add_prefix_space": "False", "dropout": "0.5", "fuse_unk": "True"}),
    "SentencePieceUnigramTokenizer": ("", {"vocab": "U", "replacement": '"_"', "add_prefix_space": "False"}),
}  # fmt: skip
CORPUS = "['low lower lowest na', 'newest hex hexes'] * 4, "
TRAINED = {
    **{name: LETTERS[name] for name in ("vocab_size", "min_frequency", "special_tokens", "limit_alphabet", "initial_alphabet", "show_progress")},
    "length": "9",
}  # fmt: skip
TRAININGS = {
    "ByteLevelBPETokenizer": {name: TRAINED[name] for name in ("min_frequency", "special_tokens", "show_progress", "length")} | {"vocab_size": "260"},
    "CharBPETokenizer": {**TRAINED, "suffix": '"_"'},
    "BertWordPieceTokenizer": {**TRAINED, "wordpieces_prefix": '"_"'},
    "SentencePieceBPETokenizer": TRAINED,
    "SentencePieceUnigramTokenizer": {**{name: TRAINED[name] for name in ("special_tokens", "initial_alphabet", "show_progress", "length")}, "vocab_size": "17", "unk_token": '"<s>"'},
}  # fmt: skip
for kind, (given, options) in INITS.items():
    for name, value in options.items():
        ROWS[f"implementations.{kind}.__init__.{name}"] = (
            f"r = lib.implementations.{kind}({given}{{}}).to_str()",
            f"{name}={value}",
        )
for kind in ("ByteLevelBPETokenizer", "CharBPETokenizer", "SentencePieceBPETokenizer"):
    for name in ("vocab", "merges"):
        code = f"r = lib.implementations.{kind}({{}}).get_vocab()"
        ROWS[f"implementations.{kind}.__init__.{name}"] = (code, "vocab=AB, merges=[('a', 'b')]")
ROWS["implementations.BertWordPieceTokenizer.__init__.vocab"] = (
    "r = lib.implementations.BertWordPieceTokenizer({}).get_vocab()",
    'vocab={"[CLS]": 0, "[SEP]": 1, "a": 2}',
)
ROWS["implementations.ByteLevelBPETokenizer.__init__.continuing_subword_prefix"] = (
    "r = lib.implementations.ByteLevelBPETokenizer(vocab=VP, merges=[], {}).to_str()",
    'continuing_subword_prefix="##"',
)
for kind, options in TRAININGS.items():
    for name, value in options.items():
        code = f"t = lib.implementations.{kind}(); t.train_from_iterator({CORPUS}{{}}); r = t.get_vocab()"
        ROWS[f"implementations.{kind}.train_from_iterator.{name}"] = (code, f"{name}={value}")
# Options that change no result of the library.
SILENT = {
    "Tokenizer.train_from_iterator.length": "it sizes the bar of progress",
    "models.BPE.__new__.cache_capacity": "it sizes a memory",
    "models.Unigram.__new__.alpha": "it is used with nbest_size only, when texts are sampled",
    "models.Unigram.__new__.nbest_size": "it is used with alpha only",
    **{
        f"trainers.{kind}Trainer.__new__.show_progress": "it shows a bar"
        for kind in ("Bpe", "WordPiece", "WordLevel", "Unigram")
    },
    "trainers.BpeTrainer.__new__.progress_format": "it is the look of a bar",
    **{
        f"implementations.{kind}.train_from_iterator.{name}": "it is of a bar"
        for kind in TRAININGS
        for name in ("show_progress", "length")
    },
}
# Options with another result in the drop-in: UnigramTrainer is SentencePiece's, and the library's ids of marks vary.
UNLIKE = {
    *(name for name in ROWS if name.startswith("trainers.UnigramTrainer")),
    *(name for name in ROWS if name.startswith("trainers.WordPieceTrainer")),
    "trainers.BpeTrainer.__new__.continuing_subword_prefix",
    "trainers.BpeTrainer.__new__.end_of_word_suffix",
    "implementations.SentencePieceBPETokenizer.train_from_iterator.limit_alphabet",  # varies in the library
    *(
        f"implementations.{kind}.train_from_iterator.{name}"
        for kind in TRAININGS
        for name in TRAININGS[kind]
        if kind[:2] in ("Ch", "Be") or "Unigram" in kind
    ),
}
# Options that cannot be compared.
ABSENT = {
    "Tokenizer.async_encode_batch.is_pretokenized": "the library refuses it with a TypeError",
    "Tokenizer.async_encode_batch_fast.is_pretokenized": "the library refuses it with a TypeError",
    "Tokenizer.from_pretrained.revision": "it needs the network",
    "Tokenizer.from_pretrained.token": "it raises NotImplementedError, as tests/compat/test_compat_tokenizers.py shows",
}
