"""`load` of names of models and of repositories, with a local server in place of the Hugging Face hub.

`huggingface_hub` reads the address of the hub at import, so each load has a separate process.
"""

import hashlib
import json
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
from urllib.parse import unquote, urlsplit

import pytest
from command_line import process, refused

import toksmith
from toksmith._sources.encodings import encoding_of
from toksmith._sources.hub import CHOICES, choose_files, hub_name
from toksmith.errors import DownloadError, InvalidOption, UnknownName

COMMIT = "1234567890" * 4
SECRET = "hf_" + "secret" * 6
TOK = toksmith.train("low lower lowest", merges=3, pattern="gpt2")
TEXT = "lower <|x|>"


def bytes_of(path: Path, format: str) -> bytes:
    TOK.save(path / "file", format=format)
    return (path / "file").read_bytes()


@dataclass
class Hub:
    """The files of the repository `org/name`, and the requests to the server."""

    files: dict[str, bytes] = field(default_factory=dict)
    port: int = 0
    status: int = 200
    code: str = ""  # of the error, in the header that the hub sends
    asked: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    files_status: int = 200
    silent: bool = False  # until the end of the test
    ends: threading.Event = field(default_factory=threading.Event)

    def answer(self, path: str) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers."""
        if self.status != 200:
            return self.status, b"{}", {"X-Error-Code": self.code}
        parts = [part for part in path.split("/") if part]
        if parts[:2] == ["api", "models"] and "tree" in parts:
            tree = [
                {"type": "file", "path": name, "size": len(body), "oid": COMMIT} for name, body in self.files.items()
            ]
            return 200, json.dumps(tree).encode(), {"Content-Type": "application/json"}
        if parts[:2] == ["api", "models"]:
            about = {"_id": "1", "id": "org/name", "modelId": "org/name", "sha": COMMIT, "private": False}
            about |= {"siblings": [{"rfilename": name} for name in self.files], "tags": [], "downloads": 0}
            return 200, json.dumps(about).encode(), {"Content-Type": "application/json"}
        if (name := "/".join(parts[4:])) not in self.files:
            return 404, b"", {"X-Error-Code": "EntryNotFound"}
        if self.files_status != 200:
            return self.files_status, b"", {}
        body = self.files[name]
        return 200, body, {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha1(body).hexdigest()}"'}


@pytest.fixture
def hub() -> Iterator[Hub]:
    found = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            found.asked.append(f"{self.command} {path}")
            found.tokens.add(self.headers.get("Authorization", ""))
            if found.silent:
                found.ends.wait()
                return
            status, body, headers = found.answer(path)
            headers |= {"X-HF-Warning": "topic; a line of another program"}
            self.send_response(status)
            for name, value in (headers | {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *arguments: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.port = http.server_port
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield found
    found.ends.set()
    http.shutdown()
    thread.join()
    http.server_close()


CHILD = """
import json, logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
logging.getLogger("httpx").setLevel(logging.WARNING)
logging.getLogger("httpx2").setLevel(logging.WARNING)
import toksmith
try:
    tok = toksmith.load(sys.argv[1], **json.loads(sys.argv[2]))
    print(json.dumps({"ids": tok.encode(sys.argv[3], special="text")}))
except toksmith.ToksmithError as error:
    print(json.dumps({"error": type(error).__name__, "said": str(error)}))
"""


def load_in_child(
    hub: Hub, home: Path, source: str = "org/name", offline: bool = False, **options: object
) -> dict[str, Any]:
    """The output and the log of a process that loads the source."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    env |= {"HF_ENDPOINT": f"http://127.0.0.1:{hub.port}", "HF_HOME": str(home), "HF_TOKEN": SECRET}
    env |= {"HF_HUB_OFFLINE": "1"} if offline else {}
    command = [sys.executable, "-c", CHILD, source, json.dumps(options), TEXT]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert SECRET not in ran.stdout + ran.stderr
    return {"log": ran.stderr, **json.loads(ran.stdout)}


IDS = TOK.encode(TEXT, special="text")


