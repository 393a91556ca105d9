"""The encode benchmark: `python -m bench` measures toksmith and its peers, also on users' own files.

`definitions` lists the questions, `texts` and `vocabularies` prepare the inputs in a scratch folder, `expected`
computes the expected answers once with the reference engines, `runner` measures every engine in a fresh process
(`worker`, one function of `measures`, through one file of `adapters`), `verdicts` compares the figures with `targets`,
and `report` and `records` write the results. `regression` compares them with earlier records, `comparison` and `chart`
write the documents.
"""
