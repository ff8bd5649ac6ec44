"""What torch's functions do with sparse tensors. The names in FUNCTIONS are those of torch; dispatch.py leads to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad import dtypes
from whygrad._inplace import bump
from whygrad._tensor import Tensor, wrap
from whygrad.autograd.modes import modes
from whygrad.functional.dims import normalize_dim
from whygrad.functional.run import FUNCTIONS as DENSE
from whygrad.functional.run import METHODS as DENSE_METHODS
from whygrad.sparse import array as numbers
from whygrad.sparse import ops
from whygrad.sparse.array import SparseArray
from whygrad.sparse.op import tensor_of
from whygrad.sparse.tensor import SparseTensor

_whygrad_internal_ = True

SPARSE_PLUS_DENSE = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."

# Of each element, and zero of zero: they change the values only. COO tensors are coalesced first.
ON_VALUES = ("abs", "absolute", "asin", "arcsin", "asinh", "arcsinh", "atan", "arctan", "atanh", "arctanh", "ceil", "deg2rad",
             "erf", "erfinv", "expm1", "floor", "frac", "isinf", "isnan", "isneginf", "isposinf", "log1p", "nan_to_num",
             "rad2deg", "relu", "round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "fix")
BACKWARD_NAMES = {"absolute": "Abs", "fix": "Trunc", "square": "Pow", "nan_to_num": "NanToNum"}


def is_sparse(x: Any) -> bool:
    return type(x) is SparseTensor


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.number, np.bool_)) or (
        isinstance(x, Tensor) and not is_sparse(x) and not x._array.ndim)


def _same_shape(name: str, a: Any, b: Any) -> None:
    if a._array.shape != b._array.shape:
        raise RuntimeError(f"{name}: expected 'self' and 'other' to have same sizes, but self has size {list(a._array.shape)} "
                           f"while other has size {list(b._array.shape)} (FYI: op2-sparse addition does not currently support "
                           "broadcasting)")


def promoted(*tensors: Any) -> list[Any]:
    dtype = dtypes.result_dtype([(t.dtype, max(t._array.ndim, 1)) for t in tensors])
    return [t if t.dtype is dtype else t.to(dtype) for t in tensors]


def to_dtype(x: Any, dtype: dtypes.dtype) -> Any:
    return ops.cast(x, dtype=dtype, origin=x.dtype)


def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The same elements with the zeros written out."""
    result = ops.to_dense(self, masked=masked_grad is not False)
    return result if dtype is None else result.to(dtype)


def to_sparse(x: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
    """The elements that are not zero, and where they are."""
    if blocksize is not None or dense_dim is not None or str(layout) in ("torch.sparse_bsr", "torch.sparse_bsc"):
        raise NotImplementedError("to_sparse(): whygrad has no sparse tensors of blocks")
    wanted = "coo" if layout is None else str(layout).removeprefix("torch.sparse_")
    if is_sparse(x):
        return x if wanted == x._array.layout else ops.to_layout(x, layout=wanted, origin=x._array.layout)
    ndim = x._array.ndim
    if wanted != "coo" and ndim != 2:
        raise NotImplementedError(f"to_sparse(): a {ndim}-dim tensor with compressed rows; whygrad has matrices only")
    if sparse_dim is None:
        return ops.to_sparse(x, sparse_dim=ndim, layout=wanted, name="ToSparseBackward1")
    if not 0 <= sparse_dim <= ndim or (ndim and not sparse_dim):
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{ndim}] range, but {sparse_dim} is given")
    return ops.to_sparse(x, sparse_dim=sparse_dim, layout="coo")


