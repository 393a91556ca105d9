"""Views that explain a tokenization: pieces, merges and tokens, for any
tokenizer, offline.

Every result prints in a terminal, displays itself in a notebook, and has
`to_dict()`, `to_json()`, `to_html()` and `to_svg()`; `save_html(path)`
and `save_svg(path)` write files. Each view is one function in one file;
`toksmith._render` draws them. Left out: numbers about a whole corpus
(`toksmith.metrics`) and judgements about a tokenizer (`toksmith.doctor`).

>>> import toksmith
>>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
>>> print(toksmith.explain.text(tok, "slow"))
pieces and tokens by bpe, 259 tokens
1 piece, 2 tokens, 4 characters, 4 bytes, 2.00 bytes per token
▏s▏low
piece  tokens  ids
slow   ▏s▏low  115 257
"""

from __future__ import annotations

from ._budget import CONTEXTS, Budget, BudgetRow, budget
from ._chat import CHAT_TEMPLATES, ChatMessage, ChatView, Injection, chat
from ._compare import Cuts, Difference, Differences, differences
from ._folder import FileTokens, FolderMap, Waste, folder
from ._folder_files import SkippedFile, unignored
from ._history import Event, History, history
from ._inference import Inference, InferenceCut, inference
from ._language_model import Flow, FlowStage, Prediction, Targets, flow, targets
from ._lint import LINTS, Finding, Lint, LintRow, lint
from ._merges import Candidate, Merges, MergeStep, merges
from ._pieces import Pieces, Token, text
from ._prompt import Prompt, prompt
from ._rules import Symbol, Use
from ._search import Found, Search, search
from ._specials import SpecialMatch, Specials, specials
from ._spread import Lengths, Ranks, lengths, ranks
from ._stability import Edit, EditRow, Edits, Keystroke, StabilityRow, edit, edits
from ._steps import PairCount, PairStep, Steps, steps
from ._text import Ngrams, Sizes, ngrams, sizes
from ._tree import Node, Tree, token
from ._waste import WASTES, WasteRow

__all__ = [
    "CHAT_TEMPLATES",
    "CONTEXTS",
    "LINTS",
    "WASTES",
    "Budget",
    "BudgetRow",
    "Candidate",
    "ChatMessage",
    "ChatView",
    "Cuts",
    "Difference",
    "Differences",
    "Edit",
    "EditRow",
    "Edits",
    "Event",
    "FileTokens",
    "Finding",
    "Flow",
    "FlowStage",
    "FolderMap",
    "Found",
    "History",
    "Inference",
    "InferenceCut",
    "Injection",
    "Keystroke",
    "Lengths",
    "Lint",
    "LintRow",
    "MergeStep",
    "Merges",
    "Ngrams",
    "Node",
    "PairCount",
    "PairStep",
    "Pieces",
    "Prediction",
    "Prompt",
    "Ranks",
    "Search",
    "Sizes",
    "SkippedFile",
    "SpecialMatch",
    "Specials",
    "StabilityRow",
    "Steps",
    "Symbol",
    "Targets",
    "Token",
    "Tree",
    "Use",
    "Waste",
    "WasteRow",
    "budget",
    "chat",
    "differences",
    "edit",
    "edits",
    "flow",
    "folder",
    "history",
    "inference",
    "lengths",
    "lint",
    "merges",
    "ngrams",
    "prompt",
    "ranks",
    "search",
    "sizes",
    "specials",
    "steps",
    "targets",
    "text",
    "token",
    "unignored",
]


def __dir__() -> list[str]:
    return [*__all__]
