"""`tiktoken.load`: ranks in files. Of URLs, only the published encodings that `toksmith.load` finds are read."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping

from ..._formats.texts import from_gpt2_alphabet, to_gpt2_alphabet
from ..._sources.encodings import ENCODINGS, find_file

__all__ = [
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "load_tiktoken_bpe",
    "read_file",
    "read_file_cached",
]


def read_file(blobpath: str) -> bytes:
    """The bytes of a file, or of a published encoding by its URL."""
    if "://" not in blobpath:
        with open(blobpath, "rb") as file:
            return file.read()
    for row in ENCODINGS.values():
        if row.url == blobpath:
            return find_file(row)[1]
    raise ValueError(f"{blobpath} is not the URL of a published encoding; download it, and pass the path of the file")


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Whether the bytes have this SHA-256, in hex."""
    return hashlib.sha256(data).hexdigest() == expected_hash


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """The bytes of a file or URL; tiktoken's cache comes first.

    Raises:
        ValueError: The bytes have another SHA-256.
    """
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", ""))
    place = os.path.join(folder, hashlib.sha1(blobpath.encode()).hexdigest())
    if folder and os.path.exists(place):
        data = read_file(place)
        if expected_hash is None or check_hash(data, expected_hash):
            return data
    data = read_file(blobpath)
    if expected_hash and not check_hash(data, expected_hash):
        raise ValueError(f"Hash mismatch for data downloaded from {blobpath} (expected {expected_hash})")
    return data


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """The rank of each token in a .tiktoken file."""
    ranks: dict[bytes, int] = {}
    for line in read_file_cached(tiktoken_bpe_file, expected_hash).splitlines():
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        except ValueError as error:
            raise ValueError(f"Error parsing line {line!r} in {tiktoken_bpe_file}") from error
    return ranks


def dump_tiktoken_bpe(bpe_ranks: Mapping[bytes, int], tiktoken_bpe_file: str) -> None:
    """Write ranks as a .tiktoken file."""
    with open(tiktoken_bpe_file, "wb") as file:
        file.writelines(
            base64.b64encode(token) + b" " + str(rank).encode() + b"\n"
            for token, rank in sorted(bpe_ranks.items(), key=lambda item: item[1])
        )


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """The ranks in GPT-2's two files, which must agree."""
    lines = read_file_cached(vocab_bpe_file, vocab_bpe_hash).decode().split("\n")[1:-1]
    first = [chr(byte).encode("latin-1") for byte in range(256) if to_gpt2_alphabet(bytes([byte])) == chr(byte)]
    rest = [bytes([byte]) for byte in range(256) if bytes([byte]) not in first]
    ranks = {token: rank for rank, token in enumerate([*first, *rest])}
    for line in lines:
        ranks[b"".join(from_gpt2_alphabet(part) or b"" for part in line.split())] = len(ranks)
    encoder = json.loads(read_file_cached(encoder_json_file, encoder_json_hash))
    ids = {
        from_gpt2_alphabet(token): id
        for token, id in encoder.items()
        if token not in ("<|endoftext|>", "<|startoftext|>")
    }
    if clobber_one_byte_tokens:
        ranks |= {token: id for token, id in ids.items() if token is not None and len(token) == 1}
    if ranks != ids:
        raise ValueError(f"{encoder_json_file} and {vocab_bpe_file} do not agree about the ids of tokens")
    return ranks
