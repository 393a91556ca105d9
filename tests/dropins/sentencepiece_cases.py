"""Cases of `toksmith.compat.sentencepiece`: models that the real library trains, and every call on both libraries.

A model has one drawn feature and a type: an option of the trainer, or an edit of the trained message. Each call is
drawn with its options; its text consists of hard texts and of pieces that normalizers treat in different ways.
"""

from __future__ import annotations

import io
import math
import pickle
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from random import Random
from typing import Any

import numpy as np
from drawn_pieces import HARD
from hard_texts import HARD_TEXTS
from peers import scalar

from dropins import Case
from toksmith.compat import sentencepiece as ours

CALLS_OF_A_MODEL = 150
CORPUS = [
    "Hello world, this is a test of a small model. 清水寺は京都にある。 lower newer lowest",
    "a b c d hello 123 456 ﬁ ① é e\u0301 Ａ ｱﾞ 한국어 ½ don't",
    "the cat sat on the mat  and ate.\t<sep> x y z 日本 日本語 naïve",
]
TEXTS = [scalar(text)[:120] for text in HARD_TEXTS.values()]
PARTS = [
    *HARD,
    *("hello", "world", " test", "lower", "low", "est", "newer ", "the ", "cat", "清水寺", "京都", "naïve", "don't"),
    *("\x01", "\x0b", "\x85", "\u2028", "\u1680", "\u2003", "\u202f", "\u200d", "\ufe0f", "\u0301", "\u0323", "\u3099"),
    *("ｶﾞ", "㍿", "Ⅷ", "ﬃ", "\u1100\u1161\u11a8", "각", "İ", "ΰ", "ǅ", "\u0958", "\ufdfa", "🇩🇪", "👍🏽", "\U0010ffff"),
    *("▁x", "▁ ", " ▁", "<unk>", "</s>", "<pad>", "<0x0A>", "<ctl>", "tab\t", "  \n ", "１２３", "\ufffd"),
]
RULES = ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")
MOVED = {"unk_id": 2, "bos_id": 0, "eos_id": 1, "pad_id": 3}
NAMED = {"unk_piece": "[UNK]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "pad_piece": "[PAD]", "pad_id": 3}
SYMBOLS = ["<sep>", "ll", "日本", "é", ".", "low", "lower", "x y", "▁the", "ﬁ"]
TRAINER: dict[str, Mapping[str, Any]] = {
    "the defaults": {},
    **{f"normalization_rule_name={rule}": {"normalization_rule_name": rule} for rule in RULES},
    "add_dummy_prefix=False": {"add_dummy_prefix": False},
    "remove_extra_whitespaces=False": {"remove_extra_whitespaces": False},
    "treat_whitespace_as_suffix": {"treat_whitespace_as_suffix": True},
    "byte_fallback": {"byte_fallback": True},
    "user_defined_symbols": {"user_defined_symbols": SYMBOLS},
    "control_symbols": {"control_symbols": ["<ctl>", "q"]},
    "split_digits": {"split_digits": True},
    "split_by_whitespace=False": {"split_by_whitespace": False},
    "split_by_number=False": {"split_by_number": False},
    "split_by_unicode_script=False": {"split_by_unicode_script": False},
    "allow_whitespace_only_pieces": {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
    "required_chars": {"required_chars": "ZQΩ☀"},
    "character_coverage": {"character_coverage": 0.98},
    "ids in another order": MOVED,
    "no bos and eos": {"bos_id": -1, "eos_id": -1},
    "names of special pieces": NAMED,
    "unk_surface": {"unk_surface": "<?>"},
    "normalization_rule_tsv": {"tsv": ("normalization_rule_tsv", "78 79\t7A\n61\t\n62\t20 20\n63\t20\n31\t31 32 33\n")},
    "denormalization_rule_tsv": {"tsv": ("denormalization_rule_tsv", "6C 6F\t4C\n78\t\n20 61\t5F 5F 5F\n")},
}
EDITS = (
    "unused pieces",
    "spaces as they are",
    "unused pieces, spaces as they are",
    "scores that tie",
    "scores of any value",
    "a denormalizer with spaces",
    "a long piece of a model",
)
TYPES = ("unigram", "bpe", "char", "word")
WAYS = ("ids", "pieces", "bytes", "proto", "serialized_proto", "numpy", "offset_mapping")
RETURNS = {"ids": int, "pieces": str, "bytes": bytes}


def cases(random: Random, count: int, folder: Any, peer: Any) -> Iterator[Case]:
    """Draw `count` cases; `folder` is for the trainer's input files, and `peer` is the real library."""
    made = 0
    while made < count:
        feature, about, data = drawn_model(random, folder, peer)
        theirs, own = (outcome(partial(module.SentencePieceProcessor, model_proto=data)) for module in (peer, ours))
        if "value" not in theirs or "value" not in own:
            made += 1
            yield Case(feature, "SentencePieceProcessor(model_proto=...)", loaded(theirs), loaded(own), about)
            continue
        for _ in range(min(CALLS_OF_A_MODEL, count - made)):
            call, run, more = drawn_call(random, theirs["value"])
            made += 1
            theirs_gives, ours_gives = (fields(partial(run, found["value"])) for found in (theirs, own))
            yield Case(feature, call, theirs_gives, ours_gives, about | more)


def drawn_model(random: Random, folder: Any, peer: Any) -> tuple[str, dict[str, Any], bytes]:
    """A feature, the drawn options, and the bytes of a model with it; models that the trainer refuses are redrawn."""
    while True:
        try:
            return trained(random, folder, peer)
        except RuntimeError:
            continue


def trained(random: Random, folder: Any, peer: Any) -> tuple[str, dict[str, Any], bytes]:
    """The same for one drawing."""
    kind, feature = random.choice(TYPES), random.choice([*TRAINER, *EDITS])
    options = dict(TRAINER.get(feature, {}))
    if random.random() < 0.3:
        options = dict(TRAINER[random.choice([*TRAINER])]) | options
    about = {"model_type": kind, "feature": feature, "options": {**options}}
    if tsv := options.pop("tsv", None):
        (folder / "rules.tsv").write_text(tsv[1], encoding="utf-8")
        options[tsv[0]] = str(folder / "rules.tsv")
    size = random.choice([140, 170, 220]) + 256 * bool(options.get("byte_fallback"))
    usual = {"character_coverage": random.choice([0.98, 1.0]), "vocab_size": size, "hard_vocab_limit": False}
    out = io.BytesIO()
    texts = [*CORPUS, *("".join(random.choices(PARTS, k=8)) for _ in range(3))] * 4
    peer.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=out,
        model_type=kind,
        minloglevel=3,
        num_threads=1,
        **{**usual, **options},
    )
    return f"{kind}, {feature}", about, edited(random, feature, out.getvalue())


def edited(random: Random, feature: str, data: bytes) -> bytes:
    """The model with the edit of a feature."""
    from sentencepiece import sentencepiece_model_pb2

    protos: Any = sentencepiece_model_pb2
    message = protos.ModelProto()
    message.ParseFromString(data)
    normal = [piece for piece in message.pieces if piece.type == 1]
    if "spaces as they are" in feature:
        message.normalizer_spec.escape_whitespaces = False
        for piece in random.sample(normal, len(normal) // 2):
            piece.piece = piece.piece.replace("▁", " ") if piece.piece.replace("▁", " ") != " " else piece.piece
    if "unused pieces" in feature:
        for piece in random.sample(normal, random.randrange(1, len(normal))):
            piece.type = 5
    if feature == "scores that tie":
        for piece in normal:
            piece.score = random.choice([-1.0, -2.0, -0.0, 0.0, 1.5])
    elif feature == "scores of any value":
        for piece in random.sample(normal, min(8, len(normal))):
            piece.score = random.choice([-math.inf, math.inf, math.nan, -1e38, 3e38, 1e-40, -100_000.5, 7.0])
    elif feature == "a denormalizer with spaces":
        message.denormalizer_spec.precompiled_charsmap = message.normalizer_spec.precompiled_charsmap
        for name in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"):
            if random.random() < 0.5:
                setattr(message.denormalizer_spec, name, random.random() < 0.5)
    elif feature == "a long piece of a model":
        message.pieces.add(piece="the cat", score=0.5, type=random.choice([1, 4, 5]))
        message.pieces.add(piece="▁lowest▁", score=-0.5, type=random.choice([1, 5]))
    return message.SerializeToString()


def drawn_text(random: Random) -> str:
    """A text."""
    if random.random() < 0.15:
        return random.choice(TEXTS)
    text = "".join(random.choice(PARTS) for _ in range(random.choice([0, 1, 2, 4, 8, 16])))
    return unicodedata.normalize(random.choice(["NFC", "NFD"]), text) if random.random() < 0.2 else text


def drawn_bytes(random: Random) -> bytes:
    """A text as bytes, some of which can be missing."""
    data = drawn_text(random).encode()
    return bytes(byte for byte in data if random.random() < 0.9) if random.random() < 0.4 else data


Run = Callable[[Any], Any]
Call = tuple[str, Run, dict[str, Any]]


def drawn_call(random: Random, model: Any) -> Call:
    """A call in a user's form, the function that makes it, and its drawn values."""
    return random.choice(CALLS)(random, model)


def encode(random: Random, model: Any) -> Call:
    """`encode` of a text or of a batch."""
    way = random.choice(WAYS)
    options: dict[str, Any] = {}
    for name in ("add_bos", "add_eos", "reverse", "emit_unk_piece"):
        if random.random() < (0.02 if "proto" in way or way == "offset_mapping" else 0.15):
            options[name] = True
    if way == "offset_mapping" and random.random() < 0.3:
        options["return_bytes"] = random.random() < 0.5
    if random.random() < 0.03:
        options |= {"enable_sampling": True, "alpha": random.choice([0.0, 1.0, 2.0, -1.0, math.nan]), "nbest_size": -1}
        if options["alpha"] >= 0 and model.GetPieceSize() and is_unigram(model):
            options |= {"alpha": -1.0}
    one = drawn_bytes if random.random() < 0.1 and way in ("ids", "numpy", "bytes", "offset_mapping") else drawn_text
    if one is drawn_bytes and way == "offset_mapping":
        options["return_bytes"] = True
    text: Any = one(random) if random.random() < 0.8 else [one(random) for _ in range(random.randrange(4))]
    kind = RETURNS.get(way, way)
    keyword = random.choice(["return_type", "out_type"])
    return (
        f"encode({text!r}, {keyword}={kind!r}, **{options})",
        lambda processor: processor.encode(text, **{keyword: kind}, **options),
        {"text": text, "options of the call": options, "way": way},
    )


def is_unigram(model: Any) -> bool:
    """Whether a model has several segmentations."""
    try:
        model.nbest_encode("a", nbest_size=2)
    except RuntimeError:
        return False
    return True


def nbest(random: Random, model: Any) -> Call:
    """The best segmentations of a text."""
    way, size = random.choice(WAYS), random.choice([-1, 0, 1, 2, 3, 5, 10, 40, 513])
    text, options = drawn_text(random)[:40], {"add_bos": True} if random.random() < 0.05 else {}
    kind = RETURNS.get(way, way)
    return (
        f"nbest_encode({text!r}, nbest_size={size}, return_type={kind!r}, **{options})",
        lambda processor: processor.nbest_encode(text, nbest_size=size, return_type=kind, **options),
        {"text": text, "nbest_size": size, "way": way},
    )


def decode(random: Random, model: Any) -> Call:
    """`decode` of ids or pieces, from an encoding or arbitrary."""
    size = model.GetPieceSize()

    def ids() -> list[int]:
        found = model.encode(drawn_text(random)) if random.random() < 0.6 else []
        return [*found, *(random.randrange(size) for _ in range(random.choice([0, 0, 1, 3, 9])))]

    def pieces() -> list[Any]:
        found = [*model.encode(drawn_text(random), return_type=str), *random.choices(PARTS, k=random.choice([0, 0, 2]))]
        return [each.encode() for each in found] if as_bytes else found

    as_bytes = random.random() < 0.2
    one = ids if random.random() < 0.7 else pieces
    given: Any = one() if random.random() < 0.85 else [one() for _ in range(random.randrange(1, 4))]
    if one is ids and random.random() < 0.05:
        given = random.choice([size, -1, [0, size], [[-1]], 1, "", None, [], [[]], (1, 2), np.array([1, 2])])
    kind = random.choice([str, str, bytes, "proto", "serialized_proto", "offset_mapping", int])
    options = {"return_bytes": random.random() < 0.5} if kind == "offset_mapping" and random.random() < 0.3 else {}
    return (
        f"decode({given!r}, return_type={kind!r}, **{options})",
        lambda processor: processor.decode(given, return_type=kind, **options),
        {"given": given, "kind": kind},
    )


def normalize(random: Random, model: Any) -> Call:
    """`normalize`, with and without offsets."""
    text, offsets = (drawn_bytes if random.random() < 0.2 else drawn_text)(random), random.random() < 0.6
    return (
        f"normalize({text!r}, with_offsets={offsets})",
        lambda processor: processor.normalize(text, with_offsets=offsets),
        {"text": text},
    )


def table(random: Random, model: Any) -> Call:
    """The properties of pieces and ids."""
    size = model.GetPieceSize()
    name = random.choice(["IdToPiece", "GetScore", "IsControl", "IsUnknown", "IsUnused", "IsByte", "id_to_piece"])
    ids: Any = [random.randrange(size) for _ in range(5)]
    ids = random.choice([ids, ids, ids[0], size, -1, np.array(ids)])
    if random.random() < 0.5:
        return f"{name}({ids!r})", lambda processor: getattr(processor, name)(ids), {}
    piece: Any = random.choice([*PARTS, model.IdToPiece(random.randrange(size))])
    piece = random.choice([piece, piece.encode(), [piece, "▁"]])
    return (
        f"piece_to_id({piece!r})",
        lambda processor: [
            processor.piece_to_id(piece),
            [getattr(processor, f"{each}_id")() for each in ("unk", "bos", "eos", "pad")],
            [len(processor), processor.vocab_size()],
        ],
        {},
    )


def named(random: Random, model: Any) -> Call:
    """A method named after its result, in either spelling."""
    name = random.choice(["encode_as", "nbest_encode_as", "parallel_encode_as"])
    kinds = ["ids", "pieces", "proto", "numpy"] + ["offset_mapping"] * (name == "encode_as")
    way = random.choice(kinds)
    method, kind = f"{name}_{way}", RETURNS.get(way, way)
    if random.random() < 0.5:
        method = "".join(part.title() for part in method.split("_")).replace("Nbest", "NBest")
    text: Any = drawn_text(random)
    given = {"chunk_len": random.choice([1, 4, 1000, 0])} if "parallel" in method.lower() else {}
    given |= {"nbest_size": 3} if "best" in method.lower() else {}
    return (
        f"{method}({text!r}, **{given})",
        lambda processor: getattr(processor, method)(text, **given),
        {"text": text, "method": method, "encode": fields(lambda: model.encode(text, return_type=kind))},
    )


def made(random: Random, model: Any) -> Call:
    """A processor with its own options, and a pickled one."""
    options: dict[str, Any] = {
        name: True for name in ("add_bos", "add_eos", "reverse", "emit_unk_piece") if random.random() < 0.4
    }
    options["out_type"] = random.choice([int, str, bytes, "numpy", "proto", "offset_mapping", "tuple"])
    text, pickled = drawn_text(random), random.random() < 0.3
    data = model.serialized_model_proto()

    def run(processor: Any) -> Any:
        own = type(processor)(model_proto=data, **options)
        return (pickle.loads(pickle.dumps(own)) if pickled else own).tokenize(text)

    return (
        f"SentencePieceProcessor(..., **{options}).tokenize({text!r})",
        run,
        {"text": text, "options of the call": options},
    )


CALLS = (named, named, made, encode, encode, encode, encode, decode, decode, nbest, normalize, table)


def outcome(run: Callable[[], Any]) -> dict[str, Any]:
    """The value of a call, or the built-in class that its error belongs to."""
    try:
        return {"value": run()}
    except Exception as error:  # noqa: BLE001 - whatever a library raises is compared
        return {"raises": next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")}


def loaded(found: dict[str, Any]) -> dict[str, Any]:
    """Whether a model was loaded."""
    return {"loaded": "value" in found}


def fields(run: Callable[[], Any]) -> dict[str, Any]:
    """Every field of a call's result."""
    found = outcome(run)
    return found if "raises" in found else dict(flat("result", found["value"]))


def flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a value by name, with plain values that compare."""
    if hasattr(value, "DESCRIPTOR"):
        present = {field.name: each for field, each in value.ListFields()}
        for field, each in present.items():
            yield from flat(f"{name}.{field}", each if isinstance(each, (str, int, float)) else [*each])
        yield f"{name}.fields", sorted(present)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from flat(f"{name}[{key}]", each)
    elif isinstance(value, list) and value and (hasattr(value[0], "DESCRIPTOR") or isinstance(value[0], dict)):
        yield f"{name}.length", len(value)
        for place, each in enumerate(value):
            yield from flat(f"{name}[{place}]", each)
    elif isinstance(value, np.ndarray):
        yield f"{name}.dtype", str(value.dtype)
        yield name, value.tolist()
    else:
        yield name, repr(value) if isinstance(value, (float, list, tuple)) else value
        yield f"{name}.type", type(value).__name__
