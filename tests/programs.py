"""Random programs over tensors, run on torch and on whygrad in step.

A program is a list of instructions `(kind, i, j, n)`: `i` and `j` choose variables (modulo how many there are), `n` is a
small number an instruction may use as a dim, an index or a switch. After every instruction both sides must have
produced the same thing, or raised the same error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from oracle import node_name, to_numpy

import whygrad

SHAPES = [(), (3,), (2, 3), (1, 3), (3, 1), (2, 1, 3), (3, 3), (0, 3)]

Instruction = tuple[str, int, int, int]


def _dim(t: Any, n: int) -> int:
    return n % max(t.dim(), 1)


def _in_no_grad(T: Any, f: Callable[[], Any]) -> Any:
    with T.no_grad():
        return f()


def _in_enable_grad_inside_no_grad(T: Any, f: Callable[[], Any]) -> Any:
    with T.no_grad(), T.enable_grad():
        return f()


def _set(t: Any, index: Any, value: Any) -> None:
    """Into an integer tensor without the value's history: torch may then call it one that requires grad."""
    is_tracked = isinstance(value, (torch.Tensor, whygrad.Tensor)) and not t.is_floating_point()
    t[index] = value.detach() if is_tracked else value


def positive(t: Any) -> Any:
    """Which elements are positive, and not just by rounding."""
    return t > 1e-9


def _backward(t: Any, **options: Any) -> None:
    t.backward(t.detach() * 0 + 1, **options)


