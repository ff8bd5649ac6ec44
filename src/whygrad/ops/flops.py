"""The floating-point operations of the rows that are products of matrices: a multiplication and an addition for each term.

Other rows are not counted, as in torch.utils.flop_counter.
"""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

Shape = tuple[int, ...]


class Flops(NamedTuple):
    # torch's name of the op that it counts.
    aten: str
    # (shapes of the arguments, shape of the result, statics) -> number
    number: Callable[[list[Shape], Shape, dict[str, Any]], int]


def _product(shapes, out, statics):
    return 2 * prod(out) * shapes[-2][-1]


def _layer(shapes, out, statics):
    return 2 * prod(out) * shapes[0][-1]


def _contraction(shapes, out, statics):
    lengths = dict(zip(statics["a_labels"], shapes[0], strict=True))
    return 2 * prod(out) * prod([n for label, n in lengths.items() if label not in statics["out_labels"]])


def _windows(shapes, out, statics):
    return 2 * out[0] * prod(out[2:]) * prod(shapes[1])


def _windows_back(shapes, out, statics):
    return 2 * shapes[0][0] * prod(shapes[0][2:]) * prod(shapes[1])


def _weights_of_windows(shapes, out, statics):
    """torch does not divide by the number of groups here."""
    return 2 * shapes[1][1] * prod(out[2:]) * prod(shapes[0])


FLOPS = {
    "mm": Flops("mm", _product), "bmm": Flops("bmm", _product), "matmul": Flops("bmm", _product),
    "matmul_folded": Flops("mm", _product), "addmm": Flops("addmm", _product), "baddbmm": Flops("baddbmm", _product),
    "linear": Flops("addmm", _layer), "linear_folded": Flops("addmm", _layer), "contract": Flops("bmm", _contraction),
    "convolution": Flops("convolution", _windows), "convolution_transpose": Flops("convolution", _windows_back),
    "convolution_input": Flops("convolution_backward", _windows_back),
    "convolution_weight": Flops("convolution_backward", _weights_of_windows),
}
