"""The mistakes that callers make most often in Python, each with the message that it gets: one table, walked by a test.

A message says where and what, what was expected, and what to do. The same for the shell is in test_mistakes.py.
"""

from __future__ import annotations

import inspect
import io
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

import toksmith
from toksmith import Tokenizer
from toksmith._base import meanings, other_names

MISTAKES = [
    (
        'toksmith.train("corpus.txt", 300)',
        "InvalidOption: corpus='corpus.txt' is not possible; expected a text, and this looks like the name of a file; pass pathlib.Path('corpus.txt') or toksmith.files('corpus.txt'), or ['corpus.txt']",
    ),
    (
        'toksmith.train("data/*.txt", 300)',
        "InvalidOption: corpus='data/*.txt' is not possible; expected a text, and this looks like the name of a file; pass pathlib.Path('data/*.txt') or toksmith.files('data/*.txt'), or ['data/*.txt']",
    ),
    (
        'toksmith.train(300, "low lower")',
        "TypeError: corpus: expected texts, paths or open files, not int; the corpus comes before the size",
    ),
    (
        'toksmith.train({"text": "low"}, 300)',
        "TypeError: corpus: expected texts, paths or toksmith.files(...), not dict; pass its values(), as a list",
    ),
    *(
        (call, f"{error}: corpu.txt: cannot be read: there is no such file; did you mean 'corpus.txt'?")
        for call, error in (
            ('toksmith.load(Path("corpu.txt"))', "FormatError"),
            ('toksmith.train(Path("corpu.txt"), 300)', "CorpusError"),
            ('toksmith.train(toksmith.files("corpu.txt"), 300)', "CorpusError"),
            ('tok.encode_file("corpu.txt")', "CorpusError"),
            ('toksmith.doctor(tok, corpus=Path("corpu.txt"))', "CorpusError"),
            ('toksmith.doctor(tok, embeddings="corpu.txt")', "FormatError"),
        )
    ),
    (
        'toksmith.PieceCounts.load("no/c.tsv")',
        "FormatError: no/c.tsv: cannot be read: there is no such file; there is no folder 'no'",
    ),
    (
        'toksmith.train(Path("no_such.txt"), 300)',
        "CorpusError: no_such.txt: cannot be read: there is no such file; expected the path of a file",
    ),
    (
        'toksmith.train(toksmith.files("no/*.txt"), 300)',
        "CorpusError: no/*.txt: no file matches this name; expected the path of a file, or a glob such as data/*.txt",
    ),
    ('toksmith.files(["corpus.txt"])', "TypeError: globs: expected a path (str or os.PathLike), not list"),
    (
        'toksmith.train("low lower")',
        "InvalidOption: vocab_size=None is not possible; expected a number of tokens; or pass merges=, or min_count=2 to stop at rare pairs",
    ),
    (
        'toksmith.train("low lower", 100)',
        "InvalidOption: vocab_size=100 is not possible; expected at least 256: the alphabet has 256, and there are 0 special tokens",
    ),
    ('toksmith.train("low lower", "300")', "TypeError: vocab_size: expected an int, not str; pass 300"),
    (
        'toksmith.train("low lower", vocab=300)',
        "TypeError: train() got an unexpected keyword argument 'vocab'; did you mean vocab_size=?",
    ),
    (
        'toksmith.train("low lower", 300, model="unigram")',
        "TypeError: train() got an unexpected keyword argument 'model'; did you mean kind=?",
    ),
    (
        'toksmith.train("low lower", 300, silent=True)',
        "TypeError: train() got an unexpected keyword argument 'silent'; did you mean progress=?",
    ),
    (
        'toksmith.train("", 300)',
        "CorpusError: the corpus is empty: 1 document without a byte; expected text to learn from",
    ),
    (
        'toksmith.train("low lower", 300, pattern="gpt4")',
        "UnknownName: there is no pattern named 'gpt4'; did you mean 'cl100k'?",
    ),
    (
        'toksmith.train("low lower", 300, pattern="[a-z")',
        "InvalidOption: pattern='[a-z' is not possible; expected a regex in the Rust dialect (Parsing error at position 4: Invalid character class)",
    ),
    (
        'toksmith.train("low lower", 300, kind="wordpeice")',
        "InvalidOption: kind='wordpeice' is not possible; expected 'bpe', 'unigram', 'wordpiece', 'chars' or 'words'",
    ),
    (
        'toksmith.train("low lower", 300, special_tokens="<|end|>")',
        "TypeError: special_tokens: expected a list of str, not str; pass ['<|end|>']",
    ),
    (
        'toksmith.train("low lower", 300, merges=3)',
        "InvalidOption: merges=3 is not possible; expected None when vocab_size is given",
    ),
    ('toksmith.train(["low", 5], 300)', "TypeError: corpus: document 1: expected str, bytes or a path, not int"),
    (
        'toksmith.train(Path("rows.jsonl"), 300)',
        "CorpusError: rows.jsonl: document 0: has no text in the field 'text', which is missing; name the field with field=",
    ),
    (
        'toksmith.train(Path("picture.png"), 300)',
        "CorpusError: picture.png: a file ending in .png is not text; expected text, .jsonl, .parquet or .arrow; extract its text first, or open it and pass its bytes",
    ),
    (
        'toksmith.train(Path("folder"), 300)',
        "CorpusError: folder: the folder contains no file ending in .parquet, .arrow, .txt or .jsonl (which may be packed: .gz, .zst)",
    ),
    *(
        (call, f"TypeError: {call.split('(')[0].partition('.')[2]}() got an unexpected keyword argument {said}")
        for call, said in (
            ('tok.encode("low", allowed_special="all")', "'allowed_special'; did you mean special=?"),
            ('tok.encode("low", special_tokens="allow")', "'special_tokens'; did you mean special=?"),
            ('tok.encode("low", num_threads=2)', "'num_threads'; did you mean threads=?"),
            ('tok.encode("low", truncation=True)', "'truncation'; tok.truncate(text, max_tokens) cuts a text"),
            ('tok.encode("low", dtype=int)', "'dtype'; it takes text, special, errors, threads, add_special_tokens"),
            (
                'tok.encode_array("low", return_tensors="np")',
                "'return_tensors'; tok.encode_array(text) and tok.encode_ragged(texts) give NumPy arrays",
            ),
            ('tok.count("low", disallowed_special=())', "'disallowed_special'; did you mean special=?"),
            ('tok.truncate("low", max_length=3)', "'max_length'; did you mean max_tokens=?"),
            ('tok.save(filename="x.toksmith")', "'filename'; did you mean path=?"),
            ('tok.save("x.toksmith", overwrite=True)', "'overwrite'; saving replaces the file, so leave it out"),
            ('toksmith.load(path="gpt2")', "'path'; did you mean source=?"),
            ('toksmith.train("low", model_prefix="m")', "'model_prefix'; tok.save(path) saves the trained tokenizer"),
        )
    ),
    (
        'toksmith.load("cl100k")',
        "UnknownName: there is no encoding or file named 'cl100k'; did you mean 'cl100k_base'?",
    ),
    (
        'toksmith.load(Path("gpt2"))',
        "FormatError: gpt2: cannot be read: there is no such file; expected the path of a file; toksmith.load('gpt2') is the encoding",
    ),
    (
        'toksmith.load("owner/model-7B")',
        "DownloadError: https://huggingface.co/owner/model-7B: the cache of the hub holds no tokenizer of it, and HF_HUB_OFFLINE forbids the network",
    ),
    (
        'toksmith.load("https://host/tokenizer.json")',
        "UnknownName: there is no encoding or file named 'https://host/tokenizer.json'; load reads files of this machine: download the file first",
    ),
    (
        'toksmith.train("low low", 300, special_tokens={"<|a|>": 5})',
        "TypeError: special_tokens: expected a list of str, not dict; pass its keys(), as a list",
    ),
    (
        'toksmith.train(StringIO("low"), 300)',
        "TypeError: corpus: expected a file of bytes, not of str; open it in binary mode",
    ),
    (
        'toksmith.load("no_such.json")',
        "UnknownName: there is no encoding or file named 'no_such.json'; toksmith.encodings() lists the names",
    ),
    (
        'toksmith.load("folder")',
        "FormatError: folder: the folder holds no file of a tokenizer; expected one such as tokenizer.json, vocab.json, NAME.toksmith, NAME.tiktoken or NAME.model (toksmith.formats() lists all)",
    ),
    (
        'toksmith.load("empty.json")',
        "FormatError: empty.json: is empty, which matches no known format of tokenizers; expected such a file, or choose its format with format= (toksmith.formats() lists all)",
    ),
    (
        'toksmith.load("picture.png")',
        "FormatError: picture.png: starts with b'\\x89PNG\\r\\n\\x1a\\n\\x00\\x00', which matches no known format of tokenizers; expected such a file, or choose its format with format= (toksmith.formats() lists all)",
    ),
    (
        'toksmith.load("own.toksmith", format="hf")',
        "UnknownName: there is no format named 'hf'; did you mean 'tokenizer_json'?",
    ),
    ("toksmith.load(tok)", "TypeError: source: expected a path (str or os.PathLike), not Tokenizer"),
    (
        'toksmith.Tokenizer("gpt2")',
        "TypeError: model: expected a Model, not str; toksmith.load('gpt2') gives a tokenizer",
    ),
    (
        'tok.encode(["low", "lower"])',
        "TypeError: text: expected str or bytes, not list; encode_batch takes a list of texts",
    ),
    (
        'tok.encode("low<|end|>")',
        "SpecialTokenInText: the text holds the special token '<|end|>' at offset 3; pass special='text' to encode it as ordinary text, or special='allow' (or special=['<|end|>']) to turn it into its id",
    ),
    (
        'tok.encode("low", special="allowed")',
        "InvalidOption: special='allowed' is not possible; expected 'raise', 'allow', 'text' or a collection of special tokens",
    ),
    (
        'tok.encode("low", threads=0)',
        "InvalidOption: threads=0 is not possible; expected from 1 to 65536, or None for all processors",
    ),
    ('tok.encode_batch("low lower")', "TypeError: texts: expected a list, not a single text; pass ['low lower']"),
    ("tok(5)", "TypeError: text: expected str, bytes or a list of them, not int"),
    (
        'tok("low", padding=True)',
        "TypeError: __call__() got an unexpected keyword argument 'padding'; tok.encode_ragged(texts) gives the ids of several texts without padding",
    ),
    (
        'tok("low", add_special_tokens=False)',
        "TypeError: __call__() got an unexpected keyword argument 'add_special_tokens'; tok(text) adds none; tok.encode(text, add_special_tokens=True) adds those of the model's template",
    ),
    (
        'tok.encode_batch(["low"], allowed_special="all")',
        "TypeError: encode_batch() got an unexpected keyword argument 'allowed_special'; did you mean special=?",
    ),
    (
        'tok({"text": "low"})',
        "TypeError: text: expected str, bytes or a list of them, not dict; pass its values(), as a list",
    ),
    (
        'tok.encode_batch({"text": "low"})',
        "TypeError: texts: expected a batch of texts (a list), not dict; pass its values(), as a list",
    ),
    (
        'tok.encode_ragged({"text": "low"})',
        "TypeError: texts: expected a batch of texts (a list), not dict; pass its values(), as a list",
    ),
    (
        'tok.encode_ragged_with_offsets({"text": "low"})',
        "TypeError: texts: expected a batch of texts (a list), not dict; pass its values(), as a list",
    ),
    (
        'tok.count_batch({"text": "low"})',
        "TypeError: texts: expected a batch of texts (a list), not dict; pass its values(), as a list",
    ),
    (
        'tok(["low"])["ids"]',
        "UnknownName: there is no field of a RaggedEncoding named 'ids'; the known ones are 'input_ids', 'attention_mask', 'offset_mapping'",
    ),
    ('tok.decode("low")', "TypeError: ids: expected ids (integers), not a text"),
    ("tok.decode(257)", "TypeError: ids: expected ids (integers), not int; pass [257]"),
    ("tok.decode([300])", "UnknownId: id 300 at position 0 is out of range; ids lie in [0, 262)"),
    ("tok.decode_batch([257, 258])", "TypeError: batch: sequence 0: expected ids (integers), not int"),
    ('tok.token_bytes("low")', "TypeError: id: expected an int, not str"),
    ("tok.token_id(257)", "TypeError: token: expected str or bytes, not int"),
    ('tok.truncate("low", -1)', "InvalidOption: max_tokens=-1 is not possible; expected at least 0"),
    (
        'tok.truncate("low", 3, side="front")',
        "InvalidOption: side='front' is not possible; expected 'left' or 'right': the side to cut off",
    ),
    ('tok.chunk("low", 3, overlap=3)', "InvalidOption: overlap=3 is not possible; expected less than max_tokens=3"),
    (
        'tok.save("out.foo")',
        "FormatError: out.foo: the file name does not show the format; give format=, or a name that ends in .toksmith, tokenizer.json, .tiktoken, .model or .gguf (toksmith.formats() lists all)",
    ),
    (
        'tok.save("vocab.txt")',
        "CannotRepresent: vocab.txt: the format 'vocab_txt' cannot hold kind: the format supports only WordPiece",
    ),
    (
        'tok.save("out.toksmith", format="pickle")',
        "UnknownName: there is no format named 'pickle'; did you mean 'native'?",
    ),
    (
        'tok.encode_file("no_such.txt")',
        "CorpusError: no_such.txt: cannot be read: there is no such file; expected the path of a file",
    ),
    ('tok.encode_file("folder")', "CorpusError: folder: cannot be read: it is a folder; a file is expected"),
    ("tok.n_vocab", "AttributeError: a Tokenizer has no attribute 'n_vocab'; use tok.vocab_size"),
    (
        "tok.get_vocab()",
        "AttributeError: a Tokenizer has no attribute 'get_vocab'; use dict(zip(tok.model.tokens, tok.model.ids.tolist())) for the ids by token",
    ),
    (
        'toksmith.get_encoding("gpt2")',
        "AttributeError: toksmith has no attribute 'get_encoding'; use toksmith.load(name)",
    ),
    (
        'tok.encode_with_offsets("low", unit="bytes")',
        "InvalidOption: unit='bytes' is not possible; expected 'char' or 'byte'",
    ),
    (
        'toksmith.extend(tok, 3, "low")',
        "TypeError: corpus: expected texts, paths or open files, not int; the corpus comes before the size",
    ),
    (
        "toksmith.prune(tok, 10)",
        "InvalidOption: n=10 is not possible; expected at most 5: the other 257 tokens are bytes, characters and added tokens",
    ),
    ('toksmith.add_special(tok, "<|a|>")', "TypeError: tokens: expected a list of str, not str; pass ['<|a|>']"),
    (
        'toksmith.explain.pieces("low", tok)',
        "TypeError: tok: expected a Tokenizer, not str; the tokenizer comes first: pass toksmith.load('low') if this is its name or file",
    ),
    ("toksmith.explain.tree(tok, 9999)", "UnknownId: id 9999 is out of range; ids lie in [0, 262)"),
    (
        'toksmith.metrics.measure(tok, ["low"])["fertilty"]',
        "UnknownName: there is no metric named 'fertilty'; did you mean 'fertility'?",
    ),
    (
        'toksmith.doctor("own.toksmith")',
        "TypeError: tok: expected a Tokenizer, not str; the tokenizer comes first: pass toksmith.load('own.toksmith') if this is its name or file",
    ),
    (
        'toksmith.run_shard("no_such/job.json", 0)',
        "JobError: no_such: there is no job.json; plan a job with toksmith.plan or `toksmith tokenize`",
    ),
    (
        'toksmith.verify("folder")',
        "JobError: folder: there is no finished job; run it, or look at it with `toksmith status`",
    ),
]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the calls of the table name, in a folder with files of every kind."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name, content in (
        ("corpus.txt", b"low lower lowest"),
        ("empty.json", b""),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0"),
        ("rows.jsonl", b'{"content": "low"}\n'),
    ):
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    tok = toksmith.train(["low lower lowest", "slow slower"], 262, special_tokens=["<|end|>"], progress=False)
    tok.save(folder / "own.toksmith")
    return {"toksmith": toksmith, "tok": tok, "Path": Path, "StringIO": io.StringIO, "folder": folder}


