"""Elementwise comparison and selection."""

from whygrad.ops.table import NoGrad, elementwise

COMPARISON = NoGrad("a comparison gives a boolean, which has no derivative")
LOGIC = NoGrad("logic gives a boolean, which has no derivative")
BITS = NoGrad("operations on bits have no derivative")


def binary(name, reason):
    """A row without derivatives whose forward is the backend's function of the same name."""

    def forward(xp, a, b):
        return getattr(xp, name)(a, b)

    forward.__name__ = name
    elementwise(half="native", a=reason, b=reason)(forward)


def overwriting(name):
    """`x.eq_(y)`: the result overwrites `x`, whose dtype may carry gradients; they are zero."""

    def forward(xp, a, b):
        return getattr(xp, name)(a, b)

    forward.__name__ = f"{name}_inplace"
    elementwise(half="native", node=lambda kinds, statics: f"{name.capitalize()}Backward{'1' if kinds == 'tt' else '0'}",
                a=lambda xp, g: xp.zeros_like(g),
                b=lambda xp, g: xp.zeros_like(g))(forward)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    binary(_name, COMPARISON)
    overwriting(_name)

for _name in ("logical_and", "logical_or", "logical_xor"):
    binary(_name, LOGIC)

for _name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"):
    binary(_name, BITS)

binary("power_of_zero", NoGrad("a mask used in the derivative of pow"))


@elementwise(half="native", x=LOGIC)
def logical_not(xp, x): ...


@elementwise(x=BITS)
def bitwise_not(xp, x): ...


@elementwise(half="native", curve="masking selecting", condition=NoGrad("a boolean mask has no derivative"),
             a=lambda xp, g, condition: xp.where(condition, g, 0.0),
             b=lambda xp, g, condition: xp.where(condition, 0.0, g))
def where(xp, condition, a, b): ...


@elementwise(curve="selecting",
             a=lambda xp, g, a, b: xp.where(a < b, 0.0, xp.where(a == b, g / 2, g)),
             b=lambda xp, g, a, b: xp.where(a > b, 0.0, xp.where(a == b, g / 2, g)))
def maximum(xp, a, b): ...


@elementwise(curve="selecting",
             a=lambda xp, g, a, b: xp.where(a > b, 0.0, xp.where(a == b, g / 2, g)),
             b=lambda xp, g, a, b: xp.where(a < b, 0.0, xp.where(a == b, g / 2, g)))
def minimum(xp, a, b): ...


@elementwise(curve="selecting",
             a=lambda xp, g, a, b: xp.where((a >= b) | xp.isnan(b), g, 0.0),
             b=lambda xp, g, a, b: xp.where((a >= b) | xp.isnan(b), 0.0, g))
def fmax(xp, a, b): ...


@elementwise(curve="selecting",
             a=lambda xp, g, a, b: xp.where((a <= b) | xp.isnan(b), g, 0.0),
             b=lambda xp, g, a, b: xp.where((a <= b) | xp.isnan(b), 0.0, g))
def fmin(xp, a, b): ...


def clamp_rule(xp, g, x, low, high):
    """As in torch, the gradient passes at the bounds themselves."""
    if high is None:
        return xp.where(x >= low, g, 0.0)
    if low is None:
        return xp.where(x <= high, g, 0.0)
    return xp.where((x >= low) & (x <= high), g, 0.0)


# If low > high, the result is `high`.
@elementwise(curve="bounded",
             node=lambda kinds, statics: "ClampBackward0" if "t" in kinds[1:] else "ClampBackward1",
             x=clamp_rule,
             low=lambda xp, g, x, low, high:
             xp.where(x < low, g, 0.0) if high is None else xp.where((low < high) & (x < low), g, 0.0),
             high=lambda xp, g, x, low, high:
             xp.where(x > high, g, 0.0) if low is None else xp.where((x > high) | (high < low), g, 0.0))
def clamp(xp, x, low, high): ...


@elementwise(curve="bounded", public="foreach", called="clamp",
             node=lambda kinds, statics: "ClampMinBackward1" if kinds == "tt" else "ClampMinBackward0",
             x=lambda xp, g, x, low: xp.where(x >= low, g, 0.0),
             low=lambda xp, g, x, low: xp.where(x < low, g, 0.0))
def clamp_min(xp, x, low):
    return xp.maximum(x, low)


@elementwise(curve="bounded", public="foreach", called="clamp",
             node=lambda kinds, statics: "ClampMaxBackward1" if kinds == "tt" else "ClampMaxBackward0",
             x=lambda xp, g, x, high: xp.where(x <= high, g, 0.0),
             high=lambda xp, g, x, high: xp.where(x > high, g, 0.0))
def clamp_max(xp, x, high):
    return xp.minimum(x, high)
