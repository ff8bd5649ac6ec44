"""torch's module for each of our classes and functions: for messages that name a type, and for files that torch can read."""

from __future__ import annotations

import sys
from typing import Any

# Our module -> torch's, where the paths differ.
_FILES = {
    "whygrad.autograd.hooks": "torch.utils.hooks",
    **dict.fromkeys(("whygrad.base.devices", "whygrad.base.dtypes", "whygrad.base.layouts", "whygrad.base.size"), "torch"),
    "whygrad.core.tensor": "torch._tensor",
    "whygrad.distributions.transforms": "torch.distributions.transforms",
    "whygrad.nn.attention": "torch.nn.attention",
    "whygrad.nn.cross_map": "torch.nn.modules._functions",
    "whygrad.nn.adaptive_softmax": "torch.nn.modules.adaptive",
    "whygrad.nn.containers": "torch.nn.modules.container",
    "whygrad.nn.embedding": "torch.nn.modules.sparse",
    "whygrad.nn.functional.linear_cross_entropy": "torch.nn.modules.linear_cross_entropy_options",
    "whygrad.nn.functional": "torch.nn.functional",
    "whygrad.nn.init": "torch.nn.init",
    "whygrad.nn.multihead_attention": "torch.nn.modules.activation",
    "whygrad.nn.parallel": "torch.nn.parallel.data_parallel",
    "whygrad.nn.utils": "torch.nn.utils",
    "whygrad.optim.matrices": "torch.optim",
    "whygrad.optim.combined_schedules": "torch.optim.lr_scheduler",
    "whygrad.optim.cyclic_schedules": "torch.optim.lr_scheduler",
    "whygrad.optim.scheduler": "torch.optim.lr_scheduler",
    "whygrad.optim.schedules": "torch.optim.lr_scheduler",
    "whygrad.functional.parameter": "torch.nn.parameter",
    "whygrad.utils.data.collate": "torch.utils.data._utils.collate",
    "whygrad.nn": "torch.nn.modules",
}

# Our module -> {part of a name: torch's module}, where torch splits the module into several.
_SPLIT = {
    "whygrad.nn.lazy": {"Uninitialized": "torch.nn.parameter"},
    "whygrad.nn.normalization": {"BatchNorm": "torch.nn.modules.batchnorm", "InstanceNorm": "torch.nn.modules.instancenorm"},
    "whygrad.nn.shape": {"latten": "torch.nn.modules.flatten", "": "torch.nn.modules.distance"},
    "whygrad.nn.images": {"Pixel": "torch.nn.modules.pixelshuffle", "Channel": "torch.nn.modules.channelshuffle",
                          "old": "torch.nn.modules.fold", "Upsampl": "torch.nn.modules.upsampling"},
    "whygrad.optim.adam": {"SparseAdam": "torch.optim.sparse_adam",
                           **{name: f"torch.optim.{name.lower()}" for name in ("Adamax", "AdamW", "NAdam", "RAdam")}},
    "whygrad.optim.rms": {name: f"torch.optim.{name.lower()}" for name in ("Adadelta", "Adagrad", "RMSprop")},
    "whygrad.optim.sgd": {name: f"torch.optim.{name.lower()}" for name in ("ASGD", "Rprop")},
}


# Functions of torch.nn.functional that torch has in C++.
_COMPILED = frozenset({"avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear", "one_hot",
                       "scaled_dot_product_attention", "softplus", "softshrink"})
# Those that are functions of the torch namespace in C++.
_COMPILED_IN_TORCH = frozenset({
    "adaptive_avg_pool1d", "avg_pool1d", "bilinear", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "logsigmoid", "pixel_shuffle", "pixel_unshuffle", "rrelu_"})
# Functions of torch, and methods of Tensor, that torch has in Python: the functions are those of torch.functional.
_IN_PYTHON = {
    "torch": frozenset({
        "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "cdist", "chain_matmul",
        "einsum", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft", "svd_lowrank", "tensordot", "unique",
        "unique_consecutive", "unravel_index"}),
    "Tensor": frozenset({
        "__array__", "__contains__", "__deepcopy__", "__dlpack__", "__dlpack_device__", "__floordiv__", "__format__", "__ipow__",
        "__len__", "__pow__", "__reduce_ex__", "__repr__", "__reversed__", "__rfloordiv__", "__rlshift__", "__rmatmul__",
        "__rmod__", "__rpow__", "__rrshift__", "__rsub__", "__rtruediv__", "backward", "dim_order", "is_shared", "istft", "lu",
        "norm", "register_hook", "register_post_accumulate_grad_hook", "share_memory_", "split", "stft", "storage", "unflatten",
        "unique", "unique_consecutive"}),
}


def python_functions() -> frozenset[str]:
    """The names of torch.functional."""
    return _IN_PYTHON["torch"]


def is_in_python(public_name: str) -> bool:
    """Whether torch implements "torch.split", "Tensor.split" or "torch.nn.functional.relu" in Python."""
    space, _, name = public_name.rpartition(".")
    if space == "torch.nn.functional":
        return name not in _COMPILED and name not in _COMPILED_IN_TORCH
    return name in _IN_PYTHON.get(space, ())


# Classes that carry torch's `__module__`, as long as whygrad is imported as torch (see compat/identity.py) -> their module here.
carried: dict[type, str] = {}


def own_module(named: Any) -> str:
    """The module that defines a class or function, also for one of ours that carries torch's `__module__`."""
    module: str = named.__module__ or ""
    return carried.get(named, module) if module.startswith("torch") and isinstance(named, type) else module


def torch_home(named: Any) -> str | None:
    """The module in which torch has this class or function of ours; None if it is not ours."""
    ours = own_module(named)
    if ours != "whygrad" and not ours.startswith("whygrad."):
        return None
    home = _home(named, ours)
    return "torch._C._nn" if home == "torch.nn.functional" and named.__name__ in _COMPILED else home


def _home(named: Any, ours: str) -> str:
    if ours.startswith("whygrad.functional.") and ours not in _FILES:
        functional = sys.modules.get("whygrad.nn.functional")
        is_there = functional is not None and vars(functional).get(named.__name__) is named
        return "torch.nn.functional" if is_there else "torch"
    for word, home in _SPLIT.get(ours, {}).items():
        if word in named.__name__:
            return home
    for file, home in _FILES.items():
        if ours == file or (ours.startswith(f"{file}.")):
            whole = home in ("torch.nn.functional", "torch.distributions.transforms")  # a folder here, a file there
            return home if whole else home + ours.removeprefix(file)
    return "torch" + ours.removeprefix("whygrad")
