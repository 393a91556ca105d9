"""Merged shards of many jobs equal one job of one shard, in bounded memory."""

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from job_corpus import END, TOK, content, job, make

import toksmith
from toksmith._cli import app
from toksmith._jobs.folder import merge_shards
from toksmith._jobs.sinks import SINKS, dolma, mds, megatron, rows
from toksmith.errors import InvalidOption, JobError, UnknownName

APART = [name for name, row in SINKS.items() if row.apart]
NAMED = [name for name, row in SINKS.items() if row.names]


def two_jobs(folder: Path, **options: Any) -> list[Path]:
    """The corpus in two jobs of many shards."""
    files = make(folder / "in")
    for name, some in (("a", files[:3]), ("b", files[3:])):
        given = {"append": END, "shard_size": 100, **options}
        toksmith.corpus.plan(TOK, some, folder / name, **given).run(progress=False)
    return [folder / "a", folder / "b"]


def files_of(folder: Path) -> dict[str, str]:
    """The checksums of the files of ids."""
    listed = json.loads((folder / "manifest.json").read_bytes())["files"]
    return {name: sha256 for name, _, sha256 in listed}


@pytest.mark.parametrize("to", SINKS)
@pytest.mark.parametrize("of", APART)
def test_merged_shards_equal_one_job(of: str, to: str, tmp_path: Path) -> None:
    whole = job(tmp_path, "whole", to=to, shard_size=1 << 20)
    whole.run(progress=False)
    done = toksmith.corpus.merge(two_jobs(tmp_path, to=of), tmp_path / "all", to=to)
    assert files_of(tmp_path / "all") == files_of(tmp_path / "whole")
    assert (done.to, done.shards, done.documents) == (to, 1, toksmith.corpus.show(tmp_path / "whole").documents)
    assert toksmith.corpus.verify(tmp_path / "all").ok and not (tmp_path / "all" / "parts").exists()
    found, own = toksmith.corpus.show(tmp_path / "all"), toksmith.corpus.show(tmp_path / "whole")
    assert (found.ids, found.text_bytes, found.lengths, found.first) == (
        own.ids,
        own.text_bytes,
        own.lengths,
        own.first,
    )


def test_the_default_format_is_the_one_of_the_first_folder(tmp_path: Path) -> None:
    assert toksmith.corpus.merge(two_jobs(tmp_path, to="datatrove"), tmp_path / "all").to == "datatrove"


@pytest.mark.parametrize("to", APART)
def test_small_blocks_change_no_file(to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that end anywhere, and lengths that wait in a file."""
    folders = two_jobs(tmp_path, to=to)
    toksmith.corpus.merge(folders, tmp_path / "all", to="megatron")
    for size in (1, 3, 20):
        for module in (rows, merge_shards, megatron, mds, dolma):
            monkeypatch.setattr(module, "AT_A_TIME", size)
        for module in (rows, merge_shards, mds):
            monkeypatch.setattr(module, "IDS_AT_A_TIME", size)
        monkeypatch.setattr(megatron, "HELD_BYTES", size)
        toksmith.corpus.merge(folders, tmp_path / f"all {size}", to="megatron")
        assert files_of(tmp_path / f"all {size}") == files_of(tmp_path / "all")


@pytest.mark.slow
def test_many_shards_are_read_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few files are open at once and few ids are in memory, for any number of shards."""
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"text": f"low {n} lower"}) + "\n" for n in range(150)))
    toksmith.corpus.plan(TOK, tmp_path / "rows.jsonl", tmp_path / "many", shard_size=1, to="megatron").run(
        progress=False
    )
    opened: list[Any] = []
    real = builtins.open
    most = largest = 0

    def count_open_files(*given: Any, **named: Any) -> Any:
        nonlocal most
        file = real(*given, **named)
        opened.append(file)
        most = max(most, sum(not each.closed for each in opened))
        return file

    read = rows.np.fromfile

    def count_ids(file: Any, dtype: Any, count: int = -1, **named: Any) -> Any:
        nonlocal largest
        largest = max(largest, count)
        return read(file, dtype, count, **named)

    monkeypatch.setattr(builtins, "open", count_open_files)
    monkeypatch.setattr(np, "fromfile", count_ids)
    for module in (rows, merge_shards):
        monkeypatch.setattr(module, "IDS_AT_A_TIME", 50)
    done = toksmith.corpus.merge([tmp_path / "many"], tmp_path / "all")
    assert done.documents == 150 and most <= 8 and largest <= max(50, rows.AT_A_TIME)
    assert len([each for each in opened if str(each.name).endswith(".bin")]) >= 150


