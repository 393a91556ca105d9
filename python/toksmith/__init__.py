"""toksmith: train, run, inspect and convert the tokenizers of language models.

The public names and nothing else; ARCHITECTURE.md says where each lives. A module is imported when one of its names is
first asked for, so that a program waits only for what it uses. `toksmith.reference` is the specification in plain Python
and can be imported where the compiled core is missing.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from os import listdir as _listdir
from os.path import exists as _exists
from sys import modules as _modules

try:
    from . import _core

    _PLACE = f"{__path__[0]}/.."  # pip writes a folder there, whose name says what it installed
    if not _exists(f"{_PLACE}/toksmith-{_core.__version__}.dist-info") and (
        _installed := [name for name in _listdir(_PLACE) if name.startswith("toksmith-")]
    ):
        from ._base.core_missing import refuse_other_version as _refuse

        _refuse(_core.__version__, _installed)
except ImportError as _raised:  # only the reference works
    from ._base.core_missing import told as _told

    globals().pop("_core", None)  # that of another version: each module that imports it gets the reason
    _WHY, _CAUSE = _told(_raised, __path__[0]), _raised

    def __getattr__(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "reference":
            return _import_module(f".{name}", __name__)
        raise ImportError(_WHY) from _CAUSE

else:
    # By module, its public names, in one text; `__init__.pyi` says the same to type checkers.
    _HOMES = {
        "_sources.convert": "ConversionReport convert",
        "_corpus": "Files files",
        "_training.counts": "MergedCounts PieceCounts count_pieces merge_counts",
        "_judge.doctor": "Diagnosis doctor",
        "_sources.encodings": "encodings",
        "_base.errors": (
            "CannotRepresent CorpusError CheckpointError DownloadError FormatError InvalidOption JobError "
            "ModelError NotInVocabulary PatternError SpecialTokenInText TextTooLong ToksmithError "
            "TrainingInterrupted UnknownId UnknownName"
        ),
        "_tokenizer.chat.ids": "ChatEncoding",
        "_tokenizer.session": "IdEdit TextSession",
        "_tokenizer.fim": "FimMarks fim fim_marks",
        "_formats": "Format formats",
        "_graft": "GraftReport graft",
        "_sources.load": "load",
        "_tokenizer.memory": "MemoryUse",
        "_model.model": "AddedToken Model Step TokenTable TrainingRecord",
        "_model.patterns": "Pattern patterns",
        "_playground": "Playground Snapshot play snapshot",
        "_render.progress": "Progress",
        "_tokenizer.results": "Chunk Encoding Fit Healing Padded Ragged RaggedEncoding StreamDecoder",
        "_jobs.folder.contents": "FirstDocument LengthBin ShardContents SourceSums shards",
        "_jobs.folder.finish": "Tokenized",
        "_jobs.folder.merge_shards": "merge_shards",
        "_jobs.folder.verify": "Verified verify",
        "_jobs.job.cost": "CostRow JobCost",
        "_jobs.job.job": "Job JobStatus",
        "_jobs.job.make_plan": "plan plan_counts",
        "_jobs.job.watch": "JobEvent",
        "_jobs.make.run_shard": "run_shard",
        "_jobs.one_file": "EncodedCorpus encode_corpus",
        "_jobs.written": "Receipt",
        "_tokenizer.stream": "StreamEncoder",
        "_judge.study": "Study study",
        "_training.surgery": "IdMap add_special extend prune",
        "_training.sweep": "SweepRow rewind sweep",
        "_tokenizer.tokenizer": "Tokenizer",
        "_training": "train",
        "_training.kinds": "TrainingKind training_kinds",
        "metrics": "parity",
    }
    _MODULES = ("compat", "explain", "metrics", "reference")
    _HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

    __version__ = _core.__version__
    __all__ = sorted([*_HOME_OF, *_MODULES])  # noqa: PLE0605 - the stub lists them, for those who cannot run this

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return _import_module(f".{name}", __name__)
        if name.startswith("_"):  # `from . import _errors` asks here first
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name not in _HOME_OF:
            from ._base.suggestions import OF_THE_PACKAGE, missing_attribute

            raise missing_attribute(_modules[__name__], "toksmith", name, OF_THE_PACKAGE)
        found = globals()[name] = getattr(_import_module(f".{_HOME_OF[name]}", __name__), name)
        return found

    def __dir__() -> list[str]:
        return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
