"""Forward mode of a single row, out of its rules for reverse mode.

A rule maps the gradient of the result to that of an argument: it is the transpose of the derivative. Three ways lead from
it to the derivative itself. A row that is linear in an argument is its own derivative. Where the matrix of derivatives is
symmetric, as for everything that works element by element, the rule is the derivative. Else the rule is transposed: it is
linear in `g`, so applied to any `g` and recorded, its own gradient towards `g` is the derivative sought.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from whygrad.autograd.grad_mode import enable_grad
from whygrad.autograd.pull_back import pull_back, variable
from whygrad.backends import tensor as xp
from whygrad.backends.fp_warnings import restore, silence
from whygrad.core.door import is_batched
from whygrad.core.modes import grad_state
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.memory import check_within_element
from whygrad.ops.table import NoGrad, Row, Rule

Tangents = list[Tensor | None]


def push_forward(row: Row, inputs: Sequence[Any], statics: dict[str, Any], outs: list[Tensor],
                 tangents: Tangents) -> Tangents:
    """The tangents of the results, given those of the arguments."""
    declared = row.outputs if row.outputs != "list" else (None,) * len(outs)
    moving = [not isinstance(kind, NoGrad) and out._array.dtype.kind in "fcV"
              for kind, out in zip(declared, outs, strict=True)]
    given = {i: t for i, t in enumerate(tangents) if t is not None and isinstance(rule_of(row, i), Rule)}
    if not given or not any(moving):
        return [None] * len(outs)
    statics = {**row.static_defaults, **statics}
    token = silence()  # as the backward pass is
    try:
        total = _pushed(row, given, inputs, statics, outs, moving)
    except NotImplementedError as error:
        found = re.match("the derivative for '(inplace version of )?(\\w+)", str(error))
        if found is None:
            raise
        name = f"{found[2]}_" if found[1] else {"zeta": "special_zeta"}.get(found[2], found[2])
        raise NotImplementedError(
            f"Trying to use forward AD with {name} that does not support it because it has not been implemented yet.\nPlease "
            "file an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we "
            "can prioritize its implementation or submit a PR adding the implementation to derivatives.yaml") from error
    finally:
        restore(token)
    return [t if moves else None for t, moves in zip(total, moving, strict=True)]


def _pushed(row: Row, given: dict[int, Tensor], inputs: Sequence[Any], statics: dict[str, Any], outs: list[Tensor],
            moving: list[bool]) -> Tangents:
    total: Tangents = [None] * len(outs)
    for i in list(given):
        if i not in given:
            continue
        parts = _directly(row, i, given, inputs, statics, outs)
        if parts is not None:
            total = [_sum(a, b) for a, b in zip(total, parts, strict=True)]
            given.pop(i, None)
    if given:
        parts = _transposed(row, given, inputs, statics, outs, moving)
        if "kinked" in row.traits.curve:
            parts = [None if t is None else xp.where(xp.eq(out, 0), 0.0, t) for t, out in zip(parts, outs, strict=True)]
        total = [_sum(a, b) for a, b in zip(total, parts, strict=True)]
    return total


def rule_of(row: Row, position: int) -> Rule | NoGrad:
    return row.rules[row.inputs[0 if row.variadic else position]]


def _sum(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return b if a is None else a if b is None else a + b  # type: ignore[operator,no-any-return]


def _directly(row: Row, position: int, given: dict[int, Tensor], inputs: Sequence[Any], statics: dict[str, Any],
              outs: list[Tensor]) -> Tangents | None:
    """What one argument contributes, and those it is linear together with, if no transposing is needed; they are then done."""
    name = row.inputs[0 if row.variadic else position]
    if row.name in ("view", "reshape_alias"):  # the tangent may lie differently in memory
        return [xp.reshape(given[position], shape=statics["shape"])]
    if row.name == "as_strided" and is_batched(given[position]):
        check_within_element(given[position], statics["geometry"])
    group = next((group for group in row.linear if name in group), ())
    if group and row.name != "as_strided":  # which is about memory, where the tangent may lie differently
        arguments: list[Any] = []
        for i, x in enumerate(inputs):
            if not row.variadic and row.inputs[i] not in group:
                arguments.append(None if row.inputs[i] == "bias" else x)  # a bias is only added to the rest
            elif i in given:
                arguments.append(given.pop(i))
            else:
                arguments.append(xp.zeros_like(x) if isinstance(x, Tensor) else 0 * x)
        results = apply(row, *arguments, **statics)
        return [results] if isinstance(results, Tensor) else list(results)
    if row.symmetric and len(outs) == 1 and _goes_both_ways(row, given[position], outs[0]):
        rule = row.rules[name]
        assert isinstance(rule, Rule)
        out = outs[0]
        g = given[position]
        if g._array.shape != out._array.shape:
            g = xp.expand(g, shape=out._array.shape)
        return [_call(rule, g, row, inputs, statics, outs)]
    return None


def _goes_both_ways(row: Row, tangent: Tensor, out: Tensor) -> bool:
    kinds = tangent._array.dtype.kind + out._array.dtype.kind
    return tangent._array.dtype == out._array.dtype and (kinds == "ff" or "analytic" in row.traits.curve)


def _call(rule: Rule, g: Any, row: Row, inputs: Sequence[Any], statics: dict[str, Any], outs: list[Tensor]) -> Any:
    known: dict[str, Any] = {"g": g, "xp": xp, **statics, **dict(zip(row.output_names, outs, strict=False))}
    if row.variadic:
        name = row.inputs[0]
        known |= {name: list(inputs), f"{name}_shape": [x._array.shape for x in inputs]}
    else:
        for name, x in zip(row.inputs, inputs, strict=True):
            known |= {name: x, f"{name}_shape": x._array.shape if isinstance(x, Tensor) else ()}
    return rule.function(*[known[name] for name in rule.names])


def _transposed(row: Row, given: dict[int, Tensor], inputs: Sequence[Any], statics: dict[str, Any], outs: list[Tensor],
                moving: list[bool]) -> Tangents:
    """The derivative as the transpose of the rules."""
    records = grad_state.grad
    with enable_grad():
        dummies = [variable(wrap(np.zeros(out._array.shape, out._array.dtype))) if moves else None
                   for out, moves in zip(outs, moving, strict=True)]
        several = row.outputs == "list" or sum(moving) > 1
        g: Any = dummies if several else next(t for t in dummies if t is not None)
        roots: list[tuple[Tensor, Tensor]] = []
        if row.variadic:
            rule = rule_of(row, 0)
            assert isinstance(rule, Rule)
            pulled = _call(rule, g, row, inputs, statics, outs)
            roots = [(pulled[i], t) for i, t in given.items() if pulled[i] is not None]
        else:
            for i, t in given.items():
                rule = rule_of(row, i)
                assert isinstance(rule, Rule)
                pulled = _call(rule, g, row, inputs, statics, outs)
                if pulled is not None:
                    shape = inputs[i]._array.shape
                    roots.append((pulled if pulled._array.shape == shape else xp.sum_to(pulled, shape=shape), t))
    wanted = [t for t in dummies if t is not None]
    found = iter(pull_back([s for s, _ in roots], wanted, [t for _, t in roots], records=records))
    return [None if t is None else next(found) for t in dummies]
