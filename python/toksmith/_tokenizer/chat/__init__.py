"""`Tokenizer.chat`: the ids of a conversation, as a chat template of Hugging Face writes it.

The rule: only text that the template itself spells can become an added token, special or not. Text of the messages and text of
unknown origin are ordinary text, even where they spell an added token. `_tokenizer/marks.py` defines these added tokens.

The walk: `conversation.py` marks the messages with their numbers (`marked.py`), the template writes them as one text
(`template.py`), and `ids.py` encodes the text with offsets, so that only trusted text can spell a mark.
A conversation that grows (`turns.py`) renders only its new turns (`resume.py`) and encodes only from the first change on
(`segments.py`). The way back: `parse.py` turns the ids of a model's turn into a message, by the row of its family in
`grammars.py`. The package is imported when a program calls `Tokenizer.chat`, `conversation` or `parse`, so that tokenizers load
sooner.
"""
