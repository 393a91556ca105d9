"""The tensors of a model's checkpoint: names, headers of safetensors files, and rows of matrices, some at a time.

`_names` says which tensor has a row for each id. `_header` reads what a file says of its tensors, `_folder` which files
belong together, `_numbers` the types of numbers, and `_matrix` the rows. Only numpy is needed. Left out: what a tokenizer
is, and writing, which `_graft/` does.
"""

from __future__ import annotations

from ._folder import INDEX, WHOLE, files, index_of
from ._header import Header, Tensor, check_whole, header
from ._matrix import BLOCK_BYTES, Matrix, matrices, matrix_of
from ._names import FAMILIES, INPUT, OUTPUT, Family, Role, role_of
from ._numbers import TYPES, doubles, floats, rounded

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
