"""The pages of the API: each public name has its place in one area, and its text is its docstring.

A page is directives for mkdocstrings, which reads the sources and imports nothing. Names are read from the sources too:
`toksmith.__init__.pyi` and the `__all__` of the public modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
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
# The options of a module's page: its docstring without a heading; and with the source of what it defines.
BARE = {"show_root_heading": "false"}
WHOLE = {"show_source": "true", "members_order": "source"}
# Public names that are a module's, and are on its page.
OF_MODULES = {"parity": "metrics"}


def unplaced() -> list[str]:
    """What is wrong with the table: public names without an area, and names of areas that are not public."""
    public = {*public_names("__init__.pyi")}
    placed = [name for area in AREAS for name in area.names.split()]
    found = [f"toksmith.{name} is on no page" for name in sorted(public - {*placed} - {*MODULES} - {*OF_MODULES})]
    found += [f"toksmith.{name} is on a page and is not public" for name in placed if name not in public]
    return found + [f"toksmith.{name} is on two pages" for name in {*placed} if placed.count(name) > 1]


def public_names(path: str) -> list[str]:
    """The `__all__` of a source of the package, where it is written out."""
    for node in ast.parse((PACKAGE / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            found: list[str] = ast.literal_eval(node.value)
            return found
    raise SystemExit(f"{path} has no __all__ that is a list of names")


def directive(name: str, **options: str) -> str:
    """What mkdocstrings replaces with the documentation of a name."""
    told = {"heading_level": "2", **OPTIONS.get(name, {}), **options}
    return "\n".join(
        [f"::: toksmith.{name}", "    options:", *(f"      {key}: {value}" for key, value in told.items())]
    )


def api_pages() -> Iterator[tuple[str, str, str]]:
    """The pages: for each its path on the site, its title in the navigation, and its Markdown."""
    if wrong := unplaced():
        raise SystemExit(f"{wrong[0]}; mend AREAS in scripts/docs_site/api.py")
    rows = [(area.place, area.title, area.about, area.names.split()) for area in AREAS]
    rows += [module_row(name, name, MODULES[name], f"{name}/__init__.py") for name in ("explain", "metrics")]
    rows.append(("compat", MODULES["compat"], directive("compat", **BARE), ["compat._install.install"]))
    for path in sorted((PACKAGE / "compat").glob("[!_]*")):
        name = f"compat.{path.stem}"
        rows.append(
            module_row(f"compat-{path.stem}", name, name, f"compat/{path.name}" + "/__init__.py" * path.is_dir())
        )
    rows.append(("reference", MODULES["reference"], directive("reference", **{**BARE, **WHOLE}), []))
    files = sorted(path.stem for path in (PACKAGE / "reference").glob("[!_]*.py"))
    more = "\n\n".join(directive(f"reference.{each}", **WHOLE) for each in files)
    rows.append(("reference-files", "The rest of the reference", more, []))
    about = "Every public name of `toksmith`, from its docstring. `help(toksmith.train)` prints the same."
    listed = [f"- [{title}]({place}.md): {linked_names(place, names)}".rstrip(": ") for place, title, _, names in rows]
    yield "api/index.md", "All names", f"# The Python API\n\n{about}\n\n" + "\n".join(listed) + "\n"
    for place, title, about, names in rows:
        yield f"api/{place}.md", title, "\n\n".join([f"# {title}", about, *map(directive, names)]) + "\n"


def module_row(place: str, name: str, title: str, path: str) -> tuple[str, str, str, list[str]]:
    """The row of a public module: its docstring, and its names."""
    return place, title, directive(name, members="false", **BARE), [f"{name}.{each}" for each in public_names(path)]


def linked_names(place: str, names: list[str]) -> str:
    """The names of a page as code, each a link to its documentation."""
    return ", ".join(f"[`{name}`]({place}.md#toksmith.{name})" for name in names)
