"""Making tensors: the same values, dtypes, strides and errors as torch."""

from __future__ import annotations

import array

import numpy as np
import pytest
import torch
from calls import compare, evaluate
from oracle import to_numpy

import whygrad

FROM_DATA = """
torch.tensor([])
torch.tensor([[], []])
torch.tensor([[], [1]])
torch.tensor([1, 2.5, True])
torch.tensor([True, False])
torch.tensor([1, True])
torch.tensor([1, 2j])
torch.tensor(2)
torch.tensor(2.5)
torch.tensor(True)
torch.tensor([[1, 2], (3, 4)])
torch.tensor([[[1], [2]], [[3], [4]]])
torch.tensor(range(4))
torch.tensor(bytearray(b"ab"))
torch.tensor(torch.Size([1, 2]))
torch.tensor(np.float64(1))
torch.tensor([np.float64(1)])
torch.tensor([np.float32(1), 2])
torch.tensor([np.int32(1), np.int16(2)])
torch.tensor([np.bool_(1)])
torch.tensor(np.array([1, 2], dtype=np.int32))
torch.tensor([np.array([1., 2]), np.array([3., 2])])
torch.tensor([np.array([1., 2]), [1, 2]])
torch.tensor(np.asfortranarray(np.ones((3, 4))))
torch.tensor(np.ones((4, 6))[:, ::2])
torch.tensor(np.array([300]), dtype=torch.int8)
torch.tensor(x)
torch.tensor(x.t())
torch.tensor(h)
torch.tensor(h, dtype=torch.float64)
torch.tensor(h, requires_grad=True)
torch.tensor([torch.tensor(1.), torch.tensor(2.)])
torch.tensor([torch.tensor(1.), 2])
torch.tensor([torch.tensor([1.]), torch.tensor([2.])])
torch.tensor([[torch.tensor([1.]), torch.tensor([2.])]])
torch.tensor([torch.tensor(1, dtype=torch.int32), torch.tensor(2., dtype=torch.float64)])
torch.tensor([h.sum(), 1])
torch.tensor(-2**63)
torch.tensor([2**63, 1.0])
torch.tensor([-1], dtype=torch.uint8)
torch.tensor([1.7, -1.7], dtype=torch.int32)
torch.tensor([1e30], dtype=torch.float16)
torch.tensor([1e30, 0.1], dtype=torch.bfloat16)
torch.tensor([1e300, 0.1])
torch.tensor([2.5, 0, float('nan')], dtype=torch.bool)
torch.tensor([1j], dtype=torch.bool)
torch.tensor([1, 2], dtype=torch.complex64)
torch.tensor([1, 2], dtype=float)
torch.tensor([2**64 - 1], dtype=torch.uint64)
torch.tensor([-1], dtype=torch.uint64)
torch.tensor([1., 2], requires_grad=True)
torch.tensor([1, 2], device="cpu", dtype=None)
torch.tensor([1, 2], device=torch.device("cpu"))
torch.tensor([[1, 2], [3]])
torch.tensor([[1, 2], 3])
torch.tensor([1, [2]])
torch.tensor([1., [2]])
torch.tensor([1j, [2]])
torch.tensor([[1], [[2]]])
torch.tensor([[1], []])
torch.tensor("abc")
torch.tensor(b"abc")
torch.tensor(["a"])
torch.tensor([1, "a"])
torch.tensor([[1, 2], [3, "a"]])
torch.tensor([[1, None], [3]])
torch.tensor(None)
torch.tensor([1, None])
torch.tensor({0: 2, 1: 3})
torch.tensor({1, 2})
torch.tensor(object())
torch.tensor(n for n in range(3))
torch.tensor([x, x])
torch.tensor([np.array(1.), 2.])
torch.tensor(2**63)
torch.tensor([2**64])
torch.tensor(300, dtype=torch.uint8)
torch.tensor([-300], dtype=torch.uint8)
torch.tensor([300.5], dtype=torch.uint8)
torch.tensor([2**40], dtype=torch.int32)
torch.tensor([float('nan')], dtype=torch.int64)
torch.tensor([float('inf')], dtype=torch.int64)
torch.tensor([1j], dtype=torch.float32)
torch.tensor([1j], dtype=torch.int32)
torch.tensor(np.float32(2.5), dtype=torch.int32)
torch.tensor([1, 2], dtype="float32")
torch.tensor([1, 2], requires_grad=True)
torch.tensor([1, 2], device=3.)
torch.tensor(np.array(["a"]))
torch.tensor(np.array([1, None]))
torch.tensor(np.arange(4)[::-1])
torch.tensor(np.array([1, 2], dtype='>i4'))
x.new_tensor([1, 2])
x.new_tensor([1.5], dtype=torch.int64)
x.new_tensor(i)
i.new_tensor([1.5])
torch.as_tensor([1, 2])
torch.as_tensor(x) is x
torch.as_tensor(g, dtype=torch.float64)
torch.as_tensor(np.ones(2), dtype=torch.float32)
torch.as_tensor(3)
torch.as_tensor("a")
torch.asarray([1, 2])
torch.asarray(x) is x
torch.asarray(g, requires_grad=True) is g
torch.asarray(g, requires_grad=False)
torch.asarray(x, requires_grad=True)
torch.asarray(x, copy=True) is x
torch.asarray(x, copy=False, dtype=torch.float64)
torch.asarray([1, 2], copy=False)
torch.asarray([1, 2], requires_grad=True)
torch.asarray(bytearray(b"abcdefgh"), dtype=torch.int32)
torch.asarray(np.float64(2))
torch.asarray(np.float64(2), copy=False)
torch.from_numpy([1])
torch.from_numpy(np.float64(1))
torch.from_numpy(np.array(1.))
torch.from_numpy(np.zeros(3, dtype=np.longlong))
torch.from_numpy(np.array([None]))
torch.from_numpy(np.arange(3)[::-1])
torch.from_numpy(np.zeros(3, dtype='M8[s]'))
torch.from_numpy(np.zeros(3, dtype=np.longdouble))
torch.from_numpy(np.zeros(3, dtype=[('a', 'i1'), ('b', 'f4')])['b'])
torch.from_numpy(np.ones((3, 4))[:, ::2])
torch.frombuffer(bytearray(b"abcd"), dtype=torch.uint8)
torch.frombuffer(bytearray(b"abcd"), dtype=torch.int16, offset=2)
torch.frombuffer(bytearray(b"abcd"), dtype=torch.uint8, count=2)
torch.frombuffer(bytearray(b"abcde"), dtype=torch.int16)
torch.frombuffer(bytearray(b""), dtype=torch.int16)
torch.frombuffer(bytearray(b"abcd"), dtype=torch.uint8, count=9)
torch.frombuffer(bytearray(b"abcd"), dtype=torch.uint8, offset=4)
torch.frombuffer([1], dtype=torch.uint8)
torch.frombuffer(bytearray(b"abcd"), dtype=torch.float32, requires_grad=True)
torch.from_dlpack(np.ones(3))
torch.from_dlpack(x)
torch.from_dlpack(g)
torch.from_dlpack([1])
"""

