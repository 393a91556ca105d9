"""A conversation from its messages to ids: by `Tokenizer.chat`, or by plain Jinja and `encode`."""

from __future__ import annotations

import toksmith

from ..adapters import OURS
from ..chat import BASE, CHARACTERS, own_calls, prepare_folder, prepare_talk
from ..request import Reply, Request
from ..texts import TURNS
from .clock import middle, settle, timed


def measure(request: Request) -> Reply:
    """The median seconds of `passes` calls, by the number of turns. Both ways must give the same ids."""
    text = "\n".join(request.text.load())
    calls = own_calls(toksmith.load(prepare_folder(request.encoding.name) / "tokenizer.json"))
    call = calls[OURS if request.engine == OURS else BASE]
    settle()
    figures = {}
    for turns in TURNS:
        talk = prepare_talk(text, turns, CHARACTERS)
        if [*calls[OURS](talk)] != [*calls[BASE](talk)]:
            raise ValueError(f"a conversation of {turns} turns has other ids")
        figures[str(turns)] = middle(timed(request.clock, call, talk)[0] for _ in range(request.passes))
    return Reply(figures)
