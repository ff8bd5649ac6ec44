"""Rows carry their facts: no list of rows stands outside of ops/, every trait is decided, and the readers follow."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import whygrad
from whygrad.autograd.batching import families, rule_for
from whygrad.backends import raw
from whygrad.ops.table import CURVES, HALF, PUBLIC, TABLE, Row, Traits, elementwise, op

SOURCE = Path(whygrad.__file__).parent
README = SOURCE / "ops" / "README.md"

# Rows that one literal may name.
FEW = 3
# Where names are not those of rows, even if they are spelled the same, and what they are.
NOT_ROWS = {
    "ops/": "the table itself",
    "base/expression.py": "operators of Python",
    "base/torch_homes.py": "functions that torch has in C++",
    "compat/": "names of torch's namespace, and where they live",
    "why/edits/": "words of the user's source text",
    "amp/casting.py": "functions of torch, by what autocast does with them",
    "functional/out_dtypes.py": "functions of torch, by what they say of an `out` that does not fit",
    "functional/segments.py": "kinds of reduction, as torch calls them in an argument",
    "nn/lazy.py": "operators of Python",
    "why/audit/subjects/loss_inputs.py": "activations, by what losses expect of them",
    "sparse/dispatch.py": "methods of dense tensors",
    "compilation/observe.py": "methods of NumPy's arrays, and functions of Python",
}


def names_in(literal: ast.AST) -> list[str]:
    """The strings of a collection (and of pairs in it), the keys of a dict of constants, the words of a string."""
    if isinstance(literal, ast.Dict):
        # A dict of functions has the implementations themselves, one by one, as a module would.
        if not any(is_constant(value) for value in literal.values):
            return []
        elements: list[Any] = [key for key in literal.keys if key is not None]
    elif isinstance(literal, (ast.Set, ast.List, ast.Tuple)):
        elements = [part for x in literal.elts for part in (x.elts if isinstance(x, (ast.Tuple, ast.List)) else [x])]
    elif isinstance(literal, ast.Constant) and isinstance(literal.value, str) and re.fullmatch(r"[\w\s]+", literal.value):
        return literal.value.split()
    else:
        return []
    return [x.value for x in elements if isinstance(x, ast.Constant) and isinstance(x.value, str)]


def is_constant(value: ast.AST) -> bool:
    return isinstance(value, ast.Constant) or any(isinstance(part, ast.Constant) for part in getattr(value, "elts", ()))


def declares_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Literals that a module loops over when it is loaded, to make a function of each name, and `__all__`."""
    for statement in tree.body:
        if isinstance(statement, ast.For):
            yield from ast.walk(statement.iter)
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == "__all__":
            yield from ast.walk(statement.value)
    for node in ast.walk(tree):
        if isinstance(node, (ast.ListComp, ast.DictComp)):
            made = node.elt if isinstance(node, ast.ListComp) else node.value
            if isinstance(made, (ast.Call, ast.Subscript)):
                yield from ast.walk(node.generators[0].iter)


def lists_of_rows(source: str) -> Iterator[tuple[int, list[str]]]:
    """(line, rows) of each literal in a file that names more than a few rows."""
    tree = ast.parse(source)
    skipped = set(declares_functions(tree))
    for node in ast.walk(tree):
        if node not in skipped:
            rows = sorted(set(names_in(node)) & TABLE.keys())
            if len(rows) > FEW:
                yield node.lineno, rows  # type: ignore[attr-defined]


def test_no_list_of_rows_stands_outside_of_ops() -> None:
    found = [f"{path.relative_to(SOURCE)}:{line} names the rows {' '.join(rows)}"
             for path in sorted(SOURCE.rglob("*.py"))
             if not str(path.relative_to(SOURCE)).startswith(tuple(NOT_ROWS))
             for line, rows in lists_of_rows(path.read_text())]
    assert not found, "say it at the rows, with a trait (ops/README.md):\n" + "\n".join(found)


