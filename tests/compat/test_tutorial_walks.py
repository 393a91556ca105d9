"""Each of the five tutorials from its first call to its last, in order, with what it prints.

The calls are the tutorials', written anew as doctests. They run with toksmith's modules under the names that a notebook
imports, and again with what the notebook itself has: classes in plain Python, tiktoken, SentencePiece. Both print the same.
"""

import doctest
import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from test_tutorials import HINDI, KNIGHT, KNIGHT_MERGES, PARAGRAPH

import toksmith
from toksmith.compat import sentencepiece, tiktoken, tutorial

Pair = tuple[int, int]


# The notebooks' own code


def counted(ids: Sequence[int], counts: dict[Pair, int] | None = None) -> dict[Pair, int]:
    """The tutorials' `get_stats`, with its default argument corrected."""
    counts = {} if counts is None else counts
    for pair in pairwise(ids):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def replaced(ids: Sequence[int], pair: Pair, idx: int) -> list[int]:
    """The tutorials' `merge`."""
    new, at = [], 0
    while at < len(ids):
        if at + 1 < len(ids) and (ids[at], ids[at + 1]) == pair:
            new.append(idx)
            at += 2
        else:
            new.append(ids[at])
            at += 1
    return new


class PlainTokenizer:
    """The notebooks' class: the loop of the tutorials."""

    def __init__(self, unit: str = "byte") -> None:
        self.unit = unit
        self.merge_dict: dict[int, list[int]] = {}

    @property
    def first(self) -> int:
        return 256 if self.unit == "byte" else 128

    @property
    def merges(self) -> dict[Pair, int]:
        return {(left, right): id for id, (left, right) in self.merge_dict.items()}

    def base(self, text: str) -> list[int]:
        return [*text.encode()] if self.unit == "byte" else [ord(char) for char in text]

    def train(
        self, text: str, vocab_size: int | None = None, file: str | None = None, *, num_merges: int | None = None
    ) -> "PlainTokenizer":
        ids, self.merge_dict = self.base(text), {}
        wanted = vocab_size - self.first if vocab_size is not None else num_merges
        while wanted is None or len(self.merge_dict) < wanted:
            counts = counted(ids)
            if not counts or (wanted is None and max(counts.values()) == 1):
                break
            pair = max(counts, key=lambda each: counts[each])
            id = self.first + len(self.merge_dict)
            self.merge_dict[id] = [*pair]
            ids = replaced(ids, pair, id)
        if file is not None:
            self.save(file)
        return self

    @property
    def vocab(self) -> dict[int, bytes]:
        vocab = {id: bytes([id]) for id in range(self.first)}
        for id, (left, right) in self.merge_dict.items():
            vocab[id] = vocab[left] + vocab[right]
        return vocab

    @property
    def vocab_size(self) -> int:
        return self.first + len(self.merge_dict)

    def encode(self, text: str) -> list[int]:
        ids, merges = self.base(text), self.merges
        while len(ids) > 1:
            pair = min(counted(ids), key=lambda each: merges.get(each, float("inf")))
            if pair not in merges:
                break
            ids = replaced(ids, pair, merges[pair])
        return ids

    def decode(self, ids: Sequence[int], errors: str = "replace") -> str:
        vocab = self.vocab
        return b"".join(vocab[id] for id in ids).decode(errors=errors)

    def save(self, name: str) -> None:
        Path(f"{name}.json").write_text(json.dumps(self.merge_dict), encoding="utf-8")

    @classmethod
    def from_pretrained(cls, name: str) -> "PlainTokenizer":
        merges = json.loads(Path(f"{name}.json").read_text(encoding="utf-8"))
        tok = cls("byte" if min(map(int, merges), default=256) == 256 else "char")
        tok.merge_dict = {int(id): pair for id, pair in merges.items()}
        return tok


PLAIN = {"Tokenizer": PlainTokenizer, "get_stats": counted, "merge": replaced}
OURS = {name: getattr(tutorial, name) for name in PLAIN}
TEXTS = {"paragraph": PARAGRAPH, "knight": KNIGHT, "knight_merges": KNIGHT_MERGES, "hindi": HINDI}


def walk(calls: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """Run the calls of a notebook from top to bottom; each must print what is below it. The names at the end."""
    test = doctest.DocTestParser().get_doctest(calls, {**TEXTS, **names}, "tutorial", None, None)
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=report.append, clear_globs=False)
    assert runner.tries and not runner.failures, "".join(report)
    return test.globs


