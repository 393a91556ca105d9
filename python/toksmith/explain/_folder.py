"""What the files of a folder cost in tokens, and what a prompt can do without: a map of a repository."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Any

from .._base.arguments import flag
from .._base.errors import OF_A_PLACE, CorpusError, InvalidOption, number_of
from .._base.threads import thread_count
from .._corpus.encode_files import blocks as encoded_blocks
from .._render import Area, Areas, Block, Cell, Line, Shown, Table, one_line
from .._tokenizer.tokenizer import Special, Text, Tokenizer
from ._asked import name_of
from ._folder_files import FoundFile, SkippedFile, found_in
from ._waste import COPY, PART_RULES, WASTES, WasteRow, file_rule, without

__all__ = ["FileTokens", "FolderMap", "Waste", "folder"]

HELD_TEXTS = 1 << 24  # bytes of files that are encoded at once
AT_ONCE = 1 << 24  # bytes of a file that is too large to be held
REFUSED = OF_A_PLACE  # what a tokenizer says against a text: the text alone is left out
MOST_FILES, MOST_ENDINGS = 15, 12  # in the tables of a view
STEPS = (4.0, 3.0, 2.0)  # bytes a token, from the first step of colour on
SCALE = ("4 bytes per token and more", "3 to 4", "2 to 3", "less than 2")


@dataclass(frozen=True)
class FileTokens:
    """One text file.

    Attributes:
        path: Relative to the folder, with `/` between folders.
        bytes, tokens: Of the whole file.
        rule: The row of `WASTES` for whole files that it fits; empty for none.
        parts: By row of `WASTES` for parts, how many tokens the file would
            have less without these parts; empty for a file that is too large
            to be held (16 MiB).
        digest: Of its bytes, by which copies are found; empty for such a file.
    """

    path: str
    bytes: int
    tokens: int
    rule: str
    parts: Mapping[str, int]
    digest: str


@dataclass(frozen=True)
class Waste:
    """What one row of `WASTES` found.

    Attributes:
        name, why: Of the row.
        files: In how many files.
        tokens: How many tokens less the folder would have without it. Those of
            parts are counted in the files that no rule leaves out, each rule
            by itself.
        advised: Whether it is among what to leave out of a prompt.
    """

    name: str
    why: str
    files: int
    tokens: int
    advised: bool


@dataclass(frozen=True, repr=False)
class FolderMap(Shown):
    """The files of a folder by tokens, and what a prompt can do without.

    Two maps by one tokenizer add up to one (`first + second`).

    Attributes:
        name: Of the folder.
        tokenizer: Its description.
        files: The text files, in order of their paths.
        skipped: What was not counted, with the reason: `ignored` (by
            `.gitignore`), `binary` (a NUL in the first 8,000 bytes, as for
            git), `link`, `not a file`, `cannot be encoded` (by this
            tokenizer), or why it cannot be read.
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
        """The files that a prompt can do without: by path, the row of `WASTES`."""
        found: dict[str, str] = {}
        first: set[str] = set()
        for file in self.files:
            if file.rule:
                found[file.path] = file.rule
            elif file.bytes and file.digest in first:
                found[file.path] = COPY
            if file.digest:
                first.add(file.digest)
        return found

    @cached_property
    def wastes(self) -> tuple[Waste, ...]:
        """What each row of `WASTES` found, if anything."""
        return tuple(filter(None, map(self._waste, WASTES)))

    @property
    def saved(self) -> int:
        """The number of tokens that a prompt saves by what is advised."""
        return sum(waste.tokens for waste in self.wastes if waste.advised)

    def __add__(self, other: FolderMap) -> FolderMap:
        """The map of the files of both.

        Raises:
            InvalidOption: The maps are by different tokenizers.
        """
        if not isinstance(other, FolderMap):
            return NotImplemented
        if other.tokenizer != self.tokenizer:
            raise InvalidOption("other", other.tokenizer, f"a map by {self.tokenizer}")
        files = {file.path: file for file in (*self.files, *other.files)}
        skipped = {each.path: each for each in (*self.skipped, *other.skipped)}
        return made(self.name, self.tokenizer, files.values(), skipped.values())

    def _waste(self, row: WasteRow) -> Waste | None:
        if row.whole:
            amounts = [file.tokens for file in self.files if self.left_out.get(file.path) == row.name]
        else:
            kept = (file for file in self.files if file.path not in self.left_out)
            amounts = [file.parts[row.name] for file in kept if file.parts.get(row.name)]
        return Waste(row.name, row.why, len(amounts), sum(amounts), row.advised) if amounts else None

    def to_dict(self) -> dict[str, Any]:
        """Files, waste and what was skipped as JSON values."""
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
        """The folder as a tree of areas: a folder's name ends in `/`, and its
        size is the sum of its files."""
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
            figure = f"{node.tokens:,} ({share(node.tokens, self.tokens)})"
            out = node.path in self.left_out
            return Area(one_line(name), node.tokens, figure, said(node.tokens, node.bytes), step(node), out)
        below = tuple(self._area(each, under) for each, under in node.items())
        tokens = int(sum(each.size for each in below))
        figure = f"{tokens:,} ({share(tokens, self.tokens)})"
        return Area(one_line(name), tokens, figure, number_of(tokens, "token"), below=below)

    def _parts(self) -> Iterator[str | Block]:
        figures = f"{number_of(len(self.files), 'file')}, {said(self.tokens, self.bytes)}"
        yield f"{one_line(self.name)}: {figures} by {self.tokenizer}"
        if not self.files:
            yield Line("no text file was found", "warn")
        else:
            yield Areas(self.areas(), "Tokens of each folder", SCALE, "left out")
            yield from self._wasted()
            yield Table(*self._endings(), caption="By the ending of the name")
            yield Table(*self._largest(), caption="The largest files", left=(0, 4))
        counts = Counter(each.reason for each in self.skipped)
        if counts:
            yield Table(["not counted", ""], [[reason, f"{count:,}"] for reason, count in counts.most_common()])

    def _wasted(self) -> Iterator[Block]:
        if not self.wastes:
            yield Line("nothing to leave out was found", "good")
            return
        rows: list[list[str | Cell]] = []
        for waste in self.wastes:
            name = Cell(waste.name, "warn" if waste.advised else "")
            rows.append([name, f"{waste.files:,}", f"{waste.tokens:,}", share(waste.tokens, self.tokens), waste.why])
        yield Table(
            ["found", "files", "tokens", "of all", "how it is recognised"],
            rows,
            "What a prompt can do without",
            left=(0, 4),
        )
        left = f"a prompt without what is marked has {number_of(self.tokens - self.saved, 'token')}"
        if any(waste.advised for waste in self.wastes):
            yield Line(f"{left} and saves {self.saved:,} ({share(self.saved, self.tokens)})", "strong")

    def _endings(self) -> tuple[list[str], list[list[str]]]:
        groups: dict[str, list[int]] = {}
        for file in self.files:
            group = groups.setdefault(PurePosixPath(file.path).suffix or "none", [0, 0, 0])
            for at, amount in enumerate((1, file.tokens, file.bytes)):
                group[at] += amount
        ordered = sorted(groups.items(), key=lambda item: -item[1][1])[:MOST_ENDINGS]
        rows = [
            [one_line(name)[:20], f"{files:,}", f"{tokens:,}", share(tokens, self.tokens), ratio(tokens, size)]
            for name, (files, tokens, size) in ordered
        ]
        return ["ending", "files", "tokens", "of all", "bytes per token"], rows

    def _largest(self) -> tuple[list[str], list[list[str | Cell]]]:
        rows: list[list[str | Cell]] = []
        for file in sorted(self.files, key=lambda file: -file.tokens)[:MOST_FILES]:
            out = self.left_out.get(file.path, "")
            figures = [f"{file.tokens:,}", share(file.tokens, self.tokens), ratio(file.tokens, file.bytes)]
            rows.append([one_line(file.path), *figures, Cell(out and f"left out: {out}", "warn" if out else "")])
        return ["file", "tokens", "of all", "bytes per token", ""], rows


