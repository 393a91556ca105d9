"""The allowed differences from transformers 5 with tokenizers 0.23.3. docs/clients.md prints them."""

from dropins import Allowed
from dropins.allowed_tokenizers import panics

ROWS = [
    Allowed(
        "transformers",
        "an error or a result where the library panics",
        "a panic is no `Exception`, and a server may not survive it",
        panics,
    ),
]
