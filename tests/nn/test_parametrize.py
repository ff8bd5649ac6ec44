"""Weights that are computed from other parameters: parametrize, weight_norm and spectral_norm, against torch."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from oracle import assert_same, node_name, same_error

import whygrad
import whygrad.nn


def both(run: Callable[[Any], Any], rtol: float = 1e-5) -> None:
    results = []
    for m in (torch, whygrad):
        m.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(run(m))
    assert_same(*results, rtol=rtol)


def both_fail(run: Callable[[Any], Any]) -> None:
    same_error(lambda: run(torch), lambda: run(whygrad))


def state(module: Any) -> list[Any]:
    return [repr(module), list(module.state_dict()), list(module.state_dict().values()),
            [name for name, _ in module.named_parameters()], [name for name, _ in module.named_buffers()]]


def kinds(m: Any) -> Any:
    """A few parametrizations."""

    class Symmetric(m.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x: Any) -> Any:
            return x.triu()

    class Exponential(m.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.exp()

    class Product(m.nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return a * b

        def right_inverse(self, x: Any) -> Any:
            return x * 0.5, m.full_like(x, 2.0)

    class NoInverse(m.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

        def right_inverse(self, x: Any) -> Any:
            raise NotImplementedError

    class Wrong(m.nn.Module):
        def __init__(self, forward: Any = None, inverse: Any = None) -> None:
            super().__init__()
            self.f = forward or (lambda x: x)
            if inverse is not None:
                self.right_inverse = inverse

        def forward(self, x: Any) -> Any:
            return self.f(x)

    found = m.nn.Module()
    found.__dict__.update(Symmetric=Symmetric, Exponential=Exponential, Product=Product, NoInverse=NoInverse, Wrong=Wrong)
    return found


@pytest.mark.parametrize("names", [["Symmetric"], ["Exponential"], ["Product"], ["NoInverse"], ["Symmetric", "Exponential"],
                                   ["Product", "Symmetric"]])
def test_parametrization(names: list[str]) -> None:
    def run(m: Any) -> Any:
        parametrize = m.nn.utils.parametrize
        layer = m.nn.Linear(3, 3)
        version = layer.weight._version
        for name in names:
            found = parametrize.register_parametrization(layer, "weight", getattr(kinds(m), name)())
            assert found is layer
        seen = [state(layer), type(layer).__name__, parametrize.is_parametrized(layer), version]
        seen += [parametrize.is_parametrized(layer, "weight"), parametrize.is_parametrized(layer, "bias"), layer.weight,
                 parametrize.type_before_parametrizations(layer).__name__, node_name(layer.weight)]
        x = m.ones(2, 3)
        loss = (layer(x) ** 2).sum()
        seen.append(m.autograd.grad(loss, list(layer.parameters())))
        other = copy.deepcopy(layer)
        seen += [state(other), other.weight, other.weight is layer.weight]
        with parametrize.cached():
            seen.append(layer.weight is layer.weight)
        seen.append(layer.weight is layer.weight)
        parametrize.remove_parametrizations(layer, "weight")
        seen += [state(layer), type(layer).__name__, layer.weight, layer.weight.is_leaf, layer(x)]
        return seen

    both(run)


def test_assigning() -> None:
    def run(m: Any) -> Any:
        parametrize = m.nn.utils.parametrize
        layer = m.nn.Linear(3, 3)
        original = layer.weight
        parametrize.register_parametrization(layer, "weight", kinds(m).Symmetric())
        layer.weight = m.arange(9.0).view(3, 3)
        seen = [layer.weight, layer.parametrizations.weight.original, layer.parametrizations.weight.original is original]
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
        two = m.nn.Linear(3, 3)
        parametrize.register_parametrization(two, "weight", kinds(m).Product())
        two.weight = m.ones(3, 3)
        return [*seen, layer.weight is original, layer.weight, state(two)]

    both(run)


def test_two_tensors_and_a_buffer() -> None:
    def run(m: Any) -> Any:
        parametrize = m.nn.utils.parametrize
        layer = m.nn.BatchNorm1d(3)
        for name in ("weight", "running_mean"):
            parametrize.register_parametrization(layer, name, kinds(m).NoInverse())
        layer.eval()
        seen = [state(layer), layer(m.ones(2, 3))]
        parametrize.remove_parametrizations(layer, "weight")
        seen += [state(layer), parametrize.is_parametrized(layer)]
        parametrize.remove_parametrizations(layer, "running_mean")
        return [*seen, state(layer), parametrize.is_parametrized(layer), type(layer).__name__]

    both(run)


def test_training_and_loading() -> None:
    def run(m: Any) -> Any:
        parametrize = m.nn.utils.parametrize
        layer, other = m.nn.Linear(3, 3), m.nn.Linear(3, 3)
        for module in (layer, other):
            parametrize.register_parametrization(module, "weight", kinds(m).Symmetric())
        for _ in range(3):
            layer(m.ones(2, 3)).pow(2).sum().backward()
            with m.no_grad():
                for p in layer.parameters():
                    p -= 0.01 * p.grad
        other.load_state_dict(layer.state_dict())
        third = m.nn.Linear(3, 3)
        parametrize.transfer_parametrizations_and_params(layer, third)
        return [state(layer), state(other), state(third), third.weight]

    both(run)


def test_pickling_is_refused() -> None:
    def run(m: Any) -> Any:
        layer = m.nn.Linear(3, 3)
        m.nn.utils.parametrize.register_parametrization(layer, "weight", kinds(m).Symmetric())
        return pickle.dumps(layer)

    both_fail(run)


@pytest.mark.parametrize("statement", [
    "p.register_parametrization(layer, 'nothing', k.Symmetric())",
    "p.register_parametrization(layer, 'weight', k.Wrong(lambda x: 3))",
    "p.register_parametrization(layer, 'weight', k.Wrong(lambda x: x[0]))",
    "p.register_parametrization(layer, 'weight', k.Wrong(lambda x: x.double()))",
    "p.register_parametrization(layer, 'weight', k.Wrong(inverse=lambda x: 3))",
    "p.register_parametrization(layer, 'weight', k.Wrong(inverse=lambda x: (x, 3)))",
    "p.register_parametrization(layer, 'weight', k.Wrong(inverse=lambda x: x.double()))",
    "p.register_parametrization(layer, 'bias', k.Wrong(lambda x: 3))",
    "p.register_parametrization(layer, 'bias', k.Wrong(lambda x: x[:1]))",
    "p.register_parametrization(layer, 'bias', k.Wrong(lambda x: x.double()))",
    "p.register_parametrization(layer, 'bias', k.Wrong(inverse=lambda x: 3))",
    "p.register_parametrization(layer, 'bias', k.Wrong(inverse=lambda x: x.double()))",
    "p.register_parametrization(layer, 'bias', k.Wrong(inverse=lambda x: x[:1]))",
    "p.remove_parametrizations(layer, 'weight')", "setattr(layer, 'bias', m.ones(3))", "p.ParametrizationList([], layer.weight)",
    "p.remove_parametrizations(p.register_parametrization(layer, 'weight', k.Product()), 'weight', False)",
    "setattr(p.register_parametrization(layer, 'weight', k.Product()), 'weight', m.ones(3, 3).double())",
    "setattr(p.register_parametrization(layer, 'weight', k.Symmetric()), 'weight', m.ones(3, 3).double())",
])
def test_wrong_parametrizations(statement: str) -> None:
    def run(m: Any) -> Any:
        layer = m.nn.Linear(3, 3)
        m.nn.utils.parametrize.register_parametrization(layer, "bias", kinds(m).Exponential())
        return eval(statement, {"m": m, "p": m.nn.utils.parametrize, "k": kinds(m), "layer": layer})

    both_fail(run)


LAYERS = {"Linear(3, 4)": (2, 3), "Linear(3, 4, bias=False)": (2, 3), "LSTM(3, 4)": (5, 2, 3), "Conv1d(3, 4, 2)": (2, 3, 5),
          "ConvTranspose1d(3, 4, 2)": (2, 3, 5), "LayerNorm(3)": (2, 3)}
NORMS = [
    ("Linear(3, 4)", "parametrizations.weight_norm", {}),
    ("Linear(3, 4)", "parametrizations.weight_norm", {"dim": 1}),
    ("Linear(3, 4)", "parametrizations.weight_norm", {"dim": None}),
    ("Conv1d(3, 4, 2)", "parametrizations.weight_norm", {"dim": 1}),
    ("Conv1d(3, 4, 2)", "parametrizations.weight_norm", {"dim": 2}),
    ("LSTM(3, 4)", "parametrizations.weight_norm", {"name": "weight_hh_l0"}),
    ("Linear(3, 4)", "weight_norm", {}),
    ("Linear(3, 4)", "weight_norm", {"dim": None}),
    ("Conv1d(3, 4, 2)", "weight_norm", {"dim": 1}),
    ("LSTM(3, 4)", "weight_norm", {"name": "weight_hh_l0"}),
    ("Linear(3, 4)", "parametrizations.spectral_norm", {}),
    ("Linear(3, 4, bias=False)", "parametrizations.spectral_norm", {"n_power_iterations": 3, "dim": -1}),
    ("Conv1d(3, 4, 2)", "parametrizations.spectral_norm", {"eps": 1e-3}),
    ("ConvTranspose1d(3, 4, 2)", "parametrizations.spectral_norm", {}),
    ("LayerNorm(3)", "parametrizations.spectral_norm", {}),
    ("Linear(3, 4)", "spectral_norm", {}),
    ("Linear(3, 4)", "spectral_norm", {"n_power_iterations": 2, "dim": 1}),
    ("ConvTranspose1d(3, 4, 2)", "spectral_norm", {}),
]


@pytest.mark.parametrize(("constructor", "norm", "options"), NORMS)
def test_norms(constructor: str, norm: str, options: dict[str, Any]) -> None:
    def run(m: Any) -> Any:
        utils = m.nn.utils
        layer = eval(f"m.nn.{constructor}", {"m": m})
        layer = eval(f"utils.{norm}", {"utils": utils})(layer, **options)
        name = options.get("name", "weight")
        x = m.randn(*LAYERS[constructor], requires_grad=True)
        seen = [state(layer), getattr(layer, name), node_name(getattr(layer, name))]
        for mode in (True, True, False):
            layer.train(mode)
            out = layer(x)
            out = out[0] if isinstance(out, tuple) else out
            seen += [out, m.autograd.grad((out ** 3).sum(), [x, *layer.parameters()]), state(layer)]
        # A weight that a hook computed has a history and cannot be copied, nor a recurrent layer that holds one.
        other = copy.deepcopy(layer) if norm.startswith("param") and "LSTM" not in constructor else layer
        other.load_state_dict(other.state_dict())
        seen.append(state(other))
        if norm.startswith("param"):
            utils.parametrize.remove_parametrizations(layer, name)
        else:
            getattr(utils, f"remove_{norm}")(layer, name)
        return [*seen, state(layer), getattr(layer, name), len(layer._forward_pre_hooks)]

    both(run, rtol=2e-4)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_second_derivative_of_weight_norm(dim: int) -> None:
    """torch's own kernel takes the norm for a constant here, and fails gradgradcheck; its formula does not."""
    def run(m: Any) -> Any:
        v = m.randn(3, 4, dtype=m.float64, requires_grad=True)
        g = m.norm_except_dim(v, 2, dim).detach().requires_grad_()
        w = v * (g / m.norm_except_dim(v, 2, dim)) if m is torch else m._weight_norm(v, g, dim)
        first = m.autograd.grad((w ** 3).sum(), [v, g], create_graph=True)
        return [w, first, m.autograd.grad(sum((t ** 2).sum() for t in first), [v, g])]

    both(run, rtol=1e-9)


