"""The plan of the house holds: imports go one way, and rows say what they must."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

import whygrad
from whygrad.backends import row_text
from whygrad.core import record as _apply
from whygrad.ops.table import TABLE, NoGrad, Row, op

SOURCE = Path(whygrad.__file__).parent


@functools.cache
def imports_of(path: Path) -> set[str]:
    """Modules of the package that a file imports when it is loaded (not inside functions)."""
    found: set[str] = set()
    pending: list[ast.AST] = list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.expr)):
            continue
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("whygrad"):
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.startswith("whygrad"))
        pending.extend(ast.iter_child_nodes(node))
    return found


# folder -> what it must not import when loaded
FORBIDDEN = {
    "ops": ["whygrad.autograd", "whygrad.core", "whygrad.backends", "whygrad.functional", "whygrad.nn",
            "whygrad.why"],
    "backends": ["whygrad.autograd", "whygrad.core", "whygrad.functional", "whygrad.nn", "whygrad.why"],
    "autograd": ["whygrad.nn", "whygrad.optim"],
    "functional": ["whygrad.nn", "whygrad.optim"],
}


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_imports_go_one_way(folder: str) -> None:
    for path in (SOURCE / folder).rglob("*.py"):
        for module in imports_of(path):
            for forbidden in FORBIDDEN[folder]:
                assert not f"{module}.".startswith(f"{forbidden}."), f"{path.name} imports {module}"


def test_explanations_are_behind_one_interface() -> None:
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in ("why", "for_whygrad", "for_torch") or path.name == "__init__.py":
            continue
        for module in imports_of(path):
            if module.startswith("whygrad.why"):
                assert module in ("whygrad.why", "whygrad.why.record") or module.startswith("whygrad.why.record."), (
                    f"{path.name} imports {module}")


def test_ops_need_neither_numpy_nor_tensors() -> None:
    for path in (SOURCE / "ops").glob("*.py"):
        assert "import numpy" not in path.read_text(), path.name


def test_every_row_can_be_compiled() -> None:
    for row in TABLE.values():
        kinds = "v" if row.variadic else "t" * len(row.inputs)
        layout = _apply.specialization_of(row, kinds)
        compile(row_text.recorder_source(layout), row.name, "exec")
        compile(row_text.gradient_source(layout, "raw"), row.name, "exec")
        compile(row_text.gradient_source(layout, "graph"), row.name, "exec")


def test_rules_have_names_for_tracebacks() -> None:
    rule = TABLE["mul"].rules["a"]
    assert not isinstance(rule, NoGrad)
    assert rule.function.__name__ == "d_mul_d_a"


def declare_wrongly(**rules: object) -> Row:
    def wrong(xp, a, b):
        return xp.mul(a, b)

    return op(**rules)(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rules", "text"), [
    ({"a": lambda g: g}, "no rule for ['b']"),
    ({"a": lambda g: g, "b": lambda g: g, "c": lambda g: g}, "rules for ['c']"),
    ({"a": lambda g, z: g, "b": lambda g: g}, "unknown names ['z']; a rule may name"),
])
def test_a_wrong_row_fails_when_it_is_declared(rules: dict[str, object], text: str) -> None:
    with pytest.raises(TypeError) as caught:
        declare_wrongly(**rules)
    assert text in str(caught.value)
    assert "wrong" not in TABLE
