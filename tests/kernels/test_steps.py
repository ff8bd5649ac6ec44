"""Steps of optimizers by kernels against the same steps by NumPy."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest
from kernel_checks import with_threads

import whygrad
from whygrad import kernels
from whygrad.kernels import host, steps
from whygrad.kernels.options import compile_guarded

OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("Adam", {}), ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("AdamW", {"maximize": True}), ("Adamax", {}), ("NAdam", {}),
    ("RAdam", {}), ("Adagrad", {"lr_decay": 0.1}), ("Adadelta", {}), ("ASGD", {}), ("RMSprop", {"centered": True}),
    ("Rprop", {}), ("SGD", {}), ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
]


def parameters_after(name: str, options: dict[str, Any]) -> tuple[Any, int]:
    """After a few steps with changing learning rates; and how many kernels were asked for."""
    rng = np.random.default_rng(0)
    p = whygrad.tensor(rng.standard_normal((30, 7)).astype("f4"), requires_grad=True)
    optimizer = getattr(whygrad.optim, name)([p], lr=0.1, **options)
    before = host.counted[0]
    for lr in (0.1, 0.1, 0.05, 0.0, 0.2, 0.1):
        optimizer.param_groups[0]["lr"] = lr
        p.grad = whygrad.tensor(rng.standard_normal((30, 7)).astype("f4"))
        optimizer.step()
    return p.detach().numpy(), host.counted[0] - before


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_like_numpy(name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "is_hot", lambda size: False)
    expected, _ = parameters_after(name, options)
    monkeypatch.setattr(kernels, "is_hot", lambda size: True)
    found, native = parameters_after(name, options)
    assert native >= 6
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("pure", [False, True])
def test_other_numbers_are_the_same_kernel(pure: bool) -> None:
    def update(xp: Any, numbers: Any, p: Any, g: Any) -> None:
        p -= numbers["lr"] * g

    first, second = (steps.make_step(update, {"lr": lr}, 2, pure=pure) for lr in (0.5, 0.25))
    assert first is not None
    assert second is not None
    assert first.function is second.function
    assert (first.values, second.values) == ([0.5], [0.25])


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_update_is_not_traced_at_every_step(name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "is_hot", lambda size: True)
    parameters_after(name, options)
    monkeypatch.setattr(steps, "_traced", None)  # all ways were met above
    _, native = parameters_after(name, options)
    assert native >= 6


def test_other_options_lead_another_way() -> None:
    def update(xp: Any, numbers: Any, p: Any, g: Any) -> None:
        if numbers.get("decay", 0) != 0 and not numbers["plain"]:
            p *= 1 - numbers["rates"][0] * numbers["decay"]
        p += -numbers["rates"][-1] * g if numbers["rates"][0] > 0.5 else g

    def values(**options: Any) -> tuple[list[float], Any]:
        step = steps.make_step(update, options, 2, pure=True)
        assert step is not None
        return step.values, step.function

    (short, kernel), (long, other) = values(rates=(1, 2), plain=True), values(rates=(1, 2), plain=False, decay=0.25)
    assert (short, long) == ([-2.0], [0.75, -2.0])
    assert values(rates=(1, 4), plain=True, decay=0.25) == ([-4.0], kernel)
    assert values(rates=(1, 4, 8), plain=False, decay=0.0) == ([-8.0], kernel)
    assert values(rates=(2, 4), plain=False, decay=0.125) == ([0.75, -4.0], other)
    assert values(rates=(0.5, 4), plain=True)[0] == []


def test_numbers_that_lose_their_origin_are_not_remembered() -> None:
    def update(xp: Any, numbers: Any, p: Any, g: Any) -> None:
        p -= math.sqrt(numbers["lr"]) * g

    assert steps.make_step(update, {"lr": 4.0}, 2, pure=True) is None
    made = [steps.make_step(update, {"lr": lr}, 2, pure=False) for lr in (4.0, 9.0)]
    assert [step and step.values for step in made] == [[2.0], [3.0]]


@pytest.mark.parametrize("compute", [
    lambda o: (-2) ** o["step"], lambda o: -o["step"] ** 2, lambda o: 3 - (1 - o["step"]), lambda o: -(2 - o["step"]) / -4,
    lambda o: 2.0 ** -o["step"], lambda o: (o["step"] - math.inf) * -1])
def test_scalars_are_computed_as_python_does(compute: Any) -> None:
    tracer = steps.StepTracer({"step": 3.0}, pure=True)
    scalars = compile_guarded([compute(tracer.options)], tracer.options.guards)
    for step in (3.0, 2.0, 0.5 + 1.5):
        assert scalars({"step": step}) == [compute({"step": step})]


def test_an_update_of_ones_own_may_use_what_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "is_hot", lambda size: True)

    class Scaled(whygrad.optim.Adam):
        scale = 1.0

        def update(self, xp: Any, p: Any, g: Any, numbers: Any, *buffers: Any) -> None:  # type: ignore[override]
            p -= numbers["lr"] * self.scale * g

    p = whygrad.zeros(64, 64, requires_grad=True)
    optimizer = Scaled([p], lr=1.0)
    for Scaled.scale in (1.0, 2.0, 4.0):
        p.grad = whygrad.ones(64, 64)
        optimizer.step()
    assert whygrad.equal(p.detach(), whygrad.full((64, 64), -7.0))
    gone = weakref.ref(optimizer)
    del optimizer
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("update", [
    lambda xp, numbers, p, g: p.__setitem__(0, g), lambda xp, numbers, p, g: p.__iadd__(g.sum()),
    lambda xp, numbers, p, g: p if p > 0 else g, lambda xp, numbers, p, g: p.__iadd__(np.ones(3)),
], ids=["a part", "a sum", "a branch", "another array"])
def test_what_cannot_be_written_down(update: Any) -> None:
    assert steps.make_step(update, {}, 2, pure=True) is None


def add_scaled(xp: Any, numbers: Any, p: Any, g: Any) -> None:
    p += numbers["lr"] * g


def made_step() -> Any:
    step = steps.make_step(add_scaled, {"lr": 0.5}, 2, pure=True)
    assert step is not None
    return step


@pytest.mark.parametrize("count", [1, 2, 3])
def test_many_parameters_of_all_sizes(count: int) -> None:
    rng = np.random.default_rng(0)
    sizes = [0, 1, 63, 64, 65, 100_001, 7, *rng.integers(0, 3000, 90)]
    parameters, gradients = ([rng.standard_normal(n).astype("f4") for n in sizes] for _ in range(2))
    wanted = [p + np.float32(0.5) * g for p, g in zip(parameters, gradients, strict=True)]
    arrays = [x for pair in zip(parameters, gradients, strict=True) for x in pair]
    assert with_threads(count, lambda: made_step()(arrays)) == len(sizes)
    for found, expected in zip(parameters, wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def fixed() -> Any:
    array = np.zeros(50, "f4")
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("wrong", [
    (fixed(), np.ones(50, "f4")), (np.zeros((2, 50), "f4").T, np.ones((50, 2), "f4")), (np.zeros(50), np.ones(50)),
    (np.zeros(50, "f4"), np.ones(49, "f4")), (np.zeros(50, "f4"), np.ones(100, "f4")[::2]), (np.zeros(50, "f4"), None),
], ids=["read-only", "transposed", "float64", "another size", "scattered", "no array"])
def test_it_stops_at_what_does_not_suit(wrong: Any) -> None:
    good = [np.zeros(20, "f4"), np.ones(20, "f4")]
    after = [np.zeros(20, "f4"), np.ones(20, "f4")]
    assert made_step()([*good, *wrong, *after]) == 1
    assert (good[0] == 0.5).all()
    assert not after[0].any()
    assert not np.any(wrong[0])
    assert made_step()([np.zeros(20, "f4"), good[1], good[0], fixed()[:20]]) == 2  # what is read may be read-only


def test_parameters_that_share_memory_take_turns() -> None:
    def double_and_add(xp: Any, numbers: Any, p: Any, g: Any) -> None:
        p *= 2.0
        p += g

    memory, ones = np.zeros(30_000, "f4"), np.ones(20_000, "f4")
    step = steps.make_step(double_and_add, {}, 2, pure=True)
    assert step is not None
    assert step([memory[:20_000], ones, memory[10_000:], ones]) == 2
    assert [float(memory[i]) for i in (0, 10_000, 19_999, 20_000)] == [1, 3, 3, 1]
    first, second = np.zeros(3_000_000, "f4"), np.zeros(3_000_000, "f4")
    for turn in range(1, 7):  # the gradient of the second is the first
        assert step([first, np.ones_like(first), second, first]) == 2
        assert (first == 2**turn - 1).all()
    assert np.unique(second).tolist() == [sum(2**(6 - turn) * (2**turn - 1) for turn in range(1, 7))]


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_parameters_of_all_kinds_in_one_group(name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Some not for kernels, one without a gradient, one that joins later."""
    def run(hot: bool) -> list[Any]:
        monkeypatch.setattr(kernels, "is_hot", lambda size: hot)
        rng = np.random.default_rng(0)
        parameters = [whygrad.tensor(rng.standard_normal(shape).astype(dtype), requires_grad=True)
                      for shape, dtype in (((5, 3), "f4"), ((4,), "f8"), ((3, 5), "f4"), ((6,), "f4"), ((2, 2), "f4"))]
        parameters[2] = parameters[2].detach().t().requires_grad_()
        optimizer = getattr(whygrad.optim, name)(parameters, lr=0.1, **options)
        for turn in range(4):
            for i, p in enumerate(parameters):
                gradient = whygrad.tensor(rng.standard_normal(p.shape).astype(p.detach().numpy().dtype))
                p.grad = None if (i == 3 and turn % 2) or (i == 4 and turn < 2) else gradient
            optimizer.step()
        return [(p.detach().numpy(), p._version) for p in parameters]

    for (found, version), (expected, same) in zip(run(True), run(False), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-7)
        assert version == same
