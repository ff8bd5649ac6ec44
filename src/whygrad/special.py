"""torch.special: what of it whygrad has."""

from whygrad.functional import bessel  # noqa: F401 (adds its functions to SPECIAL)
from whygrad.functional.special import SPECIAL

globals().update(SPECIAL)
__all__ = list(SPECIAL)
