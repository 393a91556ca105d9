"""What a folder of shards has, whoever reads it: by its manifest, or by the plan and the receipts of an unfinished job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any, NamedTuple

import numpy as np

from ..._base.errors import JobError
from ..._sources.load import load
from ..._storage.folders import Folder
from ..._tokenizer.tokenizer import Tokenizer
from ..one_file import special_id
from ..plans.options import JobOptions
from ..plans.plan import read_plan, tokenizer_name
from ..sinks import EVERY_ROW, UNREADABLE, SinkRow, SinkRows, SinkSpec
from ..sinks.rows import AT_A_TIME
from ..written import Receipt, is_of, is_sum, read_receipts, wrong_in
from .finish import is_finished, missing_units, read_manifest
from .job_files import names_of_shard

__all__ = ["ReadShard", "ShardFolder", "shard_folder"]


class ReadShard(NamedTuple):
    """A shard that is there; `inputs` as of its receipt, None if nobody knows; `files`, their names."""

    number: int
    documents: int
    ids: int
    text_bytes: int
    inputs: tuple[tuple[int, int, int, int], ...] | None
    files: tuple[str, ...]


class ShardFolder(NamedTuple):
    """A folder of shards.

    Attributes: `options` as of the plan; `fingerprint` and `vocab_size` of the tokenizer; `shards`, those that are there,
    of `planned`; `bad_rows`; `inputs`, the paths of the files that were read; `finished`.
    """

    folder: Folder
    options: dict[str, Any]
    fingerprint: str
    vocab_size: int
    shards: list[ReadShard]
    planned: int
    bad_rows: int
    inputs: list[str]
    finished: bool

    @property
    def row(self) -> SinkRow:
        """The format of the files."""
        return EVERY_ROW[self.options["to"]]

    @property
    def tokenizer(self) -> str:
        """The name of the tokenizer's file."""
        return tokenizer_name(self.fingerprint)

    def spec(self, number: int) -> SinkSpec:
        """What the sink of a shard knew."""
        options = self.options
        return SinkSpec(
            number=number,
            shards=self.planned,
            dtype=options["dtype"],
            vocab_size=self.vocab_size,
            tokenizer=self.fingerprint[:12],
            named=options["id_field"] is not None,
            packed=options["pack"] is not None,
            last=None,
        )

    def last(self) -> int | None:
        """The id that ends each document; None if the folder does not say it."""
        append, tok = self.options["append"], self.load()
        return None if append is None or tok is None else special_id(tok, append)

    def load(self) -> Tokenizer | None:
        """The tokenizer; None if the folder does not have it."""
        if not self.folder.has(self.tokenizer):
            return None
        with self.folder.fetched([self.tokenizer]) as here:
            return load(here / self.tokenizer)

    def rows(self, shard: ReadShard) -> Iterator[SinkRows]:
        """The documents of a shard, a part at a time.

        Raises:
            JobError: They are not those that were written.
        """
        documents = ids = 0
        with self.folder.fetched(shard.files) as here:
            try:
                for rows in self.row.rows(here, self.spec(shard.number)):
                    documents, ids = documents + len(rows.ends), ids + len(rows.ids)
                    yield rows
            except UNREADABLE as problem:
                raise self._damaged(shard, str(problem)[:200]) from problem
        if not documents and not shard.ids and shard.documents:  # files that are left out because they would be empty
            for first in range(0, shard.documents, AT_A_TIME):
                count = min(AT_A_TIME, shard.documents - first)
                yield SinkRows(np.empty(0, self.spec(0).dtype), np.zeros(count, np.uint64), [None] * count)
        elif ids != shard.ids or (documents != shard.documents and not self.options["pack"]):
            said = f"it has {documents:,} documents and {ids:,} ids, {shard.documents:,} and {shard.ids:,} were written"
            raise self._damaged(shard, said)

    def _damaged(self, shard: ReadShard, problem: str) -> JobError:
        return JobError(self.folder, f"shard {shard.number} cannot be read: {problem}; run verify on the folder")


def shard_folder(folder: Folder) -> ShardFolder:
    """What a folder has.

    Raises:
        JobError: There are no shards of toksmith, or a file that describes them cannot be read.
    """
    return of_manifest(folder) if is_finished(folder) else of_plan(folder)


def of_plan(folder: Folder) -> ShardFolder:
    """The shards of a job that have receipts."""
    plan = read_plan(folder)
    missing = {*missing_units(folder, plan)}
    receipts = read_receipts(folder, [unit for unit in plan.final if unit not in missing])
    first = read_receipts(folder, [unit for unit in range(len(plan.shards)) if unit not in missing])
    return ShardFolder(
        folder=folder,
        options=asdict(plan.options),
        fingerprint=plan.fingerprint,
        vocab_size=plan.vocab_size,
        shards=[shard_of(each, plan.final.start) for each in receipts if each is not None],
        planned=len(plan.shards),
        bad_rows=sum(each.bad_rows for each in first if each is not None),
        inputs=[each.path for each in plan.inputs],
        finished=False,
    )


def shard_of(receipt: Receipt, first: int) -> ReadShard:
    """The shard of a receipt."""
    names = tuple(each.name for each in receipt.files)
    return ReadShard(receipt.shard - first, receipt.documents, receipt.ids, receipt.text_bytes, receipt.inputs, names)


def options_in(found: dict[str, Any]) -> dict[str, Any]:
    """The options in a manifest; those that merged jobs do not share are None.

    Raises:
        ValueError, KeyError: One has a wrong type.
    """
    options = {each.name: found.get(each.name) for each in fields(JobOptions)}
    for each in fields(JobOptions):
        if options[each.name] is not None and not is_of(options[each.name], str(each.type)):
            raise ValueError(f"options.{each.name} has a wrong type, expected {each.type}")
    return options


def of_manifest(folder: Folder) -> ShardFolder:
    """The shards of a finished job, or of files that were merged."""
    found = read_manifest(folder)
    try:
        options, count = options_in(found["options"]), len(found["shards"])
        fingerprint, size = found["fingerprint"], found["vocab_size"]
        tokenizer_name(fingerprint)
        if type(size) is not int or not all(is_sum(each) for row in found["shards"] for each in row[:3]):
            raise ValueError("the size of the vocabulary, or the sums of a shard, are not whole numbers")
        first = count if options["shuffle"] is not None else 0
        if options["to"] not in EVERY_ROW or options["dtype"] not in EVERY_ROW[options["to"]].dtypes:
            raise ValueError(f"there is no format {str(options['to'])[:50]!r} of {str(options['dtype'])[:50]}")
        names = [each.name for each in found["files"]]
        shards = []
        receipts = read_receipts(folder, range(first, first + count))
        for number, ((documents, ids, text_bytes, _), receipt) in enumerate(
            zip(found["shards"], receipts, strict=True)
        ):
            inputs = None if receipt is None else receipt.inputs
            files = names_of_shard(options["to"], names, number)
            shards.append(ReadShard(number, documents, ids, text_bytes, inputs, files))
        return ShardFolder(
            folder=folder,
            options=options,
            fingerprint=fingerprint,
            vocab_size=size,
            shards=shards,
            planned=count,
            bad_rows=found["bad_rows"],
            inputs=[str(path) for path, _ in found["inputs"]],
            finished=True,
        )
    except (ValueError, KeyError, TypeError) as problem:
        said = f"manifest.json is not a manifest: {wrong_in(problem)}; plan the job again with force=True"
        raise JobError(folder, said) from None
