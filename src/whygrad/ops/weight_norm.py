"""Weight normalisation: w = gain * v / |v|, with the norm over all axes but one."""

from whygrad.ops.table import op


def others(x, axis):
    return tuple([i for i in range(len(x.shape)) if i != axis])


def length(xp, v, axis):
    return xp.sqrt(xp.sum(v * v, axis=others(v, axis), keepdims=True))


def v_rule(xp, g, v, gain, axis):
    """The gradient without its component along `v`, because scaling `v` has no effect."""
    norm = length(xp, v, axis)
    along = xp.sum(g * v, axis=others(v, axis), keepdims=True) / (norm * norm)
    return (g - v * along) * (gain / norm)


@op(batch="defined", half="float32", v=v_rule,
    gain=lambda xp, g, v, axis: xp.sum(g * v, axis=others(v, axis), keepdims=True) / length(xp, v, axis))
def weight_norm_interface(xp, v, gain, *, axis):
    return v * (gain / length(xp, v, axis))
