"""Stand-ins for the parts of torch that are not here: they can be imported and named, and raise when they are used."""

from __future__ import annotations

import contextlib
import dis
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from whygrad.base.unsupported_reasons import with_reason


class Missing(type):
    """The metaclass of stand-ins, which are classes so that `isinstance` and `class X(...)` work with them."""

    _full_name: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(with_reason(f"{cls._full_name} is not available in whygrad", cls._full_name))

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):  # programs mark functions with private attributes, and look for them
            raise AttributeError(name)
        return missing(f"{cls._full_name}.{name}")

    def __getitem__(cls, parameters: Any) -> Missing:
        """Subscripts occur in annotations."""
        return cls

    def __repr__(cls) -> str:
        return f"<{cls._full_name}: not available in whygrad>"


def missing(full_name: str) -> Missing:
    return Missing(full_name.rpartition(".")[2], (),
                   {"_full_name": full_name, "__module__": full_name.rpartition(".")[0]})


class MissingModule(ModuleType):
    """A module of torch that is not here. Its attributes are those in ANSWERS, and stand-ins."""

    __path__: list[str] = []  # marks a package, so that submodules can be imported

    def __init__(self, name: str) -> None:
        super().__init__(name, f"{name} is not available in whygrad: its parts raise when they are used.")
        for function, value in ANSWERS.get(name, {}).items():
            setattr(self, function, value if callable(value) or isinstance(value, dict) else answer(function, value))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        frame, full_name = sys._getframe(1), f"{self.__name__}.{name}"
        if is_import_from(frame) and is_prepared(frame):
            raise AttributeError(f"whygrad does not have {full_name}")
        return MissingModule(full_name) if full_name in ANSWERS else missing(full_name)


def answer(name: str, value: Any) -> Callable[..., Any]:
    """A function that always returns `value`."""
    def function(*args: Any, **kwargs: Any) -> Any:
        return value

    function.__name__ = function.__qualname__ = name
    return function


def unchanged(thing: Any) -> Any:
    """A decorator without effect, for those that only inform torch's compilers."""
    return thing


def register(*about: Any, **options: Any) -> Any:
    """Returns a decorator without effect."""
    return unchanged


def decorate(function: Any = None, **options: Any) -> Any:
    """A decorator without effect, usable with and without arguments."""
    return unchanged if function is None else function


# Attributes of missing modules that programs use before, or without, using the module itself.
ANSWERS: dict[str, dict[str, Any]] = {
    "torch.distributed.autograd": {"is_available": False},
    "torch.distributed.rpc": {"is_available": False},
    "torch.distributed.rpc.api": {"_require_initialized": unchanged},
    "torch.xpu": {"is_available": False, "device_count": 0, "manual_seed": None, "manual_seed_all": None},
    "torch.mps": {"is_available": False, "device_count": 0},
    "torch.mtia": {"is_available": False, "device_count": 0},
    "torch.accelerator": {"is_available": False, "device_count": 0, "current_accelerator": None},
    "torch._jit_internal": {"boolean_dispatched": {}, "_copy_to_script_wrapper": unchanged, "is_scripting": False},
    "torch.onnx": {"is_in_onnx_export": False, "register_custom_op_symbolic": register},
    "torch.onnx.symbolic_helper": {"parse_args": register},
    # There is nothing to configure, so decorated functions are returned unchanged.
    "torch._dynamo.config": {"patch": decorate},
    "torch._dynamo.utils": {"disable_cache_limit": contextlib.nullcontext},
    "torch.cpu": {"is_available": True, "device_count": 1, "synchronize": None, "current_device": "cpu"},
}

