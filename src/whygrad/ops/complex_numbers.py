"""Parts of complex numbers. Gradients of complex numbers travel conjugated (see README.md)."""

from whygrad.ops.table import elementwise


@elementwise(x=lambda xp, g: xp.zeros_like(g))
def angle(xp, x):
    """The argument of a complex number; of a real one 0, or pi if it is negative."""


@elementwise(curve="kinked", node="AngleBackward0", x=lambda xp, g, x: xp.where(x == 0, 0.0, g * -1j / x))
def angle_complex(xp, x):
    return xp.angle(x)


def _conj_physical(name, node):
    def forward(xp, x):
        return xp.conj(x)

    forward.__name__ = name
    elementwise(node=node, x=lambda xp, g: xp.conj(g))(forward)


_conj_physical("conj_physical", "ConjPhysicalBackward0")
_conj_physical("conj_physical_inplace", "ConjPhysicalBackward1")
