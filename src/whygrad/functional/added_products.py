"""A matrix (or vector) plus a product: addmm, addmv, addr, baddbmm and addbmm, with their scales, also in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.base import dtypes
from whygrad.base.dtypes import c_name
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.core.write import bump, check_inplace
from whygrad.functional.arguments import check_kinds, check_range, read_number, read_tensor
from whygrad.functional.dims import normalize_dim
from whygrad.functional.linalg import check_addmm, check_bmm, check_mv, check_vectors, not_on_cpu
from whygrad.functional.old_order import takes_old_order
from whygrad.functional.promotion import as_number, promote, result_dtype
from whygrad.functional.run import public, with_out, write
from whygrad.functional.shape import expanded_shape
from whygrad.ops.table import TABLE


def _check_addmv(c: Tensor, a: Tensor, b: Tensor, inplace: bool = False) -> None:
    check_mv(c._array.shape, a, b, c)


def _check_addr(c: Tensor, a: Tensor, b: Tensor, inplace: bool = False) -> None:
    check_vectors("addr", ("vec1", a), ("vec2", b))
    shape = (a._array.size, b._array.size)
    if inplace and c._array.shape != shape:
        raise RuntimeError(f"size mismatch, input: {list(c._array.shape)}, v1: [{shape[0]}], v2: [{shape[1]}]")
    expanded_shape(c, shape)


def _check_baddbmm(c: Tensor, a: Tensor, b: Tensor, inplace: bool = False) -> None:
    expanded_shape(c, (_size(a, 0), _size(a, 1), _size(b, 2)))
    if not c._array.dtype == a._array.dtype == b._array.dtype:
        raise RuntimeError(f"Input dtypes must be the same, got: input {c_name(c.dtype)}, batch1: {c_name(a.dtype)}, "
                           f"batch2: {c_name(b.dtype)}")
    check_bmm(a, b, "baddbmm")


def _check_addbmm(c: Tensor, a: Tensor, b: Tensor, inplace: bool = False) -> None:
    expanded_shape(c, (_size(a, 1), _size(b, 2)))
    x, y = a._array, b._array
    for name, batch in (("batch1", x), ("batch2", y)):
        if batch.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if x.shape[0] != y.shape[0]:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {x.shape[0]} and {y.shape[0]}")
    if x.shape[2] != y.shape[1]:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({x.shape[1]}x{x.shape[2]} and "
                           f"{y.shape[1]}x{y.shape[2]})")
    for name, t in (("self", c), ("mat1", a)):
        if t._array.dtype != y.dtype:
            raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {t.dtype.scalar_name} and "
                               f"{b.dtype.scalar_name}")
    check_kinds("addmm_impl_cpu_", a, "iufVc")


def _size(x: Tensor, dim: int) -> int:
    """The size of a dim that may not be there."""
    return x._array.shape[normalize_dim(dim, x._array.ndim)]


CHECKS: dict[str, Callable[..., None]] = {
    "addmm": check_addmm, "addmv": _check_addmv, "addr": _check_addr, "baddbmm": _check_baddbmm,
    "addbmm": _check_addbmm}


def _read_scales(name: str, names: tuple[str, str], input: Any, a: Any, b: Any, beta: Any, alpha: Any,
                 inplace: bool = False) -> dict[str, Any]:
    for position, (argument, x) in enumerate((("input", input), (names[0], a), (names[1], b)), 1):
        read_tensor(name, x, argument, position)
    if inplace:
        check_inplace(input, (input, a, b))
    CHECKS[name](input, a, b, inplace=inplace)
    beta, alpha = read_number(name, "beta", 4, beta), read_number(name, "alpha", 5, alpha)
    whole = input._array.dtype.kind in "biu"
    if name == "addr":
        result = result_dtype(input, a, b)
        for argument, value in (("beta", beta), ("alpha", alpha)):
            _check_scale(argument, value, result)
        whole = result.category < 2
    elif isinstance(beta, complex) or isinstance(alpha, complex):
        check_range(beta, input.dtype)
        check_range(alpha, input.dtype)
    if whole:
        dtype = result_dtype(input, a, b)
        for x in (beta, alpha):
            check_range(x, dtype)
        beta, alpha = [as_number(x, dtype, name) for x in (beta, alpha)]
    return {"beta": beta, "alpha": alpha}


def _check_scale(argument: str, value: Any, result: dtypes.dtype) -> None:
    """A factor of the dtype of the result, or of a lower one."""
    if isinstance(value, bool) and result is not dtypes.bool_:
        raise RuntimeError(f"Boolean {argument} only supported for Boolean results.")
    if result.category < 2 and isinstance(value, float):
        raise RuntimeError(f"For integral input tensors, argument {argument} must not be a floating point number.")
    if isinstance(value, complex) and not result.is_complex:
        raise RuntimeError(f"value cannot be converted to type {c_name(result)} without overflow")


def _add_product(name: str, names: tuple[str, str], input: Any, a: Any, b: Any, beta: Any, alpha: Any,
                 out: Any) -> Tensor:
    """`beta * input + alpha * product`."""
    scales = _read_scales(name, names, input, a, b, beta, alpha)
    tensors = promote(name, input, a, b) if name == "addr" else (input, a, b)
    if name == "addr" and tensors[0]._array.dtype.kind == "b":
        result = (input & bool(beta)) | (a.unsqueeze(1) & b & bool(alpha))
        return with_out(name, result, out, input, a, b)
    return with_out(name, apply(TABLE[name], *tensors, **scales), out, input, a, b)


def _add_product_(name: str, names: tuple[str, str], self: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Tensor:
    scales = _read_scales(name, names, self, a, b, beta, alpha, inplace=True)
    rows, columns = a._array.shape, b._array.shape
    shape = {"addmm": (rows[0], columns[-1]), "addmv": (rows[0],), "addr": (rows[0], columns[0]),
             "baddbmm": (*rows[:2], columns[-1]), "addbmm": (*rows[1:2], columns[-1])}[name]
    if name == "addbmm" and self._array.shape != shape and self._view is None:
        return _become(self, apply(TABLE[name], self, a, b, **scales))
    if self._array.shape != shape:
        raise RuntimeError(f"Bad in-place call: input tensor size {list(self._array.shape)} and output tensor size "
                           f"{list(shape)} should match")
    return write(name, self, self, a, b, **scales)


def _become(self: Tensor, result: Tensor) -> Tensor:
    """Of the products torch resizes the target of one, where it has to be expanded."""
    self._array, self._node, self._cause, self._indirect = result._array, result._node, result._cause, False
    bump(self)
    return self


@public(autocast="lower")
@takes_old_order
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1, out_dtype: Any = None,
          out: Any = None) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    if out_dtype is not None:
        raise not_on_cpu("addmm")
    return _add_product("addmm", ("mat1", "mat2"), input, mat1, mat2, beta, alpha, out)


@public(function=False)
@takes_old_order
def addmm_(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _add_product_("addmm", ("mat1", "mat2"), self, mat1, mat2, beta, alpha)


@public()
@takes_old_order
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1, out: Any = None) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
    return _add_product("addmv", ("mat", "vec"), input, mat, vec, beta, alpha, out)


@public(function=False)
@takes_old_order
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _add_product_("addmv", ("mat", "vec"), input, mat, vec, beta, alpha)


@public()
@takes_old_order
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1, out: Any = None) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    return _add_product("addr", ("vec1", "vec2"), input, vec1, vec2, beta, alpha, out)


@public(function=False)
@takes_old_order
def addr_(self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _add_product_("addr", ("vec1", "vec2"), self, vec1, vec2, beta, alpha)


@public(autocast="lower")
@takes_old_order
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1, out_dtype: Any = None,
            out: Any = None) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2)`."""
    if out_dtype is not None:
        raise not_on_cpu("baddbmm")
    return _add_product("baddbmm", ("batch1", "batch2"), input, batch1, batch2, beta, alpha, out)


@public(function=False)
@takes_old_order
def baddbmm_(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _add_product_("baddbmm", ("batch1", "batch2"), self, batch1, batch2, beta, alpha)


@public(autocast="lower")
@takes_old_order
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1, out: Any = None) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
    return _add_product("addbmm", ("batch1", "batch2"), input, batch1, batch2, beta, alpha, out)


@public(function=False)
@takes_old_order
def addbmm_(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _add_product_("addbmm", ("batch1", "batch2"), self, batch1, batch2, beta, alpha)
