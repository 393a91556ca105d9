"""Unsafe code is in these files only. Clippy checks that each block has its safety note."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {
    "crates/core/src/simd.rs",  # CPU intrinsics that are unsafe
    "crates/core/src/text/utf8.rs",  # packing of bytes by AVX-512, and UTF-8 that the function just wrote
    "crates/py/src/memory.rs",  # memory that is lent read-only
    "crates/py/src/objects.rs",  # Python objects that are filled in place
    "crates/web/src/host.rs",  # names of JavaScript's functions
    "crates/web/src/lib.rs",  # names for JavaScript; no unsafe block
}


def test_the_lint_is_lifted_in_these_files_only() -> None:
    sources = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in (ROOT / "crates").rglob("*.rs")}
    assert {path for path, text in sources.items() if re.search(r"(?:allow|expect)\([^)]*unsafe_code", text)} == ALLOWED
    assert 'unsafe_code = "deny"' in (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        assert "[lints]\nworkspace = true" in manifest.read_text(encoding="utf-8"), manifest
