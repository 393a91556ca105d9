"""GPT-2's alphabet: a character that can be seen for each byte, so that tokens can stand in JSON and between spaces."""

from __future__ import annotations

__all__ = ["BYTE_CHARACTERS", "spelt", "unspelt"]


def byte_characters() -> list[str]:
    """The character that stands for each byte: itself where Latin-1 shows one, else the next from U+0100 on."""
    shown = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in shown else next(others)) for byte in range(256)]


BYTE_CHARACTERS = byte_characters()
# Latin-1 has a character for each byte; one that stands for no byte here becomes one that Latin-1 has not.
TO_CHARACTERS = dict(enumerate(BYTE_CHARACTERS))
TO_LATIN = dict.fromkeys(range(256), "\uffff") | {ord(char): chr(byte) for byte, char in enumerate(BYTE_CHARACTERS)}


def spelt(token: bytes) -> str:
    r"""The token with a character for each byte.

    >>> spelt(b" caf\xc3\xa9")
    'ĠcafÃ©'
    """
    return token.decode("latin-1").translate(TO_CHARACTERS)


def unspelt(text: str) -> bytes | None:
    r"""The token that is spelt like this; None for a text with other characters, or with none.

    >>> unspelt("Ġcafé"), unspelt("a b")
    (b' caf\xe9', None)
    """
    try:
        return text.translate(TO_LATIN).encode("latin-1") or None
    except UnicodeEncodeError:
        return None
