"""Makes the plan of a job, and writes it to the job's folder once.

A job that counts pieces is planned like a job of ids, with patterns in place of a tokenizer."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal

from ..._base.arguments import check_flag, check_int, check_texts
from ..._base.wording import close_names
from ..._corpus import Corpus
from ..._model.patterns import splitters
from ..._render.progress import Progress
from ..._sources.named import TokenizerSource, resolve_tokenizer
from ..._storage.atomic_files import wrap_write_errors
from ..._storage.folders import Folder, LocalFolder, folder_at, is_same_file
from ..._storage.temporary_folder import temporary_folder
from ..._tokenizer.tokenizer import Special, Tokenizer
from ...errors import InvalidOption, JobError, UnknownName
from ..folder.finish import Tokenized, is_finished, remove_parts
from ..folder.job_files import refuse_foreign_files, removable_names
from ..make.run_shard import save_tokenizer
from ..one_file import special_id
from ..plans.draft import PlanDraft, cut_corpus
from ..plans.index import INDEX
from ..plans.options import (
    JobOptions,
    counting_options,
    counting_problems,
    dtype_of,
    option_problems,
    patterns_fingerprint,
)
from ..plans.plan import JOB, Plan, check_memory, library_versions, open_plan, read_plan, tokenizer_name
from ..sinks import EVERY_ROW, SINKS
from .job import Job


def plan(
    tok: Tokenizer,
    corpus: Corpus,
    folder: str | os.PathLike[str],
    *,
    to: str = "npy",
    id_field: str | None = None,
    append: str | None = None,
    prepend: str | None = None,
    empty: Literal["keep", "skip", "token"] = "token",
    special: Special = "raise",
    dtype: str = "auto",
    errors: Literal["stop", "skip", "quarantine"] = "stop",
    max_errors: int | None = None,
    shard_size: int = 1 << 28,
    sources: bool = False,
    shuffle: int | None = None,
    pack: Literal["best-fit", "chunk"] | None = None,
    length: int | None = None,
    pad: str | None = None,
    val: float | None = None,
    max_memory: int | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> Job:
    r"""Plans a job that encodes a corpus into shards, and writes the plan to
    `folder/job.json`.

    The plan never changes: with the number of a shard it decides every byte of
    the shard. The same call again returns the job, which continues where it
    stopped. Each shard reads about `shard_size` bytes: rows of a plain `.jsonl`
    file, row groups of Parquet, or whole files of other kinds.

    Args:
        tok: The tokenizer, which is saved in the folder.
        corpus: Paths, folders, URLs as paths, or `toksmith.files(…)`; documents
            as in `train`. Files that the job itself writes are left out.
        folder: The folder of the job; it is made if its parent exists. Or a URL
            (the extra `remote`): "s3://bucket/name".
        to: The format of the files, one of `docs/sinks.md`: "npy", "megatron",
            "nanogpt", "llmc", "datatrove", "parquet", "hf", "mds", "dolma",
            "litdata".
        id_field: The field or column with the name of each document, for
            formats that can hold names.
        append: A special token whose id ends every document.
        prepend: A special token whose id begins every document.
        empty: The document for a text without ids: "token", only the appended
            and prepended tokens; "keep", a document without ids; "skip", no
            document.
        special: What happens to special tokens in the documents, as in
            `Tokenizer.encode`.
        dtype: The type of the ids in the files; "auto" is the type that readers
            of the format expect.
        errors: What happens at a row without a text, or a row that cannot be
            encoded: "stop" ends the job, "skip" leaves it out and counts it,
            "quarantine" also writes it to `quarantine/`. A file that cannot be
            read to its end always ends the job.
        max_errors: The most such rows that the job may have.
        shard_size: In bytes of the files.
        sources: Whether `sources/` records the source of each document.
        shuffle: A seed from 0 to 2**64 - 1: the documents are in an order that
            only the seed, the inputs and the shards decide.
        pack: Makes rows of one length: "chunk" cuts the concatenated documents,
            "best-fit" makes as few cuts as possible. `seq_lengths` has the
            lengths of the pieces.
        length: The ids of a row, with `pack`.
        pad: A special token that fills up rows; without it rows can be shorter.
        val: The share of documents for validation, with `to="nanogpt"` or
            `"llmc"`: a hash of its ids chooses each document.
        max_memory: The most bytes of memory that a process of the job may use:
            300 MB, 64 MB a thread and 6 times the longest document (more in
            some formats, `docs/corpus.md`; or the texts of the largest row
            group of a table); with `shuffle` or `pack="best-fit"` 6 times the
            largest shard as well. It is not written to the plan: `run` uses
            fewer threads, and fails at a longer document.
        force: Replaces another or a finished job in this folder; its files are
            removed.
        dry_run: Writes nothing; the result has the numbers of shards and bytes,
            and estimates the cost of the job.
    Raises:
        CorpusError: A file cannot be read.
        FormatError: The folder cannot be written.
        InvalidOption: An argument does not fit the format or the tokenizer.
        JobError: The folder has another job, this job is finished, or the
            folder has foreign files with names that the job writes.
        UnknownName: There is no such format or special token.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, special_tokens=["<|end|>"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.jsonl").write_text('{"text": "low"}\n{"text": "lower"}\n')
    ...     job = toksmith.corpus.plan(tok, Path(folder), f"{folder}/out", append="<|end|>")
    ...     job.run(progress=False).ids, toksmith.corpus.verify(f"{folder}/out", decode=True).ok
    (6, True)
    """
    if to not in SINKS:
        raise UnknownName("format of files of ids", to, close_names(to, SINKS) or [*SINKS])
    options = JobOptions(
        to=to,
        dtype=dtype_of(to, dtype, tok.vocab_size),
        id_field=id_field,
        append=append,
        prepend=prepend,
        empty=empty,
        special=special if isinstance(special, str) else sorted(check_texts(special, "special")),
        errors=errors,
        max_errors=None if max_errors is None else check_int(max_errors, "max_errors"),
        shard_size=check_int(shard_size, "shard_size"),
        sources=sources,
        shuffle=None if shuffle is None else check_int(shuffle, "shuffle"),
        pack=pack,
        length=None if length is None else check_int(length, "length"),
        pad=pad,
        val=val,
    )
    for argument, value, allowed in option_problems(options):
        raise InvalidOption(argument, value, allowed)
    for _, content in options.tokens:
        special_id(tok, content)
    return plan_job(options, corpus, folder, tok=tok, max_memory=max_memory, force=force, dry_run=dry_run)


def plan_counts(
    corpus: Corpus,
    folder: str | os.PathLike[str],
    *,
    pattern: str | Sequence[str] | None = "o200k",
    max_piece_bytes: int | None = None,
    errors: Literal["stop", "skip"] = "stop",
    max_errors: int | None = None,
    shard_size: int = 1 << 28,
    max_memory: int | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> Job:
    r"""Plans a job that counts the pieces of a corpus, a file of counts for each
    shard.

    It is run, resumed and verified like a job of `plan`. `merge_counts` and
    `PieceCounts.load` take the folder of the finished job, and return the
    result of `corpus.count` on the whole corpus, including first positions.

    Args:
        corpus: As in `plan`.
        folder: The folder of the job; it is made if its parent exists. Or a
            URL, as in `plan`.
        pattern: As in `train`.
        max_piece_bytes: As in `corpus.count`.
        errors: What happens at a row without a text: "stop" ends the job,
            "skip" leaves it out and counts it. A file that cannot be read to
            its end always ends the job.
        max_errors: The most such rows that the job may have.
        shard_size: In bytes of the files.
        max_memory: As in `plan`. Without it the table of a process may grow to
            1 GiB; the rest goes to temporary files.
        force: Replaces another or a finished job in this folder; its files are
            removed.
        dry_run: Writes nothing; the result has the numbers of shards and bytes.
    Raises:
        CorpusError: A file cannot be read.
        FormatError: The folder cannot be written.
        InvalidOption: An argument is out of range, or pyarrow, which the files
            need, is not installed.
        JobError: The folder has another job, this job is finished, or the
            folder has foreign files with names that the job writes.
        PatternError: A pattern is not a regex.

    >>> import tempfile, toksmith
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.jsonl").write_text('{"text": "low low"}\n{"text": "lower"}\n')
    ...     job = toksmith.corpus.plan_counts(Path(folder), f"{folder}/out", shard_size=20)
    ...     done = job.run(progress=False)
    ...     job.shards, toksmith.corpus.PieceCounts.load(f"{folder}/out").items()
    (2, [(b'low', 1), (b' low', 1), (b'lower', 1)])
    """
    patterns = [step["pattern"] for step in splitters(pattern)]
    options = counting_options(patterns, max_piece_bytes, errors=errors, max_errors=max_errors, shard_size=shard_size)
    for argument, value, allowed in counting_problems(options):
        raise InvalidOption(argument, value, allowed)
    return plan_job(options, corpus, folder, tok=None, force=force, dry_run=dry_run, max_memory=max_memory)


def plan_job(
    options: JobOptions,
    corpus: Corpus,
    folder: str | os.PathLike[str],
    *,
    tok: Tokenizer | None,
    force: bool,
    dry_run: bool,
    max_memory: int | None = None,
) -> Job:
    """The job of valid options, planned in a folder unless it is a dry run; a job that counts has no `tok`."""
    check_flag(force, "force")
    check_flag(dry_run, "dry_run")
    versions = library_versions(EVERY_ROW[options.to].libraries)
    with wrap_write_errors(folder):  # refuses a name that no folder can have
        os.path.realpath(folder)
    place = folder_at(folder, writing=True)
    facts = ("", patterns_fingerprint(options.patterns or ()), 0)
    if tok is not None:
        facts = (tokenizer_name(tok.fingerprint), tok.fingerprint, tok.vocab_size)
    with temporary_folder() as here:
        PlanDraft(Plan(*facts, options, versions, (), ()), here).write(cut_corpus(corpus, options.shard_size, place))
        if not Path(folder).name:
            raise InvalidOption("folder", os.fspath(folder), "the name of a folder")
        draft = LocalFolder(here)
        job_plan = open_plan(draft) if max_memory is None and not dry_run else read_plan(draft)
        check_memory(job_plan, max_memory)
        if not dry_run:
            write_plan(place, draft, job_plan, tok, force=force)
            job_plan = open_plan(place)
    return Job(place.path, job_plan, written=not dry_run, tok=tok if dry_run else None, max_memory=max_memory)


def write_plan(folder: Folder, draft: LocalFolder, new_plan: Plan, tok: Tokenizer | None, *, force: bool) -> None:
    """Writes the plan in `draft`, unless the folder has a plan; if two processes do so at once, one succeeds."""
    folder.make()
    folder.sweep((), JOB.__eq__)
    if force and folder.has(JOB):
        old = removable_names(folder)
        refuse_foreign_files(folder, new_plan.options, [name for names in old for name in names])
        for names in old:
            folder.remove(names)
    if not folder.has(JOB):
        try:
            refuse_foreign_files(folder, new_plan.options)
        except JobError:
            if not folder.has(JOB):  # otherwise another process has planned the job, and the files are from its runs
                raise
    if not folder.has(JOB):
        if tok is not None:
            save_tokenizer(folder, new_plan.tokenizer, tok)
        folder.create(JOB, draft.path / JOB)
    if not is_same_file(folder, JOB, draft.path / JOB):
        try:
            existing, whole = read_plan(folder), read_plan(draft)
        except JobError as error:
            problem = f"{error.problem.partition(';')[0]}; name another folder, or pass force=True to replace the job"
            raise JobError(folder, problem) from None
        if existing != whole:
            problem = f"another job is planned here (other {' and '.join(plan_differences(existing, whole))})"
            raise JobError(folder, f"{problem}; name another folder, or pass force=True to replace it")
    if is_finished(folder):
        remove_parts(folder, new_plan)  # left by a run that was killed at its very end
        problem = "this job is finished, and verify compares its files; name another folder"
        raise JobError(folder, f"{problem}, or pass force=True to do it again")
    if not is_same_file(folder, INDEX, draft.path / INDEX):
        folder.write(INDEX, draft.path / INDEX)


def plan_differences(one: Plan, other: Plan) -> list[str]:
    """The differences of two plans, in the words of the arguments."""
    tokenizers = {one.fingerprint, other.fingerprint} if one.tokenizer or other.tokenizer else ()
    names = ["tokenizer"] if len(tokenizers) > 1 else []
    options, others = asdict(one.options), asdict(other.options)
    names += [item.name for item in fields(JobOptions) if options[item.name] != others[item.name]]
    if one.inputs != other.inputs:
        paths = [[item.path for item in plan.inputs] for plan in (one, other)]
        names.append("input files" if paths[0] != paths[1] else "contents of input files")
    names += ["versions of libraries"] if one.versions != other.versions else []
    return names or ["shards"]


def tokenize(
    tok: TokenizerSource,
    corpus: Corpus,
    folder: str | os.PathLike[str],
    *,
    workers: int = 1,
    threads: int | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
    **options: Any,
) -> Tokenized:
    r"""Encodes a corpus into shards in a folder: `plan`, then `Job.run`.

    The same call again goes on with an unfinished job.

    Args:
        tok: The tokenizer, or a name or file that `toksmith.load` accepts.
        corpus, folder: As for `plan`.
        workers, threads, progress: As for `Job.run`.
        options: As for `plan`, such as `to="megatron"`.
    Returns: what the finished job contains.
    Raises: as `plan` and `Job.run`.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.jsonl").write_text('{"text": "low"}\n' * 99)
    ...     toksmith.corpus.tokenize(tok, Path(folder, "rows.jsonl"), f"{folder}/out", progress=False).documents
    99
    """
    done = plan(resolve_tokenizer(tok), corpus, folder, **options).run(
        workers=workers, threads=threads, progress=progress
    )
    assert done is not None, "only a part of a job has no result"
    return done
