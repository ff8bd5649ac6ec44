"""Attributes of the package that are loaded on first access rather than by `import whygrad`."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from whygrad.base import dtypes
from whygrad.base.torch_modules import home_of
from whygrad.base.unsupported import absent, missing

_NAMES = {
    **dict.fromkeys(("save", "load"), "io"),
    **dict.fromkeys(("set_printoptions", "get_printoptions"), "base.printing"),
    **dict.fromkeys(("_disable_dynamo", "compile"), "compat.compiler"),
    **dict.fromkeys(("cond",), "compat.control_flow"),
    **dict.fromkeys(("DisableTorchFunctionSubclass",), "overrides"),
    **dict.fromkeys(("vmap",), "func"),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"),
                    "nn.functional.recurrent"),
    **dict.fromkeys(("adaptive_avg_pool1d", "avg_pool1d", "channel_shuffle", "conv1d", "conv2d",
                     "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "max_pool1d",
                     "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "pixel_shuffle", "pixel_unshuffle"), "nn.functional"),
    **dict.fromkeys(("bilinear", "rms_norm", "rrelu_"), "nn.functional"),
    **dict.fromkeys(("adaptive_max_pool1d", "affine_grid_generator", "alpha_dropout", "alpha_dropout_", "batch_norm",
                     "binary_cross_entropy_with_logits", "convolution", "cosine_embedding_loss", "dropout", "dropout_",
                     "embedding", "embedding_renorm_", "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout",
                     "feature_dropout_", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "group_norm",
                     "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm", "margin_ranking_loss",
                     "native_channel_shuffle", "native_dropout", "poisson_nll_loss", "rrelu", "triplet_margin_loss"),
                    "nn.functional.torch_names"),
    **dict.fromkeys(("native_batch_norm", "native_group_norm", "native_layer_norm"), "nn.functional.native_norms"),
    **dict.fromkeys(("norm_except_dim", "_weight_norm"), "nn.utils.weight_norm"),
    **dict.fromkeys(("sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_compressed_tensor"), "sparse"),
    **dict.fromkeys(("Explanation", "explain"), "why.explain"),
    **dict.fromkeys(("formula",), "why.formulas"),
    **dict.fromkeys(("load_ipython_extension", "unload_ipython_extension"), "for_torch.ipython"),
    **dict.fromkeys(("graph",), "why.svg"),
    **dict.fromkeys(("flow", "plot_flow"), "why.plots"),
    **dict.fromkeys(("empty_cache", "memory_stats"), "kernels"),
    **dict.fromkeys(("GradScaler", "autocast"), "amp"),
    **dict.fromkeys(("autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
                     "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled",
                     "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
                     "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype"),
                    "amp.autocast_mode"),
    **dict.fromkeys(("OutOfMemoryError",), "compat.cuda"),
    **dict.fromkeys(("BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage",
                     "ComplexFloatStorage", "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage", "LongStorage",
                     "ShortStorage", "Storage", "TypedStorage", "UntypedStorage"), "functional.storage"),
    **dict.fromkeys(("_assert", "_assert_async", "_check", "_check_index", "_check_is_size", "_check_not_implemented",
                     "_check_tensor_all", "_check_tensor_all_with", "_check_type", "_check_value", "_check_with"),
                    "compat.checks"),
    **dict.fromkeys(("sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"),
                    "compat.symbols"),
    **dict.fromkeys(("Future",), "base.futures"),
    **dict.fromkeys(("get_device_module",), "compat.torch_utils"),
    **dict.fromkeys(("SymBool", "SymFloat", "SymInt"), "compat.types"),
    **dict.fromkeys(("_VF", "_cast_Long", "_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo",
                     "_shape_as_tensor", "_softmax_backward_data", "_unique", "_unique2"), "compat.private"),
    **dict.fromkeys(("get_default_device", "set_default_device"), "functional.meta"),
    **dict.fromkeys((
        "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
        "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads",
        "is_deterministic_algorithms_warn_only_enabled", "is_vulkan_available", "is_warn_always_enabled",
        "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal",
        "set_num_interop_threads", "set_num_threads", "set_warn_always", "use_deterministic_algorithms"), "compat.switches"),
}

_MODULES = frozenset({
    "_C", "__config__", "__future__", "amp", "autograd", "backends", "compiler", "cpu", "cuda", "distributions", "fft", "func",
    "futures", "fx", "hub", "jit", "library", "masked", "multiprocessing", "nested", "nn", "ops", "optim", "overrides",
    "profiler", "quasirandom", "serialization", "signal", "sparse", "special", "storage", "testing", "torch_version", "types",
    "utils", "version"})
_OUR_MODULES = frozenset({"alias", "io"})
# Classes without instances here: programs name them in `isinstance` and annotations.
_NAMEABLE = frozenset({"DeviceObjType", "Event", "PyTorchFileReader", "ScriptFunction", "ScriptModule", "ScriptObject",
                       "Stream"})
# Public names that torch.__all__ does not have: whygrad's own, and those that torch leaves out.
_NOT_IN_ALL = """
    BFloat16Storage ComplexDoubleStorage ComplexFloatStorage HalfStorage Storage
    BFloat16Tensor Buffer Explanation FUNCTIONS HalfTensor Parameter TYPE_CHECKING absolute_ broadcast_shapes channels_last
    channels_last_3d contiguous_format digamma_ eig empty_cache erfinv_ explain flow formula from_dlpack get_printoptions graph
    install jagged lgamma_ load_ipython_extension lstsq lu matrix_rank memory_stats pca_lowrank plot_flow
    preserve_format segment_reduce set_default_dtype set_grad_enabled solve sparse_bsc sparse_bsr sparse_coo sparse_csc
    sparse_csr strided svd_lowrank symeig unique unload_ipython_extension"""


def exported() -> list[str]:
    """torch.__all__: what `from torch import *` binds."""
    loaded = vars(sys.modules["whygrad"])
    public = {*loaded, *_NAMES, *_NAMEABLE, *dtypes.NAMES_ONLY}.difference(_NOT_IN_ALL.split())
    return sorted(name for name in public if not name.startswith("_") and not isinstance(loaded.get(name), ModuleType))


def names() -> list[str]:
    """The package's `__dir__`, for completion: what is loaded, and what would be on first access."""
    return sorted({*vars(sys.modules["whygrad"]), *_NAMES, *_MODULES, *_OUR_MODULES})


def attribute(name: str) -> Any:
    """The package's `__getattr__`."""
    if name.startswith("_foreach_"):
        from whygrad.functional.foreach import functions

        vars(sys.modules["whygrad"]).update(found := functions())
        value: Any = found.get(name)
        if value is None:
            return absent("torch", name, sys._getframe(1))
    elif name == "__all__":
        return exported()
    elif name == "torch":  # torch.torch is torch
        value = sys.modules["whygrad"]
    elif name in dtypes.NAMES_ONLY:
        value = dtypes.NAMES_ONLY[name]
    elif name in _NAMES:
        value = getattr(import_module(f"whygrad.{_NAMES[name]}"), name)
    elif name in _MODULES:
        value = import_module(home_of(f"torch.{name}") or "")
    elif name in _OUR_MODULES:
        value = import_module(f"whygrad.{name}")
    elif name.startswith("__"):
        raise AttributeError(f"module 'whygrad' has no attribute {name!r}")
    elif name in _NAMEABLE:
        value = missing(f"torch.{name}")
    else:
        return absent("torch", name, sys._getframe(1))
    if name != "Storage":  # which follows the default dtype
        setattr(sys.modules["whygrad"], name, value)
    return value
