"""Functions of one variable, activations and special functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from row_checks import Constant

from row_samples.making import ANY, POSITIVE, Samples, binary, case, imaginary, real, some, unary, whole
from whygrad.backends import raw
from whygrad.ops.bessel import BESSEL, POLYNOMIALS

SAMPLES: dict[str, Samples] = {}

# pointwise

SAMPLES |= {name: unary(*span, "real complex") for name, span in {
    "neg": ANY, "reciprocal": POSITIVE, "sqrt": POSITIVE, "rsqrt": POSITIVE, "exp": ANY, "exp2": ANY, "expm1": ANY,
    "log": POSITIVE, "log2": POSITIVE, "log10": POSITIVE, "log1p": (-0.8, 2.0), "sin": ANY, "cos": ANY,
    "tan": (-1.2, 1.2),
    "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atan": ANY, "sinh": ANY, "cosh": ANY, "tanh": ANY, "asinh": ANY,
    "atanh": (-0.9, 0.9), "sigmoid": ANY, "sinc": ANY, "conj": ANY,
}.items()}
SAMPLES |= {name: unary(*span) for name, span in {
    "acosh": (1.2, 3.0), "erf": ANY, "erfc": ANY, "abs": ANY, "frac": ANY, "deg2rad": (-200.0, 200.0), "rad2deg": ANY,
    "sign": ANY, "floor": ANY, "ceil": ANY, "round": ANY, "trunc": ANY, "sgn": ANY,
}.items()}
SAMPLES["abs"] += [case(some(0.0, -0.0, 2.0), kink=True)]
SAMPLES["relu"] = [*unary(), case(some(0.0, -1.0), kink=True)]
SAMPLES |= {name: [case(some(1.5, -2.0, math.inf, -math.inf, math.nan, 0.0)), case(whole(1, 0, -3)), case(real())]
            for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit")}
SAMPLES |= {
    "isreal": [case(imaginary(2)), case(real(2))],
    "tanh_backward": [case(real(2, 3), real(2, 3, low=-0.9, high=0.9)), case(imaginary(2), imaginary(2, seed=1))],
    "sigmoid_backward": [case(real(2, 3), real(2, 3, low=0.1, high=0.9)), case(imaginary(2), imaginary(2, seed=1))],
    "round_decimals": [case(real(2, 3), decimals=1), case(real(2, 3, low=-200, high=200), decimals=-1)],
    "nan_to_num": [case(real(2, 3), nan=None, posinf=None, neginf=None),
                   case(some(1.5, math.nan, math.inf, -math.inf), nan=0.5, posinf=3.0, neginf=-4.0)],
    "logit": [*unary(0.1, 0.9, eps=None), *unary(0.1, 0.9, eps=0.01), case(some(0.05, 0.5, 0.97), eps=0.2)],
    "abs_complex": [case(imaginary(2, 3)), case(imaginary()), case(np.array([0j, 3 + 4j]), kink=True)],
    "sgn_complex": [case(imaginary(2, 3)), case(np.array([0j, 3 + 4j]), kink=True)],
    "acosh_complex": [case(imaginary(2, 3))],
    "asinh_inplace": [case(real(3), fails=NotImplementedError)],
    "acosh_inplace": [case(real(3, low=1.2, high=3), fails=NotImplementedError)],
    "atanh_inplace": [case(real(3, low=-0.9, high=0.9), fails=NotImplementedError)],
}
SAMPLES["sinc"] += [case(some(0.0, 1.0), kink=True)]

SAMPLES |= {
    "angle": unary(), "angle_complex": [case(imaginary(2, 3)), case(np.array([0j, 3 + 4j]), kink=True)],
    "conj_physical": unary(numbers="real complex"), "conj_physical_inplace": [case(imaginary(2))],
    "frexp": [case(real(2, 3)), case(real()), case(some(0.0, 3.0), kink=True)],
    "ldexp": binary(numbers="complex"),
    "nextafter": binary(),
    "heaviside": [case(real(3), real(3, seed=1), fails=RuntimeError)],
    "gcd": [case(whole(12, -8, 0), whole(18, 12, 5))], "lcm": [case(whole(12, -8, 0), whole(18, 12, 5))],
    "isclose": [case(real(3), real(3) + some(0.0, 1e-9, 1.0), rtol=1e-5, atol=1e-8, equal_nan=False),
                case(some(math.nan), some(math.nan), rtol=1e-5, atol=1e-8, equal_nan=True)],
    "isin": [case(some(1.0, 2.0, 3.0), some(2.0, 5.0), invert=invert) for invert in (False, True)],
    "filled": [case(real(2, 3), real()), case(real(2, 3), 1.5)],
    "hash_tensor": [case(whole([3, 5, 6], [1, 1, 2]), axis=axis, keepdims=False) for axis in (None, (1,))],
}

# activations

SAMPLES |= {
    "threshold": [case(real(2, 3), threshold=0.5, value=7.0)],
    "threshold_inplace": [case(real(2, 3), threshold=0.5, value=0.1)],
    "threshold_backward": [case(real(2, 3), real(2, 3, seed=1), threshold=t) for t in (0, 0.5)],
    "leaky_relu": [case(real(2, 3), slope=s) for s in (0.1, 2.0, -0.5)] + [case(some(0.0), slope=0.1, kink=True)],
    "leaky_relu_inplace": [case(real(2, 3), slope=0.1), case(real(2), slope=-0.5, fails=RuntimeError)],
    "leaky_relu_backward": [case(real(2, 3), real(2, 3, seed=1), slope=0.1)],
    "hardtanh": [case(real(2, 3), low=-1.0, high=0.8)],
    "hardtanh_backward": [case(real(2, 3), real(2, 3, seed=1), low=-1.0, high=0.8)],
    "hardsigmoid": [case(real(2, 3, low=-5, high=5), second_fails=RuntimeError)],
    "hardsigmoid_backward": [case(real(3), real(3, low=-5, high=5), fails=RuntimeError)],
    "hardswish": unary(-5.0, 5.0),
    "hardswish_backward": [case(real(2, 3), real(2, 3, low=-5, high=5))],
    "softplus": [case(real(2, 3), beta=2.0, threshold=20.0), case(some(3.0, 15.0, -40.0), beta=2.0, threshold=20.0)],
    "softplus_backward": [case(real(3), some(3.0, 15.0, -4.0), beta=2.0, threshold=20.0)],
    "log_sigmoid": [*unary(), case(some(-90.0, 90.0))],
    "log_sigmoid_backward": [case(real(2, 3), real(2, 3, seed=1))],
    "silu": unary(), "mish": unary(),
    "mish_backward": [case(real(2, 3), real(2, 3, seed=1)), case(real(), real(seed=1))],
    "silu_backward": [case(real(2, 3), real(2, 3, seed=1)), case(real(), real(seed=1))],
    "gelu": [*unary(approximate="none"), *unary(approximate="tanh")],
    "gelu_backward": [case(real(2, 3), real(2, 3, seed=1), approximate=a) for a in ("none", "tanh")],
}
ELU = {"alpha": 1.3, "scale": 1.1, "input_scale": 0.7}
SAMPLES |= {
    "elu": [*unary(**ELU, node="EluBackward0"), case(real(3), alpha=1.0, scale=1.0, input_scale=2.0,
                                                     node="CeluBackward0")],
    "elu_inplace": [case(real(2, 3), **ELU, node="EluBackward1")],
    "elu_backward": [case(real(2, 3), real(2, 3, seed=1), **ELU)],
    "elu_backward_of_result": [case(real(2, 3), real(2, 3, low=-1, seed=1), **ELU)],
}

# special functions

SAMPLES |= {name: unary(*span) for name, span in {
    "lgamma": (0.3, 4.0), "digamma": (0.3, 4.0), "erfinv": (-0.9, 0.9), "i0": ANY, "i0e": ANY, "i1": ANY, "i1e": ANY,
    "ndtri": (0.1, 0.9),
    "log_ndtr": ANY, "erfcx": ANY, "entr": POSITIVE, "ndtr": ANY,
}.items()}
for _name in ("lgamma", "digamma"):
    SAMPLES[_name] += [case(some(-0.6, -1.4, 12.0))]
for _name in ("i0", "i1"):
    SAMPLES[_name] += [case(some(0.0, 12.0, -9.0))]
SAMPLES["log_ndtr"] += [case(some(-12.0, 5.0))]
SAMPLES |= {name: [*unary(*POSITIVE), case(some(12.0, 30.0))] for name in BESSEL}
SAMPLES |= {name: [case(real(2, 3, low=-0.9, high=1.9), some(0, 2, 7)), case(real(3), 3.0), case(1.5, some(0, 4))]
            for name in POLYNOMIALS}


def kept_in_place(distribution: Any, parameters: np.ndarray, values: np.ndarray) -> Any:
    """How samples move with their parameters if their place in the distribution is kept."""
    places = distribution(parameters, values)

    def moved(changed: np.ndarray) -> np.ndarray:
        found = values
        for _ in range(6):  # Newton's method
            density = (distribution(changed, found + 1e-6) - distribution(changed, found - 1e-6)) / 2e-6
            found = found - (distribution(changed, found) - places) / density
        return found

    return moved


GAMMA = some([0.7, 2.5], [1.3, 8.0]), some([0.4, 3.1], [1.9, 6.5])
DIRICHLET = some([2.5, 1.4, 3.2], [2.0, 2.6, 1.7]), some([0.3, 0.2, 0.5], [0.15, 0.6, 0.25])
OTHERS = DIRICHLET[0].sum(axis=1, keepdims=True) - DIRICHLET[0]
NODES, HEIGHTS = np.polynomial.legendre.leggauss(60)


def beta_distribution(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Of Beta(a, OTHERS), by quadrature."""
    u = (NODES + 1) / 2
    t = x[..., None] * u**4
    integral = (t ** (a - 1)[..., None] * (1 - t) ** (OTHERS - 1)[..., None] * 4 * x[..., None] * u**3) @ (HEIGHTS / 2)
    return integral * np.exp(raw.lgamma(a + OTHERS) - raw.lgamma(a) - raw.lgamma(OTHERS))


