"""datatrove with its users' calls: JSON lines to files of ids, two tasks on two processes.

Usage: datatrove_tokens.py FOLDER_OF_ROWS TOKENIZER_JSON END OUTPUT
"""

import sys

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer

if __name__ == "__main__":
    rows, tokenizer, end, output = sys.argv[1:]
    # The default also shuffles the documents of a task, which takes longer; here the order is compared.
    tokens = DocumentTokenizer(output, tokenizer, eos_token=end, shuffle_documents=False)
    steps = [JsonlReader(rows, glob_pattern="*.jsonl"), tokens]
    LocalPipelineExecutor(steps, tasks=2, workers=2, logging_dir=f"{output}/logs").run()
