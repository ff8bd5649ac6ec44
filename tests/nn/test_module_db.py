"""torch's own table of modules and their inputs, built and run on both sides from the same seed.

A dozen inputs of each module run by default; all of them with WHYGRAD_ALL_MODULE_INPUTS=1 in the environment.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from opdb.tables import ModuleErrorEnum, ModuleInfo, module_db
from opdb.translate import Translator, find
from oracle import assert_same, outcome

import whygrad
import whygrad.nn

# Every module of the table makes sense on a CPU, but not every dtype.
LEFT_OUT_DTYPES = {torch.float16: "what it rounds to depends on the order of sums",
                   torch.bfloat16: "what it rounds to depends on the order of sums",
                   torch.complex32: "no such dtype in NumPy"}
MODULES = {info.name.removeprefix("nn."): info for info in module_db}
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-9, torch.complex64: 1e-4, torch.complex128: 1e-9}
AT_MOST = None if os.environ.get("WHYGRAD_ALL_MODULE_INPUTS") else 12

# Where torch's own samples contain a layer, ours has to be built in the same way: how torch's was built, by its id.
recipes: dict[int, tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]] = {}
encoder_layer = torch.nn.TransformerEncoderLayer


def remembered_encoder_layer(*args: Any, **kwargs: Any) -> torch.nn.Module:
    torch.manual_seed(1)
    layer = encoder_layer(*args, **kwargs)
    recipes[id(layer)] = (layer, args, kwargs)
    return layer


class ModuleTranslator(Translator):
    """Arguments of constructors and of forward: also layers, options and packed sequences."""

    def __call__(self, value: Any) -> Any:
        if id(value) in recipes:
            _, args, kwargs = recipes[id(value)]
            whygrad.manual_seed(1)
            return whygrad.nn.TransformerEncoderLayer(*self(args), **self(kwargs))
        if isinstance(value, torch.nn.utils.rnn.PackedSequence):
            return whygrad.nn.utils.rnn.PackedSequence(*[self(field) for field in value])
        if dataclasses.is_dataclass(value):
            ours = find(whygrad, f"nn.{type(value).__name__}")
            return ours(**{field.name: self(getattr(value, field.name)) for field in dataclasses.fields(value)})
        return super().__call__(value)


def spread(inputs: list[Any]) -> list[Any]:
    """Some of the inputs, from the first to the last."""
    if AT_MOST is None or len(inputs) <= AT_MOST:
        return inputs
    return [inputs[i * (len(inputs) - 1) // (AT_MOST - 1)] for i in range(AT_MOST)]


def inputs_of(info: ModuleInfo, dtype: torch.dtype, training: bool) -> list[Any]:
    torch.manual_seed(0)
    return spread(info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training))


def leaves(value: Any) -> list[Any]:
    """All tensors in a structure that can have a gradient."""
    if isinstance(value, (torch.Tensor, whygrad.Tensor)):
        return [value] if value.is_floating_point() or value.is_complex() else []
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [t for v in values for t in leaves(v)]


def run(lib: Any, name: str, sample: Any, dtype: Any, training: bool) -> Iterator[tuple[str, Any]]:
    """What shows of a module's life, step by step."""
    (args, kwargs), (inputs, keywords) = sample
    lib.manual_seed(2)
    module = getattr(lib.nn, name)(*args, **kwargs).to(dtype).train(training)
    yield "repr", repr(module)
    if not name.startswith("Lazy"):  # whose parameters have no values yet
        yield "state", list(module.state_dict().items())
    lib.manual_seed(3)
    out = module(*inputs, **keywords)
    yield "result", out
    yield "repr after the call", repr(module)
    yield "state after the call", list(module.state_dict().items())
    outs = [t for t in leaves(out) if t.requires_grad]
    wanted = [t for t in [*leaves((inputs, keywords)), *module.parameters()] if t.requires_grad]
    if outs:
        # Up to 1, so that every element counts for itself.
        weights = [(lib.arange(1, t.numel() + 1) / t.numel()).reshape(t.shape).to(t.dtype) for t in outs]
        yield "gradients", lib.autograd.grad(outs, wanted, weights, allow_unused=True)


def compare(info: ModuleInfo, dtype: torch.dtype, training: bool, sample: Any) -> None:
    name = info.name.removeprefix("nn.")
    given = [(tuple(part.args), dict(part.kwargs)) for part in (sample.constructor_input, sample.forward_input)]
    translate = ModuleTranslator()
    translated = [tuple(translate(part)) for part in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = run(torch, name, given, dtype, training)
        ours = run(whygrad, name, translated, translate(dtype), training)
        for (step, expected), (_, found) in zip(theirs, ours, strict=True):
            assert_same(expected, found, f"{step} of {name}{given[0]} {sample.desc}", rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("name", MODULES)
def test_same_as_torch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    info = MODULES[name]
    monkeypatch.setattr(torch.nn, "TransformerEncoderLayer", remembered_encoder_layer)
    samples = [(dtype, training, inputs_of(info, dtype, training))
               for dtype in info.dtypes if dtype not in LEFT_OUT_DTYPES for training in (True, False)]
    monkeypatch.undo()
    for dtype, training, inputs in samples:
        for sample in inputs:
            compare(info, dtype, training, sample)
    recipes.clear()


@pytest.mark.parametrize("name", [name for name, info in MODULES.items() if info.module_error_inputs_func])
def test_same_errors_as_torch(name: str) -> None:
    info = MODULES[name]
    torch.manual_seed(0)
    for error in info.module_error_inputs_func(info, "cpu", torch.float32, requires_grad=False, training=True):
        sample, in_constructor = error.module_error_input, error.error_on is ModuleErrorEnum.CONSTRUCTION_ERROR
        translate = ModuleTranslator()

        def failed(lib: Any, convert: Any) -> tuple[str, Any]:
            def build() -> Any:
                return getattr(lib.nn, name)(*convert(tuple(sample.constructor_input.args)),
                                             **convert(dict(sample.constructor_input.kwargs)))
            if in_constructor:
                return outcome(build)
            module = build()
            return outcome(lambda: module(*convert(tuple(sample.forward_input.args)),
                                          **convert(dict(sample.forward_input.kwargs))))

        expected, found = failed(torch, lambda value: value), failed(whygrad, translate)
        assert found == expected if expected[0] == "error" else found[0] == "value"
