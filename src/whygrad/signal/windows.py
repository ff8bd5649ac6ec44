"""torch.signal.windows: window functions, symmetric or periodic."""

from whygrad.base.unsupported import absent_from
from whygrad.functional.windows import (
    bartlett,
    blackman,
    cosine,
    exponential,
    gaussian,
    general_cosine,
    general_hamming,
    hamming,
    hann,
    kaiser,
    nuttall,
)

__getattr__ = absent_from("torch.signal.windows")

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
           "kaiser", "nuttall"]
