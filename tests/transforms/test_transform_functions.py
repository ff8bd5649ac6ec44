"""torch's own operator samples: vmap against one element at a time, forward mode against torch.func.jvp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.func
import torch.utils._pytree as their_pytree

import whygrad
import whygrad.func
from whygrad.base.pytree import tree_flatten, tree_unflatten

SAMPLES_EACH = 2
LETTERS = ["_abc", "defg", "hijklm", "n", "opqrs", "tuvwxyzTH"]

# Not batched, in torch neither: they read numbers, or their shape depends on numbers.
READS_NUMBERS = {"item", "allclose", "equal", "cov", "linspace.tensor_overload", "unique", "unique_consecutive", "nonzero",
                 "nonzero_static", "argwhere", "linalg.pinv"}
NOT_COMPARED = {
    "as_strided": "each element has memory of its own", "as_strided.partial_views": "each element has memory of its own",
    "as_strided_copy": "each element has memory of its own", "empty_like": "whatever was in memory",
    "new_empty": "whatever was in memory", "new_empty_strided": "whatever was in memory", "empty": "whatever was in memory",
    "resize_": "about memory", "resize_as_": "about memory", "multinomial": "random", "normal": "random",
    "normal.number_mean": "random", "bernoulli": "random", "nn.functional.rrelu": "random",
}
# Where torch's forward mode differs, and why.
JVP_DIFFERS = {
    "nn.functional.linear_cross_entropy.chunked": "torch has none, and gives zeros",
    "nn.functional.linear_cross_entropy.chunked_none": "torch has none, and gives zeros",
    "triangular_solve": "torch's is not the slope", "scatter_reduce.prod": "torch's is not the slope",
    "svd_lowrank": "vectors are determined up to a sign", "pca_lowrank": "vectors are determined up to a sign",
    "linalg.eig": "vectors are determined up to a phase", "linalg.eigh": "only a symmetric matrix may move",
    "linalg.cholesky": "only a symmetric matrix may move", "linalg.cholesky_ex": "only a symmetric matrix may move",
    "cholesky": "only a symmetric matrix may move", "logcumsumexp": "torch's is not as precise",
    "bfloat16": "NumPy has no such dtype", "chalf": "NumPy has no such dtype",
}


class Case:
    """One sample: a function of its floating tensors, on our side and on torch's."""

    def __init__(self, variant: Any, sample: Any) -> None:
        from opdb.translate import Translator

        self.variant = variant
        arguments = (sample.input, tuple(sample.args), dict(sample.kwargs))
        self.theirs, self.their_spec = tree_flatten(arguments)
        self.ours, self.spec = tree_flatten(Translator()(arguments))
        self.places = [i for i, x in enumerate(self.ours) if isinstance(x, whygrad.Tensor) and x._array.dtype.kind in "fc"]
        self.arrays = [self.ours[i].detach().numpy() for i in self.places]

    def call(self, *tensors: Any) -> list[Any]:
        return self._results(whygrad, self.variant.here(), self.ours, self.spec, tensors)

    def call_torch(self, *tensors: Any) -> list[Any]:
        found = self._results(torch, self.variant.theirs, self.theirs, self.their_spec, tensors)
        return [t for t in found if t.is_floating_point() or t.is_complex()]

    def _results(self, lib: Any, function: Callable[..., Any], leaves: list[Any], spec: Any, tensors: Any) -> list[Any]:
        given = list(leaves)
        for i, x in zip(self.places, tensors, strict=True):
            given[i] = x
        input, args, kwargs = tree_unflatten(given, spec)
        lib.manual_seed(0)
        flatten = their_pytree.tree_leaves if lib is torch else lambda tree: tree_flatten(tree)[0]
        return [t for t in flatten(function(input, *args, **kwargs)) if isinstance(t, lib.Tensor)]


def names(letters: str) -> list[str]:
    from opdb.samples import public_ops

    return [name for name in public_ops() if name[0] in letters]


def cases(name: str) -> list[Case]:
    from opdb.samples import our_variants, public_ops, samples_of
    from opdb.translate import Impossible, Missing

    op, found = public_ops()[name], []
    variant = our_variants(op)[0]
    if torch.float64 in op.supported_dtypes("cpu") and variant.ours is not None:
        for sample in samples_of(op, torch.float64, SAMPLES_EACH):
            try:
                case = Case(variant, sample)
            except (Missing, Impossible):
                continue
            if case.places and sum(x.size for x in case.arrays) < 5000:
                found.append(case)
    return found


def attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception:
        return None


def numbers(t: Any) -> np.ndarray:
    if isinstance(t, torch.Tensor):
        return t.detach().resolve_conj().resolve_neg().numpy(force=True)  # type: ignore[no-any-return]
    return np.asarray(t._array)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("letters", LETTERS)
def test_vmap(letters: str) -> None:
    for name in names(letters):
        if name not in NOT_COMPARED and name not in READS_NUMBERS:
            for case in cases(name):
                check_vmap(name, case)


def check_vmap(name: str, case: Case) -> None:
    wholes = [whygrad.from_numpy(np.stack([x, x * 0.97])) for x in case.arrays]
    rows = attempt(lambda: [case.call(*[w[i] for w in wholes]) for i in range(2)])
    if rows is None or [t.shape for t in rows[0]] != [t.shape for t in rows[1]]:
        return
    found = whygrad.func.vmap(case.call, randomness="same")(*wholes)
    for a, b in zip(zip(*rows, strict=True), found, strict=True):
        np.testing.assert_allclose(numbers(b), np.stack([numbers(t) for t in a]), rtol=1e-6, atol=1e-8, err_msg=name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("letters", LETTERS)
def test_jvp(letters: str) -> None:
    for name in names(letters):
        if name not in JVP_DIFFERS:
            for case in cases(name):
                check_jvp(name, case)


def check_jvp(name: str, case: Case) -> None:
    directions = [np.linspace(-1, 1, x.size).reshape(x.shape).astype(x.dtype) for x in case.arrays]
    expected = attempt(lambda: torch.func.jvp(
        case.call_torch, tuple([torch.tensor(x) for x in case.arrays]), tuple([torch.tensor(d) for d in directions])))
    if expected is None:
        return  # torch has no forward mode for it
    _, found = whygrad.func.jvp(
        lambda *xs: [t for t in case.call(*xs) if t._array.dtype.kind in "fc"],
        tuple([whygrad.tensor(x) for x in case.arrays]), tuple([whygrad.tensor(d) for d in directions]))
    for a, b in zip(expected[1], found, strict=True):
        np.testing.assert_allclose(numbers(b), numbers(a), rtol=1e-6, atol=1e-8, err_msg=name)