FILLED = """
torch.zeros(2, 3)
torch.zeros((2, 3))
torch.zeros([2, 3])
torch.zeros(())
torch.zeros(size=(2,))
torch.zeros(2, dtype=int)
torch.zeros(np.int64(2))
torch.zeros(torch.tensor(2), 3)
torch.zeros(2, 0)
torch.zeros(2, layout=torch.strided, pin_memory=False, device="cpu")
torch.zeros(2, requires_grad=True)
torch.ones(2, 3, dtype=torch.bool)
torch.ones(3, dtype=torch.bfloat16)
torch.zeros()
torch.zeros(-1)
torch.zeros(2, -1)
torch.ones(-1)
torch.empty(2, -1, 3)
torch.zeros(2.5)
torch.zeros("a")
torch.zeros((2, "a"))
torch.zeros(2, "a")
torch.zeros(None)
torch.zeros(True)
torch.zeros(2, size=(2,))
torch.zeros(2, requires_grad=True, dtype=torch.int64)
torch.zeros(2, requires_grad=1)
torch.zeros(2, device='foo')
torch.zeros(2, dtype='f')
torch.zeros(2, foo=1)
torch.zeros(10**15)
torch.empty(10**15, dtype=torch.float64)
torch.zeros(10**10, 10**10)
torch.ones(2, 3, out=torch.zeros(2, 3))
torch.ones(2, 3, out=torch.zeros(4))
torch.ones(2, 3, out=torch.zeros(2, 3, dtype=torch.int64))
torch.ones(2, 3, out=torch.zeros(2, 3), dtype=torch.int64)
torch.ones(2, 3, out=torch.zeros(2, 3, requires_grad=True))
torch.ones(3, out=torch.zeros(3), requires_grad=True)
torch.full((2,), 3)
torch.full((2,), 3.)
torch.full((2,), True)
torch.full((2,), 1j)
torch.full((), 1.)
torch.full((2,), 3, dtype=torch.float32)
torch.full((2,), 3.7, dtype=torch.int64)
torch.full((2,), -1, dtype=torch.uint8)
torch.full((2,), torch.tensor(4.))
torch.full((2,), np.float64(1.5))
torch.full((2,), float("inf"))
torch.full((2,), 1, out=torch.zeros(2))
torch.full((2,), 300, dtype=torch.uint8)
torch.full((2,), 1j, dtype=torch.float32)
torch.full((2,), 1e300)
torch.full((2,), 2**63)
torch.full(2, 3)
torch.full((2,), torch.tensor([4.]))
torch.full((2,), h.sum())
torch.full((2,), "a")
torch.full([-2], 1)
torch.full_like(x, 2)
torch.full_like(x, 2, dtype=torch.int64)
torch.full_like(x, 1j)
torch.full_like(i, 2.7)
torch.full_like(3, 2)
torch.zeros_like(g)
torch.zeros_like(g, requires_grad=True)
torch.zeros_like(x, dtype=torch.bool)
torch.zeros_like(x.t())
torch.ones_like(x.t(), memory_format=torch.contiguous_format)
torch.ones_like(torch.ones(4, 1).expand(4, 3))
torch.zeros_like(torch.ones(2, 3, 4).permute(2, 0, 1))
torch.zeros_like(torch.zeros(2, 3, 4, 5), memory_format=torch.channels_last)
torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).zero_()
torch.empty(2, memory_format=torch.channels_last)
torch.zeros_like([1, 2])
torch.ones_like(x, 3)
torch.ones_like(x, out=x)
torch.eye(2)
torch.eye(2, 3, dtype=torch.int64)
torch.eye(n=2, m=1, requires_grad=True)
torch.eye(3, out=torch.zeros(5))
torch.eye(-1)
torch.eye(2, -3)
torch.eye(2.5)
x.new_zeros(2, 3)
x.new_zeros((2, 3))
i.new_ones([2])
x.new_ones([2], dtype=torch.int64)
x.new_full((2,), 7)
i.new_full((2,), 7.5)
x.new_empty(2, requires_grad=True).requires_grad
x.new_zeros()
x.new_zeros(-1)
torch.empty_strided((2, 3), (1, 2)).zero_()
torch.empty_strided((2, 3), (1,))
torch.empty_strided((2, 3), (-1, 2))
torch.empty_permuted((2, 3), (1, 0)).zero_()
torch.scalar_tensor(3)
torch.scalar_tensor(3, dtype=torch.int64)
torch.scalar_tensor(1j)
torch.tril_indices(3, 3)
torch.tril_indices(2, 4, 1)
torch.triu_indices(3, 3, -1)
torch.triu_indices(3, 2, offset=5)
torch.tril_indices(0, 3)
torch.tril_indices(3, 3, dtype=torch.int32)
torch.tril_indices(-1, 3)
torch.tril_indices(3, 3, dtype=torch.float32)
torch.complex(x, x + 1)
torch.complex(g, x)
torch.complex(x, x.double())
torch.complex(i, i)
torch.complex(1., 2.)
torch.vander(torch.tensor([1, 2, 3]))
torch.vander(torch.tensor([1., 2, 3]), 2, increasing=True)
torch.vander(x)
"""