@pytest.mark.slow
def test_a_repository_is_downloaded_once_and_then_read_from_the_cache(hub: Hub, tmp_path: Path) -> None:
    hub.files = {"README.md": b"", "tokenizer.json": bytes_of(tmp_path, "tokenizer_json"), "tekken.json": b"not read"}
    first = load_in_child(hub, tmp_path / "home")
    assert first["ids"] == IDS
    assert f"org/name: the tokenizer is tokenizer.json of revision {COMMIT}" in first["log"]
    assert not any("tekken" in path or "README" in path for path in hub.asked)
    assert f"Bearer {SECRET}" in hub.tokens
    count = len(hub.asked)
    for offline in (False, True):
        assert load_in_child(hub, tmp_path / "home", offline=offline)["ids"] == IDS
    assert len(hub.asked) == count


@pytest.mark.slow
def test_a_revision_has_separate_files(hub: Hub, tmp_path: Path) -> None:
    hub.files = {"tokenizer.json": bytes_of(tmp_path, "tokenizer_json")}
    assert load_in_child(hub, tmp_path / "home", "org/name@v1.0")["ids"] == IDS
    assert any("v1.0" in path for path in hub.asked)
    assert load_in_child(hub, tmp_path / "home", offline=True, revision="v1.0")["ids"] == IDS
    assert "forbids the network" in load_in_child(hub, tmp_path / "home", offline=True)["said"]
    said = load_in_child(hub, tmp_path / "home", "org/name@v1.0", revision="v2.0")
    assert said["error"] == "InvalidOption" and "names a revision already" in said["said"]


@pytest.mark.slow
def test_files_that_belong_together_are_downloaded_together(hub: Hub, tmp_path: Path) -> None:
    TOK.save(tmp_path, format="gpt2")
    hub.files = {name: (tmp_path / name).read_bytes() for name in ("vocab.json", "merges.txt")}
    assert load_in_child(hub, tmp_path / "home")["ids"] == IDS


@pytest.mark.slow
def test_a_cache_of_other_programs_is_read(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "hub" / "models--org--name"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT, encoding="utf-8")
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    (folder / "snapshots" / COMMIT / "tokenizer.json").write_bytes(bytes_of(tmp_path, "tokenizer_json"))
    assert load_in_child(hub, tmp_path / "home")["ids"] == IDS and hub.asked == []


REFUSED = [
    (401, "GatedRepo", "access is restricted"),
    (401, "RepoNotFound", "no such file and no such repository"),
    (404, "RepoNotFound", "no such file and no such repository"),
    (404, "RevisionNotFound", "the repository has no revision"),
    (418, "", "the server answered 418"),
]


@pytest.mark.slow
@pytest.mark.parametrize("status, code, expected", REFUSED)
def test_a_refusal_has_its_reason(status: int, code: str, expected: str, hub: Hub, tmp_path: Path) -> None:
    hub.status, hub.code = status, code
    said = load_in_child(hub, tmp_path / "home")
    assert said["error"] == "DownloadError" and expected in said["said"]
    assert said["said"].startswith(f"http://127.0.0.1:{hub.port}/org/name: ")


def count_in_shell(hub: Hub, home: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    about = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.port}", "HF_HOME": str(home), "HF_HUB_OFFLINE": "0", **more}
    return process("count", "-t", "org/name", stdin=b"low", **about)


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_a_failed_request_is_not_repeated_and_prints_one_line(status: int, hub: Hub, tmp_path: Path) -> None:
    hub.status = status
    refused(count_in_shell(hub, tmp_path), "/org/name: ")
    assert [path for path in hub.asked if "name" in path] == ["GET /api/models/org/name"]


@pytest.mark.slow
def test_a_failed_file_is_not_asked_for_again(hub: Hub, tmp_path: Path) -> None:
    hub.files, hub.files_status = {"tokenizer.json": b"{}"}, 500
    refused(count_in_shell(hub, tmp_path), "the server answered 500")
    assert [path for path in hub.asked if "tokenizer" in path] == ["HEAD /org/name/resolve/main/tokenizer.json"]


@pytest.mark.slow
def test_a_server_that_never_answers_prints_one_line(hub: Hub, tmp_path: Path) -> None:
    hub.silent = True
    refused(count_in_shell(hub, tmp_path, HF_HUB_ETAG_TIMEOUT="1"), "Timeout")
    assert len([path for path in hub.asked if "name" in path]) <= 1


