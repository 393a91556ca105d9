"""Hostile files: each gives a FormatError with its place, never a crash, a hang or a large allocation.

A row of `HOSTILE` breaks one thing in a good file and names the line that the error must have. The checksum is made to
fit, so that it is not the checksum that saves the reader.
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from systems import needs

import toksmith
from toksmith import Model, _formats
from toksmith.errors import FormatError, InvalidOption

NATIVE = _formats.FORMATS["native"]
GOOD = NATIVE.save(toksmith.train("low lower low", merges=2, special_tokens=["<|end|>"]).model)
LINES = GOOD.decode().split("\n")
HEADER = LINES[1]
TOKENS, MERGES, TRAINING, COUNTS = (
    1 + next(place for place, line in enumerate(LINES) if line.startswith(name))
    for name in ("tokens ", "merges ", "training ", "counts ")
)
LAST = len(LINES) - 1


def load(data: bytes) -> Model:
    return NATIVE.load(data, "hostile.toksmith", pattern=_formats.UNSET, special_tokens=None)


def sealed(body: bytes) -> bytes:
    return body + f"sha256 {hashlib.sha256(body).hexdigest()}\n".encode()


def replaced(line: int, new: str | bytes) -> bytes:
    """The good file with another text in a line (several lines, or none at all)."""
    lines = [text.encode() + b"\n" for text in LINES[:-2]]
    new = new.encode() if isinstance(new, str) else new
    lines[line - 1] = new and new + b"\n"
    return sealed(b"".join(lines))


def header(old: str, new: str) -> bytes:
    assert old in HEADER
    return replaced(2, HEADER.replace(old, new, 1))


def training(old: str, new: str) -> bytes:
    assert old in LINES[TRAINING - 1]
    return replaced(TRAINING, LINES[TRAINING - 1].replace(old, new, 1))


A = TOKENS + 1 + ord("a")
HOSTILE: dict[str, tuple[bytes, int]] = {
    "nothing": (b"", 1),
    "only the first word": (b"toksmith ", 1),
    "a version that nothing needs": (replaced(1, "toksmith 2"), 1),
    "a later version": (replaced(1, "toksmith 3"), 1),
    "version 0": (replaced(1, "toksmith 0"), 1),
    "a version that is no number": (replaced(1, "toksmith one"), 1),
    "a huge version": (replaced(1, "toksmith " + "9" * 5000), 1),
    "carriage returns": (GOOD.replace(b"\n", b"\r\n"), 1),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD, 1),
    "no header": (replaced(2, ""), 2),
    "a header that is no JSON": (replaced(2, "model {"), 2),
    "a header that is no object": (replaced(2, "model []"), 2),
    "a header that is not UTF-8": (replaced(2, b'model {"kind": "\xff"}'), 2),
    "deep nesting": (replaced(2, "model " + "[" * 10**6), 2),
    "deep nesting that ends": (replaced(2, "model " + '{"a":' * 40 + "1" + "}" * 40), 2),
    "deep nesting in a step": (header('"splitters": [', '"splitters": [{"kind": "x", "a": ' + "[" * 99 + "]" * 99 + "}, "), 2),
    "a long header": (replaced(2, "model " + " " * 2**24 + "{}"), 2),
    "a missing field": (header('"whole_piece": false', '"byte_fallbacks": false'), 2),
    "an unknown field": (header('"whole_piece": false', '"whole_piece": false, "zeal": 1'), 2),
    "a repeated field": (header('"kind": "bpe"', '"kind": "bpe", "kind": "bpe"'), 2),
    "NaN": (header('"unknown_id": null', '"unknown_id": NaN'), 2),
    "Infinity": (header('"splitters": [', '"splitters": [{"kind": "x", "a": -Infinity}, '), 2),
    "a number too large for a float": (header('"splitters": [', '"splitters": [{"kind": "x", "a": 1e999}, '), 2),
    "a number of many digits": (header('"unknown_id": null', '"unknown_id": ' + "9" * 5000), 2),
    "a lone surrogate": (header("<|end|>", "\\ud800"), 2),
    "an unknown kind": (header('"kind": "bpe"', '"kind": "rnn"'), 2),
    "a kind of another type": (header('"kind": "bpe"', '"kind": ["bpe"]'), 2),
    "a flag that is a number": (header('"whole_piece": false', '"whole_piece": 0'), 2),
    "a flag that is a text": (header('"whole_piece": false', '"whole_piece": "no"'), 2),
    "an unknown id that is true": (header('"unknown_id": null', '"unknown_id": true'), 2),
    "a negative unknown id": (header('"unknown_id": null', '"unknown_id": -1'), 2),
    "steps that are no list": (header('"post": []', '"post": {}'), 2),
    "a step that is no object": (header('"post": []', '"post": [1]'), 2),
    "a step without a kind": (header('"post": []', '"post": [{}]'), 2),
    "an added token without a flag": (header('"lstrip": false, ', ""), 2),
    "an added token with another flag": (header('"lstrip": false, ', '"lstrip": false, "left": 1, '), 2),
    "an added token with an id that is no int": (header('"id": 258', '"id": 258.0'), 2),
    "an added token with an id that is true": (header('"id": 258', '"id": true'), 2),
    "an added token with a huge id": (header('"id": 258', f'"id": {2**24}'), 2),
    "an added token with a negative id": (header('"id": 258', '"id": -1'), 2),
    "an added token with the id of a token": (header('"id": 258', '"id": 97'), 2),
    "an added token without content": (header("<|end|>", ""), 2),
    "characters with a merge rule that has no merges": (header('"merge_rule": "pair"', '"merge_rule": "bytes"'), 2),
    "bytes that are no unit of characters": (header('"kind": "bpe"', '"kind": "chars"'), 2),
    "an unexpected section": (replaced(TOKENS, "tokenz 258"), TOKENS),
    "a count that is no number": (replaced(TOKENS, "tokens many"), TOKENS),
    "a negative count": (replaced(TOKENS, "tokens -1"), TOKENS),
    "a claim of a billion tokens": (replaced(TOKENS, "tokens 1000000000"), TOKENS + 1),
    "a claim of more than 64 bits": (replaced(TOKENS, "tokens " + "9" * 30), TOKENS),
    "one token too many claimed": (replaced(TOKENS, "tokens 259"), MERGES),
    "one token too few claimed": (replaced(TOKENS, "tokens 257"), MERGES - 1),
    "no tokens, but lines": (replaced(TOKENS, "tokens 0"), TOKENS + 1),
    "an id twice": (replaced(A, "98 a"), A + 1),
    "a token twice": (replaced(A, "97 b"), A + 1),
    "a missing byte": (replaced(A, "97 zzz"), 2),
    "an id of 2^24": (replaced(A, f"{2**24} a"), A),
    "an id of 2^32": (replaced(A, f"{2**32} a"), A),
    "an id of many digits": (replaced(A, "9" * 99 + " a"), A),
    "a negative id": (replaced(A, "-97 a"), A),
    "an id with a leading zero": (replaced(A, "097 a"), A),
    "an id that is no number": (replaced(A, "x a"), A),
    "no token": (replaced(A, "97 "), A),
    "no id": (replaced(A, "a"), A),
    "two tokens in a line": (replaced(A, "97 a b"), A),
    "half an escape": (replaced(A, "97 \\x6"), A),
    "an escape of no digits": (replaced(A, "97 \\xzz"), A),
    "another escape": (replaced(A, "97 \\n"), A),
    "a control character": (replaced(A, "97 a\x07"), A),
    "a NUL": (replaced(A, "97 \0"), A),
    "a token that is not UTF-8": (replaced(A, b"97 \xff"), A),
    "a token of overlong UTF-8": (replaced(A, b"97 \xc1\xa1"), A),
    "a token that is half a character": (replaced(A, b"97 \xe2\x98"), A),
    "a surrogate in UTF-8": (replaced(A, b"97 \xed\xa0\x80"), A),
    "a long token": (replaced(A, "97 " + "a" * (2**20 + 1)), A),
    "a claim of a billion merges": (replaced(MERGES, "merges 1000000000"), MERGES + 1),
    "a merge of two ids": (replaced(MERGES + 1, "108 111"), MERGES + 1),
    "a merge of four ids": (replaced(MERGES + 1, "108 111 256 1"), MERGES + 1),
    "a merge of words": (replaced(MERGES + 1, "l o lo"), MERGES + 1),
    "a merge of an unknown id": (replaced(MERGES + 1, "108 300 256"), MERGES + 1),
    "a merge of a huge id": (replaced(MERGES + 1, f"108 111 {2**32 + 256}"), MERGES + 1),
    "a merge that makes another token": (replaced(MERGES + 1, "108 112 256"), MERGES + 1),
    "a merge of itself": (replaced(MERGES + 1, "256 256 256"), MERGES + 1),
    "a cycle": (replaced(MERGES + 1, "257 111 256"), MERGES + 1),
    "a merge twice": (replaced(MERGES + 2, LINES[MERGES]), MERGES + 2),
    "scores for some tokens": (replaced(TRAINING, f"scores 1\n0.5\n{LINES[TRAINING - 1]}"), TRAINING),
    "a score that is no number": (replaced(TRAINING, "scores 258\n" + "x\n" * 258), TRAINING + 1),
    "a score that is not finite": (replaced(TRAINING, "scores 258\n" + "nan\n" * 258), TRAINING + 1),
    "a score beyond float32": (replaced(TRAINING, "scores 258\n" + "1e+39\n" * 258), TRAINING + 1),
    "training without counts": (replaced(COUNTS, "count 0"), COUNTS),
    "training with another field": (training('"bytes": 13', '"bytes": 13, "time": 3'), TRAINING),
    "training with a missing field": (training('"bytes": 13, ', ""), TRAINING),
    "training with a negative number": (training('"bytes": 13', '"bytes": -13'), TRAINING),
    "training with a digest of another type": (training('"digest": "', '"digest": ["'), TRAINING),
    "training with options of another type": (re.sub(rb'"options": \{[^}]*\}', b'"options": 1', GOOD), TRAINING),
    "counts beyond 64 bits": (replaced(COUNTS + 1, f"{2**64} 1"), COUNTS + 1),
    "metadata of another type": (replaced(LAST - 1, f'{LINES[LAST - 2]}\nmetadata {{"a": 1}}'), LAST),
    "a section twice": (replaced(LAST - 1, f"{LINES[LAST - 2]}\nmerges 0"), LAST),
    "a section after the checksum": (GOOD + b"metadata {}\n", LAST + 1),
    "bytes after the checksum": (GOOD + b"\n", LAST + 1),
    "a checksum of other bytes": (GOOD.replace(b"\n97 a\n", b"\n97 zzz\n"), LAST),
    "a checksum in capitals": (GOOD[:-66] + b" " + GOOD[-65:].upper(), LAST),
    "no checksum": (sealed(b"")[:0] + GOOD[: GOOD.rindex(b"sha256")], LAST),
    "half a checksum": (GOOD[:-20], LAST),
    "no last line feed": (GOOD[:-1], LAST),
}  # fmt: skip


def test_the_good_file_is_good() -> None:
    assert NATIVE.save(load(GOOD)) == GOOD
    assert replaced(1, LINES[0]) == GOOD


def test_ids_may_have_holes() -> None:
    assert LINES[TOKENS + 257] == "257 low"
    data = replaced(TOKENS + 258, "70000 low").replace(b"256 119 257", b"256 119 70000")
    body = data[: data.rindex(b"sha256")]
    assert load(sealed(body)).vocab_size == 70001


@pytest.mark.slow
def test_a_file_cut_anywhere_is_refused() -> None:
    for end in range(len(GOOD)):
        with pytest.raises(FormatError) as caught:
            load(GOOD[:end])
        assert caught.value.place is not None


@pytest.mark.slow
@given(st.data())
@settings(max_examples=400)
def test_a_changed_byte_is_refused(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(GOOD) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != GOOD[place]))
    with pytest.raises(FormatError):
        load(GOOD[:place] + bytes([byte]) + GOOD[place + 1 :])


SNIPPETS = [
    b"0",
    b"97",
    b"-1",
    b"4294967296",
    b'"',
    b"{",
    b"[",
    b"}",
    b"]",
    b"null",
    b"\n",
    b" ",
    b"\\x",
    b"\xff",
    b"tokens ",
]


@pytest.mark.slow
@given(st.data())
@settings(max_examples=400)
def test_a_sealed_change_is_refused_or_a_model(data: st.DataObject) -> None:
    """With a checksum that fits, a changed file is another model or refused, and never anything else."""
    body = GOOD[: GOOD.rindex(b"sha256")]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(body)))
        end = data.draw(st.integers(start, min(len(body), start + 20)))
        body = body[:start] + data.draw(st.sampled_from(SNIPPETS) | st.binary(max_size=4)) + body[end:]
    changed = sealed(body)
    try:
        model = load(changed)
    except FormatError as error:
        assert error.place is not None
    else:
        assert load(NATIVE.save(model)) == model


BYTES = b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
TIKTOKEN: dict[str, tuple[bytes, int | None]] = {
    "a line without a rank": (BYTES + b"YWI=\n", 257),
    "a line without a token": (BYTES + b" 256\n", 257),
    "a tab for the space": (BYTES + b"YWI=\t256\n", 257),
    "two spaces": (BYTES + b"YWI=  256\n", 257),
    "no base64": (BYTES + b"YW! 256\n", 257),
    "base64 without its padding": (BYTES + b"YWI 256\n", 257),
    "base64 with bits left over": (BYTES + b"YWJ= 256\n", 257),
    "base64 of URLs": (BYTES + b"-_8= 256\n", 257),
    "a negative rank": (BYTES + b"YWI= -1\n", 257),
    "a rank that is no number": (BYTES + b"YWI= x\n", 257),
    "a rank beyond 32 bits": (BYTES + b"YWI= 4294967296\n", 257),
    "a rank of many digits": (BYTES + b"YWI= " + b"9" * 99 + b"\n", 257),
    "a rank beyond the limit": (BYTES + b"YWI= 16777216\n", None),
    "a rank twice": (BYTES + b"YWI= 255\n", 257),
    "a token twice": (BYTES + b"\nYQ== 256\n", 258),
    "a missing byte": (BYTES.replace(b"YQ== 97\n", b""), None),
    "bytes that are not ASCII": (BYTES + b"\xff\xfe 256\n", 257),
    "a NUL": (BYTES + b"YWI=\x00 256\n", 257),
    "a long token": (BYTES + b"YWFh" * (2**20 // 3 + 1) + b" 256\n", 257),
    "nothing": (b"", None),
}


@pytest.mark.slow
@given(st.binary(max_size=60) | st.text(alphabet="YWI=0123456789 \n\r", max_size=60).map(str.encode))
@settings(max_examples=400)
def test_any_lines_after_the_bytes_are_a_model_or_refused(data: bytes) -> None:
    row = _formats.FORMATS["tiktoken"]
    try:
        model = row.load(BYTES + data, "hostile.tiktoken", pattern=None, special_tokens=None)
    except FormatError:
        return
    assert row.load(row.save(model), "again", pattern=None, special_tokens=None) == model


def doubling(merges: int) -> bytes:
    """Merges of which each is as long as all before together."""
    pairs = {256: [97, 97], **{id: [id - 1, id - 1] for id in range(257, 256 + merges)}}
    return json.dumps(pairs).encode()


MERGE_DICT: dict[str, tuple[bytes, str | None]] = {
    "nothing": (b"", None),
    "no JSON": (b"{", None),
    "no object": (b"[[1, 2]]", None),
    "not UTF-8": (b'{"\xff": 1}', None),
    "deep nesting": (b'{"256": ' + b"[" * 10**6, None),
    "a name twice": (b'{"256": [1, 2], "256": [1, 2]}', None),
    "a name that is no number": (b'{"256": [1, 2], "x": [1, 2]}', "'x'"),
    "a name with a sign": (b'{"+256": [1, 2]}', "'+256'"),
    "a name of many digits": (b'{"%s": [1, 2]}' % (b"9" * 5000), repr("9" * 40)),
    "a pair of one": (b'{"256": [1]}', "256"),
    "a pair of three": (b'{"256": [1, 2, 3]}', "256"),
    "a pair of texts": (b'{"256": ["1", "2"]}', "256"),
    "a pair of floats": (b'{"256": [1.0, 2]}', "256"),
    "a pair of truths": (b'{"256": [true, 2]}', "256"),
    "a pair that is an object": (b'{"256": {"1": 2}}', "256"),
    "a negative id": (b'{"256": [-1, 2]}', "256"),
    "its own id": (b'{"256": [256, 2]}', "256"),
    "a later id": (b'{"256": [257, 2], "257": [1, 2]}', "256"),
    "another first id": (b'{"300": [1, 2]}', "300"),
    "a hole": (b'{"256": [1, 2], "258": [1, 3]}', "257"),
    "a token twice": (b'{"256": [1, 2], "257": [1, 2]}', None),
    "the same bytes by another way": (b'{"256": [1, 2], "257": [2, 3], "258": [256, 3], "259": [1, 257]}', None),
    "a doubling": (doubling(40), "281"),
    "more doublings": (doubling(4000), "281"),
}


TABLES: dict[str, Any] = {"native": HOSTILE, "tiktoken": TIKTOKEN, "merge_dict": MERGE_DICT}


@pytest.mark.parametrize(("format", "name"), [(format, name) for format, table in TABLES.items() for name in table])
def test_a_hostile_file_is_refused_with_its_place(format: str, name: str) -> None:
    data, place = TABLES[format][name]
    pattern: Any = _formats.UNSET if format == "native" else None
    with pytest.raises(FormatError) as caught:
        _formats.FORMATS[format].load(data, "hostile", pattern=pattern, special_tokens=None)
    assert (caught.value.path, caught.value.place) == ("hostile", place), str(caught.value)
    assert len(str(caught.value)) < 500


CLAIMS: dict[str, Callable[[], bytes]] = {
    "tokens": lambda: replaced(TOKENS, "tokens 4000000000"),
    "merges": lambda: replaced(MERGES, "merges 4000000000"),
    "counts": lambda: replaced(COUNTS, "counts 4000000000"),
    "an id": lambda: replaced(A, "4294967295 a"),
    "a rank": lambda: BYTES + b"YWI= 4294967295\n",
    "a doubling": lambda: doubling(40),
}
SCRIPT = """
import resource, sys, pathlib
import toksmith
limit = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + (700 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sys.argv[1:]:
    try:
        toksmith.load(pathlib.Path(path), **({} if path.endswith(".toksmith") else {"pattern": None}))
    except toksmith.errors.FormatError:
        print("refused")
"""


@pytest.mark.slow
@needs("proc", "limits")
def test_huge_claims_take_no_memory(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("claims")
    suffixes = {"a rank": "tiktoken", "a doubling": "json"}
    paths = []
    for name, make in CLAIMS.items():
        paths.append(folder / f"{name.replace(' ', '-')}.{suffixes.get(name, 'toksmith')}")
        paths[-1].write_bytes(make())
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, paths)], capture_output=True, encoding="utf-8", check=False
    )
    assert (done.stdout.split(), done.stderr) == (["refused"] * len(paths), "")


def test_a_bad_regex_blames_the_file_or_the_argument(tmp_path: Path) -> None:
    regex = json.dumps({"behavior": "isolated", "dialect": "rust", "invert": False, "kind": "regex", "pattern": "("})
    path = tmp_path / "hostile.toksmith"
    path.write_bytes(header('"splitters": [', f'"splitters": [{regex}, '))
    with pytest.raises(FormatError, match="regex") as caught:
        toksmith.load(path)
    assert caught.value.path == str(path)
    path.write_bytes(BYTES)
    with pytest.raises(InvalidOption, match="regex"):
        toksmith.load(path, pattern="(")


def test_a_missing_argument_is_not_a_format_error() -> None:
    with pytest.raises(InvalidOption, match="pattern= is missing"):
        _formats.FORMATS["tiktoken"].load(BYTES, "a.tiktoken", pattern=_formats.UNSET, special_tokens=None)
