"""The tensors of a model's checkpoint: names, headers of safetensors files, and rows of matrices, some at a time.

`names` says which tensor has a row for each id. `header` reads what a file says of its tensors, `folder` which files
belong together, `numbers` the types of numbers, and `matrix` the rows. Only numpy is needed. Left out: what a tokenizer
is, and writing, which `_graft/` does.
"""

from __future__ import annotations

from .folder import INDEX, WHOLE, files, index_of
from .header import Header, Tensor, check_whole, header
from .matrix import BLOCK_BYTES, Matrix, matrices, matrix_of
from .names import FAMILIES, INPUT, OUTPUT, Family, Role, role_of
from .numbers import TYPES, doubles, floats, rounded

__all__ = [
    "BLOCK_BYTES",
    "FAMILIES",
    "INDEX",
    "INPUT",
    "OUTPUT",
    "TYPES",
    "WHOLE",
    "Family",
    "Header",
    "Matrix",
    "Role",
    "Tensor",
    "check_whole",
    "doubles",
    "files",
    "floats",
    "header",
    "index_of",
    "matrices",
    "matrix_of",
    "role_of",
    "rounded",
]
