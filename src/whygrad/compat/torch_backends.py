"""torch.backends: flags of libraries that are not used here. They are stored, and have no effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from whygrad.base.unsupported import answer
from whygrad.base.unsupported_reasons import with_reason


class FlagsModule(ModuleType):
    """torch.backends.cudnn and the like."""

    def __init__(self, name: str, flags: dict[str, Any], answers: dict[str, Any]) -> None:
        super().__init__(name, f"Flags of {name}: remembered, without effect.")
        self.__dict__.update(flags)
        for function, value in answers.items():
            setattr(self, function, answer(function, value))

    @contextlib.contextmanager
    def flags(self, **values: Any) -> Iterator[None]:
        """Set flags for the duration of a block."""
        before = {name: getattr(self, name) for name in values if hasattr(self, name)}
        self.__dict__.update(values)
        try:
            yield
        finally:
            self.__dict__.update(before)


class _AttentionSwitches(ModuleType):
    """torch.backends.cuda's switches for attention kernels. The only kernel here ignores them."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        for kernel in ("flash", "mem_efficient", "math", "cudnn"):
            setattr(self, f"enable_{kernel}_sdp", answer(f"enable_{kernel}_sdp", None))
            setattr(self, f"{kernel}_sdp_enabled", answer(f"{kernel}_sdp_enabled", True))
        self.is_built = answer("is_built", False)
        self.matmul = FlagsModule(f"{name}.matmul", {
            "allow_tf32": False, "allow_fp16_reduced_precision_reduction": True,
            "allow_bf16_reduced_precision_reduction": True, "allow_fp16_accumulation": False,
            "fp32_precision": "none"}, {})

    @staticmethod
    @contextlib.contextmanager
    def sdp_kernel(*args: Any, **kwargs: Any) -> Iterator[None]:
        yield


# name -> (flags, {function: its constant result})
_LIBRARIES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "cudnn": ({"enabled": True, "benchmark": False, "deterministic": False, "allow_tf32": True, "benchmark_limit": None,
               "fp32_precision": "none"}, {"is_available": False, "version": None, "is_acceptable": False}),
    "mkldnn": ({"enabled": True, "deterministic": False, "allow_tf32": None}, {"is_available": False}),
    "mkl": ({}, {"is_available": False}),
    "mps": ({}, {"is_available": False, "is_built": False, "is_macos_or_newer": False}),
    "openmp": ({}, {"is_available": False}),
    "opt_einsum": ({"enabled": False, "strategy": None}, {"is_available": False, "set_flags": None}),
    "cpu": ({}, {"get_cpu_capability": "DEFAULT"}),
    "quantized": ({"engine": "none", "supported_engines": ["none"]}, {}),
    "nnpack": ({}, {"is_available": False, "set_flags": None}),
}

MODULES: dict[str, ModuleType] = {f"torch.backends.{name}": FlagsModule(f"torch.backends.{name}", flags, answers)
                                  for name, (flags, answers) in _LIBRARIES.items()}
MODULES["torch.backends.cuda"] = _AttentionSwitches("torch.backends.cuda")


def __getattr__(name: str) -> ModuleType:
    found = MODULES.get(f"torch.backends.{name}")
    if found is None:
        raise AttributeError(with_reason(f"module 'torch.backends' has no attribute {name!r}", f"backends.{name}"))
    return found
