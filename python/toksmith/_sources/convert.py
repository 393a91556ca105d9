"""convert: writes a tokenizer in another format and verifies that the ids stay the same.

It loads the new file again, and both tokenizers encode a corpus. If the format's original library is installed, it
encodes the corpus too, in a separate process and as its users run it.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import _formats
from .._base.arguments import check_flag
from .._base.paths import printable_path
from .._base.wording import number_of
from .._corpus import Corpus, batch_texts, iter_documents
from .._formats import Format
from .._formats.peers import PeerFailed, PeerProcess, open_peer
from .._model.model import Model, TokenTable
from .._model.patterns import UNSET, PatternArgument
from .._tokenizer.results import Ragged
from .._tokenizer.tokenizer import Tokenizer
from .._training.surgery import IdMap
from ..errors import InvalidOption
from .load import load

BATCH_CHARS = 1 << 20
AROUND = 4  # ids in a report before and after the first different id
# Texts on which tokenizers often differ: the corpus of a conversion if the caller gives none.
SAMPLE = (
    "",
    "Hello, world! It's the tokenizers' first text; they'll see, won't they? I'M SURE IT'S SO.",
    "a  b   c    d\t\te \n\n f\r\n\r\ng\n  ",
    " leading, trailing ",
    "\n",
    "   \n \t \n",
    "x\n  ",
    "a" * 300,
    " " * 200 + "x",
    "=" * 77 + "\n" + "-" * 40,
    "1 12 123 1234 12345 1234567 3.14159 1,000,000 0x1F4A9 2026-11-21 ½ ² Ⅷ ١٢٣ १२३",
    "camelCase HTTPServer snake_case kebab-case UPPER lower Title iPhone McDonald's",
    "def f(x):\n\tif x > 0:\n\t\treturn {'a': [1, 2], \"b\": x ** 2}  # comment\n\n\n    pass\n",
    '<html><body class="a">&amp;</body></html> // /* */ ;;; ))) }}} >>> ... ---',
    "https://example.org/a/b?c=d&e=f#g user@example.org C:\\Users\\x $HOME 100% #tag",
    "café cafe\u0301 naïve Straße ŒUVRE İstanbul ıŞİ ǆ ﬁ ﬀ ß ẞ",
    "it\u017f \u212a \u2019s don\u2019t \u201cquoted\u201d \u2014 dash\u2026",
    "Привет, мир! Ещё раз: съешь же этих мягких французских булок.",
    "Γειά σου Κόσμε. שלום עולם. مرحبا بالعالم، كيف الحال؟",
    "हिन्दी में लिखा हुआ पाठ। বাংলা தமிழ் ไทยไม่มีช่องว่าง",
    "中文分词没有空格，所以很难。日本語の文章です。カタカナとｶﾅ。한국어 문장입니다.",
    "😀 👍🏽 👨‍👩‍👧‍👦 🇫🇷 ❤️ ☀ \U0001f9d1\u200d\U0001f4bb",
    "\u00a0\u2003\u3000\u200b\ufeff\u00ad\u2028\u2029\u0085",
    "NUL \0 bell \x07 escape \x1b[0m delete \x7f",
    "\u0300\u0301 e\u0323\u0302 \U00011de0 \U0001fae8 \U000e0041",
    "\ufffd \ue000 \U0010ffff \ud800 \udc00 \ud83d\ude00",
    "<|endoftext|> <s> </s> [INST] <unk> <0x41> ▁ ▁▁ ▁a Ġ Ċ",
    "the the the the the the the the the the the the the the",
    "supercalifragilisticexpialidocious antidisestablishmentarianism " * 5,
    "abababababababababababab aabaabaabaab",
)


@dataclass(frozen=True)
class IdDifference:
    """The first place where two tokenizers differ.

    Attributes:
        document: The number of the document in the corpus, from 0.
        place: The number of equal ids before it.
        text: The start of the text that follows.
        expected: The tokens of the source around the place, as (id, bytes).
        found: The tokens of the target.
    """

    document: int
    place: int
    text: str
    expected: tuple[tuple[int, bytes], ...]
    found: tuple[tuple[int, bytes], ...]

    def __str__(self) -> str:
        rows = (
            [repr(token.decode("utf-8", "backslashreplace")) for _, token in row] for row in (self.expected, self.found)
        )
        expected, actual = map(" | ".join, rows)
        return f"document {self.document}, id {self.place}: {expected}\n  became {actual}\n  in {self.text!r}"


@dataclass(frozen=True)
class PeerRun:
    """The result of the format's own library.

    Attributes:
        library: Its name and version; only the name if it was not run.
        documents: The number of documents that it encoded.
        difference: The first difference, or None.
        problem: Why it was not run or failed; None if it succeeded.
        differing: The number of documents with different ids.
    """

    library: str | None
    documents: int = 0
    difference: IdDifference | None = None
    problem: str | None = None
    differing: int = 0

    def __str__(self) -> str:
        if self.problem is not None:
            return f"{self.library or 'the real library'} was not run: {self.problem}"
        if self.difference is not None:
            return f"{self.library} differs{share_text(self.differing, self.documents)}: {self.difference}"
        return f"{self.library}: {number_of(self.documents, 'document')}, all ids equal"


@dataclass(frozen=True)
class ConversionReport:
    """What `convert` wrote, and the result of the comparison.

    Attributes:
        source: The source as text.
        target: The file or folder that was written.
        from_format: The format of the source; None for a published encoding or
            a tokenizer in memory.
        to_format: The format of the target.
        lost: The fields of `allow_loss` that the format cannot hold exactly.
        documents: The number of documents that both encoded.
        difference: The first difference; None if all ids are equal.
        peer: The result of the format's own library.
        reasons: For each field of `lost`, why the format cannot hold it, and
            which texts can get other ids.
        differing: The number of documents with different ids.
        id_map: The map from the ids of the source to those of the target, if
            the format requires other ids and `renumber` allows them.
        notes: For a folder of transformers: the tokens with a role, the usual
            settings that it lacks, and the files that were replaced.
    """

    source: str
    target: str
    from_format: str | None
    to_format: str
    lost: tuple[str, ...]
    documents: int
    difference: IdDifference | None
    peer: PeerRun
    reasons: tuple[str, ...] = ()
    differing: int = 0
    id_map: IdMap | None = None
    notes: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether all ids are equal, including the library's if it ran."""
        return self.difference is None and self.peer.difference is None

    def __str__(self) -> str:
        lines = [f"{self.source} -> {self.target} ({self.to_format})"]
        if self.id_map is not None:
            changed = sum(old != new for old, new in self.id_map.old_to_new.items())
            lines.append(f"{number_of(changed, 'token')} of {len(self.id_map.old_to_new)} with a new id; see id_map")
        lines += self.notes
        lines += [f"left out: {', '.join(self.lost)}"] if self.lost else []
        lines += [f"  {name}: {reason}" for name, reason in zip(self.lost, self.reasons, strict=False)]
        lines.append(
            f"{number_of(self.documents, 'document')}, all ids equal"
            if self.difference is None
            else f"differs{share_text(self.differing, self.documents)}: {self.difference}"
        )
        return "\n".join([*lines, str(self.peer)])

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values; bytes are in hex, and `id_map` is a list of
        (old id, new id) pairs."""
        ids = None if self.id_map is None else [[*row] for row in self.id_map.old_to_new.items()]
        report = json.dumps(dataclasses.asdict(dataclasses.replace(self, id_map=None)), default=bytes.hex)
        return {**json.loads(report), "id_map": ids, "equal": self.equal}

    def to_json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


def convert(
    source: str | os.PathLike[str] | Tokenizer,
    target: str | os.PathLike[str],
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    verify: Corpus | None = None,
    allow_loss: Collection[str] = (),
    pattern: PatternArgument = UNSET,
    special_tokens: Mapping[str, int] | None = None,
    renumber: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> ConversionReport:
    """Writes a tokenizer in another format, loads it back, and encodes a corpus
    with both.

    The format's own library (tiktoken, tokenizers, sentencepiece, …) encodes
    the corpus too if it is installed: in a fresh process, and with the inputs
    of its users, which are the files alone (tiktoken's users also supply the
    pattern). If ids differ, the file is still written and the report's `equal`
    is False; no error is raised.

    Args:
        source: A value for `load`, or a tokenizer.
        target: The file, or the folder for formats of several files. Without
            `to_format`, its name decides the format. A folder that exists, or a
            name that ends in `/`, becomes one that `AutoTokenizer` of
            transformers loads.
        from_format: The format of the source; None to detect it from the
            content.
        to_format: A name of `toksmith.formats()`.
        verify: The corpus, as for `train`; None for a built-in sample of
            difficult texts.
        allow_loss: Names of model fields that the format can store only in
            part; the report gives the reason, and the texts that can differ.
        pattern: As for `load`, for sources without a split pattern.
        special_tokens: As for `load`, for the same sources.
        renumber: Whether tokens get the ids that the format requires: for
            `tekken` special tokens first, then the bytes. The report's `id_map`
            maps old ids to new ids, for a model's rows and the comparison.
        settings: For a folder of transformers, fields of tokenizer_config.json:
            `eos_token`, `model_max_length`, `chat_template` (as for
            `Tokenizer.chat`), … Without them, the settings of the source's
            folder stay, and a role belongs to the special token with a usual
            content (`</s>`), if there is exactly one. None leaves a role open.
    Returns: A report, which can be printed.
    Raises:
        CannotRepresent: The format cannot store a field that is not in
            `allow_loss`.
        FormatError: The source cannot be read, or the target cannot be written,
            or its name fits no format, or several (`.model`).
        InvalidOption: As `load`; a token of `settings` is not in the vocabulary.
    Cost: time grows with the corpus and the number of libraries that run.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = toksmith.convert(tok, f"{folder}/low.tiktoken", verify=["low", "slow"])
    >>> report.documents, report.equal
    (2, True)
    """
    check_flag(renumber, "renumber")
    row = _formats.format_by_suffix(target) if to_format is None else _formats.format_by_name(to_format)
    tok, name, source_format = open_source(source, from_format, pattern, special_tokens)
    before, id_map = tok, None
    if renumber and row.renumber is not None:
        tok, id_map = renumber_tokens(tok, row.renumber(tok.model))
    lost = _formats.find_losses(tok.model, row, allow_loss)
    if row.name == "transformers":
        from .folder_settings import write_folder  # reads chat templates: only for folders

        files, notes = write_folder(source, tok.model, target, allow_loss, settings or {})
    elif settings:
        raise InvalidOption("settings", settings, f"no value: the format {row.name!r} has none")
    else:
        files, notes = _formats.write_model(tok.model, target, row.name, allow_loss), []
    copy = load(Path(files[0]), format=row.name, **load_arguments(tok.model, row))
    corpus = SAMPLE if verify is None else iter_documents(verify)
    with closing(PeerCheck(row, files, tok)) as peer:
        result = compare_ids(tok, copy, corpus, partial(encode_with, before, id_map), peer)
    if result.first is None:
        result.first = special_difference(tok, copy, result.documents)
    return ConversionReport(
        source=name,
        target=printable_path(target),
        from_format=source_format,
        to_format=row.name,
        lost=(*lost,),
        documents=result.documents,
        difference=result.first,
        peer=peer.result(),
        reasons=(*lost.values(),),
        differing=result.differing,
        id_map=id_map,
        notes=(*notes,),
    )


def open_source(
    source: str | os.PathLike[str] | Tokenizer,
    format: str | None,
    pattern: PatternArgument,
    special_tokens: Mapping[str, int] | None,
) -> tuple[Tokenizer, str, str | None]:
    """The tokenizer of a source, its name, and its format (None for a tokenizer in memory)."""
    if isinstance(source, Tokenizer):
        _formats.refuse_arguments("the tokenizer", pattern, special_tokens, format)
        return source, repr(source), None
    tok = load(source, format=format, pattern=pattern, special_tokens=special_tokens)
    return tok, printable_path(source), format or _formats.detect_path_format(source)


def load_arguments(model: Model, row: Format) -> dict[str, Any]:
    """The arguments that `load` needs for files that do not contain them."""
    arguments: dict[str, Any] = {}
    if "pattern" in row.arguments:
        arguments["pattern"] = [step["pattern"] for step in model.splitters] or None
    if "special_tokens" in row.arguments:
        arguments["special_tokens"] = model.special_tokens
    return arguments


@dataclass
class Comparison:
    """The counts of compared documents and of documents with different ids, and the first difference."""

    documents: int = 0
    differing: int = 0
    first: IdDifference | None = None

    def add(self, text: str | bytes, number: int, one: Encoded, two: Encoded) -> None:
        self.documents += 1
        if one.ids != two.ids:
            self.differing += 1
            self.first = self.first or difference_of(number, text, one, two)


def encode_with(tok: Tokenizer, id_map: IdMap | None, texts: Sequence[str | bytes]) -> Ragged:
    """The ids from the tokenizer before renumbering, mapped to the new ids."""
    encoded = tok.encode_ragged(texts, special="text")
    if id_map is None:
        return encoded
    table = np.zeros(id_map.old_size, np.uint32)
    table[[*id_map.old_to_new]] = [*id_map.old_to_new.values()]
    return Ragged(table[encoded.ids], encoded.ends)


def renumber_tokens(tok: Tokenizer, new: Mapping[int, int]) -> tuple[Tokenizer, IdMap]:
    """The tokenizer with the new ids, and the map from old to new ids."""
    model = tok.model
    ids = np.array([new[id] for id in model.ids.tolist()], np.uint32)
    order = np.argsort(ids, kind="stable")
    new_model = dataclasses.replace(
        model,
        tokens=TokenTable.of([model.tokens[place] for place in order.tolist()]),
        ids=ids[order],
        merges=np.array([[new[id] for id in row] for row in model.merges.tolist()], np.uint32).reshape(-1, 3),
        scores=None if model.scores is None else model.scores[order],
        unknown_id=None if model.unknown_id is None else new[model.unknown_id],
        added_tokens=tuple(dataclasses.replace(token, id=new[token.id]) for token in model.added_tokens),
        training=None,
    )
    size = max(new.values(), default=-1) + 1
    sources = {to: (old,) for old, to in new.items()}
    return Tokenizer(new_model), IdMap(tok.vocab_size, size, dict(new), sources, tok.fingerprint)


def compare_ids(
    tok: Tokenizer,
    other: Tokenizer,
    corpus: Iterable[str | bytes],
    encode: Callable[[Sequence[str | bytes]], Ragged],
    run: PeerCheck,
) -> Comparison:
    """The result of encoding the corpus with both tokenizers; `encode` gives the ids of `tok`, `run` compares the library's."""
    comparison = Comparison()
    for batch in batch_texts(corpus, BATCH_CHARS):
        expected = encode(batch)
        actual = other.encode_ragged(batch, special="text")
        run.check(batch, expected, comparison.documents)
        if expected.ids.tobytes() == actual.ids.tobytes() and expected.ends.tobytes() == actual.ends.tobytes():
            comparison.documents += len(batch)
            continue
        for text, one, two in zip(batch, expected, actual, strict=True):
            comparison.add(text, comparison.documents, Encoded(tok, one.tolist()), Encoded(other, two.tolist()))
    return comparison


