"""Vocabularies in Hugging Face's `tokenizer.json`, for engines that load nothing else.

A file of ranks has no merges: they are recovered by merging each token's bytes with the tokens of lower rank until two
parts are left. If more parts of some token are left (Llama 3), any two tokens that join to a token are a merge, as in
the file that is published for it; `ignore_merges` then finds the tokens that no merge makes.
"""

from __future__ import annotations

import base64
import json
from typing import Any

Pair = tuple[bytes, bytes]


def from_ranks(source: bytes, regex: str) -> str:
    """The `tokenizer.json` of a `.tiktoken` file and its split regex; "" is the format's built-in split of GPT-2."""
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in source.splitlines())}
    alphabet = byte_alphabet()
    spell = {token: "".join(alphabet[byte] for byte in token) for token in ranks}
    merges = [[spell[left], spell[right]] for left, right in recover_merges(ranks)]
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    in_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": not regex}
    return document(
        pre_tokenizer={"type": "Sequence", "pretokenizers": [split, in_bytes]} if regex else in_bytes,
        decoder=in_bytes,
        model=model({spell[token]: rank for token, rank in ranks.items()}, merges, ignore_merges=True),
    )


def from_sentencepiece(source: bytes) -> str:
    """The `tokenizer.json` of a SentencePiece BPE model with byte fallback, a leading space and no normalization."""
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(model_proto=source)
    vocab = {pieces.id_to_piece(id): id for id in range(pieces.get_piece_size())}
    scores = {piece: pieces.get_score(id) for piece, id in vocab.items()}
    ordinary = [piece for piece, id in vocab.items() if not (pieces.is_control(id) or pieces.is_byte(id))]
    merges = [
        (piece[:cut], piece[cut:], scores[piece])
        for piece in ordinary
        for cut in range(1, len(piece))
        if piece[:cut] in vocab and piece[cut:] in vocab
    ]
    merges.sort(key=lambda merge: -merge[2])
    space = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    bpe = model(vocab, [[left, right] for left, right, _ in merges], ignore_merges=False)
    return document(
        normalizer={"type": "Sequence", "normalizers": space},
        model=bpe | {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True},
    )


def document(**parts: Any) -> str:
    """A `tokenizer.json` with only these parts."""
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    whole = {"version": "1.0", "added_tokens": []} | dict.fromkeys(names) | parts
    return json.dumps(whole, ensure_ascii=False)


def model(vocab: dict[str, int], merges: list[list[str]], *, ignore_merges: bool) -> dict[str, Any]:
    """The `model` part of a BPE tokenizer."""
    nothing = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix")
    flags = {"fuse_unk": False, "byte_fallback": False, "ignore_merges": ignore_merges}
    return {"type": "BPE"} | dict.fromkeys(nothing) | flags | {"vocab": vocab, "merges": merges}


def byte_alphabet() -> list[str]:
    """The character for each byte: itself if it is printable, else the next unused one from U+0100."""
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printing else next(others)) for byte in range(256)]


def recover_merges(ranks: dict[bytes, int]) -> list[Pair]:
    """The pair that makes each token, in rank order; every possible pair, if some token has no such pair."""
    pairs = []
    for token, rank in sorted(ranks.items(), key=lambda entry: entry[1]):
        if len(token) > 1:
            parts = merge_below(token, rank, ranks)
            if len(parts) != 2:
                return every_merge(ranks)
            pairs.append((parts[0], parts[1]))
    return pairs


def every_merge(ranks: dict[bytes, int]) -> list[Pair]:
    """All pairs of tokens that join to a token: by the rank of the whole, then of the parts."""
    candidates = [
        (rank, ranks[token[:cut]], ranks[token[cut:]], token[:cut], token[cut:])
        for token, rank in ranks.items()
        for cut in range(1, len(token))
        if token[:cut] in ranks and token[cut:] in ranks
    ]
    return [(left, right) for *_, left, right in sorted(candidates)]


def merge_below(token: bytes, below: int, ranks: dict[bytes, int]) -> list[bytes]:
    """A token's bytes, merged with tokens of a rank below `below`."""
    parts = [token[place : place + 1] for place in range(len(token))]
    while len(parts) > 2:
        candidates = [ranks.get(parts[place] + parts[place + 1], below) for place in range(len(parts) - 1)]
        best = min(candidates)
        if best >= below:
            break
        place = candidates.index(best)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts
