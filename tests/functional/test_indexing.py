"""Subscripts, gather, scatter and masks against torch: values, derivatives, chains of nodes, writes, errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same, check, outcome, pair, same_error

import whygrad

ARRAYS = {
    "x": np.arange(24.0).reshape(2, 3, 4) / 8 - 1,
    "m": np.array([[1.5, -2.0, 0.25, 3.0], [0.5, 4.0, -1.0, 2.0], [1.0, -0.5, 2.5, 0.75]]),
    "v": np.array([1.0, -2.0, 0.5, 3.0]),
    "s": np.array(2.5),
}


def scope(lib: Any, **tensors: Any) -> dict[str, Any]:
    """What the texts of this file may name: `L(0, 1)` is a tensor of these integers or booleans."""
    return {"torch": lib, "np": np, "L": lambda *values: lib.tensor(np.array(values)), **tensors}


def evaluate(text: str, lib: Any, tensors: dict[str, Any]) -> Any:
    return eval(text, scope(lib, **tensors))


def names_in(text: str) -> list[str]:
    return [name for name in ARRAYS if name in compile(text, "", "exec").co_names]


def make(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    pairs = {name: pair(ARRAYS[name], requires_grad=True) for name in names_in(text)}
    return {name: p[0] for name, p in pairs.items()}, {name: p[1] for name, p in pairs.items()}


def chain(t: Any) -> list[str]:
    """The names of the nodes that lead from `t` to a leaf along the first edges."""
    names = []
    node = t.grad_fn
    while node is not None and type(node).__name__ != "AccumulateGrad":
        names.append(type(node).__name__)
        node = node.next_functions[0][0] if node.next_functions else None
    return names


READS = """
x[0]
x[-1]
x[np.int64(1)]
x[np.array(1)]
x[torch.tensor(1)]
x[torch.tensor(1, dtype=torch.int16)]
x[0, 1]
x[0, 1, 2]
x[:]
x[...]
x[()]
x[None]
x[:, :]
x[:, 0:5]
x[:, -3:]
x[0, :1]
x[1:]
x[:, 1:3]
x[..., ::2]
x[:, 1::2, :-1]
x[5:]
x[1:0]
x[:2**70]
x[0:torch.tensor(1)]
x[..., 0]
x[..., None]
x[:, None, 1:]
x[None, ..., None, 0]
x[(0,)]
x[[slice(0, 1)]]
x[[0, slice(0, 1)]]
x[[None]]
x[[..., 0]]
x[[torch.tensor(0), torch.tensor(1)]]
s[...]
s[()]
s[None]
s[True]
s[torch.tensor(False)]
x[True]
x[False]
x[True, 0]
x[0, True]
x[True, [0, 1]]
x[[0, 1], True]
x[True, True]
x[torch.tensor(True)]
x[[0, 1]]
x[[0, 0, 1, 0]]
x[[-1, 0]]
x[[]]
x[[True, False]]
x[[True, 1]]
x[[1.5, 0.5]]
x[range(2)]
x[(0, 1),]
x[[(0, 1)]]
x[[[0, 1], [1, 0]]]
x[[[[0, 1]]]]
x[[0, 1] * 20]
x[[[0, 1]] * 40]
x[np.array([[0, 1], [1, 0]])]
x[np.array([True, False])]
x[np.array([1, 0], dtype=np.int16)]
x[np.array([1, 0], dtype=np.uint8)]
x[L(1, 0)]
x[L(1, 0).int()]
x[L(1, 0).to(torch.uint8)]
x[torch.tensor([], dtype=torch.int64)]
x[:, L(2, 0, 2)]
x[..., L(3, 3)]
x[:, [[0, 1], [1, 0]]]
x[:, torch.zeros(2, 0, dtype=torch.int64)]
x[[0, 1], [1, 2]]
x[[0, 1], [1]]
x[[[0], [1]], [0, 2]]
x[[0, 1], :, [1, 2]]
x[[0, 1], ..., [1, 2]]
x[:, [0, 1], [1, 2]]
x[0, :, [0, 1]]
x[[0, 1], :, 0]
x[[0], None, [0]]
x[None, [0], None, [0, 1]]
x[:, [0, 1], 1:]
x[1:, [0, 1], ::2]
x[x > 0]
x[:, x[0] > 0]
x[L(True, False)]
x[:, L(True, False, True)]
x[L(0, 1), L(True, False, True)]
x[x[..., 0] > -0.5, 0]
x[x[..., 0] > -0.5, :2]
x[x[..., 0] > -0.5, [0]]
x[None, x[..., 0] > -0.5, None]
x[x > 100]
x.transpose(0, 2)[[0, 1]]
x.transpose(0, 2)[:, [0, 1], [1, 0]]
m[[0, 1, 2], [0, 1, 2]]
x[1][0][2]
x[0:1][[0, 0]]
""".strip().split("\n")


def squared(text: str) -> Any:
    names = names_in(text)

    def function(lib: Any, *tensors: Any) -> list[Any]:
        out = evaluate(text, lib, dict(zip(names, tensors, strict=True)))
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        # Squares make the gradient depend on the input, so that the adjoint is differentiated as well.
        return outs + [x * x for x in outs]

    return function


@pytest.mark.parametrize("text", READS)
def test_reads(text: str) -> None:
    check(squared(text), [ARRAYS[name] for name in names_in(text)], order=2)
    theirs_in, ours_in = make(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = evaluate(text, torch, theirs_in), evaluate(text, whygrad, ours_in)
    assert chain(ours) == chain(theirs)
    assert ours._is_view() == theirs._is_view()
    if "transpose" not in text:
        assert ours.is_contiguous() == theirs.is_contiguous()


FUNCTIONS = """
x.gather(0, torch.zeros(5, 3, 4, dtype=torch.int64))
x.gather(2, torch.tensor([[[3, 0], [1, 1]]]))
m.gather(1, L([0, 0, 3], [1, 2, 3]))
m.gather(0, L([0, 0, 2]).int())
v.gather(0, L(1, 1, 0))
v.gather(0, torch.tensor(1))
s.gather(0, torch.tensor([0, 0]))
x.gather(0, torch.zeros(0, dtype=torch.int64))
torch.gather(m, 1, L([0, 1], [2, 0], [3, 3]))
m.scatter(1, L([0, 2], [1, 3]), m[:2, :2])
m.scatter(0, L([0, 2, 1, 0], [1, 0, 2, 1]), m[:2])
m.scatter(1, L([0, 2], [1, 3]), 2.5)
m.scatter(1, L([0, 2], [1, 3]), value=7)
v.scatter(0, torch.tensor(2), v[0])
v.scatter(0, torch.zeros(0, dtype=torch.int64), v[:0])
v.scatter_add(0, L(0, 0, 3, 0), v)
m.scatter_add(1, L([0, 0], [3, 0], [1, 1]), m[:, :2])
torch.scatter_add(m, 0, L([0, 0, 1, 2]), m[:1])
x.index_select(0, L(0, 0, 1))
x.index_select(2, L(3, 1).int())
x.index_select(1, torch.tensor(1))
s.index_select(0, L(0))
s.index_add(0, L(0), s)
s.index_fill(0, L(0), 2.0)
s.index_copy(0, L(0), s)
s.scatter(0, L(0), s.view(1))
s.scatter_add(0, torch.tensor(0), s)
s.take(L(0, 0))
s.masked_fill(s > 0, 0)
s.masked_select(s > 0)
x.index_add(0, L(0, 0), x)
x.index_add(1, L(2, 0), x[:, :2], alpha=3)
v.index_add(0, L(1), v[:1], alpha=-1)
x.index_copy(0, L(1), x[:1])
x.index_copy(2, L(3, 0), x[..., :2])
x.index_fill(1, L(0, 2), 5)
x.index_fill(-1, L(3), s)
v.index_fill(0, L(-1, 0), 2.5)
x.index_put((L(0, 1), L(2, 2)), v)
x.index_put((L(0, 0),), v, accumulate=True)
x.index_put((L(0, 0), L(1, 1), L(3, 3)), s, accumulate=True)
x.index_put((x > 0,), s)
x.index_put([L(-1)], m)
x.transpose(0, 2).index_put((L(0, 0),), s, accumulate=True)
x.masked_fill(x > 0, 3.5)
x.masked_fill(x > 0, s)
x.masked_fill(v > 0, -1)
v.masked_fill(m > 0, 2)
v.masked_fill(m > 0, s)
x.transpose(0, 1).masked_fill(v > 0, 0)
x.masked_select(x > 0)
x.masked_select(v > 0)
v.masked_select(m > 0)
m.masked_scatter(m > 0.5, x)
m.masked_scatter(v > 0.5, x)
v.masked_scatter(m > 0, x)
x.take(L(0, 5, -1, 5))
x.transpose(0, 1).take(L([0, 5], [7, 7]))
x.take_along_dim(L(0, 5, 7))
x.take_along_dim(L([[0]], [[1]]), 0)
m.take_along_dim(L([0, 3], [1, 1], [2, 9]), dim=1)
torch.where(x > 0, x, s)
list(x)
list(m)
""".strip().split("\n")


@pytest.mark.parametrize("text", FUNCTIONS)
def test_functions(text: str) -> None:
    check(squared(text), [ARRAYS[name] for name in names_in(text)], order=2)


@pytest.mark.parametrize("text", """
torch.nonzero(x)
torch.nonzero(x > 0, as_tuple=True)
torch.nonzero(s)
torch.nonzero(s, as_tuple=True)
torch.nonzero(s > 5)
torch.argwhere(m > 0)
torch.where(m > 0)
v.scatter(0, L(0, 0), 2.0, reduce="add")
v.scatter(0, L(1, 1), v, reduce="multiply")
torch.arange(3).masked_fill(L(True, False, True), 1.5)
torch.arange(5).index_add(0, L(1, 1), torch.arange(2) + 1)
torch.arange(5)[L(0, 4)]
(m > 0)[m > 0]
(m > 0).index_add(0, L(1, 1), m[:2] > 0)
len(x)
1.5 in m
m[0] in m
7 in x
m.numel() in v
""".strip().split("\n"))
def test_without_gradient(text: str) -> None:
    theirs_in, ours_in = make(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(evaluate(text, torch, theirs_in), evaluate(text, whygrad, ours_in))


WRITES = """
y[0] = 1
y[0] = v
y[0] = s
y[0, 1:] = v
y[..., 2] = 1.5
y[...] = 1
y[...] = v
y[...] = s
y[:] = v
y[()] = v
y[:, :] = m
y[1:] = m
y[:, ::2] = v
y[None] = m
y[True] = v
y[False] = v
y[True] = 1
y[0:0] = v
y[[0]] = v
y[[0, 1]] = m
y[[0, 1], :, 0] = 1.0
y[[0, 1], :, [1, 2]] = v[:3]
y[:, [0, 0]] = v
y[y > 0] = 0
y[y > 0] = s
y[y[0, 0, 0] > 5] = 1
y[torch.tensor(True)] = v
y[L(0)] = v
y[0, L(0, 2)] = v
y[0, y[0] > 0] = s
y[y > 0] = torch.tensor(1)
y[:, y[0] > 0] = torch.tensor([2])
y[y > 0] = torch.tensor([[1.5]], dtype=torch.float32)
y = torch.zeros(4); y[v > 0] = s
y = torch.zeros(4, dtype=torch.int64); y[v > 0] = torch.tensor(2.7)
y.index_put_((y > 0,), torch.tensor(3))
y[torch.tensor(0)] = v
y[0] = m.reshape(1, 1, 3, 4)
y[[0]] = m.reshape(1, 1, 1, 3, 4)
y[0] = v.float()
y[0] = True
y[0] = np.float64(2)
y[1] = y[0]
y[0] = y[0] * 2
y[[0]] = y[[1]] * v
y = torch.zeros(3, dtype=torch.float64); y[0] = v[3]
y = torch.zeros(3, dtype=torch.float64); y[[0]] = v[3]
y = torch.zeros(4, dtype=torch.float64); y[v > 0] = v[v > 0]
y = torch.zeros(3); y[0] = v[3]
y = torch.zeros(3, dtype=torch.float64); y[...] = s; y[1] = v[0]; y[1:] = y[1:] * 2
y.index_put_((L(0),), v)
y.index_put_((L(0, 0),), v, accumulate=True)
y[1].index_put_((L(0),), v)
y.masked_fill_(y > 0, 0)
y.masked_fill_(y > 0, s)
y[0].masked_fill_(m > 0, s)
y.index_fill_(0, L(0), 0)
y.index_fill_(2, L(0, 1), s)
y.index_add_(0, L(0, 0), y * 2)
y.index_add_(1, L(1), m.reshape(2, 1, 6)[:, :, :4], alpha=2)
y.transpose(0, 1).index_add_(0, L(2), m[None, :2] * v)
y.index_copy_(0, L(0), y[:1] * 2)
y.scatter_(0, L([[0]]), y * 2)
y.scatter_(2, L([[0, 1]]), m[None, :1, :2])
y.scatter_(0, L([[0]]), 2.0)
y.scatter_add_(2, L([[0, 0]]), m[None, :1, :2])
y.mT.scatter_add_(1, L([[0, 0]]), m[None, :1, :2])
y.masked_scatter_(y > 0, y * 2)
""".strip().split("\n")


@pytest.mark.parametrize("text", WRITES)
def test_writes(text: str) -> None:
    names = [name for name in names_in(text) if name != "x"]

    def written(lib: Any, x: Any, *others: Any) -> list[Any]:
        variables = scope(lib, y=x * x, **dict(zip(names, others, strict=True)))
        exec(text, variables)
        y = variables["y"]
        nodes.append(chain(y))
        versions.append(y._version)
        return [y, y * y]

    nodes: list[Any] = []
    versions: list[int] = []
    if "scatter" in text and "y * 2" in text:
        # torch has no gradient for a source that is larger than the index.
        check(written, [ARRAYS["x"]], order=0)
    else:
        # Where float64 is written into float32, so much is rounded.
        check(written, [ARRAYS["x"], *[ARRAYS[name] for name in names]], order=2, rtol=1e-6 if "torch.zeros(4)" in text else None)
    assert nodes[0] == nodes[1]
    assert versions[0] == versions[1]


ERRORS = """
x[5]
x[-3]
x[0, 0, 0, 0]
x[0, 0, 5]
x[..., 9]
x[None, ..., 9]
x[..., None, 9]
x[..., [9]]
x[::-1]
x[::0]
x[[5]]
x[[0, 5]]
x[L(5)]
x[:, L(5)]
x[:, L(-4)]
x[0, [9]]
x[[0, 0, 0], [9, 1, 1]]
x[L(True)]
x[L(True, False, True)]
x[:, L(True, False)]
x[m > 0]
x[torch.ones(2, 3, 4, 1, dtype=torch.bool)]
x[torch.tensor([0.0])]
x[torch.tensor(0.0)]
x[torch.tensor([0], dtype=torch.int16)]
x[torch.tensor([1 + 0j])]
x[1.0]
x[1j]
x["a"]
x[b"a"]
x[0, "a"]
x[["a"]]
x[[1j]]
x[[{}]]
x[{}]
x[{0}]
x[object()]
x[np.float64(1)]
x[np.bool_(True)]
x[[0, 1], [0, 1, 2]]
x[False, [0, 1]]
x[x[..., 0] > -5, [0, 1]]
x[[[0, 1], [0]], :]
x[0:1.5]
x[(slice(None),) * 4]
x[[0], [0], [0], [0]]
x[2**70]
s[0]
s[:]
s[[0]]
s[:, None]
s[0, 0]
torch.zeros(0)[0]
torch.zeros(0, 3)[[0]]
torch.zeros(3, 0)[:, [0]]
torch.zeros(3, 0)[[5]]
len(s)
list(s)
"a" in x
[1] in x
None in x
v.gather(0, L(4))
v.gather(0, L(-1))
v.gather(0, torch.tensor([0.0]))
v.gather(0, L(0)[None])
v.gather(1, L(0))
x.gather(0, torch.zeros(3, 4, 5, dtype=torch.int64))
v.scatter(0, L(4), v)
v.scatter(0, L(0), v.float())
v.scatter(0, L(0, 1, 2, 3, 0), v)
v.scatter(0, L(0, 1).to(torch.int16), 1)
v.scatter(0, L(0, 1), v, reduce="foo")
v.scatter(0, L(0, 1), "a")
v.scatter(0, L(0, 1), s)
v.scatter(0, L(0, 1), m)
v.scatter(0, L(0, 0), 2.0, reduce="add").sum().backward()
v.scatter(0, L(0, 0), v).sum().backward()
v.scatter_add(0, L(0, 0), v).sum().backward()
v.scatter_add(0, L(0, 1), 1.0)
v.scatter_add(0, L(0, 4), v)
v.scatter_add(0, L(0, 0), v.float())
v.scatter_add(0, L(0, 0), v[:1])
v.index_select(0, L(4))
v.index_select(0, L(-1))
v.index_select(0, torch.tensor([0.0]))
v.index_select(0, L(0)[None])
v.index_select(1, L(0))
s.index_select(0, L(0, 0))
v.index_select(0, [0])
v.index_add(0, L(4), v[:1])
v.index_add(0, L(0), v[:2])
v.index_add(0, L(0), v[:1].float())
v.index_add(0, L(0), x[:1])
x.index_add(0, L(0), x[:1, :2])
v.index_copy(0, L(4), v[:1])
v.index_copy(0, L(0), v[:2])
v.index_copy(0, L(0), v[:1].float())
x.index_copy(0, L(0), x[:1, :2])
v.index_copy(0, L(0).int(), v[:1])
v.index_copy(0, L(-1), v[:1])
v.index_fill(0, L(4), 1)
v.index_fill(0, L(0).int(), 1)
v.index_fill(0, L(0), v)
v.index_fill(0, L(0), 1j)
v.index_put((L(4),), v[:1])
v.index_put((L(0, 1),), v[:3])
v.index_put((L(0, 1),), v[:1].float())
v.index_put((L(0, 1),), 1.0)
v.index_put((None,), v[:1])
v.index_put((), v[:1])
v.index_put((L(0), L(0)), v[:1])
v.masked_fill(v, 1)
v.masked_fill(v > 0, v)
v.masked_fill(m[:, :3] > 0, 1)
v.masked_fill(v > 0, "a")
v.masked_fill(L(1, 0, 0, 1).to(torch.uint8), 1)
v.masked_fill(L(1, 0, 0, 1), 1)
v.masked_fill(v > 0, 1j)
v.detach().masked_fill_(m > 0, 1)
v.masked_select(v)
v.masked_select(L(True, False, True))
v.masked_scatter(v > 0, v[:1])
v.masked_scatter(v > 0, v.float())
v.masked_scatter(v, v)
v.take(L(4))
v.take(L(-5))
v.take(torch.tensor([0.0]))
v.take_along_dim(L(0).int(), 0)
x.take_along_dim(L(0), 0)
""".strip().split("\n")


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    theirs_in, ours_in = make(text)
    same_error(lambda: evaluate(text, torch, theirs_in), lambda: evaluate(text, whygrad, ours_in))


@pytest.mark.parametrize("text", """
y[5] = 1
y[[5]] = 1
y[0, 0, 0, 0] = 1
y[::-1] = 1
y["a"] = 1
y[1.5] = 1
y[0] = "a"
y[0] = [1, 2, 3, 4]
y[0] = None
y[0] = np.ones(4)
y[0] = np.float32(2)
y[0] = torch.ones(5)
y[0] = torch.ones(2, 3, 4)
y[[0, 1]] = torch.ones(5)
y[[0, 1]] = torch.ones(4, dtype=torch.int64)
y[y > 0] = v
y[0] = 1j
y[[0]] = 1j
x[0] = 1
x[[0]] = 1
x[...] = 1
x[[0, 1]] = torch.ones(5)
x[[5]] = 1
x.masked_fill_(x > 0, 1)
x.masked_fill_(x, 1)
x.index_put_((L(5),), v)
x.scatter_(0, L([[9]]), 1.0)
x[0].index_fill_(0, L(0), 1)
y.index_add_(0, L(0), y[:1])
y.scatter_(0, L([[0]]), y)
y = v.expand(3, 4); y[[0]] = 1
""".strip().split("\n"))
def test_errors_of_writes(text: str) -> None:
    def run(lib: Any, x: Any, v: Any) -> None:
        exec(text, scope(lib, x=x, y=x * 1, v=v))

    (theirs_x, ours_x), (theirs_v, ours_v) = pair(ARRAYS["x"], True), pair(ARRAYS["v"], True)
    same_error(lambda: run(torch, theirs_x, theirs_v), lambda: run(whygrad, ours_x, ours_v))


@pytest.mark.parametrize("text", [
    "i = L(0, 1); z = y[i]; i[0] = 1",
    "i = L(0, 1); z = y[i, L(1, 1)]; i[0] = 1",
    "i = L([[0]]); z = y.gather(0, i); i[0] = 1",
    "i = L(0, 1); z = y.index_select(0, i); i[0] = 1",
    "i = L(0, 1); z = y[i].sum(); z.backward()",
    "z = y[y > 0].sum(); z.backward()",
    "z = x.gather(0, L([[0]])).sum(); z.backward()",
    "z = x.masked_fill(x > 0, 1).sum(); z.backward()",
    "z = x.index_put((L(0),), v).sum(); z.backward()",
    "z = x[0].sum(); z.backward()",
    "z = x[0, 1:].view(-1).sum(); z.backward()",
])
def test_saved_indices_are_watched_and_freed(text: str) -> None:
    def run(lib: Any, x: Any, v: Any) -> None:
        variables = scope(lib, x=x, y=x * 1, v=v)
        exec(text, variables)
        variables["z"].sum().backward()

    (theirs_x, ours_x), (theirs_v, ours_v) = pair(ARRAYS["x"], True), pair(ARRAYS["v"], True)
    # Of several index tensors torch names the one that was changed.
    compare_text = "L(1, 1)" not in text
    same_error(lambda: run(torch, theirs_x, theirs_v), lambda: run(whygrad, ours_x, ours_v), text=compare_text)


SHAPE = (3, 4, 2)


PLACE = st.integers(-2, 1)
PAIR = st.lists(PLACE, min_size=2, max_size=2)
PLACES = st.lists(PLACE, min_size=1, max_size=3) | st.lists(PAIR, min_size=1, max_size=2)
BOUND = st.sampled_from(["", *map(str, range(-5, 6))])


def masks(*shape: int) -> st.SearchStrategy[Any]:
    one: st.SearchStrategy[Any] = st.booleans()
    for n in reversed(shape):
        one = st.lists(one, min_size=n, max_size=n)
    return one


PARTS = st.one_of(
    PLACE.map(str),
    st.integers(-5, 5).map(str),
    st.builds("{}:{}:{}".format, BOUND, BOUND, st.sampled_from(["", "", "1", "2", "3"])),
    st.builds("{}:{}".format, BOUND, BOUND),
    st.just("None"),
    st.just("..."),
    st.lists(PLACE, max_size=3).map(str),
    PLACES.map(str),
    PLACES.map("L(*{})".format),
    PLACE.map("torch.tensor({})".format),
    st.one_of(masks(2), masks(3), masks(4), masks(3, 4), masks(4, 2)).map("L(*{})".format),
    st.sampled_from(["True", "False", "torch.tensor(True)", "np.array([1, 0])", "np.int32(1)"]),
)
# A key as source text, so that each library makes its own tensors from it.
KEYS = st.lists(PARTS, min_size=1, max_size=4).filter(lambda parts: parts.count("...") <= 1).map(", ".join)
VALUES = st.sampled_from(["2.5", "w", "w[:1]", "w[0]", "x[0].detach()", "torch.ones(1, 1, 1, 1, dtype=torch.float64)"])


@settings(max_examples=300, deadline=None)
@given(key=KEYS)
def test_any_key_reads_like_torch(key: str) -> None:
    theirs_leaf, ours_leaf = pair(np.arange(24.0).reshape(SHAPE), requires_grad=True)
    text = f"x[{key}]"
    theirs = outcome(lambda: evaluate(text, torch, {"x": theirs_leaf * 1}))
    ours = outcome(lambda: evaluate(text, whygrad, {"x": ours_leaf * 1}))
    assert theirs[0] == ours[0], (theirs, ours)
    if theirs[0] == "error":
        assert theirs[1] == ours[1]
        return
    a, b = theirs[1], ours[1]
    assert_same(a, b)
    assert chain(a) == chain(b)
    assert a._is_view() == b._is_view()
    (a * a).sum().backward()
    (b * b).sum().backward()
    assert_same(theirs_leaf.grad, ours_leaf.grad)


@settings(max_examples=200, deadline=None)
@given(key=KEYS, value=VALUES)
def test_any_key_writes_like_torch(key: str, value: str) -> None:
    base = np.arange(24.0).reshape(SHAPE)
    theirs_leaf, ours_leaf = pair(base, requires_grad=True)
    theirs_w, ours_w = pair(np.array([10.0, 20.0]), requires_grad=True)

    def run(lib: Any, x: Any, w: Any) -> Any:
        variables = scope(lib, x=x, w=w, y=x * x)
        exec(f"y[{key}] = {value}", variables)
        return variables["y"]

    theirs, ours = outcome(lambda: run(torch, theirs_leaf, theirs_w)), outcome(lambda: run(whygrad, ours_leaf, ours_w))
    assert theirs[0] == ours[0], (theirs, ours)
    if theirs[0] == "error":
        assert theirs[1] == ours[1]
        return
    a, b = theirs[1], ours[1]
    assert_same(a, b)
    assert chain(a) == chain(b)
    assert a._version == b._version
    (a * a).sum().backward()
    (b * b).sum().backward()
    assert_same(theirs_leaf.grad, ours_leaf.grad)
    assert (theirs_w.grad is None) == (ours_w.grad is None)
    if theirs_w.grad is not None:
        assert_same(theirs_w.grad, ours_w.grad)
