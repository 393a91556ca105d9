"""graft: gives a model a changed or another tokenizer, and writes a checkpoint folder that loads with it.

Reading order: `model_folder` reads the checkpoint, and `vocab_tensors` finds the tensors that follow the vocabulary;
`tokens` finds the origin of each token; `recipes` defines the weights of each row, and `rows` computes the rows; `settings`
and `tokenizer_files` rewrite the small files. `plan` combines these before `graft` writes anything. `write` and
`new_folder` write; `verify` compares. Left out: training, without which new rows are a guess.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from .._base.arguments import check_flag, check_texts
from .._base.paths import check_name, describe_error, printable_path
from .._base.wording import number_of
from .._render.progress import Progress, Reporter
from .._tokenizer.tokenizer import Tokenizer
from .._training.surgery import IdMap
from ..errors import FormatError
from .model_folder import CONFIG, GENERATION
from .new_folder import NewFolder, check_free, remove_folder_leftovers
from .plan import GraftPlan, GraftRequest, make_plan
from .report import GraftedTensor, GraftProof, GraftReport, SpecialRow
from .verify import verify_folder
from .write import NewFiles, Tick, copy_file, write_shard

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

    A token that is also in the old tokenizer keeps its rows, bit for bit. A new
    token gets a weighted sum of the rows of its pieces, which are the ids of
    its text under the old tokenizer. New special tokens, holes and padding get
    the mean row in an output matrix. `graft` copies all other tensors. The
    folder appears complete, or not at all.

    Args:
        checkpoint: A folder with safetensors files and config.json.
        tok: The new tokenizer.
        out: The new folder; its parent must exist.
        init: The rule for new tokens: "exponential" (input rows lean on the
            last piece, output rows on the first; a tied matrix gets the mean),
            "mean", "first-last" or "all-mean"; texts "NEW=OLD" copy the row of
            an old token. A list holds one rule and any number of texts.
        old: The tokenizer of the checkpoint; None for the one in its folder.
        id_map: The new id of each old id, from `extend`, `prune`, `add_special`
            or `convert`; None to match tokens by their bytes and by whether
            they are special.
        donor: A checkpoint of another model that has the new tokens. Orthogonal
            matching pursuit rebuilds their rows from at most 64 tokens that
            both models have; tokens that the donor lacks follow `init`.
        donor_tokenizer: The donor's tokenizer; None for the one in its folder.
        pad_to: The multiple that the number of rows is padded to; None for the
            checkpoint's, or 64 if its sizes show none.
        tensors: The roles of tensors with unknown names, by name or pattern:
            "input", "output", "bias", or "other", which is copied.
        tokens: The new tokenizer's tokens with a role in the settings:
            {"eos_token": "<|end|>"}. Required if an old token is missing.
        allow_loss: As for `Tokenizer.save`, for tokenizer.json.
        link: Whether unchanged files are hard links instead of copies.
        verify: Whether to compare the result with the checkpoint. If `out`
            already exists, `graft` writes nothing and compares it.
        dry_run: Whether to return the report without writing.
        progress: None for a bar on a terminal, False for none, or a callable.
    Raises:
        FormatError: The checkpoint is incomplete, not in safetensors files,
            quantised, damaged, or belongs to another tokenizer; or `out`
            cannot be written. The message gives the remedy.
        InvalidOption: An argument does not fit the checkpoint.
        CannotRepresent: tokenizer.json cannot hold the tokenizer.
    Cost: one reading of the matrices, one copy of all else; memory for some
        blocks, whatever the size. A donor's matrix is read 64 times for some
        hundred tokens.
    """
    for name, value in (("link", link), ("verify", verify), ("dry_run", dry_run)):
        check_flag(value, name)
    if donor_tokenizer is not None and not isinstance(donor_tokenizer, Tokenizer):
        raise TypeError(f"donor_tokenizer: expected a Tokenizer, not {type(donor_tokenizer).__name__}")
    for path in (checkpoint, out, donor):
        if path is not None:
            check_name(path)
    losses = (allow_loss,) if isinstance(allow_loss, str) else check_texts(allow_loss, "allow_loss")
    request = GraftRequest(old, id_map, init, pad_to, tensors or {}, tokens or {}, losses, donor, donor_tokenizer)
    out_exists = verify and os.path.isdir(out) and bool(os.listdir(out))
    if out_exists:
        remove_folder_leftovers(out)
    else:
        check_free(out, checkpoint)
    plan = make_plan(checkpoint, tok, request)
    proof = verify_folder(plan, Path(out)) if out_exists else None
    write = not out_exists and not dry_run
    if write:
        with NewFolder(out) as new:
            proof = fill_folder(plan, new, link=link, verify=verify, reporter=Reporter(progress))
    return make_report(plan, request, Path(out), written=write, proof=proof)


