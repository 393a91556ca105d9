"""The training benchmark: `python -m bench.training`, toksmith beside the libraries that train.

The walk: `cases` says what is trained and what is to be reached, `lay` puts the documents where every engine finds them,
`runner` trains with each engine in a fresh process (`worker`, through one function of `trainers`), `report` tells what
came of it, `plot` draws how the time grows. What both benchmarks need is taken from the package above.
"""
