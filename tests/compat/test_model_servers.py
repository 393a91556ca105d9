"""vLLM's and SGLang's own classes on drawn requests, with and without the switch: equal ids, streamed texts and stops.

`make test-servers` runs them in a separate environment. No model runs: the generated ids are those of other texts, and drawn ones.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import itertools
import logging
import os
import re
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from chat_templates import CHATML
from conftest import DATA, ROOT, existing_or_skip
from peers import CORPORA
from peers import documents as documents_of

import toksmith

pytestmark = pytest.mark.filterwarnings("ignore")
needs_servers = pytest.mark.skipif(
    "TOKSMITH_SERVERS" not in os.environ, reason="lacks the servers; run make test-servers"
)
REQUESTS = 10_000  # of each server, over all tokenizers
DOCUMENTS, LONGEST = 60, 2_000
SOURCES = {
    "gpt2": "gpt2_tokenizer.json",
    "cl100k": "cl100k_base.tiktoken",
    "o200k": "o200k_base.tiktoken",
    "mistral": "mistral_v1.model",
    "wordpiece": "",
}
SPELLINGS = ("<|endoftext|>", "<s>", "</s>", "[CLS]", "<|im_end|>")


@pytest.fixture(autouse=True)
def off() -> Iterator[None]:
    yield
    toksmith.restore()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry points of pyproject.toml, as an installation has them, and servers that have loaded no plug-in yet."""
    import sglang.srt.plugins
    import tomllib
    import vllm.plugins

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [
        f"[{group}]\n{name} = {value}\n"
        for group, rows in project["entry-points"].items()
        for name, value in rows.items()
    ]
    (tmp_path / "toksmith-0.dist-info").mkdir()
    (tmp_path / "toksmith-0.dist-info" / "entry_points.txt").write_text("".join(lines), "utf-8")
    (tmp_path / "toksmith-0.dist-info" / "METADATA").write_text("Name: toksmith\nVersion: 0\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(vllm.plugins, "plugins_loaded", False)
    monkeypatch.setattr(sglang.srt.plugins, "_plugins_loaded", False)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    folder = existing_or_skip(DATA) / "corpora"
    rows = [itertools.islice(documents_of(folder / f"{name}.jsonl.gz"), DOCUMENTS) for name in CORPORA]
    return [text for each in rows for text in each]


@pytest.fixture(scope="module", params=SOURCES)
def folder(request: pytest.FixtureRequest, texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp(request.param)
    source = SOURCES[request.param]
    trained = None if source else toksmith.train(texts, 3_000, kind="wordpiece", lowercase=True, progress=False)
    toksmith.convert(trained or DATA / "vocab" / source, f"{path}/")
    return path


class Request:
    """A drawn request: a prompt or messages, the text of the answer, the steps in which it comes, and how it may stop."""

    def __init__(self, seed: int, texts: list[str]) -> None:
        self.chance = chance = Random(seed)
        self.prompt, self.answer = self.part(texts, LONGEST), self.part(texts, LONGEST // 8)
        self.is_chat = chance.random() < 0.3
        self.messages = [{"role": "user", "content": self.part(texts, 300)}, {"role": "assistant", "content": "Yes."}]
        self.messages.append({"role": "user", "content": self.prompt})
        places = chance.choices(range(len(self.answer)), k=chance.randrange(3))
        self.stops = [self.answer[place : place + chance.randint(1, 12)] for place in places]
        self.skip, self.include, self.wide = (chance.random() < 0.5 for _ in range(3))
        self.strange = chance.random() < 0.2  # ids that no text has: cut characters, special tokens
        self.most = chance.choice([8, 64, 4096])
        self.put = chance.random() < 0.7

    def part(self, texts: list[str], longest: int) -> str:
        text = self.chance.choice(texts)
        start = self.chance.randrange(len(text))
        part = text[start : start + self.chance.randint(1, longest)]
        if self.chance.random() < 0.2:
            place = self.chance.randrange(len(part) + 1)
            part = part[:place] + self.chance.choice(SPELLINGS) + part[place:]
        return part

    def steps(self, ids: list[int], size: int) -> list[list[int]]:
        """The generated ids by step; both runs draw equal ones, for equal ids."""
        chance = Random(len(ids))
        if self.strange:
            ids = [chance.randrange(size) if chance.random() < 0.3 else id for id in ids]
        steps = []
        while ids:
            count = chance.choice((1, 1, 1, 2, 3))
            steps.append(ids[:count])
            ids = ids[count:]
        return steps


def assert_ran(name: str, least: int) -> None:
    """The engine ran the calls of a tokenizer: at least so many."""
    rows = [each for each in toksmith.accelerate().tokenizers if name in each.name]
    assert rows and all(each.reason is None for each in rows), rows
    assert sum(each.calls - each.returned for each in rows) >= least, rows


def vllm_answers(folder: Path, requests: list[Request], mode: str) -> tuple[Any, list[Any]]:
    """The ids of each request, each piece of its streamed text, and the stop string, as vLLM's front end makes them."""
    from vllm.renderers.params import TokenizeParams
    from vllm.sampling_params import SamplingParams
    from vllm.tokenizers.hf import maybe_make_thread_pool
    from vllm.tokenizers.registry import get_tokenizer
    from vllm.v1.engine import EngineCoreRequest
    from vllm.v1.engine.detokenizer import IncrementalDetokenizer, SlowIncrementalDetokenizer

    tok = maybe_make_thread_pool(get_tokenizer(str(folder), tokenizer_mode=mode), 2)
    answers = []
    for number, each in enumerate(requests):
        params = TokenizeParams(
            max_total_tokens=each.most + 1, truncate_prompt_tokens=each.most, add_special_tokens=each.put
        )
        encoding = tok(each.prompt, **params.get_encode_kwargs())
        ids = encoding["input_ids"]
        if each.is_chat:
            ids = tok.apply_chat_template(
                conversation=each.messages,
                chat_template=CHATML,
                tokenize=True,
                return_dict=False,
                add_generation_prompt=True,
            )
        sampling = SamplingParams(
            stop=[*filter(None, each.stops)],
            include_stop_str_in_output=each.include,
            skip_special_tokens=each.skip,
            spaces_between_special_tokens=each.wide,
        )
        request = EngineCoreRequest(str(number), ids, None, sampling, None, 0.0, None, None, None)
        fast = IncrementalDetokenizer.from_new_request(tok, request)
        for stream in (fast, SlowIncrementalDetokenizer(tok, request)) if number % 10 == 0 else (fast,):
            pieces: list[str] = []
            stop = None
            for step in each.steps(tok.encode(each.answer, add_special_tokens=False), len(tok)):
                stop = stream.update(step, False)
                pieces.append(stream.get_next_output_text(stop is not None, True))
                if stop is not None:
                    break
            pieces.append(stream.get_next_output_text(True, True))
            answers.append((ids, pieces, stop, stream.output_token_ids, tok.decode(ids)))
    return tok, answers


def sglang_answers(folder: Path, requests: list[Request]) -> tuple[Any, list[Any]]:
    """The same as SGLang's managers make them: the ids, the pieces, and the stop string that a step finds."""
    managers = "sglang.srt.managers"
    detokenizers = importlib.import_module(f"{managers}.detokenizer_manager")
    encoders = importlib.import_module(f"{managers}.tokenizer_manager")
    batches = importlib.import_module(f"{managers}.schedule_batch")
    from sglang.srt.sampling.sampling_params import SamplingParams
    from sglang.srt.utils.hf_transformers_utils import get_tokenizer

    tok = get_tokenizer(str(folder))
    encoder = object.__new__(encoders.TokenizerManager)
    encoder.tokenizer, encoder.async_dynamic_batch_tokenizer = tok, None
    encoder.model_config = SimpleNamespace(is_embedding_gemma=False)
    manager = object.__new__(detokenizers.DetokenizerManager)
    manager.tokenizer, manager.vocab_size, manager.decode_status = tok, len(tok), OrderedDict()
    manager.disable_tokenizer_batch_decode = manager.is_tool_call_parser_gpt_oss = False
    manager.tool_close_token_ids = set()
    answers = []
    for number, each in enumerate(requests):
        ids, _ = asyncio.run(encoder._tokenize_texts(each.prompt))
        if each.is_chat:
            rendered = tok.apply_chat_template(each.messages, chat_template=CHATML, tokenize=False, return_dict=False)
            ids = tok.encode(rendered, add_special_tokens=False)
        sampling = SamplingParams(stop=[*filter(None, each.stops)], skip_special_tokens=each.skip)
        sampling.normalize(tok)
        request = object.__new__(batches.Req)
        request.tokenizer, request.sampling_params, request.output_ids = tok, sampling, []
        request.decoded_text, request.finished_reason, request.finished_len = "", None, None
        pieces: list[str] = []
        steps = each.steps(tok.encode(each.answer, add_special_tokens=False), len(tok))
        before = ids[-5:]
        for place, step in enumerate(steps):
            request.output_ids += step
            is_stopped = request._check_str_based_finish(len(step))
            reason = request.finished_reason.to_json() if is_stopped else {} if place == len(steps) - 1 else None
            batch = SimpleNamespace(
                rids=[str(number)],
                decoded_texts=[""],
                decode_ids=[step if place else [*before, *step]],
                read_offsets=[len(before)],
                finished_reasons=[reason],
                no_stop_trim=[each.include],
                skip_special_tokens=[each.skip],
                spaces_between_special_tokens=[each.wide],
            )
            pieces += manager._decode_batch_token_id_output(batch)
            if is_stopped:
                break
        reason = request.finished_reason.to_json() if request.finished_reason else None
        answers.append((ids, pieces, reason, request.finished_len, sampling.stop_str_max_len))
    return tok, answers


def drawn(folder: Path, texts: list[str]) -> list[Request]:
    return [Request(seed, texts) for seed in range(REQUESTS // len(SOURCES))]


def count_stops(answers: list[Any]) -> int:
    """The requests that a stop string ended; a comparison needs many."""
    count = sum(each[2] is not None for each in answers)
    assert count > REQUESTS // len(SOURCES) // 10
    return count


def differing(theirs: list[Any], ours: list[Any]) -> list[Any]:
    assert len(theirs) == len(ours)
    return [pair for pair in zip(theirs, ours, strict=True) if pair[0] != pair[1]]


@needs_servers
def test_vllm_gives_equal_ids_texts_and_stops(folder: Path, texts: list[str], installed: None) -> None:
    from vllm.plugins import load_general_plugins

    requests = drawn(folder, texts)
    load_general_plugins()
    _, theirs = vllm_answers(folder, requests, "hf")
    assert not toksmith.restore().is_on
    tok, ours = vllm_answers(folder, requests, "toksmith")
    assert not differing(theirs, ours)[:1]
    assert_ran(folder.name, 2 * len(requests))
    print(f"\n| vLLM | {folder.name} | {len(requests):,} | {count_stops(theirs):,} |")
    del tok


@needs_servers
def test_sglang_gives_equal_ids_texts_and_stops(
    folder: Path, texts: list[str], installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sglang.srt.plugins import load_plugins

    requests = drawn(folder, texts)
    _, theirs = sglang_answers(folder, requests)
    monkeypatch.setenv("TOKSMITH_ACCELERATE", "1")
    load_plugins()
    tok, ours = sglang_answers(folder, requests)
    assert not differing(theirs, ours)[:1]
    assert_ran(folder.name, 2 * len(requests))
    print(f"\n| SGLang | {folder.name} | {len(requests):,} | {count_stops(theirs):,} |")
    del tok


@needs_servers
def test_the_variable_accelerates_every_mode_of_vllm(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import TokenizersBackend
    from vllm.plugins import load_general_plugins

    own = TokenizersBackend._encode_plus
    monkeypatch.setenv("TOKSMITH_ACCELERATE", "1")
    load_general_plugins()
    assert TokenizersBackend._encode_plus is not own


@needs_servers
def test_another_vllm_goes_on_without_the_mode(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from toksmith._accelerate.servers import register_vllm

    monkeypatch.setattr(logging.getLogger("toksmith"), "propagate", True)
    monkeypatch.setitem(sys.modules, "vllm.tokenizers.registry", ModuleType("vllm.tokenizers.registry"))
    register_vllm()
    (record,) = caplog.records
    assert record.getMessage().startswith("vllm 0.33.0 has no --tokenizer-mode toksmith: ImportError: ")


@needs_servers
@pytest.mark.parametrize("algorithm", ["sha256", "sha256_cbor"])
@pytest.mark.parametrize("seed", [{}, {"seed": "7"}])
def test_the_cut_points_of_a_conversation_are_the_block_hashes_of_vllm(
    algorithm: str, seed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import vllm
    from vllm.utils import hashing

    # Their module imports all of vLLM, which needs more than the requirements here.
    source = (Path(vllm.__file__).parent / "v1/core/kv_cache_utils.py").read_text("utf-8")
    names = {"resolve_none_hash_seed", "init_none_hash", "hash_block_tokens"}
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name in names]
    code = compile(ast.fix_missing_locations(ast.Module(functions, [])), source, "exec", annotations.compiler_flag)
    own: dict[str, Any] = {"os": os, "BlockHash": bytes, "_NON_CRYPTO_HASH_FUNCTIONS": set()}
    own["DEFAULT_NONE_HASH_SEED"] = re.findall(r'^DEFAULT_NONE_HASH_SEED = "(.*)"$', source, re.MULTILINE)[0]
    exec(code, own)
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    if seed:
        monkeypatch.setenv("PYTHONHASHSEED", seed["seed"])
    hash_of = getattr(hashing, algorithm)
    own["init_none_hash"](hash_of)
    talk = toksmith.train("low lower", 300, special_tokens=["<|im_start|>", "<|im_end|>"]).conversation("chatml")
    for number in range(40):
        talk.add("user", f"low {number} é 日本" * 3)
        ids, parent, expected = talk.ids.tolist(), None, []
        for end in range(16, len(ids) + 1, 16):
            parent = own["hash_block_tokens"](hash_of, parent, ids[end - 16 : end])
            expected.append((end, parent))
        assert talk.cut_points(16, algorithm=algorithm, **seed) == expected


def test_the_entry_points_exist_and_do_nothing_without_a_server() -> None:
    import toksmith._accelerate.servers as module

    text = (ROOT / "pyproject.toml").read_text("utf-8")
    names = {"vllm.general_plugins": "register_vllm", "sglang.srt.plugins": "register_sglang"}
    for group, name in names.items():
        assert f'[project.entry-points."{group}"]\ntoksmith = "{module.__name__}:{name}"\n' in text
        assert callable(getattr(module, name))
    code = "import sys; from toksmith._accelerate.servers import *; register_sglang(); register_vllm()"
    code += "; assert not {'torch', 'transformers', 'numpy'} & {*sys.modules}"
    blocked = "import sys; sys.modules['vllm'] = None; "
    env = {name: value for name, value in os.environ.items() if name != "TOKSMITH_ACCELERATE"}
    ran = subprocess.run([sys.executable, "-c", blocked + code], env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "vllm (not installed) has no --tokenizer-mode toksmith: ModuleNotFoundError" in ran.stderr
