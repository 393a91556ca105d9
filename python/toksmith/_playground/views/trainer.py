"""The live trainer: its texts, a training of them, and the tokenizer of a size, which can be kept and saved.

The rule: texts are sent once and then named by their key, as a text is; a training is made once for its texts and options.
Left out: what training and measuring is, which `_live_training` says.
"""

from __future__ import annotations

import base64
import io
import statistics
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Literal

import toksmith

from ..live_training import LiveTexts, TrainedAt, Training, TrainingWatch, measured_at, trained_on
from .asked import MOST_BYTES, Asked, UnknownText, decoded
from .opened import added, new_name

__all__ = ["corpus", "stop_training", "train", "trained", "trained_file", "trained_tokenizer"]

MOST_TEXTS = 40
MOST_SENTENCE = 1000  # characters
MOST_SPECIAL = 100  # special tokens
NAME = 100  # characters of the name of a text
Ties = Literal["lowest_ids", "first_seen"]
TIES: dict[str, Ties] = {"lowest_ids": "lowest_ids", "first_seen": "first_seen"}


def corpus(asked: Asked) -> dict[str, Any]:
    """Keeps texts to train on: `texts` with a `name` and either `text` or `data`, and the sentences of the page if `sentences`.

    Returns: their key, and the name and the length of each.
    """
    listed = asked.values.get("texts", [])
    if not isinstance(listed, list):
        raise toksmith.InvalidOption("texts", type(listed).__name__, "a list of texts with their names")
    by_name: dict[str, bytes] = {}
    if asked.values.get("sentences") is True:
        by_name |= {name: toksmith.reference.utf8(text) for name, text in asked.session.texts.items()}
    for each in listed:
        name, data = received(each)
        by_name[new_name(name, by_name)] = data
    texts = LiveTexts(by_name)
    if not 1 <= len(by_name) <= MOST_TEXTS or not texts.length:
        raise toksmith.InvalidOption("texts", len(by_name), f"1 to {MOST_TEXTS} texts, with at least one byte")
    if texts.length > MOST_BYTES:
        raise toksmith.InvalidOption("texts", f"{texts.length:,} bytes", f"at most {MOST_BYTES:,} bytes in all texts")
    key = texts.key
    asked.once("corpus", key, lambda: texts)
    about = [{"name": name, "bytes": len(data), "whole": is_text(data)} for name, data in by_name.items()]
    return {"corpus": key, "bytes": texts.length, "texts": about}


def received(each: object) -> tuple[str, bytes]:
    expected = "for each text a name, and its text, or its bytes in base64 as data"
    if not isinstance(each, dict) or not isinstance(each.get("name"), str):
        raise toksmith.InvalidOption("texts", type(each).__name__, expected)
    name, text, data = each["name"][:NAME], each.get("text"), each.get("data")
    if isinstance(text, str):
        return name, toksmith.reference.utf8(text)
    return name, decoded(data, "texts", name, expected)


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def training_of(asked: Asked) -> Training:
    """The training of the texts with the options; made once."""
    session, key = asked.session, asked.string("corpus")
    pattern, ties = asked.values.get("pattern", "o200k"), asked.string("ties", "lowest_ids")
    if pattern is not None and asked.string("pattern", "o200k") not in toksmith.patterns():
        raise toksmith.UnknownName("pattern", pattern, toksmith.patterns())
    if ties not in TIES:
        raise toksmith.InvalidOption("ties", ties, " or ".join(TIES))
    special = asked.strings("special_tokens")
    if len(special) > MOST_SPECIAL:
        raise toksmith.InvalidOption("special_tokens", len(special), f"at most {MOST_SPECIAL}")
    texts: LiveTexts | None = session.had("corpus", key)
    if texts is None:
        raise UnknownText("corpus", key, ())
    watch = session.once("watch", "trainer", TrainingWatch)

    def make() -> Training:
        last = watch.begin()

        def check(progress: object) -> None:
            last(progress)
            asked.go_on()

        documents = [*texts.by_name.values()]
        counts = asked.once(
            "counts", (key, pattern), lambda: toksmith.count_pieces(documents, pattern=pattern, progress=check)
        )
        return trained_on(counts, texts, TIES[ties], special, check)

    found: Training = asked.once("training", (key, pattern, ties, *special), make)
    return found