@pytest.mark.parametrize("to", NAMED)
@pytest.mark.parametrize("of", NAMED)
def test_names_of_documents_are_kept(of: str, to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = job(tmp_path, "whole", to=to, id_field="id", shard_size=1 << 20)
    whole.run(progress=False)
    folders = two_jobs(tmp_path, to=of, id_field="id")
    monkeypatch.setattr(mds, "IDS_AT_A_TIME", 5)
    monkeypatch.setattr(dolma, "AT_A_TIME", 2)
    toksmith.corpus.merge(folders, tmp_path / "all", to=to)
    assert files_of(tmp_path / "all") == files_of(tmp_path / "whole")
    assert toksmith.corpus.merge(folders, tmp_path / "plain", to="npy").documents


def test_folders_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    folders = two_jobs(tmp_path)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"to": "nanogpt"}, "formats separate documents"),
        ({"to": "parquet", "pack": "chunk", "length": 9}, "without packed rows"),
    ]
    for number, (options, said) in enumerate(refused):
        job(tmp_path, str(number), **options).run(progress=False)
        with pytest.raises(InvalidOption, match=said):
            toksmith.corpus.merge([tmp_path / str(number)], tmp_path / "all")
    other = toksmith.train("low", merges=1, progress=False)
    toksmith.corpus.plan(other, make(tmp_path / "in"), tmp_path / "other", special="text").run(progress=False)
    with pytest.raises(InvalidOption, match="folders of one tokenizer"):
        toksmith.corpus.merge([*folders, tmp_path / "other"], tmp_path / "all")
    counted = CliRunner().invoke(app, ["corpus", "count", str(tmp_path / "in"), "-o", f"{tmp_path / 'counts'}/"])
    assert counted.exit_code == 0, counted.output
    with pytest.raises(InvalidOption, match="merge-counts adds up"):
        toksmith.corpus.merge([tmp_path / "counts"], tmp_path / "all")
    with pytest.raises(InvalidOption, match="at least one folder"):
        toksmith.corpus.merge([], tmp_path / "all")
    with pytest.raises(UnknownName, match="format of files of ids"):
        toksmith.corpus.merge(folders, tmp_path / "all", to="megatorn")
    job(tmp_path, "unfinished")
    with pytest.raises(JobError, match="the job is not finished"):
        toksmith.corpus.merge([tmp_path / "unfinished"], tmp_path / "all")
    with pytest.raises(JobError, match=r"there is no job\.json"):
        toksmith.corpus.merge([tmp_path / "in"], tmp_path / "all")
    assert not (tmp_path / "all").exists()
    for there in (*folders, tmp_path / "unfinished"):
        before = content(there)
        with pytest.raises(JobError, match=r"is planned here|is there already"):
            toksmith.corpus.merge(folders, there)
        assert content(there) == before


def test_the_command_merges_once(tmp_path: Path) -> None:
    folders = [str(folder) for folder in two_jobs(tmp_path)]
    done = CliRunner().invoke(app, ["corpus", "merge", *folders, "-o", str(tmp_path / "all"), "--to", "megatron"])
    assert done.exit_code == 0 and done.stdout.endswith(f"saved in {tmp_path / 'all'} (2 files for megatron)\n")
    again = CliRunner().invoke(app, ["corpus", "merge", *folders, "-o", str(tmp_path / "all"), "--to", "megatron"])
    assert again.exit_code == 1 and "these shards are merged here already" in again.stderr
    other = CliRunner().invoke(app, ["corpus", "merge", folders[0], "-o", str(tmp_path / "all")])
    assert other.exit_code == 1 and "other shards are merged here" in other.stderr
    wrong = CliRunner().invoke(app, ["corpus", "merge", *folders, "-o", str(tmp_path / "b"), "--to", "megatorn"])
    assert wrong.exit_code == 2 and "--to" in wrong.output


@pytest.mark.parametrize("to", APART)
def test_damaged_shards_are_not_merged(to: str, tmp_path: Path) -> None:
    folders = two_jobs(tmp_path, to=to)
    path = folders[1] / next(name for name in files_of(folders[1]) if (folders[1] / name).stat().st_size)
    whole = path.read_bytes()
    for damaged in (whole[:-1] + bytes([whole[-1] ^ 1]), whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(JobError, match=path.name):
            toksmith.corpus.merge(folders, tmp_path / "all")
        assert not (tmp_path / "all").exists()
    path.unlink()
    with pytest.raises(JobError, match=path.name):
        toksmith.corpus.merge(folders, tmp_path / "all")


def test_a_shard_that_cannot_be_read_gets_no_advice_about_formats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is damaged after the comparison of the checksums."""
    folders = two_jobs(tmp_path, to="npy")
    path = folders[1] / "00000.npy"
    path.write_bytes(path.read_bytes()[:-2])
    monkeypatch.setattr(merge_shards, "changed_files", lambda *_: [])
    with pytest.raises(JobError, match=r"shard 0 cannot be read: .*; run verify on the folder$"):
        toksmith.corpus.merge(folders, tmp_path / "all")


@pytest.mark.parametrize("to", ["datatrove", "mds", "llmc"])
def test_another_format_can_be_tried(to: str, tmp_path: Path) -> None:
    folders = two_jobs(tmp_path, to="npy", empty="keep", append=None)
    if to == "llmc":
        (tmp_path / "empty.txt").write_bytes(b"")
        folders = [tmp_path / "empty"]
        toksmith.corpus.plan(TOK, tmp_path / "empty.txt", folders[0], empty="keep").run(progress=False)
    with pytest.raises(JobError, match="choose another format"):
        toksmith.corpus.merge(folders, tmp_path / "all", to=to)
    assert toksmith.corpus.merge(folders, tmp_path / "all", to="npy").to == "npy"
    with pytest.raises(InvalidOption, match=r"decode=True .* these shards were merged"):
        toksmith.corpus.verify(tmp_path / "all", decode=True)
