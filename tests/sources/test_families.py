"""Names of models of many makers: `load` and the shell say what to pass, without a network, and load nothing by them."""

import re
from pathlib import Path

import pytest
from command_line import misused, run

import toksmith
from toksmith._sources.encodings import ENCODINGS, MODELS
from toksmith._sources.families import FAMILIES, GATED, advice_on_model
from toksmith._sources.hub import hub_name
from toksmith.errors import UnknownName

ROOT = Path(__file__).resolve().parents[2]

NAMES = [
    ("llama-3", "'meta-llama/Meta-Llama-3-8B'"), ("Llama3:8b", "'meta-llama/Meta-Llama-3-8B'"),
    ("llama-3.1-8b-instruct", "'meta-llama/Llama-3.1-8B'"), ("meta-llama-3.3-70b", "or 'meta-llama/Llama-3.3-70B-Instruct'"),
    ("llama-3-2-1b", "or 'meta-llama/Llama-3.2-1B'"), ("llama2", "'meta-llama/Llama-2-7b-hf'"), ("llama-7b", "'meta-llama/MODEL'"),
    ("qwen3", "'Qwen/Qwen3-8B'"), ("qwen2.5-coder-7b", "'Qwen/Qwen2.5-7B'"), ("qwen3.5", "'Qwen/MODEL'"), ("qwen", "'Qwen/MODEL'"),
    ("mistral-7b", "'mistralai/Mistral-7B-v0.1' or 'mistralai/Mistral-7B-v0.3'"), ("mistral-large-latest", "'mistralai/MODEL'"),
    ("deepseek-r1", "'deepseek-ai/DeepSeek-R1'"), ("deepseek_v3", "'deepseek-ai/DeepSeek-V3'"),
    # Distilled models have the tokenizers of Llama and Qwen.
    ("deepseek-r1-distill-qwen-7b", "'deepseek-ai/MODEL'"), ("deepseek-r1:7b", "'deepseek-ai/MODEL'"),
    ("gemma-2b", "'google/MODEL'"), ("gemma3n:e4b", "'google/MODEL'"), ("phi-3.5-mini", "'microsoft/MODEL'"), ("gemma2:2b", "'google/gemma-2-9b'"), ("gemma-3-27b-it", "'google/gemma-3-4b-it'"),
    ("phi-4", "'microsoft/phi-4'"), ("phi-4-mini", "'microsoft/Phi-4-mini-instruct'"), ("phi-4-multimodal", "'microsoft/MODEL'"),
    ("bert-base-uncased", "'google-bert/bert-base-uncased'"), ("bert", "'google-bert/bert-base-cased'"),
    ("roberta-large", "'FacebookAI/roberta-base'"), ("t5-small", "'google-t5/t5-small'"), ("gpt-j-6b", "'EleutherAI/MODEL'"),
    ("claude-sonnet-4", "/v1/messages/count_tokens"), ("claude", "publishes no tokenizer"), ("claude-2.1", "anthropic 0.38.0"),
    ("anthropic/claude-3.5-sonnet", "publishes no tokenizer"), ("us.anthropic.claude-opus-4-v1:0", "publishes no tokenizer"),
    ("gemini-2.5-pro", "countTokens"), ("google/gemini-2.0-flash", "countTokens"), ("grok-4", "tokenize-text"),
]  # fmt: skip


@pytest.mark.parametrize("name, said", NAMES)
def test_a_models_name_is_answered_without_a_library_or_a_network(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(UnknownName) as caught:
        toksmith.load(name)
    assert said in caught.value.advice and str(caught.value).count("\n") == 0
    misused(run("count", "-t", name, stdin="low"), said)


def test_other_names_have_no_advice() -> None:
    """A name of a repository, of a file, of a tokenizer or of another word keeps its meaning."""
    repositories = [name for row in FAMILIES for name in row[2].split()]
    others = ["Xenova/claude-tokenizer", "llama3.tiktoken", "bert.json", "claudette", "phishing", "bertweet", "llama/x"]
    assert [name for name in [*repositories, *others, *ENCODINGS, *MODELS] if advice_on_model(name)] == []


def test_rows_are_complete_and_reached() -> None:
    for _, title, repositories, advice in FAMILIES:
        assert bool(repositories) == bool(title) and (repositories or advice not in ("", GATED))
        assert all(hub_name(name) for name in repositories.split())
        for name in repositories.split():
            assert name.endswith("/MODEL") or repr(name) in advice_on_model(name.partition("/")[2])


def test_a_file_of_that_name_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tok = toksmith.train("low lower", merges=2, pattern=None)
    tok.save("llama-3", format="native")
    assert toksmith.load("llama-3") == tok
    Path("google").mkdir()
    with pytest.raises(UnknownName, match="there is no") as caught:
        toksmith.load("google/gemini-pro")
    assert caught.value.advice == ""


def test_the_guides_names_are_rows() -> None:
    table = (ROOT / "docs/guides/open-models.md").read_text(encoding="utf-8").partition("## Chat")[0]
    rows = {name for row in FAMILIES for name in row[2].split()}
    in_guide = {name for name in re.findall(r"`([\w.-]+/[\w.-]+)`", table) if not name.startswith("original/")}
    assert len(in_guide) > 7 and in_guide <= rows
