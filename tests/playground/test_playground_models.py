"""Models by name, contexts that belong to tokenizers, marks of white space, snapshots and frames on the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toksmith
from toksmith import explain
from toksmith._playground import layout, server, views
from toksmith._playground.rows import Rows
from toksmith._playground.texts import encode_text, looks_of
from toksmith._playground.views import models as _models


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> views.Session:
    monkeypatch.setenv("TOKSMITH_CACHE", str(tmp_path / "nothing"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    tok = toksmith.train("low lower lowest", merges=3, progress=False)
    return views.Session({"own": tok}, {}, {})


def ask(session: views.Session, view: str, **values: Any) -> Any:
    return views.answer_values(view, views.ViewRequest(session, values))["result"]


def test_models_have_a_source_for_load_and_a_command_that_downloads_it(session: views.Session) -> None:
    rows = ask(session, "models")["models"]
    assert {"GPT-4o", "Llama 3", "Mistral 7B", "Qwen2.5", "DeepSeek-V3"} <= {row["name"] for row in rows}
    assert len({row["source"] for row in rows}) == len(rows)
    for row in rows:
        found = ask(session, "model", source=row["source"])
        assert found["here"] is False and "download=False" in found["why"], (
            "the source is known, and not on this machine"
        )
        assert found["line"] == row["line"] and row["source"] in row["line"]


def test_a_model_whose_file_is_here_is_loaded_once(
    session: views.Session, vocab_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKSMITH_CACHE", str(vocab_dir))
    assert ask(session, "model", source="gpt-4") == {"here": True, "entries": 100_261}
    assert "gpt-4" not in session.toks
    added = ask(session, "model", source="gpt-4", add=True)
    assert added["name"] == "GPT-4, GPT-3.5"
    assert session.toks[added["name"]] == toksmith.load("cl100k_base")
    again = ask(session, "model", source="gpt-4", add=True)
    assert again["name"] == added["name"] and len(session.toks) == 2, "the page has it already"
    with pytest.raises(toksmith.errors.UnknownName):
        ask(session, "model", source="no/such")


@pytest.mark.parametrize(
    ("name", "models"),
    [
        ("gpt2", ["GPT-2", "GPT-3"]),
        ("cl100k_base", ["GPT-4 32k"]),
        ("o200k_base", []),
        ("p50k_base", []),
        ("mistral_v1.model", []),
        ("llama3.tiktoken", []),
    ],
)
def test_a_tokenizer_has_the_contexts_of_its_own_models(
    name: str, models: list[str], vocab_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKSMITH_CACHE", str(vocab_dir))
    given: dict[str, Any] = {"pattern": "cl100k"} if name.startswith("llama") else {}
    tok = toksmith.load(name if name in toksmith.encodings() else vocab_dir / name, **given)
    assert _models.contexts_of(tok) == {model: explain.CONTEXTS[model] for model in models}


def test_every_context_belongs_to_a_tokenizer() -> None:
    assert {model for *_, models in _models.TOKENIZERS for model in models} == {*explain.CONTEXTS}
    assert [*_models.SIZES.values()] == [1 << power for power in range(13, 21)]


def test_the_budget_has_standard_sizes_and_the_given_context(session: views.Session) -> None:
    rows = ask(session, "budget", text="low lower", tokenizers=["own"], context=3)["rows"]
    assert [row["model"] for row in rows] == [*_models.SIZES, "yours"]
    own = explain.budget(session.toks["own"], "low lower", context={"yours": 3}).rows[0]
    assert {**rows[-1], "tokenizer": ""} == {**vars(own), "tokenizer": ""}


def test_white_space_is_drawn_as_marks_or_as_spaces(session: views.Session) -> None:
    text = "low\t · → lower\n\u00a0x\n"
    tok = session.toks["own"]
    cut = encode_text(tok, "key", text, "text", looks_of(tok))
    data = text.encode()
    starts = layout.row_starts(text, layout.Frame(80, layout.Widths()))

    def draw_rows(marks: bool) -> list[str]:
        window = Rows(data, np.asarray(starts), [cut], marks=marks).window(0, 9)
        return [
            "".join(run[1] if isinstance(run[0], int) else run[0] for run in row) for row in window["cuts"][0]["rows"]
        ]

    assert draw_rows(True) == ["low→···→·lower↵", "\\xa0x↵"]
    assert draw_rows(False) == ["low  · → lower ", "\\xa0x "], "a dot and an arrow of the text itself stay"
    values = {"text": "a b", "tokenizers": ["own"], "last": 1}
    assert ask(session, "rows", **values)["cuts"][0]["rows"][0][1][1] == "·"
    assert ask(session, "rows", **values, marks=False)["cuts"][0]["rows"][0][1][1] == " "


def test_a_snapshot_equals_the_library(session: views.Session) -> None:
    found = ask(session, "saved", text="slow lower", tokenizers=["own"], title="Low")["html"]
    assert found == toksmith.snapshot({"own": session.toks["own"]}, "slow lower", title="Low").html
    marked = toksmith.train("low", merges=0, special_tokens=["<|end|>"], progress=False)
    other = views.Session({"own": marked}, {}, {})
    with pytest.raises(toksmith.errors.SpecialTokenInText):
        ask(other, "saved", text="<|end|>", tokenizers=["own"], special="raise")


@pytest.mark.parametrize(
    ("path", "query", "framed"),
    [("/", b"embed=1", True), ("/", b"", False), ("/", b"embed=10", False), ("/api/about", b"embed=1", False)],
)
def test_only_the_address_for_frames_can_be_framed(path: str, query: bytes, framed: bool) -> None:
    headers = server.headers_for({"path": path, "query_string": query})
    ancestors = headers["content-security-policy"].rpartition("frame-ancestors ")[2]
    assert ancestors == ("http://localhost:* http://127.0.0.1:*" if framed else "'none'")
    assert {**headers, "content-security-policy": ""} == {**server.HEADERS, "content-security-policy": ""}
