"""Files to files of ids: `python -m bench.corpus` measures jobs beside what they must cost, and beside other programs.

The walk: `__main__` chooses the sections, `inputs` lays the texts out, `own` measures toksmith against itself (`worker` is
what a process does), `scaling` two processes, Ray and a job that is run again, `peers` lists the other programs, `commands`
runs a program with its memory and processor time, and `contents` compares the ids that two programs wrote.
"""
