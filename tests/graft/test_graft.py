"""`graft`: which row goes where, for every layout of tensors, worked against plain numpy."""

from __future__ import annotations

import json
import math
import os
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from model_folders import (
    CORPUS_OTHER,
    EXTENDED,
    EXTENDING,
    IDS,
    LAYOUTS,
    PRUNED,
    PRUNING,
    ROWS,
    SIZE,
    TOK,
    checkpoint,
    content,
    drawn,
    numbers,
    read_json,
    stored,
    weights,
    write_json,
)
from shown_results import check_shown

import toksmith
from toksmith._cli import app
from toksmith._graft import rows as _rows
from toksmith._graft import weights as _weights
from toksmith._graft import write
from toksmith._graft.plan import count_new_rows
from toksmith._graft.weights import INDEX, TYPES, read_header, round_to

MARKED, MARKING = toksmith.add_special(TOK, ["<|im_end|>"])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shards", [1, 2])
def test_kept_rows_are_equal_bit_for_bit(layout: str, shards: int, tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old", layout, shards=shards)
    for name, tok, ids in (("more", EXTENDED, EXTENDING), ("less", PRUNED, PRUNING)):
        report = toksmith.graft(old, tok, tmp_path / name, verify=True)
        before, after = stored(old), stored(tmp_path / name)
        assert before.keys() == after.keys()
        for tensor, shape in LAYOUTS[layout].tensors.items():
            if "V" not in shape:
                assert before[tensor].tobytes() == after[tensor].tobytes()
                continue
            was, now = (
                each.reshape(-1, math.prod(each.shape) // size)
                for each, size in ((before[tensor], SIZE), (after[tensor], tok.vocab_size))
            )
            for id, new in ids.old_to_new.items():
                assert was[id].tobytes() == now[new].tobytes()
        assert (report.kept, report.new, report.dropped) == (
            len(ids.old_to_new),
            len(tok) - len(ids.old_to_new),
            len(TOK) - len(ids.old_to_new),
        )
        assert report.proof is not None and report.ok and report.written
        assert report.tied == (layout in ("tied", "bert"))
        assert {each.name for each in report.tensors} == {
            tensor for tensor, shape in LAYOUTS[layout].tensors.items() if "V" in shape
        }
        config = read_json(tmp_path / name / "config.json")
        assert config.get("text_config", config)["vocab_size"] == tok.vocab_size
        assert toksmith.load(tmp_path / name / "tokenizer.json") == tok
        if shards > 1:
            index = read_json(tmp_path / name / "model.safetensors.index.json")
            assert index["metadata"]["total_size"] == sum(each.nbytes for each in after.values()) == report.size
            more = sum(each.size for each in after.values()) - sum(each.size for each in before.values())
            assert index["metadata"]["total_parameters"] == 1000 + more


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_new_rows_follow_the_rule(dtype: str, tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old", dtype=dtype)
    rows, bits = numbers(old), TYPES[dtype]
    rules = {
        "exponential": (lambda n: weights(n, 1), lambda n: weights(n, -1)),
        "mean": (lambda n: np.full(n, 1 / n), lambda n: np.full(n, 1 / n)),
        "first-last": (lambda n: np.eye(n)[-1], lambda n: np.eye(n)[0]),
        "all-mean": (None, None),
    }
    for init, sides in rules.items():
        toksmith.graft(old, EXTENDED, tmp_path / init, init=init)
        for name, rule in zip(ROWS, sides, strict=True):
            made = stored(tmp_path / init)[name]
            for id in range(SIZE, EXTENDED.vocab_size):
                pieces = TOK.encode(EXTENDED.token_bytes(id))
                assert pieces == [*EXTENDING.sources[id]] and len(pieces) > 1
                expected = rows[name].mean(axis=0) if rule is None else rule(len(pieces)) @ rows[name][pieces]
                assert np.array_equal(made[id], round_to(expected, bits)), (init, name, id)


@pytest.mark.parametrize("count", [7, 8, 9, 16, 17, 64, 130])
def test_verification_adds_in_the_same_order(count: int, tmp_path: Path) -> None:
    """numpy adds eight numbers and more in another order than one after another, which changes the last bit."""
    draw = np.random.default_rng(count)
    drawn_words = ("".join(chr(97 + letter) for letter in draw.integers(0, 26, count - 2)) for _ in range(12))
    names = [f"<{word}>" for word in drawn_words]
    long, _ = toksmith.add_special(TOK, names)
    old = checkpoint(tmp_path / "old", dtype="F64")
    assert toksmith.graft(old, long, tmp_path / "new", verify=True).ok
    rows = numbers(old)[ROWS[0]]
    for name in names:
        pieces, total = TOK.encode(name), np.zeros(rows.shape[1])
        for piece in pieces:
            total += 1 / len(pieces) * rows[piece]
        made = stored(tmp_path / "new")[ROWS[0]][long.token_id(name)]
        assert np.array_equal(made, total)


def test_a_tied_matrix_gets_the_mean_of_the_pieces(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old", "tied")
    report = toksmith.graft(old, EXTENDED, tmp_path / "new")
    rows = numbers(old)[ROWS[0]]
    for id in range(SIZE, EXTENDED.vocab_size):
        expected = rows[[*EXTENDING.sources[id]]].mean(axis=0)
        assert np.array_equal(stored(tmp_path / "new")[ROWS[0]][id], round_to(expected, TYPES["F32"]))
    assert report.tied and report.init.startswith("mean (one matrix")
    assert ROWS[1] not in stored(tmp_path / "new")


def test_multi_token_prediction_does_not_decide_tying(tmp_path: Path) -> None:
    """Its embeddings and head change as the model's do: with equal numbers before, they have equal numbers after."""
    same = drawn(LAYOUTS["deepseek"], SIZE)
    further = {ROWS[0]: "model.layers.1.embed_tokens.weight", ROWS[1]: "model.layers.1.shared_head.head.weight"}
    same |= {copy: same[name] for name, copy in further.items()}
    report = toksmith.graft(checkpoint(tmp_path / "old", "deepseek", tensors=same), EXTENDED, tmp_path / "new")
    after = stored(tmp_path / "new")
    assert not report.tied and all(np.array_equal(after[name], after[copy]) for name, copy in further.items())
    assert report.tensors[0].name == ROWS[0]
    del same[ROWS[1]]
    old = checkpoint(tmp_path / "no head", "deepseek", tensors=same)
    assert toksmith.graft(old, EXTENDED, tmp_path / "tied").tied


def test_tying_is_read_from_the_tensors(tmp_path: Path) -> None:
    """A head that equals the input is tied whatever the flag says; one that differs is not, and the flag is corrected."""
    same = drawn(LAYOUTS["llama"], SIZE)
    same[ROWS[1]] = same[ROWS[0]]
    old = checkpoint(tmp_path / "same", tensors=same)
    assert toksmith.graft(old, EXTENDED, tmp_path / "tied").tied
    assert np.array_equal(*(stored(tmp_path / "tied")[name] for name in ROWS))
    old = checkpoint(tmp_path / "flag", tie_word_embeddings=True)
    report = toksmith.graft(old, EXTENDED, tmp_path / "untied")
    assert not report.tied and read_json(tmp_path / "untied" / "config.json")["tie_word_embeddings"] is False
    assert any("differs from" in note for note in report.notes)


@pytest.mark.parametrize("flag", [{}, {"tie_word_embeddings": False}])
def test_a_checkpoint_without_a_head_says_that_it_is_tied(flag: dict[str, bool], tmp_path: Path) -> None:
    """transformers 5 makes a head of random numbers otherwise. A model of vectors has no head, and keeps its flag."""
    for name, model, tied in (
        ("a", "LlamaForCausalLM", True),
        ("b", "XLMRobertaModel", flag.get("tie_word_embeddings")),
    ):
        old = checkpoint(tmp_path / name, "tied", architectures=[model])
        config = read_json(old / "config.json")
        del config["tie_word_embeddings"]
        (old / "config.json").write_text(json.dumps(config | flag), encoding="utf-8")
        report = toksmith.graft(old, EXTENDED, tmp_path / f"new {name}", verify=True)
        assert report.ok and read_json(tmp_path / f"new {name}" / "config.json").get("tie_word_embeddings") is tied
        assert any("no head is stored" in note for note in report.notes) == (tied is True)


def test_special_tokens_holes_and_padding_get_the_mean_row(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old", rows=SIZE + 3)
    rows = numbers(old)
    report = toksmith.graft(old, MARKED, tmp_path / "new", pad_to=64, verify=True)
    assert report.rows == (SIZE + 3, 320) and report.empty == 320 - len(MARKED)
    pieces = TOK.encode("<|im_end|>")
    means = [rows[name][:SIZE].mean(axis=0) for name in ROWS]
    expected = [rows[ROWS[0]][pieces].mean(axis=0), means[1]]
    for name, special, mean in zip(ROWS, expected, means, strict=True):
        made = stored(tmp_path / "new")[name]
        assert np.allclose(made[SIZE], special, rtol=0, atol=1e-6)
        # The padding that stays padding keeps its rows; the rest gets the mean.
        assert np.array_equal(made[SIZE + 1 : SIZE + 3], stored(old)[name][SIZE + 1 :])
        assert all(np.allclose(row, mean, rtol=0, atol=1e-6) for row in made[SIZE + 3 :])
    source = next(row.source for row in report.specials if row.token == "<|im_end|>")
    assert source == f"new: mean of {len(pieces)} pieces (input), of all rows (output)"
    report = toksmith.graft(old, MARKED, tmp_path / "copy", init="<|im_end|>=</s>")
    for name in ROWS:
        assert stored(tmp_path / "copy")[name][SIZE].tobytes() == stored(old)[name][TOK.token_id("</s>")].tobytes()
    assert "new: that of '</s>'" in [row.source for row in report.specials]


def test_extended_and_pruned_again_is_the_old_checkpoint(tmp_path: Path) -> None:
    for layout in LAYOUTS:
        for dtype in ("F32", "BF16"):
            folder = tmp_path / layout / dtype
            folder.mkdir(parents=True)
            old = checkpoint(folder / "old", layout, dtype=dtype, shards=2)
            toksmith.graft(old, EXTENDED, folder / "more", id_map=EXTENDING)
            less, ids = toksmith.prune(EXTENDED, EXTENDED.vocab_size - SIZE)
            assert less == TOK
            toksmith.graft(folder / "more", less, folder / "back", id_map=ids)
            expected = content(old)
            del expected["merges.txt"]
            # Our header leaves out the blanks that json.dumps puts into that of the test.
            before, after = stored(old), stored(folder / "back")
            assert {name: each.tobytes() for name, each in before.items()} == {
                name: each.tobytes() for name, each in after.items()
            }
            again = content(folder / "back")
            assert expected.keys() == again.keys()
            assert all(expected[name] == again[name] for name in expected if not name.endswith(".safetensors"))


@pytest.mark.parametrize(
    ("before", "size", "pad_to", "expected"),
    [
        ((100, 100), 103, None, 103),  # not padded
        ((151_936, 151_665), 151_700, None, 151_936),  # they fit
        ((152_064, 151_665), 152_065, None, 152_576),  # to the next multiple of 512
        ((152_064, 151_665), 100_001, None, 100_352),
        ((50_432, 50_279), 50_000, None, 50_176),  # of 256
        ((101, 100), 90, None, 90),  # 101 is no multiple
        ((1024, 1023), 1025, None, 1088),  # 64, although 512 divides the old rows
        ((151_936, 151_665), 151_937, None, 152_000),  # no multiple pads the old ids to the old rows: 64
        ((104, 101), 105, None, 112),  # of 8
        ((100, 100), 103, 64, 128),
        ((151_936, 151_665), 151_700, 128, 151_808),
    ],
)
def test_the_number_of_rows_follows_size_and_padding(
    before: tuple[int, int], size: int, pad_to: int | None, expected: int
) -> None:
    assert count_new_rows(before, size, pad_to) == expected


def test_the_multiple_in_the_settings_decides(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old", rows=288, pad_vocab_size_multiple=16)
    assert toksmith.graft(old, PRUNED, tmp_path / "less").rows == (288, 272)
    assert toksmith.graft(old, PRUNED, tmp_path / "other", pad_to=64).rows == (288, 320)


def test_settings_follow_the_ids(tmp_path: Path) -> None:
    more = {
        "forced_decoder_ids": [[1, 258]],
        "bad_words_ids": [[97, 258], [97]],
        "rope_theta": 1e4,
        "label2id": {"a": 258},
    }
    old = checkpoint(tmp_path / "old", time_step_limit=[0.0, math.inf], **more)
    moved = PRUNING.old_to_new
    gone = next(id for id in range(SIZE) if id not in moved)
    generation = {"eos_token_id": [*IDS.values()], "suppress_tokens": [5, gone, 260], "_from_model_config": True}
    (old / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
    report = toksmith.graft(old, PRUNED, tmp_path / "new")
    config, generated = (read_json(tmp_path / "new" / f"{name}.json") for name in ("config", "generation_config"))
    assert {name: config[name] for name in IDS} == {name: moved[id] for name, id in IDS.items()}
    assert config["forced_decoder_ids"] == [[1, moved[258]]] and config["bad_words_ids"] == [[97, moved[258]], [97]]
    assert config["label2id"] == {"a": 258} and config["time_step_limit"] == [0.0, math.inf]
    assert generated["eos_token_id"] == [moved[id] for id in IDS.values()]
    assert generated["suppress_tokens"] == [5, moved[260]]
    assert any("suppress_tokens" in note and "is left out" in note for note in report.notes)
    assert list(config) == list(read_json(old / "config.json"))


def test_another_tokenizer_needs_its_own_end_token(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old")
    other = toksmith.train(["another text, another tokenizer"] * 3, merges=9, special_tokens=["<end>"], progress=False)
    with pytest.raises(
        toksmith.errors.InvalidOption,
        match=r"follows '</s>' in config.json: eos_token_id; pass tokens=\{'eos_token': 'TOKEN'\}",
    ):
        toksmith.graft(old, other, tmp_path / "new")
    report = toksmith.graft(old, other, tmp_path / "new", tokens={"eos_token": "<end>"}, verify=True)
    config = read_json(tmp_path / "new" / "config.json")
    assert config["eos_token_id"] == other.token_id("<end>") and config["pad_token_id"] is None
    assert read_json(tmp_path / "new" / "generation_config.json")["eos_token_id"] == other.token_id("<end>")
    assert read_json(tmp_path / "new" / "tokenizer_config.json")["eos_token"] == "<end>"
    assert read_json(tmp_path / "new" / "special_tokens_map.json") == {"eos_token": "<end>"}
    assert any("pad_token" in note for note in report.notes)
    assert report.kept == len({*other.model.tokens} & {*TOK.model.tokens})


def test_stale_files_go_and_others_stay(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old")
    (old / "consolidated.safetensors").write_bytes(b"x")
    (old / "onnx").mkdir()
    (old / "params.json").write_text("{}", encoding="utf-8")
    report = toksmith.graft(old, EXTENDED, tmp_path / "new")
    assert {*content(tmp_path / "new")} == {
        *("README.md", "config.json", "generation_config.json", "model.safetensors"),
        *("special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"),
    }
    assert {*report.left_out} == {"consolidated.safetensors", "onnx/", "params.json", "merges.txt"}
    for name in ("params.json", "adapter_config.json"):
        (tmp_path / "new" / name).write_text("{}", encoding="utf-8")
        proof = toksmith.graft(old, EXTENDED, tmp_path / "new", verify=True).proof
        assert proof is not None and any(name in difference for difference in proof.differences), name


def test_a_module_that_the_settings_name_must_be_there(tmp_path: Path) -> None:
    modules = {"AutoConfig": "configuration_own.Config", "AutoModel": "org/name--modeling.Model"}
    old = checkpoint(tmp_path / "old", auto_map=modules)
    with pytest.raises(toksmith.errors.FormatError, match=r"auto_map: names configuration_own\.py"):
        toksmith.graft(old, EXTENDED, tmp_path / "new")
    (old / "configuration_own.py").write_text("", encoding="utf-8")
    toksmith.graft(old, EXTENDED, tmp_path / "new")
    assert (tmp_path / "new" / "configuration_own.py").is_file()


@pytest.mark.parametrize("link", [False, True])
def test_weights_in_a_folder_of_the_checkpoint_stay_there(link: bool, tmp_path: Path) -> None:
    plain, old = checkpoint(tmp_path / "plain", shards=4), checkpoint(tmp_path / "old", shards=4)
    (old / "sub").mkdir()
    for path in old.glob("*.safetensors"):
        path.rename(old / "sub" / path.name)
    index = read_json(old / INDEX)
    places = {name: f"sub/{file}" for name, file in index["weight_map"].items()}
    write_json(old / INDEX, index | {"weight_map": places})
    expected = content(Path(toksmith.graft(plain, EXTENDED, tmp_path / "plain new", verify=True).out))
    report = toksmith.graft(old, EXTENDED, tmp_path / "new", link=link, verify=True)
    assert read_json(tmp_path / "new" / INDEX)["weight_map"] == places
    assert content(tmp_path / "new" / "sub") == {
        name: data for name, data in expected.items() if name.endswith(".safetensors")
    }
    assert any(file.startswith("sub/") for file in report.files) and "sub/" not in report.left_out
    next((tmp_path / "new" / "sub").iterdir()).unlink()
    proof = toksmith.graft(old, EXTENDED, tmp_path / "new", verify=True).proof
    assert proof is not None and any("which is not in the folder" in each for each in proof.differences)


def test_the_folders_of_sentence_transformers_go_with_the_model(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old")
    write_json(old / "modules.json", [{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Dense"}])
    with pytest.raises(toksmith.errors.FormatError, match=r"modules\.json: names the folder '1_Pooling'"):
        toksmith.graft(old, EXTENDED, tmp_path / "new")
    for name in ("1_Pooling", "2_Dense"):
        (old / name).mkdir()
        write_json(old / name / "config.json", {"layer": name})
    (old / "2_Dense" / "model.safetensors").write_bytes(b"x")
    report = toksmith.graft(old, EXTENDED, tmp_path / "new", verify=True)
    assert not {"1_Pooling/", "2_Dense/"} & {*report.left_out}
    assert (tmp_path / "new" / "2_Dense" / "model.safetensors").read_bytes() == b"x"
    (tmp_path / "new" / "1_Pooling" / "config.json").unlink()
    proof = toksmith.graft(old, EXTENDED, tmp_path / "new", verify=True).proof
    assert proof is not None and any("1_Pooling/config.json" in each for each in proof.differences)


def test_a_class_of_tokenizers_stays_where_it_fits(tmp_path: Path) -> None:
    """A class that adds its own steps goes where the new tokenizer has other steps; one that takes every file stays."""
    old = checkpoint(tmp_path / "old")
    other = toksmith.train(
        CORPUS_OTHER, merges=9, pattern="gpt2", special_tokens=["</s>", "<s>", "<pad>"], progress=False
    )
    cases = (("LlamaTokenizer", EXTENDED, "LlamaTokenizer"), ("LlamaTokenizer", other, "PreTrainedTokenizerFast"))
    for place, (was, tok, now) in enumerate((*cases, ("TokenizersBackend", other, "TokenizersBackend"))):
        (old / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": was}), encoding="utf-8")
        toksmith.graft(old, tok, tmp_path / str(place))
        assert read_json(tmp_path / str(place) / "tokenizer_config.json")["tokenizer_class"] == now


def test_a_dry_run_writes_nothing_and_reports_everything(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old")
    report = toksmith.graft(old, EXTENDED, tmp_path / "new", dry_run=True)
    assert not (tmp_path / "new").exists() and not report.written
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    written = toksmith.graft(old, EXTENDED, tmp_path / "new")
    assert report.to_dict() | {"written": True} == written.to_dict()
    check_shown(written)
    assert "Not measured on this model" in str(written).replace("\n", " ")
    assert written.command.endswith("--verify")


def test_the_command_of_the_report_verifies(tmp_path: Path) -> None:
    """In the shell it names the files that were given."""
    old, names = checkpoint(tmp_path / "old"), {name: str(tmp_path / name) for name in ("a map.json", "old.toksmith")}
    EXTENDING.save(names["a map.json"])
    TOK.save(names["old.toksmith"])
    EXTENDED.save(tmp_path / "more.toksmith")
    given = ["--id-map", names["a map.json"], "--old", names["old.toksmith"], "--init", "mean", "--pad-to", "64"]
    shell = ["graft", str(old), "-t", str(tmp_path / "more.toksmith"), "-o", str(tmp_path / "new"), "--json", *given]
    written = json.loads(CliRunner().invoke(app, shell).stdout)
    words = shlex.split(written["command"])
    assert words[0] == "toksmith" and words[-1] == "--verify" and {*given} <= {*words}
    done = CliRunner().invoke(app, [*words[1:], "--json"])
    assert done.exit_code == 0 and json.loads(done.stdout)["proof"]["differences"] == []


def test_shards_that_do_not_change_are_linked(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old", shards=4)
    for link in (False, True):
        out = tmp_path / f"new {link}"
        toksmith.graft(old, EXTENDED, out, link=link, verify=True)
        changed = {path.name for path in old.glob("*.safetensors") if read_header(path).tensors.keys() & {*ROWS}}
        for path in old.glob("*.safetensors"):
            same = os.path.samefile(path, out / path.name)
            assert same == (link and path.name not in changed)


def test_verification_finds_every_kind_of_difference(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old", shards=2)
    out = tmp_path / "new"
    toksmith.graft(old, EXTENDED, out)
    assert toksmith.graft(old, EXTENDED, out, verify=True).ok
    kept = content(out)

    def found(name: str, data: bytes) -> str:
        (out / name).write_bytes(data)
        report = toksmith.graft(old, EXTENDED, out, verify=True)
        (out / name).write_bytes(kept[name])
        assert not report.ok and not report.written and report.proof is not None
        return " ".join(report.proof.differences)

    for path in sorted(out.glob("*.safetensors")):
        for name, tensor in read_header(path).tensors.items():
            changed = bytearray(kept[path.name])
            changed[tensor.end - 1] ^= 1
            assert name in found(path.name, bytes(changed))
    assert "config.json" in found("config.json", kept["config.json"].replace(b"64", b"65") + b" ")
    assert "README.md" in found("README.md", b"another model")
    toksmith.graft(old, PRUNED, tmp_path / "pruned")
    other = content(tmp_path / "pruned")
    assert "tokenizer.json" in found("tokenizer.json", other["tokenizer.json"])
    assert toksmith.graft(old, EXTENDED, out, verify=True).ok


def test_blocks_of_any_size_give_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = checkpoint(tmp_path / "old", dtype="BF16")
    shuffled = toksmith.train(CORPUS_OTHER, merges=40, special_tokens=["</s>", "<pad>", "<s>"], progress=False)
    toksmith.graft(old, shuffled, tmp_path / "whole")
    monkeypatch.setattr(_rows, "BLOCK_BYTES", 200)
    monkeypatch.setattr(_rows, "GAP_BYTES", 50)
    monkeypatch.setattr(write, "BLOCK_BYTES", 77)
    monkeypatch.setattr(_weights, "BLOCK_BYTES", 500)
    toksmith.graft(old, shuffled, tmp_path / "small", verify=True)
    assert content(tmp_path / "whole") == content(tmp_path / "small")
