"""Bessel and Airy functions, and orthogonal polynomials. torch does not differentiate them."""

from whygrad.ops.table import NoGrad, elementwise

WITHOUT = NoGrad("torch has no derivative for this function")

BESSEL = ("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1",
          "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
          "spherical_bessel_j0")

POLYNOMIALS = ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
               "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
               "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
               "shifted_chebyshev_polynomial_w")


def _function(name):
    def forward(xp, x):
        return getattr(xp, name)(x)

    forward.__name__ = name
    elementwise(x=WITHOUT)(forward)


def _polynomial(name):
    def forward(xp, x, n):
        return getattr(xp, name)(x, n)

    forward.__name__ = name
    elementwise(x=WITHOUT, n=WITHOUT)(forward)


for _name in BESSEL:
    _function(_name)
for _name in POLYNOMIALS:
    _polynomial(_name)
