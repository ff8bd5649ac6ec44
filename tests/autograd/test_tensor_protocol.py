"""Tensor protocol."""

from __future__ import annotations

import math
import pickle
import sys

import pytest
from parity import MODULES, collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def printing(T):
    a = T.ones(1, requires_grad=True)
    seen = [repr(a), repr(a.clone())]
    with T.no_grad():
        b = a[:]
        b *= 2
    seen.append(repr(b))

    class Func(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    return seen, repr(Func.apply(a)), repr(a.detach()), str(a.exp().grad_fn).split(" ")[0]


@program
def to_numpy(T):
    x = T.ones(2, requires_grad=True)
    seen = [told(lambda: x.numpy())]
    with T.no_grad():
        seen.append(x.numpy().tolist())
    return seen, T.ones(2).numpy().tolist(), x.detach().numpy().tolist()


@program
def pickled(T):
    x, y = leaf(T), T.ones(2)
    return [[(t, t.requires_grad, t.is_leaf) for t in pickle.loads(pickle.dumps([x, y], protocol=p))] for p in range(3)]


@program
def kinds(T):
    x = T.ones(2, 2)
    seen = []
    for kind in (T.DoubleTensor, T.FloatTensor, T.IntTensor, T.ByteTensor):
        seen += [isinstance(x.type(kind), kind), kind.dtype, isinstance(x.type_as(kind(2)), kind), isinstance(x, kind),
                 kind().dtype]
    return seen, x.type(), isinstance(x.float(), T.FloatTensor), isinstance(x.int(), T.IntTensor)


@program
def conversion_keeps_gradients(T):
    seen = []
    for there, back in ((T.float32, T.float64), (T.float64, T.float32)):
        x = T.ones(3, dtype=there, requires_grad=True)
        x.to(back).sum().backward()
        seen.append(x.grad)
    return seen


@program
def numbers(T):
    integer, floating = T.zeros(1, 1, 1, dtype=T.int64), T.zeros(1, 1, dtype=T.float64)
    integer[0] = -12345
    seen = [int(integer), bool(integer)]
    for value in (-12345.5, math.inf, -math.inf, 0.0, sys.float_info.min, sys.float_info.max, math.nan):
        floating[0] = value
        seen += [str(float(floating)), bool(floating), told(lambda: int(floating))]
    integer[0] = 1234567890123456789
    return seen, float(integer), told(lambda: float(T.ones(2))), told(lambda: bool(T.ones(2)))


@program
def attributes(T):
    x, z = T.ones(2), T.ones(2, dtype=T.complex64)
    return told(lambda: hasattr(x, "imag")), hasattr(z, "imag"), "shape" in dir(x), len(x.shape), x.shape[0]


@program
def isolated_indices(T):
    a = T.arange(4.0).reshape(2, 2).requires_grad_() + 1
    b = T.max(a, 1, True)[1].repeat(1, 2).double()
    return (b + a).sum()


@parity(PROGRAMS)
def test_program(program):
    same(program)


@MODULES
@pytest.mark.filterwarnings("ignore")
def test_everything_in_dir_can_be_read(T):
    x = T.randn(3, 3)
    for key in dir(x):
        if key != "imag":
            assert hasattr(x, key), key
