"""`python -m bench.chat`: the time of a conversation from its messages to ids, by the number of turns.

"jinja2 + encode" renders the template with plain Jinja and encodes the text with toksmith: ids alone, and special tokens that
a message spells come out as special. `Tokenizer.chat` also gives each id its place, its message and the mask of the assistant,
and no message can spell a special token. transformers gives ids and mask; basetenkenizer renders and encodes, without a mask.
The peers take turns in one process. A figure is the median of the rounds, and a ratio the median of the ratios of a round.
With `--batch N` the second table has the rate of N conversations in one call: `encode_chats`, against `encode_ragged` on the
rendered texts and against plain Jinja alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from .adapters import OURS, versions
from .interface import added_tokens
from .places import scratch, write_whole
from .records import cpu_name
from .report import table_line
from .texts import MB, TURNS, lay_out_text
from .vocabularies import encoding, with_tokenizer_json

BASE = "jinja2 + encode"
CHARACTERS = 2_900  # of a message
MARKS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
OPEN, CLOSE = "{% generation %}", "{% endgeneration %}"
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    f"{{% if message['role'] == 'assistant' %}}{OPEN}{{{{ message['content'] + '<|im_end|>' }}}}{CLOSE}"
    "{% else %}{{ message['content'] | trim + '<|im_end|>' }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
PLAIN = TEMPLATE.replace(OPEN, "").replace(CLOSE, "")
Talk = list[dict[str, str]]
Calls = dict[str, Callable[[Talk], Any]]


def prepare_folder(vocabulary: str) -> Path:
    """A folder that `AutoTokenizer` loads: published ranks with the marks of ChatML."""
    folder = scratch("chat") / vocabulary
    folder.mkdir(exist_ok=True)
    content = json.loads(Path(with_tokenizer_json(encoding(vocabulary)).tokenizer_json).read_text(encoding="utf-8"))
    content["added_tokens"] = added_tokens(MARKS, max(content["model"]["vocab"].values()) + 1)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": TEMPLATE, "eos_token": MARKS[2]}
    for file, value in (("tokenizer.json", content), ("tokenizer_config.json", config)):
        write_whole(folder / file, json.dumps(value, ensure_ascii=False).encode())
    return folder


def prepare_talk(text: str, turns: int, characters: int, first: int = 0) -> Talk:
    """A conversation whose messages are parts of a text."""
    roles = ("user", "assistant")
    starts = ((first + turn) * characters * 7 % (len(text) - characters) for turn in range(turns))
    return [{"role": roles[turn % 2], "content": text[start : start + characters]} for turn, start in enumerate(starts)]


def plain_render() -> Callable[[Talk], str]:
    """The text of plain Jinja with the settings of transformers."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(PLAIN)
    return lambda talk: made.render(messages=talk, add_generation_prompt=False)


def own_calls(tok: Any) -> Calls:
    """The calls of toksmith that give ids; the first is the base of the ratios."""
    render = plain_render()
    return {
        BASE: lambda talk: tok.encode(render(talk), special="allow"),
        OURS: lambda talk: tok.chat(talk, template=TEMPLATE).ids,
    }


def load_peers(folder: Path, tok: Any) -> Calls:
    """The calls of toksmith and its peers."""
    calls = own_calls(tok)
    try:
        from transformers import AutoTokenizer

        theirs = AutoTokenizer.from_pretrained(folder)
        masked = {"return_dict": True, "return_assistant_tokens_mask": True}
        calls["transformers"] = lambda talk: theirs.apply_chat_template(talk, **masked)["input_ids"]
    except ImportError as error:
        print(f"- {error}", file=sys.stderr)
    try:
        native = import_module("basetenkenizer").Tokenizer.from_file(str(folder / "tokenizer.json"))
        native.set_chat_template(PLAIN)
        calls["basetenkenizer"] = lambda talk: native.encode(native.apply_chat_template(talk)).ids
    except ImportError as error:
        print(f"- {error}", file=sys.stderr)
    return calls


