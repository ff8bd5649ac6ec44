"""What PyTorch's wider test suite looks at and the other tables do not: checks of arguments, `out=`, words and warnings."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, outcome_and_warnings

import whygrad

CALLS = {
    "devices and factories": """
        t.Tensor((2.0, 3.0), device='cuda'); t.arange(0, 2**63); t.device('2:1'); t.device('cpu', -1); t.device('cuda:01')
        t.device(-1); t.empty((2, 3, 4, 5), memory_format=t.preserve_format); t.empty(2).random_(0, 2**60)
        t.empty(2, dtype=t.float16).random_(0, 2**13); t.randn(3).new((2.0, 3.0), device='cuda')
        t.randn(3).new(device='cuda'); t.zeros((3, 4), device='meta', out=t.zeros(3, 4))
        t.zeros((3, 4), layout=t.sparse_coo, out=t.zeros(3, 4)); t.UntypedStorage([1, 2]).byteswap(t.float64)
        t.arange(0, 2**63, 2**62); t.arange(2**63); t.device(':1'); t.device('a b'); t.device('cuda', -1); t.device('cuda:00')
        t.device('cuda:1', '2'); t.device('foo1'); t.device('lazy:1'); t.device(True); t.empty((2, 3), memory_format=3)
        t.zeros((2, 3), memory_format=t.preserve_format)
    """,
    "indexing, joining and moving": """
        t.block_diag(1); t.meshgrid(t.ones(2), t.ones(3, 2), indexing='ij'); t.broadcast_shapes('a')
        t.index_reduce(t.ones(2, 3), 0, t.tensor([0]), t.ones(1, 3), 'foo')
        t.index_reduce(t.ones(2, 3), 0, t.tensor([0]), t.ones(1, 3), 'prod'); t.ones(1).expand(3).cumsum_(0)
        t.ones(1).expand(3).scatter_(0, t.tensor([0]), 2); t.ones(2, 3).index_copy_(0, t.tensor([0]), t.tensor(1.))
        t.ones(2, 3).masked_scatter_(t.ones(2, 3, dtype=t.uint8), t.ones(6)); t.ones(2, 3)[[[0, 1], [0, 1]]]
        t.repeat_interleave(t.ones(2), t.tensor([1, 2]), output_size=4); t.take_along_dim(t.ones(2, 3), t.zeros(2), 1)
        t.view_as_complex(t.ones(5)[1:3]); t.block_diag('a', t.ones(2)); t.block_diag([t.ones(2)]); t.block_diag(t.ones(2), 2)
        t.broadcast_shapes((1, ), 'a'); t.broadcast_shapes(['a']); t.meshgrid(t.ones(2, 2), indexing='ij')
        t.meshgrid(t.ones(2, 2), t.ones(3, 1, 2), indexing='ij'); t.ones(1).expand(3).cumprod_(0)
        t.ones(1).expand(3).scatter_(0, t.tensor([0]), 2., reduce='add')
        t.ones(1).expand(3).scatter_(0, t.tensor([0]), t.ones(1)); t.ones(2, 3).index_copy_(0, t.tensor(0), t.tensor(1.))
        t.ones(2, 3).masked_scatter(t.ones(2, 3, dtype=t.uint8), t.ones(6)); t.ones(2, 3)[[...]]; t.ones(2, 3)[[None]]
        t.ones(2, 3)[[[0]]]; t.ones(2, 3)[[slice(0, 1), 0]]; t.ones(2, 3)[[t.tensor(0), t.tensor(1)]]
        t.repeat_interleave(t.ones(2), 2, output_size=3); t.repeat_interleave(t.ones(2), t.tensor([1, 2]), output_size=2)
        t.repeat_interleave(t.tensor([1, 2]), output_size=4); t.broadcast_shapes((2, ), [3])
        t.broadcast_shapes((2, ), t.Size([3]))
    """,
    "operators": """
        t.ones(2)==np.ones(2); t.addcmul(t.ones(2), t.ones(2), t.ones(2), value=2j)
        t.logsumexp(t.ones(2, 3), 0, out=t.empty(3).int()); np.ones(2)==t.ones(2)
        t.addcmul(t.ones(2), t.ones(2), t.ones(2), value=1j); t.logsumexp(t.ones(2, 3).int(), 0, out=t.empty(3).int())
        t.ones(2)==np.array(1); t.ones(2)==np.ones(3); t.ones(2, requires_grad=True)==np.ones(2)
    """,
    "linear algebra": """
        t.chain_matmul(t.ones(2, 3)); t.ger(t.ones(2), t.ones(3), out=t.empty(2, 3).double()); t.linalg.cond(t.eye(2), 'foo')
        t.linalg.cond(t.eye(2), 2, out=t.empty(()).int()); t.linalg.cond(t.zeros(2, 2), 1)
        t.linalg.eig(t.eye(2), out=(t.empty(0), t.empty(0))); t.linalg.eigvals(t.eye(2), out=t.empty(2))
        t.linalg.householder_product(t.ones(3, 2), t.ones(2).double()); t.linalg.inv(t.eye(2), out=t.empty(0))
        t.linalg.inv(t.eye(2), out=t.empty(3, 3)); t.linalg.matrix_rank(t.eye(2), tol=t.tensor(1j))
        t.linalg.multi_dot([t.ones(2, 3), t.ones(3).double()]); t.linalg.norm(t.ones(2, 2), out=t.empty(()).double())
        t.linalg.pinv(t.eye(2), out=t.empty(2, 2).int()); t.linalg.solve(t.eye(2), t.ones(2), left=False)
        t.linalg.tensorinv(t.ones(2, 3, 6), ind=2); t.linalg.vecdot(t.ones(2), t.ones(3))
        t.svd(t.eye(2), some=False, compute_uv=False); t.addmm(t.ones(2, 2), t.ones(2, 2), t.ones(2, 2), alpha=1j)
        t.cholesky_inverse(t.eye(2), out=t.empty(2, 2).int())
        t.cholesky_solve(t.ones(2, 1), t.eye(2), out=t.empty(2, 1).int())
        t.geqrf(t.eye(2), out=(t.empty(0).int(), t.empty(0))); t.inverse(t.eye(2), out=t.empty(0)).stride()
        t.linalg.cholesky(t.eye(2), out=t.empty(0)).stride(); t.linalg.cond(t.zeros(2, 2), 'fro')
        t.linalg.eig(t.eye(2), out=(t.empty(0, dtype=t.complex64), t.empty(0)))
        t.linalg.eigvals(t.eye(2), out=t.empty(2).double()); t.linalg.householder_product(t.ones(3, 2).double(), t.ones(2))
        t.linalg.inv(t.stack([t.eye(2)]*3), out=t.empty(0)).stride()
        t.linalg.matrix_norm(t.ones(2, 2), out=t.empty(()).double())
        t.linalg.matrix_power(t.eye(2), 3, out=t.empty(2, 2).int()); t.linalg.matrix_rank(t.eye(2), atol=t.tensor(1j))
        t.linalg.matrix_rank(t.eye(2), rtol=t.tensor(1j))
        t.linalg.multi_dot([t.ones(2, 3).double(), t.ones(3, 2), t.ones(2, 2)])
        t.linalg.norm(t.ones(2), out=t.empty(()).int()); t.linalg.norm(t.ones(2, 2), 2, out=t.empty(()).double())
        t.linalg.pinv(t.eye(2), rtol=t.tensor(1j)); t.linalg.solve(t.eye(2), t.ones(2, 2), out=t.empty(0)).stride()
        t.linalg.solve(t.eye(2).expand(3, 2, 2), t.ones(3, 2), left=False); t.linalg.tensorinv(t.ones(6, 2, 3), ind=1)
        t.linalg.vecdot(t.ones(2, dtype=t.complex64), t.ones(3, dtype=t.complex64))
        t.orgqr(t.eye(2), t.ones(2), out=t.empty(0).int()); t.svd(t.ones(2, 3), some=False, compute_uv=False)
        t.svd(t.ones(3, 2), compute_uv=False)
    """,
    "networks": """
        F.dropout(t.ones(2, dtype=t.complex64)); F.batch_norm(t.ones(2, 3), t.zeros(3), None, training=True)
        F.binary_cross_entropy(t.ones(2), t.ones(2), weight=t.ones(3))
        F.binary_cross_entropy_with_logits(t.ones(2, 2), t.ones(2, 2), pos_weight=t.ones(3))
        F.layer_norm(t.ones(2, 3), 3)
        F.multilabel_margin_loss(t.ones(2, 3), t.ones(2, 3).long()*3); F.prelu(t.ones(2, 3), t.ones(2, 2))
        F.rms_norm(t.ones(2, 3), (2, )); nn.LSTM(3, 4)(t.ones(2, 1, 3), t.ones(1, 1, 4))
        F.batch_norm(t.ones(2, 3), None, t.ones(3), training=True)
        F.binary_cross_entropy(t.ones(2), t.ones(2), weight=t.ones(2, 3))
        F.binary_cross_entropy_with_logits(t.ones(2, 2), t.ones(2, 2), pos_weight=t.ones(3, 1, 1))
        F.binary_cross_entropy_with_logits(t.ones(2, 2), t.ones(2, 2), weight=t.ones(3))
        F.conv2d(t.ones(1, 3, 4, 4), t.ones(2, 3, 2, 2), dilation=(1, -1))
        F.instance_norm(t.ones(2, 3, 4), t.zeros(3), None); F.layer_norm(t.ones(2, 3), 2.5)
        F.multilabel_margin_loss(t.ones(2, 3), -2*t.ones(2, 3).long())
        F.multilabel_margin_loss(t.ones(3), t.tensor([-1, 7, 0])); F.multilabel_margin_loss(t.ones(3), t.tensor([1., 0, 0]))
        F.multilabel_margin_loss(t.ones(3), t.tensor([3, 0, 0])); F.rms_norm(t.ones(2, 2, 3), (2, 2))
        F.rms_norm(t.ones(2, 3), 3); nn.LSTM(3, 4)(t.ones(2, 1, 3), (t.ones(1, 1, 4), ))
        nn.LSTM(3, 4)(t.ones(2, 3), t.ones(1, 4)); t.layer_norm(t.ones(2, 3), 3)
    """,
    "words of the short-time transform, and of switches": """
        t.stft(t.ones(10), 4); t.stft(t.ones(10), 4, return_complex=True); t.stft(t.ones(10), 4, return_complex=False)
        t.stft(t.ones(10), 4, window=t.ones(4), return_complex=True); t.istft(t.ones(3, 4, dtype=t.complex64), 4)
        t.istft(t.ones(3, 4), 4); t.set_warn_always('a'); t.set_float32_matmul_precision(3)
        t.set_float32_matmul_precision('foo'); t.testing.assert_allclose(t.ones(1), t.ones(1))
    """,
    "DLPack": """
        t.ones(2).__dlpack__(stream=1); t.ones(2).__dlpack__(stream='a'); t.ones(2, requires_grad=True).__dlpack__()
        t.ones(2, dtype=t.complex64).conj().__dlpack__(); t.from_dlpack(t.ones(2)); t.from_dlpack(t.ones(2), copy=True)
        t.ones(2).__dlpack__(stream=-1) is None; t.ones(2).__dlpack__(stream=None) is None
    """,
    "sums of products of integers": """
        t.einsum('ij->', t.ones(2, 3, dtype=t.uint8)); t.einsum('ij->i', t.ones(2, 3, dtype=t.uint8))
        t.einsum('ii->', t.ones(3, 3, dtype=t.int32)); t.einsum('ij,k->', t.ones(2, 3, dtype=t.uint8), t.ones(3, dtype=t.uint8))
        t.einsum('ij,jk->', t.ones(2, 3, dtype=t.uint8), t.ones(3, 2, dtype=t.uint8)); t.einsum('ij->', t.ones(2, 3).bool())
        t.einsum('ij,jk->i', t.ones(2, 3, dtype=t.uint8), t.ones(3, 2, dtype=t.uint8))
        t.einsum('ij,jk->ik', t.ones(2, 3, dtype=t.uint8), t.ones(3, 2, dtype=t.uint8))
        t.tensordot(t.ones(2, 1, dtype=t.uint8), t.ones(3, 2, dtype=t.uint8), 1)
        t.tensordot(t.ones(2, 3, dtype=t.uint8), t.ones(1, 2, dtype=t.uint8), 1)
    """,
    "numbers that a dtype does not hold": """
        t.ones(3, dtype=t.uint8).index_fill(0, t.tensor([0]), -1); t.ones(3, dtype=t.uint8).index_fill_(0, t.tensor([0]), -1)
        t.ones(3, dtype=t.uint8).index_fill(0, t.tensor([0]), 300); t.ones(3, dtype=t.int32).index_fill(0, t.tensor([0]), 2.7)
        t.ones(3, dtype=t.uint8).masked_fill(t.tensor([True, False, True]), -1)
        t.ones(3, dtype=t.uint8).masked_fill_(t.tensor([True, False, True]), -1)
        t.ones(3, dtype=t.bool).masked_fill(t.tensor([True, False, True]), 2)
        t.ones(3, dtype=t.uint8).scatter(0, t.tensor([0]), -1); t.ones(3, dtype=t.uint8).scatter(0, t.tensor([0]), 2.7)
        t.ones(3, dtype=t.uint8).scatter_(0, t.tensor([0]), -2, reduce='add')
        t.ones(3, dtype=t.bool).scatter(0, t.tensor([0]), 2)
        t.addmm(t.ones(2, 2).byte(), t.ones(2, 2).byte(), t.ones(2, 2).byte(), alpha=-1)
        t.addmm(t.ones(2, 2).byte(), t.ones(2, 2).byte(), t.ones(2, 2).byte(), beta=300)
        t.addmm(t.ones(2, 2).int(), t.ones(2, 2).int(), t.ones(2, 2).int(), alpha=1.7)
        t.addmv(t.ones(2).byte(), t.ones(2, 2).byte(), t.ones(2).byte(), alpha=-1, beta=-2)
        t.addr(t.ones(2).byte(), t.ones(2).byte(), t.ones(2).byte(), alpha=-1)
        t.addr(t.ones(2, 2).bool(), t.ones(2).bool(), t.ones(2).bool(), alpha=True)
        t.full((), 1e6, dtype=t.float16); t.full((2, ), 1e6, dtype=t.float16); t.ones(1, dtype=t.float16).fill_(1e6)
        t.ones(2, dtype=t.float16).fill_(1e6); t.ones(1, dtype=t.bfloat16).fill_(1e60); t.scalar_tensor(1e6, dtype=t.float16)
        t.full_like(t.ones(1).half(), 1e6); t.ones(1).half().new_full((1, ), 1e6); t.ones(1, dtype=t.uint8).fill_(300)
        t.ones(1, dtype=t.float16).masked_fill(t.tensor([True]), 1e6); t.ones(1).fill_(1e60)
    """,
    "arguments of the wrong type": """
        F.layer_norm(t.ones(2, 3), (3, ), 'a'); F.layer_norm(t.ones(2, 3), (3, ), None, [1])
        F.layer_norm(None, (3, )); F.layer_norm(t.ones(2, 3), (3, ), None, None, 1j); F.rms_norm('a', (3, ))
        F.multi_margin_loss(None, t.ones(2).long()); F.multi_margin_loss(t.ones(2, 3), None); F.softshrink(None)
        F.multilabel_margin_loss(t.ones(2, 3), None); F.soft_margin_loss(t.ones(2, 3), None); F.rrelu(None)
        F.triplet_margin_loss(None, t.ones(2), t.ones(2)); F.binary_cross_entropy_with_logits(t.ones(2), t.ones(2), 1)
        F.bilinear(t.ones(2, 3), t.ones(2, 3), None); F.max_unpool2d(t.ones(1, 1, 2, 2), None, 2); F.linear(t.ones(2, 3), 'a')
        F.avg_pool2d(t.ones(1, 1, 4, 4), 2, divisor_override='a'); t.cov(t.ones(2, 3), fweights='a')
        t.diff(t.ones(3), prepend=1); t.softmax(None, 0, dtype=t.float32); t.bincount(t.tensor([1]), weights='a')
        t.masked.sum(t.ones(3), 0, mask='a'); t.masked.logaddexp(t.ones(3), t.ones(3), input_mask=1); F.glu(t.ones(2).bool())
        F.glu(t.ones(2).long()); t.cholesky(t.eye(2), upper=None); t.cholesky(t.eye(2), 1); t.eye(2).cholesky('a')
        t.cholesky_inverse(t.eye(2), upper='a'); t.ormqr(t.eye(2), t.ones(2), t.eye(2), left=1); t.svd(t.eye(2), some=1)
        t.eye(2).svd(1); t.ones(2).put(t.tensor([0]), t.ones(1), 1); t.mode(t.ones(3), keepdim=1); t.ones(3).mode(0, 1)
        t.ones(2).index_put_((t.tensor([0]), ), t.ones(1), 1); t.unique_consecutive(t.ones(3), return_counts=1)
        t.index_reduce(t.ones(2), 0, t.tensor([0]), t.ones(1), 'mean', include_self='a'); t.mode(t.ones(3), 0, True)
        t.combinations(t.ones(3), with_replacement=1); t.unique(t.ones(3), True, True); (2, ) + t.Size([1])
        str(t.zeros((), device='meta')); f"{t.zeros((), device='meta')}"; t.Size([1]) + (2, )
    """,
    "functions of the torch namespace alone": """
        t.sym_int(3.7); t.sym_int(-3.7); t.sym_int(True); t.sym_int('a'); t.sym_float(2); t.sym_max(1, 2); t.sym_max(1., 2)
        t.sym_min(1, 2.); t.sym_not(0); t.sym_ite(True, 1, 2); t.sym_ite(True, 1, 2.); t.sym_sqrt(4); t.sym_sqrt(-1)
        t.sym_sum([1, 2]); t.sym_sum([]); t.sym_sum((1, 2.5)); t.sym_ite(1, 1, 2)
        t.affine_grid_generator(t.ones(1, 2, 3), [1, 1, 2, 2], False)
        t.affine_grid_generator(t.ones(1, 2, 3), [1, 1, 2, 2], True)
        t.affine_grid_generator(t.ones(1, 3, 4), [1, 1, 2, 2, 2], False)
        t.native_channel_shuffle(t.arange(8.).view(1, 4, 2), 2); t.native_dropout(t.ones(3), 0.0, True)
        t.native_dropout(t.ones(3), 1.0, True); t.native_dropout(t.ones(3), 0.5, False)
        t.native_dropout(t.ones(30), 0.5, True); t.native_dropout(t.ones(30), 0.5, None)
        t.convolution(t.ones(1, 1, 3), t.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
        t.convolution(t.ones(1, 1, 3, 3), t.ones(1, 1, 2, 2), t.ones(1), [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
        t.convolution(t.ones(1, 1, 3, 3), t.ones(1, 1, 2, 2), t.ones(1), [2, 2], [1, 1], [1, 1], True, [1, 1], 1)
        t.convolution(t.ones(1, 1, 3, 3, 3), t.ones(1, 1, 2, 2, 2), None, [1], [0], [1], False, [0], 1)
        t.embedding_renorm_(t.ones(3, 2), t.tensor([0, 1]), 0.5, 2)
        t.embedding_renorm_(t.ones(3, 2), t.tensor([[0, 1]]), 0.5, 1)
        t.segment_reduce(t.tensor([1., 2, 3]), 'sum', lengths=t.tensor([1, 2]))
        t.segment_reduce(t.tensor([1., 2, 3]), 'mean', lengths=t.tensor([1, 2]))
        t.segment_reduce(t.tensor([1., 2, 3]), 'max', lengths=t.tensor([1, 0, 2]))
        t.segment_reduce(t.tensor([1., 2, 3]), 'min', offsets=t.tensor([0, 1, 3]))
        t.segment_reduce(t.tensor([1., 2, 3]), 'prod', lengths=t.tensor([1, 0, 2]), initial=2)
        t.segment_reduce(t.ones(2, 3), 'sum', lengths=t.tensor([[1, 2], [3, 0]]), axis=1)
        t.segment_reduce(t.ones(3, 2), 'sum', lengths=t.tensor([1, 2]))
        t.segment_reduce(t.ones(3), 'foo', lengths=t.tensor([1, 2])); t.segment_reduce(t.ones(3), 'sum')
        t.segment_reduce(t.ones(3), 'sum', lengths=t.tensor([1, 1]))
        t.segment_reduce(t.ones(3), 'sum', lengths=t.tensor([1, 1]), unsafe=True)
        t.segment_reduce(t.ones(3), 'mean', lengths=t.tensor([3, 0]))
    """,
}

PROGRAMS = (
    "x = t.ones(4); t.index_select(x, 0, t.tensor([0]), out=x)",
    "x = t.ones(4); t.index_select(x, 0, t.tensor([0, 1]), out=x[:2])",
    "x = t.ones(2, 2); x.masked_fill_(x > 0, x[0, 0])",
    *[f"x = t.ones(3, dtype=t.{dtype}); x[{place}] = {value}" for dtype, value in
      (("float16", 1e6), ("float16", -1e9), ("bfloat16", 1e60), ("uint8", 300), ("uint8", -1), ("float32", 1e60))
      for place in ("0", ":", "t.tensor([0, 1])", "x > 0", "...")],
    "x = t.ones(2, 3); x[[[0, 1], [0, 1]]] = 5",
    "x = t.ones(2, 3); x[[t.tensor([0]), t.tensor([1])]] = 5",
    "x = t.ones(0, 3, requires_grad=True).roll(1, -1); node = x.grad_fn.name()",
    "x = t.nn.functional.linear(t.ones(3), t.ones(2, 3)); version = x._version",
    "x = t.tensor(True).cumsum_(0); version = x._version",
    "x = t.ones(0, 3, requires_grad=True); x.fill_diagonal_(1)",
    "x = t.ones(0, 3) * 1; x.fill_diagonal_(1); version = x._version",
    "x = t.log_softmax(t.ones(0, dtype=t.complex64, requires_grad=True), 0)",
    "x = t.cat([t.ones(2), t.ones(2, 2)], out=t.ones(2).long())",
    "x = t.ones(2, 3); t.stack([x[0], x[0]], out=x[:2])",
    "x = t.ones(4, 3); t.stack([x[0], x[1]], out=x[2:])",
    *[f"x = t.{name}median(t.ones(0, dtype=t.{dtype}))" for name in ("", "nan") for dtype in ("bool", "int64", "complex64")],
    "x = t.ones(2, 3, requires_grad=True); t.cat([t.ones(2, 3, dtype=t.complex64), t.ones(1, 3)], out=x)",
    "x = t.cdist(t.ones(0, 3), t.ones(2, 3).double())",
    "x = t.ones(2, requires_grad=True) * 1; x.retain_grad(); x.detach_(); kept = x.retains_grad",
    *[f"a = t.arange(6.0, requires_grad=True); y = t.segment_reduce(a, '{how}', lengths=t.tensor([2, 0, 3, 1]), initial=0.5); "
      "x, = t.autograd.grad((y * t.arange(1.0, 5)).sum(), a)" for how in ("sum", "mean", "max", "min", "prod")],
    *[f"a = t.ones(2, 2, dtype=t.complex64, requires_grad=True) * 1; x = {view}; a += 1; node = x.grad_fn.name()"
      for view in ("t.view_as_real(a)", "a.conj()", "a.real", "a.mH", "a.conj()[0]", "t.view_as_real(a)[0]")],
)


@pytest.fixture(autouse=True)
def every_warning() -> Iterator[None]:
    """What is said once in a program is compared in every case."""
    for t in (torch, whygrad):
        t.set_warn_always(True)
    yield
    for t in (torch, whygrad):
        t.set_warn_always(False)


def both(call: Any) -> None:
    (theirs, their_words), (ours, our_words) = [outcome_and_warnings(lambda t=t: call(t)) for t in (torch, whygrad)]
    assert ours[0] == theirs[0], ours[1] if ours[0] == "error" else theirs[1]
    if theirs[0] == "error":
        kind, text = theirs[1]
        assert (ours[1][0], ours[1][1].split("\n")[0]) == (kind, text.split("\n")[0])
    else:
        assert_same(theirs[1], ours[1])
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (theirs[1], ours[1])], strict=True):
            assert not hasattr(a, "stride") or a.stride() == b.stride()
    ours, theirs = [{text.split(" (Triggered")[0] for text in words} for words in (our_words, their_words)]
    assert ours == theirs


def names(t: Any) -> dict[str, Any]:
    return {"t": t, "F": t.nn.functional, "nn": t.nn, "np": np}


@pytest.mark.parametrize("call", [call.strip() for calls in CALLS.values() for line in calls.strip().splitlines()
                                  for call in line.split(";") if call.strip()])
def test_calls(call: str) -> None:
    both(lambda t: eval(call, names(t)))


def saved(file: str, load: str) -> str:
    return f"b = io.BytesIO(); t.save({file}, b); b.seek(0); x = t.load(b, {load})"


CHECKPOINTS = (
    saved("dict(a=t.ones(2, 3).t(), b=nn.Parameter(t.ones(2)), c=t.empty(0))", "map_location='meta'"),
    saved("dict(a=t.ones(2))", "map_location=t.device('meta')"),
    saved("t.ones(2)", "map_location='cuda'"), saved("t.ones(2)", "foo=3"), saved("t.ones(2)", "encoding='ascii'"),
)


@pytest.mark.parametrize("program", CHECKPOINTS)
def test_checkpoints(program: str) -> None:
    def run(t: Any) -> Any:
        scope = {**names(t), "io": io}
        exec(program, scope)
        x = scope["x"]
        return [(v.is_meta, v.shape, v.stride(), v.requires_grad) for v in x.values()] if isinstance(x, dict) else x

    (theirs, _), (ours, _) = [outcome_and_warnings(lambda t=t: run(t)) for t in (torch, whygrad)]
    if theirs[0] == "error":
        assert (ours[1][0], ours[1][1].split("\n")[0]) == (theirs[1][0], theirs[1][1].split("\n")[0])
    else:
        assert str(ours) == str(theirs)


def test_what_may_be_overridden_in_init() -> None:
    class Foreign:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func.__name__, len(args), sorted(kwargs)

    calls = {"uniform_": (), "normal_": (2.0,), "constant_": (3,), "kaiming_uniform_": ()}
    for t in (torch, whygrad):
        found = [getattr(t.nn.init, name)(Foreign(), *args) for name, args in calls.items()]
        assert [name for name, *_ in found] == list(calls)
        assert found[1][1:] == (0, ["generator", "mean", "std", "tensor"])


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: str) -> None:
    def run(t: Any) -> Any:
        scope = names(t)
        exec(program, scope)
        return [scope["x"].detach(), *[scope[name] for name in ("node", "version", "kept") if name in scope]]

    both(run)
