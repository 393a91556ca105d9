"""Valid files, and their JSON with one value replaced: by another type, too large, missing, doubled.

`mutants` lists all of them, and `fuzz/mutants.py` draws some in sequence.
"""

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import toksmith
from toksmith import Model
from toksmith._formats import FORMATS, UNSET, Format
from toksmith._formats.gguf import make_template
from toksmith._formats.texts import FileContent
from toksmith.types import AddedToken, Step

__all__ = ["GOOD", "File", "at", "files", "mutants", "places", "respelt", "spellings"]

TEXT = "low lower lowest newest widest"
# Replacements of a value, in JSON.
VALUES = (
    *("null", "true", "false", "0", "-1", "1", "16777216", "9007199254740993", "1" + "0" * 400, "1e0", "0.5", "-0.0"),
    *('""', '"x"', '"\\u0000"', '"é"', '"<unk>"', '"\\ud800"', "[]", "[[]]", "[1]", '["x"]', "[null]", '[["x"]]'),
    *("{}", '{"a": 1}', '{"id": 0}', "[{}]", "[" * 40 + "]" * 40, "NaN", "Infinity", "1e999", "", "x"),
)
MOST = 3  # number of items of a list, and of names of a long object, that are changed
Path = tuple[str | int, ...]


class File(NamedTuple):
    """A file with JSON in it: its format, the parts around the JSON, and the value of the JSON."""

    format: str
    before: bytes
    value: Any
    behind: bytes
    more: tuple[bytes, ...] = ()  # the other files of the format
    place: int | None = None  # the line of the JSON, in a file with lines

    def load(self, text: str) -> Model:
        """The model of the file with another JSON text."""
        row: Format = FORMATS[self.format]
        data = self.before + text.encode("utf-8", "surrogatepass") + self.behind
        if self.format == "native":
            data += f"sha256 {hashlib.sha256(data).hexdigest()}\n".encode()
        content: Any = (
            [FileContent(f"x{at}", each) for at, each in enumerate((data, *self.more))] if row.files else data
        )
        pattern: Any = None if self.format == "merge_dict" else UNSET
        return row.load(content, "x", pattern=pattern, special_tokens=None)


def train_model(**options: Any) -> Model:
    return toksmith.train(TEXT, progress=False, **options).model


def model_with_post(step: Step) -> Model:
    """Merges, an added token, metadata, and tokens around texts."""
    model = train_model(merges=5, pattern="llama3")
    added = (AddedToken("<|end|>", 270), AddedToken("xx", 271, special=False, lstrip=True))
    fields = {**{name: getattr(model, name) for name in ("ids", "merges", "splitters", "training")}, "post": (step,)}
    return Model(model.tokens, added_tokens=added, metadata={"by": "me"}, **fields)


def with_steps() -> Model:
    """A tokenizer.json with a step of most kinds."""
    split = {"type": "Split", "pattern": {"Regex": r"\d+"}, "behavior": "Isolated", "invert": False}
    bert = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    special = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    around = [special, {"Sequence": {"id": "A", "type_id": 0}}]
    file = {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 3}, "direction": "Left", "pad_to_multiple_of": 2, "pad_id": 0, "pad_type_id": 0, "pad_token": "<s>"},
        "added_tokens": [{"id": 0, "content": "<s>", "single_word": False, "lstrip": True, "rstrip": False, "normalized": False, "special": True}],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "NFC"}, {"type": "BertNormalizer", **bert}, {"type": "Strip", "strip_left": True, "strip_right": False},
            {"type": "Replace", "pattern": {"String": "q"}, "content": "k"}, {"type": "Prepend", "prepend": "l"},
        ]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            split, {"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Isolated"},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}, {"type": "Whitespace"},
        ]},
        "post_processor": {"type": "TemplateProcessing", "single": around, "pair": [*around, {"Sequence": {"id": "B", "type_id": 1}}],
                           "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}, {"type": "WordPiece", "prefix": "##", "cleanup": True},
        ]},
        "model": {"type": "WordLevel", "vocab": {"<s>": 0, "low": 1, "<unk>": 2, "▁": 3}, "unk_token": "<unk>"},
    }  # fmt: skip
    return FORMATS["tokenizer_json"].load(json.dumps(file).encode(), "x", pattern=UNSET, special_tokens=None)


