"""`Tokenizer.chat`: the ids of a conversation, as a chat template of Hugging Face writes it.

The rule: only text that the template itself spells can become an added token, special or not. Words of the messages, and text
whose origin is not known, are ordinary text, even where they spell one. `_tokenizer/marks.py` says which added tokens this is about.

The walk: `conversation.py` marks the messages with their numbers (`marked.py`), the template writes one text of them (`template.py`),
and the text is encoded with offsets, with only trusted text able to spell a mark (`ids.py`).
It is imported when a program calls `Tokenizer.chat`, so that tokenizers load sooner.
"""
