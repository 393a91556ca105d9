"""Where the tests of a module are: in the file of its name, in that of its folder, or where `ELSEWHERE` says.

`_convert.py` has test_convert.py, `_formats/_gguf.py` has test_format_gguf.py, and `_doctor/_tokens.py` test_doctor.py.
"""

from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "python" / "toksmith"
ELSEWHERE = {
    "__init__": "test_surface",
    "__main__": "test_cli",
    "_arguments": "test_argument_types",
    "_atomic_files": "test_faults",
    "_corpus/__init__": "test_corpus_rows test_counts",
    "_corpus/_refused": "test_refused_corpora",
    "_corpus/_ahead": "test_counts test_encode_corpus test_job_memory",
    "_corpus/_names": "test_corpus_columns",
    "_corpus/_one_by_one": "test_corpus_columns",
    "_corpus/_blocks": "test_counts test_bounded_reading",
    "_corpus/_here": "test_remote_folders",
    "_corpus/_parquet": "test_corpus_rows test_corpus_columns test_counts",
    "_encode_files": "test_encode_file",
    "_errors": "test_bad_input test_error_offsets test_concurrency",
    "_files": "test_format_files test_bounded_reading test_faults",
    "_meanings": "test_mistakes",
    "_segments": "test_boundaries",
    "_model_names": "test_compat_tiktoken test_hub",
    "_formats/__init__": "test_format_files test_matrix",
    "_formats/_arguments": "test_format_files",
    "_formats/_byte_characters": "test_format_gpt2",
    "_formats/_file_sets": "test_format_files",
    "_formats/_gguf_pieces": "test_format_gguf",
    "_formats/_gguf_roles": "test_format_gguf",
    "_formats/_gguf_values": "test_format_gguf",
    "_formats/_hf_model": "test_hf_load",
    "_formats/_hf_other_models": "test_covered_formats",
    "_formats/_hf_post": "test_hf_load",
    "_formats/_hf_steps": "test_hf_steps",
    "_formats/_json": "test_format_tokenizer_json test_format_hostile",
    "_formats/_json_objects": "test_format_tokenizer_json",
    "_formats/_minbpe": "test_format_rows test_compat_minbpe",
    "_formats/_oniguruma": "test_hf_load",
    "_formats/_peer_program": "test_convert",
    "_formats/_peers": "test_convert",
    "_formats/_protobuf": "test_format_sentencepiece",
    "_formats/_recovered_merges": "test_format_tiktoken",
    "_formats/_scored_merges": "test_format_hf_sentencepiece",
    "_formats/_sentencepiece_save": "test_format_sentencepiece",
    "_formats/_stoi": "test_format_rows",
    "_formats/_vocab_txt": "test_covered_formats",
    "_load": "test_format_files test_encodings",
    "_other_names": "test_mistakes_python",
    "_tokenizer_view": "test_results",
    "_patterns": "test_reference test_peer_tiktoken",
    "_post": "test_hf_load test_compat_transformers",
    "_progress": "test_counts test_cli",
    "_sample": "test_convert test_matrix",
    "_shards/__init__": "test_encode_corpus test_jobs",
    "_shards/_folder/__init__": "test_jobs",
    "_shards/_folder/_contents": "test_shard_contents",
    "_shards/_folder/_finish": "test_jobs test_sinks",
    "_shards/_folder/_job_files": "test_job_files",
    "_shards/_folder/_merge_shards": "test_merge_shards",
    "_shards/_folder/_shard_folder": "test_shard_contents test_merge_shards",
    "_shards/_folder/_verify": "test_jobs",
    "_shards/_job/__init__": "test_jobs",
    "_shards/_job/_cost": "test_job_cost",
    "_shards/_job/_job": "test_jobs",
    "_shards/_job/_make_plan": "test_jobs",
    "_shards/_job/_plan_counts": "test_count_jobs",
    "_shards/_job/_watch": "test_job_watch",
    "_shards/_make/__init__": "test_jobs",
    "_shards/_make/_count_shard": "test_count_jobs",
    "_shards/_make/_documents": "test_jobs test_corpus_columns",
    "_shards/_make/_encode_shard": "test_jobs",
    "_shards/_make/_input_tally": "test_shard_contents",
    "_shards/_make/_opened": "test_jobs",
    "_shards/_make/_packing": "test_jobs",
    "_shards/_make/_run_shard": "test_jobs",
    "_shards/_make/_shuffle": "test_jobs",
    "_shards/_one_file/__init__": "test_encode_corpus",
    "_shards/_one_file/_around": "test_jobs",
    "_shards/_one_file/_encode": "test_encode_corpus",
    "_shards/_one_file/_manifest": "test_encode_corpus",
    "_shards/_plan/__init__": "test_jobs",
    "_shards/_plan/_plan": "test_jobs",
    "_shards/_plan/_room": "test_job_memory",
    "_shards/_written/__init__": "test_job_faults",
    "_shards/_written/_durable": "test_job_faults",
    "_shards/_written/_npy": "test_encode_corpus",
    "_shards/_written/_receipts": "test_jobs",
    "_shards/sinks/__init__": "test_sinks",
    "_shards/sinks/_arrow": "test_sinks",
    "_shards/sinks/_counts": "test_count_jobs",
    "_shards/sinks/_datatrove": "test_sinks",
    "_shards/sinks/_dolma": "test_sinks",
    "_shards/sinks/_joined": "test_sinks",
    "_shards/sinks/_litdata": "test_sinks",
    "_shards/sinks/_mds": "test_sinks",
    "_shards/sinks/_megatron": "test_sinks",
    "_shards/sinks/_npy": "test_sinks",
    "_shards/sinks/_offsets": "test_sinks",
    "_shards/sinks/_rows": "test_sinks",
    "_folders": "test_remote test_remote_folders test_job_files",
    "_steps": "test_hf_steps",
    "_stream": "test_api test_boundaries",
    "_threads": "test_concurrency",
    "_tokenizer": "test_api",
    "compat/__init__": "test_surface",
    "compat/_install": "test_compat_tokenizers",
    "compat/tiktoken/__init__": "test_compat_tiktoken",
    "compat/tiktoken/_core_bpe": "test_compat_tiktoken",
    "compat/tiktoken/_educational": "test_compat_tiktoken",
    "compat/tiktoken/core": "test_compat_tiktoken",
    "compat/tiktoken/load": "test_compat_tiktoken",
    "compat/tiktoken/model": "test_compat_tiktoken",
    "compat/tiktoken/registry": "test_compat_tiktoken",
    "compat/tokenizers/__init__": "test_compat_tokenizers",
    "compat/tokenizers/_added": "test_compat_tokenizers",
    "compat/tokenizers/_encoding": "test_compat_tokenizers",
    "compat/tokenizers/_inputs": "test_compat_tokenizers",
    "compat/tokenizers/_lengths": "test_compat_tokenizers",
    "compat/tokenizers/_parts": "test_compat_tokenizers test_clients",
    "compat/tokenizers/_pieces": "test_compat_tokenizers",
    "compat/tokenizers/_runtime": "test_compat_tokenizers",
    "compat/tokenizers/_streams": "test_compat_tokenizers",
    "compat/tokenizers/_tokenizer": "test_compat_tokenizers",
    "compat/tokenizers/_training": "test_compat_tokenizers",
    "compat/tokenizers/decoders": "test_compat_tokenizers",
    "compat/tokenizers/implementations": "test_compat_tokenizers",
    "compat/tokenizers/models": "test_compat_tokenizers",
    "compat/tokenizers/normalizers": "test_compat_tokenizers",
    "compat/tokenizers/pre_tokenizers": "test_compat_tokenizers",
    "compat/tokenizers/processors": "test_compat_tokenizers",
    "compat/tokenizers/trainers": "test_compat_tokenizers test_clients",
    "reference_models": "test_core_equals_reference test_kinds",
}


def expected(module: str) -> set[str]:
    """The names that the file with a module's tests may have by itself."""
    folder, _, name = "".join(f"/{part.lstrip('_')}" for part in module.split("/"))[1:].rpartition("/")
    if name == "init__":
        return {f"test_{folder}"}
    return (
        {f"test_{folder.removesuffix('s')}_{name}", f"test_{folder}_{name}", f"test_{folder}"}
        if folder
        else {f"test_{name}"}
    )


def test_every_module_has_a_file_with_its_tests() -> None:
    there = {path.stem for path in HERE.glob("test_*.py")}
    modules = {path.relative_to(PACKAGE).with_suffix("").as_posix() for path in PACKAGE.rglob("*.py")}
    by_name = {module for module in modules if expected(module) & there}
    assert modules - by_name == {*ELSEWHERE}, "the modules that no file has the name of, and no others, have a row"
    assert {name for names in ELSEWHERE.values() for name in names.split()} <= there
