"""Unsafe code is in four files only, and each site says right above it why it is sound."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from check_sizes import mask_rust

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "crates/core/src/allocator/large.rs",  # the trait of allocators
    "crates/core/src/allocator/mapping.rs",  # memory of the system
    "crates/core/src/simd.rs",  # instructions that have no safe name
    "crates/core/src/utf8.rs",  # packing bytes by AVX-512, and UTF-8 that was just written
    "crates/py/src/memory.rs",  # memory that is given out for reading only
    "crates/py/src/objects.rs",  # Python objects that are filled in place
}
UNSAFE = re.compile(r"\bunsafe\b(?!_)")
ENDS = (";", "{", "}", ",", "=>")  # what the line before a statement ends with


class Site(NamedTuple):
    """One use of the keyword: its line, counted from 1, and the comment above its statement."""

    line: int
    note: str


def sites(source: str) -> list[Site]:
    """Every unsafe block, function, trait or implementation of a Rust file."""
    lines, code = source.splitlines(), mask_rust(source).splitlines()
    return [Site(at + 1, note_above(lines, code, at)) for at, line in enumerate(code) if UNSAFE.search(line)]


def note_above(lines: list[str], code: list[str], at: int) -> str:
    """The comment above the statement that line `at` is part of; attributes may stand between."""
    at -= 1
    while at >= 0 and code[at].strip() and not code[at].rstrip().endswith(ENDS):
        at -= 1
    note = []
    while at >= 0 and lines[at].lstrip().startswith("//"):
        note.append(lines[at])
        at -= 1
    return "\n".join(reversed(note))


def rust_files() -> dict[str, str]:
    """Every Rust file by its path in the project."""
    files = [path for path in (ROOT / "crates").rglob("*.rs") if "target" not in path.parts]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


@pytest.mark.parametrize(
    "source, noted",
    [
        ("fn f() {\n    // SAFETY: one.\n    unsafe { g() }\n}", True),
        ("fn f() {\n    // SAFETY: two\n    // lines.\n    let x =\n        unsafe { g() };\n}", True),
        ("/// # Safety\n/// Never.\n#[inline]\nunsafe fn f() {}", True),
        ("// SAFETY: that of another.\nfn f() {\n    unsafe { g() }\n}", False),
        ("fn f() {\n    // It works.\n    unsafe { g() }\n}", False),
        ("// SAFETY: too far.\n\nunsafe fn f() {}", False),
    ],
)
def test_a_note_stands_right_above(source: str, noted: bool) -> None:
    (site,) = sites(source)
    assert has_note(site) is noted


def test_words_in_comments_and_strings_are_no_sites() -> None:
    assert sites('// unsafe\nlet x = "unsafe {"; /* unsafe */ #![allow(unsafe_code)]') == []


def has_note(site: Site) -> bool:
    """Whether the comment is the note of unsafe code."""
    return "SAFETY: " in site.note or "# Safety" in site.note


def test_every_site_is_where_it_may_be_and_has_its_note() -> None:
    found = {path: sites(source) for path, source in rust_files().items()}
    assert {path for path, here in found.items() if here} <= ALLOWED
    assert sum(map(len, found.values())) > 0, "nothing was found: is this the right folder?"
    without = [f"{path}:{site.line}" for path, here in found.items() for site in here if not has_note(site)]
    assert not without, "unsafe code without a SAFETY note right above it"


def test_the_lint_is_lifted_in_those_files_only() -> None:
    lifted = {path for path, source in rust_files().items() if re.search(r"(?:allow|expect)\([^)]*unsafe_code", source)}
    assert lifted <= ALLOWED
    assert 'unsafe_code = "deny"' in (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        assert "[lints]\nworkspace = true" in manifest.read_text(encoding="utf-8"), manifest
