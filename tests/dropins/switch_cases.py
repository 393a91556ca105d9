"""Sessions for `toksmith.accelerate`: a tokenizer of transformers, calls of it, and changes of it between the calls.

A session is Python: a definition of the tokenizer `f`, and lines. It runs twice, on the library and with the switch; each
line's result, what it logs and the state that it leaves are a case. The names of a line are those of `dropins.tokenizers_features`,
`lib` (tokenizers), `Fast` (transformers' class), the modules that `NAMES` lists, and `kept`, an earlier result.
"""

import copy
import functools
import json
import logging
import pickle
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from trainings import trained

from dropins import Case, transformers_cases
from dropins import tokenizers_features as definitions
from dropins import tokenizers_texts as drawn
from dropins.tokenizers_cases import COLUMNS, Values, fields, namespace, outcome
from toksmith.compat import tokenizers as ours

ENCODED = ("f(", "f.encode(", "f.tokenize(", "f.apply_chat_template(", "kept = f(")
MOST_TOKENS = 150  # of a result whose every place is compared; of longer results, the columns are
LINES = 24
CORPUS = (
    "low lower lowest newest wide the hello world, Hello HEY New York ing abc. It's 12 newer; don't 3.14 x_y é ﬁ 漢字 Привет! "
    * 3
)
MARKS = ["<unk>", "<s>", "</s>", "<pad>", "<mask>", "<|endoftext|>"]
BERT = ["[PAD]", "[CLS]", "[SEP]", "[MASK]"]
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


@functools.cache
def file_of(kind: str) -> str:
    """The tokenizer.json of a small trained model."""
    options: dict[str, dict[str, Any]] = {
        "gpt2": {"pattern": "gpt2"},
        "llama3": {"pattern": "llama3"},
        "bert": {"kind": "wordpiece", "character_coverage": 1.0, "special_tokens": BERT},
        "llama2": {"unit": "char", "byte_fallback": True, "special_tokens": MARKS[1:]},
        "unigram": {"kind": "unigram", "special_tokens": MARKS[1:]},
    }
    size = {"unigram": 120, "bert": 150}.get(kind, 420)
    tok = trained(CORPUS, size, **{"special_tokens": MARKS, **options[kind]})
    if kind != "unigram":
        return ours.Tokenizer(tok).to_str()
    return ours.Tokenizer(tok, allow_loss=("scores", "decoders", "normalizers")).to_str()


def around(single: str, pair: str, *tokens: str) -> str:
    """Code that sets a template."""
    ids = ", ".join(f"({token!r}, t.token_to_id({token!r}))" for token in tokens)
    return f"t.post_processor = lib.processors.TemplateProcessing({single!r}, {pair!r}, [{ids}])"


def made(kind: str, *more: str, **named: str) -> str:
    """Code that makes `f` of a small file."""
    given = "".join(f", {name}={value!r}" for name, value in named.items())
    return "; ".join([f"t = lib.Tokenizer.from_str(file_of({kind!r}))", *more, f"f = Kind(tokenizer_object=t{given})"])


USUAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
OWN = {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
BYTES = "lib.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)"
SPLIT = f"lib.pre_tokenizers.Split(lib.Regex({LLAMA3!r}), 'isolated')"
VOCAB_OF = "v = json.loads(file_of({!r}))['model']"
# After a change of a model in place, the library gives the ids of before for words that it has seen.
FORGET = "f._tokenizer.model._clear_cache()"
# Structures of published families, and the changes in place that fit their parts.
STRUCTURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "GPT-2": (
        made("gpt2", **OWN),
        ("f._tokenizer.pre_tokenizer.add_prefix_space = True", "f._tokenizer.pre_tokenizer.use_regex = False"),
    ),
    "GPT-2's class": (
        f"{VOCAB_OF.format('gpt2')}; f = transformers.GPT2Tokenizer(vocab=v['vocab'], merges=[*map(tuple, v['merges'])], pad_token='<pad>')",
        ("f.add_bos_token = True", "f._tokenizer.pre_tokenizer.trim_offsets = False"),
    ),
    "Roberta": (
        made(
            "gpt2",
            "t.pre_tokenizer = lib.pre_tokenizers.ByteLevel(add_prefix_space=True)",
            'e, s = t.token_to_id("</s>"), t.token_to_id("<s>")',
            't.post_processor = lib.processors.RobertaProcessing(("</s>", e), ("<s>", s))',
            **USUAL,
            mask_token="<mask>",
        ),
        ("f._tokenizer.post_processor.trim_offsets = False", "f._tokenizer.post_processor.add_prefix_space = False"),
    ),
    "Llama 3": (
        made(
            "llama3",
            f"t.pre_tokenizer = lib.pre_tokenizers.Sequence([{SPLIT}, {BYTES}])",
            f"{around('<s> $A', '<s> $A <s>:1 $B:1', '<s>')}; t.post_processor = lib.processors.Sequence([lib.processors.ByteLevel(trim_offsets=False), t.post_processor])",
            **USUAL,
        ),
        (
            "f._tokenizer.pre_tokenizer[1] = lib.pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)",
            "f._tokenizer.pre_tokenizer[1].add_prefix_space = True",
            "f._tokenizer.post_processor[1] = lib.processors.ByteLevel()",
            f"f._tokenizer.model.ignore_merges = False; {FORGET}",
            "f.add_eos_token = True",
        ),
    ),
    "Qwen": (
        made("llama3", "t.normalizer = lib.normalizers.NFC()", f"t.pre_tokenizer = lib.pre_tokenizers.Sequence([{SPLIT}, {BYTES}])", **OWN),
        ("f._tokenizer.normalizer = None", "f.add_tokens(['E\u0301'])"),
    ),
    "Bert": (
        made(
            "bert",
            "t.normalizer = lib.normalizers.BertNormalizer()",
            "t.pre_tokenizer = lib.pre_tokenizers.BertPreTokenizer()",
            "t.decoder = lib.decoders.WordPiece()",
            around("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", "[CLS]", "[SEP]"),
            unk_token="[UNK]",
            cls_token="[CLS]",
            sep_token="[SEP]",
            pad_token="[PAD]",
            mask_token="[MASK]",
        ),
        (
            "f._tokenizer.normalizer.lowercase = False",
            "f._tokenizer.normalizer.strip_accents = False",
            "f._tokenizer.model.max_input_chars_per_word = 3",
            "f._tokenizer.model.continuing_subword_prefix = '@@'",
            "f._tokenizer.decoder.cleanup = False",
        ),
    ),
    "Bert's class": (
        f"{VOCAB_OF.format('bert')}; f = transformers.BertTokenizer(vocab=v['vocab'])",
        ("f._tokenizer.normalizer.lowercase = False", "f._tokenizer.model.unk_token = '[MASK]'"),
    ),
    "Llama 2": (
        made("llama2", around("<s> $A", "<s> $A <s>:1 $B:1", "<s>"), **USUAL),
        (
            "f._tokenizer.normalizer = lib.normalizers.Prepend('▁')",
            f"f._tokenizer.model.byte_fallback = False; {FORGET}",
            f"f._tokenizer.model.fuse_unk = False; {FORGET}",
        ),
    ),
    "Llama 2's class": (
        f"{VOCAB_OF.format('llama2')}; f = transformers.LlamaTokenizer(vocab=v['vocab'], merges=[*map(tuple, v['merges'])], pad_token='<pad>')",
        ("f._tokenizer.pre_tokenizer.prepend_scheme = 'always'", "f.add_eos_token = True", "f.add_bos_token = False"),
    ),
    "T5": (
        made("unigram", "t.pre_tokenizer = lib.pre_tokenizers.Metaspace()", around("$A </s>", "$A </s> $B </s>", "</s>"), **USUAL),
        ("f._tokenizer.pre_tokenizer.prepend_scheme = 'never'", "f._tokenizer.pre_tokenizer.replacement = '_'", "f._tokenizer.pre_tokenizer.split = False"),
    ),
    "Albert": (
        made(
            "unigram",
            "t.normalizer = lib.normalizers.Sequence([lib.normalizers.Replace('``', '\"'), lib.normalizers.NFKD(), lib.normalizers.StripAccents(), lib.normalizers.Lowercase()])",
            "t.pre_tokenizer = lib.pre_tokenizers.Metaspace()",
            around("<s> $A </s>", "<s> $A </s> $B:1 </s>:1", "<s>", "</s>"),
            **USUAL,
        ),
        ("f._tokenizer.normalizer[3] = lib.normalizers.NFC()", "f._tokenizer.normalizer[0].content = 'low'"),
    ),
}  # fmt: skip
# Classes whose methods differ from transformers' own.
KINDS: dict[str, str] = {
    "_encode_plus": "def _encode_plus(self, text=None, *more, **options): return super()._encode_plus(text.upper() if isinstance(text, str) else text, *more, **options)",
    "_decode": "def _decode(self, token_ids, *more, **options): return super()._decode(token_ids, *more, **options) + '!'",
    "_convert_encoding": "def _convert_encoding(self, *more, **options):\n  found, each = super()._convert_encoding(*more, **options); found['more'].append(1); return found, each",
    "set_truncation_and_padding": "def set_truncation_and_padding(self, *more, **options): self._tokenizer.no_padding()",
    "_eventual_warn_about_too_long_sequence": "def _eventual_warn_about_too_long_sequence(self, ids, *more): ids.append(7)",
    "__call__": "def __call__(self, text, *more, **options): return super().__call__(text, *more, **{'add_special_tokens': False, **options})",
    "_add_tokens": "def _add_tokens(self, tokens, *more, **options): return super()._add_tokens(tokens[:1], *more, **options)",
    "_tokenizer": "@property\n def _tokenizer(self): self.looked = getattr(self, 'looked', 0) + 1; return self.inner\n @_tokenizer.setter\n def _tokenizer(self, value): self.inner = value",
    "_switch_to_input_mode": "def _switch_to_input_mode(self): self.add_prefix = True\n def _switch_to_target_mode(self): self._tokenizer.post_processor = lib.processors.ByteLevel()",
    "model_input_names": "model_input_names = ['input_ids', 'token_type_ids', 'special_tokens_mask']",
}
OPTIONS: dict[str, tuple[str, ...]] = {
    "add_special_tokens": ("False", "False", "True", "None", "0"),
    "padding": ("True", "True", "False", '"longest"', '"max_length"', '"max_length"', '"do_not_pad"', '"other"'),
    "truncation": ("True", "True", "False", '"longest_first"', '"only_first"', '"only_second"', '"do_not_truncate"'),
    "max_length": ("0", "1", "2", "3", "4", "5", "6", "8", "20", "-1"),
    "stride": ("0", "1", "2", "4", "9"),
    "pad_to_multiple_of": ("1", "4", "8", "0"),
    "padding_side": ('"left"', '"left"', '"right"', '"up"'),
    "return_tensors": ('"np"', '"np"', '"np"', '"other"', "None"),
    "return_token_type_ids": ("True", "False", "None"),
    "return_attention_mask": ("True", "False", "None"),
    "return_special_tokens_mask": ("True", "True", "False", "1"),
    "return_offsets_mapping": ("True", "True", "False"),
    "return_length": ("True", "False"),
    "return_overflowing_tokens": ("True", "False"),
    "split_special_tokens": ("True", "False", "None"),
    "verbose": ("False", "True"),
    "is_split_into_words": ("True",),
    "text_target": ('"low"', '["low", "the newest"]'),
    "tokenizer_kwargs": ("{'add_special_tokens': False, 'return_length': True}",),
    "unknown": ("1",),
}
RARE = {"is_split_into_words", "text_target", "tokenizer_kwargs", "unknown"}
WRONG = (
    *("7", "None", "[1, 2]", "[None]", '["a", 1]', 'b"low"', '[["a", "b"], "c"]', '{"text": "low"}', '[("a", "b", "c")]', "f", "1.5"),
    *('iter(["low"])', 'np.array(["low", "the"])', "[[]]", "[]", "()", '("low", "the hello")', '[["low", "er"], ["the"]]', "Text('low lower')"),
    *('["low", Text("the")]', "[('low', 'the'), ('a', 'b')]", "[['low', 'the'], 'a']", "'\\ud800 low'", "['a', '\\udfff']", '[["low", None]]'),
)  # fmt: skip
DECODING = (
    *("", "", ", skip_special_tokens=True", ", skip_special_tokens=True", ", clean_up_tokenization_spaces=True", ", skip_special_tokens=1"),
    *(", skip_special_tokens=True, clean_up_tokenization_spaces=False", ", use_source_tokenizer=True", ", spaces_between_special_tokens=False"),
)  # fmt: skip
CHANGES = (
    *transformers_cases.AFTER[3:],
    *(f"f._tokenizer.normalizer = lib.normalizers.{each}" for each in definitions.NORMALIZERS),
    *(f"f._tokenizer.pre_tokenizer = lib.pre_tokenizers.{each}" for each in definitions.PRE_TOKENIZERS),
    *(f"f._tokenizer.decoder = lib.decoders.{each}" for each in definitions.DECODERS),
    *(
        f"t = f._tokenizer; {definitions.SPECIALS}; t.post_processor = lib.processors.{each}"
        for each in definitions.PROCESSORS
    ),
    *(f"f._tokenizer.{part} = None" for part in ("normalizer", "pre_tokenizer", "decoder", "post_processor")),
    "f._tokenizer.model = lib.models.BPE({'l': 0, 'o': 1, 'w': 2, 'lo': 3, '[UNK]': 4}, [('l', 'o')], unk_token='[UNK]')",
)
SETTINGS = (
    *("f.padding_side = 'left'", "f.truncation_side = 'left'", "f.pad_token = 'low'", "f.pad_token = None", "f.pad_token = '<new pad>'"),
    *("f.model_max_length = 4", "f.model_input_names = ['input_ids']", "f.model_input_names = ['input_ids', 'token_type_ids', 'attention_mask']"),
    *("f.split_special_tokens = True", "f.clean_up_tokenization_spaces = True", "f.chat_template = CHAT", "f.deprecation_warnings = {}"),
    *("f._tokenizer.no_truncation()", "f._tokenizer.no_padding()", "f._tokenizer.encode_special_tokens = True", "f._pad_token_type_id = 3"),
    *(f"f._tokenizer.enable_truncation({each})" for each in definitions.TRUNCATIONS[::7]),
    *(f"f._tokenizer.enable_padding({each})" for each in definitions.PADDINGS),
)  # fmt: skip
COPIES = (
    *("f = copy.deepcopy(f)", "f = copy.copy(f)", "f = pickle.loads(pickle.dumps(f))", "f._tokenizer = lib.Tokenizer.from_str(f._tokenizer.to_str())"),
    *("f._tokenizer = copy.deepcopy(f._tokenizer)", "f._tokenizer = pickle.loads(pickle.dumps(f._tokenizer))", "g = f; f = copy.copy(f); g.add_tokens(['other'])"),
    *("f = Fast(tokenizer_object=f._tokenizer)", "g = copy.deepcopy(f); g._tokenizer.normalizer = lib.normalizers.Lowercase()"),
    *("g = lib.Tokenizer(f._tokenizer.model); g.normalizer = f._tokenizer.normalizer", "f.__dict__['x'] = 1"),
)  # fmt: skip
TRAINED = ("gpt2", "llama3")  # there, training leaves nothing to chance
TRAIN = (
    'f = f.train_new_from_iterator([["low lower lowest newest", "the hello"]], 300, show_progress=False)',
    't = f._tokenizer; t.train_from_iterator(["low lower lowest", "the"], lib.trainers.BpeTrainer(vocab_size=320, special_tokens=["<s>"], initial_alphabet=lib.pre_tokenizers.ByteLevel.alphabet(), show_progress=False)); t.model._clear_cache()',
)


