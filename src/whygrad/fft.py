"""torch.fft."""

from whygrad.compat.absent import absent_from
from whygrad.functional import fourier
from whygrad.functional.fourier import fftfreq, fftshift, ifftshift, rfftfreq

globals().update({name: getattr(fourier, name) for name in fourier.NAMES})

__getattr__ = absent_from("torch.fft")

__all__ = [*fourier.NAMES, "fftfreq", "fftshift", "ifftshift", "rfftfreq"]
