"""Indexing and assignment."""

from __future__ import annotations

import pytest
from parity import collect, parity, same

PROGRAMS = []
program = collect(PROGRAMS)

ALL = slice(None)
MATRIX = [1, (1, 1), slice(1, None), slice(None, 2), (slice(None, 2), 2), (slice(1, 2), 2), (1, slice(2, None)),
          (ALL, slice(2, None)), "long", "mask", (..., slice(2, None)), ([0], [0]), ([1, 2, 3], [0]), ([1, 2], [2, 1]),
          ([[1, 2], [3, 0]], [[0, 1], [2, 3]]), (ALL, [2, 3]), ([2, 3], ALL), [0], ([0],), ([1, 1, 3, 2, 1, 2], [0]), ..., None]
BLOCK = [(ALL, [0], [0]), ([0], [0], ALL), (ALL, [0, 1, 2], [0]), ([0, 1, 2], [0], ALL), (ALL, [1, 2], [2, 1]),
         ([1, 2], [2, 1], ALL), (ALL, [[1, 2], [2, 0]], [[0, 1], [2, 3]]), ([[1, 2], [3, 0]], [[0, 1], [2, 2]], ALL),
         (ALL, ALL, [2, 1]), (ALL, [2, 1], ALL), ([2, 1], ALL, ALL), ([0],), ([0], ALL), ([0], ...), ([1, 2], [0, 1]),
         ([1, 2], [0, 1], ...), (..., [1, 2], [0, 1]), ([1, 1, 1], ALL, ALL)]
KEYS = [((4, 4), key) for key in MATRIX] + [((4, 3, 4), key) for key in BLOCK]


def built(T, key):
    return T.tensor([0, 2]) if key == "long" else T.tensor([True, False, True, True]) if key == "mask" else key


@pytest.mark.parametrize(("shape", "key"), KEYS, ids=[f"{shape}{key}" for shape, key in KEYS])
def test_reading_and_writing(shape, key):
    def run(T):
        index = built(T, key)
        x = T.arange(1.0, 1 + T.zeros(shape).numel()).view(shape).requires_grad_()
        part = x[index]
        part.sum().backward()
        seen = [part.detach(), x.grad]
        for value in (2.0, T.full(x[index].shape, 7.0, requires_grad=True)):
            y = x.detach().clone().requires_grad_() + 2
            before = y._version
            y[index] = value
            (y * y).sum().backward()
            seen += [y._version - before, y.detach(), getattr(value, "grad", None)]
        return seen

    same(run)


@program
def duplicates_add_up(T):
    seen = []
    for index in (T.tensor([1, 1, 3, 2, 1, 2]), ([[1, 2], [0, 0]], [[0, 1], [1, 1]])):
        x = T.arange(1.0, 17).view(4, 4).requires_grad_()
        x[index].sum().backward()
        seen.append(x.grad)
    return seen


@program
def neither_operand_is_saved(T):
    b = T.zeros(3, requires_grad=True)
    t = b + 0
    mask = T.tensor([1.0, 0, 0]) != 0
    t[mask] = t[mask]
    t.backward(T.ones(3))
    return b.grad


@program
def a_value_that_is_broadcast(T):
    x, y = T.ones(4, requires_grad=True), T.zeros(2, 3, 4)
    y[1] = x
    y.backward(T.arange(24.0).view(2, 3, 4))
    return x.grad


@program
def masks(T):
    mask = T.tensor([[True, False], [False, True]])
    x = T.ones(2, 2, requires_grad=True)
    y = x + 2
    y[mask] = T.tensor([5.0, 6.0], requires_grad=True)
    y.sum().backward()
    return y.detach(), x.grad


@program
def rows_of_a_plain_tensor(T):
    x, y, z = T.zeros(3, 2), T.ones(2, requires_grad=True), T.ones(2, requires_grad=True)
    x[0] = y
    x[1] = 2 * z
    x.sum().backward()
    return x.requires_grad, type(x.grad_fn).__name__, y.grad, z.grad


@program
def unused_parts_and_expanded_gradients(T):
    x = T.ones(4, 4, requires_grad=True)
    (x.chunk(2)[1] * 4 + 2).sum().backward()
    seen = [x.grad]
    x.grad = None
    x.split(1)[0].backward(T.ones(1, 4))
    value = T.tensor(0.5).expand(4)
    return [*seen, x.grad, T.autograd.grad(x.diagonal(), x, value), T.autograd.grad(x[0], x, value),
            T.autograd.grad(x[1:3], x, T.arange(4.0).expand(2, 4)), T.autograd.grad(x.select(0, 1).sum(), x)]


@program
def an_index_of_another_layout(T):
    index = T.zeros(2, 2, 1, 2, dtype=T.int64).contiguous(memory_format=T.channels_last)
    x = T.ones(2, 2, 1, 2, requires_grad=True)
    x[index].sum().backward()
    return x.grad


@parity(PROGRAMS)
def test_program(program):
    same(program)
