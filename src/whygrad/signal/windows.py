"""torch.signal.windows: window functions, symmetric or periodic."""

from whygrad.base.unsupported import absent_from
from whygrad.functional import windows as _windows

_NAMES = ("bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
          "kaiser", "nuttall")
globals().update({name: getattr(_windows, name) for name in _NAMES})
__getattr__ = absent_from("torch.signal.windows")

__all__ = list(_NAMES)
