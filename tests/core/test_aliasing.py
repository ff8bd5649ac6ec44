"""Which results share memory with an argument: as in torch, also where an operation has nothing to do.

Somebody who writes into a result changes the argument as well, or does not: that must not depend on the library. Gradients are
not compared: here they always have memory of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sharing import shared, tensors_in

import whygrad

# Calls that could be answered with the argument itself: sizes of 1, empty paddings, factors and groups of 1, one tensor to join.
CALLS = """
    F.pixel_shuffle(q, 1); F.pixel_unshuffle(q, 1); F.channel_shuffle(q, 1); F.channel_shuffle(q, 2);
    T.channel_shuffle(q[:, :1], 1); F.unfold(q, 1); F.unfold(q, (3, 5)); F.fold(F.unfold(q, 1), (3, 5), 1);
    F.fold(q.reshape(2, 4, 15), (3, 5), 1); q.reshape(2, 4, 15); x.roll(0); x.roll(0, 0); x.roll(x.shape[0], 0);
    T.roll(x, (0, 0), (0, 1)); T.roll(x[:0], 1); x.flip(()); x.flip(0); o.flip(0); x.repeat(1, 1); x.tile(1); x.tile(1, 1);
    x.repeat_interleave(1, 0); F.dropout(x, 0.0); F.dropout(x, 0.5, False); F.alpha_dropout(x, 0.0);
    F.feature_alpha_dropout(x, 0.0); F.alpha_dropout(x, 0.5, False); F.dropout1d(x, 0.0); F.dropout2d(q, 0.0);
    F.dropout2d(q, 0.5, False); F.dropout3d(q[None], 0.0); T.dropout(x, 0.0, True); T.dropout(x, 0.0, False);
    F.interpolate(q, scale_factor=1); F.interpolate(q, size=(3, 5)); F.interpolate(q, size=(3, 5), mode='bilinear');
    F.interpolate(q, size=(3, 5), mode='bicubic'); F.interpolate(q, size=(3, 5), mode='area');
    F.interpolate(q, size=(3, 5), mode='nearest-exact'); F.interpolate(q[0], size=5, mode='linear');
    F.interpolate(q[None], size=(4, 3, 5), mode='trilinear'); F.pad(x, (0, 0)); F.pad(x, ()); F.pad(x, (0, 0), value=1.0);
    F.pad(q, (0, 0, 0, 0), mode='reflect'); F.pad(q, (0, 0, 0, 0), mode='replicate'); F.pad(q, (0, 0, 0, 0), mode='circular');
    F.pad(x, (-1, 0)); F.pad(x, (0, -1, -1, 0)); F.pad(q, (-1, 0, 0, 0), mode='replicate'); T.constant_pad_nd(x, (0, 0));
    F.adaptive_avg_pool2d(q, (3, 5)); F.adaptive_avg_pool1d(q[0], 5);
    F.adaptive_avg_pool3d(q[None], (4, 3, 5)); F.adaptive_max_pool2d(q, (3, 5)); F.adaptive_max_pool1d(q[0], 5);
    F.avg_pool2d(q, 1); F.avg_pool1d(q[0], 1); F.avg_pool3d(q, 1); F.max_pool2d(q, 1); F.max_pool1d(q[0], 1);
    F.max_pool3d(q, 1); F.lp_pool2d(q, 1.0, 1); F.max_pool2d(q, 1, return_indices=True);
    F.max_unpool2d(q, T.arange(15).reshape(3, 5).expand(2, 4, 3, 5), 1); F.fractional_max_pool2d(q, 1, output_size=(3, 5));
    F.local_response_norm(q, 1, 0.0); F.normalize(x, eps=1.0); F.threshold(x, -100., 0.); F.hardtanh(x, -100., 100.);
    F.relu(x); F.relu6(x); F.elu(x); F.leaky_relu(x, 1.0); F.prelu(x, T.ones(1)); F.rrelu(x, 1.0, 1.0);
    F.rrelu(x, 1.0, 1.0, training=True); F.celu(x); F.selu(x); F.glu(x[:, :4]); F.softmax(x, 0); F.log_softmax(x, 0);
    F.layer_norm(x, (5,)); F.batch_norm(q, None, None, training=True); F.batch_norm(q[:, :, :0], T.zeros(4), T.ones(4));
    F.instance_norm(q); F.group_norm(q, 2); F.rms_norm(x, (5,)); F.embedding(T.arange(3), x);
    F.embedding_bag(T.arange(3), x, T.arange(3)); F.linear(x, T.eye(5)); F.linear(x, T.eye(5), T.zeros(5));
    F.bilinear(x, x, T.zeros(2, 5, 5)); F.one_hot(n); F.cosine_similarity(x, x); F.pairwise_distance(x, x); F.pdist(x);
    F.mse_loss(x, x, reduction='none'); F.l1_loss(x, T.zeros(3, 5), reduction='none'); F.huber_loss(x, x, reduction='none');
    F.smooth_l1_loss(x, T.zeros(3, 5), reduction='none', beta=0.0); F.kl_div(x, x, reduction='none');
    F.nll_loss(x, T.zeros(3, dtype=T.int64), reduction='none'); F.grid_sample(q, T.zeros(2, 3, 5, 2));
    F.affine_grid(T.zeros(1, 2, 3), (1, 1, 2, 2)); F.gumbel_softmax(x); F.conv1d(q[0], T.ones(1, 3, 1));
    F.scaled_dot_product_attention(q, q, q); x.clamp(None, 5); x.clamp(-100, 100); x.to(T.float32); x.to('cpu'); x.to(x);
    x.to(T.float32, copy=True); x.float(); x.double(); n.long(); n.int(); x.type(T.float32); x.type('torch.FloatTensor');
    x.type_as(x); x.cpu(); x.contiguous(); t.contiguous(); q.contiguous(memory_format=T.channels_last);
    o.contiguous(memory_format=T.contiguous_format); x.clone(); T.as_tensor(x); T.asarray(x); T.asarray(x, copy=True);
    T.asarray(x, dtype=T.float64); T.tensor(x); T.Tensor(x); x.new_tensor(x); x.detach(); x.data; T.cat([x]);
    T.cat([x, x[:0]]); T.cat([x], 1); T.stack([x]); T.hstack([x]); T.vstack([x]); T.vstack([x[0]]); T.dstack([x]);
    T.column_stack([x]); T.row_stack([x]); T.concat([x]); T.block_diag(x); T.cartesian_prod(x[0]);
    T.cartesian_prod(x[0], x[1]); T.combinations(x[0], 1); T.combinations(x[0], 0); T.meshgrid(x[0]);
    T.meshgrid(x[0], x[1], indexing='ij'); T.meshgrid(x[0], x[1], indexing='xy'); T.broadcast_tensors(x);
    T.broadcast_tensors(x, x[0]); T.broadcast_to(x, (3, 5)); T.atleast_1d(x); T.atleast_2d(x); T.atleast_3d(x);
    T.atleast_1d([x, x]); x.expand(3, 5); x.expand_as(x); x.squeeze(); x.squeeze(0); x.unsqueeze(0); x.movedim(0, 0);
    x.moveaxis((0, 1), (0, 1)); x.swapaxes(0, 0); x.transpose(0, 0); x.permute(0, 1); x.t(); x[0].t(); x.T; x.mT; x.H;
    x.adjoint(); x.narrow(0, 0, 3); T.narrow_copy(x, 0, 0, 3); x[:]; x[...]; x[()]; x[None]; x[:, :]; x[T.arange(3)];
    x[[0, 1, 2]]; x[T.ones(3, dtype=T.bool)]; x[0]; x[T.tensor(0)]; x[T.tensor(0), T.tensor(1)]; x[0, 1]; x.select(0, 0);
    x.unfold(0, 3, 1); x.unfold(0, 1, 1); x.as_strided((3, 5), (5, 1)); x.view(3, 5); x.view(-1); x.view_as(x);
    x.view(T.float32); x.view(T.int32); x.reshape(3, 5); t.reshape(5, 3); t.reshape(-1); x.reshape_as(x); x.flatten();
    t.flatten(); x.flatten(0, 0); x[0].flatten(); T.tensor(1.).flatten(); x.ravel(); t.ravel(); x.unflatten(0, (3, 1));
    x.unflatten(1, (5,)); x.unbind(); x.split(3); x.split([1, 2]); x.chunk(1); x.tensor_split(1); T.unsafe_split(x, 3);
    T.unsafe_chunk(x, 1); T.hsplit(x, 1); T.vsplit(x, 1); T.split_copy(x, 3); x.real; x.conj(); x.resolve_conj();
    x.resolve_neg(); x.positive(); c.real; c.imag; c.conj(); c.conj().resolve_conj(); c.resolve_conj(); c.conj().imag;
    T.conj_physical(x); T.view_as_real(c); T.view_as_complex(T.zeros(2, 2)); T.real(x); n.abs(); T.nan_to_num(n); n.floor();
    n.ceil(); n.round(); n.trunc(); n.fix(); x.round(decimals=0); b.logical_not(); T.sgn(n); n.conj_physical(); x.pow(1);
    x ** 1; x ** 0; x.float_power(1); x * 1; x + 0; x / 1; x.div(1, rounding_mode='floor'); n // 1; x.sum(()); x.sum([]);
    x.sum(0, keepdim=True); x[:1].sum(0); x[:1].mean(0); x[:1].prod(0); x[:1].amax(0); x[:1].amin(0); x[:1].max(0);
    x[:1].min(0); x[:1].median(0); x[:1].mode(0); x[:1].logsumexp(0); x[:1].cumsum(0); x[:1].cumprod(0); x[:1].cummax(0);
    x[:1].cummin(0); x[:1].logcumsumexp(0); T.tensor(1.).cumsum(0); T.tensor(1.).sum(); n[:1].sum(0); b[:1].any(0);
    b[:1].all(0); x[:1].nansum(0); x[:1].norm(1, 0); x[:1].aminmax(dim=0); x[:1].sort(0); x[:1].topk(1, 0);
    x[:1].kthvalue(1, 0); x[:1].argsort(0); x[:1].flip(0); x.diff(0); x.diff(n=0); T.diff(x, n=0);
    x.index_select(0, T.arange(3)); x.gather(0, T.zeros(3, 5, dtype=T.int64)); x.take(T.arange(15));
    x.take_along_dim(T.zeros(3, 5, dtype=T.int64), 0); x.masked_select(x == x); x.masked_fill(x != x, 1); x.where(x == x, 0);
    T.where(x == x, x, x); x.index_fill(0, T.tensor([], dtype=T.int64), 1);
    x.index_add(0, T.tensor([], dtype=T.int64), x[:0]); x.index_copy(0, T.arange(3), x);
    x.scatter(0, T.zeros(0, 0, dtype=T.int64), 1); x.select_scatter(x[0], 0, 0); x.slice_scatter(x);
    x.diagonal_scatter(T.zeros(3)); T.as_strided_scatter(x, x, (3, 5), (5, 1)); x.diagonal(); x.diag(); x[0].diag();
    x.diag_embed(); x.tril(10); x.triu(-10); x[:3, :3].tril(); T.rot90(x, 0); T.rot90(x, 4); T.rot90(x, 1); T.rot90(x, 2);
    T.fliplr(x); T.flipud(x); x.renorm(2, 0, 1e9); x[:3, :3].matrix_power(1); x[:3, :3].matrix_power(0);
    T.linalg.matrix_power(x[:3, :3], 1); T.linalg.multi_dot([x, T.eye(5)]); T.linalg.inv(T.eye(3));
    T.linalg.cholesky(T.eye(3)); T.linalg.qr(x); T.linalg.diagonal(x); T.chain_matmul(x); T.chain_matmul(x, T.eye(5));
    x.matmul(T.eye(5)); T.einsum('ij->ij', x); T.einsum('ij->ji', x); T.einsum('ij->i', x);
    T.einsum('ij,->ij', x, T.tensor(1.)); T.einsum('ii->i', x[:3, :3]); T.einsum('...', x); T.einsum('i,j->ij', x[0], x[1]);
    T.einsum('ij,jk->ik', x, T.eye(5)); T.tensordot(x, x, 0); T.tensordot(x, T.tensor(1.), 0); T.kron(x, T.ones(1));
    T.outer(x[0], x[1]); T.inner(x, T.tensor(1.)); T.mv(x, x[0]); T.addmm(x, x[:, :0], x[:0]);
    T.addmm(x, x[:, :0], x[:0], beta=1); T.baddbmm(q[0], q[0][..., :0], q[0][:, :0]); T.addmv(x[:, 0], x[:, :0], x[0, :0]);
    T.addcmul(x, x, x, value=0); T.addcdiv(x, x, x + 9, value=0); T.lerp(x, x, 0.0); T.maximum(x, x); T.fmax(x, x);
    T.searchsorted(x[0], x); T.bucketize(x, x[0].sort()[0]); T.unique(n); T.unique_consecutive(n); T.histc(x);
    T.histogram(x[0], x[0].sort()[0]); T.histogram(x[0], 4); T.histogramdd(x[:, :2], [x[0].sort()[0], x[1].sort()[0]]);
    T.histogramdd(x[:, :2], [3, 3]); T.bincount(T.arange(3)); T.unravel_index(T.arange(5), (2, 3)); T.nonzero(x);
    x.nonzero(as_tuple=True); T.fft.fftshift(x); T.fft.ifftshift(x[:1, :1]); T.fft.fft(c); T.fft.fft(x);
    T.stft(x.flatten(), 4, window=T.ones(4), return_complex=True); T.nn.Identity()(x); T.nn.Flatten()(x); T.nn.Flatten()(q);
    T.nn.Unflatten(0, (3, 1))(x); T.nn.Dropout(0.5).eval()(x); T.nn.PixelShuffle(1)(q); T.nn.ChannelShuffle(1)(q);
    T.nn.Sequential()(x); T.nn.ZeroPad2d(0)(q); T.nn.ReflectionPad2d(0)(q); T.nn.ConstantPad1d(0, 0.)(q[0]);
    T.nn.utils.rnn.pad_sequence([x[0]]); T.nn.utils.rnn.pad_sequence([x, x]);
    T.nn.utils.parameters_to_vector([x]);
    T.nn.utils.rnn.pack_sequence([x]).data; T.nn.utils.rnn.pack_padded_sequence(x[:, None], [3]).data;
    T.nn.utils.rnn.pad_packed_sequence(T.nn.utils.rnn.pack_sequence([x]))[0]; T.special.logit(x); T.squeeze_copy(x);
    T.view_copy(x, (3, 5)); T.expand_copy(x, (3, 5)); T.permute_copy(x, (0, 1)); T.t_copy(x); T.transpose_copy(x, 0, 0);
    T.unbind_copy(x); T.select_copy(x, 0, 0); T.slice_copy(x); T.diagonal_copy(x); T.unfold_copy(x, 0, 1, 1);
    T.view_as_real_copy(c); T.frexp(x); T.clone(x, memory_format=T.preserve_format); x.sub(0); x.cov(); T.corrcoef(x);
    T.trapezoid(x); T.cumulative_trapezoid(x); T.gradient(x); T.vander(x[0], 1); T.logcumsumexp(x, 0); T.std_mean(x, 0);
    T.var(x[:, :1], 1, correction=0); T.nanquantile(x, 0.5); T.zeros_like(x); x.to_dense();
    x.index_put((T.tensor([0]),), T.tensor(1.)); x.put(T.tensor([], dtype=T.int64), T.tensor([])); x.squeeze((0, 1));
    x.unsafe_split_with_sizes([3]); x.new_zeros(3);
    x.view(1, 3, 5).squeeze(0); x.bernoulli(0.5); T.bernoulli(x.sigmoid()); T.normal(x, 0.0); T.poisson(x.abs());
    T.multinomial(x.abs() + 1, 1); T.func.vmap(lambda a: a)(x); T.func.vmap(lambda a: a.view(-1))(x);
    T.func.vmap(lambda a: a * 1)(x); T.autograd.functional.jacobian(lambda a: a, x)
"""


def arguments(T: Any, grad: bool) -> dict[str, Any]:
    rng = np.random.default_rng(0)

    def real(*shape: int) -> Any:
        return T.tensor(rng.standard_normal(shape).astype(np.float32), requires_grad=grad)

    return {"x": real(3, 5), "t": real(3, 5).t(), "q": real(2, 4, 3, 5), "o": real(1, 5), "n": T.tensor([[1, 2], [3, 4]]),
            "b": T.tensor([[True, False]]), "c": T.tensor([1 + 2j, 3 - 1j], requires_grad=grad)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("call", [call.strip() for call in CALLS.split(";")])
def test_as_torch(call: str, grad: bool) -> None:
    found = []
    for T in (torch, whygrad):
        T.manual_seed(0)
        given = arguments(T, grad)
        results = tensors_in(eval(call, {"T": T, "F": T.nn.functional, **given}))
        found.append(shared(results, list(given.values())))
    assert found[1] == found[0]
