"""docs/proofs.md lists every proof, and the commands of make find them by their marks and names."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FULL = re.compile(r"\bTOKSMITH_(EXHAUSTIVE|HUGE|SPEED)\b")
LISTED = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
BROWSER = "test_browser.py"  # `make test-browser` runs it


def test_a_test_with_a_full_form_is_a_listed_proof() -> None:
    read = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    full = {path.name for path, text in read.items() if FULL.search(text)} - {BROWSER, Path(__file__).name}
    marked = {path.name for path, text in read.items() if re.search(r"\bpytest\.mark\.proof\b", text)}
    assert full <= marked == {*re.findall(r"tests/\w+/(test_\w+\.py)", LISTED)}


def test_make_names_every_proof_of_the_core() -> None:
    (names,) = re.findall(r"^CORE_PROOFS := (.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    source = ROOT / "crates" / "core" / "src"
    full = [path.relative_to(source).parts for path in source.rglob("*.rs") if FULL.search(path.read_text("utf-8"))]
    assert full and all({*names.split()} & {part.removesuffix(".rs") for part in parts} for parts in full), full
    assert all(f"-- {name} --nocapture" in LISTED for name in names.split())
