"""After any fault during writes, a reader finds the old files or the new ones, and the same command completes the work."""

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import faults
import pytest
from processors import LIMIT_S, interrupt, until
from systems import needs

import toksmith
from toksmith import _formats
from toksmith._base import system
from toksmith._formats import FORMATS
from toksmith._model.model import RARE_FIELDS
from toksmith._storage import atomic_files
from toksmith.corpus import EncodedCorpus
from toksmith.errors import CheckpointError, FormatError

LEAST = {"encode_corpus": 40, "save gpt2": 30, "save gpt2 beside": 30, "save native": 9}


CASES = [
    *((name, "once", "old") for name in faults.COMMANDS),
    *((name, "once", "") for name in ("encode_corpus", "save gpt2", "checkpoint", "download")),
    *((name, "full", "old") for name in ("encode_corpus", "save native", "checkpoint")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mode", "before"), CASES)
def test_every_call_fails_in_turn(name: str, mode: str, before: str, tmp_path: Path) -> None:
    calls = faults.each_fault(faults.COMMANDS[name](), tmp_path / "folder", mode, before)
    assert calls >= LEAST.get(name, 5)


@pytest.mark.slow
@needs("fork")
@pytest.mark.parametrize(
    "name", [name for name in faults.COMMANDS if name not in ("save gpt2 beside", "counts .parquet")]
)
def test_the_process_is_killed_at_every_call(name: str, tmp_path: Path) -> None:
    command = [sys.executable, faults.__file__, name, str(tmp_path / "folder")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert min(json.loads(done.stdout).values()) >= LEAST.get(name, 5)


@pytest.mark.slow
def test_every_format_survives_a_full_disk(tmp_path: Path) -> None:
    """Each format in turn, saved over another tokenizer, on a disk that is full at each call."""
    texts = {"old": "low lower lowest", "new": "sad sadder saddest"}
    written = []
    for name, row in FORMATS.items():
        toks = {version: toksmith.train(text, 262, pattern="gpt2") for version, text in texts.items()}
        lost = [*set(vars(toks["new"].model)) - {"vocab", "tokens", "ids"}, *RARE_FIELDS]
        try:
            losses = [*_formats.find_losses(toks["new"].model, row, [field for field in lost if can_be_lost(field)])]
            files = {version: save_files(tok, row, losses) for version, tok in toks.items()}
        except FormatError:
            continue
        written.append(name)
        target = tmp_path / f"{name}{row.suffixes[0] if row.suffixes[0].startswith('.') else ''}"

        def run(folder: Path, version: str) -> None:
            toks[version].save(folder / target.name, format=name, allow_loss=losses)  # noqa: B023

        def read(folder: Path) -> object:
            places = _formats.output_files(folder / target.name, row)  # noqa: B023
            waiting = atomic_files.finish_renames(places)
            found = tuple(Path(atomic_files.current_path(place, waiting)) for place in places)
            return tuple(place.read_bytes() if place.exists() else None for place in found)

        command = faults.Command(run, read, (FormatError,))
        assert faults.each_fault(command, tmp_path / "folder", "full", "old") >= 9 * len(files["new"])
    assert {"native", "gpt2", "tiktoken", "minbpe", "tokenizer_json", "transformers"} <= {*written}, written


def can_be_lost(field: str) -> bool:
    """Whether `allow_loss` can name the field."""
    try:
        _formats.check_losses([field])
    except toksmith.errors.InvalidOption:
        return False
    return True


def save_files(tok: toksmith.Tokenizer, row: _formats.Format, losses: tuple[str, ...]) -> tuple[bytes, ...]:
    data = row.save(tok.model, allow_loss=losses)
    return (data,) if isinstance(data, bytes) else data


# Leftovers


def test_the_next_run_removes_the_leftovers_of_a_killed_one(tmp_path: Path) -> None:
    tok = toksmith.train("low", merges=1)
    for left in (
        "tok.toksmith.0123456789abcdef.tmp",
        "ids.npy.0123456789abcdef.tmp",
        "ids.ends.npy.fedcba9876543210.tmp",
    ):
        (tmp_path / left).write_bytes(b"half")
    others = ("tok.toksmith.tmp", "tok.toksmith.0123456789abcdeg.tmp", "my-tok.toksmith.0123456789abcdef.tmp", "a.tmp")
    for other in others:
        (tmp_path / other).write_bytes(b"not ours")
    tok.save(tmp_path / "tok.toksmith")
    toksmith.corpus.encode(tok, ["low"], tmp_path / "ids.npy")
    expected = {"tok.toksmith", "ids.npy", "ids.ends.npy", "ids.manifest.json", *others}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_a_run_leaves_the_files_of_a_running_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with atomic_files.AtomicFiles([path]) as one:
        first = one.add(path)
        first.file.write(b"one")
        atomic_files.write_file(path, b"two")
        assert path.read_bytes() == b"two"
        one.place()
    assert path.read_bytes() == b"one"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
def test_readers_find_the_files_of_one_of_several_writers(tmp_path: Path) -> None:
    """Several threads write the same pair while others read it."""
    toks = [toksmith.train(text, 260, pattern="gpt2") for text in ("low lower lowest", "sad sadder saddest")]
    expected = {tok.model.fingerprint() for tok in toks}
    toks[0].save(tmp_path, format="gpt2")
    problems: list[object] = []
    end = threading.Event()

    def write(number: int) -> None:
        for turn in range(25):
            toksmith.corpus.encode(toks[0], [str(number)] * (turn + 1), tmp_path / "ids.npy", progress=False)

    def read() -> None:
        while not end.is_set():
            try:
                found = EncodedCorpus.at(tmp_path / "ids.npy").read()
                if len({tuple(ids.tolist()) for ids in found}) != 1:
                    problems.append([ids.tolist() for ids in found])
                if _formats.read_model(tmp_path, "gpt2").fingerprint() not in expected:
                    problems.append("gpt2")
            except Exception as problem:  # noqa: BLE001 - it is shown
                problems.append(problem)

    toksmith.corpus.encode(toks[0], ["0"], tmp_path / "ids.npy")
    writers = [threading.Thread(target=write, args=[number]) for number in range(3)]
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in writers:
        thread.join()
    end.set()
    for thread in readers:
        thread.join()
    assert not problems
    assert not faults.leftovers(tmp_path)


def test_a_reader_leaves_the_pending_files_of_a_living_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer writes its note right after another one, and is about to move its files."""
    paths = [tmp_path / "one", tmp_path / "two"]
    real = system.SYSTEM.exclusive

    @contextlib.contextmanager
    def followed(folder: str) -> Iterator[int | None]:
        with real(folder) as held:
            yield held
        atomic_files.write_note(atomic_files.note_path([atomic_files.resolve_path(paths[0])]), news)

    with atomic_files.AtomicFiles(paths) as writer:
        news = [writer.add(path) for path in paths]
        gone = [{"new": ".0123456789abcdef.tmp", "replaces": None}] * 2
        (tmp_path / "one.pending").write_text(json.dumps({"files": gone}), encoding="utf-8")
        monkeypatch.setattr(system.SYSTEM, "exclusive", followed)
        assert atomic_files.finish_renames(paths) == {}
        assert (tmp_path / "one.pending").exists()


@needs("locks")
def test_a_writer_survives_a_sweep_that_found_its_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep finds the file before its writer locks it, and removes it as soon as it can."""
    real, swept = system.SYSTEM.lock, []

    def raced(file: int, *, wait: bool) -> bool:
        if swept:
            return real(file, wait=wait)
        (name,) = map(str, tmp_path.iterdir())
        swept.append((name, os.open(name, os.O_RDWR)))
        assert real(swept[0][1], wait=False)
        if wait:
            remove()
        return real(file, wait=wait)

    def remove() -> None:
        os.unlink(swept[0][0])
        os.close(swept[0][1])

    monkeypatch.setattr(system.SYSTEM, "lock", raced)
    temporary = atomic_files.TemporaryFile(str(tmp_path / "file"))
    temporary.create()
    if os.path.lexists(swept[0][0]):
        remove()
    assert os.path.lexists(temporary.name)
    temporary.close()


@pytest.mark.parametrize("after", [1, 2, 3])
def test_ctrl_c_right_after_a_file_is_created_leaves_nothing(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal comes before the program has the open file: the first file, the second, or the note."""
    created = 0

    def interrupted(path: str, mode: str) -> IO[bytes]:
        nonlocal created
        file = open(path, mode)  # noqa: SIM115 - the caller closes it
        created += "x" in mode
        if "x" in mode and created == after:
            file.close()
            raise KeyboardInterrupt
        return file

    atomic_files.write_files([(tmp_path / "a", b"old a"), (tmp_path / "b", b"old b")])
    monkeypatch.setattr(atomic_files, "open", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        atomic_files.write_files([(tmp_path / "a", b"new a"), (tmp_path / "b", b"new b")])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old a", "b": b"old b"}


def test_ctrl_c_at_any_line_of_adding_a_file_leaves_nothing(tmp_path: Path) -> None:
    """Python delivers the signal between two instructions; a trace raises it before each line in turn.

    A separate process does so: a trace that raises inside of an `except` leaves its exception in the interpreter.
    """
    script = """
        import os, sys
        from toksmith._storage import atomic_files as _atomic_files
        from toksmith._base import system as _system
        ours = (_atomic_files.__file__, _system.__file__)
        folder, line, interrupted = sys.argv[1], 0, True

        def stop_at(frame, event, _):
            global passed
            if frame.f_code.co_filename not in ours or frame.f_code.co_name == "__exit__":
                return None
            if event == "line":
                passed += 1
                if passed == line:
                    raise KeyboardInterrupt
            return stop_at

        while interrupted:
            line, passed = line + 1, 0
            with _atomic_files.AtomicFiles([folder + "/a"]) as together:
                sys.settrace(stop_at)
                try:
                    together.add(folder + "/a")
                    interrupted = False
                except KeyboardInterrupt:
                    pass
                finally:
                    sys.settrace(None)
            assert not os.listdir(folder), line
        print(line)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


@pytest.mark.slow
@needs("signals")
def test_kills_at_random_moments_leave_the_files_of_one_run(tmp_path: Path) -> None:
    """A process that writes repeatedly is killed."""
    script = """
        import sys, toksmith
        tok = toksmith.train("low lower", merges=1)
        print("ready", flush=True)
        for turn in range(100000):
            toksmith.corpus.encode(tok, [str(turn % 10)] * (turn % 50 * 20), sys.argv[1] + "/ids.npy", progress=False)
            toksmith.train("ab" * (turn % 7 + 1), 257 + turn % 2, pattern="gpt2").save(sys.argv[1] + "/tok", format="gpt2")
    """
    draw = random.Random(6)
    for _ in range(8):
        command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            assert child.stdout is not None
            child.stdout.readline()
            until((tmp_path / "tok" / "merges.txt").exists, "both files are there")
            interrupt(child, draw.uniform(0, 0.3), signal.SIGKILL)
            child.wait(timeout=LIMIT_S)
        found = EncodedCorpus.at(tmp_path / "ids.npy").read()
        assert len({tuple(ids.tolist()) for ids in found}) <= 1
        assert len(_formats.read_model(tmp_path / "tok", "gpt2").tokens) in (256, 257, 258)
    tok = toksmith.train("low", merges=1, pattern="gpt2")
    toksmith.corpus.encode(tok, ["low"], tmp_path / "ids.npy")
    tok.save(tmp_path / "tok", format="gpt2")
    assert not faults.leftovers(tmp_path)


# Files of a process that died between two renames


def place_half(folder: Path, monkeypatch: pytest.MonkeyPatch, moved: int) -> None:
    """A new pair over an old one, after only `moved` of its files were renamed."""
    atomic_files.write_files([(folder / "a", b"old a"), (folder / "b", b"old b")])
    real, done = os.replace, 0

    def stop(source: str, target: str) -> None:
        nonlocal done
        if not target.endswith(".pending"):
            if done == moved:
                raise KeyboardInterrupt
            done += 1
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            atomic_files.write_files([(folder / "a", b"new a"), (folder / "b", b"new b")])
    assert (folder / "a.pending").exists()


@pytest.mark.parametrize("moved", [0, 1])
def test_pending_files_are_the_current_ones_and_are_renamed(
    moved: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place_half(tmp_path, monkeypatch, moved)
    assert not atomic_files.finish_renames([tmp_path / "a", tmp_path / "b"])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new a", "b": b"new b"}


def test_pending_files_are_read_where_no_file_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place_half(tmp_path, monkeypatch, 1)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    waiting = atomic_files.finish_renames([tmp_path / "a", tmp_path / "b"])
    found = [Path(atomic_files.current_path(tmp_path / name, waiting)).read_bytes() for name in "ab"]
    assert found == [b"new a", b"new b"]


def test_a_file_that_was_written_since_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place_half(tmp_path, monkeypatch, 0)
    (tmp_path / "b").write_bytes(b"by hand, longer")
    assert not atomic_files.finish_renames([tmp_path / "a", tmp_path / "b"])
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert found == {"a": b"new a", "b": b"by hand, longer"}


def test_pending_files_of_a_moved_folder_are_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    place_half(tmp_path / "here", monkeypatch, 1)
    (tmp_path / "here").rename(tmp_path / "there")
    assert not atomic_files.finish_renames([tmp_path / "there" / "a", tmp_path / "there" / "b"])
    found = {path.name: path.read_bytes() for path in (tmp_path / "there").iterdir()}
    assert found == {"a": b"new a", "b": b"new b"}


@pytest.mark.parametrize(
    ("new", "files"),
    [
        ("", 2),
        ("/../../precious", 2),
        ("/../../victim.0123456789abcdef.tmp", 2),
        (".0123456789abcdef.tmp/../../victim.0123456789abcdef.tmp", 2),
        (".0123456789abcdef.tmp\n", 2),
        (["precious"], 2),
        (".0123456789abcdef.tmp", 1),
        (".0123456789abcdef.tmp", 3),
    ],
)
def test_a_hostile_note_touches_no_other_file(new: object, files: int, tmp_path: Path) -> None:
    """A received folder holds a note that requests moves and removals of the reader's own files."""
    folder = tmp_path / "sent"
    toksmith.train("low lower", 258, pattern="gpt2").save(folder, format="gpt2")
    for name in ("precious", "victim.0123456789abcdef.tmp", "vocab.json.0123456789abcdef.tmp"):
        (tmp_path / name).write_bytes(b"mine")
    for name in ("merges.txt.0123456789abcdef.tmp", "other.json.0123456789abcdef.tmp"):
        (folder / name).write_bytes(b"sent")
    for replaces in (None, [1, 2, 3]):
        note = {"files": [{"new": new, "replaces": replaces}] * files}
        (folder / "vocab.json.pending").write_text(json.dumps(note), encoding="utf-8")
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        with pytest.raises(FormatError, match="delete it"):
            toksmith.load(folder, format="gpt2")
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("data", [b"", b"[]", b"[" * 100_000, b"{}", b"\xff", b'{"files": [1]}'])
def test_a_malformed_note_is_named(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.pending").write_bytes(data)
    with pytest.raises(FormatError, match=r"a\.pending.*delete it"):
        atomic_files.finish_renames([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(FormatError, match=r"a\.pending.*delete it"):
        atomic_files.write_files([(tmp_path / "a", b"1"), (tmp_path / "b", b"2")])
    assert [path.name for path in tmp_path.iterdir()] == ["a.pending"]


# The manifest


def encode_corpus(folder: Path, text: str) -> EncodedCorpus:
    folder.mkdir(exist_ok=True)
    tok = toksmith.train("low lower lowest", 262)
    return toksmith.corpus.encode(tok, [text, "low"], folder / "ids.npy")


def test_files_of_two_runs_are_refused(tmp_path: Path) -> None:
    one, two = encode_corpus(tmp_path / "one", "lower"), encode_corpus(tmp_path / "two", "lowed")
    assert (one.ids, one.documents) != (0, 0)
    for name in ("ids.npy", "ids.ends.npy"):
        mixed = tmp_path / name
        mixed.mkdir()
        for path in (one.path, one.ends_path, tmp_path / "one" / "ids.manifest.json"):
            source = two.path.parent / name if path.name == name else path
            (mixed / path.name).write_bytes(source.read_bytes())
        if (mixed / name).read_bytes() == (tmp_path / "one" / name).read_bytes():
            continue
        with pytest.raises(FormatError, match=f"{name}: is not the file that its manifest describes"):
            EncodedCorpus.at(mixed / "ids.npy").read()


@pytest.mark.parametrize("change", ["cut", "longer", "bit", "header", "missing"])
@pytest.mark.parametrize("name", ["ids.npy", "ids.ends.npy"])
def test_changed_files_are_refused(name: str, change: str, tmp_path: Path) -> None:
    found = encode_corpus(tmp_path, "lower")
    again = EncodedCorpus.at(tmp_path / "ids.npy")
    assert again == found
    tok = toksmith.train("low lower lowest", 262)
    assert [ids.tolist() for ids in again.read()] == [tok.encode("lower"), tok.encode("low")]
    assert str(again.read().ids.dtype) == "uint32"
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    if change == "bit":
        data[-1] ^= 1
    if change == "header":
        data[20] ^= 1
    path.write_bytes({"cut": data[:-1], "longer": data + b"\0"}.get(change, data))
    if change == "missing":
        path.unlink()
    with pytest.raises(FormatError, match=name) as caught:
        found.read()
    assert caught.value.path == str(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"toksmith_ids": 2}',
        b'{"toksmith_ids": 1, "ids": 5}',
        b"\xff",
        b'{"toksmith_ids": 1}',
    ],
)
def test_hostile_manifests_are_refused(data: bytes, tmp_path: Path) -> None:
    encode_corpus(tmp_path, "lower")
    (tmp_path / "ids.manifest.json").write_bytes(data)
    with pytest.raises(FormatError, match=r"ids\.manifest\.json: is not a manifest of ids"):
        EncodedCorpus.at(tmp_path / "ids.npy")


def test_manifests_with_impossible_values_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ids.manifest.json"
    encode_corpus(tmp_path, "lower")
    good = json.loads(path.read_bytes())
    changes = {
        "count": (-1, 1 << 70, "1", True, None),
        "dtype": ("int8", 5, "uint64"),
        "bytes": (0, 1 << 70),
        "name": ("x", None),
    }
    for name in ("ids", "ends"):
        for field, values in changes.items():
            for value in values:
                if (name, field, value) == ("ends", "dtype", "uint64"):
                    continue
                path.write_text(json.dumps({**good, name: {**good[name], field: value}}), encoding="utf-8")
                with pytest.raises(FormatError, match="is not a manifest of ids"):
                    EncodedCorpus.at(tmp_path / "ids.npy")
    path.unlink()
    with pytest.raises(FormatError, match=r"ids\.manifest\.json: cannot be read: there is no such file"):
        EncodedCorpus.at(tmp_path / "ids.npy")


def test_the_manifest_has_the_checksums_of_the_values(tmp_path: Path) -> None:
    found = encode_corpus(tmp_path, "lower")
    said = json.loads((tmp_path / "ids.manifest.json").read_bytes())
    for name, path in (("ids", found.path), ("ends", found.ends_path)):
        data = path.read_bytes()
        assert said[name]["values_sha256"] == hashlib.sha256(data[128:]).hexdigest()
        assert (said[name]["bytes"], said[name]["name"]) == (len(data), path.name)
    assert said["ids"]["count"] == found.ids and said["ends"]["count"] == found.documents


# Checkpoints


TEXT = [f"low lower lowest {number} slow slower slowest {number * 7919}" for number in range(500)]


@pytest.mark.slow
def test_a_full_disk_keeps_the_merges(tmp_path: Path) -> None:
    """A limit on the size of files makes writes fail as on a full disk."""
    whole = toksmith.train(TEXT, 900)
    toksmith.train(TEXT, 900, checkpoint=tmp_path / "whole")
    size = (tmp_path / "whole").stat().st_size
    script = """
        import pickle, resource, signal, sys, toksmith
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
        text = [f"low lower lowest {number} slow slower slowest {number * 7919}" for number in range(500)]
        try:
            toksmith.train(text, 900, checkpoint=sys.argv[1], threads=1)
        except toksmith.errors.CheckpointError as error:
            assert isinstance(error, OSError) and error.filename == error.path == sys.argv[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            if error.tokenizer is not None:
                error.tokenizer.save(sys.argv[1] + ".toksmith")
            print(error.errno, str(error))
    """
    for room in (10, size // 2, size - 5):
        path = tmp_path / str(room)
        command = [sys.executable, "-c", textwrap.dedent(script), str(path), str(room)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.stdout.startswith("27 ") and "File too large" in done.stdout, done.stderr
        if room == 10:
            assert "nothing was learned yet" in done.stdout
        else:
            merges = toksmith.load(f"{path}.toksmith").model.merges.tolist()
            assert 0 < len(merges) <= len(whole.model.merges)
            assert merges == whole.model.merges.tolist()[: len(merges)]
            assert f"merges learned so far: {len(merges)}" in done.stdout
        assert toksmith.train(TEXT, 900, checkpoint=path) == whole
        assert path.read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("options", [{}, {"superwords": 20}])
def test_every_failed_call_carries_the_tokenizer(options: dict[str, int], tmp_path: Path) -> None:
    whole = toksmith.train(TEXT, 400, **options)
    carried = 0
    for n in range(1, 100):
        path = tmp_path / str(n) / "kept"
        path.parent.mkdir()
        with faults.Faults(path.parent, n, "once") as found:
            try:
                assert toksmith.train(TEXT, 400, checkpoint=path, **options) == whole
            except CheckpointError as error:
                assert (error.path, error.filename) == (str(path), str(path)) and error.errno == 5
                if error.tokenizer is not None:
                    carried += 1
                    merges = error.tokenizer.model.merges.tolist()
                    assert merges == whole.model.merges.tolist()[: len(merges)]
        assert toksmith.train(TEXT, 400, checkpoint=path, **options) == whole
        if not found.fired:
            break
    assert carried >= 3


def test_a_checkpoint_at_an_impossible_path_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "kept"):
        with pytest.raises(CheckpointError) as caught:
            toksmith.train("low lower", 258, checkpoint=path)
        assert caught.value.tokenizer is None and caught.value.path == str(path)
        assert isinstance(caught.value, OSError)