def model_of_ranks() -> Model:
    """Ranks above two special tokens."""
    model = train_model(merges=5, pattern=r"\w+|\W+")
    added = (AddedToken("<unk>", 0), AddedToken("<s>", 1))
    return Model(
        model.tokens, model.ids + 2, merge_rule="bytes", whole_piece=True, splitters=model.splitters, added_tokens=added
    )


GOOD = {
    "steps of HF": with_steps,
    "ranks": model_of_ranks,
    "GPT-2's pattern": lambda: train_model(merges=5, pattern="gpt2_original"),
    "merges": lambda: train_model(merges=5, pattern=None),
    "two patterns": lambda: train_model(merges=5, pattern=["[0-9]", "gpt2_original"]),
    "a template": lambda: model_with_post(make_template((270, "<|end|>"), None)[0]),
    "as BERT": lambda: model_with_post(Step("bert", (("cls", ["<|end|>", 270]), ("sep", ["<|end|>", 270])))),
    "pairs of characters": lambda: train_model(vocab_size=300, unit="char", byte_fallback=True),
    "unigram": lambda: train_model(vocab_size=20, kind="unigram"),
    "WordPiece": lambda: train_model(vocab_size=40, kind="wordpiece", lowercase=True),
    "ends of words": lambda: train_model(vocab_size=40, end_of_word_suffix="</w>"),
    "words": lambda: train_model(kind="words", pattern=r"\w+|\W+"),
    "characters": lambda: train_model(kind="chars"),
}  # fmt: skip
JSON_FORMATS = ("gpt2", "merge_dict", "stoi", "tekken", "tokenizer_json")


@cache
def files(name: str) -> list[File]:
    """The JSON of a good model in each format that can hold it."""
    model = GOOD[name]()
    lines = FORMATS["native"].save(model).split(b"\n")[:-2]  # type: ignore[union-attr]
    found = []
    for place, line in enumerate(lines):
        section, _, text = line.partition(b" ")
        if section in (b"model", b"training", b"metadata"):
            before, behind = (b"".join(each + b"\n" for each in part) for part in (lines[:place], lines[place + 1 :]))
            found.append(File("native", before + section + b" ", json.loads(text), b"\n" + behind, place=place + 1))
    for format in JSON_FORMATS:
        try:
            saved = FORMATS[format].save(model)
        except toksmith.errors.CannotRepresent:
            continue
        first, *more = saved if isinstance(saved, tuple) else (saved,)
        found.append(File(format, b"", json.loads(first), b"", tuple(more[: FORMATS[format].reads - 1])))
    return found


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of each value, starting with the root; in long lists and objects only the first items."""
    yield path
    if isinstance(value, dict):
        for name in [*value][: None if len(value) < 40 else MOST]:
            yield from places(value[name], (*path, name))
    elif isinstance(value, list):
        for at in range(min(len(value), MOST)):
            yield from places(value[at], (*path, at))


def spellings(value: Any) -> Iterator[str]:
    """The replacements of a value."""
    yield from VALUES
    spelt = json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        for name in [*value][:40]:
            left = {other: item for other, item in value.items() if other != name}
            again = json.dumps({name: value[name]}, ensure_ascii=False)
            yield json.dumps(left, ensure_ascii=False)
            yield f"{spelt[:-1]}, {again[1:]}"
        yield json.dumps({**value, "zeal": 1}, ensure_ascii=False)
    elif isinstance(value, list) and value:
        yield json.dumps(value[1:], ensure_ascii=False)
        yield json.dumps([*value, value[0]], ensure_ascii=False)


def respelt(value: Any, path: Path, spelling: str) -> str:
    """The JSON of a value with other text at a path."""
    mark = "\ue000here\ue000"
    return json.dumps(put(value, path, mark), ensure_ascii=False).replace(f'"{mark}"', spelling)


def put(value: Any, path: Path, new: Any) -> Any:
    """A copy of a value with `new` at a path."""
    if not path:
        return new
    if isinstance(value, dict):
        return {**value, path[0]: put(value[path[0]], path[1:], new)}
    return [put(item, path[1:], new) if at == path[0] else item for at, item in enumerate(value)]


def at(value: Any, path: Path) -> Any:
    """The value at a path."""
    for step in path:
        value = value[step]
    return value


def mutants(value: Any) -> Iterator[tuple[str, str]]:
    """Every JSON text with one change, each with its place."""
    for path in places(value):
        for spelling in spellings(at(value, path)):
            yield f"{'.'.join(map(str, path))}: {spelling[:40]}", respelt(value, path, spelling)
