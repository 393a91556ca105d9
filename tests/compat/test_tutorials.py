"""The figures of five tutorials on byte-pair encoding, one by one, through the public names.

docs/lesson explains the rows. The longer text and the vocabularies are shared data; a test without them is skipped.
"""

import json
from collections import Counter
from pathlib import Path

import pytest
from trainings import trained

import toksmith
from toksmith import Tokenizer, reference
from toksmith.reference import pair_counts, replace_pair

PARAGRAPH = (
    "Byte-Pair Encoding (BPE) was initially developed as an algorithm to compress texts, and then used by OpenAI for "
    "tokenization when pretraining the GPT model. It’s used by a lot of Transformer models, including GPT, GPT-2, "
    "RoBERTa, BART, and DeBERTa."
)
MERGES = [
    *((105, 110), (32, 97), (32, 116), (101, 110), (44, 32), (111, 100), (256, 103), (101, 108), (101, 100)),
    *((257, 110), (111, 114), (71, 80), (267, 84), (82, 84), (114, 32), (262, 32), (32, 119), (115, 32)),
    *((105, 116), (121, 32)),
]
HELLO_IDS = [104, 263, 108, 111, 272, 266, 108, 100, 33]
HINDI = "नमस्ते, आप कैसे हैं"


def merged(tok: Tokenizer) -> list[tuple[int, int]]:
    """The merged pairs in order."""
    return [(left, right) for left, right, _ in tok.model.merges.tolist()]


def new_tokens(tok: Tokenizer) -> list[bytes]:
    """The tokens that merging made."""
    return [tok.token_bytes(id) for _, _, id in tok.model.merges.tolist()]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train(PARAGRAPH, 276, pattern=None, ties="first_seen")


@pytest.fixture(scope="module")
def article(corpora_dir: Path) -> str:
    path = corpora_dir / "taylorswift.txt"
    if not path.is_file():
        pytest.skip(f"lacks {path}")
    return path.read_bytes().decode()


@pytest.fixture(scope="module")
def by_size(article: str) -> dict[int, Tokenizer]:
    """The tutorials' two trainings on the article, by vocabulary size."""
    return {size: trained(article, size, pattern=None, ties="first_seen") for size in (1000, 2000)}


