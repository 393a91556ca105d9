"""The forest of tokens: the parts of a token, down to bytes, and the tokens that are merged from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._model.model import BYTE_TOKENS
from .._render import Block, Branch, Line, Shown, Table, token_text
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from ._merges import MOST_SYMBOLS, steps_of
from ._pieces import Kind, token_kind
from ._rules import Rules, Symbol, Use, rules_of

DEEPEST = 40  # levels to draw: deeper ones do not fit on the page
MOST_CHILDREN = 50


@dataclass(frozen=True)
class Node:
    """A token in the tree of another token: its symbol, the rank of its merge,
    and the positions of its two parts.

    `rank`, `left` and `right` are None for symbols that no merge made.
    """

    id: int | None
    token: bytes
    rank: int | None = None
    left: int | None = None
    right: int | None = None


@dataclass(frozen=True, repr=False)
class Tree(Shown):
    """The merges that make one token, and the merges that use it.

    Attributes:
        nodes: All symbols and tokens of merging its bytes, in order.
        roots: The positions of the nodes after the last merge: only the token
            itself, unless merging alone does not make it.
        children: The merges that use it as a part, in rank order.
        special: Whether it is a special token, which no merge makes.
    """

    tokenizer: str
    id: int
    token: bytes
    nodes: tuple[Node, ...]
    roots: tuple[int, ...]
    children: tuple[Use, ...]
    special: bool = False

    @property
    def kind(self) -> Kind:
        """Whether its bytes are whole characters."""
        return "special" if self.special else token_kind(self.token)

    @property
    def is_leaf(self) -> bool:
        """Whether no other token is merged from it."""
        return not self.children

    @property
    def is_derivable(self) -> bool:
        """Whether merging its bytes makes it; otherwise it comes only from the
        whole-piece lookup."""
        return len(self.roots) == 1 and self.nodes[self.roots[0]].id == self.id

    @property
    def depth(self) -> int:
        """The number of merges on the longest path from the token down to a
        symbol that no merge made."""
        depths: list[int] = []
        for node in self.nodes:
            below = [depths[place] for place in (node.left, node.right) if place is not None]
            depths.append(1 + max(below) if below else 0)
        return max((depths[root] for root in self.roots), default=0)

    def to_dict(self) -> dict[str, Any]:
        """Nodes and children as JSON values; bytes are hex, `left` and `right`
        are positions in `nodes`."""
        facts = {"is_leaf": self.is_leaf, "is_derivable": self.is_derivable, "depth": self.depth}
        return super().to_dict() | {"kind": self.kind, **facts}

    def _parts(self) -> Iterator[str | Block]:
        yield f"token {self.id} {token_text(self.token)} of {self.tokenizer}"
        bytes_said = f"{len(self.token):,} byte{'' if len(self.token) == 1 else 's'}: {self.token[:64].hex(' ')}"
        if self.special:
            yield Line(f"{bytes_said}; a special token, which no merge makes")
            return
        others = "1 other" if len(self.children) == 1 else f"{len(self.children):,} others"
        uses = f"used to build {others}" if self.children else "a leaf: no other token is merged from it"
        yield Line(f"{bytes_said}; depth {self.depth}; {uses}")
        if not self.is_derivable:
            yield Line("merging alone does not make it: it comes only from the whole-piece lookup", "warn")
        for root in self.roots:
            yield self.branch(root, DEEPEST)
        rows = [
            [str(use.id), token_text(use.token), f"{use.left} + {use.right}"] for use in self.children[:MOST_CHILDREN]
        ]
        if rows:
            more = f" (the first {MOST_CHILDREN})" if len(self.children) > MOST_CHILDREN else ""
            yield Table(["id", "token", "merges"], rows, f"used to build{more}", left=(1, 2))

    def branch(self, place: int, levels: int) -> Branch:
        """A node and its descendants, up to a depth."""
        node = self.nodes[place]
        rank = "" if node.rank is None else f"  rank {node.rank}"
        text = f"{token_text(node.token)}  {'no token' if node.id is None else node.id}{rank}"
        if node.left is None or node.right is None:
            return Branch(text, "dim")
        if levels == 0:
            return Branch(f"{text}  …")
        return Branch(text, below=(self.branch(node.left, levels - 1), self.branch(node.right, levels - 1)))


def token(tok: TokenizerSource, id: int) -> Tree:
    """The merges that make a token from its bytes, and the tokens that are merged
    from it.

    Args:
        id: A token of at most 512 symbols; for a longer one only the token
            itself is returned.
    Raises:
        UnknownId: No token has this id.
        InvalidOption: The tokenizer does not merge (unigram, WordPiece).
    Cost: time grows with the square of the token's bytes; the first call for a
        tokenizer also makes its list of merges.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> print(toksmith.explain.token(tok, tok.token_id("low")))
    token 257 low of bpe, 259 tokens
    3 bytes: 6c 6f 77; depth 2; used to build 1 other
    low  257  rank 1
    ├── lo  256  rank 0
    │   ├── l  108
    │   └── o  111
    └── w  119
    <BLANKLINE>
    used to build
     id  token  merges
    258  ·low   32 + 257
    """
    tok = resolve_tokenizer(tok)
    token = tok.token_bytes(id)
    own = tok.model.vocab.token(id)
    if own is None or id in tok.special_tokens.values():
        return Tree(describe_tokenizer(tok), id, token, (), (), (), special=True)
    rules = rules_of(tok)
    symbols = rules.symbols(own)
    if len(symbols) > MOST_SYMBOLS or (tok.model.byte_fallback and own in BYTE_TOKENS):
        symbols = [Symbol(own, id)]
    nodes, roots = grow_forest(rules, symbols)
    return Tree(describe_tokenizer(tok), id, own, tuple(nodes), tuple(roots), tuple(rules.used(id)))


def grow_forest(rules: Rules, symbols: list[Symbol]) -> tuple[list[Node], list[int]]:
    """The forest that merging makes of these symbols: its nodes, and the positions of its roots."""
    nodes = [Node(symbol.id, symbol.token) for symbol in symbols]
    roots = list(range(len(nodes)))
    for step in steps_of(rules, symbols)[0]:
        at = step.chosen.place
        left, right = roots[at : at + 2]
        roots[at : at + 2] = [len(nodes)]
        nodes.append(Node(step.chosen.id, nodes[left].token + nodes[right].token, step.chosen.rank, left, right))
    return nodes, roots