@pytest.mark.parametrize(("source", "found"), [
    ('X = {"mul", "add", "sub", "div"}', True),
    ('X = frozenset(("mul", "add", "sub", "div", "other"))', True),
    ('X = {"mul": 1, "add": 2, "sub": 3, "div": 4}', True),
    ('X = {"mul": ("a", 2), "add": ("a", 2), "sub": ("a", 2), "div": ("a", 2)}', True),
    ('X = [("mul", 1), ("add", 1), ("sub", 1), ("div", 1)]', True),
    ('X = """mul add\n  sub div""".split()', True),
    ('def f(name):\n    return name in ("mul", "add", "sub", "div")', True),
    ('X = {f"{name}_": name for name in ("mul", "add", "sub", "div")}', True),
    ('X = {"mul", "add", "sub"}', False),
    ('X = {"mul": f, "add": lambda: 0, "sub": g.h, "div": make()}', False),
    ('X = "neither mul nor add, sub or div"', False),
    ('for name in ("mul", "add", "sub", "div"):\n    declare(name)', False),
    ('X = [declare(name) for name in ("mul", "add", "sub", "div")]', False),
    ('__all__ = ["mul", "add", "sub", "div"]', False),
])
def test_a_list_of_rows_is_found(source: str, found: bool) -> None:
    assert bool(list(lists_of_rows(source))) == found


def test_every_trait_of_every_row_is_decided() -> None:
    for row in TABLE.values():
        traits = row.traits
        assert traits.half in HALF, row.name
        assert isinstance(traits.quiet, bool), row.name
        assert traits.called, row.name
        assert callable(rule_for(row)), row.name
        assert set(traits.curve.split()) <= CURVES.keys(), row.name
        assert set(traits.public.split()) <= PUBLIC.keys(), row.name
        assert set(traits.words) <= set(row.inputs), row.name
        assert set(traits.saved) <= {*row.inputs, *row.output_names, *row.statics}, row.name
        if traits.kernel:
            assert callable(getattr(import_module(f"whygrad.kernels.{traits.kernel}"), row.name)), row.name


def test_every_word_is_used() -> None:
    """A trait that no row has, or a batching rule that no row names, is left over."""
    assert {word for row in TABLE.values() for word in row.traits.curve.split()} == CURVES.keys()
    assert {word for row in TABLE.values() for word in row.traits.public.split()} == PUBLIC.keys()
    for words in (CURVES, PUBLIC):  # readers ask `word in trait`
        assert not [(a, b) for a in words for b in words if a != b and a in b]
    rules = {name for name, value in vars(families).items() if list(getattr(value, "__annotations__", ())) == [
        "level", "row", "inputs", "statics", "return"]}
    assert rules - {row.traits.batch for row in TABLE.values()} == {"along_number"}  # which other rules use


def plant(kind: Any, **options: Any) -> Row:
    def planted(xp, x):
        return xp.planted(x)

    row: Row = kind(x=lambda g: g, **options)(planted)
    return row


@pytest.fixture
def planted() -> Iterator[None]:
    yield
    TABLE.pop("planted", None)
    raw.__dict__.pop("planted", None)


@pytest.mark.parametrize(("options", "text"), [
    ({}, "say how it is applied to a batch"),
    ({"batch": "looped", "half": "short"}, "half='short', but it is made of ['bfloat16', 'float32', 'native']"),
    ({"batch": "looped", "curve": "stepwise round"}, "curve='stepwise round', but it is made of"),
    ({"batch": "looped", "public": "everywhere"}, "public='everywhere', but it is made of"),
])
def test_a_row_without_a_decision_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError) as caught:
        plant(op, **options)
    assert text in str(caught.value)
    assert "planted" not in TABLE


