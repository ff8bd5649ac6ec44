"""Views, joins, splits and rearrangements against torch: values, derivatives, nodes, strides, sharing, errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, check, node_name, pair, same_error

import whygrad
from whygrad.functional.rearrange import pad as our_pad

ARRAYS = {
    "x": np.arange(24.0).reshape(2, 3, 4) / 8 - 1,
    "m": np.array([[1.5, -2.0, 0.25, 3.0], [0.5, 4.0, -1.0, 2.0], [1.0, -0.5, 2.5, 0.75]]),
    "v": np.array([1.0, -2.0, 0.5, 3.0]),
    "s": np.array(2.5),
    "o": np.arange(12.0).reshape(1, 3, 1, 4) / 4 - 1,
    "z": np.array([1 + 2j, -0.5j, 3.0, 2 - 1j, 0.5, 1j]).reshape(2, 3),
}


def evaluate(text: str, lib: Any, tensors: dict[str, Any]) -> Any:
    pad = our_pad if lib is whygrad else torch.nn.functional.pad
    return eval(text, {"torch": lib, "np": np, "pad": pad, **tensors})


def names_in(text: str) -> list[str]:
    return [name for name in ARRAYS if name in compile(text, "", "eval").co_names]


def make(text: str, requires_grad: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    pairs = {name: pair(ARRAYS[name], requires_grad) for name in names_in(text)}
    return {name: p[0] for name, p in pairs.items()}, {name: p[1] for name, p in pairs.items()}


def outcome_of(text: str, lib: Any, tensors: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return evaluate(text, lib, tensors)


VIEWS = """
x.view(6, 4)
x.view(-1)
x.view((2, -1))
x.view(2, 3, 4, 1)
x.view_as(x)
x.view(size=(4, 6))
x.transpose(1, 2).view(2, 4, 1, 3)
x.transpose(1, 2).view(1, 2, 4, 3)
x[:, :, :1].view(2, 3, 1, 1)
x.view(np.int64(24))
x.reshape(6, 4)
x.reshape([4, -1])
x.reshape(shape=(24,))
x.transpose(0, 1).reshape(6, 4)
x.transpose(0, 1).reshape(3, 8)
x.transpose(1, 2).reshape(2, 2, 2, 3)
x.reshape_as(x)
s.reshape(1, 1)
s.view(1)
x.transpose(0, 1)
x.transpose(-1, 0)
x.transpose(0, 0)
s.transpose(0, -1)
torch.transpose(x, 0, 2)
x.swapaxes(0, 1)
torch.swapdims(x, 1, 2)
x.permute(2, 0, 1)
x.permute((0, -1, 1))
torch.permute(x, (2, 1, 0))
x.permute(dims=(1, 0, 2))
m.t()
v.t()
s.t()
s.T
s.mT
s.H
s.flip(0)
s.roll(1)
s.movedim(0, -1)
s.swapaxes(0, 0)
m.T
x.mT
m.H
x.mH
x.adjoint()
torch.adjoint(m)
o.squeeze()
x.squeeze()
o.squeeze(0)
o.squeeze(1)
o.squeeze((0, 2))
o.squeeze((0, 1))
o.squeeze(())
torch.squeeze(o, dim=2)
s.squeeze()
s.squeeze(0)
x.unsqueeze(0)
x.unsqueeze(-1)
x.transpose(1, 2).unsqueeze(3)
x.transpose(1, 2).unsqueeze(2)
x[:, :1].unsqueeze(1)
s.unsqueeze(0)
x.expand(5, 2, 3, 4)
x.expand(2, 3, 4)
o.expand(2, -1, 3, 4)
o.expand(2, 1, 3, 2, 4)
x.transpose(0, 1).expand(2, 3, 2, 4)
s.expand(3)
s.expand(2, 1, 3)
s.expand(0)
v.expand(1, 4)
v.expand_as(m)
torch.broadcast_to(v, (3, 4))
torch.broadcast_tensors(v, m)
torch.broadcast_tensors(x, s)
x.flatten()
x.flatten(1)
x.flatten(0, 1)
x.transpose(0, 1).flatten()
v.flatten()
s.flatten()
x.unflatten(2, (2, 2))
x.unflatten(1, (3, -1))
x.ravel()
x.transpose(0, 1).ravel()
x.movedim(0, 2)
x.movedim((0, 1), (1, 2))
x.movedim(1, -1)
torch.moveaxis(x, 0, 1)
x.narrow(1, 1, 2)
x.narrow(2, -2, 1)
x.narrow(0, 2, 0)
x.select(1, -1)
torch.select(x, 2, 3)
x.diagonal()
x.diagonal(1, 1, 2)
x.diagonal(-1, 2, 0)
x.diagonal(5)
m.diagonal(2)
m.diagonal(-2)
x.unfold(2, 2, 1)
x.unfold(1, 3, 2)
x.unfold(2, 3, 1)
x.transpose(0, 2).unfold(0, 2, 2)
x.unfold(0, 0, 1)
s.unfold(0, 1, 1)
x.as_strided((2, 2), (1, 1))
x.as_strided((3, 2), (0, 5), 2)
x.as_strided((), ())
x[1:].as_strided((2, 3), (1, 2), 0)
x[1:].as_strided((2, 3), (1, 2))
x.transpose(0, 2).as_strided((4, 5), (2, 3))
v.expand(3, 4).as_strided((2, 3), (1, 1))
x.view(-1).as_strided((4,), (6,), 1)
x.contiguous()
x.transpose(0, 1).contiguous()
x.clone()
x.transpose(1, 2).clone()
x.transpose(1, 2)[:, ::2].clone()
x.expand(5, 2, 3, 4).clone()
x.transpose(1, 2).clone(memory_format=torch.contiguous_format)
o.expand(2, 3, 5, 4).contiguous(memory_format=torch.channels_last)
torch.atleast_1d(s)
torch.atleast_1d(x)
torch.atleast_2d(v)
torch.atleast_2d(s)
torch.atleast_3d(m)
torch.atleast_3d(v)
torch.atleast_3d(s)
torch.atleast_2d(v, m)
torch.atleast_2d([v, s])
""".strip().split("\n")

JOINS = """
torch.cat([x, x])
torch.cat((x, x[:, :1]), 1)
torch.cat([m, m.T.reshape(3, 4), m], dim=-1)
torch.cat([x])
torch.cat([v, torch.zeros(0, dtype=torch.float64)])
torch.cat([torch.zeros(0, dtype=torch.float64), m])
torch.cat([v, torch.ones(2, dtype=torch.int64)])
torch.cat([v.float(), v])
torch.concat([v, v])
torch.concatenate([v, v], axis=0)
torch.stack([v, v])
torch.stack([m, m], dim=1)
torch.stack([m, m], -1)
torch.stack([s, s])
torch.stack([v, v.float()])
torch.hstack([v, v])
torch.hstack([m, m])
torch.hstack([s, v])
torch.vstack([v, m])
torch.dstack([m, m])
torch.dstack([v, v])
torch.column_stack([v, v])
torch.column_stack([m, m])
torch.meshgrid(v, v, indexing="ij")
torch.meshgrid(v, m[0, :2], indexing="xy")
torch.meshgrid([v, s], indexing="ij")
x.split(2, 2)
x.split(3, dim=2)
x.split([1, 3], 2)
torch.split(x, [0, 4], dim=-1)
x.split_with_sizes((2, 2), 2)
x.chunk(3, 2)
x.unsafe_chunk(3, 2)
x.unsafe_split(3, 2)
x.unsafe_split_with_sizes([1, 3], 2)
torch.cartesian_prod(v, m[0, :2])
torch.view_as_complex(m.view(3, 2, 2)).abs()
torch.chunk(x, 2, dim=1)
x.tensor_split(3, 2)
x.tensor_split((1, 3), 2)
x.tensor_split((3, 1, -1, 9), 2)
torch.tensor_split(x, 2)
torch.hsplit(x, 3)
torch.vsplit(x, [1])
torch.dsplit(x, 2)
x.unbind()
x.unbind(-1)
torch.unbind(m, 1)
""".strip().split("\n")

COPIES = """
x.repeat(2, 1, 1)
x.repeat(1, 1, 1)
v.repeat(2, 3)
x.repeat((2, 1, 3, 1))
v.repeat(0)
s.repeat(3)
s.repeat(())
m.t().repeat(2, 1)
x.tile((2,))
x.tile(2, 1, 1, 2)
x.repeat_interleave(2)
x.repeat_interleave(3, dim=1)
x.repeat_interleave(torch.tensor([1, 2]), dim=0)
x.repeat_interleave(torch.tensor([2]), dim=1)
x.repeat_interleave(torch.tensor(2), dim=1)
v.repeat_interleave(torch.tensor([0, 1, 2, 0]))
x.flip(0)
x.flip(0, -1)
x.flip((1,))
x.flip(())
x.transpose(1, 2).flip(0)
x.fliplr()
x.flipud()
x.roll(1)
x.roll(-5, 2)
x.roll((1, 2), (0, 1))
x.roll((1, 2), (1, 1))
x.rot90()
x.rot90(2, [1, 2])
x.rot90(3, (2, 0))
x.rot90(-1)
x.rot90(0)
x.tril()
x.triu(1)
m.tril(-1)
m.triu(-1)
m.diag()
m.diag(1)
m.diag(-2)
m.diag(7)
v.diag()
v.diag(-1)
v.diag_embed()
m.diag_embed(1, 0, 2)
m.diag_embed(-2, dim1=1, dim2=0)
m.diagflat()
v.diagflat(1)
pad(x, (1, 2))
pad(x, (0, 0))
pad(x, (-1, 1, 2, -2), value=2.5)
pad(x, (1, 0, 0, 1, 1, 1), "constant", -1)
pad(s, ())
pad(x, (1, 2), mode="reflect")
pad(x, (1, 2, 2, 1), mode="reflect")
pad(o.expand(1, 3, 2, 4), (1, 1, 1, 0, 2, 2), mode="reflect")
pad(x, (-1, 2), mode="reflect")
pad(m, (3, 1), mode="replicate")
pad(x, (1, 2, 0, 5), mode="replicate")
pad(o, (1, 1, 2, 0, 1, 1), mode="replicate")
pad(m, (3, 4), mode="circular")
pad(x, (1, 2, 3, 0), mode="circular")
""".strip().split("\n")


@pytest.mark.parametrize("text", VIEWS + JOINS + COPIES)
def test_values_derivatives_and_nodes(text: str) -> None:
    def squared(lib: Any, *tensors: Any) -> list[Any]:
        out = evaluate(text, lib, dict(zip(names, tensors, strict=True)))
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        # Squares make the gradient depend on the input, so that the adjoint is differentiated as well.
        return outs + [x * x for x in outs]

    names = names_in(text)
    check(squared, [ARRAYS[name] for name in names], order=2)


@pytest.mark.parametrize("text", """
z.view(6)
z.T.reshape(6)
z.t()
z.H
z.mH
z.expand(2, 2, 3)
z[0]
z[:, 1:]
torch.cat([z, z])
z.repeat(2, 1)
z.diagonal()
z.as_strided((2, 2), (1, 1))
pad(z, (1, 1), mode='reflect')
z.flip(0)
z.unfold(1, 2, 1)
torch.view_as_real(z)
torch.view_as_real(z.T)
torch.view_as_real(z[0, 1])
torch.view_as_complex(torch.view_as_real(z))
torch.view_as_complex(torch.view_as_real(z).transpose(0, 1))
""".strip().split("\n"))
def test_complex(text: str) -> None:
    check(lambda lib, z: evaluate(text, lib, {"z": z}), [ARRAYS["z"]], order=1)


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("text", VIEWS + JOINS + COPIES)
def test_layout_and_sharing(text: str, requires_grad: bool) -> None:
    theirs_in, ours_in = make(text, requires_grad)
    theirs, ours = outcome_of(text, torch, theirs_in), outcome_of(text, whygrad, ours_in)
    single = not isinstance(theirs, (tuple, list))
    for a, b in zip([theirs] if single else theirs, [ours] if single else ours, strict=True):
        assert b.stride() == a.stride()
        assert b.is_contiguous() == a.is_contiguous()
        assert b.storage_offset() == a.storage_offset() or not a.numel()
        assert b._is_view() == a._is_view()
        for name, leaf in theirs_in.items():
            assert (b is ours_in[name]) == (a is leaf)
            assert (b._base is ours_in[name]) == (a._base is leaf)
            if a.numel():
                assert np.may_share_memory(b._array, ours_in[name]._array) == (
                    a.untyped_storage().data_ptr() == leaf.untyped_storage().data_ptr())


@pytest.mark.parametrize("text", [text for text in VIEWS if "expand" not in text and "as_strided" not in text
                                  and "unfold" not in text])
def test_views_can_be_written(text: str) -> None:
    theirs_in, ours_in = make(text, requires_grad=False)
    theirs, ours = outcome_of(text, torch, theirs_in), outcome_of(text, whygrad, ours_in)
    if isinstance(theirs, (tuple, list)) or (theirs.numel() and torch._debug_has_internal_overlap(theirs) == 1):
        return
    with torch.no_grad():
        same_error(lambda: theirs.mul_(10), lambda: ours.mul_(10))
    for name, leaf in theirs_in.items():
        assert_same(leaf, ours_in[name])


ERRORS = """
x.view(5)
x.view(-1, 5)
x.view(-1, -1)
x.view(2, -3)
x.view(1.5)
x.view("a")
x.view()
x.view((2, "a"))
x.transpose(0, 1).view(6, 4)
torch.zeros(0).view(-1, 0)
x.reshape(5)
x.reshape(-1, 0)
x.reshape(1.5)
s.view(torch.float32)
v.float()[:3].view(torch.float64)
x.float().transpose(0, 2).view(torch.float64)
x.transpose(0, 3)
x.transpose("a", 1)
x.permute(0, 1)
x.permute(0, 1, 1)
x.permute(0, 1, 5)
x.t()
x.H
v.H
v.mT
v.mH
v.adjoint()
x.squeeze(3)
x.squeeze((0, 0))
x.squeeze("a")
x.unsqueeze(5)
x.unsqueeze(-5)
x.expand(2)
x.expand(2, 3, 5)
x.expand(-1, 2, 3, 4)
x.expand(-2, 3, 4)
torch.broadcast_to(x, (3,))
torch.broadcast_tensors(x, torch.zeros(5))
torch.broadcast_tensors([x, x])
torch.broadcast_shapes((2, 3), (4,))
torch.broadcast_shapes((2, 1), (1, 4), 3)
torch.broadcast_shapes((2, -1))
x.repeat(2)
x.repeat(2, -1, 1)
x.repeat()
x.tile()
x.repeat_interleave(torch.tensor([1, 2, 3]), dim=0)
x.repeat_interleave(-1)
x.repeat_interleave(torch.tensor([1, -2]), dim=0)
x.repeat_interleave(torch.tensor([1.0, 2]), dim=0)
x.repeat_interleave(2, dim=5)
x.repeat_interleave(torch.tensor([[1, 2]]), dim=0)
x.repeat_interleave([1, 2], dim=0)
x.flatten(2, 1)
x.flatten(0, 5)
x.unflatten(0, (2, 2))
x.unflatten(1, (-1, -1))
x.unflatten(1, ())
x.unflatten(5, (2,))
x.unflatten(1, 3)
torch.cat([])
torch.cat(x)
torch.cat([x, m])
torch.cat([x, x[:, :1]])
torch.cat([x, x], 3)
torch.cat([s, s])
torch.cat([x, 1])
torch.cat([x, None])
torch.stack([])
torch.stack([x, m])
torch.stack([x, x], 5)
torch.stack(x)
torch.hstack([])
torch.vstack(m)
torch.column_stack([])
x.split(0)
x.split(-1)
x.split([1, 2])
x.split([3, -1])
s.split(1)
x.split_with_sizes(1)
x.chunk(0)
s.chunk(1)
x.tensor_split(0)
torch.hsplit(x, 2)
torch.hsplit(s, 2)
torch.vsplit(v, 2)
torch.dsplit(m, 2)
x.unbind(4)
s.unbind()
x.narrow(0, 1, 2)
x.narrow(0, 3, 0)
x.narrow(0, 0, -1)
s.narrow(0, 0, 1)
x.select(0, 2)
x.select(4, 2)
s.select(0, 0)
x.movedim((0, 1), (1,))
x.movedim((0, 0), (1, 2))
x.movedim((0, 1), (1, 1))
x.movedim(0, 4)
x.flip(4)
x.flip(0, 0)
v.fliplr()
s.flipud()
x.roll((1, 2), 0)
x.roll(1, 5)
x.roll((1, 2))
x.roll(())
s.roll(1, 0)
s.repeat_interleave(2, 0)
s.unflatten(0, (1, 1))
x.rot90(1, [0, 0])
x.rot90(1, [0, 5])
x.rot90(1, [0])
v.rot90()
v.tril()
v.triu()
x.diag()
s.diag()
x.diagonal(0, 0, 0)
v.diagonal()
x.diagonal(0, 0, 4)
v.diag_embed(1, 0, 0)
x.unfold(0, 3, 1)
x.unfold(0, 1, 0)
x.unfold(0, -1, 1)
x.unfold(4, 1, 1)
s.unfold(0, 2, 1)
torch.meshgrid()
torch.meshgrid(v, v, indexing="ab")
torch.meshgrid(v, v.float(), indexing="ij")
pad(x, (1,))
pad(x, (1, 1, 1, 1, 1, 1, 1, 1))
pad(x, (-5, 0))
pad(x, (1, 1), mode="foo")
pad(x, (1, 1), mode="reflect", value=1.0)
pad(x, (5, 1), mode="reflect")
pad(x, (5, 1), mode="circular")
pad(x, (1, 1, 1, 1, 1, 1), mode="reflect")
pad(v, (1, 1), mode="replicate")
pad(x, (-5, 0), mode="replicate")
x.as_strided((2, 2), (100, 1))
x.resize_(2)
torch.cartesian_prod()
torch.cartesian_prod(m)
torch.view_as_real(x)
torch.view_as_complex(x)
torch.view_as_complex(s)
torch.view_as_complex(z)
torch.view_as_complex(x[..., ::2])
torch.view_as_complex(x.view(8, 3)[:, :2])
x.as_strided((2, 2), (1,))
x.as_strided((2, 2), (-1, 1))
x.as_strided((2, 2), (1, 1), -1)
x.size(5)
x.stride(5)
s.size(0)
x.contiguous(memory_format=torch.channels_last)
torch.atleast_2d(3)
x.t_()
v.unsqueeze_(0)
m.transpose_(0, 1)
m[:2].t_()
x.transpose(0, 1)[0].squeeze_()
""".strip().split("\n")


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    theirs_in, ours_in = make(text)
    same_error(lambda: evaluate(text, torch, theirs_in), lambda: evaluate(text, whygrad, ours_in))


@pytest.mark.parametrize("text", """
x.size()
x.size(-1)
x.stride()
x.stride(0)
s.stride()
torch.zeros(3, 0).stride()
torch.zeros(2, 0).view(0, 5).stride()
x[:0].stride()
x[:, 3:].stride()
x[::2].stride()
x.is_contiguous()
x.mT.is_contiguous()
x[:, :1].is_contiguous()
x[:1].is_contiguous()
o.is_contiguous(memory_format=torch.channels_last)
o.contiguous(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)
x.numel()
torch.numel(x)
x.nelement()
x.dim()
x.ndimension()
x[1].storage_offset()
x[1, 2:].storage_offset()
x[0].data_ptr() == x.data_ptr()
x[1].data_ptr() - x.data_ptr()
torch.zeros(0).data_ptr()
torch.broadcast_shapes((2, 1), (1, 4), 1)
torch.broadcast_shapes()
x.view(torch.int64).dtype
x.float().view(torch.float64).shape
x.view(torch.int8).shape
x.clone().resize_(3, 4)
x.clone().resize_((1, 2))._version
x[1:].resize_(2, 3)
x.mT.resize_as_(m).stride()
""".strip().split("\n"))
def test_what_a_tensor_says(text: str) -> None:
    theirs_in, ours_in = make(text, requires_grad=False)
    theirs, ours = evaluate(text, torch, theirs_in), evaluate(text, whygrad, ours_in)
    assert type(ours).__name__ == type(theirs).__name__
    assert str(ours) == str(theirs)


INPLACE = """
m.t_()
m.transpose_(0, -1)
x.swapaxes_(0, 1)
x.swapdims_(2, 1)
o.squeeze_()
o.squeeze_(0)
o.squeeze_((0, 2))
m.unsqueeze_(1)
m.as_strided_((2, 2), (1, 2))
m[0:2].t_()
x[1].t_().unsqueeze_(0)
m.tril_()
m.triu_(1)
""".strip().split("\n")


@pytest.mark.parametrize("text", INPLACE)
def test_in_place(text: str) -> None:
    name = text[0]

    def written(lib: Any, leaf: Any) -> list[Any]:
        start = leaf * leaf
        result = evaluate(text, lib, {name: start})
        assert result._version >= 1
        return [result, result * result]

    check(written, [ARRAYS[name]], order=2)


def test_in_place_view_leaves_other_views_alone() -> None:
    for lib in (torch, whygrad):
        x = lib.tensor([[1.0, 2.0], [3.0, 4.0]]).requires_grad_()
        y = x * 1
        row = y[0]
        y.t_()
        (row * lib.tensor([10.0, 20.0])).sum().backward()
        assert x.grad.tolist() == [[10.0, 20.0], [0.0, 0.0]]
        assert y.shape == (2, 2)
        assert y.stride() == (1, 2)


@pytest.mark.parametrize("text", ["x.split(1)[0]", "x.unsafe_split(1)[0]", "x.unbind()[0]", "x.chunk(2)[0]",
                                  "x.tensor_split(2)[0]", "x.narrow(0, 0, 1)"])
def test_multi_views_refuse_writes_and_slices_take_them(text: str) -> None:
    theirs, ours = (a * 1 for a in pair(ARRAYS["x"], requires_grad=True))
    same_error(lambda: evaluate(text, torch, {"x": theirs}).mul_(2),
               lambda: evaluate(text, whygrad, {"x": ours}).mul_(2))
    assert node_name(theirs) == node_name(ours)