def fill_folder(plan: GraftPlan, new: NewFolder, *, link: bool, verify: bool, reporter: Reporter) -> GraftProof | None:
    """Writes all files into a new folder, compares it if `verify`, and renames it to its final name."""
    done_bytes, total = 0, plan.size()

    def tick(size: int) -> None:
        nonlocal done_bytes
        done_bytes += size
        reporter.report("writing", done_bytes, total)

    with reporter.drawn():
        write_all(plan, new.path, link=link, tick=tick)
    proof = verify_folder(plan, Path(new.path)) if verify else None
    if proof is not None and proof.differences:
        problem = f"the disk does not hold the written data: {proof.differences[0]}; check the disk"
        raise FormatError(new.path, None, problem)
    try:
        new.place()
    except OSError as problem:
        raise FormatError(new.path, None, f"cannot be renamed: {describe_error(problem, new.path)}") from problem
    return proof


def write_all(plan: GraftPlan, place: str, *, link: bool, tick: Tick) -> None:
    new_tensors = plan.new_tensors()
    with NewFiles(place) as files:
        for shard in plan.folder.shards:
            if new_tensors.keys() & shard.tensors.keys():
                write_shard(shard, plan.folder.name_of(shard.path), new_tensors, files, tick)
            else:
                copy_file(shard.path, plan.folder.name_of(shard.path), files, link=link, tick=tick)
        settings = [name for name in (CONFIG, GENERATION) if plan.folder.has(name) and name not in plan.files]
        for name in (*plan.folder.copied, *settings):
            copy_file(plan.folder.place / name, name, files, link=False, tick=lambda size: None)
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


def make_report(
    plan: GraftPlan, request: GraftRequest, out: Path, *, written: bool, proof: GraftProof | None
) -> GraftReport:
    origins = plan.origins
    specials = tuple(special_rows(plan))
    new = len(origins.new) - len(origins.kept)
    new_specials = any(origins.new[row.id].special and row.id not in origins.kept for row in specials)
    cases = ((EXACT, True), (LOST, bool(origins.dropped)), (GUESSED, new > 0), (SPECIAL, new_specials))
    changed_files = [
        plan.folder.name_of(shard.path)
        for shard in plan.folder.shards
        if {each.tensor.name for each in plan.tensors} & shard.tensors.keys()
    ]
    return GraftReport(
        source=printable_path(plan.folder.place),
        out=printable_path(out),
        written=written,
        tokenizer=plan.new.fingerprint,
        rows=plan.rows,
        kept=len(origins.kept),
        new=new,
        dropped=len(origins.dropped),
        empty=plan.rows[1] - len(origins.new),
        tied=plan.tied,
        init=init_text(plan),
        tensors=tuple(
            GraftedTensor(
                each.tensor.name,
                plan.folder.name_of(each.tensor.path),
                each.role,
                each.tensor.dtype,
                each.tensor.shape,
                each.shape(plan.rows[1]),
            )
            for each in plan.tensors
        ),
        specials=specials,
        files=(*changed_files, *plan.files),
        left_out=(*plan.folder.left_out, *(name for name in plan.folder.stale if name not in plan.files)),
        size=plan.size(),
        notes=plan.notes,
        expect=tuple(text for text, fits in cases if fits),
        command=verify_command(plan, request, out),
        proof=proof,
    )


def init_text(plan: GraftPlan) -> str:
    rule = plan.init.rule
    if plan.tied and rule in ("exponential", "first-last"):
        rule = f"mean (one matrix for input and output; {rule} needs two)"
    if plan.donated:
        return f"{number_of(plan.donated, 'token')} by orthogonal matching pursuit from the donor; others: {rule}"
    return rule


def special_rows(plan: GraftPlan) -> Iterator[SpecialRow]:
    """Each special token of the new tokenizer, with the origin of its rows."""
    origins = plan.origins
    for id, key in origins.new.items():
        if not key.special:
            continue
        if id in origins.kept:
            source = "kept" if origins.kept[id] == id else f"kept (old id {origins.kept[id]})"
        elif id in plan.init.copies:
            source = f"new: that of {origins.old[plan.init.copies[id]]}"
        elif plan.tied or not origins.pieces[id] or plan.init.rule == "all-mean":
            source = "new: mean of all rows"
        else:
            source = f"new: mean of {len(origins.pieces[id])} pieces (input), of all rows (output)"
        yield SpecialRow(key.token.decode("utf-8", "replace"), id, source)


def verify_command(plan: GraftPlan, request: GraftRequest, out: Path) -> str:
    """The shell command that compares the new folder with the checkpoint."""
    init_args = [request.init] if isinstance(request.init, str) else [*request.init]
    words = ["toksmith", "graft", str(plan.folder.place), "-t", str(out / "tokenizer.json"), "-o", str(out)]
    words += [word for init_arg in init_args if init_arg != "exponential" for word in ("--init", init_arg)]
    words += [] if request.pad_to is None else ["--pad-to", str(request.pad_to)]
    words += [word for pair in request.tensors.items() for word in ("--tensor", "=".join(pair))]
    words += [word for pair in request.tokens.items() for word in ("--token", "=".join(pair))]
    words += [word for name in request.allow_loss for word in ("--allow-loss", name)]
    words += [] if request.donor is None else ["--donor", os.fspath(request.donor)]
    words += [] if request.donor_tokenizer is None else ["--donor-tokenizer", "DONOR"]
    words += [] if request.old is None else ["--old", "OLD"]
    words += [] if request.id_map is None else ["--id-map", "MAP"]
    return " ".join([*map(shlex.quote, words), "--verify"])
