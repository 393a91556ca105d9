"""Ctrl-C during every kind of training: it ends soon, leaves no thread, and does not change the next training."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from processors import LIMIT_S, interrupt
from systems import needs

PROGRAM = """
    import os, random, signal, sys, time, toksmith
    sys.path.insert(0, sys.argv[1])
    from processors import new_words
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def repeated_words(number):
        draw = random.Random(1)
        return " ".join(draw.choices([draw.randbytes(draw.randint(1, 5)).hex() for _ in range(50_000)], k=number))

    base = toksmith.train("low lower lowest", 260, progress=False)
    kinds = {
        "bytes": lambda text, **more: toksmith.train(text, 8000, **more),
        "no pattern": lambda text, **more: toksmith.train(text, 1000, pattern=None, **more),
        "characters": lambda text, **more: toksmith.train(text, 8000, unit="char", **more),
        "word ends": lambda text, **more: toksmith.train(text, 8000, unit="char", end_of_word_suffix="</w>", **more),
        "wordpiece": lambda text, **more: toksmith.train(text, 8000, kind="wordpiece", **more),
        "unigram": lambda text, **more: toksmith.train(text, 8000, kind="unigram", threads=1, **more),
        "words": lambda text, **more: toksmith.train(text, 8000, kind="words", **more),
        "chars": lambda text, **more: toksmith.train(text, kind="chars", **more),
        "continued": lambda text, **more: toksmith.train(text, base=base, merges=3000, **more),
        "languages": lambda text, **more: toksmith.train(
            languages={"a": [text[::2]], "b": [text]}, ratios={"a": 1.0, "b": 1.0}, merges=3000, **more
        ),
    }
    words, new = repeated_words(1_000_000), new_words(20).decode()
    texts = {"wordpiece": words, "word ends": words, "unigram": new[:2_500_000]}
    threads = 0

    def report(progress):
        global waits
        if waits and progress.phase == "pruning" and progress.done:
            waits = False
            print(kind, flush=True)

    for kind, train in kinds.items():
        text = texts.get(kind, new)
        before = train(text[:20_000], progress=False)
        threads = threads or len(os.listdir("/proc/self/task"))
        waits = kind == "unigram"
        if not waits:
            print(kind, flush=True)
        try:
            train(text, progress=report)
        except toksmith.errors.TrainingInterrupted:
            print(time.process_time(), flush=True)
        assert train(text[:20_000], progress=False) == before
        assert len(os.listdir("/proc/self/task")) == threads
"""


@pytest.mark.slow
@needs("proc")
def test_ctrl_c_ends_every_training() -> None:
    """Each takes from 1 to 40 seconds of the processor; after the signal it gets one."""
    command, kinds = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(Path(__file__).parents[1])], []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            for kind in iter(child.stdout.readline, ""):
                before = interrupt(child, at_work_s=0.15)
                ended = child.stdout.readline()
                assert re.fullmatch(r"[\d.]+\n", ended), f"{kind.strip()} ended before Ctrl-C: make it longer"
                assert float(ended) - before < 1, kind
                kinds.append(kind)
            assert child.wait(LIMIT_S) == 0
        finally:
            child.kill()
    assert len(kinds) == 10
