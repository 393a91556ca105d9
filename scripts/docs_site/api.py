"""The pages of the API: each public name has its place in one area, and its text is its docstring.

A page is directives for mkdocstrings, which reads the sources and imports nothing. Names are read from the sources too:
`toksmith.__init__.pyi` and the `__all__` of the public modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .pages import ROOT

__all__ = ["AREAS", "Area", "api_pages", "public_names", "unplaced"]

PACKAGE = ROOT / "python" / "toksmith"


class Area(NamedTuple):
    """One page of the reference: its file, its title, what it is about, and the names of `toksmith` on it."""

    place: str
    title: str
    about: str
    names: str


AREAS = (
    Area("tokenizer", "Tokenizer", "Text to ids and back.", "Tokenizer"),
    Area(
        "results",
        "What encoding returns",
        "The results of the methods of `Tokenizer`, streams of text and ids, and texts that change.",
        "Encoding RaggedEncoding Ragged Padded Chunk Fit Healing MemoryUse StreamEncoder StreamDecoder TextSession IdEdit",
    ),
    Area(
        "load",
        "Load and convert",
        "Published encodings, tokenizer files, and files of one format from files of another.",
        "load encodings formats Format convert ConversionReport",
    ),
    Area(
        "train",
        "Train",
        "A tokenizer from texts, files or counts.",
        "train training_kinds TrainingKind patterns Pattern files Files Progress sweep SweepRow rewind",
    ),
    Area(
        "counts",
        "Count a corpus",
        "Counts of pieces, from which tokenizers are trained.",
        "count_pieces PieceCounts merge_counts MergedCounts plan_counts",
    ),
    Area(
        "surgery",
        "Change a vocabulary",
        "Tokens added to or removed from a trained tokenizer.",
        "extend prune add_special IdMap",
    ),
    Area(
        "study",
        "Study sizes",
        "Which vocabulary size, pattern and kind suit some texts and a planned model.",
        "study Study",
    ),
    Area(
        "graft",
        "Give a model another tokenizer",
        "A checkpoint whose rows follow the ids.",
        "graft GraftReport",
    ),
    Area(
        "prompts",
        "Prompts",
        "Conversations, and filling in the middle.",
        "ChatEncoding fim fim_marks FimMarks",
    ),
    Area(
        "model",
        "Model",
        "The value behind a tokenizer: what training makes, and what files hold.",
        "Model AddedToken Step TokenTable TrainingRecord",
    ),
    Area(
        "corpora",
        "Corpora and jobs",
        "A corpus as files of ids.",
        "encode_corpus EncodedCorpus plan Job JobCost CostRow JobStatus JobEvent run_shard Receipt Tokenized SourceSums "
        "verify Verified shards ShardContents FirstDocument LengthBin merge_shards",
    ),
    Area("checks", "Checks", "What is wrong with a tokenizer.", "doctor Diagnosis"),
    Area("play", "Playground", "The page that shows tokens and merges.", "play Playground snapshot Snapshot"),
    Area(
        "errors",
        "Errors",
        "Every error of toksmith is a `ToksmithError`. `TrainingInterrupted` is none, so that Ctrl-C passes through "
        "`except Exception`.",
        "ToksmithError FormatError CannotRepresent ModelError SpecialTokenInText UnknownId NotInVocabulary UnknownName "
        "InvalidOption PatternError TextTooLong CorpusError CheckpointError JobError DownloadError TrainingInterrupted",
    ),
)

# The public modules, each a page of its own; the reference in plain Python is shown with its source.
MODULES = {
    "explain": "Explain",
    "metrics": "Metrics",
    "compat": "Drop-ins",
    "reference": "The reference in plain Python",
}
# What mkdocstrings is told of a name beside its place: methods that are compiled are those of a private base class.
OPTIONS = {"Tokenizer": {"inherited_members": "[encode, encode_array]", "show_bases": "false"}}
# Public names that are a module's, and are on its page.
OF_MODULES = {"parity": "metrics"}


def public_names(path: Path) -> list[str]:
    """The `__all__` of a source, where it is written out."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            found: list[str] = ast.literal_eval(node.value)
            return found
    raise SystemExit(f"{path} has no __all__ that is a list of names")


