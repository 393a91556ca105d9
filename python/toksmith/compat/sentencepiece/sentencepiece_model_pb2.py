"""The message `ModelProto`, as far as it decides ids and texts."""

from __future__ import annotations

from typing import Any

from ..._formats.protobuf import new_model

__all__ = ["ModelProto"]

ModelProto: Any = type(new_model())