def mistaken(call: str, names: dict[str, Any]) -> Exception:
    """The error of a call."""
    try:
        found = eval(call, dict(names))
    except Exception as error:  # noqa: BLE001 - any
        return error
    raise AssertionError(f"{call} is no mistake: {found!r}")


@pytest.mark.parametrize(("call", "said"), MISTAKES, ids=[call for call, _ in MISTAKES])
def test_a_mistake_is_answered(call: str, said: str, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(names["folder"])
    error = mistaken(call, names)
    assert f"{type(error).__name__}: {error}" == said


def test_there_are_fifty_mistakes() -> None:
    assert len({call for call, _ in MISTAKES}) == len(MISTAKES) >= 50


@pytest.mark.parametrize("call", [call for call, _ in MISTAKES])
def test_a_traceback_shows_one_line_of_ours(call: str, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(names["folder"])
    monkeypatch.delenv("TOKSMITH_TRACEBACK")
    lines = "".join(traceback.format_exception(mistaken(call, names)))
    assert lines.count(os.path.dirname(toksmith.__file__)) <= 1, lines
    assert "During handling" not in lines


def test_what_the_caller_wrote_stays_in_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKSMITH_TRACEBACK")

    def documents() -> Any:
        yield "low"
        toksmith.load("no such encoding")

    with pytest.raises(toksmith.UnknownName) as caught:
        toksmith.train(documents(), 300, progress=False)
    assert "documents" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    from toksmith._tokenizer import boundaries

    monkeypatch.delenv("TOKSMITH_TRACEBACK")
    monkeypatch.setattr(boundaries, "truncated", lambda *_: dict[str, str]()["a fault"])
    tok = toksmith.train("low", 257, progress=False)
    with pytest.raises(KeyError) as caught:
        tok.truncate("low", 1)
    assert "truncate" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_all_frames_are_there_for_those_who_ask(names: dict[str, Any]) -> None:
    """The tests run with TOKSMITH_TRACEBACK=full."""
    error = mistaken('toksmith.train("low", 300, ties="x")', names)
    assert len(traceback.extract_tb(error.__traceback__)) > 3


CTRL_C = """
import os, signal, traceback, toksmith
signal.signal(signal.SIGINT, signal.default_int_handler)

def documents():
    yield "low lower"
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        yield "lowest"

for call in (lambda: toksmith.train(documents(), 300, progress=False), lambda: toksmith.count_pieces(documents(), progress=False)):
    try:
        call()
    except KeyboardInterrupt as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.dirname(toksmith.__file__) in frame.filename]
        print(type(error).__name__, getattr(error, "phase", None), len(frames) <= 3)
"""


def test_ctrl_c_while_counting_is_short() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TOKSMITH_TRACEBACK"}
    ran = subprocess.run([sys.executable, "-c", CTRL_C], env=environment, check=True, capture_output=True, text=True)
    assert ran.stdout.split("\n")[0] == "TrainingInterrupted counting True"


def test_a_message_lists_at_most_five_choices() -> None:
    names = [f"name{number}" for number in range(9)]
    assert str(toksmith.UnknownName("thing", "zzz", names)) == (
        "there is no thing named 'zzz'; the known ones are 'name0', 'name1', 'name2', 'name3', 'name4' and 4 more"
    )
    assert str(toksmith.UnknownName("thing", "name", names[:2])).endswith("; did you mean 'name0' or 'name1'?")


@pytest.mark.parametrize("name", other_names.OF_A_TOKENIZER)
def test_names_of_other_libraries_are_answered(name: str, names: dict[str, Any]) -> None:
    tok = names["tok"]
    with pytest.raises(AttributeError, match="; use ") as caught:
        getattr(tok, name)
    for attribute in set(re.findall(r"\btok\.(\w+)", str(caught.value))):
        assert hasattr(tok, attribute), "the error names what there is"


@pytest.mark.parametrize("name", other_names.OF_THE_PACKAGE)
def test_functions_of_other_libraries_are_answered(name: str) -> None:
    with pytest.raises(AttributeError, match="; use "):
        getattr(toksmith, name)


def test_meanings_name_what_there_is() -> None:
    """Each meaning is known somewhere, so that no row is dead."""

    from toksmith._jobs.sinks import SINKS

    arguments = {
        name
        for public in toksmith.__all__
        if inspect.isfunction(function := getattr(toksmith, public))
        for name in inspect.signature(function).parameters
    } | {"max_tokens", "overlap", "texts", "text", "ids", "special", "add_special_tokens", "path", "separator"}
    known = {*toksmith.encodings(), *toksmith.patterns(), *toksmith.formats(), *toksmith.metrics.names(), *SINKS}
    known |= {"bpe", "unigram", "wordpiece", "chars", "words"} | arguments
    for name, meant in meanings.MEANINGS.items():
        assert {*meant.split()} <= known | {"local", "ray"}, name
        assert meanings.bare(name) == name


def test_the_fastest_calls_do_not_show_what_they_refuse() -> None:
    for function in (Tokenizer.encode, Tokenizer.encode_array, Tokenizer.count, Tokenizer.decode):
        assert "unknown" not in str(inspect.signature(function))


def test_a_place_beyond_a_batch(names: dict[str, Any]) -> None:
    with pytest.raises(IndexError, match="index 5 is out of range; it has 1 text"):
        names["tok"].encode_ragged(["low"])[5]
