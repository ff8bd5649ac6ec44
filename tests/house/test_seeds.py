"""The programs the project began from: each gives, line by line, what torch gives, or raises what torch raises."""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from pathlib import Path

import pytest
import torch

import whygrad

SEEDS = sorted((Path(__file__).parents[1] / "seeds").glob("*.py"))
RAISING = {"seed_000_2", "seed_000_3", "seed_002_1", "seed_002_2", "seed_002_3"}


def run(path: Path, library: str) -> dict[str, object]:
    """Everything a program shows: output, warnings, and how it ended."""
    source = path.read_text()
    if library == "whygrad":
        source = source.replace("import torch.nn as nn", "import whygrad.nn as nn")
        source = source.replace("import torch\n", "import whygrad as torch\n")
    (torch if library == "torch" else whygrad).manual_seed(0)
    output = io.StringIO()
    ended: object = "normally"
    with contextlib.redirect_stdout(output), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
        except Exception as error:
            ended = (type(error).__name__, str(error).split("\n")[0])
    # Where in its C++ sources torch found out is not ours to say.
    shown = [(w.category.__name__, str(w.message).split(" (Triggered internally")[0]) for w in caught]
    return {"output": output.getvalue().splitlines(), "warnings": shown, "ended": ended}


@pytest.mark.parametrize("path", SEEDS, ids=lambda p: p.stem)
def test_seed(path: Path) -> None:
    theirs, ours = run(path, "torch"), run(path, "whygrad")
    assert ours == theirs
    assert (theirs["ended"] != "normally") == (path.stem in RAISING)


def test_there_are_twelve() -> None:
    assert len(SEEDS) == 12
    assert "torch" in sys.modules
