"""rs_bpe: two vocabularies compiled into the library."""

from __future__ import annotations

from ._engine import Encoding, Engine, ListEngine, Unsupported, import_peer

openai = import_peer("rs_bpe.bpe").openai


def load(encoding: Encoding) -> Engine:
    """The compiled-in vocabulary of this name."""
    makers = {"cl100k": openai.cl100k_base, "o200k": openai.o200k_base}
    if encoding.name not in makers:
        raise Unsupported(f"{encoding.name} is not compiled in")
    return RsBpe(makers[encoding.name]())


class RsBpe(ListEngine):
    """Calls of `rs_bpe.bpe.openai.Tokenizer`."""
