"""A folder as a target: what `AutoTokenizer` makes of it, which settings it has, and what stays when it cannot be written."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from chat_templates import CHATML
from command_line import run
from hard_texts import HARD_TEXTS
from peers import imported_transformers, scalar
from trainings import trained, with_fields

import toksmith
from toksmith import Tokenizer, _formats
from toksmith.errors import CannotRepresent, FormatError, InvalidOption
from toksmith.types import AddedToken

TEXT = "low lower lowest slow it's 12 newer, hello world. The lower the newer. " * 3
CHAT = trained(TEXT, merges=30, pattern="llama3", special_tokens=["<|im_start|>", "<|im_end|>", "<|pad|>", "<|extra|>"])
TALK = [{"role": "system", "content": "low"}, {"role": "user", "content": "lower newer"}]
FILES = ["tokenizer.json", "tokenizer_config.json"]
GPT2, LLAMA3 = (
    {"eos_token": "<|endoftext|>"},
    {"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001, "<|eot_id|>": 128009},
)
BERT = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}

# What each tokenizer is made of, and the roles that its special tokens get.
TOKS: dict[str, tuple[Callable[[Path], Tokenizer], dict[str, str]]] = {
    "gpt2": (lambda folder: toksmith.load(folder / "encoder.json"), GPT2),
    "cl100k": (lambda folder: toksmith.load(folder / "cl100k_base.tiktoken"), GPT2),
    "llama3": (
        lambda folder: toksmith.load(folder / "llama3.tiktoken", pattern="llama3", special_tokens=LLAMA3),
        {"bos_token": "<|begin_of_text|>"},  # two tokens could end a text
    ),
    "SentencePiece": (
        lambda folder: toksmith.load(folder / "mistral_v1.model"),
        {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
    ),
    "WordPiece": (
        lambda _: toksmith.train([TEXT], 100, kind="wordpiece", special_tokens=["[CLS]", "[SEP]", "[PAD]", "[MASK]"]),
        BERT,
    ),
    "a tutorial's": (lambda _: toksmith.train(TEXT, 280, pattern=None, special_tokens=["<|endoftext|>"]), GPT2),
    "a chat model's": (lambda _: CHAT, {"eos_token": "<|im_end|>", "pad_token": "<|pad|>"}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", TOKS)
def test_auto_tokenizer_gives_the_ids_tokens_and_texts(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    make, roles = TOKS[name]
    of_files = name in ("gpt2", "cl100k", "llama3", "SentencePiece")
    tok = make(request.getfixturevalue("vocab_dir") if of_files else tmp_path)
    transformers = imported_transformers()
    tok.save(f"{tmp_path}/out/")
    fast = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "out"))
    assert fast.special_tokens_map == roles and {*fast.all_special_tokens} == {*tok.special_tokens}
    assert len(fast) == len(tok) == len(toksmith.load(tmp_path / "out"))
    for text in map(scalar, [*HARD_TEXTS.values(), " ".join(tok.special_tokens)]):
        ids = tok.encode(text, special="allow", add_special_tokens=True)
        assert fast.encode(text) == ids, text
        plain = tok.encode(text, special="text")
        if not {*plain} & {*tok.special_tokens.values()}:
            assert fast.decode(plain) == tok.decode(plain), text


def test_a_chat_template_and_limits_reach_transformers(tmp_path: Path) -> None:
    transformers = imported_transformers()
    (tmp_path / "t.jinja").write_text(CHATML, encoding="utf-8")
    settings = {
        "chat_template": tmp_path / "t.jinja",
        "model_max_length": 77,
        "pad_token": "<|extra|>",
        "eos_token": None,
    }
    report = toksmith.convert(CHAT, f"{tmp_path}/out/", settings=settings)
    assert report.notes == ("pad_token '<|extra|>'; no bos_token, eos_token",)
    toksmith.convert(tmp_path / "out", f"{tmp_path}/again/")  # the source's settings stay
    for folder in (tmp_path / "out", tmp_path / "again"):
        fast = transformers.AutoTokenizer.from_pretrained(str(folder))
        assert (fast.model_max_length, fast.pad_token, fast.eos_token) == (77, "<|extra|>", None)
        pytest.importorskip("jinja2", reason="lacks jinja2")
        found = CHAT.chat(TALK, template=folder, add_generation_prompt=True)
        options = {"tokenize": True, "add_generation_prompt": True, "return_dict": False}
        assert fast.apply_chat_template(TALK, **options) == found.ids.tolist()


def test_the_settings_of_a_model_folder_are_kept_if_every_class_reads_them(tmp_path: Path) -> None:
    source = tmp_path / "source"
    CHAT.save(f"{source}/")
    config = {"tokenizer_class": "LlamaTokenizer", "auto_map": {"AutoTokenizer": "x.Y"}, "add_bos_token": True}
    config |= {"bos_token": {"content": "<|extra|>", "lstrip": True}, "unk_token": "<gone>", "eos_token": None}
    (source / "tokenizer_config.json").write_text(json.dumps(config | {"padding_side": "left"}), encoding="utf-8")
    (source / "special_tokens_map.json").write_text('{"pad_token": "<|im_end|>"}', encoding="utf-8")
    (source / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    for place in (source, source / "tokenizer.json"):
        report = toksmith.convert(place, tmp_path / f"of {place.name}/", to_format="transformers")
        written = json.loads((tmp_path / f"of {place.name}" / "tokenizer_config.json").read_text(encoding="utf-8"))
        assert report.notes[0] == "unk_token: '<gone>' is not in the vocabulary, and is left out"
        assert written == {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": False,
            "bos_token": "<|extra|>",
            "eos_token": None,
            "pad_token": "<|im_end|>",
            "padding_side": "left",
            "chat_template": "{{ messages }}",
            "model_input_names": ["input_ids", "attention_mask"],
            "additional_special_tokens": ["<|im_start|>", "<|pad|>"],
        }
    CHAT.save(source / "other.toksmith")  # whose settings these are not
    assert "bos_token" in toksmith.convert(source / "other.toksmith", f"{tmp_path}/other/").notes[0].partition("no ")[2]


def test_a_gguf_file_gives_its_roles_and_its_template(tmp_path: Path) -> None:
    ids = CHAT.special_tokens
    values = {"tokenizer.chat_template": "{{ messages }}", "tokenizer.ggml.bos_token_id": ids["<|extra|>"]}
    values["tokenizer.ggml.padding_token_id"] = ids["<|im_start|>"]
    with_fields(CHAT, metadata={"gguf": json.dumps(values)}).save(f"{tmp_path}/out/")
    written = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text(encoding="utf-8"))
    roles = {"bos_token": "<|extra|>", "eos_token": "<|im_end|>", "pad_token": "<|im_start|>"}
    assert written.items() >= (roles | {"chat_template": "{{ messages }}"}).items()
    more = with_fields(CHAT, metadata={"gguf": json.dumps({"tokenizer.ggml.eot_token_id": 1})})
    with pytest.raises(CannotRepresent, match=r"metadata: .*eot_token_id; allow_loss=\['metadata'\]"):
        more.save(tmp_path / "out")
    more.save(tmp_path / "out", allow_loss=["metadata"])
    assert toksmith.load(tmp_path / "out", format="transformers") == CHAT


def test_save_and_convert_write_the_same_and_leave_other_files(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "config.json").write_bytes(b"{}")
    contents = []
    for write in (
        lambda: CHAT.save(tmp_path / "out"),
        lambda: toksmith.convert(CHAT, f"{tmp_path}/out/"),
    ):
        write()
        contents.append([(tmp_path / "out" / name).read_bytes() for name in FILES])
    assert contents[0] == contents[1]
    assert sorted(os.listdir(tmp_path / "out")) == ["config.json", *FILES]
    assert toksmith.convert(CHAT, tmp_path / "out").notes[-1] == "replaced tokenizer.json and tokenizer_config.json"


def refuse(tmp_path: Path, name: str) -> Path:
    """A folder that cannot be written."""
    if name == "a file":
        (tmp_path / "out").write_bytes(b"text")
    elif name == "a link to nothing":
        (tmp_path / "out").symlink_to(tmp_path / "none" / "none")
    elif name.endswith((".json", ".jinja")):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / name).write_bytes(b"{}")
    return tmp_path / ("no folder/out" if name == "no parent" else "out")


REFUSED = {
    "a file": "it is a file; a folder is expected",
    "a link to nothing": "cannot be written",
    "no parent": "there is no folder .*; make it first",
    "special_tokens_map.json": "would mix with the new files; move it away",
    "chat_template.jinja": "would mix with the new files; move it away",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_folder_that_cannot_be_written_stays_as_it_is(name: str, tmp_path: Path) -> None:
    target = refuse(tmp_path, name)
    before = sorted(tmp_path.rglob("*"))
    for call in (lambda: CHAT.save(f"{target}/"), lambda: toksmith.convert(CHAT, f"{target}/")):
        with pytest.raises(FormatError, match=REFUSED[name]) as caught:
            call()
        assert caught.value.path.startswith(str(target))
    assert sorted(tmp_path.rglob("*")) == before


def test_nothing_is_written_for_a_model_or_a_setting_that_the_folder_cannot_hold(tmp_path: Path) -> None:
    for kind in ("chars", "unigram"):
        with pytest.raises(CannotRepresent, match="the format 'transformers' cannot hold") as caught:
            toksmith.train([TEXT], **({} if kind == "chars" else {"vocab_size": 60}), kind=kind).save(
                f"{tmp_path}/out/"
            )
        assert caught.value.format == "transformers"
    with pytest.raises(InvalidOption, match="eos_token='<no>' is not possible; expected a token of the vocabulary"):
        toksmith.convert(CHAT, f"{tmp_path}/out/", settings={"eos_token": "<no>"})
    with pytest.raises(FormatError, match=r"none\.jinja: cannot be read"):
        toksmith.convert(CHAT, f"{tmp_path}/out/", settings={"chat_template": "none.jinja"})
    with pytest.raises(InvalidOption, match=r"settings=.*: the format 'tiktoken' has none"):
        toksmith.convert(CHAT, tmp_path / "a.tiktoken", settings={"eos_token": "<|im_end|>"})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_new_folder_goes_if_its_files_cannot_be_written(
    stop: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise stop

    monkeypatch.setattr(_formats, "write_files", fail)
    with pytest.raises(type(stop)):
        CHAT.save(f"{tmp_path}/out/")
    assert not list(tmp_path.iterdir())
    (tmp_path / "out").mkdir()
    with pytest.raises(type(stop)):
        CHAT.save(f"{tmp_path}/out/")
    assert (tmp_path / "out").is_dir()


def test_an_empty_name_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for write in (lambda: CHAT.save(""), lambda: toksmith.convert(CHAT, "")):
        with pytest.raises(FormatError, match="does not show the format"):
            write()
    assert run("train", "--text", TEXT, "--merges", "2", "-o", "").exit_code == 1
    assert not list(tmp_path.iterdir())


def test_only_special_tokens_get_a_role() -> None:
    tok = with_fields(CHAT, added_tokens=(*CHAT.model.added_tokens, AddedToken("<s>", CHAT.vocab_size, special=False)))
    config = json.loads(_formats.FORMATS["transformers"].save(tok.model)[1])
    assert "bos_token" not in config and "<s>" not in config["additional_special_tokens"]


# The shell


@pytest.mark.slow
def test_the_shell_converts_and_transformers_itself_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported_transformers()
    # transformers requires a newer `regex` than the pinned one, but runs with it.
    (tmp_path / "path" / "regex-9999.dist-info").mkdir(parents=True)
    (tmp_path / "path" / "regex-9999.dist-info" / "METADATA").write_text("Name: regex\nVersion: 9999.1\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    CHAT.save(tmp_path / "a.toksmith")
    options = ["--setting", "model_max_length=1024", "--setting", "eos_token=<|extra|>"]
    result = run("convert", tmp_path / "a.toksmith", f"{tmp_path}/out/", *options)
    assert result.exit_code == 0, result.stderr
    assert "eos_token '<|extra|>', pad_token '<|pad|>'; no bos_token, chat_template\n" in result.stdout
    assert "\ntransformers 5." in result.stdout and result.stdout.count("30 documents, all ids equal") == 2
    assert json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())["model_max_length"] == 1024


@pytest.mark.parametrize("command", ["train", "extend", "prune"])
@pytest.mark.parametrize(
    ("name", "problem"),
    [("m.model", "fits sentencepiece and minbpe; .*give --to"), ("new", "does not show the format")],
)
def test_an_unclear_name_is_refused_before_the_work(
    command: str, name: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(toksmith, command)
    CHAT.save(tmp_path / "a.toksmith")
    options = (
        ["--merges", "2"]
        if command == "train"
        else ["-t", tmp_path / "a.toksmith", "--add", "2"][: 4 - 2 * (command == "prune")]
    )
    result = run(command, "--text", TEXT, *options, "-o", tmp_path / name)
    assert result.exit_code == 1 and result.stdout == ""
    assert re.search(problem, result.stderr), result.stderr


def test_training_saves_a_folder(tmp_path: Path) -> None:
    for target in (f"{tmp_path}/new/", f"{tmp_path}/new"):  # the second exists
        assert run("train", "--text", TEXT, "--merges", "2", "-o", target).exit_code == 0
        assert sorted(os.listdir(tmp_path / "new")) == FILES
    result = run("train", "--text", TEXT, "--kind", "chars", "-o", f"{tmp_path}/new")
    assert result.exit_code == 1 and f"saved in {tmp_path}/new/trained.toksmith" in result.stderr
    assert toksmith.load(tmp_path / "new" / "trained.toksmith").model.kind == "chars"
