"""Input without elements, without classes, without channels: torch's result or torch's error, and as many random numbers drawn.

Not compared: the margin losses of no samples, which in torch are whatever the memory held; the FFT of no images, which MKL
refuses; strides of permuted views without elements, which NumPy does not keep.
"""

from __future__ import annotations

import warnings

import pytest
import torch
from sharing import tensors_in

import whygrad

CALLS = """
    T.multinomial(T.zeros(0, 3), 1); T.multinomial(T.zeros(0, 3), 2, True); T.multinomial(T.zeros(3, 0), 1);
    T.multinomial(T.zeros(0), 1); T.multinomial(T.zeros(0), 0); T.multinomial(T.ones(3), 0); T.multinomial(T.zeros(2, 3), 1);
    T.multinomial(T.tensor([[1., nan]]), 1); T.multinomial(T.tensor([[1., inf]]), 1); T.multinomial(T.tensor([[1., -1.]]), 1);
    F.cross_entropy(T.zeros(2, 0), T.zeros(2, dtype=T.int64), label_smoothing=0.1);
    F.cross_entropy(T.zeros(2, 0), T.zeros(2, 0), label_smoothing=0.1);
    F.cross_entropy(T.zeros(0, 3), T.zeros(0, dtype=T.int64), label_smoothing=0.1);
    F.cross_entropy(T.zeros(0, 3), T.zeros(0, dtype=T.int64), label_smoothing=0.1, reduction='none');
    F.cross_entropy(T.zeros(0, 3), T.zeros(0, 3), label_smoothing=0.1);
    F.cross_entropy(T.zeros(0, 0), T.zeros(0, dtype=T.int64), label_smoothing=0.1);
    F.cross_entropy(T.zeros(0, 0), T.zeros(0, dtype=T.int64)); F.cross_entropy(T.zeros(0), T.tensor(0), label_smoothing=0.1);
    F.cross_entropy(T.zeros(2, 0), T.zeros(2, dtype=T.int64));
    F.cross_entropy(T.zeros(2, 0), T.full((2, ), -100), label_smoothing=0.1);
    F.cross_entropy(T.zeros(2, 0), T.full((2, ), -100)); F.nll_loss(T.zeros(0, 3), T.zeros(0, dtype=T.int64));
    F.nll_loss(T.zeros(2, 0), T.full((2, ), -100)); T.poisson(T.tensor([inf])); T.poisson(T.tensor([nan]));
    T.poisson(T.tensor([-1.])); T.poisson(T.tensor([1e30])); T.poisson(T.tensor([1e10])); T.poisson(T.zeros(0));
    T.poisson(T.tensor([inf, 1., 2.])); T.poisson(T.tensor([0., -0.])); T.poisson(T.tensor([1e10], dtype=T.float64));
    T.zeros(0, dtype=T.int64).random_(); T.zeros(0, dtype=T.int64).random_(5); T.zeros(0, dtype=T.int64).random_(0);
    T.zeros(0, dtype=T.int64).random_(5, 2); T.zeros(3, dtype=T.int64).random_(0); T.zeros(0, dtype=T.int64).geometric_(0.5);
    T.zeros(0, dtype=T.int64).geometric_(0.); T.zeros(0, dtype=T.int64).bernoulli_(0.5);
    T.zeros(0, dtype=T.int64).bernoulli_(2.); T.zeros(0, dtype=T.int64).normal_(); T.zeros(0, dtype=T.int64).uniform_();
    T.zeros(0, dtype=T.int64).exponential_(); T.zeros(0, dtype=T.int64).cauchy_(); T.zeros(0, dtype=T.int64).log_normal_();
    T.zeros(3, dtype=T.int64).normal_(); T.zeros(3, dtype=T.int64).uniform_(); T.zeros(3, dtype=T.int64).exponential_();
    T.zeros(3, dtype=T.int64).cauchy_(); T.zeros(3, dtype=T.int64).log_normal_(); T.zeros(3, dtype=T.bool).normal_();
    T.zeros(0).normal_(0, -1); T.zeros(0).uniform_(1, 0); T.zeros(0).exponential_(-1); T.zeros(0).cauchy_(0, -1);
    T.zeros(0).log_normal_(0, -1); T.zeros(0, dtype=T.bool).random_(); T.randint(0, 0, (0, )); T.randint(0, 0, (2, ));
    T.randint(5, (0, )); T.randperm(0); T.rand(0); T.randint_like(T.zeros(0, dtype=T.int64), 0, 5);
    T.randint_like(T.zeros(0, dtype=T.int64), 5, 5); T.rand_like(T.zeros(0, dtype=T.int64));
    T.randn_like(T.zeros(0, dtype=T.int64)); T.normal(T.zeros(0), T.zeros(0)); T.normal(T.zeros(0), -1.);
    T.bernoulli(T.zeros(0)); T.bernoulli(T.zeros(0, dtype=T.int64)); T.sum(T.ones(3), 0, out=T.zeros((), dtype=T.bool));
    T.sum(T.ones(3, dtype=T.int64), 0, out=T.zeros((), dtype=T.bool));
    T.sum(T.tensor([0., 0.]), 0, out=T.zeros((), dtype=T.bool)); T.sum(T.ones(3, 2), 0, out=T.zeros(2, dtype=T.bool));
    T.sum(T.ones(3, 2), 0, out=T.zeros(2, dtype=T.int32)); T.sum(T.ones(3, 2), out=T.zeros((), dtype=T.bool));
    T.mean(T.ones(3, 2), 0, out=T.zeros(2, dtype=T.int32)); T.prod(T.ones(3, 2), 0, out=T.zeros(2, dtype=T.bool));
    T.prod(T.ones(3, 2), 0, out=T.zeros(2, dtype=T.int64)); T.cumsum(T.ones(3), 0, out=T.zeros(3, dtype=T.bool));
    T.cumprod(T.ones(3), 0, out=T.zeros(3, dtype=T.bool)); T.nansum(T.ones(3), 0, out=T.zeros((), dtype=T.bool));
    T.amax(T.ones(3), 0, out=T.zeros((), dtype=T.bool)); T.any(T.ones(3), 0, out=T.zeros((), dtype=T.float32));
    T.all(T.ones(3), 0, out=T.zeros((), dtype=T.uint8)); T.norm(T.ones(3), 2, 0, out=T.zeros((), dtype=T.bool));
    T.roll(T.zeros(0), 1); T.roll(T.zeros(0, 3), 1, 0); T.roll(T.zeros(0, 3), 1, 1); T.roll(T.zeros(0, 3), 1);
    T.roll(T.tensor(1.), 1); T.roll(T.tensor(1.), 1, 0); T.roll(T.zeros(2, 3), (1, 2)); T.roll(T.zeros(2, 3), (), ());
    T.roll(T.zeros(2, 3), 1, ()); T.roll(T.zeros(2, 3), (1, ), (0, 1)); T.roll(T.zeros(2, 3), 1, 5);
    T.roll(T.zeros(0), (1, 2), (0, 0)); T.roll(T.zeros(0, 3), 1, 7); F.adaptive_avg_pool1d(T.zeros(1, 2, 0), 3);
    F.adaptive_avg_pool1d(T.zeros(0, 2, 4), 3); F.adaptive_avg_pool1d(T.zeros(1, 0, 4), 3);
    F.adaptive_avg_pool1d(T.zeros(1, 2, 4), 0); F.adaptive_avg_pool2d(T.zeros(1, 2, 0, 3), 3);
    F.adaptive_avg_pool2d(T.zeros(0, 2, 4, 4), 3); F.adaptive_avg_pool2d(T.zeros(1, 0, 4, 4), 3);
    F.adaptive_avg_pool2d(T.zeros(1, 2, 4, 4), 0); F.adaptive_avg_pool2d(T.zeros(1, 2, 4, 4), (0, 2));
    F.adaptive_avg_pool2d(T.zeros(0, 4, 4), 2); F.adaptive_avg_pool3d(T.zeros(1, 2, 0, 3, 3), 3);
    F.adaptive_avg_pool3d(T.zeros(0, 2, 4, 4, 4), 3); F.adaptive_avg_pool3d(T.zeros(1, 0, 4, 4, 4), 3);
    F.adaptive_avg_pool3d(T.zeros(1, 2, 4, 4, 4), 0); F.adaptive_max_pool1d(T.zeros(1, 2, 0), 3);
    F.adaptive_max_pool1d(T.zeros(0, 2, 4), 3); F.adaptive_max_pool1d(T.zeros(1, 0, 4), 3);
    F.adaptive_max_pool1d(T.zeros(1, 2, 4), 0); F.adaptive_max_pool2d(T.zeros(1, 2, 0, 3), 3);
    F.adaptive_max_pool2d(T.zeros(0, 2, 4, 4), 3); F.adaptive_max_pool2d(T.zeros(1, 0, 4, 4), 3);
    F.adaptive_max_pool2d(T.zeros(1, 2, 4, 4), 0); F.adaptive_max_pool2d(T.zeros(0, 4, 4), 2);
    F.adaptive_max_pool3d(T.zeros(1, 2, 0, 3, 3), 3); F.adaptive_max_pool3d(T.zeros(0, 2, 4, 4, 4), 3);
    F.adaptive_max_pool3d(T.zeros(1, 0, 4, 4, 4), 3); F.adaptive_max_pool3d(T.zeros(1, 2, 4, 4, 4), 0);
    F.max_pool1d(T.zeros(0, 2, 4), 2); F.max_pool1d(T.zeros(1, 0, 4), 2); F.max_pool1d(T.zeros(1, 2, 0), 2);
    F.max_pool2d(T.zeros(0, 2, 4, 4), 2); F.max_pool2d(T.zeros(1, 0, 4, 4), 2); F.max_pool2d(T.zeros(1, 2, 0, 4), 2);
    F.max_pool3d(T.zeros(0, 2, 4, 4, 4), 2); F.max_pool3d(T.zeros(1, 0, 4, 4, 4), 2); F.avg_pool1d(T.zeros(0, 2, 4), 2);
    F.avg_pool1d(T.zeros(1, 0, 4), 2); F.avg_pool2d(T.zeros(0, 2, 4, 4), 2); F.avg_pool2d(T.zeros(1, 0, 4, 4), 2);
    F.avg_pool3d(T.zeros(0, 2, 4, 4, 4), 2); F.avg_pool3d(T.zeros(1, 0, 4, 4, 4), 2); F.lp_pool1d(T.zeros(0, 2, 4), 2., 2);
    F.fractional_max_pool2d(T.zeros(0, 2, 4, 4), 2, output_size=2);
    F.fractional_max_pool2d(T.zeros(1, 0, 4, 4), 2, output_size=2); F.conv1d(T.zeros(0, 2, 4), T.zeros(3, 2, 2));
    F.conv1d(T.zeros(1, 2, 0), T.zeros(3, 2, 2)); F.conv1d(T.zeros(1, 2, 4), T.zeros(0, 2, 2));
    F.conv1d(T.zeros(1, 2, 4), T.zeros(3, 2, 0)); F.conv1d(T.zeros(1, 2, 0), T.zeros(3, 2, 2), padding=1);
    F.conv2d(T.zeros(0, 2, 4, 4), T.zeros(3, 2, 2, 2)); F.conv2d(T.zeros(1, 2, 4, 4), T.zeros(0, 2, 2, 2));
    F.conv2d(T.zeros(1, 2, 0, 4), T.zeros(3, 2, 2, 2), padding=1); F.conv2d(T.zeros(1, 2, 4, 4), T.zeros(3, 2, 0, 2));
    F.conv2d(T.zeros(0, 2, 4, 4), T.zeros(3, 2, 2, 2), T.zeros(3)); F.conv2d(T.zeros(0, 0, 4, 4), T.zeros(3, 0, 2, 2));
    F.conv3d(T.zeros(0, 2, 4, 4, 4), T.zeros(3, 2, 2, 2, 2)); F.conv_transpose1d(T.zeros(0, 2, 4), T.zeros(2, 3, 2));
    F.conv_transpose1d(T.zeros(1, 2, 0), T.zeros(2, 3, 2)); F.conv_transpose1d(T.zeros(1, 0, 4), T.zeros(0, 3, 2));
    F.conv_transpose1d(T.zeros(1, 2, 4), T.zeros(2, 0, 2)); F.conv_transpose2d(T.zeros(0, 2, 4, 4), T.zeros(2, 3, 2, 2));
    F.conv_transpose2d(T.zeros(1, 2, 0, 4), T.zeros(2, 3, 2, 2)); F.conv_transpose2d(T.zeros(1, 0, 4, 4), T.zeros(0, 3, 2, 2));
    F.unfold(T.zeros(0, 2, 4, 4), 2); F.unfold(T.zeros(1, 0, 4, 4), 2); F.unfold(T.zeros(1, 2, 0, 4), 2);
    F.fold(T.zeros(0, 8, 9), (4, 4), 2); F.fold(T.zeros(1, 0, 9), (4, 4), 2); F.interpolate(T.zeros(0, 2, 4), size=3);
    F.interpolate(T.zeros(1, 0, 4), size=3); F.interpolate(T.zeros(1, 2, 0), size=3);
    F.interpolate(T.zeros(0, 2, 4, 4), size=3, mode='bilinear'); F.interpolate(T.zeros(1, 0, 4, 4), size=3, mode='bilinear');
    F.grid_sample(T.zeros(0, 2, 4, 4), T.zeros(0, 3, 3, 2)); F.grid_sample(T.zeros(1, 0, 4, 4), T.zeros(1, 3, 3, 2));
    F.grid_sample(T.zeros(1, 2, 0, 4), T.zeros(1, 3, 3, 2)); F.grid_sample(T.zeros(1, 2, 4, 4), T.zeros(1, 0, 3, 2));
    F.pixel_shuffle(T.zeros(0, 4, 2, 2), 2); F.pixel_shuffle(T.zeros(1, 0, 2, 2), 2); F.channel_shuffle(T.zeros(0, 4, 2, 2), 2);
    F.channel_shuffle(T.zeros(1, 0, 2, 2), 2); F.pad(T.zeros(0), (1, 1)); F.pad(T.zeros(0, 3), (1, 1), mode='reflect');
    F.pad(T.zeros(2, 0), (1, 1), mode='reflect'); F.pad(T.zeros(0, 2, 3), (1, 1), mode='reflect');
    F.pad(T.zeros(0, 2, 3), (1, 1), mode='replicate'); F.pad(T.zeros(0, 2, 3), (1, 1), mode='circular');
    F.pad(T.zeros(1, 2, 0), (1, 1), mode='circular'); F.pad(T.zeros(1, 2, 0), (1, 1), mode='replicate');
    F.batch_norm(T.zeros(0, 3), T.zeros(3), T.ones(3), training=True); F.batch_norm(T.zeros(0, 3), T.zeros(3), T.ones(3));
    F.batch_norm(T.zeros(2, 0), T.zeros(0), T.ones(0)); F.batch_norm(T.zeros(0, 3, 2), None, None, training=True);
    F.batch_norm(T.zeros(1, 3, 1), None, None, training=True); F.layer_norm(T.zeros(0, 3), (3, ));
    F.layer_norm(T.zeros(3, 0), (0, )); F.group_norm(T.zeros(0, 4, 2), 2); F.group_norm(T.zeros(2, 4, 0), 2);
    F.group_norm(T.zeros(2, 0, 3), 2); F.instance_norm(T.zeros(0, 4, 2)); F.instance_norm(T.zeros(2, 4, 0));
    F.instance_norm(T.zeros(2, 0, 3)); F.local_response_norm(T.zeros(0, 4, 2), 2); F.rms_norm(T.zeros(0, 3), (3, ));
    F.embedding(T.zeros(0, dtype=T.int64), T.zeros(3, 2)); F.embedding(T.zeros(0, dtype=T.int64), T.zeros(0, 2));
    F.embedding_bag(T.zeros(0, dtype=T.int64), T.zeros(3, 2), T.zeros(2, dtype=T.int64));
    F.embedding_bag(T.zeros(0, dtype=T.int64), T.zeros(3, 2), T.zeros(0, dtype=T.int64));
    F.embedding_bag(T.zeros(0, 4, dtype=T.int64), T.zeros(3, 2)); F.embedding_bag(T.zeros(2, 0, dtype=T.int64), T.zeros(3, 2));
    F.embedding_bag(T.zeros(2, 0, dtype=T.int64), T.zeros(3, 2), mode='max'); F.linear(T.zeros(0, 3), T.zeros(2, 3));
    F.linear(T.zeros(2, 0), T.zeros(3, 0), T.ones(3)); F.linear(T.zeros(2, 3), T.zeros(0, 3));
    F.bilinear(T.zeros(0, 2), T.zeros(0, 3), T.zeros(4, 2, 3)); F.softmax(T.zeros(0), 0); F.softmax(T.zeros(2, 0), 1);
    F.log_softmax(T.zeros(0, 2), 1); F.one_hot(T.zeros(0, dtype=T.int64)); F.one_hot(T.zeros(0, dtype=T.int64), 3);
    F.mse_loss(T.zeros(0), T.zeros(0)); F.l1_loss(T.zeros(0), T.zeros(0)); F.binary_cross_entropy(T.zeros(0), T.zeros(0));
    F.cosine_similarity(T.zeros(0, 3), T.zeros(0, 3)); F.pdist(T.zeros(0, 3)); F.pdist(T.zeros(3, 0));
    F.ctc_loss(T.zeros(4, 0, 3), T.zeros(0, 2, dtype=T.int64), T.zeros(0, dtype=T.int64), T.zeros(0, dtype=T.int64));
    F.scaled_dot_product_attention(T.zeros(0, 2, 3, 4), T.zeros(0, 2, 3, 4), T.zeros(0, 2, 3, 4));
    F.scaled_dot_product_attention(T.zeros(1, 2, 0, 4), T.zeros(1, 2, 3, 4), T.zeros(1, 2, 3, 4));
    F.scaled_dot_product_attention(T.zeros(1, 2, 3, 4), T.zeros(1, 2, 0, 4), T.zeros(1, 2, 0, 4));
    T.vander(T.tensor([1., 2.]), 0); T.vander(T.tensor([1., 2.]), 1); T.vander(T.zeros(0), 3); T.vander(T.zeros(0));
    T.vander(T.tensor([1, 2]), 0); T.vander(T.tensor([1, 2]), 1); T.vander(T.tensor([True, False]), 2);
    T.vander(T.tensor([1., 2.]), -1); T.linalg.vander(T.tensor([1., 2.]), N=0); T.linalg.vander(T.tensor([1., 2.]), N=1);
    T.linalg.vander(T.zeros(0)); T.std(T.zeros(0)); T.median(T.zeros(0)); T.mode(T.zeros(0)); T.mode(T.zeros(0, 3), 0);
    T.mode(T.zeros(0, 3), 1); T.sort(T.zeros(0)); T.topk(T.zeros(0), 0); T.topk(T.zeros(0), 1); T.kthvalue(T.zeros(0), 1);
    T.max(T.zeros(0)); T.max(T.zeros(0, 3), 0); T.max(T.zeros(0, 3), 1); T.argmax(T.zeros(0)); T.argmax(T.zeros(0, 3), 1);
    T.aminmax(T.zeros(0)); T.logsumexp(T.zeros(0), 0); T.logsumexp(T.zeros(0, 3), 0); T.cummax(T.zeros(0), 0);
    T.cumsum(T.zeros(0), 0); T.unique(T.zeros(0)); T.unique(T.zeros(0, 3), dim=0); T.unique(T.zeros(3, 0), dim=0);
    T.unique_consecutive(T.zeros(0)); T.histc(T.zeros(0)); T.histogram(T.zeros(0), 3); T.bincount(T.zeros(0, dtype=T.int64));
    T.searchsorted(T.zeros(0), T.ones(2)); T.bucketize(T.ones(2), T.zeros(0)); T.bucketize(T.zeros(0), T.ones(2));
    T.cat([T.zeros(0), T.ones(2, 2)]); T.stack([T.zeros(0), T.zeros(0)]); T.combinations(T.zeros(0));
    T.cartesian_prod(T.zeros(0), T.ones(2)); T.meshgrid(T.zeros(0), T.ones(2), indexing='ij'); T.block_diag();
    T.trapezoid(T.zeros(0)); T.diff(T.zeros(0)); T.cov(T.zeros(0)); T.cov(T.zeros(0, 3)); T.corrcoef(T.zeros(0));
    T.quantile(T.zeros(0), 0.5); T.nanquantile(T.zeros(0), 0.5); T.dot(T.zeros(0), T.zeros(0));
    T.einsum('i, i->', T.zeros(0), T.zeros(0)); T.fft.fft(T.zeros(0)); T.fft.rfft(T.zeros(2, 0)); T.linalg.inv(T.zeros(0, 0));
    T.linalg.det(T.zeros(0, 0)); T.linalg.svd(T.zeros(0, 3)); T.linalg.eigh(T.zeros(0, 0)); T.linalg.norm(T.zeros(0));
    T.linalg.norm(T.zeros(0), ord=inf); T.linalg.matrix_norm(T.zeros(0, 3)); T.linalg.lstsq(T.zeros(0, 3), T.zeros(0, 2));
    T.linalg.pinv(T.zeros(0, 3)); T.cdist(T.zeros(0, 3), T.zeros(2, 3)); T.cdist(T.zeros(2, 0), T.zeros(3, 0));
    T.gradient(T.zeros(0)); T.stft(T.zeros(0), 4, window=T.ones(4), return_complex=True); T.nn.LSTM(2, 3)(T.zeros(0, 1, 2));
    T.nn.LSTM(2, 3)(T.zeros(4, 0, 2))[0]; T.nn.GRU(2, 3)(T.zeros(4, 0, 2))[0];
    T.nn.MultiheadAttention(4, 2)(T.zeros(0, 1, 4), T.zeros(0, 1, 4), T.zeros(0, 1, 4))[0];
    T.nn.MultiheadAttention(4, 2)(T.zeros(3, 0, 4), T.zeros(3, 0, 4), T.zeros(3, 0, 4))[0]; T.nn.utils.clip_grad_norm_([], 1.);
    T.nn.utils.rnn.pad_sequence([]); T.nn.utils.rnn.pack_padded_sequence(T.zeros(0, 0, 2), T.zeros(0, dtype=T.int64));
    T.zeros(0, 3).expand(0, 3).stride(); T.zeros(0, 3).stride(); T.zeros(3, 0).stride(); T.zeros(1, 3).expand(0, 3).stride();
    T.zeros(0, 3).view(3, 0).stride(); T.zeros(4, 3)[:0].stride(); T.zeros(4, 3)[2:2].stride(); T.zeros(4, 3)[:, :0].stride();
    T.zeros(0, 3).sum(0).stride(); T.zeros(2, 0, 3).sum(1).stride(); (T.zeros(0, 3)+1).stride(); T.zeros(0, 3).clone().stride();
    T.zeros(0, 3).contiguous().stride(); T.zeros(4, 3).t()[:0].stride(); T.zeros(4, 1, 3)[:0].squeeze(1).stride();
    T.zeros(0, 3).repeat(2, 1).stride(); T.zeros(1, 1).expand(1, 1).stride(); T.zeros(1, 3).expand(4, 3).stride();
    T.zeros(3, 1).expand(3, 1).stride(); T.zeros(3).expand(1, 3).stride(); T.zeros(3).expand(2, 3).stride();
    F.conv1d(T.zeros(1, 0, 4), T.zeros(3, 0, 2)); F.conv2d(T.zeros(1, 0, 4, 4), T.zeros(3, 0, 2, 2), T.ones(3));
    F.conv3d(T.zeros(1, 0, 4, 4, 4), T.zeros(3, 0, 2, 2, 2));
"""


def seen(T, call):
    T.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = eval(call, {"T": T, "F": T.nn.functional, "inf": float("inf"), "nan": float("nan")})
            tensors = [t.detach() for t in tensors_in(result)]
            shown = [(str(t.dtype), tuple(t.shape), t.stride() if not t.numel() else (), str(t.tolist())) for t in tensors]
            found = shown or str(result)
        except Exception as error:
            found = type(error).__name__, str(error).split("\n")[0]
    return found, [str(w.message).split("\n")[0].partition(" (Trig")[0] for w in caught], T.rand(1).item()


@pytest.mark.parametrize("call", [call.strip() for call in CALLS.strip().strip(";").split(";")])
def test_as_torch(call):
    assert seen(whygrad, call) == seen(torch, call)