def test_checkpoints_of_the_older_weight_norm() -> None:
    def run(m: Any) -> Any:
        old = m.nn.utils.weight_norm(m.nn.Linear(3, 4))
        new = m.nn.utils.parametrizations.weight_norm(m.nn.Linear(3, 4))
        found = repr(new.load_state_dict(old.state_dict()))
        return [found, state(new), new.weight, old.state_dict()._metadata]

    both(run)


@pytest.mark.parametrize("statement", [
    "u.remove_weight_norm(m.nn.Linear(2, 2))", "u.remove_spectral_norm(m.nn.Linear(2, 2))",
    "u.weight_norm(u.weight_norm(m.nn.LSTM(2, 2), 'weight_hh_l0'), 'weight_hh_l0')",
    "u.spectral_norm(m.nn.Linear(2, 2), n_power_iterations=0)",
    "u.spectral_norm(u.spectral_norm(m.nn.Linear(2, 2)))", "u.spectral_norm(m.nn.Linear(2, 2, bias=False), 'bias')",
    "u.weight_norm(m.nn.LazyLinear(2))", "u.spectral_norm(m.nn.LazyLinear(2))",
    "u.parametrizations.spectral_norm(m.nn.Linear(2, 2), dim=2)", "u.parametrizations.spectral_norm(m.nn.Linear(2, 2), 'abc')",
    "u.parametrizations.spectral_norm(m.nn.Linear(2, 2), n_power_iterations=0)",
    "u.spectral_norm(m.nn.Linear(2, 2)).load_state_dict({})",
])
def test_errors(statement: str) -> None:
    same_error(*[lambda m=m: eval(statement, {"m": m, "u": m.nn.utils}) for m in (torch, whygrad)])


