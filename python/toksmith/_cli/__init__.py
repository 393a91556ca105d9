"""The command line: a small function for each command parses, calls the public functions and prints.

Commands use only toksmith's public names, and `_render` to draw. All output is UTF-8, on any locale.
A new command is a function and a row in `COMMANDS`. No rule about tokens is here.
"""

from .commands import COMMANDS, GROUPS
from .program import app, main

__all__ = ["COMMANDS", "GROUPS", "app", "main"]
