"""Packages are in one order: lower ones never import higher ones, inside of functions neither."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import whygrad

SOURCE = Path(whygrad.__file__).parent

# From the lowest to the highest.
ORDER = ["base", "ops", "backends", "_rng", "kernels", "core", "functional", "autograd", "sparse", "nn", "func", "optim",
         "distributions", "amp", "io", "utils", "distributed", "profiler", "testing", "signal", "compilation", "compat", "fx",
         "why", "for_whygrad", "for_torch"]
# The thin interface through which everything is recorded counts as part of the lowest package.
RECORDING = "whygrad.why.record"

# Upward imports that are left, and why. Packages that are loaded on first use are asked through base/on_demand.py.
UPWARD: dict[tuple[str, str], str] = {}

# Imports inside of functions: each has its reason (what is loaded on first use, or a cycle within a package).
MAX_LAZY_IMPORTS = 60
MAX_FILES_IN_ROOT = 12


class Import(NamedTuple):
    importer: str
    line: int
    imported: str
    is_lazy: bool


@functools.cache
def imports() -> list[Import]:
    """Every import of one module of the package by another, but for those of type checkers."""
    modules = {".".join(("whygrad", *path.relative_to(SOURCE).with_suffix("").parts)) for path in SOURCE.rglob("*.py")}

    def walk(importer: str, node: ast.AST, is_lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                continue  # there are no imports in expressions
            if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "whygrad":
                names = [f"{child.module}.{alias.name}" for alias in child.names]
                for target in {name if name in modules else str(child.module) for name in names}:
                    yield Import(importer, child.lineno, target, is_lazy)
            elif isinstance(child, ast.Import):
                yield from [Import(importer, child.lineno, alias.name, is_lazy) for alias in child.names
                            if alias.name.startswith("whygrad.")]
            yield from walk(importer, child, is_lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))

    return [found for path in SOURCE.rglob("*.py") for found in
            walk(".".join(path.relative_to(SOURCE).with_suffix("").parts), ast.parse(path.read_text()), False)]


def package_of(module: str) -> str:
    return module.split(".")[0]


def test_lower_packages_do_not_import_higher_ones() -> None:
    upward = {}
    for found in imports():
        target = found.imported.removeprefix("whygrad.").removeprefix("whygrad")
        ours, theirs = package_of(found.importer), package_of(target)
        if found.imported.startswith(RECORDING) or ours not in ORDER or theirs not in ORDER:
            continue
        if ORDER.index(theirs) > ORDER.index(ours):
            upward[found.importer, theirs] = f"{found.importer}, line {found.line}, imports {found.imported}"
    assert not [text for key, text in upward.items() if key not in UPWARD]
    assert not UPWARD.keys() - upward.keys(), "mended: take it from the list"


# What `why` may import: the table of ops, and what knows nothing of tensors.
NEUTRAL = ("whygrad.why", "whygrad.base", "whygrad.ops", "whygrad.backends.formula", "whygrad.io.atomic", "whygrad.cli",
           "whygrad.alias")


def test_why_knows_no_engine() -> None:
    foreign = [found for found in imports() if package_of(found.importer) == "why"
               and not f"{found.imported}.".startswith(tuple(f"{name}." for name in NEUTRAL))]
    assert not foreign, "explanations read engines through why/engine.py"


def test_imports_inside_of_functions_get_fewer() -> None:
    lazy = [found for found in {(found.importer, found.line): found for found in imports()}.values() if found.is_lazy]
    assert len(lazy) <= MAX_LAZY_IMPORTS


def test_the_root_holds_few_files() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= MAX_FILES_IN_ROOT
    unknown = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} - {*ORDER}
    assert not unknown, "a package needs a place in ORDER"
