from . import compat, explain, metrics, reference
from ._arrays import Padded
from ._chat._ids import ChatEncoding
from ._convert import ConversionReport, convert
from ._corpus import Files, files
from ._counts import MergedCounts, PieceCounts, count_pieces, merge_counts
from ._doctor import Diagnosis, doctor
from ._encodings import encodings
from ._errors import (
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
from ._fim import FimMarks, fim, fim_marks
from ._formats import Format, formats
from ._graft import GraftReport, graft
from ._load import load
from ._memory import MemoryUse
from ._model import AddedToken, Model, Step, TokenTable, TrainingRecord
from ._patterns import Pattern, patterns
from ._playground import Playground, Snapshot, play, snapshot
from ._progress import Progress
from ._results import Chunk, Encoding, Fit, Healing, Ragged, RaggedEncoding, StreamDecoder
from ._session import IdEdit, TextSession
from ._shards import (
    CostRow,
    EncodedCorpus,
    FirstDocument,
    Job,
    JobCost,
    JobEvent,
    JobStatus,
    LengthBin,
    Receipt,
    ShardContents,
    SourceSums,
    Tokenized,
    Verified,
    encode_corpus,
    merge_shards,
    plan,
    plan_counts,
    run_shard,
    shards,
    verify,
)
from ._stream import StreamEncoder
from ._study import Study, study
from ._surgery import IdMap, add_special, extend, prune
from ._sweep import SweepRow, rewind, sweep
from ._tokenizer import Tokenizer
from ._training import train
from ._training_kinds import TrainingKind as TrainingKind
from ._training_kinds import training_kinds as training_kinds
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
