"""torch.utils.flop_counter and torch.utils.module_tracker."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.utils.flop_counter
import torch.utils.module_tracker

import whygrad
import whygrad.utils.flop_counter
import whygrad.utils.module_tracker


def leaf(t: ModuleType, *shape: int) -> Any:
    return t.randn(*shape, requires_grad=True)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "mm": lambda t: leaf(t, 4, 8) @ leaf(t, 8, 6),
    "one gradient": lambda t: t.randn(4, 8) @ leaf(t, 8, 6),
    "vector": lambda t: leaf(t, 4, 8) @ t.randn(8),
    "linear": lambda t: t.nn.functional.linear(leaf(t, 4, 8), leaf(t, 6, 8), t.ones(6)),
    "stacked rows": lambda t: t.nn.functional.linear(leaf(t, 2, 4, 8), leaf(t, 6, 8)),
    "batch": lambda t: leaf(t, 2, 3, 4, 8) @ t.randn(2, 3, 8, 3),
    "einsum": lambda t: t.einsum("bij,bjk->bik", leaf(t, 2, 3, 4), leaf(t, 2, 4, 5)),
    "addmm": lambda t: t.addmm(t.ones(6), leaf(t, 4, 8), leaf(t, 8, 6)),
    "baddbmm": lambda t: t.baddbmm(t.ones(3), leaf(t, 2, 4, 8), t.randn(2, 8, 3)),
    "conv": lambda t: t.nn.Conv2d(3, 8, 3, padding=1)(t.randn(2, 3, 8, 8)),
    "groups": lambda t: t.nn.Conv2d(4, 8, 3, groups=2)(leaf(t, 2, 4, 8, 8)),
    "transposed": lambda t: t.nn.ConvTranspose2d(4, 8, 3)(leaf(t, 2, 4, 8, 8)),
    "model": lambda t: t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Linear(8, 2))(t.randn(3, 4)),
    "encoder": lambda t: t.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(t.randn(2, 3, 8)),
    "meta": lambda t: t.nn.Linear(4, 8, device="meta")(t.empty(3, 4, device="meta")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts(name: str) -> None:
    counted = []
    for t in (torch, whygrad):
        counter = t.utils.flop_counter.FlopCounterMode(display=False)
        with counter:
            PROGRAMS[name](t).sum().backward()
        # torch counts the products of some stacked rows with a bias as mm, others as addmm.
        sums = {module: sum(counts.values()) for module, counts in counter.get_flop_counts().items()}
        counted.append((counter.get_total_flops(), sums, None if name == "encoder" else {
            str(op): number for op, number in counter.get_flop_counts()["Global"].items()}))
    assert counted[1] == counted[0]


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    model = whygrad.nn.Sequential(whygrad.nn.Linear(4, 8), whygrad.nn.Linear(8, 2))
    with whygrad.utils.flop_counter.FlopCounterMode():
        model(whygrad.randn(3, 4))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["Sequential.0", "192.000", "66.67%"] in lines
    assert ["Global", "288.000", "100.00%"] in lines


@pytest.mark.parametrize("lib", [torch, whygrad], ids=["torch", "whygrad"])
def test_modules_that_run(lib: Any) -> None:
    seen: list[Any] = []
    tracker = lib.utils.module_tracker.ModuleTracker()

    class Inner(lib.nn.Linear):  # type: ignore[name-defined, misc]
        def forward(self, x: Any) -> Any:
            out = super().forward(x)
            seen.append((sorted(tracker.parents), tracker.is_bw))
            out.register_hook(lambda g: seen.append((sorted(tracker.parents), tracker.is_bw)))
            return out.tanh()

    model = lib.nn.Sequential(Inner(2, 2), Inner(2, 2))
    with tracker:
        model(lib.randn(1, 2)).sum().backward()
    names = [["Global", "Sequential", f"Sequential.{i}"] for i in (0, 1)]
    assert seen == [(names[0], False), (names[1], False), (names[1], True), (names[0], True)]
    assert tracker.parents == {"Global"}
