"""The training benchmark: `python -m bench.training` measures toksmith and other libraries that train.

`cases` lists the trainings and the targets, `lay` writes the documents for every engine, `runner` trains with each
engine in a fresh process (`worker`, through one function of `trainers`), `report` writes the results, and `plot` draws
how the time grows. Code that both benchmarks need is in the parent package.
"""
