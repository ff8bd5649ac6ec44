"""The meta device: shapes, dtypes and strides without values, as in torch."""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from oracle import outcome
from row_checks import Sample
from row_samples import SAMPLES

import whygrad
from whygrad.base.meta_array import MetaArray, like
from whygrad.core.modes import process_state
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.ops.table import TABLE

# The shapes of their results depend on values, or there is no rule for a batch from which a shape could be found.
WITHOUT_SHAPE = {name for name, row in TABLE.items() if row.traits.batch in ("looped", "refused")} | {
    "masked_select", "masked_select_backward"}
# Strides that only the computation knows: parts of one copy, a rotation, LAPACK's order.
OWN_STRIDES = {"unsafe_split", "unsafe_split_with_sizes", "rot90", "solve_ex"}
# conj and neg bits; a batch of weights; rows that pick a shape by the rank of a matrix; a number along an axis.
NOT_YET = {"conj_view", "neg_view", "conv_tbc", "lstsq", "gather", "grid_sampler_backward"}


def described(row_name: str, results: Any) -> list[Any]:
    arrays = [t._array for t in ([results] if isinstance(results, Tensor) else results)]
    return [(x.shape, x.dtype, x.strides if x.size and row_name not in OWN_STRIDES else None) for x in arrays]


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in WITHOUT_SHAPE | NOT_YET])
def test_rows(name: str) -> None:
    """Every row gives the shape, dtype and strides that it has with values."""
    row = TABLE[name]
    for sample in SAMPLES[name]:
        options = {**row.static_defaults, **sample.statics}
        real = apply(row, *tensors_of(sample, wrap), **options)
        found = apply(row, *tensors_of(sample, lambda x: wrap(like(x))), **options)
        assert described(name, found) == described(name, real)
        assert all(type(t._array) is MetaArray for t in ([found] if isinstance(found, Tensor) else found))


def tensors_of(sample: Sample, make: Callable[[np.ndarray], Tensor]) -> list[Any]:
    return [make(x) if isinstance(x, np.ndarray) else x for x in sample.arrays()]


@pytest.mark.parametrize("name", sorted(WITHOUT_SHAPE & SAMPLES.keys()))
def test_rows_without_a_shape(name: str) -> None:
    sample = SAMPLES[name][0]
    with pytest.raises((NotImplementedError, RuntimeError)):
        apply(TABLE[name], *tensors_of(sample, lambda x: wrap(like(x))), **{**TABLE[name].static_defaults, **sample.statics})


def test_ops_are_fast_again_when_the_last_one_is_gone() -> None:
    x = whygrad.empty(3, device="meta")
    assert process_state.any_mode_active
    y = x[1:]
    del x, y
    assert not process_state.any_mode_active
    assert process_state.meta is None


M = "t.empty(2, 3, device='meta')"
EXPRESSIONS = [
    M, "t.rand(2, device='meta', requires_grad=True)", "t.zeros(2, 0, dtype=t.int64, device='meta')",
    "t.full((2,), 3, device='meta')", "t.full((2,), True, device='meta')", "t.randint(3, (2, 2), device='meta')",
    "t.randint(0, 5, size=(2,), device='meta')", "t.randperm(4, device='meta')", "t.normal(0.0, 1.0, (2,), device='meta')",
    "t.arange(5, device='meta')", "t.linspace(0, 1, 4, device='meta')", "t.eye(3, device='meta')",
    "t.tensor([1, 2], device='meta')", "t.as_tensor([1.0], device='meta')", "t.scalar_tensor(2.0, device='meta')",
    "t.tril_indices(3, 3, device='meta')", "t.hann_window(4, device='meta')",
    "t.empty_strided((2, 3), (1, 2), device='meta').stride()", "t.empty(10**13, device='meta').shape",
    f"{M}.device", f"{M}.is_meta", f"{M}.is_cpu", f"{M}.type()", f"{M}.data_ptr()", f"{M}.untyped_storage().nbytes()",
    f"{M}.untyped_storage().device", f"{M}[1].storage_offset()", f"{M}.nbytes", f"{M}.half()", f"{M}.to(t.int32)",
    "t.ones(2).to('meta')", "t.ones(2, requires_grad=True).to('meta').grad_fn.name()",
    "t.ones(2, requires_grad=True).to('meta').sum().backward()", "t.ones(2, requires_grad=True).to('meta', t.int32).grad_fn",
    "t.ones(2, 3).t().to('meta').stride()", "t.ones(2).to(t.empty(1, device='meta'))",
    f"t.zeros_like({M})", f"t.rand_like({M}, dtype=t.float64)", f"t.ones_like({M}, device='cpu')", f"{M}.new_zeros(4)",
    f"{M}.new_full((2,), 1.0)", f"{M}.new_tensor([1.0])", f"{M}.new_empty(2, device='cpu').device",
    "t.ones(2).new_zeros(2, device='meta')",
    f"t.zeros_like({M}.t()).stride()", f"t.empty_like({M}.expand(4, 2, 3)).stride()",
    f"{M} + 1", f"{M} + t.tensor(2.0)", f"{M} @ {M}.t()", f"{M} * t.ones(2, 3)", f"t.cat([{M}, {M}])",
    f"t.cat([{M}, t.ones(2, 3)])",
    f"{M}.sum()", f"{M}.sum(1).shape", f"{M} > 0", f"{M}.t().contiguous().stride()", f"{M}.view(3, 2)", f"{M}.reshape(-1)",
    f"{M}[:, 1:]", f"{M}[t.tensor([0, 1, 1])].shape", f"{M}[t.tensor([0, 1], device='meta')].shape", f"list({M})",
    f"{M}.uniform_()", f"{M}.zero_().add_(1)", f"{M}.copy_(t.ones(3))", f"t.ones(2, 3).copy_({M})", f"{M}.fill_(2)",
    f"{M}.item()", f"{M}.sum().item()", f"bool({M}.sum())", f"float({M}.sum())", f"{M}.tolist()", f"{M}.numpy()", f"{M}.cpu()",
    f"{M}.to('cpu')", f"t.dropout({M}, 0.5, True)", f"t.nn.Parameter({M})", f"{M}.is_contiguous()",
    f"t.einsum('ij,kj->ik', {M}, {M})",
    f"t.nn.functional.cross_entropy({M}, t.zeros(2, dtype=t.int64, device='meta'))", f"{M}.topk(2)", f"{M}.sort()",
    f"t.where({M} > 0, 1.0, 2.0)", f"{M}.norm()", f"{M}.var(dim=1)", f"t.softmax({M}, -1)", f"{M}.unsqueeze(0).stride()",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text: str) -> None:
    theirs, ours = (outcome(lambda lib=lib: repr(eval(text, {"t": lib}))) for lib in (torch, whygrad))
    assert ours == theirs


