"""Batching rules: for each row of the table what it does to a batch of its arguments.

A row's trait `batch` names its rule: one of families.py, or one of its own. Rows that are "looped" are applied to one element
after the other, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from whygrad.autograd.batched import BatchedTensor, BatchLevel
from whygrad.autograd.batching import conv, families, index, layout, linear, nn
from whygrad.autograd.batching.custom import apply_batched
from whygrad.autograd.batching.factories import WAYS
from whygrad.autograd.batching.families import BatchRule, aligned, looped, more_elements
from whygrad.autograd.batching.indexing import locate_batched
from whygrad.autograd.transform_printing import shown
from whygrad.core.record import specialization_of
from whygrad.core.tensor import Tensor
from whygrad.core.write import check_inplace, perform
from whygrad.ops.table import Row

__all__ = ["VmapLevel", "looped", "rule_for"]

# Where the rules are that a row's trait `batch` names.
_MODULES = (families, layout, linear, conv, index, nn)


@cache
def rule_for(row: Row) -> BatchRule:
    name = row.name if row.traits.batch == "own" else row.traits.batch
    found: BatchRule = next(rule for module in _MODULES if (rule := getattr(module, name, None)) is not None)
    return found


class VmapLevel(BatchLevel):
    """One running vmap, with the rules of this package."""

    apply_function = apply_batched
    locate = staticmethod(locate_batched)
    shown = staticmethod(shown)  # type: ignore[assignment]

    def run(self, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
        return rule_for(row)(self, row, inputs, statics)

    def make(self, how: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function that creates tensors without applying a row: `how` is a name in factories.py."""
        return WAYS[how](function, args, kwargs)

    def write(self, row: Row, target: Tensor, position: int, inputs: tuple[Any, ...], statics: dict[str, Any]) -> None:
        if not (isinstance(target, BatchedTensor) and target._level is self):
            raise RuntimeError(_more_elements(row, target, self.size))
        whole = target._whole
        check_inplace(whole, tuple([x._whole if isinstance(x, BatchedTensor) else x for x in inputs]))
        if row.broadcasts or row.name == "overwrite":
            opened = aligned(self, inputs)
            kinds = "".join(["t" if isinstance(x, Tensor) else "s" for x in opened])
            perform(specialization_of(row, kinds), whole, position, tuple(opened), statics)
            return
        if whole.requires_grad:
            # The rule may want the old value, which is about to be overwritten.
            kept = self.closed(whole.clone())  # type: ignore[attr-defined]
            inputs = (*inputs[:position], kept, *inputs[position + 1:])
        whole.copy_(rule_for(row)(self, row, inputs, statics)._whole)  # type: ignore[attr-defined]


def _more_elements(row: Row, target: Tensor, size: int) -> str:
    if row.traits.called in ("add", "sub"):
        shape = list(target._array.shape)
        return f"output with shape {shape} doesn't match the broadcast shape {[size, *shape]}"
    is_general = row.traits.called in ("mul", "div") or row.name in ("copy", "masked_fill")
    return more_elements("inplace arithmetic" if is_general else f"{row.name}_")
