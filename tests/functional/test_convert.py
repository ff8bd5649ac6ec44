"""Conversions: dtypes, Python numbers, NumPy, copies and pickles, Parameter and the legacy constructors."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import torch
from calls import compare, evaluate
from oracle import assert_same, check, pair

import whygrad

CASTS = """
x.to(torch.float32) is x
x.to(torch.float64)
x.to(float)
x.to('cpu') is x
x.to(torch.device('cpu')) is x
x.to('cpu', torch.float64)
x.to(x.double())
x.to(i)
x.to(dtype=torch.int64)
x.to(device='cpu', dtype=torch.int64)
x.to(torch.float32, copy=True) is x
x.to() is x
x.to(None) is x
x.to(torch.float64, True, True)
x.to('cpu', torch.float64, False, True)
x.t().to(torch.float64)
x.t().to(torch.float64, memory_format=torch.contiguous_format)
x.to(torch.float32, memory_format=torch.contiguous_format) is x
x.t().to(memory_format=torch.contiguous_format)
torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
x.to([1])
x.to(other=i)
x.to(foo=1)
h.to(torch.float64)
h.to(torch.float32, copy=True)
h.to(torch.int64)
g.to(torch.float64)
h.half()
h.bfloat16()
h.float() is h
h.long()
h.bool()
i.float()
i.double()
g.cfloat()
c.to(torch.float32)
c.bool()
c.to(torch.complex128)
x.byte(), x.char(), x.short(), x.int(), x.cdouble()
x.cpu() is x
x.type()
i.type()
x.type(torch.float64)
x.type('torch.DoubleTensor')
x.type('torch.FloatTensor') is x
x.type(torch.DoubleTensor)
x.type('foo')
x.type(float)
x.type(3)
x.type_as(i)
x.type_as(x) is x
x.type_as(3)
"""

NUMBERS = """
x.item()
s.item()
i[0].item()
torch.tensor(True).item()
c[0].item()
torch.ones(1, 1).item()
e.item()
h.sum().item()
x.tolist()
s.tolist()
e.tolist()
torch.zeros(2, 0).tolist()
x.bfloat16().tolist()
s.bfloat16().item()
x.numpy()
g.numpy()
h.numpy()
g.numpy(force=True)
g.detach().numpy()
x.bfloat16().numpy()
s.numpy()
np.asarray(g)
np.asarray(x)
np.array(x).dtype
bool(x)
bool(e)
bool(s)
bool(torch.tensor([0.]))
bool(c[0])
int(s), float(s), complex(s)
int(x)
float(e)
float(c[0])
int(c[0])
complex(c[0])
int(torch.tensor(-2.7))
float(h.sum())
s.__index__()
i[0].__index__()
i.__index__()
torch.tensor(True).__index__()
[1, 2, 3][i[0]]
range(i[0])
f"{s:.2f}"
f"{s}"
f"{x}"
f"{x:.2f}"
f"{i[0]:d}"
f"{g.sum():.3f}"
format(torch.tensor([2.5]), '.2f')
str(s)
repr(h)
repr(g)
repr(h.double())
len(x)
len(s)
list(x)
list(s)
reversed(x)
reversed(s)
1. in x
7 in i
"a" in x
i[1] in i
"""

QUESTIONS = """
x.is_floating_point(), i.is_floating_point(), x.is_complex()
torch.is_complex(c), x.is_signed(), torch.is_signed(x.byte())
torch.is_floating_point(3)
torch.is_tensor(3), torch.is_tensor(x), torch.is_storage(3), torch.is_inference(x)
x.element_size(), x.nbytes, x.itemsize, x.bfloat16().nbytes
x.is_same_size(x), x.is_same_size(i), torch.is_same_size(x, x)
x.get_device()
x.is_cuda, x.is_cpu, x.is_sparse, x.is_quantized, x.is_meta, x.is_mps
x.is_mkldnn, x.is_xpu, x.is_nested, x.is_sparse_csr
x.layout, x.device, x.dtype, x.shape
x.is_pinned(), x.is_shared(), x.share_memory_() is x
x.untyped_storage().nbytes(), x[1].untyped_storage().data_ptr() == x.data_ptr()
torch.result_type(x, i), torch.result_type(i, 1.), torch.result_type(1, 2.), torch.result_type(1., i)
torch.result_type(s.double(), x), torch.result_type(i, s)
torch.result_type("a", x)
torch.can_cast(torch.float32, torch.int32)
torch.promote_types(torch.float32, torch.int32)
torch.promote_types(1, 2)
torch.set_default_dtype(torch.int32)
torch.is_nonzero(s), s.is_nonzero(), torch.is_nonzero(torch.zeros(1))
torch.is_nonzero(x)
torch.is_nonzero(e)
x.grad_dtype, i.grad_dtype
h.grad_dtype
"""

GRAPH = """
x.detach() is x
h.detach()
torch.detach(h).requires_grad
h.detach()._is_view()
h.detach_()
h[0].detach_()
x[0].detach_()
g.detach_()
i.requires_grad_()
i.requires_grad_(False)
x.requires_grad_(1)
x.requires_grad_()
x.requires_grad_().requires_grad_(False)
h.requires_grad_(True) is h
h.requires_grad_(False)
copy.copy(x) is x
copy.copy(g)
copy.copy(h)
copy.deepcopy(g)
copy.deepcopy(h)
pickle.loads(pickle.dumps(x))
pickle.loads(pickle.dumps(g))
pickle.loads(pickle.dumps(h))
pickle.loads(pickle.dumps(i.bool()))
pickle.loads(pickle.dumps(x.bfloat16()))
pickle.loads(pickle.dumps(x.t()))
"""

LEGACY = """
torch.Tensor()
torch.Tensor(2, 3).shape
torch.Tensor(3).dtype
torch.Tensor([1, 2])
torch.Tensor((1, 2))
torch.Tensor(torch.Size([2, 3])).shape
torch.Tensor([[1], [2]])
torch.Tensor(np.ones(2))
torch.Tensor(range(3))
torch.Tensor([True])
torch.Tensor(data=[1, 2])
torch.Tensor([1, 2], device='cpu')
torch.Tensor(i)
torch.Tensor(x).data_ptr() == x.data_ptr()
torch.Tensor(g)
torch.Tensor(np.int64(3)).shape
torch.Tensor(3.5)
torch.Tensor(None)
torch.Tensor(True)
torch.Tensor("a")
torch.Tensor([1, 2], dtype=torch.int64)
torch.Tensor(-1)
torch.Tensor(2, -1)
torch.FloatTensor([1, 2])
torch.FloatTensor(2, 3).shape
torch.LongTensor([1.5, 2])
torch.LongTensor(np.ones(2))
torch.LongTensor(i)
torch.LongTensor(x)
torch.IntTensor([2**40])
torch.ByteTensor([1, 300])
torch.BoolTensor([1, 0])
torch.HalfTensor([1, 0])
torch.BFloat16Tensor([1, 0])
torch.DoubleTensor([1, 0])
torch.ShortTensor([1, 0]), torch.CharTensor([1, 0])
isinstance(x, torch.FloatTensor), isinstance(x, torch.LongTensor), isinstance(i, torch.LongTensor)
isinstance(3, torch.LongTensor), issubclass(torch.FloatTensor, torch.Tensor)
torch.FloatTensor, torch.FloatTensor.dtype, torch.FloatTensor.is_cuda, torch.FloatTensor.layout
torch.FloatTensor(3.5)
torch.FloatTensor("a")
"""


@pytest.mark.parametrize("expression", (CASTS + NUMBERS + QUESTIONS + GRAPH + LEGACY).strip().splitlines())
def test_same_as_torch(expression: str) -> None:
    compare(expression)


PARAMETER_SETUP = """
x = torch.tensor([[1., 2., 3.], [4., 5., 6.]])
g = torch.tensor([[1., 2., 3.], [4., 5., 6.]], requires_grad=True)
i = torch.tensor([1, 2])
P, B = (torch.nn.Parameter, torch.nn.Buffer) if hasattr(torch, "nn") else (torch.Parameter, torch.Buffer)
"""

PARAMETERS = """
repr(P())
repr(P(x))
repr(P(x, False))
repr(P(x, requires_grad=False))
repr(P(g * 2))
repr(P(P(x)))
P(i)
P(i, False)
P([1, 2])
isinstance(P(x), torch.Tensor), isinstance(x, P), isinstance(P(x), P)
[type(t).__name__ for t in (P(x) * 2, P(x).detach(), P(x).data, P(x).double(), P(x).clone(), P(x)[0])]
P(x)._version, P(x).is_leaf, P(x).data_ptr() == x.data_ptr()
f"{P(torch.tensor(2.))}"
f"{P(torch.tensor(2.)):.2f}"
repr(copy.deepcopy(P(x))), type(copy.deepcopy(P(x))).__name__
repr(copy.copy(P(x)))
repr(pickle.loads(pickle.dumps(P(x))))
repr(pickle.loads(pickle.dumps(P(x, False))))
B(x)
B()
isinstance(B(x), B), isinstance(x, B), B(x, persistent=False).persistent, isinstance(B(x), P), type(B(x)).__name__
(P(x) * 2).sum().backward()
"""


@pytest.mark.parametrize("expression", PARAMETERS.strip().splitlines())
def test_parameters(expression: str) -> None:
    compare(expression, PARAMETER_SETUP)


@pytest.mark.parametrize("source", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_derivatives_of_casts(source: str, target: str) -> None:
    values = np.array([0.5, -1.25, 3.0])
    if source.startswith("complex"):
        values = values + 1j * values[::-1]

    rtol = 2e-2 if "16" in source + target else 2e-6
    check(lambda t, x: (x * x).to(getattr(t, target)), [values.astype(source)], order=1, rtol=rtol)


def test_second_derivative_through_a_promotion() -> None:
    check(lambda t, x, y: x * x * y, [np.array([1.5, 2.0], np.float32), np.array([0.5, 3.0])], rtol=1e-5)


@pytest.mark.parametrize("source", ["float16", "float32", "float64", "int64", "bool"])
def test_values_of_casts(source: str) -> None:
    extremes = [-1.5, 0.5, 255.7, 300.7, -129.3, 7e4, -7e4, 3e9, -3e9, 1e19, np.nan, np.inf, -np.inf]
    values = np.array(extremes if source.startswith("float") else [0, 1, -1, 300, 70000])
    with np.errstate(all="ignore"):
        theirs, ours = pair(values.astype(source))
    for target in ("uint8", "int8", "int16", "int32", "int64", "bool", "float16", "bfloat16", "float32", "float64"):
        assert_same(theirs.to(getattr(torch, target)), ours.to(getattr(whygrad, target)), f"{source} to {target}")


def test_halves_are_rounded_twice_as_in_torch() -> None:
    theirs, ours = pair(np.random.default_rng(0).uniform(-100, 100, 200_000))
    assert_same(theirs.half(), ours.half(), rtol=1e-9)


def test_integers_say_that_they_have_no_gradient() -> None:
    tracked = whygrad.tensor([1.5], requires_grad=True)
    (cause,) = tracked.long()._cause
    assert (cause.kind, cause.detail) == ("non-differentiable-op", "integers have no gradient")


def test_detach_shares_memory_and_version() -> None:
    x = whygrad.tensor([1., 2.], requires_grad=True)
    y = x * 1
    d = y.detach()
    d.fill_(5)
    assert y.tolist() == [5, 5]
    assert y._version == d._version == 1
    (cause,) = d._cause
    assert cause.kind == "detach"


def test_numpy_shares_memory() -> None:
    x = whygrad.zeros(3)
    x.numpy()[0] = 4
    assert x.tolist() == [4, 0, 0]


def test_numpy_functions_give_tensors() -> None:
    x = whygrad.tensor([1., 4.])
    assert isinstance(np.sqrt(x), whygrad.Tensor)
    assert np.sqrt(x).tolist() == [1, 2]
    assert np.array(x, copy=True).base is None
    assert np.array(x, dtype=np.float64).dtype == np.float64


def test_deepcopy_keeps_gradients_and_sharing() -> None:
    x = whygrad.tensor([1., 2.], requires_grad=True)
    (x * 3).sum().backward()
    x.note = {"a": [1]}
    copies = copy.deepcopy([x, x, x.detach()])
    assert copies[0] is copies[1] is not x
    assert copies[0].grad.tolist() == [3, 3]
    assert copies[0].note == x.note
    assert copies[0].note is not x.note
    copies[2].fill_(9)
    assert copies[0].tolist() == [9, 9]
    assert x.tolist() == [1, 2]


def test_pickle_keeps_attributes_and_sharing() -> None:
    x = whygrad.tensor([1., 2.], requires_grad=True)
    x.note = "kept"
    loaded, alias = pickle.loads(pickle.dumps((x, x.detach())))
    assert loaded.note == "kept"
    assert (loaded.requires_grad, alias.requires_grad) == (True, False)
    alias.fill_(3)
    assert loaded.tolist() == [3, 3]


def test_parameter_is_a_leaf_on_the_same_memory() -> None:
    data = whygrad.tensor([1., 2.])
    p = whygrad.Parameter(data)
    (p * p).sum().backward()
    assert p.grad.tolist() == [2, 4]
    data.fill_(7)
    assert p.tolist() == [7, 7]
    assert p._version == 1
    assert copy.deepcopy(p).grad is None


def test_parameter_subclass() -> None:
    class Special(whygrad.Parameter):
        pass

    p = Special(whygrad.tensor([1.]))
    for q in (p, copy.deepcopy(p), copy.copy(p)):
        assert type(q) is Special
        assert q.requires_grad
        assert isinstance(q, whygrad.Parameter)


def test_tensor_subclass_by_the_old_constructor() -> None:
    class Mine(whygrad.Tensor):
        pass

    m = Mine([1, 2])
    assert type(m) is Mine
    assert m.tolist() == [1, 2]
    assert repr(m) == "Mine([1., 2.])"


def test_scalar_conversion_warns_once_about_a_lost_gradient() -> None:
    from whygrad.functional import fresh, from_data

    fresh._warned.clear()
    expression = "float(h.sum()), float(h.sum())"
    assert evaluate(whygrad, expression)[2] == [from_data.SCALAR_OF_TRACKED]


@pytest.mark.parametrize("expression", ["int(h.sum())", "torch.no_grad()(lambda: float(h.sum()))()",
                                        "torch.no_grad()(lambda: torch.tensor([h.sum()]))()"])
def test_scalar_conversion_is_silent_where_no_gradient_is_wanted(expression: str) -> None:
    from whygrad.functional import fresh

    fresh._warned.clear()
    assert evaluate(whygrad, expression)[2] == []


def test_a_detached_value_does_not_keep_the_graph() -> None:
    x = whygrad.tensor([1.], requires_grad=True)
    y = x * 2
    node = weakref.ref(y.grad_fn)
    d = y.detach()
    assert d._cause[0].behind[0]() is x
    del y
    gc.collect()
    assert node() is None