def _to(layout: str) -> Any:
    def to(x: Any, dense_dim: Any = None) -> Any:
        if dense_dim:
            raise NotImplementedError(f"to_sparse_{layout}(): dense dims in a tensor with compressed rows")
        x_layout = x._array.layout if is_sparse(x) else None
        if x_layout == layout:
            return x
        if x._array.ndim != 2:
            raise NotImplementedError(f"to_sparse_{layout}(): whygrad compresses matrices only")
        name = f"ToSparse{layout.capitalize()}Backward0"
        if x_layout is None:
            return ops.to_sparse(x, sparse_dim=2, layout=layout, name=name)
        return ops.to_layout(x, layout=layout, origin=x_layout, name=name)

    to.__name__ = to.__qualname__ = f"to_sparse_{layout}"
    return to


to_sparse_csr, to_sparse_csc = _to("csr"), _to("csc")


def coalesce(x: Any) -> Any:
    x._check_layout("coalesce", "coo")
    return x if x._array.coalesced else ops.coalesce(x)


def values(x: Any) -> Any:
    if x._array.layout == "coo" and not x._array.coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return ops.values_of(x)


def sparse_mask(x: Any, mask: Any) -> Any:
    """The elements at the places of a sparse tensor."""
    if not is_sparse(mask):
        raise NotImplementedError("sparse_mask(): the mask must be a sparse tensor")
    if x._array.shape != mask._array.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(x._array.shape)} but mask has "
                           f"size {list(mask._array.shape)}")
    return with_values(mask, ops.pick(x, pattern=mask._array), "SparseMaskBackward0")


def with_values(x: Any, new: Any, name: str = "SparseCooTensorWithDimsAndTensorsBackward0") -> Any:
    return ops.from_values(new, pattern=x._array, name=name)


def clone(input: Any, *, memory_format: Any = None) -> Any:
    return ops.clone(input)


def neg(input: Any) -> Any:
    return ops.neg(input)


def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """The sum; a dense first argument gives a dense one."""
    _no_out("add", out)
    if not is_sparse(other):
        raise RuntimeError(SPARSE_PLUS_DENSE)
    _same_shape("add", input, other)
    return ops.add(*promoted(input, other), alpha=alpha)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    _no_out("sub", out)
    if not is_sparse(other):
        raise RuntimeError(SPARSE_PLUS_DENSE)
    _same_shape("sub", input, other)
    return ops.add(*promoted(input, other), alpha=-alpha, name="SubBackward0")