def said(tokens: int, size: int) -> str:
    """Tokens, and how many bytes one has."""
    return (
        f"{number_of(tokens, 'token')}, {ratio(tokens, size)} bytes per token" if tokens else number_of(tokens, "token")
    )


def ratio(tokens: int, size: int) -> str:
    return f"{size / tokens:.2f}" if tokens else "–"


def share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"


def step(file: FileTokens) -> int:
    """The step of colour of a file."""
    return sum(file.bytes < least * file.tokens for least in STEPS)


def folder(
    tok: Tokenizer,
    folder: str | os.PathLike[str] | Mapping[str, Text],
    *,
    ignored: bool = False,
    special: Special = "text",
    threads: int | None = None,
) -> FolderMap:
    """A folder by tokens: what each file costs, and what a prompt can do without.

    It counts text files. It leaves out what `.gitignore` files leave out (of
    the folder, its subfolders and the repository that it is in, not those of
    the user), version control, files with a NUL in their first 8,000 bytes,
    links and devices, and says so in `skipped`. The rows of
    `explain.WASTES` say what a prompt can do without: lock files, generated
    and minified files, copies and base64.

    Args:
        folder: The path of a folder, or its files: texts by path, with `/`
            between folders.
        ignored: Whether to count also what `.gitignore` files leave out.
        special: As in `Tokenizer.encode`, but by default plain text.
        threads: At least 1; None for all processors.
    Raises:
        CorpusError: There is no such folder, or it cannot be read. What cannot
            be read inside it is in `skipped`.
        ImportError: There is a `.gitignore`, and pathspec is missing (the extra
            `map`).
    Cost: up to three encodings of each file, and at most some 50 MiB of texts
        at a time.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> found = toksmith.explain.folder(tok, {"a.txt": "low low", "b/Cargo.lock": "lowest", "c.txt": "low low"})
    >>> found.tokens, found.left_out, found.saved
    (8, {'b/Cargo.lock': 'lock file', 'c.txt': 'copy'}, 6)
    """
    files: list[FileTokens] = []
    skipped: list[SkippedFile] = []
    held: list[FoundFile] = []
    size = 0

    def counted() -> None:
        for each in counts_of(tok, held, special, threads):
            (skipped if isinstance(each, SkippedFile) else files).append(each)  # type: ignore[arg-type]
        held.clear()

    for each in found_in(folder, ignored=flag(ignored, "ignored")):
        if isinstance(each, SkippedFile):
            skipped.append(each)
            continue
        if each.data is None:
            try:
                files.append(counted_in_blocks(tok, each, special, threads))
            except CorpusError as error:
                skipped.append(SkippedFile(each.path, error.problem))
            except REFUSED:
                skipped.append(SkippedFile(each.path, "cannot be encoded"))
            continue
        held.append(each)
        size += each.size
        if size > HELD_TEXTS:
            counted()
            size = 0
    counted()
    name = "folder" if isinstance(folder, Mapping) else os.path.basename(os.path.abspath(os.fspath(folder))) or "/"
    return made(os.fsencode(name).decode("utf-8", "backslashreplace"), name_of(tok), files, skipped)


