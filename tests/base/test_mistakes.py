"""The most likely mistakes in the shell: each one's exit code and a part of its message, and that commands print no Python."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_line import misused, refused

import toksmith
from toksmith import _cli

# A command, its exit code (2: wrong usage, where the message ends with a hint at the help), and a part of its one line on stderr.
SHELL = [
    ("coutn text.txt", 2, "Did you mean 'toksmith count'?"),
    ("--nope", 2, "'--nope'"),
    ("count text.txt", 2, "TOKSMITH_TOKENIZER"),
    ("count --quit -t tok.toksmith", 2, "--quiet"),
    ("count -t", 2, "requires an argument"),
    ("count missing.txt -t tok.toksmith", 1, "missing.txt: No such file or directory"),
    ("count txt.txt -t tok.toksmith", 1, "did you mean 'text.txt'?"),
    ("count text.txt -t gpt-4oo", 2, "did you mean 'gpt-4o'"),
    ("count text.txt -t tok.toksmit", 1, "did you mean tok.toksmith?"),
    ("count - - -t tok.toksmith", 2, "FILE: '-' is given twice"),
    ("count '' -t tok.toksmith", 2, "FILE: the name of a file is empty"),
    ("encode text.txt -t tok.toksmith -t tok.tiktoken", 2, "'count' and 'compare' take several"),
    ("count -t cl100k text.txt", 2, "--tokenizer: there is no tokenizer or file named 'cl100k'; did you mean"),
    ("play gtp2", 2, "TOKENIZER: there is no tokenizer"),
    ("convert gtp2 x.toksmith", 2, "SOURCE: there is no tokenizer"),
    ("count -t text.txt text.txt", 1, "'toksmith list formats' lists all"),
    ("count -t folder text.txt", 1, "'toksmith list formats' lists all"),
    ("count -t tok.tiktoken text.txt", 2, "--pattern is missing"),
    ("count -t tok.tiktoken --pattern '(' text.txt", 2, "--pattern: expected a regex"),
    ("count folder -t tok.toksmith --raw", 1, "folder: Is a directory"),
    ("count rows.jsonl -t tok.toksmith", 1, "name the field with --field"),
    ("count text.txt --text x -t tok.toksmith", 2, "--text: give a file or a text, not both"),
    ("encode p.png -t tok.toksmith", 1, "read its bytes with --raw"),
    ("encode text.txt -t tok.toksmith", 1, "--special text encodes it as ordinary text"),
    ("encode text.txt -t tok.toksmith --special allowed", 2, "'--special'"),
    ("encode text.txt -t tok.toksmith --append x", 2, "--append requires -o"),
    ("encode text.txt -t tok.toksmith --threads 0", 2, "--threads: expected from 1"),
    ("encode text.txt -t tok.toksmith --threads many", 2, "'--threads'"),
    ("explain text good.jsonl -t tok.toksmith", 1, "choose one with --row N"),
    ("explain text good.jsonl -t tok.toksmith --row -1", 2, "--row: expected at least 0"),
    ("encode text.txt -t tok.tiktoken --special-token '<|end|>'", 2, "TOKEN=ID"),
    ("encode text.txt -t tok.tiktoken --special-token '<|end|>=-1'", 2, "TOKEN=ID"),
    ("decode text.txt -t tok.toksmith", 1, "text.txt:1: 'low' is not an id"),
    ("decode -t tok.toksmith text.txt text.txt", 2, "text.txt"),
    ("explain differences text.txt -t tok.toksmith -t tok.toksmith", 2, "--tokenizer: give two or more"),
    ("explain inference text.txt -t tok.toksmith -t tok.toksmith", 2, "--tokenizer is given twice"),
    ("explain steps empty.txt", 1, "empty.txt: expected 1 to"),
    ("explain text -t tok.toksmith --text low --svg x.png", 2, "--svg: expected a name that ends in .svg"),
    ("train text.txt", 2, "-o is missing"),
    ("train text.txt --vocab-size 32k -o x.toksmith", 2, "'--vocab-size'"),
    ("train text.txt --vocab-size 3 -o x.toksmith", 2, "--vocab-size: expected at least 256"),
    ("train text.txt --kind words --byte-fallback -o x.toksmith", 2, "--byte-fallback: expected the default"),
    ("train text.txt --max-memory 3X --merges 3 -o x.toksmith", 2, "--max-memory: '3X' is not a size"),
    ("train text.txt --sweep 300,400 -o x.toksmith", 2, "--sweep requires --held-out"),
    ("convert tok.toksmith", 2, "TARGET"),
    ("convert tok.toksmith x.unknown", 1, "give --to, or a name"),
    ("convert tok.toksmith x.out --to nope", 2, "'toksmith list formats' lists them"),
    ("convert text.txt y.toksmith", 1, "--from"),
    ("compare en= -t tok.toksmith", 2, "FILE: expected NAME=FILE or FILE"),
    (
        "compare en=text.txt fr=empty.txt -t tok.toksmith --reference de",
        2,
        "--reference: expected one of the languages",
    ),
    ("corpus count text.txt -o counts.json", 2, "write DIR/ for a job of shards"),
    ("corpus tokenize text.txt -o out", 2, "--tokenizer is missing"),
    ("corpus tokenize -t tok.toksmith -o out", 2, "FILE is missing"),
    ("corpus tokenize text.txt -t tok.toksmith -o out --to megatron-lm", 2, "--to: there is no format"),
    ("corpus tokenize text.txt -t tok.toksmith -o out --part 3/2", 2, "--part: expected I from 0 to 1"),
    ("corpus status folder", 1, "plan a job with `toksmith corpus tokenize`"),
    ("trian", 2, "Did you mean 'toksmith train'?"),
    ("measure text.txt", 2, "Did you mean 'toksmith compare'?"),
    ("tokenize text.txt", 2, "Did you mean 'toksmith corpus tokenize'?"),
    ("detokenize text.txt", 2, "'toksmith decode'"),
    ("--completion tcsh", 2, "'fish'"),
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of the wrong and of the right kinds."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "folder").mkdir()
    (folder / "texts").mkdir()
    texts = {
        "text.txt": "low lower lowest <|end|>",
        "empty.txt": "",
        "rows.jsonl": '{"text": "low"}\n{"body": 3}\n',
        "good.jsonl": '{"text": "low"}\n{"text": "lower"}\n',
        "a.zip": "PK\x03\x04xx",
        "p.png": "low",
        "texts/1.txt": "low",
        "texts/2.txt": "lower",
        "x.json": '{"a":1}',
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    toksmith.train("low lower lowest", merges=3, special_tokens=["<|end|>"]).save(folder / "tok.toksmith")
    toksmith.train("low lower lowest", merges=3).save(folder / "tok.tiktoken", allow_loss=["splitters"])
    toksmith.train("low lower lowest", merges=3, unit="char").save(folder / "char.toksmith")
    return folder


@pytest.fixture
def inside(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(here)
    monkeypatch.delenv("TOKSMITH_TOKENIZER", raising=False)
    return here


@pytest.mark.parametrize(("command", "code", "advice"), SHELL, ids=[row[0] for row in SHELL])
def test_a_mistake_in_the_shell_is_refused_on_one_line(command: str, code: int, advice: str, inside: Path) -> None:
    before = sorted(path.name for path in inside.iterdir())
    result = CliRunner().invoke(_cli.app, shlex.split(command), input="low lower", prog_name="toksmith")
    (misused if code == 2 else refused)(result, advice)
    assert not any(word in result.stderr for word in ("UNSET", "=<", "format=", "field=", "None", "toksmith."))
    assert sorted(path.name for path in inside.iterdir()) == before


PYTHON = ("=<", "='", "vocab_size=", "None", "load()", "decode([", "toksmith.")


def test_commands_print_no_python(inside: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "new")
    for command in (
        ["train", "text.txt", "--vocab-size", "258", "-o", f"{out}.toksmith"],
        ["train", "text.txt", "--merges", "2", "-o", f"{out}.toksmith"],
        ["list", "formats"],
        ["list", "formats", "--json"],
        ["tour", "text.txt"],
        ["convert", "tok.toksmith", f"{out}.toksmith"],
        ["corpus", "tokenize", "text.txt", "-t", "tok.toksmith", "--special", "text", "-o", out],
        ["corpus", "status", out],
        ["corpus", "show", out],
        ["corpus", "verify", out],
        ["--completion", "fish"],
    ):
        result = CliRunner().invoke(_cli.app, command, prog_name="toksmith")
        said = result.stdout.replace("tok.toksmith", "").replace("toksmith's", "")
        assert result.stdout and not [word for word in PYTHON if word in said], (command, said)
