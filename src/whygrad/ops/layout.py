"""Shape operations: rows that return a view of their argument, or its elements in another order.

Every view has an adjoint row that adds a gradient into zeros of the original shape, and the rule of that row is the view
itself; so derivatives of any order stay inside this file.
"""

from whygrad.ops.table import along_axes, op, view


@view(x=lambda g: g)
def alias(xp, x): ...


@view(x=lambda xp, g, x_shape: xp.reshape(g, shape=x_shape))
def view_(xp, x, *, shape): ...


@view(x=lambda xp, g, x_shape: xp.reshape(g, shape=x_shape))
def reshape_alias(xp, x, *, shape):
    """`reshape` as a view of a tensor that is not contiguous."""
    return xp.view(x, shape=shape)


@along_axes(linear="x",
            node="UnsafeViewBackward0",
            x=lambda xp, g, x_shape: xp.reshape(g, shape=x_shape))
def reshape(xp, x, *, shape):
    """torch's _unsafe_view, a reshape of a temporary that is not recorded as a view; in rules, any reshape, also by copy."""


# Gradients of complex numbers travel conjugated, those of their real and imaginary parts do not.
@view(x=lambda xp, g: xp.conj(xp.view_as_complex(xp.clone(g, order="C"))))
def view_as_real(xp, x): ...


@view(x=lambda xp, g: xp.view_as_real(xp.conj(g)))
def view_as_complex(xp, x): ...


# Conjugate and negative views: on arrays these rows return the memory itself, and reads apply the bit (functional/conj_neg.py).
@view(node="ConjBackward0", x=lambda xp, g: xp.conj(g))
def conj_view(xp, x):
    return xp.alias(x)


@view(x=lambda g: -g)
def neg_view(xp, x):
    return xp.alias(x)


@along_axes(kernel="concat", linear="x", memory="own", x=lambda g: g)
def clone(xp, x, *, order="K"):
    """A copy: with the memory order kept ("K"), or row-major ("C")."""


@view(batch="own", x=lambda xp, g, x_shape: xp.sum_to(g, shape=x_shape))
def expand(xp, x, *, shape): ...


@view(batch="own", x=lambda xp, g: xp.t(g))
def t(xp, x): ...


@view(x=lambda xp, g, axis0, axis1: xp.transpose(g, axis0=axis0, axis1=axis1))
def transpose(xp, x, *, axis0, axis1): ...


@view(batch="own", x=lambda xp, g, axes: xp.permute(g, axes=inverse_permutation(axes)))
def permute(xp, x, *, axes): ...


def inverse_permutation(axes):
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def _squeeze_node(kinds, statics):
    axis = statics["axis"]
    return "SqueezeBackward0" if axis is None else "SqueezeBackward1" if isinstance(axis, int) else "SqueezeBackward2"


@view(batch="own", node=_squeeze_node, x=lambda xp, g, x_shape: xp.reshape(g, shape=x_shape))
def squeeze(xp, x, *, axis):
    """Remove the axes of length 1 among `axis`: None for all, an int, or a tuple."""


@view(x=lambda xp, g, axis: xp.squeeze(g, axis=axis))
def unsqueeze(xp, x, *, axis): ...


@view(x=lambda xp, g, x_shape, axis, index: xp.select_backward(g, shape=x_shape, axis=axis, index=index))
def select(xp, x, *, axis, index): ...


@along_axes(linear="x",
            x=lambda xp, g, axis, index: xp.select(g, axis=axis, index=index))
def select_backward(xp, x, *, shape, axis, index): ...


@view(x=lambda xp, g, x_shape, axis, start, stop, step:
      xp.slice_backward(g, shape=x_shape, axis=axis, start=start, stop=stop, step=step))
def slice_(xp, x, *, axis, start, stop, step=1):
    """`start` and `stop` lie within the axis, `step` is positive."""


@along_axes(linear="x",
            x=lambda xp, g, axis, start, stop, step: xp.slice(g, axis=axis, start=start, stop=stop, step=step))
def slice_backward(xp, x, *, shape, axis, start, stop, step): ...


@view(x=lambda xp, g, x_shape, offset, axis1, axis2:
      xp.diagonal_backward(g, shape=x_shape, offset=offset, axis1=axis1, axis2=axis2))
def diagonal(xp, x, *, offset, axis1, axis2): ...


@op(batch="defined", linear="x", node="DiagonalBackward0_copy",
    x=lambda xp, g, x_shape, offset: xp.diagonal_backward(g, shape=x_shape, offset=offset, axis1=0, axis2=1))
def diagonal_copy(xp, x, *, offset):
    return xp.clone(xp.diagonal(x, offset=offset, axis1=0, axis2=1))


@along_axes(linear="x",
            x=lambda xp, g, offset, axis1, axis2: xp.diagonal(g, offset=offset, axis1=axis1, axis2=axis2))
def diagonal_backward(xp, x, *, shape, offset, axis1, axis2): ...


@along_axes(linear="x",
            node="DiagEmbedBackward0",
            x=lambda xp, g, offset, axis1, axis2: xp.diagonal(g, offset=offset, axis1=axis1, axis2=axis2))
def diag_embed(xp, x, *, shape, offset, axis1, axis2):
    return xp.diagonal_backward(x, shape=shape, offset=offset, axis1=axis1, axis2=axis2)


@view(x=lambda xp, g, x_shape, axis, size, step: xp.unfold_backward(g, shape=x_shape, axis=axis, size=size, step=step))
def unfold(xp, x, *, axis, size, step):
    """Windows along an axis; the position inside the window becomes a new last axis."""


