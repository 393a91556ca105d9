"""`tokenizers.implementations`: ready-made tokenizers, each with its parts and its training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from . import decoders, models, normalizers, pre_tokenizers, processors, trainers
from ._parts import NotHere, Regex
from ._tokenizer import Tokenizer, lines

__all__ = [
    "BaseTokenizer",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
]


class BaseTokenizer:
    """A tokenizer with its options; it passes other attributes on to the inner tokenizer."""

    TRAINER: ClassVar[type[trainers.Trainer] | None] = None
    USUAL: ClassVar[Mapping[str, Any]] = {}  # options of a training
    RENAMED: ClassVar[Mapping[str, str]] = {}  # options that the trainer knows by another name

    def __init__(self, tokenizer: Tokenizer, parameters: dict[str, Any] | None = None) -> None:
        self._tokenizer = tokenizer
        self._parameters = parameters or {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._tokenizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model", "encode_special_tokens"):
            setattr(self._tokenizer, name, value)
        else:
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        fields = {"vocabulary_size": self._tokenizer.get_vocab_size(), **self._parameters}
        return f"Tokenizer({', '.join(f'{name}={value}' for name, value in fields.items())})"

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """The number of ids around one text, or around two."""
        return self._tokenizer.num_special_tokens_to_add(is_pair)

    def train(self, files: str | Sequence[str], **options: Any) -> None:
        """Train on the lines of files."""
        self.train_from_iterator(lines([files] if isinstance(files, str) else files), **options)

    def train_from_iterator(self, iterator: Iterable[Any], length: int | None = None, **options: Any) -> None:
        """Train on texts or lists of texts."""
        if self.TRAINER is None:
            raise NotHere(f"{type(self).__name__}.train_from_iterator", "call it on a tokenizer of a kind")
        renamed = {self.RENAMED.get(name, name): value for name, value in {**self.USUAL, **options}.items()}
        self._tokenizer.train_from_iterator(iterator, self.TRAINER(**renamed), length)


class OfTwoFiles(BaseTokenizer):
    """The common part of the byte-pair tokenizers."""

    @classmethod
    def from_file(cls, vocab_filename: str, merges_filename: str, **options: Any) -> Any:
        """The tokenizer of two files."""
        return cls(vocab_filename, merges_filename, **options)  # type: ignore[arg-type]  # the kinds take them


def form_normalizers(unicode_normalizer: str | None, lowercase: bool) -> list[normalizers.Normalizer]:
    """The normalizers for a Unicode form and for lower case."""
    forms = [] if unicode_normalizer is None else [normalizers.unicode_normalizer_from_str(unicode_normalizer)]
    return [*forms, normalizers.Lowercase()] if lowercase else forms


def join_normalizers(parts: list[normalizers.Normalizer]) -> normalizers.Normalizer | None:
    """Normalizers as one; None for none."""
    return None if not parts else parts[0] if len(parts) == 1 else normalizers.Sequence(parts)


def merge_options(kind: type, options: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """The options of a tokenizer class; an unknown option is an error."""
    if unknown := sorted(options.keys() - usual.keys()):
        raise TypeError(f"{kind.__name__}: {unknown[0]} is not one of its arguments, which are {', '.join(usual)}")
    return {**usual, **options}


OF_CHARACTERS = {"min_frequency": 2, "limit_alphabet": 1000, "special_tokens": ["<unk>"]}


class ByteLevelBPETokenizer(OfTwoFiles):
    """GPT-2's."""

    TRAINER = trainers.BpeTrainer
    USUAL: ClassVar[Mapping[str, Any]] = {
        "vocab_size": 30000,
        "min_frequency": 2,
        "initial_alphabet": pre_tokenizers.ByteLevel.alphabet(),
    }

    def __init__(self, vocab: Any = None, merges: Any = None, **options: Any) -> None:
        usual = {"add_prefix_space": False, "lowercase": False, "unicode_normalizer": None, "trim_offsets": False}
        settings = {**usual, "dropout": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, **options}
        prefix, trim = settings.pop("add_prefix_space"), settings.pop("trim_offsets")
        forms = form_normalizers(settings.pop("unicode_normalizer"), settings.pop("lowercase"))
        marks = {name: settings[name] or "" for name in ("continuing_subword_prefix", "end_of_word_suffix")}
        model = models.BPE(vocab, merges, **{**settings, **marks}) if vocab is not None else models.BPE()
        tok = Tokenizer(model)
        tok.normalizer = join_normalizers(forms)
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
        tok.decoder = decoders.ByteLevel()
        tok.post_processor = processors.ByteLevel(trim_offsets=trim)
        super().__init__(tok, {"model": "ByteLevelBPE", **usual, **options})


