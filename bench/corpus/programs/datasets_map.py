"""`datasets.map` with its users' calls: batches of JSON lines to ids, on two processes.

Usage: datasets_map.py ROWS FOLDER_OF_TOKENIZER OUTPUT
"""

import sys
from typing import Any

from datasets import load_dataset
from transformers import AutoTokenizer

if __name__ == "__main__":
    rows, tokenizer, output = sys.argv[1:]
    tok = AutoTokenizer.from_pretrained(tokenizer)

    def encoded(batch: dict[str, Any]) -> dict[str, Any]:
        """The ids of a batch, each document with the token that ends it."""
        return {"input_ids": [[*ids, tok.eos_token_id] for ids in tok(batch["text"])["input_ids"]]}

    dataset = load_dataset("json", data_files=rows, split="train", cache_dir=f"{output}/cache")
    done = dataset.map(encoded, batched=True, num_proc=2, remove_columns=dataset.column_names)
    done.save_to_disk(output)
