"""Post-processors in a `Sequence`, of every kind and in any order, as HF tokenizers runs them: loaded, and built with the drop-in."""

import json
from random import Random
from typing import Any

import pytest

from toksmith import Tokenizer, _formats
from toksmith.compat import tokenizers as ours
from toksmith.errors import ModelError

peer: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3 (tests/requirements.txt)")

ROW = _formats.FORMATS["tokenizer_json"]
CASES = 150
TOKENS = {"<s>": [300], "</s>": [301], "<x>": [302, 303]}
TEXTS = ["", "a", "low lower", " a  b ", "the quick é\n brown fox jumps"]
COLUMNS = ("ids", "type_ids", "tokens", "offsets", "special_tokens_mask", "attention_mask")


def drawn_piece(random: Random, two: bool) -> dict[str, Any]:
    name = random.choice(["A", "B" if two else "A", *TOKENS])
    kind = "Sequence" if name in ("A", "B") else "SpecialToken"
    return {kind: {"id": name, "type_id": random.randrange(3)}}


def drawn_template(random: Random) -> dict[str, Any]:
    """Few pieces, so that another template may follow; texts may be missing or come again."""
    tokens = {name: {"id": name, "ids": ids, "tokens": [name] * len(ids)} for name, ids in TOKENS.items()}
    pieces = {
        name: [drawn_piece(random, name == "pair") for _ in range(random.choice([0, 1, 1, 2, 2, 2, 3, 4]))]
        for name in ("single", "pair")
    }
    return {"type": "TemplateProcessing", **pieces, "special_tokens": tokens}


def drawn_processor(random: Random, depth: int = 0) -> dict[str, Any]:
    kind = random.choice(["Template", "Template", "Bert", "Roberta", "ByteLevel", "Sequence"])
    if kind == "Sequence" and depth < 3:
        members = [drawn_processor(random, depth + 1) for _ in range(random.randrange(4))]
        return {"type": "Sequence", "processors": members}
    flags = {"trim_offsets": random.random() < 0.5, "add_prefix_space": random.random() < 0.5}
    if kind in ("Bert", "Roberta"):
        ends = {"sep": ["</s>", 301], "cls": ["<s>", 300]}
        return {"type": f"{kind}Processing", **ends, **(flags if kind == "Roberta" else {})}
    if kind == "ByteLevel":
        return {"type": "ByteLevel", **flags, "use_regex": True}
    return drawn_template(random)


def drawn_file(random: Random) -> dict[str, Any]:
    """A byte-level tokenizer with a sequence of post-processors, and often with truncation."""
    tok = peer.Tokenizer(
        peer.models.BPE({char: id for id, char in enumerate(sorted(peer.pre_tokenizers.ByteLevel.alphabet()))}, [])
    )
    tok.pre_tokenizer = peer.pre_tokenizers.ByteLevel(add_prefix_space=random.random() < 0.3)
    if random.random() < 0.4:
        tok.enable_truncation(
            random.randrange(12, 30), stride=random.randrange(2), direction=random.choice(["left", "right"])
        )
    members = [drawn_processor(random) for _ in range(random.randrange(1, 5))]
    return {**json.loads(tok.to_str()), "post_processor": {"type": "Sequence", "processors": members}}


def unless_it_panics(encode: Any, *texts: str, **options: Any) -> Any:
    """HF's encoding; None where it panics, as a template does that gets neither one part nor two."""
    try:
        return encode(*texts, **options)
    except BaseException as error:  # a panic is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return None


def columns(encoding: Any) -> list[list[Any]]:
    parts = [encoding, *encoding.overflowing]
    return [[getattr(part, name) for name in COLUMNS] for part in parts]


@pytest.mark.slow
def test_a_sequence_runs_as_in_hf() -> None:
    random = Random(5)
    ran = refused = 0
    for _ in range(CASES):
        file = drawn_file(random)
        text, second = random.choices(TEXTS, k=2)
        theirs = peer.Tokenizer.from_str(json.dumps(file))
        dropped: Any = ours.Tokenizer.from_str(json.dumps(file))
        tok = Tokenizer(
            ROW.load(
                json.dumps(file | {"truncation": None}).encode(),
                "tokenizer.json",
                pattern=_formats.UNSET,
                special_tokens=None,
            )
        )
        again = peer.Tokenizer.from_str(ROW.save(tok.model).decode())
        whole = peer.Tokenizer.from_str(json.dumps(file | {"truncation": None}))
        for texts in ([text], [text, second]):
            pair = len(texts) == 2
            added = theirs.num_special_tokens_to_add(pair)
            assert dropped.num_special_tokens_to_add(pair) == again.num_special_tokens_to_add(pair) == added
            for put in (True, False):
                due = unless_it_panics(theirs.encode, *texts, add_special_tokens=put)
                if due is None:
                    refused += 1
                    with pytest.raises(ValueError, match=r"TemplateProcessing|stride"):
                        dropped.encode(*texts, add_special_tokens=put)
                else:
                    ran += 1
                    assert columns(dropped.encode(*texts, add_special_tokens=put)) == columns(due), (file, texts, put)
            due = unless_it_panics(whole.encode, *texts)
            ids = [tok.encode(each) for each in texts]
            if due is None:
                with pytest.raises(ModelError, match="do not fit together"):
                    tok.post_process(*ids)
                continue
            assert tok.post_process(*ids) == due.ids, (file, texts)
            assert tok._template.apply(*ids)[1] == due.type_ids, (file, texts)
            assert again.encode(*texts).ids == due.ids
    assert ran > 3 * CASES and refused > CASES / 8
