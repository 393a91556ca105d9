"""GPT-2's two files: a JSON object of ids by token, and a text with one merge (two tokens) in each line.

OpenAI's release calls them `encoder.json` and `vocab.bpe`, Hugging Face `vocab.json` and `merges.txt`. `load` finds either
file from the other. Tokens use GPT-2's alphabet. An entry that is neither a byte nor the result of a merge is a special
token. The files contain no split pattern: without the argument `pattern` GPT-2's pattern applies, and a vocabulary with a
token that it would cut raises an error. Saving refuses any other pattern, because other readers use GPT-2's. With
`allow_loss=["splitters"]` the pattern is in the first line, which `load` reads and other readers skip.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .. import _core, _render
from .._base import lazy_numpy as np
from .._model.model import ID_LIMIT, AddedToken, Model, Step, TokenTable, regex_split
from .._model.patterns import UNSET, PatternArgument, splitters
from ..errors import CannotRepresent, FormatError, InvalidOption
from . import refuse_arguments
from .arguments import added_tokens, refuse_losses
from .json import parse_json, parse_object
from .recovered_merges import pair_merges
from .texts import (
    BYTE_CHARACTERS,
    GPT2,
    FileContent,
    encode_text,
    from_gpt2_alphabet,
    join_lines,
    split_lines,
    to_gpt2_alphabet,
)

NAME = "gpt2"
FILES = GPT2
SUFFIXES = tuple(name for names in FILES for name in names)
READS = 2
ARGUMENTS = ("pattern", "special_tokens")
DOC = "GPT-2's vocab.json and merges.txt (or encoder.json and vocab.bpe): a folder with both, or either file"

VERSION = "#version: 0.2"
OURS = f"{VERSION} toksmith splits at "
# Two lines of two words each. If the second word is a number, the line is a rank of another format.
MERGES = re.compile(r"(?!(?:toksmith|minbpe) )(\S+ (?![0-9]+\s)\S+\r?\n){2}")
ENTRY = r'"(?:[^"\\]|\\.)*"\s*:\s*[0-9]+\s*'
VOCAB = re.compile(rf"\s*\{{\s*{ENTRY}(,|\}}\s*$)")
LONG_NAME = re.compile(
    r'[{,]\s*"(?!\\u[dD][89abAB]..\\u[dD][c-fC-F].."|[^"\\]"|\\u....")(?:[^"\\]|\\.){2,}"\s*:'
)  # a name of more than one character
HEAD = 1 << 16
# The content of OpenAI's release, whatever the bytes of its files.
RELEASED_MERGES, RELEASED = 50_000, "6b0da233283330e95f95d7314bcb4f5cdabb2435d130e9de59eb035a19085979"


def sniff(data: bytes, path: str) -> bool:
    """Whether the data are an object of ids with names of more than one character, or lines of two words."""
    head = data[:HEAD].decode("utf-8", "replace")
    if VOCAB.match(head):
        return LONG_NAME.search(data.decode("utf-8", "replace")) is not None
    return head.startswith("#version") or MERGES.match(head + "\n") is not None


def load(
    data: Sequence[FileContent], path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None
) -> Model:
    """The model of the vocabulary, the merges, the pattern, and the special tokens in neither file."""
    vocab, lines = data
    ids = parse_vocab(vocab)
    pairs, own_steps = parse_merges(lines)
    steps = choose_splitters(own_steps, pattern, lines.path)
    merge_results = {left + right for _, left, right in pairs}
    tokens: dict[str, bytes] = {}
    added: list[AddedToken] = []
    for text, id in ids.items():
        token = from_gpt2_alphabet(text)
        if token is not None and (len(text) == 1 or text in merge_results):
            tokens[text] = token
        else:
            added.append(AddedToken(text, id))
    table = TokenTable.of(tokens.values())
    id_column = np.array([ids[text] for text in tokens], np.uint32)
    argument_tokens = added_tokens(remaining_specials(special_tokens, added), table, id_column)
    model = Model(
        table,
        id_column,
        merges=np.array([resolve_merge(merge, ids, tokens, lines.path) for merge in pairs], np.uint32),
        splitters=steps,
        added_tokens=(*added, *argument_tokens),
    )
    if own_steps is None and pattern is UNSET:
        check_fit(model, path)
    if len(pairs) == RELEASED_MERGES and model.fingerprint() == RELEASED:
        difference = "holds ranks, without merges; == and the jobs of a corpus tell the two apart"
        _render.LOG.warning("%s has the ids of toksmith.load('gpt2') for every text; that one %s", path, difference)
    return model


def parse_vocab(part: FileContent) -> dict[str, int]:
    """The ids by text; raises unless ids are unique and each of the 256 bytes has one."""
    value = parse_object(part.data, part.path)
    texts: dict[int, str] = {}
    for text, id in value.items():
        if type(id) is not int or not 0 <= id < ID_LIMIT:
            raise FormatError(part.path, repr(text[:40]), f"expected an id below {ID_LIMIT}, not {str(id)[:40]}")
        if not text:
            raise FormatError(part.path, "''", "an empty token has an id")
        if id in texts:
            raise FormatError(part.path, repr(text[:40]), f"the id {id} also belongs to {texts[id][:40]!r}")
        texts[id] = text
    for byte, char in enumerate(BYTE_CHARACTERS):
        if char not in value:
            raise FormatError(part.path, None, f"the byte 0x{byte:02X} ({char!r}) has no token; all 256 bytes need one")
    return value


class MergeLine(NamedTuple):
    """A merge as the file spells it: the line number and both tokens."""

    number: int
    left: str
    right: str


def parse_merges(part: FileContent) -> tuple[list[MergeLine], tuple[Step, ...] | None]:
    """The merges, and the splitters if the first line contains them."""
    lines = split_lines(part)
    while lines and not lines[-1].strip():
        lines.pop()
    steps = None
    first = 1
    if lines and lines[0].startswith("#version"):
        steps = header_splitters(lines.pop(0), part.path)
        first = 2
    merges: list[MergeLine] = []
    line_of: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines, first):
        left, space, right = line.partition(" ")
        if not (left and space and right) or " " in right:
            raise FormatError(part.path, number, f"expected two tokens with a space between, not {line[:40]!r}")
        if (other := line_of.setdefault((left, right), number)) != number:
            raise FormatError(part.path, number, f"the merge {line[:40]!r} is a repetition of line {other}")
        merges.append(MergeLine(number, left, right))
    return merges, steps


def header_splitters(line: str, path: str) -> tuple[Step, ...] | None:
    """The splitters in a first line that toksmith wrote; None for any other first line."""
    if not line.startswith(OURS):
        return None
    try:
        regexes = parse_json(line.removeprefix(OURS).encode())
    except ValueError as error:
        raise FormatError(path, 1, f"expected a list of regexes: {error}") from error
    if not isinstance(regexes, list) or not all(isinstance(regex, str) for regex in regexes):
        raise FormatError(path, 1, "expected a list of regexes")
    return tuple(regex_split(regex) for regex in regexes)


def choose_splitters(own: tuple[Step, ...] | None, pattern: PatternArgument, path: str) -> tuple[Step, ...]:
    """The splitters of the file, or else of the argument, or else GPT-2's."""
    if own is not None:
        if pattern is not UNSET and splitters(pattern) != own:
            refuse_arguments(path, pattern, None)
        return own
    return splitters("gpt2_original" if pattern is UNSET else pattern)