def train(asked: Asked) -> dict[str, Any]:
    """Trains on kept texts; what sizes there are, and the tokens that the texts take at some of them.

    `per_word` is what a full bar of tokens per word means: what the text in the middle needs without a merge.
    """
    training = training_of(asked)
    first = measured_at(training, training.least, b"", 0)  # makes the table of merges too, which takes a moment
    known = [each.per_word for each in first.languages if each.per_word]
    return {**training.about(), "per_word": statistics.median(known) if known else 0}


def stop_training(asked: Asked) -> dict[str, Any]:
    """Stops the training that runs, of whatever options; `corpus` may name its texts."""
    asked.string("corpus", "")
    asked.session.once("watch", "trainer", TrainingWatch).stop()
    return {}


def trained(asked: Asked) -> TrainedAt:
    """What the tokenizer of a `size` makes of the texts and of a `sentence`, and the tree of one of its tokens (`id`)."""
    sentence = asked.string("sentence", "")
    if len(sentence) > MOST_SENTENCE:
        raise toksmith.InvalidOption("sentence", f"{len(sentence):,} characters", f"at most {MOST_SENTENCE:,}")
    id = None if asked.values.get("id") is None else asked.number("id")
    return measured_at(training_of(asked), asked.number("size"), toksmith.reference.utf8(sentence), id)


def tokenizer_of(asked: Asked) -> toksmith.Tokenizer:
    return toksmith.rewind(training_of(asked).largest, asked.number("size"))


def trained_tokenizer(asked: Asked) -> dict[str, Any]:
    """Makes the tokenizer of a `size` one of the page's; its name, and what the page then has to know."""
    return added(asked.session, asked.string("name", "trained"), tokenizer_of(asked))


def trained_file(asked: Asked) -> dict[str, Any]:
    """The tokenizer of a `size` in a file of a `format`, in base64, several files in a ZIP; or why the format cannot hold it.

    `without` names the fields that may be left out. Where something else has to be left out, the answer has `cannot`,
    the reasons, and as `without` the fields without which the format can hold the rest, or None.
    """
    tok, format = tokenizer_of(asked), asked.string("format")
    if format not in toksmith.formats():
        raise toksmith.UnknownName("format", format, toksmith.formats())
    without, reasons = asked.strings("without"), []
    while True:
        try:
            name, data = saved(tok, format, without)
        except toksmith.CannotRepresent as error:
            reasons.append(said(error))
            if error.field in without:
                return {"cannot": reasons, "without": None}
            without = [*without, error.field]
        except toksmith.InvalidOption:
            if not reasons:
                raise
            return {"cannot": reasons, "without": None}  # a field that no file can do without
        else:
            break
    if reasons:
        return {"cannot": reasons, "without": without}
    return {"name": name, "data": base64.b64encode(data).decode()}


def said(error: toksmith.CannotRepresent) -> str:
    """Why a format cannot hold a field. What follows the semicolon is advice for programs."""
    return f"The format {error.format} cannot hold {error.field}: {error.problem.partition('; ')[0]}."


def saved(tok: toksmith.Tokenizer, format: str, without: list[str]) -> tuple[str, bytes]:
    """The name and the bytes of the file of a format; of several files a ZIP."""
    stem, suffix = f"trained-{tok.vocab_size}", toksmith.formats()[format].suffixes[0]
    name = f"{stem}{suffix}" if suffix[0] == "." else suffix.replace("*", "")
    with tempfile.TemporaryDirectory(prefix="toksmith-") as folder:
        tok.save(Path(folder, name), format=format, allow_loss=without)
        paths = sorted(Path(folder).iterdir())
        if len(paths) == 1:
            return paths[0].name, paths[0].read_bytes()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as files:
            for path in paths:
                files.writestr(zipfile.ZipInfo(path.name), path.read_bytes())
        return f"{stem}-{format}.zip", packed.getvalue()