@pytest.fixture
def published(vocab_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the shared vocabularies the cache of published encodings."""
    if not all((vocab_dir / f"{name}.tiktoken").is_file() for name in ("r50k_base", "cl100k_base")):
        pytest.skip(f"lacks r50k_base.tiktoken or cl100k_base.tiktoken in {vocab_dir}")
    monkeypatch.setenv("TOKSMITH_CACHE", str(vocab_dir))


# Row 1: a paragraph.


def test_the_paragraph_has_the_figures_before_training() -> None:
    ids = list(PARAGRAPH.encode())
    counts = pair_counts(ids)
    assert (len(PARAGRAPH), len(ids), len(counts)) == (248, 250, 151)
    assert max(counts, key=lambda pair: counts[pair]) == (105, 110) == tuple(b"in")
    assert counts[105, 110] == max(counts.values()) == 6
    assert len(replace_pair(ids, (105, 110), 256)) == 244


def test_twenty_merges_give_the_ids_of_the_tutorial(tok: Tokenizer) -> None:
    assert merged(tok) == MERGES
    assert [id for _, _, id in tok.model.merges.tolist()] == [*range(256, 276)]
    ids = tok.encode(PARAGRAPH)
    assert (len(ids), round(250 / len(ids), 2)) == (186, 1.34)
    assert tok.decode(ids) == PARAGRAPH
    assert tok.encode("hello world!") == HELLO_IDS
    assert tok.decode(HELLO_IDS) == "hello world!"
    assert toksmith.train(PARAGRAPH, merges=20, pattern=None, ties="first_seen") == tok


def test_the_reference_gives_the_same_paragraph(tok: Tokenizer) -> None:
    learned = reference.train(reference.count([PARAGRAPH], []), 20, ties="first_seen")
    model = reference.model_of(learned)
    assert [merge[:2] for merge in learned] == MERGES
    assert reference.encode("hello world!", model) == HELLO_IDS
    assert reference.encode(PARAGRAPH, model) == tok.encode(PARAGRAPH)


def test_training_stops_when_no_pair_repeats() -> None:
    tok = toksmith.train(PARAGRAPH, min_count=2, pattern=None, ties="first_seen")
    ids = tok.encode(PARAGRAPH)
    assert (len(merged(tok)), len(ids)) == (38, 150)
    assert max(pair_counts(ids).values()) == 1
    assert tok.model.training is not None and tok.model.training.stopped_because == "no pair repeats"


def test_the_other_rule_for_ties_gives_another_number_of_ids() -> None:
    assert len(toksmith.train(PARAGRAPH, merges=20, pattern=None, ties="lowest_ids").encode(PARAGRAPH)) == 187


# Rows 2 and 3: by hand.


def test_the_smallest_example_has_the_counted_pairs() -> None:
    counts = {bytes(pair).decode(): count for pair, count in pair_counts(b"aaabdaaabac").items()}
    assert counts == {"aa": 4, "ab": 2, "bd": 1, "da": 1, "ba": 1, "ac": 1}


@pytest.mark.parametrize(
    "ties, tokens",
    [("first_seen", [b"aa", b"aaa", b"aaab"]), ("lowest_ids", [b"aa", b"ab", b"aaab"])],
)
def test_the_smallest_training_makes_three_tokens(ties: str, tokens: list[bytes]) -> None:
    text = "aaabdaaabac"
    three = toksmith.train(text, merges=3, pattern=None, ties=ties)  # type: ignore[arg-type]
    until = toksmith.train(text, min_count=2, pattern=None, ties=ties)  # type: ignore[arg-type]
    assert until == three, "after three merges no pair repeats"
    assert new_tokens(three) == tokens
    assert [three.token_bytes(id) for id in three.encode(text)] == [b"aaab", b"d", b"aaab", b"a", b"c"]


def test_pair_counts_and_replace_pair_give_the_examples() -> None:
    assert list(pair_counts([1, 2, 3, 1, 2]).items()) == [((1, 2), 2), ((2, 3), 1), ((3, 1), 1)]
    assert replace_pair([1, 2, 3, 1, 2], (1, 2), 4) == [4, 3, 4]
    assert replace_pair([5, 6, 6, 7, 9, 1], (6, 7), 99) == [5, 6, 99, 9, 1]
    assert replace_pair([1, 2, 1, 2, 3, 1, 2], (1, 2), 11) == [11, 11, 3, 11]


# Row 4: an article.


def test_the_article_has_the_figures_before_training(article: str) -> None:
    data = article.encode()
    counts = pair_counts(data)
    assert (len(article), len(data), len(counts)) == (185_561, 185_768, 1_919)
    assert Counter(counts).most_common(1) == [((101, 32), 2_981)]
    assert sorted(counts.values(), reverse=True)[:3] == [2_981, 2_961, 2_633]
    assert min(counts, key=lambda pair: counts[pair]) == (10, 45)
    assert list(counts.values()).count(1) == 413


@pytest.mark.parametrize("size, left", [(1000, 58_300), (2000, 45_722)])
def test_the_trained_article_has_the_ids_and_merges(
    size: int, left: int, article: str, by_size: dict[int, Tokenizer], vocab_dir: Path
) -> None:
    tok = by_size[size]
    ids = tok.encode(article)
    assert (len(tok), len(ids)) == (size, left)
    assert tok.decode(ids) == article
    record = tok.model.training
    assert record is not None and record.left[-1] == left and record.counts[0] == 2_981
    merges = vocab_dir / f"seed_taylorswift_merges_{size}.json"
    if not merges.is_file():
        pytest.skip(f"lacks {merges}")
    assert merged(tok) == [tuple(pair) for pair in json.loads(merges.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("size", [1000, 2000])
def test_training_order_is_lowest_rank_first(size: int, article: str, by_size: dict[int, Tokenizer]) -> None:
    text = article.encode().decode("latin-1")  # ids as characters: `replace` is then `replace_pair`
    for left, right, id in by_size[size].model.merges.tolist():
        text = text.replace(chr(left) + chr(right), chr(id))
    assert [ord(char) for char in text] == by_size[size].encode(article)


@pytest.mark.parametrize(
    "size, text, length, ids",
    [
        (1000, f"Hi there, how are you? {HINDI}", 72, 61),
        (2000, "Hi there, how are yopu. I havnt seen you for days", 49, 25),
    ],
)
def test_the_merges_of_the_article_encode_other_texts(
    size: int, text: str, length: int, ids: int, by_size: dict[int, Tokenizer]
) -> None:
    encoded = by_size[size].encode(text)
    assert (len(text.encode()), len(encoded)) == (length, ids)
    assert by_size[size].decode(encoded) == text


@pytest.mark.parametrize("size, left", [(1000, 58_340), (2000, 45_742)])
def test_the_article_differs_under_the_other_rule_from_id_307(
    size: int, left: int, article: str, by_size: dict[int, Tokenizer]
) -> None:
    tok = toksmith.train(article, size, pattern=None, ties="lowest_ids")
    assert len(tok.encode(article)) == left
    differing = [id for id in range(256, size) if tok.token_bytes(id) != by_size[size].token_bytes(id)]
    assert differing[0] == 307
    records = tok.model.training, by_size[size].model.training
    assert [record and int(record.counts[307 - 256]) for record in records] == [639, 639]


def test_merges_are_saved_as_a_file(tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "merge_dict.json"
    tok.save(path)
    assert json.loads(path.read_text(encoding="utf-8")) == {str(256 + n): [*pair] for n, pair in enumerate(MERGES)}
    assert toksmith.load(path) == tok


# Row 5: characters.


def test_characters_of_the_article_are_numbered_in_order(article: str) -> None:
    tok = toksmith.train(article, kind="chars")
    stoi = {char: id for id, char in enumerate(sorted(set(article)))}
    assert len(tok) == len(stoi) == 95
    assert all(tok.token_id(char) == id and tok.token_bytes(id) == char.encode() for char, id in stoi.items())
    assert tok.encode("Hi there") == [37, 66, 2, 77, 65, 62, 75, 62]
    assert tok.decode([37, 66, 2, 77, 65, 62, 75, 62]) == "Hi there"
    with pytest.raises(toksmith.errors.NotInVocabulary) as caught:
        tok.encode("Hi 😄")
    assert (caught.value.content, caught.value.offset) == ("😄", 3)


@pytest.mark.parametrize(
    "char, data", [("a", [97]), ("é", [195, 169]), ("न", [224, 164, 168]), ("😄", [240, 159, 152, 132])]
)
def test_a_character_outside_the_merges_becomes_its_bytes_in_utf8(char: str, data: list[int], tok: Tokenizer) -> None:
    assert tok.encode(char) == list(char.encode()) == data
    assert tok.decode(data) == char


def test_hindi_without_merges_has_an_id_for_each_byte() -> None:
    assert toksmith.train("any text", merges=0, pattern=None).count(HINDI) == 49


# Row 6: merging characters.

KNIGHT_MERGES = [
    *((115, 32), (101, 32), (104, 129), (97, 114), (110, 32), (116, 32), (105, 103), (134, 104), (101, 114)),
    *((114, 101), (97, 132), (66, 97), (84, 130), (68, 131), (141, 107), (142, 32), (143, 75), (144, 110)),
    *((145, 135), (105, 115)),
]
KNIGHT = "The Dark Knight Rises is a superhero movie released in 2012. It is the final part of Christopher Nolan Da"
KNIGHT_IDS = [
    *(140, 146, 133, 82, 147, 101, 128, 105, 128, 97, 32, 115),
    *(117, 112, 136, 104, 136, 111, 32, 109, 111, 118, 105, 129),
]


def test_merged_characters_give_the_ids_of_the_tutorial(tmp_path: Path) -> None:
    path = tmp_path / "merge_dict.json"
    merges = {str(128 + place): pair for place, pair in enumerate(KNIGHT_MERGES)}
    path.write_text(json.dumps(merges), encoding="utf-8")
    tok = toksmith.load(path)
    ids = tok.encode(KNIGHT)
    assert len(ids) == 74
    assert ids[:24] == KNIGHT_IDS
    assert tok.decode(ids) == KNIGHT
    assert reference.encode(KNIGHT, reference.model_of(KNIGHT_MERGES, unit="char")) == ids


def test_training_on_characters_starts_at_128() -> None:
    tok = toksmith.train(KNIGHT, merges=5, unit="char", alphabet="ascii", pattern=None, ties="first_seen")
    learned = reference.train({KNIGHT.encode(): 1}, 5, ties="first_seen", unit="char")
    assert [tuple(merge) for merge in tok.model.merges.tolist()] == [merge[:3] for merge in learned]
    assert [id for _, _, id in tok.model.merges.tolist()] == [*range(128, 133)]


def test_the_three_stopping_rules_give_three_reasons() -> None:
    options = {"pattern": None, "ties": "first_seen", "unit": "char", "alphabet": "ascii"}
    by_count = toksmith.train(KNIGHT, merges=7, **options)  # type: ignore[arg-type]
    by_size = toksmith.train(KNIGHT, 128 + 7, **options)  # type: ignore[arg-type]
    until = toksmith.train(KNIGHT, min_count=2, **options)  # type: ignore[arg-type]
    assert by_count == by_size and len(by_size) == 135
    assert max(pair_counts(until.encode(KNIGHT)).values()) == 1
    why = [tok.model.training and tok.model.training.stopped_because for tok in (by_count, by_size, until)]
    assert len({*why}) == 3


# Row 7: decoding, and the log of a training.


def test_decoding_joins_tokens_and_replaces_invalid_bytes(tok: Tokenizer) -> None:
    vocab = {id: bytes([id]) for id in range(256)}
    for left, right, id in tok.model.merges.tolist():
        vocab[id] = vocab[left] + vocab[right]
    assert vocab == {id: tok.token_bytes(id) for id in range(276)}
    assert tok.decode(tok.encode("a")) == "a"
    assert tok.decode([128]) == tok.decode([128], errors="replace") == "\N{REPLACEMENT CHARACTER}"
    with pytest.raises(UnicodeDecodeError):
        tok.decode([128], errors="strict")


def test_the_training_log_equals_a_plain_count(tok: Tokenizer) -> None:
    record = tok.model.training
    assert record is not None and record.symbols == 250
    ids = list(PARAGRAPH.encode())
    log = []
    for (left, right), new in zip(MERGES, range(256, 276), strict=True):
        count = pair_counts(ids)[left, right]
        ids = replace_pair(ids, (left, right), new)
        log.append((count, len(ids)))
    assert log == list(zip(record.counts.tolist(), record.left.tolist(), strict=True))
    assert log[0] == (6, 244)
    assert log[-1][1] == 186


# Rows 8 and 9: published encoders.


def test_gpt2_splits_the_text_of_the_tutorial() -> None:
    text = "Hello's World123  !!  "
    pieces = ["Hello", "'s", " World", "123", " ", " !!", "  "]
    words = toksmith.train(text, kind="words", pattern="gpt2")
    assert [words.token_bytes(id).decode() for id in words.encode(text)] == pieces
    regexes = toksmith.patterns()["gpt2"].regexes
    assert [piece.decode() for piece in reference.split(text, regexes)] == pieces == words.split(text)


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize(
    "name, ids",
    [("gpt2", [220, 220, 18435, 2159, 10185]), ("cl100k_base", [256, 22691, 4435, 12340])],
)
def test_published_encodings_give_the_ids_of_the_tutorial(name: str, ids: list[int]) -> None:
    tok = toksmith.load(name)
    assert tok.encode("   Hello World!!!") == ids
    assert tok.decode(ids) == "   Hello World!!!"


# Row 16: kinds of tokenization.


def test_characters_words_and_parts_tokenize_differently() -> None:
    chars = toksmith.train("hello", kind="chars")
    assert [chars.token_bytes(id) for id in chars.encode("hello")] == [b"h", b"e", b"l", b"l", b"o"]
    words = toksmith.train("it will rain today", kind="words")
    assert words.count("it will rain today") == 4
    parts = toksmith.train("rain rainy raining", merges=4)
    tokens = [parts.token_bytes(id) for id in parts.encode("raining")]
    assert 1 < len(tokens) < len("raining")
    assert b"".join(tokens) == b"raining"


# Errors of the tutorials.


def test_ids_end_below_vocab_size(tok: Tokenizer) -> None:
    assert tok.vocab_size == 276
    assert tok.decode([275]) == "y "
    with pytest.raises(toksmith.errors.UnknownId):
        tok.decode([276])


def test_overlapping_pairs_are_counted_but_not_merged() -> None:
    ids = list(b"aaabdaaabac")
    assert len(ids) - pair_counts(ids)[97, 97] == 7
    assert len(replace_pair(ids, (97, 97), 256)) == 9
    record = toksmith.train(b"aaabdaaabac", merges=1, pattern=None).model.training
    assert record is not None and (record.counts[0], record.left[0]) == (4, 9)


@pytest.mark.usefixtures("published")
def test_the_vocabulary_of_gpt2_has_50257_tokens() -> None:
    tok = toksmith.load("gpt2")
    assert len(tok) == tok.vocab_size == 256 + 50_000 + 1 == 50_257


def test_ascii_has_as_many_bytes_as_code_points() -> None:
    text = "Hola en otro idioma!"
    assert len(text.encode()) == 20
    assert list(text.encode()) == [ord(char) for char in text]
    assert toksmith.train(text, merges=0, pattern=None).encode(text) == list(text.encode())


def test_sizes_of_unicode_encodings() -> None:
    text = "오늘은 화창한 날이다 ☀\ufe0f (today is sunny day)"
    assert [len(text.encode(name)) for name in ("utf-8", "utf-16-le", "utf-32-le")] == [57, 70, 140]
    bare = text.replace("\ufe0f", "")
    assert len(bare.encode()) == 54
    assert toksmith.train("any text", merges=0, pattern=None).count(text) == 57
