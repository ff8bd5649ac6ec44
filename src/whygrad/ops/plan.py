"""The values that a row saves for its gradients, for one combination of argument kinds."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from whygrad.ops.table import NoGrad, Row, Rule, rule_names


class RowPlan:
    """The *kinds* of the arguments are a string with one letter for each: "t" a Tensor, "s" a Python number or None; "v" alone
    means any number of Tensors.
    """

    def __init__(self, row: Row, kinds: str) -> None:
        self.row = row
        self.kinds = kinds
        self.rules: dict[str, Rule] = {}
        for name, kind in zip(row.inputs, kinds, strict=True):
            rule = row.rules[name]
            if kind in "tv" and isinstance(rule, Rule):
                self.rules[name] = rule
        named = rule_names(self.rules.values())
        self.saved = [name for name in (*row.inputs, *row.output_names) if name in named]
        # Arguments that are Python numbers or None: saved, but they have no version.
        self.numbers = {name for name, kind in zip(row.inputs, kinds, strict=True) if kind == "s"}
        self.wanted_by = {name: [x for x, rule in self.rules.items() if name in rule.names] for name in self.saved}
        # Whether there are applications that save nothing.
        self.may_save_nothing = not self.saved or any(
            not set(rule.names).intersection(self.saved) for rule in self.rules.values())
        # The statics and shapes that the rules name: in `node.static`, statics first.
        self.static = [name for name in row.statics if name in named]
        self.shaped = [i for i, name in enumerate(row.inputs) if f"{name}_shape" in named]
        self.static += [f"{row.inputs[i]}_shape" for i in self.shaped]
        self.differentiable_outputs = (None if row.outputs == "list" else
                                       [i for i, out in enumerate(row.outputs) if not isinstance(out, NoGrad)])
        self.several = self.differentiable_outputs is None or len(self.differentiable_outputs) > 1
        self.one_output = row.outputs != "list" and len(row.outputs) == 1

    def node_name(self, statics: dict[str, Any]) -> str:
        node = self.row.node
        return node if isinstance(node, str) else node(self.kinds, statics)

    @cached_property
    def aten_name(self) -> str:
        """torch's name of the op, derived from the name of its node (SumBackward0), unless that varies."""
        node = self.row.node
        name = node.partition("Backward")[0] if isinstance(node, str) else ""
        words = "".join([f"_{c.lower()}" if c.isupper() else c for c in name]).lstrip("_")
        return f"aten::{words or self.row.name}"