# Each takes (T, a, b, n): the library, two variables, a number. What it returns (if anything) becomes a new variable.
OPS: dict[str, Callable[..., Any]] = {
    # arithmetic
    "add": lambda T, a, b, n: a + b,
    "sub": lambda T, a, b, n: a - b,
    "mul": lambda T, a, b, n: a * b,
    "div": lambda T, a, b, n: a / b,
    "add_alpha": lambda T, a, b, n: T.add(a, b, alpha=n),
    "rsub": lambda T, a, b, n: 1.5 - a,
    "rdiv": lambda T, a, b, n: 2 / a,
    "mul_number": lambda T, a, b, n: a * (n - 2.5),
    "add_int": lambda T, a, b, n: a + n,
    "pow_number": lambda T, a, b, n: a ** (n - 1),
    "square": lambda T, a, b, n: a.square(),
    "neg": lambda T, a, b, n: -a,
    "abs": lambda T, a, b, n: a.abs(),
    "sin": lambda T, a, b, n: a.sin(),
    "cos": lambda T, a, b, n: a.cos(),
    "tanh": lambda T, a, b, n: a.tanh(),
    "sigmoid": lambda T, a, b, n: a.sigmoid(),
    "exp_small": lambda T, a, b, n: (a * 0.1).exp(),
    "log1p": lambda T, a, b, n: a.abs().log1p(),
    "sqrt": lambda T, a, b, n: (a * a + 1).sqrt(),
    "relu": lambda T, a, b, n: a.relu(),
    "leaky_relu": lambda T, a, b, n: T.nn.functional.leaky_relu(a, 0.1 * n),
    "gelu": lambda T, a, b, n: T.nn.functional.gelu(a),
    "clamp": lambda T, a, b, n: a.clamp(-1, n),
    "maximum": lambda T, a, b, n: T.maximum(a, b),
    "minimum": lambda T, a, b, n: T.minimum(a, b),
    "where": lambda T, a, b, n: T.where(positive(a), a, b),
    "lerp": lambda T, a, b, n: T.lerp(a, b, 0.25 * n),
    "addcmul": lambda T, a, b, n: T.addcmul(a, a, b, value=n),
    "round": lambda T, a, b, n: a.round(),
    "compare": lambda T, a, b, n: a > b,
    # reductions
    "sum": lambda T, a, b, n: a.sum(),
    "sum_dim": lambda T, a, b, n: a.sum(dim=_dim(a, n), keepdim=n > 2),
    "mean": lambda T, a, b, n: a.mean(),
    "mean_dim": lambda T, a, b, n: a.mean(_dim(a, n)),
    "prod": lambda T, a, b, n: a.prod(),
    "max": lambda T, a, b, n: a.max(),
    "max_dim": lambda T, a, b, n: a.max(dim=_dim(a, n))[n % 2],
    "amin": lambda T, a, b, n: a.amin(dim=_dim(a, n)),
    "argmax": lambda T, a, b, n: a.argmax(),
    "var": lambda T, a, b, n: a.var(dim=_dim(a, n), correction=n % 2),
    "logsumexp": lambda T, a, b, n: a.logsumexp(dim=_dim(a, n)),
    "norm": lambda T, a, b, n: a.norm(),
    "cumsum": lambda T, a, b, n: a.cumsum(_dim(a, n)),
    "softmax": lambda T, a, b, n: a.softmax(_dim(a, n)),
    "log_softmax": lambda T, a, b, n: T.log_softmax(a, _dim(a, n)),
    # shapes
    "reshape": lambda T, a, b, n: a.reshape(-1),
    "view": lambda T, a, b, n: a.view(-1),
    "view_split": lambda T, a, b, n: a.view(3, -1),
    "t": lambda T, a, b, n: a.t(),
    "transpose": lambda T, a, b, n: a.transpose(0, -1),
    "permute": lambda T, a, b, n: a.permute(*range(a.dim())[::-1]),
    "unsqueeze": lambda T, a, b, n: a.unsqueeze(_dim(a, n)),
    "squeeze": lambda T, a, b, n: a.squeeze(),
    "squeeze_dim": lambda T, a, b, n: a.squeeze(_dim(a, n)),
    "expand": lambda T, a, b, n: a.expand(2, *a.shape),
    "expand_as": lambda T, a, b, n: a.expand_as(b),
    "flatten": lambda T, a, b, n: a.flatten(),
    "cat": lambda T, a, b, n: T.cat([a, b, a], dim=_dim(a, n)),
    "stack": lambda T, a, b, n: T.stack([a, b], dim=_dim(a, n)),
    "split": lambda T, a, b, n: a.split(2, dim=_dim(a, n))[0],
    "chunk": lambda T, a, b, n: a.chunk(2, dim=_dim(a, n))[-1],
    "unbind": lambda T, a, b, n: a.unbind(_dim(a, n))[0],
    "narrow": lambda T, a, b, n: a.narrow(_dim(a, n), 0, 1),
    # torch's message about a 0-dim tensor shows a size that it does not have, and not always the same.
    "select": lambda T, a, b, n: a[n if a.dim() else 0],
    "slice": lambda T, a, b, n: a[1:],
    "slice_step": lambda T, a, b, n: a[..., ::2],
    "index_mixed": lambda T, a, b, n: a[0, 1:, None],
    "new_axis": lambda T, a, b, n: a[None],
    "fancy": lambda T, a, b, n: a[[0, n, 0]],
    "mask": lambda T, a, b, n: a[positive(a)],
    "flip": lambda T, a, b, n: a.flip(_dim(a, n)),
    "roll": lambda T, a, b, n: a.roll(1, _dim(a, n)),
    "tril": lambda T, a, b, n: a.tril(),
    "diagonal": lambda T, a, b, n: a.diagonal(),
    "clone": lambda T, a, b, n: a.clone(),
    "contiguous": lambda T, a, b, n: a.contiguous(),
    "repeat": lambda T, a, b, n: a.repeat(2, *([1] * a.dim())),
    "masked_fill": lambda T, a, b, n: a.masked_fill(positive(a), 0.5),
    "gather": lambda T, a, b, n: a.gather(0, positive(a).long()),
    "index_select": lambda T, a, b, n: a.index_select(0, T.tensor([0, 0, 1])),
    "matmul": lambda T, a, b, n: a @ b,
    "mm": lambda T, a, b, n: T.mm(a, b),
    "outer": lambda T, a, b, n: T.outer(a, b),
    # in place
    "add_": lambda T, a, b, n: _nothing(a.add_(b)),
    "mul_": lambda T, a, b, n: _nothing(a.mul_(b)),
    "sub_": lambda T, a, b, n: _nothing(a.sub_(b, alpha=2)),
    "div_": lambda T, a, b, n: _nothing(a.div_(2.0)),
    "iadd": lambda T, a, b, n: _nothing(a.__iadd__(1)),
    "mul_self_": lambda T, a, b, n: _nothing(a.mul_(a)),
    "relu_": lambda T, a, b, n: _nothing(a.relu_()),
    "tanh_": lambda T, a, b, n: _nothing(a.tanh_()),
    "zero_": lambda T, a, b, n: _nothing(a.zero_()),
    "fill_": lambda T, a, b, n: _nothing(a.fill_(n)),
    "copy_": lambda T, a, b, n: _nothing(a.copy_(b)),
    "clamp_": lambda T, a, b, n: _nothing(a.clamp_(min=0)),
    "setitem": lambda T, a, b, n: _set(a, 0, b),
    "setitem_slice": lambda T, a, b, n: _set(a, slice(1, None), b),
    "setitem_number": lambda T, a, b, n: _set(a, (..., 0), float(n)),
    "setitem_mask": lambda T, a, b, n: _set(a, a > 0.5, 0.25),
    # Within bounds, because torch writes a part before it complains.
    "setitem_fancy": lambda T, a, b, n: _set(a, [0, -1], b),
    "masked_fill_": lambda T, a, b, n: _nothing(a.masked_fill_(a > 1, 1.0)),
    # leaving and entering the graph
    "detach": lambda T, a, b, n: a.detach(),
    "data": lambda T, a, b, n: a.data,
    "requires_grad_": lambda T, a, b, n: _nothing(a.requires_grad_()),
    "freeze": lambda T, a, b, n: _nothing(a.requires_grad_(False)),
    "retain_grad": lambda T, a, b, n: _nothing(a.retain_grad()),
    "hook": lambda T, a, b, n: _nothing(a.register_hook(lambda g: g * 2 if n % 2 else None)),
    "no_grad_mul": lambda T, a, b, n: _in_no_grad(T, lambda: a * b),
    "no_grad_view": lambda T, a, b, n: _in_no_grad(T, lambda: a[1:]),
    "no_grad_add_": lambda T, a, b, n: _nothing(_in_no_grad(T, lambda: a.add_(b))),
    "enable_grad": lambda T, a, b, n: _in_enable_grad_inside_no_grad(T, lambda: a * b),
    "to_float32": lambda T, a, b, n: a.to(T.float32),
    "to_float64": lambda T, a, b, n: a.double(),
    "to_int64": lambda T, a, b, n: a.long(),
    "new_leaf": lambda T, a, b, n: T.ones(SHAPES[n % len(SHAPES)], requires_grad=n % 2 == 0),
    # walking back
    "backward": lambda T, a, b, n: _backward(a),
    "backward_retain": lambda T, a, b, n: _backward(a, retain_graph=True),
    "backward_plain": lambda T, a, b, n: a.backward(),
    "backward_inputs": lambda T, a, b, n: _backward(a, retain_graph=True, inputs=[b]),
    # Cloned, because torch may hand out an expanded gradient that cannot be written to; ours is always the user's own.
    "grad": lambda T, a, b, n: _clone(T.autograd.grad(a.sum(), b, allow_unused=n % 2 == 0, retain_graph=True)[0]),
    "grad_create": lambda T, a, b, n: _clone(T.autograd.grad(a.sum(), b, create_graph=True)[0]),
    "zero_grad": lambda T, a, b, n: setattr(a, "grad", None),
}


