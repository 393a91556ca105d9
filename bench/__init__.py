"""The encode benchmark: `python -m bench`, toksmith beside its peers; users can point it at their own files.

The walk: `definitions` says what is asked and what answer is due, `texts` and `vocabularies` lay out the inputs in a
scratch folder, `expected` has the reference engines answer once, `runner` asks every engine in a fresh process
(`worker`, one function of `measures`, through one file of `adapters`), `report` and `records` tell what came of it.
"""
