"""`python -m bench.servers`: the cost of counting tokens on an event loop, and how long requests delay short ones.

A server of starlette under uvicorn gets a text with each request and answers with the number of its ids. 100 clients
send short texts, each its next one after the answer; then 99 clients do, and one sends texts of 5 MB. The server
encodes on the event loop, or through `asyncio.to_thread`. The row "nothing" does not encode: it is the cost of the
server and the clients. The row "guide" is the server of docs/guides/serve.md, whose requests and answers are JSON. "x alone"
divides the 99 % next to the long client by the 99 % of the row above, with the spread over the rounds.
A second table needs no server: the longest wait of a process's event loop while a text is encoded in a thread. On a busy
machine the loop waits for a processor: `sha256`, which holds no lock of the interpreter, shows how long.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import cycle, islice
from statistics import median, quantiles
from time import perf_counter, sleep
from typing import Any

import toksmith

from . import adapters
from .adapters import Unsupported
from .places import ROOT
from .texts import MB, SHORT, documents
from .vocabularies import FALLBACK, MissingVocabulary, encoding, with_tokenizer_json

NOTHING = "nothing"
ONE = "toksmith, threads=1"
GUIDE = "guide"
ENGINES = (NOTHING, "toksmith", ONE, "tiktoken", "tokenizers", GUIDE)
LONG = 5 * MB
IN_THREAD = 100_000  # bytes: with "long in thread" the server encodes longer texts in a thread
RUNS = ((0, "thread"), (1, "thread"), (0, "loop"), (1, "loop"), (0, "long in thread"), (1, "long in thread"))
GUIDE_RUNS = tuple((long, path) for path in ("count", "tokenize", "chat") for long in (0, 1))
SIZES = (1_000, 10_000, 100_000, MB, LONG)
TRIES = 60  # seconds to wait until the server answers

HASHED = 12 * LONG  # bytes; their sha256 needs no lock, and takes about as long as encoding the longest text

Call = Callable[..., object]
Encode = Callable[[str], int]


def engine(name: str, vocabulary: str) -> Encode:
    """The function of an engine that returns the number of ids of a text."""
    if name == NOTHING:
        return len
    if name == ONE:
        tok = adapters.load(adapters.OURS, encoding(vocabulary)).tok
        return lambda text: len(tok.encode(text, threads=1))
    loaded = adapters.load(name, with_tokenizer_json(encoding(vocabulary)))
    return lambda text: loaded.calls([text])[0]


def guide_app(tok: object, template: str) -> Any:
    """The server of docs/guides/serve.md, with another tokenizer and chat template."""
    page = (ROOT / "docs" / "guides" / "serve.md").read_text(encoding="utf-8")
    _load, source = re.findall(r"^```python\n([^>].*?)^```", page, re.MULTILINE | re.DOTALL)
    names = {"toksmith": toksmith, "tok": tok, "TEMPLATE": template}
    exec(source, names)
    return names["app"]


def serve(name: str, vocabulary: str, port: int) -> None:
    """The server: `POST /loop`, `/thread` or `/long in thread`; or that of the guide."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    if name == GUIDE:
        tok = adapters.load(adapters.OURS, encoding(vocabulary)).tok
        uvicorn.run(guide_app(tok, "plain"), port=port, log_level="warning", access_log=False)
        return
    encode = engine(name, vocabulary)

    async def answer(request: Request) -> Response:
        data = await request.body()
        way = request.path_params["way"]
        if way == "thread" or (way == "long_in_thread" and len(data) > IN_THREAD):
            count = await asyncio.to_thread(encode, data.decode())
        else:
            count = encode(data.decode())
        return Response(str(count))

    app = Starlette(routes=[Route("/{way}", answer, methods=["POST"])])
    uvicorn.run(app, port=port, log_level="warning", access_log=False)


