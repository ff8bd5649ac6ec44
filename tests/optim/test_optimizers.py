"""Every optimizer with every option: 100 steps on the same problem from the same start, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import whygrad
from whygrad import optim
from whygrad.optim import elementwise

WEIGHT_DECAY = {"weight_decay": 0.05}
MAXIMIZE = {"maximize": True, "weight_decay": 0.05}
DECOUPLED = {"weight_decay": 0.05, "decoupled_weight_decay": True}

CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"lr": 0.05, **WEIGHT_DECAY}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, **WEIGHT_DECAY}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, **MAXIMIZE}),
    ("SGD", {"lr": 0.05, "foreach": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "fused": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "betas": (0.7, 0.95), "eps": 1e-6, **WEIGHT_DECAY}),
    ("Adam", {"lr": 0.05, "betas": (0.3, 0.4)}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("Adam", {"lr": 0.05, **MAXIMIZE}),
    ("Adam", {"lr": 0.05, "amsgrad": True, **DECOUPLED}),
    ("Adam", {"lr": 0.05, "fused": True, **WEIGHT_DECAY}),
    ("Adam", {"lr": 0.05, "foreach": True, "amsgrad": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.05, "betas": (0.8, 0.9), **MAXIMIZE}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.05, "momentum_decay": 0.1, **WEIGHT_DECAY}),
    ("NAdam", {"lr": 0.05, "maximize": True, **DECOUPLED}),
    ("RAdam", {}),
    ("RAdam", {"lr": 0.05, "betas": (0.8, 0.9), **MAXIMIZE}),
    ("RAdam", {"lr": 0.05, **DECOUPLED}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.02, "initial_accumulator_value": 0.3, "eps": 1e-4, **MAXIMIZE}),
    ("Adagrad", {"lr": 0.1, "fused": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-3, **MAXIMIZE}),
    ("RMSprop", {}),
    ("RMSprop", {"alpha": 0.9, "momentum": 0.5, **WEIGHT_DECAY}),
    ("RMSprop", {"alpha": 0.4, "centered": True, "maximize": True}),
    ("RMSprop", {"centered": True, "momentum": 0.9, "eps": 1e-3}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.2), "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.05, "t0": 20, "lambd": 0.01, "alpha": 0.5, **MAXIMIZE}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.1, "beta2_decay": -0.5, "eps": (1e-6, 1e-2), "d": 1.5, **MAXIMIZE}),
]

SHAPES = [(4, 3), (5,), ()]
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-6, np.complex64: 2e-5, np.complex128: 1e-6}


def label(case: Any) -> str:
    return str(case) if isinstance(case, str) else ",".join(f"{key}={value}" for key, value in case.items())


def numbers(shape: tuple[int, ...], dtype: Any, rng: np.random.Generator) -> np.ndarray:
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values, dtype)


def both(arrays: list[np.ndarray]) -> tuple[list[torch.Tensor], list[whygrad.Tensor]]:
    return ([torch.tensor(a).requires_grad_() for a in arrays],
            [whygrad.from_numpy(a.copy()).requires_grad_() for a in arrays])


def set_gradients(theirs: list[torch.Tensor], ours: list[whygrad.Tensor], rng: np.random.Generator) -> None:
    """The gradient of a noisy bowl, computed from torch's parameters for both, so that only the step is compared."""
    for a, b in zip(theirs, ours, strict=True):
        g = a.detach().numpy() * 0.7 + numbers(tuple(a.shape), b._array.dtype, rng)
        a.grad = torch.tensor(g)
        b.grad = whygrad.from_numpy(np.array(g))


def assert_close(theirs: Any, ours: Any, rtol: float, where: str) -> None:
    assert tuple(theirs.shape) == tuple(ours.shape), where
    assert str(theirs.dtype) == str(ours.dtype), where
    np.testing.assert_allclose(ours._array, theirs.detach().numpy(), rtol=rtol, atol=rtol, err_msg=where)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=label)
