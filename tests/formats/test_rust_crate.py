"""The Rust crate: its example files are those that toksmith trains, and its programs get the ids of the package."""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT
from hard_texts import HARD_TEXTS

import toksmith

CRATE = ROOT / "crates" / "core"
CORPUS = (
    "the cat sat on the mat; the cat saw the rat, and the rat ran. für die Katze: übt über Übung, 2,026 times! 🐈🐈"
)
# A program gets texts in UTF-8, separated by NUL.
TEXTS = [text for text in HARD_TEXTS.values() if not re.search("[\0\ud800-\udfff]", text)]
TEXTS += ["<|endoftext|> and [CLS]", " ".join(HARD_TEXTS["CJK"] * 500)]


def test_the_example_files_are_trained_here(tmp_path: Path) -> None:
    tok = toksmith.train(CORPUS, merges=43, pattern="gpt2", special_tokens=["<|end|>"])
    for name in ("small.toksmith", "small.tiktoken"):
        tok.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == (CRATE / "examples" / name).read_bytes(), name


@pytest.fixture(scope="module")
def programs() -> Path:
    """The folder of the crate's compiled examples: `cargo test` compiles them, which `make test` runs first."""
    changed = max(path.stat().st_mtime for path in CRATE.rglob("*.rs"))
    compiled = (ROOT / "target" / profile / "examples" for profile in ("debug", "develop"))
    for folder in compiled:
        if all((folder / name).is_file() and (folder / name).stat().st_mtime > changed for name in ("ids", "stream")):
            return folder
    pytest.skip("lacks the examples of the crate as they are now (cargo test --package toksmith-core compiles them)")


def assert_same_ids(programs: Path, tok: toksmith.Tokenizer, *arguments: str) -> None:
    """The program `ids` prints the ids of the package for every text."""
    command = (str(programs / "ids"), *arguments)
    printed = subprocess.run(command, input="\0".join(TEXTS).encode(), capture_output=True, check=True).stdout
    ids = [[int(id) for id in line.split()] for line in printed.decode().splitlines()]
    assert ids == [tok.encode(text, special="text") for text in TEXTS]


@pytest.mark.parametrize(
    ("name", "pattern"), [("cl100k_base", "cl100k"), ("o200k_base", "o200k"), ("r50k_base", "gpt2")]
)
def test_ranks_give_the_ids_of_the_package(programs: Path, vocab_dir: Path, name: str, pattern: str) -> None:
    path = vocab_dir / f"{name}.tiktoken"
    assert_same_ids(programs, toksmith.load(path, pattern=pattern), str(path), pattern)


@pytest.mark.parametrize("kind", ["bytes", "characters", "wordpiece"])
def test_saved_models_give_the_ids_of_the_package(programs: Path, tmp_path: Path, kind: str, vocab_dir: Path) -> None:
    """Models with steps of HF, with marked characters and with WordPiece."""
    tok = hf_model(tmp_path, kind, vocab_dir)
    tok.save(tmp_path / "it.toksmith")
    assert_same_ids(programs, tok, str(tmp_path / "it.toksmith"))


def hf_model(folder: Path, kind: str, vocab_dir: Path) -> toksmith.Tokenizer:
    """A tokenizer of Hugging Face's library, loaded by the package."""
    if kind == "bytes":
        return toksmith.load(vocab_dir / "gpt2_tokenizer.json")
    hf = pytest.importorskip("tokenizers")
    if kind == "characters":
        trained = hf.CharBPETokenizer(lowercase=True, unk_token="<unk>")
        trained.train_from_iterator([CORPUS] * 2, vocab_size=120, special_tokens=["<unk>"])
    else:
        trained = hf.BertWordPieceTokenizer()
        trained.train_from_iterator([CORPUS] * 2, vocab_size=120)
    trained.save(str(folder / "tokenizer.json"))
    return toksmith.load(folder / "tokenizer.json")


def test_the_stream_shows_the_text(programs: Path) -> None:
    printed = subprocess.run([str(programs / "stream")], capture_output=True, check=True).stdout.decode()
    assert "<|end|> at byte 22" in printed and "'" not in printed
    assert printed.count('""') == 3 and '"🐈"' in printed
