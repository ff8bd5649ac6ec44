"""Fourier transforms. `norm` is the divisor of the sum: "none", "n" (the number of points) or "root" (its square root)."""

from whygrad.ops.table import along_axes


# The matrix of the transform is symmetric, so the transform is its own transpose.
@along_axes(linear="x", memory="own",
            node="FftC2CBackward0",
            x=lambda xp, g, axes, norm, inverse: xp.fft_c2c(g, axes=axes, norm=norm, inverse=inverse))
def fft_c2c(xp, x, *, axes, norm, inverse): ...


def fft_r2c_rule(xp, g, x_shape, axes, norm, onesided):
    if not onesided:
        spectrum = xp.fft_c2c(g, axes=axes, norm=norm, inverse=False)
        return xp.select(xp.view_as_real(spectrum), axis=len(spectrum.shape), index=0)
    # fft_c2r counts every frequency but the first (and the middle one) twice, with its conjugate: halve them.
    size = x_shape[axes[-1]]
    halved = xp.scale_inside(xp.conj(g), axis=axes[-1], size=size, factor=0.5)
    return xp.fft_c2r(halved, axes=axes, norm=norm, size=size)


@along_axes(linear="x", memory="own",
            node="FftR2CBackward0", x=fft_r2c_rule)
def fft_r2c(xp, x, *, axes, norm, onesided):
    """The transform of real numbers. `onesided`: without the redundant half of the last axis' frequencies."""


def fft_c2r_rule(xp, g, axes, norm, size):
    spectrum = xp.conj(xp.fft_r2c(g, axes=axes, norm=norm, onesided=True))
    return xp.scale_inside(spectrum, axis=axes[-1], size=size, factor=2.0)


@along_axes(linear="x", memory="own",
            node="FftC2RBackward0", x=fft_c2r_rule)
def fft_c2r(xp, x, *, axes, norm, size):
    """From one-sided frequencies to real numbers, `size` of them along the last axis."""


@along_axes(linear="x",
            x=lambda xp, g, axis, size, factor: xp.scale_inside(g, axis=axis, size=size, factor=factor))
def scale_inside(xp, x, *, axis, size, factor):
    """A one-sided spectrum of `size` points, with the frequencies whose conjugates are not stored multiplied by `factor`."""
