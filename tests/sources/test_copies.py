"""Copies of published files: a folder and wheels, which pip installs and `load` finds in a process without a network."""

import base64
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import misused, refused, run
from processors import LIMIT_S
from systems import needs

import toksmith
from toksmith._sources import encodings
from toksmith._sources.encodings import Published
from toksmith.errors import DownloadError, FormatError, UnknownName

TOKENS = [bytes([byte]) for byte in range(256)]
FILES = {
    name: b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))
    for name, tokens in {
        "tiny": [*TOKENS, b"lo", b"low"],
        "more": [*TOKENS, *(b"lo" + each for each in TOKENS)],
    }.items()
}
ROWS = {
    name: (f"https://example.invalid/{name}.tiktoken", hashlib.sha256(data).hexdigest(), "gpt2")
    for name, data in FILES.items()
}
# A process that knows the rows, and fails at each use of a socket.
ALONE = f"""
import socket, sys
def refuse(*args, **options):
    raise SystemExit("the network was used")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
import toksmith
from toksmith._sources.encodings import ENCODINGS, Published
ENCODINGS.update({{name: Published(name, *row) for name, row in {ROWS!r}.items()}})
"""


@pytest.fixture(autouse=True)
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Publishes both files, and puts them into the cache, whose folder it returns."""
    for name, row in ROWS.items():
        monkeypatch.setitem(encodings.ENCODINGS, name, Published(name, *row))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKSMITH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    for name, data in FILES.items():
        (tmp_path / "cache" / f"{name}.tiktoken").write_bytes(data)
    return tmp_path / "cache"


def run_alone(script: str, packages: Path) -> subprocess.CompletedProcess[str]:
    """A script in a process that sees the packages, and has empty caches and no network."""
    empty = {name: str(packages / "none") for name in ("TOKSMITH_CACHE", "TIKTOKEN_CACHE_DIR")}
    environment = {**os.environ, **empty, "PYTHONPATH": str(packages)}
    command = [sys.executable, "-c", ALONE + script]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False, env=environment, timeout=LIMIT_S)


def install(wheels: list[str], packages: Path) -> None:
    """Has pip install wheels."""
    pytest.importorskip("pip")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", str(packages)]
    subprocess.run([*command, *wheels], check=True, capture_output=True, timeout=LIMIT_S)


def test_a_folder_has_the_files_and_load_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mine.txt").write_bytes(FILES["more"])
    assert toksmith.copy_encodings(["tiny", Path("mine.txt"), "tiny"], "offline") == [
        os.path.join("offline", f"{name}.tiktoken") for name in ("tiny", "more")
    ]
    assert {path.name: path.read_bytes() for path in Path("offline").iterdir()} == {
        f"{name}.tiktoken": data for name, data in FILES.items()
    }
    monkeypatch.setenv("TOKSMITH_CACHE", "offline")
    assert toksmith.load("tiny", download=False).encode("low") == [257]
    assert toksmith.copy_encodings("tiny", "offline") == [os.path.join("offline", "tiny.tiktoken")], "again"


def test_load_finds_installed_wheels_without_a_network(tmp_path: Path) -> None:
    wheels = toksmith.copy_encodings(["tiny", "more"], "wheels", wheels=True)
    packages = tmp_path / "packages"
    install(wheels, packages)
    for installed in importlib.metadata.distributions(path=[str(packages)]):
        assert installed.version == "1" and not installed.requires
        for file in installed.files or ():
            if file.hash is not None and file.size is not None:
                data = (packages / file).read_bytes()
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert (file.hash.value, file.size) == (digest, len(data))
    script = "print(toksmith.load('tiny').encode('low'), toksmith.load('more').encode('loa'))"
    done = run_alone(script, packages)
    assert (done.stdout, done.stderr) == (f"[257] [{256 + ord('a')}]\n", "")


def test_a_changed_file_of_a_wheel_is_not_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "packages" / encodings.WHEEL_FOLDER
    folder.mkdir(parents=True)
    (folder / "tiny.tiktoken").write_bytes(FILES["more"])
    done = run_alone("toksmith.load('tiny', download=False)", tmp_path / "packages")
    assert done.returncode == 1
    assert "its sha256 differs" in done.stderr and "DownloadError" in done.stderr.splitlines()[-1]


def test_wheels_of_equal_files_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    [first] = toksmith.copy_encodings("tiny", "first", wheels=True)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    [second] = toksmith.copy_encodings(Path("cache") / "tiny.tiktoken", "second", wheels=True)
    assert Path(first).name == Path(second).name == "toksmith_vocabulary_tiny-1-py3-none-any.whl"
    assert Path(first).read_bytes() == Path(second).read_bytes()
    digest = "a31b7fd35e32465d1a027fed121791720d7eb3d42f5236abe61e458282c348c5"
    assert hashlib.sha256(Path(first).read_bytes()).hexdigest() == digest, "equal on every machine"


def test_the_shell_copies_for_a_model(vocab_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (vocab_dir / "o200k_base.tiktoken").is_file():
        pytest.skip(f"lacks o200k_base.tiktoken in {vocab_dir}")
    monkeypatch.setenv("TOKSMITH_CACHE", str(vocab_dir))
    done = run("list", "encodings", "gpt-4o", "--copy-to", "wheels", "--wheels", "--json")
    wheels = json.loads(done.stdout)
    assert [Path(path).name for path in wheels] == ["toksmith_vocabulary_o200k_base-1-py3-none-any.whl"]
    install(wheels, tmp_path / "packages")
    script = """
