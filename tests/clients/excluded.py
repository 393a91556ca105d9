"""The tests of other libraries' suites that are not run on the drop-ins, each with the reason. The only such table.

A key is the end of a test's name, or the name of a class or file before it. A row without a test fails
`test_clients.py`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["EXCLUDED", "IGNORED", "LACKING"]

CUSTOM = "parts written in Python are not here; the error says so"
LINES = "no pre-tokenizer, so a text is one word; the library's own class fails as well"
SPACES = "compares a decoded text with a normalized one that has ▁; the library's own class fails as well"

EXCLUDED: dict[str, dict[str, str]] = {
    "tokenizers": {
        "TestCustomNormalizer": CUSTOM,
        "TestCustomPreTokenizer": CUSTOM,
        "TestSentencePieceUnigram": "expects the tokens of another training; ours is SentencePiece's",
        "TestTokenizer::test_multiprocessing_with_parallelism": "expects a fork to hang; ours does not",
        "TestTokenizer::test_decode_stream": "a unigram model with byte_fallback must have all 256 bytes; the error says so",
        "TestTokenizer::test_unigram_byte_fallback": "a unigram model with byte_fallback must have all 256 bytes; the error says so",
        "test_performance_comparison": "prints times, and takes minutes",
    },
    "transformers": {
        "SentencePieceTest::test_alignment_methods": LINES,
        "SentencePieceTest::test_training_new_tokenizer": SPACES,
        "SentencePieceTest::test_training_new_tokenizer_with_special_tokens_change": SPACES,
    },
    "sentencepiece": {
        **dict.fromkeys(
            (
                "test_complex_regex_pretokenizer",
                "test_inconsistent_pretokenizer",
                "test_nbest_timeout",
                "test_special_tokens_combinations",
                "TestSentencepieceProcessor::test_train",
                "test_train_iterator",
                "test_train_kwargs",
                "test_train_with_pretokenizer",
                "test_trainer_with_normalizer",
                "test_word_model_user_defined_symbol",
            ),
            "SentencePieceTrainer is not here; the error names toksmith.train",
        ),
        **dict.fromkeys(
            (
                "TestSentencepieceProcessor::test_normalizer",
                "test_normalizer_default_flags_follow_spec",
                "test_normalizer_map",
                "test_normalizer_model_proto",
                "test_normalizer_normalizer_spec",
                "test_normalizer_rule",
                "test_normalizer_rule_tsv",
            ),
            "SentencePieceNormalizer is not here; the error names normalize of the processor",
        ),
        "test_convert_to_flatbuffer": "flatbuffers are not here; the error says so",
        "test_decode_batch_with_unstable_len": "calls methods of the binding itself",
        "test_numpy_memory_safety": "looks for a class of the binding itself",
        "test_gil_release": "counts the beats of a clock",
    },
    "nanochat": {},
    "rustbpe": {},
    "minbpe": {},
    "tiktoken": {"test_optional_blobfile_dependency": "starts a process, in which the library has its name again"},
}

# Files that cannot be imported.
IGNORED: dict[str, dict[str, str]] = {
    "tokenizers": {
        "tests/documentation/test_tutorial_train_from_iterators.py": "needs datasets, and the network",
    },
    "sentencepiece": {"test/gen_stubs_test.py": "tests how the library writes its stub"},
}


class Lacking:
    """A placeholder for a class that the drop-in lacks, so that a module of tests can be imported."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("the drop-in does not have this class")


LACKING: dict[str, dict[str, Any]] = {"tokenizers": {"NormalizedString": Lacking, "PreTokenizedString": Lacking}}
