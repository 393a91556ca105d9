"""Snapshots: the values are the library's, the page fetches nothing, and no text escapes its element."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import pytest
from command_line import misused, refused, run
from hard_texts import HARD_TEXTS
from hypothesis import given
from hypothesis import strategies as st
from justhtml import JustHTML
from markdown_it import MarkdownIt

import toksmith
from toksmith import explain
from toksmith._playground import snapshot_page, snapshots
from toksmith.explain._pieces import Kind

CORPUS = "low lower lowest slow slower slowest नमस्ते नमन 낮은 12345 12345 the goose lays a golden egg " * 3
TEXT = "slow goose\n\tनम 낮은 <|end|> egg  "
STATIC = Path(snapshot_page.__file__).parent / "static"
SMALL, LARGE = (toksmith.train(CORPUS, merges=n, special_tokens=["<|end|>"], progress=False) for n in (12, 60))
UNIGRAM = toksmith.train(CORPUS, 80, kind="unigram", progress=False)
HOSTILE = {
    "the end of the script": "</script><script>alert(1)</script>",
    "a comment": "<!--<script> --> <!-- ]]> &lt;&amp;",
    "an attribute": "\" onmouseover='x' data-i=\"0",
    "line separators": "a\u2028b\u2029c\u0085d",
    "controls": "\0\x1b[31m\r\n\x7f\u200b",
    "right to left": "\u05d0\u05d1\u202e 1\u202c",
    "emoji": "👩\u200d🚀😀 ☀\ufe0f",
    "a lone surrogate": "a\ud800b",
    "bytes": b"\xff\xfe low \xe2\x98",
    "nothing": "",
    "format fields": "{style} {0} {{}} %s",
}


class Parsed(HTMLParser):
    """The elements of a page: tags with attributes, and the content of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag in self.raw:
            self.raw[tag].append("")

    def handle_data(self, data: str) -> None:
        if self.inside in self.raw:
            self.raw[self.inside][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    @property
    def data(self) -> Any:
        """The data with the parts of the rows that the page derives, as `known` of embedded.js does."""
        found = json.loads(self.raw["script"][0])
        for own in found["tokenizers"]:
            for id, row in own["table"].items():
                row[1] = row[1] or row[0].translate(str.maketrans("·→↵", " \t\n")).encode().hex()
                if len(row) > 3:
                    row[3:] = [int(id) if row[3] == -1 else row[3], *row[4:7], *(row[7:] or [1])]
        return found

    @property
    def places(self) -> list[int]:
        """The places of the tokens that are drawn, each once."""
        return list(dict.fromkeys(int(found["data-i"] or "") for _, found in self.tags if "data-i" in found))


def parse_snapshot(*given: Any, **options: Any) -> Parsed:
    return Parsed(toksmith.snapshot(*given, **options).html)


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# The page


def test_the_policy_allows_the_page_s_own_script_and_style_and_nothing_else() -> None:
    made = toksmith.snapshot({"small": SMALL}, TEXT)
    page = Parsed(made.html)
    [policy] = [found["content"] for tag, found in page.tags if found.get("http-equiv") == "Content-Security-Policy"]
    [_, script], [style] = page.raw["script"], page.raw["style"]
    own = f"script-src {hash_of(script)}; style-src {hash_of(style)}"
    assert policy == f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"
    assert made.policy == own == toksmith.snapshot(LARGE, "other", fragment=True).policy
    names = {name for _, found in page.tags for name in found}
    assert not names & {"src", "href", "style", "srcset", "action"} and not [name for name in names if name[:2] == "on"]
    assert not re.search(r"https?:|@import|url\(|XMLHttpRequest|innerHTML|\beval\(", made.html)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_escapes_its_element(text: str | bytes) -> None:
    plain = parse_snapshot(SMALL, "low")
    title = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    made = toksmith.snapshot({title: SMALL}, text, title=title, pieces=[text], vocabulary=300)
    page = Parsed(made.html)
    JustHTML(made.html, strict=True)
    assert [tag for tag, _ in page.tags if tag == "script"] == ["script"] * 2
    assert page.raw["style"] == plain.raw["style"] and page.raw["script"][1] == plain.raw["script"][1]
    [own] = page.data["tokenizers"]
    data = toksmith.reference.utf8(text)
    assert b"".join(bytes.fromhex(own["table"][str(id)][1]) for id in own["ids"]) == data
    assert page.places == [*range(len(own["ids"]))]
    assert sum(own["lengths"]) == len(data)
    assert not re.search("[\u2028\u2029\u202e\ufeff\ud800]", made.html)
    made.html.encode()


@given(st.sampled_from([*HARD_TEXTS.values()]) | st.text(max_size=40) | st.binary(max_size=40))
def test_tokens_equal_the_library(text: str | bytes) -> None:
    page = parse_snapshot({"small": SMALL, "large": LARGE}, text, vocabulary=0)
    for own, tok in zip(page.data["tokenizers"], (SMALL, LARGE), strict=True):
        found = explain.text(tok, text)
        assert own["ids"] == [token.id for token in found.tokens]
        assert own["lengths"] == [token.end - token.start for token in found.tokens]
        assert [count for count, _ in own["pieces"]] == [len(tokens) for _, _, tokens in found.rows()]
        for token in found.tokens:
            row = own["table"][str(token.id)]
            assert (row[1], snapshot_page.KINDS[row[2]]) == (token.token.hex(), token.kind)


def test_the_same_snapshot_is_the_same_bytes() -> None:
    assert toksmith.snapshot(LARGE, TEXT).html == toksmith.snapshot(LARGE, TEXT).html


def test_the_title_is_given_or_the_names_of_the_tokenizers() -> None:
    assert "<title>small, large</title>" in toksmith.snapshot({"small": SMALL, "large": LARGE}, "low").html
    made = toksmith.snapshot(SMALL, "low", title="A <b> & c")
    assert '<h1 class="title">A &lt;b&gt; &amp; c</h1>' in made.html
    assert repr(made).startswith("<Snapshot 'A <b> & c': tokenizer 1 1; ")


def test_a_cut_of_only_some_tokenizers_is_marked() -> None:
    page = parse_snapshot({"small": SMALL, "large": LARGE}, "a golden egg")
    classes = [(found["class"] or "").split() for tag, found in page.tags if "data-i" in found]
    count = SMALL.count("a golden egg")
    assert [place for place, names in enumerate(classes) if "alone" in names]
    assert not any("alone" in names for names in classes[count:]), "the larger tokenizer cuts where the smaller does"
    assert not any(
        "alone" in (found.get("class") or "").split() for _, found in parse_snapshot(SMALL, "a golden egg").tags
    )


# Merges


def replay_merges(own: Any, number: int) -> dict[str, Any]:
    """The merges of a piece by the rule of `snapshot_page`, as `embedded.js` plays them, in the form of `Merges.to_dict`."""
    piece = own["merges"]["pieces"][number]
    pairs = {json.dumps(pair[:2]): pair[2:] for pair in own["merges"]["pairs"]}
    symbols = piece["first"]
    steps = []

    def symbol(found: Any) -> dict[str, Any]:
        known = isinstance(found, int)
        return {"id": found if known else None, "hex": (own["table"][str(found)] if known else found)[1]}

    for at in piece["places"]:
        found = [
            {"place": place, "rank": pair[0], "id": pair[1]}
            for place in range(len(symbols) - 1)
            if (pair := pairs.get(json.dumps(symbols[place : place + 2]))) is not None
        ]
        chosen = next(each for each in found if each["place"] == at)
        steps.append({"symbols": [*map(symbol, symbols)], "candidates": found, "chosen": chosen})
        symbols = [*symbols[:at], chosen["id"], *symbols[at + 2 :]]
    facts = {"hex": piece["hex"], "cut": piece["cut"], "whole_id": piece["whole"], "ids": piece["ids"]}
    return facts | {"steps": steps, "merged": [*map(symbol, symbols)]}


def library_merges(found: explain.Merges) -> dict[str, Any]:
    """The merges of the library in the same form."""
    values = found.to_dict()

    def symbol(one: dict[str, Any]) -> dict[str, Any]:
        return {"id": one["id"], "hex": one["hex"]}

    steps = [step | {"symbols": [*map(symbol, step["symbols"])]} for step in values["steps"]]
    facts = {"hex": values["piece"]["hex"], "cut": values["cut"], "whole_id": values["whole_id"], "ids": values["ids"]}
    return facts | {"steps": steps, "merged": [*map(symbol, values["merged"])]}


@given(st.text(alphabet="lowerst नम낮 1", max_size=60) | st.sampled_from([*HARD_TEXTS.values()]))
def test_merges_equal_the_library(text: str) -> None:
    [own] = parse_snapshot(LARGE, text, vocabulary=0).data["tokenizers"]
    played = {place for _, place in own["pieces"] if place >= 0}
    assert played == {*range(len(own["merges"]["pieces"]))}
    rows = [
        (explain.text(LARGE, text).text[start:end], tokens) for start, end, tokens in explain.text(LARGE, text).rows()
    ]
    for (data, tokens), (_, number) in zip(rows, own["pieces"], strict=True):
        if 1 < len(data) <= snapshot_page.LONGEST_PIECE:
            assert replay_merges(own, number) == library_merges(explain.merges(LARGE, data))
            assert own["merges"]["pieces"][number]["ids"] == [token.id for token in tokens]
        else:
            assert number == -1


def test_requested_pieces_are_played() -> None:
    [own] = parse_snapshot(LARGE, "goose", pieces=[" slowest", b"\xe0\xa4", " slowest"]).data["tokenizers"]
    assert [piece["hex"] for piece in own["merges"]["pieces"]] == [b" slowest".hex(), "e0a4"]
    assert own["pieces"] == [[LARGE.count("goose"), -1]]
    assert replay_merges(own, 0) == library_merges(explain.merges(LARGE, " slowest"))
    [none] = parse_snapshot(LARGE, "goose", pieces=[]).data["tokenizers"]
    assert none["merges"] == {"pairs": [], "pieces": []}
    with pytest.raises(toksmith.errors.InvalidOption, match=r"pieces=.* at most 512"):
        toksmith.snapshot(LARGE, "goose", pieces=["x" * 513])


def test_a_whole_piece_that_is_a_token_has_its_id(tmp_path: Path) -> None:
    ranks = tmp_path / "large.tiktoken"
    LARGE.save(ranks, allow_loss=["metadata"])
    tok = toksmith.load(ranks, pattern="o200k", special_tokens=LARGE.special_tokens)
    [own] = parse_snapshot(tok, " slowest").data["tokenizers"]
    assert own["merges"]["pieces"][0]["whole"] == own["ids"][0]


def test_a_tokenizer_without_merges_has_a_message() -> None:
    [own] = parse_snapshot(UNIGRAM, "low lower").data["tokenizers"]
    assert own["merges"] is None and "unigram does not merge" in own["unmerged"]
    assert own["ids"] == UNIGRAM.encode("low lower") and {*map(str, own["ids"])} <= {*own["table"]}
    assert all(len(row) == 3 for row in own["table"].values())


@pytest.mark.slow
def test_words_are_played_where_a_normalizer_rewrites_the_text(vocab_dir: Path) -> None:
    tok = toksmith.load(vocab_dir / "mistral_v1.model")
    text = "The goose lays golden eggs 낮은"
    [own] = parse_snapshot(tok, text).data["tokenizers"]
    assert sum(count for count, _ in own["pieces"]) == len(tok.encode(text))
    words = [piece["shown"] for piece in own["merges"]["pieces"]]
    assert {"▁goose", "▁lays", "▁golden"} <= {*words}
    for number, piece in enumerate(own["merges"]["pieces"]):
        assert replay_merges(own, number) == library_merges(explain.merges(tok, bytes.fromhex(piece["hex"])))


# The vocabulary


def test_the_page_has_the_requested_slice_of_the_vocabulary() -> None:
    text = {*SMALL.encode("low")}

    def ids(vocabulary: Any) -> set[int]:
        return {int(id) for id in parse_snapshot(SMALL, "low", vocabulary=vocabulary).data["tokenizers"][0]["table"]}

    assert text <= ids(0) <= text | {*range(256)} | {*range(256, 300)}
    assert ids(100) == ids(0) | {*range(100)} == ids(range(100))
    assert ids([200, 200]) == ids(0) | {200}
    assert ids(10**6) == {*SMALL.model.ids.tolist(), *SMALL.special_tokens.values()}
    with pytest.raises(toksmith.errors.UnknownId, match="99999"):
        ids([99999])
    with pytest.raises(toksmith.errors.InvalidOption, match="at least 0"):
        ids(-1)
    with pytest.raises(TypeError, match="vocabulary: expected a number of tokens or a list of ids, not str"):
        ids("300")


def test_a_token_has_the_two_tokens_it_is_merged_from() -> None:
    [own] = parse_snapshot(LARGE, " slowest", vocabulary=10**6).data["tokenizers"]
    for id, (_, hex, kind, *more) in own["table"].items():
        tree = explain.token(LARGE, int(id))
        assert (hex, snapshot_page.KINDS[kind]) == (tree.token.hex(), tree.kind)
        if tree.special:
            assert more == []
            continue
        root = tree.nodes[tree.roots[0]]
        parts = (
            [None, None]
            if root.left is None or root.right is None
            else [tree.nodes[root.left].id, tree.nodes[root.right].id]
        )
        assert more == [root.rank, *parts, len(tree.children), 1]
        assert {*map(str, filter(None, parts))} <= {*own["table"]}


def test_kinds_equal_the_library() -> None:
    assert get_args(Kind) == snapshot_page.KINDS
    said = ", ".join(f"'{kind}'" for kind in snapshot_page.KINDS)
    assert f"const KIND_NAMES = [{said}];" in (STATIC / "embedded.js").read_text(encoding="utf-8")


# Long texts, sizes and wrong arguments


@pytest.mark.slow
def test_a_long_text_is_cut_and_the_page_says_so() -> None:
    long = ("low नम\n" * 50_000)[:200_000]
    for text in (long, long.replace("\n", " "), "\u0928" * 200_000):
        shown, [note] = snapshots.first_bytes(text.encode())
        assert snapshots.MOST_BYTES - 10 <= len(shown) <= snapshots.MOST_BYTES
        assert text.startswith(shown.decode())
        assert note.startswith(f"The text has {len(text.encode()):,} bytes. This page has the first {len(shown):,}")
    made = toksmith.snapshot(SMALL, long, vocabulary=0, pieces=[])
    [own] = Parsed(made.html).data["tokenizers"]
    assert own["ids"] == SMALL.encode(snapshots.first_bytes(long.encode())[0].decode(), special="text")
    assert "The text has" in made.html
    assert snapshots.first_bytes(b"x" * snapshots.MOST_BYTES) == (b"x" * snapshots.MOST_BYTES, [])


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(toksmith.errors.InvalidOption, match=r"gone.*tokenizers that can be loaded"):
        toksmith.snapshot({"low": SMALL, "gone": "no such file"}, "low")
    with pytest.raises(toksmith.errors.InvalidOption, match="at most 4"):
        toksmith.snapshot([SMALL] * 5, "low")
    with pytest.raises(toksmith.errors.SpecialTokenInText):
        toksmith.snapshot(SMALL, "<|end|>", special="raise")
    with pytest.raises(toksmith.errors.FormatError, match="there is no folder"):
        toksmith.snapshot(SMALL, "low").save(tmp_path / "none" / "a.html")


# In other pages


def test_a_fragment_is_one_element_that_markdown_leaves_whole() -> None:
    made = toksmith.snapshot({"small": SMALL, "large": LARGE}, f"{TEXT}\n\n\n    x\n", fragment=True)
    assert made.html.startswith('<div class="toksmith-snapshot"') and made.html.endswith("</div>")
    assert not re.search(r"\n\s*\n", made.html)
    tags = [tag for tag, _ in Parsed(made.html).tags]
    assert not {*tags} & {"html", "head", "body", "title", "meta", "h1"}
    assert "id" not in {name for _, found in Parsed(made.html).tags for name in found}, "several fragments share a page"
    assert MarkdownIt().render(f"before\n\n{made.html}\n\nafter") == f"<p>before</p>\n{made.html}\n<p>after</p>\n"
    assert Parsed(made.html).data == parse_snapshot({"small": SMALL, "large": LARGE}, f"{TEXT}\n\n\n    x\n").data


def test_rules_hold_inside_a_snapshot_only() -> None:
    outer = re.findall(
        r"^([^\s{}@][^{}]*)\{",
        re.sub(r"(?s)\.toksmith-snapshot \{.*^\}\n(?=body)", "", snapshot_page.style(), flags=re.MULTILINE),
        re.MULTILINE,
    )
    assert outer and all("toksmith" in each for each in outer), outer
    assert snapshot_page.style().count("{") == snapshot_page.style().count("}")


def test_the_script_joins_the_modules_without_duplicate_names() -> None:
    script = snapshot_page.script()
    assert not re.search(r"^(import|export|//)", script, re.MULTILINE) and "</" not in script and "<!--" not in script
    defined = [
        name
        for file in snapshot_page.SCRIPTS
        for name in re.findall(
            r"^(?:export )?(?:async )?(?:const|let|class|function) (\w+|\$)",
            (STATIC / f"{file}.js").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    ]
    assert len(defined) == len({*defined}) > 20
    for place, file in enumerate(snapshot_page.SCRIPTS):
        imported = re.findall(r"from '\./(\w+)\.js'", (STATIC / f"{file}.js").read_text(encoding="utf-8"))
        before = {*snapshot_page.SCRIPTS[:place], "api"}  # `embedded` replaces it
        assert {*imported} <= before, file


# The command


def test_the_command_writes_the_result_of_the_function(tmp_path: Path) -> None:
    saved, out = tmp_path / "small.toksmith", tmp_path / "out.html"
    SMALL.save(saved)
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    result = run(
        "explain", "snapshot", tmp_path / "text.txt", "-t", saved, "-o", out, "--title", "T", "--vocabulary", "9"
    )
    assert result.stdout == f"{out}\n"
    assert out.read_text(encoding="utf-8") == toksmith.snapshot({str(saved): SMALL}, TEXT, title="T", vocabulary=9).html
    options = ["--piece", " low", "--piece", "egg", "--fragment", "--json"]
    found = run("explain", "snapshot", "--text", "low", "-t", saved, "-o", out, *options)
    made = toksmith.snapshot({str(saved): SMALL}, "low", pieces=[" low", "egg"], fragment=True)
    assert json.loads(found.stdout) == {
        "file": str(out),
        "bytes": out.stat().st_size,
        "tokens": made.tokens,
        "policy": made.policy,
    }
    assert out.read_text(encoding="utf-8") == made.html


def test_the_command_names_wrong_options(tmp_path: Path) -> None:
    saved = tmp_path / "small.toksmith"
    SMALL.save(saved)
    given = ["explain", "snapshot", "--text", "low", "-t", saved]
    misused(run(*given), "Missing option '--output' / '-o'. File to write, such as page.html")
    misused(run(*given, "-o", tmp_path / "a.png"), "--output: expected a name that ends in .html")
    misused(run(*given, "-o", tmp_path / "a.html", "--vocabulary", "-1"), "--vocabulary: expected at least 0, not -1")
    misused(run(*given, "-o", tmp_path / "a.html", "--piece", "x" * 600), "--piece: expected pieces of at most 512")
    refused(run(*given, "-o", tmp_path / "none" / "a.html"), "there is no folder")
    assert not (tmp_path / "a.html").exists()
