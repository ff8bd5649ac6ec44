"""The function door: who stands there and in which order, and that nothing else intercepts."""

from __future__ import annotations

import ast
import contextlib
import gc
import inspect
import pickle
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

import whygrad
from whygrad.base import door
from whygrad.functional.run import FUNCTIONS, METHODS

SOURCE = Path(whygrad.__file__).parent
F = whygrad.nn.functional

# Files through which calls are intercepted: nothing in them takes a shortcut.
DOOR_FILES = ("amp/casting.py", "amp/recurrent.py", "base/door.py", "compat/legacy.py", "base/refusing.py",
              "functional/arguments.py", "functional/dispatch.py", "functional/methods.py", "functional/misc.py",
              "functional/operators.py", "functional/overriding.py", "functional/protocol.py", "functional/run.py",
              "overrides.py", "sparse/dispatch.py", "sparse/op.py", "sparse/tensor.py", "for_whygrad/instrumentation.py",
              "why/watch.py")


class Note:
    """A handler that notes what passes, and may change it."""

    def __init__(self, place: str, log: list[Any], change: Any = None) -> None:
        self.place, self.log, self.change = place, log, change

    def wants(self, spec: door.Spec) -> bool:
        return spec.name in ("torch.mul", "Tensor.mul", "torch.nn.functional.relu", "Tensor.shape.__get__", "Tensor.exp")

    def handle(self, spec: door.Spec, args: Any, kwargs: Any, next: Any) -> Any:
        self.log.append((self.place, spec.name, len(args), sorted(kwargs)))
        result = next(args, kwargs)
        return result if self.change is None else self.change(result)


def test_handlers_are_asked_in_their_order() -> None:
    log: list[Any] = []
    handlers = [Note(place, log) for place in ("sparse", "watch", "autocast", "profiler")]
    x = whygrad.tensor([1.0, -2.0])
    for handler in handlers:
        door.add(handler)
    try:
        x * 2
    finally:
        for handler in handlers:
            door.remove(handler)
    x * 2
    assert [line[:2] for line in log] == [(place, "Tensor.mul") for place in ("watch", "profiler", "autocast", "sparse")]
    assert not any(h in spec.handlers for spec in door.SPECS.values() for h in handlers)


def test_calls_pass_as_the_user_wrote_them() -> None:
    log: list[Any] = []
    handler = Note("profiler", log, change=lambda result: (result, "seen"))
    x = whygrad.tensor([1.0, -2.0])
    door.add(handler)
    try:
        results = [whygrad.mul(x, other=x), x.mul(x), F.relu(input=x), F.relu(x, inplace=False), x.shape, x.exp(), x * x, 2 * x]
    finally:
        door.remove(handler)
    assert all(result[1] == "seen" for result in results)
    assert [line[1:] for line in log if line[1] != "Tensor.shape.__get__" or line[2:] != (1, [])][:4] == [
        ("torch.mul", 1, ["other"]), ("Tensor.mul", 2, []), ("torch.nn.functional.relu", 0, ["input"]),
        ("torch.nn.functional.relu", 1, ["inplace"])]


def test_public_functions_look_as_before() -> None:
    assert str(inspect.signature(whygrad.clamp_)).startswith("(input: 'Any', min")
    assert list(inspect.signature(whygrad.Tensor.sum).parameters)[:3] == ["input", "dim", "keepdim"]
    assert (whygrad.subtract.__name__, whygrad.add.__module__) == ("subtract", "whygrad")  # where pickle finds it
    assert whygrad.exp.__doc__ == "exp of each element."
    for function in (whygrad.sum, F.relu, F.linear, whygrad.linalg.inv, whygrad.cat):
        assert pickle.loads(pickle.dumps(function)) is function


def test_everything_public_is_behind_the_door() -> None:
    for name, function in FUNCTIONS.items():
        assert hasattr(function, "spec") or name in ("can_cast", "promote_types", "set_default_dtype", "get_default_dtype"), name
    for name in F.__all__:
        assert hasattr(getattr(F, name), "spec") or name in ("sigmoid", "tanh"), name  # as in torch: they call the method
    for name, method in METHODS.items():
        assert hasattr(method, "spec") or not inspect.isfunction(method) or name == "ndimension", name
    for name in ("grad", "data", "requires_grad", "grad_fn", "shape", "dtype", "T", "is_leaf"):
        assert f"Tensor.{name}.__get__" in door.SPECS


def assigned(tree: ast.AST) -> list[ast.Attribute]:
    targets = [target for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign))
               for target in (node.targets if isinstance(node, ast.Assign) else [node.target])]
    return [x for target in targets for x in ast.walk(target) if isinstance(x, ast.Attribute)]


@pytest.mark.parametrize("file", DOOR_FILES)
def test_no_other_way_to_intercept(file: str) -> None:
    text = (SOURCE / file).read_text()
    names = [target.attr for target in assigned(ast.parse(text))]
    assert "__code__" not in names
    assert "__class__" not in names
    assert "import dis\n" not in text


EVERYTHING = """
import sys, types
import whygrad as torch
import whygrad.nn.functional as F, whygrad.optim, whygrad.amp, whygrad.sparse, whygrad.overrides, whygrad.nn.utils
from whygrad.why.watch import Watch

def snapshot():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("whygrad") and isinstance(module, types.ModuleType):
            for key, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType):
                    found[name, key] = value, value.__code__
    for kind in (torch.Tensor, torch.nn.Module, torch.optim.Optimizer, torch.amp.GradScaler, torch.nn.Parameter):
        for key, value in vars(kind).items():
            if callable(value) or isinstance(value, property):
                found[kind, key] = value, getattr(value, "__code__", None)
    return found

def step():
    model = torch.nn.Linear(2, 2)
    F.mse_loss(model(torch.ones(2, 2)), torch.ones(2, 2)).backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    torch.mm(torch.eye(2).to_sparse(), torch.ones(2, 2))

class Sub(torch.Tensor): pass
step()
before = snapshot()
with torch.autocast("cpu"), torch.overrides.BaseTorchFunctionMode():
    watch = Watch(); watch.start()
    step(); torch.ones(2).as_subclass(Sub).exp()
    during = snapshot()
    watch.stop()
changed = [key for key in before if during.get(key) != before[key] and not str(key[1]).startswith("_")]
print(changed)
"""


def test_nothing_is_assigned_over() -> None:
    """Whoever listens: functions of modules, methods and properties stay the objects they were, with their code."""
    done = subprocess.run([sys.executable, "-c", EVERYTHING], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_a_refused_call_leaves_no_cycle() -> None:
    """The error's traceback holds frames, which must not hold the error: the arguments would wait for the collector."""
    x = whygrad.ones(3, requires_grad=True) * 2
    alive = weakref.ref(x.grad_fn)
    gc.disable()
    try:
        with contextlib.suppress(TypeError):
            whygrad.add(x, None)
        with contextlib.suppress(TypeError):
            x.sum(dim="no dim")
        del x
        assert alive() is None
    finally:
        gc.enable()


def test_nobody_stands_at_the_door_of_an_ordinary_program() -> None:
    """Handlers cost: a package must not bring one along because another has imported it."""
    program = ("import whygrad, whygrad.nn, whygrad.optim, whygrad.func, whygrad.utils.data\nfrom whygrad.base import door\n"
               "whygrad.nn.Linear(2, 2)(whygrad.ones(2)).sum().backward()\nassert not door.active, door.active")
    subprocess.run([sys.executable, "-c", program], check=True)
