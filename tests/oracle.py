"""Running the same thing on torch and on whygrad, and comparing everything that shows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import whygrad

torch.set_num_threads(1)


def pair(array: Any, requires_grad: bool = False) -> tuple[torch.Tensor, whygrad.Tensor]:
    """The same numbers as a torch tensor and as one of ours."""
    array = np.asarray(array)
    theirs = torch.from_numpy(array.copy()) if array.ndim else torch.from_numpy(array.reshape(1).copy())[0].clone()
    ours = whygrad.from_numpy(array.copy())
    if requires_grad:
        theirs.requires_grad_()
        ours.requires_grad_()
    return theirs, ours


def to_numpy(t: Any) -> np.ndarray:
    if isinstance(t, torch.Tensor):
        t = t.detach().resolve_conj().resolve_neg()
        if t.dtype is torch.bfloat16:
            return t.float().numpy()
        return t.numpy(force=True)  # torch's lazy zeros have no memory
    array = t._array
    return array.astype(np.float32) if str(array.dtype) == "bfloat16" else array


TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-10, "complex128": 1e-10}

# What may be left of numbers that cancel out: some units in the last place of those that the sums in a test go through.
NOISE = {"float32": 2e-6, "complex64": 2e-6, "float64": 1e-13, "complex128": 1e-13}


def size_of(array: np.ndarray) -> float:
    """The largest number, at most 1: what a difference is compared with where numbers cancel."""
    sizes = np.abs(array[np.isfinite(array)]) if array.dtype.kind in "fc" else np.ones(1)
    return float(min(1.0, sizes.max(initial=0.0)))


def assert_same(theirs: Any, ours: Any, where: str = "result", rtol: float | None = None, noise: float = 0) -> None:
    """Same structure, dtype, shape, values and requires_grad.

    Values may differ by `rtol` of themselves, and of the largest in the array; by `noise` in any case.
    """
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, (tuple, list)), f"{where}: torch gives {type(theirs)}, we give {type(ours)}"
        assert len(theirs) == len(ours), f"{where}: {len(theirs)} results, we give {len(ours)}"
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            assert_same(a, b, f"{where}[{i}]", rtol, noise)
        return
    if not isinstance(theirs, torch.Tensor):
        if isinstance(theirs, float):
            np.testing.assert_allclose(ours, theirs, rtol=rtol or 1e-6, err_msg=where)
        else:
            assert ours == theirs or str(ours) == str(theirs), f"{where}: {theirs!r}, we give {ours!r}"
        return
    assert isinstance(ours, whygrad.Tensor), f"{where}: we give {type(ours)}"
    assert str(theirs.dtype) == str(ours.dtype), f"{where}: dtype {theirs.dtype}, we give {ours.dtype}"
    assert tuple(theirs.shape) == tuple(ours.shape), f"{where}: shape {tuple(theirs.shape)}, we give {tuple(ours.shape)}"
    assert theirs.requires_grad == ours.requires_grad, f"{where}: requires_grad {theirs.requires_grad}"
    dtype, expected = str(ours.dtype).removeprefix("torch."), to_numpy(theirs)
    tolerance = rtol or TOLERANCE.get(dtype, 0)
    noise = max(tolerance * size_of(expected), NOISE.get(dtype, 0), noise)
    np.testing.assert_allclose(to_numpy(ours), expected, rtol=tolerance, atol=noise, err_msg=where)


def node_name(t: Any) -> str | None:
    return None if t.grad_fn is None else type(t.grad_fn).__name__


def outcome(call: Callable[[], Any], *, all_lines: bool = False) -> tuple[str, Any]:
    """What a call gives: ("value", result) or ("error", (class name, first line or all of them))."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "value", call()
        except Exception as error:
            return "error", (type(error).__name__, str(error) if all_lines else str(error).split("\n")[0])


def outcome_and_warnings(call: Callable[[], Any]) -> tuple[tuple[str, Any], list[str]]:
    """`outcome`, with all lines, and what the call warns of."""
    warned: list[str] = []

    def heard() -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                return call()
            finally:
                warned.extend([str(w.message) for w in caught])

    return outcome(heard, all_lines=True), warned


def weights_like(t: Any, seed: int) -> np.ndarray:
    """Fixed random numbers to reduce a result with, so that every element has a gradient of its own."""
    values = np.random.default_rng(seed).uniform(0.5, 1.5, tuple(t.shape))
    array = to_numpy(t)
    return values.astype(array.dtype if array.dtype.kind in "fc" else np.float64)


