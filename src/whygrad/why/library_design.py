"""What an installed library does on purpose: its authors chose it, and the program that uses the library cannot change it."""

from __future__ import annotations

import re

from whygrad.why.answers import Explanation
from whygrad.why.locations import SourceLocation

# Kinds of answers about how a program is built. Others (dead units, overflows) may come of the program's own numbers.
STRUCTURAL = frozenset({
    "custom-backward", "init-repeated", "loss-detached", "missing-detach", "parameter-rewrapped", "retain-graph-needless",
    "silent-data-edit", "term-without-influence", "unused-in-loss", "weights-shared", "zero-factor"})
# Lines that every training program has; they say when, not why.
_TRAINING = re.compile(r"\.(backward|step|parameters)\(")


def is_library_file(name: str) -> bool:
    """Whether a file belongs to an installed library, or to Python's own frozen modules."""
    return "site-packages" in name or "dist-packages" in name or name.startswith("<frozen")


def is_library(location: SourceLocation) -> bool:
    return is_library_file(location.file)


def is_by_design(explanation: Explanation) -> bool:
    """Whether a structural finding has causes in the code of installed libraries alone."""
    if explanation.category not in STRUCTURAL or (explanation.symptom == "none" and not explanation.check):
        return False  # the program asks why a gradient is None
    causes = [cause for cause in explanation.causes if is_library(cause) or not _TRAINING.search(cause.expression)]
    return bool(causes) and all(map(is_library, causes))
