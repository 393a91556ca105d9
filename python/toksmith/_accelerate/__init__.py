"""The fast tokenizers of transformers on toksmith's engine, with no change to their code.

`switch` has the public functions, `calls` the two methods that are replaced, `engines` the engine of each tokenizer,
`check` the comparison before an engine runs, `changes` what notices changes to a tokenizer, and `at_import` and `startup`
the ways without code.
"""