RANGES = """
torch.arange(5)
torch.arange(5.)
torch.arange(1, 5, 2)
torch.arange(1, 2.5, 0.5)
torch.arange(5, 1, -1)
torch.arange(0, 1, 0.1)
torch.arange(5, dtype=torch.float64)
torch.arange(2.7, dtype=torch.int64)
torch.arange(0.5, 5.7, dtype=torch.int64)
torch.arange(0, 5.7, 1.5, dtype=torch.int64)
torch.arange(0, 5.7, 1.5, dtype=torch.int32)
torch.arange(1.5, 5.7, dtype=torch.int16)
torch.arange(True)
torch.arange(0)
torch.arange(torch.tensor(3))
torch.arange(np.float64(4))
torch.arange(start=1, end=4)
torch.arange(end=4)
torch.arange(1, end=4, step=2)
torch.arange(1, 4, step=2)
torch.arange(5., requires_grad=True)
torch.arange(100, dtype=torch.float16)
torch.arange(0, 10, 0.3, dtype=torch.float16)
torch.arange(0, 10, 0.3, dtype=torch.bfloat16)
torch.arange(300, dtype=torch.uint8)
torch.arange(2**40, 2**40 + 2, dtype=torch.int32)
torch.arange(5, out=torch.zeros(5))
torch.arange(5, out=torch.zeros(2, dtype=torch.int32))
torch.arange(5, 1)
torch.arange(1, 5, 0)
torch.arange(-3)
torch.arange(float('nan'))
torch.arange(0, float('inf'))
torch.arange(torch.tensor([3]))
torch.arange(1j)
torch.arange("a")
torch.arange()
torch.arange(1, 2, 3, 4)
torch.arange(5, requires_grad=True)
torch.arange(5, dtype=torch.bool)
torch.arange(5, dtype=torch.complex64)
torch.arange(10**15)
torch.range(0, 4)
torch.range(1, 2, 0.5)
torch.range(0, 4, dtype=torch.int64)
torch.range(1, 0)
torch.linspace(0, 1, 5)
torch.linspace(0, 1, 1)
torch.linspace(0, 1, 0)
torch.linspace(0, 10, 5, dtype=torch.int64)
torch.linspace(9, 0, 5, dtype=torch.int64)
torch.linspace(-3, 7, 19, dtype=torch.int32)
torch.linspace(-1.7, 7.3, 13, dtype=torch.int32)
torch.linspace(0, 9, 5, dtype=torch.uint8)
torch.linspace(-1, 1, 2, requires_grad=True)
torch.linspace(torch.tensor(0.), torch.tensor(1.), 3)
torch.linspace(0, 1j, 3)
torch.linspace(0, 1 + 2j, 7)
torch.linspace(0, 1, 3, dtype=torch.complex64)
torch.linspace(0, 1, 3, out=torch.zeros(5))
torch.linspace(0, 1, 30, dtype=torch.float16)
torch.linspace(0, 1, -1)
torch.linspace(torch.tensor([0.]), torch.tensor(1.), 3)
torch.linspace(0, 1, 3, dtype=torch.bool)
torch.linspace(0, 1, 2.5)
torch.linspace("a", 1, 2)
torch.linspace(0, 1j, 3, dtype=torch.float32)
torch.logspace(0, 2, 3)
torch.logspace(0, 2, 3, 2)
torch.logspace(0, 2, 1)
torch.logspace(0, 3, 4, base=2, dtype=torch.int64)
torch.logspace(0, 2, -3)
"""