def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Element by element; places where one of the two has nothing are left out."""
    _no_out("mul", out)
    if not is_sparse(input):
        input, other = other, input
    if _is_number(other):
        if not isinstance(other, Tensor):
            return _scaled(input, other)
        return with_values(input, ops.values_of(input) * other, "MulBackward0")
    if is_sparse(other) and input._array.layout != other._array.layout:
        raise RuntimeError("mul(sparse, sparse): both must have the same layout")
    if input._array.shape != other._array.shape:
        if is_sparse(other):
            _same_shape("mul", input, other)
        other = other.expand(input._array.shape)
    if is_sparse(other):
        shared = np.isin(input._array.flat, other._array.flat)
        if not shared.all():
            input = _kept(input, shared)
    return with_values(input, ops.values_of(input) * ops.pick(other, pattern=input._array), "MulBackward0")


def _scaled(x: Any, number: Any) -> Any:
    dtype = dtypes.result_dtype([(x.dtype, 1), number])
    x = x if x.dtype is dtype else to_dtype(x, dtype)
    return ops.scale(x, number=number.item() if isinstance(number, np.generic) else number)


def _kept(x: Any, which: np.ndarray) -> Any:
    """Without the elements that `which` says no to."""
    kept = np.flatnonzero(which)
    pattern = numbers.coo(x._array.places[:, kept], x._array.values[kept], x._array.shape, x._array.coalesced)
    if x._array.layout != "coo":
        raise NotImplementedError("mul(): compressed sparse tensors with different places")
    return ops.from_values(ops.values_of(x)[wrap(kept)], pattern=pattern)


def div(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Any:
    _no_out("div", out)
    if not is_sparse(input) or not _is_number(other):
        shape = list(other._array.shape) if isinstance(other, Tensor) else []
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
                           f"{shape} for divisor)")
    if rounding_mode is not None or isinstance(other, Tensor):
        return with_values(input, DENSE["div"](ops.values_of(input), other, rounding_mode=rounding_mode), "DivBackward0")
    if input.dtype.category < 2:
        input = to_dtype(input, dtypes.get_default_dtype())
    return ops.divide(input, number=other)


def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    _no_out("pow", out)
    if not _is_number(exponent):
        raise NotImplementedError("pow(): a sparse tensor can be raised to a number only")
    if exponent == 0:
        raise RuntimeError("pow: can only be used with exponent != 0, because it would make dense tensors")
    input = coalesce(input) if input._array.layout == "coo" else input
    return with_values(input, ops.values_of(input) ** exponent, "PowBackward0")


def _on_values(name: str) -> Any:
    function = DENSE[name]
    node = f"{BACKWARD_NAMES.get(name, name.removeprefix('arc').capitalize())}Backward0"

    def unary(x: Any, *args: Any, **options: Any) -> Any:
        _no_out(name, options.pop("out", None))
        x = coalesce(x) if x._array.layout == "coo" else x
        return with_values(x, function(ops.values_of(x), *args, **options), node)

    unary.__name__ = unary.__qualname__ = name
    return unary


def _matrices(name: str, a: Any, b: Any) -> None:
    for x in (a, b):
        if is_sparse(x) and x.dense_dim():
            raise RuntimeError(f"{name}: matrices expected, got {x.sparse_dim()}D tensor")
    if a._array.ndim != 2 or b._array.ndim != 2:
        raise RuntimeError(f"{name}: matrices expected, got {a._array.ndim}D and {b._array.ndim}D tensors")
    if a._array.shape[1] != b._array.shape[0] and is_sparse(a) and a.is_sparse and not is_sparse(b):
        raise RuntimeError(f"{name}: Argument #3 (dense): Expected dim 0 size {a._array.shape[1]}, got {b._array.shape[0]}")
    if a._array.shape[1] != b._array.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a._array.shape[0]}x{a._array.shape[1]} and "
                           f"{b._array.shape[0]}x{b._array.shape[1]})")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{name}: expected both matrices to have the same dtype, but got {a.dtype} and {b.dtype}")


def mm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """The matrix product; dense, unless both factors are sparse."""
    _no_out("mm", out)
    _matrices("addmm", input, mat2)
    return ops.mm(input, mat2)


def mv(input: Any, vec: Any, *, out: Any = None) -> Any:
    _no_out("mv", out)
    if is_sparse(vec) or vec._array.ndim != 1:
        raise NotImplementedError("mv(): the vector must be a dense one")
    _matrices("mv", input, vec.unsqueeze(1))
    return ops.mv(input, vec)


def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    _no_out("matmul", out)
    if input._array.ndim == 2 and other._array.ndim == 1 and is_sparse(input):
        return mv(input, other)
    if input._array.ndim == 1 and other._array.ndim == 2 and is_sparse(other):
        return mm(input.unsqueeze(0), other).squeeze(0)
    if input._array.ndim != 2 or other._array.ndim != 2:
        raise NotImplementedError("matmul(): batches of sparse matrices")
    return mm(input, other)


def _with_sum(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    product = product if alpha == 1 else product * alpha
    if is_sparse(input) and not is_sparse(product):
        raise RuntimeError(SPARSE_PLUS_DENSE)
    return product if beta == 0 else (input if beta == 1 else input * beta) + product


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    _no_out("addmm", out)
    return _with_sum(input, mm(mat1, mat2), beta, alpha)


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    product = mm(input, weight.t())
    return product if bias is None else product + bias


def sparse_mm(a: Any, b: Any, reduce: Any = None) -> Any:
    """torch.sparse.mm: the gradient of the first factor has its places only."""
    if reduce is not None:
        raise NotImplementedError(f"torch.sparse.mm: reduce={reduce!r}")
    _matrices("addmm", a, b)
    if not is_sparse(a):
        return ops.mm(a, b)
    return ops.mm(a, b, name="SparseSparseMatmulBackward0") if is_sparse(b) else ops.masked_mm(a, b)


def sparse_addmm(mat: Any, mat1: Any, mat2: Any, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """torch.sparse.addmm."""
    return _with_sum(mat, sparse_mm(mat1, mat2), beta, alpha)


def permute(input: Any, *dims: Any) -> Any:
    """The sparse dims in another order."""
    axes = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    axes = tuple([normalize_dim(d, input._array.ndim) for d in axes])
    if len(axes) != input._array.ndim:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                           f"desired ordering of dimensions i.e. input.dim() = {input._array.ndim} is not equal to len(dims) = "
                           f"{len(axes)}")
    sparse = input.sparse_dim()
    if axes[sparse:] != tuple(range(sparse, input._array.ndim)):
        raise NotImplementedError("permute(): dense dims of a sparse tensor stay where they are")
    return ops.permute(input, axes=axes[:sparse])


def transpose(input: Any, dim0: int, dim1: int, name: str = "TransposeBackward0") -> Any:
    ndim = input._array.ndim
    axes = list(range(ndim))
    i, j = normalize_dim(dim0, ndim), normalize_dim(dim1, ndim)
    if max(i, j) >= input.sparse_dim():
        raise RuntimeError("transpose: transposed dimensions must be sparse ")
    axes[i], axes[j] = axes[j], axes[i]
    return ops.permute(input, axes=tuple(axes[:input.sparse_dim()]), name=name)


def t(input: Any) -> Any:
    if input.dense_dim() or input.sparse_dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {input.sparse_dim()} sparse "
                           f"and {input.dense_dim()} dense dimensions")
    return input if input._array.ndim < 2 else transpose(input, 0, 1, "TBackward0")


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    """Of all elements, or along some dims: then the result is sparse, unless no sparse dim is left."""
    _no_out("sum", out)
    if dtype is not None:
        input = input.to(dtype)
    if dim is None or dim == ():
        return ops.total(input)
    return _sum_along(input, dim, keepdim)


def sparse_sum(x: Any, dim: Any = None, dtype: Any = None) -> Any:
    """torch.sparse.sum: as `sum`, but the gradient has the places of the input only."""
    if dtype is not None:
        x = x.to(dtype)
    if dim is not None:
        return _sum_along(x, dim, False)
    x = coalesce(x) if x._array.layout == "coo" else x
    return ops.values_of(x).sum()


def _sum_along(x: Any, dim: Any, keepdim: bool) -> Any:
    if x._array.layout != "coo":
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    x = coalesce(x)
    ndim, sparse = x._array.ndim, x.sparse_dim()
    dims = sorted({normalize_dim(d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))})
    kept = [axis for axis in range(sparse) if axis not in dims]
    shape = [1 if axis in dims else n for axis, n in enumerate(x._array.shape)]
    new = ops.values_of(x)
    if any(d >= sparse for d in dims):
        new = new.sum([d - sparse + 1 for d in dims if d >= sparse], keepdim)
    if kept:
        flat, groups = np.unique(numbers.flat_places(x._array.places[kept], tuple([x._array.shape[a] for a in kept])),
                                 return_inverse=True)
        new = ops.sum_groups(new, groups=wrap(groups), count=flat.size) if len(kept) < sparse else new
        places = numbers.unflat(flat, tuple([x._array.shape[axis] for axis in kept]))
    else:
        new = new.sum(0)
        if not keepdim:
            return new
        new, places = new.unsqueeze(0), np.zeros((0, 1), np.int64)
    if keepdim:
        whole = np.zeros((sparse, places.shape[1]), np.int64)
        whole[kept] = places
        places = whole
    else:
        shape = [n for axis, n in enumerate(shape) if axis not in dims]
    pattern = numbers.coo(places, new._array, tuple(shape), True)
    return ops.from_values(new, pattern=pattern, name="SparseSumBackward0")


def _softened(x: Any, dim: int, dtype: Any, log: bool) -> Any:
    """Softmax along a sparse dim: over the elements that are there."""
    if dtype is not None:
        x = x.to(dtype)
    if not is_sparse(x):
        raise NotImplementedError("torch.sparse.softmax: a dense tensor; use torch.softmax")
    x = coalesce(x)
    dim = normalize_dim(dim, x._array.ndim)
    name = "SparseLogSoftmaxBackward0" if log else "SparseSoftmaxBackward0"
    if dim >= x.sparse_dim():
        function = DENSE["log_softmax" if log else "softmax"]
        return with_values(x, function(ops.values_of(x), dim - x.sparse_dim() + 1), name)
    rest = [axis for axis in range(x.sparse_dim()) if axis != dim]
    flat = numbers.flat_places(x._array.places[rest], tuple([x._array.shape[axis] for axis in rest]))
    found, inverse = np.unique(flat, return_inverse=True)
    groups, count = wrap(inverse), found.size
    old = ops.values_of(x)
    shifted = old - ops.max_groups(old, groups=groups, count=count).detach()[groups]
    sums = ops.sum_groups(shifted.exp(), groups=groups, count=count)
    return with_values(x, shifted - sums.log()[groups] if log else shifted.exp() / sums[groups], name)


def sparse_softmax(x: Any, dim: int, *, dtype: Any = None) -> Any:
    return _softened(x, dim, dtype, log=False)


def sparse_log_softmax(x: Any, dim: int, *, dtype: Any = None) -> Any:
    return _softened(x, dim, dtype, log=True)


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None, out: Any = None) -> Any:
    _no_out("norm", out)
    if dim is not None:
        raise NotImplementedError("norm(): of a sparse tensor along a dim")
    input = coalesce(input) if input._array.layout == "coo" else input
    return ops.values_of(input).norm(p, dtype=dtype)


def zeros_like(input: Any, **options: Any) -> Any:
    """Without any element."""
    a = input._array
    indices = (a.indices[0][:, :0],) if a.layout == "coo" else (np.zeros_like(a.indices[0]), a.indices[1][:0])
    dtype = options.get("dtype") or input.dtype
    return tensor_of(SparseArray(a.layout, indices, a.values[:0].astype(dtype.numpy), a.shape, a.layout != "coo"))


def cat(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """One after the other along a sparse dim."""
    _no_out("cat", out)
    if not all(is_sparse(x) and x.is_coalesced() is not None for x in tensors):
        raise NotImplementedError("cat(): sparse and dense tensors together")
    first = tensors[0]._array
    dim = normalize_dim(dim, first.ndim)
    if dim >= first.sparse_dim:
        raise NotImplementedError("cat(): along a dense dim of sparse tensors")
    places, start = [], 0
    for x in tensors:
        moved = x._array.places.copy()
        moved[dim] += start
        places.append(moved)
        start += x._array.shape[dim]
    shape = (*first.shape[:dim], start, *first.shape[dim + 1:])
    new = DENSE["cat"]([ops.values_of(x) for x in tensors])
    return ops.from_values(new, pattern=numbers.coo(np.concatenate(places, 1), new._array, shape), name="CatBackward0")


def select(input: Any, dim: int, index: int) -> Any:
    """One slice along a dim; dense if no sparse dim is left."""
    if input._array.layout != "coo":
        input = to_sparse(input)
    dim, a = normalize_dim(dim, input._array.ndim), input._array
    n = a.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(a.shape)} at dimension {dim}")
    shape = (*a.shape[:dim], *a.shape[dim + 1:])
    if dim >= a.sparse_dim:
        new = ops.values_of(input).select(dim - a.sparse_dim + 1, index)
        return ops.from_values(new, pattern=numbers.coo(a.places, new._array, shape, a.coalesced), name="SelectBackward0")
    kept = np.flatnonzero(a.places[dim] == index % n)
    new = ops.values_of(input)[wrap(kept)]
    if a.sparse_dim == 1:
        return new.sum(0)
    places = np.delete(a.places[:, kept], dim, 0)
    return ops.from_values(new, pattern=numbers.coo(places, new._array, shape, a.coalesced), name="SelectBackward0")


def getitem(x: Any, key: Any) -> Any:
    for part in reversed(key if isinstance(key, tuple) else (key,)):
        if not isinstance(part, (int, np.integer)) or isinstance(part, bool):
            raise NotImplementedError("a sparse tensor can be indexed by integers only; use index_select, or t.to_dense()")
    for part in key if isinstance(key, tuple) else (key,):
        x = select(x, 0, int(part)) if is_sparse(x) else x[part]
    return x


def index_select(input: Any, dim: int, index: Any, *, out: Any = None) -> Any:
    """The slices along a sparse dim that `index` names."""
    _no_out("index_select", out)
    dim, a = normalize_dim(dim, input._array.ndim), input._array
    if a.layout != "coo" or dim >= a.sparse_dim:
        raise NotImplementedError("index_select(): along a dense dim of a sparse tensor, or with compressed rows")
    order = a.places[dim].argsort(kind="stable")
    ordered = a.places[dim][order]
    wanted = index._array.reshape(-1)
    begin, end = np.searchsorted(ordered, wanted), np.searchsorted(ordered, wanted, "right")
    counts = end - begin
    positions = np.repeat(np.arange(wanted.size), counts)
    chosen = order[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + begin[positions]]
    places = a.places[:, chosen]
    places[dim] = positions
    shape = (*a.shape[:dim], wanted.size, *a.shape[dim + 1:])
    new = ops.values_of(input)[wrap(chosen)]
    return ops.from_values(new, pattern=numbers.coo(places, new._array, shape), name="IndexSelectBackward0")


def unsqueeze(input: Any, dim: int) -> Any:
    a = input._array
    dim = normalize_dim(dim, a.ndim + 1)
    if dim > a.sparse_dim or a.layout != "coo":
        raise NotImplementedError("unsqueeze(): among the dense dims of a sparse tensor")
    shape = (*a.shape[:dim], 1, *a.shape[dim:])
    pattern = numbers.coo(np.insert(a.places, dim, 0, 0), a.values, shape, a.coalesced)
    return ops.from_values(ops.values_of(input), pattern=pattern, name="UnsqueezeBackward0")


def any_of(x: Any) -> Any:
    return wrap(np.asarray(bool(x._array.values.any())))


def _no_out(name: str, out: Any) -> None:
    if out is not None:
        raise NotImplementedError(f"{name}(): out= with sparse tensors")


def _check_writing(name: str, *tensors: Any) -> None:
    if modes.grad and builtin_any(t.requires_grad for t in tensors if isinstance(t, Tensor)):
        raise NotImplementedError(f"{name}(): in-place operations on sparse tensors are not recorded; use torch.no_grad()")


builtin_any = any


def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """In place: into a dense tensor the elements are added where they belong."""
    if is_sparse(self):
        return _rewritten("add_", self, add(self, other, alpha=alpha), other)
    if modes.grad and (self.requires_grad or other.requires_grad):
        return DENSE_METHODS["add_"](self, to_dense(other), alpha=alpha)
    _same_shape("add", self, other)
    numbers.add_into(self._array, scaled_array(other, alpha, self._array.dtype))
    bump(self)
    return self


def scaled_array(x: Any, alpha: Any, dtype: Any) -> SparseArray:
    new = x._array.values if alpha == 1 else x._array.values * alpha
    return x._array.with_values(new.astype(dtype, copy=False))  # type: ignore[no-any-return]


def sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    return add_(self, other, alpha=-alpha)


def _rewritten(name: str, x: Any, result: Any, *others: Any) -> Any:
    _check_writing(name, x, *others)
    x._array = result._array
    bump(x)
    return x


def mul_(self: Any, other: Any) -> Any:
    if not is_sparse(self):
        raise NotImplementedError("mul_(): a dense tensor by a sparse one")
    return _rewritten("mul_", self, mul(self, other), other)


def div_(self: Any, other: Any, *, rounding_mode: Any = None) -> Any:
    return _rewritten("div_", self, div(self, other, rounding_mode=rounding_mode), other)


def neg_(self: Any) -> Any:
    return _rewritten("neg_", self, neg(self))


def zero_(self: Any) -> Any:
    return _rewritten("zero_", self, zeros_like(self))


def copy_(self: Any, other: Any, non_blocking: bool = False) -> Any:
    if not is_sparse(self) or not is_sparse(other):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{self.type()} and src type = {other.type()}")
    return _rewritten("copy_", self, other.to(self.dtype).clone(), other)


def sparse_resize_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Another shape for the same elements."""
    a = self._array
    if (sparse_dim, dense_dim) != (self.sparse_dim(), self.dense_dim()):
        raise NotImplementedError("sparse_resize_(): another number of sparse or dense dims")
    return _rewritten("sparse_resize_", self, tensor_of(SparseArray("coo", a.indices, a.values, tuple(size), a.coalesced)))


