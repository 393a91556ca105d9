"""tiktoken's interface against tiktoken itself: one table of cases, run on both.

The subjects of tiktoken's own tests (basic ids, surrogates, catastrophic repetition, round trips, special tokens,
batches, offsets, pickling, names of models) are rewritten here for both libraries, and then both are compared.
"""

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_texts import Drawing
from hard_texts import HARD_TEXTS, texts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toksmith
from toksmith.compat import tiktoken as own
from toksmith.errors import InvalidOption

peer: Any = pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0 (tests/requirements.txt)")
BLOBS = "https://openaipublic.blob.core.windows.net/"
NAMES = ["gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"]
SOME = settings(max_examples=25, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", autouse=True)
def cache(vocab_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder in which both libraries find the published files, under the sha1 of their URLs."""
    folder = tmp_path_factory.mktemp("tiktoken-cache")
    files = {name: f"encodings/{name}" for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")}
    urls = {f"{name}.tiktoken": f"{BLOBS}{path}.tiktoken" for name, path in files.items()}
    urls |= {name: f"{BLOBS}gpt-2/encodings/main/{name}" for name in ("vocab.bpe", "encoder.json")}
    for name, url in urls.items():
        data = (vocab_dir / name).read_bytes()
        if name == "encoder.json":
            data = json.dumps(json.loads(data)).encode()  # published as one line, and the peer checks its hash
        (folder / hashlib.sha1(url.encode()).hexdigest()).write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        own.registry.ENCODINGS.clear()
        yield


@pytest.fixture(params=[own, peer], ids=["toksmith", "tiktoken"])
def library(request: pytest.FixtureRequest) -> Any:
    return request.param


# --- the subjects of tiktoken's own tests ---------------------------------------------------------------------------


def test_simple_texts_have_the_known_ids(library: Any) -> None:
    enc = library.get_encoding("gpt2")
    assert enc.encode("hello world") == [31373, 995]
    assert enc.decode([31373, 995]) == "hello world"
    assert enc.encode("hello <|endoftext|>", allowed_special="all") == [31373, 220, 50256]
    enc = library.get_encoding("cl100k_base")
    assert enc.encode("hello world") == [15339, 1917]
    assert enc.encode("hello <|endoftext|>", allowed_special="all") == [15339, 220, 100257]
    assert enc.encode("rer") == [38149] and enc.encode("'rer") == [2351, 81]
    assert enc.encode("today\n ") == [31213, 198, 220] and enc.encode("today\n \n") == [31213, 27907]
    assert enc.encode("") == []
    assert enc.encode(" \x850") == [220, 126, 227, 15]


@pytest.mark.parametrize("name", NAMES)
def test_every_token_encodes_to_its_id(library: Any, name: str) -> None:
    enc = library.get_encoding(name)
    for token in range(0, 10_000, 7 if library is own else 70):
        assert enc.encode_single_token(enc.decode_single_token_bytes(token)) == token


def test_repeated_zeros_have_the_known_ids(library: Any) -> None:
    enc = library.get_encoding("gpt2")
    known = [[15], [405], [830], [2388], [20483], [10535], [24598], [8269], [10535, 830], [8269, 405], [8269, 830]]
    assert [enc.encode("0" * size) for size in range(1, 12)] == known


def test_bytes_that_are_not_utf8_round_trip(library: Any) -> None:
    enc = library.get_encoding("cl100k_base")
    assert enc._encode_bytes(b" \xec\x8b\xa4\xed") == [62085]
    for size in range(10):
        data = b"\x80" * size
        assert enc.decode_bytes(enc._encode_bytes(data)) == data


def test_surrogate_pairs_are_joined_and_lone_ones_replaced(library: Any) -> None:
    enc = library.get_encoding("cl100k_base")
    assert enc.encode("👍") == [9468, 239, 235] == enc.encode("\ud83d\udc4d")
    assert enc.encode("\ud83d") == enc.encode("�")


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base"])
def test_long_repetition_round_trips(library: Any, name: str) -> None:
    enc = library.get_encoding(name)
    for char in "^0as'\n😄":
        value = char * 10_000
        for text in (value, " " + value, value + "\n"):
            assert enc.decode(enc.encode(text)) == text


@pytest.mark.parametrize("name", ["r50k_base", "o200k_base"])
def test_texts_round_trip(library: Any, name: str) -> None:
    enc = library.get_encoding(name)
    for text in ("hello", "hello ", "hello  ", " hello", " hello ", " hello  ", "hello world", "请考试我的软件！12345"):
        assert enc.decode(enc.encode(text)) == text == enc.decode(enc.encode_ordinary(text))


def test_special_tokens_follow_allowed_and_disallowed(library: Any) -> None:
    enc = library.get_encoding("cl100k_base")
    eot = enc.encode_single_token("<|endoftext|>")
    fip, fim = enc.encode_single_token("<|fim_prefix|>"), enc.encode_single_token("<|fim_middle|>")
    assert eot == enc.eot_token == 100257
    text = "<|endoftext|> hello <|fim_prefix|>"
    assert eot not in enc.encode(text, disallowed_special=())
    for refused in ({}, {"disallowed_special": "all"}, {"disallowed_special": {"<|endoftext|>"}}):
        with pytest.raises(ValueError, match=r"<\|endoftext\|>"):
            enc.encode(text, **refused)
    with pytest.raises(ValueError, match=r"fim_prefix"):
        enc.encode(text, disallowed_special={"<|fim_prefix|>"})
    text = "<|endoftext|> hello <|fim_prefix|> there <|fim_middle|>"
    assert {eot, fip, fim}.isdisjoint(enc.encode(text, disallowed_special=()))
    assert {eot, fip, fim} <= {*enc.encode(text, allowed_special="all", disallowed_special=())}
    assert {eot, fip, fim} <= {*enc.encode(text, allowed_special="all", disallowed_special="all")}
    found = enc.encode(text, allowed_special={"<|fim_prefix|>"}, disallowed_special=())
    assert fip in found and eot not in found and fim not in found
    found = enc.encode(text, allowed_special={"<|endoftext|>"}, disallowed_special=())
    assert eot in found and fip not in found and fim not in found


def test_batches_equal_single_calls(library: Any) -> None:
    enc = library.get_encoding("cl100k_base")
    few = ["hello world", "goodbye world"]
    assert enc.encode_batch(few) == [enc.encode(text) for text in few]
    assert enc.encode_ordinary_batch(few) == [enc.encode_ordinary(text) for text in few]
    batch = enc.encode_batch([*few, "<|endoftext|>"], allowed_special="all", num_threads=2)
    assert enc.decode_batch(batch) == [*few, "<|endoftext|>"]
    assert enc.decode_bytes_batch(batch, num_threads=3)[2] == b"<|endoftext|>"
    with pytest.raises(TypeError):
        enc.encode_batch(few, 8)
    with pytest.raises(ValueError, match="endoftext"):
        enc.encode_batch(["<|endoftext|>"])


@pytest.mark.parametrize("text", ["hello world", "நடிகர் சூர்யா", " Ġ除", "x<|endoftext|>y", "👍 a\u0301"])
def test_offsets_are_the_starts_of_tokens(library: Any, text: str) -> None:
    enc = library.get_encoding("cl100k_base")
    ids = enc.encode(text, allowed_special="all")
    decoded, offsets = enc.decode_with_offsets(ids)
    assert decoded == text and offsets[0] == 0 and offsets == sorted(offsets)
    assert enc.decode_with_offsets(enc.encode("hello world<|endoftext|> green cow", allowed_special="all")) == (
        "hello world<|endoftext|> green cow",
        [0, 5, 11, 24, 30],
    )
    with pytest.raises(UnicodeDecodeError):
        enc.decode_with_offsets(enc._encode_bytes(b"\xff"))


def test_a_pickled_encoding_is_short_and_equal(library: Any) -> None:
    enc = library.get_encoding("r50k_base")
    again = pickle.loads(pickle.dumps(enc))
    assert len(pickle.dumps(enc)) < 100
    assert again.encode("hello world") == enc.encode("hello world") == copy.copy(enc).encode("hello world")
    custom = library.Encoding(
        name="custom",
        pat_str=enc._pat_str,
        mergeable_ranks=enc._mergeable_ranks,
        special_tokens={"<|pickle|>": 100_000},
    )
    again = pickle.loads(pickle.dumps(custom))
    assert again.encode("hello world") == custom.encode("hello world")
    assert again.encode("<|pickle|>", allowed_special="all") == [100_000]
    assert again is not custom and again.name == "custom"


def test_names_of_encodings_and_models_are_found(library: Any) -> None:
    assert {*NAMES} <= {*library.list_encoding_names()}
    assert library.encoding_for_model("gpt2").name == "gpt2"
    assert library.encoding_for_model("text-davinci-003").name == "p50k_base"
    assert library.encoding_for_model("gpt-3.5-turbo-0301").name == "cl100k_base"
    assert library.encoding_for_model("gpt-4o-mini").name == "o200k_base"
    assert library.encoding_name_for_model("gpt-oss-120b") == "o200k_harmony"
    with pytest.raises(KeyError, match="Could not automatically map"):
        library.encoding_for_model("nothing")
    with pytest.raises(ValueError, match="nothing"):
        library.get_encoding("nothing")
    with pytest.raises(ValueError, match="int"):
        library.get_encoding(3)
    assert library.get_encoding("gpt2") is library.get_encoding("gpt2")
    assert repr(library.get_encoding("gpt2")) == "<Encoding 'gpt2'>"


# --- the rest of the interface -------------------------------------------------------------------------------------


def test_attributes_have_the_values_of_tiktoken(library: Any) -> None:
    enc = library.get_encoding("cl100k_base")
    assert (enc.name, enc.max_token_value, enc.n_vocab) == ("cl100k_base", 100276, 100277)
    assert enc.special_tokens_set == {*enc._special_tokens} and len(enc._mergeable_ranks) == 100256
    assert enc._mergeable_ranks[b"hello"] == 15339 and enc._pat_str.startswith("'(?i:")
    assert enc._core_bpe.encode_ordinary("hello world") == [15339, 1917]
    assert enc.token_byte_values() == sorted(enc._mergeable_ranks)
    assert enc.is_special_token(100257) and not enc.is_special_token(5)
    with pytest.raises(AssertionError):
        enc.is_special_token("5")


def test_the_constructor_checks_its_arguments(library: Any) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    given: dict[str, Any] = {"name": "x", "pat_str": r"\S+|\s", "mergeable_ranks": ranks}
    enc = library.Encoding(**given, special_tokens={"<e>": 257}, explicit_n_vocab=258)
    assert enc.encode("ab a<e>", allowed_special={"<e>"}) == [256, 32, 97, 257]
    with pytest.raises(KeyError):
        _ = enc.eot_token
    for wrong in ({"special_tokens": {"<e>": 257}, "explicit_n_vocab": 300}, {"special_tokens": {"<e>": 300}}):
        with pytest.raises(AssertionError):
            library.Encoding(**{**given, "explicit_n_vocab": 258, **wrong})
    with pytest.raises(ValueError):
        library.Encoding(**{**given, "pat_str": "("}, special_tokens={})
    with pytest.raises(TypeError):
        library.Encoding("x", r"\S+", ranks, {})


WRONG: dict[str, tuple[Any, type[BaseException]]] = {
    "an unknown token": (lambda enc: enc.encode_single_token("no such token"), KeyError),
    "unknown bytes": (lambda enc: enc.encode_single_token(b"\xff\xff\xff"), KeyError),
    "an unknown id": (lambda enc: enc.decode([100256]), KeyError),
    "an unknown single id": (lambda enc: enc.decode_single_token_bytes(100256), KeyError),
    "a negative id": (lambda enc: enc.decode_bytes([-1]), OverflowError),
    "a negative single id": (lambda enc: enc.decode_single_token_bytes(-1), OverflowError),
    "an id beyond 32 bits": (lambda enc: enc.decode_bytes([1 << 40]), OverflowError),
    "a text for ids": (lambda enc: enc.decode_bytes("ab"), TypeError),
    "an unknown id among several": (lambda enc: enc.decode_tokens_bytes([5, 100256]), KeyError),
    "bytes for a text": (lambda enc: enc.encode(b"ab"), TypeError),
    "bytes for an ordinary text": (lambda enc: enc.encode_ordinary(b"ab"), TypeError),
    "a list of allowed": (lambda enc: enc.encode("a", allowed_special=["<|endoftext|>"]), TypeError),
    "a string of disallowed": (lambda enc: enc.encode("e", disallowed_special="none"), ValueError),
    "disallowed and no special": (lambda enc: enc.encode("a foo", disallowed_special={"foo"}), ValueError),
    "allowed and disallowed": (
        lambda enc: enc.encode("<|endoftext|>", allowed_special="all", disallowed_special={"<|endoftext|>"}),
        ValueError,
    ),
    "a lone surrogate for numpy": (lambda enc: enc.encode_to_numpy("\ud800"), UnicodeEncodeError),
    "a lone surrogate for completions": (lambda enc: enc.encode_with_unstable("\ud800"), UnicodeEncodeError),
    "no threads": (lambda enc: enc.encode_batch(["a"], num_threads=0), ValueError),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_raise_the_classes_of_tiktoken(library: Any, name: str) -> None:
    call, error = WRONG[name]
    with pytest.raises(error):
        call(library.get_encoding("cl100k_base"))


RIGHT: dict[str, Any] = {
    "nothing disallowed": lambda enc: enc.encode("<|endoftext|>e", disallowed_special=""),
    "allowed and unknown": lambda enc: enc.encode("a foo", allowed_special={"foo"}),
    "frozen set": lambda enc: enc.encode("<|endoftext|>", allowed_special=frozenset(["<|endoftext|>"])),
    "array of ids": lambda enc: enc.decode_bytes(np.array([15339, 1917])),
    "numpy": lambda enc: enc.encode_to_numpy("hello world").tolist(),
    "numpy of specials": lambda enc: enc.encode_to_numpy("a<|endoftext|>", allowed_special="all").tolist(),
    "numpy of nothing": lambda enc: enc.encode_to_numpy("").tolist(),
    "read-only numpy": lambda enc: (enc.encode_to_numpy("a").flags.writeable, str(enc.encode_to_numpy("a").dtype)),
    "text of cut characters": lambda enc: (enc.decode([9468, 239]), enc.decode([9468], errors="ignore")),
    "tokens": lambda enc: enc.decode_tokens_bytes([15339, 100257, 1917]),
    "a single special": lambda enc: enc.decode_single_token_bytes(100257),
    "one piece": lambda enc: enc._encode_single_piece("hello world"),
    "one piece of bytes": lambda enc: enc._encode_single_piece(b"\xff\xfehello"),
    "native splitting": lambda enc: enc._encode_only_native_bpe("hello world, it's 12345 o'clock\n\n  x"),
    "bytes": lambda enc: [enc._encode_bytes(data) for data in (b"hello \xff\xfe world", b"\n \xf0", b"", b"\xff", b"a b\xe4")],
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_calls_return_what_tiktoken_returns(name: str) -> None:
    assert RIGHT[name](own.get_encoding("cl100k_base")) == RIGHT[name](peer.get_encoding("cl100k_base"))


UNSTABLE = [
    "",
    "hello fanta",
    "a ",
    "x\n\n0",
    "it'",
    "日",
    "12",
    "x<|endoftext|>",
    "x<|endoftext|>y",
    "a\u3000",
    "\r\n",
]


@pytest.mark.slow
@pytest.mark.parametrize("name, texts", [("cl100k_base", UNSTABLE), ("gpt2", ["a\n\n", "hello fanta"])])
def test_unstable_completions_are_equal(name: str, texts: list[str]) -> None:
    pair = own.get_encoding(name), peer.get_encoding(name)
    for text in texts:
        for more in ({"allowed_special": "all"}, {"disallowed_special": ()})[: 1 + ("<|" in text)]:
            (ids, found), (expected_ids, expected) = (enc.encode_with_unstable(text, **more) for enc in pair)
            assert ids == expected_ids, text
            assert sorted(found) == sorted(expected), text


@pytest.mark.parametrize("name", NAMES)
def test_ids_of_hard_and_drawn_texts_are_equal(name: str) -> None:
    pair = own.get_encoding(name), peer.get_encoding(name)
    drawn = [*HARD_TEXTS.values(), *Drawing(5, [*HARD_TEXTS.values()]).texts(200)]
    ours, theirs = (enc.encode_ordinary_batch(drawn) for enc in pair)
    assert ours == theirs
    assert pair[0].decode_batch(ours) == pair[1].decode_batch(theirs)


@SOME
@given(st.data())
def test_special_tokens_in_drawn_texts_have_equal_ids(data: st.DataObject) -> None:
    pair = own.get_encoding("cl100k_base"), peer.get_encoding("cl100k_base")
    tokens = sorted(pair[1].special_tokens_set)
    parts = st.one_of(st.sampled_from([*tokens, "<|", "|>", "<|end", " ", "\n", "a"]), texts(longest=3))
    text = data.draw(st.lists(parts, max_size=6).map("".join))
    allowed = data.draw(st.sets(st.sampled_from(tokens)))
    disallowed = data.draw(st.sets(st.sampled_from(["<|", *tokens])))
    results: list[Any] = []
    for enc in pair:
        try:
            results.append(enc.encode(text, allowed_special=allowed, disallowed_special=disallowed))
        except ValueError:
            results.append("refused")
    assert results[0] == results[1]


@SOME
@given(st.binary(max_size=12) | texts(longest=6).map(lambda text: text.encode("utf-8", "replace") + b"\xe2"))
def test_ids_and_offsets_of_any_bytes_are_equal(data: bytes) -> None:
    pair = own.get_encoding("cl100k_base"), peer.get_encoding("cl100k_base")
    assert pair[0]._encode_bytes(data) == pair[1]._encode_bytes(data)
    ids = pair[1].encode_ordinary(data.decode("utf-8", "replace"))
    assert pair[0].decode_with_offsets(ids) == pair[1].decode_with_offsets(ids)


def test_the_table_of_models_is_tiktokens() -> None:
    from tiktoken import model

    from toksmith._sources import encodings

    assert {**encodings.MODELS} == model.MODEL_TO_ENCODING
    assert list(encodings.PREFIXES.items()) == list(model.MODEL_PREFIX_TO_ENCODING.items())


def test_a_tokenizer_of_another_kind_is_refused() -> None:
    import toksmith

    with pytest.raises(ValueError, match="not a byte-level BPE with one split pattern"):
        own.Encoding.of("x", toksmith.train("low lower", 20, kind="wordpiece"))


def test_a_trained_tokenizer_becomes_an_encoding_that_pickles() -> None:
    """As nanochat reads its tokenizer: a pickled `Encoding`, whose calls it makes by these names."""
    import tiktoken

    import toksmith

    text = "low lower lowest slow slower, 1,234 안녕 " * 20
    special = ["<|bos|>", "<|user_start|>"]
    tok = toksmith.train(text, merges=30, special_tokens=special)
    enc = pickle.loads(pickle.dumps(own.Encoding.of("own", tok)))
    real = tiktoken.Encoding(
        "own", pat_str=enc._pat_str, mergeable_ranks=enc._mergeable_ranks, special_tokens=tok.special_tokens
    )
    texts = [text, "", "lowlow <|bos|> slowest"]
    for each in (enc, real):
        assert each.encode_ordinary_batch(texts, num_threads=2) == [tok.encode(one, special="text") for one in texts]
        assert each.n_vocab == tok.vocab_size and each.special_tokens_set == {*special}
        assert each.encode_single_token("<|bos|>") == tok.special_tokens["<|bos|>"]
        assert each.decode(tok.encode(text)) == text


@pytest.mark.parametrize("rank", [-1, 1 << 32, 1 << 64])
def test_a_rank_that_fits_in_no_id_is_an_error_of_toksmith(rank: int) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": rank}
    with pytest.raises(InvalidOption, match="mergeable_ranks"):
        own.Encoding("x", pat_str=r"\S+|\s", mergeable_ranks=ranks, special_tokens={})
    wrong: Any = {**ranks, b"ab": "300"}
    with pytest.raises(TypeError, match="mergeable_ranks: expected an int, not str"):
        own.Encoding("x", pat_str=r"\S+|\s", mergeable_ranks=wrong, special_tokens={})


def test_files_of_ranks_are_written_and_read(tmp_path: Path) -> None:
    from toksmith.compat.tiktoken import load

    ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256}
    load.dump_tiktoken_bpe(ranks, str(tmp_path / "a.tiktoken"))
    assert load.load_tiktoken_bpe(str(tmp_path / "a.tiktoken")) == ranks
    with pytest.raises(ValueError, match="Hash mismatch"):
        load.load_tiktoken_bpe(str(tmp_path / "a.tiktoken"), expected_hash="0")
    (tmp_path / "b.tiktoken").write_text("!\n")
    with pytest.raises(ValueError, match="Error parsing line"):
        load.load_tiktoken_bpe(str(tmp_path / "b.tiktoken"))
    with pytest.raises(ValueError, match="pass the path of the file"):
        load.read_file("https://example.org/a.tiktoken")


def test_gpt2s_two_files_become_ranks(tmp_path: Path) -> None:
    from toksmith.compat.tiktoken import load

    tok = toksmith.train("low lower lowest", 270, alphabet="gpt2", pattern="gpt2", progress=False)
    tok.save(tmp_path / "vocab.json", format="gpt2")
    ranks = load.data_gym_to_mergeable_bpe_ranks(str(tmp_path / "merges.txt"), str(tmp_path / "vocab.json"))
    assert ranks == dict(zip(tok.model.tokens, tok.model.ids.tolist(), strict=True))


def test_the_educational_class_gives_the_same_ids(capsys: pytest.CaptureFixture[str]) -> None:
    from toksmith.compat.tiktoken._educational import SimpleBytePairEncoding, visualise_tokens

    simple = SimpleBytePairEncoding.train("low lower lowest", 260, r"\w+|\W+")
    whole = own.Encoding("low", pat_str=simple.pat_str, mergeable_ranks=dict(simple.mergeable_ranks), special_tokens={})
    for text in ("slow lower", "☀ low"):
        ids = simple.encode(text, visualise=None)
        assert ids == whole.encode(text) and simple.decode(ids) == text
        assert simple.decode_tokens_bytes(ids) == whole.decode_tokens_bytes(ids)
    assert SimpleBytePairEncoding.from_tiktoken(whole).encode("low", visualise="simple") == whole.encode("low")
    visualise_tokens([b"low", b"er"])
    assert "[b'l', b'o', b'w']" in capsys.readouterr().out


@pytest.mark.slow
def test_plug_ins_are_found_and_the_name_is_taken(tmp_path: Path) -> None:
    (tmp_path / "tiktoken_ext").mkdir()
    plugin = """
from tiktoken.load import dump_tiktoken_bpe
RANKS = {bytes([byte]): byte for byte in range(256)}
ENCODING_CONSTRUCTORS = {
    "ours": lambda: {"name": "ours", "pat_str": ".", "mergeable_ranks": RANKS, "special_tokens": {"<e>": 256}}
}
"""
    (tmp_path / "tiktoken_ext" / "plugin.py").write_text(plugin)
    code = """
from toksmith import compat
compat.install("tiktoken")
import pickle, tiktoken, tiktoken.load, tiktoken.core, tiktoken.model, tiktoken.registry, tiktoken._educational
enc = tiktoken.get_encoding("ours")
assert pickle.loads(pickle.dumps(enc)).encode("a<e>", allowed_special="all") == [97, 256]
assert "ours" in tiktoken.list_encoding_names() and tiktoken.model.MODEL_TO_ENCODING["gpt-4o"] == "o200k_base"
print(tiktoken.__version__, tiktoken.core.Encoding.__module__)
try:
    tiktoken.get_encoding("no")
except ValueError as error:
    print(error)
"""
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": paths}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert run.stdout.startswith("0.14.0 toksmith.compat.tiktoken.core") and "tiktoken_ext.plugin" in run.stdout
