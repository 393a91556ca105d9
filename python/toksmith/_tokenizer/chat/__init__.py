"""`Tokenizer.chat`: the ids of a conversation, as a chat template of Hugging Face writes it.

The rule: only text that the template itself spells can become an added token, special or not. Words of the messages, and text
whose origin is not known, are ordinary text, even where they spell one. `_tokenizer/marks.py` says which added tokens this is about.

The walk: `chat` marks the messages with their numbers (`marked.py`), the template writes one text of them (`template.py`),
and the text is encoded with offsets, with only trusted text able to spell a mark (`ids.py`).
`conversation.py` walks. It is imported when a program calls `chat`, so that tokenizers load sooner.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .ids import ChatEncoding

__all__ = ["chat"]


def chat(
    self: Any,
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

    Only text that the template spells can become an added token, whether
    or not its file calls it special. What the messages and the tools hold
    is ordinary text, even where it spells one, and so is text whose origin
    is not known (the template counted, formatted or asked for the date).
    Only added tokens of white space are found there too. Only a usual role
    (`user`, `assistant`, `tool`, …) may be a part of one, because
    templates write `'<|' + role + '|>'`. The ids equal those of
    `apply_chat_template` of transformers wherever no message spells an
    added token.

    Args:
        messages: Each with its `role` and `content`, and whatever else the
            template reads.
        template: The template itself (Jinja), or the path of one: a folder
            of a model, `tokenizer_config.json` or `chat_template.jinja`.
            The names of special tokens (`bos_token`, …) are read from
            `tokenizer_config.json` and `special_tokens_map.json` beside
            it.
        tools: Functions that the model may call, as JSON schemas.
        add_generation_prompt: Whether the text ends where the assistant
            begins to write.
        continue_final_message: Whether the text ends in the last message,
            so that the model continues it.
        variables: More that the template reads, such as `enable_thinking`.
            Added tokens by their usual names are trusted
            (`{"bos_token": "<s>"}`), and those that a file of the model
            calls so; everything else is not.
    Returns: the ids, the text, and for each id whether it is the
        assistant's and from which message it comes.
    Raises:
        FormatError: The template is no Jinja, or fails.
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
    from .conversation import ConversationOptions, conversation

    asked = ConversationOptions(messages, tools, add_generation_prompt, continue_final_message, variables or {})
    return conversation(self, template, asked)
