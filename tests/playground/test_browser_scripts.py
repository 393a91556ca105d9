"""Rows of the playground in many scripts, in a real Chromium: their widths, their direction, and the colours of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from browsing import Seen, tokenizers

import toksmith

ARABIC = "كان لفلاح إوزة تبيض كل يوم بيضة من ذهب، وكان يبيع البيض في السوق goose 123"
SCRIPTS = {
    "arabic": ARABIC,
    "hebrew": "לאיכר הייתה אווזה שהטילה ביצת זהב בכל יום והוא מכר אותן בשוק",
    "hindi": "एक किसान के पास एक हंस था जो हर दिन सोने का एक अंडा देता था, और किसान उसे बाज़ार में बेचकर धनी होता गया।",
    "tamil": "ஒரு விவசாயியிடம் தினமும் ஒரு தங்க முட்டையிடும் வாத்து இருந்தது, அவர் அதை சந்தையில் விற்றார்.",
    "thai": "ชาวนาคนหนึ่งมีห่านที่ออกไข่ทองคำทุกวันเขาขายไข่ในตลาดและร่ำรวยขึ้นเรื่อยๆจนวันหนึ่งเขาอยากได้ทองทั้งหมด",
    "chinese": "有一个农夫养了一只鹅，每天下一个金蛋。" * 4,
    "korean": "한 시골 사람에게 매일 황금알을 낳는 거위가 있다. " * 3,
    "emoji": "👩‍👩‍👧‍👦 🥚🪿 🇰🇷 " * 8,
}
WIDTHS = """() => {
  const rows = document.querySelector('.rows');
  const box = rows.getBoundingClientRect();
  const found = [...rows.querySelectorAll('.row')].map((row) => row.getBoundingClientRect());
  return [found.length, Math.max(...found.map((row) => Math.max(row.right - box.right, box.left - row.left))), Math.max(...found.map((row) => row.width)) / box.width];
}"""
OVERPRINTED = """() => [...document.querySelectorAll('.split .t.s')].filter((each) => {
  const range = document.createRange();
  range.selectNodeContents(each);
  const style = getComputedStyle(each);
  const tick = Math.abs(Number.parseFloat(style.boxShadow.match(/(-?[\\d.]+)px/)[1]));
  return range.getBoundingClientRect().left - each.getBoundingClientRect().left < tick || each.scrollWidth > each.clientWidth + 1;
}).length"""


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[toksmith.types.Playground]:
    toks = tokenizers(tmp_path_factory.mktemp("browser"))
    toks["scripts"] = toksmith.train(" ".join(SCRIPTS.values()) * 2, merges=300, progress=False)
    with toksmith.play(toks) as running:
        yield running


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("names", [["bytes"], ["scripts"], ["bytes", "scripts"]], ids=str)
def test_no_row_is_wider_than_its_box(seen: Seen, script: str, names: list[str]) -> None:
    seen.open(text=f"{SCRIPTS[script]} {SCRIPTS[script]}")
    for name in names:
        seen.page.check(f"input[value={name}]")
    if names == ["scripts"]:
        seen.page.uncheck("input[value=bytes]")
    seen.page.wait_for_load_state("networkidle")
    seen.page.wait_for_timeout(100)
    count, over, widest = seen.page.evaluate(WIDTHS)
    assert count > 1 and over <= 0, (over, widest)
    if names == ["bytes"]:
        assert widest > 0.55, "rows are filled"
        assert seen.page.locator(".split").count() > 5
    assert seen.page.evaluate(OVERPRINTED) == 0


@pytest.mark.parametrize("script", ["arabic", "hebrew"])
def test_a_row_has_the_direction_of_its_line(seen: Seen, script: str) -> None:
    seen.open(text=f"{SCRIPTS[script]}\nthe goose {SCRIPTS[script][:9]}")
    rights = (
        seen.page.locator(".row.rtl")
        .first.locator("> .t, > .split")
        .evaluate_all("all => all.map((each) => each.getBoundingClientRect().right)")
    )
    assert len(rights) > 5 and rights == sorted(rights, reverse=True), "the first token is on the right"
    assert seen.page.locator(".row.ltr .shaped").count() == 1, "the second line begins in English"
    shaped = "".join(seen.page.locator(".row.rtl .shaped").all_inner_texts())
    assert shaped.strip() == SCRIPTS[script].strip()
    seen.wait("#panel", "from right to left")
    seen.page.locator(".rows .t[role=option]").first.focus()
    seen.page.keyboard.press("ArrowLeft")
    seen.live("token 2 of")
    seen.type("plain")
    assert not seen.page.get_by_text("from right to left").is_visible()
    assert seen.page.locator(".shaped").count() == 0


def test_equal_tokens_have_equal_colours_and_agreement_is_grey(seen: Seen) -> None:
    seen.open(text="the goose lays slow lower lowest " * 6)
    seen.page.check("input[value=scripts]")
    seen.wait(".compare", "cut differently")
    colour = """(which) => Object.fromEntries([...document.querySelectorAll(`.rows .t.agrees[data-w="${which}"][role=option]`)].map((each, at) => [at, each.className.match(/\\bc\\d/)[0]]))"""
    one, other = seen.page.evaluate(colour, 0), seen.page.evaluate(colour, 1)
    assert len(one) == len(other) > 10
    same = [at for at, each in one.items() if other[at] == each]
    assert len(same) > 0.7 * len(one)
    background = "getComputedStyle(document.querySelector('.rows .t.agrees')).backgroundColor"
    coloured = seen.page.evaluate(background)
    seen.page.check("#grey")
    assert seen.page.evaluate(background) != coloured
    neighbours = (
        seen.page.locator(".rows .row")
        .first.locator(".t[data-w='0']")
        .evaluate_all("all => all.map((each) => each.className.match(/\\bc\\d/)[0])")
    )
    assert all(one != next_ for one, next_ in pairwise(neighbours))
