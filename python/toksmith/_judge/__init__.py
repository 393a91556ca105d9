"""Judgements: the problems of a tokenizer, and the tokenizer for a task."""
