"""What vLLM and SGLang call when they start: the entry points `vllm.general_plugins` and `sglang.srt.plugins` of the package.

Both servers load their plug-ins in each of their processes. `TOKSMITH_ACCELERATE=1` switches the tokenizers of both, and vLLM's
option `--tokenizer-mode toksmith` those of one server without a variable.
"""

from __future__ import annotations

import sys
from typing import Any

from .at_import import accelerate_if_asked, accelerate_or_log

__all__ = ["VllmTokenizer", "register_sglang", "register_vllm"]

MODE = "toksmith"


def register_vllm() -> None:
    """Accelerate if the environment asks for it, and add the tokenizer mode `toksmith`; called again, it changes nothing.

    A vLLM without these registries goes on without the mode, and the log says so.
    """
    accelerate_if_asked()
    try:
        from vllm.renderers.registry import RENDERER_REGISTRY
        from vllm.tokenizers.registry import TokenizerRegistry

        if MODE not in TokenizerRegistry.tokenizers:
            RENDERER_REGISTRY.register(MODE, *RENDERER_REGISTRY.renderers["hf"])
            TokenizerRegistry.register(MODE, __name__, VllmTokenizer.__name__)
    except Exception as error:  # noqa: BLE001 - a plug-in must not stop a server
        from .._render.streams import LOG

        found = getattr(sys.modules.get("vllm"), "__version__", "(not installed)")
        LOG.warning("vllm %s has no --tokenizer-mode %s: %s: %s", found, MODE, type(error).__name__, error)


def register_sglang() -> None:
    """Accelerate if the environment asks for it."""
    accelerate_if_asked()


class VllmTokenizer:
    """The tokenizer mode `toksmith` of vLLM."""

    @classmethod
    def from_pretrained(cls, path_or_repo_id: Any, *args: Any, **options: Any) -> Any:
        """The tokenizer that vLLM's mode `hf` loads, accelerated."""
        from vllm.tokenizers.registry import get_tokenizer

        accelerate_or_log()
        return get_tokenizer(path_or_repo_id, *args, **options, tokenizer_mode="hf")
