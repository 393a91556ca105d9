"""Files with one value changed: each is a model, or refused with an error of ours that names the place; never another error.

The JSON of a file gets every value of `structural_mutants`, with a checksum that fits. Those of GGUF get values of every type,
those of SentencePiece fields of every way to write one, and files of lines other lines.
"""

import json
import os
import re
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from structural_mutants import GOOD, files, mutants

from toksmith import Model, Tokenizer, ToksmithError
from toksmith._formats import FORMATS, UNSET
from toksmith._formats.gguf_values import read_values
from toksmith._formats.texts import FileContent
from toksmith.errors import CannotRepresent, FormatError, InvalidOption, ModelError

LOADING = (FormatError, ModelError, InvalidOption)
SAVING = (CannotRepresent, ModelError)
# One mutant in this many is tried; the long form of the proof tries all.
EACH = 1 if os.environ.get("TOKSMITH_EXHAUSTIVE") else 7


def use(model: Model) -> None:
    """Encodes, decodes, shows and saves; every failure is an error of ours."""
    for row in FORMATS.values():
        try:
            row.save(model)
        except SAVING:
            continue
    try:
        tok = Tokenizer(model)
    except (ModelError, InvalidOption):
        return
    for text in ("low lower <|end|>xx", "é漢▁ x", ""):
        try:
            ids = tok.encode(text, special="allow", add_special_tokens=True)
            assert tok.encode_batch([text], special="allow", add_special_tokens=True) == [ids]
            tok.decode(ids)
            tok.encode_with_offsets(text, special="allow")
        except ToksmithError:
            continue
    assert repr(tok) and repr(model) and repr(model.training)


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.parametrize("name", GOOD)
def test_json_with_another_value_is_a_model_or_refused(name: str) -> None:
    for file in files(name):
        tried, refused = 0, 0
        for number, (_, text) in enumerate(mutants(file.value)):
            if number % EACH:
                continue
            tried += 1
            try:
                model = file.load(text)
            except LOADING as error:
                refused += 1
                if file.place is not None:
                    assert isinstance(error, FormatError) and error.place == file.place
                assert len(str(error)) < 1000
            else:
                use(model)
        print(f"{file.format}, {name}: {tried:,} mutants, {refused:,} refused")
        assert refused > 0


PATHS = {
    '"pattern": 0': "model.splitters[0].pattern",
    '"single": [["<|end|>", true, 0], ["A", false, "0"]]': "model.post[0].single[1][2]",
    '"special_tokens": {"<|end|>": [[16777216], ["<|end|>"]]}': "model.post[0].special_tokens.<|end|>[0][0]",
    '"id": -1': "model.added_tokens[0].id",
    '"lstrip": 0': "model.added_tokens[0].lstrip",
    '"whole_piece": null': "model.whole_piece",
}


@pytest.mark.parametrize("changed", PATHS)
def test_the_error_of_a_native_file_has_the_path_of_the_value(changed: str) -> None:
    file = files("a template")[0]
    name = changed.partition(":")[0]
    text = json.dumps(file.value, ensure_ascii=False)
    value = {"pattern": r'"(?:[^"\\]|\\.)*"', "single": r"\[\[.*?\]\]", "special_tokens": r"\{.*?\}"}.get(
        name[1:-1], r"[\w-]+"
    )
    text, count = re.subn(rf"{name}: {value}", lambda match: changed, text, count=1)
    assert count == 1
    with pytest.raises(FormatError) as caught:
        file.load(text)
    assert caught.value.problem.startswith(PATHS[changed] + " must be"), caught.value.problem


# --- GGUF ------------------------------------------------------------------------------------------------------------


