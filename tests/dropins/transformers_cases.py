"""Cases of `PreTrainedTokenizerFast` of transformers, with the library `tokenizers` or the drop-in as its backend.

The code of a case is run with `lib`, the library or the drop-in, and with `Fast`, the class.
"""

import random
from collections.abc import Iterator
from typing import Any

from dropins import Case, tokenizers_cases
from dropins import tokenizers_features as definitions
from dropins import tokenizers_texts as drawn
from dropins.tokenizers_cases import MOST_MADE, Values, called, fields, namespace, unmade

TEMPLATE = (
    f"{definitions.SPECIALS}; "
    't.post_processor = lib.processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> $B:1 </s>:1", [("<s>", s), ("</s>", e)])'
)
PARTS = {
    "plain": "",
    "a template": f"; {TEMPLATE}",
    "Bert": f'; {definitions.SPECIALS}; t.post_processor = lib.processors.BertProcessing(("</s>", e), ("<s>", s))',
    "Roberta": f'; {definitions.SPECIALS}; t.post_processor = lib.processors.RobertaProcessing(("</s>", e), ("<s>", s))',
    "NFD": "; t.normalizer = lib.normalizers.NFD()",
    "NFKC": f"; t.normalizer = lib.normalizers.NFKC(); {TEMPLATE}",
    "added tokens": '; t.add_tokens(["New York", lib.AddedToken("<mask>", lstrip=True, special=True), lib.AddedToken("ing", single_word=True)])',
    "truncation and padding": f'; {TEMPLATE}; t.enable_truncation(7, stride=1); t.enable_padding(length=9, pad_id=1, pad_token="</s>")',
}
CHAT = "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>assistant: {% endif %}"
INITS = (
    *(
        "",
        'pad_token="[UNK]"',
        'pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="[UNK]"',
        'cls_token="<s>", sep_token="</s>", pad_token="low"',
    ),
    *('pad_token="<pad>", padding_side="left"', 'pad_token="<pad>", truncation_side="left"', "model_max_length=6"),
    *(
        "clean_up_tokenization_spaces=True",
        'extra_special_tokens=["<x>", "low"]',
        'pad_token="<pad>", split_special_tokens=True',
    ),
    *('model_input_names=["input_ids"]', f'bos_token="<s>", pad_token="</s>", chat_template={CHAT!r}'),
)
AFTER = (
    *("", "", "", 'f.add_tokens(["<new>", "é", " x "])', 'f.add_tokens(["hello"], special_tokens=True)'),
    *(
        'f.add_special_tokens({"mask_token": "<mask>"})',
        'f.add_special_tokens({"extra_special_tokens": ["ing", "<y>"]})',
    ),
    'f.add_tokens([lib.AddedToken("New York", lstrip=True, rstrip=True)])',
)
PADDING = (
    "",
    "padding=True",
    'padding="max_length"',
    'padding="longest", pad_to_multiple_of=4',
    'padding=True, padding_side="left"',
)
TRUNCATION = (
    *(
        "",
        "truncation=True",
        "truncation=True, max_length=6",
        'truncation="only_first", max_length=5',
        'truncation="only_second", max_length=5',
    ),
    *(
        "truncation=True, max_length=5, stride=1",
        "truncation=True, max_length=6, stride=2, return_overflowing_tokens=True",
        "max_length=7",
    ),
)
RETURNS = (
    *(
        "return_offsets_mapping=True",
        "return_special_tokens_mask=True",
        "return_length=True",
        "return_token_type_ids=True",
    ),
    *(
        "return_attention_mask=False",
        "add_special_tokens=False",
        "return_overflowing_tokens=True",
        "split_special_tokens=True",
    ),
)


def shown(value: Any) -> Values:
    """The fields of any result."""
    if type(value).__name__ != "BatchEncoding":
        return tokenizers_cases.shown(value)
    found = {f"data {name}": field for name, field in value.data.items()}
    for place, each in enumerate(value.encodings or ()):
        found |= {f"{place} {name}": field for name, field in fields(each).items()}
        found[f"{place} word_ids of the batch"] = value.word_ids(place)
        found[f"{place} sequence_ids of the batch"] = value.sequence_ids(place)
    return found