def share_text(differing: int, documents: int) -> str:
    """The number of different documents, for a message; empty if only special tokens differ."""
    return f" ({differing} of {number_of(documents, 'document')})" if differing else ""


def special_difference(tok: Tokenizer, other: Tokenizer, number: int) -> IdDifference | None:
    """The difference on a text of all special tokens, which encoding recognizes; None if the ids are equal."""
    text = " ".join([f"a{content}" for content in tok.special_tokens])
    one, two = tok.encode(text, special="allow"), other.encode(text, special="allow")
    return None if one == two else difference_of(number, text, Encoded(tok, one), Encoded(other, two))


class PeerCheck:
    """Runs the format's own library on the written files, batch by batch until it fails."""

    def __init__(self, row: Format, paths: Sequence[str], tok: Tokenizer) -> None:
        self.tok = tok
        self.problem: str | None = None
        self.comparison = Comparison()
        self.process: PeerProcess | None = None
        self.library: str | None = None
        try:
            self.process = open_peer(row.name, paths, tok.model)
            self.library = self.process.library
        except PeerFailed as error:
            self.problem = str(error)

    def check(self, texts: Sequence[str | bytes], expected: Ragged, first: int) -> None:
        """Compares a batch, without documents that are not UTF-8, because these libraries accept only texts."""
        if self.process is None or self.problem is not None:
            return
        rows = [(number, text, array) for number, (text, array) in enumerate(zip(texts, expected, strict=True), first)]
        rows = [row for row in rows if as_text(row[1]) is not None]
        plain_texts = [str(as_text(text)) for _, text, _ in rows]
        ids_of_toksmith = [array.tolist() for _, _, array in rows]
        if self.process.finds_special:
            ids_of_toksmith = self.tok.encode_batch(plain_texts, special="allow", add_special_tokens=True)
        try:
            ids_of_peer = self.process.encode(plain_texts)
        except PeerFailed as error:
            self.problem = str(error)
            return
        for (number, text, _), array, ids in zip(rows, ids_of_toksmith, ids_of_peer, strict=True):
            self.comparison.add(text, number, Encoded(self.tok, array), Encoded(self.tok, ids))

    def close(self) -> None:
        if self.process is not None:
            self.process.close()

    def result(self) -> PeerRun:
        comparison = self.comparison
        documents = 0 if self.problem else comparison.documents
        return PeerRun(self.library, documents, comparison.first, self.problem, comparison.differing)


