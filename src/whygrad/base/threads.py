"""The number of threads that compute, in our kernels and in NumPy's matrix products."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any

_chosen: int | None = None


def number_of_threads() -> int:
    """The number the program has set, or OMP_NUM_THREADS, or the number of processors available to this process."""
    if _chosen is not None:
        return _chosen
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_number_of_threads(count: int) -> None:
    global _chosen
    _chosen = count
    pool = sys.modules.get("whygrad.kernels.pool")
    if pool is not None and pool.pool.cache_info().currsize:  # a pool that does not exist yet reads the number later
        pool.pool().set_threads(count)
    blas = openblas()
    if blas is not None:
        blas.scipy_openblas_set_num_threads64_(min(count, 2**31 - 1))


@cache
def openblas() -> Any:
    """The OpenBLAS library of NumPy's wheel, or None if there is none."""
    import numpy as np

    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    try:
        names = [name for name in os.listdir(folder) if name.startswith("libscipy_openblas64")]
        library = ctypes.CDLL(os.path.join(folder, names[0])) if names else None
    except OSError:
        return None
    return library if hasattr(library, "scipy_openblas_set_num_threads64_") else None
