"""Products of matrices against torch: values, dtypes, first and second derivatives, node names, errors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, check, node_name, outcome, pair, same_error

import whygrad
from whygrad.backends import raw
from whygrad.functional.linalg import linear as our_linear
from whygrad.ops.table import TABLE

rng = np.random.default_rng(11)


def normal(*shape: int) -> np.ndarray:
    return rng.normal(size=shape)


# (function, shapes of the arguments)
PRODUCTS: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "mm": (lambda lib, a, b: lib.mm(a, b), [(2, 3), (3, 4)]),
    "mm empty inner": (lambda lib, a, b: lib.mm(a, b), [(2, 0), (0, 4)]),
    "mm no rows": (lambda lib, a, b: lib.mm(a, b), [(0, 3), (3, 4)]),
    "mm transposed": (lambda lib, a, b: a.t().mm(b.t()), [(3, 2), (4, 3)]),
    "mm with itself": (lambda lib, a: a.mm(a), [(3, 3)]),
    "mm with its transpose": (lambda lib, a: a @ a.t(), [(3, 2)]),
    "bmm": (lambda lib, a, b: lib.bmm(a, b), [(5, 2, 3), (5, 3, 4)]),
    "bmm transposed": (lambda lib, a, b: a.mT.bmm(b), [(5, 3, 2), (5, 3, 4)]),
    "mv": (lambda lib, a, b: lib.mv(a, b), [(2, 3), (3,)]),
    "dot": (lambda lib, a, b: lib.dot(a, b), [(3,), (3,)]),
    "vdot": (lambda lib, a, b: lib.vdot(a, b), [(3,), (3,)]),
    "outer": (lambda lib, a, b: lib.outer(a, b), [(2,), (3,)]),
    "ger": (lambda lib, a, b: a.ger(b), [(2,), (3,)]),
    "inner 1 1": (lambda lib, a, b: lib.inner(a, b), [(3,), (3,)]),
    "inner 2 1": (lambda lib, a, b: lib.inner(a, b), [(2, 3), (3,)]),
    "inner 3 2": (lambda lib, a, b: lib.inner(a, b), [(4, 2, 3), (5, 3)]),
    "inner with a number": (lambda lib, a, b: lib.inner(a, b), [(2, 3), ()]),
    "matmul 1 1": (lambda lib, a, b: a @ b, [(3,), (3,)]),
    "matmul 2 1": (lambda lib, a, b: a @ b, [(2, 3), (3,)]),
    "matmul 1 2": (lambda lib, a, b: a @ b, [(3,), (3, 4)]),
    "matmul 2 2": (lambda lib, a, b: a @ b, [(2, 3), (3, 4)]),
    "matmul 3 1": (lambda lib, a, b: a @ b, [(5, 2, 3), (3,)]),
    "matmul 1 3": (lambda lib, a, b: a @ b, [(3,), (5, 3, 4)]),
    "matmul 3 2": (lambda lib, a, b: a @ b, [(5, 2, 3), (3, 4)]),
    "matmul 3 3": (lambda lib, a, b: lib.matmul(a, b), [(5, 2, 3), (5, 3, 4)]),
    "matmul 4 3": (lambda lib, a, b: a.matmul(b), [(2, 5, 2, 3), (5, 3, 4)]),
    "matmul broadcast": (lambda lib, a, b: a @ b, [(2, 1, 2, 3), (5, 3, 4)]),
    "matmul 4 2": (lambda lib, a, b: a @ b, [(2, 5, 2, 3), (3, 4)]),
    "matmul 4 1": (lambda lib, a, b: a @ b, [(2, 5, 2, 3), (3,)]),
    "matmul empty": (lambda lib, a, b: a @ b, [(0, 2, 3), (3, 4)]),
    "addmm": (lambda lib, c, a, b: lib.addmm(c, a, b), [(2, 4), (2, 3), (3, 4)]),
    "addmm vector": (lambda lib, c, a, b: lib.addmm(c, a, b, beta=2, alpha=0.5), [(4,), (2, 3), (3, 4)]),
    "addmm number": (lambda lib, c, a, b: c.addmm(a, b, beta=0.3), [(), (2, 3), (3, 4)]),
    "addmm beta 0": (lambda lib, c, a, b: lib.addmm(c, a, b, beta=0), [(2, 4), (2, 3), (3, 4)]),
    "addmm names": (lambda lib, c, a, b: lib.addmm(c, mat1=a, mat2=b, alpha=3), [(2, 4), (2, 3), (3, 4)]),
    "addmv": (lambda lib, c, a, b: lib.addmv(c, a, b, beta=2, alpha=3), [(2,), (2, 3), (3,)]),
    "addr": (lambda lib, c, a, b: lib.addr(c, a, b, beta=2, alpha=3), [(2, 3), (2,), (3,)]),
    "addbmm": (lambda lib, c, a, b: lib.addbmm(c, a, b, beta=2, alpha=3), [(2, 4), (5, 2, 3), (5, 3, 4)]),
    "baddbmm": (lambda lib, c, a, b: lib.baddbmm(c, a, b, beta=2, alpha=3), [(5, 2, 4), (5, 2, 3), (5, 3, 4)]),
    "baddbmm broadcast": (lambda lib, c, a, b: lib.baddbmm(c, a, b), [(2, 1), (5, 2, 3), (5, 3, 4)]),
    "addmm_": (lambda lib, c, a, b: (c * 1).addmm_(a, b, beta=2), [(2, 4), (2, 3), (3, 4)]),
    "addmv_": (lambda lib, c, a, b: (c * 1).addmv_(a, b), [(2,), (2, 3), (3,)]),
    "addbmm_": (lambda lib, c, a, b: (c * 1).addbmm_(a, b), [(2, 4), (5, 2, 3), (5, 3, 4)]),
    "baddbmm_": (lambda lib, c, a, b: (c * 1).baddbmm_(a, b, alpha=2), [(5, 2, 4), (5, 2, 3), (5, 3, 4)]),
    "trace": (lambda lib, a: lib.trace(a), [(3, 4)]),
    "trace tall": (lambda lib, a: a.trace(), [(4, 2)]),
    "tensordot 2": (lambda lib, a, b: lib.tensordot(a, b, 2), [(2, 3, 4), (3, 4, 5)]),
    "tensordot all": (lambda lib, a, b: lib.tensordot(a, b), [(2, 3), (2, 3)]),
    "tensordot 0": (lambda lib, a, b: lib.tensordot(a, b, dims=0), [(2, 3), (4,)]),
    "tensordot lists": (lambda lib, a, b: lib.tensordot(a, b, dims=([2, 0], [0, -1])), [(2, 3, 4), (4, 5, 2)]),
    "vecdot": (lambda lib, a, b: lib.linalg.vecdot(a, b), [(2, 3), (3,)]),
    "multi_dot": (lambda lib, a, b, c: lib.linalg.multi_dot([a, b, c]), [(2, 5), (5, 3), (3, 4)]),
    "multi_dot vectors": (lambda lib, a, b, c: lib.linalg.multi_dot([a, b, c]), [(5,), (5, 3), (3,)]),
    "kron": (lambda lib, a, b: lib.kron(a, b), [(2, 3), (4,)]),
    "kron matrices": (lambda lib, a, b: a.kron(b), [(2, 3), (3, 2)]),
}

# Where torch builds its result by steps that we take at once, the last of them has another name.
OTHER_NODE = {"multi_dot", "multi_dot vectors", "tensordot 0", "addmm beta 0"}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    function, shapes = PRODUCTS[name]
    check(function, [normal(*shape) for shape in shapes], check_node=name not in OTHER_NODE)


def test_matrix_with_batch() -> None:
    check(lambda lib, a, b: a @ b, [normal(2, 3), normal(5, 3, 4)], check_node=False)


@pytest.mark.parametrize("name", ["mm", "bmm", "mv", "dot", "vdot", "matmul 3 2", "matmul broadcast", "matmul 1 2",
                                  "addmm vector", "tensordot 2", "trace", "inner 3 2"])
def test_complex(name: str) -> None:
    function, shapes = PRODUCTS[name]
    check(function, [normal(*shape) + 1j * normal(*shape) for shape in shapes], rtol=1e-8)


LINEAR = {
    "matrix": [(5, 3), (4, 3), (4,)],
    "batch": [(2, 5, 3), (4, 3), (4,)],
    "batch of batches": [(2, 2, 5, 3), (4, 3), (4,)],
    "vector": [(3,), (4, 3), (4,)],
    "one bias for all": [(5, 3), (4, 3), (1,)],
    "bias matrix": [(5, 3), (4, 3), (5, 4)],
    "batch, a row of biases": [(2, 5, 3), (4, 3), (1, 4)],
    "batch, a column of biases": [(2, 5, 3), (4, 3), (10, 1)],
    "batch, bias matrix": [(2, 5, 3), (4, 3), (5, 4)],
    "batch, bias for each": [(2, 5, 3), (4, 3), (2, 5, 4)],
    "batch, bias of no dims": [(2, 5, 3), (4, 3), ()],
    "vector, a row of biases": [(3,), (4, 3), (1, 4)],
    "matrix, no bias": [(5, 3), (4, 3)],
    "batch, no bias": [(2, 5, 3), (4, 3)],
    "vector, no bias": [(3,), (4, 3)],
    "weight vector": [(5, 3), (3,)],
    "weight vector, batch": [(2, 5, 3), (3,)],
    "two vectors": [(3,), (3,)],
    "no rows": [(0, 3), (4, 3), (4,)],
    "no inputs": [(5, 0), (4, 0), (4,)],
}


def linear(lib: Any, *args: Any) -> Any:
    return (torch.nn.functional.linear if lib is torch else our_linear)(*args)


@pytest.mark.parametrize("name", LINEAR)
def test_linear(name: str) -> None:
    check(linear, [normal(*shape) for shape in LINEAR[name]])
    check(linear, [normal(*shape).astype(np.float32) for shape in LINEAR[name]], order=1)


@pytest.mark.parametrize("changed", ["x", "w"])
@pytest.mark.parametrize("shapes", [[(5, 3), (4, 3), (4,)], [(5, 3), (4, 3)], [(2, 5, 3), (4, 3), (4,)], [(2, 5, 3), (4, 3)],
                                    [(3,), (4, 3), (4,)], [(3,), (4, 3)]], ids=str)
def test_what_was_changed_is_named_as_torch_saved_it(shapes: Any, changed: str) -> None:
    said = []
    for lib in (torch, whygrad):
        x, w, *bias = [lib.ones(shape, requires_grad=True) for shape in shapes]
        out = linear(lib, x, w, *bias)
        with lib.no_grad():
            {"x": x, "w": w}[changed].add_(1)
        said.append(outcome(out.sum().backward))
    assert said[0][0] == "error"
    assert said[0] == said[1]


def test_linear_gives_only_what_is_wanted() -> None:
    x, w, b = [pair(normal(*shape))[1] for shape in LINEAR["matrix"]]
    w.requires_grad_()
    y = linear(whygrad, x, w, b)
    assert node_name(y) == "AddmmBackward0"
    y.sum().backward()
    assert x.grad is None
    assert b.grad is None
    np.testing.assert_allclose(w.grad._array, np.ones((4, 5)) @ x._array)


EINSUMS = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,kj->ik": [(2, 3), (4, 3)],
    "ij,jk": [(2, 3), (3, 4)],
    "bij,bjk->bik": [(5, 2, 3), (5, 3, 4)],
    "bhid,bhjd->bhij": [(2, 2, 3, 4), (2, 2, 5, 4)],
    "bhij,bhjd->bihd": [(2, 2, 3, 4), (2, 2, 4, 3)],
    "i,i->": [(3,), (3,)],
    "i,j->ij": [(2,), (3,)],
    "i,j->ji": [(2,), (3,)],
    "ij,ij->ij": [(2, 3), (2, 3)],
    "ij,ij->j": [(2, 3), (2, 3)],
    "ij,j->i": [(2, 3), (3,)],
    "ij->ji": [(2, 3)],
    "ij->": [(2, 3)],
    "ij->j": [(2, 3)],
    "ba": [(2, 3)],
    "ii->i": [(3, 3)],
    "ii": [(3, 3)],
    "iij->j": [(3, 3, 2)],
    "ii,i->i": [(3, 3), (3,)],
    "...ij,jk->...ik": [(2, 5, 2, 3), (3, 4)],
    "...i,...i->...": [(2, 5, 3), (5, 3)],
    "...ij->...": [(4, 2, 3)],
    "...ij->ij": [(4, 2, 3)],
    "i...->...i": [(4, 2, 3)],
    "...": [(2, 3)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 2)],
    "i,ij,j->": [(2,), (2, 3), (3,)],
    "bn,anm,bm->ba": [(2, 3), (4, 3, 5), (2, 5)],
    "ij,ij->i": [(2, 3), (2, 1)],
    " i j , j k -> k i ": [(2, 3), (3, 4)],
    "ij,kl->": [(2, 3), (4, 2)],
    "aB,Bc": [(2, 3), (3, 4)],
    "ij,j->ij": [(2, 3), (3,)],
    "->": [()],
    ",ij->ij": [(), (2, 3)],
}


@pytest.mark.parametrize("equation", EINSUMS)
def test_einsum(equation: str) -> None:
    check(lambda lib, *xs: lib.einsum(equation, *xs), [normal(*shape) for shape in EINSUMS[equation]], check_node=False)


def test_einsum_nodes() -> None:
    for equation in ("ij,jk->ik", "bij,bjk->bik", "i,j->ij", "ij->ji", "ij->", "ii->i", "i,i->"):
        check(lambda lib, *xs, e=equation: lib.einsum(e, *xs), [normal(*shape) for shape in EINSUMS[equation]])


def test_einsum_other_forms() -> None:
    check(lambda lib, a, b: lib.einsum("ij,kj->ik", [a, b]), [normal(2, 3), normal(4, 3)], check_node=False)
    check(lambda lib, a, b: lib.einsum(a, [0, 1], b, [2, 1], [0, 2]), [normal(2, 3), normal(4, 3)], check_node=False)
    check(lambda lib, a: lib.einsum(a, [0, ...], [..., 0]), [normal(2, 3, 4)], check_node=False)
    check(lambda lib, a, b: lib.einsum("i,i->i", a, b), [normal(3).astype(np.float32), normal(3)], check_node=False)
    # A sum of one product is no product of matrices, which would want one dtype.
    check(lambda lib, a, b: lib.einsum("ij,jk->ik", a, b), [normal(2, 1).astype(np.float32), normal(1, 3)], check_node=False)
    z = normal(2, 3) + 1j * normal(2, 3)
    check(lambda lib, a, b: lib.einsum("ij,kj->ik", a, b), [z, z[:1]], check_node=False)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "float32"])
def test_dtypes(dtype: str) -> None:
    a, b, v = [np.arange(n).reshape(shape).astype(dtype) for n, shape in ((6, (2, 3)), (12, (3, 4)), (3, (3,)))]
    for name, *arguments in (("mm", a, b), ("matmul", a, b), ("mv", a, v), ("dot", v, v), ("outer", v, v), ("trace", a),
                             ("addmm", b[:2], a, b), ("matmul", a[None], b), ("matmul", a[None], v),
                             ("matmul", a[None], b[None]), ("addr", a, v[:2], v), ("addmv", v[:2], a, v),
                             ("baddbmm", b[:2], a[None], b[None])):
        pairs = [pair(x) for x in arguments]
        theirs = outcome(partial(getattr(torch, name), *[p[0] for p in pairs]))
        ours = outcome(partial(getattr(whygrad, name), *[p[1] for p in pairs]))
        assert theirs[0] == ours[0], (name, theirs, ours)
        if theirs[0] == "value":
            assert_same(theirs[1], ours[1], name)
        else:
            assert theirs[1] == ours[1]


def test_integer_scales() -> None:
    c, a, b = [pair(np.arange(n).reshape(shape)) for n, shape in ((4, (4,)), (6, (2, 3)), (12, (3, 4)))]
    for kwargs in ({"alpha": 2}, {"beta": 0.5}, {"beta": 3, "alpha": 2.7}):
        assert_same(torch.addmm(c[0], a[0], b[0], **kwargs), whygrad.addmm(c[1], a[1], b[1], **kwargs))


def test_beta_zero_ignores_nan() -> None:
    c = np.full((2, 4), np.nan)
    result = whygrad.addmm(pair(c)[1], pair(normal(2, 3))[1], pair(normal(3, 4))[1], beta=0)
    assert not np.isnan(result._array).any()


def test_out() -> None:
    a, b = pair(normal(2, 3)), pair(normal(3, 4))
    for name in ("mm", "matmul"):
        out = pair(np.zeros((2, 4)))
        expected = getattr(torch, name)(a[0], b[0], out=out[0])
        assert getattr(whygrad, name)(a[1], b[1], out=out[1]) is out[1]
        assert_same(expected, out[1])


OPERANDS = (normal(2, 3).astype(np.float32), normal(3).astype(np.float32), normal(4, 2, 3).astype(np.float32),
            normal(2, 3), np.arange(6).reshape(2, 3))

ERRORS = [
    lambda lib, f, v, b, d, i: f.mm(f),
    lambda lib, f, v, b, d, i: f.mm(v),
    lambda lib, f, v, b, d, i: v.mm(f),
    lambda lib, f, v, b, d, i: f.mm(d.t()),
    lambda lib, f, v, b, d, i: i.mm(f.t()),
    lambda lib, f, v, b, d, i: (f > 0).mm((f > 0).t()),
    lambda lib, f, v, b, d, i: lib.mm(f, 2),
    lambda lib, f, v, b, d, i: lib.mm(2, f),
    lambda lib, f, v, b, d, i: f @ f,
    lambda lib, f, v, b, d, i: f @ d.t(),
    lambda lib, f, v, b, d, i: f @ 2,
    lambda lib, f, v, b, d, i: [1] @ f,
    lambda lib, f, v, b, d, i: f @ f.sum(),
    lambda lib, f, v, b, d, i: f.sum() @ f,
    lambda lib, f, v, b, d, i: v @ v[:2],
    lambda lib, f, v, b, d, i: v @ d[0],
    lambda lib, f, v, b, d, i: f @ v[:2],
    lambda lib, f, v, b, d, i: v @ f,
    lambda lib, f, v, b, d, i: b @ b,
    lambda lib, f, v, b, d, i: b @ f,
    lambda lib, f, v, b, d, i: b @ v[:2],
    lambda lib, f, v, b, d, i: f @ b,
    lambda lib, f, v, b, d, i: b @ b.mT[:3],
    lambda lib, f, v, b, d, i: b @ b.double().mT,
    lambda lib, f, v, b, d, i: b @ d.t(),
    lambda lib, f, v, b, d, i: lib.matmul(1, f),
    lambda lib, f, v, b, d, i: b.bmm(b),
    lambda lib, f, v, b, d, i: b.bmm(f),
    lambda lib, f, v, b, d, i: f.bmm(b),
    lambda lib, f, v, b, d, i: b.bmm(b.mT.double()),
    lambda lib, f, v, b, d, i: b.bmm(b.mT[:3]),
    lambda lib, f, v, b, d, i: v.mv(v),
    lambda lib, f, v, b, d, i: f.mv(f),
    lambda lib, f, v, b, d, i: f.mv(v[:2]),
    lambda lib, f, v, b, d, i: f.mv(d[0]),
    lambda lib, f, v, b, d, i: v.dot(f),
    lambda lib, f, v, b, d, i: v.dot(v[:2]),
    lambda lib, f, v, b, d, i: v.dot(d[0]),
    lambda lib, f, v, b, d, i: lib.vdot(v, f),
    lambda lib, f, v, b, d, i: lib.inner(v, v[:2]),
    lambda lib, f, v, b, d, i: lib.inner(v, d[0]),
    lambda lib, f, v, b, d, i: lib.outer(v, f),
    lambda lib, f, v, b, d, i: lib.outer(f, v),
    lambda lib, f, v, b, d, i: lib.addmm(v, f, f),
    lambda lib, f, v, b, d, i: lib.addmm(v[:2], f.t(), f),
    lambda lib, f, v, b, d, i: lib.addmm(b, f.t(), f),
    lambda lib, f, v, b, d, i: lib.addmm(v.double(), f.t(), f),
    lambda lib, f, v, b, d, i: lib.addmm(v, f.t(), d),
    lambda lib, f, v, b, d, i: lib.addmm(v, v, f),
    lambda lib, f, v, b, d, i: lib.addmm(v, f.t(), v),
    lambda lib, f, v, b, d, i: lib.addmv(v, f, v),
    lambda lib, f, v, b, d, i: lib.addmv(v, v, v),
    lambda lib, f, v, b, d, i: lib.addmv(v.double(), f.t(), v[:2]),
    lambda lib, f, v, b, d, i: lib.addr(f, v, v),
    lambda lib, f, v, b, d, i: lib.addr(f, f, v),
    lambda lib, f, v, b, d, i: lib.addbmm(f, b, b),
    lambda lib, f, v, b, d, i: lib.addbmm(f, b, b.mT),
    lambda lib, f, v, b, d, i: lib.baddbmm(f, b, b),
    lambda lib, f, v, b, d, i: lib.baddbmm(f, b, b.mT),
    lambda lib, f, v, b, d, i: lib.baddbmm(d[:, :2], b, b.mT),
    lambda lib, f, v, b, d, i: linear(lib, f, f.t()),
    lambda lib, f, v, b, d, i: linear(lib, f, f.t(), v),
    lambda lib, f, v, b, d, i: linear(lib, f, f, v),
    lambda lib, f, v, b, d, i: linear(lib, f, d),
    lambda lib, f, v, b, d, i: linear(lib, f, f, d[0, :2]),
    lambda lib, f, v, b, d, i: linear(lib, i, f),
    lambda lib, f, v, b, d, i: linear(lib, b, f.t()),
    lambda lib, f, v, b, d, i: linear(lib, b, f.t(), v),
    lambda lib, f, v, b, d, i: linear(lib, b, f, v),
    lambda lib, f, v, b, d, i: linear(lib, v, f.t()),
    lambda lib, f, v, b, d, i: linear(lib, f, v, v),
    lambda lib, f, v, b, d, i: linear(lib, f, b),
    lambda lib, f, v, b, d, i: linear(lib, f.sum(), f),
    lambda lib, f, v, b, d, i: lib.einsum("ij,jk", f, f),
    lambda lib, f, v, b, d, i: lib.einsum("ij,jk->ik", f, f.t(), f),
    lambda lib, f, v, b, d, i: lib.einsum("ij,jk->ik", f),
    lambda lib, f, v, b, d, i: lib.einsum("ij->ijk", f),
    lambda lib, f, v, b, d, i: lib.einsum("i1", f),
    lambda lib, f, v, b, d, i: lib.einsum("ij->i1", f),
    lambda lib, f, v, b, d, i: lib.einsum("ijk", f),
    lambda lib, f, v, b, d, i: lib.einsum("ij->ii", f),
    lambda lib, f, v, b, d, i: lib.einsum("ij,jk->ik", f, d.t()),
    lambda lib, f, v, b, d, i: lib.einsum("i..j", f),
    lambda lib, f, v, b, d, i: lib.einsum("i...j...", f),
    lambda lib, f, v, b, d, i: lib.einsum("ij->i.", f),
    lambda lib, f, v, b, d, i: lib.einsum("...->......", f),
    lambda lib, f, v, b, d, i: lib.einsum("ii", f),
    lambda lib, f, v, b, d, i: lib.einsum("ij"),
    lambda lib, f, v, b, d, i: lib.einsum(5, f),
    lambda lib, f, v, b, d, i: lib.einsum(b, [0, 1, 60], [0]),
    lambda lib, f, v, b, d, i: lib.tensordot(f, f, dims=([0], [1])),
    lambda lib, f, v, b, d, i: lib.tensordot(f, f, dims=3),
    lambda lib, f, v, b, d, i: lib.tensordot(f, f, dims=-1),
    lambda lib, f, v, b, d, i: lib.tensordot(f, f, dims=([0, 1], [0])),
    lambda lib, f, v, b, d, i: lib.tensordot(f, d, dims=2),
    lambda lib, f, v, b, d, i: lib.trace(b),
    lambda lib, f, v, b, d, i: lib.linalg.vecdot(f, d),
    lambda lib, f, v, b, d, i: lib.linalg.multi_dot([f]),
    lambda lib, f, v, b, d, i: lib.linalg.multi_dot([f, f]),
    lambda lib, f, v, b, d, i: f[:1, :2].clone().addmm_(f, f.t()),
    lambda lib, f, v, b, d, i: f[:, :2].clone().baddbmm_(b, b.mT),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number: int) -> None:
    pairs = [pair(x) for x in OPERANDS]
    same_error(lambda: ERRORS[number](torch, *[p[0] for p in pairs]),
               lambda: ERRORS[number](whygrad, *[p[1] for p in pairs]))


def test_definitions() -> None:
    """The quick function of the backend does what the row's definition says."""
    for name, shapes, statics in (("linear", [(5, 3), (4, 3), (4,)], {}),
                                  ("linear_folded", [(2, 5, 3), (4, 3), (4,)], {}),
                                  ("matmul_folded", [(2, 5, 3), (3, 4)], {}),
                                  ("addmm", [(4,), (5, 3), (3, 4)], {"beta": 2, "alpha": 3})):
        arrays = [normal(*shape) for shape in shapes]
        np.testing.assert_allclose(getattr(raw, name)(*arrays, **statics), TABLE[name].forward(raw, *arrays, **statics))


def test_saved_only_for_who_needs_it() -> None:
    """Changing the other factor in place is no error if its value is not needed."""
    a, b = [pair(normal(2, 2))[1] for _ in range(2)]
    a.requires_grad_()
    y = a.mm(b)
    a.detach().add_(1)
    y.sum().backward()
    assert a.grad is not None
