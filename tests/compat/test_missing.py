"""Every public name of torch is here, or says what it is about and what to use instead."""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import whygrad
from whygrad.base.unsupported import Missing, MissingModule
from whygrad.base.unsupported_reasons import why_missing

NAMESPACES = ("", "amp", "autograd", "autograd.graph", "backends", "compiler", "cuda", "distributions", "fft", "jit", "linalg",
              "masked", "multiprocessing", "nn", "nn.attention", "nn.functional", "nn.init", "nn.utils", "optim",
              "optim.lr_scheduler", "optim.swa_utils", "overrides", "random", "serialization", "signal.windows", "special",
              "testing", "utils", "utils.data")


def public_names(module: types.ModuleType) -> Iterator[str]:
    """Without what a module has only because it uses it: Python's own modules, and parts of torch that live elsewhere."""
    for name in dir(module):
        value = getattr(module, name)
        owner = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None) or "torch"
        if not name.startswith("_") and owner.startswith("torch") and (
                name in getattr(module, "__all__", ()) or name not in vars(torch) or module is torch):
            yield name


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_missing_name_says_why(namespace: str) -> None:
    theirs = importlib.import_module(f"torch.{namespace}".rstrip("."))
    ours = functools.reduce(getattr, namespace.split(".") if namespace else [], whygrad)
    silent = []
    for name in public_names(theirs):
        full_name = f"{namespace}.{name}".lstrip(".")
        try:
            found = getattr(ours, name)
        except (AttributeError, NotImplementedError) as error:
            if not why_missing(full_name) or why_missing(full_name) not in str(error):
                silent.append(f"{full_name}: {error}")
            assert not hasattr(ours, name)
        else:
            if isinstance(found, (Missing, MissingModule)) and not why_missing(full_name):
                silent.append(full_name)
    assert not silent


@pytest.mark.filterwarnings("ignore:volatile was removed")
def test_a_missing_name_of_tensor_says_why() -> None:
    x = whygrad.ones(2, 2, dtype=whygrad.complex64)
    for name in dir(torch.Tensor):
        if not name.startswith("_") and name != "index" and not hasattr(x, name):
            with pytest.raises(AttributeError) as caught:
                getattr(x, name)
            assert why_missing(f"Tensor.{name}")
            assert str(caught.value) == f"'Tensor' object has no attribute {name!r}: {why_missing(f'Tensor.{name}')}"


@pytest.mark.parametrize("use", [
    lambda: whygrad.quantization.QuantStub(), lambda: whygrad.distributed.rpc.init_rpc(1), lambda: whygrad.fx.passes.Split(1),
    lambda: whygrad.onnx.export(1), lambda: whygrad.cuda.CUDAGraph(), lambda: whygrad.ScriptModule(3)])
def test_stand_ins_raise_when_used(use: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"torch\.\S+ is not available in whygrad: \w+"):
        use()


def test_classes_that_programs_only_name() -> None:
    assert not isinstance(3, (whygrad.SymInt, whygrad.SymBool, whygrad.ScriptModule))


def test_a_name_that_torch_does_not_have() -> None:
    for module in (whygrad, whygrad.nn, whygrad.nn.functional):
        with pytest.raises(AttributeError, match=r"module 'torch[\w.]*' has no attribute 'no_such_thing'$"):
            _ = module.no_such_thing


def test_modules_are_found_when_they_are_asked_for() -> None:
    assert whygrad.nn.attention.SDPBackend is importlib.import_module("whygrad.nn.attention").SDPBackend