@pytest.mark.parametrize("expression", (FROM_DATA + FILLED + RANGES).strip().splitlines())
def test_same_as_torch(expression: str) -> None:
    compare(expression)


def test_long_ranges_are_rounded_as_in_torch() -> None:
    generator = np.random.default_rng(0)
    for _ in range(100):
        start, step, count = generator.uniform(-5, 5), generator.uniform(0.01, 3), int(generator.integers(1, 300))
        end = start + step * (count - 0.5)
        for name in ("float32", "float64"):
            theirs = torch.arange(start, end, step, dtype=getattr(torch, name)).numpy()
            ours = whygrad.arange(start, end, step, dtype=getattr(whygrad, name))._array
            np.testing.assert_array_max_ulp(ours, theirs, 0 if name == "float32" else 1)
            theirs = torch.linspace(start, end, count, dtype=getattr(torch, name)).numpy()
            ours = whygrad.linspace(start, end, count, dtype=getattr(whygrad, name))._array
            np.testing.assert_array_max_ulp(ours, theirs, 0 if name == "float32" else 1)


WARNINGS = [
    "torch.tensor(x)",
    "x.new_tensor(i)",
    "torch.range(0, 4)",
]


@pytest.mark.parametrize("expression", WARNINGS)
def test_same_warnings(expression: str) -> None:
    assert evaluate(whygrad, expression)[2] == evaluate(torch, expression)[2] != []