def _clone(g: Any) -> Any:
    return None if g is None else g.contiguous().clone()


def _nothing(_: Any) -> None:
    """An in-place op gives its argument back; that is no new variable."""


def start(T: Any) -> list[Any]:
    """The variables every program begins with."""
    def values(shape: tuple[int, ...], seed: int) -> np.ndarray:
        return np.random.default_rng(seed).uniform(-2, 2, shape)

    def make(array: np.ndarray, **options: Any) -> Any:
        return T.tensor(array.tolist(), **options)

    return [
        make(values((2, 3), 0), dtype=T.float64, requires_grad=True),
        make(values((3,), 1), dtype=T.float64, requires_grad=True),
        make(values((3, 3), 2), dtype=T.float64),
        make(values((), 3), dtype=T.float64, requires_grad=True),
        make(values((2, 1, 3), 4), dtype=T.float32, requires_grad=True),
        T.tensor([[1, 0, 2], [3, -1, 1]]),
    ]


def describe(t: Any) -> tuple[Any, ...]:
    """Everything about a variable that a user can see, but for its numbers."""
    return (str(t.dtype), tuple(t.shape), t.is_contiguous(), t.requires_grad, t._version, _or_error(lambda: t.is_leaf),
            _or_error(lambda: node_name(t)))


