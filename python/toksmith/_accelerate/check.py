"""Compares an engine with the tokenizer of the library that it replaces, on hard texts and on texts of its own tokens."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from .engine import Engine
from .layouts import TextOptions

__all__ = ["find_difference"]

HARD = (
    "",
    " ",
    "Hello, world! It's 12,345.67 – don't.\r\n\n\t  The  end ",
    "naïve café e\u0301 \u00c5 ﬁ ½ ① İı ſt ẞ",
    "中文字符,日本語のテキスト。한국어 문장 각",
    "مرحبا بالعالم עברית नमस्ते दुनिया สวัสดี",
    "👩‍👩‍👧 🇩🇪 👍🏽 \ufe0f\u200d",
    "a\0b\x07c\x7f\u0085\u00a0\u2028\u3000\ufeff�",
    "<s></s>[CLS] [SEP]<|endoftext|> <unk><0x0A> ▁▁Ġ ##ing</w>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa          \n\n\n\n...........",
    "def f(x):\n    return {'a': [1, 22, 333, 4444], \"b\": x**2}  # why?",
    "IT'S we'LL I'm THEY'VE 'tis '' ’s",
)
FIELDS = (
    "ids",
    "type_ids",
    "tokens",
    "offsets",
    "word_ids",
    "attention_mask",
    "special_tokens_mask",
)
DRAWN, LENGTH = 16, 12  # texts, and tokens of each
MOST_ADDED = 8


def find_difference(engine: Engine, backend: Any, seed: bytes) -> str | None:
    """What the engine and the library give differently, in words; None where all is equal.

    Both run without truncation and padding, which each call sets: a tokenizer that has some now is compared on a copy.
    """
    try:
        if list_added(backend) != list_added(engine.tokenizer):  # after another model was assigned, for example
            return "its added tokens have other ids than in the file that it writes"
        if backend.truncation is not None or backend.padding is not None:
            backend = copy.deepcopy(backend)
            backend.no_truncation()
            backend.no_padding()
        texts = [*HARD, *draw_texts(engine, backend, random.Random(seed))]
        ours = engine.with_options(TextOptions(None, None, backend.encode_special_tokens))
        for put in (False, True):
            theirs = backend.encode_batch(texts, add_special_tokens=put)
            for row in zip(texts, theirs, ours.encode_batch(texts, add_special_tokens=put), strict=True):
                if (found := find_differing_field(*row)) is not None:
                    return found
        return find_differing_text(engine, backend, texts)
    except BaseException as error:  # a panic of the library is no `Exception`
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return f"the comparison with the library ended in {type(error).__name__}: {error}"
    finally:
        getattr(backend.model, "_clear_cache", int)()  # as before: the library's cache has no words of these texts


def list_added(tokenizer: Any) -> dict[int, str]:
    return {id: token.content for id, token in tokenizer.get_added_tokens_decoder().items()}


def draw_texts(engine: Engine, backend: Any, rng: random.Random) -> Iterator[str]:
    """Texts of drawn tokens, and added tokens between and beside words."""
    ids = [*engine.tokenizer.get_vocab().values()]
    for _ in range(DRAWN if ids else 0):
        yield backend.decode(rng.choices(ids, k=LENGTH), skip_special_tokens=False)
    added = [token.content for token in backend.get_added_tokens_decoder().values()]
    for token in rng.sample(added, min(len(added), MOST_ADDED)):
        yield f"a{token}b {token} c{token.upper()} {token}{rng.choice(added)}\n{token}"


def find_differing_field(text: str, theirs: Any, ours: Any) -> str | None:
    for field in FIELDS:
        if getattr(theirs, field) != getattr(ours, field):
            return f"the engine gives other {field} for {text!r}"
    return None


def find_differing_text(engine: Engine, backend: Any, texts: list[str]) -> str | None:
    """Decoding, of each text's ids, with and without special tokens."""
    for text in texts:
        (ids,) = engine.encode([text], False)
        for skip in (False, True):
            if backend.decode(ids, skip_special_tokens=skip) != engine.decode(ids, skip):
                return f"the engine decodes the ids of {text!r} to another text"
    return None
