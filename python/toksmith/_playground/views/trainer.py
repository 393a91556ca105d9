"""The views of the live trainer: its texts, a training on them, and the tokenizer of a size to add or to save.

The page sends texts once and then names them by their key; there is one training for the same texts and options. Left out:
training and measuring, which `live_training` does.
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

from ..live_training import LiveTexts, TrainedAt, Training, TrainingWatch, measure_at, train_on
from .opened import add_tokenizer, new_name
from .view_request import MOST_BYTES, UnknownText, ViewRequest, decode_file

MOST_TEXTS = 40
MOST_SENTENCE = 1000  # characters
MOST_SPECIAL = 100  # special tokens
NAME = 100  # characters of the name of a text
Ties = Literal["lowest_ids", "first_seen"]
TIES: dict[str, Ties] = {"lowest_ids": "lowest_ids", "first_seen": "first_seen"}


def corpus(request: ViewRequest) -> dict[str, Any]:
    """Stores texts for training: `texts` with a `name` and either `text` or `data`, and with `sentences` those of the page.

    Returns: their key, and the name and the length of each.
    """
    sent = request.values.get("texts", [])
    if not isinstance(sent, list):
        raise toksmith.errors.InvalidOption("texts", type(sent).__name__, "a list of texts with their names")
    by_name: dict[str, bytes] = {}
    if request.values.get("sentences") is True:
        by_name |= {name: toksmith.reference.utf8(text) for name, text in request.session.texts.items()}
    for each in sent:
        name, data = receive_text(each)
        by_name[new_name(name, by_name)] = data
    texts = LiveTexts(by_name)
    if not 1 <= len(by_name) <= MOST_TEXTS or not texts.length:
        raise toksmith.errors.InvalidOption("texts", len(by_name), f"1 to {MOST_TEXTS} texts, with at least one byte")
    if texts.length > MOST_BYTES:
        raise toksmith.errors.InvalidOption(
            "texts", f"{texts.length:,} bytes", f"at most {MOST_BYTES:,} bytes in all texts"
        )
    key = texts.key
    request.once("corpus", key, lambda: texts)
    about = [{"name": name, "bytes": len(data), "whole": is_text(data)} for name, data in by_name.items()]
    return {"corpus": key, "bytes": texts.length, "texts": about}


def receive_text(each: object) -> tuple[str, bytes]:
    expected = "for each text a name, and its text, or its bytes in base64 as data"
    if not isinstance(each, dict) or not isinstance(each.get("name"), str):
        raise toksmith.errors.InvalidOption("texts", type(each).__name__, expected)
    name, text, data = each["name"][:NAME], each.get("text"), each.get("data")
    if isinstance(text, str):
        return name, toksmith.reference.utf8(text)
    return name, decode_file(data, "texts", name, expected)


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def training_of(request: ViewRequest) -> Training:
    """The training on the texts with the options, cached."""
    session, key = request.session, request.string("corpus")
    pattern, ties = request.values.get("pattern", "o200k"), request.string("ties", "lowest_ids")
    if pattern is not None and request.string("pattern", "o200k") not in toksmith.patterns():
        raise toksmith.errors.UnknownName("pattern", pattern, toksmith.patterns())
    if ties not in TIES:
        raise toksmith.errors.InvalidOption("ties", ties, " or ".join(TIES))
    special = request.strings("special_tokens")
    if len(special) > MOST_SPECIAL:
        raise toksmith.errors.InvalidOption("special_tokens", len(special), f"at most {MOST_SPECIAL}")
    texts: LiveTexts | None = session.cached_value("corpus", key)
    if texts is None:
        raise UnknownText("corpus", key, ())
    watch = session.once("watch", "trainer", TrainingWatch)

    def make() -> Training:
        last = watch.begin()

        def check(progress: object) -> None:
            last(progress)
            request.go_on()

        documents = [*texts.by_name.values()]
        counts = request.once(
            "counts", (key, pattern), lambda: toksmith.corpus.count(documents, pattern=pattern, progress=check)
        )
        return train_on(counts, texts, TIES[ties], special, check)

    training: Training = request.once("training", (key, pattern, ties, *special), make)
    return training


def train(request: ViewRequest) -> dict[str, Any]:
    """Trains on stored texts; returns the range of sizes, and the tokens of the texts at some of them.

    `per_word` is the value of a full bar of tokens per word: the median of the texts without a merge.
    """
    training = training_of(request)
    first = measure_at(training, training.least, b"", 0)  # also makes the table of merges, which takes a moment
    figures = [each.per_word for each in first.languages if each.per_word]
    return {**training.about(), "per_word": statistics.median(figures) if figures else 0}


def stop_training(request: ViewRequest) -> dict[str, Any]:
    """Stops the running training; `corpus` can name its texts and is ignored."""
    request.string("corpus", "")
    request.session.once("watch", "trainer", TrainingWatch).stop()
    return {}


def measure_size(request: ViewRequest) -> TrainedAt:
    """The figures of a `size` for the texts and a `sentence`, and the tree of one of its tokens (`id`)."""
    sentence = request.string("sentence", "")
    if len(sentence) > MOST_SENTENCE:
        raise toksmith.errors.InvalidOption("sentence", f"{len(sentence):,} characters", f"at most {MOST_SENTENCE:,}")
    id = None if request.values.get("id") is None else request.number("id")
    return measure_at(training_of(request), request.number("size"), toksmith.reference.utf8(sentence), id)


def tokenizer_of(request: ViewRequest) -> toksmith.Tokenizer:
    return toksmith.rewind(training_of(request).largest, request.number("size"))


def trained_tokenizer(request: ViewRequest) -> dict[str, Any]:
    """Adds the tokenizer of a `size` to the page; returns its name and the facts for the page."""
    return add_tokenizer(request.session, request.string("name", "trained"), tokenizer_of(request))


def trained_file(request: ViewRequest) -> dict[str, Any]:
    """The tokenizer of a `size` in a file of a `format`, in base64 (several files as a ZIP), or the reasons against it.

    `without` names the fields to leave out. If the format cannot hold the other fields, the answer has the reasons as
    `cannot`, and as `without` the fields to leave out for this format, or None if it cannot hold the tokenizer.
    """
    tok, format = tokenizer_of(request), request.string("format")
    if format not in toksmith.formats():
        raise toksmith.errors.UnknownName("format", format, toksmith.formats())
    without, reasons = request.strings("without"), []
    while True:
        try:
            name, data = save_file(tok, format, without)
        except toksmith.errors.CannotRepresent as error:
            reasons.append(loss_reason(error))
            if error.field in without:
                return {"cannot": reasons, "without": None}
            without = [*without, error.field]
        except toksmith.errors.InvalidOption:
            if not reasons:
                raise
            return {"cannot": reasons, "without": None}  # every file needs this field
        else:
            break
    if reasons:
        return {"cannot": reasons, "without": without}
    return {"name": name, "data": base64.b64encode(data).decode()}


def loss_reason(error: toksmith.errors.CannotRepresent) -> str:
    """The reason why a format cannot hold a field, without the advice for programs after the semicolon."""
    return f"The format {error.format} cannot hold {error.field}: {error.problem.partition('; ')[0]}."


def save_file(tok: toksmith.Tokenizer, format: str, without: list[str]) -> tuple[str, bytes]:
    """The name and the bytes of the file of a format; several files become a ZIP."""
    stem, suffix = f"trained-{tok.vocab_size}", toksmith.formats()[format].suffixes[0]
    name = f"{stem}{suffix}" if suffix[0] == "." else suffix.replace("*", "").strip("/")
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
