"""The command line for its users: output, refusals and exit codes."""

import ast
import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import click
import pytest
from command_line import misused, process, refused, run
from processors import LIMIT_S, interrupt, is_asleep, left_s, until
from systems import needs

import toksmith
from toksmith import _cli
from toksmith._cli.training_options import CHOSEN

PACKAGE = Path(_cli.__file__).parent.parent
TEXT = (
    "Byte-Pair Encoding (BPE) was initially developed as an algorithm to compress texts, and then used by OpenAI for "
    "tokenization when pretraining the GPT model. It’s used by a lot of Transformer models, including GPT, GPT-2, "
    "RoBERTa, BART, and DeBERTa."
)
AS_IN_THE_TUTORIAL = ("--merges", "20", "--pattern", "none", "--ties", "first_seen")
IDS = [104, 263, 108, 111, 272, 266, 108, 100, 33]  # "hello world!"
BYTES = bytes(range(256)) + "\r\n नमस्ते\n".encode()


@pytest.fixture(scope="module")
def tok() -> toksmith.Tokenizer:
    return toksmith.train(TEXT, merges=20, pattern=None, ties="first_seen", special_tokens=["<|end|>"])


@pytest.fixture(scope="module")
def saved(tok: toksmith.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("cli") / "tutorial.toksmith"
    tok.save(path)
    return str(path)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


# Help, usage and the shape of the program


def test_without_a_command_the_help_is_shown() -> None:
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == run("--help").stdout


def test_only_public_names_are_used() -> None:
    allowed = {*toksmith.__all__, "__version__"}
    for path in sorted((PACKAGE / "_cli").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "toksmith":
                assert node.attr in allowed, f"{path}:{node.lineno}"


# train


def test_train_shows_the_merges_as_the_tutorials_do(text: Path, tmp_path: Path) -> None:
    result = run("train", text, "-o", tmp_path / "out.toksmith", *AS_IN_THE_TUTORIAL, "--show-merges")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "merge  1: (105, 110) → 256  ▏in▏            6 times, 244 ids left"
    assert lines[6] == "merge  7: (256, 103) → 262  ▏ing▏           3 times, 219 ids left"
    assert lines[19] == "merge 20:  (121, 32) → 275  ▏y·▏            2 times, 186 ids left"
    assert lines[20].startswith("276 tokens; 20 merges over 250 bytes: 186 ids left; stopped because ")
    assert lines[20].endswith("bytes)") and f"saved as {tmp_path / 'out.toksmith'}" in lines[20]
    assert len(lines) == 21
    assert toksmith.load(tmp_path / "out.toksmith").encode("hello world!") == IDS


def test_train_until_no_pair_repeats_from_stdin() -> None:
    result = run("train", "--json", "--show-merges", "--pattern", "none", "--ties", "first_seen", stdin=TEXT.encode())
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    assert (len(facts["merges"]), facts["symbols"], facts["left"]) == (38, 250, 150)
    assert (facts["documents"], facts["bytes"], facts["entries"]) == (1, 250, 294)
    first = {"pair": [105, 110], "id": 256, "text": "in", "hex": "696e", "count": 6, "left": 244}
    assert facts["merges"][0] == first
    assert facts["stopped_because"]


def test_train_gives_what_the_function_gives(text: Path, tmp_path: Path) -> None:
    other, out = tmp_path / "other.txt", tmp_path / "out.toksmith"
    other.write_text("Other words, and other words again.", encoding="utf-8")
    options = [
        "--vocab-size",
        "280",
        "--special-token",
        "<|a|>",
        "--special-token",
        "<|b|>",
        "--min-count",
        "2",
        "--threads",
        "2",
    ]
    options += ["--max-token-bytes", "4", "--pattern", r"\s+", "--pattern", "gpt2", "--quiet"]
    result = run("train", text, "-", other, "-o", out, *options, stdin=b"from stdin, from stdin")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    corpus = [text, b"from stdin, from stdin", other]
    specials = ["<|a|>", "<|b|>"]
    expected = toksmith.train(
        corpus, 280, pattern=[r"\s+", "gpt2"], special_tokens=specials, min_count=2, max_token_bytes=4
    )
    assert toksmith.load(out) == expected


RAIN = "It will rain today, and rain and rain. Rain tomorrow too."
SUPERWORDS = {"superwords": 2, "superword_pattern": [r"[a-z ]+"], "merges": 9}
CHARACTERS = {"unit": "char", "merges": 3, "character_coverage": 0.9, "byte_fallback": True}
UNIGRAM = {"kind": "unigram", "vocab_size": 30, "dummy_prefix": False, "user_symbols": ["rain"]}
WORDPIECE = {"kind": "wordpiece", "vocab_size": 40, "lowercase": False, "unknown_token": "[?]"}
LIMITS = {"min_piece_count": 2, "max_piece_bytes": 9, "max_memory": 64 << 20, "merges": 3}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--kind", "words"], {"kind": "words"}),
        (["--kind", "chars"], {"kind": "chars"}),
        (
            ["--unit", "char", "--alphabet", "ascii", "--merges", "5"],
            {"unit": "char", "alphabet": "ascii", "merges": 5},
        ),
        (["--superwords", "2", "--superword-pattern", r"[a-z ]+", "--merges", "9"], SUPERWORDS),
        (["--unit", "char", "--merges", "3", "--character-coverage", "0.9", "--byte-fallback"], CHARACTERS),
        (["--kind", "unigram", "--vocab-size", "30", "--no-dummy-prefix", "--user-symbol", "rain"], UNIGRAM),
        (["--kind", "wordpiece", "--vocab-size", "40", "--no-lowercase", "--unknown-token", "[?]"], WORDPIECE),
        (["--end-of-word-suffix", "</w>", "--merges", "3"], {"end_of_word_suffix": "</w>", "merges": 3}),
        (["--min-piece-count", "2", "--max-piece-bytes", "9", "--max-memory", "64M", "--merges", "3"], LIMITS),
    ],
)
def test_train_passes_its_options_to_the_function(options: list[str], expected: dict[str, Any], tmp_path: Path) -> None:
    result = run("train", "-o", tmp_path / "x.toksmith", *options, stdin=RAIN.encode())
    assert result.exit_code == 0, result.stderr
    assert toksmith.load(tmp_path / "x.toksmith") == toksmith.train(RAIN, **expected)


