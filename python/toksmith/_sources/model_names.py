"""Which encoding each model of OpenAI's uses: facts that tiktoken 0.14.0 publishes (`tiktoken/model.py`), by encoding.

A test compares every row with the installed tiktoken. Models of others have no rows here, because their tokenizers are files
of their repositories: `load("org/name")`.
"""

from __future__ import annotations

__all__ = ["MODELS", "PREFIXES", "encoding_of"]

# Models by their whole names.
NAMES: dict[str, str] = {
    "o200k_base": "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
    "cl100k_base": "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 text-embedding-ada-002 "
    "text-embedding-3-small text-embedding-3-large",
    "p50k_base": "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 code-cushman-001 "
    "davinci-codex cushman-codex",
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "r50k_base": "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada "
    "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 text-similarity-ada-001 "
    "text-search-davinci-doc-001 text-search-curie-doc-001 text-search-babbage-doc-001 text-search-ada-doc-001 "
    "code-search-babbage-code-001 code-search-ada-code-001",
    "gpt2": "gpt2 gpt-2",
}
# Models by how their names begin; the first that fits is meant.
BEGINNINGS = (
    ("o200k_base", "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o-"),
    ("cl100k_base", "gpt-4- gpt-3.5-turbo- gpt-35-turbo-"),
    ("o200k_harmony", "gpt-oss-"),
    ("o200k_base", "ft:gpt-4o"),
    ("cl100k_base", "ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002"),
)
MODELS = {model: encoding for encoding, names in NAMES.items() for model in names.split()}
PREFIXES = {prefix: encoding for encoding, names in BEGINNINGS for prefix in names.split()}


def encoding_of(model: str) -> str | None:
    """The encoding of a model by its name, or by how the name begins; None if the name is in no row.

    >>> encoding_of("gpt-4o-2024-08-06"), encoding_of("gpt-4-turbo"), encoding_of("claude")
    ('o200k_base', 'cl100k_base', None)
    """
    if model in MODELS:
        return MODELS[model]
    return next((encoding for prefix, encoding in PREFIXES.items() if model.startswith(prefix)), None)
