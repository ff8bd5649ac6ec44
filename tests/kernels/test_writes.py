"""Writes in place as machine code: torch's numbers for every layout, and a version for each write."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import whygrad
from whygrad import kernels

# Enough elements to be compiled at the first call.
ROWS, COLUMNS = 96, 100

WRITES = {
    "add": lambda x, y, z: x.add_(y), "add a number": lambda x, y, z: x.add_(0.5), "add an int": lambda x, y, z: x.add_(3),
    "add itself": lambda x, y, z: x.add_(x), "add scaled": lambda x, y, z: x.add_(y, alpha=0.25),
    "sub scaled": lambda x, y, z: x.sub_(y, alpha=-2.0), "mul": lambda x, y, z: x.mul_(y), "div": lambda x, y, z: x.div_(z),
    "div by a number": lambda x, y, z: x.div_(3.0), "div by an int": lambda x, y, z: x.div_(3), "sub": lambda x, y, z: x.sub_(y),
    "clamp": lambda x, y, z: x.clamp_(-0.5, 0.5), "clamp from below": lambda x, y, z: x.clamp_(min=0.1),
    "clamp from above": lambda x, y, z: x.clamp_(max=0.1), "relu": lambda x, y, z: x.relu_(), "neg": lambda x, y, z: x.neg_(),
    "sqrt": lambda x, y, z: x.abs_().sqrt_(), "lerp": lambda x, y, z: x.lerp_(y, 0.1),
    "lerp far": lambda x, y, z: x.lerp_(y, 0.9),
    "addcmul": lambda x, y, z: x.addcmul_(y, z, value=0.5), "addcdiv": lambda x, y, z: x.addcdiv_(y, z, value=-0.5),
    "div rounded": lambda x, y, z: x.div_(z, rounding_mode="floor"),
    "copy": lambda x, y, z: x.copy_(y), "sigmoid": lambda x, y, z: x.sigmoid_(), "pow": lambda x, y, z: x.pow_(2),
}
LAYOUTS = {"in one piece": lambda x: x, "transposed": lambda x: x.t(), "every second": lambda x: x[:, ::2],
           "expanded": lambda x: x[:1].expand(ROWS, COLUMNS)}


def operands(library, target, other):
    rng = np.random.default_rng(0)
    x, y, z = (library.tensor(a) for a in (rng.standard_normal((ROWS, COLUMNS)).astype("f4"),
                                           rng.standard_normal((ROWS, COLUMNS)).astype("f4"),
                                           rng.uniform(0.5, 2, (ROWS, COLUMNS)).astype("f4")))
    y[0, :4] = library.tensor([float("nan"), float("inf"), -float("inf"), 0.0])
    return LAYOUTS[target](x), LAYOUTS[other](y), LAYOUTS[other](z)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(("target", "other"), [
    ("in one piece", "in one piece"), ("in one piece", "expanded"), ("transposed", "transposed"),
    ("every second", "every second")])
def test_as_torch(write, target, other):
    results = []
    for library in (whygrad, torch):
        x, y, z = operands(library, target, other)
        version = x._version
        assert WRITES[write](x, y, z) is x
        results.append((x.numpy(), x._version - version))
    (ours, written), (theirs, expected) = results
    np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-7)
    assert written == expected


@pytest.mark.parametrize("write", ["add", "mul", "relu", "clamp", "addcmul"])
def test_with_a_gradient(write):
    """Recorded writes take the same kernels, and save what they overwrite."""
    gradients = []
    for library in (whygrad, torch):
        leaf, y, z = operands(library, "in one piece", "in one piece")
        y.nan_to_num_(0.0, 1.0, 1.0)
        leaf.requires_grad_()
        (WRITES[write](leaf * 2, y, z) * z).sum().backward()
        gradients.append(leaf.grad.numpy())
    np.testing.assert_allclose(*gradients, rtol=2e-6, atol=1e-6)


def test_another_number_is_not_another_kernel():
    x, y, _ = operands(whygrad, "in one piece", "in one piece")
    x.add_(y, alpha=0.1)
    before = kernels.stats()["functions"]
    for i in range(5):
        x.add_(y, alpha=0.2 + i)
    assert kernels.stats()["functions"] == before


@pytest.mark.parametrize("dtype", ["float64", "int64", "float16", "bfloat16", "complex64"])
def test_other_dtypes(dtype):
    results = []
    for library in (whygrad, torch):
        x, y, _ = operands(library, "in one piece", "in one piece")
        x, y = [(a.nan_to_num(0.0, 1.0, 1.0) * 4).to(getattr(library, dtype)) for a in (x, y)]
        results.append(x.add_(y).mul_(2).sub_(1).add_(y, alpha=2).to(library.complex128).numpy())
    np.testing.assert_allclose(*results, rtol=1e-6)


SIZES = [1, 63, 65536, 70001]  # the last two by a kernel
DTYPES = ["float32", "float64", "int64", "int8", "bool", "float16", "bfloat16", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_one_number_everywhere(dtype, size):
    made = []
    for library in (torch, whygrad):
        kind = getattr(library, dtype)
        ones = library.ones(8, size, dtype=kind)
        whole = library.ones(size, 8, dtype=kind)
        part = library.ones(size, 16, dtype=kind)
        part[:, 4:12].fill_(0)
        full = library.full((8, size), 1.5 if ones.is_floating_point() else 1, dtype=kind)
        filled = library.ones(8, size, dtype=kind).fill_(full[0, 0].item())
        zeros = library.zeros(8, size, dtype=kind)
        made.append([x.to(library.complex64) for x in (ones, whole.zero_(), part, full, filled, zeros)])
    for theirs, ours in zip(*made, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
