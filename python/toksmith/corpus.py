"""A corpus to shards of ids, or to counts of pieces.

A killed job goes on where it was. `show`, `status` and `verify` look at its
folder.
"""

from ._jobs.folder.contents import FirstDocument, LengthBin, ShardContents, SourceSums, show
from ._jobs.folder.finish import Tokenized
from ._jobs.folder.merge_shards import merge
from ._jobs.folder.verify import Verified, verify
from ._jobs.job.cost import CostRow, JobCost
from ._jobs.job.job import Job, JobStatus, status
from ._jobs.job.make_plan import plan, plan_counts, tokenize
from ._jobs.job.watch import JobEvent
from ._jobs.make.run_shard import run_shard
from ._jobs.one_file import EncodedCorpus, encode
from ._jobs.written import Receipt
from ._training.counts import MergedCounts, PieceCounts, count, merge_counts

__all__ = [
    "CostRow",
    "EncodedCorpus",
    "FirstDocument",
    "Job",
    "JobCost",
    "JobEvent",
    "JobStatus",
    "LengthBin",
    "MergedCounts",
    "PieceCounts",
    "Receipt",
    "ShardContents",
    "SourceSums",
    "Tokenized",
    "Verified",
    "count",
    "encode",
    "merge",
    "merge_counts",
    "plan",
    "plan_counts",
    "run_shard",
    "show",
    "status",
    "tokenize",
    "verify",
]
