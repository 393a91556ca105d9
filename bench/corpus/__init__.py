"""Files to files of ids: `python -m bench.corpus` measures jobs relative to their minimum cost and to other programs.

`__main__` chooses the sections, `inputs` writes the texts, `own` measures toksmith against itself (`worker` is the
process), `scaling` measures two processes, Ray and a repeated job, `peers` lists the other programs, `commands` runs a
program and measures memory and processor time, and `contents` compares the ids of two programs.
"""
