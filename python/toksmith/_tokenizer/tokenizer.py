"""Tokenizer: encodes, decodes and counts one text, many texts or streams, with a model and its engine.

This module has the defaults and the documentation of the arguments; each method is about one call of the core.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, overload

from .. import _core
from .._base import arguments
from .._base import lazy_numpy as np
from .._base.arguments import add_advice, as_sequence, check_flag, check_int, check_items, check_special
from .._base.threads import cached_property, thread_count
from .._model.model import AddedToken, Model
from .._model.steps import engine_of, template_of
from ..errors import InvalidOption, NotInVocabulary, UnknownId
from . import arrays, boundaries
from .awaitable import make_awaitable
from .stream import StreamEncoder

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from .chat.ids import ChatEncoding
    from .chat.parse import MessageParser, ParsedMessage
    from .chat.turns import Conversation
    from .marks import TrustedEncoder
    from .memory import MemoryUse
    from .results import Chunk, Encoding, Fit, Healing, Padded, Ragged, RaggedEncoding, StreamDecoder
    from .session import TextSession

__all__ = ["Special", "Text", "Tokenizer"]

Text = str | bytes
Some = TypeVar("Some", str, bytes)
Special = Literal["raise", "allow", "text"] | Collection[str]
LONGEST_ROW = 1 << 24  # ids of a padded row


class TokenizerType(type):
    """Answers the names of other libraries on the class itself, such as `Tokenizer.from_file`."""

    if not TYPE_CHECKING:  # type checkers would accept every name

        def __getattr__(cls, name: str) -> NoReturn:
            from .._base.suggestions import OF_A_TOKENIZER, missing_attribute  # a table that only errors need

            raise missing_attribute(cls, "Tokenizer", name, OF_A_TOKENIZER)


class Tokenizer(_core.TextCalls, metaclass=TokenizerType):
    """Turns text into ids and back by its model. Immutable; safe to share
    between threads and across a fork.

    A text is a `str` or `bytes`; byte-level models encode bytes that are not
    UTF-8 losslessly. `special` decides the treatment of special tokens in the
    text: `"raise"` refuses them, `"allow"` turns them into their ids, `"text"`
    treats them as ordinary text, and a collection allows its members and
    refuses all others. Added tokens that their file does not mark as special
    are found with every `special`, as in the library of the file; for
    untrusted text see `encode_segments`. `add_special_tokens` adds the
    special tokens of the model's template around each text (for example `<s>`
    before it). `errors` decides the treatment of lone surrogates in a `str`:
    `"replace"` makes them U+FFFD, `"strict"` raises UnicodeEncodeError.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> tok.encode("slow")
    [115, 257]
    >>> tok.decode([115, 257])
    'slow'
    """

    def __init__(self, model: Model, *, run_report: Mapping[str, Any] | None = None) -> None:
        self.model = model
        self.run_report: Mapping[str, Any] = dict(run_report or {})
        self._engine = engine_of(model)
        self._template = template_of(model)
        self._begin(self._engine)

    @overload  # first, because a str is an iterable of str as well
    def __call__(  # type: ignore[overload-overlap]
        self, text: Text, *, special: Special = "raise", errors: str = "replace"
    ) -> Encoding: ...
    @overload
    def __call__(
        self, text: Iterable[Text], *, special: Special = "raise", errors: str = "replace"
    ) -> RaggedEncoding: ...
    def __call__(
        self, text: Text | Iterable[Text], *, special: Special = "raise", errors: str = "replace"
    ) -> Encoding | RaggedEncoding:
        """The ids of a text, or of each text of a list, each with its range of characters.

        The result has the names of transformers too: `tok(text)["input_ids"]`, `["attention_mask"]`, `["offset_mapping"]`.
        Unlike there, a special token in the text is an error, and none is added around the text.

        Returns: what `encode_with_offsets` returns; for a list, what `encode_ragged_with_offsets` does.
        Raises: as `encode`.

        >>> import toksmith
        >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
        >>> tok("slow"), tok(["slow", "low"])["input_ids"]
        (<Encoding 2 ids: [115, 257], characters [(0, 1), (1, 4)]>, [[115, 257], [257]])
        """
        if isinstance(text, (str, bytes)):
            return self.encode_with_offsets(text, special=special, errors=errors)
        return self.encode_ragged_with_offsets(
            arguments.check_texts(text, "text", "str, bytes or a list of them", (str, bytes)),
            special=special,
            errors=errors,
        )

    # The core has `encode` and `encode_array`, which makes short calls cheap; it calls these methods for rare arguments.

    def _encode(
        self,
        text: Text,
        *,
        special: Special = "raise",
        errors: str = "replace",
        threads: int | None = None,
        add_special_tokens: bool = False,
    ) -> list[int]:
        try:
            ids = self._engine.encode(text, special, errors, threads if threads is None else thread_count(threads))
        except TypeError as error:
            raise add_advice(error, text) from None
        return ids if add_special_tokens is False else self._around(ids, add_special_tokens)

    def _encode_array(
        self,
        text: Text,
        *,
        special: Special = "raise",
        errors: str = "replace",
        threads: int | None = None,
        add_special_tokens: bool = False,
        dtype: DTypeLike = "uint32",
    ) -> NDArray[Any]:
        ids = self._engine.encode_array(text, special, errors, threads if threads is None else thread_count(threads))
        adds_special = add_special_tokens is not False and check_flag(add_special_tokens, "add_special_tokens")
        ids = self._template.around(ids, np.array([len(ids)], np.uint64))[0] if adds_special else ids
        return ids if dtype == "uint32" else ids.astype(arrays.check_id_type(dtype, ids), copy=False)

    @staticmethod
    def _with_advice(error: BaseException, text: Text) -> BaseException:
        """An error of `encode`, with advice for the caller."""
        return add_advice(error, text) if isinstance(error, TypeError) else error

    _encode.__qualname__, _encode_array.__qualname__ = "Tokenizer.encode", "Tokenizer.encode_array"  # for errors

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        special: Special = "raise",
        errors: str = "replace",
        threads: int | None = None,
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        """The ids of each text, in order.

        Args:
            threads: At least 1; None for all processors. The result does not
                depend on it.
        Raises: as `encode`, for the first text that cannot be encoded; the
            error's `index` is its position.
        """
        if arrays.is_column(texts):
            columns = self.encode_ragged(texts, special=special, errors=errors, threads=threads)
            lists = [ids.tolist() for ids in columns]
        else:
            lists = self._engine.encode_batch(as_sequence(texts), special, errors, thread_count(threads))
        return [self._template.apply(ids)[0] for ids in lists] if add_special_tokens else lists

    def encode_ragged(
        self,
        texts: Iterable[Text],
        *,
        special: Special = "raise",
        errors: str = "replace",
        threads: int | None = None,
        add_special_tokens: bool = False,
    ) -> Ragged:
        """The ids of many texts in one array, with the end of each.

        Args:
            texts: A list, or a column of Arrow (pyarrow, polars, pandas),
                whose texts are read without a Python object for each.
        Returns: `.ids` uint32, shape (n,); `.ends` uint64, shape (texts,).
        Raises: as `encode_batch`.
        """
        from .results import Ragged  # imported on demand, so tokenizers load sooner

        count = thread_count(threads)
        if isinstance(texts, (list, tuple)):
            ids, ends = self._engine.encode_ragged(texts, special, errors, count)
        else:
            ids, ends = arrays.ragged_ids(self._engine, texts, special, errors, count)
        return Ragged(*(self._template.around(ids, ends) if add_special_tokens else (ids, ends)))

    def _around(self, ids: list[int], put: bool) -> list[int]:
        return self._template.apply(ids)[0] if check_flag(put, "add_special_tokens") else ids

    def post_process(self, ids: Sequence[int], pair: Sequence[int] | None = None) -> list[int]:
        """The ids of a text, or of two, with the special tokens of the model's
        template around them.

        A model without a template adds none, and the second text follows the
        first.
        """
        first = check_items(ids, "ids", "ids (integers)")
        return self._template.apply(first, None if pair is None else check_items(pair, "pair", "ids (integers)"))[0]

    def encode_with_offsets(
        self, text: Text, *, unit: str = "char", special: Special = "raise", errors: str = "replace"
    ) -> Encoding:
        """The ids of a text, each with its range in the text.

        Args:
            unit: "char": characters of the text (for `bytes`, of
                `text.decode(errors="replace")`); "byte": bytes of the text as
                UTF-8.
        Returns: `.ids`, `.starts`, `.ends`; see `Encoding`. A stretch that a
            normalizer rewrites as a whole belongs to the id in which the
            rewritten stretch ends (in characters: to each id with a part of
            it). Removed text belongs to the next id, and at the end of the
            text to the last.
        Raises: as `encode`; InvalidOption for another `unit`.
        """
        from .results import Encoding, counts_characters  # imported on demand in this class, so tokenizers load sooner

        columns = _core.encode_with_offsets(self._engine, text, special, errors, counts_characters(unit))
        return Encoding(*columns, unit, self._engine.token)

    def encode_ragged_with_offsets(
        self,
        texts: Iterable[Text],
        *,
        unit: str = "char",
        special: Special = "raise",
        errors: str = "replace",
        threads: int | None = None,
    ) -> RaggedEncoding:
        """As `encode_with_offsets`, for many texts; see `RaggedEncoding`.

        Raises: as `encode_batch`; InvalidOption for another `unit`.
        """
        from .results import RaggedEncoding, counts_characters

        batch, count, characters = as_sequence(texts), thread_count(threads), counts_characters(unit)
        result = _core.encode_ragged_with_offsets(self._engine, batch, special, errors, count, characters)
        return RaggedEncoding(*result[0], result[1], unit, self._engine.token)

    def encode_sampled(
        self,
        text: Text,
        *,
        seed: int,
        dropout: float = 0.1,
        alpha: float = 0.1,
        special: Special = "raise",
        errors: str = "replace",
    ) -> list[int]:
        """The ids of a randomly drawn encoding of a text; training on such
        encodings makes a model more robust.

        Byte-pair encoding skips each merge with the probability `dropout`,
        independently each time (BPE-dropout). A unigram model draws each
        encoding with a probability proportional to the exponential of `alpha`
        times its score (subword regularization). Equal seeds give equal ids,
        on any machine.

        Args:
            seed: From 0 to 2**64 - 1.
            dropout: From 0 (the ids of `encode`, if that looks up no whole
                pieces) to 1 (no merge at all).
            alpha: At least 0; 0 draws all encodings equally often, a large
                number draws the best.
        Raises: as `encode`; InvalidOption for tokenizers that have only one
            encoding.
        Source: Provilkov et al., ACL 2020; Kudo, ACL 2018.

        >>> import toksmith
        >>> tok = toksmith.train("low lower lowest " * 9, 262)
        >>> [[tok.decode([id]) for id in tok.encode_sampled("lowest", seed=seed, dropout=0.5)] for seed in (1, 5)]
        [['low', 'e', 'st'], ['l', 'o', 'w', 'e', 'st']]
        """
        if self.model.kind not in ("bpe", "unigram"):
            raise InvalidOption("kind", self.model.kind, "'bpe' or 'unigram'; other kinds have only one encoding")
        if not 0 <= seed < 1 << 64:
            raise InvalidOption("seed", seed, "from 0 to 2**64 - 1")
        if not 0 <= dropout <= 1:
            raise InvalidOption("dropout", dropout, "from 0 to 1")
        if not 0 <= alpha < math.inf:
            raise InvalidOption("alpha", alpha, "at least 0, and finite")
        sampling = {"seed": seed, "dropout": float(dropout), "alpha": float(alpha)}
        return _core.sample(self._engine, text, special, errors, sampling)

    def encode_best(self, text: Text, n: int, *, errors: str = "replace") -> list[tuple[list[int], float]]:
        """The `n` best encodings of a text in a unigram model, the best first,
        each with the sum of its scores.

        Special tokens are ordinary text here. If the text has fewer encodings,
        it returns fewer; `n` is below 2**32.

        Raises: as `encode`; InvalidOption for tokenizers of other kinds.
        Cost: time grows with the length of the text times `n`.
        """
        if self.model.kind != "unigram":
            raise InvalidOption("kind", self.model.kind, "'unigram'; the encodings of other kinds have no scores")
        if not 1 <= n < 1 << 32:
            raise InvalidOption("n", n, "from 1 to 2**32 - 1")
        return _core.best_encodings(self._engine, text, errors, n)

    def encode_segments(self, segments: Iterable[tuple[Text, bool]]) -> list[int]:
        """The ids of a text that consists of trusted and untrusted segments.

        The segments form one text, so pieces can cross their edges. An added
        token, special or not, is found only if it is completely in adjacent
        trusted segments. Everywhere else it is ordinary text; only added
        tokens of white space are found there too.

        Args:
            segments: Pairs of a text and a bool: whether the text is trusted.
        Raises: NotInVocabulary, PatternError and TextTooLong as `encode`;
            `index` is the number of the segment.

        >>> import toksmith
        >>> tok = toksmith.train("low lower", merges=2, pattern=None, special_tokens=["<|end|>"])
        >>> tok.encode_segments([("low", True), ("<|end|>", False), ("<|end|>", True)]) == [
        ...     *tok.encode("low<|end|>", special="text"), tok.token_id("<|end|>")
        ... ]
        True
        """
        from .marks import encode_segments  # imported on demand: few calls need it

        return encode_segments(self._trusted_encoder, segments)

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        template: str | os.PathLike[str],
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        variables: Mapping[str, Any] | None = None,
    ) -> ChatEncoding:
        """The ids of a conversation, as a chat template writes it; needs the
        extra `chat`.

        Only text that the template spells can become an added token, special
        or not. Text of the messages and tools is ordinary text, even where it
        spells an added token, and so is text of unknown origin (the template
        counted, formatted or read the date). Only added tokens of white space
        are found there too. Of the message text, only a usual role (`user`,
        `assistant`, `tool`, …) can be part of an added token, because
        templates write `'<|' + role + '|>'`. The ids equal those of
        `apply_chat_template` of transformers wherever no message spells an
        added token.

        Args:
            messages: Each with its `role` and `content`, and other fields that
                the template reads.
            template: A name of `explain.CHAT_TEMPLATES` (`chatml`, `llama3`,
                `plain`), the template's source (Jinja), or a path: a folder
                of a model, `tokenizer_config.json` or `chat_template.jinja`.
                The names of special tokens (`bos_token`, …) are read from
                `tokenizer_config.json` and `special_tokens_map.json` in the
                same folder. `./chatml` and a `pathlib.Path` are paths.
            tools: Functions that the model can call, as JSON schemas.
            add_generation_prompt: Whether the text ends where the assistant
                begins to write.
            continue_final_message: Whether the text ends in the last message,
                so that the model continues it.
            variables: Further variables of the template, such as
                `enable_thinking`. Trusted are added tokens under the usual
                names (`{"bos_token": "<s>"}`) and under the names in a file
                of the model; no other text is.
        Returns: the ids, the text, and for each id its message and whether
            the assistant wrote it.
        Raises:
            FormatError: The template is not Jinja, or fails.
            UnknownName: There is no template and no file of this name.
            InvalidOption: The template refuses the messages, or arguments
                contradict each other.
            ImportError: jinja2 is not installed.

        >>> import toksmith
        >>> tok = toksmith.train("low lower", 260, special_tokens=["<|end|>"])
        >>> template = "{% for m in messages %}{{ m.role + ': ' + m.content }}<|end|>{% endfor %}"
        >>> found = tok.chat([{"role": "user", "content": "low<|end|>"}], template=template)
        >>> found.text, found.ids.tolist().count(tok.token_id("<|end|>"))
        ('user: low<|end|><|end|>', 1)
        """
        from .chat.conversation import ConversationOptions, encode_conversation

        options = ConversationOptions(messages, tools, add_generation_prompt, continue_final_message, variables or {})
        return encode_conversation(self, template, options)

    def parse(self, ids: Iterable[int], *, family: str | None = None, thinking: bool = False) -> ParsedMessage:
        """The message that a model wrote, from the ids that it sampled: content,
        thinking and tool calls.

        Ids decide what is a mark: `<tool_call>` as ordinary text is content,
        except for tokenizers without this added token, whose models write it
        as text. No ids of the model are an error: what does not follow the
        grammar is text, with a problem.

        Args:
            ids: After the generation prompt, with or without the id that ends
                the turn.
            family: "chatml" (Qwen), "llama", "mistral", "deepseek", "gemma" or
                "harmony" (GPT-OSS); None for the family whose added tokens
                the tokenizer has.
            thinking: Whether the prompt began the thinking, as with
                DeepSeek-R1.
        Raises:
            UnknownId: No token has one of the ids.
            InvalidOption: The tokenizer lacks the marks of the family.
            UnknownName: There is no such family.

        >>> import toksmith
        >>> marks = ["<|im_end|>", "<tool_call>", "</tool_call>"]
        >>> tok = toksmith.train("low lower", 262, special_tokens=marks)
        >>> text = 'low<tool_call>{"name": "f", "arguments": {"n": 1}}</tool_call><|im_end|>'
        >>> found = tok.parse(tok.encode(text, special="allow"))
        >>> found.content, found.tool_calls, found.complete
        ('low', (ToolCall(name='f', arguments={'n': 1}, problem='', id=''),), True)
        """
        parser = self.parser(family, thinking=thinking)
        parser.feed(ids)
        return parser.finish()

    def parser(self, family: str | None = None, *, thinking: bool = False) -> MessageParser:
        """A parser for ids that come one by one; see `parse`.

        >>> import toksmith
        >>> tok = toksmith.train("low lower", 260, special_tokens=["<|im_end|>"])
        >>> parser = tok.parser("chatml")
        >>> [parser.feed(id).content for id in tok.encode("low ☀")], parser.finish().complete
        (['low', 'low ', 'low ', 'low ', 'low ☀'], False)
        """
        from .chat.parse import make_parser

        return make_parser(self, family, thinking)

    def encode_chats(
        self,
        conversations: Iterable[Sequence[Mapping[str, Any]]],
        *,
        template: str | os.PathLike[str],
        tools: Sequence[Mapping[str, Any]] | None = None,
        variables: Mapping[str, Any] | None = None,
        threads: int | None = None,
    ) -> Ragged:
        """The ids of many conversations in one array, with the mask of the
        assistant's ids: the data of supervised fine-tuning.

        Ids and masks are those of `chat`, and arguments mean the same. The
        core encodes conversations without the interpreter's lock while the
        template renders the next ones, in about 2 million characters at a
        time.

        Args:
            conversations: Of messages, as `chat` takes them; any iterable.
        Returns: `.ids` uint32, shape (n,); `.ends` uint64, shape
            (conversations,); `.mask` uint8, shape (n,).
        Raises: as `chat`; InvalidOption gives the number of the conversation
            that the template refuses.

        >>> import toksmith
        >>> tok = toksmith.train("low lower", 260, special_tokens=["<|im_start|>", "<|im_end|>"])
        >>> talk = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "lower"}]
        >>> found = tok.encode_chats([talk, talk[:1]], template="chatml")
        >>> found.ends.tolist(), tok.decode(found.ids[found.mask == 1])
        ([25, 34], 'lower')
        """
        from .chat.conversation import ConversationOptions, encode_conversations

        options = ConversationOptions((), tools, False, False, variables or {})
        return encode_conversations(self, conversations, template, options, thread_count(threads))

    def conversation(
        self,
        template: str | os.PathLike[str],
        *,
        messages: Iterable[Mapping[str, Any]] = (),
        tools: Sequence[Mapping[str, Any]] | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> Conversation:
        """A conversation that grows turn by turn: its ids are those of `chat`,
        and a new turn renders and encodes only what is new.

        The template's clock shows the time of this call for all turns.

        Args:
            template, tools, variables: As for `chat`.
            messages: The first messages.
        Raises: as `chat`.
        Cost: of a turn, that of its own text, if the template reads each
            message once, in order. A template that reads later messages first
            (Qwen3's, which drops older reasoning) renders all turns again.

        >>> import toksmith
        >>> tok = toksmith.train("low lower", 260, special_tokens=["<|im_start|>", "<|im_end|>"])
        >>> talk = tok.conversation("chatml")
        >>> edit = talk.add("user", "low")
        >>> prompt = talk.prompt()
        >>> talk.add_sampled([257, tok.token_id("<|im_end|>")])
        <TurnEdit 0 ids from 9 on become [258, 97, 115, 115, 105, 115, …]>
        >>> talk.ids[: len(prompt)].tolist() == prompt.tolist()
        True
        """
        from .chat.turns import Conversation

        return Conversation(self, template, messages, tools, variables or {})

    def encode_padded(
        self,
        texts: Iterable[Text],
        *,
        pad: int | str,
        length: int | None = None,
        multiple: int = 1,
        side: str = "right",
        truncate: bool = False,
        dtype: DTypeLike = "int64",
        special: Special = "raise",
        threads: int | None = None,
        add_special_tokens: bool = False,
    ) -> Padded:
        """The ids of many texts as one matrix, each row padded to the same
        length.

        Args:
            texts: A list, or a column of Arrow.
            pad: The id of the padding, or its special token.
            length: Of each row; None for the length of the longest text.
            multiple: The length is rounded up to a multiple of it.
            side: "right" or "left": where the padding is.
            truncate: Whether a text with more ids than `length` loses its end.
                Otherwise it is refused.
            dtype: An integer type that holds every id.
        Returns: `.ids` and `.mask`, shape (texts, length).
        Raises: as `encode_batch`; InvalidOption for a text with too many ids,
            a type that does not hold an id, or a padding that is not an id.

        >>> import toksmith
        >>> tok = toksmith.train("low lower lowest", 262, special_tokens=["<pad>"])
        >>> padded = tok.encode_padded(["low", "low lower"], pad="<pad>")
        >>> padded, padded.mask.tolist()
        (<Padded 2 texts of 3 ids, int64>, [[1, 0, 0], [1, 1, 1]])
        """
        from .results import pad_rows

        if side not in ("left", "right"):
            raise InvalidOption("side", side, "'left' or 'right'")
        if not 1 <= multiple <= LONGEST_ROW:
            raise InvalidOption("multiple", multiple, f"1 to {LONGEST_ROW:,}")
        if length is not None and not 0 <= length <= LONGEST_ROW:
            raise InvalidOption("length", length, f"0 to {LONGEST_ROW:,}, or None")
        padding = self.token_id(pad) if isinstance(pad, str) else pad
        if not 0 <= padding < 1 << 32:
            raise InvalidOption("pad", pad, "an id, or a special token")
        ragged = self.encode_ragged(texts, special=special, threads=threads, add_special_tokens=add_special_tokens)
        id_type = arrays.check_id_type(dtype, np.append(ragged.ids, np.uint32(padding)))
        return pad_rows(ragged, padding, id_type, length=length, multiple=multiple, side=side, truncate=truncate)

    def session(self, text: str | bytes = "", *, special: Special = "raise") -> TextSession:
        """An editable text with its ids: after each edit they equal those of the
        whole text, but only the text around the edit is encoded again.

        Args:
            text: The initial text.
            special: As for `encode`, also for the text of edits.
        Raises: as `encode`.

        >>> import toksmith
        >>> tok = toksmith.train("low lower lowest", 262)
        >>> s = tok.session("low lower lowest")
        >>> s.replace(4, 9, "slow")
        <IdEdit 1 id from 1 on become [32, 115, 257]>
        >>> s.text, s.ids.tolist() == tok.encode(s.text)
        ('low slow lowest', True)
        """
        from .session import TextSession

        return TextSession(self._engine, text, special, boundaries.longest_added(self.model))

    def encode_file(
        self,
        path: str | os.PathLike[str],
        *,
        separator: Text | None = None,
        threads: int | None = None,
        special: Special = "text",
    ) -> Ragged:
        r"""The ids of a text file, which is read and encoded in parts and never
        held in memory completely.

        The bytes are encoded unchanged, UTF-8 or not (`.gz` is unpacked). With
        a pattern of `toksmith.patterns()`, one document is encoded on all
        processors; with another pattern each document is in memory completely.

        Args:
            separator: The text between documents, such as "\n\n"; it is not
                part of them, and at the end of the file it starts no new
                document. None: the file is one document.
            threads: At least 1; None for all processors. The result does not
                depend on it.
        Returns: `.ids` uint32, shape (n,); `.ends` uint64, shape (documents,).
        Raises:
            CorpusError: The file cannot be read, or changes while it is read.
            SpecialTokenInText, NotInVocabulary, PatternError, TextTooLong: as
            `encode`; offsets are bytes of the document, and `index` is the
            number of the document if there is a separator.
        Cost: memory for the ids and for a few MiB of text.
        """
        separator = arguments.check_text(separator, "separator") if isinstance(separator, str) else separator
        from .._corpus.encode_files import encode_text_file  # imported on demand: it also reads URLs
        from .results import Ragged

        count = thread_count(threads)
        return Ragged(*encode_text_file(self._engine, path, separator=separator, special=special, threads=count))

    def count(self, text: Text, *, special: Special = "text", errors: str = "replace") -> int:
        """The number of ids of a text. By default special tokens count as
        ordinary text."""
        return self._engine.count(text, special, errors)

    def count_batch(
        self,
        texts: Iterable[Text],
        *,
        special: Special = "text",
        errors: str = "replace",
        threads: int | None = None,
    ) -> NDArray[np.uint64]:
        """The number of ids of each text.

        Returns: uint64, shape (texts,).
        """
        return self._engine.count_batch(as_sequence(texts), special, errors, thread_count(threads))

    acount = make_awaitable(count)
    acount_batch = make_awaitable(count_batch)
    aencode = make_awaitable(_encode)
    aencode_batch = make_awaitable(encode_batch)
    achat = make_awaitable(chat)

    def truncate(self, text: Some, max_tokens: int, *, side: str = "right", special: Special = "text") -> Some:
        """The longest prefix that ends after one of the text's first
        `max_tokens` ids and encodes to no more ids itself.

        It never cuts a character. With a pattern of `toksmith.patterns()` and
        in a raw stream it encodes only as much of the text as it needs;
        otherwise it encodes all of it.

        Args:
            max_tokens: At least 0.
            side: The side to cut off; "left" gives the longest suffix that
                starts before one of the last `max_tokens` ids.
        Raises: as `encode`, for the encoded part; InvalidOption for another
            `side` or a negative number.

        >>> import toksmith
        >>> toksmith.train("low", merges=2, pattern=None).truncate("low ☀ low", 4)
        'low '
        """
        return boundaries.truncate_text(self._parts(special), text, max_tokens, side)

    def chunk(self, text: Some, max_tokens: int, *, overlap: int = 0, special: Special = "text") -> list[Chunk]:
        """The text in parts of at most `max_tokens` ids, each with the length
        that `truncate` gives.

        Args:
            max_tokens: At least 1, and enough for each character.
            overlap: Each chunk begins with at most this many ids of the
                previous chunk; below `max_tokens`. Each chunk ends after the
                end of the previous one, so the overlap can be shorter.
        Returns: `.text`, `.start`, `.end`, `.ids` of each; without overlap the
            texts, joined, are the text.
        Raises: as `encode`; InvalidOption where a character has more ids than
            `max_tokens`.

        >>> import toksmith
        >>> tok = toksmith.train("low", merges=2, pattern=None)
        >>> [(chunk.text, chunk.start, chunk.ids) for chunk in tok.chunk("low☀", 3)]
        [('low', 0, [257]), ('☀', 3, [226, 152, 128])]
        """
        return boundaries.split_chunks(self._parts(special), text, max_tokens, overlap)

    def heal(self, text: Text, *, special: Special = "raise") -> Healing:
        """The part of a prompt that allows every continuation, and the tokens
        that continue it.

        A longer text often does not begin with the ids of the prompt: a space
        at the end becomes part of the next token, and a word that continues
        is cut elsewhere. `heal` keeps the ids that later text cannot change,
        and as few more ids as possible, such that some token begins with the
        remaining bytes. It returns these bytes and tokens.

        Returns: `.ids`, `.rest`, `.continuations`, `.stable`; see `Healing`.
        Raises: as `encode`.
        Cost: that of `encode`. The first call, and the first after `release`,
            also sorts the tokens: about 20 ms for 100,000. The first in a
            process imports numpy. `heal("")` does this ahead.

        >>> import toksmith
        >>> tok = toksmith.train("low lower lowest", vocab_size=300)
        >>> healing = tok.heal("low lo")
        >>> healing.rest, [tok.token_bytes(id) for id in healing.continuations]
        (b' lo', [b' low', b' lowe', b' lower', b' lowest'])
        """
        return boundaries.heal_prompt(self._parts(special), self.model, self._sorted_tokens, text)

    def is_canonical(self, ids: Iterable[int]) -> bool:
        """Whether decoding the ids and encoding the text gives the same ids; see
        `first_drift`.

        Raises: UnknownId, if no token has one of the ids.
        """
        return self.first_drift(ids) is None

    def first_drift(self, ids: Iterable[int]) -> int | None:
        """The position of the first id that differs after decoding and encoding
        again; None if none does.

        Special tokens are not text: each run of ids between them is decoded to
        bytes, and encoded with `special="text"`.

        Raises:
            UnknownId: No token has one of the ids.

        >>> import toksmith
        >>> tok = toksmith.train("low", merges=2, pattern=None)
        >>> tok.first_drift([32, 108, 111, 119]), tok.first_drift([32, 257])
        (1, None)
        """
        return boundaries.first_drift(self._engine, self.model, ids)

    def decode(self, ids: Iterable[int], *, errors: str = "replace", skip_special_tokens: bool = False) -> str:
        """The text of ids.

        Args:
            ids: A list, array or iterable of integers.
            errors: The treatment of bytes that are not UTF-8, as in
                `bytes.decode`: "replace", "strict", "ignore", …
            skip_special_tokens: Whether special tokens are left out.
        Raises:
            UnknownId: No token has one of the ids.
            UnicodeDecodeError: The bytes are not UTF-8, with
                `errors="strict"`.
        """
        try:
            if skip_special_tokens is not False and check_flag(skip_special_tokens, "skip_special_tokens"):
                ids = self._without_special(ids)
            return self._engine.decode(ids, errors)
        except TypeError as error:
            raise add_advice(error, ids) from None

    def _without_special(self, ids: Iterable[int]) -> list[int]:
        special = {token.id for token in self.model.added_tokens if token.special}
        try:
            return [id for id in check_items(ids, "ids", "ids (integers)") if id not in special]
        except TypeError as error:
            raise TypeError(f"ids: expected ids (integers): {error}") from None

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ids, concatenated.

        Raises:
            UnknownId: No token has one of the ids.
        """
        return self._engine.decode_bytes(ids)

    def decode_batch(
        self, batch: Iterable[Iterable[int]], *, threads: int | None = None, errors: str = "replace"
    ) -> list[str]:
        """The text of each sequence of ids, in order; see `decode`."""
        return self._engine.decode_batch(batch, errors, thread_count(threads))

    def decoder(self, *, errors: str = "replace") -> StreamDecoder:
        """A decoder for ids that come one by one.

        >>> import toksmith
        >>> decoder = toksmith.train("low", merges=1, pattern=None).decoder()
        >>> [decoder.feed(byte) for byte in "☀".encode()]
        ['', '', '☀']
        """
        from .results import stream_decoder

        return stream_decoder(self._engine, self.model, errors)

    def encoder(self, *, special: Special = "text") -> StreamEncoder:
        """An encoder for text that comes in parts.

        >>> import toksmith
        >>> encoder = toksmith.train("low lower", vocab_size=260).encoder()
        >>> [encoder.feed(text) for text in ("lo", "w low", "er")], encoder.finish()
        ([[], [257], []], [258, 259])
        """
        return StreamEncoder(self._engine, special, boundaries.longest_added(self.model))

    def memory(self) -> MemoryUse:
        """The memory of the tokenizer, in bytes: its tables, and its caches for
        later calls.

        >>> import toksmith
        >>> tok = toksmith.train("low lower", 260)
        >>> tok.encode("low"), tok.memory().sessions
        ([257], 1)
        """
        from . import memory as _memory  # imported on demand: it imports the renderer

        return _memory.memory_use(self.model, self._engine, self._sorted_tokens.values())

    def release(self) -> None:
        """Frees the caches of the tokenizer, and the memory that the process
        keeps for its next large result. Later calls are slower for a while; no
        id changes.

        Calls in other threads keep their memory until they end.

        >>> import toksmith
        >>> tok = toksmith.train("low lower", 260)
        >>> ids = tok.encode("low")
        >>> tok.release()
        >>> tok.memory().sessions, tok.encode("low") == ids
        (0, True)
        """
        self._engine.release()
        self.__dict__.pop("_sorted_tokens", None)
        self.__dict__.pop("_trusted_encoder", None)

    def _parts(self, special: Special) -> boundaries.PartEncoder:
        return boundaries.PartEncoder(self._engine, self.model, special)

    @cached_property
    def _marks(self) -> tuple[AddedToken, ...]:
        """The added tokens that only trusted text can spell."""
        from .marks import is_mark  # imported on demand: few calls need it

        return tuple(token for token in self.model.added_tokens if is_mark(self.model, token))

    @cached_property
    def _added_contents(self) -> frozenset[str]:
        return frozenset(token.content for token in self.model.added_tokens)

    @cached_property
    def _mark_finder(self) -> _core.Marks:
        ids = {token.id for token in self._marks} - {self.model.unknown_id}
        return _core.Marks([token.content for token in self._marks], [*ids])

    @cached_property
    def _trusted_encoder(self) -> TrustedEncoder:
        from .marks import TrustedEncoder

        return TrustedEncoder(self)

    @cached_property
    def _sorted_tokens(self) -> dict[bool, boundaries.SortedTokens]:
        return {}  # `heal` adds them

    def token_bytes(self, id: int) -> bytes:
        """The bytes of one id, special tokens included.

        Raises: UnknownId, if no token has this id.
        """
        if type(id) is not int:
            try:
                id = check_int(id, "id")
            except TypeError as error:
                raise add_advice(error, id) from None
        token = self._engine.token(id) if 0 <= id < self.vocab_size else None
        if token is None:
            raise UnknownId(id, None, self.vocab_size)
        return token

    def token_id(self, token: bytes | str) -> int:
        """The id of a token, special tokens included.

        Raises:
            NotInVocabulary: The token does not exist.
        """
        content = token.encode("utf-8", "surrogatepass") if isinstance(token, str) else token
        id = self.model.vocab.id(content)
        if id is None:
            id = next((added.id for added in self.model.added_tokens if added.content.encode() == content), None)
        if id is None:
            raise NotInVocabulary(token)
        return id

    def split(self, text: Some, *, special: Special = "raise") -> list[Some]:
        """The pieces of a text, in order: no merge crosses from one piece into
        the next.

        The joined pieces are the text, unless steps of the model rewrite it:
        then they are in their rewritten form. A special or added token is a
        separate piece.

        Returns: str for a `str`, bytes for `bytes`.
        Raises: as `encode` for special tokens, patterns and steps.

        >>> import toksmith
        >>> tok = toksmith.train("any text", merges=0, pattern="gpt2")
        >>> tok.split("Hello's World123  !!  ")
        ['Hello', "'s", ' World', '123', ' ', ' !!', '  ']
        """
        pieces = boundaries.pieces_of(self._engine, self.model, text, check_special(special))
        return [boundaries.to_type_of(text, piece) for piece in pieces]

    def pattern_fits(self) -> Fit:
        """Whether the vocabulary fits the pattern: how many tokens that are UTF-8
        do not encode to themselves.

        A token that the pattern cuts is never emitted. Many such tokens mean
        that the vocabulary was trained with another pattern. A token with a
        mark (`▁`, `##`, `</w>`) is encoded at the place of the mark: at the
        start of a word, inside one, or at its end. The first call does this.

        Cost: the time to encode the vocabulary, once.

        >>> import toksmith
        >>> print(toksmith.train("it's 2026", merges=2, pattern="cl100k").pattern_fits())
        each of 130 tokens encodes to itself
        """
        return self._fit

    @cached_property
    def _fit(self) -> Fit:
        from .pattern_fit import find_misfits, token_texts
        from .results import Fit

        tokens = token_texts(self.model)
        wrong = sorted(tokens.ids[find_misfits(self.model, tokens)].tolist())
        return Fit(len(tokens.ids), len(wrong), tuple((id, self.token_bytes(id)) for id in wrong[:5]))

    @cached_property
    def vocab_size(self) -> int:
        """The largest id + 1: ids lie in [0, vocab_size). It includes holes; `len` is the number of entries."""
        return self.model.vocab_size

    def __len__(self) -> int:
        return len({*self.model.ids.tolist(), *(added.id for added in self.model.added_tokens)})

    @property
    def special_tokens(self) -> dict[str, int]:
        """The special tokens' ids by content."""
        return self.model.special_tokens

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 (hex) of everything that decides ids and bytes: equal tokenizers have equal fingerprints."""
        return self.model.fingerprint()

    def save(
        self, path: str | os.PathLike[str], *, format: str | None = None, allow_loss: Collection[str] = ()
    ) -> None:
        """Writes the tokenizer to a file, completely or not at all.

        Args:
            path: The file; its name selects the format unless `format` does
                (see `toksmith.formats()`). A folder, which exists or whose name
                ends in `/`, gets the files that `AutoTokenizer` of transformers
                loads; `convert` adds settings, such as a chat template.
            allow_loss: Names of model fields that can be left out if the
                format cannot hold them.
        Raises:
            CannotRepresent: The format has no room for a field that is not in
                `allow_loss`.
            FormatError: The file cannot be written, or its name fits no format,
                or several (`.model`).
        """
        from .. import _formats  # imported on demand: training and encoding do not need the readers of files

        _formats.write_model(self.model, path, format=format, allow_loss=allow_loss)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Tokenizer, run_report=dict(self.run_report)), (self.model,)

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, memo: object) -> Tokenizer:
        return self

    if not TYPE_CHECKING:  # type checkers would accept every name

        def __getattr__(self, name: str) -> NoReturn:
            from .._base.suggestions import OF_A_TOKENIZER, missing_attribute  # a table that only errors need

            raise missing_attribute(self, "a Tokenizer", name, OF_A_TOKENIZER)

    def __repr__(self) -> str:
        from . import view

        return view.repr_line(self)

    def _repr_html_(self) -> str:
        from . import view  # imported on demand: it imports the renderer

        return view.card_html(self)
