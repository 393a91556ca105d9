"""A pytest plugin for suites of other libraries: the drop-in takes the library's name, and excluded tests are skipped.

`TOKSMITH_CLIENT` names the library. Loaded with `-p clients.plugin`, before anything imports the library.
"""

from __future__ import annotations

import os

import pytest
from clients.excluded import EXCLUDED, LACKING

from toksmith import compat

CLIENT = os.environ["TOKSMITH_CLIENT"]
for library in {"transformers": (), "nanochat": ("rustbpe", "tiktoken")}.get(CLIENT, (CLIENT,)):
    compat.install(library)
for name, content in LACKING.get(CLIENT, {}).items():
    getattr(compat, CLIENT).__dict__.setdefault(name, content)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that a row of the table names, with its reason, and tests marked as needing the network."""
    unused = set(EXCLUDED[CLIENT])
    for item in items:
        for part, reason in EXCLUDED[CLIENT].items():
            if item.nodeid.endswith(part) or f"{part}::" in item.nodeid or f"{part}[" in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=f"excluded: {reason}"))
                unused.discard(part)
        if item.get_closest_marker("network"):
            item.add_marker(pytest.mark.skip(reason="excluded: needs the network"))
    if unused and not os.environ.get("TOKSMITH_SOME"):
        raise pytest.UsageError(f"excluded.py excludes tests that are not there: {', '.join(sorted(unused))}")