def _or_error(read: Callable[[], Any]) -> str:
    """A view whose base was changed may refuse to tell."""
    try:
        return str(read())
    except RuntimeError as error:
        return str(error)


class Difference(AssertionError):
    pass


def run(program: list[Instruction]) -> None:
    """Run a program on both libraries; raise `Difference` where they part."""
    theirs, ours = start(torch), start(whygrad)
    for step, (kind, i, j, n) in enumerate(program):
        if len(theirs) > 12:
            i, j = i + len(theirs) - 6, j + len(theirs) - 6
        i, j = i % len(theirs), j % len(theirs)
        if kind.endswith("_") and i != j and _share_memory(theirs[i], theirs[j]):
            continue  # reading what is being written: torch's result depends on the order in which it works
        if kind == "gelu" and theirs[i].dtype == torch.float32 and torch.isinf(theirs[i]).any():
            continue  # torch's own vectors give NaN where its scalars give inf
        where = f"step {step}: {kind}(v{i}, v{j}, {n})"
        a = _outcome(lambda: OPS[kind](torch, theirs[i], theirs[j], n))
        b = _outcome(lambda: OPS[kind](whygrad, ours[i], ours[j], n))
        _compare_outcomes(where, a, b, (ours[i], ours[j]))
        if isinstance(a[1], torch.Tensor):
            theirs.append(a[1])
            ours.append(b[1])
        for k, (x, y) in enumerate(zip(theirs, ours, strict=True)):
            if describe(x) != describe(y):
                raise Difference(f"{where}: v{k} is {describe(x)}, we have {describe(y)}")
            _compare_values(f"{where}: value of v{k}", x, y)
            _compare_grads(f"{where}: v{k}.grad", x, y)


def _share_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() and a.numel() > 0


def _outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "value", call()
        except Exception as error:
            return "error", error


def _compare_outcomes(where: str, a: tuple[str, Any], b: tuple[str, Any], inputs: tuple[Any, ...]) -> None:
    if a[0] != b[0]:
        raise Difference(f"{where}: torch gives {a[1]!r}, we give {b[1]!r}") from (b[1] if b[0] == "error" else None)
    if a[0] == "error":
        texts = [str(e).split("\n")[0] for e in (a[1], b[1])]
        if "its base or another view of its base has been modified" in texts[0]:
            # torch looks at this before shapes. If both are wrong we name the shapes, but we must know of the view too.
            told = [_outcome(lambda x=x: x.grad_fn)[1] for x in inputs]
            texts[1] = next((str(e) for e in told if isinstance(e, RuntimeError)), texts[1])
        if type(a[1]).__name__ != type(b[1]).__name__ or texts[0] != texts[1]:
            raise Difference(f"{where}: torch raises {a[1]!r}, we raise {b[1]!r}") from b[1]
    elif isinstance(a[1], torch.Tensor) != isinstance(b[1], whygrad.Tensor):
        raise Difference(f"{where}: torch gives {a[1]!r}, we give {b[1]!r}")


def _compare_values(where: str, x: Any, y: Any) -> None:
    # float32 takes part in most programs, and its rounding in sums is not the same on both sides.
    tolerance = 1e-4
    if not np.allclose(to_numpy(x), to_numpy(y), rtol=tolerance, atol=tolerance, equal_nan=True):
        raise Difference(f"{where}: {x}, we have {y}")


def _compare_grads(where: str, x: Any, y: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p, q = x.grad, y.grad
    if (p is None) != (q is None):
        raise Difference(f"{where}: {p}, we have {q}")
    if p is not None:
        if describe(p)[:3] != describe(q)[:3]:
            raise Difference(f"{where}: {describe(p)}, we have {describe(q)}")
        _compare_values(where, p, q)
