"""The views of folders, conversations, edits and languages in a real Chromium show the results of the library."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from browsing import SHOTS, STATIC, Seen, watched

import toksmith
from toksmith import explain, metrics
from toksmith._render.pages import AREA_STEPS


def write_folder(top: Path) -> Path:
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
    folder = write_folder(tmp_path)
    seen.open().tab("folder")
    seen.page.set_input_files("#map-folder", str(folder))
    found = explain.folder(toks["bytes"], folder)
    assert found.saved == 160  # the lock file, a token a byte
    seen.wait("#panel h3", f"shop: {len(found.files)} files, {found.tokens:,} tokens")
    seen.wait("#panel .answer", f"saves {found.saved:,}")
    seen.wait("#folder-state", "1 file left out")
    assert "1 binary" in seen.words("#panel .answer")
    seen.page.locator("button.folder[title^='src/:']").click(position={"x": 5, "y": 5})
    seen.wait(".crumbs", "src/")
    names = seen.page.eval_on_selector_all(".areas > *", "all => all.map((each) => each.title.split(':')[0])")
    assert {*names} == {"deep/", "one.py", "two.py"}
    seen.page.focus(".areas button >> nth=0")
    seen.until("document.querySelector('.area-said').textContent.includes('tokens')")
    seen.page.go_back()
    seen.until("!document.querySelector('nav.crumbs')")


def test_a_folder_without_texts_is_named(seen: Seen, tmp_path: Path) -> None:
    seen.open().tab("folder")
    (tmp_path / "only" / "x.bin").parent.mkdir()
    (tmp_path / "only" / "x.bin").write_bytes(b"\0" * 10)
    seen.page.set_input_files("#map-folder", str(tmp_path / "only"))
    seen.wait("#panel .answer", "It has no text that can be counted.")
    seen.wait("#panel .answer", "1 binary")


def test_areas_have_the_colours_of_exported_pages() -> None:
    css = (STATIC / "views" / "folder.css").read_text(encoding="utf-8")
    for step, (light, dark) in enumerate(AREA_STEPS):
        assert re.findall(rf"--a{step}: (.*?);", css) == [f"light-dark({light}, {dark})"]


def test_edits_equal_the_library(seen: Seen, toks: dict[str, toksmith.Tokenizer]) -> None:
    text = "the goose lays a golden egg 낮은\n"
    seen.open(text=text)
    seen.page.check("input[value=medium]")
    seen.tab("edits")
    names = ("bytes", "medium")
    found = explain.edits({name: toks[name] for name in names}, text)
    for row in found.rows:
        seen.wait("#panel table", f"{row.tokenizer}\t{row.tokens}\t{row.new:.2f}")
    assert seen.page.locator(".strip svg").count() == 2
    worst = found.rows[0].worst
    assert worst is not None
    seen.wait("#panel h3", f"At character {worst.place}")
    seen.page.fill("#field-edit-at", "7")
    edit = explain.edit({name: toks[name] for name in names}, text, 7, 7, "e")
    seen.wait("#panel h3", "At character 7")
    for each in edit.rows:
        gone = f"{len(each.removed)} id{'s' * (len(each.removed) != 1)} gone"
        seen.wait("#panel .answer", f"{each.tokenizer}: {gone}, {len(each.new)} new")
    assert seen.page.locator(".edit-tokens .changed").count() == sum(
        len(row.removed) + len(row.new) for row in edit.rows
    )
    seen.page.fill("#field-typed", "")
    seen.wait("#panel .answer", "Enter what is typed.")


def test_a_conversation_equals_the_library(seen: Seen, toks: dict[str, toksmith.Tokenizer]) -> None:
    pytest.importorskip("jinja2")
    seen.open().tab("chat")
    seen.wait("#panel .answer", "Message 3 spells <|end|>")  # the first conversation
    talk = [{"role": "user", "content": "low <|end|> 낮은"}, {"role": "assistant", "content": "<b>goose</b>"}]
    seen.page.click("text=The messages as JSON")
    seen.page.fill("#chat-messages", json.dumps(talk))
    found = explain.chat(toks["bytes"], talk, template="plain", variables={"bos_token": "", "eos_token": "<|end|>"})
    seen.wait("#panel .answer", f"2 messages, {len(found.ids)} tokens, {found.template_ids} of the template")
    seen.wait("#panel .answer", f"All {found.stable} ids stay when messages are appended (user)")
    for number, each in enumerate(found.messages):
        facts = f"{each.own} own tokens, {each.added} with the template, from id {each.first} on"
        seen.until("([at, said]) => document.querySelectorAll('.facts')[at]?.innerText.includes(said)", [number, facts])
    assert seen.page.locator(".chat-tokens .learned").count() == sum(found.mask)
    assert seen.page.locator(".chat-tokens .quiet, .chat-tokens .special").count() == found.template_ids
    seen.page.select_option("#chat-template", "own")
    for template, said in (("{{ messages[", "is not valid Jinja"), ("{{ 1 // 0 }}", "ZeroDivisionError")):
        seen.page.fill("#chat-own", template)
        seen.wait("#panel .bad", said)
    seen.page.fill("#chat-own", "{% for m in messages %}{{ m.content }}{% endfor %}")
    seen.wait("#panel .answer", "0 of the template")
    for messages, said in (
        ("[{", "not JSON"),
        ("7", "expected a list"),
        ("[7]", "message 0"),
        ('[{"a": [', "not JSON"),
    ):
        seen.page.fill("#chat-messages", messages)
        seen.wait("#panel .bad", said)
    seen.page.fill("#chat-messages", "")
    seen.wait("#panel .answer", "There are no messages.")


def test_an_edit_of_a_message_shows_where_the_prompt_changes(seen: Seen, toks: dict[str, toksmith.Tokenizer]) -> None:
    pytest.importorskip("jinja2")
    seen.open().tab("chat")
    tok, variables = toks["bytes"], {"bos_token": "", "eos_token": "<|end|>"}
    seen.page.fill("[aria-label='Message 1']", "Why is the sky red?")
    seen.page.click("text=The messages as JSON")
    talk = json.loads(seen.page.input_value("#chat-messages"))
    before = [each | {"content": "Why is the sky blue?"} if at == 1 else each for at, each in enumerate(talk)]
    old, new = (
        tok.chat(each, template="plain", variables=variables, add_generation_prompt=True).ids.tolist()
        for each in (before, talk)
    )
    first = next(at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other)
    seen.wait(".chat-change", f"from id {first} on: a cache reuses {first} of {len(new)} ids")
    seen.page.click("text=Add a message")
    assert seen.page.locator(".chat-row").count() == 5
    seen.wait(".chat-change", f"from id {len(new)} on")
    seen.page.click("[aria-label='Remove message 4']")
    seen.wait(".chat-change", f"a cache reuses {len(new)} of {len(new)} ids")
    seen.page.select_option("#chat-template", "own")  # earlier messages lose their ends
    seen.page.fill(
        "#chat-own",
        "{% for m in messages %}{{ m.role }}{{ m.content if loop.last else m.content[:5] }}{{ ';' }}{% endfor %}",
    )
    seen.until("document.querySelectorAll('.facts .warn').length === 3")
    seen.until("document.querySelectorAll('.facts')[1].innerText.includes('the template wrote message 0 differently')")


def test_a_content_in_parts_is_one_text_or_a_sentence(seen: Seen, toks: dict[str, toksmith.Tokenizer]) -> None:
    pytest.importorskip("jinja2")
    seen.open().tab("chat")
    seen.page.click("text=The messages as JSON")
    parts = [{"type": "text", "text": "low "}, {"type": "text", "text": "slow"}]
    seen.page.fill("#chat-messages", json.dumps([{"role": "user", "content": parts}]))
    tok = toks["bytes"]
    whole = tok.chat(
        [{"role": "user", "content": "low slow"}],
        template="plain",
        variables={"bos_token": "", "eos_token": "<|end|>"},
        add_generation_prompt=True,
    )
    seen.wait("#panel .answer", f"1 message, {len(whole.ids)} tokens")
    assert seen.page.locator("[aria-label='Message 0']").get_attribute("readonly") is not None
    seen.page.fill("#chat-messages", json.dumps([{"role": "user", "content": [*parts, {"type": "image"}]}]))
    seen.wait("#panel .bad", "message 0: part 2 of type image")
    seen.page.select_option("#chat-template", "own")
    seen.wait("#panel .bad", "the template writes a list as a text")
    assert "Error" not in seen.words("#panel .bad")


def test_languages_are_compared_by_all_tokenizers(
    seen: Seen, toks: dict[str, toksmith.Tokenizer], tmp_path: Path
) -> None:
    seen.open()
    seen.page.check("input[value=large]")
    seen.tab("fairness")
    found = metrics.fairness({name: toks[name] for name in ("bytes", "large")})
    seen.wait("#panel .answer", "large")
    assert seen.page.locator(".fair").count() == 2
    assert seen.page.locator(".fair-label").count() == 48
    for name, parity in found.parities.items():
        seen.wait("#panel table", f"{name}\t{parity.gini:.3f}")
    seen.page.focus(".fair-label[data-language=Tamil] >> nth=0")
    seen.until("document.querySelectorAll('.fair-label.on').length === 2")
    boxes = [each.bounding_box() for each in seen.page.locator(".fair").first.locator(".fair-label").all()]
    for at, one in enumerate(boxes):
        for other in boxes[:at]:
            apart = one["x"] >= other["x"] + other["width"] - 1 or other["x"] >= one["x"] + one["width"] - 1
            assert apart or abs(one["y"] - other["y"]) >= 24, "labels overlap"
    for name, text in (("en", "low lower"), ("<b>", "낮은 낮다"), ("empty", "")):
        (tmp_path / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
    seen.page.set_input_files("#fair-files", [str(path) for path in sorted(tmp_path.glob("*.txt"))])
    seen.wait("#fair-state", "3 files opened")
    seen.page.select_option("#fair-reference", "en")
    own = metrics.fairness(
        {"bytes": toks["bytes"]}, {"en": "low lower", "<b>": "낮은 낮다", "empty": ""}, reference="en"
    )
    seen.wait("#panel .answer", "Tokens relative to en")
    seen.wait("#panel .answer", f"{own.parities['bytes']['<b>']:.2f} (100 %)")
    seen.wait("#panel .answer", "empty has no text")


@pytest.mark.parametrize("tab", ["folder", "chat", "edits", "fairness"])
def test_pictures(browser: Any, tab: str, vocab_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes a picture of each view; with TOKSMITH_PICTURES=1 the pictures of the guide."""
    monkeypatch.setenv("TOKSMITH_CACHE", str(vocab_dir))
    names = ["cl100k_base", "o200k_base"] if tab in ("edits", "fairness") else ["o200k_base"]
    toks = {name: toksmith.load(name) for name in names}
    view = {"width": 760, "height": 820}
    with toksmith.play(toks) as running, watched(browser, running.url, viewport=view) as seen:
        seen.open(text="A countryman has a goose that lays a golden egg every day.")
        for name in names[1:]:
            seen.page.check(f"input[value={name}]")
        seen.tab(tab)
        seen.page.wait_for_selector("#panel .areas, #panel .chat-tokens, #panel .edit-tokens, #panel .fair")
        seen.page.wait_for_load_state("networkidle")
        seen.page.locator("#panel .answer").evaluate(
            "each => scrollTo(0, each.getBoundingClientRect().top + scrollY - 8)"
        )
        folder = SHOTS if os.environ.get("TOKSMITH_PICTURES") else tmp_path
        path = folder / f"playground-{tab}.png"
        seen.page.screenshot(path=path)
        assert path.stat().st_size > 5000
