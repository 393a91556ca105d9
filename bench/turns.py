"""`python -m bench.turns`: the time of a turn in a conversation that grows, by the number of turns before it.

"append" is a short message of a user. A whole turn is a message of a user, the prompt, and the sampled ids of the answer, which
add about a thousand ids. "chat" gives the ids of all messages again. The template "ahead" looks for the last message of a user
first, as Qwen3's does. Its messages of tools begin where the template found the same before. A figure is the median of the rounds.
"""

from __future__ import annotations

import argparse
import gc
import statistics
from collections.abc import Callable
from typing import Any

from .chat import PLAIN, prepare_folder, prepare_talk, timed
from .places import scratch
from .records import cpu_name
from .report import table_line
from .texts import MB, lay_out_text

AHEAD = (
    "{% set found = namespace(last=0, open=true) %}{% for message in messages[::-1] %}"
    "{% if found.open and message['role'] == 'user' %}{% set found.open = false %}"
    "{% set found.last = messages | length - 1 - loop.index0 %}{% endif %}{% endfor %}"
) + PLAIN.replace("message['content'] + '", "message['content'] + ('' if loop.index0 > found.last else '') + '")


def measure(tok: Any, template: str, talk: list[dict[str, str]], rounds: int) -> list[str]:
    """The cells of a row: the number of ids, and the milliseconds of each call."""
    base = tok.conversation(template, messages=talk)
    base.prompt()
    user, answer = talk[0]["content"][:1500], [*tok.encode(talk[1]["content"][:2500]), tok.token_id("<|im_end|>")]

    def whole_turn(each: Any) -> None:
        each.add("user", user)
        each.prompt()
        each.add_sampled(answer)

    calls: dict[str, Callable[[Any], Any]] = {
        "append": lambda each: each.add("user", "Go on."),
        "tool": lambda each: each.add("tool", "Go on."),
        "turn": whole_turn,
        "fork": lambda each: each.fork(),
    }
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            fork = base.fork()
            taken[name].append(timed(lambda call=call, fork=fork: call(fork)))  # type: ignore[misc]
    taken["chat"] = [timed(lambda: tok.chat(talk, template=template)) for _ in range(rounds)]
    return [f"{len(base):,}", *(f"{statistics.median(seconds) * 1e3:.3f}" for seconds in taken.values())]


def main() -> None:
    """Print the table."""
    import toksmith

    cli = argparse.ArgumentParser(prog="python -m bench.turns", description=(__doc__ or "").partition("\n")[0])
    cli.add_argument("--vocabulary", default="o200k")
    cli.add_argument("--rounds", type=int, default=31)
    options = cli.parse_args()
    tok = toksmith.load(prepare_folder(options.vocabulary) / "tokenizer.json")
    text = "\n".join(lay_out_text("english", 8 * MB).load())
    print(f"{cpu_name()}; toksmith {toksmith.__version__}; folder {scratch('chat').name}")
    print(
        "\n| template | turns | ids | append, ms | tool | whole turn | fork | chat |\n|---|--:|--:|--:|--:|--:|--:|--:|"
    )
    gc.disable()  # a collection of the whole heap would hide the calls
    for name, template in (("chatml", PLAIN), ("ahead", AHEAD)):
        for turns, characters in ((2, 2_900), (32, 2_900), (128, 2_900), (2, 2_000_000)):
            cells = measure(tok, template, prepare_talk(text, turns, characters), options.rounds)
            print(table_line([name, str(turns), *cells]), flush=True)


if __name__ == "__main__":
    main()