def timed(call: Callable[[], Any]) -> float:
    """The seconds of a call."""
    begun = perf_counter()
    call()
    return perf_counter() - begun


def measure(calls: Calls, talk: Talk, rounds: int) -> list[str]:
    """The cells of a row: the number of ids, and the milliseconds of each peer with its ratio to the first."""
    expected = [int(id) for id in calls[BASE](talk)]
    cells = [f"{len(expected):,}"]
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            taken[name].append(timed(lambda call=call: call(talk)))  # type: ignore[misc]
    for name, call in calls.items():
        if [int(id) for id in call(talk)] != expected:
            cells.append("other ids")
            continue
        ratio = statistics.median(mine / base for mine, base in zip(taken[name], taken[BASE], strict=True))
        cells.append(f"{statistics.median(taken[name]) * 1e3:.2f}" + ("" if name == BASE else f" ({ratio:.1f})"))
    return cells


def measure_batch(tok: Any, talks: list[Talk], rounds: int, threads: int) -> list[str]:
    """MB of rendered text a second of many conversations, in one call."""
    render = plain_render()
    texts = [render(talk) for talk in talks]
    size = sum(len(text.encode()) for text in texts)
    calls: dict[str, Callable[[], Any]] = {
        "encode_ragged": lambda: tok.encode_ragged(texts, special="allow", threads=threads),
        "encode_chats": lambda: tok.encode_chats(talks, template=TEMPLATE, threads=threads),
        "jinja2 alone": lambda: [render(talk) for talk in talks],
        "jinja2, encode_ragged": lambda: tok.encode_ragged(
            [render(talk) for talk in talks], special="allow", threads=threads
        ),
    }
    assert calls["encode_chats"]().ids.tolist() == calls["encode_ragged"]().ids.tolist()
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            taken[name].append(timed(call))
    return [f"{size / statistics.median(seconds) / MB:,.0f}" for seconds in taken.values()]


def parser() -> argparse.ArgumentParser:
    """The options."""
    cli = argparse.ArgumentParser(prog="python -m bench.chat", description=(__doc__ or "").partition("\n")[0])
    cli.add_argument("--vocabulary", default="o200k")
    cli.add_argument("--corpus", default="english")
    cli.add_argument("--turns", type=int, nargs="*", default=TURNS)
    cli.add_argument("--characters", type=int, default=CHARACTERS, help="of a message")
    cli.add_argument("--rounds", type=int, default=31)
    cli.add_argument("--batch", type=int, default=0, help="conversations in one call; 0 measures none")
    cli.add_argument("--threads", type=int, default=2)
    return cli


def main() -> None:
    """Print the tables."""
    import toksmith

    options = parser().parse_args()
    folder = prepare_folder(options.vocabulary)
    tok = toksmith.load(folder / "tokenizer.json")
    text = "\n".join(lay_out_text(options.corpus, 4 * MB).load())
    calls = load_peers(folder, tok)
    names = versions({name: name for name in ("toksmith", "jinja2", "transformers", "basetenkenizer")})
    print(f"{cpu_name()}; {', '.join(f'{name} {version}' for name, version in names.items())}")
    print(f"\n| turns | ids | {' | '.join(f'{name}, ms' for name in calls)} |\n|--:|--:|{'--:|' * len(calls)}")
    for turns in options.turns:
        talk = prepare_talk(text, turns, options.characters)
        print(table_line([str(turns), *measure(calls, talk, options.rounds)]), flush=True)
    if options.batch:
        print("\n| turns | characters of a message | encode_ragged, MB/s | encode_chats | jinja2 alone | both |")
        print("|--:|--:|--:|--:|--:|--:|")
    for turns in options.turns if options.batch else ():
        for characters in (options.characters // 10, options.characters):
            talks = [prepare_talk(text, turns, characters, number * turns) for number in range(options.batch)]
            cells = measure_batch(tok, talks, max(3, options.rounds // 5), options.threads)
            print(table_line([str(turns), f"{characters:,}", *cells]), flush=True)


if __name__ == "__main__":
    main()
