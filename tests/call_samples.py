"""A valid call of (nearly) every public function and method, for tests that go over all of them."""

from __future__ import annotations

# The arguments, the tensor itself first, and who takes them; an in-place twin takes what its function takes. The names
# are those of `test_bad_input.SETUP`.
_ARGUMENTS: dict[tuple[str, ...], str] = {
    ("x",):
        "__iter__ __len__ abs absolute acos acosh adjoint alias_copy aminmax angle arccos arccosh arcsin arcsinh "
        "arctan arctanh argwhere asin asinh atan atanh atleast_1d atleast_2d atleast_3d bfloat16 bool byte "
        "cdouble ceil cfloat chalf char clone conj contiguous corrcoef cos cosh cov cpu cuda cumulative_trapezoid "
        "data_ptr deg2rad detach digamma dim double element_size empty_like erf erfc exp exp2 expm1 fix fliplr "
        "flipud float floor frac frexp get_device half i0 int is_complex is_contiguous is_floating_point "
        "is_inference is_neg is_pinned is_shared is_signed is_storage is_tensor isfinite isinf isnan isneginf "
        "isposinf isreal lgamma log log10 log1p log2 logical_not long msort ndimension neg negative nelement "
        "nonzero numel numpy ones_like pdist pin_memory poisson positive rad2deg rand_like randn_like ravel "
        "reciprocal relu resolve_neg round rsqrt selu sgn short sigmoid sign signbit sin sinc sinh slice_copy "
        "sqrt square squeeze_copy storage_offset t t_copy tan tanh tolist trapezoid trapz trunc typename "
        "unbind_copy unique unique_consecutive untyped_storage zero_ zeros_like",
    ("x", "x"):
        "add allclose arctan2 atan2 block_diag cdist complex copy_ copysign div divide eq equal float_power "
        "floor_divide fmax fmin fmod ge greater greater_equal gt heaviside hypot igamma igammac inner "
        "is_same_size isclose kron le less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor lt "
        "maximum minimum mul multiply ne nextafter not_equal polar pow remainder result_type rsub sub subtract "
        "true_divide xlogy",
    ("x", "0"):
        "__getitem__ count_nonzero cummax cummin cumprod cumsum log_softmax logcumsumexp logsumexp size softmax "
        "squeeze stride tril triu unbind unsqueeze unsqueeze_copy",
    ("x", "0", "True"):
        "all amax amin any argmax argmin argsort max mean median min nanmean nanmedian nansum prod sort sum",
    ("m",): "cholesky cholesky_inverse det diagonal_copy inverse logdet matrix_exp pinverse qr slogdet svd trace",
    ("x", "0", "1"): "clamp clip flatten moveaxis movedim select swapaxes swapdims transpose transpose_copy",
    ("n", "n"): "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm",
    ("5",): "bartlett_window blackman_window hamming_window hann_window kaiser_window randperm",
    ("c",): "conj_physical imag is_conj real resolve_conj view_as_real",
    ("v", "v"): "cartesian_prod dot ger meshgrid outer vdot",
    ("2", "3"): "empty ones rand randn zeros",
    ("[x, x]",): "column_stack dstack hstack row_stack vstack",
    ("x", "1"): "clamp_max clamp_min mode mvlgamma split_copy",
    ("[x, x]", "0"): "cat concat concatenate stack",
    ("m", "m"): "chain_matmul cholesky_solve matmul mm",
    ("x", "0", "True", "True"): "std std_mean var var_mean",
    ("x", "0.0", "1.0"): "cauchy_ log_normal_ normal_ uniform_",
    ("x", "1", "0"): "diff roll split unsafe_split",
    ("x", "1.0"): "__contains__ celu exponential_ fill",
    ("x", "v"): "broadcast_tensors bucketize isin prelu",
    ("[1., 2.]",): "as_tensor asarray tensor",
    ("x", "(2,)"): "new_empty new_ones new_zeros",
    ("x", "0", "0", "1"): "diag_embed narrow narrow_copy",
    ("x", "0.5"): "bernoulli_ geometric_ hardshrink",
    ("x", "2", "0"): "chunk tensor_split unsafe_chunk",
    ("x", "2", "1"): "kthvalue repeat_interleave topk",
    ("3", "3", "0"): "tril_indices triu_indices",
    ("T.float32", "T.int64"): "can_cast promote_types",
    ("g", "print"): "register_hook register_post_accumulate_grad_hook",
    ("m", "v"): "diagonal_scatter mv",
    ("np.ones(3)",): "from_dlpack from_numpy",
    ("s",): "is_nonzero item",
    ("v",): "diagflat gradient",
    ("v", "(2, 3)"): "broadcast_to expand_copy",
    ("v", "x"): "expand_as searchsorted",
    ("x", "(1, 0)"): "permute permute_copy",
    ("x", "0", "5"): "randint_like random_",
    ("x", "0", "i", "x"): "index_add index_copy",
    ("x", "0", "j", "x"): "scatter scatter_add",
    ("x", "0.5", "0"): "nanquantile quantile",
    ("x", "3", "2"): "resize_ view",
    ("x", "T.float64"): "to type",
    ("x", "[1, 1]", "0"): "split_with_sizes unsafe_split_with_sizes",
    ("x", "x", "x"): "addcdiv addcmul",
    ("x", "x.t()"): "reshape_as resize_as_",
    ("y",): "bernoulli erfinv",
    ("'ij,ij->i'", "x", "x"): "einsum",
    ("(2, 3)", "(0, 1)"): "empty_permuted",
    ("(2, 3)", "(3, 1)"): "empty_strided",
    ("(2, 3)", "(3,)"): "broadcast_shapes",
    ("(2, 3)", "1.5"): "full",
    ("0", "1", "5"): "linspace",
    ("0", "1", "5", "10.0"): "logspace",
    ("0", "5", "(2,)"): "randint",
    ("0", "5", "1"): "range",
    ("0.0", "1.0", "(2,)"): "normal",
    ("1", "10", "2"): "arange",
    ("1", "x"): "polygamma",
    ("1.0",): "scalar_tensor",
    ("3", "3"): "eye",
    ("T.float32",): "set_default_dtype",
    ("b", "x", "x"): "where",
    ("bytearray(8)",): "frombuffer",
    ("h",): "retain_grad",
    ("h.sum()",): "backward",
    ("i",): "bincount",
    ("i", "(2, 3)"): "unravel_index",
    ("m", "0"): "diag",
    ("m", "0", "0", "1"): "diagonal",
    ("m", "1.0"): "fill_diagonal_",
    ("m", "2"): "matrix_power",
    ("m", "m", "1"): "tensordot",
    ("m", "m", "m"): "addmm",
    ("m", "q", "q.transpose(1,2)"): "addbmm",
    ("m", "v", "v"): "addr",
    ("n",): "bitwise_not",
    ("q", "3"): "dsplit",
    ("q", "q.transpose(1, 2)"): "bmm",
    ("q", "q[:, :, :2]", "q"): "baddbmm",
    ("v", "2"): "combinations",
    ("v", "2", "3"): "expand",
    ("v", "2", "False"): "vander",
    ("v", "m", "v"): "addmv",
    ("v", "v/10"): "binomial",
    ("x", "(0,)"): "flip",
    ("x", "(1, 1)", "0.0"): "constant_pad_nd",
    ("x", "(2, 2)"): "tile",
    ("x", "(2, 2)", "(1, 1)", "0"): "as_strided",
    ("x", "(2,)", "(1,)"): "new_empty_strided",
    ("x", "(2,)", "1.5"): "new_full",
    ("x", "(3, 2)"): "reshape",
    ("x", "(6,)"): "view_copy",
    ("x", "(i,)", "x"): "index_put",
    ("x", "0", "0"): "select_copy",
    ("x", "0", "1.0"): "__setitem__",
    ("x", "0", "2", "1"): "unfold",
    ("x", "0", "i"): "index_select",
    ("x", "0", "i", "1.0"): "index_fill",
    ("x", "0", "i", "x", "'prod'"): "index_reduce",
    ("x", "0", "j"): "gather",
    ("x", "0", "j", "x", "'sum'"): "scatter_reduce",
    ("x", "0.0", "1.0", "2.0"): "nan_to_num",
    ("x", "1", "(0, 1)"): "rot90",
    ("x", "1", "(3, 1)"): "unflatten",
    ("x", "1", "3"): "sum_to_size",
    ("x", "1.0", "2.0"): "threshold",
    ("x", "1.5"): "full_like",
    ("x", "2"): "vsplit",
    ("x", "2", "0", "1.0"): "renorm",
    ("x", "2", "0", "True"): "norm",
    ("x", "2", "2"): "repeat",
    ("x", "3"): "hsplit",
    ("x", "5"): "histogram",
    ("x", "5", "0", "1"): "histc",
    ("x", "True"): "requires_grad_",
    ("x", "[1.]"): "new_tensor",
    ("x", "b"): "masked_select",
    ("x", "b", "1.0"): "masked_fill",
    ("x", "b", "x"): "masked_scatter",
    ("x", "d"): "type_as",
    ("x", "i"): "take",
    ("x", "i", "v[:2]"): "put",
    ("x", "j", "0"): "take_along_dim",
    ("x", "m[:2]"): "view_as",
    ("x", "n"): "ldexp",
    ("x", "v", "0", "0"): "select_scatter",
    ("x", "x", "0"): "slice_scatter",
    ("x", "x", "0.5"): "lerp",
    ("x", "x", "1"): "cross",
    ("x", "x", "1", "1e-8"): "cosine_similarity",
    ("x", "x", "2"): "dist",
    ("x", "x", "2.0", "1e-6", "False"): "pairwise_distance",
    ("x[:, :2].contiguous()",): "view_as_complex",
    ("y", "0.1"): "logit",
    ("y", "2", "True"): "multinomial",
}

_CALLS = {name: arguments for arguments, names in _ARGUMENTS.items() for name in names.split()}


def arguments_of(name: str) -> tuple[str, ...] | None:
    """The arguments of a valid call, if one is known."""
    return _CALLS.get(name) or _CALLS.get(name.removesuffix("_"))
