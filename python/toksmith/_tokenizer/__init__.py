"""The tokenizer, its results, and its sessions, streams and conversations."""
