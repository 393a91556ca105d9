"""transformers' own test mixin with `toksmith.accelerate()`, on four kinds of models that are trained here.

`TOKSMITH_SUITE` is the folder of transformers' source distribution. Run by `make test-clients`; nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, ClassVar

SUITE = Path(os.environ["TOKSMITH_SUITE"])
sys.path.insert(0, str(SUITE))

from tests import test_tokenization_common as common  # type: ignore[attr-defined]
from tests.test_tokenizers_backend_mixin import TokenizersBackendTesterMixin  # type: ignore[import-not-found]
from transformers import TokenizersBackend

import toksmith
from toksmith.compat import tokenizers

TEXT = Path(__file__).read_text(encoding="utf-8")
SENTENCES = [
    "This is the first sentence. This sentence (contains #) over symbols and numbers 12 3.",
    "Wonderful no inspiration example with subtoken. Along with an awesome pair, Amazing example full of inspiration.",
    "Hello hello, how are you doing? A test of this is a test, lower newer; the rest is silence.",
    "This is a test 😊 I was born in 92000, and this is falsé. 生活的真谛是 ird and ปี",
]
CORPUS = [*SENTENCES * 4, *TEXT.splitlines()]
NAMED = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
MARKS = [*NAMED.values(), "<mask>"]


def template(tok: Any, single: str, pair: str, names: list[str]) -> Any:
    """The tokenizer with tokens around texts."""
    ids = [(name, tok.token_to_id(name)) for name in names]
    tok.post_processor = tokenizers.processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)
    return tok


def byte_level() -> Any:
    """Byte-level, trained by `toksmith.train`."""
    own = toksmith.train(CORPUS, 700, pattern="gpt2", special_tokens=MARKS, progress=False)
    return template(tokenizers.Tokenizer(own), "<s> $A </s>", "<s> $A </s> $B </s>", ["<s>", "</s>"])


def wordpiece() -> Any:
    """WordPiece, trained by `toksmith.train`."""
    marks = ["[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    own = toksmith.train(CORPUS, 700, kind="wordpiece", character_coverage=1.0, special_tokens=marks, progress=False)
    return template(tokenizers.Tokenizer(own), "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ["[CLS]", "[SEP]"])


def unigram() -> Any:
    """Unigram with metaspaces."""
    tok = tokenizers.Tokenizer(tokenizers.models.Unigram())
    tok.pre_tokenizer, tok.decoder = tokenizers.pre_tokenizers.Metaspace(), tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(vocab_size=600, special_tokens=MARKS, unk_token="<unk>")
    tok.train_from_iterator(CORPUS, trainer)
    return template(tok, "$A </s>", "$A </s> $B </s>", ["</s>"])


def sentencepiece_bpe() -> Any:
    """SentencePiece's byte-pair encoding with byte fallback, trained by `toksmith.train`."""
    options: dict[str, Any] = {"unit": "char", "byte_fallback": True, "special_tokens": MARKS[1:], "progress": False}
    tok = tokenizers.Tokenizer(toksmith.train(CORPUS, 900, **options))
    return template(tok, "<s> $A", "<s> $A <s>:1 $B:1", ["<s>"])


class Models(common.TokenizerTesterMixin, TokenizersBackendTesterMixin):  # type: ignore[misc]
    """Both mixins, with a folder of one of the models."""

    tokenizer_class = rust_tokenizer_class = TokenizersBackend
    from_pretrained_id: ClassVar[Any] = []
    test_tokenizer_from_extractor = False
    make: ClassVar[Any] = None
    named: ClassVar[dict[str, Any]] = NAMED

    @classmethod
    def setUpClass(cls) -> None:
        cls.tmpdirname = tempfile.mkdtemp()
        cls._data = "\n".join(SENTENCES)
        TokenizersBackend(tokenizer_object=cls.__dict__["make"](), **cls.named).save_pretrained(cls.tmpdirname)
        if not os.environ.get(
            "TOKSMITH_PEER"
        ):  # else the library runs the same files, to see whether a failure is ours
            toksmith.accelerate(check_every=None)
        cls.from_pretrained_id = [cls.tmpdirname]
        cls.tokenizers_list = [(cls.tokenizer_class, cls.tmpdirname, {})]

    @classmethod
    def tearDownClass(cls) -> None:
        toksmith.restore()
        shutil.rmtree(cls.tmpdirname)


class ByteLevelTest(Models, unittest.TestCase):
    """Byte-level BPE."""

    make = byte_level


class WordPieceTest(Models, unittest.TestCase):
    """WordPiece."""

    make = wordpiece
    named: ClassVar[dict[str, Any]] = {
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "mask_token": "[MASK]",
    }


class UnigramTest(Models, unittest.TestCase):
    """Unigram."""

    make = unigram


class SentencePieceTest(Models, unittest.TestCase):
    """BPE as in SentencePiece."""

    make = sentencepiece_bpe


del Models
