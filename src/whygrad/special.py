"""torch.special: what of it whygrad has."""

from whygrad.functional import bessel
from whygrad.functional.special import SPECIAL

globals().update(SPECIAL)
__all__ = list(SPECIAL)
