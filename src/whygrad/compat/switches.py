"""Process-wide switches: number of threads, determinism, precision of matrix products.

Computations are always deterministic and of full precision: only the number of threads has an effect, and what is said how
often.
"""

from __future__ import annotations

import os
from typing import Any

from whygrad.base.errors import warn
from whygrad.base.threads import choose_number_of_threads, number_of_threads
from whygrad.functional.determinism import determinism
from whygrad.functional.fresh import Repeats

_state: dict[str, Any] = {"interop": os.cpu_count() or 1, "precision": "highest"}


def _check_threads(function: str, count: Any) -> None:
    if isinstance(count, bool) or not isinstance(count, int):
        raise RuntimeError(f"{function} expects an int, but got {type(count).__name__}")
    if count <= 0:
        raise RuntimeError(f"{function} expects a positive integer")


def set_num_threads(count: int) -> None:
    """Set the number of threads used by kernels and matrix products."""
    _check_threads("set_num_threads", count)
    choose_number_of_threads(count)


def get_num_threads() -> int:
    return number_of_threads()


def set_num_interop_threads(count: int) -> None:
    _check_threads("set_num_interop_threads", count)
    _state["interop"] = count


def get_num_interop_threads() -> int:
    return int(_state["interop"])


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    for value, place in ((mode, "'mode' (position 1)"), (warn_only, "'warn_only'")):
        if type(value) is not bool:
            raise TypeError(f"_set_deterministic_algorithms(): argument {place} must be bool, not {type(value).__name__}")
    determinism.enabled, determinism.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    return determinism.enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    return determinism.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    mode: Any = {"default": 0, "warn": 1, "error": 2}.get(str(debug_mode), debug_mode)
    if isinstance(mode, str):
        raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {mode}")
    if mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {mode}")
    use_deterministic_algorithms(mode != 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    return (1 if determinism.warn_only else 2) if determinism.enabled else 0


def set_float32_matmul_precision(precision: str) -> None:
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision not in ("highest", "high", "medium"):
        warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has "
             "no effect.")
        return
    _state["precision"] = precision


def get_float32_matmul_precision() -> str:
    return str(_state["precision"])


def set_warn_always(b: bool) -> None:
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    Repeats.always = b


def is_warn_always_enabled() -> bool:
    return Repeats.always


def set_flush_denormal(mode: bool) -> bool:
    """Returns False, torch's answer on machines that do not support it."""
    return False


def is_vulkan_available() -> bool:
    return False
