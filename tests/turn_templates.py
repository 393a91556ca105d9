"""The turn that a model of each family writes after the generation prompt, as templates written for these tests.

They write the message `m` with `content`, `thinking` and `tool_calls` (`name`, `arguments`, `id`).
"""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import NamedTuple

import toksmith
from toksmith.types import AddedToken

__all__ = ["TURNS", "Turn", "tokenizer_of"]

CORPUS = 'the user said low and lower, and the assistant said: {"name": "f", "a": [1, 2]} é 日本 👍 to=json\n\n' * 20


class Turn(NamedTuple):
    """How one format of a family writes a turn.

    Attributes:
        family: The row of `GRAMMARS`.
        template: In Jinja, of the message `m`.
        marks: The added tokens of its tokenizer.
        holds: The parts of a message that the format has room for.
        unlike: What the texts of a message cannot contain, because the format has marks of ordinary text.
        trimmed: Whether content and thinking have no white space around them.
        names: The names of functions.
        calls: The most calls of a message.
    """

    family: str
    template: str
    marks: tuple[str, ...]
    unlike: tuple[str, ...] = ()
    holds: frozenset[str] = frozenset({"content", "thinking", "calls"})
    trimmed: bool = False
    names: tuple[str, ...] = ("f", "get_weather", "a-b", "ns.g")
    calls: int = 4


QWEN = """\
{%- if m.thinking %}{{ '<think>\\n' + m.thinking + '\\n</think>\\n\\n' }}{% endif %}{{ m.content }}
{%- for call in m.tool_calls %}{{ '\\n' if m.content or not loop.first }}
{{- '<tool_call>\\n{"name": "' + call.name + '", "arguments": ' + (call.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}{{ '<|im_end|>' }}"""

LLAMA = """\
{{ m.content }}
{%- for call in m.tool_calls %}{{ '<|python_tag|>' if MARKED and loop.first }}{{ '; ' if not loop.first }}
{{- '{"name": "' + call.name + '", "parameters": ' + (call.arguments | tojson) + '}' }}
{%- endfor %}{{ '<|eom_id|>' if MARKED and m.tool_calls else '<|eot_id|>' }}"""

LLAMA_BUILT_IN = """\
{{ m.content }}
{%- for call in m.tool_calls %}{{ '<|python_tag|>' + call.name + '.call(' }}
{%- for key, value in call.arguments.items() %}{{ key }}={{ value | tojson }}{{ ', ' if not loop.last }}{% endfor %})
{%- endfor %}{{ '<|eom_id|>' if m.tool_calls else '<|eot_id|>' }}"""

MISTRAL_V3 = """\
{{ m.content }}
{%- if m.tool_calls %}{{ '[TOOL_CALLS] [' }}{% for call in m.tool_calls %}{{ ', ' if not loop.first }}
{{- '{"name": "' + call.name + '", "arguments": ' + (call.arguments | tojson) + ', "id": "' + call.id + '"}' }}
{%- endfor %}]{% endif %}{{ '</s>' }}"""

MISTRAL_V11 = """\
{% if m.thinking %}{{ '[THINK]' + m.thinking + '[/THINK]' }}{% endif %}{{ m.content }}
{%- for call in m.tool_calls %}{{ '[TOOL_CALLS]' + call.name }}
{{- '[CALL_ID]' + call.id if call.id }}{{ '[ARGS]' + (call.arguments | tojson) }}
{%- endfor %}{{ '</s>' }}"""

DEEPSEEK_V3 = """\
{% if m.thinking %}{{ '<think>\\n' + m.thinking + '\\n</think>\\n\\n' }}{% endif %}{{ m.content }}
{%- for call in m.tool_calls %}{{ '<｜tool▁calls▁begin｜>' if loop.first else '\\n' }}
{{- '<｜tool▁call▁begin｜>function<｜tool▁sep｜>' + call.name + '\\n```json\\n' + (call.arguments | tojson) }}
{{- '\\n```<｜tool▁call▁end｜>' }}{{ '<｜tool▁calls▁end｜>' if loop.last }}
{%- endfor %}{{ '<｜end▁of▁sentence｜>' }}"""

DEEPSEEK_V31 = """\
{% if m.thinking %}{{ '<think>' + m.thinking + '</think>' }}{% endif %}{{ m.content }}
{%- for call in m.tool_calls %}{{ '<｜tool▁calls▁begin｜>' if loop.first }}
{{- '<｜tool▁call▁begin｜>' + call.name + '<｜tool▁sep｜>' + (call.arguments | tojson) + '<｜tool▁call▁end｜>' }}
{{- '<｜tool▁calls▁end｜>' if loop.last }}
{%- endfor %}{{ '<｜end▁of▁sentence｜>' }}"""

