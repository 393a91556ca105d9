"""The allowed differences from tokenizers 0.23.3. docs/clients.md prints them."""

from dropins import Allowed, Case

Fields = frozenset[str]
OFFSETS = {"offsets", "char_to_token", "char_to_word", "token_to_chars", "word_to_chars"}


def panics(case: Case, fields: Fields) -> bool:
    """Whether the library itself panics."""
    return case.peer.get("raises") == "PanicException"


def marks_as_bytes(case: Case, fields: Fields) -> bool:
    """Whether a mark that falls back to bytes gets offsets outside the text."""
    code, offsets = case.about["code"], {name.split(" ")[-1] for name in fields}
    is_it = "end_of_word_suffix" in code and "byte_fallback=True" in code
    return is_it and (offsets <= OFFSETS or ("tokenize" in case.call and fields == {"result"}))


def some_bytes(case: Case, fields: Fields) -> bool:
    """Whether the drop-in refuses a unigram model that lacks a token for some byte."""
    return "lib.models.Unigram(UH, 0, True)" in case.about["code"] and "raises" in case.ours


def no_unknown(case: Case, fields: Fields) -> bool:
    """Whether the library refuses a character without its own token, which a longer token or bytes cover."""
    is_it = (
        "lib.models.Unigram(UB, None, True)" in case.about["code"] or "lib.models.Unigram(U, None" in case.about["code"]
    )
    return is_it and "raises" in case.peer and "raises" not in case.ours


def equal_contents(case: Case, fields: Fields) -> bool:
    """Whether ids differ only where the normalizer gives several added tokens one content."""
    tok, normalizer = case.about.get("peer"), getattr(case.about.get("peer"), "normalizer", None)
    if normalizer is None or {name.split(" ")[-1] for name in fields} != {"ids"}:
        return False
    contents = {id: normalizer.normalize_str(token.content) for id, token in tok.get_added_tokens_decoder().items()}
    pairs = [pair for name in fields for pair in zip(case.peer[name], case.ours[name], strict=True)]
    return all(one == two or contents.get(one, 1) == contents.get(two, 2) for one, two in pairs)


def replaces_nothing(case: Case, fields: Fields) -> bool:
    """Whether text is inserted between bytes, where the library miscounts and mostly panics."""
    return 'Replace("", "a")' in case.about["code"] and "ByteLevel(" in case.about["code"] and "result" not in fields


def samples(case: Case, fields: Fields) -> bool:
    """Whether the drop-in refuses a model that samples."""
    is_it = "dropout=0.5" in case.about["code"] or "nbest_size=9" in case.about["code"]
    return is_it and case.ours.get("raises") == "NotHere"


def processed_twice(case: Case, fields: Fields) -> bool:
    """Whether a processed encoding is processed again, with texts that share places."""
    return ".post_process(" in case.call and {name.split(" ")[-1] for name in fields} == {"token_to_sequence"}


def same_but_vocabulary(case: Case, trainer: str, option: str = "") -> bool:
    """Whether two trained tokenizers differ only in their vocabularies and merges, with equal numbers of characters."""
    peer, own = case.peer.get("result"), case.ours.get("result")
    if trainer not in case.call or option not in case.call or not isinstance(peer, dict) or not isinstance(own, dict):
        return False
    others = {"added_tokens": 0} if trainer == "UnigramTrainer" else {}  # their ids follow the vocabulary
    parts = [{**value, **others, "model": {**value["model"], "vocab": 0, "merges": 0}} for value in (peer, own)]
    characters = [sum(len(token) == 1 for token, _ in value["model"]["vocab"]) for value in (peer, own)]
    return parts[0] == parts[1] and (characters[0] == characters[1] or trainer == "UnigramTrainer")


def marks_by_chance(case: Case, fields: Fields) -> bool:
    """Whether marked characters got ids by chance."""
    options = ("continuing_subword_prefix", "end_of_word_suffix")
    return same_but_vocabulary(case, "WordPieceTrainer") or any(
        same_but_vocabulary(case, "BpeTrainer", each) for each in options
    )


def equal_characters(case: Case, fields: Fields) -> bool:
    """Whether chance chose among characters."""
    return same_but_vocabulary(case, "BpeTrainer", "limit_alphabet")


def sentencepiece_trains(case: Case, fields: Fields) -> bool:
    """Whether a unigram model was trained."""
    return same_but_vocabulary(case, "UnigramTrainer")


ROWS = [
    Allowed(
        "tokenizers",
        "an error or a result where the library panics",
        "a panic is no `Exception`, and a server may not survive it",
        panics,
    ),
    Allowed(
        "tokenizers",
        "models that sample (`dropout`, or `alpha` with `nbest_size`) are refused when they encode",
        "a text would have other ids each time; `toksmith.Tokenizer.encode_sampled` draws, with a seed",
        samples,
    ),
    Allowed(
        "tokenizers",
        "the offsets of the bytes of an end-of-word mark (byte-pair models with `byte_fallback` and such a mark)",
        "there they count from 0 as bytes, behind the end of the text; here they are in the text",
        marks_as_bytes,
    ),
    Allowed(
        "tokenizers",
        "a unigram model with `byte_fallback` and without all 256 byte tokens is refused",
        "no trainer makes one; which characters are bytes would depend on the text around them",
        some_bytes,
    ),
    Allowed(
        "tokenizers",
        "a unigram model without an unknown token encodes texts that the library refuses",
        "there a character that is not a token is an error even inside a longer token, and where bytes stand for it",
        no_unknown,
    ),
    Allowed(
        "tokenizers",
        "which id a text gets that is the normalized content of several added tokens",
        "there chance decides, in each process anew; here it is the lowest id",
        equal_contents,
    ),
    Allowed(
        "tokenizers",
        "`Replace` of an empty pattern before `ByteLevel`",
        "there it panics, or writes the first replacement twice",
        replaces_nothing,
    ),
    Allowed(
        "tokenizers",
        "`token_to_sequence` of an encoding that was post-processed twice",
        "places of the first time stay, so that a place can be of two texts; there chance decides",
        processed_twice,
    ),
    Allowed(
        "tokenizers",
        "trainers with a prefix or suffix: ids of marked characters, and which of equally frequent pairs merges",
        "there chance decides, in each process anew; here the words in order do",
        marks_by_chance,
    ),
    Allowed(
        "tokenizers",
        "`limit_alphabet`: which of equally frequent characters are left out",
        "there chance decides; here the one with the highest code point is left out",
        equal_characters,
    ),
    Allowed(
        "tokenizers",
        "the tokens and scores of `UnigramTrainer`",
        "it trains as SentencePiece does, whose models compress better; see docs/spec.md",
        sentencepiece_trains,
    ),
]