def resolve_merge(
    merge: MergeLine, ids: Mapping[str, int], tokens: Mapping[str, bytes], path: str
) -> tuple[int, int, int]:
    """The ids of a merge: left, right, result."""
    number, left, right = merge
    joined = left + right
    if left in tokens and right in tokens and joined in tokens:
        return ids[left], ids[right], ids[joined]
    text = next(text for text in (left, right, joined) if text not in tokens)
    problem = "is not in the vocabulary" if text not in ids else "is neither a byte nor the result of a merge"
    raise FormatError(path, number, f"{text[:40]!r} {problem}")


def remaining_specials(special_tokens: Mapping[str, int] | None, added: Sequence[AddedToken]) -> dict[str, int]:
    """The special tokens of the argument that are not in the vocabulary. Those in it must have the vocabulary's ids."""
    vocab_ids = {token.content: token.id for token in added}
    for content, id in (special_tokens or {}).items():
        if vocab_ids.get(content, id) != id:
            raise InvalidOption("special_tokens", (content, id), f"its id in the vocabulary, {vocab_ids[content]}")
    return {content: id for content, id in (special_tokens or {}).items() if content not in vocab_ids}


def check_fit(model: Model, path: str) -> None:
    """Raises InvalidOption if GPT-2's pattern would cut a token: training then used another pattern."""
    engine = _core.Engine(model.vocab, [step["pattern"] for step in model.splitters], [])
    for token in model.tokens:
        if len(token) > 1 and token.decode(errors="ignore").encode() == token and engine.split(token) != [token]:
            expected = "the split pattern that the merges were trained with: a name of toksmith.patterns(), a regex, or"
            reason = f"{path} does not contain it, and GPT-2's pattern would cut the token {token!r}"
            raise InvalidOption("pattern", UNSET, f"{expected} a list of them; {reason}")


