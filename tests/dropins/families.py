"""Families of models as tokenizer.json: their structure, on small vocabularies that are trained for it.

A `Family` has the parts of the published file, without its vocabulary. `Maker` trains the vocabulary with the same
parts, and spells the whole file. `cases` compares the file in the library and in the drop-in.
"""

import base64
import functools
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from drawn_texts import Drawing
from hard_texts import HARD_TEXTS
from peers import scalar

from dropins import Case
from dropins import tokenizers_texts as drawn
from dropins.tokenizers_cases import called
from dropins.tokenizers_features import PADDINGS, TRUNCATIONS
from toksmith._formats import protobuf
from toksmith.compat import tokenizers as ours

Json = dict[str, Any]
MEMBERS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "decoder": "decoders",
    "post_processor": "processors",
}
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
FLAGS = {"single_word": "w", "lstrip": "l", "rstrip": "r", "normalized": "n", "special": "s"}
PROSE = [
    "The lower newest tokens are wider than the others, and they've learnt what it's worth: don't STOP now!",
    "In 2024, 1234567 people paid $3.50 (or 12,5 €) for number 007; e-mail me at a.b@example.com, or see http://x.org/a?b=c.",
    "def f(x, y=None):\n    if x == 1:\n\t\treturn {'a': [x, y]}  # see __init__\n\n\nclass HTTPServer:\r\n    pass\n",
    "Größe, naïve café, Ænima, Straße; el niño está aquí. Được không? Zażółć gęślą jaźń. İstanbul'da ılık.",
    "Привет, как дела? Все хорошо. Γειά σου Κόσμε. שלום עולם. العَرَبِيَّة لغة جميلة ۱۲۳.",
    "中文，漢字很难。我喜欢学习语言。ひらがなとカタカナの日本語です。 한국어를 배웁니다. ภาษาไทยง่ายนิดเดียว नमस्ते हिन्दी में",
    "👩‍👩‍👧‍👦 👍🏽 ☀️ 1️⃣ 🇩🇪 ½ ²Ⅷ ① ﬁne Å \u212b e\u0301 ǆ <|x|> </s> [MASK] ▁ Ġ ## @@ ``quoted'' “quotes” ’s",
]
CORPUS = [*PROSE, *(line.lower() for line in PROSE), *(scalar(text)[:200] for text in HARD_TEXTS.values())]


class Family(NamedTuple):
    """The structure of a family's tokenizer.json.

    Attributes:
        model: The model without its vocabulary.
        normalizer, pre_tokenizer, decoder: The parts: a type, a part, or the list of a sequence's.
        post_processor: The same; a function makes a part that has ids, from the ids of all tokens.
        first: The first tokens of the vocabulary, which are special tokens.
        added: Added tokens: those behind the vocabulary, and those of `first` with other flags.
        last: The last tokens of the vocabulary, which are special tokens.
        more: Other fields of the file: truncation and padding.
        refused: What the drop-in refuses; empty if it runs the family exactly.
    """

    model: Mapping[str, Any]
    normalizer: Any = None
    pre_tokenizer: Any = None
    decoder: Any = None
    post_processor: Any = None
    first: tuple[str, ...] = ()
    added: tuple[Json, ...] = ()
    last: tuple[str, ...] = ()
    more: Mapping[str, Any] = {}
    refused: str = ""


def tokens(flags: str, *contents: str) -> tuple[Json, ...]:
    """Added tokens with flags by their letters in `FLAGS`."""
    return tuple({"content": each, **{name: letter in flags for name, letter in FLAGS.items()}} for each in contents)


def spelt(role: str, part: Any, ids: Mapping[str, int]) -> Any:
    """A part of a file, from its short form."""
    if isinstance(part, list):
        return {"type": "Sequence", MEMBERS[role]: [spelt(role, each, ids) for each in part]}
    if isinstance(part, str):
        return {"type": part}
    return part(ids) if callable(part) else part


