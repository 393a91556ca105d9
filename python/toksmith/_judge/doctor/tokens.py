"""Checks of single tokens: cut characters, unreachable tokens, merges, duplicates, bytes."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._base.threads import thread_count
from ..._base.wording import number_of
from .diagnosis import CheckFinding, Witness
from .subject import Subject

# Contexts to try for tokens that do not encode to themselves: signs, letters in both cases, endings of words.
LEFT = ("", "!", "#", "$", "a", "A", "1", " ", "\n", "中", "«")
RIGHT = ("", "a", "A", "LL", "Va", "PPa", "s", "1", " ", "!", "\n", "中", "'s")
BATCH = 1 << 16
# With more than MANY such tokens, which only a wrong pattern leaves, only the NEAREST shortest contexts are tried.
MANY, NEAREST = 1000, 12


def cut_characters(subject: Subject) -> CheckFinding:
    """Tokens that are not valid UTF-8 alone: their cut characters, and whether any text can contain them."""
    facts = subject.facts
    own = ~facts.special
    many = own & (facts.lengths > 1)
    starts, ends = facts.starts_inside & ~facts.impossible, facts.ends_inside & ~facts.impossible
    kinds = {
        "ends inside a character": many & ends & ~starts,
        "starts inside a character": many & starts & ~ends,
        "starts and ends inside": many & starts & ends,
        "in no UTF-8": many & facts.impossible,
    }
    counts = {"several bytes, not valid UTF-8 alone": int((many & facts.partial).sum())}
    counts |= {name: int(mask.sum()) for name, mask in kinds.items()}
    single = own & (facts.lengths == 1)
    counts["single bytes, not valid UTF-8 alone"] = int((single & facts.partial).sum())
    counts["single bytes that never occur in UTF-8"] = int((single & facts.impossible).sum())
    witnesses = [each for name, mask in kinds.items() for each in subject.witnesses(facts.ids[mask], name)]
    total, dead = counts["several bytes, not valid UTF-8 alone"], counts["in no UTF-8"]
    says = f"{total:,} tokens of several bytes are not valid UTF-8 alone"
    if dead:
        return CheckFinding(
            "cut_characters", "warn", f"{says}, and {dead:,} of them never occur in UTF-8", counts, witnesses
        )
    return CheckFinding("cut_characters", "pass", f"{says}; each is part of some valid UTF-8", counts, witnesses)


def unreachable(subject: Subject) -> CheckFinding:
    """Tokens of text that do not encode to themselves: emitted in a context, in no tried context, or provably never."""
    texts = subject.texts
    total = len(texts.texts)
    if not total:
        return CheckFinding("unreachable", "not applicable", "no ordinary token consists of whole characters")
    places = np.flatnonzero(subject.misfits)
    dead = proven_dead(subject, places)
    emitting = find_contexts(subject, places[~dead])
    witnesses = [Witness(*token_at(subject, place), "only in a context", text) for place, text in emitting.items()]
    witnesses += [Witness(*token_at(subject, place), "never, proven") for place in places[dead].tolist()]
    rest = [place for place in places[~dead].tolist() if place not in emitting]
    witnesses += [Witness(*token_at(subject, place), "in no tested context") for place in rest]
    counts = {
        "whole characters": total,
        "encode to themselves": total - len(places),
        "only in a context": len(emitting),
        "never, proven": int(dead.sum()),
        "in no tested context": len(rest),
    }
    lost = len(places) - len(emitting)
    says = f"{total - len(places):,} of {total:,} tokens encode to themselves, {len(emitting):,} only in a context"
    if not lost:
        return CheckFinding("unreachable", "pass", says, counts, witnesses)
    return CheckFinding("unreachable", "warn", f"{says}; for {lost:,} no text is known", counts, witnesses)


def token_at(subject: Subject, place: int) -> tuple[int, bytes]:
    """The id and the bytes of a token of text, by its index."""
    id = int(subject.texts.ids[place])
    return id, subject.tok.token_bytes(id)


def proven_dead(subject: Subject, places: NDArray[np.intp]) -> NDArray[np.bool_]:
    """For each of these tokens, whether no text gives it: the pattern cuts every text inside it, or merging cannot make it.

    As long as no merge crosses the edges of a token's bytes, these merge as they do alone; a merge across an edge rules the
    token out. So a token that merging does not make of its own bytes is made nowhere.
    """
    model = subject.tok.model
    cut = np.array(_core.always_cut(subject.tok._engine, [subject.texts.texts[place] for place in places]), np.bool_)
    if model.kind != "bpe" or model.whole_piece:
        return cut
    return cut | ~subject.merged[subject.facts.places(subject.texts.ids[places])]


def find_contexts(subject: Subject, places: NDArray[np.intp]) -> dict[int, str]:
    """By index, a text that emits the token, for the tokens that have one; shortest contexts first."""
    emitting: dict[int, str] = {}
    pairs = [(left, right) for left in LEFT for right in RIGHT if left or right]
    pairs.sort(key=lambda pair: len(pair[0] + pair[1]))
    for left, right in pairs[:NEAREST] if len(places) > MANY else pairs:
        if not len(places):
            break
        emitted = np.zeros(len(places), np.bool_)
        for start in range(0, len(places), BATCH):
            part = places[start : start + BATCH]
            emitted[start : start + BATCH] = emits_token(subject, part, left, right)
        emitting |= {place: left + subject.texts.texts[place] + right for place in places[emitted].tolist()}
        places = places[~emitted]
    return dict(sorted(emitting.items()))


def emits_token(subject: Subject, places: NDArray[np.intp], left: str, right: str) -> NDArray[np.bool_]:
    """For each token, whether its text between `left` and `right` becomes its id."""
    texts = subject.texts
    batch = [left + texts.texts[place] + right for place in places]
    ids, ends = subject.tok._engine.encode_ragged(batch, "text", "replace", thread_count(None))
    ends = ends.astype(np.int64)
    of_text = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    there = ids == texts.ids[places][of_text]
    if not subject.tok.model.normalizers:
        lengths = np.concatenate([[0], np.cumsum(subject.facts.lengths[subject.facts.places(ids)], dtype=np.int64)])
        starts = lengths[:-1] - lengths[np.concatenate([[0], ends[:-1]])][of_text]
        there &= starts == len(left.encode())
    emitted = np.zeros(len(places), np.bool_)
    emitted[of_text[there]] = True
    return emitted


def merges(subject: Subject) -> CheckFinding:
    """Tokens that merging does not make of their own bytes: only the whole-piece lookup gives them, or no text does."""
    model = subject.tok.model
    if model.kind != "bpe":
        return CheckFinding("merges", "not applicable", f"a tokenizer of kind {model.kind!r} has no merges")
    in_model = np.isin(subject.facts.ids, model.ids)
    ids = subject.facts.ids[in_model & ~subject.facts.special & ~subject.merged]
    counts = {"tokens": len(model.ids), "not made by merges alone": len(ids)}
    witnesses = subject.witnesses(ids, "whole-piece lookup" if model.whole_piece else "never")
    if not len(ids):
        return CheckFinding("merges", "pass", "merges make every token", counts)
    if model.whole_piece:
        says = f"only the whole-piece lookup gives {number_of(len(ids), 'token')}"
        advice = "A program that merges by rank without looking up whole pieces gives other ids for these tokens."
        return CheckFinding("merges", "warn", says, counts, witnesses, advice)
    return CheckFinding(
        "merges", "fail", f"no merge and no text makes {number_of(len(ids), 'token')}", counts, witnesses
    )


def missing_bytes(subject: Subject) -> CheckFinding:
    """Bytes without a token; some text cannot be encoded without them."""
    model = subject.tok.model
    if model.unit == "char" and not model.byte_fallback:
        says = "a tokenizer of characters without byte fallback has no tokens for bytes"
        return CheckFinding("missing_bytes", "not applicable", says)
    names = [f"<0x{byte:02X}>".encode() if model.unit == "char" else bytes([byte]) for byte in range(256)]
    absent = [byte for byte, name in enumerate(names) if model.vocab.id(name) is None]
    witnesses = [Witness(None, bytes([byte]), "missing") for byte in absent]
    if absent:
        says = f"no token exists for {number_of(len(absent), 'byte')}; text that needs one is lost or refused"
        return CheckFinding("missing_bytes", "fail", says, {"missing": len(absent)}, witnesses)
    return CheckFinding("missing_bytes", "pass", "all 256 bytes have a token", {"missing": 0})


FORMS: dict[str, Callable[[str], str]] = {
    "strip": str.strip,
    "case": str.lower,
    "NFC": lambda text: unicodedata.normalize("NFC", text),
    "strip and case": lambda text: text.strip().lower(),
}


def duplicates(subject: Subject) -> CheckFinding:
    """Tokens that differ only in surrounding white space, in case, or in the Unicode form."""
    texts = subject.texts.texts
    if not texts:
        return CheckFinding("duplicates", "not applicable", "no ordinary token consists of whole characters")
    counts: dict[str, int | float | str | None] = {"whole characters": len(texts)}
    witnesses: list[Witness] = []
    for name, form in FORMS.items():
        same = Counter(map(form, texts))
        counts[f"distinct after {name}"] = len(same)
        witnesses += largest_groups(subject, texts, same, form, name)
    decoded = (token.decode("utf-8", "replace") for token in subject.tok.model.tokens)
    all_forms = len({FORMS["strip and case"](text) for text in decoded})
    counts["distinct after strip and case, cut characters shown as U+FFFD"] = all_forms
    distinct = counts["distinct after strip and case"]
    says = f"{len(texts):,} tokens are {distinct:,} different texts if white space around them and case are ignored"
    return CheckFinding("duplicates", "pass", says, counts, witnesses)


def largest_groups(
    subject: Subject, texts: Sequence[str], same: Counter[str], form: Callable[[str], str], name: str
) -> Iterator[Witness]:
    """The tokens of the two largest groups with the same text under `form`."""
    groups = {text for text, count in same.most_common(2) if count > 1}
    for id, text in zip(subject.texts.ids.tolist(), texts, strict=True):
        if (common := form(text)) in groups:
            yield Witness(id, text.encode(), f"same after {name}", common)