def gradients(t: Any) -> list[str]:
    x = t.ones(2, 3, device="meta", requires_grad=True)
    w = t.empty(4, 3, device="meta", requires_grad=True)
    y = t.nn.functional.linear(x, w).tanh().sum()
    (first,) = t.autograd.grad(y, x, create_graph=True)
    first.sum().backward()
    return [repr(y), repr(first.shape), first.requires_grad, repr(x.grad), repr(w.grad)]


def modules(t: Any) -> list[Any]:
    nn = t.nn
    with t.device("meta"):
        model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(),
                              nn.Flatten(), nn.Linear(128, 10))
        x = t.randn(2, 3, 8, 8)
        seen = [t.get_default_device(), t.ones(1, device="cpu").device, t.ones_like(x).device]
        with t.device("cpu"):
            seen.append(t.ones(1).device)
    seen += [t.ones(1).device, repr(model(x).shape), [(n, p.shape, p.stride(), p.is_meta) for n, p in model.named_parameters()],
             [b.device for b in model.buffers()]]
    model(x).sum().backward()
    seen += [[(p.grad.shape, p.grad.is_meta) for p in model.parameters()]]
    t.optim.Adam(model.parameters()).step()
    for layer, size in ((nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, device="meta"), (2, 5, 16)),
                        (nn.LayerNorm(4, device="meta"), (3, 4)), (nn.GroupNorm(2, 4, device="meta"), (3, 4, 5))):
        seen.append(repr(layer(t.empty(*size, device="meta")).shape))
    output, (h, c) = nn.LSTM(4, 8, 2, device="meta")(t.empty(5, 2, 4, device="meta"))
    seen += [output.shape, h.shape, c.shape]
    seen.append(repr(nn.Embedding(1000, 16, device="meta")(t.zeros(2, 3, dtype=t.long, device="meta"))))
    return [*seen, [p.device for p in copy.deepcopy(model).to_empty(device="cpu").parameters()],
            [p.is_meta for p in nn.Linear(2, 2).to("meta").parameters()], nn.Linear(10**6, 10**6, device="meta").weight.numel(),
            nn.utils.skip_init(nn.Linear, 3, 2).weight.device]


def loading(t: Any) -> list[Any]:
    source, target = t.nn.Linear(3, 2), t.nn.Linear(3, 2, device="meta")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        target.load_state_dict(source.state_dict())
    seen = [str(w.message) for w in caught] + [target.weight.is_meta]
    target.load_state_dict(source.state_dict(), assign=True)
    seen += [target.weight.device, t.equal(target.weight, source.weight)]
    file = io.BytesIO()
    t.save(t.nn.Linear(2, 2, device="meta").state_dict(), file)
    file.seek(0)
    return [*seen, repr(t.load(file)), outcome(lambda: t.nn.Linear(2, 2, device="meta").to("cpu"))]


def default(t: Any) -> list[Any]:
    t.set_default_device("meta")
    seen = [t.zeros(2).device, t.get_default_device()]
    t.set_default_device(None)
    t.manual_seed(0)
    t.rand(3, device="meta")
    t.empty(4, device="meta").normal_()  # neither has drawn a number
    return [*map(str, seen), t.zeros(2).device, t.rand(2).tolist()]


@pytest.mark.parametrize("program", [gradients, modules, loading, default], ids=lambda program: program.__name__)
def test_programs(program: Callable[[Any], list[Any]]) -> None:
    theirs, ours = program(torch), program(whygrad)
    assert [str(x) for x in ours] == [str(x) for x in theirs]
