"""`python -m bench.interface`: the speed of transformers' calls on its library, with fastokens' patch, and with toksmith.

The rows are calls of one `AutoTokenizer`; the columns its library, `fastokens.patch_transformers()` and `toksmith.accelerate()`.
Each peer has a process of its own; the peers take turns, and get the same files and texts. A figure is the
median of the rounds; a ratio divides two medians, and its spread is the smallest and largest ratio of a round. A figure counts only
if the result equals the library's. "Engine" is the share of the time of the same texts in the engine alone, to lists of ids: the
rest of the call is Python above it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .adapters import versions
from .interface_worker import (
    BARE,
    BATCH,
    COLD,
    FASTOKENS,
    LIBRARY,
    ONE,
    PEERS,
    SHORT,
    SWITCH,
    InterfaceRequest,
)
from .places import scratch, write_whole
from .process import run_worker
from .records import cpu_name
from .report import format_number, table_line
from .request import Reply
from .texts import FALLBACK as PYTHON
from .texts import MB, Missing, lay_out_text
from .tokenizer_json import document
from .verdicts import ratio_of_runs
from .vocabularies import FALLBACK, MissingVocabulary, encoding, with_tokenizer_json

BERT, GPT2 = "bert", "r50k"
VOCABULARIES = (GPT2, "cl100k", "o200k", BERT)
TIMEOUT = 1200  # seconds of one process
BEGIN, END = "<|begin_of_text|>", "<|endoftext|>"
MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TEMPLATE = "{% for each in messages %}<{{ each.role }}>{{ each.content }}{% endfor %}"
Rounds = dict[str, list[Reply]]


def prepare_folder(name: str, corpus: str) -> Path:
    """A folder that `AutoTokenizer` loads: the published ranks, all but GPT-2's framed as Llama 3's; or a trained BERT."""
    folder = scratch("interface") / name
    folder.mkdir(exist_ok=True)
    config: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": TEMPLATE}
    if name == BERT:
        content: dict[str, Any] = train_bert(corpus)
        roles = zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), MARKS, strict=True)
        config |= {**dict(roles), "model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}
    else:
        content = json.loads(Path(with_tokenizer_json(encoding(name)).tokenizer_json).read_text(encoding="utf-8"))
        config |= {"eos_token": END, "pad_token": END}
        marks = [END] if name == GPT2 else [END, BEGIN]
        content |= {"added_tokens": added_tokens(marks, len(content["model"]["vocab"]))}
        if name != GPT2:
            content |= {"post_processor": template([BEGIN, "A"], [BEGIN, "A", BEGIN, "B"], content["added_tokens"])}
            config |= {"bos_token": BEGIN}
    for file, value in (("tokenizer.json", content), ("tokenizer_config.json", config)):
        write_whole(folder / file, json.dumps(value, ensure_ascii=False).encode())
    return folder


def train_bert(corpus: str) -> dict[str, Any]:
    """The `tokenizer.json` of an uncased BERT whose words are trained on a corpus."""
    import toksmith

    texts = [text.lower() for text in lay_out_text(corpus, 10 * MB).load()]
    options: dict[str, Any] = {"kind": "wordpiece", "special_tokens": MARKS, "progress": False}
    model = toksmith.train(texts, 30_000, **options).model
    tokens = sorted((int(id), bytes(token).decode()) for token, id in zip(model.tokens, model.ids, strict=True))
    vocab = {token: place for place, token in enumerate(dict.fromkeys([*MARKS, *(token for _, token in tokens)]))}
    added = [{**mark, "id": vocab[mark["content"]]} for mark in added_tokens(MARKS, 0)]
    plain = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    made: dict[str, Any] = json.loads(
        document(
            added_tokens=added,
            normalizer={"type": "BertNormalizer", **plain},
            pre_tokenizer={"type": "BertPreTokenizer"},
            post_processor=template(["[CLS]", "A", "[SEP]"], ["[CLS]", "A", "[SEP]", "B", "[SEP]"], added),
            decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
            model={
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": vocab,
            },
        )
    )
    return made


def added_tokens(contents: Sequence[str], first: int) -> list[dict[str, Any]]:
    """Special tokens with the ids from `first`."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}
    return [{"id": id, "content": content, **flags} for id, content in enumerate(contents, first)]


