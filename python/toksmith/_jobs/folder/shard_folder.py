"""Reads a folder of shards by its manifest, or by the plan and the receipts of an unfinished job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any, NamedTuple

import numpy as np

from ..._sources.load import load
from ..._storage.folders import Folder
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import JobError
from ..one_file import special_id
from ..plans.options import JobOptions
from ..plans.plan import read_plan, tokenizer_name
from ..sinks import EVERY_ROW, UNREADABLE, SinkRow, SinkRows, SinkSpec
from ..sinks.rows import AT_A_TIME
from ..written import Receipt, describe_json_error, has_json_type, is_count, read_receipts
from .finish import is_finished, missing_units, read_manifest
from .job_files import names_of_shard


class ReadShard(NamedTuple):
    """A shard that is done; `inputs` as in its receipt, None if unknown; `files`, their names."""

    number: int
    documents: int
    ids: int
    text_bytes: int
    inputs: tuple[tuple[int, int, int, int], ...] | None
    files: tuple[str, ...]


class ShardFolder(NamedTuple):
    """A folder of shards.

    Attributes: `options` as in the plan; `fingerprint` and `vocab_size` of the tokenizer; `shards` that are done, of
    `planned`; `bad_rows`; `inputs`, the paths of the files that were read; `finished`.
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
        return tokenizer_name(self.fingerprint)

    def spec(self, number: int) -> SinkSpec:
        """The facts that the sink of a shard got."""
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
        """The id that ends each document; None if unknown."""
        append, tok = self.options["append"], self.load()
        return None if append is None or tok is None else special_id(tok, append)

    def load(self) -> Tokenizer | None:
        """The tokenizer; None if the folder does not have it."""
        if not self.folder.has(self.tokenizer):
            return None
        with self.folder.fetch_files([self.tokenizer]) as local:
            return load(local / self.tokenizer)

    def rows(self, shard: ReadShard) -> Iterator[SinkRows]:
        documents = ids = 0
        with self.folder.fetch_files(shard.files) as local:
            try:
                for rows in self.row.rows(local, self.spec(shard.number)):
                    documents, ids = documents + len(rows.ends), ids + len(rows.ids)
                    yield rows
            except UNREADABLE as problem:
                raise self._damaged(shard, str(problem)[:200]) from problem
        if not documents and not shard.ids and shard.documents:  # a shard without ids can have no files
            for first in range(0, shard.documents, AT_A_TIME):
                count = min(AT_A_TIME, shard.documents - first)
                yield SinkRows(np.empty(0, self.spec(0).dtype), np.zeros(count, np.uint64), [None] * count)
        elif ids != shard.ids or (documents != shard.documents and not self.options["pack"]):
            sums = f"it has {documents:,} documents and {ids:,} ids, {shard.documents:,} and {shard.ids:,} were written"
            raise self._damaged(shard, sums)

    def _damaged(self, shard: ReadShard, problem: str) -> JobError:
        return JobError(self.folder, f"shard {shard.number} cannot be read: {problem}; run verify on the folder")


def shard_folder(folder: Folder) -> ShardFolder:
    return read_finished(folder) if is_finished(folder) else read_unfinished(folder)


def read_unfinished(folder: Folder) -> ShardFolder:
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
        shards=[shard_of_receipt(item, plan.final.start) for item in receipts if item is not None],
        planned=len(plan.shards),
        bad_rows=sum(item.bad_rows for item in first if item is not None),
        inputs=[item.path for item in plan.inputs],
        finished=False,
    )


def shard_of_receipt(receipt: Receipt, first: int) -> ReadShard:
    names = tuple(file.name for file in receipt.files)
    return ReadShard(receipt.shard - first, receipt.documents, receipt.ids, receipt.text_bytes, receipt.inputs, names)


def parse_job_options(values: dict[str, Any]) -> dict[str, Any]:
    """The options in a manifest; options that merged jobs do not share are None."""
    options = {field.name: values.get(field.name) for field in fields(JobOptions)}
    for field in fields(JobOptions):
        if options[field.name] is not None and not has_json_type(options[field.name], str(field.type)):
            raise ValueError(f"options.{field.name} has a wrong type, expected {field.type}")
    return options


def read_finished(folder: Folder) -> ShardFolder:
    """The shards of a finished job or of a merge."""
    manifest = read_manifest(folder)
    try:
        options, count = parse_job_options(manifest["options"]), len(manifest["shards"])
        fingerprint, size = manifest["fingerprint"], manifest["vocab_size"]
        tokenizer_name(fingerprint)
        if type(size) is not int or not all(is_count(item) for row in manifest["shards"] for item in row[:3]):
            raise ValueError("the size of the vocabulary, or the sums of a shard, are not whole numbers")
        first = count if options["shuffle"] is not None else 0
        if options["to"] not in EVERY_ROW or options["dtype"] not in EVERY_ROW[options["to"]].dtypes:
            raise ValueError(f"there is no format {str(options['to'])[:50]!r} of {str(options['dtype'])[:50]}")
        names = [item.name for item in manifest["files"]]
        shards = []
        receipts = read_receipts(folder, range(first, first + count))
        for number, ((documents, ids, text_bytes, _), receipt) in enumerate(
            zip(manifest["shards"], receipts, strict=True)
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
            bad_rows=manifest["bad_rows"],
            inputs=[str(path) for path, _ in manifest["inputs"]],
            finished=True,
        )
    except (ValueError, KeyError, TypeError) as problem:
        message = f"manifest.json is not a manifest: {describe_json_error(problem)}; plan the job again with force=True"
        raise JobError(folder, message) from None
