"""tiktoken's interface: `Encoding` with every method, keyword, attribute and error class of version 0.14, and `get_encoding`.

`from toksmith.compat import tiktoken` replaces `import tiktoken`; `toksmith.compat.install("tiktoken")` replaces it for
a whole process. Differences: text that the pattern does not match is a separate piece here, and tiktoken drops it; a
vocabulary must hold all 256 bytes, and is refused when it is constructed, not when it is used; where tiktoken panics,
ValueError is raised.
"""

from __future__ import annotations

from .core import Encoding
from .model import encoding_for_model, encoding_name_for_model
from .registry import get_encoding, list_encoding_names

__all__ = ["Encoding", "encoding_for_model", "encoding_name_for_model", "get_encoding", "list_encoding_names"]

__version__ = "0.14.0"


def __dir__() -> list[str]:
    return [*__all__]
