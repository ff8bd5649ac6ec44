"""Calls that nobody means to make: dtypes, dims, empty and strange memory, against torch; found by random calls."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, outcome

import whygrad

CALLS = """
F.huber_loss(x, x.double() * 3); F.huber_loss(x.half(), x * 3, reduction='none'); F.huber_loss(x, i, reduction='sum')
t.zeros(3, 1, 8).view(t.float64)
t.zeros(1, 1, dtype=t.float64).view(t.float32); t.zeros(3, 5, 8).permute(1, 0, 2).view(t.float64)
t.masked.prod(x, dim=[]); t.normal(t.tensor(0.0), 0.0, (2,))
t.asarray(t.utils.dlpack.to_dlpack(x)); t.asarray(t.utils.dlpack.to_dlpack(x), dtype=t.float64); t.return_types.sort((x, i))
copy.copy(t.max(x, 0)); copy.deepcopy(t.max(x, 0)); pickle.loads(pickle.dumps(t.max(x, 0)))
t.linalg.norm(x, axis=0); t.linalg.norm(x, axis=(0, 1), keepdims=True); t.linalg.matrix_norm(x, axis=(0, 1))
t.linalg.vector_norm(x, axis=1, keepdims=True); x.renorm(2, 0, t.tensor(0.5)); t.isclose(x, x, t.tensor(1), t.tensor(1.0))
t.topk(t.tensor(1.0), 1); t.topk(t.tensor(1.0), 0); t.bernoulli(t.ones(3), out=t.zeros(3, dtype=t.int8))
t.tensor(t.UntypedStorage([0, 0, 128, 63]), dtype=t.float32)
t.zeros(5, dtype=t.uint8).index_add_(0, t.tensor([0]), t.ones(1, dtype=t.uint8), alpha=-1); x.new(size=(2, 0))
t.ones(np.array(3), 2); t.ones((np.array(3),)); x.double().type(t.Tensor); t.logcumsumexp(x, axis=0); t.true_divide(1.0, 2.0)
t.multiply(2, 3)
t.arange(0, 3, inf); t.randperm(256, dtype=t.uint8).sum(); t.zeros(2, dtype=t.uint8).fill_(-100); t.full((2,), -1, dtype=t.uint8)
t.addr(i, i[:, 0], x[0], beta=1.5); F.hardshrink(t.tensor([0.5, 0.4], dtype=t.bfloat16), 0.4)
t.log1p(t.tensor([1e-20 + 1e-20j, 3 - 4j, 0.3j], dtype=t.complex128)); t.rot90(x, 1, (0, -1))
t.topk(t.tensor([nan, inf, 1e4, 0, -1e4, -inf], dtype=t.bfloat16), 4)
t.topk(t.tensor([1.0, nan, 2.0]).bfloat16(), 2, largest=False)
t.zeros(2, 3, 4, 5).resize_(2, 3, 4, 6, memory_format=t.channels_last).zero_()
t.zeros(2, 3).resize_as_(t.zeros(2, 3, 4, 5).to(memory_format=t.channels_last), memory_format=t.preserve_format).zero_()
t.zeros(2, 3).resize_as_(t.zeros(2, 3, 4, 5).to(memory_format=t.channels_last)).zero_()
t.ones(2, 3).dim_order(ambiguity_check=True); x.clone().map_(x[:1], lambda a, b: a + b)
x.clone().map2_(x[:1], x, lambda a, b, c: a + b * c)
t.dist(i, i); t.dist(b, x); t.dist(b, b); t.dist(x, i); t.bincount(x[0]); t.bincount(b); t.bincount(b[0]); t.bincount(e)
t.histc(i.to(t.uint8), bins=3, min=-1, max=1); t.nonzero(x > 0); t.argwhere(i); t.nonzero(turned); t.rot90(turned, 0)
t.rot90(turned, 4); t.rot90(turned); turned.put(j, x[0, :2]); t.block_diag(e, x[0]); t.block_diag(e)
t.unique(t.tensor(3), dim=0); t.unique_consecutive(t.tensor(3), dim=0); F.kl_div(i, i); F.kl_div(x, i); F.kl_div(c, x)
F.kl_div(x, b); F.l1_loss(b, x); F.l1_loss(x, b); F.l1_loss(b, b); F.l1_loss(c, x); F.mse_loss(x, c); F.mse_loss(c, c)
F.mse_loss(b, x); F.smooth_l1_loss(x, c); F.huber_loss(x, c); F.huber_loss(b, x); F.huber_loss(x, b)
F.huber_loss(i, i, reduction='x'); F.layer_norm(i, (4,)); F.layer_norm(b, (4,)); F.pad(b, (2, 2), mode='reflect')
F.pad(b, (1, 1), mode='circular'); F.pad(b, (1, 1), mode='replicate'); t.linalg.cross(b[:, :3], b[:, :3])
F.binary_cross_entropy_with_logits(c, c); F.binary_cross_entropy_with_logits(i, x)
F.binary_cross_entropy_with_logits(x.double(), x); t.std_mean(x, out=x); t.var_mean(c, out=c)
t.std(x, unbiased=False, out=e.clone()); t.sum(x, out=e.clone()); t.prod(x, out=e.clone()); t.mean(x, out=e.clone())
t.median(x, out=e.clone()); t.nanmedian(b, out=e.clone()); t.max(x, out=e.clone()); t.aminmax(x, out=e.clone())
t.masked_fill(x, b, 1.0, out=e.clone()); t.where(b, x, 2.0, out=e.clone()); t.where(b, 2.0, x, out=e.clone())
t.lt(g, x, out=t.empty(0, dtype=t.bool)); t.argmax(g, out=t.empty(0, dtype=t.long)); t.floor(g, out=e.clone())
t.abs(turned, out=e.clone()); t.ge(turned, turned, out=t.empty(0, dtype=t.bool)); t.ldexp(turned, i[0, 0], out=e.clone())
t.nansum(x, out=t.empty(0, dtype=t.int32)); t.nanmean(x, out=t.empty(0, dtype=t.int32))
t.isin(i, j, out=t.empty(0, dtype=t.int32)); t.argmax(c, 5); t.argmax(b, 5); t.median(b, 5); t.median(b, 1); t.nanmedian(c, 7)
t.chunk(x, -1, 9); t.chunk(x[0, 0], 3, 9); t.arange(5, step=2); t.arange(2.5, step=2); t.arange(5, start=1)
t.arange(1, end=5, step=2); t.arange(start=1, end=5); t.arange(0, 5, 2); t.ldexp(x, b); t.ldexp(i, b); t.ldexp(x, i)
x.clone().ldexp_(b); t.mv(x[0, 0], x[0]); t.mv(x, x[0, 0]); t.mv(i[0, 0], i); t.linalg.norm(cube, ord='fro')
t.linalg.norm(cube, ord='nuc'); t.linalg.norm(cube, ord=2); t.linalg.norm(cube); t.linalg.norm(x[0], ord='fro')
t.trapezoid(t.tensor([1.0, 2.0, inf])); t.trapezoid(t.tensor([1.0, inf, 2.0]), dx=2); t.trapezoid(g, dx=3)
t.trapezoid(i, dim=0); t.trapezoid(x, x); t.cumulative_trapezoid(t.tensor([1.0, 2.0, inf]), dx=2); t.trapezoid(x[:, :1])
b.clone().cumprod_(1); b.clone().cumsum_(1); t.prod(g, dtype=t.int64); t.cumprod(g, 0, dtype=t.int64)
t.cumsum(g, 0, dtype=t.int64); t.zeros(1).expand(3).renorm_(2, 0, 1.0); t.unbind_copy(x, out=[t.empty(0) for _ in x])
t.split_with_sizes_copy(x, [1, 2], out=[e.clone(), e.clone()]); t.det(t.stack([x[:, :3], holes]))
t.mode(t.tensor([nan, nan, nan])); t.mode(t.tensor([3.0, 1.0, 1.0, 3.0])); i.mode(0)
c.conj().data.zero_(); c.conj().data.add_(c); c.conj().data.fill_(1.0)
t.signbit(F.pad(x, (1, 1), value=-0.0)); F.pad(x, (1, 1), value=1e300); F.pad(i, (1, 1), value=nan); F.pad(i, (1, 1), value=2**70)
F.pad(x, (1, 1), value=1j); F.pad(x.bfloat16(), (1, 1), value=2**70); F.pad(b, (1, 1), value=True); F.pad(i, (1, 1), value=2.7)
F.pad(x[:, :0], (1, 1), mode='reflect'); F.pad(cube[:0], (1, 1), mode='reflect'); F.pad(cube[:, :0], (1, 1), mode='replicate')
b.clone().clamp_(True); b.clamp(False, True); b.clamp(b, b); b.clamp(b); b.clamp(max=b[0, 0]); b.clip(True); b.clamp_max_(True)
x.clamp(0, x.max()); x.clamp(x.min(), 0.5); x.clamp(0, g.max()); x.clone().clamp_(0, t.tensor(2)); x.clamp(0, x)
F.batch_norm(x[0], None, None, training=True); F.batch_norm(x[0], x[0], x[0]); x.clone().masked_fill_(b[:, :3], 1.0)
x.half().fill_(1e300); x.bfloat16().clamp_(1e300); i.int().fill_(2**40); i.to(t.int8).fill_(300)
t.prod(t.tensor([1e-30, 1e-30, 2.0]))
t.prod(t.tensor([[0.0, 3.0, 2.0], [4.0, 0.0, 0.0]]), 1)
"""


def named(t: Any) -> dict[str, Any]:
    x = t.tensor(np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4))
    holes = x[:, :3].clone()
    holes[0, 1] = math.nan
    return {"t": t, "np": np, "copy": copy, "pickle": pickle, "F": t.nn.functional, "x": x,
            "g": x.clone().requires_grad_(), "b": x > 0.3, "i": (x * 2).long(),
            "j": t.tensor([1, 0]), "c": x * (1 + 2j), "e": t.empty(0), "turned": x.t().contiguous().t(),
            "cube": x.reshape(1, 3, 4), "holes": holes,
            "inf": math.inf, "nan": math.nan}


def attempt(t: Any, call: str) -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outcome(lambda: eval(call, named(t)))


@pytest.mark.parametrize("call", [call.strip() for line in CALLS.strip().splitlines() for call in line.split(";")])
def test_odd_arguments(call: str) -> None:
    theirs, ours = attempt(torch, call), attempt(whygrad, call)
    assert ours[0] == theirs[0]
    if theirs[0] == "error":
        assert ours[1][0] == theirs[1][0]
    else:
        assert_same(theirs[1], ours[1])
        for a, b in zip(*[[r] if hasattr(r, "stride") else [] for r in (theirs[1], ours[1])], strict=True):
            assert a.stride() == b.stride()


@pytest.mark.parametrize("values", [[[0.0, 3.0, 2.0], [4.0, 0.0, 0.0]], [[1e-30, 1e-30, 1e-30], [1.0, 2.0, 3.0]],
                                    [[1e30, 1e30, 1e30], [1.0, 2.0, 3.0]]])
def test_products_with_zeros_and_out_of_range(values: list[list[float]]) -> None:
    gradients = []
    for t in (torch, whygrad):
        for dim in (None, 1):
            x = t.tensor(values, requires_grad=True)
            (x.prod() if dim is None else x.prod(dim).sum()).backward()
            gradients.append(x.grad.numpy())
    for theirs, ours in zip(gradients[:2], gradients[2:], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_gradients_of_a_complex_number_that_is_alone() -> None:
    for name in ("std", "var"):
        found = []
        for t in (torch, whygrad):
            x = t.tensor([1 + 2j], requires_grad=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(t.autograd.grad(getattr(t, name)(x), x)[0])
        assert str(found[0].dtype) == str(found[1].dtype) == "torch.complex64"