GEMMA = """\
{%- macro write(value) %}
{%- if value is string %}{{ '<escape>' + value + '<escape>' }}
{%- elif value is boolean %}{{ 'true' if value else 'false' }}
{%- elif value is mapping %}{{ '{' }}{{ pairs(value) }}{{ '}' }}
{%- elif value is sequence %}[{% for item in value %}{{ write(item) }}{{ ',' if not loop.last }}{% endfor %}]
{%- else %}{{ value }}{% endif %}
{%- endmacro %}
{%- macro pairs(value) %}
{%- for key, item in value.items() %}{{ key }}:{{ write(item) }}{{ ',' if not loop.last }}{% endfor %}
{%- endmacro %}
{{ m.content }}
{%- for call in m.tool_calls %}
{{- '<start_function_call>call:' + call.name + '{' }}{{ pairs(call.arguments) }}{{ '}<end_function_call>' }}
{%- endfor %}{{ '<end_of_turn>' }}"""

GEMMA_FENCE = """\
{{ m.content }}
{%- for call in m.tool_calls %}{{ '```tool_code\\nprint(' + call.name + '(' }}
{%- for key, value in call.arguments.items() %}{{ key }}={{ value | tojson }}{{ ', ' if not loop.last }}{% endfor %}))
{{- '\\n```' }}
{%- endfor %}{{ '<end_of_turn>' }}"""

HARMONY = """\
{%- if m.thinking %}{{ '<|channel|>analysis<|message|>' + m.thinking + '<|end|>' }}{% endif %}
{%- if m.content or not m.tool_calls %}{{ '<|start|>assistant' if m.thinking }}
{{- '<|channel|>' + ('commentary' if m.tool_calls else 'final') + '<|message|>' + m.content }}
{{- '<|end|>' if m.tool_calls else '<|return|>' }}{% endif %}
{%- for call in m.tool_calls %}{{ '<|start|>assistant' if m.thinking or m.content or not loop.first }}
{{- '<|channel|>commentary to=functions.' + call.name + ' <|constrain|>json<|message|>' }}
{{- (call.arguments | tojson) + '<|call|>' }}
{%- endfor %}"""

LLAMA_MARKS = (
    "<|eot_id|>",
    "<|eom_id|>",
    "<|python_tag|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|end_of_text|>",
)
MISTRAL_MARKS = ("<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]")
DEEPSEEK_MARKS = (
    *("<｜end▁of▁sentence｜>", "<｜User｜>", "<think>", "</think>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    *("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
)
QWEN_MARKS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
PYTHON_NAMES = ("f", "get_weather", "ns.g")
NO_THINKING = frozenset({"content", "calls"})

TURNS = {
    "qwen": Turn("chatml", QWEN, (*QWEN_MARKS, "<tool_call>", "</tool_call>", "<think>", "</think>")),
    "qwen without added marks": Turn(
        "chatml", QWEN, QWEN_MARKS, ("<think>", "</think>", "<tool_call>", "</tool_call>")
    ),
    "llama": Turn("llama", LLAMA.replace("MARKED", "false"), LLAMA_MARKS, holds=frozenset({"content or calls"})),
    "llama with a mark": Turn("llama", LLAMA.replace("MARKED", "true"), LLAMA_MARKS, holds=NO_THINKING),
    "llama built in": Turn("llama", LLAMA_BUILT_IN, LLAMA_MARKS, holds=NO_THINKING, names=PYTHON_NAMES, calls=1),
    "mistral v3": Turn("mistral", MISTRAL_V3, MISTRAL_MARKS, holds=NO_THINKING),
    "mistral v11": Turn("mistral", MISTRAL_V11, (*MISTRAL_MARKS, "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]")),
    "deepseek v3": Turn("deepseek", DEEPSEEK_V3, DEEPSEEK_MARKS),
    "deepseek v3.1": Turn("deepseek", DEEPSEEK_V31, DEEPSEEK_MARKS, trimmed=True),
    "gemma": Turn(
        "gemma",
        GEMMA,
        ("<end_of_turn>", "<start_of_turn>", "<start_function_call>", "<end_function_call>", "<escape>"),
        ("```tool_code\n",),
        holds=NO_THINKING,
    ),
    "gemma with fences": Turn(
        "gemma", GEMMA_FENCE, ("<end_of_turn>", "<start_of_turn>"), ("```",), holds=NO_THINKING, names=PYTHON_NAMES
    ),
    "harmony": Turn(
        "harmony",
        HARMONY,
        ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>", "<|constrain|>"),
    ),
}


@cache
def tokenizer_of(name: str) -> toksmith.Tokenizer:
    """A small tokenizer with the marks of a turn; those of Qwen's and DeepSeek's words are not special."""
    trained = toksmith.train(CORPUS, 320, pattern="gpt2", special_tokens=["<|pad|>"])
    marks = enumerate(TURNS[name].marks, trained.vocab_size)
    added = [AddedToken(mark, id, special="think" not in mark and "tool" not in mark) for id, mark in marks]
    return toksmith.Tokenizer(dataclasses.replace(trained.model, added_tokens=(*trained.model.added_tokens, *added)))
