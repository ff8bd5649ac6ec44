"""torch.cuda on a machine without CUDA: `is_available()` is False, there are no devices, and functions that need one raise."""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from typing import Any

from whygrad.base.unsupported import answer, missing

NOT_COMPILED = "Torch not compiled with CUDA enabled"


class OutOfMemoryError(RuntimeError):
    """torch.cuda.OutOfMemoryError, for `except` clauses; never raised here."""


class CudaError(RuntimeError):
    """torch.cuda.CudaError, for `except` clauses; never raised here."""


class device:
    """`with torch.cuda.device(i)`: only -1, which means no device, can be entered."""

    def __init__(self, device: Any) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None and self.idx != -1:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, *exc: object) -> None:
        pass


def _needs_cuda(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(NOT_COMPILED)

    function.__name__ = function.__qualname__ = name
    return function


for _name, _value in {
    "is_available": False, "device_count": 0, "is_initialized": False, "is_bf16_supported": False, "empty_cache": None,
    "memory_allocated": 0, "max_memory_allocated": 0, "memory_reserved": 0, "max_memory_reserved": 0,
    "manual_seed": None, "manual_seed_all": None, "seed": None, "seed_all": None, "set_rng_state_all": None,
    "_is_in_bad_fork": False,
}.items():
    globals()[_name] = answer(_name, _value)

for _name in ("current_device", "get_device_name", "get_device_capability", "get_device_properties", "synchronize",
              "reset_peak_memory_stats", "reset_max_memory_allocated", "current_stream", "default_stream", "init",
              "initial_seed", "ipc_collect", "mem_get_info", "get_rng_state", "set_rng_state", "set_device"):
    globals()[_name] = _needs_cuda(_name)


def get_rng_state_all() -> list[Any]:
    return []


def get_arch_list() -> list[str]:
    return []


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    return OrderedDict()


def __getattr__(name: str) -> Any:
    if name in ("amp", "nvtx"):
        return import_module(f"whygrad.compat.cuda.{name}")
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.cuda' has no attribute {name!r}")
    return missing(f"torch.cuda.{name}")
