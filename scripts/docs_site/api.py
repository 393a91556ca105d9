"""The pages of the API: each public name is on one page, and its text is its docstring.

A page consists of directives for mkdocstrings, which reads the sources and imports nothing. Names are read from the
sources too: `toksmith.__init__.pyi` and the `__all__` of the public modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .pages import ROOT

__all__ = ["AREAS", "Area", "api_pages", "public_names", "table_errors"]

PACKAGE = ROOT / "python" / "toksmith"


class Area(NamedTuple):
    """One page of the reference: its file, title and subject, and the names of `toksmith` on it."""

    place: str
    title: str
    about: str
    names: str


AREAS = (
    Area("tokenizer", "Tokenizer", "Text to ids and back.", "Tokenizer"),
    Area(
        "results",
        "What encoding returns",
        "The results of the methods of `Tokenizer`, streams of text and ids, and edited texts.",
        "types.Encoding types.RaggedEncoding types.Ragged types.Padded types.Chunk types.Fit types.Healing types.MemoryUse "
        "types.StreamEncoder types.StreamDecoder types.TextSession types.IdEdit",
    ),
    Area(
        "accelerate",
        "Run transformers on the engine",
        "The fast tokenizers of transformers on toksmith's engine.",
        "accelerate accelerated restore types.Acceleration",
    ),
    Area(
        "load",
        "Load and convert",
        "Published encodings, tokenizer files, and conversion between formats.",
        "load encodings models copy_encodings formats types.Format convert types.ConversionReport",
    ),
    Area(
        "train",
        "Train",
        "A tokenizer from texts, files or counts.",
        "train training_kinds types.TrainingKind patterns types.Pattern files types.Files types.Progress sweep types.SweepRow "
        "rewind",
    ),
    Area(
        "counts",
        "Count a corpus",
        "Counts of pieces, from which tokenizers are trained.",
        "corpus.count corpus.PieceCounts corpus.merge_counts corpus.MergedCounts corpus.plan_counts",
    ),
    Area(
        "surgery",
        "Change a vocabulary",
        "Tokens added to or removed from a trained tokenizer.",
        "extend prune add_special types.IdMap",
    ),
    Area(
        "study",
        "Study sizes",
        "The vocabulary size, pattern and kind for some texts and a planned model.",
        "study types.Study",
    ),
    Area(
        "graft",
        "Give a model another tokenizer",
        "A checkpoint with its rows in the order of the new ids.",
        "graft types.GraftReport",
    ),
    Area(
        "prompts",
        "Prompts",
        "Conversations, messages from ids, and filling in the middle.",
        "types.ChatEncoding types.Conversation types.TurnEdit types.ParsedMessage types.ToolCall types.MessageParser fim fim_marks "
        "types.FimMarks",
    ),
    Area(
        "model",
        "Model",
        "The value of a tokenizer, which training produces and files store.",
        "Model types.AddedToken types.Step types.TokenTable types.TrainingRecord",
    ),
    Area(
        "corpora",
        "Corpora and jobs",
        "A corpus as files of ids.",
        "corpus.tokenize corpus.plan corpus.Job corpus.JobCost corpus.CostRow corpus.status corpus.JobStatus corpus.JobEvent "
        "corpus.run_shard corpus.Receipt corpus.Tokenized corpus.SourceSums corpus.verify corpus.Verified corpus.show "
        "corpus.ShardContents corpus.FirstDocument corpus.LengthBin corpus.merge corpus.encode corpus.EncodedCorpus",
    ),
    Area(
        "judge",
        "Judge",
        "Tokenizers on the same texts, and problems of one.",
        "compare types.Comparison doctor types.Diagnosis",
    ),
    Area(
        "play", "Playground", "The page that shows tokens and merges.", "play types.Playground snapshot types.Snapshot"
    ),
    Area(
        "errors",
        "Errors",
        "Every error of toksmith is a `ToksmithError`. `TrainingInterrupted` is not, so that Ctrl-C passes through "
        "`except Exception`.",
        "errors.ToksmithError errors.FormatError errors.UnknownFormat errors.CannotRepresent errors.ModelError errors.SpecialTokenInText "
        "errors.UnknownId errors.NotInVocabulary errors.UnknownName errors.InvalidOption errors.PatternError "
        "errors.TextTooLong errors.CorpusError errors.CheckpointError errors.JobError errors.DownloadError "
        "errors.TrainingInterrupted",
    ),
)

# The public modules, each on a separate page; the reference in plain Python is shown with its source.
MODULES = {
    "explain": "Explain",
    "metrics": "Metrics",
    "compat": "Drop-ins",
    "reference": "The reference in plain Python",
}
# Further options of mkdocstrings for a name: compiled methods are those of a private base class.
OPTIONS = {"Tokenizer": {"inherited_members": "[encode, encode_array]", "show_bases": "false"}}
# The options of a module's page: its docstring without a heading; and with the source of its definitions.
BARE = {"show_root_heading": "false"}
WHOLE = {"show_source": "true", "members_order": "source"}
# Public modules whose names are on the pages of their subjects.
BY_SUBJECT = {"corpus": "corpus.py", "errors": "errors.py", "types": "types.py"}


def table_errors() -> list[str]:
    """The errors of the table: public names without an area, and names of areas that are not public."""
    public = {*public_names("__init__.pyi")} - {*MODULES, *BY_SUBJECT, "ToksmithError"}
    public |= {f"{module}.{name}" for module, path in BY_SUBJECT.items() for name in public_names(path)}
    placed = [name for area in AREAS for name in area.names.split()]
    problems = [f"toksmith.{name} is on no page" for name in sorted(public - {*placed})]
    problems += [f"toksmith.{name} is on a page and is not public" for name in placed if name not in public]
    return problems + [f"toksmith.{name} is on two pages" for name in {*placed} if placed.count(name) > 1]


def public_names(path: str) -> list[str]:
    """The `__all__` of a source of the package, as a literal list."""
    for node in ast.parse((PACKAGE / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            exported: list[str] = ast.literal_eval(node.value)
            return exported
    raise SystemExit(f"{path} has no __all__ that is a list of names")


def directive(name: str, **options: str) -> str:
    """The directive that mkdocstrings replaces with the documentation of a name."""
    merged = {"heading_level": "2", **OPTIONS.get(name, {}), **options}
    return "\n".join(
        [f"::: toksmith.{name}", "    options:", *(f"      {key}: {value}" for key, value in merged.items())]
    )


def api_pages() -> Iterator[tuple[str, str, str]]:
    """The pages: the path on the site, the title in the navigation, and the Markdown of each."""
    if wrong := table_errors():
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
    lines = [f"- [{title}]({place}.md): {linked_names(place, names)}".rstrip(": ") for place, title, _, names in rows]
    yield "api/index.md", "All names", f"# The Python API\n\n{about}\n\n" + "\n".join(lines) + "\n"
    for place, title, about, names in rows:
        yield f"api/{place}.md", title, "\n\n".join([f"# {title}", about, *map(directive, names)]) + "\n"


def module_row(place: str, name: str, title: str, path: str) -> tuple[str, str, str, list[str]]:
    """The row of a public module: its docstring, and its names."""
    return place, title, directive(name, members="false", **BARE), [f"{name}.{each}" for each in public_names(path)]


def linked_names(place: str, names: list[str]) -> str:
    """The names of a page as code, each a link to its documentation."""
    return ", ".join(f"[`{name}`]({place}.md#toksmith.{name})" for name in names)