@functools.cache
def charsmap(rule: str) -> str:
    """The table of one of SentencePiece's normalizations, as in the files of models that it trained."""
    import sentencepiece

    folder = Path(tempfile.mkdtemp())
    (folder / "text").write_text("the cat sat on the mat and ate\n" * 50, encoding="utf-8")
    options = {"model_prefix": str(folder / "m"), "vocab_size": 30, "model_type": "bpe", "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(input=str(folder / "text"), normalization_rule_name=rule, **options)
    message = protobuf.parse_model((folder / "m.model").read_bytes(), "m.model")
    return base64.b64encode(message.normalizer_spec.precompiled_charsmap).decode()


def file_of(family: Family) -> Json:
    """The tokenizer.json of a family."""
    roles = {role: getattr(family, role) for role in MEMBERS if role != "post_processor"}
    parts = {role: spelt(role, part, {}) for role, part in roles.items()}
    model = with_vocabulary(family, json.dumps(parts))
    vocab = model["vocab"]
    ids = dict(vocab) if isinstance(vocab, dict) else {token: id for id, (token, _) in enumerate(vocab)}
    added = {each["content"]: each for each in (*tokens("s", *family.first, *family.last), *family.added)}
    added = {content: each for content, each in added.items() if content not in BYTES}
    for content in added:
        ids.setdefault(content, len(ids))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted(
            ({"id": ids[content], **each} for content, each in added.items()), key=lambda each: each["id"]
        ),
        **parts,
        "post_processor": spelt("post_processor", family.post_processor, ids),
        "model": model,
        **family.more,
    }


def with_vocabulary(family: Family, parts: str) -> Json:
    """The model of a family with a vocabulary that is trained on `CORPUS`, after its first tokens."""
    if "vocab" in family.model:
        return dict(family.model)
    first, kind = family.first, family.model["type"]
    if family.model.get("byte_fallback"):
        first += BYTES
    model: Json = {**family.model, **trained(parts, kind, first, family.model.get("end_of_word_suffix") or "")}
    if kind == "Unigram":
        model["unk_id"] = family.model["unk_id"]
        model["vocab"] = [*model["vocab"], *([each, 0.0] for each in family.last)]
        return model
    for each in family.last:
        model["vocab"][each] = len(model["vocab"])
    if kind == "BPE" and "ignore_merges" not in model:  # an old file
        model["merges"] = [" ".join(pair) for pair in model["merges"]]
    return model


@functools.cache
def trained(parts: str, kind: str, first: tuple[str, ...], suffix: str) -> Json:
    """A vocabulary, and its merges."""
    empty = {"type": kind, "vocab": [] if kind == "Unigram" else {}, **({"merges": []} if kind == "BPE" else {})}
    tok = ours.Tokenizer.from_str(json.dumps({**json.loads(parts), "model": empty}))
    options: Json = {"vocab_size": len(first) + 400, "special_tokens": list(first), "show_progress": False}
    if kind in ("BPE", "WordPiece"):
        letters = ours.pre_tokenizers.ByteLevel.alphabet() if '"ByteLevel"' in parts else []
        options |= {"initial_alphabet": letters, "vocab_size": len(first) + len(letters) + 400}
        options |= {} if letters else {"limit_alphabet": 120}
        options |= {"end_of_word_suffix": suffix} if suffix else {}
    if kind == "Unigram":
        options["unk_token"] = next(each for each in first if "unk" in each.lower())
    tok.train_from_iterator(CORPUS * 3, getattr(ours.trainers, kind.replace("BPE", "Bpe") + "Trainer")(**options))
    model = json.loads(tok.to_str())["model"]
    return {name: model[name] for name in ("vocab", "merges") if name in model}


# Cases.

LENGTHS = [each for each in TRUNCATIONS if each.startswith(("max_length=5", "max_length=8"))]


