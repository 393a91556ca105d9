"""The views of folders, conversations, edits and languages in a real Chromium: what they show is what the library says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import STATIC, Seen, tokenizers, watched

import toksmith
from toksmith import explain
from toksmith._render._areas_html import STEPS


@pytest.fixture(scope="module")
def toks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, toksmith.Tokenizer]:
    return tokenizers(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def playground(toks: dict[str, toksmith.Tokenizer]) -> Iterator[toksmith.Playground]:
    with toksmith.play(toks) as running:
        yield running


@pytest.fixture
def seen(browser: Any, playground: toksmith.Playground) -> Iterator[Seen]:
    with watched(browser, playground.url) as seen:
        yield seen


def a_folder(top: Path) -> Path:
    for path, data in {
        ".gitignore": b"*.log\n",
        "a.log": b"low " * 50,
        "src/deep/one.py": b"def low():\n    lower\n" * 20,
        "src/two.py": b"lowest slow\n" * 30,
        "src/picture.png": b"\x89PNG\0\0",
        "Cargo.lock": b"low " * 40,
        "<b>.txt": b"goose\n" * 9,
    }.items():
        (top / "shop" / path).parent.mkdir(parents=True, exist_ok=True)
        (top / "shop" / path).write_bytes(data)
    return top / "shop"


def test_a_folder_opens_on_the_files_of_the_page(seen: Seen, toks: dict[str, toksmith.Tokenizer]) -> None:
    seen.open().tab("folder")
    found = explain.folder(toks["bytes"], STATIC)
    seen.wait("#panel h3", f"{len(found.files)} files, {found.tokens:,} tokens")
    assert seen.page.locator(".areas button").count() > 5


def test_a_folder_is_mapped(seen: Seen, toks: dict[str, toksmith.Tokenizer], tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    seen.open().tab("folder")
    seen.page.set_input_files("#map-folder", str(folder))
    found = explain.folder(toks["bytes"], folder)
    assert found.saved == 160  # the lock file, a token a byte
    seen.wait("#panel h3", f"shop: {len(found.files)} files, {found.tokens:,} tokens")
    seen.wait("#panel .answer", f"saves {found.saved:,}")
    assert "1 file left out" in seen.words("#panel [role=status]")
    assert "1 binary" in seen.words("#panel .answer")
    seen.page.locator("button.folder[title^='src/:']").click(position={"x": 5, "y": 5})
    seen.wait(".crumbs", "src/")
    names = seen.page.eval_on_selector_all(".areas > *", "all => all.map((each) => each.title.split(':')[0])")
    assert {*names} == {"deep/", "one.py", "two.py"}
    seen.page.focus(".areas button >> nth=0")
    seen.until("document.querySelector('.area-said').textContent.includes('tokens')")
    seen.page.go_back()
    seen.until("!document.querySelector('nav.crumbs')")


def test_a_folder_without_files_and_one_without_texts(seen: Seen, tmp_path: Path) -> None:
    seen.open().tab("folder")
    (tmp_path / "only" / "x.bin").parent.mkdir()
    (tmp_path / "only" / "x.bin").write_bytes(b"\0" * 10)
    seen.page.set_input_files("#map-folder", str(tmp_path / "only"))
    seen.wait("#panel .answer", "It has no text that can be counted.")
    seen.wait("#panel .answer", "1 binary")


def test_the_colours_of_areas_are_those_of_the_page_that_is_written() -> None:
    css = (STATIC / "views" / "folder.css").read_text(encoding="utf-8")
    for step, (light, dark) in enumerate(STEPS):
        assert re.findall(rf"--a{step}: (#[0-9a-f]+);", css) == [light, dark, dark]


def test_edits_are_those_of_the_library(seen: Seen, toks: dict[str, toksmith.Tokenizer]) -> None:
    text = "the goose lays a golden egg 낮은\n"
    seen.open(text=text)
    seen.page.check("input[value=medium]")
    seen.tab("edits")
    names = ("bytes", "medium")
    found = explain.stability({name: toks[name] for name in names}, text)
    for row in found.rows:
        seen.wait("#panel table", f"{row.tokenizer}\t{row.tokens}\t{row.new:.2f}")
    assert seen.page.locator(".strip svg").count() == 2
    worst = found.rows[0].worst
    assert worst is not None
    seen.wait("#panel h3", f"At character {worst.place}")
    seen.page.fill("#field-edit-at", "7")
    edit = explain.edit({name: toks[name] for name in names}, text, 7, 7, "e")
    seen.wait("#panel h3", "At character 7")
    for row in edit.rows:
        seen.wait(
            "#panel .answer",
            f"{row.tokenizer}: {len(row.removed)} id{'s' * (len(row.removed) != 1)} gone, {len(row.new)} new",
        )
    assert seen.page.locator(".edit-tokens .changed").count() == sum(
        len(row.removed) + len(row.new) for row in edit.rows
    )
    seen.page.fill("#field-typed", "")
    seen.wait("#panel .answer", "Enter what is typed.")
