"""`whygrad.flow(model)` records the norm of each parameter's gradient at every backward; `whygrad.plot_flow(model)` draws it."""

from __future__ import annotations

import math
import weakref
from typing import Any, Self

from whygrad.why.engine import count_backwards, grad_of
from whygrad.why.graph_snapshot import measure

_recorders: weakref.WeakKeyDictionary[Any, Flow] = weakref.WeakKeyDictionary()

# Backward passes kept. Beyond it, every second one is dropped, and only every second one is recorded from then on.
MAX_STEPS = 4096


class Flow:
    """The norms of a model's accumulated gradients after each backward, until `stop()` or the end of a `with` block.
    """

    def __init__(self, model: Any) -> None:
        self.names = [name for name, _ in model.named_parameters()]
        # Number of the backward -> norm by parameter (nan or inf where the gradient is).
        self._steps: dict[int, dict[str, float]] = {}
        self._every, self._count, self._last = 1, 0, -1
        self._handles = [p.register_post_accumulate_grad_hook(self._recorder(name))
                         for name, p in model.named_parameters() if p.requires_grad]

    def _recorder(self, name: str) -> Any:
        def record_norm(p: Any) -> None:
            number = count_backwards()
            if number != self._last:
                self._last = number
                self._count += 1
            if (self._count - 1) % self._every:
                return
            stats = measure(grad_of(p))
            if stats is not None:
                self._steps.setdefault(number, {})[name] = stats.norm
            if len(self._steps) > MAX_STEPS:
                self._steps = {n: self._steps[n] for n in list(self._steps)[::2]}
                self._every *= 2

        return record_norm

    def __len__(self) -> int:
        """Number of recorded backward passes."""
        return len(self._steps)

    @property
    def norms(self) -> dict[str, list[float | None]]:
        """By parameter: the norm at each recorded backward, None where it got no gradient."""
        return {name: [step.get(name) for step in self._steps.values()] for name in self.names}

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<flow of {len(self.names)} parameters over {len(self)} backwards>"


def flow(model: Any) -> Flow:
    """Record the norms of the gradients of a model's parameters from now on."""
    earlier = _recorders.get(model)
    if earlier is not None:
        earlier.stop()
    recorder = _recorders[model] = Flow(model)
    return recorder


def plot_flow(model: Any, ax: Any = None) -> Any:
    """Draw the gradient norms of a model's parameters, and return the matplotlib axes.

    If `whygrad.flow(model)` was called before training: all backward passes since, one row for each parameter, darker for
    a larger gradient, marked where it is zero or not finite, empty where there was none. Otherwise: the present gradients,
    one bar for each parameter. `model` may also be the object that `flow()` returned.
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot_flow() draws with matplotlib, which is not installed: pip install 'whygrad[plot]'") from error
    recorder = model if isinstance(model, Flow) else _recorders.get(model)
    if recorder is not None and len(recorder):
        norms = recorder.norms
    else:
        norms = {name: [None if grad_of(p) is None else measure(grad_of(p)).norm]  # type: ignore[union-attr]
                 for name, p in getattr(model, "named_parameters", list)()}
    if not any(x is not None for row in norms.values() for x in row):
        raise ValueError("there is nothing to draw: no parameter has a gradient. Call whygrad.flow(model) before training to "
                         "record every step, or plot_flow(model) after a backward().")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(8, max(2.2, 0.28 * len(norms) + 1.2)), layout="constrained")
    (_draw_steps if max(map(len, norms.values())) > 1 else _draw_bars)(ax, norms)
    ax.set_yticks(range(len(norms)), list(norms), fontsize=8)
    return ax


def _draw_bars(ax: Any, norms: dict[str, list[float | None]]) -> None:
    values = [row[0] for row in norms.values()]
    fine = [x for x in values if x is not None and 0 < x < math.inf]
    ax.barh(range(len(values)), [x if x in fine else 0 for x in values], color="#1f6fb2", height=0.6)
    if fine:
        ax.set_xscale("log")
        ax.set_xlim(min(fine) / 3, max(fine) * 3)
    for i, x in enumerate(values):
        text = "None" if x is None else "zero" if x == 0 else "" if x < math.inf else "not finite"
        if text:
            ax.text(0.01, i, text, transform=ax.get_yaxis_transform(), va="center", fontsize=8, color="#c2255c")
    ax.invert_yaxis()
    ax.set_xlabel("norm of the gradient")


def _draw_steps(ax: Any, norms: dict[str, list[float | None]]) -> None:
    import numpy as np

    values = np.array([[math.nan if x is None else x for x in row] for row in norms.values()], dtype=float)
    fine = np.isfinite(values) & (values > 0)
    logs = np.full(values.shape, np.nan)
    logs[fine] = np.log10(values[fine])
    image = ax.imshow(logs, aspect="auto", interpolation="nearest", cmap="Blues")
    missing = np.array([[x is None for x in row] for row in norms.values()])
    for where, mark, label in ((values == 0, "_", "zero"), (~np.isfinite(values) & ~missing, "x", "not finite")):
        rows, columns = np.nonzero(where)
        if len(rows):
            ax.scatter(columns, rows, marker=mark, s=16, color="#c2255c", label=label)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper right", fontsize=8)
    ax.figure.colorbar(image, ax=ax, label="log10 of the norm of the gradient")
    ax.set_xlabel("backward")
