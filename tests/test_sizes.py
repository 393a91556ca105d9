"""The size check reads Rust and Python as they are: brackets in strings, comments and characters count for nothing."""

from pathlib import Path

import check_sizes
import pytest
from check_sizes import broken_caps, read_python, read_rust

RUST = r"""
//! fn in_a_comment() {
/* fn in /* a nested */ comment() { */
impl<'a> Thing<'a> {
    fn first<F: Fn(u8) -> Vec<u8>, const N: usize>(&'a mut self, f: F, pair: (u8, [u8; 2]), map: Map<u8, u8>) -> [u8; 3]
    where
        F: 'a,
    {
        let marks = ('{', b'{', '\'', '\u{7b}', "{ \" fn inner() {", r#"{ " {"#, b"{");
        // }
        marks
    }
}

trait Shape {
    fn declared(self: &Self, a: u8);
    fn given(self, f: impl Fn(u8, u8) -> u8) -> u8 { f(1, 2) }
    fn packed(&self, (a, b): (u8, [u8; 2]), (c, d): Named, (out, (e, f)): (&mut Vec<u8>, (u8, u8))) -> u8 { 1 }
}

#[cfg(test)]
mod tests {
    fn only_here() {}
}
"""

PYTHON = '''
"""Module."""

class Thing:
    """Two
    lines."""

    def method(self, a, b=1, /, c=2, *rest, d=3):
        """Doc.

        >>> 1
        1
        """
        # why
        return """not
        a docstring"""

    @staticmethod
    def bare(a): return a

    def packed(self, a: tuple[int, str], b: tuple[int, ...], c: list[tuple[int, int]], *, d: tuple[int, int]): return a
'''


def test_rust_is_measured() -> None:
    source = read_rust("crates/core/src/x.rs", RUST)
    measured = [(each.name, each.line, each.lines, each.positional, each.test) for each in source.functions]
    assert measured[:3] == [("first", 5, 8, 3, False), ("given", 17, 1, 1, False), ("packed", 18, 1, 5, False)]
    assert measured[3:] == [("only_here", 23, 1, 0, True)]
    # impl, first's 8 lines without the comment, the end; the trait's 5
    assert source.code == 1 + 7 + 1 + 5
    assert source.lines == 21


def test_python_is_measured() -> None:
    source = read_python("python/toksmith/x.py", PYTHON)
    measured = [(each.name, each.line, each.lines, each.positional) for each in source.functions]
    assert measured == [("method", 8, 4, 3), ("bare", 19, 1, 1), ("packed", 21, 1, 4)]
    assert (source.lines, source.documentation, source.code) == (21, 8, 7)


@pytest.mark.parametrize("lines, positional, broken", [(60, 5, 0), (61, 5, 1), (60, 6, 1), (61, 6, 2)])
def test_caps_break(lines: int, positional: int, broken: int) -> None:
    code = f"def f({', '.join(f'a{i}' for i in range(positional))}):\n" + "    pass\n" * (lines - 1)
    source = read_python("python/toksmith/__init__.py", code)
    found = [problem for problem in broken_caps([source], source.functions, 35.0) if "__init__.py:1: f has" in problem]
    assert len(found) == broken


def test_each_file_of_make_has_a_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_sizes, "ROOT", tmp_path)
    (tmp_path / "make").mkdir()
    for name, lines in (("Makefile", 60), ("make/long.mk", 61), ("make/short.mk", 60)):
        (tmp_path / name).write_text("x:\n" * lines, encoding="utf-8")
    assert list(broken_caps([], [], 35.0)) == ["make/long.mk has 61 lines, more than 60"]