def text(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + data


def typed() -> Iterator[bytes]:
    """A value of every type, after the number of the type."""
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    for kind, size in sizes.items():
        for byte in (b"\0", b"\1", b"\xff", b"\x7f"):
            yield struct.pack("<I", kind) + byte * size
            yield struct.pack("<IIQ", 9, kind, 3) + byte * size * 3
        yield struct.pack("<IIQ", 9, kind, 0)
    for content in (b"", b"gpt2", b"t5", b"\xff", b"{}", b"[]", b'{"a": 1}', b"x" * 300):
        yield struct.pack("<I", 8) + text(content)
        yield struct.pack("<IIQ", 9, 8, 2) + text(content) * 2
    yield struct.pack("<IIQ", 9, 8, 0)


def gguf_mutants(data: bytes) -> Iterator[bytes]:
    """The file with each value of another type, missing, and twice."""
    found = [(name, bytes(part)) for name, part in parts_of(data)]
    for place in range(len(found)):
        name = found[place][0]
        for other in typed():
            yield gguf_file([*found[:place], (name, other), *found[place + 1 :]])
        yield gguf_file(found[:place] + found[place + 1 :])
        yield gguf_file([*found, found[place]])
    for name in (
        "toksmith.metadata",
        "tokenizer.chat_template",
        "tokenizer.ggml.eot_token_id",
        "tokenizer.ggml.scores",
    ):
        yield from (gguf_file([*found, (name, other)]) for other in typed())


def gguf_file(parts: list[tuple[str, bytes]]) -> bytes:
    return (
        b"GGUF" + struct.pack("<IQQ", 3, 0, len(parts)) + b"".join(text(name.encode()) + part for name, part in parts)
    )


def parts_of(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Each name, with the bytes of its value."""
    names = list(read_values(data, "x"))
    starts = [data.index(text(name.encode())) for name in names]
    for name, start, end in zip(names, starts, [*starts[1:], len(data)], strict=True):
        yield name, data[start + 8 + len(name.encode()) : end]


# --- messages and lines ----------------------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    data = b""
    while number > 0x7F:
        data, number = data + bytes([number & 0x7F | 0x80]), number >> 7
    return data + bytes([number])


def message_mutants(data: bytes) -> Iterator[bytes]:
    """The message with a field more, written in every way, outside and inside its first fields; and cut."""
    payloads = [varint(0), varint(1), varint(2**31), varint(2**64 - 1), b"\xff" * 11]
    fields = [varint(number << 3) + payload for number in range(48) for payload in payloads]
    for number in range(48):
        fields += [varint(number << 3 | 5) + byte * 4 for byte in (b"\0", b"\x7f", b"\xff")]
        fields += [varint(number << 3 | 1) + b"\xff" * 8, varint(number << 3 | 3), varint(number << 3 | 7)]
        fields += [
            varint(number << 3 | 2) + varint(len(inner)) + inner
            for inner in (b"", b"x", b"\xff\xfe", b"\n\0", b"\n\1<")
        ]
    for field in fields:
        yield data + field
        for outer in (1, 2, 3, 5):
            yield data + varint(outer << 3 | 2) + varint(len(field)) + field


def line_mutants(data: bytes) -> Iterator[bytes]:
    """The lines with one that is another, missing, twice or in another place."""
    lines = data.split(b"\n")
    for at in [*range(min(6, len(lines))), len(lines) - 2, len(lines) - 1]:
        for other in (
            b"",
            b" ",
            b"x",
            b"0",
            b"-1",
            b"1 2",
            b"1 2 3",
            b"\xff",
            b"\0",
            b"#x: \x01",
            b"9" * 400,
            b"[UNK]",
            b"256 257",
        ):
            yield b"\n".join([*lines[:at], other, *lines[at + 1 :]])
        yield b"\n".join([*lines[:at], *lines[at + 1 :]])
        yield b"\n".join([*lines[:at], lines[at], *lines[at:]])
        yield b"\n".join([lines[at], *lines[:at], *lines[at + 1 :]])


MUTATED: dict[str, Any] = {
    "gguf": gguf_mutants, "sentencepiece": message_mutants, "tiktoken": line_mutants, "minbpe": line_mutants, "vocab_txt": line_mutants
}  # fmt: skip


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.parametrize("format", MUTATED)
def test_a_file_with_another_value_is_a_model_or_refused(format: str) -> None:
    row, tried, refused = FORMATS[format], 0, 0
    if format in ("gguf", "sentencepiece"):
        pytest.importorskip("gguf" if format == "gguf" else "google.protobuf", reason=f"lacks what {format} needs")
    for make in GOOD.values():
        try:
            saved = row.save(make(), allow_loss=["splitters", "metadata", "post", "added_tokens", "normalizers"])
        except CannotRepresent:
            continue
        saved = saved if isinstance(saved, bytes) else saved[0]
        pattern: Any = "llama3" if "pattern" in row.arguments else UNSET
        for number, data in enumerate(MUTATED[format](saved)):
            if number % EACH:
                continue
            tried += 1
            try:
                content: Any = [FileContent("x", data)] if row.files else data
                model = row.load(content, "x", pattern=pattern, special_tokens=None)
            except LOADING as error:
                refused += 1
                assert len(str(error)) < 1000
            else:
                use(model)
    print(f"{format}: {tried:,} mutants, {refused:,} refused")
    assert refused > 0


def test_a_good_file_is_good() -> None:
    found = [file for name in GOOD for file in files(name)]
    for file in found:
        file.load(json.dumps(file.value, ensure_ascii=False))
    assert {file.format for file in found} == {"native", "gpt2", "merge_dict", "stoi", "tekken", "tokenizer_json"}
