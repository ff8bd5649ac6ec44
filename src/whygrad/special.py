"""torch.special: what of it whygrad has."""

from whygrad.compat.absent import absent_from
from whygrad.functional import bessel  # noqa: F401 (adds its functions to SPECIAL)
from whygrad.functional.special import SPECIAL

globals().update(SPECIAL)
__getattr__ = absent_from("torch.special")

__all__ = list(SPECIAL)