# By torch's names: functions that a sparse tensor may be given to, at any of the first places.
FUNCTIONS: dict[str, Any] = {
    **{name: _on_values(name) for name in ON_VALUES if name in DENSE},
    "add": add, "addmm": addmm, "any": any_of, "cat": cat, "concat": cat, "clone": clone, "div": div, "divide": div,
    "dsmm": mm, "empty_like": zeros_like, "index_select": index_select, "matmul": matmul, "mm": mm, "mul": mul, "multiply": mul,
    "mv": mv, "neg": neg, "negative": neg, "norm": norm, "permute": permute, "pow": pow, "select": select, "spmm": mm, "sub": sub,
    "subtract": sub, "sum": sum, "swapaxes": transpose, "swapdims": transpose, "t": t, "transpose": transpose,
    "true_divide": div, "unsqueeze": unsqueeze, "zeros_like": zeros_like,
    "detach": SparseTensor.detach,
}
# Methods only.
METHODS: dict[str, Any] = {
    "__getitem__": getitem, "__iter__": lambda self: iter([select(self, 0, i) for i in range(len(self))]),
    "add_": add_, "coalesce": coalesce, "copy_": copy_, "div_": div_, "mul_": mul_, "neg_": neg_, "sparse_mask": sparse_mask,
    "sparse_resize_": sparse_resize_, "sub_": sub_, "to_dense": to_dense, "to_sparse": to_sparse, "to_sparse_coo": to_sparse,
    "to_sparse_csc": to_sparse_csc, "to_sparse_csr": to_sparse_csr, "values": values, "zero_": zero_,
    "__add__": add, "__radd__": lambda a, b: add(b, a) if isinstance(b, Tensor) else add(a, b), "__sub__": sub,
    "__rsub__": lambda a, b: sub(b, a) if isinstance(b, Tensor) else sub(a, b),
    "__mul__": mul, "__rmul__": mul, "__truediv__": div, "__rtruediv__": lambda a, b: div(b, a), "__neg__": neg, "__pow__": pow,
    "__matmul__": matmul, "__rmatmul__": lambda a, b: matmul(b, a), "__abs__": lambda self: FUNCTIONS["abs"](self),
    "__iadd__": add_, "__isub__": sub_, "__imul__": mul_, "__itruediv__": div_,
}
