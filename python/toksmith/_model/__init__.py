"""The model that training makes, formats load and save, and engines run; its patterns, steps and special tokens."""
