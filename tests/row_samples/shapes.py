"""Shapes, and positions that are data."""

from __future__ import annotations

import numpy as np
from row_checks import Constant

from row_samples.making import Samples, case, imaginary, mask, real, some, unary, whole

SAMPLES: dict[str, Samples] = {}

# shapes

PLAIN, TRANSPOSED = ((2, 3), (3, 1), 0), ((2, 2), (1, 2), 1)
WINDOWS = ((3, 2), (1, 1), 0)
REFLECTED = ((1, whole(1, 0, 1, 2, 1)),)
IMAGE = ((2, whole(0, 0, 1, 1)), (3, whole(2, 0, 1, 2, 0)))
SAMPLES |= {
    "alias": unary(),
    "view": [case(real(2, 3), shape=(3, 2)), case(real(2, 1), shape=(2,)), case(real(), shape=(1, 1)),
             case(real(0, 3), shape=(3, 0))],
    "reshape_alias": [case(real(2, 3).T, shape=(3, 1, 2)), case(real(2, 3).T, shape=(3, 2, 1))],
    "reshape": [case(real(2, 3), shape=(3, 2)), case(real(2, 3).T, shape=(6,)), case(real(), shape=(1,))],
    "conj_view": [case(imaginary(2, 3)), case(imaginary())],
    "neg_view": [*unary(), case(imaginary(2, 3))],
    "view_as_real": [case(imaginary(2, 3)), case(imaginary())],
    "view_as_complex": [case(real(3, 2)), case(real(2))],
    "clone": [*unary(order="K"), case(real(2, 3).T, order="C"), case(real(2, 2, 1, 2), order="channels last"),
              case(np.broadcast_to(real(3), (2, 3)), order="K"), case(imaginary(2))],
    "expand": [case(real(3), shape=(2, 3)), case(real(2, 1), shape=(2, 3)), case(real(), shape=(2, 2)),
               case(real(3), shape=(1, 3)),
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
    "unfold": [case(real(5), axis=0, size=3, step=1), case(real(2, 5), axis=1, size=2, step=3),
               case(real(), axis=0, size=1, step=1)],
    "unfold_backward": [case(real(3, 3), shape=(5,), axis=0, size=3, step=1),
                        case(real(2, 2, 2), shape=(2, 5), axis=1, size=2, step=3)],
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
    "repeat": [case(real(2, 3), repeats=(2, 1)), case(real(3), repeats=(2, 2)), case(real(), repeats=()),
               case(real(2), repeats=(0,))],
    "flip": [case(real(2, 3), axes=(1,)), case(real(2, 3), axes=(0, 1)), case(real(), axes=())],
    "roll": [case(real(2, 3), shifts=(1,), axes=None), case(real(2, 3), shifts=(1, -2), axes=(0, 1))],
    "rot90": [case(real(2, 3), k=k, axes=(0, 1)) for k in (0, 1, 2, 3)] + [case(real(2, 3, 2), k=1, axes=(2, 1))],
    "tril": [case(real(3, 4), diagonal=k) for k in (0, 1, -1)] + [case(real(2, 2, 2), diagonal=0)],
    "triu": [case(real(3, 4), diagonal=k) for k in (0, 1, -1)] + [case(real(2, 2, 2), diagonal=0)],
    "constant_pad": [case(real(2, 3), pads=((1, 0), (-1, 2)), value=7.0), case(real(3), pads=((-1, -1),), value=0)],
    "mirror_pad": [case(real(2, 3), sources=REFLECTED, mode="Reflection"),
                   case(real(1, 1, 2, 3), sources=IMAGE, mode="circular")],
    "mirror_pad_backward": [case(real(2, 5), shape=(2, 3), sources=REFLECTED),
                            case(real(1, 1, 4, 5), shape=(1, 1, 2, 3), sources=IMAGE)],
}

# positions that are data

GRID = whole([0, 1, 1], [2, 0, 2])
SAMPLES |= {
    "index": [case(real(2, 3), GRID, axes=(0, 1)), case(real(3, 2), whole(2, 0, 2), axes=(0,)),
              case(real(2, 3), whole([2], [2]), axes=(1,)),
              case(real(2, 3), whole(5, 1), axes=(0, 1)), case(real(2, 2, 3), GRID, axes=(0, 2))],
    "index_backward": [case(real(3), GRID, shape=(2, 3), axes=(0, 1)),
                       case(real(3, 2), whole(2, 0, 2), shape=(3, 2), axes=(0,)),
                       case(real(2), whole(5, 1), shape=(2, 3), axes=(0, 1)),
                       case(real(3, 2), GRID, shape=(2, 2, 3), axes=(0, 2))],
    "index_put": [case(real(2, 3), real(3), GRID, axes=(0, 1), accumulate=a) for a in (False, True)] + [
        case(real(3, 2), real(), whole(2, 0), axes=(0,), accumulate=False),
        case(real(3, 2), 1.5, whole(2, 2), axes=(0,), accumulate=True),
        case(real(2, 3), real(2), whole(5, 1), axes=(0, 1), accumulate=False),
        case(real(3), real(2), whole(1, 1), axes=(0,), accumulate=True)],
    "gather": [case(real(2, 3), whole([0, 2, 0, 1], [1, 1, 2, 0]), axis=1), case(real(), whole(0, 0)[0], axis=0),
               case(real(2, 3), np.zeros((0, 3), int), axis=0)],
    "gather_backward": [case(real(2, 4), whole([0, 2, 0, 1], [1, 1, 2, 0]), shape=(2, 3), axis=1)],
    "scatter": [case(real(2, 3), whole([0, 2], [2, 1]), real(2, 2), axis=1, reduce=None),
                case(real(2, 3), whole([0, 2], [2, 1]), 1.5, axis=1, reduce=None),
                case(real(2, 3), whole([0, 2]), real(1, 2), axis=1, reduce="add", fails=RuntimeError),
                case(real(2, 3), whole([0, 2]), real(1, 2), axis=1, reduce="multiply", fails=RuntimeError)],
    "scatter_add": [case(real(2, 3), whole([0, 0], [2, 1]), real(2, 2), axis=1),
                    case(real(), np.array(0), real(seed=1), axis=0)],
    "index_select": [case(real(2, 3), whole(2, 0, 2), axis=1), case(real(3), np.array(1), axis=0),
                     case(real(), whole(0), axis=0)],
    "index_select_backward": [case(real(2, 3), whole(2, 0, 2), shape=(2, 3), axis=1)],
    "index_add": [case(real(2, 3), whole(2, 0, 2), real(2, 3, seed=1), axis=1, alpha=1.5),
                  case(real(3), whole(1, 1), real(2), axis=0),
                  case(real(), whole(0), real(seed=1), axis=0)],
    "index_copy": [case(real(2, 3), whole(2, 0), real(2, 2), axis=1), case(real(), np.array(0), real(seed=1), axis=0)],
    "index_fill": [case(real(2, 3), whole(2, 0), real(), axis=1), case(real(2, 3), whole(1, 1), 1.5, axis=0)],
    "masked_fill": [case(real(2, 3), mask(1, 0, 1), real()), case(real(2, 3), mask([1, 0, 1], [0, 0, 0]), 1.5)],
    "masked_select": [case(real(2, 3), mask([1, 0, 1], [0, 1, 0])), case(real(2, 3), mask([1], [0])),
                      case(real(2), mask(0, 0))],
    "masked_select_backward": [case(real(3), mask([1, 0, 1], [0, 1, 0]), shape=(2, 3))],
    "masked_scatter": [case(real(2, 3), mask([1, 0, 1], [0, 1, 0]), real(2, 2)),
                       case(real(2, 3), mask(1, 0, 0), real(2))],
    "masked_scatter_backward": [case(real(2, 3), mask([1, 0, 1], [0, 1, 0]), shape=(2, 2))],
    "masked_place": [case(real(2, 2), mask([1, 0, 1], [0, 1, 0]), shape=(2, 3))],
    "take": [case(real(2, 3), whole([5, 0], [0, 2]))],
    "take_backward": [case(real(2, 2), whole([5, 0], [0, 2]), shape=(2, 3))],
    "nonzero": [case(some([0.0, 1.0], [2.0, 0.0])), case(np.array(3.0)), case(some(0.0))],
}