def save(model: Model, *, allow_loss: Collection[str] = ()) -> tuple[bytes, ...]:
    """The bytes of the vocabulary file and of the merges file."""
    refuse_losses(model, NAME, allow_loss)
    if model.unit != "byte":
        raise CannotRepresent(NAME, "unit", "its tokens consist of bytes, not of characters")
    merges = pair_merges(model, NAME)
    by_id = dict(zip(model.ids.tolist(), map(to_gpt2_alphabet, model.tokens), strict=True))
    vocab = {text: id for id, text in by_id.items()} | dict(added_entries(model, by_id))
    lines = [header_line(model), *(f"{by_id[left]} {by_id[right]}" for left, right, _ in merges.tolist())]
    if "splitters" not in allow_loss:
        refuse_other_patterns(model)
    return json.dumps(vocab, ensure_ascii=False).encode(), join_lines(lines, NAME)


def added_entries(model: Model, by_id: Mapping[int, str]) -> Iterator[tuple[str, int]]:
    owners: dict[Any, str] = {text: text for text in by_id.values()} | dict(by_id)
    for token in model.added_tokens:
        for key in (token.content, token.id):
            if key in owners:
                problem = f"{token.content!r} (id {token.id}) has the same spelling or id as the token {owners[key]!r}"
                raise CannotRepresent(NAME, "added_tokens", problem)
            owners[key] = token.content
        encode_text(token.content, NAME)
        yield token.content, token.id


def refuse_other_patterns(model: Model) -> None:
    """Raises CannotRepresent unless the model splits with GPT-2's pattern, in either of its two equivalent spellings."""
    if model.splitters in (splitters("gpt2_original"), splitters("gpt2")):
        return
    regexes = [str(step["pattern"])[:60] for step in model.splitters]
    splits = f"splits at {', '.join(map(repr, regexes))}" if regexes else "does not split"
    problem = (
        f"readers of {' and '.join(FILES[0])} split with GPT-2's pattern, but this model {splits}, so they would give other "
        "ids; save a tokenizer.json, which holds the pattern, or pass allow_loss=['splitters'], and only toksmith.load() "
        "will split as before"
    )
    raise CannotRepresent(NAME, "splitters", problem)


def header_line(model: Model) -> str:
    """The first line: the version, and any pattern other than GPT-2's; other readers skip the line."""
    if model.splitters == splitters("gpt2_original"):
        return VERSION
    return OURS + json.dumps([step["pattern"] for step in model.splitters])