def test_default_dtype() -> None:
    expressions = ["torch.tensor(1.)", "torch.tensor(1j)", "torch.zeros(2)", "torch.arange(2.)", "torch.full((2,), 1.)",
                   "torch.rand(2)", "torch.linspace(0, 1, 3)", "torch.tensor([])"]
    for namespace in (torch, whygrad):
        namespace.set_default_dtype(namespace.float64)
    try:
        for expression in expressions:
            compare(expression)
    finally:
        for namespace in (torch, whygrad):
            namespace.set_default_dtype(namespace.float32)


def test_from_numpy_shares_memory() -> None:
    values = np.ones(3)
    t = whygrad.from_numpy(values)
    values[0] = 5
    assert t.tolist() == [5, 1, 1]
    t.fill_(2)
    assert values.tolist() == [2, 2, 2]


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_read_only_arrays_are_written_through_as_in_torch() -> None:
    values = np.ones(3)
    values.flags.writeable = False
    t = whygrad.from_numpy(values)
    t.fill_(2)
    assert values.tolist() == [2, 2, 2]


@pytest.mark.filterwarnings("ignore:To copy construct")
def test_tensor_copies() -> None:
    values = np.ones(3)
    t = whygrad.tensor(values)
    u = whygrad.tensor(t)
    values[0] = 5
    t.fill_(3)
    assert u.tolist() == [1, 1, 1]


def test_buffers_share_memory() -> None:
    buffer = array.array("f", [1, 2])
    t = whygrad.frombuffer(buffer, dtype=whygrad.float32)
    t.fill_(7)
    assert buffer.tolist() == [7, 7]


def test_exchange_with_torch_by_dlpack() -> None:
    theirs = torch.arange(3.)
    ours = whygrad.from_dlpack(theirs)
    ours.fill_(4)
    assert theirs.tolist() == [4, 4, 4]
    assert torch.from_dlpack(whygrad.arange(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("make", [whygrad.tensor, lambda t: whygrad.tensor([t.sum()]), lambda t: t.new_tensor(t)])
@pytest.mark.filterwarnings("ignore")
def test_a_copied_value_knows_what_it_was_cut_from(make) -> None:
    tracked = whygrad.tensor([1., 2.], requires_grad=True) * 2
    copied = make(tracked)
    assert not copied.requires_grad
    assert [cause.kind for cause in copied._cause] == ["value-copied-out"]


def test_a_constant_knows_where_it_was_made() -> None:
    for t in (whygrad.tensor(1.), whygrad.zeros(2), whygrad.arange(3), whygrad.rand(2)):
        (cause,) = t._cause
        assert cause.kind == "created"
        assert cause.site[0].co_name == "test_a_constant_knows_where_it_was_made"


def test_complex_and_polar_derivatives() -> None:
    from oracle import check

    a, b = np.array([0.5, 2.0, 3.0]), np.array([[1.5], [-0.3]])
    for dtype in (np.float32, np.float64):
        for name in ("complex", "polar"):
            check(lambda t, x, y, name=name: getattr(t, name)(x, y), [a.astype(dtype), b.astype(dtype)], rtol=2e-4)


def test_created_in_inference_mode() -> None:
    with whygrad.inference_mode():
        t = whygrad.zeros(2)
    assert t.is_inference()


def test_large_list_is_not_slow() -> None:
    t = whygrad.tensor([[float(n) for n in range(100)]] * 1000)
    np.testing.assert_array_equal(to_numpy(t)[7], np.arange(100))


def test_constants() -> None:
    for name in ("pi", "e", "inf", "newaxis"):
        assert getattr(whygrad, name) == getattr(torch, name)
    assert whygrad.nan != whygrad.nan


def test_more_dims_than_numpy_has() -> None:
    assert whygrad.ones([1] * 64).dim() == 64
    with pytest.raises(NotImplementedError, match="a tensor of 65 dims: NumPy has arrays of 64 at most"):
        whygrad.ones([1] * 65)
