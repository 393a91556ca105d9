"""Charts as SVG, drawn by matplotlib, which needs no network: bars of several tokenizers, and curves on log scales.

A result with a chart has a method `plot()`, which returns plain data like `view()`, and the method `to_chart` from here.
matplotlib is an extra (`toksmith[charts]`) and is imported by the first chart. Equal data give equal bytes.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from .._storage.atomic_files import write_file
from .streams import plain

__all__ = ["Charted", "Plot", "to_chart"]

# Okabe and Ito's colours, which colour-blind readers can distinguish; hatches and dashes repeat the distinction.
INKS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
HATCHES = ("", "//", "..", "xx", "\\\\", "++")
DASHES = ("-", "--", ":", "-.", (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
LOOKS = {"svg.fonttype": "none", "svg.hashsalt": "toksmith", "font.family": "sans-serif", "text.usetex": False}


@dataclass(frozen=True)
class Plot:
    """One chart.

    Attributes:
        title, x_label, y_label: The title and the labels of the axes.
        series: By name, its values: one for each of `names`, or, for `kind` "curves", pairs of x and y.
        names: The labels of the bars.
        kind: "bars", side by side; "across", the same from left to right; "curves" on two logarithmic scales.
        reference: The value of a reference line, such as 1 for "as much as English".
    """

    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Sequence[Any]]
    names: Sequence[str] = ()
    kind: Literal["bars", "across", "curves"] = "bars"
    reference: float | None = None

    def figure(self) -> Any:
        """The chart as a `matplotlib.figure.Figure`, to change or save.

        Raises:
            ImportError: matplotlib is missing.
        """
        try:
            import matplotlib as mpl
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError("charts need matplotlib: pip install 'toksmith[charts]'") from error
        with mpl.rc_context(LOOKS):
            tall = 0.6 + 0.22 * len(self.names) * max(1, len(self.series)) if self.kind == "across" else 4.5
            figure = Figure(figsize=(8, max(3.0, tall)), layout="constrained")
            axes = figure.subplots()
            (draw_curves if self.kind == "curves" else draw_bars)(axes, self)
            axes.set(
                title=escape_for_plot(self.title),
                xlabel=escape_for_plot(self.x_label),
                ylabel=escape_for_plot(self.y_label),
            )
            if len(self.series) > 1:
                axes.legend()
        return figure

    def savefig(self, path: str | os.PathLike[str]) -> None:
        """Writes the chart into a file, atomically; the suffix decides the format:
        `.svg`, `.png` or `.pdf`.

        Raises:
            ImportError: matplotlib is missing.
            FormatError: The file cannot be written; it is unchanged.
        """
        write_file(Path(path), draw(self, os.path.splitext(path)[1].removeprefix(".") or "svg"))

    def _repr_svg_(self) -> str | None:
        """The chart for a notebook; None without matplotlib, so that the notebook shows the text."""
        try:
            return draw(self, "svg").decode()
        except ImportError:
            return None


class Charted(Protocol):
    """A result with a chart."""

    def plot(self) -> Plot:
        """The chart, which a notebook shows."""


def to_chart(result: Charted) -> str:
    """The result's chart as SVG.

    Raises:
        ImportError: matplotlib is missing.
    """
    return draw(result.plot(), "svg").decode()


def draw(plot: Plot, format: str) -> bytes:
    """A chart in a format of matplotlib; equal charts give equal bytes."""
    figure = plot.figure()
    import matplotlib as mpl

    dates = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}
    out = io.BytesIO()
    with mpl.rc_context(LOOKS):
        figure.savefig(out, format=format, metadata=dates.get(format))
    return out.getvalue()


def draw_bars(axes: Any, plot: Plot) -> None:
    """Bars of all series side by side, the first name at the left or at the top."""
    across = plot.kind == "across"
    wide = 0.8 / max(1, len(plot.series))
    for place, (name, values) in enumerate(plot.series.items()):
        at = [number - 0.4 + (place + 0.5) * wide for number in range(len(values))]
        looks = {
            "color": INKS[place % 6],
            "hatch": HATCHES[place % 6],
            "edgecolor": "white",
            "label": escape_for_plot(name),
        }
        if across:
            axes.barh(at, values, height=wide, **looks)
        else:
            axes.bar(at, values, width=wide, **looks)
    names = [escape_for_plot(name) for name in plot.names]
    if across:
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
    else:
        step = -(-len(names) // 30) or 1
        axes.set_xticks(range(0, len(names), step), names[::step])
    if plot.reference is not None:
        (axes.axvline if across else axes.axhline)(plot.reference, color="#444444", linewidth=1)


def draw_curves(axes: Any, plot: Plot) -> None:
    """A curve for each series, both scales logarithmic."""
    for place, (name, points) in enumerate(plot.series.items()):
        xs, ys = [x for x, _ in points], [y for _, y in points]
        axes.plot(xs, ys, color=INKS[place % 6], linestyle=DASHES[place % 6], label=escape_for_plot(name))
    if any(plot.series.values()):
        axes.set_xscale("log")
        axes.set_yscale("log")


def escape_for_plot(text: str) -> str:
    """The text escaped for matplotlib, where `$` begins a formula and a name with `_` in front is hidden."""
    escaped = plain(text.encode("utf-8", "backslashreplace").decode()).replace("\n", " ").replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped
