"""The plan and the tokenizer of a job, read once for all shards that a process makes."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from ..._base.errors import FormatError, JobError
from ..._formats import FORMATS
from ..._sources.load import load
from ..._storage.folders import Folder
from ..._tokenizer.tokenizer import Tokenizer
from ..plans.options import COUNTS
from ..plans.plan import JOB, Plan, read_plan, versions_of
from ..sinks import EVERY_ROW

__all__ = ["opened_job", "save_tokenizer"]

FileKey = tuple[Folder, str, tuple[object, ...]]
# The tokenizer of the last shard, by its file as it is.
LAST: dict[FileKey, Tokenizer] = {}


def opened_job(folder: Folder) -> tuple[Plan, Tokenizer | None]:
    """The plan and the tokenizer of a job; None for one that counts.

    Raises:
        JobError: There is no job, or its tokenizer or a library is another than in the plan.
    """
    plan = plan_of(folder)
    tok = None if plan.options.to == COUNTS else tokenizer_of(folder, plan)
    now = versions_of(EVERY_ROW[plan.options.to].libraries)
    for name in {**plan.versions, **now}:
        if now.get(name) != (version := plan.versions.get(name)):
            said = f"planned with {name} {version}, but this is {now.get(name)}, whose files may differ"
            raise JobError(str(folder), f"{said}; install the planned version, or plan the job again with force=True")
    return plan, tok


def plan_of(folder: Folder) -> Plan:
    """The plan of a job, which may be long, read once for all shards of a process; errors are those of `read_plan`."""
    try:
        version = folder.version(JOB)
    except OSError:
        return read_plan(folder)
    return kept_plan(folder, version)


@lru_cache(maxsize=1)
def kept_plan(folder: Folder, version: tuple[object, ...]) -> Plan:
    """The plan of a job, kept for the next shard while the file is the same."""
    return read_plan(folder)


def tokenizer_of(folder: Folder, plan: Plan) -> Tokenizer:
    """The tokenizer of a job.

    Raises:
        JobError: It cannot be read, or is another than in the plan.
    """
    try:
        key = (folder, plan.tokenizer, folder.version(plan.tokenizer))
        tok = LAST.get(key)
        if tok is None:
            with folder.fetched([plan.tokenizer]) as here:
                tok = load(here / plan.tokenizer)
    except (OSError, FormatError) as problem:
        why = problem.problem if isinstance(problem, FormatError) else problem.strerror or problem
        said = f"the tokenizer {plan.tokenizer} cannot be read: {why}; plan the job again with force=True"
        raise JobError(str(folder), said) from None
    if tok.fingerprint != plan.fingerprint:
        said = f"{plan.tokenizer} is not the tokenizer of the plan; plan the job again with force=True"
        raise JobError(str(folder), said)
    refuse_facts(folder, plan, tok)
    keep(key, tok)
    return tok


def refuse_facts(folder: Folder, plan: Plan, tok: Tokenizer) -> None:
    """Raises JobError if a plan says of its tokenizer what is not so."""
    said = None
    if plan.vocab_size != tok.vocab_size:
        said = f"vocab_size is {plan.vocab_size:,}, and that of its tokenizer {tok.vocab_size:,}"
    for name, content in plan.options.tokens:
        if content not in tok.special_tokens:
            said = f"options.{name} is {content[:50]!r}, which is not a special token of its tokenizer"
    if said is not None:
        advice = "restore it, or plan the job again with force=True"
        raise JobError(str(folder), f"{JOB} is not a plan of toksmith: {said}; {advice}")


def save_tokenizer(folder: Folder, name: str, tok: Tokenizer) -> None:
    """Writes the tokenizer of a job, and keeps it for the shards of this process."""
    saved = FORMATS["native"].save(tok.model, allow_loss=())
    folder.write(name, saved if isinstance(saved, bytes) else b"".join(saved))
    with suppress(OSError):  # whoever needs the file says what is wrong with it
        keep((folder, name, folder.version(name)), tok)


def keep(key: FileKey, tok: Tokenizer) -> None:
    """Keeps a tokenizer for the next shard, in place of the last one."""
    LAST.clear()
    LAST[key] = tok
