"""The text of files: sets of file names, lines, and GPT-2's alphabet.

A row's `files` lists sets of names; each set is one tokenizer. Names can share a prefix (`my-vocab.json` belongs to
`my-merges.txt`). In a set of suffixes (`.model`, `.vocab`), the rest of the name is the same.

GPT-2's alphabet has a visible character for each byte, so that JSON and space-separated files can hold any token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import CannotRepresent, FormatError

GPT2 = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
MINBPE = ((".model", ".vocab"),)
TRANSFORMERS = (("tokenizer.json", "tokenizer_config.json"),)
SETS = (*TRANSFORMERS, *GPT2, *MINBPE)  # known before the module of a format is imported

LINE_LIMIT = 13 << 16  # more than four times the tokens of the largest published vocabulary, o200k with 199,998


class FileContent(NamedTuple):
    """One file of several: its path and its bytes."""

    path: str
    data: bytes


def split_lines(part: FileContent) -> list[str]:
    """The lines of a file in UTF-8, without their ends."""
    if (count := part.data.count(b"\n")) > LINE_LIMIT:
        raise FormatError(part.path, None, f"has {count} lines; at most {LINE_LIMIT} are allowed")
    try:
        return part.data.decode().replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(part.path, f"byte {error.start}", "is not UTF-8") from error


def join_lines(lines: Sequence[str], format: str) -> bytes:
    """The content of a file with these lines, in UTF-8."""
    if len(lines) > LINE_LIMIT:
        problem = f"a file can have at most {LINE_LIMIT} lines, but this one would have {len(lines)}"
        raise CannotRepresent(format, "tokens", problem)
    return ("\n".join(lines) + "\n").encode()


def decode_text(data: bytes, path: str, place: str) -> str:
    """A text of the file from its UTF-8; raises FormatError for other bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(path, place, f"{data[:40]!r} is not UTF-8") from error


def encode_text(text: str, format: str) -> bytes:
    """The text in UTF-8. Only the content of an added token can contain a lone surrogate, which UTF-8 cannot encode."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise CannotRepresent(format, "added_tokens", "UTF-8 cannot encode a lone surrogate") from error


# GPT-2's alphabet


def byte_characters() -> list[str]:
    """The character for each byte: its visible Latin-1 character, otherwise the next one from U+0100."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in visible else next(others)) for byte in range(256)]


BYTE_CHARACTERS = byte_characters()
# Latin-1 maps each byte to a character. `TO_LATIN` maps a character outside the alphabet to one outside Latin-1.
TO_CHARACTERS = dict(enumerate(BYTE_CHARACTERS))
TO_LATIN = dict.fromkeys(range(256), "\uffff") | {ord(char): chr(byte) for byte, char in enumerate(BYTE_CHARACTERS)}


def to_gpt2_alphabet(token: bytes) -> str:
    r"""The token in GPT-2's alphabet, with a character for each byte.

    >>> to_gpt2_alphabet(b" caf\xc3\xa9")
    'ĠcafÃ©'
    """
    return token.decode("latin-1").translate(TO_CHARACTERS)


def from_gpt2_alphabet(text: str) -> bytes | None:
    r"""The token with this spelling; None for an empty text or one with other characters.

    >>> from_gpt2_alphabet("Ġcafé"), from_gpt2_alphabet("a b")
    (b' caf\xe9', None)
    """
    try:
        return text.translate(TO_LATIN).encode("latin-1") or None
    except UnicodeEncodeError:
        return None
