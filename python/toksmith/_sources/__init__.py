"""Loads tokenizers by name, file or repository, and converts them between formats."""