def test_hundred_steps(name: str, options: dict[str, Any], dtype: Any) -> None:
    rng = np.random.default_rng(0)
    theirs, ours = both([numbers(shape, dtype, rng) for shape in SHAPES])
    a = getattr(torch.optim, name)(theirs, **options)
    b = getattr(optim, name)(ours, **options)
    assert repr(b) == repr(a)
    for _ in range(100):
        set_gradients(theirs, ours, rng)
        a.step()
        b.step()
    for p, q in zip(theirs, ours, strict=True):
        assert_close(p, q, TOLERANCE[dtype], "parameter")
        assert set(a.state[p]) == set(b.state[q])
        for key, value in a.state[p].items():
            assert_close(value, b.state[q][key], TOLERANCE[dtype], key)


@pytest.mark.parametrize(("name", "options"), [
    (name, options) for name, options in CASES if not options.get("fused") and name != "Adafactor"], ids=label)
def test_complex_parameters(name: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    theirs, ours = both([numbers(shape, np.complex128, rng) for shape in SHAPES])
    a = getattr(torch.optim, name)(theirs, **{**options, "foreach": False})
    b = getattr(optim, name)(ours, **options)
    for _ in range(20):
        set_gradients(theirs, ours, rng)
        a.step()
        b.step()
    for p, q in zip(theirs, ours, strict=True):
        assert_close(p, q, 1e-9, "parameter")
        for key, value in a.state[p].items():
            assert_close(value, b.state[q][key], 1e-7, key)


@pytest.mark.parametrize(("name", "options"), CASES, ids=label)
def test_large_and_strided_parameters(name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks, with a rest; and without blocks when memory is not contiguous."""
    monkeypatch.setattr(elementwise, "BLOCK", 16)
    rng = np.random.default_rng(2)
    plain = numbers((7, 11), np.float64, rng)
    theirs, ours = both([plain, plain])
    ours[1].data = whygrad.from_numpy(np.asfortranarray(plain))
    a = getattr(torch.optim, name)(theirs, **options)
    b = getattr(optim, name)(ours, **options)
    for _ in range(10):
        set_gradients(theirs, ours, rng)
        a.step()
        b.step()
    assert ours[1]._array.flags.f_contiguous
    for p, q in zip(theirs, ours, strict=True):
        assert_close(p, q, 1e-9, "parameter")


# torch rounds float16, and short bfloat16, at other places than we do: how far the results may be apart, as a share of the way
# that the parameters went. A few of the dtype's digits: one has 10 binary places, the other 7.
APART = {"float16": 0.01, "bfloat16": 0.02}
CENTERED = 0.03  # a difference of averages, in which digits cancel
HALF_CASES = [case for case in CASES if not case[1].get("fused")]


def five_steps(package: Any, module: Any, name: str, options: dict[str, Any], dtype: str) -> tuple[Any, Any, Any]:
    """Before, after, and the optimizer. The parameters are small, so that short steps are not rounded away."""
    rng = np.random.default_rng(3)
    start = module.tensor((0.01 * rng.standard_normal((4, 3))).tolist(), dtype=getattr(module, dtype))
    gradient = rng.uniform(0.4, 2, (4, 3)) * rng.choice([-1, 1], (4, 3))
    p = start.clone().requires_grad_()
    optimizer = getattr(package, name)([p], **options)
    for _ in range(5):
        p.grad = module.tensor(gradient.tolist(), dtype=p.dtype)
        optimizer.step()
    return start, p, optimizer


def is_near(start: Any, theirs: Any, ours: Any, share: float) -> bool:
    """Whether two results are apart by no more than a share of the way from the start to them."""
    way = (theirs.detach() - start).float().abs().max().item()
    assert 0 < way < float("inf")
    apart = np.abs(np.array(theirs.tolist()) - np.array(ours.tolist())).max()
    return bool(apart <= share * way)


@pytest.mark.parametrize(("name", "options"), HALF_CASES, ids=label)
@pytest.mark.parametrize("dtype", APART)
def test_half_precision(name: str, options: dict[str, Any], dtype: str) -> None:
    start, p, a = five_steps(torch.optim, torch, name, options, dtype)
    _, q, b = five_steps(optim, whygrad, name, options, dtype)
    assert str(p.dtype) == str(q.dtype)
    assert is_near(start, p, q, CENTERED if options.get("centered") else APART[dtype])
    assert not is_near(start, p, start, 0.5), "an optimizer that does nothing would pass"
    for key, value in a.state[p].items():
        assert str(b.state[q][key].dtype) == str(value.dtype), key


ROUNDED_ALIKE = [("SGD", {"lr": 0.1, "momentum": 0.9}),
                 ("SGD", {"lr": 0.1, "momentum": 0.5, "nesterov": True, "weight_decay": 0.3}),
                 ("Adam", {"lr": 0.1}), ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}), ("AdamW", {"lr": 0.1}),
                 ("NAdam", {"lr": 0.1}), ("Adamax", {"lr": 0.1}), ("Adagrad", {"lr": 0.1}), ("RMSprop", {"lr": 0.1}),
                 ("ASGD", {"lr": 0.1})]


@pytest.mark.parametrize(("name", "options"), ROUNDED_ALIKE, ids=label)
def test_bfloat16_is_rounded_after_each_op(name: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(6)
    start = rng.normal(size=256).tolist()  # enough for torch's vector code, which rounds otherwise than what is left over
    p, q = [m.tensor(start, dtype=m.bfloat16, requires_grad=True) for m in (torch, whygrad)]
    a, b = getattr(torch.optim, name)([p], **options), getattr(optim, name)([q], **options)
    for _ in range(4):
        gradient = rng.normal(size=256).tolist()
        for m, t, optimizer in ((torch, p, a), (whygrad, q, b)):
            t.grad = m.tensor(gradient, dtype=m.bfloat16)
            optimizer.step()
    assert q.tolist() == p.tolist()


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Rprop"])
def test_tensor_learning_rate(name: str) -> None:
    rng = np.random.default_rng(5)
    theirs, ours = both([numbers((3,), np.float64, rng)])
    a = getattr(torch.optim, name)(theirs, lr=torch.tensor(0.05))
    b = getattr(optim, name)(ours, lr=whygrad.tensor(0.05))
    for _ in range(10):
        set_gradients(theirs, ours, rng)
        a.step()
        b.step()
    assert_close(theirs[0], ours[0], 1e-6, "parameter")
    assert repr(a) == repr(b)


def test_parameters_without_gradient_are_left_alone() -> None:
    p, q = whygrad.tensor([1.0], requires_grad=True), whygrad.tensor([1.0], requires_grad=True)
    q.grad = whygrad.tensor([1.0])
    optimizer = optim.Adam([p, q], lr=0.5)
    optimizer.step()
    assert p._array.tolist() == [1.0]
    np.testing.assert_allclose(q._array, [0.5], rtol=1e-6)
    assert list(optimizer.state) == [q]


@pytest.mark.parametrize("momentum", [0, 0.9])
def test_sgd_has_state_only_with_momentum(momentum: float) -> None:
    states = []
    for package, tensor in ((torch.optim, torch.tensor), (optim, whygrad.tensor)):
        p = tensor([1.0], requires_grad=True)
        p.grad = tensor([1.0])
        optimizer = package.SGD([p], momentum=momentum)
        optimizer.step()
        states.append({key: list(value) for key, value in optimizer.state_dict()["state"].items()})
    assert states[0] == states[1]


def test_options_of_groups() -> None:
    rng = np.random.default_rng(6)
    theirs, ours = both([numbers((3,), np.float64, rng) for _ in range(3)])
    a = torch.optim.Adam([{"params": theirs[0]}, {"params": theirs[1:], "lr": 0.1, "weight_decay": 0.1}], lr=0.01)
    b = optim.Adam([{"params": ours[0]}, {"params": ours[1:], "lr": 0.1, "weight_decay": 0.1}], lr=0.01)
    assert repr(a) == repr(b)
    for _ in range(10):
        set_gradients(theirs, ours, rng)
        a.step()
        b.step()
    for p, q in zip(theirs, ours, strict=True):
        assert_close(p, q, 1e-9, "parameter")


def test_step_counts_a_version_at_the_users_line() -> None:
    p = whygrad.tensor([2.0], requires_grad=True)
    loss = (p * p).sum()
    p.grad = whygrad.tensor([1.0])
    optim.SGD([p], lr=0.1).step()
    assert p._version == 1
    assert p._version_counter.site[0].co_name == "test_step_counts_a_version_at_the_users_line"
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_closure_runs_with_gradients() -> None:
    p = whygrad.tensor([2.0], requires_grad=True)
    optimizer = optim.SGD([p], lr=0.1)

    def closure() -> whygrad.Tensor:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with whygrad.no_grad():
        loss = optimizer.step(closure)
        assert not whygrad.is_grad_enabled()
    assert loss._array == 4.0
    np.testing.assert_allclose(p._array, [1.6], rtol=1e-6)


DIFFERENTIABLE = [(name, options) for name, options in CASES
                  if not options.get("fused") and not options.get("foreach") and name not in ("Rprop", "Adafactor")]


@pytest.mark.parametrize(("name", "options"), DIFFERENTIABLE, ids=label)
def test_gradient_through_two_steps(name: str, options: dict[str, Any]) -> None:
    """The gradient of the result with respect to the start, when the gradients given to the optimizer depend on it."""
    start = numbers((4,), np.float64, np.random.default_rng(7))
    p, g = through_two_steps(whygrad, whygrad.from_numpy(start.copy()).requires_grad_(), name, options)
    theirs = torch.tensor(start).requires_grad_()
    if name == "Adamax" or options.get("amsgrad") or options.get("centered"):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            through_two_steps(torch, theirs, name, options)
        np.testing.assert_allclose(g._array, slope_of_two_steps(start, name, options), rtol=1e-4, atol=1e-7)
        return
    their_p, their_g = through_two_steps(torch, theirs, name, options)
    # torch corrects the averages for their start in float32 here.
    np.testing.assert_allclose(p._array, their_p.detach().numpy(), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(g._array, their_g.numpy(), rtol=1e-4)


def through_two_steps(library: Any, x: Any, name: str, options: dict[str, Any]) -> tuple[Any, Any]:
    p = x.clone()
    optimizer = getattr(library.optim, name)([p], **{**options, "differentiable": True})
    for factor in (1.0, 1.5):
        p.retain_grad()
        p.grad = x * x * factor
        optimizer.step()
    (p * p).sum().backward()
    return p, x.grad


def slope_of_two_steps(start: np.ndarray, name: str, options: dict[str, Any]) -> np.ndarray:
    """The same gradient by differences, where torch overwrites what its own backward needs."""
    def loss(x: np.ndarray) -> float:
        p = whygrad.from_numpy(x.copy()).requires_grad_()
        optimizer = getattr(optim, name)([p], **options)
        for factor in (1.0, 1.5):
            p.grad = whygrad.from_numpy(x * x * factor)
            optimizer.step()
        return float((p._array**2).sum())

    h = 1e-6
    return np.array([(loss(start + h * e) - loss(start - h * e)) / (2 * h) for e in np.eye(len(start))])


def test_gradient_of_the_learning_rate() -> None:
    grads = []
    for library in (torch, whygrad):
        lr = library.tensor(0.1, requires_grad=True)
        p = library.tensor([1.0, 2.0], requires_grad=True).clone()
        p.retain_grad()
        p.grad = library.tensor([0.5, -1.0])
        library.optim.SGD([p], lr=lr, differentiable=True).step()
        (p * p).sum().backward()
        grads.append(float(lr.grad))
    assert grads[0] == pytest.approx(grads[1])