def template(single: Sequence[str], pair: Sequence[str], added: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The post-processor that puts special tokens around a text "A", and around it and a text "B"."""
    ids = {each["content"]: each["id"] for each in added if each["content"] in {*single, *pair}}

    def pieces(parts: Sequence[str]) -> Iterator[dict[str, Any]]:
        kind = 0
        for part in parts:
            yield {"Sequence" if part in ("A", "B") else "SpecialToken": {"id": part, "type_id": kind}}
            kind = int(kind or (part == "[SEP]" or (part == "A" and pair[-1] == "B" and parts is pair)))

    tokens = {content: {"id": content, "ids": [id], "tokens": [content]} for content, id in ids.items()}
    return {
        "type": "TemplateProcessing",
        "single": [*pieces(single)],
        "pair": [*pieces(pair)],
        "special_tokens": tokens,
    }


def prepare_texts(options: argparse.Namespace) -> tuple[Path, dict[str, int]]:
    """A file with the documents and short texts, and the bytes of each."""
    documents = [text[: options.characters] for text in lay_out_text(options.corpus, 20 * MB).load()][
        : options.documents
    ]
    short = [text for name in ("short20", "short200") for text in lay_out_text(name, MB).load()[: options.documents]]
    path = scratch("interface") / "texts.json"
    write_whole(path, json.dumps({"documents": documents, "short": short}).encode())
    return path, {"documents": sum(len(text.encode()) for text in documents), "short": len(short)}


def run_rounds(options: argparse.Namespace, folder: Path, texts: Path) -> Rounds:
    """The replies of each peer, in turn."""
    replies: Rounds = {peer: [] for peer in options.peers}
    for number in range(options.rounds):
        order = options.peers if number % 2 == 0 else options.peers[::-1]
        for peer in order:
            request = InterfaceRequest(peer, str(folder), str(texts), options.passes, options.threads)
            reply = run_worker(request, TIMEOUT, "bench.interface_worker")
            if reply.problem:
                print(f"- {peer}: {reply.problem}", file=sys.stderr, flush=True)
            replies[peer].append(reply)
    return replies


def print_table(name: str, replies: Rounds, sizes: Mapping[str, int]) -> None:
    """One vocabulary: a row for each call."""
    peers = [*replies]
    print(f"\n| {name} | unit | {' | '.join(peers)} | switch ÷ fastokens | engine: fastokens, switch |")
    print(f"|---|---|{'--:|' * len(peers)}--:|--:|")
    calls = [*dict.fromkeys(call for each in replies.values() for reply in each for call in reply.proof)]
    for call in calls:
        short = call.startswith(("short", "DecodeStream"))
        shown = [shown_figure(replies, peer, call, sizes) for peer in peers]
        cells = [call, "µs a call" if short else "MB/s", *shown, ratio(replies, call), shares(replies, call)]
        print(table_line(cells), flush=True)


def runs(replies: Rounds, peer: str, call: str) -> list[float]:
    """The seconds of a call in each round; none where a result differs from the library's."""
    right = {reply.proof.get(call) for reply in replies.get(LIBRARY, [])}
    rows = replies.get(peer, [])
    if right and not all(reply.proof.get(call) in right for reply in rows if call in reply.proof):
        return []
    return [reply.figures[call] for reply in rows if call in reply.figures]


def shown_figure(replies: Rounds, peer: str, call: str, sizes: Mapping[str, int]) -> str:
    """A figure in the unit of its row; or why there is none."""
    seconds = runs(replies, peer, call)
    if not seconds:
        said = next((str(reply.proof[call]) for reply in replies[peer] if call in reply.proof), "")
        return said.partition(":")[0] if ":" in said else "differs" if said else ""
    each = statistics.median(seconds)
    if call.startswith(("short", "DecodeStream")):
        return format_number(each / sizes["short"] * 1e6)
    return format_number(sizes["documents"] / each / 1e6)


def ratio(replies: Rounds, call: str) -> str:
    """The speed of the switch divided by that of fastokens' patch."""
    found = ratio_of_runs(runs(replies, FASTOKENS, call), runs(replies, SWITCH, call))
    return found.to_text() if found else ""


def shares(replies: Rounds, call: str) -> str:
    """The share of a call's time that the engine alone takes."""
    timed = BATCH if call == COLD else call
    if call == COLD or timed not in (BATCH, ONE, SHORT):
        return ""
    found = [ratio_of_runs(runs(replies, peer, call + BARE), runs(replies, peer, call)) for peer in (FASTOKENS, SWITCH)]
    return ", ".join(f"{each.value:.0%}" if each else "–" for each in found)


def parser() -> argparse.ArgumentParser:
    """The options."""
    cli = argparse.ArgumentParser(prog="python -m bench.interface", description=(__doc__ or "").partition("\n")[0])
    cli.add_argument("--vocabularies", nargs="*", default=VOCABULARIES)
    cli.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    cli.add_argument("--corpus", default="english")
    cli.add_argument("--documents", type=int, default=1_000)
    cli.add_argument("--characters", type=int, default=4_000, help="of a document, at most")
    cli.add_argument("--rounds", type=int, default=5)
    cli.add_argument("--passes", type=int, default=3, help="timed, of each call in a process")
    cli.add_argument("--threads", type=int, default=2)
    return cli


def main() -> None:
    """Print a table for each vocabulary."""
    options = parser().parse_args()
    try:
        texts, sizes = prepare_texts(options)
    except Missing as missing:
        print(f"{missing}: the sources of Python's library replace them", file=sys.stderr)
        options.corpus, options.vocabularies = PYTHON, [FALLBACK]
        texts, sizes = prepare_texts(options)
    installed = versions({name: name for name in ("transformers", "tokenizers", "fastokens", "toksmith")})
    print(
        f"{cpu_name()}; {', '.join(f'{name} {version}' for name, version in installed.items())}; {options.threads} threads"
    )
    print(
        f"{options.documents:,} documents of {options.corpus}, {sizes['documents'] / MB:.1f} MB; {sizes['short']:,} short texts"
    )
    for name in options.vocabularies:
        try:
            folder = prepare_folder(name, options.corpus)
        except MissingVocabulary as reason:
            print(f"{name}: {reason}", file=sys.stderr)
            continue
        print_table(name, run_rounds(options, folder, texts), sizes)


if __name__ == "__main__":
    main()
