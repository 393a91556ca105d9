"""Families of models whose names are not names of tokenizers: where the tokenizer is published, or what counts instead.

`load` reads a row only for the message about a name that it does not know: a row never loads a tokenizer. The first row that
matches counts, so versions come before their family. OpenAI's models are rows of `encodings.py`.
"""

from __future__ import annotations

import re

GATED = "accept the licence on its page, then run hf auth login"
OLD_CLAUDE = "the package anthropic 0.38.0 has the tokenizer of Claude 2 and older: pass the path of its tokenizer.json"
CLAUDE = (
    "Anthropic publishes no tokenizer of Claude 3 and later; its API counts tokens (POST /v1/messages/count_tokens)"
)
GEMINI = "Google publishes none under this name; its API counts tokens (countTokens), and its package google-genai counts with Gemma's files"
GROK = "no tokenizer of Grok 3 and later is known to be published; xAI's API returns tokens (POST /v1/tokenize-text)"

# A regex of how names begin, in lower case and with hyphens; the title; repositories of the hub; more advice, or all.
FAMILIES: tuple[tuple[str, str, str, str], ...] = (
    (r"(?:(?:[a-z]+[./])?anthropic[./])?claude-(?:v?[12]|instant)", "", "", OLD_CLAUDE),
    (r"(?:(?:[a-z]+[./])?anthropic[./])?claude", "", "", CLAUDE),
    (r"(?:google/|models/)?gemini", "", "", GEMINI),
    (r"(?:x-?ai/)?grok(?!-?[12])", "", "", GROK),
    (r"(?:meta-)?llama-?4", "Llama 4", "meta-llama/Llama-4-Scout-17B-16E-Instruct", GATED),
    (r"(?:meta-)?llama-?3[.-][1-3]", "Llama 3", "meta-llama/Llama-3.1-8B meta-llama/Llama-3.2-1B meta-llama/Llama-3.3-70B-Instruct", GATED),
    (r"(?:meta-)?llama-?3", "Llama 3", "meta-llama/Meta-Llama-3-8B", GATED),
    (r"(?:meta-)?llama-?2", "Llama 2", "meta-llama/Llama-2-7b-hf", GATED),
    (r"(?:meta-)?llama", "Llama", "meta-llama/MODEL", GATED),
    (r"code-?llama", "Code Llama", "codellama/CodeLlama-7b-hf", ""),
    (r"qwen-?3(?!\.)", "Qwen3", "Qwen/Qwen3-8B", ""),
    (r"qwen-?2\.5", "Qwen2.5", "Qwen/Qwen2.5-7B", ""),
    (r"qwen-?2(?!\.)", "Qwen2", "Qwen/Qwen2-7B", ""),
    (r"qwen[\d.]*|qwq", "Qwen", "Qwen/MODEL", ""),
    (r"(?:open-)?mistral-nemo", "Mistral Nemo", "mistralai/Mistral-Nemo-Instruct-2407", ""),
    (r"(?:open-)?mistral-?7b", "Mistral 7B", "mistralai/Mistral-7B-v0.1 mistralai/Mistral-7B-v0.3", ""),
    (r"(?:open-)?mistral|(?:open-)?mixtral|codestral|devstral|magistral|ministral|pixtral", "Mistral", "mistralai/MODEL", ""),
    (r"deepseek-?(?:r1(?!-distill|:)|reasoner)", "DeepSeek-R1", "deepseek-ai/DeepSeek-R1", ""),
    (r"deepseek-?(?:v3(?!\.)|chat)", "DeepSeek-V3", "deepseek-ai/DeepSeek-V3", ""),
    (r"deepseek", "DeepSeek", "deepseek-ai/MODEL", ""),
    (r"gemma-?3(?!n)", "Gemma 3", "google/gemma-3-4b-it", GATED),
    (r"gemma-?2(?!b)", "Gemma 2", "google/gemma-2-9b", GATED),
    (r"(?:code|pali|embedding)?gemma-?(?:\d*|3n)", "Gemma", "google/MODEL", ""),
    (r"phi-?4-mini", "Phi-4-mini", "microsoft/Phi-4-mini-instruct", ""),
    (r"phi-?4(?!-multi)", "Phi-4", "microsoft/phi-4", ""),
    (r"phi-?3(?!-small|\.)", "Phi-3", "microsoft/Phi-3-mini-4k-instruct", ""),
    (r"phi(?:-?\d)?", "Phi", "microsoft/MODEL", ""),
    (r"bert-(?:base|large)-uncased", "BERT (uncased)", "google-bert/bert-base-uncased", ""),
    (r"m?bert", "BERT", "google-bert/bert-base-cased google-bert/bert-base-multilingual-cased", ""),
    (r"distilbert", "DistilBERT", "distilbert/distilbert-base-uncased distilbert/distilbert-base-cased", ""),
    (r"roberta", "RoBERTa", "FacebookAI/roberta-base", ""),
    (r"xlm-r(?:oberta)?", "XLM-RoBERTa", "FacebookAI/xlm-roberta-base", ""),
    (r"flan-t5", "Flan-T5", "google/flan-t5-base", ""),
    (r"t5", "T5", "google-t5/t5-small", ""),
    (r"gpt-?(?:j|neox?)|pythia", "EleutherAI", "EleutherAI/MODEL", ""),
    (r"bloomz?", "BLOOM", "bigscience/bloom", ""),
    (r"falcon-?\d?", "Falcon", "tiiuae/MODEL", ""),
    (r"starcoder-?\d?", "StarCoder", "bigcode/MODEL", ""),
    (r"olmo-?\d?", "OLMo", "allenai/MODEL", ""),
    (r"smollm-?\d?", "SmolLM", "HuggingFaceTB/MODEL", ""),
    (r"glm-?\d?", "GLM", "zai-org/MODEL", ""),
    (r"command-[ar]|c4ai|aya", "Cohere", "CohereLabs/MODEL", GATED),
)  # fmt: skip


def advice_on_model(name: str) -> str:
    """What to pass for a model's name, by the first row that matches; empty if none does, or for the name of a file.

    >>> advice_on_model("qwen3"), advice_on_model("qwen3.json"), advice_on_model("claude/tokenizer")
    ("an open Qwen3 model has its tokenizer ... pass a name such as 'Qwen/Qwen3-8B' (pip install 'toksmith[hub]')", '', '')
    """
    name = re.sub("[ _]", "-", name.lower())
    for names, title, repositories, advice in FAMILIES:
        if re.fullmatch(rf"(?:{names})(?![a-z])(?:[^/.]|\.(?![a-z]+$))*", name):
            such = " or ".join(map(repr, repositories.split()))
            where = f"an open {title} model has its tokenizer in its repository on the Hugging Face hub; pass a name such as {such}"
            return "; ".join(filter(None, [f"{where} (pip install 'toksmith[hub]')" if repositories else "", advice]))
    return ""
