"""core/ can be read in one evening, and knows nothing of what is built on it."""

from __future__ import annotations

import ast
from pathlib import Path

import whygrad

FILES = sorted((Path(whygrad.__file__).parent / "core").glob("*.py"))
BELOW = ("whygrad.base", "whygrad.ops", "whygrad.backends", "whygrad.core", "whygrad.why.record")


def test_core_has_at_most_1800_lines() -> None:
    assert sum(len(path.read_text().splitlines()) for path in FILES) <= 1800


def test_core_imports_only_what_is_below_it() -> None:
    for path in FILES:
        tree = ast.parse(path.read_text())
        blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"]
        for_types = {inner for node in blocks for inner in ast.walk(node)}
        for node in ast.walk(tree):  # inside functions too
            if node in for_types:
                continue
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                modules = [f"{node.module}.{alias.name}" for alias in node.names] if node.module.startswith("whygrad") else []
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names if alias.name.startswith("whygrad")]
            else:
                continue
            assert all(f"{module}.".startswith(tuple(f"{below}." for below in BELOW)) for module in modules), (path.name, modules)
