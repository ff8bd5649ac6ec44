"""Running Python text on torch and on whygrad in step, and comparing everything that shows.

Rounding is told from error by computing both in float64: a program whose single or half precision results differ is run
again with every dtype replaced by float64, and only what differs then counts.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from oracle import node_name, to_numpy

import whygrad

LIBRARIES = (torch, whygrad)
TOLERANCE = {"float16": 1e-2, "bfloat16": 8e-2, "float32": 2e-4, "complex64": 2e-4}
IN_FLOAT64 = [(r"torch\.(float32|float16|bfloat16)\b", "torch.float64"), (r"torch\.complex64\b", "torch.complex128"),
              (r"\.(float|half|bfloat16)\(\)", ".double()"), (r"\.cfloat\(\)", ".cdouble()")]


def in_float64(text: str) -> str:
    for pattern, other in IN_FLOAT64:
        text = re.sub(pattern, other, text)
    return text


@contextlib.contextmanager
def default_float64() -> Iterator[None]:
    for library in LIBRARIES:
        library.set_default_dtype(library.float64)
    try:
        yield
    finally:
        for library in LIBRARIES:
            library.set_default_dtype(library.float32)


def execute(text: str, names: dict[str, Any]) -> Exception | None:
    """The error that the text ends with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, "<fuzz>", "exec"), names)
        except Exception as error:
            return error
    return None


def told(error: Exception | None) -> str:
    return "no error" if error is None else f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def compare_values(theirs: Any, ours: Any) -> str | None:
    """None if equal but for rounding, "rounding" if the difference may be, else how they differ."""
    if theirs is None or ours is None:
        return None if theirs is ours else f"torch has {'None' if theirs is None else 'a value'}, we do not"
    if theirs.shape != tuple(ours.shape) or str(theirs.dtype).removeprefix("torch.") != str(ours.dtype).removeprefix("torch."):
        return f"torch has {theirs.dtype} {tuple(theirs.shape)}, we have {ours.dtype} {tuple(ours.shape)}"
    a, b = to_numpy(theirs.detach().clone()), to_numpy(ours)  # cloned: memory that NumPy has seen is not resizable
    if a.dtype.kind not in "fc":
        return None if np.array_equal(a, b) else "other values"
    kind = str(theirs.dtype).removeprefix("torch.")
    rtol = TOLERANCE.get(kind, 1e-7)
    with np.errstate(all="ignore"):
        scale = np.abs(a[np.isfinite(a)]).max(initial=0.0)
        if np.allclose(a, b, rtol=rtol, atol=rtol * max(float(scale), 1e-3), equal_nan=True):
            return None
    return "rounding" if kind in TOLERANCE else "other values"


def describe(t: Any) -> tuple[Any, ...]:
    """What shows of a tensor beside its numbers. A view whose base was changed may refuse to tell."""
    def read(get: Any) -> str:
        error = None
        try:
            return str(get())
        except RuntimeError as found:
            error = found
        return told(error)

    return (str(t.dtype), tuple(t.shape), t.is_contiguous(), t.requires_grad, read(lambda: t._version), read(lambda: t.is_leaf),
            read(lambda: node_name(t)), read(lambda: t.retains_grad))


def memory(t: Any) -> tuple[Any, ...]:
    strides = [stride for stride, size in zip(t.stride(), t.shape, strict=True) if size > 1]  # others move nothing
    return strides, t.storage_offset(), t.is_contiguous()
