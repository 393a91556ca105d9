"""The waist: the value that training makes, every format loads and saves, and every engine runs."""