@along_axes(linear="x",
            x=lambda xp, g, axis, size, step: xp.unfold(g, axis=axis, size=size, step=step))
def unfold_backward(xp, x, *, shape, axis, size, step): ...


@view(batch="own",
      x=lambda xp, g, geometry, x_geometry: xp.restride(g, origin=geometry, target=x_geometry, shared=x_geometry))
def as_strided(xp, x, *, geometry, x_geometry):
    """Any strided view of the same memory. A geometry is (shape, strides, offset), in elements."""


@op(batch="own", linear="x",
    x=lambda xp, g, origin, target, shared: xp.restride(g, origin=target, target=origin, shared=shared))
def restride(xp, x, *, origin, target, shared):
    """Add `x` into memory laid out as `origin`, then read it as `target`: the adjoint of `as_strided`, and its own.

    Where several elements of `shared` have the same memory location, each of them gets an equal part.
    """


def _pieces(xp, g, shapes, axis):
    """`g` split along `axis` into the parts of concatenated arrays of these shapes."""
    parts, start = [], 0
    for shape in shapes:
        stop = start + (shape[axis] if len(shape) > axis else 0)
        part = xp.slice(g, axis=axis, start=start, stop=stop, step=1)
        # Vectors of length 0 are skipped in a concatenation, whatever their shape.
        parts.append(xp.reshape(part, shape=shape) if shape == (0,) else part)
        start = stop
    return parts


@op(batch="own", kernel="concat", saved={"xs": "tensors"}, linear="xs", memory="own",
    xs=lambda xp, g, xs_shape, axis: _pieces(xp, g, xs_shape, axis))
def cat(xp, *xs, axis): ...


@along_axes(kernel="concat", saved={"xs": "tensors"}, linear="xs",
            xs=lambda xp, g, xs_shape, axis: [xp.select(g, axis=axis, index=i) for i in range(len(xs_shape))])
def stack(xp, *xs, axis): ...


@view(outputs="list",
      x=lambda xp, g, axis: xp.joined(*g, axis=axis))
def split(xp, x, *, sizes, axis): ...


@view(outputs="list",
      x=lambda xp, g, axis: xp.joined(*g, axis=axis))
def split_with_sizes(xp, x, *, sizes, axis):
    return xp.split(x, sizes=sizes, axis=axis)


def _unsafe(name):
    """A split whose results share memory but are not tracked as views, so each can be written to independently."""
    def pieces(xp, x, *, sizes, axis):
        return xp.split(x, sizes=sizes, axis=axis)

    pieces.__name__ = name
    along_axes(linear="x", memory="own", outputs="list", x=lambda xp, g, axis: xp.joined(*g, axis=axis))(pieces)


_unsafe("unsafe_split")
_unsafe("unsafe_split_with_sizes")


@view(outputs="list",
      x=lambda xp, g, axis: xp.stack(*g, axis=axis))
def unbind(xp, x, *, axis): ...


def _unrepeat(xp, g, shape, repeats):
    """The gradient of `repeat`: reshape each axis to (copies, length) and sum over the copies."""
    lengths = (1,) * (len(repeats) - len(shape)) + shape
    folded = tuple([n for pair in zip(repeats, lengths, strict=True) for n in pair])
    total = xp.sum(xp.reshape(g, shape=folded), axis=tuple(range(0, len(folded), 2)), keepdims=False) if folded else g
    return xp.reshape(total, shape=shape)


@op(batch="own", linear="x", x=lambda xp, g, x_shape, repeats: _unrepeat(xp, g, x_shape, repeats))
def repeat(xp, x, *, repeats): ...


@along_axes(linear="x",
            memory="own", x=lambda xp, g, axes: xp.flip(g, axes=axes))
def flip(xp, x, *, axes): ...


@op(batch="own", linear="x", x=lambda xp, g, shifts, axes: xp.roll(g, shifts=tuple([-n for n in shifts]), axes=axes))
def roll(xp, x, *, shifts, axes):
    """Roll along `axes`; None: roll the flattened array."""


@along_axes(linear="x",
            memory="own", x=lambda xp, g, k, axes: xp.rot90(g, k=-k, axes=axes))
def rot90(xp, x, *, k, axes): ...


@along_axes(linear="x", x=lambda xp, g, diagonal: xp.tril(g, diagonal=diagonal))
def tril(xp, x, *, diagonal): ...


@along_axes(linear="x", x=lambda xp, g, diagonal: xp.triu(g, diagonal=diagonal))
def triu(xp, x, *, diagonal): ...


@op(batch="own", called="pad", node="ConstantPadNdBackward0", memory="channels",
    x=lambda xp, g, pads: xp.constant_pad(g, pads=tuple([(-before, -after) for before, after in pads]), value=0))
def constant_pad(xp, x, *, pads, value):
    """`pads` is (before, after) for each axis; a negative number crops."""


def _mirror_pad_node(kinds, statics):
    mode = statics["mode"]
    return "CopySlices" if mode == "circular" else f"{mode}Pad{len(statics['sources'])}DBackward0"


@op(batch="own", linear="x", memory="channels", node=_mirror_pad_node,
    x=lambda xp, g, x_shape, sources: xp.mirror_pad_backward(g, shape=x_shape, sources=sources))
def mirror_pad(xp, x, *, sources, mode):
    """Padding with values of `x` itself. `sources`: (axis, source index of each element) for each padded axis."""


@op(batch="own", linear="x", x=lambda xp, g, sources: xp.mirror_pad(g, sources=sources, mode="circular"))
def mirror_pad_backward(xp, x, *, shape, sources): ...