def unplaced() -> list[str]:
    """What is wrong with the table: public names without an area, and names of areas that are not public."""
    public = {*public_names(PACKAGE / "__init__.pyi")}
    placed = [name for area in AREAS for name in area.names.split()]
    found = [f"toksmith.{name} is on no page" for name in sorted(public - {*placed} - {*MODULES} - {*OF_MODULES})]
    found += [f"toksmith.{name} is on a page and is not public" for name in placed if name not in public]
    return found + [f"toksmith.{name} is on two pages" for name in {*placed} if placed.count(name) > 1]


def drop_ins() -> dict[str, list[str]]:
    """The names of each drop-in, by its module."""
    folder = PACKAGE / "compat"
    found = [path for path in folder.iterdir() if path.stem[0] != "_" and path.suffix in ("", ".py")]
    sources = {path.stem: path / "__init__.py" if path.is_dir() else path for path in found}
    return {name: public_names(sources[name]) for name in sorted(sources)}


def reference_files() -> list[str]:
    """The modules of the reference beside the first."""
    return sorted(path.stem for path in (PACKAGE / "reference").glob("*.py") if path.stem[0] != "_")


def directive(name: str, level: int = 2, **options: str) -> str:
    """What mkdocstrings replaces with the documentation of a name."""
    lines = [f"::: toksmith.{name}", "    options:", f"      heading_level: {level}"]
    return "\n".join(
        [*lines, *(f"      {key}: {value}" for key, value in {**OPTIONS.get(name, {}), **options}.items())]
    )


def module_page(title: str, name: str, names: list[str]) -> str:
    """The page of a public module: its docstring, then its names."""
    shown = directive(name, show_root_heading="false", members="false")
    return "\n\n".join([f"# {title}", shown, *(directive(f"{name}.{each}") for each in names)]) + "\n"


def api_pages() -> Iterator[tuple[str, str, str]]:
    """The pages: for each its path on the site, its title in the navigation, and its Markdown."""
    if wrong := unplaced():
        raise SystemExit(f"{wrong[0]}; mend AREAS in scripts/docs_site/api.py")
    listed = [f"- [{area.title}]({area.place}.md): {linked_names(area.place, area.names.split())}" for area in AREAS]
    for name in ("explain", "metrics"):
        own = [f"{name}.{each}" for each in public_names(PACKAGE / name / "__init__.py")]
        listed.append(f"- [{MODULES[name]}]({name}.md): {linked_names(name, own)}")
    pages = ", ".join(f"[`compat.{name}`](compat-{name}.md)" for name in drop_ins())
    listed.append(f"- [{MODULES['compat']}](compat.md): {pages}")
    listed.append(f"- [{MODULES['reference']}](reference.md): `reference`")
    about = "Every public name of `toksmith`, from its docstring. `help(toksmith.train)` prints the same."
    yield "api/index.md", "All names", f"# The Python API\n\n{about}\n\n" + "\n".join(listed) + "\n"
    for area in AREAS:
        names = "\n\n".join(map(directive, area.names.split()))
        yield f"api/{area.place}.md", area.title, f"# {area.title}\n\n{area.about}\n\n{names}\n"
    for name in ("explain", "metrics"):
        yield (
            f"api/{name}.md",
            MODULES[name],
            module_page(MODULES[name], name, public_names(PACKAGE / name / "__init__.py")),
        )
    yield "api/compat.md", MODULES["compat"], module_page(MODULES["compat"], "compat", ["_install.install"])
    for name, listed_names in drop_ins().items():
        yield f"api/compat-{name}.md", f"compat.{name}", module_page(f"compat.{name}", f"compat.{name}", listed_names)
    rules = directive("reference", 2, show_root_heading="false", show_source="true", members_order="source")
    yield "api/reference.md", MODULES["reference"], f"# toksmith.reference\n\n{rules}\n"
    more = [directive(f"reference.{each}", 2, show_source="true", members_order="source") for each in reference_files()]
    more_title = "The rest of the reference"
    yield "api/reference-files.md", more_title, "\n\n".join([f"# {more_title}", *more]) + "\n"


def linked_names(place: str, names: list[str]) -> str:
    """The names of a page as code, each a link to its documentation."""
    return ", ".join(f"[`{name}`]({place}.md#toksmith.{name})" for name in names)
