"""torch's refusals of an `out=` whose dtype is not that of the result."""

from __future__ import annotations

from whygrad.base import dtypes
from whygrad.base.dtypes import c_name
from whygrad.functional.arguments import not_implemented
from whygrad.functional.inplace import check_castable

# What torch says of an `out` whose dtype is not that of the result, by the functions that do not cast to it.
_REFUSALS = {
    "Expected out tensor to have dtype {c_result}, but got {c_out} instead":
        "_linalg_det _linalg_eigh _linalg_slogdet _linalg_solve_ex _linalg_svd _lu_with_info addmm addmv alias_copy "
        "aminmax argmax argmin argsort as_strided_copy avg_pool2d avg_pool3d baddbmm bmm cross diag diagonal_copy "
        "expand_copy gather index_add index_copy index_reduce isin linalg_cholesky_ex linalg_cross linalg_eigvalsh "
        "linalg_inv_ex linalg_ldl_factor_ex linalg_ldl_solve linalg_lu linalg_lu_factor_ex linalg_lu_solve linalg_qr "
        "linalg_svdvals linalg_vector_norm linear log_softmax lu_solve lu_unpack matmul max min mm msort mv permute_copy "
        "qr renorm scatter scatter_add scatter_reduce select_copy slice_scatter softmax sort split_copy "
        "split_with_sizes_copy squeeze_copy svd t_copy topk transpose_copy triangular_solve tril triu unbind_copy "
        "unfold_copy unsqueeze_copy view_copy",
    "Found dtype {out} but expected {result}":
        "abs bitwise_not ceil clamp_max clamp_min conj_physical fft_ifft fft_ihfft floor frac gelu hardshrink neg round sgn sign "
        "softplus softshrink trunc",
    "expected scalar_type {result} but found {out}": "cummax cummin diff logcumsumexp",
    "expected scalar type {result} but found {out}": "linalg_solve_triangular log_sigmoid",
    "expected scalar type '{result}' but got '{out}' for values output": "mode",
    "torch.frexp() expects mantissa to have dtype {c_result} but got {c_out}": "frexp",
    "output values must be of same type as input": "kthvalue",
    "quantile() out tensor must be same dtype as the input tensor": "nanquantile quantile",
    "{name} is not yet implemented for tensors with different dtypes.": "heaviside",
    "Expected self.dtype() == output.dtype() to be true, but got false.": "narrow_copy",
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{result} and result has dtype {out}":
        "ormqr",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {c_result} and hist {c_out}":
        "histc histogram",
    "linalg.matrix_norm expected out tensor dtype {result} but got: {out}": "linalg_matrix_norm",
    "linalg.norm expected out tensor dtype {result} but got: {out}": "linalg_norm",
    "linalg.vecdot: Expected out of dtype{result} but found {out}": "linalg_vecdot",
    "Expected result to be of dtype uint64, but got {out}": "hash_tensor",
    "self and mat2 must have the same dtype, but got {out} and {result}": "addbmm",
    "Expected the dtype for input and out to match, but got {result} for input's dtype and {out} for out's dtype.":
        "amax amin",
    "result dtype {out} does not match input dtype {result}": "dot vdot",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "{name}(): self and out expected to have the same dtype, but got self.dtype = {result} and out.dtype = {out}": "take",
    "tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with dtype {out}":
        "inner tensordot",
    "multi_dot(): expected out tensor to have dtype {c_result} but got {c_out}": "linalg_multi_dot",
    "Expected object of scalar type {result} but got scalar type {out} for argument 'out'": "complex polar",
    "{name} does not support non-boolean outputs.": "isneginf isposinf signbit",
    "{name} expects {result} tensor out, got: {out}": "multinomial",
    "{name}: dtype of out: {out} should be same as input: {result}": "nan_to_num",
    "{name}: Expected out tensor to have scalar type {result} but got scalar type{out}": "nonzero nonzero_static",
}
# These cast to an `out` whose dtype can hold the result: their names, and what torch calls the result.
_SAFELY = {
    "matrix_power": ("matrix_power", "result"), "linalg_pinv": ("linalg.pinv", "result"),
    "linalg_cond": ("linalg.cond", "result"), "cholesky_solve": ("cholesky_solve", "result"),
    "cholesky_inverse": ("cholesky_inverse", "result"),
    "linalg_eigvals": ("torch.linalg.eigvals", "eigenvalues"), "eigenvectors": ("torch.linalg.eig", "eigenvectors"),
    "linalg_eig": ("torch.linalg.eig", "eigenvalues"), "geqrf": ("torch.geqrf", "a"), "geqrf_tau": ("torch.geqrf", "tau"),
    "linalg_householder_product": ("torch.linalg.householder_product", "result"),
}
# These cannot read their own `out` back in another dtype.
_NO_KERNEL = {"nanmean": "nansum_cpu", "nansum": "nansum_cpu"}
_TEXTS = {name: text for text, names in _REFUSALS.items() for name in names.split()}


def check_out_dtype(name: str, result: dtypes.dtype, out: dtypes.dtype) -> None:
    """For a result that is not of the dtype of `out`."""
    text = _TEXTS.get(name)
    if text is not None:
        raise RuntimeError(text.format(name=name, result=result.scalar_name, out=out.scalar_name,
                                       c_result=c_name(result), c_out=c_name(out)))
    if name in ("cat", "stack") and not dtypes.can_cast(result, out):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.scalar_name}")
    if name in _NO_KERNEL and out.category < 2:
        raise not_implemented(_NO_KERNEL[name], out)
    if name in _SAFELY and not dtypes.can_cast(result, out):
        function, argument = _SAFELY[name]
        raise RuntimeError(f"{function}: Expected {argument} to be safely castable from {result.scalar_name} dtype, but got "
                           f"{argument} with dtype {out.scalar_name}")
    if name == "logsumexp" and out.category < 2:
        raise RuntimeError(f"logsumexp(): Expected floating point type for result tensor, but got: {out.scalar_name}")
    check_castable(result, out)