@pytest.mark.parametrize("options", [{}, {"orthogonal_map": "cayley"}, {"orthogonal_map": "matrix_exp"},
                                     {"orthogonal_map": "householder"},
                                     {"orthogonal_map": "matrix_exp", "use_trivialization": False},
                                     {"orthogonal_map": "householder", "use_trivialization": False}])
@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (4, 2)])
def test_orthogonal(options: dict[str, Any], sizes: tuple[int, int]) -> None:
    def run(m: Any) -> Any:
        layer = m.nn.utils.parametrizations.orthogonal(m.nn.Linear(*sizes, dtype=m.float64), **options)
        x = m.randn(3, sizes[0], dtype=m.float64)
        seen = [state(layer), layer.weight]
        for _ in range(2):
            loss = (layer(x) ** 3).sum()
            grads = m.autograd.grad(loss, list(layer.parameters()))
            seen += [loss, grads]
            with m.no_grad():
                for p, g in zip(layer.parameters(), grads, strict=True):
                    p -= 0.01 * g
        wide = layer.weight.mT if sizes[0] > sizes[1] else layer.weight
        seen += [layer.weight, (wide.mT @ wide).round(decimals=6)]
        m.nn.utils.parametrize.remove_parametrizations(layer, "weight")
        return [*seen, state(layer)]

    both(run, rtol=1e-7)


@pytest.mark.parametrize("statement", [
    "o(m.nn.Linear(2, 2), 'abc')", "o(m.nn.Linear(2, 2), 'bias')", "o(m.nn.Linear(2, 2), orthogonal_map='abc')",
    "setattr(o(m.nn.Linear(2, 2)), 'weight', m.ones(3, 2))",
    "setattr(o(m.nn.Linear(2, 2), use_trivialization=False), 'weight', m.eye(2))",
])
def test_wrong_orthogonal(statement: str) -> None:
    both_fail(lambda m: eval(statement, {"m": m, "o": m.nn.utils.parametrizations.orthogonal}))