@dataclass
class Client:
    """One connection, which stays open."""

    port: int
    way: str

    async def each(self, texts: Sequence[bytes], until: float, taken: list[float]) -> None:
        """Send texts until a time, and append the seconds of each answer to `taken`."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for text in cycle(texts):
                begun = perf_counter()
                if begun > until and len(taken) > 1:
                    return
                head = f"POST /{self.way.replace(' ', '_')} HTTP/1.1\r\nhost: a\r\ncontent-length: {len(text)}\r\n\r\n"
                writer.write(head.encode() + text)
                await read_answer(reader)
                taken.append(perf_counter() - begun)
        finally:
            writer.close()


async def read_answer(reader: asyncio.StreamReader) -> None:
    """Read one answer.

    Raises:
        RuntimeError: The server did not encode the text.
    """
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    size = int(head.partition(b"content-length:")[2].split()[0])
    content = await reader.readexactly(size)
    if b" 200 " not in head:
        raise RuntimeError(content.decode(errors="replace"))


def body_of(way: str, text: bytes) -> bytes:
    """The body of a request: JSON for the server of the guide, and the text for the others."""
    if way == "chat":
        return json.dumps({"messages": [{"role": "user", "content": text.decode()}]}).encode()
    return json.dumps({"prompt": text.decode()}).encode() if way in ("count", "tokenize") else text


async def run_clients(
    port: int, run: tuple[int, str], options: argparse.Namespace, texts: list[list[bytes]]
) -> list[float]:
    """One run of all clients at once: short texts a second, then ms: median, 99 % and most of these, median of the long ones."""
    long, way = run
    client, shorts, longs = Client(port, way), *[[body_of(way, text) for text in each] for each in texts]
    short_s: list[float] = []
    long_s: list[float] = []
    begun = perf_counter()
    until = begun + options.seconds
    ways = [client.each(shorts[number:], until, short_s) for number in range(options.clients - long)]
    ways += [client.each(longs, until, long_s) for _ in range(long)]
    await asyncio.gather(*ways)
    per_second = len(short_s) / (perf_counter() - begun)
    times = [median(short_s), quantiles(short_s, n=100)[98], max(short_s), median(long_s or [0])]
    return [per_second, *(each * 1e3 for each in times)]


def free_port() -> int:
    """An unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int, server: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers; False if it ended."""
    for _ in range(TRIES * 20):
        if server.poll() is not None:
            return False
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        except OSError:
            sleep(0.05)
    return False


def measure_engine(name: str, options: argparse.Namespace, texts: list[list[bytes]]) -> None:
    """Print the rows of one engine."""
    port = free_port()
    command = [sys.executable, "-m", "bench.servers", "--serve", name, "--port", str(port)]
    server = subprocess.Popen([*command, "--encoding", options.encoding], cwd=ROOT)
    try:
        if not answers(port, server):
            print(f"| {name} | did not start | | | | | | | |")
            return
        runs = GUIDE_RUNS if name == GUIDE else RUNS
        rounds = [[asyncio.run(run_clients(port, run, options, texts)) for run in runs] for _ in range(options.rounds)]
        for place, (long, way) in enumerate(runs):
            clients = f"{options.clients - long} short{', 1 of 5 MB' if long else ''}"
            rate, middle, worst, most, long_ms = (
                median(cells) for cells in zip(*(each[place] for each in rounds), strict=True)
            )
            ratios = sorted(each[place][2] / each[place - 1][2] for each in rounds)
            beside = f"{long_ms:,.0f} | {median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})" if long else " | "
            times = f"{rate:,.0f} | {middle:.1f} | {worst:.1f} | {most:.0f} | {beside}"
            print(f"| {name} | {clients} | {way} | {times} |", flush=True)
    finally:
        server.terminate()
        server.wait()


async def longest_pause(work: Callable[[], Awaitable[object]]) -> float:
    """The longest time that the event loop cannot run during some work."""
    longest, finished = 0.0, False

    async def beat() -> None:
        nonlocal longest
        last = perf_counter()
        while not finished:
            await asyncio.sleep(0)
            now = perf_counter()
            longest, last = max(longest, now - last), now

    beating = asyncio.create_task(beat())
    await asyncio.sleep(0)
    await work()
    finished = True
    await beating
    return longest


def pauses(vocabulary: str, text: str) -> None:
    """Print how long calls of toksmith block an event loop, by the length of the text."""
    vocabulary_files = encoding(vocabulary)
    tok = toksmith.load(vocabulary_files.source, pattern=vocabulary_files.pattern)
    calls: dict[str, Call] = {"encode": tok.encode, "encode_array": tok.encode_array, "count": tok.count}
    control = b" " * HASHED
    print(
        f"\n| bytes | on the loop: `encode` | `json.loads` of the text | of the ids | `json.dumps` of the ids | in a thread: {' | '.join(f'`{name}`' for name in calls)} | sha256 |"
    )
    print("|--:" * (len(calls) + 6) + "|")
    for size in SIZES:
        beginning = text[:size]
        ids = tok.encode(beginning)
        on_loop = [least(tok.encode, beginning), *(least(json.loads, json.dumps(each)) for each in (beginning, ids))]
        on_loop.append(least(json.dumps, ids))
        in_thread = [median_pause(call, beginning) for call in calls.values()]
        hashed = median_pause(sha256, control[: HASHED * size // LONG])
        print(
            f"| {size:,} | {' | '.join(f'{each * 1e3:.2f} ms' for each in [*on_loop, *in_thread, hashed])} |",
            flush=True,
        )


def median_pause(call: Call, argument: object) -> float:
    """The median of the longest pauses of an event loop while a call runs in a thread."""
    return median(asyncio.run(longest_pause(lambda: asyncio.to_thread(call, argument))) for _ in range(9))


def least(call: Call, argument: object) -> float:
    """The least seconds of five calls."""

    def timed() -> float:
        begun = perf_counter()
        call(argument)
        return perf_counter() - begun

    return min(timed() for _ in range(5))


def request_texts(corpus: str, short: int) -> tuple[list[bytes], str]:
    """Short texts, and a long ASCII text, so that bytes are characters."""
    long = ""
    for document in documents(corpus):
        long += document.encode("ascii", "ignore").decode()
        if len(long) >= LONG:
            break
    starts = islice(range(0, len(long), short), 20_000)
    return [long[start : start + short].encode() for start in starts], long[:LONG]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the servers, and print the tables."""
    options = parser().parse_args(arguments)
    if options.serve:
        serve(options.serve, options.encoding, options.port)
        return 0
    try:
        encoding(options.encoding)
        short, long = request_texts("english", options.short)
    except Exception as missing:  # noqa: BLE001 - the published files or the corpora are missing
        print(f"{missing}: a trained vocabulary and the sources of Python's library replace them", file=sys.stderr)
        options.encoding = FALLBACK
        short, long = request_texts("stdlib", options.short)
    print(f"{os.cpu_count()} processors, {options.encoding}, short texts of {options.short} bytes")
    print("| engine | clients | encodes on | short/s | median ms | 99 % ms | most ms | long, median ms | x alone |")
    print("|---|---|---|--:|--:|--:|--:|--:|--:|", flush=True)
    for name in options.engines.split(";"):
        try:
            measure_engine(name, options, [short, [long.encode()]])
        except (Unsupported, MissingVocabulary) as reason:
            print(f"| {name} | {reason} | | | | | | | |")
    if not options.no_pauses:
        pauses(options.encoding, long)
    return 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    cli = argparse.ArgumentParser(prog="python -m bench.servers", description=(__doc__ or "").partition("\n")[0])
    cli.add_argument("--engines", default=";".join(ENGINES), help="separated by semicolons")
    cli.add_argument("--clients", type=int, default=100)
    cli.add_argument("--seconds", type=float, default=2, help="of each run")
    cli.add_argument("--rounds", type=int, default=3, help="the cells are medians over the rounds")
    cli.add_argument("--short", type=int, default=SHORT["short200"], help="bytes of a short text")
    cli.add_argument("--encoding", default="cl100k")
    cli.add_argument("--no-pauses", action="store_true", help="leave out the second table")
    cli.add_argument("--serve", default="", help=argparse.SUPPRESS)
    cli.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    return cli


if __name__ == "__main__":
    sys.exit(main())
