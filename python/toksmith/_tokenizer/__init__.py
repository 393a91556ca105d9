"""The tokenizer, its results, and what follows a text or a conversation."""
