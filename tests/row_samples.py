"""Arguments for every row of the table: at least one sample each, and more where something is interesting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from row_checks import Constant, Sample

from whygrad.backends import raw
from whygrad.ops.conv import Window
from whygrad.ops.pool import Adaptive, Kind, Sliding
from whygrad.ops.resample import Interpolated, Sampling

Samples = list[Sample]

FLOAT, COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)
ABOUT = {name for name in Sample._fields if name not in ("inputs", "statics")}


def case(*inputs: Any, **options: Any) -> Sample:
    """A sample: the row's statics, and what is said about the sample, are both keywords."""
    about = {name: value for name, value in options.items() if name in ABOUT}
    return Sample(inputs, {name: value for name, value in options.items() if name not in ABOUT}, **about)


def real(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray:
    """Numbers in irregular order, all of them well apart, that float32 can hold."""
    count = math.prod(shape)
    generator = np.random.default_rng((seed, *shape))
    values = low + (high - low) * (np.arange(count) + generator.uniform(0.2, 0.8, count)) / max(count, 1)
    return generator.permutation(values).reshape(shape).astype(np.float32).astype(np.float64)


def imaginary(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray:
    return np.asarray(real(*shape, low=low, high=high, seed=seed) + 1j * real(*shape, seed=seed + 50))


def whole(*numbers: Any) -> np.ndarray:
    return np.array(numbers)


def some(*numbers: Any) -> np.ndarray:
    return np.array(numbers, np.float64)


def mask(*bits: Any) -> np.ndarray:
    return np.array(bits, bool)


def unary(low: float = -2.0, high: float = 2.0, numbers: str = "real", **options: Any) -> Samples:
    """A matrix, a 0-dim one and an empty one; complex numbers if "complex" is said too."""
    samples = [case(real(*shape, low=low, high=high), **options) for shape in ((2, 3), (), (0, 2))]
    if "complex" in numbers:
        samples.append(case(imaginary(2, 2, low=low, high=high), **options))
    return samples


Range = tuple[float, float]
ANY: Range = (-2.0, 2.0)
POSITIVE: Range = (0.3, 3.0)


def binary(a: Range = ANY, b: Range = ANY, numbers: str = "", **options: Any) -> Samples:
    """Equal shapes and broadcasts; "right" and "left": a Python number on that side; "complex"."""

    def both(left: tuple[int, ...], right: tuple[int, ...], make: Any = real) -> Sample:
        return case(make(*left, low=a[0], high=a[1]), make(*right, low=b[0], high=b[1], seed=1), **options)

    samples = [both((2, 3), (2, 3)), both((2, 1), (3,)), both((), (2, 2)), both((2, 2), ()), both((), ()), both((0, 3), (3,))]
    if "right" in numbers:
        samples.append(case(real(2, 2, low=a[0], high=a[1]), 1.7, **options))
    if "left" in numbers:
        samples.append(case(1.7, real(2, 2, low=b[0], high=b[1]), **options))
    if "complex" in numbers:
        samples.append(both((2, 2), (2,), imaginary))
    return samples


SAMPLES: dict[str, Samples] = {}

# pointwise

SAMPLES |= {name: unary(*span, "real complex") for name, span in {
    "neg": ANY, "reciprocal": POSITIVE, "sqrt": POSITIVE, "rsqrt": POSITIVE, "exp": ANY, "exp2": ANY, "expm1": ANY,
    "log": POSITIVE, "log2": POSITIVE, "log10": POSITIVE, "log1p": (-0.8, 2.0), "sin": ANY, "cos": ANY, "tan": (-1.2, 1.2),
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

# arithmetic

NAN_IN_TORCH = {"second_differs": "NaN, as in torch: 0 * log(0) behind a mask"}
ROUNDED = some(5.3, -7.7, 2.9, -0.4), some(2.0, 2.5, -2.0, -1.5)
SAMPLES |= {
    "add": binary(numbers="right left complex"),
    "sub": binary(numbers="right left complex"),
    "mul": binary(numbers="right left complex"),
    "div": [*binary(b=POSITIVE, numbers="right left complex"), case(real(3), real(3, low=-3, high=-1))],
    "add_scaled": binary(numbers="complex", alpha=2.5),
    "sub_scaled": binary(numbers="complex", alpha=-3),
    "rsub": [*binary(numbers="right complex"), *binary(alpha=2.5)],
    "div_rounded": [case(*ROUNDED, mode=mode) for mode in ("floor", "trunc")] + [case(ROUNDED[0], 1.5, mode="floor")],
    "floor_divide": [case(*ROUNDED, fails=RuntimeError), case(ROUNDED[0], 1.5, fails=RuntimeError), case(1.5, ROUNDED[1], fails=RuntimeError)],
    "floor_divide_inplace": [case(*ROUNDED, fails=RuntimeError)],
    "remainder": [case(*ROUNDED), case(ROUNDED[0], 1.5), case(ROUNDED[0].reshape(2, 2), some(2.0))],
    "remainder_of_number": [case(7.3, ROUNDED[1], fails=RuntimeError)],
    "fmod": [case(*ROUNDED), case(ROUNDED[0], 1.5), case(ROUNDED[0].reshape(2, 2), some(2.0))],
    "pow_number": [
        *(case(real(2, 3), exponent=n) for n in (0, 1, 2, 3, 4, -1, -2, -3)), case(imaginary(3), exponent=2),
        *(case(real(2, 3, low=0.3), exponent=p) for p in (0.5, -0.5, 2.5, 1.0)), case(imaginary(3), exponent=1.5 - 0.5j),
        case(some(0.0, 2.0), exponent=2), case(some(0.0, 2.0), exponent=0), case(some(0.0), exponent=0.5, kink=True)],
    "pow": [*binary(POSITIVE, ANY, "complex"), case(real(3), Constant(some(2, 3, -1))),
            case(Constant(some(0, 2, 0)), some(1.5, 2.0, 0.5), **NAN_IN_TORCH), case(some(0.0, 0.0), some(0.0, 2.0), kink=True)],
    "pow_of_number": [case(real(2, 3), base=2.5), case(imaginary(3), base=2 - 1j), case(some(1.0, 2.5), base=0.0, **NAN_IN_TORCH)],
    "atan2": [*binary(), case(some(0.0, 1.0), some(0.0, -1.0), kink=True)],
    "hypot": binary(),
    "copysign": [*binary(numbers="right"), case(some(0.0, 2.0), some(-1.0, -2.0), kink=True)],
    "xlogy": [*binary(ANY, POSITIVE, "right left"), case(some(0.0, 1.0), some(2.0, 0.5))],
    "logaddexp": binary(numbers="complex"),
    "logaddexp2": binary(),
    "lerp": [case(real(2, 3), real(3, seed=1), real(2, 1, seed=2)), case(real(2, 3), real(2, 3, seed=1), 0.3),
             case(real(2), real(2, seed=1), 0.8), case(real(), real(seed=1), real(seed=2)),
             case(imaginary(2), imaginary(2, seed=1), imaginary(2, seed=2))],
    "addcmul": [case(real(2, 3), real(3, seed=1), real(2, 1, seed=2), value=0.5), case(real(), real(2), real(2, seed=1), value=-2)],
    "addcdiv": [case(real(2, 3), real(3, seed=1), real(2, 1, low=1, seed=2), value=0.5),
                case(real(), real(2), real(2, low=1), value=-2)],
}

# choosing and comparing

TIES = some(1.0, 2.0, -1.0), some(1.0, 1.5, 3.0)
WITH_NAN = some(math.nan, 1.0, math.nan), some(1.0, math.nan, math.nan)
BITS = whole(5, -3, 12), whole(3, 6, 1)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    SAMPLES[_name] = [*binary(numbers="right left"), case(*TIES), case(*BITS)]
    SAMPLES[f"{_name}_inplace"] = [case(*TIES, kink=True), case(real(2, 3), real(3, seed=1)), case(real(2), 1.5)]
for _name in ("logical_and", "logical_or", "logical_xor"):
    SAMPLES[_name] = [case(some(0.0, 1.0, 2.0), some(0.0, 0.0, 3.0)), case(mask(1, 0), mask(1, 1)), case(*BITS)]
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    SAMPLES[_name] = [case(*BITS), case(mask(1, 0), mask(1, 1)), case(BITS[0], 6), case(6, BITS[0])]
for _name in ("maximum", "minimum", "fmax", "fmin"):
    SAMPLES[_name] = [*binary(), case(*TIES, kink=True), case(*WITH_NAN, kink=True)]
SAMPLES |= {
    "bitwise_left_shift": [case(*BITS), case(BITS[0], whole(2, 70, -1)), case(BITS[0], 2), case(2, BITS[1])],
    "bitwise_right_shift": [case(*BITS), case(BITS[0], whole(2, 70, -1)), case(BITS[0], 2), case(2, BITS[1])],
    "logical_not": [case(some(0.0, 2.0)), case(mask(1, 0))],
    "bitwise_not": [case(BITS[0]), case(mask(1, 0))],
    "power_of_zero": [case(some(0.0, 0.0, 2.0), some(1.0, -1.0, 1.0)), case(0.0, some(1.0, -1.0))],
    "where": [case(mask([1, 0, 1], [0, 1, 0]), real(2, 3), real(2, 3, seed=1)),
              case(mask([1], [0]), real(3), real(seed=1)), case(mask(1, 0), 1.5, real(2)), case(mask(1, 0), real(2), 0.0),
              case(mask(1, 0, 1, 0).repeat(600), Constant(real(2400)), Constant(real(2400, seed=1)))],
    "clamp": [case(real(2, 3), -0.5, 0.7), case(real(2, 3), None, 0.7), case(real(2, 3), -0.5, None),
              case(real(2, 3), real(3, low=-1, high=0), real(2, 1, low=0, high=1)), case(real(2, 3), real(3), None),
              case(real(2, 3), None, real(3)), case(real(3), 0.5, -0.5), case(real(3), real(3, seed=1), -0.5),
              case(some(-1.0, 0.0, 1.0), -1.0, 1.0, kink=True)],
    "clamp_min": [*binary(numbers="right"), case(*TIES, kink=True)],
    "clamp_max": [*binary(numbers="right"), case(*TIES, kink=True)],
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
    "silu_backward": [case(real(2, 3), real(2, 3, seed=1)), case(real(), real(seed=1))],
    "gelu": [*unary(approximate="none"), *unary(approximate="tanh")],
    "gelu_backward": [case(real(2, 3), real(2, 3, seed=1), approximate=a) for a in ("none", "tanh")],
}
ELU = {"alpha": 1.3, "scale": 1.1, "input_scale": 0.7}
SAMPLES |= {
    "elu": [*unary(**ELU, node="EluBackward0"), case(real(3), alpha=1.0, scale=1.0, input_scale=2.0, node="CeluBackward0")],
    "elu_inplace": [case(real(2, 3), **ELU, node="EluBackward1")],
    "elu_backward": [case(real(2, 3), real(2, 3, seed=1), **ELU)],
    "elu_backward_of_result": [case(real(2, 3), real(2, 3, low=-1, seed=1), **ELU)],
}

# other dtypes, overwriting, random numbers

VALUES = real(2, 3, seed=9)
SAMPLES |= {
    "to_copy": [case(real(2, 3), dtype=FLOAT, origin=FLOAT), case(real(2), dtype=COMPLEX, origin=FLOAT),
                case(imaginary(2), dtype=FLOAT, origin=COMPLEX), case(real(2), dtype=np.dtype(np.float32), origin=FLOAT, kink=True)],
    "to_whole": [case(real(2, 3), dtype=np.dtype(np.int64), origin=FLOAT), case(imaginary(2), dtype=np.dtype(bool), origin=COMPLEX)],
    "complex": [case(real(2, 3), real(3, seed=1), part=FLOAT, whole=COMPLEX), case(real(), real(seed=1), part=FLOAT, whole=COMPLEX)],
    "polar": [case(real(2, 3, low=0.5), real(3, seed=1), part=FLOAT, whole=COMPLEX)],
    "zeros_like": [case(real(2, 3)), case(real())],
    "copy": [case(real(2, 3), real(2, 3, seed=1))],
    "fill": [case(real(), real(seed=1))],
    "overwrite": [case(real(2, 3), values=VALUES, node="ZeroBackward0")],
    "sampled": [case(real(2, 3), values=VALUES, node="BernoulliBackward0")],
    "sampled_normal": [case(real(2, 3), real(3), values=VALUES), case(1.5, real(2, 3), values=VALUES),
                       case(real(2, 3), 1.5, values=VALUES)],
    "sampled_by_number": [case(real(2, 3), values=VALUES, name="poisson", fails=RuntimeError)],
    "sampled_by_two": [case(real(2, 3), real(3), values=VALUES, name="binomial", fails=RuntimeError)],
    "bernoulli_by_tensor": [case(real(2, 3), real(3), values=VALUES)],
}

# shapes

PLAIN, TRANSPOSED = ((2, 3), (3, 1), 0), ((2, 2), (1, 2), 1)
WINDOWS = ((3, 2), (1, 1), 0)
REFLECTED = ((1, whole(1, 0, 1, 2, 1)),)
IMAGE = ((2, whole(0, 0, 1, 1)), (3, whole(2, 0, 1, 2, 0)))
SAMPLES |= {
    "alias": unary(),
    "view": [case(real(2, 3), shape=(3, 2)), case(real(2, 1), shape=(2,)), case(real(), shape=(1, 1)), case(real(0, 3), shape=(3, 0))],
    "reshape_alias": [case(real(2, 3).T, shape=(3, 1, 2)), case(real(2, 3).T, shape=(3, 2, 1))],
    "reshape": [case(real(2, 3), shape=(3, 2)), case(real(2, 3).T, shape=(6,)), case(real(), shape=(1,))],
    "view_as_real": [case(imaginary(2, 3)), case(imaginary())],
    "view_as_complex": [case(real(3, 2)), case(real(2))],
    "clone": [*unary(order="K"), case(real(2, 3).T, order="C"), case(real(2, 2, 1, 2), order="channels last"),
              case(np.broadcast_to(real(3), (2, 3)), order="K"), case(imaginary(2))],
    "expand": [case(real(3), shape=(2, 3)), case(real(2, 1), shape=(2, 3)), case(real(), shape=(2, 2)), case(real(3), shape=(1, 3)),
               case(real(1, 3), shape=(0, 3)), case(imaginary(2), shape=(2, 2))],
    "t": [case(real(2, 3)), case(real(3))],
    "transpose": [case(real(2, 3, 2), axis0=0, axis1=2), case(real(), axis0=0, axis1=0)],
    "permute": [case(real(2, 3, 2), axes=(1, 2, 0)), case(real(), axes=())],
    "squeeze": [case(real(1, 3, 1), axis=a) for a in (None, 0, 1, (0, 1, 2))] + [case(real(), axis=0)],
    "unsqueeze": [case(real(2, 3), axis=a) for a in (0, 1, 2)] + [case(real(2, 3).T, axis=1), case(real(), axis=0)],
    "select": [case(real(2, 3), axis=1, index=2), case(real(3), axis=0, index=1)],
    "select_backward": [case(real(2), shape=(2, 3), axis=1, index=2), case(real(), shape=(3,), axis=0, index=1)],
    "slice": [case(real(2, 5), axis=1, start=1, stop=5, step=2), case(real(3), axis=0, start=1, stop=1)],
    "slice_backward": [case(real(2, 2), shape=(2, 5), axis=1, start=1, stop=5, step=2)],
    "diagonal": [case(real(3, 4), offset=k, axis1=0, axis2=1) for k in (0, 1, -2, 4)] + [
        case(real(2, 3, 2), offset=0, axis1=2, axis2=1)],
    "diagonal_copy": [case(real(3, 4), offset=1)],
    "diagonal_backward": [case(real(3), shape=(3, 4), offset=1, axis1=0, axis2=1),
                          case(real(3, 2), shape=(2, 3, 2), offset=0, axis1=0, axis2=2)],
    "diag_embed": [case(real(2, 3), shape=(2, 4, 4), offset=-1, axis1=1, axis2=2)],
    "unfold": [case(real(5), axis=0, size=3, step=1), case(real(2, 5), axis=1, size=2, step=3), case(real(), axis=0, size=1, step=1)],
    "unfold_backward": [case(real(3, 3), shape=(5,), axis=0, size=3, step=1), case(real(2, 2, 2), shape=(2, 5), axis=1, size=2, step=3)],
    "as_strided": [case(real(2, 3), geometry=TRANSPOSED, x_geometry=PLAIN),
                   case(real(4), geometry=WINDOWS, x_geometry=((4,), (1,), 0))],
    "restride": [case(real(2, 2), origin=TRANSPOSED, target=PLAIN, shared=PLAIN),
                 case(real(3, 2), origin=WINDOWS, target=((4,), (1,), 0), shared=((4,), (1,), 0)),
                 case(real(2), origin=((2,), (1,), 0), target=((2, 2), (0, 1), 0), shared=((2, 2), (0, 1), 0))],
    "cat": [case(real(2, 3), real(2, 1), axis=1), case(real(2), axis=0), case(real(0, 2), real(1, 2), axis=0),
            case(real(2), Constant(real(3)), axis=0), case(imaginary(1), imaginary(2), axis=0)],
    "stack": [case(real(2, 3), real(2, 3, seed=1), axis=a) for a in (0, 1, 2)] + [case(real(), real(seed=1), axis=0)],
    "split": [case(real(2, 5), sizes=(2, 2, 1), axis=1), case(real(3), sizes=(3,), axis=0)],
    "split_with_sizes": [case(real(2, 3), sizes=(1, 0, 2), axis=1)],
    "unsafe_split": [case(real(2, 5), sizes=(2, 2, 1), axis=1)],
    "unsafe_split_with_sizes": [case(real(2, 3), sizes=(1, 0, 2), axis=1)],
    "unbind": [case(real(2, 3), axis=0), case(real(2, 3), axis=1), case(real(1), axis=0)],
    "repeat": [case(real(2, 3), repeats=(2, 1)), case(real(3), repeats=(2, 2)), case(real(), repeats=()), case(real(2), repeats=(0,))],
    "flip": [case(real(2, 3), axes=(1,)), case(real(2, 3), axes=(0, 1)), case(real(), axes=())],
    "roll": [case(real(2, 3), shifts=(1,), axes=None), case(real(2, 3), shifts=(1, -2), axes=(0, 1))],
    "rot90": [case(real(2, 3), k=k, axes=(0, 1)) for k in (0, 1, 2, 3)] + [case(real(2, 3, 2), k=1, axes=(2, 1))],
    "tril": [case(real(3, 4), diagonal=k) for k in (0, 1, -1)] + [case(real(2, 2, 2), diagonal=0)],
    "triu": [case(real(3, 4), diagonal=k) for k in (0, 1, -1)] + [case(real(2, 2, 2), diagonal=0)],
    "constant_pad": [case(real(2, 3), pads=((1, 0), (-1, 2)), value=7.0), case(real(3), pads=((-1, -1),), value=0)],
    "mirror_pad": [case(real(2, 3), sources=REFLECTED, mode="Reflection"), case(real(1, 1, 2, 3), sources=IMAGE, mode="circular")],
    "mirror_pad_backward": [case(real(2, 5), shape=(2, 3), sources=REFLECTED),
                            case(real(1, 1, 4, 5), shape=(1, 1, 2, 3), sources=IMAGE)],
}

# positions that are data

GRID = whole([0, 1, 1], [2, 0, 2])
SAMPLES |= {
    "index": [case(real(2, 3), GRID, axes=(0, 1)), case(real(3, 2), whole(2, 0, 2), axes=(0,)), case(real(2, 3), whole([2], [2]), axes=(1,)),
              case(real(2, 3), whole(5, 1), axes=(0, 1)), case(real(2, 2, 3), GRID, axes=(0, 2))],
    "index_backward": [case(real(3), GRID, shape=(2, 3), axes=(0, 1)), case(real(3, 2), whole(2, 0, 2), shape=(3, 2), axes=(0,)),
                       case(real(2), whole(5, 1), shape=(2, 3), axes=(0, 1)), case(real(3, 2), GRID, shape=(2, 2, 3), axes=(0, 2))],
    "index_put": [case(real(2, 3), real(3), GRID, axes=(0, 1), accumulate=a) for a in (False, True)] + [
        case(real(3, 2), real(), whole(2, 0), axes=(0,), accumulate=False), case(real(3, 2), 1.5, whole(2, 2), axes=(0,), accumulate=True),
        case(real(2, 3), real(2), whole(5, 1), axes=(0, 1), accumulate=False),
        case(real(3), real(2), whole(1, 1), axes=(0,), accumulate=True)],
    "gather": [case(real(2, 3), whole([0, 2, 0, 1], [1, 1, 2, 0]), axis=1), case(real(), whole(0, 0)[0], axis=0),
               case(real(2, 3), np.zeros((0, 3), int), axis=0)],
    "gather_backward": [case(real(2, 4), whole([0, 2, 0, 1], [1, 1, 2, 0]), shape=(2, 3), axis=1)],
    "scatter": [case(real(2, 3), whole([0, 2], [2, 1]), real(2, 2), axis=1, reduce=None),
                case(real(2, 3), whole([0, 2], [2, 1]), 1.5, axis=1, reduce=None),
                case(real(2, 3), whole([0, 2]), real(1, 2), axis=1, reduce="add", fails=RuntimeError),
                case(real(2, 3), whole([0, 2]), real(1, 2), axis=1, reduce="multiply", fails=RuntimeError)],
    "scatter_add": [case(real(2, 3), whole([0, 0], [2, 1]), real(2, 2), axis=1), case(real(), np.array(0), real(seed=1), axis=0)],
    "index_select": [case(real(2, 3), whole(2, 0, 2), axis=1), case(real(3), np.array(1), axis=0), case(real(), whole(0), axis=0)],
    "index_select_backward": [case(real(2, 3), whole(2, 0, 2), shape=(2, 3), axis=1)],
    "index_add": [case(real(2, 3), whole(2, 0, 2), real(2, 3, seed=1), axis=1, alpha=1.5), case(real(3), whole(1, 1), real(2), axis=0),
                  case(real(), whole(0), real(seed=1), axis=0)],
    "index_copy": [case(real(2, 3), whole(2, 0), real(2, 2), axis=1), case(real(), np.array(0), real(seed=1), axis=0)],
    "index_fill": [case(real(2, 3), whole(2, 0), real(), axis=1), case(real(2, 3), whole(1, 1), 1.5, axis=0)],
    "masked_fill": [case(real(2, 3), mask(1, 0, 1), real()), case(real(2, 3), mask([1, 0, 1], [0, 0, 0]), 1.5)],
    "masked_select": [case(real(2, 3), mask([1, 0, 1], [0, 1, 0])), case(real(2, 3), mask([1], [0])), case(real(2), mask(0, 0))],
    "masked_select_backward": [case(real(3), mask([1, 0, 1], [0, 1, 0]), shape=(2, 3))],
    "masked_scatter": [case(real(2, 3), mask([1, 0, 1], [0, 1, 0]), real(2, 2)), case(real(2, 3), mask(1, 0, 0), real(2))],
    "masked_scatter_backward": [case(real(2, 3), mask([1, 0, 1], [0, 1, 0]), shape=(2, 2))],
    "masked_place": [case(real(2, 2), mask([1, 0, 1], [0, 1, 0]), shape=(2, 3))],
    "take": [case(real(2, 3), whole([5, 0], [0, 2]))],
    "take_backward": [case(real(2, 2), whole([5, 0], [0, 2]), shape=(2, 3))],
    "nonzero": [case(some([0.0, 1.0], [2.0, 0.0])), case(np.array(3.0)), case(some(0.0))],
}

# reductions


def reductions(low: float = -2.0, **options: Any) -> Samples:
    """Over all axes, one, several, with the axes kept, and of nothing but one number."""
    return [case(real(2, 3, 2, low=low), axis=axis, keepdims=keep, **options)
            for axis, keep in ((None, False), ((1,), False), ((0, 2), False), ((0, 2), True))] + [
        case(real(low=low), axis=None, keepdims=False, **options)]


TIED = some([1.0, 3.0, 3.0], [2.0, 2.0, 2.0])
ZEROS = some([0.0, 2.0, -1.0], [0.0, 0.0, 3.0], [1.5, -2.0, 0.5])
LABELS = {"a_labels": (0, 1), "b_labels": (1, 2), "out_labels": (0, 2)}
SAMPLES |= {
    "sum_all": unary(numbers="real complex"), "mean_all": [case(real(2, 3)), case(real()), case(imaginary(2))],
    "sum": [*reductions(), case(real(0, 2), axis=(0,)), case(imaginary(2), axis=(0,))],
    "mean": [*reductions(), case(imaginary(2), axis=(0,))],
    "sum_to": [case(real(2, 3), shape=s) for s in ((3,), (2, 1), (1, 1), (), (2, 3))] + [case(real(0, 3), shape=(3,))],
    "nansum": [*reductions(), case(some(1.0, math.nan, 2.0), axis=(0,))],
    "var": [*reductions(correction=1)[:4], *reductions(correction=0)[:4], case(real(3), axis=(0,), keepdims=False, correction=0.5),
            case(real(1), axis=(0,), keepdims=False, correction=1, kink=True), case(real(1), axis=None, keepdims=False, correction=1, kink=True)],
    "var_complex": [case(imaginary(2, 3), axis=(1,), keepdims=False, correction=1), case(imaginary(3), axis=None, keepdims=False, correction=0)],
    "std": [*reductions(correction=1)[:4], case(some(1.0, 1.0), axis=(0,), keepdims=False, correction=1, kink=True)],
    "var_mean": reductions(correction=1)[:4], "std_mean": reductions(correction=1)[:4],
    "shares": [case(TIED, TIED.max(axis=1, keepdims=True), axis=(1,), find_nan=False)],
    "logsumexp": [*reductions(), case(some(-math.inf, 1.0), axis=(0,), keepdims=False), case(imaginary(3), axis=(0,), keepdims=False)],
    "prod": [*[s for s in reductions() if s.statics["axis"] is None or len(s.statics["axis"]) == 1],
             case(ZEROS, axis=(1,), keepdims=True), case(ZEROS[0]), case(imaginary(3))],
    "cumsum": [case(real(2, 3), axis=a, reverse=r) for a in (0, 1) for r in (False, True)] + [case(real(), axis=0)],
    "scan": [case(real(4, 2), real(4, 2, seed=1), axis=0, reverse=r) for r in (False, True)] + [case(real(1), real(1), axis=0, reverse=False)],
    "product_before": [case(x, axis=1, reverse=r) for x in (real(2, 3), ZEROS) for r in (False, True)],
    "cumprod": [case(real(2, 3), axis=1), case(ZEROS, axis=1), case(ZEROS, axis=0), case(real(), axis=0)],
    "product_of_others": [case(real(2, 3), axis=1), case(ZEROS, axis=1), case(ZEROS, axis=0)],
    "place": [case(real(2, 1), whole([2], [0]), axis=1, shape=(2, 3))],
    "pick": [case(real(2, 3), whole([2], [0]), axis=1)],
    "aminmax": [*reductions(), case(TIED, axis=(1,), kink=True)],
    "vector_norm": [sample for p in (2, 1, 0, 3, 0.5, 1.5, math.inf, -math.inf) for sample in reductions(ord=p)] + [
        case(some(0.0, 0.0), ord=p, kink=True) for p in (2, 1, 3, 0.5, 1.5, math.inf)] + [case(some(0.0, 2.0, -1.0), ord=2.5, **NAN_IN_TORCH)],
    "norm_along": [case(real(2, 3), ord=p, axis=(1,), keepdims=False) for p in (2, 1, 3)],
    "dist": [case(real(2, 3), real(3, seed=1), ord=p) for p in (2, 1, 3, 0, math.inf)] + [case(real(2), real(2, seed=1), ord=2)],
}
for _name in ("max", "min", "median", "nanmedian"):
    SAMPLES[_name] = [case(real(2, 3)), case(real(5)), case(real()), case(TIED, kink=True), case(some(math.nan, 1.0, 2.0), kink=True)]
    SAMPLES[f"{_name}_along"] = [case(real(2, 3, 2), axis=a, keepdims=k) for a, k in ((0, False), (1, True), (2, False))] + [
        case(real(), axis=0, keepdims=False), case(TIED, axis=1, keepdims=False, kink=True)]
for _name in ("amax", "amin"):
    SAMPLES[_name] = [*reductions(), case(TIED, axis=(1,), kink=True)]
for _name in ("argmax", "argmin"):
    SAMPLES[_name] = [case(TIED, axis=a, keepdims=k) for a, k in ((None, False), (0, False), (1, True))] + [
        case(real(), axis=0, keepdims=False)]
for _name in ("all", "any", "count_nonzero"):
    SAMPLES[_name] = [case(ZEROS, axis=a, keepdims=False) for a in (None, (0,), (0, 1))] + [case(mask(1, 0), axis=None, keepdims=True)]

# products of matrices

SAMPLES |= {
    "mm": [case(real(2, 3), real(3, 2)), case(real(2, 1), real(1, 3)), case(real(2, 0), real(0, 3)), case(imaginary(2, 2), imaginary(2, 1))],
    "bmm": [case(real(2, 2, 3), real(2, 3, 1)), case(imaginary(1, 2, 2), imaginary(1, 2, 1))],
    "mv": [case(real(2, 3), real(3)), case(real(2, 1), real(1)), case(real(1, 2), real(2)), case(imaginary(2, 2), imaginary(2))],
    "vm": [case(real(2), real(2, 3)), case(real(1), real(1, 2)), case(imaginary(2), imaginary(2, 2))],
    "dot": [case(real(3), real(3, seed=1)), case(real(1), real(1, seed=1)), case(real(0), real(0)), case(imaginary(2), imaginary(2, seed=1))],
    "vdot": [case(real(3), real(3, seed=1)), case(imaginary(2), imaginary(2, seed=1))],
    "outer": [case(real(2), real(3)), case(imaginary(2), imaginary(2, seed=1))],
    "matmul": [case(real(2, 2, 3), real(3, 2)), case(real(2, 1, 2, 3), real(2, 3, 2)), case(real(2, 3), real(2, 3, 1))],
    "matmul_folded": [case(real(2, 2, 3), real(3, 2)), case(real(2, 2, 1), real(1, 2))],
    "matmul_vector": [case(real(2, 2, 3), real(3)), case(real(2, 2, 1), real(1))],
    "linear": [case(real(2, 3), real(2, 3, seed=1), real(2)), case(real(2, 3), real(2, 3, seed=1), None), case(real(2, 1), real(3, 1), real(3))],
    "linear_folded": [case(real(2, 2, 3), real(2, 3, seed=1), b) for b in (real(2), None)] + [case(real(3), real(2, 3), real(2))],
    "addmm": [case(c, real(2, 3), real(3, 2), beta=0.5, alpha=2.0) for c in (real(2, 2), real(2), real(2, 1), real())] + [
        case(real(2, 2), real(2, 3), real(3, 2)), case(real(2, 2), real(2, 1), real(1, 2), beta=0)],
    "addmv": [case(real(2), real(2, 3), real(3), beta=0.5, alpha=2.0), case(real(), real(2, 3), real(3)), case(real(2), real(2, 1), real(1))],
    "addr": [case(real(2, 3), real(2), real(3), beta=0.5, alpha=2.0), case(real(3), real(2), real(3, seed=1), beta=0)],
    "baddbmm": [case(real(2, 2, 1), real(2, 2, 3), real(2, 3, 1), beta=0.5, alpha=2.0), case(real(1), real(2, 2, 3), real(2, 3, 1))],
    "addbmm": [case(real(2, 1), real(2, 2, 3), real(2, 3, 1), beta=0.5, alpha=2.0)],
    "contract": [case(real(2, 3), real(3, 2), **LABELS),
                 case(real(2, 3), real(2, 2), a_labels=(0, 1), b_labels=(0, 2), out_labels=(2, 0, 1)),
                 case(real(2, 2, 3), real(3, 2, 2), a_labels=(0, 1, 2), b_labels=(2, 0, 3), out_labels=(3, 0, 1)),
                 case(imaginary(2, 2), imaginary(2, 1), **LABELS)],
    "trace": [case(real(3, 3)), case(real(2, 3))],
    "trilinear": [case(real(2, 2), real(3, 2, 2), real(2, 2, seed=1), spec="ni,oij,nj->no")],
}

# losses, softmax, embeddings, normalisations

REDUCTIONS = ("none", "mean", "sum")
CLASSES = whole(2, 0, 3)
NLL = {"ignore_index": -100, "spatial": False}
NORMED = real(3, 2, 2, seed=3)
STATISTICS = NORMED.mean(axis=(0, 2)), NORMED.var(axis=(0, 2))


def frozen(table: Any, index: Any, row: int) -> Any:
    """An embedding whose row for padding does not learn."""
    table = table.copy()
    table[row] = 0
    return table[index]


def by_frequency(table: Any, index: Any) -> Any:
    """An embedding whose rows learn more slowly the more often they are used."""
    return table[index] / np.bincount(index.ravel())[index][..., None]


AVERAGED = {"second_differs": "torch's second derivative does not average"}
SAMPLES |= {
    "add_number": unary(value=1.5), "sub_number": unary(value=1.5), "mul_number": unary(value=1.5), "div_number": unary(value=1.5),
    "softmax": [case(real(2, 3), axis=(a,)) for a in (0, 1)] + [case(real(), axis=()), case(real(0, 3), axis=(1,)), case(some(90.0, 91.0), axis=(0,))],
    "log_softmax": [case(real(2, 3), axis=(a,)) for a in (0, 1)] + [case(real(), axis=()), case(real(0, 3), axis=(1,)), case(some(90.0, 91.0), axis=(0,))],
    "softmax_backward": [case(real(2, 3), real(2, 3, low=0.1, seed=1), axis=(1,)), case(real(), real(seed=1), axis=())],
    "log_softmax_backward": [case(real(2, 3), real(2, 3, seed=1), axis=(1,)), case(real(), real(seed=1), axis=())],
    "mse_loss": [case(real(2, 3), real(2, 3, seed=1), reduction=r) for r in REDUCTIONS] + [case(real(), real(seed=1), reduction="none")],
    "smooth_l1_loss": [case(real(2, 3), real(2, 3, seed=1), reduction=r, beta=0.7) for r in REDUCTIONS],
    "huber_loss": [case(real(2, 3), real(2, 3, seed=1), reduction=r, delta=0.7) for r in REDUCTIONS],
    "soft_margin_loss": [case(real(2, 3), some([1, -1, 1], [-1, -1, 1]), reduction=r) for r in REDUCTIONS],
    "binary_cross_entropy": [case(real(2, 3, low=0.1, high=0.9), real(2, 3, low=0.1, high=0.9, seed=1), w, reduction=r)
                             for r in REDUCTIONS for w in (None, real(2, 3, low=0.5, seed=2))],
    "binary_cross_entropy_with_logits": [
        case(real(2, 3), real(2, 3, low=0.1, high=0.9), w, p, reduction=r)
        for r in REDUCTIONS for w, p in ((None, None), (real(3, low=0.5), None), (None, real(3, low=0.5)), (real(2, 3, low=0.5), real(3, low=0.5)))],
    "nll_loss": [case(real(3, 4), CLASSES, w, reduction=r, **NLL) for r in REDUCTIONS for w in (None, real(4, low=0.5))] + [
        case(real(3, 4), CLASSES, None, reduction="mean", ignore_index=0, spatial=False), case(real(4), np.array(2), None, reduction="sum", **NLL),
        case(real(2, 3, 2), whole([0, 2], [1, 1]), None, reduction="mean", ignore_index=2, spatial=True)],
    "nll_loss_backward": [case(real(3), CLASSES, None, shape=(3, 4), reduction="none", **NLL),
                          case(real(), CLASSES, real(4, low=0.5), shape=(3, 4), reduction="mean", **NLL)],
    "multi_margin_loss": [case(real(3, 4), CLASSES, w, p=p, margin=0.9, reduction=r, second_fails=RuntimeError)
                          for r in REDUCTIONS for p, w in ((1, None), (2, real(4, low=0.5)))],
    "multi_margin_loss_backward": [case(real(), real(3, 4), CLASSES, None, p=1, margin=0.9, reduction="mean", fails=RuntimeError)],
    "multilabel_margin_loss": [case(real(2, 4), whole([2, 0, -1, 1], [1, -1, 0, 0]), reduction=r, second_fails=RuntimeError) for r in REDUCTIONS],
    "multilabel_margin_loss_backward": [case(real(), real(2, 4), whole([2, 0, -1, 1], [1, -1, 0, 0]), reduction="sum", fails=RuntimeError)],
    "embedding": [case(real(4, 2), whole([1, 3], [1, 0]), padding_idx=-1, by_frequency=False),
                  case(real(4, 2), whole(1, 3, 1), padding_idx=3, by_frequency=False, like=lambda table, index: frozen(table, index, 3)),
                  case(real(4, 2), whole(1, 3, 1), padding_idx=-1, by_frequency=True, like=by_frequency, **AVERAGED),
                  case(real(4, 2), np.zeros((0,), int), padding_idx=-1, by_frequency=False)],
    "embedding_backward": [case(real(2, 2, 2), whole([1, 3], [1, 0]), rows=4, padding_idx=3, by_frequency=False),
                           case(real(3, 2), whole(1, 3, 1), rows=4, padding_idx=-1, by_frequency=False)],
    "layer_norm": [case(real(2, 3, 2), w, b, axis=axis, eps=0.01) for axis, shape in (((2,), (2,)), ((1, 2), (3, 2)))
                   for w, b in ((None, None), (real(*shape), real(*shape, seed=1)), (real(*shape), None))],
    "batch_norm": [case(NORMED, real(2), real(2, seed=1), None, None, eps=0.01), case(NORMED, None, None, None, None, eps=0.01),
                   case(NORMED, real(2), real(2, seed=1), real(2, seed=2), real(2, low=0.5), eps=0.01), case(real(4, 2), real(2), None, None, None, eps=0.01),
                   case(NORMED, None, None, real(2, seed=2), real(2, low=0.5), eps=0.01), case(NORMED, real(2), None, real(2, seed=2), real(2, low=0.5), eps=0.01),
                   case(NORMED, real(2), real(2, seed=1), None, None, eps=0.01, known=STATISTICS, tolerance=1e-5,
                        like=lambda *arguments: raw.batch_norm(*arguments, eps=0.01))],
    "group_norm": [case(real(2, 4, 2), w, b, groups=2, eps=0.01) for w, b in ((None, None), (real(4), real(4, seed=1)), (real(4), None))],
    "glu": [case(real(2, 4), axis=1), case(real(2, 3), axis=0)],
    "prelu": [case(real(2, 3), real(3, low=0.1)), case(real(2, 3), real()), case(real(2, 3), real(2, 3, seed=1))],
    "rrelu": [case(real(2, 3), real(2, 3, seed=1))],
    "hardshrink": [case(real(2, 3), bound=0.5)],
    "softshrink": [case(real(2, 3), bound=0.5)],
}

# convolution and pooling


def window(dims: int, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> Window:
    return Window((stride,) * dims, (padding,) * dims, (dilation,) * dims, groups)


SAMPLES |= {
    "convolution": [
        case(real(2, 2, 5), real(2, 2, 3), real(2), window=window(1)), case(real(1, 2, 6), real(4, 1, 2), None, window=window(1, 2, 1, 2, groups=2)),
        case(real(2, 1, 4, 4), real(2, 1, 3, 2), real(2), window=window(2, padding=1)), case(real(1, 1, 2, 3, 2), real(1, 1, 2, 2, 1), None, window=window(3)),
        case(real(1, 2, 6, 6), Constant(real(2, 2, 1, 1)), real(2), window=window(2)), case(real(0, 2, 4), real(1, 2, 2), real(1), window=window(1))],
    "convolution_transpose": [
        case(real(2, 2, 3), real(2, 1, 3), real(1), size=(5,), window=window(1)), case(real(1, 2, 3), real(2, 2, 2), None, size=(6,), window=window(1, 2, 0, groups=1)),
        case(real(1, 2, 2, 2), real(2, 1, 2, 2), real(2), size=(4, 4), window=window(2, 2, 0, 1, groups=2))],
    "convolution_input": [case(real(2, 2, 3), real(2, 2, 3), size=(5,), window=window(1)), case(real(1, 2, 2), real(2, 1, 2), size=(4,), window=window(1, 2))],
    "convolution_weight": [case(real(2, 2, 3), real(2, 2, 5), size=(3,), window=window(1)), case(real(1, 2, 2), real(1, 1, 5), size=(2,), window=window(1, 2)),
                           case(real(1, 2, 4, 4), real(1, 1, 4, 4), size=(3, 3), window=window(2, padding=1))],
    "conv_tbc": [case(real(4, 2, 2), real(3, 2, 2), real(2), padding=1)],
}
MAXIMA, MEANS = Kind("MaxPool2DWithIndices", 2), Kind("AvgPool2D", 2)
SLIDING = (Sliding(4, 2, 2, 0, 1, 2), Sliding(5, 3, 1, 1, 1, 5))
SPREAD = (Adaptive(4, 3), Adaptive(5, 2))
PLACES = whole([[[0, 7], [10, 7]]])
SAMPLES |= {
    "max_pool": [case(real(1, 2, 4, 5), axes=axes, kind=MAXIMA) for axes in (SLIDING, SPREAD)],
    "max_pool_values": [case(real(1, 2, 4, 5), axes=axes) for axes in (SLIDING, SPREAD)],
    "fractional_max_pool": [case(real(1, 2, 4, 5), real(1, 2, 2, low=0, high=1), kernel=(2, 2), size=(2, 3), kind=MAXIMA)],
    "pool_scatter": [case(real(1, 1, 2, 2), PLACES, shape=(1, 1, 3, 4), kind=MAXIMA)],
    "pool_gather": [case(real(1, 1, 3, 4), PLACES, kind=MAXIMA)],
    "max_unpool": [case(real(1, 1, 2, 2), whole([[[0, 7], [10, 5]]]), shape=(1, 1, 3, 4), kind=MAXIMA)],
    "avg_pool": [case(real(1, 2, 4, 5), axes=axes, count_pad=pad, divisor=by, kind=MEANS)
                 for axes, pad, by in ((SLIDING, True, None), (SLIDING, False, None), (SLIDING, True, 3), (SPREAD, False, None))],
    "avg_pool_backward": [case(real(1, 1, *[axis.out for axis in axes]), axes=axes, count_pad=pad, divisor=None, kind=MEANS)
                          for axes, pad in ((SLIDING, True), (SLIDING, False), (SPREAD, False))],
}

# attention and recurrent layers

QKV = real(1, 2, 2, 3), real(1, 2, 3, 3, seed=1), real(1, 2, 3, 2, seed=2)
ATTENTION = {"scale": 0.6, "second_fails": RuntimeError}
SAMPLES |= {
    "safe_softmax": [case(real(2, 3), axis=(1,)), case(some([-math.inf, -math.inf], [1.0, -math.inf]), axis=(1,))],
    "scaled_dot_product_flash_attention_for_cpu": [
        case(*QKV, **ATTENTION), case(*QKV, Constant(real(2, 3)), **ATTENTION), case(*QKV, mask([1, 0, 1], [0, 0, 0]), **ATTENTION)],
    "scaled_dot_product_flash_attention_for_cpu_backward": [
        case(real(1, 2, 2, 2), *QKV, Constant(real(1, 2, 2, 3, low=0.1, high=0.9)), scale=0.6, fails=RuntimeError)],
}


def recurrent(cell: str, gates: int, *, sizes: Any = None, reverse: bool = False, biased: bool = True, shorter: int = 0) -> Sample:
    """A layer with two hidden numbers, over three steps of a batch of two, or over a packed sequence."""
    hidden = shorter or 2
    state = real(2, hidden + 2 if cell == "lstm" else hidden, seed=1)
    weights = [real(2 * gates, hidden, seed=2)] + [real(2 * gates, seed=3)] * biased + [real(shorter, 2, seed=4)] * bool(shorter)
    return case(real(*((5,) if sizes else (3, 2)), 2 * gates), state, *weights, cell=cell, sizes=sizes, reverse=reverse, biased=biased)


LAYERS = [recurrent("rnn_tanh", 1), recurrent("rnn_relu", 1, reverse=True), recurrent("gru", 3, sizes=(2, 2, 1)),
          recurrent("gru", 3, biased=False), recurrent("lstm", 4, sizes=(2, 2, 1), reverse=True), recurrent("lstm", 4, shorter=1)]
SAMPLES |= {
    "recurrent_layer": LAYERS,
    "mkldnn_rnn_layer": [recurrent("lstm", 4, reverse=r, biased=b) for r, b in ((False, True), (True, False))],
    "pack_padded_sequence": [case(real(3, 2, 2), sizes=(2, 2, 1))],
    "pack_padded_sequence_backward": [case(real(5, 2), shape=(3, 2, 2), sizes=(2, 2, 1))],
    "pad_packed_sequence": [case(real(5, 2), shape=(4, 2, 2), sizes=(2, 2, 1), value=7.0)],
    "pad_sequence": [case(real(3, 2), real(1, 2), length=3, batch_axis=axis, value=7.0, left=left) for axis, left in ((0, False), (1, True))],
}

# special functions

SAMPLES |= {name: unary(*span) for name, span in {
    "lgamma": (0.3, 4.0), "digamma": (0.3, 4.0), "erfinv": (-0.9, 0.9), "i0": ANY, "i0e": ANY, "i1": ANY, "i1e": ANY, "ndtri": (0.1, 0.9),
    "log_ndtr": ANY, "erfcx": ANY, "entr": POSITIVE, "ndtr": ANY,
}.items()}
for _name in ("lgamma", "digamma"):
    SAMPLES[_name] += [case(some(-0.6, -1.4, 12.0))]
for _name in ("i0", "i1"):
    SAMPLES[_name] += [case(some(0.0, 12.0, -9.0))]
SAMPLES["log_ndtr"] += [case(some(-12.0, 5.0))]


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
    "zeta": [case(Constant(some(1.5, 3.0, 2.2)), real(2, 3, low=0.3)), case(2.5, real(3, low=0.3)), case(real(3, low=1.5), 2.0, **NO_GRADIENT_OF)],
    "xlog1py": [*binary(ANY, (-0.8, 2.0), "right left"), case(some(0.0, 1.0), some(2.0, 0.5))],
    "gammainc": [case(Constant(some(0.7, 2.5, 4.0)), real(2, 3, low=0.3, high=4)), case(real(3, low=0.3), real(3, low=0.3), **NO_GRADIENT_OF)],
    "gammaincc": [case(Constant(some(0.7, 2.5, 4.0)), real(2, 3, low=0.3, high=4)), case(real(3, low=0.3), real(3, low=0.3), **NO_GRADIENT_OF)],
    "standard_gamma": [case(GAMMA[0], values=GAMMA[1], like=kept_in_place(raw.gammainc, *GAMMA), second_fails=NotImplementedError)],
    "standard_gamma_grad": [case(*GAMMA, **NO_GRADIENT_OF)],
    "dirichlet": [case(DIRICHLET[0], values=DIRICHLET[1], like=moved_shares, second_fails=NotImplementedError)],
    "dirichlet_grad": [case(DIRICHLET[1], DIRICHLET[0], DIRICHLET[0].sum(axis=1, keepdims=True), **NO_GRADIENT_OF)],
}

# factors of matrices


def symmetric(a: np.ndarray) -> np.ndarray:
    return (a + a.swapaxes(-1, -2)) / 2


def hermitian(a: np.ndarray) -> np.ndarray:
    return (a + a.conj().swapaxes(-1, -2)) / 2


SYMMETRIC, HERMITIAN = {"within": {0: symmetric}}, {"within": {0: hermitian}}
LOWER = np.tril(real(3, 3)) + 3 * np.eye(3)
LOWER_COMPLEX = np.tril(imaginary(2, 2), -1) + 2 * np.eye(2)
MIXED = real(3, 3) + 4 * np.eye(3)
DEFINITE, DEFINITE_COMPLEX = symmetric(real(2, 3, 3)) + 5 * np.eye(3), hermitian(imaginary(2, 2)) + 5 * np.eye(2)
MATRICES = [real(3, 3), real(2, 2, 2), real(2, 3), real(3, 2), imaginary(2, 2)]
SQUARE = [case(a) for a in MATRICES if a.shape[-1] == a.shape[-2]]
EXCHANGES = whole(2, 3, 3).astype(np.int32)
SINGULAR = some([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.5, -1.0, 2.0])
VALUES_ONLY = {"results": (0,)}
TOLERANCES = {"atol": None, "rtol": None, "hermitian": False}
SAMPLES |= {
    "cholesky_ex": [case(DEFINITE, upper=upper, node="LinalgCholeskyExBackward0", **SYMMETRIC) for upper in (False, True)] + [
        case(DEFINITE_COMPLEX, upper=upper, node="CholeskyBackward0", **HERMITIAN) for upper in (False, True)],
    "solve_triangular": [
        *(case(MIXED, real(3, 2) if left else real(2, 3), upper=upper, left=left, unit=unit)
          for upper in (False, True) for left in (False, True) for unit in (False, True)),
        case(np.stack([MIXED, MIXED.T]), real(3, 2), upper=True, left=True, unit=False),
        case(MIXED, real(2, 3, 1), upper=False, left=True, unit=False), case(LOWER_COMPLEX, imaginary(2, 1), upper=False, left=True, unit=False)],
    "cholesky_solve": [case(b, (factor.conj().T if upper else factor), upper=upper, within={1: np.triu if upper else np.tril})
                       for b, factor in ((real(3, 2), LOWER), (real(2, 3, 1), LOWER), (imaginary(2, 1), LOWER_COMPLEX)) for upper in (False, True)],
    "cholesky_inverse": [case(factor.conj().swapaxes(-1, -2) if upper else factor, upper=upper, within={0: np.triu if upper else np.tril})
                         for factor in (LOWER, np.stack([LOWER, LOWER + np.eye(3)]), LOWER_COMPLEX) for upper in (False, True)],
    "lu": [case(a) for a in MATRICES],
    "lu_factor_ex": [case(a) for a in MATRICES],
    "lu_unpack": [case(a, EXCHANGES[:min(a.shape)], data=True, pivots=True) for a in (real(3, 3), real(3, 4), real(4, 3), imaginary(3, 3))],
    "lu_solve": [case(MIXED, EXCHANGES, real(3, 2) if left else real(2, 3), left=left, flip=flip, conjugate=False)
                 for left in (False, True) for flip in (False, True)] + [
        case(MIXED + 1j, EXCHANGES, imaginary(3, 1), left=True, flip=True, conjugate=True),
        case(MIXED, EXCHANGES, real(2, 3, 1), left=True, flip=False, conjugate=False)],
    "qr": [case(a, mode="reduced") for a in MATRICES] + [case(real(2, 2), mode="complete"), case(real(2, 2), mode="r", fails=RuntimeError),
                                                         case(real(3, 2), mode="complete", fails=RuntimeError)],
    "householder_product": [case(real(3, 2), real(2)), case(real(3, 3), real(2)), case(real(2, 2, 2), real(2, 2)), case(imaginary(2, 2), imaginary(2))],
    "geqrf": [case(real(3, 2), fails=NotImplementedError)],
    "ldl_factor_ex": [case(symmetric(real(2, 3, 3)), hermitian=False, fails=RuntimeError), case(DEFINITE_COMPLEX, hermitian=True, fails=RuntimeError)],
    "ldl_solve": [case(LOWER, whole(1, 2, 3).astype(np.int32), real(3, 2), hermitian=False, fails=RuntimeError)],
    "inv_ex": SQUARE,
    "solve_ex": [case(MIXED, real(3, 2) if left else real(2, 3), left=left, vector=False) for left in (False, True)] + [
        case(MIXED, real(3), left=True, vector=True), case(np.stack([MIXED, MIXED.T]), real(3, 1), left=True, vector=False),
        case(imaginary(2, 2), imaginary(2, 1), left=True, vector=False)],
    "det": [*SQUARE, case(SINGULAR)],
    "cofactors": SQUARE,
    "cofactors_change": [case(s.inputs[0], s.inputs[0][..., ::-1].copy()) for s in SQUARE],
    "slogdet": SQUARE,
    "pinv": [case(a, **TOLERANCES) for a in MATRICES] + [case(symmetric(real(3, 3)), atol=None, rtol=None, hermitian=True, **SYMMETRIC)],
    "lstsq": [case(a, real(len(a), 2), rcond=None, driver="gelsd") for a in (real(3, 2), real(2, 2), real(2, 3))] + [
        case(imaginary(3, 2), imaginary(3, 1), rcond=None, driver="gelsy")],
    "matrix_exp": [*SQUARE, case(real(2, 2, low=-9, high=9))],
    "svd": [case(a, full=False) for a in MATRICES[:-1]] + [case(real(2, 2), full=True), case(imaginary(2, 3), full=False, results=(1,))],
    "svdvals": [case(a) for a in MATRICES],
    "eigh": [case(symmetric(real(3, 3)), lower=lower, **SYMMETRIC) for lower in (False, True)] + [
        case(DEFINITE_COMPLEX, lower=True, **HERMITIAN, **VALUES_ONLY), case(symmetric(real(2, 2, 2)), lower=True, **SYMMETRIC)],
    "eigvalsh": [case(symmetric(real(3, 3)), lower=lower, **SYMMETRIC) for lower in (False, True)] + [
        case(DEFINITE_COMPLEX, lower=True, **HERMITIAN)],
    "eig": [case(imaginary(3, 3), real=False, **VALUES_ONLY), case(imaginary(2, 2, 2), real=False, **VALUES_ONLY)],
    "eigvals": [case(imaginary(3, 3), real=False), case(imaginary(2, 2, 2), real=False)],
    "no_phase": [case(imaginary(3).real + 0j, None, message="the phase")],
}

# order and counts

SAMPLES |= {
    "sort": [case(real(2, 3), axis=1, descending=d, stable=s) for d, s in ((False, None), (True, True))] + [
        case(TIED, axis=1, descending=True, stable=False, kink=True), case(real(), axis=0, descending=False, stable=None)],
    "topk": [case(real(2, 4), k=2, axis=1, largest=largest) for largest in (False, True)] + [case(real(2, 4), k=0, axis=1, largest=True)],
    "kthvalue": [case(real(2, 4), k=2, axis=1, keepdims=keep) for keep in (False, True)],
    "mode": [case(real(2, 4), axis=1, keepdims=keep) for keep in (False, True)] + [case(TIED, axis=1, keepdims=False, kink=True)],
    "unique": [case(TIED, fails=NotImplementedError)],
    "unique_dim": [case(TIED, axis=0, fails=NotImplementedError)],
    "unique_consecutive": [case(TIED, axis=1, fails=NotImplementedError), case(TIED[0], axis=None, fails=NotImplementedError)],
    "bincount": [case(whole(0, 2, 2), real(3), length=4, fails=RuntimeError), case(whole(0, 2, 2), None, length=4)],
    "histogram": [case(real(4, 1), None, limits=(some(-2.0, 0.0, 2.0),), density=False, fails=RuntimeError)],
}

PLACED = whole([0, 0, 2], [1, 2, 1])
PUT_BACK = {"geometry": ((2, 2), (1, 2), 1)}
DISTANCES = (0, 1, 1.5, 2, 3, math.inf)
SAMPLES |= {
    "cummax": [case(real(2, 4), axis=1), case(real(3, 2), axis=0), case(real(), axis=0), case(TIED, axis=1, kink=True)],
    "cummin": [case(real(2, 4), axis=1), case(real(3, 2), axis=0), case(real(), axis=0), case(TIED, axis=1, kink=True)],
    "logcumsumexp": [case(real(2, 4), axis=1), case(real(3, 2), axis=0), case(real(), axis=0), case(real(0, 2), axis=0)],
    "renorm": [case(real(3, 2, 2), ord=p, axis=(1, 2), maxnorm=2.5, tolerance=1e-5) for p in (1, 2, 3)],
    "cdist": [case(real(2, 3), real(3, 3, seed=1), ord=p) for p in DISTANCES] + [
        case(real(2, 2, 2), real(2, 3, 2), ord=2), case(real(2, 3), real(3, 3, seed=1), ord=2, by_products=True),
        case(real(2, 2), np.vstack([real(2, 2)[:1], real(1, 2)]), ord=2, kink=True)],
    "pdist": [case(real(3, 2), ord=p) for p in DISTANCES],
    "upper_triangle": [case(real(3, 3)), case(real(1, 1))],
    "one_triangle": [case(real(3), n=3)],
    "both_triangles": [case(real(3), n=3)],
    "block_diag": [case(real(2, 3), real(2), real(), real(1, 2)), case(real(2, 2), Constant(real(1, 1)))],
    "cross": [case(real(2, 3), real(2, 3, seed=1), axis=1), case(real(3, 1), real(3, 2), axis=0), case(imaginary(3), imaginary(3, seed=1), axis=0)],
    "scatter_reduce": [case(real(2, 3), PLACED, real(2, 3, seed=1), axis=1, reduce=how, include_self=own)
                       for how in ("sum", "prod", "mean", "amax", "amin") for own in (False, True)] + [
        case(TIED, PLACED, TIED, axis=1, reduce="amax", include_self=True, kink=True),
        case(ZEROS[:2], PLACED, ZEROS[1:], axis=1, reduce="prod", include_self=True, kink=True)],
    "put": [case(real(2, 3), whole([4, 0], [1, 5]), real(4), accumulate=a) for a in (False, True)] + [
        case(real(2, 3), whole(4, 4), real(2), accumulate=True)],
    "select_scatter": [case(real(2, 3), real(2), axis=1, index=2)],
    "slice_scatter": [case(real(2, 5), real(2, 2), axis=1, start=1, stop=5, step=2)],
    "diagonal_scatter": [case(real(3, 4), real(3), offset=1, axis1=0, axis2=1), case(real(2, 3, 2), real(3, 2), offset=0, axis1=0, axis2=2)],
    "as_strided_scatter": [case(Constant(real(2, 3)), real(2, 2), **PUT_BACK), case(real(2, 3), real(2, 2), kink=True, **PUT_BACK)],
}

# Fourier transforms

DIVIDED = ("none", "root", "n")
SAMPLES |= {
    "fft_c2c": [case(imaginary(2, 3), axes=(1,), norm=norm, inverse=back) for norm in DIVIDED for back in (False, True)] + [
        case(imaginary(2, 3), axes=(0, 1), norm="none", inverse=False), case(imaginary(2), axes=(), norm="none", inverse=False)],
    "fft_r2c": [case(real(2, n), axes=axes, norm=norm, onesided=half) for n, axes, norm in ((4, (1,), "none"), (5, (1,), "root"), (4, (0, 1), "n"))
                for half in (False, True)],
    "fft_c2r": [case(imaginary(2, 3), axes=axes, norm=norm, size=n) for n, axes, norm in ((4, (1,), "none"), (5, (1,), "root"), (4, (0, 1), "n"))],
    "scale_inside": [case(imaginary(2, 3), axis=1, size=n, factor=0.5) for n in (4, 5)],
}

# bags of embeddings, and sequences of labels

BAGS = whole(1, 3, 1, 0, 2), whole(0, 0, 0, 2, 2)
BAG = {"bags": 3, "by_frequency": False}
SCORES = raw.log_softmax(real(4, 2, 3), axis=(2,))
SPELLED = {"steps": (4, 3), "lengths": (2, 1), "blank": 0, "zero_infinity": False}
WORDS = whole([1, 2], [2, 0])
SAMPLES |= {
    "embedding_bag": [
        *(case(real(4, 2), *BAGS, None, mode=mode, padding_idx=pad, second_fails=NotImplementedError, **BAG)
          for mode in ("sum", "mean", "max") for pad in (-1, 3)),
        case(real(4, 2), *BAGS, Constant(real(5)), mode="sum", padding_idx=3, second_fails=NotImplementedError, **BAG),
        case(Constant(real(4, 2)), *BAGS, real(5), mode="sum", padding_idx=3, second_fails=RuntimeError, **BAG),
        case(real(4, 2), *BAGS, None, mode="sum", padding_idx=-1, bags=3, by_frequency=True, second_fails=NotImplementedError, kink=True)],
    "embedding_bag_backward": [case(real(3, 2), *BAGS, None, whole(3, 0, 2), rows=4, mode="mean", padding_idx=-1, by_frequency=False,
                                    fails=NotImplementedError)],
    "embedding_bag_weights_backward": [case(real(3, 2), real(4, 2), *BAGS, padding_idx=-1, fails=RuntimeError)],
    "ctc_loss": [case(SCORES, WORDS, **SPELLED, second_fails=RuntimeError,
                      like=lambda x, labels: raw.ctc_loss(raw.log_softmax(x, axis=(2,)), labels, **SPELLED)[0])],
    "ctc_loss_backward": [case(real(2), SCORES, WORDS, *raw.ctc_loss(SCORES, WORDS, **SPELLED), **SPELLED, fails=RuntimeError)],
}

# images at another size or place


def scaled(mode: str, out: int, align_corners: bool = False, scale: float | None = None) -> tuple[Interpolated, Interpolated]:
    return Interpolated(3, 3, mode, align_corners, None, False), Interpolated(4, out, mode, align_corners, scale, False)


RESIZED = [*(scaled(mode, out) for mode in ("nearest", "nearest-exact", "linear", "cubic", "linear-aa", "cubic-aa") for out in (2, 7)),
           scaled("linear", 6, align_corners=True), scaled("cubic", 3, align_corners=True), scaled("linear", 5, scale=1.4)]
POINTS = real(1, 2, 2, 2, low=-1.3, high=1.3)
READING = [Sampling(mode, beyond, corners) for mode in ("bilinear", "nearest", "bicubic") for beyond in ("zeros", "border", "reflection")
           for corners in (False, True)]
SAMPLES |= {
    "upsample": [case(real(1, 2, 3, 4), axes=axes, kind="UpsampleBilinear2D") for axes in RESIZED],
    "upsample_backward": [case(real(1, 1, 3, axes[1].out), axes=axes, kind="UpsampleBilinear2D") for axes in RESIZED],
    "grid_sampler": [case(real(1, 2, 3, 4), POINTS, order=(0, 0), sampling=sampling) for sampling in READING] + [
        case(real(1, 1, 2, 3, 2), real(1, 1, 2, 1, 3, low=-0.9, high=0.9), order=(0, 0, 0), sampling=READING[0])],
    "grid_sampler_backward": [case(real(1, 1, 2, 2), POINTS, shape=(1, 1, 3, 4), order=(0, 0), sampling=sampling) for sampling in READING[::3]],
    "affine_grid": [case(real(2, 2, 3), size=(2, 3), align_corners=corners) for corners in (False, True)] + [
        case(real(1, 3, 4), size=(1, 2, 2), align_corners=False)],
    "affine_grid_backward": [case(real(2, 2, 3, 2), size=(2, 3), align_corners=corners) for corners in (False, True)],
    "im2col": [case(real(2, 1, 3, 4), kernel=(2, 2), window=window(2)), case(real(1, 2, 3, 4), kernel=(2, 1), window=window(2, 2, 1, 2))],
    "col2im": [case(real(1, 4, 6), size=(3, 4), kernel=(2, 2), window=window(2))],
    "pixel_shuffle": [case(real(1, 8, 2, 1), factor=2), case(real(4, 1, 2), factor=2)],
    "pixel_unshuffle": [case(real(1, 2, 4, 2), factor=2)],
    "channel_shuffle": [case(real(2, 6, 2), axis=1, groups=2), case(real(6), axis=0, groups=3)],
    "weight_norm_interface": [case(real(3, 2, 2), real(3, 1, 1), axis=0), case(real(3, 2), real(1, 2), axis=1)],
}