def test_no_argument_is_called_like_a_trait() -> None:
    def forward(xp, kernel):
        return kernel

    for row in TABLE.values():
        assert not set(row.inputs) & set(Traits._fields)
    with pytest.raises(TypeError, match="no argument can be called"):
        elementwise()(forward)


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_new_row_of_two_steps_is_rounded_once(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from whygrad.backends import numpy_pointwise

    def sech(x: Any) -> Any:
        return 1 / np.cosh(x)

    monkeypatch.setattr(numpy_pointwise, "planted", sech, raising=False)
    plant(elementwise)
    x = np.linspace(-4, 4, 2000).astype(dtype)
    expected = sech(x.astype(np.float32)).astype(dtype)
    assert (sech(x) != expected).any(), "the sample does not tell one rounding from two"
    np.testing.assert_array_equal(raw.planted(x), expected)
    assert raw.planted(x).dtype == dtype


def apply_diff(text: str, root: Path) -> set[str]:
    """Apply a unified diff whose hunks are found by their context; the files it touches."""
    touched = set()
    for part in re.split(r"^diff ", text, flags=re.M)[1:]:
        name = re.search(r"^\+\+\+ b/(\S+)", part, re.M)[1]  # type: ignore[index]
        content = (root / name).read_text()
        for hunk in re.split(r"^@@.*\n", part, flags=re.M)[1:]:
            lines = [line or " " for line in hunk.splitlines()]
            before, after = ["\n".join(line[1:] for line in lines if line[0] in kinds) for kinds in (" -", " +")]
            assert content.count(before) == 1, f"{name}: the context of a hunk is there {content.count(before)} times"
            content = content.replace(before, after)
        (root / name).write_text(content)
        touched.add(name)
    return touched


# What one row has given, once it is there.
NEW_ROW = """
import numpy as np, whygrad as torch
from row_checks import check_quiet, check_sample
from row_samples import SAMPLES
from whygrad import kernels
from whygrad.ops.table import TABLE

row = TABLE["symlog"]
for sample in SAMPLES["symlog"]:  # forward, gradient, second gradient, both readers, memory, float32
    check_sample(row, sample)
    check_quiet(row, sample)

x = torch.linspace(-3, 3, 1001, requires_grad=True)
y = torch.symlog(x)
expected = np.sign(x.detach().numpy()) * np.log1p(np.abs(x.detach().numpy()))
np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-6)
g, = torch.autograd.grad(y.sum(), x, create_graph=True)
np.testing.assert_allclose(g.detach().numpy(), 1 / (1 + np.abs(x.detach().numpy())), rtol=1e-6)
h, = torch.autograd.grad(g.sum(), x)
np.testing.assert_allclose(h.numpy(), -np.sign(x.detach().numpy()) / (1 + np.abs(x.detach().numpy())) ** 2, rtol=1e-5)
assert kernels.stats()["by_name"]["symlog"]["native"], kernels.stats()
assert "d_symlog_d_x" not in kernels.stats()["not_compiled"] and "symlog" not in kernels.stats()["not_compiled"]

assert torch.vmap(torch.symlog)(x.reshape(7, 143)).reshape(-1).equal(y)
assert torch.func.jvp(torch.symlog, (x,), (torch.ones_like(x),))[1].equal(g)
for dtype in (torch.float16, torch.bfloat16):
    short = x.detach().to(dtype)
    assert torch.symlog(short).equal(torch.symlog(short.float()).to(dtype))
assert torch.symlog(torch.tensor([0, 2])).dtype == torch.float32
assert x.detach().clone().symlog_().equal(y) and torch._foreach_symlog([x])[0].equal(y)
sparse = torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
assert torch.symlog(sparse).to_dense().equal(torch.symlog(sparse.to_dense())) and torch.symlog(sparse)._nnz() == 1
assert str(torch.formula("symlog")) == "symlog(x)\\n  d symlog / d x = g / (1 + abs(x))"
"""


def test_the_example_of_the_readme_is_all_that_a_row_needs(tmp_path: Path) -> None:
    tests = Path(__file__).parents[1]
    shutil.copytree(SOURCE, tmp_path / "src" / "whygrad")
    shutil.copytree(tests / "row_samples", tmp_path / "tests" / "row_samples")
    shutil.copy2(tests / "row_checks.py", tmp_path / "tests")
    diff = re.search(r"^```diff\n(.*?)^```", README.read_text(), re.M | re.S)
    assert diff is not None
    touched = apply_diff(diff[1], tmp_path)
    assert len(touched) == 3, touched
    assert {Path(name).parts[-2] for name in touched} == {"ops", "backends", "row_samples"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", NEW_ROW], capture_output=True, text=True, check=False,
                          cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{tmp_path / 'src'}{os.pathsep}{tmp_path / 'tests'}",
                                             "WHYGRAD_KERNELS": "always"})
    assert done.returncode == 0, done.stderr