def test_every_argument_of_train_has_an_option() -> None:
    command = _cli.app.get_command(click.Context(_cli.app), "train")
    assert command is not None
    assert {*CHOSEN} < {each.name for each in command.params}


def test_train_takes_several_languages(tmp_path: Path) -> None:
    texts = {"en": "low lower lowest low", "hi": "नमस्ते नमन"}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
        toksmith.corpus.count(text).save(tmp_path / f"{name}.tsv")
    en, hi = tmp_path / "en.txt", tmp_path / "hi.txt"
    development = ["--development", en, "--development", f"hi={hi}"]
    out = tmp_path / "x.toksmith"
    said = run("train", en, f"hi={hi}", *development, "--merges", "9", "-o", out)
    due = toksmith.train(languages=texts, development=texts, merges=9)
    assert (said.exit_code, said.stderr) == (0, "") and toksmith.load(out) == due
    assert "\nhi: chose 5 merges; 28 tokens before, " in said.stdout
    counts = ["--from-counts", tmp_path / "en.tsv", "--from-counts", tmp_path / "hi.tsv"]
    for more, options in (
        (["--parity", "parity"], {"parity": "parity"}),
        (["--global-merges", "3", "--other", en], {"global_merges": 3, "corpus": texts["en"]}),
        (
            ["--parity", "window", "--parity-window", "4", "--parity-alpha", "1.5"],
            {"parity": "window", "parity_window": 4, "parity_alpha": 1.5},
        ),
    ):
        assert run("train", *counts, *development, *more, "--merges", "9", "-q", "-o", out).exit_code == 0
        assert toksmith.load(out) == toksmith.train(languages=texts, development=texts, merges=9, **options)
    said = run("train", en, hi, "--ratio", "en=1", "--ratio", "hi=2.5", "--merges", "9", "--json")
    assert json.loads(said.stdout)["languages"]["hi"]["tokens_before"] == 28


