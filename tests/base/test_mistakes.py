"""The most likely mistakes, in the shell and in Python, and the message that each of them gets.

Each message says where, what was expected and what to do. `{here}` is the folder of the files.
"""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import toksmith
from toksmith import _cli
from toksmith._cli import meant

# Command, exit code, message. An exit code of 2 is wrong usage; such a message ends in the place of help.
SHELL = [
    ("tokenise text.txt", 2, "there is no command 'tokenise'; did you mean tokenize or encode? (see toksmith --help)"),
    ("coutn text.txt", 2, "there is no command 'coutn'; did you mean count? (see toksmith --help)"),
    ("detokenize ids", 2, "there is no command 'detokenize'; did you mean decode? (see toksmith --help)"),
    (
        "text.txt",
        2,
        "there is no command 'text.txt'; a file follows a command, such as: toksmith count FILE -t gpt2 (see toksmith --help)",
    ),
    (
        "count text.txt",
        2,
        "--tokenizer is missing; expected a published name (see 'encodings'), a tokenizer file, a model (gpt-4o) or org/name, or set TOKSMITH_TOKENIZER (see toksmith count --help)",
    ),
    (
        "--debug count text.txt",
        2,
        "there is no option --debug; options follow the command: toksmith COMMAND --debug (see toksmith --help)",
    ),
    (
        "-t tok.toksmith count text.txt",
        2,
        "there is no option -t; options follow the command: toksmith COMMAND -t (see toksmith --help)",
    ),
    ("-v", 2, "there is no option -v; did you mean -V? (see toksmith --help)"),
    ("--nope", 2, "there is no option --nope (see toksmith --help)"),
    ("count missing.txt -t tok.toksmith", 1, "missing.txt: No such file or directory"),
    (
        "count tok.toksmith text.txt",
        2,
        "--tokenizer is missing; expected a published name (see 'encodings'), a tokenizer file, a model (gpt-4o) or org/name, or set TOKSMITH_TOKENIZER; did you mean -t tok.toksmith? (see toksmith count --help)",
    ),
    (
        "count gpt2 text.txt",
        2,
        "--tokenizer is missing; expected a published name (see 'encodings'), a tokenizer file, a model (gpt-4o) or org/name, or set TOKSMITH_TOKENIZER; did you mean -t gpt2? (see toksmith count --help)",
    ),
    (
        "doctor tok.toksmith",
        2,
        "--tokenizer is missing; expected a published name (see 'encodings'), a tokenizer file, a model (gpt-4o) or org/name, or set TOKSMITH_TOKENIZER; did you mean -t tok.toksmith? (see toksmith doctor --help)",
    ),
    (
        "explain tok.toksmith",
        2,
        "--tokenizer is missing; expected a published name (see 'encodings'), a tokenizer file, a model (gpt-4o) or org/name, or set TOKSMITH_TOKENIZER; did you mean -t tok.toksmith? (see toksmith explain --help)",
    ),
    (
        "count -t text.txt tok.toksmith",
        1,
        "text.txt: starts with b'low lower lowest <|e', which matches no known format of tokenizers; expected such a file ('toksmith formats' lists all); did you mean -t tok.toksmith?",
    ),
    (
        "count - - -t tok.toksmith",
        2,
        "FILE: '-' is given twice, but stdin can be read only once (see toksmith count --help)",
    ),
    (
        "train - - --merges 3 -o x.toksmith",
        2,
        "FILE: '-' is given twice, but stdin can be read only once (see toksmith train --help)",
    ),
    (
        "count '' -t tok.toksmith",
        2,
        "FILE: the name of a file is empty; give a file, or '-' for stdin (see toksmith count --help)",
    ),
    (
        "count text.txt -t tok.toksmith -t tok.tiktoken",
        2,
        "--tokenizer is given twice; 'compare' takes several (see toksmith count --help)",
    ),
    (
        "count text.txt -t owner/model-7b",
        1,
        "https://huggingface.co/owner/model-7b: the cache of the hub holds no tokenizer of it, and HF_HUB_OFFLINE forbids the network",
    ),
    (
        "count text.txt -t https://host/tok.json",
        1,
        "https://host/tok.json: No such file or directory; -t takes a file of this machine: download it first",
    ),
    ("show good.jsonl -t tok.toksmith --row -1", 2, "--row: expected at least 0, not -1 (see toksmith show --help)"),
    ("decode 104 -t tok.toksmith", 1, "104: No such file or directory; ids are read from stdin or a file"),
    (
        "train 300 text.txt -o x.toksmith",
        1,
        "300: No such file or directory; for the size of the vocabulary write --vocab-size 300",
    ),
    (
        "train text.txt --vocab-size 32k -o x.toksmith",
        2,
        "--vocab-size: expected a whole number, not '32k'; write 32000 (see toksmith train --help)",
    ),
    (
        "train text.txt --vocab-size 32,000 -o x.toksmith",
        2,
        "--vocab-size: expected a whole number, not '32,000'; write 32000 (see toksmith train --help)",
    ),
    (
        "explain -t tok.tiktoken --pattern gpt2 --id 257 --history",
        2,
        "--tokenizer: expected a tokenizer that 'toksmith train --kind bpe' made; this one has no record of its merges (see toksmith explain --help)",
    ),
    (
        "compare text.txt -t tok.toksmith -t tok.toksmith",
        2,
        "--tokenizer: give two or more different tokenizers, such as -t gpt2 -t o200k_base (see toksmith compare --help)",
    ),
    ("parity en= -t tok.toksmith", 2, "FILE: expected NAME=FILE or FILE, not 'en=' (see toksmith parity --help)"),
    (
        "parity =text.txt -t tok.toksmith",
        2,
        "FILE: expected NAME=FILE or FILE, not '=text.txt' (see toksmith parity --help)",
    ),
    (
        "parity en=rows.jsonl -t tok.toksmith",
        1,
        "rows.jsonl: document 1: has no text in the field 'text', which is missing; rename the field",
    ),
    ("count txt.txt -t tok.toksmith", 1, "txt.txt: No such file or directory; did you mean 'text.txt'?"),
    ("count TEXT.txt -t tok.toksmith", 1, "TEXT.txt: No such file or directory; did you mean 'text.txt'?"),
    (
        "train text/1.txt --merges 3 -o x.toksmith",
        1,
        "text/1.txt: No such file or directory; there is no folder 'text'",
    ),
    (
        "count text.txt -t tok.toksmit",
        1,
        "tok.toksmit: No such file or directory; did you mean tok.toksmith?",
    ),
    (
        "count text.txt tok.toksmith",
        2,
        "--tokenizer is missing; expected a published name (see 'encodings'), a tokenizer file, a model (gpt-4o) or org/name, or set TOKSMITH_TOKENIZER; did you mean -t tok.toksmith? (see toksmith count --help)",
    ),
    (
        "count -t cl100k text.txt",
        2,
        "--tokenizer: there is no tokenizer or file named 'cl100k'; did you mean cl100k_base? (see toksmith count --help)",
    ),
    (
        "count -t gpt4 text.txt",
        2,
        "--tokenizer: there is no tokenizer or file named 'gpt4'; did you mean cl100k_base? (see toksmith count --help)",
    ),
    (
        "count -t GPT-4 text.txt",
        2,
        "--tokenizer: there is no tokenizer or file named 'GPT-4'; did you mean cl100k_base? (see toksmith count --help)",
    ),
    (
        "count -t cl100k text.txt",
        2,
        "--tokenizer: there is no tokenizer or file named 'cl100k'; did you mean cl100k_base? (see toksmith count --help)",
    ),
    ("count -t gpt2.json text.txt", 1, "gpt2.json: No such file or directory; did you mean gpt2?"),
    ("count -t missing.json text.txt", 1, "missing.json: No such file or directory"),
    (
        "count -t ./no/such text.txt",
        1,
        "./no/such: No such file or directory",
    ),
    (
        "play gtp2",
        2,
        "TOKENIZER: there is no tokenizer or file named 'gtp2'; did you mean gpt2? (see toksmith play --help)",
    ),
    (
        "tour text.txt -t gtp2",
        2,
        "--tokenizer: there is no tokenizer or file named 'gtp2'; did you mean gpt2? (see toksmith tour --help)",
    ),
    (
        "convert gtp2 x.toksmith",
        2,
        "SOURCE: there is no tokenizer or file named 'gtp2'; did you mean gpt2? (see toksmith convert --help)",
    ),
    (
        "tokenize text.txt -t gtp2 -o out",
        2,
        "--tokenizer: there is no tokenizer or file named 'gtp2'; did you mean gpt2? (see toksmith tokenize --help)",
    ),
    (
        "count -t folder text.txt",
        1,
        "folder: the folder holds no file of a tokenizer; expected one such as tokenizer.json, vocab.json, NAME.toksmith, NAME.tiktoken or NAME.model ('toksmith formats' lists all)",
    ),
    (
        "count -t tok.tiktoken text.txt",
        2,
        "--pattern is missing; expected the split pattern that the ranks were trained with: a name such as gpt2, cl100k or o200k, a regex, a list of them, or none for no split; tok.tiktoken does not contain it (see toksmith count --help)",
    ),
    (
        "count -t tok.tiktoken --pattern gpt4 text.txt",
        2,
        "--pattern: there is no pattern named 'gpt4'; did you mean cl100k? (see toksmith count --help)",
    ),
    (
        "count -t tok.tiktoken --pattern '(' text.txt",
        2,
        "--pattern: expected a regex in the Rust dialect (Parsing error at position 1: Opening parenthesis without closing parenthesis), not '(' (see toksmith count --help)",
    ),
    (
        "count -t a.zip text.txt",
        1,
        "a.zip: starts with b'PK\\x03\\x04xx', which matches no known format of tokenizers; expected such a file ('toksmith formats' lists all)",
    ),
    ("count -t x.json text.txt", 1, "'l' is not in the vocabulary (offset 0)"),
    (
        "count -t empty.txt text.txt",
        1,
        "empty.txt: is empty, which matches no known format of tokenizers; expected such a file ('toksmith formats' lists all)",
    ),
    (
        "count folder -t tok.toksmith",
        1,
        "folder: the folder contains no file ending in .parquet, .arrow, .txt or .jsonl (which may be packed: .gz, .zst)",
    ),
    ("count folder -t tok.toksmith --raw", 1, "folder: Is a directory"),
    (
        "encode p.png -t tok.toksmith",
        1,
        "p.png: a file ending in .png is not text; expected text, .jsonl, .parquet or .arrow; extract its text first, or read its bytes with --raw",
    ),
    (
        "tokenize p.png -t tok.toksmith -o out",
        1,
        "p.png: a file ending in .png is not text; expected text, .jsonl, .parquet or .arrow; extract its text first",
    ),
    ("show texts -t tok.toksmith", 1, "texts: holds several documents; name a file that holds one"),
    (
        "count rows.jsonl -t tok.toksmith",
        1,
        "rows.jsonl: document 1: has no text in the field 'text', which is missing; name the field with --field",
    ),
    (
        "count good.jsonl -t tok.toksmith --field body",
        1,
        "good.jsonl: document 0: has no text in the field 'body', which is missing; name the field with --field",
    ),
    (
        "count text.txt --text x -t tok.toksmith",
        2,
        "--text: give a file or a text, not both (see toksmith count --help)",
    ),
    ("count '*.nothing' -t tok.toksmith", 1, "*.nothing: No such file or directory"),
    ("count --vocab 3 text.txt -t tok.toksmith", 2, "there is no option --vocab (see toksmith count --help)"),
    ("count -t", 2, "-t needs a value (see toksmith count --help)"),
    ("count a.txt -t", 2, "-t needs a value (see toksmith count --help)"),
    ("encode --field", 2, "--field needs a value (see toksmith encode --help)"),
    ("count a.parquet -t tok.toksmith", 1, "a.parquet: No such file or directory"),
    (
        "encode text.txt -t tok.toksmith",
        1,
        "the text holds the special token '<|end|>' at byte 17; --special text encodes it as ordinary text, --special allow turns it into its id",
    ),
    (
        "encode text.txt -t tok.toksmith --special allowed",
        2,
        "--special: expected raise, allow or text, not 'allowed' (see toksmith encode --help)",
    ),
    ("encode text.txt -t tok.toksmith --append x", 2, "--append requires -o (see toksmith encode --help)"),
    (
        "encode text.txt -t tok.toksmith -o ids.bin --special text",
        2,
        "--output: expected a name that ends in .npy, not 'ids.bin' (see toksmith encode --help)",
    ),
    (
        "encode text.txt -t tok.toksmith -o nofolder/ids.npy --special text",
        1,
        "nofolder/ids.npy: cannot be written: there is no folder '{here}/nofolder'; make it first",
    ),
    (
        "encode text.txt -t tok.toksmith -o ids.npy --append '<|endoftext|>' --special text",
        2,
        "--append: there is no special token named '<|endoftext|>'; did you mean <|end|>? (see toksmith encode --help)",
    ),
    (
        "encode text.txt -t tok.toksmith -o ids.npy --dtype int64 --special text",
        2,
        "--dtype: expected auto, uint16 or uint32, not 'int64' (see toksmith encode --help)",
    ),
    (
        "encode text.txt -t tok.toksmith --threads 0",
        2,
        "--threads: expected from 1 to 65536, or leave it out for all processors, not 0 (see toksmith encode --help)",
    ),
    (
        "encode text.txt -t tok.toksmith --threads many",
        2,
        "--threads: expected a whole number, not 'many' (see toksmith encode --help)",
    ),
    (
        "encode --model tok.toksmith text.txt",
        2,
        "there is no option --model; did you mean --tokenizer? (see toksmith encode --help)",
    ),
    ("encode --seed 1 -t tok.toksmith", 2, "there is no option --seed (see toksmith encode --help)"),
    (
        "--json",
        2,
        "there is no option --json; options follow the command: toksmith COMMAND --json (see toksmith --help)",
    ),
    (
        "convert tok.toksmith x.out --to nope",
        2,
        "--to: there is no format named 'nope'; 'toksmith formats' lists them (see toksmith convert --help)",
    ),
    ("decode text.txt -t tok.toksmith", 1, "text.txt:1: 'low' is not an id; expected integers or JSON"),
    ("decode missing -t tok.toksmith", 1, "missing: No such file or directory"),
    ("decode -t tok.toksmith text.txt text.txt", 2, "too many arguments: text.txt (see toksmith decode --help)"),
    ("show good.jsonl -t tok.toksmith", 1, "good.jsonl: has 2 rows; choose one with --row N, or its bytes with --raw"),
    ("tour good.jsonl", 1, "good.jsonl: has 2 rows; choose one with --row N, or its bytes with --raw"),
    (
        "tour rows.jsonl --row 1",
        1,
        "rows.jsonl: document 1: has no text in the field 'text', which is missing; name the field with --field",
    ),
    ("explain steps empty.txt", 1, "empty.txt: expected 1 to 4,096 bytes"),
    ("explain steps --text ''", 2, "--text: expected 1 to 4,096 bytes (see toksmith explain-steps --help)"),
    (
        "explain -t tok.toksmith --text low --svg x.png",
        2,
        "--svg: expected a name that ends in .svg, not 'x.png' (see toksmith explain --help)",
    ),
    ("explain steps good.jsonl", 1, "good.jsonl: has 2 rows; choose one with --row N, or its bytes with --raw"),
    (
        "explain steps good.jsonl --row 0 --field body",
        1,
        "good.jsonl: document 0: has no text in the field 'body', which is missing; name the field with --field",
    ),
    ("show good.jsonl -t tok.toksmith --row 7", 1, "good.jsonl: has 2 rows; row 7 was asked for, counted from 0"),
    (
        "show text.txt --row 0 -t tok.toksmith",
        2,
        "--row needs a file of rows, such as .jsonl or .parquet (see toksmith show --help)",
    ),
    (
        "show -t tok.toksmith -t tok.toksmith --text x",
        2,
        "-t: several tokenizers require --html; see also 'compare' (see toksmith show --help)",
    ),
    (
        "show -t tok.toksmith --text x --html nofolder/x.html",
        1,
        "nofolder/x.html: cannot be written: there is no folder '{here}/nofolder'; make it first",
    ),
    ("explain -t tok.toksmith --id 1000", 1, "id 1000 is out of range; ids lie in [0, 260)"),
    ("explain -t tok.toksmith --id low", 2, "--id: expected a whole number, not 'low' (see toksmith explain --help)"),
    ("explain -t tok.toksmith --id 1 --text x", 2, "--id cannot be combined with a text (see toksmith explain --help)"),
    (
        "compare -t tok.toksmith --text x",
        2,
        "--tokenizer: give two or more different tokenizers, such as -t gpt2 -t o200k_base (see toksmith compare --help)",
    ),
    (
        "train text.txt",
        2,
        "-o is missing; give a file for the tokenizer, or --show-merges or --json (see toksmith train --help)",
    ),
    (
        "train text.txt --vocab 300 -o x.toksmith",
        2,
        "there is no option --vocab; did you mean --vocab-size? (see toksmith train --help)",
    ),
    (
        "train text.txt --vocab-size 300 --merges 3 -o x.toksmith",
        2,
        "--merges: expected no value when --vocab-size is given, not 3 (see toksmith train --help)",
    ),
    (
        "train text.txt --vocab-size 10 -o x.toksmith",
        2,
        "--vocab-size: expected at least 256: the alphabet has 256, and there are 0 special tokens, not 10 (see toksmith train --help)",
    ),
    (
        "train text.txt --merges -1 -o x.toksmith",
        2,
        "--merges: expected at least 0 and at most 8388608, not -1 (see toksmith train --help)",
    ),
    (
        "train empty.txt --merges 3 -o x.toksmith",
        1,
        "the corpus is empty: 1 document without a byte; expected text to learn from",
    ),
    ("train missing.txt --merges 3 -o x.toksmith", 1, "missing.txt: No such file or directory"),
    ("train '*.nothing' --merges 3 -o x.toksmith", 1, "*.nothing: No such file or directory"),
    ("measure 'data[1].txt' -t tok.toksmith", 1, "data[1].txt: No such file or directory"),
    ("encode 'data/*.txt' -t tok.toksmith", 1, "data/*.txt: No such file or directory; there is no folder 'data'"),
    (
        "encode 'data/*.txt' -t tok.toksmith -o ids.npy",
        1,
        "data/*.txt: No such file or directory; there is no folder 'data'",
    ),
    (
        "tokenize 'data/*.txt' -t tok.toksmith -o out",
        1,
        "data/*.txt: No such file or directory; there is no folder 'data'",
    ),
    ("count-pieces 'data/*.txt' -o counts.tsv", 1, "data/*.txt: No such file or directory; there is no folder 'data'"),
    (
        "train text.txt --merges 3 -o x",
        1,
        "x: the file name does not show the format; end it in .toksmith, or give --to ('toksmith formats' lists all)",
    ),
    (
        "train text.txt --merges 3 -o x.zip",
        1,
        "x.zip: the file name does not show the format; end it in .toksmith, or give --to ('toksmith formats' lists all)",
    ),
    (
        "train text.txt --merges 3 -o x.json",
        1,
        "x.json: the file name does not show the format; end it in .toksmith, or give --to ('toksmith formats' lists all)",
    ),
    ("train text.txt --merges 3 -o folder", 1, "folder: Is a directory"),
    (
        "train text.txt --merges 3 -o nofolder/x.toksmith",
        1,
        "nofolder/x.toksmith: cannot be written: there is no folder 'nofolder'; make it first",
    ),
    (
        "train text.txt --merges 3 -o x.toksmith --checkpoint nofolder/c",
        1,
        "nofolder/c: the checkpoint cannot be written: there is no folder '{here}/nofolder'; make it first; nothing was learned yet",
    ),
    (
        "train text.txt --merges 3 -o x.out --to spm",
        2,
        "--to: there is no format named 'spm'; did you mean sentencepiece? (see toksmith train --help)",
    ),
    (
        "train text.txt --merges 3 -o x.out --to huggingface",
        2,
        "--to: there is no format named 'huggingface'; did you mean tokenizer_json? (see toksmith train --help)",
    ),
    (
        "train text.txt --kind bpee --merges 3 -o x.toksmith",
        2,
        "--kind: expected bpe, unigram, wordpiece, chars or words, not 'bpee' (see toksmith train --help)",
    ),
    (
        "train text.txt --kind unigram -o x.toksmith",
        2,
        "--vocab-size: expected a number of tokens for --kind unigram (see toksmith train --help)",
    ),
    (
        "train text.txt --kind words --byte-fallback -o x.toksmith",
        2,
        "--byte-fallback: expected the default, False: --kind words does not take this option, only --kind bpe --unit char and --kind unigram do (see toksmith train --help)",
    ),
    (
        "train text.txt --unit character --merges 3 -o x.toksmith",
        2,
        "--unit: expected byte or char, not 'character' (see toksmith train --help)",
    ),
    (
        "train text.txt --pattern gpt4 --merges 3 -o x.toksmith",
        2,
        "--pattern: there is no pattern named 'gpt4'; did you mean cl100k? (see toksmith train --help)",
    ),
    (
        "train text.txt --pattern '(' --merges 3 -o x.toksmith",
        2,
        "--pattern: expected a regex in the Rust dialect (Parsing error at position 1: Opening parenthesis without closing parenthesis), not '(' (see toksmith train --help)",
    ),
    (
        "train text.txt --ties random --merges 3 -o x.toksmith",
        2,
        "--ties: expected lowest_ids or first_seen, not 'random' (see toksmith train --help)",
    ),
    (
        "train text.txt --special-token '' --merges 3 -o x.toksmith",
        2,
        "--special-token: expected contents of 1 to 1024 characters, not '' (see toksmith train --help)",
    ),
    (
        "train text.txt --special-token a --special-token a --merges 3 -o x.toksmith",
        2,
        "--special-token: expected contents that are listed once, not 'a' (see toksmith train --help)",
    ),
    (
        "train text.txt --max-memory 3X --merges 3 -o x.toksmith",
        2,
        "--max-memory: '3X' is not a size such as 512M or 4G (see toksmith train --help)",
    ),
    (
        "train text.txt --sweep 300,400 -o x.toksmith",
        2,
        "--sweep requires --held-out, the text to compare the sizes on (see toksmith train --help)",
    ),
    (
        "train text.txt --sweep a,b --held-out empty.txt",
        2,
        "--sweep: 'a,b' is not a list of sizes such as 8000,16000,32000 (see toksmith train --help)",
    ),
    ("train --from-counts missing.parquet --merges 3 -o x.toksmith", 1, "missing.parquet: No such file or directory"),
    (
        "train --from-counts text.txt --merges 3 -o x.toksmith",
        1,
        "text.txt: the suffix names no format; expected one of .parquet, .tsv",
    ),
    (
        "train text.txt --base missing --merges 3 -o x.toksmith",
        2,
        "--base: there is no tokenizer or file named 'missing'; 'toksmith encodings' lists the names (see toksmith train --help)",
    ),
    (
        "train text.txt --character-coverage 2 --unit char --merges 3 -o x.toksmith",
        2,
        "--character-coverage: expected above 0 and at most 1, not 2.0 (see toksmith train --help)",
    ),
    (
        "train text.txt --digits 4 --merges 3 -o x.toksmith",
        2,
        "--digits: expected none, 1, 3 or 3_right, not '4' (see toksmith train --help)",
    ),
    ("convert tok.toksmith", 2, "TARGET is missing; expected the file to write (see toksmith convert --help)"),
    (
        "convert tok.toksmith x.unknown",
        1,
        "x.unknown: the file name does not show the format; give --to, or a name that ends in .toksmith, tokenizer.json, .tiktoken, .model or .gguf ('toksmith formats' lists all)",
    ),
    (
        "convert missing.json x.toksmith",
        1,
        "missing.json: No such file or directory",
    ),
    (
        "convert tok.toksmith y.out --to hf",
        2,
        "--to: there is no format named 'hf'; did you mean tokenizer_json? (see toksmith convert --help)",
    ),
    (
        "convert text.txt y.toksmith",
        1,
        "text.txt: starts with b'low lower lowest <|e', which matches no known format of tokenizers; expected such a file, or choose its format with --from ('toksmith formats' lists all)",
    ),
    (
        "convert tok.tiktoken y.toksmith",
        2,
        "--pattern is missing; expected the split pattern that the ranks were trained with: a name such as gpt2, cl100k or o200k, a regex, a list of them, or none for no split; tok.tiktoken does not contain it (see toksmith convert --help)",
    ),
    (
        "convert char.toksmith y.tiktoken",
        1,
        "y.tiktoken: the format 'tiktoken' cannot hold scores: the format has no field for it; choose another format ('toksmith formats' lists all), or leave out what --allow-loss names",
    ),
    (
        "convert tok.toksmith y.tiktoken --allow-loss everything",
        2,
        "--allow-loss: expected names of added_tokens, decoders, metadata, normalizers, post, scores, splitters, not 'everything' (see toksmith convert --help)",
    ),
    (
        "convert tok.toksmith y.toksmith --from tiktokn",
        2,
        "--from: there is no format named 'tiktokn'; did you mean tiktoken or tekken? (see toksmith convert --help)",
    ),
    (
        "parity en=text.txt en=text.txt -t tok.toksmith",
        2,
        "FILE: 'en' is given twice; write NAME=FILE (see toksmith parity --help)",
    ),
    ("parity en=missing.txt ko=text.txt -t tok.toksmith", 1, "missing.txt: No such file or directory"),
    (
        "parity text.txt empty.txt -t tok.toksmith --reference de",
        2,
        "--reference: expected one of the languages text, empty, not 'de' (see toksmith parity --help)",
    ),
    ("doctor -t tok.toksmith --embeddings missing.safetensors", 1, "missing.safetensors: No such file or directory"),
    (
        "count-pieces text.txt -o counts.json",
        2,
        "--output: 'counts.json' is neither a file .parquet or .tsv nor a folder; write DIR/ for a job of shards (see toksmith count-pieces --help)",
    ),
    (
        "count-pieces text.txt -o counts.tsv --start x",
        2,
        "--start: 'x' is not DOCUMENT or DOCUMENT:BYTE (see toksmith count-pieces --help)",
    ),
    (
        "count-pieces text.txt",
        2,
        "--output is missing; expected a file for the counts, .parquet or .tsv (see toksmith count-pieces --help)",
    ),
    ("merge-counts missing.tsv -o c.tsv", 1, "missing.tsv: No such file or directory"),
    (
        "tokenize text.txt -t tok.toksmith -o out --to megatron-lm",
        2,
        "--to: there is no format of files of ids named 'megatron-lm'; did you mean megatron? (see toksmith tokenize --help)",
    ),
    (
        "tokenize text.txt -t tok.toksmith -o out --to csv",
        2,
        "--to: there is no format of files of ids named 'csv'; expected one of npy, megatron, nanogpt, llmc, datatrove, … (see toksmith tokenize --help)",
    ),
    (
        "tokenize text.txt -o out",
        2,
        "--tokenizer is missing; expected a published name or a tokenizer file (see toksmith tokenize --help)",
    ),
    (
        "tokenize -t tok.toksmith -o out",
        2,
        "FILE is missing; expected files, folders or URLs of texts (see toksmith tokenize --help)",
    ),
    (
        "tokenize text.txt -t tok.toksmith -o no/out",
        1,
        "no/out: cannot be written: there is no folder '{here}/no'; make it first",
    ),
    (
        "tokenize text.txt -t tok.toksmith -o out --append eos",
        2,
        "--append: there is no special token named 'eos'; did you mean <|end|>? (see toksmith tokenize --help)",
    ),
    (
        "tokenize text.txt -t tok.toksmith -o out --shard-size big",
        2,
        "--shard-size: 'big' is not a size such as 512M or 4G (see toksmith tokenize --help)",
    ),
    (
        "tokenize text.txt -t tok.toksmith -o out --pack best-fit",
        2,
        "--pack: expected no value, or --to parquet or --to hf or --to mds, which have room for seq_lengths, not 'best-fit' (see toksmith tokenize --help)",
    ),
    (
        "tokenize text.txt -t tok.toksmith -o out --part 3/2",
        2,
        "--part: expected I from 0 to 1, not '3/2' (see toksmith tokenize --help)",
    ),
    (
        "tokenize text.txt -t tok.toksmith -o out --run slurm",
        2,
        "--run: there is no runner named 'slurm'; did you mean local or ray? (see toksmith tokenize --help)",
    ),
    (
        "tokenize text.txt -t tok.toksmith -o out --dtype float",
        2,
        "--dtype: expected auto, uint8, uint16, uint32 or int32, not 'float' (see toksmith tokenize --help)",
    ),
    (
        "tokenize text.txt -t tok.toksmith -o out --dtype int32",
        2,
        "--dtype: expected 'auto' or 'uint16' or 'uint32' with --to npy, not 'int32' (see toksmith tokenize --help)",
    ),
    ("status folder", 1, "folder: there is no job.json; plan a job with `toksmith tokenize`"),
    ("status missing", 1, "missing: there is no job.json; plan a job with `toksmith tokenize`"),
    ("verify folder", 1, "folder: there is no finished job; run it, or look at it with `toksmith status`"),
    ("shards folder", 1, "folder: there is no job.json; plan a job with `toksmith tokenize`"),
    ("merge-shards folder -o all", 1, "folder: there is no job.json; plan a job with `toksmith tokenize`"),
    (
        "play missing.json",
        1,
        "missing.json: No such file or directory",
    ),
    ("help trian", 2, "COMMAND: there is no command 'trian'; did you mean train? (see toksmith help --help)"),
    ("help nope --json", 2, "COMMAND: there is no command 'nope' (see toksmith help --help)"),
    ("help train --man", 2, "--man: prints the page of all commands; give no COMMAND (see toksmith help --help)"),
    ("help train show", 2, "COMMAND: expected one command, not 'train show' (see toksmith help --help)"),
    ("completion tcsh", 2, "SHELL: expected bash, zsh or fish, not 'tcsh' (see toksmith completion --help)"),
    ("count-pieces text.txt -o d/ --finish", 1, "d: there is no job.json; plan a job with `toksmith tokenize`"),
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of the wrong and of the right kinds."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "folder").mkdir()
    (folder / "texts").mkdir()
    texts = {
        "text.txt": "low lower lowest <|end|>",
        "empty.txt": "",
        "rows.jsonl": '{"text": "low"}\n{"body": 3}\n',
        "good.jsonl": '{"text": "low"}\n{"text": "lower"}\n',
        "a.zip": "PK\x03\x04xx",
        "p.png": "low",
        "texts/1.txt": "low",
        "texts/2.txt": "lower",
        "x.json": '{"a":1}',
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    toksmith.train("low lower lowest", merges=3, special_tokens=["<|end|>"]).save(folder / "tok.toksmith")
    toksmith.train("low lower lowest", merges=3).save(folder / "tok.tiktoken", allow_loss=["splitters"])
    toksmith.train("low lower lowest", merges=3, unit="char").save(folder / "char.toksmith")
    return folder


@pytest.fixture
def inside(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(here)
    monkeypatch.delenv("TOKSMITH_TOKENIZER", raising=False)
    return here


@pytest.mark.parametrize(("command", "code", "message"), SHELL, ids=[row[0] for row in SHELL])
def test_a_mistake_in_the_shell(command: str, code: int, message: str, inside: Path) -> None:
    before = sorted(path.name for path in inside.iterdir())
    result = CliRunner().invoke(_cli.app, shlex.split(command), input="low lower", prog_name="toksmith")
    assert result.stderr == f"toksmith: {message.replace('{here}', str(inside))}\n"
    assert (result.exit_code, result.stdout) == (code, "")
    assert sorted(path.name for path in inside.iterdir()) == before


def test_the_shell_speaks_no_python() -> None:
    for command, code, message in SHELL:
        assert not any(word in message for word in ("UNSET", "=<", "format=", "field=", "None", "toksmith.")), command
        assert (code == 2) == message.endswith("--help)"), command
        listed = message.partition("expected one of ")[2] or message.partition("did you mean ")[2]
        assert listed.count(", ") + listed.count(" or ") <= 5, command


PYTHON = ("=<", "='", "vocab_size=", "None", "load()", "decode([", "toksmith.")


def test_what_commands_print_is_no_python(inside: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "new")
    for command in (
        ["train", "text.txt", "--vocab-size", "258", "-o", f"{out}.toksmith"],
        ["train", "text.txt", "--merges", "2", "-o", f"{out}.toksmith"],
        ["formats"],
        ["formats", "--json"],
        ["tour", "text.txt"],
        ["convert", "tok.toksmith", f"{out}.toksmith"],
        ["tokenize", "text.txt", "-t", "tok.toksmith", "--special", "text", "-o", out],
        ["status", out],
        ["shards", out],
        ["verify", out],
        ["completion", "fish"],
    ):
        result = CliRunner().invoke(_cli.app, command, prog_name="toksmith")
        said = result.stdout.replace("tok.toksmith", "").replace("toksmith's", "")
        assert result.stdout and not [word for word in PYTHON if word in said], (command, said)


def test_every_name_that_is_meant_exists() -> None:
    commands = {row.name for row in _cli.COMMANDS}
    context = _cli.app.make_context("toksmith", ["--help"], resilient_parsing=True)
    flags = {
        flag
        for name in commands
        if (command := _cli.app.get_command(context, name)) is not None
        for each in command.params
        for flag in each.opts
    }
    flags |= {flag for each in _cli.app.params for flag in each.opts}
    assert {name for names in meant.WORDS.values() for name in names.split()} <= commands | flags
    assert not meant.WORDS.keys() & (commands | flags)
