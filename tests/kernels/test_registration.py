"""Kernels register themselves: no other package imports them, and without them the hooks are NumPy's."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import whygrad
from whygrad import kernels
from whygrad.base import acceleration

SOURCE = Path(whygrad.__file__).parent


def imported(path: Path) -> set[str]:
    """Modules of whygrad that a file imports, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_nobody_imports_kernels():
    others = [path for path in SOURCE.rglob("*.py") if path.parent.name != "kernels" and path != SOURCE / "__init__.py"]
    assert not [path for path in others if any(name.startswith("whygrad.kernels") for name in imported(path))]


@pytest.mark.parametrize("name", acceleration.HOOKS)
def test_hooks_have_one_signature(name):
    """The NumPy version in base/acceleration.py was replaced by the kernels'; both take the same arguments."""
    assert getattr(acceleration, name) is getattr(kernels, name)
    tree = ast.parse(inspect.getsource(acceleration))
    plain = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    arguments = plain.args
    assert list(inspect.signature(getattr(kernels, name)).parameters) == [
        a.arg for a in (*arguments.args, *arguments.kwonlyargs)]


def test_without_kernels_everything_is_numpys():
    program = ("import whygrad as torch; from whygrad.base import acceleration; x = torch.ones(300, 300, requires_grad=True);"
               "(x * x).sum().backward(); print(acceleration.enabled, acceleration.make_step.__module__, x.grad.sum().item())")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120,
                          env={"WHYGRAD_KERNELS": "0", "PYTHONPATH": str(SOURCE.parent)})
    assert done.stdout.split() == ["False", "whygrad.base.acceleration", "180000.0"]
