"""Every view of the playground in a real Chromium: with every tokenizer, after one of them is removed, and on every kind of text."""

from __future__ import annotations

from browsing import PASTE, PUT, TABS, TEXT, Seen

import toksmith

NAMES = ("bytes", "small", "medium", "large")
# The fields that some views need for an answer.
FILLED = {"merges": ("#piece", "low"), "forest": ("#field-id", "108"), "vocabulary": ("#field-query", "l")}


def choose(seen: Seen, name: str) -> None:
    """Ask the view in sight about one of the tokenizers that are compared."""
    choice = seen.page.locator("#panel .which select")
    if choice.is_visible():
        choice.select_option(label=name)


def check_view(seen: Seen, tab: str, name: str) -> None:
    """The view in sight has an answer about a tokenizer."""
    if tab in FILLED:
        seen.page.fill(*FILLED[tab])
    seen.page.wait_for_load_state("networkidle")
    seen.until("!document.querySelector('#panel .busy')")
    answer = "#panel .answer, #panel .player, #panel .rows"
    seen.until("selector => (document.querySelector(selector)?.innerText ?? '').trim() !== ''", answer)
    assert seen.page.locator("#panel .bad:visible").count() == 0, (tab, name, seen.words("#panel"))
    if tab == "tokens":
        seen.wait("#panel .ids-caption", f"Ids of {name}")


def test_every_view_answers_for_every_tokenizer_and_after_one_is_removed(seen: Seen) -> None:
    seen.open(text=TEXT)
    for name in NAMES[1:]:
        seen.page.check(f"input[value={name}]")
    for tab in TABS:
        seen.tab(tab)
        for name in NAMES:
            choose(seen, name)
            check_view(seen, tab, name)
    for tab in TABS:
        seen.tab(tab)
        choose(seen, "large")
        seen.page.uncheck("input[value=small]")
        for name in ("large", "medium", "bytes"):
            choose(seen, name)
            check_view(seen, tab, name)
        seen.page.check("input[value=small]")


def test_answers_follow_the_chosen_tokenizer(seen: Seen, toks: dict[str, toksmith.Tokenizer]) -> None:
    seen.open(text="slowest low <|end|>")
    for name in NAMES[1:]:
        seen.page.check(f"input[value={name}]")
    seen.tab("specials")
    for name in NAMES:
        choose(seen, name)
        total = toks[name].count("slowest low <|end|>")
        seen.wait(".answer", f"As plain text: {total} token")
    seen.tab("tokens")
    seen.page.locator(".rows .t[data-w='2']").first.click()
    seen.page.get_by_role("button", name="Play its merges").click()
    steps = toksmith.explain.merges(toks["medium"], "slowest")
    seen.wait(".player", f"1 of {len(steps.steps) + 1}")
    assert seen.page.locator("#panel .which select").evaluate("each => each.selectedOptions[0].label") == "medium"


# Long texts

LONG = "the goose lays a golden egg नम 낮은 every day of the lowest year\n" * 60_000
HOLD = """() => {
  const own = window.fetch;
  window.asked = [];
  window.held = [];
  window.fetch = (url, options) => {
    window.asked.push([String(url), options?.body?.length ?? 0, options?.signal]);
    if (!window.hold?.test(url)) return own(url, options);
    return new Promise((done, fail) => {
      options.signal.addEventListener('abort', () => fail(options.signal.reason));
      window.held.push(() => own(url, options).then(done, fail));
    });
  };
}"""
TYPE = """([at, added]) => {
  const box = document.querySelector('#text');
  box.setRangeText(added, at, at, 'end');
  box.dispatchEvent(new InputEvent('input', { inputType: 'insertText', data: added }));
}"""


def test_a_long_text_is_counted_first_and_only_its_edits_are_sent(
    seen: Seen, toks: dict[str, toksmith.Tokenizer]
) -> None:
    seen.open(text="x")
    seen.page.evaluate(HOLD)
    seen.page.evaluate("window.hold = /rows/")
    seen.page.evaluate(PASTE, LONG)
    seen.until(
        "said => document.querySelector('#counts').textContent.startsWith(said)",
        f"{toks['bytes'].count(LONG) + 1:,} tokens",
    )
    assert seen.page.locator("#counts.stale").count() == 0
    seen.page.wait_for_selector("#busy:visible")
    seen.page.wait_for_selector("body.busy")
    seen.page.evaluate("() => { window.hold = null; for (const each of window.held.splice(0)) each(); }")
    seen.page.wait_for_selector("#busy", state="hidden")
    seen.page.evaluate("window.asked = []")
    text = "x" + LONG
    for at, added in ((3, "low"), (9, "नम 🥚"), (2000, "\n\n"), (0, "<|end|>")):
        seen.page.evaluate(TYPE, [at, added])
        units = text.encode("utf-16-le")
        text = (units[: 2 * at] + added.encode("utf-16-le") + units[2 * at :]).decode("utf-16-le")
    seen.until(
        "said => document.querySelector('#counts').textContent.startsWith(said)",
        f"{toks['bytes'].count(text, special='text'):,} tokens",
    )
    sizes = seen.page.evaluate("window.asked.map((each) => each[1])")
    assert sizes and max(sizes) < 10_000, "the text is not sent again"
    found = toksmith.explain.text(toks["bytes"], text[:3000])
    drawn = [label.rpartition(", id ")[2] for label in seen.drawn()]
    assert drawn[:200] == [str(token.id) for token in found.tokens][:200]
    for tab in ("budget", "specials", "tokens"):
        seen.tab(tab)
        check_view(seen, tab, "bytes") if tab != "tokens" else None


def test_work_is_cancelled_by_the_reader_and_by_newer_work(seen: Seen) -> None:
    seen.open(text="low")
    seen.page.evaluate(HOLD)
    seen.page.evaluate("window.hold = /rows|budget/")
    seen.page.evaluate(PUT, "slow")
    seen.page.wait_for_selector("#busy:visible")
    seen.page.evaluate(PUT, "slower")
    seen.until("window.asked.filter((each) => each[2]?.aborted).length === 1 && window.held.length === 2")
    seen.page.click("#cancel")
    seen.wait("#problem", "You cancelled this")
    seen.page.wait_for_selector(
        "#busy", state="hidden"
    )  # the request for ids, which the test does not hold, can still be running
    seen.page.evaluate("window.hold = null")
    seen.page.click("#problem button")
    seen.settle(6)
    assert not seen.page.is_visible("#problem")
    seen.page.evaluate("window.hold = /budget/")
    seen.tab("budget")
    seen.page.wait_for_selector("#busy:visible")
    seen.page.click("#cancel")
    seen.wait(".answer .bad", "You cancelled this")
