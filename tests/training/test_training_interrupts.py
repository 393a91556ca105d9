"""Ctrl-C in the middle of every kind of training: it ends soon, leaves no thread, and the next training is as any other."""

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
    sys.path.insert(0, sys.argv[2])
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
    kind, train = sys.argv[1], kinds[sys.argv[1]]
    text = repeated_words(3_000_000) if kind in ("wordpiece", "word ends") else new_words(20).decode()
    text = text[:5_000_000] if kind == "unigram" else text
    before = train(text[:20_000], progress=False)
    threads = len(os.listdir("/proc/self/task"))
    waits = kind == "unigram"

    def report(progress):
        global waits
        if waits and progress.phase == "pruning" and progress.done:
            waits = False
            print("ready", flush=True)

    if not waits:
        print("ready", flush=True)
    try:
        train(text, progress=report)
    except toksmith.TrainingInterrupted:
        print(time.process_time(), flush=True)
    assert train(text[:20_000], progress=False) == before
    assert len(os.listdir("/proc/self/task")) == threads
"""


@pytest.mark.slow
@needs("proc")
@pytest.mark.parametrize("kind", re.findall(r'^        "(.+)": lambda', PROGRAM, re.MULTILINE))
def test_ctrl_c_ends_a_training(kind: str) -> None:
    """Each takes from 1 to 40 seconds of the processor; after the signal it gets one."""
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), kind, str(Path(__file__).parents[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout and child.stdout.readline() == "ready\n", child.communicate(timeout=LIMIT_S)
        before = interrupt(child)
        out, err = child.communicate(timeout=LIMIT_S)
    assert child.returncode == 0, err
    assert out, f"{kind} ended before it was interrupted: make it longer"
    assert float(out) - before < 1
