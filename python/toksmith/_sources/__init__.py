"""Where tokenizers come from: names, files and repositories; and from one format to another."""