def test_train_refuses_languages_in_the_words_of_the_shell(text: Path, tmp_path: Path) -> None:
    out, both = ["-o", tmp_path / "x.toksmith", "--merges", "5"], [f"a={text}", f"b={text}"]
    ratios = ["--ratio", "a=1", "--ratio", "b=1"]
    misused(run("train", "--parity", "hybrid", *out), "FILE is missing; give NAME=FILE for each language")
    misused(run("train", f"a={text}", *ratios, *out), "FILE: expected files of at least two languages, not of a alone")
    misused(run("train", *both, "-", *ratios, *out), "stdin has no language; give NAME=-")
    misused(run("train", *both, "--parity", "hybrid", *out), "--development: expected for each language a text")
    misused(run("train", *both, "--ratio", "a=1", *out), "--ratio: expected a ratio of each language")
    misused(run("train", *both, "--ratio", "a=one", *out), "--ratio: expected NAME=NUMBER, such as hi=1.0, not 'a=one'")
    misused(run("train", *both, *ratios, "--development", f"c={text}", *out), "--ratio: expected no value when dev")
    misused(run("train", "--text", "x", *ratios, *out), "--text is one text; with --parity give NAME=FILE")
    misused(run("train", "=x", *ratios, *out), "FILE: expected NAME=FILE or FILE, not '=x'")
    misused(run("train", *both, *ratios, "--parity-window", "3", *out), "--parity-window: expected the default, 100")
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    refused(run("train", f"a={text}", f"b={empty}", *ratios, *out), "the corpus of 'b' is empty")


def test_train_reads_the_named_field(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"body": "aaab", "text": "no"}\n{"body": "aab"}\n', encoding="utf-8")
    result = run("train", rows, "--field", "body", "--merges", "2", "-o", tmp_path / "x.toksmith")
    assert result.exit_code == 0, result.stderr
    assert toksmith.load(tmp_path / "x.toksmith") == toksmith.train(["aaab", "aab"], merges=2)


