"""Published encodings: the rows, the caches, and the download from a local server."""

import base64
import hashlib
import json
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from processors import LIMIT_S
from systems import needs, require

import toksmith
from toksmith._base import system as _system
from toksmith._formats import texts
from toksmith._sources import encodings
from toksmith._sources.encodings import Published
from toksmith.errors import DownloadError, InvalidOption

DATA = b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(
    [*(bytes([byte]) for byte in range(256)), b"lo", b"low"]
))  # fmt: skip
DIGEST = hashlib.sha256(DATA).hexdigest()
SPECIAL = {"<|end|>": 300}
TEXT = "low lo<|end|>"
IDS = [257, 32, 256, 300]


@dataclass
class Server:
    """The answer of the server, and the requested paths."""

    port: int = 0
    body: bytes = DATA
    status: int = 200
    length: int | None = None  # the header's value; None for the true length
    together: threading.Barrier | None = None  # answers wait here for its number of requests
    paths: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/encodings/tiny.tiktoken"


@pytest.fixture
def server() -> Iterator[Server]:
    answers = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers.paths.append(self.path)
            if answers.together is not None:
                answers.together.wait(LIMIT_S)
            self.send_response(answers.status)
            self.send_header("Content-Length", str(answers.length or len(answers.body)))
            self.end_headers()
            self.wfile.write(answers.body)

        def log_message(self, *arguments: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    answers.port = http.server_port
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield answers
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our cache folder, which does not exist yet; tiktoken's is `tiktoken` next to it."""
    monkeypatch.setenv("TOKSMITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    return tmp_path / "cache"


@pytest.fixture
def tiny(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """A published encoding whose file is on the server."""
    row = Published("tiny", server.url, DIGEST, "gpt2", SPECIAL)
    monkeypatch.setitem(encodings.ENCODINGS, "tiny", row)
    return row.name


def test_the_file_is_downloaded_once(server: Server, cache: Path, tiny: str, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert toksmith.load(tiny).encode(TEXT, special="allow") == IDS
    assert server.paths == ["/encodings/tiny.tiktoken"]
    assert [path.name for path in cache.iterdir()] == ["tiny.tiktoken"]
    assert (cache / "tiny.tiktoken").read_bytes() == DATA
    assert capfd.readouterr() == ("", "")  # the progress bar is for terminals


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "TMPDIR"])
def test_tiktokens_cache_comes_second(
    variable: str, server: Server, cache: Path, tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "other"
    if variable == "TMPDIR":
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        folder = tmp_path / "data-gym-cache"
    else:
        monkeypatch.setenv(variable, str(folder))
    folder.mkdir()
    (folder / hashlib.sha1(server.url.encode()).hexdigest()).write_bytes(DATA)
    assert toksmith.load(tiny).encode(TEXT, special="allow") == IDS
    assert server.paths == []
    assert not cache.exists()


def test_tiktokens_empty_name_means_no_folder(cache: Path, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert [*encodings.cache_paths(encodings.ENCODINGS[tiny])] == [str(cache / "tiny.tiktoken")]


def test_a_wrong_file_in_a_cache_is_skipped(
    server: Server, cache: Path, tiny: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    theirs = tmp_path / "tiktoken" / hashlib.sha1(server.url.encode()).hexdigest()
    for place in (cache / "tiny.tiktoken", theirs):
        place.parent.mkdir()
        place.write_bytes(b"YQ== 0\n")
    with caplog.at_level(logging.WARNING, "toksmith"):
        assert toksmith.load(tiny).encode(TEXT, special="allow") == IDS
    assert [record.args[0] for record in caplog.records if isinstance(record.args, tuple)] == [
        str(cache / "tiny.tiktoken"),
        str(theirs),
    ]
    assert server.paths == ["/encodings/tiny.tiktoken"]
    assert (cache / "tiny.tiktoken").read_bytes() == DATA
    assert theirs.read_bytes() == b"YQ== 0\n"  # the file belongs to tiktoken


def problem_of_download(tiny: str, cache: Path, server: Server) -> str:
    """The problem of a failed download, whose error gives advice and leaves no file in the cache."""
    with pytest.raises(DownloadError) as caught:
        toksmith.load(tiny)
    error = caught.value
    target = cache / "tiny.tiktoken"
    assert (error.url, error.expected, error.target) == (server.url, DIGEST, str(target))
    for part in (server.url, DIGEST, str(target), "TOKSMITH_CACHE"):
        assert part in str(error)
    assert not cache.exists() or list(cache.iterdir()) == []
    return error.problem


def test_a_wrong_file_from_the_server_is_refused(server: Server, cache: Path, tiny: str) -> None:
    server.body = DATA + b"YWI= 258\n"
    problem = problem_of_download(tiny, cache, server)
    assert hashlib.sha256(server.body).hexdigest() in problem
    server.body = DATA
    assert toksmith.load(tiny).encode(TEXT, special="allow") == IDS


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"body": DATA[:1000], "length": len(DATA)}, "download failed"),
        ({"body": DATA[:1000]}, "1000 bytes"),
        ({"status": 404}, "404"),
        ({"status": 500}, "500"),
    ],
)
def test_a_bad_answer_is_an_error(answer: dict[str, Any], said: str, server: Server, cache: Path, tiny: str) -> None:
    vars(server).update(answer)
    assert said in problem_of_download(tiny, cache, server)


def test_without_a_network_the_error_names_the_file_and_its_place(
    server: Server, cache: Path, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        server.port = closed.getsockname()[1]
    monkeypatch.setitem(encodings.ENCODINGS, "tiny", Published("tiny", server.url, DIGEST, "gpt2", SPECIAL))
    assert "download failed" in problem_of_download(tiny, cache, server)
    cache.mkdir()
    (cache / "tiny.tiktoken").write_bytes(DATA)
    assert toksmith.load(tiny).encode(TEXT, special="allow") == IDS


def test_without_pooch_the_error_names_the_extra(
    server: Server, cache: Path, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert "pip install toksmith[download]" in problem_of_download(tiny, cache, server)
    assert server.paths == []


def test_a_cache_that_cannot_be_written_is_no_error(
    server: Server, cache: Path, tiny: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache.write_text("a file where a folder is due", encoding="utf-8")
    with caplog.at_level(logging.WARNING, "toksmith"):
        assert toksmith.load(tiny).encode(TEXT, special="allow") == IDS
    assert "could not be kept" in caplog.text


SCRIPT = """
import json, sys
import toksmith
from toksmith._sources.encodings import ENCODINGS, Published
url, digest = sys.argv[1:]
ENCODINGS["tiny"] = Published("tiny", url, digest, "gpt2", {"<|end|>": 300})
print(json.dumps(toksmith.load("tiny").encode("low lo<|end|>", special="allow")))
"""


@pytest.mark.slow
def test_three_processes_download_at_once(server: Server, cache: Path) -> None:
    server.together = threading.Barrier(3)
    command = [sys.executable, "-c", SCRIPT, server.url, DIGEST]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") for _ in range(3)]
    assert [json.loads(process.communicate()[0]) for process in running] == [IDS] * 3
    assert len(server.paths) == 3
    assert [path.name for path in cache.iterdir()] == ["tiny.tiktoken"]
    assert (cache / "tiny.tiktoken").read_bytes() == DATA


@pytest.mark.slow
@needs("terminals")
def test_a_terminal_gets_a_progress_bar(server: Server, cache: Path) -> None:
    import pty

    reading, writing = pty.openpty()
    command = [sys.executable, "-c", SCRIPT, server.url, DIGEST]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writing, encoding="utf-8") as process:
        out, _ = process.communicate()
    os.close(writing)
    with open(reading, "rb", buffering=0) as terminal:
        shown = terminal.read(1 << 16)
    assert json.loads(out) == IDS
    assert b"tiny.tiktoken" in shown
    assert b"100%" in shown or b"kB" in shown


def test_the_default_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TOKSMITH_CACHE", raising=False)
    for system, variable, expected in (
        (_system.Posix, "XDG_CACHE_HOME", tmp_path / "toksmith"),
        (_system.Windows, "LOCALAPPDATA", tmp_path / "toksmith" / "cache"),
        (_system.MacOS, None, Path.home() / "Library" / "Caches" / "toksmith"),
    ):
        monkeypatch.setattr(encodings, "SYSTEM", system())
        if variable:
            monkeypatch.setenv(variable, str(tmp_path))
        assert encodings.cache_folder() == str(expected)
    monkeypatch.setattr(encodings, "SYSTEM", _system.Posix())
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert encodings.cache_folder() == str(Path.home() / ".cache" / "toksmith")
    monkeypatch.setenv("TOKSMITH_CACHE", "")
    assert encodings.cache_folder() == str(Path.home() / ".cache" / "toksmith")


@pytest.mark.parametrize("argument", [{"pattern": None}, {"special_tokens": {}}, {"format": "tiktoken"}])
def test_a_published_encoding_takes_no_arguments(cache: Path, tiny: str, argument: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="the published encoding 'tiny'") as caught:
        toksmith.load(tiny, **argument)
    assert caught.value.argument in argument


def test_a_name_is_an_encoding_and_a_path_is_a_file(cache: Path, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir()
    (cache / "tiny.tiktoken").write_bytes(DATA)
    monkeypatch.chdir(cache)
    toksmith.train("low", merges=1).save("tiny", format="native")
    assert toksmith.load("tiny").vocab_size == 301
    for path in (Path("tiny"), "./tiny"):
        assert toksmith.load(path).vocab_size == 257


# The rows


def test_the_names_equal_tiktoken() -> None:
    names = ["gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"]
    assert toksmith.encodings() == names
    for name, row in encodings.ENCODINGS.items():
        assert row.name == name
        assert row.pattern in toksmith.patterns()


@pytest.mark.parametrize("name", toksmith.encodings())
def test_a_row_equals_tiktoken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0 (tests/requirements.txt)")
    openai_public = pytest.importorskip("tiktoken_ext.openai_public")
    files: list[tuple[str, str]] = []
    monkeypatch.setattr(
        openai_public, "load_tiktoken_bpe", lambda url, expected_hash: files.append((url, expected_hash))
    )
    monkeypatch.setattr(openai_public, "data_gym_to_mergeable_bpe_ranks", lambda **files: None)
    facts = openai_public.ENCODING_CONSTRUCTORS[name]()
    row = encodings.ENCODINGS[name]
    assert files == ([] if name == "gpt2" else [(row.url, row.sha256)])
    assert row.special_tokens == facts["special_tokens"]
    assert toksmith.patterns()[row.pattern].regexes == (facts["pat_str"],)


@pytest.fixture
def filled_cache(cache: Path, vocab_dir: Path) -> Path:
    """Our cache with the published files."""
    require("links")
    cache.mkdir()
    for path in vocab_dir.glob("*_base.tiktoken"):
        (cache / path.name).symlink_to(path)
    return cache


@pytest.mark.slow
def test_gpt2_equals_its_own_two_files(filled_cache: Path, vocab_dir: Path) -> None:
    load = pytest.importorskip("tiktoken.load", reason="lacks tiktoken (tests/requirements.txt)")
    files = {"vocab_bpe_file": str(vocab_dir / "vocab.bpe"), "encoder_json_file": str(vocab_dir / "encoder.json")}
    ranks = load.data_gym_to_mergeable_bpe_ranks(**files)
    model = toksmith.load("gpt2").model
    assert dict(zip(model.tokens, model.ids.tolist(), strict=True)) == ranks
    merges = model.vocab.recover_merges()
    lines = (vocab_dir / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:-1]
    by_id = {id: token for token, id in ranks.items()}
    spelt = [[texts.to_gpt2_alphabet(by_id[id]) for id in pair] for pair in merges[:, :2].tolist()]
    assert spelt == [line.split(" ") for line in lines]
    assert merges[:, 2].tolist() == list(range(256, 50256))


def test_a_file_in_the_cache_needs_no_server(server: Server, cache: Path, tiny: str) -> None:
    cache.mkdir()
    (cache / "tiny.tiktoken").write_bytes(DATA)
    assert toksmith.load(tiny).encode(TEXT, special="allow") == IDS
    assert server.paths == []


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"])
def test_a_published_file_is_known_by_its_content(
    name: str, filled_cache: Path, vocab_dir: Path, tmp_path: Path
) -> None:
    renamed = tmp_path / "mine.txt"
    renamed.write_bytes((vocab_dir / f"{name}.tiktoken").read_bytes())
    tok = toksmith.load(renamed)
    assert tok == toksmith.load(name)
    assert tok.special_tokens == toksmith.load(name).special_tokens
    assert toksmith.load(renamed, special_tokens={}).special_tokens == {}
    assert toksmith.load(renamed, pattern=None) != tok
    renamed.write_bytes(renamed.read_bytes() + b"\n")
    with pytest.raises(InvalidOption, match="pattern= is missing"):
        toksmith.load(renamed)