@pytest.fixture(params=["toksmith", "plain"])
def names(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    return OURS if request.param == "toksmith" else PLAIN


# Bytes of a paragraph

BYTES = """
>>> text = paragraph
>>> ids = list(text.encode("utf-8"))
>>> print(len(text), "characters,", len(ids), "bytes")
248 characters, 250 bytes
>>> stats = get_stats(ids)
>>> top_pair = max(stats, key=stats.get)
>>> print(len(stats), "pairs;", top_pair, repr(bytes(top_pair).decode()), stats[top_pair], "times")
151 pairs; (105, 110) 'in' 6 times
>>> print(len(merge(ids, top_pair, 256)))
244
>>> print(merge([5, 6, 6, 7, 9, 1], (6, 7), 99), merge([1, 2, 1, 2, 3, 1, 2], (1, 2), 11))
[5, 6, 99, 9, 1] [11, 11, 3, 11]

>>> merges, left = {}, list(ids)
>>> for new_id in range(256, 276):
...     stats = get_stats(left)
...     pair = max(stats, key=stats.get)
...     left = merge(left, pair, new_id)
...     merges[pair] = new_id
...     print(pair, "->", new_id, len(left))
(105, 110) -> 256 244
(32, 97) -> 257 238
(32, 116) -> 258 233
(101, 110) -> 259 229
(44, 32) -> 260 225
(111, 100) -> 261 222
(256, 103) -> 262 219
(101, 108) -> 263 216
(101, 100) -> 264 213
(257, 110) -> 265 210
(111, 114) -> 266 207
(71, 80) -> 267 204
(267, 84) -> 268 201
(82, 84) -> 269 198
(114, 32) -> 270 196
(262, 32) -> 271 194
(32, 119) -> 272 192
(115, 32) -> 273 190
(105, 116) -> 274 188
(121, 32) -> 275 186
>>> print(f"ratio {len(ids) / len(left):.2f}")
ratio 1.34

>>> vocab = {id: bytes([id]) for id in range(256)}
>>> for (first, second), id in merges.items():
...     vocab[id] = vocab[first] + vocab[second]
>>> print(b"".join(vocab[id] for id in left).decode("utf-8", errors="replace") == text)
True

>>> tokenizer = Tokenizer()
>>> _ = tokenizer.train(text, vocab_size=276)
>>> print(tokenizer.merges == merges, tokenizer.vocab == vocab, tokenizer.vocab_size)
True True 276
>>> print(tokenizer.encode("hello world!"))
[104, 263, 108, 111, 272, 266, 108, 100, 33]
>>> print(tokenizer.decode(tokenizer.encode("hello world!")), tokenizer.encode("a"), tokenizer.decode([97]))
hello world! [97] a
>>> print(len(tokenizer.encode(text)), tokenizer.decode(tokenizer.encode(text)) == text)
186 True
>>> print(repr(tokenizer.decode([128])))
'\N{REPLACEMENT CHARACTER}'
>>> spanish = "Hola en otro idioma!"
>>> print(len(spanish.encode()), [ord(char) for char in spanish] == list(spanish.encode()))
20 True
>>> print(tokenizer.decode(tokenizer.encode(spanish)))
Hola en otro idioma!

>>> tokenizer = Tokenizer().train(text)
>>> print(len(tokenizer.merges), len(tokenizer.encode(text)), max(get_stats(tokenizer.encode(text)).values()))
38 150 1
"""
# `verbose` aligns its columns; a long token pushes its count to the right, after a blank.
LOG = """
>>> _ = Tokenizer().train(paragraph, 276, verbose=True)
merge  1: (105, 110) → 256  ▏in▏            6 times, 244 ids left
merge  2:   (32, 97) → 257  ▏·a▏            6 times, 238 ids left
merge  3:  (32, 116) → 258  ▏·t▏            5 times, 233 ids left
merge  4: (101, 110) → 259  ▏en▏            4 times, 229 ids left
merge  5:   (44, 32) → 260  ▏,·▏            4 times, 225 ids left
merge  6: (111, 100) → 261  ▏od▏            3 times, 222 ids left
merge  7: (256, 103) → 262  ▏ing▏           3 times, 219 ids left
merge  8: (101, 108) → 263  ▏el▏            3 times, 216 ids left
merge  9: (101, 100) → 264  ▏ed▏            3 times, 213 ids left
merge 10: (257, 110) → 265  ▏·an▏           3 times, 210 ids left
merge 11: (111, 114) → 266  ▏or▏            3 times, 207 ids left
merge 12:   (71, 80) → 267  ▏GP▏            3 times, 204 ids left
merge 13:  (267, 84) → 268  ▏GPT▏           3 times, 201 ids left
merge 14:   (82, 84) → 269  ▏RT▏            3 times, 198 ids left
merge 15:  (114, 32) → 270  ▏r·▏            2 times, 196 ids left
merge 16:  (262, 32) → 271  ▏ing·▏          2 times, 194 ids left
merge 17:  (32, 119) → 272  ▏·w▏            2 times, 192 ids left
merge 18:  (115, 32) → 273  ▏s·▏            2 times, 190 ids left
merge 19: (105, 116) → 274  ▏it▏            2 times, 188 ids left
merge 20:  (121, 32) → 275  ▏y·▏            2 times, 186 ids left
>>> _ = Tokenizer().train("a" * 64, num_merges=5, verbose=True)
merge 1:   (97, 97) → 256  ▏aa▏            63 times, 32 ids left
merge 2: (256, 256) → 257  ▏aaaa▏          31 times, 16 ids left
merge 3: (257, 257) → 258  ▏aaaaaaaa▏      15 times,  8 ids left
merge 4: (258, 258) → 259  ▏aaaaaaaaaaaaaaaa▏  7 times,  4 ids left
merge 5: (259, 259) → 260  ▏aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa▏  3 times,  2 ids left
"""


def test_bytes_of_a_paragraph(names: dict[str, Any]) -> None:
    walk(BYTES, names)


def test_the_log_of_training() -> None:
    walk(LOG, OURS)


# An article, and its file of merges

ARTICLE = f"""
>>> with open("taylorswift.txt", encoding="utf-8", newline="") as file:
...     text = file.read()
>>> ids = list(text.encode("utf-8"))
>>> print(len(text), "characters,", len(ids), "bytes")
185561 characters, 185768 bytes
>>> stats = get_stats(ids)
>>> ranked = sorted(((count, pair) for pair, count in stats.items()), reverse=True)
>>> print(len(ranked), ranked[:3])
1919 [(2981, (101, 32)), (2961, (44, 32)), (2633, (32, 50))]
>>> print(min(stats, key=stats.get), sum(count == 1 for count in stats.values()))
(10, 45) 413

>>> tokenizer = Tokenizer()
>>> _ = tokenizer.train(text, 1000, "merge_dict_small")
>>> encoded = tokenizer.encode(text)
>>> print(len(encoded), tokenizer.decode(encoded) == text)
58300 True
>>> print(tokenizer.merge_dict[256].copy(), len(tokenizer.merge_dict))
[101, 32] 744
>>> greeting = "Hi there, how are you? {HINDI}"
>>> greeted = tokenizer.encode(greeting)
>>> print(len(greeting.encode()), len(greeted), tokenizer.decode(greeted) == greeting)
72 61 True

>>> _ = tokenizer.train(text, 2000, "merge_dict_taylor_swift")
>>> print(len(tokenizer.encode(text)), len(tokenizer.merge_dict))
45722 1744
>>> tokenizer = Tokenizer.from_pretrained("merge_dict_taylor_swift")
>>> message = "Hi there, how are yopu. I havnt seen you for days"
>>> sent = tokenizer.encode(message)
>>> print(len(message.encode()), len(sent), tokenizer.decode(sent))
49 25 Hi there, how are yopu. I havnt seen you for days
>>> tokenizer = Tokenizer()
>>> _ = tokenizer.from_pretrained("merge_dict_small.json")
>>> print(tokenizer.encode(greeting) == greeted)
True
"""


def test_an_article_and_its_file_of_merges(
    corpora_dir: Path, vocab_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = corpora_dir / "taylorswift.txt"
    if not needed.is_file():
        pytest.skip(f"lacks {needed}")
    monkeypatch.chdir(tmp_path)
    Path("taylorswift.txt").write_bytes(needed.read_bytes())
    walk(ARTICLE, OURS)
    for name, size in (("small", 1000), ("taylor_swift", 2000)):
        saved = json.loads(Path(f"merge_dict_{name}.json").read_text(encoding="utf-8"))
        assert [*map(int, saved)] == [*range(256, size)]
        merges = vocab_dir / f"seed_taylorswift_merges_{size}.json"
        if merges.is_file():
            assert [*saved.values()] == json.loads(merges.read_text(encoding="utf-8"))


# Characters of a film's description

FILM = """
>>> merges = {128 + place: list(pair) for place, pair in enumerate(knight_merges)}
>>> ids = [ord(char) for char in knight]
>>> print(len(ids))
105
>>> for new_id, (first, second) in merges.items():
...     ids = merge(ids, (first, second), new_id)
>>> print(len(ids))
74
>>> print(ids[:24])
[140, 146, 133, 82, 147, 101, 128, 105, 128, 97, 32, 115, 117, 112, 136, 104, 136, 111, 32, 109, 111, 118, 105, 129]
>>> vocab = {id: chr(id) for id in range(128)}
>>> for new_id, (first, second) in merges.items():
...     vocab[new_id] = vocab[first] + vocab[second]
>>> print([vocab[id] for id in (128, 130, 140, 146)])
['s ', 'he ', 'The ', 'Dark Knigh']
>>> print("".join(vocab[id] for id in ids) == knight)
True

>>> import json
>>> with open("merge_dict_film.json", "w", encoding="utf-8") as file:
...     json.dump(merges, file)
>>> tokenizer = Tokenizer.from_pretrained("merge_dict_film")
>>> print(tokenizer.encode(knight) == ids, tokenizer.decode(ids) == knight, tokenizer.vocab_size)
True True 148

>>> by_size = Tokenizer("char").train(knight, vocab_size=135)
>>> by_number = Tokenizer("char").train(knight, num_merges=7)
>>> until = Tokenizer("char").train(knight)
>>> print(by_size.merge_dict == by_number.merge_dict, by_size.vocab_size)
True 135
>>> print(max(get_stats(until.encode(knight)).values()), until.decode(until.encode(knight)) == knight)
1 True
>>> print(list(until.merge_dict)[0], until.merge_dict[128])
128 [104, 101]
"""


def test_characters_of_a_film(names: dict[str, Any]) -> None:
    walk(FILM, names)


# By hand: pairs, characters, words

BY_HAND = """
>>> word = list("aaabdaaabac".encode())
>>> print({bytes(pair).decode(): count for pair, count in get_stats(word).items()})
{'aa': 4, 'ab': 2, 'bd': 1, 'da': 1, 'ba': 1, 'ac': 1}
>>> letters = {256: "Z", 257: "Y", 258: "X"}
>>> for new_id in letters:
...     stats = get_stats(word)
...     word = merge(word, max(stats, key=stats.get), new_id)
...     print("".join(letters.get(id) or chr(id) for id in word))
ZabdZabac
YbdYbac
XdXac
>>> print(max(get_stats(word).values()))
1
>>> tokenizer = Tokenizer().train("aaabdaaabac", num_merges=3)
>>> print(tokenizer.encode("aaabdaaabac") == word, tokenizer.decode(word), len(word))
True aaabdaaabac 5
>>> print(get_stats([1, 2, 3, 1, 2]), merge([1, 2, 3, 1, 2], (1, 2), 4))
{(1, 2): 2, (2, 3): 1, (3, 1): 1} [4, 3, 4]

>>> print(list("hello"))
['h', 'e', 'l', 'l', 'o']
>>> print(len("it will rain today".split()))
4
>>> for char in "a\N{LATIN SMALL LETTER E WITH ACUTE}\N{DEVANAGARI LETTER NA}\N{SMILING FACE WITH OPEN MOUTH AND SMILING EYES}":
...     print(ord(char), list(char.encode("utf-8")), Tokenizer().encode(char))
97 [97] [97]
233 [195, 169] [195, 169]
2344 [224, 164, 168] [224, 164, 168]
128516 [240, 159, 152, 132] [240, 159, 152, 132]
>>> print(len(hindi), len(hindi.encode("utf-8")))
19 49
"""


def test_pairs_by_hand(names: dict[str, Any]) -> None:
    walk(BY_HAND, names)


CHARACTERS = """
>>> chars = sorted(set(text))
>>> stoi = {char: id for id, char in enumerate(chars)}
>>> itos = {id: char for char, id in stoi.items()}
>>> encode = lambda text: [stoi[char] for char in text]
>>> decode = lambda ids: "".join(itos[id] for id in ids)
>>> print(len(chars), encode("Hi there"), decode(encode("Hi there")))
95 [37, 66, 2, 77, 65, 62, 75, 62] Hi there
"""


def test_characters_of_the_article_are_a_vocabulary(corpora_dir: Path) -> None:
    needed = corpora_dir / "taylorswift.txt"
    if not needed.is_file():
        pytest.skip(f"lacks {needed}")
    text = needed.read_bytes().decode()
    found = walk(CHARACTERS, {"text": text})
    tok = toksmith.train(text, kind="chars")
    assert tok.encode(text) == found["encode"](text)
    assert {tok.token_bytes(id).decode(): id for id in range(len(tok))} == found["stoi"]
    with pytest.raises(toksmith.errors.NotInVocabulary):
        tok.encode("\N{SMILING FACE WITH OPEN MOUTH AND SMILING EYES}")


# The lecture on published encoders


LECTURE = r"""
>>> import json
>>> sunny = "오늘은 화창한 날이다 ☀\ufe0f (today is sunny day)"
>>> print([len(sunny.encode(name)) for name in ("utf-8", "utf-16-le", "utf-32-le")], len(sunny.replace("\ufe0f", "").encode()))
[57, 70, 140] 54

>>> import regex as re
>>> gpt2_pattern = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
>>> print(re.findall(gpt2_pattern, "Hello's World123  !!  "))
['Hello', "'s", ' World', '123', ' ', ' !!', '  ']

>>> gpt2 = tiktoken.get_encoding("gpt2")
>>> gpt4 = tiktoken.get_encoding("cl100k_base")
>>> gpt4o = tiktoken.get_encoding("o200k_base")
>>> print(gpt2.encode("   Hello World!!!"))
[220, 220, 18435, 2159, 10185]
>>> print(gpt4.encode("   Hello World!!!"), gpt4.decode([256, 22691, 4435, 12340]))
[256, 22691, 4435, 12340]    Hello World!!!
>>> print(tiktoken.encoding_for_model("gpt-4").name, gpt2.n_vocab, gpt4.n_vocab)
cl100k_base 50257 100277

>>> with open("encoder.json", encoding="utf-8") as file:
...     encoder = json.load(file)
>>> with open("vocab.bpe", encoding="utf-8") as file:
...     lines = file.read().split("\n")[1:-1]
>>> merges = [tuple(line.split()) for line in lines]
>>> print(len(encoder), encoder["!"], encoder["a"], encoder["Ġ"], encoder["<|endoftext|>"], len(merges))
50257 0 64 220 50256 50000
>>> print(merges[10_000], encoder["".join(merges[10_000])], repr(gpt2.decode([10_256])))
('Ġexper', 'iments') 10256 ' experiments'

>>> for token in sorted(gpt4.special_tokens_set, key=gpt4.encode_single_token):
...     print(gpt4.encode_single_token(token), token)
100257 <|endoftext|>
100258 <|fim_prefix|>
100259 <|fim_middle|>
100260 <|fim_suffix|>
100276 <|endofprompt|>
>>> print(gpt2.encode("<|endoftext|>", allowed_special="all"), gpt2.encode("<|endoftext|>", disallowed_special=()))
[50256] [27, 91, 437, 1659, 5239, 91, 29]
>>> try:
...     gpt2.encode("<|endoftext|>")
... except ValueError:
...     print("refused")
refused

>>> english = (
...     "Egg.\nA countryman has a goose that lays a golden egg every day, which he takes to market and sells. "
...     "He becomes wealthy, but becomes impatient with the goose because it only lays one egg a day."
... )
>>> korean = (
...     "계란.\n한 시골 사람에게 매일 황금알을 낳는 거위 한 마리가 있는데, 그는 그것을 시장에 내다 팔고 있습니다. "
...     "그는 부자가 되었지만 하루에 알을 한 개밖에 낳지 못하는 거위를 참을 수 없게 됩니다."
... )
>>> for text in (english, korean):
...     print(len(text), len(text.split()), [len(enc.encode(text)) for enc in (gpt2, gpt4, gpt4o)])
192 37 [45, 44, 43]
110 31 [228, 96, 62]
>>> print([[enc.decode([id]) for id in enc.encode("Egg")] for enc in (gpt2, gpt4, gpt4o)])
[['E', 'gg'], ['E', 'gg'], ['Egg']]

>>> code = (
...     "def is_prime(n):\n    if n <= 1:\n        return False\n    for i in range(2, int(n**0.5) + 1):\n"
...     "        if n % i == 0:\n        return False\n    return True"
... )
>>> print(len(gpt2.encode(code)), len(gpt4.encode(code)))
79 51
>>> nested = code.replace("== 0:\n        return", "== 0:\n            return").replace("    ", "  ")
>>> print(len(gpt2.encode(nested)), len(gpt4.encode(nested)))
63 51

>>> print([len(enc.encode(" SolidGoldMagikarp")) for enc in (gpt2, gpt4, gpt4o)], gpt2.encode(" SolidGoldMagikarp"))
[1, 5, 5] [43453]
>>> print(gpt4.encode(".DefaultCellStyle"))
[98518]
>>> print([[len(enc.encode(text)) for text in ("hello world", "dlrow olleh")] for enc in (gpt2, gpt4, gpt4o)])
[[2, 5], [2, 4], [2, 4]]
>>> from collections import Counter
>>> numbers = [str(number) for number in range(1000, 10_000)]
>>> for enc in (gpt2, gpt4, gpt4o):
...     cuts = ("+".join(str(len(enc.decode([id]))) for id in enc.encode(number)) for number in numbers)
...     print(Counter(cuts).most_common())
[('2+2', 5807), ('1+3', 2538), ('3+1', 538), ('4', 88), ('1+2+1', 29)]
[('3+1', 9000)]
[('3+1', 9000)]

>>> sp = spm.SentencePieceProcessor()
>>> _ = sp.load("tok310.model")
>>> vocab = [[sp.id_to_piece(id), id] for id in range(sp.get_piece_size())]
>>> print(vocab[:4], vocab[258], len(vocab))
[['<unk>', 0], ['<s>', 1], ['</s>', 2], ['<0x00>', 3]] ['<0xFF>', 258] 310
>>> ids = sp.encode("hello 계란")
>>> print([sp.id_to_piece(id) for id in ids])
['▁', 'he', 'll', 'o', '▁', '<0xEA>', '<0xB3>', '<0x84>', '<0xEB>', '<0x9E>', '<0x80>']
>>> print(sp.decode(ids))
hello 계란
"""
TOY = "hello, this is a small text for the trainer of sentencepiece. byte-pair encoding merges the most frequent pair, again.\n"
# The lecture's options, as in Llama 2.
OPTIONS: dict[str, Any] = {
    "model_prefix": "tok310",
    "model_type": "bpe",
    "vocab_size": 310,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "character_coverage": 0.99995,
    "byte_fallback": True,
    "split_digits": True,
    "allow_whitespace_only_pieces": True,
    "add_dummy_prefix": True,
    "unk_id": 0,
    "bos_id": 1,
    "eos_id": 2,
    "pad_id": -1,
    "num_threads": 1,
    "minloglevel": 2,
}
SITE = "https://openaipublic.blob.core.windows.net/"


@pytest.mark.parametrize("imports", ["toksmith", "plain"])
def test_the_lecture_on_published_encoders(
    imports: str, vocab_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer_tiktoken = pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0")
    peer_spm = pytest.importorskip("sentencepiece", "0.2.3", reason="lacks sentencepiece==0.2.3")
    monkeypatch.chdir(tmp_path)
    paths = {f"{name}.tiktoken": f"encodings/{name}.tiktoken" for name in ("r50k_base", "cl100k_base", "o200k_base")}
    paths |= {name: f"gpt-2/encodings/main/{name}" for name in ("vocab.bpe", "encoder.json")}
    for name, path in paths.items():
        if not (vocab_dir / name).is_file():
            pytest.skip(f"lacks {vocab_dir / name}")
        data = (vocab_dir / name).read_bytes()
        if name == "encoder.json":
            data = json.dumps(json.loads(data)).encode()  # published as one line, and tiktoken checks its hash
        for copy in (name, hashlib.sha1(f"{SITE}{path}".encode()).hexdigest()):
            Path(copy).write_bytes(data)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tiktoken.registry.ENCODINGS.clear()
    peer_spm.SentencePieceTrainer.train(sentence_iterator=iter([TOY] * 3), **OPTIONS)
    ours = {"tiktoken": tiktoken, "spm": sentencepiece}
    walk(LECTURE, ours if imports == "toksmith" else {"tiktoken": peer_tiktoken, "spm": peer_spm})
    with pytest.raises(NotImplementedError, match="unit='char', byte_fallback=True"):
        sentencepiece.SentencePieceTrainer.train(input="toy.txt", **OPTIONS)
    tok = toksmith.train([TOY] * 3, 310, unit="char", byte_fallback=True, dummy_prefix=True)
    tok.save("own.model", format="sentencepiece")
    own = peer_spm.SentencePieceProcessor(model_file="own.model")
    assert own.encode("hello 계란") == tok.encode("hello 계란") and own.decode(tok.encode("hello 계란")) == "hello 계란"
    assert toksmith.load("gpt2").split("Hello's World123  !!  ") == ["Hello", "'s", " World", "123", " ", " !!", "  "]
