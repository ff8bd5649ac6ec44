"""Conjugates and negatives that are views, turned when they are read: bits, memory, writes, gradients, all against torch."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
import torch
from autograd.parity import same, shown_by

import whygrad

NUMBERS = [[1 + 2j, 3 - 1j], [-2 + 0.5j, 4 + 4j]]


def tensor(T: Any, requires_grad: bool = False) -> Any:
    return T.tensor(NUMBERS, dtype=T.complex128, requires_grad=requires_grad)


def look(z: Any, t: Any) -> Any:
    """What shows of `t`: its bits, where it lies, what it holds."""
    if not hasattr(t, "is_conj"):
        return t
    shares = t.untyped_storage().data_ptr() == z.untyped_storage().data_ptr()
    return (t.is_conj(), t.is_neg(), t._is_view(), t.is_contiguous(), shares, t.storage_offset(), t.stride(),
            t.detach().resolve_conj().resolve_neg() + 0)


def saved_and_loaded(T: Any, t: Any) -> Any:
    file = io.BytesIO()
    T.save(t, file)
    file.seek(0)
    return T.load(file).resolve_conj()


TAKEN = {
    "conj": lambda T, z, w: w, "twice": lambda T, z, w: w.conj(), "_conj": lambda T, z, w: T._conj(z),
    "imag": lambda T, z, w: w.imag, "real": lambda T, z, w: w.real, "neg": lambda T, z, w: T._neg_view(z),
    "both": lambda T, z, w: w._neg_view(), "neg of real": lambda T, z, w: T._neg_view(z.real),
    "view_as_real": lambda T, z, w: T.view_as_real(w), "of neg as real": lambda T, z, w: T.view_as_real(z._neg_view()),
    "of neg as complex": lambda T, z, w: T.view_as_complex(T._neg_view(T.ones(2, 2))),
    "view(dtype)": lambda T, z, w: w.view(T.float64), "of neg view(dtype)": lambda T, z, w: z._neg_view().view(T.float64),
    "mH": lambda T, z, w: z.mH, "adjoint": lambda T, z, w: z.adjoint(), "H": lambda T, z, w: z.H,
    "clone": lambda T, z, w: w.clone(), "detach": lambda T, z, w: w.detach(), "data": lambda T, z, w: w.data,
    "of detached": lambda T, z, w: w.detach()[1], "contiguous": lambda T, z, w: w.contiguous(),
    "strided": lambda T, z, w: z[:, ::2].conj(), "strided, contiguous": lambda T, z, w: w[:, 1].contiguous(),
    "row": lambda T, z, w: w[1], "element": lambda T, z, w: w[1, 0], "to another": lambda T, z, w: w.to(T.complex64),
    "to the same": lambda T, z, w: w.to(T.complex128), "reshape": lambda T, z, w: w.reshape(4), "t": lambda T, z, w: w.t(),
    "copying reshape": lambda T, z, w: w.t().reshape(4), "resolved": lambda T, z, w: w.resolve_conj(),
    "neg resolved": lambda T, z, w: w.imag.resolve_neg(), "expand": lambda T, z, w: w.expand(3, 2, 2),
    "unbind": lambda T, z, w: w.unbind()[1], "split": lambda T, z, w: w.split(1, 1)[1],
    "as_strided": lambda T, z, w: w.as_strided((2,), (2,), 1), "zeros_like": lambda T, z, w: T.zeros_like(w),
    "sum": lambda T, z, w: w.sum(0), "add": lambda T, z, w: w + z, "matmul": lambda T, z, w: w @ z, "neg()": lambda T, z, w: -w,
    "of real": lambda T, z, w: z.real.conj(), "conj_physical": lambda T, z, w: w.conj_physical(),
    "numpy": lambda T, z, w: w.numpy(), "neg numpy": lambda T, z, w: w.imag.numpy(),
    "numpy of tracked": lambda T, z, w: w.requires_grad_().numpy(), "forced": lambda T, z, w: T.tensor(w.numpy(force=True)),
    "tolist": lambda T, z, w: str(w.tolist()), "item": lambda T, z, w: str(w[0, 0].item()), "repr": lambda T, z, w: repr(w),
    "base": lambda T, z, w: w[0]._base is z, "resolves to itself": lambda T, z, w: z.resolve_conj() is z,
    "deepcopy": lambda T, z, w: copy.deepcopy(w), "copy": lambda T, z, w: copy.copy(w),
    "deepcopy of tracked": lambda T, z, w: copy.deepcopy(tensor(T, True).conj()),
    "saved": lambda T, z, w: saved_and_loaded(T, w), "chunk": lambda T, z, w: w.chunk(2)[1],
    "pickle": lambda T, z, w: pickle.loads(pickle.dumps(w)).resolve_conj(), "set_": lambda T, z, w: w.set_(z),
    "detach_": lambda T, z, w: w.detach_(), "data =": lambda T, z, w: setattr(w, "data", T.ones(3)) or w.tolist(),
    "inference": lambda T, z, w: T.inference_mode()(lambda: look(z, tensor(T).conj()[0])[:2])(),
}


def taken(name: str) -> Any:
    def program(T):
        z = tensor(T)
        return look(z, TAKEN[name](T, z, z.conj()))

    return program


@pytest.mark.parametrize("name", TAKEN)
def test_what_a_view_shows(name: str) -> None:
    same(taken(name), warnings_too=False)


WRITES = {
    "mul_": lambda T, v, w: v.mul_(w), "copy_": lambda T, v, w: v.copy_(w), "fill_": lambda T, v, w: v.fill_(2.0),
    "zero_": lambda T, v, w: v.zero_(), "sin_": lambda T, v, w: v.sin_(), "add_ itself": lambda T, v, w: v.add_(v),
    "setitem": lambda T, v, w: v.__setitem__(0, w.to(v.dtype)), "a number": lambda T, v, w: v.__setitem__((0, 0), 5.0),
    "masked": lambda T, v, w: v.__setitem__(v.abs() > 3, w.to(v.dtype)), "part": lambda T, v, w: v[1:].mul_(w),
    "two writes": lambda T, v, w: (v.mul_(w), v.t()[0].add_(w)),
    "index_put_": lambda T, v, w: v.index_put_((T.tensor([0]),), w.to(v.dtype)),
}
VIEWS = {"conj": lambda z: z.conj(), "neg": lambda z: z._neg_view(), "both": lambda z: z.conj()._neg_view(),
         "imag": lambda z: z.conj().imag, "real": lambda z: z.conj().real, "transposed": lambda z: z.t().conj(),
         "detached": lambda z: z.conj().detach(), "back again": lambda z: z.conj().conj()}


def written(view: str, write: str) -> Any:
    def program(T):
        seen: list[Any] = []
        x, w = tensor(T, True), T.tensor(1.5, dtype=T.float64, requires_grad=True)
        for graph in (False, True):
            z = x * 1
            v = VIEWS[view](z)
            with T.no_grad() if view == "detached" else T.enable_grad():
                WRITES[write](T, v, w)
            seen += [z + 0, v + 0, v._version, v.requires_grad]
            root = (z * z).abs().sum() + v.abs().sum()
            if root.requires_grad:
                seen += T.autograd.grad(root, (x, w), create_graph=graph, allow_unused=True)
                if graph and isinstance(seen[-2], T.Tensor) and seen[-2].requires_grad:
                    seen += T.autograd.grad(seen[-2].abs().sum(), x, allow_unused=True)
        # The sign of a zero, and the name of the last node, are the engine's own.
        return [t.detach().resolve_conj().resolve_neg() + 0 if isinstance(t, T.Tensor) else t for t in seen]

    return program


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_writes_go_through(view: str, write: str) -> None:
    same(written(view, write), warnings_too=False)


def test_out() -> None:
    def program(T):
        z = tensor(T)
        T.add(z, 1, out=z.conj())
        return z.resolve_conj()

    same(program)


def test_a_turned_gradient_is_added_to() -> None:
    def program(T):
        x, y = tensor(T, True), T.ones(64, 64, dtype=T.float64, requires_grad=True)
        x.grad, y.grad = tensor(T).conj(), T.ones(64, 64, dtype=T.float64)._neg_view()
        ((x * 2).abs().sum() + (y * 3).sum()).backward()
        return x.grad.resolve_conj() + 0, y.grad.resolve_neg().sum()

    same(program)


def test_transforms_see_the_bit() -> None:
    def program(T):
        z = tensor(T)
        bits = []

        def f(row):
            turned = row.conj()
            bits.extend([row.is_conj(), turned.is_conj(), turned.conj().is_conj()])
            return (turned * 2j).real

        batch = T.func.vmap(f)(z)
        gradient = T.func.grad(lambda z: f(z).sum())(z)
        moved = T.func.jvp(f, (z,), (z,))[1]
        return bits, batch, gradient.resolve_conj() + 0, moved

    same(program, warnings_too=False)


def test_tangents_are_turned_like_their_primals() -> None:
    turns = (lambda z: z, lambda z: z.conj(), lambda z: z._neg_view(), lambda z: z.conj()._neg_view())

    def program(T):
        seen: list[Any] = []
        for of in turns:
            for tangent_of in turns:
                primal, tangent = of(tensor(T)), tangent_of(tensor(T) * 2)
                with T.autograd.forward_ad.dual_level():
                    dual = T.autograd.forward_ad.make_dual(primal, tangent)
                    found = T.autograd.forward_ad.unpack_dual(dual).tangent
                    seen += [found is tangent, found.is_conj(), found.is_neg(), found.resolve_conj().resolve_neg() + 0]
                    seen += [T.autograd.forward_ad.unpack_dual(half).tangent.resolve_neg() for half in (dual.real, dual.imag)]
        return seen

    same(program, warnings_too=False)


def test_nothing_is_compared_by_accident() -> None:
    """The programs of the table do run on torch, except those that are to raise."""
    refused = [name for name in TAKEN if str(shown_by(taken(name), torch)[0]).startswith("('raises'")]
    assert refused == ["view_as_real", "view(dtype)", "of neg view(dtype)", "numpy", "neg numpy", "numpy of tracked",
                       "deepcopy of tracked", "detach_"]


LARGE = {
    "product": lambda T, a: a * a, "sum": lambda T, a: a.sum(0), "matmul": lambda T, a: a @ a.t(), "abs": lambda T, a: a.abs(),
    "exp": lambda T, a: a.exp(), "cat": lambda T, a: T.cat([a, a]), "mask": lambda T, a: a[a.abs() > 1],
    "scan": lambda T, a: a.cumsum(0), "where": lambda T, a: T.where(a.abs() > 1, a, a * 2), "flip": lambda T, a: a.flip(0),
    "index": lambda T, a: a[T.tensor([1, 1])], "parameter": lambda T, a: T.nn.Parameter(a) * 2,
    "foreach": lambda T, a: T._foreach_add([a, a], 1)[1], "strides": lambda T, a: a[:, ::3] + 1,
}


@pytest.mark.parametrize("name", LARGE)
def test_what_is_computed_of_many_numbers(name: str) -> None:
    """As often as it takes until machine code does it."""
    whygrad.manual_seed(0)
    z = whygrad.randn(128, 200, dtype=whygrad.complex64)
    for turned in (z.conj(), z.t().conj(), z.conj()._neg_view(), z.conj().imag):
        plain = whygrad.tensor(turned.numpy(force=True))
        for _ in range(3):
            assert whygrad.allclose(LARGE[name](whygrad, turned), LARGE[name](whygrad, plain), rtol=1e-4, atol=1e-4)


def test_optimizers_refuse_what_they_could_not_write_to() -> None:
    leaf = tensor(whygrad).conj().requires_grad_()
    with pytest.raises(NotImplementedError, match="conjugated or negated view"):
        whygrad.optim.SGD([leaf], lr=0.1)
