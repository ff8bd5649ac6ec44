"""Writes in place into every k-th element of some memory: the right elements change, and no others."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from oracle import TOLERANCE, outcome, to_numpy

import whygrad
from whygrad.backends import raw, ufunc_writes
from whygrad.ops.table import TABLE

STEPS, OFFSETS, LENGTH = range(1, 18), (0, 1, 3), 9
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128"]

UFUNCS = sorted(name for name, row in TABLE.items() if row.broadcasts and isinstance(getattr(raw, name), np.ufunc))
# Random fills, changes of the view itself, words that take a Python function; targets that are a vector or a batch of matrices.
LEFT_OUT = {"bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_",
            "requires_grad_", "rename_", "retain_grad_", "share_memory_", "resize_", "resize_as_", "resize_as_sparse_",
            "set_", "detach_",
            "sparse_resize_", "sparse_resize_and_clear_", "t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_",
            "unsqueeze_", "as_strided_", "apply_", "map_", "map2_", "addmv_", "baddbmm_"}
WORDS = sorted(name for name in dir(torch.Tensor) if name.endswith("_") and not name.startswith("_")
               and name not in LEFT_OUT and hasattr(whygrad.Tensor, name))
# Arguments of words that take other ones than none, a tensor, or a number; `y` has the shape of the view, `i` is an index.
ARGUMENTS = {
    "addcmul_": lambda y, i: (y, y), "addcdiv_": lambda y, i: (y, y), "lerp_": lambda y, i: (y, 0.3),
    "clamp_": lambda y, i: (-1, 1), "clip_": lambda y, i: (-1, 1), "masked_fill_": lambda y, i: (y == y, 2),
    "masked_scatter_": lambda y, i: (y != 2, y),
    "polygamma_": lambda y, i: (2,), "mvlgamma_": lambda y, i: (1,), "cumsum_": lambda y, i: (0,), "cumprod_": lambda y, i: (0,),
    "index_fill_": lambda y, i: (0, i, 3), "index_add_": lambda y, i: (0, i, y[:3]), "index_copy_": lambda y, i: (0, i, y[:3]),
    "index_reduce_": lambda y, i: (0, i, y[:3], "prod"), "index_put_": lambda y, i: ((i,), y[:3]),
    "put_": lambda y, i: (i, y[:3]),
    "scatter_": lambda y, i: (0, i, y), "scatter_add_": lambda y, i: (0, i, y), "scatter_reduce_": lambda y, i: (0, i, y, "prod"),
}
# The same for words whose target is a matrix: of these arguments, and a batch of one.
MATRICES = {"addmm_": lambda y, b: (y, y), "addr_": lambda y, b: (y[0], y[1]), "addbmm_": lambda y, b: (b, b),
            "fill_diagonal_": lambda y, b: (3,), "renorm_": lambda y, b: (2, 0, 1.0), "tril_": lambda y, b: (),
            "triu_": lambda y, b: ()}


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs(name):
    """What `in_place` gives computes as a loop over single elements does."""
    ufunc, write = getattr(raw, name), ufunc_writes.in_place(getattr(raw, name))
    rng = np.random.default_rng(0)
    for dtype in (np.dtype(char) for char in ufunc_writes.DTYPES):
        for step in STEPS:
            for offset in OFFSETS:
                memory = rng.integers(0 if dtype.kind in "ub" else -4, 5, offset + step * LENGTH).astype(dtype)
                others = [rng.integers(1, 5, LENGTH).astype(dtype)] * (ufunc.nin - 1)
                expected, view = memory.copy(), memory[offset::step]
                with np.errstate(all="ignore"):
                    try:
                        for i in range(LENGTH):
                            element = expected[offset + i * step:][:1]
                            ufunc(element, *[other[i:i + 1] for other in others], out=element)
                    except TypeError:  # no such dtype
                        continue
                    write(view, *others, out=view)
                assert np.array_equal(memory, expected, equal_nan=dtype.kind in "fc"), (dtype, step, offset)


def test_an_unknown_numpy_is_examined(monkeypatch):
    monkeypatch.setattr(ufunc_writes, "EXAMINED", set())
    for name in UFUNCS:
        ufunc = getattr(raw, name)
        write = ufunc_writes.in_place(ufunc)
        assert write is ufunc or not ufunc_writes.is_right_in_place(ufunc)


def write(T, word, memory, view, case):
    y = (T.arange(LENGTH) % 3 + 1).to(memory.dtype)
    if word in MATRICES:
        view, y = view.unflatten(0, (3, 3)), y.unflatten(0, (3, 3))
        return getattr(view, word)(*MATRICES[word](y, y[None]))
    arguments = ARGUMENTS[word](y, T.tensor([4, 0, 2])) if word in ARGUMENTS else ((), (y,), (2,))[case]
    return getattr(view, word)(*arguments)


@pytest.mark.parametrize("word", WORDS)
def test_words(word):
    """Every in-place method, on the same view of torch's: all memory is compared, the elements between included."""
    compared = 0
    for dtype in DTYPES:
        for step in STEPS:
            offset = OFFSETS[step % len(OFFSETS)]
            values = np.random.default_rng(step).integers(0 if dtype in ("bool", "uint8") else -2, 3, offset + step * LENGTH)
            for case in range(1 if word in ARGUMENTS or word in MATRICES else 3):
                kinds, memories = [], []
                for T in (torch, whygrad):
                    memory = T.tensor(values).to(getattr(T, dtype))
                    kinds.append(outcome(lambda: write(T, word, memory, memory[offset::step], case))[0])
                    memories.append(to_numpy(memory))
                assert kinds[0] == kinds[1], (dtype, step, case)
                if kinds[0] == "value":
                    compared += 1
                    tolerance = TOLERANCE.get(dtype, 0)
                    np.testing.assert_allclose(memories[1], memories[0], tolerance, tolerance, err_msg=f"{dtype} {step}")
    assert compared