import toksmith.compat.tiktoken.load
from toksmith.compat import tiktoken
print([tok.encode('Hello') for tok in (toksmith.load('gpt-4o'), tiktoken.encoding_for_model('gpt-4o'))])
print(len(tiktoken.load.load_tiktoken_bpe(ENCODINGS['o200k_base'].url, ENCODINGS['o200k_base'].sha256)))
"""
    assert run_alone(script, tmp_path / "packages").stdout == "[[13225], [13225]]\n199998\n"


# Bad input


@pytest.mark.parametrize("wheels", [False, True])
@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        ("tinyy", UnknownName, "tiny"),
        ("missing.tiktoken", UnknownName, "missing.tiktoken"),
        ("changed.tiktoken", FormatError, "SHA-256"),
        (".", FormatError, "folder"),
        ("lost", DownloadError, "sha256"),
    ],
)
def test_one_bad_source_writes_nothing(
    source: str, error: type[Exception], said: str, wheels: bool, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("changed.tiktoken").write_bytes(FILES["tiny"] + b"\n")
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setitem(
        encodings.ENCODINGS, "lost", Published("lost", "https://example.invalid/lost", "00" * 32, "gpt2")
    )
    with pytest.raises(error, match=said):
        toksmith.copy_encodings(["tiny", source], "offline", wheels=wheels)
    assert not Path("offline").exists()


def test_another_file_of_the_name_is_kept() -> None:
    Path("offline").mkdir()
    Path("offline", "more.tiktoken").write_bytes(b"mine")
    with pytest.raises(FormatError, match="other content"):
        toksmith.copy_encodings(["tiny", "more"], "offline")
    assert [path.read_bytes() for path in Path("offline").iterdir()] == [b"mine"]
    Path("file").touch()
    with pytest.raises(FormatError, match="a folder is expected"):
        toksmith.copy_encodings("tiny", "file")


@needs("limits")
def test_a_full_disk_leaves_no_file(tmp_path: Path) -> None:
    script = f"""
import os, resource
os.environ["TOKSMITH_CACHE"] = {str(tmp_path / "cache")!r}
resource.setrlimit(resource.RLIMIT_FSIZE, ({len(FILES["tiny"])}, resource.RLIM_INFINITY))
toksmith.copy_encodings(["tiny", "more"], {str(tmp_path / "offline")!r})
"""
    done = run_alone(script, tmp_path / "packages")
    assert "FormatError" in done.stderr.splitlines()[-1] and "cannot be written" in done.stderr
    assert [*(tmp_path / "offline").iterdir()] == []


def test_the_shell_refuses_in_one_line() -> None:
    for arguments in (["gpt2"], ["--wheels"]):
        misused(run("list", "encodings", *arguments), "--copy-to is missing")
    Path("file").touch()
    refused(run("list", "encodings", "tiny", "--copy-to", "file"), "a folder is expected")
    misused(run("list", "encodings", "tinyy", "--copy-to", "offline"), "did you mean")