def text_of(rng: Random, added: list[str], vocab: list[str]) -> str:
    """A text of added tokens, tokens of the vocabulary and hard parts, glued or with white space between."""
    kinds = (added, vocab, drawn.PARTS)
    parts = []
    for _ in range(rng.choice((0, 1, 2, 3, 5, 8))):
        part = rng.choice(rng.choice(kinds) or drawn.PARTS)
        if part in added and rng.random() < 0.2:
            part = rng.choice((part.upper(), part.lower(), part[: len(part) // 2], part + "s"))
        elif part not in added and rng.random() < 0.7:
            part = part.replace("▁", " ").replace("Ġ", " ").replace("Ċ", "\n").replace("</w>", " ").removeprefix("##")
        parts += [part, rng.choice(("", "", " ", " ", "  ", "\n", "\r\n", "\t", "\0", "\ufffd", "\u3000"))]
    return "".join(parts)


def texts(count: int, rng: Random, value: Json) -> list[str]:
    """Drawn texts, one in three hard in general."""
    added = [each["content"] for each in value["added_tokens"]]
    vocab = [token if isinstance(token, str) else token[0] for token in value["model"]["vocab"]]
    general = Drawing(rng.randrange(1 << 30), PROSE)
    found = [text_of(rng, added, vocab) for _ in range(count - count // 3)]
    found += [drawn.text(rng) for _ in range(count // 6)]
    return [*found, *(scalar(text)[:300] for text in general.texts(count - len(found)))]


def states(rng: Random) -> list[str]:
    """The calls that change the state of a tokenizer before a text is encoded, if any."""
    longest, pads = f"t.enable_truncation({rng.choice(LENGTHS)})", f"t.enable_padding({rng.choice(PADDINGS)})"
    as_text = "setattr(t, 'encode_special_tokens', True)"
    return rng.choice(([], [], [], [], [as_text], [longest], [pads], [longest, pads]))


def put_back(tok: Any, truncation: Json | None, padding: Json | None) -> None:
    """Undo what `states` changes."""
    tok.encode_special_tokens = False
    tok.no_truncation() if truncation is None else tok.enable_truncation(**truncation)
    tok.no_padding() if padding is None else tok.enable_padding(**padding)


def calls(rng: Random, text: str, pair: str, ids: list[int], size: int) -> list[str]:
    """The calls with a text."""
    words, others = [[word for word in each.split(" ") if rng.random() < 0.9][:6] for each in (text, pair)]
    put = rng.choice(("", ", add_special_tokens=False"))
    drawn_ids = drawn.numbers(rng, size)
    step = f"for s in [lib.decoders.DecodeStream(skip_special_tokens={rng.random() < 0.5})] for i in {ids[:20]!r}"
    return [
        f"t.encode({text!r})",
        f"t.encode({text!r}, add_special_tokens=False)",
        f"t.encode({text!r}, {pair!r}{put})",
        f"t.encode({words!r}, is_pretokenized=True{put})",
        f"t.encode({words!r}, {others!r}, is_pretokenized=True)",
        f"t.encode_batch([{text!r}, ({pair!r}, {text!r}), {pair!r}]{put})",
        f"t.encode_batch_fast([{text!r}, ({pair!r}, {text!r})]{put})",
        f"t.decode_batch([{ids!r}, {drawn_ids!r}], skip_special_tokens=True)",
        f"t.decode_batch([{ids!r}, {drawn_ids!r}], skip_special_tokens=False)",
        f"[s.step(t, i) {step}]",
    ]


def cases(name: str, value: Json, libraries: tuple[Any, Any], count: int, seed: int) -> Iterator[Case]:
    """The cases of one file: its content, and `count` texts."""
    rng, spelled = Random(f"{name} {seed}"), json.dumps(value)

    def written(tok: Any) -> Any:  # the drop-in does not change a file
        return json.loads(libraries[0].Tokenizer.from_str(tok.to_str()).to_str())

    both = tuple({"lib": lib, "t": lib.Tokenizer.from_str(spelled), "written": written} for lib in libraries)
    size, lengths = len(both[0]["t"].get_vocab()), (both[0]["t"].truncation, both[0]["t"].padding)
    about: Json = {"code": "", "given": {}, "peer": both[0]["t"]}

    def case(line: str, code: str = "") -> Case:
        return called(name, code, line, both, {**about, "call": line})

    for line in ("t.get_vocab()", "t.get_vocab(False)", "t.get_added_tokens_decoder()", "written(t)"):
        yield case(line)
    yield case(f"[t.id_to_token(id) for id in range({size + 3})]")
    yield case("[t.num_special_tokens_to_add(pair) for pair in (False, True)]")
    yield case(
        "[(repr(part), part is not None and part.__getstate__()) for part in (t.normalizer, t.pre_tokenizer, t.decoder)]"
    )
    found = texts(count, rng, value)
    for text in found:
        pair, changed = rng.choice(found), states(rng)
        if changed:  # the parts that truncation cuts off are paired, each with each
            text, pair = text[:30], pair[:30]
        for line in changed:
            yield case(line)
        ids = both[0]["t"].encode(text).ids if not changed else drawn.numbers(rng, size)
        for line in calls(rng, text, pair, ids, size):
            yield case(line, "; ".join(changed))
        for names in both if changed else ():
            put_back(names["t"], *lengths)
