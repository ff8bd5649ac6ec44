"""numpy.linalg's functions, which raise LinAlgError for a matrix without the wanted result on every platform.

NumPy learns of the failure from the processor's floating-point flags. WebAssembly has none: there the NaNs that NumPy leaves in
the result tell.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.base.platforms import IS_WEBASSEMBLY


def raising(function: Callable[..., Any], *, nan_is_input: bool = False) -> Callable[..., Any]:
    """With `nan_is_input`, NaNs that come from a matrix that is not finite are no failure."""
    if not IS_WEBASSEMBLY:
        return function

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        results = found if isinstance(found, tuple) else (found,)
        if any(np.isnan(x).any() for x in results) and not (
                nan_is_input and not all(np.isfinite(x).all() for x in args if isinstance(x, np.ndarray))):
            raise np.linalg.LinAlgError
        return found

    return checked


inv, solve = raising(np.linalg.inv, nan_is_input=True), raising(np.linalg.solve, nan_is_input=True)
cholesky, svd = raising(np.linalg.cholesky), raising(np.linalg.svd)
eig, eigvals = raising(np.linalg.eig), raising(np.linalg.eigvals)
eigh, eigvalsh = raising(np.linalg.eigh, nan_is_input=True), raising(np.linalg.eigvalsh, nan_is_input=True)