def moved_shares(alpha: np.ndarray) -> np.ndarray:
    """Each share moves with its own parameter as if alone, and the others make room in proportion."""
    shares = DIRICHLET[1]
    steps = kept_in_place(beta_distribution, *DIRICHLET)(alpha) - shares
    room = steps / (1 - shares)
    return shares + steps - shares * (room.sum(axis=1, keepdims=True) - room)


NO_GRADIENT_OF = {"fails": NotImplementedError}
SAMPLES |= {
    "polygamma": [case(real(2, 3, low=0.3, high=4), n=n) for n in (0, 1, 3)],
    "mvlgamma": [case(real(2, 3, low=1.3, high=4), p=p) for p in (1, 3)],
    "zeta": [case(Constant(some(1.5, 3.0, 2.2)), real(2, 3, low=0.3)), case(2.5, real(3, low=0.3)),
             case(real(3, low=1.5), 2.0, **NO_GRADIENT_OF)],
    "xlog1py": [*binary(ANY, (-0.8, 2.0), "right left"), case(some(0.0, 1.0), some(2.0, 0.5))],
    "gammainc": [case(Constant(some(0.7, 2.5, 4.0)), real(2, 3, low=0.3, high=4)),
                 case(real(3, low=0.3), real(3, low=0.3), **NO_GRADIENT_OF)],
    "gammaincc": [case(Constant(some(0.7, 2.5, 4.0)), real(2, 3, low=0.3, high=4)),
                  case(real(3, low=0.3), real(3, low=0.3), **NO_GRADIENT_OF)],
    "standard_gamma": [case(GAMMA[0], values=GAMMA[1], like=kept_in_place(raw.gammainc, *GAMMA),
                            second_fails=NotImplementedError)],
    "standard_gamma_grad": [case(*GAMMA, **NO_GRADIENT_OF)],
    "dirichlet": [case(DIRICHLET[0], values=DIRICHLET[1], like=moved_shares, second_fails=NotImplementedError)],
    "dirichlet_grad": [case(DIRICHLET[1], DIRICHLET[0], DIRICHLET[0].sum(axis=1, keepdims=True), **NO_GRADIENT_OF)],
}
