"""A map of a folder: the tokens of its files, and the files that a prompt can omit."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Any

from .._base.arguments import check_flag
from .._base.threads import thread_count
from .._base.wording import number_of
from .._corpus.encode_files import iter_encoded_blocks as encoded_blocks
from .._render import Area, Areas, Block, Cell, Line, Shown, Table, one_line
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from .._tokenizer.tokenizer import Special, Text, Tokenizer
from ..errors import OF_A_PLACE, CorpusError, InvalidOption
from ._folder_files import FoundFile, SkippedFile, find_files
from ._waste import COPY, PART_RULES, WASTES, WasteRow, file_rule, remove_parts

HELD_TEXTS = 1 << 24  # bytes of files in one batch
AT_ONCE = 1 << 24  # bytes of a block of a file that is too large for a batch
REFUSED = OF_A_PLACE  # errors of a tokenizer about one text: only this text is skipped
MOST_FILES, MOST_ENDINGS = 15, 12  # rows in the tables of a view
STEPS = (4.0, 3.0, 2.0)  # bytes per token: the lower bounds of the colours but the last
SCALE = ("4 bytes per token and more", "3 to 4", "2 to 3", "less than 2")


@dataclass(frozen=True)
class FileTokens:
    """One text file.

    Attributes:
        path: Relative to the folder, with `/` between folders.
        bytes, tokens: Of the whole file.
        rule: The first row of `WASTES` for whole files that matches it; empty
            if none does.
        parts: By row of `WASTES` for parts, the number of tokens that the file
            saves without these parts; empty for a file above 16 MiB.
        digest: Hash of its bytes, which identifies copies; empty for a file
            above 16 MiB.
    """

    path: str
    bytes: int
    tokens: int
    rule: str
    parts: Mapping[str, int]
    digest: str


@dataclass(frozen=True)
class Waste:
    """The waste that one row of `WASTES` found.

    Attributes:
        name, why: As in the row.
        files: Number of files that contain it.
        tokens: Number of tokens that the folder saves without it. Rules for
            parts count the files that no rule for files leaves out, and each
            of them counts alone.
        advised: Whether a prompt should leave it out.
    """

    name: str
    why: str
    files: int
    tokens: int
    advised: bool


@dataclass(frozen=True, repr=False)
class FolderMap(Shown):
    """The files of a folder by tokens, and the files that a prompt can omit.

    Two maps by one tokenizer add up to one (`first + second`).

    Attributes:
        name: Name of the folder.
        tokenizer: Its description.
        files: The text files, in order of their paths.
        skipped: The files that are not counted, with the reason: `ignored` (by
            `.gitignore`), `binary` (a NUL in the first 8,000 bytes, as for
            git), `link`, `not a file`, `cannot be encoded` (by this
            tokenizer), or a read error.
    """

    name: str
    tokenizer: str
    files: tuple[FileTokens, ...]
    skipped: tuple[SkippedFile, ...]

    @cached_property
    def tokens(self) -> int:
        """Tokens of all files."""
        return sum(file.tokens for file in self.files)

    @cached_property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files)

    @cached_property
    def left_out(self) -> dict[str, str]:
        """The files that a prompt can omit: the name of the row of `WASTES`, by path."""
        reasons: dict[str, str] = {}
        digests: set[str] = set()
        for file in self.files:
            if file.rule:
                reasons[file.path] = file.rule
            elif file.bytes and file.digest in digests:
                reasons[file.path] = COPY
            if file.digest:
                digests.add(file.digest)
        return reasons

    @cached_property
    def wastes(self) -> tuple[Waste, ...]:
        """The waste by row of `WASTES`; rows that match nothing are left out."""
        return tuple(filter(None, map(self._waste, WASTES)))

    @property
    def saved(self) -> int:
        """The number of tokens that a prompt saves if it leaves out the advised
        rows."""
        return sum(waste.tokens for waste in self.wastes if waste.advised)

    def __add__(self, other: FolderMap) -> FolderMap:
        """The map of the files of both; a path that both have is taken from `other`.

        Raises:
            InvalidOption: The maps are by different tokenizers.
        """
        if not isinstance(other, FolderMap):
            return NotImplemented
        if other.tokenizer != self.tokenizer:
            raise InvalidOption("other", other.tokenizer, f"a map by {self.tokenizer}")
        files = {file.path: file for file in (*self.files, *other.files)}
        skipped = {each.path: each for each in (*self.skipped, *other.skipped)}
        return make_map(self.name, self.tokenizer, files.values(), skipped.values())

    def _waste(self, row: WasteRow) -> Waste | None:
        if row.whole:
            amounts = [file.tokens for file in self.files if self.left_out.get(file.path) == row.name]
        else:
            rest = (file for file in self.files if file.path not in self.left_out)
            amounts = [file.parts[row.name] for file in rest if file.parts.get(row.name)]
        return Waste(row.name, row.why, len(amounts), sum(amounts), row.advised) if amounts else None

    def to_dict(self) -> dict[str, Any]:
        """Files, waste and skipped files as JSON values."""
        out = self.left_out
        files = [
            {"path": file.path, "bytes": file.bytes, "tokens": file.tokens, "left_out": out.get(file.path)}
            | {"parts": dict(file.parts)}
            for file in self.files
        ]
        return {
            "folder": self.name,
            "tokenizer": self.tokenizer,
            "bytes": self.bytes,
            "tokens": self.tokens,
            "saved": self.saved,
            "wastes": [dict(vars(waste)) for waste in self.wastes],
            "files": files,
            "skipped": [each._asdict() for each in self.skipped],
        }

    def areas(self) -> Area:
        """The folder as a tree of areas: the name of a folder ends in `/`, and
        its size is the sum of its files."""
        tree: dict[str, Any] = {}
        for file in self.files:
            *folders, name = PurePosixPath(file.path).parts or (file.path,)
            node = tree
            for each in folders:
                node = node.setdefault(f"{each}/", {})
            node[name] = file
        return self._area(f"{self.name}/", tree)

    def _area(self, name: str, node: Any) -> Area:
        if isinstance(node, FileTokens):
            figure = f"{node.tokens:,} ({percent_of(node.tokens, self.tokens)})"
            out = node.path in self.left_out
            return Area(
                one_line(name), node.tokens, figure, token_summary(node.tokens, node.bytes), colour_step(node), out
            )
        below = tuple(self._area(each, under) for each, under in node.items())
        tokens = int(sum(each.size for each in below))
        figure = f"{tokens:,} ({percent_of(tokens, self.tokens)})"
        return Area(one_line(name), tokens, figure, number_of(tokens, "token"), below=below)

    def _parts(self) -> Iterator[str | Block]:
        figures = f"{number_of(len(self.files), 'file')}, {token_summary(self.tokens, self.bytes)}"
        yield f"{one_line(self.name)}: {figures} by {self.tokenizer}"
        if not self.files:
            yield Line("no text file was found", "warn")
        else:
            yield Areas(self.areas(), "Tokens of each folder", SCALE, "left out")
            yield from self._waste_blocks()
            yield Table(*self._ending_table(), caption="By the ending of the name")
            yield Table(*self._largest_table(), caption="The largest files", left=(0, 4))
        counts = Counter(each.reason for each in self.skipped)
        if counts:
            yield Table(["not counted", ""], [[reason, f"{count:,}"] for reason, count in counts.most_common()])

    def _waste_blocks(self) -> Iterator[Block]:
        if not self.wastes:
            yield Line("nothing to leave out was found", "good")
            return
        rows: list[list[str | Cell]] = []
        for waste in self.wastes:
            name = Cell(waste.name, "warn" if waste.advised else "")
            rows.append(
                [name, f"{waste.files:,}", f"{waste.tokens:,}", percent_of(waste.tokens, self.tokens), waste.why]
            )
        yield Table(
            ["found", "files", "tokens", "of all", "how it is recognised"],
            rows,
            "What a prompt can do without",
            left=(0, 4),
        )
        rest = f"a prompt without the marked rows has {number_of(self.tokens - self.saved, 'token')}"
        if any(waste.advised for waste in self.wastes):
            yield Line(f"{rest} and saves {self.saved:,} ({percent_of(self.saved, self.tokens)})", "strong")

    def _ending_table(self) -> tuple[list[str], list[list[str]]]:
        groups: dict[str, list[int]] = {}
        for file in self.files:
            group = groups.setdefault(PurePosixPath(file.path).suffix or "none", [0, 0, 0])
            for at, amount in enumerate((1, file.tokens, file.bytes)):
                group[at] += amount
        ordered = sorted(groups.items(), key=lambda item: -item[1][1])[:MOST_ENDINGS]
        rows = [
            [
                one_line(name)[:20],
                f"{files:,}",
                f"{tokens:,}",
                percent_of(tokens, self.tokens),
                bytes_per_token(tokens, size),
            ]
            for name, (files, tokens, size) in ordered
        ]
        return ["ending", "files", "tokens", "of all", "bytes per token"], rows

    def _largest_table(self) -> tuple[list[str], list[list[str | Cell]]]:
        rows: list[list[str | Cell]] = []
        for file in sorted(self.files, key=lambda file: -file.tokens)[:MOST_FILES]:
            out = self.left_out.get(file.path, "")
            figures = [
                f"{file.tokens:,}",
                percent_of(file.tokens, self.tokens),
                bytes_per_token(file.tokens, file.bytes),
            ]
            rows.append([one_line(file.path), *figures, Cell(out and f"left out: {out}", "warn" if out else "")])
        return ["file", "tokens", "of all", "bytes per token", ""], rows


def token_summary(tokens: int, size: int) -> str:
    """A number of tokens, and the bytes per token."""
    return (
        f"{number_of(tokens, 'token')}, {bytes_per_token(tokens, size)} bytes per token"
        if tokens
        else number_of(tokens, "token")
    )


def bytes_per_token(tokens: int, size: int) -> str:
    return f"{size / tokens:.2f}" if tokens else "–"


def percent_of(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"


def colour_step(file: FileTokens) -> int:
    """The index of the colour of a file in `SCALE`."""
    return sum(file.bytes < least * file.tokens for least in STEPS)


def folder(
    tok: TokenizerSource,
    folder: str | os.PathLike[str] | Mapping[str, Text],
    *,
    ignored: bool = False,
    special: Special = "text",
    threads: int | None = None,
) -> FolderMap:
    """A folder by tokens: the cost of each file, and the files that a prompt can
    omit.

    It counts text files. It skips the paths that `.gitignore` files exclude
    (those of the folder, its subfolders and its repository, not those of the
    user), version control, files with a NUL in their first 8,000 bytes, links
    and devices; `skipped` lists them. The rows of `explain.WASTES` are what a
    prompt can omit: lock files, generated and minified files, copies, base64.

    Args:
        folder: The path of a folder, or its files: texts by path, with `/`
            between folders.
        ignored: Whether to count also the files that `.gitignore` excludes.
        special: As in `Tokenizer.encode`, but by default plain text.
        threads: At least 1; None for all processors.
    Raises:
        CorpusError: The folder does not exist or cannot be read. Unreadable
            files inside it are in `skipped`.
        ImportError: There is a `.gitignore`, and pathspec is missing (the extra
            `map`).
    Cost: up to three encodings of each file, and at most about 50 MiB of texts
        at a time.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> found = toksmith.explain.folder(tok, {"a.txt": "low low", "b/Cargo.lock": "lowest", "c.txt": "low low"})
    >>> found.tokens, found.left_out, found.saved
    (8, {'b/Cargo.lock': 'lock file', 'c.txt': 'copy'}, 6)
    """
    tok = resolve_tokenizer(tok)
    files: list[FileTokens] = []
    skipped: list[SkippedFile] = []
    batch: list[FoundFile] = []
    size = 0

    def count_files() -> None:
        for each in count_or_skip(tok, batch, special, threads):
            (skipped if isinstance(each, SkippedFile) else files).append(each)  # type: ignore[arg-type]
        batch.clear()

    for each in find_files(folder, ignored=check_flag(ignored, "ignored")):
        if isinstance(each, SkippedFile):
            skipped.append(each)
            continue
        if each.data is None:
            try:
                files.append(count_in_blocks(tok, each, special, threads))
            except CorpusError as error:
                skipped.append(SkippedFile(each.path, error.problem))
            except REFUSED:
                skipped.append(SkippedFile(each.path, "cannot be encoded"))
            continue
        batch.append(each)
        size += each.size
        if size > HELD_TEXTS:
            count_files()
            size = 0
    count_files()
    name = "folder" if isinstance(folder, Mapping) else os.path.basename(os.path.abspath(os.fspath(folder))) or "/"
    return make_map(os.fsencode(name).decode("utf-8", "backslashreplace"), describe_tokenizer(tok), files, skipped)


def make_map(name: str, tokenizer: str, files: Iterable[FileTokens], skipped: Iterable[SkippedFile]) -> FolderMap:
    """A map with its files in order of their paths."""
    ordered = sorted(files, key=lambda file: file.path), sorted(skipped)
    return FolderMap(name, tokenizer, tuple(ordered[0]), tuple(ordered[1]))


def count_or_skip(
    tok: Tokenizer, found: Sequence[FoundFile], special: Special, threads: int | None
) -> Iterator[FileTokens | SkippedFile]:
    """Counts files in one batch; if the tokenizer refuses a file, counts each file separately."""
    try:
        yield from [*count_batch(tok, found, special, threads)]
    except REFUSED:
        if len(found) == 1:
            yield SkippedFile(found[0].path, "cannot be encoded")
            return
        for each in found:
            yield from count_or_skip(tok, [each], special, threads)


def count_batch(
    tok: Tokenizer, found: Sequence[FoundFile], special: Special, threads: int | None
) -> Iterator[FileTokens]:
    """Counts files, and each of them again without the parts that a rule for parts finds."""
    texts: list[bytes] = []
    places: list[dict[str, int]] = []
    for file in found:
        data = file.data or b""
        mine = {"": len(texts)}
        texts.append(data)
        for name in PART_RULES:
            cut = remove_parts(name, data)
            if len(cut) < len(data):
                mine[name] = len(texts)
                texts.append(cut)
        places.append(mine)
    counts = [*map(int, tok.count_batch(texts, special=special, threads=threads))]
    for file, mine in zip(found, places, strict=True):
        tokens = counts[mine.pop("")]
        parts = {name: tokens - counts[at] for name, at in mine.items()}
        data = file.data or b""
        digest = blake2b(data, digest_size=16).hexdigest()
        yield FileTokens(file.path, file.size, tokens, file_rule(file.path, data), parts, digest)


def count_in_blocks(tok: Tokenizer, file: FoundFile, special: Special, threads: int | None) -> FileTokens:
    """Counts a large file block by block."""
    assert file.place is not None
    blocks = encoded_blocks(tok._engine, file.place, special=special, threads=thread_count(threads), limit=AT_ONCE)
    tokens = sum(len(ids) for ids, _ in blocks)
    return FileTokens(file.path, file.size, tokens, file_rule(file.path, b""), {}, "")
