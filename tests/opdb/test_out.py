"""`out=` of every operator of torch's that takes it: what is written, warned of or refused, by what is given."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import whygrad

from .samples import our_variants, public_ops, samples_of
from .translate import Missing, Translator

# By name of the state: made of the result that is expected.
GIVEN: dict[str, Callable[[Any, Any], Any]] = {
    "empty": lambda lib, r: lib.empty(0, dtype=r.dtype),
    "right": lambda lib, r: lib.zeros(tuple(r.shape), dtype=r.dtype),
    "too large": lambda lib, r: lib.zeros((*r.shape, 2), dtype=r.dtype),
    "turned": lambda lib, r: lib.zeros(tuple(r.shape)[::-1], dtype=r.dtype).permute(tuple(range(r.ndim))[::-1]),
    "integers": lambda lib, r: lib.zeros(tuple(r.shape), dtype=lib.int32),
    "wider": lambda lib, r: lib.zeros(tuple(r.shape), dtype=lib.float64 if r.dtype.is_floating_point else lib.complex128),
}

# What torch warns of once in a program, unless it is told to warn always.
SAID_ONCE = ("deprecated in favor", "is in beta")
# Of these the numbers are not determined.
ANY_NUMBERS = {"empty", "linalg.eig", "geqrf", "linalg.householder_product", "ormqr", "nn.functional.rrelu", "normal",
               "multinomial", "bernoulli"}


def tensors(result: Any) -> list[Any]:
    return [result] if not isinstance(result, (tuple, list)) else list(result)


def attempt(lib: Any, function: Callable[..., Any], arguments: Any, state: str) -> dict[str, Any]:
    """Everything that can be seen of one call."""
    input, args, kwargs = arguments
    lib.manual_seed(0)
    expected = function(input, *args, **kwargs)
    if not all(isinstance(r, lib.Tensor) for r in tensors(expected)):
        return {}
    several = not isinstance(expected, lib.Tensor)
    given = [GIVEN[state](lib, r) for r in tensors(expected)]
    seen: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        lib.manual_seed(0)
        try:
            result = function(input, *args, **kwargs, out=tuple(given) if several else given[0])
        except Exception as error:
            seen["error"] = type(error).__name__
            seen["text"] = str(error).partition("\n")[0]
            return seen
    seen["warned"] = [str(w.message)[:40] for w in warned if not any(text in str(w.message) for text in SAID_ONCE)]
    seen["is out"] = [a is b for a, b in zip(tensors(result), given, strict=False)]  # unravel_index gives None
    seen["dtype"] = [str(t.dtype) for t in given]
    seen["stride"] = [(tuple(t.shape), t.stride() if t.numel() else ()) for t in given]
    seen["values"] = [t.numpy() for t in given]
    return seen


def difference(name: str, theirs: dict[str, Any], ours: dict[str, Any]) -> str | None:
    if theirs.keys() != ours.keys():
        texts = [side.get("text", "no error") for side in (theirs, ours)]
        return f"{texts[0]} there, {texts[1]} here"
    for what in ("error", "warned", "is out", "dtype", "stride"):
        if theirs.get(what) != ours.get(what) and not (what == "stride" and name.startswith(BY_COLUMNS)):
            return f"{what}: {theirs[what]} there, {ours[what]} here"
    for a, b in zip(theirs.get("values", ()), ours.get("values", ()), strict=True):
        if name not in ANY_NUMBERS and not np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True):
            return "other numbers"
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first_letters", ["_abc", "defg", "hijkl", "mn", "opqrs", "tuvwxyzTH"])
def test_out(first_letters: str) -> None:
    known = {name for names in KNOWN.values() for name in names}
    found = {name: text for name, text in differences(first_letters).items() if name not in known}
    assert not found, found


# What differs, and why.
KNOWN = {
    "torch writes other numbers, as if the memory it is given were in one piece":
        ("nn.functional.gelu, turned", "nn.functional.avg_pool3d, turned", "narrow_copy, turned"),
    "numbers are drawn in the order of memory": ("normal.number_mean, turned",),
    "torch warns of a resize that there is not": ("nn.functional.linear, right", "nn.functional.linear, turned"),
    "torch takes any dtype, and puts what it made for itself in its place": ("lu, integers", "lu, wider", "lu, too large"),
    "torch puts ones and zeros into integers": ("bernoulli, integers",),
    "torch has no kernel for it, and says so first": ("normal, integers",),
}
# Matrices by columns there, and by rows here.
BY_COLUMNS = ("linalg.", "geqrf", "lu_solve", "ormqr", "qr", "triangular_solve")


def differences(first_letters: str) -> dict[str, str]:
    found = {}
    for name, op in public_ops().items():
        if not op.supports_out or name[0] not in first_letters:
            continue
        dtype = torch.float32 if torch.float32 in op.supported_dtypes("cpu") else min(op.supported_dtypes("cpu"), key=str)
        sample = next(iter(samples_of(op, dtype, 1)), None)
        variant = our_variants(op)[0]
        if sample is None or variant.ours is None:
            continue
        theirs = (sample.input.detach() if isinstance(sample.input, torch.Tensor) else sample.input, sample.args, sample.kwargs)
        for state in GIVEN:
            with torch.no_grad(), whygrad.no_grad():
                try:
                    there = attempt(torch, variant.theirs, theirs, state)
                    here = attempt(whygrad, variant.ours, Translator()(theirs), state)
                except Missing:
                    continue
            text = difference(name, there, here)
            if text:
                found[f"{name}, {state}"] = text
    return found
