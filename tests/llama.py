"""llama.cpp's tokenizer through its C functions: `make test-llama` compiles it."""

import ctypes
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Llama"]

cpp: Any = pytest.importorskip("llama_cpp", reason="lacks llama.cpp; run make test-llama")


@cpp.llama_log_callback
def silence(level: int, text: bytes, data: Any) -> None:
    """Drop llama.cpp's output."""


cpp.llama_log_set(silence, ctypes.c_void_p(0))


class Llama:
    """The vocabulary of a GGUF file, loaded as a text generator does, without weights."""

    def __init__(self, path: Path) -> None:
        options = cpp.llama_model_default_params()
        options.vocab_only = True
        self.model = cpp.llama_model_load_from_file(str(path).encode(), options)
        assert self.model, f"llama.cpp does not load {path}"
        self.vocab = cpp.llama_model_get_vocab(self.model)

    def __del__(self) -> None:
        cpp.llama_model_free(self.model)

    def encode(self, text: str, *, special: bool = False, around: bool = False) -> list[int]:
        """The ids; with special tokens in the text, and with special tokens around it."""
        data = text.encode()
        ids = (cpp.llama_token * (len(data) + 8))()
        count = cpp.llama_tokenize(self.vocab, data, len(data), ids, len(ids), around, special)
        assert count >= 0
        return list(ids[:count])

    def decode(self, ids: list[int]) -> bytes:
        """The text, with special tokens."""
        text = ctypes.create_string_buffer(1 << 16)
        count = cpp.llama_detokenize(
            self.vocab, (cpp.llama_token * len(ids))(*ids), len(ids), text, len(text), False, True
        )
        assert count >= 0
        return text.raw[:count]

    def piece(self, id: int) -> bytes:
        """The bytes of a token."""
        data = ctypes.create_string_buffer(1 << 12)
        count = cpp.llama_token_to_piece(self.vocab, id, data, len(data), 0, True)
        assert count >= 0
        return data.raw[:count]
