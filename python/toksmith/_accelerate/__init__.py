"""The fast tokenizers of transformers on toksmith's engine, with no change to their code.

From the ground up: `layouts` lays out the columns of a result, `engine` runs one content of a tokenizer, `check` compares it
with the library, `changes` notices changes to tokenizers, `attached` has the engine of each, `calls` replaces three methods of
transformers, and `switch` has the public functions. `at_import`, `startup` and `servers` are the ways without code.
"""
