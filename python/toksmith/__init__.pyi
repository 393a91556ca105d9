from . import compat, corpus, errors, explain, metrics, reference, types
from ._accelerate.switch import accelerate, accelerated, restore
from ._corpus import files
from ._formats import formats
from ._graft import graft
from ._judge.compare import compare
from ._judge.doctor import doctor
from ._judge.study import study
from ._model.model import Model
from ._model.patterns import patterns
from ._playground import play, snapshot
from ._sources.convert import convert
from ._sources.copies import copy_encodings
from ._sources.encodings import encodings, models
from ._sources.load import load
from ._tokenizer.fim import fim, fim_marks
from ._tokenizer.tokenizer import Tokenizer
from ._training import train
from ._training.kinds import training_kinds as training_kinds
from ._training.surgery import add_special, extend, prune
from ._training.sweep import rewind, sweep
from .errors import ToksmithError

__version__: str
__all__ = [
    "Model",
    "Tokenizer",
    "ToksmithError",
    "accelerate",
    "accelerated",
    "add_special",
    "compare",
    "compat",
    "convert",
    "copy_encodings",
    "corpus",
    "doctor",
    "encodings",
    "errors",
    "explain",
    "extend",
    "files",
    "fim",
    "fim_marks",
    "formats",
    "graft",
    "load",
    "metrics",
    "models",
    "patterns",
    "play",
    "prune",
    "reference",
    "restore",
    "rewind",
    "snapshot",
    "study",
    "sweep",
    "train",
    "training_kinds",
    "types",
]
