"""The types of values and results, for annotations and `isinstance`."""

from ._accelerate.switch import Acceleration
from ._corpus import Files
from ._formats import Format
from ._graft import GraftReport
from ._judge.compare import Comparison
from ._judge.doctor import Diagnosis
from ._judge.study import Study
from ._model.model import AddedToken, Step, TokenTable, TrainingRecord
from ._model.patterns import Pattern
from ._playground import Playground, Snapshot
from ._render.progress import Progress
from ._sources.convert import ConversionReport
from ._tokenizer.chat.grammars import ToolCall
from ._tokenizer.chat.ids import ChatEncoding
from ._tokenizer.chat.parse import MessageParser, ParsedMessage
from ._tokenizer.chat.turns import Conversation, TurnEdit
from ._tokenizer.fim import FimMarks
from ._tokenizer.memory import MemoryUse
from ._tokenizer.results import Chunk, Encoding, Fit, Healing, Padded, Ragged, RaggedEncoding, StreamDecoder
from ._tokenizer.session import IdEdit, TextSession
from ._tokenizer.stream import StreamEncoder
from ._training.kinds import TrainingKind
from ._training.surgery import IdMap
from ._training.sweep import SweepRow

__all__ = [
    "Acceleration",
    "AddedToken",
    "ChatEncoding",
    "Chunk",
    "Comparison",
    "Conversation",
    "ConversionReport",
    "Diagnosis",
    "Encoding",
    "Files",
    "FimMarks",
    "Fit",
    "Format",
    "GraftReport",
    "Healing",
    "IdEdit",
    "IdMap",
    "MemoryUse",
    "MessageParser",
    "Padded",
    "ParsedMessage",
    "Pattern",
    "Playground",
    "Progress",
    "Ragged",
    "RaggedEncoding",
    "Snapshot",
    "Step",
    "StreamDecoder",
    "StreamEncoder",
    "Study",
    "SweepRow",
    "TextSession",
    "TokenTable",
    "ToolCall",
    "TrainingKind",
    "TrainingRecord",
    "TurnEdit",
]