def check(function: Callable[..., Any], arrays: Sequence[Any], *, order: int = 2, check_node: bool = True,
          rtol: float | None = None) -> None:
    """`function(torch_or_whygrad, *tensors)` gives the same values and derivatives up to `order`.

    Floating inputs require grad; other arguments (numbers, None) are passed as they are.
    """
    theirs_in, ours_in = [], []
    for a in arrays:
        if isinstance(a, np.ndarray):
            theirs, ours = pair(a, requires_grad=a.dtype.kind in "fc")
            theirs_in.append(theirs)
            ours_in.append(ours)
        else:
            theirs_in.append(a)
            ours_in.append(a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs_out = function(torch, *theirs_in)
        ours_out = function(whygrad, *ours_in)
        assert_same(theirs_out, ours_out, rtol=rtol)
        pairs = [(a, b) for a, b in zip(_flat(theirs_out), _flat(ours_out), strict=True) if a.requires_grad]
        if check_node:
            for a, b in pairs:
                assert node_name(a) == node_name(b)
        _check_gradients(pairs, theirs_in, ours_in, order, rtol)


def _flat(out: Any) -> list[Any]:
    if isinstance(out, (torch.Tensor, whygrad.Tensor)):
        return [out]
    return [t for t in out if isinstance(t, (torch.Tensor, whygrad.Tensor))] if isinstance(out, (tuple, list)) else []


def _check_gradients(pairs: list[Any], theirs_in: list[Any], ours_in: list[Any], order: int, rtol: float | None) -> None:
    if not pairs or not order:
        return
    theirs_leaves = [t for t in theirs_in if isinstance(t, torch.Tensor) and t.requires_grad]
    ours_leaves = [t for t in ours_in if isinstance(t, whygrad.Tensor) and t.requires_grad]
    theirs_loss = sum((a * torch.from_numpy(weights_like(a, i))).sum().abs() if a.is_complex() else
                      (a * torch.from_numpy(weights_like(a, i))).sum() for i, (a, _) in enumerate(pairs))
    ours_loss = sum((b * whygrad.from_numpy(weights_like(b, i))).sum().abs() if b.is_complex() else
                    (b * whygrad.from_numpy(weights_like(b, i))).sum() for i, (_, b) in enumerate(pairs))
    create = order > 1
    first_theirs = torch.autograd.grad(theirs_loss, theirs_leaves, create_graph=create, allow_unused=True)
    if not create:
        # The fast path: bare arrays.
        first_ours = whygrad.autograd.grad(ours_loss, ours_leaves, allow_unused=True)
    else:
        raw = whygrad.autograd.grad(ours_loss, ours_leaves, retain_graph=True, allow_unused=True)
        first_ours = whygrad.autograd.grad(ours_loss, ours_leaves, create_graph=True, allow_unused=True)
        for a, b in zip(raw, first_ours, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                # In single precision a kernel's rounding is relative to the largest number, not to one that cancels to nearly 0.
                wanted = to_numpy(b)
                smallest = 1e-6 * np.abs(wanted).max(initial=0.0) if wanted.dtype.char in "fF" else 1e-12
                np.testing.assert_allclose(to_numpy(a), wanted, rtol=1e-6, atol=smallest,
                                           err_msg="raw reader and graph reader differ")
                assert a.dtype is b.dtype
    compared = []
    for i, (a, b) in enumerate(zip(first_theirs, first_ours, strict=True)):
        assert (a is None) == (b is None), f"gradient {i}: torch gives {a}, we give {b}"
        if a is not None:
            assert_same(a.detach(), b.detach(), f"gradient {i}", rtol)
            if a.requires_grad or b.requires_grad:
                compared.append((a, b))
    if order > 1 and compared:
        both = [(a, b) for a, b in compared if a.requires_grad and b.requires_grad]
        _check_gradients(both, theirs_leaves, ours_leaves, order - 1, rtol)


def same_error(theirs: Callable[[], Any], ours: Callable[[], Any], *, text: bool = True) -> None:
    """Both raise the same class, with the same first line if `text`; or neither raises."""
    a, b = outcome(theirs), outcome(ours)
    if a[0] == "error":
        assert b[0] == "error", f"torch raises {a[1]}, we give {b[1]}"
        assert a[1][0] == b[1][0], f"torch raises {a[1]}, we raise {b[1]}"
        if text:
            assert a[1][1] == b[1][1]
    else:
        assert b[0] == "value", f"torch gives a value, we raise {b[1]}"
