"""What loads on first access has its real type for a type checker, and is offered by completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import whygrad

SOURCE = str(Path(whygrad.__file__).parents[1])

PROGRAM = """
import whygrad
import whygrad.nn as nn
from whygrad.backends.formula import Composition, Formula
from whygrad.why.answers import Explanation
from whygrad.why.parameters import ParameterTable
from whygrad.why.plots import Flow
from whygrad.why.svg import Drawing

def use(t: whygrad.Tensor, model: nn.Module) -> None:
    a: Explanation = whygrad.explain(t)
    b: ParameterTable = whygrad.explain(model, loss=t)
    c: Drawing = whygrad.graph(t, flow=True)
    d: Flow = whygrad.flow(model)
    e: Formula | Composition = whygrad.formula("tanh")
    f: Explanation = t.why(loss=t)
    g: int = whygrad.explain(t)  # wrong
    h: int = whygrad.graph(t)  # wrong
    i: int = whygrad.flow(model)  # wrong
    j: int = whygrad.formula("tanh")  # wrong
    k: int = t.why()  # wrong
    whygrad.graph(t, flux=True)  # wrong
"""


def test_types(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-error-summary",
                           f"--cache-dir={tmp_path}/cache", "program.py"],
                          cwd=tmp_path, env={**os.environ, "MYPYPATH": SOURCE}, capture_output=True, text=True, check=False)
    wrong = {n for n, line in enumerate(PROGRAM.splitlines(), 1) if "# wrong" in line}
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert found == wrong, done.stdout + done.stderr


def test_completion() -> None:
    program = "import whygrad; print(*dir(whygrad)); print(*dir(whygrad.ones(2)))"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": SOURCE}, capture_output=True,
                          text=True, check=True)
    package, tensor = done.stdout.splitlines()
    assert {"explain", "graph", "flow", "plot_flow", "formula", "Explanation", "nn", "optim", "save"} <= set(package.split())
    assert "why" in tensor.split()


def test_every_offered_name_is_there() -> None:
    missing = [name for name in dir(whygrad) if not hasattr(whygrad, name)]
    assert missing == []
