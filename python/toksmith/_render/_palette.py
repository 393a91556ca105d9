"""Colours that every medium shares: neighbours differ to colour-blind eyes too, and black is read on each."""

from __future__ import annotations

__all__ = ["COLORS", "TICK"]

TICK = "▏"
COLORS = ("#ffd43b", "#5c9dff", "#69db7c", "#e879f9", "#66d9d9")
