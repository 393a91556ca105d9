"""Which special token begins a text, ends it, and fills a batch, in GGUF files: `bos`, `eos` and `padding`.

llama.cpp takes fixed ids for a role that a file does not name (1 and 2, or 11), whatever these tokens are. A model keeps the
ids of the file that it comes from as metadata, or has them in the tokens around its texts. For any other model the contents
of its special tokens say it, where exactly one of them is known for the role: SentencePiece itself finds `<s>` and `</s>` so.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["roles_by_content"]

KNOWN: Mapping[str, tuple[str, ...]] = {
    "bos": ("<s>", "<bos>", "[BOS]", "<|begin_of_text|>", "<|startoftext|>", "<|bos|>"),
    "eos": ("</s>", "<eos>", "[EOS]", "<|endoftext|>", "<|end_of_text|>", "<|eos|>", "<|im_end|>", "<|eot_id|>"),
    "padding": ("<pad>", "[PAD]", "<|pad|>", "<|finetune_right_pad_id|>"),
}


def roles_by_content(ids: Mapping[str, int]) -> dict[str, int]:
    """The id of each role, from the ids of the special tokens; without a role that none or several of them may have."""
    found = {role: [ids[content] for content in known if content in ids] for role, known in KNOWN.items()}
    return {f"tokenizer.ggml.{role}_token_id": each[0] for role, each in found.items() if len(each) == 1}
