"""Packages are in one order: lower ones never import higher ones, inside of functions neither."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import whygrad

SOURCE = Path(whygrad.__file__).parent

# From the lowest to the highest.
ORDER = ["base", "ops", "backends", "kernels", "core", "functional", "_rng", "autograd", "func", "sparse", "nn", "optim",
         "distributions", "amp", "io", "utils", "profiler", "testing", "signal", "compat", "why"]
# The thin interface through which everything is recorded counts as part of the lowest package.
RECORDING = "whygrad.why.record"

# Upward imports that are left, and why. Nobody may add one without a reason.
UPWARD = {
    ("base.errors", "core"): "messages are composed after the failure, from the nodes",
    ("base.errors", "functional"): "messages are composed after the failure: torch's names of types",
    ("base.errors", "why"): "messages are composed after the failure: the note is attached",
    ("functional.distance", "autograd"): "no_grad",
    ("functional.storages", "autograd"): "a node that refuses",
    ("functional.protocol", "func"): "how a tensor prints inside a transform",
    ("functional.compare", "func"): "refusal of a dynamic shape under vmap",
    ("functional.indexing", "func"): "indices that stand for a batch",
    ("functional.memory", "func"): "refusal of memory beyond an element of a batch",
    ("functional.convert", "func"): "detach inside a transform",
    ("functional.inplace_views", "func"): "in-place views inside a transform",
    ("functional.run", "func"): "factories under vmap",
    ("functional.misc", "nn"): "methods of Tensor that are functions of nn.functional",
    ("functional.gathering", "sparse"): "gather(sparse_grad=True)",
    ("functional.sparsity", "sparse"): "loaded when the first sparse tensor is made",
    ("functional.methods", "why"): "Tensor.why, loaded when it is asked",
    ("autograd.gradcheck", "compat"): "torch's node for a missing gradient",
    ("autograd.calls", "func"): "gradients of batches, and inside transforms",
    ("autograd.dual", "func"): "forward mode of batches",
    ("autograd.function", "func"): "custom Functions under transforms",
    ("autograd.functional", "func"): "vectorize=True and strategy='forward-mode'",
    ("autograd.push_forward", "func"): "transposed rules",
    ("func.modules", "nn"): "functional_call",
    ("nn.rnn", "amp"): "recurrent layers ask whether autocast is on",
    ("sparse.__init__", "compat"): "torch.sparse.FloatTensor is a constructor of old",
}

# Imports inside of functions. To be brought to 60; never raised.
MAX_LAZY_IMPORTS = 78
MAX_FILES_IN_ROOT = 12


class Import(NamedTuple):
    importer: str
    line: int
    imported: str
    is_lazy: bool


def imports() -> Iterator[Import]:
    """Every import of one module of the package by another, but for those of type checkers."""
    modules = {".".join(("whygrad", *path.relative_to(SOURCE).with_suffix("").parts)) for path in SOURCE.rglob("*.py")}

    def walk(importer: str, node: ast.AST, is_lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "whygrad":
                names = [f"{child.module}.{alias.name}" for alias in child.names]
                for target in {name if name in modules else str(child.module) for name in names}:
                    yield Import(importer, child.lineno, target, is_lazy)
            yield from walk(importer, child, is_lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))

    for path in SOURCE.rglob("*.py"):
        yield from walk(".".join(path.relative_to(SOURCE).with_suffix("").parts), ast.parse(path.read_text()), False)


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


def test_imports_inside_of_functions_get_fewer() -> None:
    lazy = [found for found in {(found.importer, found.line): found for found in imports()}.values() if found.is_lazy]
    assert len(lazy) <= MAX_LAZY_IMPORTS


def test_the_root_holds_few_files() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= MAX_FILES_IN_ROOT
    unknown = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} - {*ORDER}
    assert not unknown, "a package needs a place in ORDER"