@pytest.mark.slow
def test_a_closed_port_prints_one_line(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        refused(count_in_shell(Hub(port=closed.getsockname()[1]), tmp_path), "the download failed (ConnectError)")


@pytest.mark.slow
def test_a_download_prints_no_line_of_the_library(hub: Hub, tmp_path: Path) -> None:
    hub.files = {"tokenizer.json": bytes_of(tmp_path, "tokenizer_json")}
    ran = count_in_shell(hub, tmp_path / "home")
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_an_unreachable_server_is_a_download_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*arguments: object, **options: object) -> list[str]:
        raise ConnectionError(f"https://user:{SECRET}@example.org")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", away)
    with pytest.raises(DownloadError, match=r"the download failed \(ConnectionError\)") as caught:
        toksmith.load("org/name")
    assert SECRET not in str(caught.value)


@pytest.mark.slow
def test_a_repository_without_a_tokenizer_is_refused(hub: Hub, tmp_path: Path) -> None:
    hub.files = {"model.safetensors": b"", "sub/tokenizer.json": b""}
    assert "holds no file of a tokenizer; expected one of" in load_in_child(hub, tmp_path / "home")["said"]


def test_the_first_choice_counts() -> None:
    everything = [
        "vocab.txt",
        "merges.txt",
        "vocab.json",
        "qwen.tiktoken",
        "spiece.model",
        "tokenizer.model",
        "tekken.json",
    ]
    everything += ["tokenizer.json", "own.toksmith"]
    order = []
    while names := choose_files(everything, "org/name"):
        order.append(tuple(names))
        everything = [name for name in everything if name not in names]
    assert len(order) == len(CHOICES) and everything == []
    assert order[:4] == [("own.toksmith",), ("tokenizer.json",), ("tekken.json",), ("tokenizer.model",)]
    with pytest.raises(
        toksmith.errors.FormatError, match=r"holds a\.model and b\.model; download the file that you mean"
    ):
        choose_files(["a.model", "b.model"], "org/name")


def test_paths_are_not_repositories() -> None:
    for name in ("name", "a/b/c", "./name", "../name", "/name", "data/tokenizer.json", "a/b.model", "a b/c", "a/"):
        assert hub_name(name) is None
    assert hub_name("Qwen/Qwen2.5-7B") == ("Qwen/Qwen2.5-7B", None)


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DownloadError, match=r"there is no such file, and .*pip install toksmith\[hub\]"):
        toksmith.load("org/name")


def test_a_local_file_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("org/name", "gpt-4o"):
        Path(name).parent.mkdir(exist_ok=True)
        TOK.save(name, format="native")
        assert toksmith.load(name) == TOK
        with pytest.raises(InvalidOption, match="only repositories of the Hugging Face hub have revisions"):
            toksmith.load(name, revision="v1.0")


@pytest.mark.slow
def test_download_false_forbids_downloads(hub: Hub, tmp_path: Path) -> None:
    hub.files = {"tokenizer.json": bytes_of(tmp_path, "tokenizer_json")}
    said = load_in_child(hub, tmp_path / "home", download=False)
    assert said["error"] == "DownloadError" and "download=False forbids the network" in said["said"]
    assert load_in_child(hub, tmp_path / "home")["ids"] == IDS
    assert load_in_child(hub, tmp_path / "home", download=False)["ids"] == IDS, "a cached file is loaded"


# Models' names


MODELS = [
    ("gpt-4o", "o200k_base"), ("gpt-4", "cl100k_base"), ("o3", "o200k_base"), ("gpt-3.5-turbo", "cl100k_base"),
    ("gpt-4o-mini-2024-07-18", "o200k_base"), ("gpt-oss-120b", "o200k_harmony"), ("davinci", "r50k_base"),
]  # fmt: skip


@pytest.mark.parametrize("model, encoding", MODELS)
def test_a_model_has_its_encoding(model: str, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert encoding_of(model) == encoding
    monkeypatch.setattr(
        "toksmith._sources.load.load_published",
        lambda name, download: TOK.model if name == encoding and download else None,
    )
    assert toksmith.load(model) == TOK
    with pytest.raises(InvalidOption):
        toksmith.load(model, pattern="gpt2")
    with pytest.raises(InvalidOption, match="revision"):
        toksmith.load(model, revision="main")


@pytest.mark.parametrize("name", ["gpt-4-tokenizer.json", "gpt-4o-mini.model", "gpt-9", "claude"])
def test_other_names_are_not_models(name: str) -> None:
    with pytest.raises(UnknownName):
        toksmith.load(name)
