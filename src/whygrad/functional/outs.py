"""`out=` of functions with several results."""

from __future__ import annotations

from typing import Any

from whygrad._inplace import with_out

_whygrad_internal_ = True


def with_outs(name: str, results: Any, outs: Any, *inputs: Any) -> Any:
    """Each result into its tensor of `outs`; the results themselves if there are none."""
    if outs is None:
        return results
    if not isinstance(outs, (tuple, list)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(outs).__name__}")
    return type(results)(*[with_out(name, result, out, *inputs) for result, out in zip(results, outs, strict=True)])