def made(name: str, tokenizer: str, files: Iterable[FileTokens], skipped: Iterable[SkippedFile]) -> FolderMap:
    """The map, with its files in order."""
    ordered = sorted(files, key=lambda file: file.path), sorted(skipped)
    return FolderMap(name, tokenizer, tuple(ordered[0]), tuple(ordered[1]))


def counts_of(
    tok: Tokenizer, found: Sequence[FoundFile], special: Special, threads: int | None
) -> Iterator[FileTokens | SkippedFile]:
    """The counts of files in one batch; where the tokenizer refuses one of them, of each by itself."""
    try:
        yield from [*batch_of(tok, found, special, threads)]
    except REFUSED:
        if len(found) == 1:
            yield SkippedFile(found[0].path, "cannot be encoded")
            return
        for each in found:
            yield from counts_of(tok, [each], special, threads)


def batch_of(tok: Tokenizer, found: Sequence[FoundFile], special: Special, threads: int | None) -> Iterator[FileTokens]:
    """The counts of files, and of the same without what rules for parts find."""
    texts: list[bytes] = []
    places: list[dict[str, int]] = []
    for file in found:
        data = file.data or b""
        mine = {"": len(texts)}
        texts.append(data)
        for name in PART_RULES:
            cut = without(name, data)
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


def counted_in_blocks(tok: Tokenizer, file: FoundFile, special: Special, threads: int | None) -> FileTokens:
    """The tokens of a file that is never held."""
    assert file.place is not None
    found = encoded_blocks(tok._engine, file.place, special=special, threads=thread_count(threads), limit=AT_ONCE)
    tokens = sum(len(ids) for ids, _ in found)
    return FileTokens(file.path, file.size, tokens, file_rule(file.path, b""), {}, "")
