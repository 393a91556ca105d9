"""One rule for rows: every reader of a corpus takes the same rows of `.jsonl` and of Parquet, and refuses the others alike."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import toksmith
from toksmith import Tokenizer, _core
from toksmith._cli import app
from toksmith.errors import CorpusError

DEEP = 100_000
BOM = b"\xef\xbb\xbf"

# Lines of a file, with the texts of its documents; or the number of the line that is refused and a part of the reason.
TAKEN: dict[str, tuple[bytes, list[str]]] = {
    "plain": (b'{"text": "a b"}\n{"text": "c"}\n', ["a b", "c"]),
    "no line feed at the end": (b'{"text": "a"}\n{"text": "b"}', ["a", "b"]),
    "CRLF": (b'{"text": "a"}\r\n{"text": "b"}\r\n', ["a", "b"]),
    "blank lines": (b'\n \t\r\n{"text": "a"}\n\x0b\x0c\n\n{"text": "b"}\n\n', ["a", "b"]),
    "nothing but blank lines": (b"\n\n", []),
    "space around": (b' \t{ "text" :\t"a" } \r\n', ["a"]),
    "empty text": (b'{"text": ""}\n{"text": "a"}', ["", "a"]),
    "byte order mark": (BOM + b'{"text": "a"}\n{"text": "b"}', ["a", "b"]),
    "byte order marks where files were joined": (BOM + b'{"text": "a"}\n' + BOM + b'{"text": "b"}', ["a", "b"]),
    "byte order mark and nothing": (BOM + b"\r\n" + BOM, []),
    "U+FEFF in the text": (b'{"text": "' + BOM + b'a"}', ["\ufeffa"]),
    "U+2028 and U+0085 end no line": ('{"text": "a\u2028\x85b"}'.encode(), ["a\u2028\x85b"]),
    "escapes": (rb'{"text": "\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}', ['"\\/\b\f\n\r\té😀']),
    "NUL as an escape": (rb'{"text": "a\u0000b"}', ["a\0b"]),
    "DEL": (b'{"text": "\x7f"}', ["\x7f"]),
    "lone surrogates": (rb'{"text": "\ud800 \udc00\udc00 \ud83dx"}', ["\ufffd \ufffd\ufffd \ufffdx"]),
    "lone surrogate elsewhere": (rb'{"\ud800": "\udc00", "text": "a"}', ["a"]),
    "name in escapes": (rb'{"te\u0078t": "a"}', ["a"]),
    "fields inside of others": (b'{"a": {"text": 1}, "b": [{"text": 2}], "text": "a"}', ["a"]),
    "field twice": (b'{"text": "a", "text": "b"}', ["b"]),
    "field twice, first no text": (b'{"text": [{}], "text": "b"}', ["b"]),
    "another field twice": (b'{"n": 1, "n": 2, "text": "a"}', ["a"]),
    "NaN and Infinity": (b'{"n": [NaN, Infinity, -Infinity], "text": "a"}', ["a"]),
    "long number": (b'{"text": "a", "n": ' + b"7" * 100_000 + b"}", ["a"]),
    "long fraction and exponent": (b'{"n": -0.' + b"7" * 9999 + b"e+" + b"9" * 9999 + b', "text": "a"}', ["a"]),
    "deep lists": (b'{"n": ' + b"[" * DEEP + b"]" * DEEP + b', "text": "a"}', ["a"]),
    "deep objects": (b'{"text": "a", "n": ' + b'{"text":' * DEEP + b"1" + b"}" * DEEP + b"}", ["a"]),
    "deep where the text is overruled": (b'{"text": ' + b"[" * DEEP + b"]" * DEEP + b', "text": "a"}', ["a"]),
    "many fields": (b"{" + b"".join(b'"f%d": %d, ' % (n, n) for n in range(9999)) + b'"text": "a"}', ["a"]),
}
REFUSED: dict[str, tuple[bytes, int, str]] = {
    "missing field": (b'{"text": "a"}\n\n{"texts": "b"}\n', 2, "which is missing"),
    "empty object": (b"{}", 0, "which is missing"),
    "null": (b'{"text": null}', 0, "but null"),
    "number": (b'{"text": 5}', 0, "but a number"),
    "long number as the text": (b'{"text": ' + b"7" * 100_000 + b"}", 0, "but a number"),
    "truth": (b'{"text": true}', 0, "but true or false"),
    "list": (b'{"text": ["a"]}', 0, "but a list"),
    "object": (b'{"text": {"text": "a"}}', 0, "but an object"),
    "last of two is no text": (b'{"text": "a", "text": null}', 0, "but null"),
    "a list": (b'["text"]', 0, "does not begin with '{'"),
    "a text": (b'"text"', 0, "does not begin with '{'"),
    "no JSON": (b'{"text": "a"}\nnot JSON\n', 1, "does not begin with '{'"),
    "single quotes": (b"{'text': 'a'}", 0, "a name in quotes is missing"),
    "no quotes": (b'{text: "a"}', 0, "a name in quotes is missing"),
    "comment": (b'{"text": "a"} // b', 0, "there is text after the object at byte 14"),
    "two objects": (b'{"text": "a"} {"text": "b"}', 0, "there is text after the object"),
    "CR as the end of lines": (b'{"text": "a"}\r{"text": "b"}\r', 0, "there is text after the object"),
    "object over two lines": (b'{"text": "a"}\n{"text":\n"b"}\n', 1, "is missing"),
    "cut in a text": (b'{"text": "a"}\n{"text": "b', 1, "the row ends inside a string"),
    "cut after a text": (b'{"text": "a"', 0, "a comma or a closing bracket is missing"),
    "comma at the end": (b'{"text": "a",}', 0, "a name in quotes is missing"),
    "no comma": (b'{"text": "a" "n": 1}', 0, "a comma or a closing bracket is missing"),
    "no colon": (b'{"text" "a"}', 0, "a colon is missing"),
    "brackets that cross": (b'{"text": "a", "n": [{]}}', 0, "a name in quotes is missing"),
    "leading zero": (b'{"text": "a", "n": 01}', 0, "at byte"),
    "plus": (b'{"text": "a", "n": +1}', 0, "at byte"),
    "hexadecimal": (b'{"text": "a", "n": 0x1F}', 0, "at byte"),
    "nan": (b'{"text": "a", "n": nan}', 0, "at byte"),
    "word": (b'{"text": "a", "n": True}', 0, "at byte"),
    "tab in a text": (b'{"text": "a\tb"}', 0, "a string holds a control character at byte 11"),
    "NUL in a name": (b'{"a\0": 1, "text": "a"}', 0, "a string holds a control character"),
    "NUL outside": (b'{"text": "a"}\0', 0, "there is text after the object"),
    "wrong escape": (rb'{"text": "\x41"}', 0, "an escape is not one of JSON's"),
    "cut escape": (rb'{"text": "\u00e"}', 0, "an escape is not one of JSON's"),
    "no UTF-8 in the text": (b'{"text": "\xff"}', 0, "is not UTF-8: byte 10 of the row is 0xFF"),
    "no UTF-8 elsewhere": (b'{"n": "\xe2\x98", "text": "a"}', 0, "is not UTF-8: byte 7"),
    "surrogate in UTF-8": (b'{"text": "\xed\xa0\x80"}', 0, "is not UTF-8"),
    "Latin-1": ('{"text": "é"}'.encode("latin-1"), 0, "is not UTF-8"),
    "UTF-16": ('{"text": "a"}'.encode("utf-16-le"), 0, "a name in quotes is missing"),
    "UTF-16 with a mark": ('{"text": "a"}'.encode("utf-16"), 0, "is not UTF-8: byte 0 of the row is 0xFF"),
    "two byte order marks": (BOM + BOM + b'{"text": "a"}', 0, "does not begin with '{'"),
    "byte order mark after a space": (b" " + BOM + b'{"text": "a"}', 0, "does not begin with '{'"),
    "deep and open": (b"[" * DEEP, 0, "does not begin with '{'"),
    "deep and open inside": (b'{"n": ' + b"[" * DEEP, 0, "is missing"),
}


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train("low lower lowest slow", 270)


def by_train(tok: Tokenizer, corpus: Any, folder: Path) -> Any:
    record = toksmith.train(corpus, 256, pattern="gpt2").model.training
    return record and (record.digest, record.documents, record.bytes)


def by_count(tok: Tokenizer, corpus: Any, folder: Path) -> Any:
    counts = toksmith.corpus.count(corpus, pattern="gpt2")
    return counts.digest, counts.documents, counts.bytes


def by_encode_corpus(tok: Tokenizer, corpus: Any, folder: Path) -> Any:
    found = toksmith.corpus.encode(tok, corpus, folder / "ids.npy", special="text")
    return np.load(found.path).tolist(), np.load(found.ends_path).tolist()


def by_job(tok: Tokenizer, corpus: Any, folder: Path) -> Any:
    if isinstance(corpus, list):  # a job reads files only
        return by_encode_corpus(tok, corpus, folder)
    shutil.rmtree(folder / "job", ignore_errors=True)
    job = toksmith.corpus.plan(tok, corpus, folder / "job", special="text", empty="keep")
    toksmith.corpus.run_shard(folder / "job" / "job.json", 0)
    assert job.shards == 1
    ids, ends = (np.load(folder / "job" / f"00000{end}.npy").tolist() for end in ("", ".ends"))
    return ids, ends


def by_measure(tok: Tokenizer, corpus: Any, folder: Path) -> Any:
    return toksmith.metrics.measure(tok, corpus).to_dict()


def by_documents(tok: Tokenizer, corpus: Any, folder: Path) -> Any:
    """The documents that training on characters, surgery, doctor and sweep read."""
    texts = toksmith._corpus.iter_documents(corpus)
    return [text.encode() if isinstance(text, str) else text for text in texts]


READERS: tuple[Callable[[Tokenizer, Any, Path], Any], ...] = (
    by_train,
    by_count,
    by_encode_corpus,
    by_job,
    by_measure,
    by_documents,
)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_every_reader_takes_these_rows(reader: Callable[..., Any], tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for name, (data, texts) in TAKEN.items():
        if not any(texts) and reader in (by_train, by_measure):
            continue  # they refuse a corpus without a byte
        path.write_bytes(data)
        assert reader(tok, path, tmp_path) == reader(tok, texts, tmp_path), name


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_every_reader_refuses_these_rows_alike(reader: Callable[..., Any], tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for name, (data, record, problem) in REFUSED.items():
        path.write_bytes(data)
        with pytest.raises(CorpusError) as caught:
            reader(tok, path, tmp_path)
        error = caught.value
        assert (error.path, error.record) == (str(path), record), name
        assert problem in error.problem and len(str(error)) < 300 + len(str(path)), name
        assert "expected" in error.problem or "field=" in error.problem or "save the file" in error.problem, name


@pytest.mark.slow
def test_commands_refuse_as_the_functions_do(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "tok.toksmith")
    path = tmp_path / "rows.jsonl"
    model = ["-t", str(tmp_path / "tok.toksmith")]
    commands = (
        ["train", str(path), "--vocab-size", "260", "-o", str(tmp_path / "new.toksmith")],
        ["corpus", "count", str(path), "-o", str(tmp_path / "counts.tsv")],
        ["encode", *model, str(path), "-o", str(tmp_path / "ids.npy")],
        ["compare", *model, str(path)],
    )
    for data, record, problem in (REFUSED["null"], REFUSED["no JSON"], REFUSED["no UTF-8 elsewhere"]):
        path.write_bytes(data)
        for command in commands:
            done = CliRunner().invoke(app, command)
            said = " ".join(done.output.split())
            assert done.exit_code == 1 and f"document {record}: " in said, (command, done.output)
            assert problem in said
    path.write_bytes(TAKEN["long number"][0])
    for command in commands:
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, (command, done.output)


def test_bad_rows_are_left_out_alike_on_any_number_of_threads(tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [data for data, _, _ in REFUSED.values() if b"\n" not in data]
    path.write_bytes(b"\n".join(line + b'\n{"text": "a"}' for line in lines))
    for threads in (1, 2):
        counts = toksmith.corpus.count(path, errors="skip", threads=threads)
        assert (counts.documents, counts.skipped, counts.items()) == (len(lines), len(lines), [(b"a", len(lines))])


def test_a_long_name_is_not_quoted_whole(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b"{}")
    with pytest.raises(CorpusError) as caught:
        toksmith.corpus.count(toksmith.files(tmp_path / "rows.jsonl", field="x" * 10_000))
    assert len(caught.value.problem) < 300


@pytest.mark.slow
def test_the_rule_for_rows_equals_that_of_pythons_json(tmp_path: Path) -> None:
    """Drawn rows are taken exactly where Python's reader takes them, with the same text; a lone surrogate becomes U+FFFD."""
    parts = ["{", "}", "[", "]", ",", ":", " ", '"text": ', '"a"', '"\\ud800\\u00e9\\n"', "1", "-0.5e9", "NaN", "null"]
    draw = random.Random(4)
    taken = 0
    for _ in range(30_000):
        middle = "".join(draw.choices(parts, k=draw.randrange(6)))
        row = draw.choice(['{"text": "b"#}', '{"text": "b", "n": #}', '{#, "text": "b"}', '{"text": #}']).replace(
            "#", middle
        )
        try:
            value = json.loads(row)
            text = value.get("text") if isinstance(value, dict) else None
        except ValueError:
            text = None
        try:
            found = _core.row_text(row.encode(), "text")
        except ValueError:
            found = None
        expected = text.replace("\ud800", "\ufffd") if isinstance(text, str) else None
        assert found == expected, row
        taken += found is not None
    assert taken > 1000


def test_the_bytes_of_a_text_file_are_kept(tok: Tokenizer, tmp_path: Path) -> None:
    """No byte order mark is removed and no line end changed."""
    data = BOM + b"a\r\nb\rc\n\xff\0"
    (tmp_path / "a.txt").write_bytes(data)
    found = toksmith.corpus.encode(tok, tmp_path / "a.txt", tmp_path / "ids.npy")
    assert tok.decode_bytes(np.load(found.path)) == data
    assert toksmith.corpus.count(tmp_path / "a.txt").digest == toksmith.corpus.count(data).digest