# Modules of torch 2.13 that are missing here, with all their submodules.
MODULES = frozenset(f"torch.{name}" for name in (
    "_C", "_custom_ops", "_decomp", "_dispatch", "_dynamo", "_export", "_functorch", "_guards", "_higher_order_ops",
    "_inductor", "_jit_internal", "_library", "_logging", "_lowrank", "_meta_registrations", "_ops", "_prims", "_refs",
    "_subclasses", "_vmap_internals", "accelerator", "ao",
    "contrib", "cpu", "cuda.comm", "cuda.graphs", "cuda.memory", "cuda.nccl", "cuda.profiler",
    "cuda.random", "cuda.sparse", "cuda.streams", "cuda.tunable", "distributed",
    "export", "fx.config", "fx.experimental", "fx.operator_schemas",
    "fx.passes", "fx.subgraph_rewriter", "fx.tensor_type", "fx.traceback",
    "monitor", "mps", "mtia", "nn.attention.bias",
    "nn.attention.flex_attention", "nn.attention.varlen", "nn.intrinsic", "nn.parallel", "nn.qat",
    "nn.quantizable", "nn.quantized", "onnx",
    "package", "quantization", "sparse.semi_structured",
    "utils._mode_utils", "utils.backend_registration", "utils.benchmark", "utils.bottleneck",
    "utils.bundled_inputs", "utils.collect_env", "utils.cpp_extension",
    "utils.data.graph", "utils.file_baton",
    "utils.jit", "utils.mobile_optimizer", "utils.show_pickle",
    "utils.throughput_benchmark", "xpu",
))


def is_missing_module(full_name: str) -> bool:
    """Whether torch has this module, or one above it, and whygrad has not. No module of torch has the name of a class."""
    if full_name.rpartition(".")[2][:1].isupper():
        return False
    while full_name:
        if full_name in MODULES:
            return True
        full_name = full_name.rpartition(".")[0]
    return False


def is_import_from(frame: FrameType | None) -> bool:
    """Whether the frame is executing IMPORT_FROM, the second half of `from x import y`."""
    return frame is not None and frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]


def is_prepared(frame: FrameType | None) -> bool:
    """Whether the frame's current instruction is inside a `try` block: such a program has a fallback."""
    if frame is None:
        return False
    entries = dis.Bytecode(frame.f_code).exception_entries  # type: ignore[attr-defined]
    # Entries with `lasti` belong to `with` blocks and to the handlers themselves.
    return any(entry.start <= frame.f_lasti < entry.end and not entry.lasti for entry in entries)


# Attributes of torch's Tensor that are missing here. Only these get a reason; other names get Python's usual message.
TENSOR_NAMES = frozenset((
    "const_data_ptr", "dequantize", "int_repr", "ipu", "is_distributed", "mtia", "q_per_channel_axis",
    "q_per_channel_scales", "q_per_channel_zero_points", "q_scale", "q_zero_point", "qscheme", "record_stream", "reinforce",
    "resize", "resize_as", "resize_as_sparse_", "slice_inverse", "smm", "sparse_resize_and_clear_", "sspaddmm",
    "to_mkldnn", "to_sparse_bsc", "to_sparse_bsr", "xpu"))


def missing_from_tensor(kind: str, name: str) -> AttributeError:
    """The error for an attribute that a tensor does not have."""
    return AttributeError(with_reason(f"{kind!r} object has no attribute {name!r}", f"Tensor.{name}"))


def absent(module: str, name: str, frame: FrameType | None) -> Any:
    """The value of the attribute `name` that torch's `module` lacks here, accessed in `frame`.

    A submodule that was not loaded yet; a stand-in, for a missing module or an import outside of any `try` block; otherwise an
    AttributeError with the reason.
    """
    full_name = f"{module}.{name}"
    if name.startswith("_") and not is_missing_module(full_name) and not is_import_from(frame):
        try:
            return module_loader(full_name)
        except ModuleNotFoundError:
            raise AttributeError(f"module {module!r} has no attribute {name!r}") from None
    if module != "torch" or is_missing_module(full_name):
        try:
            return module_loader(full_name)
        except ModuleNotFoundError:
            pass
    if is_import_from(frame) and not is_prepared(frame):
        return missing(full_name)
    raise AttributeError(with_reason(f"module {module!r} has no attribute {name!r}", full_name))


def _no_module(full_name: str) -> ModuleType:
    raise ModuleNotFoundError(full_name)


# Loads our module for a module of torch; set by base/torch_modules.py, which imports this file.
module_loader: Callable[[str], ModuleType] = _no_module


def absent_from(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of our module for torch's `module`."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return absent(module, name, sys._getframe(1))

    return __getattr__
