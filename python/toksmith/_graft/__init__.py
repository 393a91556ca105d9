"""graft: gives a model a changed or another tokenizer, and writes the checkpoint folder that loads with it.

Reading order: `model_folder` reads the checkpoint and `vocab_tensors` which of its tensors follow the vocabulary;
`tokens` finds where each token comes from; `recipes` says how each row is made, and `rows` makes them; `settings` and
`tokenizer_files` rewrite the small files. `plan` puts these together before anything is written. `write` and
`new_folder` write; `verify` compares. Left out: training, without which new rows are a guess.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from .._base.arguments import flag, texts
from .._base.errors import FormatError, number_of
from .._base.paths import check_name, reason, shown
from .._render.progress import Progress, Reporter
from .._tokenizer.tokenizer import Tokenizer
from .._training.surgery import IdMap
from .model_folder import CONFIG, GENERATION
from .new_folder import NewFolder, check_free, clear
from .plan import GraftPlan, GraftRequest, planned
from .report import GraftedTensor, GraftProof, GraftReport, SpecialRow
from .verify import verified
from .write import NewFiles, Tick, copied_file, written_shard

__all__ = ["GraftPlan", "GraftProof", "GraftReport", "GraftedTensor", "SpecialRow", "graft"]


def graft(
    checkpoint: str | os.PathLike[str],
    tok: Tokenizer,
    out: str | os.PathLike[str],
    *,
    init: str | Sequence[str] = "exponential",
    old: Tokenizer | None = None,
    id_map: IdMap | None = None,
    donor: str | os.PathLike[str] | None = None,
    donor_tokenizer: Tokenizer | None = None,
    pad_to: int | None = None,
    tensors: Mapping[str, str] | None = None,
    tokens: Mapping[str, str] | None = None,
    allow_loss: Collection[str] = (),
    link: bool = False,
    verify: bool = False,
    dry_run: bool = False,
    progress: Callable[[Progress], object] | bool | None = None,
) -> GraftReport:
    """Writes a checkpoint folder for a model with another tokenizer, which
    `from_pretrained` of transformers loads.

    A token that the old tokenizer has too keeps its rows, bit for bit. A new
    token gets a weighted sum of the rows of its pieces, which are the ids of
    its text under the old tokenizer. Special tokens, holes and padding get the
    mean row in an output matrix. All other tensors are copied. The folder
    appears when it is whole, or not at all.

    Args:
        checkpoint: A folder with safetensors files and config.json.
        tok: The new tokenizer.
        out: The new folder; its parent must exist.
        init: The rule for new tokens: "exponential" (input rows lean on the
            last piece, output rows on the first; a tied matrix gets the mean),
            "mean", "first-last" or "all-mean"; texts "NEW=OLD" copy the row of
            an old token. A list holds one rule and any number of texts.
        old: The tokenizer of the checkpoint; None for the one in its folder.
        id_map: Which token is which, from `extend`, `prune`, `add_special` or
            `convert`; None to match tokens by their bytes, and whether they are
            special.
        donor: A checkpoint of another model that has the new tokens. Their rows
            are rebuilt from at most 64 tokens that both models have, by
            orthogonal matching pursuit; tokens that it lacks follow `init`.
        donor_tokenizer: The donor's tokenizer; None for the one in its folder.
        pad_to: The multiple that the number of rows is padded to; None for the
            checkpoint's.
        tensors: What tensors with unknown names are, by name or pattern:
            "input", "output", "bias", or "other", which is copied.
        tokens: The tokens of the new tokenizer that play a part:
            {"eos_token": "<|end|>"}. Needed where an old one is gone.
        allow_loss: As for `Tokenizer.save`, for tokenizer.json.
        link: Whether files that do not change are linked instead of copied.
        verify: Whether the result is compared with the checkpoint. If `out`
            exists already, nothing is written: it is compared.
        dry_run: Whether only the report is made.
        progress: None for a bar on a terminal, False for none, or a callable.
    Raises:
        FormatError: The checkpoint is not whole, not in safetensors files,
            quantised, damaged, or belongs to another tokenizer; or `out`
            cannot be written. The message says what to do.
        InvalidOption: An argument does not fit the checkpoint.
        CannotRepresent: tokenizer.json cannot hold the tokenizer.
    Cost: one reading of the matrices, one copy of all else; memory of some
        blocks, whatever the size. A donor's matrix is read 64 times for some
        hundred tokens.
    """
    for name, value in (("link", link), ("verify", verify), ("dry_run", dry_run)):
        flag(value, name)
    if donor_tokenizer is not None and not isinstance(donor_tokenizer, Tokenizer):
        raise TypeError(f"donor_tokenizer: expected a Tokenizer, not {type(donor_tokenizer).__name__}")
    for path in (checkpoint, out, donor):
        if path is not None:
            check_name(path)
    losses = (allow_loss,) if isinstance(allow_loss, str) else texts(allow_loss, "allow_loss")
    asked = GraftRequest(old, id_map, init, pad_to, tensors or {}, tokens or {}, losses, donor, donor_tokenizer)
    there = verify and os.path.isdir(out) and bool(os.listdir(out))
    if there:
        clear(out)
    else:
        check_free(out, checkpoint)
    plan = planned(checkpoint, tok, asked)
    proof = verified(plan, Path(out)) if there else None
    write = not there and not dry_run
    if write:
        with NewFolder(out) as new:
            proof = filled(plan, new, link=link, verify=verify, reporter=Reporter(progress))
    return report_of(plan, asked, Path(out), written=write, proof=proof)


def filled(plan: GraftPlan, new: NewFolder, *, link: bool, verify: bool, reporter: Reporter) -> GraftProof | None:
    """Writes everything into a new folder, compares it if that is asked for, and places it."""
    done, total = 0, plan.size()

    def tick(size: int) -> None:
        nonlocal done
        done += size
        reporter.report("writing", done, total)

    with reporter.drawn():
        write_all(plan, new.path, link=link, tick=tick)
    proof = verified(plan, Path(new.path)) if verify else None
    if proof is not None and proof.differences:
        problem = f"what was written is not what is on the disk: {proof.differences[0]}; check the disk"
        raise FormatError(new.path, None, problem)
    try:
        new.place()
    except OSError as problem:
        raise FormatError(new.path, None, f"cannot be renamed: {reason(problem, new.path)}") from problem
    return proof


def write_all(plan: GraftPlan, place: str, *, link: bool, tick: Tick) -> None:
    changed = plan.new_tensors()
    with NewFiles(place) as files:
        for shard in plan.folder.shards:
            if changed.keys() & shard.tensors.keys():
                written_shard(shard, changed, files, tick)
            else:
                copied_file(shard.path, files, link=link, tick=tick)
        settings = [name for name in (CONFIG, GENERATION) if plan.folder.has(name) and name not in plan.files]
        for name in (*plan.folder.copied, *settings):
            copied_file(plan.folder.place / name, files, link=False, tick=lambda size: None)
        for name, data in plan.files.items():
            with files.add(name) as file:
                file.write(data)


EXACT = (
    "text of kept tokens alone: the logits of kept tokens are the old ones; probabilities change only by the other rows"
)
LOST = "dropped tokens: text that used them is now cut into more tokens, which the model has seen less often together"
GUESSED = (
    "new rows are a guess until the model is trained on. Published (AdaptiVocab, Mistral-7B, 10,000 tokens replaced, exponential): "
    "judge score 3.15 to 1.90 and QA accuracy 0.58 to 0.40 before training, 3.16 and 0.62 after four GPU-hours on "
    "embeddings, head, first and last layer. Not measured on this model"
)
SPECIAL = (
    "new special tokens: users of several trainers report end tokens that models do not learn from mean rows; if one takes "
    "over a part of an old token, copy that row, as --init '<|im_end|>=</s>' does"
)


def report_of(
    plan: GraftPlan, asked: GraftRequest, out: Path, *, written: bool, proof: GraftProof | None
) -> GraftReport:
    found = plan.found
    specials = tuple(special_rows(plan))
    new = len(found.new) - len(found.kept)
    new_specials = any(found.new[row.id].special and row.id not in found.kept for row in specials)
    cases = ((EXACT, True), (LOST, bool(found.dropped)), (GUESSED, new > 0), (SPECIAL, new_specials))
    changed = [
        shard.path.name
        for shard in plan.folder.shards
        if {each.tensor.name for each in plan.tensors} & shard.tensors.keys()
    ]
    return GraftReport(
        source=shown(plan.folder.place),
        out=shown(out),
        written=written,
        tokenizer=plan.new.fingerprint,
        rows=plan.rows,
        kept=len(found.kept),
        new=new,
        dropped=len(found.dropped),
        empty=plan.rows[1] - len(found.new),
        tied=plan.tied,
        init=init_words(plan),
        tensors=tuple(
            GraftedTensor(
                each.tensor.name,
                each.tensor.path.name,
                each.role,
                each.tensor.dtype,
                each.tensor.shape,
                each.shape(plan.rows[1]),
            )
            for each in plan.tensors
        ),
        specials=specials,
        files=(*changed, *plan.files),
        left_out=(*plan.folder.left_out, *(name for name in plan.folder.stale if name not in plan.files)),
        size=plan.size(),
        notes=plan.notes,
        expect=tuple(text for text, fits in cases if fits),
        command=command_of(plan, asked, out),
        proof=proof,
    )


def init_words(plan: GraftPlan) -> str:
    """The rule for new rows as it was applied."""
    rule = plan.init.rule
    if plan.tied and rule in ("exponential", "first-last"):
        rule = f"mean (one matrix for input and output; {rule} needs two)"
    if plan.donated:
        return f"{number_of(plan.donated, 'token')} by orthogonal matching pursuit from the donor; others: {rule}"
    return rule


def special_rows(plan: GraftPlan) -> Iterator[SpecialRow]:
    """Each special token of the new tokenizer, and where its rows come from."""
    found = plan.found
    for id, key in found.new.items():
        if not key.special:
            continue
        if id in found.kept:
            source = "kept" if found.kept[id] == id else f"kept (old id {found.kept[id]})"
        elif id in plan.init.copies:
            source = f"new: that of {found.old[plan.init.copies[id]]}"
        elif plan.tied or not found.pieces[id] or plan.init.rule == "all-mean":
            source = "new: mean of all rows"
        else:
            source = f"new: mean of {len(found.pieces[id])} pieces (input), of all rows (output)"
        yield SpecialRow(key.token.decode("utf-8", "replace"), id, source)


def command_of(plan: GraftPlan, asked: GraftRequest, out: Path) -> str:
    """The command that compares the new folder with the checkpoint."""
    given = [asked.init] if isinstance(asked.init, str) else [*asked.init]
    words = ["toksmith", "graft", str(plan.folder.place), "-t", str(out / "tokenizer.json"), "-o", str(out)]
    words += [word for said in given if said != "exponential" for word in ("--init", said)]
    words += [] if asked.pad_to is None else ["--pad-to", str(asked.pad_to)]
    words += [word for pair in asked.tensors.items() for word in ("--tensor", "=".join(pair))]
    words += [word for pair in asked.tokens.items() for word in ("--token", "=".join(pair))]
    words += [word for name in asked.allow_loss for word in ("--allow-loss", name)]
    words += [] if asked.donor is None else ["--donor", os.fspath(asked.donor)]
    words += [] if asked.donor_tokenizer is None else ["--donor-tokenizer", "DONOR"]
    words += [] if asked.old is None else ["--old", "OLD"]
    words += [] if asked.id_map is None else ["--id-map", "MAP"]
    return " ".join([*map(shlex.quote, words), "--verify"])
