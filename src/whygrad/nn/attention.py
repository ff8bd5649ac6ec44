"""torch.nn.attention: which kernels `scaled_dot_product_attention` may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from whygrad.base.unsupported import absent_from
from whygrad.nn.functional import attention

__getattr__ = absent_from("torch.nn.attention")


class SDPBackend(IntEnum):
    """torch's attention backends. The CPU has FLASH_ATTENTION, and MATH, which has derivatives of any order."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict[str, object]]:
    """A context in which only these backends are used."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                             f"{type(backends).__name__}")
    allowed = backends if isinstance(backends, list) else [backends]
    before = attention.kernels
    attention.kernels = attention.Kernels(SDPBackend.FLASH_ATTENTION in allowed, SDPBackend.MATH in allowed)
    try:
        yield {}
    finally:
        attention.kernels = before
