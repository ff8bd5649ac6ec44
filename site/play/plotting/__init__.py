"""Stands in for matplotlib in the page, which has no such package: it draws lines, points, bars, histograms and images."""

from __future__ import annotations

import importlib.util
import sys

from play.plotting import pyplot


def install() -> None:
    """Let `import matplotlib.pyplot` give this, where there is no matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        sys.modules["matplotlib"], sys.modules["matplotlib.pyplot"] = sys.modules[__name__], pyplot
