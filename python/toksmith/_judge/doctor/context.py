"""Checks of the context of tokens: the split pattern, special tokens, and a corpus."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..._base.wording import number_of
from ..._model.patterns import patterns
from ..._tokenizer.pattern_fit import differs_alone
from ...explain import lint
from .diagnosis import CheckFinding, Witness
from .subject import Subject

# A pattern is wrong if another has at most a quarter of its misfits, and the difference exceeds FEW tokens and a thousandth.
MUCH_BETTER, FEW, FEW_OF_ALL = 4, 3, 1000


def pattern(subject: Subject) -> CheckFinding:
    """Whether the vocabulary was trained with its split pattern."""
    model = subject.tok.model
    if model.kind != "bpe" or model.unit != "byte" or model.normalizers or not subject.texts.texts:
        return CheckFinding("pattern", "not applicable", "this check needs a byte-level BPE vocabulary")
    own = int(subject.misfits.sum())
    regexes = tuple(step["pattern"] for step in model.splitters if step.kind == "regex")
    rows = patterns().values()
    name = next((row.name for row in rows if row.regexes == regexes), "its own" if regexes else "none")
    counts: dict[str, int | float | str | None] = {f"misfits of the pattern ({name})": own}
    if not own:
        says = f"every token that is text encodes to itself under the pattern ({name})"
        return CheckFinding("pattern", "pass", says, counts)
    others = {row.name: count_misfits(subject, row.regexes) for row in rows if row.regexes != regexes}
    counts |= {f"misfits of {other}": count for other, count in others.items()}
    best, least = min(others.items(), key=lambda item: item[1])
    few = max(FEW, len(subject.texts.texts) // FEW_OF_ALL)
    if own - least > few and least * MUCH_BETTER <= own:
        says = f"the pattern ({name}) is wrong: {own:,} tokens do not encode to themselves, but {least:,} with {best!r}"
        advice = f"Load the vocabulary with pattern={best!r}; it was not trained with this one."
        first = np.flatnonzero(subject.misfits).tolist()
        misfits = subject.witnesses(subject.texts.ids[first], "misfit")
        return CheckFinding("pattern", "fail", says, counts, misfits, advice)
    return CheckFinding(
        "pattern", "pass", f"no known pattern fits better than this one ({name}, {number_of(own, 'misfit')})", counts
    )


def count_misfits(subject: Subject, regexes: tuple[str, ...]) -> int:
    """The number of tokens that do not encode to themselves under other regexes."""
    engine = _core.Engine(subject.tok.model.vocab, list(regexes), [], None)
    return int(differs_alone(engine, subject.texts.pieces, subject.texts.ids).sum())


def special_tokens(subject: Subject) -> CheckFinding:
    """Special tokens whose ids ordinary text can produce, so that a user's text can control the program."""
    added = subject.tok.model.added_tokens
    special = [token for token in added if token.special]
    if not added:
        return CheckFinding("special_tokens", "not applicable", "there are no special tokens")
    tok = subject.tok
    producible = [token for token in special if tok.encode(token.content, special="text") == [token.id]]
    plain = [token for token in added if not token.special]
    counts = {
        "special tokens": len(special),
        "produced by ordinary text": len(producible),
        "added tokens that are always found": len(plain),
    }
    witnesses = [
        Witness(token.id, token.content.encode(), "produced by ordinary text", token.content) for token in producible
    ]
    witnesses += [Witness(token.id, token.content.encode(), "always found", token.content) for token in plain]
    if producible:
        says = f"untrusted text can produce {number_of(len(producible), 'special token')}: ordinary tokens have the same ids"
        return CheckFinding(
            "special_tokens", "fail", says, counts, witnesses, "Give them contents that no merge can make."
        )
    says = f"no text that is encoded as plain text produces any of the special tokens ({len(special):,})"
    advice = "" if not special else "Encode untrusted text as plain text, or refuse its special tokens."
    return CheckFinding("special_tokens", "pass", says, counts, witnesses, advice)


def never_emitted(subject: Subject) -> CheckFinding:
    """Tokens that the corpus never produced, and the scaffolds among them, which are parts of other tokens."""
    sample = subject.sample
    if sample is None:
        return CheckFinding("never_emitted", "not applicable", "no corpus was given")
    if not sample.tokens:
        return CheckFinding("never_emitted", "not applicable", "the corpus has no text")
    facts = subject.facts
    own = ~facts.special
    inner = np.zeros(len(own), np.bool_)
    inner[facts.places(subject.merges[:, :2].ravel())] = True
    never = own & (sample.emitted == 0)
    scaffold = never & inner & (facts.lengths > 1)
    counts = {
        "tokens": int(own.sum()),
        "tokens that others are merged from": int((own & inner).sum()),
        "never emitted": int(never.sum()),
        "never emitted, but others are merged from them": int(scaffold.sum()),
        "documents": sample.documents,
        "bytes of text": sample.bytes,
    }
    single = never & (facts.lengths == 1)  # bytes that the corpus lacks are no defect
    witnesses = subject.witnesses(facts.ids[never & ~scaffold & ~single], "never emitted")
    witnesses += subject.witnesses(facts.ids[scaffold], "scaffold")
    witnesses += subject.witnesses(facts.ids[single], "never emitted")
    says = f"{counts['never emitted']:,} of {counts['tokens']:,} tokens do not occur in {sample.bytes:,} bytes"
    advice = "A token for a language that the corpus lacks is not dead: first check with text in every language."
    return CheckFinding("never_emitted", "pass", says, counts, witnesses, advice)


def text_forms(subject: Subject) -> CheckFinding:
    """Unicode forms and hidden characters in the corpus, and their cost in tokens."""
    if subject.sample is None:
        return CheckFinding("text_forms", "not applicable", "no corpus was given")
    linted = [lint(subject.tok, document) for document in subject.head]
    if not any(each.text for each in linted):
        return CheckFinding("text_forms", "not applicable", "the corpus has no text")
    counts: dict[str, int] = {"characters looked at": sum(len(each.text) for each in linted)}
    counts["tokens"] = sum(each.tokens for each in linted)
    witnesses: dict[str, Witness] = {}
    for each in linted:
        for finding in each.findings:
            counts[f"{finding.name}: places"] = counts.get(f"{finding.name}: places", 0) + finding.count
            saved = f"{finding.name}: additional tokens if repaired"
            counts[saved] = counts.get(saved, 0) + finding.tokens - each.tokens
            there, around = (
                each.text[finding.start : finding.end],
                each.text[max(finding.start - 8, 0) : finding.end + 8],
            )
            data, context = (as_bytes(text) for text in (there, around))
            witnesses.setdefault(finding.name, Witness(None, data, finding.name, context.decode("utf-8", "replace")))
        for form, tokens in each.forms.items():
            counts[f"tokens more in {form}"] = counts.get(f"tokens more in {form}", 0) + tokens - each.tokens
    if not witnesses:
        return CheckFinding("text_forms", "pass", "the text contains no hidden or look-alike characters", counts)
    says = f"found in {counts['characters looked at']:,} characters: {', '.join(witnesses)}"
    advice = "Each can be intended; toksmith.explain.lint repairs the others."
    return CheckFinding("text_forms", "warn", says, counts, [*witnesses.values()], advice)


def as_bytes(text: str) -> bytes:
    """The bytes of a part of a document: invalid bytes unchanged, lone surrogates encoded like characters."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
