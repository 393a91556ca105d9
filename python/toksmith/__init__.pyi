from . import compat, explain, metrics, reference
from ._base.errors import (
    CannotRepresent,
    CheckpointError,
    CorpusError,
    DownloadError,
    FormatError,
    InvalidOption,
    JobError,
    ModelError,
    NotInVocabulary,
    PatternError,
    SpecialTokenInText,
    TextTooLong,
    ToksmithError,
    TrainingInterrupted,
    UnknownId,
    UnknownName,
)
from ._corpus import Files, files
from ._formats import Format, formats
from ._graft import GraftReport, graft
from ._jobs.folder.contents import FirstDocument, LengthBin, ShardContents, SourceSums, shards
from ._jobs.folder.finish import Tokenized
from ._jobs.folder.merge_shards import merge_shards
from ._jobs.folder.verify import Verified, verify
from ._jobs.job.cost import CostRow, JobCost
from ._jobs.job.job import Job, JobStatus
from ._jobs.job.make_plan import plan, plan_counts
from ._jobs.job.watch import JobEvent
from ._jobs.make.run_shard import run_shard
from ._jobs.one_file import EncodedCorpus, encode_corpus
from ._jobs.written import Receipt
from ._judge.doctor import Diagnosis, doctor
from ._judge.study import Study, study
from ._model.model import AddedToken, Model, Step, TokenTable, TrainingRecord
from ._model.patterns import Pattern, patterns
from ._playground import Playground, Snapshot, play, snapshot
from ._render.progress import Progress
from ._sources.convert import ConversionReport, convert
from ._sources.encodings import encodings
from ._sources.load import load
from ._tokenizer.chat.ids import ChatEncoding
from ._tokenizer.fim import FimMarks, fim, fim_marks
from ._tokenizer.memory import MemoryUse
from ._tokenizer.results import Chunk, Encoding, Fit, Healing, Padded, Ragged, RaggedEncoding, StreamDecoder
from ._tokenizer.session import IdEdit, TextSession
from ._tokenizer.stream import StreamEncoder
from ._tokenizer.tokenizer import Tokenizer
from ._training import train
from ._training.counts import MergedCounts, PieceCounts, count_pieces, merge_counts
from ._training.kinds import TrainingKind as TrainingKind
from ._training.kinds import training_kinds as training_kinds
from ._training.surgery import IdMap, add_special, extend, prune
from ._training.sweep import SweepRow, rewind, sweep
from .metrics import parity

__version__: str
__all__ = [
    "AddedToken",
    "CannotRepresent",
    "ChatEncoding",
    "CheckpointError",
    "Chunk",
    "ConversionReport",
    "CorpusError",
    "CostRow",
    "Diagnosis",
    "DownloadError",
    "EncodedCorpus",
    "Encoding",
    "Files",
    "FimMarks",
    "FirstDocument",
    "Fit",
    "Format",
    "FormatError",
    "GraftReport",
    "Healing",
    "IdEdit",
    "IdMap",
    "InvalidOption",
    "Job",
    "JobCost",
    "JobError",
    "JobEvent",
    "JobStatus",
    "LengthBin",
    "MemoryUse",
    "MergedCounts",
    "Model",
    "ModelError",
    "NotInVocabulary",
    "Padded",
    "Pattern",
    "PatternError",
    "PieceCounts",
    "Playground",
    "Progress",
    "Ragged",
    "RaggedEncoding",
    "Receipt",
    "ShardContents",
    "Snapshot",
    "SourceSums",
    "SpecialTokenInText",
    "Step",
    "StreamDecoder",
    "StreamEncoder",
    "Study",
    "SweepRow",
    "TextSession",
    "TextTooLong",
    "TokenTable",
    "Tokenized",
    "Tokenizer",
    "ToksmithError",
    "TrainingInterrupted",
    "TrainingKind",
    "TrainingRecord",
    "UnknownId",
    "UnknownName",
    "Verified",
    "add_special",
    "compat",
    "convert",
    "count_pieces",
    "doctor",
    "encode_corpus",
    "encodings",
    "explain",
    "extend",
    "files",
    "fim",
    "fim_marks",
    "formats",
    "graft",
    "load",
    "merge_counts",
    "merge_shards",
    "metrics",
    "parity",
    "patterns",
    "plan",
    "plan_counts",
    "play",
    "prune",
    "reference",
    "rewind",
    "run_shard",
    "shards",
    "snapshot",
    "study",
    "sweep",
    "train",
    "training_kinds",
    "verify",
]
