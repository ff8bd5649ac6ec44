"""`explain(model)`: one table for all parameters of a model, by name."""

from __future__ import annotations

import gc
import html
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from whygrad.why import engine
from whygrad.why.answers import Explanation
from whygrad.why.engine import Tensor, array_of, grad_of, is_module, notes_of, shape_of, source_of
from whygrad.why.explain import explain
from whygrad.why.gradient_flow import gradient_state, leaves_from
from whygrad.why.optimizer_usage import optimizer_parameters

FLOWS, NONE, ZERO, NAN, FROZEN, UNHELD, NOT_YET = (
    "flows", "None", "zero", "NaN", "frozen", "not in any optimizer", "not yet")


@dataclass
class ParameterRow:
    """One parameter: the state of its gradient, and why."""

    name: str
    shape: tuple[int, ...]
    state: str
    # The gradient's Euclidean norm, if there is one.
    norm: float | None
    # True if an optimizer holds it; None if there is no optimizer.
    held: bool | None
    explanation: Explanation

    def remark(self) -> str:
        """Category and cause of the explanation."""
        if self.state in (FLOWS, NOT_YET) or self.explanation.category == "ok":
            return ""
        where = "".join(f" {cause.place}" + (f": {cause.expression}" if cause.expression else "")
                        for cause in self.explanation.causes[:1])
        return f"[{self.explanation.category}]{where}"

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "shape": list(self.shape), "state": self.state, "norm": self.norm, "held": self.held,
                "explanation": self.explanation.to_dict()}


class ParameterTable:
    """All parameters of a model: flows, None, zero, NaN, frozen, not in any optimizer."""

    def __init__(self, model: Any, loss: Tensor | None = None) -> None:
        self.model = type(model).__name__
        within = None if loss is None else leaves_from([source_of(loss)])
        held = _held_by_optimizers()
        self.rows = [_row(name, p, loss, within, held) for name, p in model.named_parameters()]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __getitem__(self, name: str) -> ParameterRow:
        """The row of one parameter: `explain(model)["layers.0.weight"]`."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def summary(self) -> str:
        if not self.rows:
            return f"{self.model} has no parameters"
        counted = ", ".join(f"{count} {what}" for what, count in Counter(row.state for row in self.rows).items())
        return f"{self.model}, {len(self.rows)} parameters: {counted}"

    def _cells(self) -> list[tuple[str, ...]]:
        return [(row.name, str(tuple(row.shape)), row.state, "" if row.norm is None else f"{row.norm:.3g}", row.remark())
                for row in self.rows]

    def __str__(self) -> str:
        lines = [HEAD, *self._cells()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
        text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([self.summary(), *text] if self.rows else [self.summary()])

    __repr__ = __str__

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        head = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in HEAD)
        body = "".join("<tr title='{}'>{}</tr>".format(
            html.escape(row.explanation.text, quote=True), "".join(f"<td>{html.escape(cell)}</td>" for cell in cells))
            for row, cells in zip(self.rows, self._cells(), strict=True))
        return (f"<table><caption>{html.escape(self.summary())}</caption><thead><tr>{head}</tr></thead>"
                f"<tbody>{body}</tbody></table>")

    def to_dict(self) -> dict[str, Any]:
        return {"model": self.model, "parameters": [row.to_dict() for row in self.rows]}


def explain_module(model: Any, loss: Tensor | None) -> ParameterTable:
    if not is_module(model):
        hint = ": use explain() of whygrad.for_torch" if type(model).__module__.partition(".")[0] == "torch" else ""
        raise TypeError(f"explain() takes a Tensor or a Module, not {type(model).__name__}{hint}")
    return ParameterTable(model, loss)


HEAD = ("parameter", "shape", "gradient", "norm", "why")


def _row(name: str, p: Tensor, loss: Tensor | None, within: set[Any] | None, held: set[int] | None) -> ParameterRow:
    explanation = explain(p, loss=loss)
    grad = grad_of(p)
    norm = None if grad is None else float(np.linalg.norm(np.asarray(array_of(grad), dtype=np.complex128).ravel()))
    is_held = None if held is None else id(p) in held
    if not p.requires_grad:
        what = FROZEN
    elif grad is not None:
        what = {"zero": ZERO, "bad": NAN}.get(gradient_state(grad), UNHELD if is_held is False else FLOWS)
        if what == UNHELD and explanation.category == "ok":
            explanation = Explanation("this parameter has a gradient, but nothing updates it", "not-in-optimizer",
                                      "No optimizer holds it, so no step will change it.",
                                      "build the optimizer from model.parameters(), after the model is complete.")
    elif within is not None and p in within and notes_of(p).reached_by is None:
        what = NOT_YET
        explanation = Explanation("this parameter has no gradient yet", "no-backward",
                                  "The loss depends on it; backward() has not been called.", "call loss.backward().")
    else:
        what = NONE
    return ParameterRow(name, shape_of(p), what, norm, is_held, explanation)


def _held_by_optimizers() -> set[int] | None:
    gc.collect()  # deletes unreachable optimizers that are in reference cycles
    optimizers = engine.optimizers()
    if not optimizers:
        return None
    return {id(p) for optimizer in optimizers for p in optimizer_parameters(optimizer)}
