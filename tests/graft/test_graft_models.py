"""Real models load what `graft` writes: kept tokens have their old logits, bit for bit, and texts end where they ended.

`make test-model` runs them in a separate environment and skips none. Each family is a random checkpoint of 40 kB, which
transformers writes.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from model_folders import EXTENDED, EXTENDING, PRUNED, PRUNING, SIZE, TOK, content, weights

import toksmith

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
TEXTS = ["slower and lower, widest", "new wide slow", "a zebra quizzes"]
BOS, EOS, PAD = (TOK.token_id(token) for token in ("<s>", "</s>", "<pad>"))
SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
SPECIALS = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
UNTIED = {"tie_word_embeddings": False}


class Row(NamedTuple):
    """A family: its class, its configuration, and the class that loads it."""

    model: str
    config: dict[str, Any]
    auto: str = "AutoModelForCausalLM"


GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
T5 = {"d_model": 32, "d_ff": 48, "num_layers": 2, "num_heads": 4, "d_kv": 8, "decoder_start_token_id": PAD}
ROWS = {
    "Llama": Row("LlamaForCausalLM", {**SIZES, **UNTIED}),
    "Qwen2, tied": Row("Qwen2ForCausalLM", {**SIZES, "num_key_value_heads": 2, "tie_word_embeddings": True}),
    "GPT-2": Row("GPT2LMHeadModel", GPT2),
    "GPT-NeoX": Row("GPTNeoXForCausalLM", {**SIZES, **UNTIED}),
    "Gemma": Row("GemmaForCausalLM", {**SIZES, "num_key_value_heads": 2, "head_dim": 8}),
    "BERT": Row("BertForMaskedLM", {**SIZES, "max_position_embeddings": 64}, "AutoModelForMaskedLM"),
    "T5": Row("T5ForConditionalGeneration", T5, "AutoModelForSeq2SeqLM"),
}


def real(name: str) -> Any:
    """A library that `make test-model` has."""
    if os.environ.get("TOKSMITH_MODELS"):
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"lacks {name}, which make test-model has")


class Model:
    """A checkpoint and the model that transformers makes of it."""

    def __init__(self, place: Path, row: Row) -> None:
        torch, transformers = real("torch"), real("transformers")
        self.place, self.torch, self.seq2seq = place, torch, "Seq2Seq" in row.auto
        self.model, found = getattr(transformers, row.auto).from_pretrained(place, output_loading_info=True)
        assert not any(found[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys")), found
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(place)
        self.model.eval()

    @contextlib.contextmanager
    def exact(self) -> Iterator[None]:
        """Compute each logit as a separate sum: a matrix product adds in another order if a matrix has more rows."""
        head = self.model.get_output_embeddings()

        def each_row(hidden: Any) -> Any:
            own = (hidden[..., None, :] * head.weight).sum(-1)
            return own if head.bias is None else own + head.bias

        real_forward, head.forward = head.forward, each_row
        yield
        head.forward = real_forward

    def logits(self, ids: list[int]) -> np.ndarray[Any, Any]:
        """The logits of every place of a text."""
        given = self.torch.tensor([ids])
        more = {"decoder_input_ids": given} if self.seq2seq else {}
        with self.torch.no_grad():
            found: np.ndarray[Any, Any] = self.model(input_ids=given, **more).logits[0].numpy()
        return found

    def rows(self, side: str) -> np.ndarray[Any, Any]:
        """The embeddings, or the head."""
        each = self.model.get_input_embeddings() if side == "input" else self.model.get_output_embeddings()
        found: np.ndarray[Any, Any] = each.weight.detach().numpy()
        return found

    def written(self, ids: list[int], without: list[int]) -> list[int]:
        """The ids that the model writes after a text, its end token included, without the suppressed tokens."""
        given = self.torch.tensor([ids])
        options = {"suppress_tokens": without} if without else {}
        mask = self.torch.ones_like(given)
        done = self.model.generate(given, attention_mask=mask, max_new_tokens=24, do_sample=False, **options)[0]
        found: list[int] = done.tolist()[1 if self.seq2seq else len(ids) :]
        return found


@pytest.fixture(params=ROWS)
def row(request: pytest.FixtureRequest) -> Row:
    return ROWS[request.param]


@pytest.fixture
def old(row: Row, tmp_path: Path) -> Model:
    """A random checkpoint with its tokenizer, as transformers writes them."""
    torch, transformers = real("torch"), real("transformers")
    torch.manual_seed(5)
    kind = getattr(transformers, row.model)
    config = kind.config_class(vocab_size=SIZE, **SPECIALS, **row.config)
    model = kind(config)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2 and len(weight) == SIZE:
                weight.normal_(std=0.5)
    model.save_pretrained(tmp_path / "old")
    TOK.save(tmp_path / "tokenizer.json")
    named = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"), **named)
    fast.save_pretrained(tmp_path / "old")
    return Model(tmp_path / "old", row)


def grafted(old: Model, row: Row, tok: toksmith.Tokenizer, **options: Any) -> Model:
    """The model with another tokenizer, which its folder holds."""
    out = old.place.parent / "new"
    assert toksmith.graft(old.place, tok, out, verify=True, progress=False, **options).ok
    new = Model(out, row)
    for text in TEXTS:
        assert new.tokenizer(text, add_special_tokens=False)["input_ids"] == tok.encode(text)
    return new


def test_a_pruned_model_keeps_the_logits_of_its_tokens(old: Model, row: Row) -> None:
    new = grafted(old, row, PRUNED)
    before = {now: was for was, now in PRUNING.old_to_new.items()}
    kept = [before[id] for id in range(PRUNED.vocab_size)]
    for text in TEXTS:
        ids = PRUNED.encode(text)
        asked = [before[id] for id in ids]
        assert np.allclose(old.logits(asked)[:, kept], new.logits(ids), rtol=0, atol=1e-4), text
        with old.exact(), new.exact():
            assert np.array_equal(old.logits(asked)[:, kept], new.logits(ids)), text


def test_an_extended_model_has_the_old_logits_for_old_texts(old: Model, row: Row) -> None:
    new = grafted(old, row, EXTENDED)
    for text in TEXTS:
        ids = TOK.encode(text)
        assert np.allclose(old.logits(ids), new.logits(ids)[:, :SIZE], rtol=0, atol=1e-4), text
        with old.exact(), new.exact():
            assert np.array_equal(old.logits(ids), new.logits(ids)[:, :SIZE]), text


def test_the_new_rows_follow_the_rule(old: Model, row: Row) -> None:
    new = grafted(old, row, EXTENDED)
    tied = np.array_equal(old.rows("input"), old.rows("output"))
    assert tied == (row.config.get("tie_word_embeddings") is not False)
    for side, lean in (("input", 1), ("output", -1)):
        before, after = old.rows(side).astype(np.float64), new.rows(side)
        assert np.array_equal(before, after[:SIZE])
        for id in range(SIZE, EXTENDED.vocab_size):
            pieces = [*EXTENDING.sources[id]]
            share = np.full(len(pieces), 1 / len(pieces)) if tied else weights(len(pieces), lean)
            assert np.array_equal(after[id], (share @ before[pieces]).astype(np.float32)), (side, id)


def test_extended_and_pruned_again_is_the_old_checkpoint(old: Model, row: Row) -> None:
    new = grafted(old, row, EXTENDED)
    back = old.place.parent / "back"
    toksmith.graft(new.place, toksmith.prune(EXTENDED, EXTENDED.vocab_size - SIZE)[0], back, progress=False)
    was, now = (content(place) | {"config.json": b"", "tokenizer.json": b""} for place in (old.place, back))
    assert was == now
    configs = [json.loads((place / "config.json").read_text(encoding="utf-8")) for place in (old.place, back)]
    assert configs[0] in (configs[1], {key: configs[1][key] for key in configs[1] if key != "tie_word_embeddings"})
    assert toksmith.load(back / "tokenizer.json") == TOK


@pytest.mark.parametrize("row", [ROWS["Qwen2, tied"]], ids=["Qwen2"])
@pytest.mark.parametrize("flag", [{}, {"tie_word_embeddings": False}])
def test_a_model_without_a_head_gets_no_random_head(old: Model, row: Row, flag: dict[str, bool]) -> None:
    config = json.loads((old.place / "config.json").read_text(encoding="utf-8"))
    config.pop("tie_word_embeddings", None)
    (old.place / "config.json").write_text(json.dumps(config | flag), encoding="utf-8")
    new = grafted(old, row, EXTENDED)
    assert np.array_equal(new.rows("input"), new.rows("output"))
    assert np.array_equal(new.rows("input")[:SIZE], old.rows("input"))


@pytest.mark.parametrize(
    "row", [row for row in ROWS.values() if row.auto != "AutoModelForMaskedLM"], ids=lambda row: row.model
)
def test_texts_end_where_they_ended(old: Model, row: Row) -> None:
    """A token that the model writes changes places with the end token; the model with other ids ends there as well."""
    torch = real("torch")
    moved = PRUNING.old_to_new
    prompt, dropped = PRUNED.encode(TEXTS[0]), [id for id in range(SIZE) if id not in moved]
    before = {now: was for was, now in moved.items()}
    asked = [before[id] for id in prompt]
    free = old.written(asked, [*dropped, EOS])
    last = [*dict.fromkeys(free)][-1]  # the token that comes first as late as possible
    swap = {EOS: last, last: EOS}
    swapped = torch.tensor([swap.get(id, id) for id in range(SIZE)])
    with torch.no_grad():
        for weight in old.model.parameters():
            if weight.ndim and len(weight) == SIZE:
                weight.copy_(weight[swapped].clone())
    old.model.save_pretrained(old.place)
    asked = [swap.get(id, id) for id in asked]
    ended = [swap.get(id, id) for id in free[: free.index(last) + 1]]
    assert Model(old.place, row).written(asked, dropped) == ended
    new = grafted(old, row, PRUNED)
    assert new.model.generation_config.eos_token_id == PRUNED.token_id("</s>") != EOS
    assert new.written([moved[id] for id in asked], []) == [moved[id] for id in ended]
