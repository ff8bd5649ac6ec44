"""torch.use_deterministic_algorithms. Everything is deterministic here; torch's functions that are not say so nevertheless."""

from __future__ import annotations

import numpy as np

from whygrad.base.errors import warn

TEXT = ("{} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True{})'. ")
REFUSED = (TEXT + "You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if that's "
           "acceptable for your application. You can also file an issue at https://github.com/pytorch/pytorch/issues to help us "
           "prioritize adding deterministic support for this operation.")
WARNED = (TEXT + "You can file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic "
          "support for this operation.")


# torch.utils.deterministic: whether memory that nothing was written to is filled with NaN, or the largest integer.
fill_uninitialized_memory: bool = True


class determinism:
    """What was asked for."""

    enabled = False
    warn_only = False


def alert_not_deterministic(caller: str) -> None:
    """For a function of which torch has no deterministic version."""
    if determinism.enabled:
        if not determinism.warn_only:
            raise RuntimeError(REFUSED.format(caller, ""))
        warn(WARNED.format(caller, ", warn_only=True"))


def fill_uninitialized(array: np.ndarray) -> np.ndarray:
    """For fresh memory, in deterministic mode."""
    if fill_uninitialized_memory and array.size:
        kind = array.dtype.kind
        array.fill(True if kind == "b" else np.iinfo(array.dtype).max if kind in "iu" else np.nan)
    return array
