"""The command line: one small function for each command, which parses, calls the public functions and prints.

Of toksmith the commands use the public names only, and `_render` to draw. Everything printed is UTF-8, on any locale.
A new command is a function and a row in `COMMANDS`. Left out: any rule about tokens.
"""

from .commands import COMMANDS
from .program import app, main

__all__ = ["COMMANDS", "app", "main"]