class CharBPETokenizer(OfTwoFiles):
    """The first GPT's tokenizer."""

    TRAINER, USUAL = trainers.BpeTrainer, {**OF_CHARACTERS, "suffix": "</w>"}
    RENAMED: ClassVar[Mapping[str, str]] = {"suffix": "end_of_word_suffix"}

    def __init__(self, vocab: Any = None, merges: Any = None, unk_token: str = "<unk>", **options: Any) -> None:
        usual = {"suffix": "</w>", "dropout": None, "lowercase": False, "unicode_normalizer": None}
        kwargs = merge_options(
            type(self), options, {**usual, "bert_normalizer": True, "split_on_whitespace_only": False}
        )
        tok = Tokenizer(
            models.BPE(
                vocab, merges, dropout=kwargs["dropout"], unk_token=str(unk_token), end_of_word_suffix=kwargs["suffix"]
            )
        )
        if tok.token_to_id(str(unk_token)) is not None:
            tok.add_special_tokens([str(unk_token)])
        forms = form_normalizers(kwargs["unicode_normalizer"], False)
        forms += [normalizers.BertNormalizer(lowercase=False)] if kwargs["bert_normalizer"] else []
        tok.normalizer = join_normalizers([*forms, *form_normalizers(None, kwargs["lowercase"])])
        only = kwargs["split_on_whitespace_only"]
        tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit() if only else pre_tokenizers.BertPreTokenizer()
        tok.decoder = decoders.BPEDecoder(suffix=kwargs["suffix"])
        super().__init__(tok, {"model": "BPE", "unk_token": unk_token, **kwargs})


class BertWordPieceTokenizer(BaseTokenizer):
    """BERT's."""

    TRAINER = trainers.WordPieceTrainer
    USUAL: ClassVar[Mapping[str, Any]] = {
        **OF_CHARACTERS,
        "special_tokens": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
        "wordpieces_prefix": "##",
    }
    RENAMED: ClassVar[Mapping[str, str]] = {"wordpieces_prefix": "continuing_subword_prefix"}

    def __init__(self, vocab: Any = None, **options: Any) -> None:
        token_names = {
            "unk_token": "[UNK]",
            "sep_token": "[SEP]",
            "cls_token": "[CLS]",
            "pad_token": "[PAD]",
            "mask_token": "[MASK]",
        }
        usual = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
        settings = merge_options(type(self), options, {**token_names, **usual, "wordpieces_prefix": "##"})
        prefix = settings["wordpieces_prefix"]
        tok = Tokenizer(models.WordPiece(vocab, unk_token=str(settings["unk_token"])))
        for name in token_names:
            if tok.token_to_id(str(settings[name])) is not None:
                tok.add_special_tokens([str(settings[name])])
        tok.normalizer = normalizers.BertNormalizer(**{name: settings[name] for name in usual})
        tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        if vocab is not None:
            ids = [(str(settings[name]), tok.token_to_id(str(settings[name]))) for name in ("sep_token", "cls_token")]
            if missing := [token for token, id in ids if id is None]:
                raise TypeError(f"{missing[0]} not found in the vocabulary")
            tok.post_processor = processors.BertProcessing(*ids)
        tok.decoder = decoders.WordPiece(prefix=prefix)
        super().__init__(tok, {"model": "BertWordPiece", **settings})

    @classmethod
    def from_file(cls, vocab: str, **options: Any) -> BertWordPieceTokenizer:
        """The tokenizer of a file."""
        return cls(models.WordPiece.read_file(vocab), **options)


class SentencePieceBPETokenizer(OfTwoFiles):
    """SentencePiece's byte pairs, as in the library."""

    TRAINER, USUAL = trainers.BpeTrainer, OF_CHARACTERS

    def __init__(self, vocab: Any = None, merges: Any = None, unk_token: str = "<unk>", **options: Any) -> None:
        usual = {"replacement": "▁", "add_prefix_space": True, "dropout": None, "fuse_unk": False}
        settings = merge_options(type(self), options, usual)
        model = models.BPE(
            vocab, merges, dropout=settings["dropout"], unk_token=unk_token, fuse_unk=bool(settings["fuse_unk"])
        )
        tok = Tokenizer(model)
        if tok.token_to_id(str(unk_token)) is not None:
            tok.add_special_tokens([str(unk_token)])
        tok.normalizer = normalizers.NFKC()
        scheme = "always" if settings["add_prefix_space"] else "never"
        tok.pre_tokenizer = pre_tokenizers.Metaspace(settings["replacement"], scheme)
        tok.decoder = decoders.Metaspace(settings["replacement"], scheme)
        super().__init__(tok, {"model": "SentencePieceBPE", "unk_token": unk_token, **settings})


class SentencePieceUnigramTokenizer(BaseTokenizer):
    """SentencePiece's unigram models, as in the library."""

    TRAINER = trainers.UnigramTrainer

    def __init__(self, vocab: Any = None, replacement: str = "▁", add_prefix_space: bool = True) -> None:
        tok = Tokenizer(models.Unigram() if vocab is None else models.Unigram(vocab))
        parts = [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
        tok.normalizer = normalizers.Sequence(parts)
        scheme = "always" if add_prefix_space else "never"
        tok.pre_tokenizer = pre_tokenizers.Metaspace(replacement, scheme)
        tok.decoder = decoders.Metaspace(replacement, scheme)
        super().__init__(tok, {"model": "SentencePieceUnigram", "replacement": replacement})

    @staticmethod
    def from_spm(filename: str) -> Any:
        """Not here."""
        raise NotHere(
            "SentencePieceUnigramTokenizer.from_spm", "call tokenizers.Tokenizer(toksmith.load(path), allow_loss=...)"
        )

    def train_from_iterator(self, iterator: Iterable[Any], length: int | None = None, **options: Any) -> None:
        """Train on texts or lists of texts."""
        settings = {name: value for name, value in options.items() if value is not None}
        super().train_from_iterator(iterator, length, **settings)
