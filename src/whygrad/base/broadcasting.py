"""NumPy's broadcasting rule with torch's error message."""

from __future__ import annotations

from typing import Any


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    result: tuple[int, ...] = shapes[0]
    for shape in shapes[1:]:
        if shape == result:
            continue
        a = (1,) * (len(shape) - len(result)) + result
        b = (1,) * (len(result) - len(shape)) + shape
        for axis in reversed(range(len(a))):
            if a[axis] != b[axis] and a[axis] != 1 and b[axis] != 1:
                raise RuntimeError(f"The size of tensor a ({a[axis]}) must match the size of tensor b ({b[axis]}) at "
                                   f"non-singleton dimension {axis}") from None  # hides NumPy's own message
        result = tuple([n if m == 1 else m for m, n in zip(a, b, strict=True)])
    return result


def check_broadcast(arrays: Any) -> None:
    """Called after NumPy raised: raise torch's error instead, if the shapes do not broadcast."""
    broadcast_shapes(*[array.shape for array in arrays if hasattr(array, "shape")])
