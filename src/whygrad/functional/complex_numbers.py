"""Complex numbers: their parts, and their conjugates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import read_tensor
from whygrad.functional.conj_neg import kind_of
from whygrad.functional.dispatch import default_float
from whygrad.functional.promotion import cast
from whygrad.functional.run import METHODS, public, rows, with_out, write
from whygrad.ops.table import TABLE


@public(method=False)
def real(input: Any) -> Tensor:
    """The real part, as a view; a real tensor itself."""
    if read_tensor("real", input)._array.dtype.kind != "c":
        return input
    return _half(input, 0)


@public(method=False)
def imag(input: Any) -> Tensor:
    """The imaginary part, as a view."""
    if read_tensor("imag", input)._array.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _half(input, 1)


def _half(x: Tensor, index: int) -> Tensor:
    """One of the two real numbers of each element; of conjugates the imaginary one is negated when it is read."""
    if not kind_of(x).conjugated:
        return rows.select(rows.view_as_real(x), axis=x._array.ndim, index=index)  # type: ignore[no-any-return]
    half = _half(rows.conj_view(x), index)
    return rows.neg_view(half) if index else half  # type: ignore[no-any-return]


def _part(of: Callable[[Any], Any]) -> property:
    """`x.real` and `x.imag`, which can be assigned to."""
    def assign(self: Any, value: Any) -> None:
        part = of(self)
        if isinstance(value, Tensor):
            part.copy_(value)
        else:
            part.fill_(value)

    return property(of, assign, doc=of.__doc__)


METHODS["real"], METHODS["imag"] = _part(real), _part(imag)  # type: ignore[assignment]


@public()
def angle(input: Any, *, out: Any = None) -> Tensor:
    """The angle of each number in the complex plane: of a negative real number pi."""
    x = read_tensor("angle", input)
    if x._array.dtype.kind == "c":
        return with_out("angle", apply(TABLE["angle_complex"], x), out, input)
    return with_out("angle", apply(TABLE["angle"], cast(x, default_float(x.dtype).numpy)), out, input)


@public()
def conj_physical(input: Any, *, out: Any = None) -> Tensor:
    """The complex conjugate; a real tensor itself."""
    x = read_tensor("conj_physical", input)
    return with_out("conj_physical", rows.conj_physical(x) if x._array.dtype.kind == "c" else x, out, input)


@public()
def conj_physical_(input: Any) -> Tensor:
    read_tensor("conj_physical_", input)
    if input._array.dtype.kind != "c":
        return input  # type: ignore[no-any-return]
    return write("conj_physical_inplace", input, input)


@public()
def resolve_conj(input: Any) -> Tensor:
    """A copy, if the tensor is conjugated when it is read; else the tensor itself."""
    return rows.clone(input) if is_conj(input) else input  # type: ignore[no-any-return]


@public()
def resolve_neg(input: Any) -> Tensor:
    """A copy, if the tensor is negated when it is read; else the tensor itself."""
    return rows.clone(input) if is_neg(input) else input  # type: ignore[no-any-return]


@public()
def is_conj(input: Any) -> bool:
    """Whether the tensor is a view that is conjugated when it is read."""
    return kind_of(read_tensor("is_conj", input)).conjugated


@public()
def is_neg(input: Any) -> bool:
    """Whether the tensor is a view that is negated when it is read."""
    return kind_of(read_tensor("is_neg", input)).negated


@public()
def _neg_view(input: Any) -> Tensor:
    """The negative, as a view that is negated when it is read."""
    return rows.neg_view(read_tensor("_neg_view", input))  # type: ignore[no-any-return]