def as_text(text: str | bytes) -> str | None:
    """The text without lone surrogates, as toksmith encodes it; None for bytes that are not UTF-8."""
    if isinstance(text, str):
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


class Encoded(NamedTuple):
    """The ids that a tokenizer gives for a text."""

    tok: Tokenizer
    ids: list[int]


def difference_of(number: int, text: str | bytes, one: Encoded, two: Encoded) -> IdDifference:
    """The first place where two lists of ids differ, with the tokens around it."""
    expected, actual = one.ids, two.ids
    least = min(len(expected), len(actual))
    place = next((at for at in range(least) if expected[at] != actual[at]), least)
    start = max(0, place - AROUND)
    rows = [
        tuple((id, token_or_placeholder(side.tok, id)) for id in side.ids[start : place + AROUND])
        for side in (one, two)
    ]
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    before = sum(len(token_or_placeholder(one.tok, id)) for id in expected[:start])
    excerpt = data[before : before + 80].decode("utf-8", "replace")
    return IdDifference(number, place, excerpt, rows[0], rows[1])


def token_or_placeholder(tok: Tokenizer, id: int) -> bytes:
    """The bytes of an id, or a placeholder for an id without a token."""
    try:
        return tok.token_bytes(id)
    except ValueError:
        return b"<id %d>" % id
