"""GPT-2's alphabet: a visible character for each byte, so that JSON and space-separated files can hold any token."""

from __future__ import annotations

__all__ = ["BYTE_CHARACTERS", "spelt", "unspelt"]


def byte_characters() -> list[str]:
    """The character for each byte: its visible Latin-1 character, otherwise the next one from U+0100."""
    shown = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in shown else next(others)) for byte in range(256)]


BYTE_CHARACTERS = byte_characters()
# Latin-1 maps each byte to a character. A character outside the alphabet becomes one outside Latin-1.
TO_CHARACTERS = dict(enumerate(BYTE_CHARACTERS))
TO_LATIN = dict.fromkeys(range(256), "\uffff") | {ord(char): chr(byte) for byte, char in enumerate(BYTE_CHARACTERS)}


def spelt(token: bytes) -> str:
    r"""The token with a character for each byte.

    >>> spelt(b" caf\xc3\xa9")
    'ĠcafÃ©'
    """
    return token.decode("latin-1").translate(TO_CHARACTERS)


def unspelt(text: str) -> bytes | None:
    r"""The token with this spelling; None for an empty text or one with other characters.

    >>> unspelt("Ġcafé"), unspelt("a b")
    (b' caf\xe9', None)
    """
    try:
        return text.translate(TO_LATIN).encode("latin-1") or None
    except UnicodeEncodeError:
        return None
