"""torch._foreach_*: one op over lists of tensors, as optimizers by other authors use it.

Here each is a loop over the op itself; torch has it for the sake of its GPU kernels. The nodes of the graph are
therefore those of the op and not of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import wrong_type
from whygrad.functional.reduction import vector_norm
from whygrad.functional.run import FUNCTIONS, METHODS
from whygrad.ops import TABLE


def _spread(value: Any, count: int) -> Sequence[Any]:
    """One value for each tensor of the list: `value` is such a list already, or the same for all."""
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        if value and not isinstance(value[0], Tensor):
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(value)}")
    return value


def _over_lists(name: str, op: Callable[..., Any], *, inplace: bool = False) -> Callable[..., Any]:
    def foreach(self: Any, *others: Any, **options: Any) -> Any:
        if not isinstance(self, (list, tuple)) or not all(isinstance(x, Tensor) for x in self):
            raise wrong_type(name, "self", 1, "tuple of Tensors", self)
        if not self:
            raise RuntimeError("Tensor list must have at least one tensor.")
        columns = [_spread(other, len(self)) for other in others]
        results = [op(*row, **options) for row in zip(self, *columns, strict=True)]
        return self if inplace else tuple(results)

    foreach.__name__ = foreach.__qualname__ = name
    return foreach


def _extreme(name: str, end: str = "") -> Callable[..., Any]:
    """maximum and minimum, which take numbers here, too."""
    bound = METHODS[{"maximum": "clamp_min", "minimum": "clamp_max"}[name] + end]
    return bound if end else lambda x, other: FUNCTIONS[name](x, other) if isinstance(other, Tensor) else bound(x, other)


def _with_values(name: str, op: Callable[..., Any], inplace: bool) -> Callable[..., Any]:
    """addcdiv and addcmul take a `value` for each tensor, too: as a list, or as a tensor of them."""
    each = _over_lists(name, lambda x, a, b, value: op(x, a, b, value=value), inplace=inplace)

    def foreach(self: Any, tensor1: Any, tensor2: Any, scalars: Any = 1, *, value: Any = None) -> Any:
        values = scalars if value is None else value
        return each(self, tensor1, tensor2, values._array.tolist() if isinstance(values, Tensor) else values)

    foreach.__name__ = foreach.__qualname__ = name
    return foreach


def _pow(self: Any, exponent: Any) -> Any:
    """The base or the exponent is a list, or both are."""
    if isinstance(self, (list, tuple)):
        return _over_lists("_foreach_pow", FUNCTIONS["pow"])(self, exponent)
    return _over_lists("_foreach_pow", lambda x: FUNCTIONS["pow"](self, x))(exponent)


def _norm(self: Any, ord: float = 2, dtype: Any = None) -> Any:
    return _over_lists("_foreach_norm", lambda x: vector_norm(x, ord, dtype=dtype))(self)


def functions() -> dict[str, Callable[..., Any]]:
    plain = [row.name for row in TABLE.values() if "foreach" in row.traits.public]
    found = {name: _over_lists(f"_foreach_{name}", FUNCTIONS[name]) for name in (*plain, "clone", "max", "mm")}
    for name in (*plain, "copy", "zero"):
        found[f"{name}_"] = _over_lists(f"_foreach_{name}_", METHODS[f"{name}_"], inplace=True)
    for end in ("", "_"):
        for name in ("maximum", "minimum"):
            found[name + end] = _over_lists(f"_foreach_{name}{end}", _extreme(name, end), inplace=bool(end))
        for name in ("addcdiv", "addcmul"):
            found[name + end] = _with_values(f"_foreach_{name}{end}", METHODS[name + end], bool(end))
    return {f"_foreach_{name}": function for name, function in (found | {"pow": _pow, "norm": _norm}).items()}
