"""Each distribution against torch: values, gradients, samples of the same seed, shapes, expansion, printing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from distribution_cases import CASES, Case
from oracle import assert_same, check, outcome, pair, to_numpy, weights_like

import whygrad

# torch's own formulas for these are good to seven digits only.
ROUGH = {"VonMises": 1e-5, "GeneralizedPareto": 1e-4}
# torch's derivatives of gamma and beta samples are good to three digits.
ROUGH_SAMPLES = {"Gamma", "Chi2", "StudentT", "InverseGamma", "FisherSnedecor", "Beta", "Dirichlet"}


NOISE = 1e-9  # torch's polygammas have nine digits, and those of an entropy cancel


def tolerance(name: str) -> float:
    return ROUGH.get(name, 1e-9)


def both(case: Case, dtype: Any = None, grad: bool = False) -> tuple[Any, Any, list[Any], list[Any]]:
    pairs = [pair(a.astype(dtype or a.dtype), requires_grad=grad) for a in case.arrays]
    theirs, ours = [p[0] for p in pairs], [p[1] for p in pairs]
    return case.make(torch, *theirs), case.make(whygrad, *ours), theirs, ours


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("function", ["log_prob", "cdf"])
def test_functions_of_a_value(name: str, function: str) -> None:
    case = CASES[name]
    if outcome(lambda: getattr(case.make(torch, *map(torch.from_numpy, case.arrays)), function)(
            torch.from_numpy(case.values)))[0] == "error":
        pytest.skip("torch has none")
    discrete = name.split()[0] in ("Categorical",)
    values = case.values if not discrete else case.values.astype(np.int64)

    def run(lib: Any, *tensors: Any) -> Any:
        x = (torch if lib is torch else whygrad).from_numpy(values)
        return getattr(case.make(lib, *tensors), function)(x)

    no_derivative = function == "cdf" and name in ("Gamma", "Chi2", "InverseGamma")
    check(run, case.arrays, order=0 if no_derivative else 1, check_node=False, rtol=tolerance(name))


@pytest.mark.parametrize("name", CASES)
def test_log_prob_is_differentiable_in_the_value(name: str) -> None:
    case = CASES[name]
    theirs, ours, _, _ = both(case)
    if theirs.support.is_discrete if not isinstance(theirs, torch.distributions.MixtureSameFamily) else False:
        pytest.skip("discrete")
    x, y = pair(case.values, requires_grad=True)
    a, b = theirs.log_prob(x), ours.log_prob(y)
    assert a.requires_grad == b.requires_grad
    if not a.requires_grad:
        return
    a.sum().backward()
    b.sum().backward()
    assert_same(x.grad, y.grad, rtol=tolerance(name))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("what", ["mean", "mode", "variance", "stddev", "entropy", "perplexity", "icdf", "enumerate_support"])
def test_properties(name: str, what: str) -> None:
    case = CASES[name]
    theirs, ours, their_leaves, our_leaves = both(case, grad=True)
    quantiles = np.full(1, 0.3, case.arrays[0].dtype)

    def ask(distribution: Any, lib: Any) -> Any:
        found = getattr(distribution, what)
        if what == "icdf":
            return found(lib.from_numpy(quantiles))
        return found() if callable(found) else found

    a, b = outcome(lambda: ask(theirs, torch)), outcome(lambda: ask(ours, whygrad))
    if a[0] == "error" or b[0] == "error":
        assert a[0] == b[0], (a, b)
        assert a[1][0] == b[1][0]
        return
    assert_same(a[1], b[1], rtol=tolerance(name), noise=NOISE)
    if a[1].requires_grad:
        weights = weights_like(a[1], 0)
        (a[1] * torch.from_numpy(np.asarray(weights))).sum().backward()
        (b[1] * whygrad.from_numpy(np.asarray(weights))).sum().backward()
        for x, y in zip(their_leaves, our_leaves, strict=True):
            assert (x.grad is None) == (y.grad is None)
            if x.grad is not None and not np.isnan(to_numpy(x.grad)).any():
                assert_same(x.grad, y.grad, rtol=tolerance(name), noise=NOISE)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (5,), (3, 7)])
def test_same_seed_same_samples(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    theirs, ours, _, _ = both(CASES[name], dtype)
    torch.manual_seed(3)
    whygrad.manual_seed(3)
    assert_same(theirs.sample(shape), ours.sample(shape), rtol=1e-4 if dtype == "float32" else 1e-9)
    # And nothing more was drawn.
    assert torch.rand(1).item() == whygrad.rand(1).item()


@pytest.mark.parametrize("name", CASES)
def test_gradients_through_samples(name: str) -> None:
    theirs, ours, their_leaves, our_leaves = both(CASES[name], grad=True)
    assert theirs.has_rsample == ours.has_rsample
    torch.manual_seed(11)
    whygrad.manual_seed(11)
    a, b = outcome(lambda: theirs.rsample((4,))), outcome(lambda: ours.rsample((4,)))
    assert a[0] == b[0]
    if a[0] == "error":
        assert a[1][0] == b[1][0]
        return
    assert_same(a[1], b[1], rtol=max(1e-8, tolerance(name)))
    weights = weights_like(a[1], 0)
    (a[1] * torch.from_numpy(weights)).sum().backward()
    (b[1] * whygrad.from_numpy(weights)).sum().backward()
    for x, y in zip(their_leaves, our_leaves, strict=True):
        assert_same(x.grad, y.grad, rtol=5e-3 if name.split()[0] in ROUGH_SAMPLES else max(1e-7, tolerance(name)))


@pytest.mark.parametrize("name", CASES)
def test_shapes_and_printing(name: str) -> None:
    theirs, ours, _, _ = both(CASES[name])
    assert repr(theirs) == repr(ours)
    assert str(theirs.batch_shape) == str(ours.batch_shape)
    assert str(theirs.event_shape) == str(ours.event_shape)
    assert theirs.has_enumerate_support == ours.has_enumerate_support
    assert repr(theirs.support) == repr(ours.support)


@pytest.mark.parametrize("name", CASES)
def test_expand(name: str) -> None:
    theirs, ours, _, _ = both(CASES[name])
    batch = (6, *theirs.batch_shape)
    a, b = theirs.expand(batch), ours.expand(batch)
    assert type(a).__name__ == type(b).__name__
    assert repr(a) == repr(b)
    assert str(a.batch_shape) == str(b.batch_shape)
    torch.manual_seed(2)
    whygrad.manual_seed(2)
    x, y = a.sample((2,)), b.sample((2,))
    assert_same(x, y, rtol=max(1e-8, tolerance(name)))
    assert_same(a.log_prob(x), b.log_prob(y), rtol=max(1e-7, tolerance(name)))
    for what in ("mean", "variance"):
        p, q = outcome(lambda w=what: getattr(a, w)), outcome(lambda w=what: getattr(b, w))
        assert p[0] == q[0]
        if p[0] == "value":
            assert_same(p[1], q[1], rtol=tolerance(name))


@pytest.mark.parametrize("name", ["Normal", "Bernoulli", "Beta", "Gamma", "LogNormal", "Gumbel", "StudentT", "Uniform"])
def test_numbers_as_parameters(name: str) -> None:
    arguments = {"Bernoulli": (0.3,), "StudentT": (3.0,), "Uniform": (0.0, 2.0)}.get(name, (0.5, 2.0))
    theirs, ours = getattr(torch.distributions, name)(*arguments), getattr(whygrad.distributions, name)(*arguments)
    assert repr(theirs) == repr(ours)
    assert str(theirs.batch_shape) == str(ours.batch_shape)
    torch.manual_seed(0)
    whygrad.manual_seed(0)
    x, y = theirs.sample((3,)), ours.sample((3,))
    assert_same(x, y, rtol=1e-5)
    assert_same(theirs.log_prob(x), ours.log_prob(y), rtol=1e-4)


def test_subclass_with_its_own_init_cannot_be_expanded() -> None:
    def attempt(lib: Any) -> Any:
        class Mine(lib.distributions.Normal):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__(0.0, 1.0)

        return Mine().expand((2,))

    assert outcome(lambda: attempt(torch)) == outcome(lambda: attempt(whygrad))


def test_a_distribution_of_the_users_own() -> None:
    def attempt(lib: Any) -> Any:
        d = lib.distributions

        class Triangle(d.Distribution):  # type: ignore[misc, name-defined]
            arg_constraints = {"width": d.constraints.positive}
            support = d.constraints.real
            has_rsample = True

            def __init__(self, width: Any, validate_args: bool | None = None) -> None:
                (self.width,) = d.utils.broadcast_all(width)
                super().__init__(self.width.shape, validate_args=validate_args)

            def rsample(self, sample_shape: Any = ()) -> Any:
                shape = self._extended_shape(sample_shape)
                return self.width * (lib.rand(shape) - lib.rand(shape))

        lib.manual_seed(1)
        made = Triangle(lib.tensor([1.0, 2.0]))
        return made.sample((2,)), repr(made), outcome(lambda: made.expand((3, 2))), outcome(lambda: made.mean)

    theirs, ours = attempt(torch), attempt(whygrad)
    assert_same(theirs[0], ours[0])
    assert theirs[1:] == ours[1:]


def test_modules_have_torchs_names() -> None:
    missing: set[str] = set()
    assert set(torch.distributions.__all__) - set(whygrad.distributions.__all__) == missing
    assert set(whygrad.distributions.__all__) <= set(torch.distributions.__all__)


def test_sample_n_warns() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        whygrad.distributions.Normal(0.0, 1.0).sample_n(2)
    assert caught[0].category is FutureWarning
