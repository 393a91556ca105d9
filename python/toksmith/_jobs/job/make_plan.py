"""Makes the plan of a job, and writes it to the job's folder once. A job that counts pieces is the same job as one of ids, with
patterns in place of a tokenizer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Literal

from ..._base.arguments import flag, texts, whole_number
from ..._base.errors import InvalidOption, JobError, UnknownName, close_names
from ..._corpus import Corpus
from ..._model.patterns import splitters
from ..._storage.atomic_files import writable
from ..._storage.folders import Folder, folder_at
from ..._tokenizer.tokenizer import Special, Tokenizer
from ..folder.finish import is_finished, remove_parts
from ..folder.job_files import refuse_taken, removable
from ..make.run_shard import save_tokenizer
from ..one_file import special_id
from ..plans.options import JobOptions, counting_options, dtype_of, fingerprint_of, refused, refused_counting
from ..plans.plan import JOB, Plan, check_room, cut, read_plan, tokenizer_name, versions_of
from ..sinks import EVERY_ROW, SINKS
from .job import Job

__all__ = ["plan", "plan_counts"]


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
    max_memory: int | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> Job:
    r"""Plans a job that encodes a corpus into shards, and writes the plan to
    `folder/job.json`.

    The plan never changes: with the number of a shard it decides every byte of
    the shard. The same call again returns the job, which then goes on where it
    was. Each shard reads about `shard_size` bytes: rows of a plain `.jsonl`
    file, row groups of Parquet, or whole files of other kinds.

    Args:
        tok: The tokenizer, which is saved in the folder.
        corpus: Paths, folders, URLs as paths, or `toksmith.files(…)`; documents
            as of `train`. Files that the job itself writes are left out.
        folder: Of the job; it is made if its parent exists. Or a URL (the extra
            `remote`): "s3://bucket/name".
        to: The format of the files, one of `docs/sinks.md`: "npy", "megatron",
            "nanogpt", "llmc", "datatrove", "parquet", "hf", "mds", "dolma",
            "litdata".
        id_field: The field or column with the name of each document, for
            formats that have room for it.
        append: A special token whose id ends every document.
        prepend: A special token whose id begins every document.
        empty: What a text without ids is: "token", a document of only what is
            appended and prepended; "keep", a document of no ids; "skip", no
            document.
        special: What happens to special tokens in the documents, as in
            `Tokenizer.encode`.
        dtype: Of the ids in the files; "auto" is what readers of the format
            expect.
        errors: What a row is that has no text or cannot be encoded: "stop" ends
            the job, "skip" leaves it out and counts it, "quarantine" also
            writes it to `quarantine/`. A file that cannot be read to its end
            always ends the job.
        max_errors: How many such rows the job may have.
        shard_size: In bytes of the files.
        sources: Whether `sources/` says for each document where it is from.
        shuffle: A seed from 0 to 2**64 - 1: the documents are in an order that
            only the seed, the inputs and the shards decide.
        pack: Makes rows of one length, "chunk" of documents one after another,
            "best-fit" with as few cuts as possible. `seq_lengths` has the
            lengths of the pieces.
        length: The ids of a row, with `pack`.
        pad: A special token that fills up rows; without it they may be shorter.
        max_memory: The most bytes of memory that a process of the job may use:
            300 MB, 64 MB a thread and 6 times the longest document (more in
            some formats, `docs/corpus.md`; or the texts of the largest row
            group of a table); with `shuffle` or `pack="best-fit"` 6 times the
            largest shard as well. It is not written to the plan: `run` uses
            fewer threads, and ends at a longer document.
        force: Replaces another or a finished job in this folder; its files are
            removed.
        dry_run: Writes nothing; the result says how many shards and bytes there
            are, and what the job will cost.
    Raises:
        CorpusError: A file cannot be read.
        FormatError: The folder cannot be written.
        InvalidOption: An argument does not fit the format or the tokenizer.
        JobError: The folder has another job, or this one and it is finished; or
            files of other origin whose names the job writes.
        UnknownName: There is no such format or special token.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, special_tokens=["<|end|>"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.jsonl").write_text('{"text": "low"}\n{"text": "lower"}\n')
    ...     job = toksmith.plan(tok, Path(folder), f"{folder}/out", append="<|end|>")
    ...     job.run(progress=False).ids, toksmith.verify(f"{folder}/out", decode=True).ok
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
        special=special if isinstance(special, str) else sorted(texts(special, "special")),
        errors=errors,
        max_errors=None if max_errors is None else whole_number(max_errors, "max_errors"),
        shard_size=whole_number(shard_size, "shard_size"),
        sources=sources,
        shuffle=None if shuffle is None else whole_number(shuffle, "shuffle"),
        pack=pack,
        length=None if length is None else whole_number(length, "length"),
        pad=pad,
    )
    for argument, value, allowed in refused(options):
        raise InvalidOption(argument, value, allowed)
    for _, content in options.tokens:
        special_id(tok, content)
    return job_of(options, corpus, folder, tok=tok, max_memory=max_memory, force=force, dry_run=dry_run)


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

    It is run, resumed and verified as a job of `plan`. `merge_counts` and
    `PieceCounts.load` take the folder of the finished job, and give what
    `count_pieces` gives of the whole corpus, first positions included.

    Args:
        corpus: As of `plan`.
        folder: Of the job; it is made if its parent exists. Or a URL, as of
            `plan`.
        pattern: As of `train`.
        max_piece_bytes: As of `count_pieces`.
        errors: What a row without a text is: "stop" ends the job, "skip" leaves
            it out and counts it. A file that cannot be read to its end always
            ends the job.
        max_errors: How many such rows the job may have.
        shard_size: In bytes of the files.
        max_memory: As of `plan`. Without it the table of a process may grow to
            1 GiB; what is more goes to temporary files.
        force: Replaces another or a finished job in this folder; its files are
            removed.
        dry_run: Writes nothing; the result says how many shards and bytes there
            are.
    Raises:
        CorpusError: A file cannot be read.
        FormatError: The folder cannot be written.
        InvalidOption: An argument is out of range, or pyarrow is not installed,
            which the files need.
        JobError: The folder has another job, or this one and it is finished; or
            files of other origin whose names the job writes.
        PatternError: A pattern is not a regex.

    >>> import tempfile, toksmith
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.jsonl").write_text('{"text": "low low"}\n{"text": "lower"}\n')
    ...     job = toksmith.plan_counts(Path(folder), f"{folder}/out", shard_size=20)
    ...     done = job.run(progress=False)
    ...     job.shards, toksmith.PieceCounts.load(f"{folder}/out").items()
    (2, [(b'low', 1), (b' low', 1), (b'lower', 1)])
    """
    patterns = [step["pattern"] for step in splitters(pattern)]
    options = counting_options(patterns, max_piece_bytes, errors=errors, max_errors=max_errors, shard_size=shard_size)
    for argument, value, allowed in refused_counting(options):
        raise InvalidOption(argument, value, allowed)
    return job_of(options, corpus, folder, tok=None, force=force, dry_run=dry_run, max_memory=max_memory)


def job_of(
    options: JobOptions,
    corpus: Corpus,
    folder: str | os.PathLike[str],
    *,
    tok: Tokenizer | None,
    force: bool,
    dry_run: bool,
    max_memory: int | None = None,
) -> Job:
    """The job of options that fit together, planned in a folder unless it is a dry run.

    Args:
        tok: The tokenizer; None for a job that counts, which is known by its patterns.
    """
    flag(force, "force")
    flag(dry_run, "dry_run")
    versions = versions_of(EVERY_ROW[options.to].libraries)
    with writable(folder):  # a name that no folder can have
        os.path.realpath(folder)
    place = folder_at(folder, writing=True)
    inputs, shards = cut(corpus, options.shard_size, place)
    if not Path(folder).name:
        raise InvalidOption("folder", os.fspath(folder), "the name of a folder")
    if tok is None:
        made = Plan("", fingerprint_of(options.patterns or ()), 0, options, versions, inputs, shards)
    else:
        made = Plan(tokenizer_name(tok.fingerprint), tok.fingerprint, tok.vocab_size, options, versions, inputs, shards)
    check_room(made, max_memory)
    if not dry_run:
        write_plan(place, made, tok, force=force)
    return Job(place.path, made, written=not dry_run, tok=tok if dry_run else None, max_memory=max_memory)


def write_plan(folder: Folder, made: Plan, tok: Tokenizer | None, *, force: bool) -> None:
    """Writes the plan, if no other is there; of two processes that do so at once, one does."""
    folder.make()
    folder.sweep((), JOB.__eq__)
    if force and folder.has(JOB):
        old = removable(folder)
        refuse_taken(folder, made.options, [name for names in old for name in names])
        for names in old:
            folder.remove(names)
    if not folder.has(JOB):
        try:
            refuse_taken(folder, made.options)
        except JobError:
            if not folder.has(JOB):  # else another process planned meanwhile, and the files are from its runs
                raise
    if not folder.has(JOB):
        if tok is not None:
            save_tokenizer(folder, made.tokenizer, tok)
        folder.create(JOB, made.to_bytes())
    try:
        there = read_plan(folder)
    except JobError as error:
        said = f"{error.problem.partition(';')[0]}; name another folder, or pass force=True to replace the job"
        raise JobError(folder, said) from None
    if there != made:
        said = f"another job is planned here (other {' and '.join(differing(there, made))})"
        raise JobError(folder, f"{said}; name another folder, or pass force=True to replace it")
    if is_finished(folder):
        remove_parts(folder, made)  # which a run leaves that was killed at its very end
        said = "this job is finished, and verify compares its files; name another folder"
        raise JobError(folder, f"{said}, or pass force=True to do it again")


def differing(one: Plan, other: Plan) -> list[str]:
    """What differs in two plans, in words of the arguments."""
    tokenizers = {one.fingerprint, other.fingerprint} if one.tokenizer or other.tokenizer else ()
    found = ["tokenizer"] if len(tokenizers) > 1 else []
    options, others = asdict(one.options), asdict(other.options)
    found += [each.name for each in fields(JobOptions) if options[each.name] != others[each.name]]
    if one.inputs != other.inputs:
        paths = [[each.path for each in plan.inputs] for plan in (one, other)]
        found.append("input files" if paths[0] != paths[1] else "contents of input files")
    found += ["versions of libraries"] if one.versions != other.versions else []
    return found or ["shards"]