class Text(str):
    """A subclass of `str`."""


NAMES: Values = {name: value for name, value in vars(definitions).items() if name.isupper()}
NAMES |= {
    "kept": None,
    "copy": copy,
    "pickle": pickle,
    "json": json,
    "np": np,
    "Text": Text,
    "file_of": file_of,
    "CHAT": transformers_cases.CHAT,
}


class Session(NamedTuple):
    """A tokenizer's definition, and the lines that follow; `about` names what was drawn."""

    about: str
    code: str
    lines: tuple[str, ...]


def session(rng: random.Random, count: int = LINES) -> Session:
    """A drawn session."""
    about, code, own = definition(rng)
    lines = [f"kept = f({drawn.text(rng)!r})"]
    while len(lines) < count:
        lines += changes(rng, about, own) if rng.random() < 0.16 else [call(rng)]
    return Session(about, code, tuple(lines))


def definition(rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
    """What is drawn, the code that makes `f`, and changes of its parts."""
    if rng.random() < 0.25:
        name, code = transformers_cases.definition(rng)
        return f"parts: {name}", code, ()
    name = rng.choice([*STRUCTURES])
    code, own = STRUCTURES[name]
    if "Kind(" in code and rng.random() < 0.2:
        method = rng.choice([*KINDS])
        return f"{name}, with its own {method}", f"class Kind(Fast):\n {KINDS[method]}\n{code}", own
    return name, code.replace("Kind(", "Fast("), own


def changes(rng: random.Random, about: str, own: tuple[str, ...]) -> list[str]:
    """One or two lines that change the tokenizer, or what its calls use."""
    kind = rng.random()
    if kind < 0.3 and own:
        return [rng.choice(own)]
    if kind < 0.5:
        return [rng.choice(CHANGES)]
    if kind < 0.8:
        return [rng.choice(SETTINGS)]
    if kind < 0.85 and about in ("GPT-2", "Llama 3", "Qwen"):
        return [rng.choice(TRAIN)]
    return [rng.choice(COPIES)]


def call(rng: random.Random) -> str:
    """A call; one in ten keeps its result for a later line."""
    kind = rng.random()
    if kind < 0.58:
        return encoding(rng)
    if kind < 0.64:
        return f"kept = {encoding(rng)}"
    if kind < 0.68:
        return rng.choice(
            (
                "kept",
                "pickle.loads(pickle.dumps(kept))",
                "kept.char_to_token(1)",
                "kept.word_ids(0)",
                "kept.convert_to_tensors('np')",
                "kept[0]",
            )
        )
    if kind < 0.86:
        return decoding(rng)
    text, pair = drawn.text(rng), drawn.text(rng)
    messages = [{"role": role, "content": drawn.text(rng)} for role in ("user", "assistant", "user")]
    template = (
        f"chat_template=CHAT, tokenize=True{options(rng, ('padding', 'truncation', 'max_length', 'return_tensors'))}"
    )
    return rng.choice((
        f"f.encode({text!r}{options(rng)})",
        f"f.encode({text!r}, {pair!r}{options(rng)})",
        f"f.tokenize({text!r})",
        f"f.tokenize({text!r}, {pair!r}, add_special_tokens=True)",
        f"f.apply_chat_template({messages!r}, {template})",
        f"f.apply_chat_template({[messages, messages[:1]]!r}, add_generation_prompt=True, {template})",
        f"f.apply_chat_template({messages!r}, return_dict=False, {template})",
        f"f.pad(f({[text, pair]!r}), return_tensors='np')",
        f"[{{**f(each)}} for each in {[text, pair]!r}]",
        f"f._tokenizer.encode_batch({[text, pair]!r})",
        "(f.num_special_tokens_to_add(), f.num_special_tokens_to_add(True), len(f), f.vocab_size, f.all_special_ids)",
        f"f.get_special_tokens_mask(f({text!r})['input_ids'], already_has_special_tokens=True)",
    ))  # fmt: skip


def encoding(rng: random.Random) -> str:
    """A call of the tokenizer."""
    texts, more = given(rng), options(rng)
    return f"f({texts}{more.replace(', is_split_into_words=True', '') if 'is_split' in texts else more})"


def given(rng: random.Random) -> str:
    """The texts of a call."""
    kind = rng.random()
    text, pair = drawn.text(rng), drawn.text(rng)
    if kind < 0.35:
        return repr(text)
    if kind < 0.45:
        return f"{text!r}, {pair!r}"
    if kind < 0.7:
        return repr([drawn.text(rng) for _ in range(rng.choice((1, 2, 3, 3, 9)))])
    if kind < 0.78:
        return f"{[text, pair]!r}, {[drawn.text(rng), drawn.text(rng)]!r}"
    if kind < 0.84:
        return repr([(drawn.text(rng), drawn.text(rng)), (text, pair)])
    if kind < 0.9:
        words: Any = [drawn.words(rng) for _ in range(rng.choice((1, 2, 3)))]
        return f"{(words[0] if len(words) == 1 else words)!r}, is_split_into_words=True"
    if kind < 0.92:
        return f"{drawn.words(rng)!r}, {drawn.words(rng)!r}, is_split_into_words=True"
    if kind < 0.94:
        return repr(text * rng.choice((20, 60)))
    return rng.choice(WRONG)


def options(rng: random.Random, among: tuple[str, ...] = ()) -> str:
    """Options of a call, most often few."""
    names = [*(among or OPTIONS)]
    chosen = rng.sample(names, min(len(names), rng.choice((0, 0, 1, 1, 2, 3, 4, 6))))
    kept = [name for name in chosen if name not in RARE or rng.random() < 0.1]
    if "truncation" in kept and "max_length" not in kept and rng.random() < 0.8:
        kept.append("max_length")
    return "".join(f", {name}={rng.choice(OPTIONS[name])}" for name in kept)


def decoding(rng: random.Random) -> str:
    """A call that decodes."""
    ids, more = drawn.numbers(rng, 430), rng.choice(DECODING)
    shapes = (
        *(repr(ids), repr(ids), repr([ids, drawn.numbers(rng, 430)]), f"np.array({ids!r})", f"tuple({ids!r})", str(rng.randrange(430))),
        *(f"np.int64({rng.randrange(430)})", f"{{'input_ids': {ids!r}}}", f"f({drawn.text(rng)!r})['input_ids']", f"[*map(np.int64, {ids!r})]"),
        *(f"f({[drawn.text(rng)]!r}, return_tensors='np')['input_ids']", "[-1]", "[2**32]", "[1.0]", "None", "'low'", "[None]", "[True, 5]", "[]", "[[]]"),
    )  # fmt: skip
    shape = rng.choice(shapes[:11]) if rng.random() < 0.85 else rng.choice(shapes)
    kind = rng.random()
    if kind < 0.6:
        return f"f.decode({shape}{more})"
    if kind < 0.8:
        return f"f.batch_decode({shape}{more})"
    if kind < 0.9:
        skip = rng.choice(("", "skip_special_tokens=True"))
        return f"(lambda s: [s.step(f._tokenizer, each) for each in {ids!r}])(lib.decoders.DecodeStream({skip}))"
    return f"f.convert_tokens_to_string(f.convert_ids_to_tokens([each % len(f) for each in {ids!r}]))"


def shown(value: Any) -> Values:
    """The fields of any result; values of another type differ."""
    if type(value).__name__ != "BatchEncoding":
        if isinstance(value, list) and value and type(value[0]).__name__ == "Encoding":
            return {
                f"{place} {name}": field for place, each in enumerate(value) for name, field in fields(each).items()
            }
        return {"result": plain(value)}
    found: Values = {"data": {name: plain(field) for name, field in value.data.items()}, "names": [*value.data]}
    encodings = value.encodings
    found |= {
        "is_fast": value.is_fast,
        "n_sequences": value.n_sequences,
        "encodings": encodings is not None and len(encodings),
    }
    if sum(len(each) * (1 + len(each.overflowing)) for each in encodings or ()) > MOST_TOKENS:
        return found | {name: [getattr(each, name) for each in encodings] for name in COLUMNS}
    for place, each in enumerate(encodings or ()):
        found |= {f"{place} {name}": field for name, field in fields(each).items()}
        found |= {f"{place} {name}": getattr(value, name)(place) for name in ("tokens", "word_ids", "sequence_ids")}
    return found


def plain(value: Any) -> str:
    """The value as text with its types, arrays with theirs."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tolist()!r}"
    return repr(value)


class Log(logging.Handler):
    """What transformers logs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {record.name} {record.getMessage()}")


def run(played: Session, names: Values) -> list[Values]:
    """The outcome of the definition and of each line."""
    warning_once: Any = getattr(logging.Logger, "warning_once")  # noqa: B009 - transformers adds it
    warning_once.cache_clear()
    log, logger = Log(), logging.getLogger("transformers")
    logger.addHandler(log)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            space = namespace(played.code, **NAMES, **names)
            found = [{"raises": repr(space["made"])} if "made" in space else {"state": state(space["f"])}]
            for line in played.lines if "made" not in space else ():
                values, error = outcome(functools.partial(play, line, space), shown)
                if error is not None:
                    values["message"] = str(error)
                values |= {"log": [*log.lines], "warnings": [str(each.message) for each in warned]}
                found.append(values | {"state": state(space["f"])})
                log.lines.clear()
                warned.clear()
            if "made" not in space:
                content, error = outcome(space["f"]._tokenizer.to_str, shown)
                found.append({**content, "error": str(error)})
    finally:
        logger.removeHandler(log)
    return found


def play(line: str, names: Values) -> Any:
    """The result of a line; None of a statement."""
    try:
        code = compile(line, "<line>", "eval")
    except SyntaxError:
        exec(line, names)
        return names.get("kept") if line.startswith("kept") else None
    return eval(code, names)


def state(tok: Any) -> Values:
    """What a call leaves on the tokenizer; after a panic, the library's own tokenizer can refuse to tell."""
    backend = tok._tokenizer
    lengths, error = outcome(lambda: (backend.truncation, backend.padding, backend.encode_special_tokens), shown)
    return {
        **lengths,
        "error": str(error),
        "deprecation_warnings": {**tok.deprecation_warnings},
        "attributes": sorted(vars(tok)),
    }


def cases(played: Session, names: Values, switched: Callable[[], AbstractContextManager[Any]]) -> Iterator[Case]:
    """The cases of a session: on the library, and with the switch."""
    theirs = run(played, names)
    with switched():
        own = run(played, names)
    lines = ["(its definition)", *played.lines, "(its content at the end)"]
    for place, (peer, mine) in enumerate(zip(theirs, own, strict=True)):
        before = "\n".join([played.code, *lines[1 : place + 1]])
        yield Case(played.about, before, peer, mine, {"session": played, "line": lines[place], "place": place})


def shortened(played: Session, place: int, cases: Callable[[Session], Iterator[Case]]) -> Session:
    """The session up to a line that differs, without the lines that the difference does not need."""

    def differs(lines: list[str]) -> bool:
        return any(case.peer != case.ours for case in cases(played._replace(lines=tuple(lines))))

    kept = [*played.lines[:place]]
    if differs(kept[-1:]):
        kept = kept[-1:]
    for at in range(len(kept) - 2, -1, -1) if len(kept) <= LINES else ():
        fewer = [*kept[:at], *kept[at + 1 :]]
        if differs(fewer):
            kept = fewer
    return played._replace(lines=tuple(kept))