def test_train_refuses_with_one_line(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.toksmith"
    refused(run("train", "-o", out, "--merges", "5", stdin=b""), "empty")
    misused(run("train", text, "-o", out, "--pattern", "gpt22", "--merges", "5"), "did you mean 'gpt2'")
    misused(run("train", text, "-o", out, "--ties", "none", "--merges", "5"), "'--ties': 'none'")
    refused(run("train", text, "-o", tmp_path / "no" / "x.toksmith", "--merges", "5"), "there is no folder")
    refused(run("train", text, "-o", tmp_path / "x.zip", "--merges", "5"), "end it in .toksmith, or give --to")
    assert os.listdir(tmp_path) == ["text.txt"]


def test_an_interrupted_training_is_saved_under_another_name(
    text: Path, tmp_path: Path, tok: toksmith.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise toksmith.errors.TrainingInterrupted(tok, "merging")

    monkeypatch.setattr(toksmith, "train", interrupted)
    result = run("train", text, "-o", tmp_path / "out.toksmith", "--merges", "500")
    assert (result.exit_code, result.stdout) == (130, "")
    saved_as = tmp_path / "out.interrupted.toksmith"
    said = f"interrupted while merging; learned so far: 20 merges, saved in {saved_as}"
    assert result.stderr == f"toksmith: {said}\n"
    assert toksmith.load(saved_as) == tok
    assert not (tmp_path / "out.toksmith").exists()

    result = run("train", text, "--show-merges", "--merges", "500")
    assert result.exit_code == 130
    assert "learned so far: 20 merges, lost, because -o was not given" in result.stderr


def test_a_training_whose_checkpoint_cannot_be_written_is_saved(
    text: Path, tmp_path: Path, tok: toksmith.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[toksmith.Tokenizer | None] = [tok, None]

    def full(*_: object, **__: object) -> None:
        raise toksmith.errors.CheckpointError(28, "kept", "No space left on device", learned.pop(0))

    monkeypatch.setattr(toksmith, "train", full)
    result = run("train", text, "-o", tmp_path / "out.toksmith", "--merges", "500", "--checkpoint", tmp_path / "kept")
    assert (result.exit_code, result.stdout) == (1, "")
    saved_as = tmp_path / "out.interrupted.toksmith"
    said = "kept: cannot write the checkpoint: No space left on device; learned so far: 20 merges, saved in"
    assert result.stderr == f"toksmith: {said} {saved_as}\n"
    assert toksmith.load(saved_as) == tok
    result = run("train", text, "-o", tmp_path / "out.toksmith", "--merges", "500", "--checkpoint", tmp_path / "kept")
    assert result.exit_code == 1
    assert "kept: the checkpoint cannot be written: No space left on device; nothing was learned yet" in result.stderr


def interruptible(command: list[str]) -> subprocess.Popen[bytes]:
    """A process that handles Ctrl-C even if the tests run in the background, where child processes ignore it."""
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from toksmith._cli import main; main()"
    assert command[1:3] == ["-m", "toksmith"]
    command = [sys.executable, "-c", code, *command[3:]]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
@needs("proc")
def test_ctrl_c_ends_a_training(tmp_path: Path) -> None:
    out = tmp_path / "out.toksmith"
    command = [sys.executable, "-m", "toksmith", "train", "-o", out, "--merges", "4000000", "--pattern", "none"]
    with interruptible(command) as child:
        assert child.stdin is not None
        child.stdin.write(noise(6_000_000))  # more than a pipe holds, so the child has started to read
        child.stdin.close()
        took = left_s(child, interrupt(child))
        code = child.wait(timeout=LIMIT_S)
        said = child.stderr.read().decode() if child.stderr else ""
    assert code == 130, said
    assert said.startswith("toksmith: ") and "interrupted" in said and "Traceback" not in said
    assert took < 1.5  # processor seconds; the whole training takes about 6
    assert not out.exists()


def noise(size: int) -> bytes:
    """Random bytes, the same at every call."""
    state, parts = 1, []
    for _ in range(size // 8):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        parts.append(state.to_bytes(8, "big"))
    return b"".join(parts)


def test_progress_is_plain_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    train = toksmith.train

    def slow(corpus: Any, **options: Any) -> toksmith.Tokenizer:
        asked.update(options)
        say = options.pop("progress")
        for phase, done, total, elapsed_s in [
            ("counting", 1, None, 1.0),
            ("counting", 2000, None, 60.4),
            ("merging", 3, 9, 121),
        ]:
            if say:
                say(toksmith.types.Progress(phase, done, total, elapsed_s))
        return train(corpus, progress=False, **options)

    monkeypatch.setattr(toksmith, "train", slow)
    result = run("train", "--show-merges", "--merges", "2", stdin=TEXT)
    lines = ["counting: 2,000 bytes after 60 s", "merging: 3 of 9 merges after 121 s"]
    assert result.stderr.splitlines() == [f"toksmith: {line}" for line in lines]
    result = run("train", "--json", "--merges", "2", stdin=TEXT)
    assert json.loads(result.stdout)["symbols"]
    events = [json.loads(line) for line in result.stderr.splitlines()]
    assert [(each["event"], each["phase"], each["done"]) for each in events] == [
        ("progress", "counting", 2000),
        ("progress", "merging", 3),
    ]
    assert run("train", "--json", "--merges", "2", "--quiet", stdin=TEXT).stderr == ""
    assert asked["progress"] is False


# encode, decode


def test_encode_prints_one_line_for_each_file(saved: str, tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_bytes(b"hello world!")
    two.write_bytes(b"in\n")
    line = " ".join(map(str, IDS))
    assert run("encode", one, two, "-t", saved).stdout == f"{line}\n256 10\n"
    assert run("encode", "-t", saved, stdin="hello world!").stdout == f"{line}\n"
    assert run("encode", two, "-", "-t", saved, stdin="in").stdout == "256 10\n256\n"
    result = run("encode", one, "-", "-t", saved, "--json", stdin="")
    assert json.loads(result.stdout) == [{"file": str(one), "ids": IDS}, {"file": "-", "ids": []}]


def test_special_tokens_are_refused_unless_allowed(saved: str) -> None:
    refused(run("encode", "-t", saved, stdin="in<|end|>"), "'<|end|>'")
    assert run("encode", "-t", saved, "--special", "allow", stdin="in<|end|>").stdout == "256 276\n"
    as_text = run("encode", "-t", saved, "--special", "text", stdin="in<|end|>").stdout
    assert as_text == "256 " + " ".join(str(id) for id in toksmith.load(saved).encode("<|end|>", special="text")) + "\n"
    misused(run("encode", "-t", saved, "--special", "perhaps", stdin="in"), "'--special': 'perhaps'")


@pytest.mark.slow
def test_decode_reads_what_encode_writes_byte_for_byte(saved: str) -> None:
    for options in ([], ["--json"]):
        encoded = process("encode", "-t", saved, *options, stdin=BYTES)
        assert encoded.returncode == 0
        decoded = process("decode", "-t", saved, stdin=encoded.stdout)
        assert (decoded.returncode, decoded.stdout, decoded.stderr) == (0, BYTES, b"")


@pytest.mark.parametrize(
    "given",
    ["104 263 108", "104,263,108", "104\n263\n\n108\n", "[104, 263, 108]", "[[104], [263, 108]]", " [104,263,108]\n"],
)
def test_decode_reads_ids_in_several_shapes(given: str, saved: str, tmp_path: Path) -> None:
    assert run("decode", "-t", saved, stdin=given).stdout == "hell"
    path = tmp_path / "ids"
    path.write_text(given, encoding="utf-8")
    assert run("decode", path, "-t", saved).stdout == "hell"


def test_decode_json_is_exact(saved: str) -> None:
    assert json.loads(run("decode", "-t", saved, "--json", stdin="256 255").stdout) == {
        "text": "in\ufffd",
        "hex": "696eff",
    }
    assert run("decode", "-t", saved, stdin="").stdout == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("104\n1o4", "-:2: '1o4' is not an id"),
        ("1.5", "'1.5' is not an id"),
        ("٣", "is not an id"),
        ("9" * 5000, "is not an id"),
        ("[1, 2.5]", "2.5 is not an id"),
        ("[true]", "true is not an id"),
        ('[{"x": 1}]', "null is not an id"),
        ("[1, 2", "not a JSON list of ids"),
        ("277", "277"),
        ("-1", "-1"),
        ("999999999999999999", "999999999999999999"),
        ("[99999999999999999999999]", "out of range"),
    ],
)
def test_decode_refuses_values_that_are_not_ids(given: str, said: str, saved: str) -> None:
    refused(run("decode", "-t", saved, stdin=given), said)


# count, explain text, list encodings


def test_count_prints_the_tokens_of_each_file_and_a_total(saved: str, text: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_bytes(b"in<|end|>\xff")
    tokens = toksmith.load(saved).count(b"in<|end|>\xff")
    assert run("count", text, "-t", saved).stdout.split() == ["186", str(text)]
    lines = [line.split() for line in run("count", text, other, "-t", saved).stdout.splitlines()]
    assert lines == [["186", str(text)], [str(tokens), str(other)], [str(186 + tokens), "total"]]
    found = json.loads(run("count", other, "-t", saved, "--json").stdout)
    row = {"tokens": tokens, "bytes": 10}
    assert found == {"files": [{"file": str(other), **row}], "total": row}


def test_count_gives_each_tokenizer_a_column(saved: str, text: Path, tmp_path: Path) -> None:
    other = str(tmp_path / "other.toksmith")
    toksmith.train("low lower", merges=2).save(other)
    counts = [toksmith.load(path).count(text.read_bytes()) for path in (saved, other)]
    header, line = run("count", text, "-t", saved, "-t", other).stdout.splitlines()
    assert (header.split(), line.split()) == ([saved, other], [*map(str, counts), str(text)])
    result = json.loads(run("count", text, "-t", saved, "-t", other, "--json").stdout)
    assert result["total"]["tokens"] == dict(zip((saved, other), counts, strict=True))
    piped = run("count", "-t", saved, "-t", other, stdin=text.read_bytes())
    assert piped.stdout.splitlines()[1].split() == [*map(str, counts), "-"]


def test_decode_takes_ids_as_arguments(saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = toksmith.load(saved).encode("including")
    for arguments in ([str(id) for id in ids], [",".join(map(str, ids))]):
        assert run("decode", *arguments, "-t", saved).stdout == "including"
    monkeypatch.chdir(tmp_path)
    Path("65").write_text("66", encoding="utf-8")
    assert run("decode", "65", "-t", saved).stdout == "B", "a file that exists comes first"
    misused(run("decode", "65", "x", "-t", saved), "'x' is not an id; give one file, or ids")


def test_a_text_in_place_of_a_file_gets_advice(saved: str) -> None:
    for command in ("encode", "count"):
        misused(run(command, "low lower", "-t", saved), "write --text")
        misused(run(command, "low lower?", "-t", saved), "write --text")


def test_quiet_prints_warnings_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low lower lowest")
    for merges, said in ((3, b""), (99, b"training stopped after ")):
        command = ("train", tmp_path / "a.txt", "--merges", str(merges), "-o", tmp_path / "a.toksmith", "--quiet")
        trained = process(*command)
        assert (trained.returncode, trained.stdout) == (0, b"")
        assert trained.stderr.startswith(said) and trained.stderr.count(b"\n") == bool(said)
    shown = run("train", "--help").stdout
    assert "Print warnings, but no progress and no summary." in " ".join(shown.split())


def test_a_glob_that_the_shell_did_not_expand_names_its_files(saved: str, tmp_path: Path) -> None:
    folder = tmp_path / "my data"
    (folder / "deep").mkdir(parents=True)
    for name in ("a[1].txt", "a1.txt", "a2.txt"):
        (folder / name).write_bytes(b"low" * len(name))
    (folder / "deep" / "r.jsonl").write_bytes(b'{"text": "lower low"}\n')
    one, both = f"{folder}/a[1].txt", f"{folder}/a?.txt"
    assert json.loads(run("count", one, both, "-t", saved, "--json").stdout)["files"] == [
        {"file": one, "tokens": toksmith.load(saved).count("low" * 8), "bytes": 24},
        {"file": both, "tokens": 2 * toksmith.load(saved).count("low" * 6), "bytes": 36},
    ]
    job = run("corpus", "tokenize", f"{folder}/*.txt", f"{folder}/**/*.jsonl", "-t", saved, "-o", tmp_path / "out")
    assert "of 4 documents" in job.stdout, job.output
    trained = run("train", f"{folder}/**/*.jsonl", "--merges", "1", "-o", tmp_path / "new.toksmith", "--quiet")
    assert trained.exit_code == 0 and len(toksmith.load(tmp_path / "new.toksmith").model.merges) == 1
    none = f"{tmp_path}/*.none"
    for command in (
        ["count", none, "-t", saved],
        ["encode", none, "-t", saved],
        ["train", none, "--merges", "1", "-o", str(tmp_path / "none.toksmith")],
        ["corpus", "tokenize", none, "-t", saved, "-o", str(tmp_path / "none")],
    ):
        refused(run(*command), f"{none}: no file matches this glob; check its folder")
    assert not (tmp_path / "none").exists() and not (tmp_path / "none.toksmith").exists()


def lines_of_explain_text(printed: str) -> list[str]:
    """The lines below the title, which takes two where the name of the tokenizer is long."""
    lines = printed.splitlines()
    return lines[next(place for place, line in enumerate(lines) if " bytes per token" in line) :]


def test_explain_text_draws_pieces_and_tokens(saved: str, tmp_path: Path) -> None:
    result = run("explain", "text", "-t", saved, "--text", "including\tus\n é")
    assert (
        "".join(result.stdout.splitlines()[:2])
        .replace(" ", "")
        .startswith(f"piecesandtokensby{saved}".replace(" ", ""))
    )
    assert lines_of_explain_text(result.stdout) == [
        "1 piece, 13 tokens, 15 characters, 16 bytes, 1.23 bytes per token",
        "▏in▏c▏l▏u▏d▏ing▏→▏u▏s▏↵",
        "▏·▏<C3>▏<A9>é",
        "piece            tokens                          ids",
        "including→us↵·é  ▏in▏c▏l▏u▏d▏ing▏→▏u▏s▏↵▏·▏<C3>  256 99 108 117 100 262 9 117",
        "                 ▏<A9>                           115 10 32 195 169",
    ]
    path = tmp_path / "x.txt"
    path.write_bytes(b"in")
    for result in (run("explain", "text", path, "-t", saved), run("explain", "text", "-t", saved, stdin="in")):
        facts, drawn, *_ = lines_of_explain_text(result.stdout)
        assert (facts, drawn) == ("1 piece, 1 token, 2 characters, 2 bytes, 2.00 bytes per token", "▏in")


def test_explain_text_is_80_wide_where_there_is_no_terminal(saved: str) -> None:
    lines = lines_of_explain_text(run("explain", "text", "-t", saved, stdin="x" * 300).stdout)
    assert lines[1:9] == ["▏x" * 40] * 7 + ["▏x" * 20]
    assert max(map(len, lines)) <= 80


def test_explain_text_has_special_tokens_and_json(saved: str) -> None:
    allowed = ("explain", "text", "-t", saved, "--special", "allow")
    assert lines_of_explain_text(run(*allowed, stdin="in<|end|>").stdout)[1] == "▏in▏<|end|>"
    ordinary = run("explain", "text", "-t", saved, stdin="<|end|>").stdout
    assert lines_of_explain_text(ordinary)[1] == "▏<▏|▏en▏d▏|▏>"
    found = json.loads(run(*allowed, "--json", stdin=b"\xff<|end|>").stdout)
    assert (found["bytes"], found["chars"], found["piece_ends"]) == (8, 8, [1, 8])
    byte = {"id": 255, "start": 0, "end": 1, "kind": "byte", "rank": None, "text": "\ufffd", "hex": "ff"}
    end = {"id": 276, "start": 1, "end": 8, "kind": "special", "rank": None, "text": "<|end|>"}
    assert found["tokens"] == [byte, end | {"hex": b"<|end|>".hex()}]


@pytest.mark.slow
def test_a_closed_stdin_and_odd_names_are_reported_on_one_line(tmp_path: Path, saved: Path) -> None:
    command = [sys.executable, "-m", "toksmith", "count", "-t", str(saved)]
    ran = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command], capture_output=True, check=False, timeout=LIMIT_S
    )
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr == b"toksmith: FILE: stdin is closed; give a file (see toksmith count --help)\n"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for name, said in (("w\u00edth\u2600", "w\u00edth\u2600"), ("two\nlines", "two\\nlines")):
        ran = subprocess.run([*command, name], capture_output=True, check=False, timeout=LIMIT_S, env=environment)
        assert ran.stderr.decode() == f"toksmith: {said}: No such file or directory\n"


def test_list_encodings_prints_every_name() -> None:
    assert run("list", "encodings").stdout.splitlines() == list(toksmith.encodings())
    assert json.loads(run("list", "encodings", "--json").stdout) == list(toksmith.encodings())
    assert "cl100k_base" in toksmith.encodings()


# Tokenizers by name and file; errors


def test_options_complete_a_tiktoken_file(tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    tok = toksmith.train(TEXT, merges=5, pattern="gpt2")
    tok.save(path, allow_loss=("splitters",))
    misused(run("encode", "-t", path, stdin="in"), "--pattern is missing")
    options = ["--pattern", "gpt2", "--special-token", "<|=|>=300"]
    assert run("encode", "-t", path, *options, "--special", "allow", stdin="in<|=|>").stdout == "257 300\n"
    raw = run("encode", "-t", path, "--pattern", "none", stdin="in").stdout
    assert raw == "257\n"


@pytest.mark.slow
def test_refusals_are_one_line_and_debug_shows_the_traceback(saved: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing.txt"
    refused(run("count", missing, "-t", saved), f"{missing}: No such file or directory")
    refused(run("count", tmp_path, "-t", saved, "--raw"), f"{tmp_path}: Is a directory")
    misused(run("count", missing, "-t", "cl100k_bose"), "did you mean 'cl100k_base'")
    refused(process("count", missing, "-t", saved), "No such file or directory")
    broken = tmp_path / "broken.toksmith"
    broken.write_bytes(b"not a tokenizer")
    refused(run("count", "-t", broken, stdin=""), "broken.toksmith")
    debugged = process("count", missing, "-t", saved, "--debug")
    assert debugged.returncode == 1
    assert b"Traceback" in debugged.stderr
    assert debugged.stderr.endswith(b"missing.txt: No such file or directory\n")


def test_an_unexpected_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object, **__: object) -> None:
        raise RuntimeError("first\nsecond")

    monkeypatch.setattr(toksmith, "load", load)
    refused(run("count", "-t", "x", stdin=""), "unexpected RuntimeError: first second (--debug shows where)")


@pytest.mark.slow
@needs("proc")
def test_ctrl_c_while_reading_exits_130(saved: str) -> None:
    command = [sys.executable, "-m", "toksmith", "encode", "-t", saved]
    with interruptible(command) as child:
        assert child.stdin is not None
        child.stdin.write(b"x" * 1_000_000)  # more than a pipe holds, so the child has started to read
        child.stdin.flush()
        # A signal between two reads of one call takes effect after the second: wait until the pipe is empty.
        until(lambda: unread(child.stdin) == 0 and is_asleep(child), "the child waits for more")
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=LIMIT_S) == 130
        assert child.stderr is not None
        assert child.stderr.read() == b"toksmith: interrupted\n"


def unread(pipe: IO[bytes]) -> int:
    """The number of unread bytes in a pipe."""
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.slow
@needs("posix")
def test_a_reader_that_leaves_is_not_an_error(saved: str, tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    big.write_bytes(b"hello\n" * 50_000)
    for command, unbuffered in itertools.product(
        (["encode", str(big)], ["explain", "text", "--quiet", str(big)]), ("", "1")
    ):
        arguments = [sys.executable, "-m", "toksmith", *command, "-t", saved]
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            child.stdout.read(10)
            child.stdout.close()
            assert child.stderr.read() == b""
            assert child.wait(timeout=LIMIT_S) == 0


@pytest.mark.slow
@pytest.mark.parametrize("locale", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}])
def test_output_is_utf8_on_any_locale(locale: dict[str, str], saved: str, tmp_path: Path) -> None:
    shown = process("explain", "text", "-t", saved, stdin="é न".encode(), **locale)
    assert shown.returncode == 0, shown.stderr
    assert lines_of_explain_text(shown.stdout.decode())[1] == "▏<C3>▏<A9>é▏·▏<E0>▏<A4>▏<A8>न"
    path = tmp_path / "naïve.txt"
    path.write_bytes(b"in")
    counted = process("count", path, "-t", saved, **locale)
    assert counted.stdout.decode().split() == ["1", str(path)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trian"], "There is no command 'trian'. Did you mean 'toksmith train'?"),
        (["xyzzy"], "There is no command 'xyzzy'. Expected one of train, encode, "),
        (["explain", "foo"], "There is no command 'explain foo'. Expected one of text, merges, steps, "),
        (["explain", "tex"], "There is no command 'explain tex'. Did you mean 'toksmith explain text'?"),
        (["corpus", "shards"], "Did you mean 'toksmith corpus show'?"),
        (["corpus", "show-shards"], "There is no command 'corpus show-shards'. "),
        (["corpus", "trian"], "There is no command 'corpus trian'. Did you mean 'toksmith train'?"),
        (["list", "model"], "Did you mean 'toksmith list models'?"),
        (["encode", "x.txt"], "TOKSMITH_TOKENIZER"),
        (["encode", "-t", "gpt2", "--frobnicate"], "No such option '--frobnicate'"),
        (["train", "--vocab-size", "many"], "'--vocab-size': 'many'"),
        (["train", "x.txt"], "-o is missing; give a file for the tokenizer"),
        (["explain", "text", "x.txt", "-t", "gpt2", "--text", "y"], "not both"),
        (["encode", "-t", "x.tiktoken", "--special-token", "<|end|>"], "TOKEN=ID"),
        (["encode", "-t", "x.tiktoken", "--special-token", "<|end|>=-1"], "TOKEN=ID"),
    ],
)
def test_usage_errors_exit_2(arguments: list[str], said: str) -> None:
    misused(run(*arguments, stdin=""), said)