def encoding(rng: random.Random) -> str:
    """A call that encodes."""
    text, pair = drawn.text(rng), drawn.text(rng)
    kind = rng.random()
    if kind < 0.3:
        given = repr(text)
    elif kind < 0.5:
        given = f"{text!r}, {pair!r}"
    elif kind < 0.75:
        given = repr([text, pair, drawn.text(rng)])
    elif kind < 0.85:
        given = f"{[text, pair]!r}, {[drawn.text(rng), drawn.text(rng)]!r}"
    else:
        given = f"{[drawn.words(rng) or ['a'] for _ in range(2)]!r}, is_split_into_words=True"
    options = [rng.choice(PADDING), rng.choice(TRUNCATION), *rng.sample(RETURNS, rng.choice((0, 0, 1, 2)))]
    named = dict(option.split("=", 1) for each in options if each for option in each.split(", "))
    return f"f({', '.join([given, *(f'{name}={value}' for name, value in named.items())])})"


def other(rng: random.Random, size: int, known: list[str]) -> str:
    """Any other call."""
    text, ids, tokens = drawn.text(rng), drawn.numbers(rng, size), drawn.tokens(rng, known)
    skip = rng.choice(
        (
            "",
            ", skip_special_tokens=True",
            ", clean_up_tokenization_spaces=True",
            ", skip_special_tokens=True, clean_up_tokenization_spaces=False",
        )
    )
    messages = [{"role": role, "content": drawn.text(rng)} for role in ("user", "assistant", "user")]
    more = rng.choice(
        (
            "tokenize=False",
            "tokenize=False, add_generation_prompt=True",
            "return_dict=False",
            "add_generation_prompt=True, return_dict=True",
        )
    )
    return "f." + rng.choice(
        (
            *(
                f"decode({ids!r}{skip})",
                f"batch_decode({[ids, drawn.numbers(rng, size)]!r}{skip})",
                f"encode({text!r}, {drawn.text(rng)!r})",
            ),
            *(
                f"convert_ids_to_tokens({ids!r}{rng.choice(('', ', skip_special_tokens=True'))})",
                f"convert_tokens_to_ids({tokens!r})",
            ),
            *(
                f"convert_tokens_to_string({tokens!r})",
                f"tokenize({text!r})",
                f"tokenize({text!r}, add_special_tokens=True)",
            ),
            *(
                f"apply_chat_template({messages!r}, {more})",
                "get_vocab()",
                "vocab_size",
                "added_tokens_decoder",
                "added_tokens_encoder",
            ),
            *(
                "all_special_tokens",
                "all_special_ids",
                "special_tokens_map",
                "num_special_tokens_to_add(True)",
                "__len__()",
                "is_fast",
            ),
        )
    )


def definition(rng: random.Random) -> tuple[str, str]:
    """A feature, and the code that makes a tokenizer `f`."""
    base, part, init, after = (
        rng.choice([*definitions.BASES]),
        rng.choice([*PARTS]),
        rng.choice(INITS),
        rng.choice(AFTER),
    )
    if rng.random() < 0.7:  # one feature at a time
        part, init, after = rng.choice(
            ((part, INITS[2], ""), ("a template", init, ""), ("a template", INITS[2], after))
        )
    code = f"{definitions.BASES[base]}{PARTS[part]}; f = Fast(tokenizer_object=t{', ' if init else ''}{init})"
    return (
        f"{part}; {init.split('=')[0] or 'no arguments'}; {after.split('(')[0] or 'nothing added'}",
        f"{code}; {after}",
    )


def cases(count: int, seed: int, libraries: tuple[tuple[Any, Any], tuple[Any, Any]]) -> Iterator[Case]:
    """Draw `count` cases; a library is a module and a class."""
    rng = random.Random(seed)
    made: dict[str, list[Values]] = {}
    for _ in range(count):
        name, code = definition(rng)
        if code not in made:
            if len(made) == MOST_MADE:
                made.clear()
            made[code] = [namespace(code, lib=library, Fast=fast) for library, fast in libraries]
        theirs, own = made[code]
        if "made" in theirs or "made" in own:
            yield unmade(name, code, theirs, own, {"code": code})
            continue
        known = theirs.setdefault("known", [*theirs["t"].get_vocab()])
        line = encoding(rng) if rng.random() < 0.65 else other(rng, len(known), known)
        yield called(name, code, line, (theirs, own), {"code": code, "call": line}, shown)
