"""What transforms take and give: containers, argnums, aux, dims, chunks, randomness, and what they refuse."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from both import agree

X = [0.3, -1.2, 0.7]
M = [[0.5, -0.3, 1.1], [0.2, 0.9, -0.4]]


class Pair(NamedTuple):
    a: Any
    b: Any


def x(t: Any) -> Any:
    return t.tensor(X)


def m(t: Any) -> Any:
    return t.tensor(M)


ARGUMENTS = {
    "argnums": lambda t: t.func.grad(lambda a, b: (a * b.sin()).sum(), argnums=1)(x(t), x(t)),
    "negative argnums": lambda t: t.func.grad(lambda a, b: (a * b.sin()).sum(), argnums=-1)(x(t), x(t)),
    "several argnums": lambda t: t.func.grad(lambda a, b: (a * b.sin()).sum(), argnums=(1, 0))(x(t), x(t)),
    "argnums of jacrev": lambda t: t.func.jacrev(lambda a, b: a * b.sin(), argnums=(0, 1))(x(t), x(t)),
    "argnums of jacfwd": lambda t: t.func.jacfwd(lambda a, b: a * b.sin(), argnums=(0, 1))(x(t), x(t)),
    "argnums of hessian": lambda t: t.func.hessian(lambda a, b: (a * b.sin()).sum(), argnums=(0, 1))(x(t), x(t)),
    "argnums too large": lambda t: t.func.grad(lambda a: a.sum(), argnums=2)(x(t)),
    "argnums twice": lambda t: t.func.grad(lambda a, b: a.sum(), argnums=(0, 0))(x(t), x(t)),
    "no argnums": lambda t: t.func.grad(lambda a, b: a.sum(), argnums=())(x(t), x(t)),
    "argnums of another type": lambda t: t.func.grad(lambda a, b: a.sum(), argnums="a")(x(t), x(t)),
    "keyword arguments": lambda t: t.func.grad(lambda a, *, b: (a * b).sum())(x(t), b=x(t) * 2),
    "aux": lambda t: t.func.grad(lambda a: ((a**2).sum(), {"cube": a**3}), has_aux=True)(x(t)),
    "aux of grad_and_value": lambda t: t.func.grad_and_value(lambda a: ((a**2).sum(), a**3), has_aux=True)(x(t)),
    "aux of vjp": lambda t: t.func.vjp(lambda a: (a**2, a**3), x(t), has_aux=True)[2],
    "aux of jvp": lambda t: t.func.jvp(lambda a: (a**2, a**3), (x(t),), (x(t),), has_aux=True),
    "aux of jacrev": lambda t: t.func.jacrev(lambda a: (a**2, a**3), has_aux=True)(x(t)),
    "aux of jacfwd": lambda t: t.func.jacfwd(lambda a: (a**2, a**3), has_aux=True)(x(t)),
    "missing aux": lambda t: t.func.grad(lambda a: (a**2).sum(), has_aux=True)(x(t)),
    "missing aux of jvp": lambda t: t.func.jvp(lambda a: a, (x(t),), (x(t),), has_aux=True),
    "dict": lambda t: t.func.grad(lambda p: (p["w"] * p["b"]).sum())({"w": x(t), "b": x(t) * 2}),
    "nested containers": lambda t: t.func.grad(lambda p: (p[0]["w"] * p[1][0]).sum())(({"w": x(t)}, [x(t) * 2])),
    "named tuple": lambda t: t.func.grad(lambda p: (p.a * p.b).sum())(Pair(x(t), x(t) * 3)),
    "containers out": lambda t: t.func.jacrev(lambda a: {"s": a.sin(), "c": (a.cos(), a.sum())})(x(t)),
    "containers out, forward": lambda t: t.func.jacfwd(lambda a: {"s": a.sin(), "c": (a.cos(), a.sum())})(x(t)),
    "containers in and out": lambda t: t.func.jacrev(lambda p: [p["a"] * p["b"], p["a"]])({"a": x(t), "b": x(t)}),
    "vjp of containers": lambda t: t.func.vjp(lambda p: {"s": p["a"].sin()}, {"a": x(t)})[1]({"s": x(t)}),
    "vjp, other structure": lambda t: t.func.vjp(lambda a: (a, a), x(t))[1](x(t)),
    "vjp of a constant": lambda t: t.func.vjp(lambda a: t.ones(2), x(t))[1](t.ones(2)),
    "vjp of nothing": lambda t: t.func.vjp(lambda a: None, x(t)),
    "vjp of integers": lambda t: t.func.vjp(lambda a: a.argmax(), x(t)),
    "vjp, twice": lambda t: _twice(t),
    "jvp of containers": lambda t: t.func.jvp(lambda p, q: {"s": p["a"] * q}, ({"a": x(t)}, x(t)), ({"a": x(t)}, x(t))),
    "jvp, primals no tuple": lambda t: t.func.jvp(lambda a: a, x(t), x(t)),
    "jvp, no tensors": lambda t: t.func.jvp(lambda a: a, (1.0,), (1.0,)),
    "jvp of a constant": lambda t: t.func.jvp(lambda a: t.ones(2), (x(t),), (x(t),)),
    "jvp of a constant, strict": lambda t: t.func.jvp(lambda a: t.ones(2), (x(t),), (x(t),), strict=True),
    "jvp, other shape": lambda t: t.func.jvp(lambda a: a, (x(t),), (t.ones(2),)),
    "grad of a vector": lambda t: t.func.grad(lambda a: a)(x(t)),
    "grad of no tensor": lambda t: t.func.grad(lambda a: 1.0)(x(t)),
    "grad of integers": lambda t: t.func.grad(lambda a: a.sum())(t.tensor([1, 2])),
    "grad of a number": lambda t: t.func.grad(lambda a: a)(1.0),
    "grad of what does not depend": lambda t: t.func.grad(lambda a, b: b.sum())(x(t), x(t)),
    "grad of a constant": lambda t: t.func.grad(lambda a: t.tensor(1.0))(x(t)),
    "jacrev in chunks": lambda t: t.func.jacrev(lambda a: {"s": a.sin(), "p": a * a.sum()}, chunk_size=2)(x(t)),
    "jacrev in chunks of one": lambda t: t.func.jacrev(lambda a: a * a.sum(), chunk_size=1)(x(t)),
    "jacrev in no chunks": lambda t: t.func.jacrev(lambda a: a, chunk_size=0)(x(t)),
    "jacrev of complex": lambda t: t.func.jacrev(lambda a: a)(t.tensor([1j])),
    "jacfwd of complex": lambda t: t.func.jacfwd(lambda a: a)(t.tensor([1j])),
    "jacrev of numbers": lambda t: t.func.jacrev(lambda a: a.sum())(x(t)),
    "jacfwd of a number": lambda t: t.func.jacfwd(lambda a: a * x(t))(t.tensor(2.0)),
    "leaf in place": lambda t: t.func.grad(lambda a: a.sin_().sum())(x(t)),
    "requires_grad_": lambda t: t.func.grad(lambda a: a.clone().requires_grad_().sum())(x(t)),
    "backward": lambda t: t.func.grad(lambda a: _backward(a))(x(t)),
    "autograd.grad inside": lambda t: t.func.grad(
        lambda a: t.autograd.grad((a**3).sum(), a, create_graph=True)[0].sum())(x(t)),
    "linearize, other structure": lambda t: t.func.linearize(lambda a: a, x(t))[1](x(t), x(t)),
    "linearize, other shape": lambda t: t.func.linearize(lambda a: a, x(t))[1](t.ones(2)),
}


def _twice(t: Any) -> Any:
    output, pull = t.func.vjp(lambda a: a.sin(), x(t))
    return output, pull(x(t)), pull(x(t) * 2)


def _backward(a: Any) -> Any:
    y = a.sum()
    y.backward()
    return y


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name: str) -> None:
    agree(ARGUMENTS[name], rtol=1e-5)


VMAP = {
    "in_dims": lambda t: t.func.vmap(lambda a, b: a + b, in_dims=(0, 1))(m(t), m(t).t()),
    "negative in_dims": lambda t: t.func.vmap(lambda a: a.sum(), in_dims=-1)(m(t)),
    "nested in_dims": lambda t: t.func.vmap(lambda p: p["a"] * p["b"], in_dims=({"a": 0, "b": None},))({"a": m(t), "b": x(t)}),
    "list": lambda t: t.func.vmap(lambda p: p[0] * p[1], in_dims=([0, 1],))([m(t), m(t).t()]),
    "shared argument": lambda t: t.func.vmap(lambda a, b: a * b, in_dims=(0, None))(m(t), x(t)),
    "a number as argument": lambda t: t.func.vmap(lambda a, b: a * b, in_dims=(0, None))(m(t), 2.0),
    "out_dims": lambda t: t.func.vmap(lambda a: a * 2, out_dims=1)(m(t)),
    "negative out_dims": lambda t: t.func.vmap(lambda a: a * 2, out_dims=-1)(m(t)),
    "several out_dims": lambda t: t.func.vmap(lambda a: (a * 2, a.sum()), out_dims=(1, 0))(m(t)),
    "out_dims of a dict": lambda t: t.func.vmap(lambda a: {"x": a * 2}, out_dims={"x": 1})(m(t)),
    "out_dims None": lambda t: t.func.vmap(lambda a: (a, x(t)), out_dims=(0, None))(m(t)),
    "out_dims None of a batch": lambda t: t.func.vmap(lambda a: a, out_dims=None)(m(t)),
    "a constant": lambda t: t.func.vmap(lambda a: x(t))(m(t)),
    "chunks": lambda t: t.func.vmap(lambda a: a.sin(), chunk_size=2)(t.arange(10.0).reshape(5, 2)),
    "chunks, several outputs": lambda t: t.func.vmap(lambda a: (a.sin(), a.sum()), out_dims=(1, 0), chunk_size=2)(
        t.arange(10.0).reshape(5, 2)),
    "no chunks": lambda t: t.func.vmap(lambda a: a, chunk_size=0)(m(t)),
    "an empty batch": lambda t: t.func.vmap(lambda a: a.sin() * 2)(t.ones(0, 3)),
    "top level name": lambda t: t.vmap(lambda a: a.sum())(m(t)),
    "keyword arguments": lambda t: t.func.vmap(lambda a, b: a * b)(m(t), b=x(t)),
    "no inputs": lambda t: t.func.vmap(_f)(),
    "no tensors": lambda t: t.func.vmap(_f, in_dims=(None,))(m(t)),
    "sizes differ": lambda t: t.func.vmap(lambda a, b: a)(m(t), x(t)),
    "in_dims of a number": lambda t: t.func.vmap(_f)(1.0),
    "in_dims out of range": lambda t: t.func.vmap(_f, in_dims=3)(m(t)),
    "in_dims of another structure": lambda t: t.func.vmap(_f, in_dims=(0, 0))(m(t)),
    "in_dims of another type": lambda t: t.func.vmap(_f, in_dims="a")(m(t)),
    "in_dims not a number": lambda t: t.func.vmap(_f, in_dims=("a",))(m(t)),
    "out_dims of another structure": lambda t: t.func.vmap(_f, out_dims=(0, 0))(m(t)),
    "out_dims of another type": lambda t: t.func.vmap(_f, out_dims="a")(m(t)),
    "no tensor out": lambda t: t.func.vmap(_one)(m(t)),
    "randomness of another name": lambda t: t.func.vmap(_f, randomness="some")(m(t)),
    "item": lambda t: t.func.vmap(lambda a: a.item())(x(t)),
    "float": lambda t: t.func.vmap(lambda a: float(a))(x(t)),
    "if": lambda t: t.func.vmap(lambda a: a if a > 0 else -a)(x(t)),
    "tolist": lambda t: t.func.vmap(lambda a: a.tolist())(m(t)),
    "nonzero": lambda t: t.func.vmap(lambda a: a.nonzero())(m(t)),
    "mask": lambda t: t.func.vmap(lambda a: a[a > 0])(m(t)),
    "requires_grad_": lambda t: t.func.vmap(lambda a: a.requires_grad_())(m(t)),
    "shapes": lambda t: t.func.vmap(lambda a: a.new_tensor([a.ndim, *a.shape, a.numel(), a.size(0)]))(t.ones(2, 3, 4)),
    "indices": lambda t: t.func.vmap(lambda a, i: a[i])(m(t), t.tensor([0, 2])),
    "a shared tensor at indices": lambda t: t.func.vmap(lambda i: x(t)[i])(t.tensor([[0, 2], [1, 1]])),
    "several indices": lambda t: t.func.vmap(lambda a, i, j: a[i, :, j])(
        t.arange(48.0).reshape(2, 2, 3, 4), t.tensor([[0, 1], [1, 1]]), t.tensor([[3, 1], [0, 2]])),
    "negative indices": lambda t: t.func.vmap(lambda a, i: a[:, i])(
        t.arange(12.0).reshape(2, 2, 3), t.tensor([[0, -1], [-2, 1]])),
    "written at indices": lambda t: t.func.vmap(lambda a, i: _put(a.clone(), i))(m(t), t.tensor([[0, 2], [1, 0]])),
    "gather": lambda t: t.func.vmap(lambda a, i: a.gather(0, i))(m(t), t.tensor([[0, 2], [1, 1]])),
    "one_hot": lambda t: t.func.vmap(lambda i: t.nn.functional.one_hot(i, 4))(t.tensor([[0, 2], [1, 3]])),
    "cross entropy": lambda t: t.func.vmap(lambda a, i: t.nn.functional.cross_entropy(a, i))(
        t.arange(24.0).reshape(2, 3, 4).sin(), t.tensor([[0, 2, 1], [1, 3, 0]])),
    "convolution": lambda t: t.func.vmap(lambda a, w: t.nn.functional.conv2d(a, w, padding=1))(
        t.arange(96.0).reshape(2, 1, 3, 4, 4).sin(), t.arange(108.0).reshape(2, 2, 3, 3, 3)[:, :, :, :, :].cos()),
    "layer norm": lambda t: t.func.vmap(lambda a: t.nn.functional.layer_norm(a, (3,)))(t.arange(12.0).reshape(2, 2, 3).sin()),
    "attention": lambda t: t.func.vmap(lambda q: t.nn.functional.scaled_dot_product_attention(q, q, q))(
        t.arange(48.0).reshape(2, 1, 1, 4, 6).sin()),
    "einsum": lambda t: t.func.vmap(lambda a, b: t.einsum("ij,jk->ki", a, b), in_dims=(0, None))(
        t.arange(12.0).reshape(2, 2, 3), t.arange(12.0).reshape(3, 4)),
    "masked_scatter": lambda t: t.func.vmap(lambda a: t.masked_scatter(a, a > 0, a * 10))(m(t)),
    "masked_scatter of a shared mask": lambda t: t.func.vmap(
        t.func.grad(lambda a: (t.masked_scatter(x(t), x(t) > 0, a) ** 2).sum()))(m(t)),
    "masked_scatter of too little": lambda t: t.func.vmap(lambda a: t.masked_scatter(a, a < 9, a[:1]))(m(t)),
    "lstsq": lambda t: t.func.vmap(lambda a, b: tuple(t.linalg.lstsq(a, b)))(*_equations(t)),
    "lstsq by svd": lambda t: t.func.vmap(lambda a, b: tuple(t.linalg.lstsq(a, b, driver="gelsd")))(*_equations(t)),
    "grad of lstsq": lambda t: t.func.vmap(t.func.grad(lambda a, b: t.linalg.lstsq(a, b)[0].sum()))(*_equations(t)),
    "bags of indices": lambda t: t.func.vmap(lambda i: t.nn.functional.embedding_bag(i, t.arange(12.0).reshape(4, 3)))(
        t.tensor([[[0, 1], [2, 3]], [[1, 1], [0, 2]]])),
    "counts of different numbers": lambda t: t.func.vmap(t.bincount)(t.tensor([[0, 1, 1], [2, 2, 0]])),
    "as_strided": lambda t: t.func.vmap(lambda a: a.as_strided((2,), (1,), 1))(m(t)),
    "as_strided into others": lambda t: t.func.vmap(lambda a: a.as_strided((3,), (1,), 1))(m(t)),
    "as_strided before it": lambda t: t.func.vmap(lambda a: a.as_strided((3,), (1,), -1))(m(t)),
    "as_strided with strides left out": lambda t: t.func.vmap(lambda a: a.as_strided((3,), (1, 2)))(m(t)),
    "item of several": lambda t: t.func.vmap(lambda a: a.item())(m(t)),
    "unique": lambda t: t.func.vmap(lambda a: t.unique(a))(m(t)),
    "masked_select": lambda t: t.func.vmap(lambda a: a.masked_select(a > 0))(m(t)),
    "equal": lambda t: t.func.vmap(lambda a: t.equal(a, a))(m(t)),
    "equal of others": lambda t: t.func.vmap(lambda a: a * t.equal(x(t), x(t)))(m(t)),
    "allclose": lambda t: t.func.vmap(lambda a: t.allclose(x(t), a))(m(t)),
    "mm of vectors": lambda t: t.func.vmap(lambda a: t.mm(a, m(t)))(m(t)),
    "mv of vectors": lambda t: t.func.vmap(lambda a: t.mv(a, a))(m(t)),
    "bmm of vectors": lambda t: t.func.vmap(lambda a: t.bmm(a, a))(m(t)),
    "clone in another layout": lambda t: t.func.vmap(lambda a: a.clone(memory_format=t.channels_last))(m(t)),
    "contiguous in another layout": lambda t: t.func.vmap(lambda a: a.contiguous(memory_format=t.channels_last))(m(t)),
    "new_empty_strided": lambda t: t.tensor(
        t.func.vmap(lambda a: a.new_empty_strided((2, 3), (3, 1)))(m(t)).stride()),
    "dtypes": lambda t: t.func.vmap(lambda a, b: a + b)(t.tensor([1, 2]), t.tensor([0.5, 1.5])),
}


def _f(a: Any) -> Any:
    return a


def _one(a: Any) -> int:
    return 1


def _equations(t: Any) -> Any:
    return t.arange(12.0).reshape(2, 3, 2).sin(), t.arange(6.0).reshape(2, 3, 1).cos()


def _put(a: Any, i: Any) -> Any:
    a[i] = 7.0
    return a


@pytest.mark.parametrize("name", VMAP)
def test_vmap(name: str) -> None:
    agree(VMAP[name], rtol=2e-5)


RANDOM = {
    "rand": lambda t, a: t.rand(2, 2),
    "rand of a size": lambda t, a: t.rand(size=(3,)),
    "randn": lambda t, a: t.randn(20),
    "randint": lambda t, a: t.randint(0, 9, (3,)),
    "randperm": lambda t, a: t.randperm(4),
    "normal": lambda t, a: t.normal(1.0, 2.0, (3,)),
    "rand_like": lambda t, a: t.rand_like(a),
    "randn_like": lambda t, a: t.randn_like(a),
    "randn_like of a shared one": lambda t, a: t.randn_like(t.ones(3)),
    "bernoulli": lambda t, a: t.bernoulli(a.sigmoid()),
    "bernoulli of a shared one": lambda t, a: t.bernoulli(t.full((3,), 0.5)),
    "multinomial": lambda t, a: t.multinomial(a.exp(), 2),
    "dropout": lambda t, a: t.nn.functional.dropout(a),
    "in place": lambda t, a: a.clone().uniform_(),
    "normal in place": lambda t, a: a.clone().normal_(),
    "in place of a shared one": lambda t, a: t.zeros(3).bernoulli_(0.5),
}


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("randomness", ["error", "same", "different"])
def test_randomness(name: str, randomness: str) -> None:
    def expression(t: Any) -> Any:
        t.manual_seed(3)
        return t.func.vmap(lambda a: RANDOM[name](t, a), randomness=randomness)(m(t))

    agree(expression, rtol=1e-6)
