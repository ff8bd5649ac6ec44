"""All kernels written by hand, each on a few calls, against the NumPy functions they stand for.

What is particular about one of them (sizes, threads, layouts, memory) is tried in the files beside this one.
"""

from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import NotDone, numpy_function, parts, refuse

from whygrad.kernels.gemm import there_are_products
from whygrad.kernels.pool import pool
from whygrad.kernels.registry import KERNELS, make
from whygrad.ops.conv import Window
from whygrad.ops.pool import Kind, Sliding
from whygrad.ops.resample import Interpolated, Sampling

rng = np.random.default_rng(0)


def normal(*shape):
    return np.asarray(rng.standard_normal(shape), "f4")


def odd_rows(rows, columns):
    x = normal(rows, columns)
    x[0] = -np.inf
    x[1, 0], x[2, 1 % columns], x[3, :2] = np.nan, np.inf, -np.inf
    return x




WEIGHT, BIAS = normal(48), normal(48)
IMAGES = normal(3, 5, 7, 9)
NLL = [(np.array([0, 4, 2, 3, 1, 1, 0]), None, -100), (np.array([0, 4, 2, 3, 1, 1, 0]), None, 2),
       (np.array([0, -100, 2, 3, 1, -100, 0]), None, -100), (np.array([0, 4, 2, 3, 1, 1, 0]), np.abs(normal(5)), -100)]
TABLE, PLACES = normal(100, 30), rng.integers(0, 100, 300)
GRID = rng.uniform(-1.2, 1.2, (3, 6, 11, 2)).astype("f4")
QUERY_KEY_VALUE = normal(2, 2, 40, 16), normal(2, 2, 50, 16), normal(2, 2, 50, 16)
SQUARE = Window((1, 1), (1, 1), (1, 1), 1)
POOL = Kind("MaxPool2DWithIndices", 2)
HALVES = Sliding(20, 2, 2, 0, 1, 10), Sliding(30, 2, 2, 0, 1, 15)
CALLS = {
    "softmax": [((normal(4, 33),), {"axis": (1,)}), ((normal(4, 33),), {"axis": (0,)}), ((odd_rows(6, 40),), {"axis": (1,)}),
                ((normal(2, 3, 1),), {"axis": (2,)}), ((np.zeros((0, 5), "f4"),), {"axis": (1,)}),
                ((normal(8, 9).T,), {"axis": (1,)})],
    "softmax_backward": [((normal(4, 33), normal(4, 33)), {"axis": (1,)}),
                         ((np.broadcast_to(np.float32(2), (4, 33)), normal(4, 33)), {"axis": (1,)})],
    "log_softmax": [((normal(4, 33) * 50,), {"axis": (1,)}), ((odd_rows(6, 40),), {"axis": (1,)})],
    "log_softmax_backward": [((normal(4, 33), -np.abs(normal(4, 33))), {"axis": (1,)})],
    "layer_norm": [((normal(4, 48), w, b), {"axis": (1,), "eps": 1e-5})
                   for w, b in ((WEIGHT, BIAS), (WEIGHT, None), (None, None))]
    + [((normal(2, 6, 8), WEIGHT.reshape(6, 8), BIAS.reshape(6, 8)), {"axis": (1, 2), "eps": 1e-3})],
    "layer_norm_input": [((normal(4, 48), normal(4, 48), w), {"axis": (1,), "eps": 1e-5}) for w in (WEIGHT, None)],
    "layer_norm_weight": [((normal(300, 48), normal(300, 48)), {"axis": (1,), "eps": 1e-5}),
                          ((normal(200, 1100), normal(200, 1100)), {"axis": (1,), "eps": 1e-5}),
                          ((normal(5, 6, 8), normal(5, 6, 8)), {"axis": (1, 2), "eps": 1e-5})],
    "layer_norm_backward": [((normal(rows, 48), normal(rows, 48), WEIGHT), {"axis": (1,), "eps": 1e-5}) for rows in (1, 4, 700)]
    + [((normal(40, columns), normal(40, columns), normal(columns)), {"axis": (1,), "eps": 1e-5}) for columns in (1, 7, 130, 333)]
    + [((normal(5, 6, 8), normal(5, 6, 8), WEIGHT.reshape(6, 8)), {"axis": (1, 2), "eps": 1e-5}),
       ((np.broadcast_to(np.float32(2), (9, 48)), normal(9, 48), WEIGHT), {"axis": (1,), "eps": 1e-5}),
       ((normal(48, 9).T, normal(48, 9).T, WEIGHT), {"axis": (1,), "eps": 1e-5}),
       ((np.zeros((0, 48), "f4"), np.zeros((0, 48), "f4"), WEIGHT), {"axis": (1,), "eps": 1e-5})],
    "linear_backward": [((normal(*rows, 30), normal(*rows, 20), normal(30, 20)), {"bias_shape": (30,)})
                        for rows in ((4,), (700,), (3, 5), (2, 3, 100))]
    + [((normal(9, 30), normal(9, 20), normal(30, 20)), {"bias_shape": shape}) for shape in ((1,), (), (9, 30), (9, 1))]
    + [((normal(30, 90).T, normal(20, 90).T, normal(20, 30).T), {"bias_shape": (30,)}),
       ((np.broadcast_to(np.float32(2), (9, 30)), normal(9, 20), normal(30, 20)), {"bias_shape": (30,)}),
       ((normal(9, 1), normal(9, 20), normal(1, 20)), {"bias_shape": (1,)}),
       ((np.zeros((0, 30), "f4"), np.zeros((0, 20), "f4"), normal(30, 20)), {"bias_shape": (30,)})],
    "standardized": [((normal(4, 48),), {"axis": (1,), "eps": 1e-5}), ((normal(3, 2, 33),), {"axis": (2,), "eps": 1e-3}),
                     ((normal(3, 6, 7),), {"axis": (1, 2), "eps": 1e-5}), ((normal(3, 6, 7),), {"axis": (0, 2), "eps": 1e-5})],
    "standardized_backward": [((normal(3, 2, 33), normal(3, 2, 33)), {"axis": (2,), "eps": 1e-3}),
                              ((normal(3, 6, 7), normal(3, 6, 7)), {"axis": (0, 2), "eps": 1e-5})],
    "channel_moments": [((IMAGES,), {}), ((normal(3, 5),), {})],
    "batch_norm": [((IMAGES, normal(5), normal(5), np.ones(5, "f4"), np.abs(normal(5))), {"eps": 1e-5}),
                   ((IMAGES, None, None, normal(5), np.abs(normal(5))), {"eps": 1e-5}),
                   ((normal(6, 5), normal(5), normal(5), np.ones(5, "f4"), np.abs(normal(5))), {"eps": 1e-5})],
    "batch_norm_input": [((normal(3, 5, 7, 9), IMAGES, w), {"eps": 1e-5}) for w in (normal(5), None)],
    "batch_norm_weight": [((normal(3, 5, 7, 9), IMAGES), {"eps": 1e-5})],
    "sum": [((normal(200, 90),), {"axis": axis, "keepdims": keep})
            for axis in (None, (0,), (1,), (0, 1)) for keep in (False, True)]
    + [((normal(40, 30, 20),), {"axis": axis, "keepdims": keep})
       for axis in ((0, 2), (1, 2), (0, 1), (2,), (1,), (), None) for keep in (False, True)]
    + [((normal(*shape),), {"axis": axis}) for shape in ((3, 4), (1000, 10), (129, 1041), (5, 70000), (300, 400))
       for axis in ((0,), (1,))]
    + [((x,), {"axis": axis}) for x in (np.zeros((0, 5), "f4"), np.zeros((5, 0), "f4"), normal(90, 200).T)
       for axis in (None, (0,), (1,))],
    **{name: [((x,), {"axis": axis, "keepdims": keep}) for x in (normal(200, 90), odd_rows(100, 90)) for keep in (False, True)
              for axis in (None, (0,), (1,), (0, 1))]
       + [((normal(40, 30, 20),), {"axis": axis}) for axis in ((0, 2), (1, 2), (0, 1))]
       for name in ("prod", "amax", "amin", "max", "min")},
    "cat": [((normal(4, a, 5), normal(4, b, 5), normal(4, a, 5)), {"axis": 1}) for a, b in ((1, 3), (0, 2), (700, 900))]
    + [(tuple(normal(300, 80).astype(dtype) for _ in range(count)), {"axis": axis})
       for dtype, count, axis in (("f4", 2, 0), ("f4", 3, 1), ("f8", 2, 1), ("i8", 2, 0), ("?", 2, 0), ("f4", 70, 1),
                                  ("f4", 1, 0))]
    + [((normal(80, 300).T, normal(300, 80)), {"axis": 0}), ((normal(50), np.zeros(0, "f4")), {"axis": 0})],
    "stack": [((normal(*shape), normal(*shape), normal(*shape)), {"axis": axis})
              for shape in ((4, 5), (300, 80), (0, 3), ()) for axis in range(len(shape) + 1)],
    "clone": [((x,), {"order": order}) for order in "KC" for x in (
        normal(3, 4), normal(300, 200), normal(200, 300).T, normal(), normal(70, 90)[::2, 1:].T, normal(90, 70)[:, ::-1].T,
        normal(4, 17, 19, 33).transpose(0, 3, 1, 2), normal(4, 33, 17, 19).transpose(0, 2, 3, 1),
        normal(5, 6, 70, 8).swapaxes(1, 2),
        normal(3, 40, 50).transpose(2, 0, 1), normal(3, 40, 50).transpose(2, 1, 0), normal(5000, 2).T,
        np.broadcast_to(normal(60, 1), (3, 60, 50)))],
    "mean": [((x,), {"axis": axis}) for x in (normal(200, 90), normal(3, 4)) for axis in (None, (0,), (1,))],
    **{name: [((x,), {}) for x in (normal(200, 91), normal(7), normal(90, 200).T, normal(3, 4).astype("f8"))]
       for name in ("sum_all", "mean_all")},
    "sum_to": [((normal(200, 90),), {"shape": shape}) for shape in ((90,), (200, 90), (200, 1), (1, 1), (1,), ())]
    + [((normal(20, 30, 40),), {"shape": shape}) for shape in ((40,), (1, 1, 40), (30, 1), (20, 1, 40))],
    "vector_norm": [((x,), {"ord": ord}) for x in (normal(100, 100), normal(9000), normal(3, 4), odd_rows(100, 100),
                                                   normal(200, 200)[::2]) for ord in (2, 1)]
    + [((normal(100, 10, 10),), {"ord": 2, "axis": (2,), "keepdims": keep}) for keep in (False, True)]
    + [((odd_rows(100, 100),), {"ord": 2, "axis": (1,)}), ((normal(100, 100),), {"ord": 2, "axis": (0,)}),
       ((normal(100, 100),), {"ord": 2, "axis": (0, 1), "keepdims": True})],
    **{name: [((normal(2, 3, *[axis[of] for axis in sizes]),), {"kind": "", "axes": tuple(
                   Interpolated(*axis, mode, False, None, True) for axis in sizes)})
              for mode in ("linear", "nearest", "cubic", "linear-aa") for sizes in (
                  ((9, 20), (11, 17)), ((40, 13), (50, 21)), ((100, 201),), ((5, 9), (6, 6), (7, 20)))]
       for name, of in (("upsample", 0), ("upsample_backward", 1))},
    "nll_loss": [((normal(7, 5), target, weight), {"ignore_index": ignored, "reduction": reduction, "spatial": False})
                 for target, weight, ignored in NLL for reduction in ("mean", "sum", "none")]
    + [((normal(0, 5), np.zeros(0, "i8"), None), {"ignore_index": -100, "reduction": "mean", "spatial": False})],
    "nll_loss_backward": [((normal() if reduction != "none" else normal(7), target, weight),
                           {"shape": (7, 5), "ignore_index": ignored, "reduction": reduction, "spatial": False})
                          for target, weight, ignored in NLL for reduction in ("mean", "sum", "none")],
    "mkldnn_rnn_layer": [((normal(6, 3, 4 * size), normal(3, 2 * size), normal(4 * size, size), normal(4 * size)),
                          {"cell": "lstm", "sizes": (), "reverse": reverse, "biases": 1})
                         for size in (5, 16) for reverse in (False, True)],
    "recurrent_layer_backward": [((normal(6, 3, size), normal(3, 2 * size), normal(4 * size, size),
                                   rng.uniform(0.1, 0.9, (18, 5 * size)).astype("f4"), normal(18, 2 * size)),
                                  {"cell": "lstm", "reverse": reverse}) for size in (5, 16) for reverse in (False, True)],
    "recurrent_layer": [((normal(6, 3, gates * 16), normal(3, states * 16), normal(gates * 16, 16), normal(gates * 16)),
                         {"cell": cell, "sizes": None, "reverse": reverse, "biases": 1})
                        for cell, gates, states in (("lstm", 4, 2), ("rnn_tanh", 1, 1)) for reverse in (False, True)],
    "gather": [((TABLE, rng.integers(0, 100, (300, 30))), {"axis": 0}), ((TABLE, rng.integers(0, 30, (100, 70))), {"axis": 1})],
    "index": [((TABLE, PLACES), {"axes": (0,)})],
    "index_backward": [((normal(300, 30), PLACES), {"shape": (100, 30), "axes": (0,)})],
    "index_select": [((TABLE, PLACES), {"axis": 0})],
    "index_select_backward": [((normal(300, 30), PLACES), {"shape": (100, 30), "axis": 0})],
    "embedding": [((TABLE, PLACES), {"padding_idx": -1, "by_frequency": False})],
    "embedding_backward": [((normal(300, 30), PLACES), {"rows": 100, "padding_idx": padding, "by_frequency": False})
                           for padding in (-1, int(PLACES[0]))],
    "topk": [((normal(200, 90),), {"k": 5, "axis": axis, "largest": largest}) for axis in (0, 1) for largest in (True, False)],
    "grid_sampler": [((IMAGES, GRID), {"order": order, "sampling": Sampling("bilinear", "zeros", False)})
                     for order in ((0, 0), (1, 0), (0, 1))],
    "grid_sampler_backward": [((normal(3, 5, 6, 11), GRID), {"shape": IMAGES.shape, "order": order,
                                                             "sampling": Sampling("bilinear", "border", True)})
                              for order in ((0, 0), (1, 0), (0, 1))],
    **{name: [((normal(90, 130),), {"axis": axis}) for axis in (0, 1)] for name in ("cummax", "cummin", "cumprod")},
    **{name: [((normal(90, 130),), {"axis": axis, "reverse": reverse}) for axis in (0, 1) for reverse in (False, True)]
       for name in ("cumsum", "product_before")},
    "scan": [((normal(90, 130) * np.float32(0.6), normal(90, 130)), {"axis": axis, "reverse": reverse})
             for axis in (0, 1) for reverse in (False, True)],
    "scaled_dot_product_flash_attention_for_cpu": [(QUERY_KEY_VALUE, {"scale": 0.3, "causal": causal})
                                                   for causal in (False, True)],
    "scaled_dot_product_flash_attention_for_cpu_backward": [
        ((normal(2, 2, 40, 16), *QUERY_KEY_VALUE, *numpy_function("scaled_dot_product_flash_attention_for_cpu")(
            *QUERY_KEY_VALUE, scale=0.3, causal=causal)), {"scale": 0.3, "causal": causal}) for causal in (False, True)],
    **{name: [((normal(*a), normal(*b)), {})] for name, a, b in (
        ("mm", (90, 130), (130, 70)), ("bmm", (5, 90, 130), (5, 130, 70)), ("matmul", (3, 90, 130), (130, 70)),
        ("matmul_folded", (3, 90, 130), (130, 70)))},
    **{name: [((normal(3, 90, 130), normal(70, 130), bias), {}) for bias in (normal(70), None)]
       for name in ("linear", "linear_folded")},
    "addmm": [((normal(90, 70), normal(90, 130), normal(130, 70)), {"beta": 1, "alpha": 1})],
    "contract": [((normal(3, 40, 160, 20), normal(3, 160, 50, 20)),
                  {"a_labels": (0, 1, 2, 3), "b_labels": (0, 2, 4, 3), "out_labels": (0, 1, 4)})],
    "convolution": [((normal(4, 8, 20, 20), normal(16, 8, 3, 3), bias), {"window": SQUARE}) for bias in (normal(16), None)],
    "convolution_transpose": [((normal(4, 16, 20, 20), normal(16, 8, 3, 3), None), {"size": (20, 20), "window": SQUARE})],
    "convolution_weight": [((normal(4, 16, 20, 20), normal(4, 8, 20, 20)), {"size": (3, 3), "window": SQUARE})],
    "avg_pool": [((normal(3, 5, 20, 30),), {"axes": HALVES, "count_pad": True, "divisor": None, "kind": POOL})],
    "avg_pool_backward": [((normal(3, 5, 10, 15),), {"axes": HALVES, "count_pad": True, "divisor": None, "kind": POOL})],
    "max_pool": [((normal(3, 5, 20, 30),), {"axes": HALVES, "kind": POOL})],
    "max_pool_values": [((normal(3, 5, 20, 30),), {"axes": HALVES})],
    "pool_scatter": [((normal(3, 5, 10, 15), numpy_function("max_pool")(normal(3, 5, 20, 30), axes=HALVES, kind=POOL)[1]),
                      {"shape": (3, 5, 20, 30), "kind": POOL})],
}
CASES = [(name, i) for name in CALLS for i in range(len(CALLS[name]))]


def test_every_kernel_is_tried():
    assert set(CALLS) == set(KERNELS)


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "contract"])  # NumPy's function with another product
def test_some_call_is_not_left_to_numpy(name):
    if KERNELS[name] == "gemm" and not there_are_products():
        pytest.skip("no kernels for products on this processor")
    kernel = make(name, refuse)

    def is_done(args, statics):
        try:
            kernel(*args, **statics)
        except NotDone:
            return False
        return True

    assert any(is_done(*call) for call in CALLS[name])


def assert_near(found, expected):
    """Relative to the number itself, or to the largest, as sums have it in which others cancel."""
    finite = np.abs(expected[np.isfinite(expected)]) if expected.dtype.kind == "f" else np.zeros(0)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6 * finite.max(initial=0))


@pytest.mark.parametrize(("name", "number"), CASES)
def test_same_as_numpy(name, number):
    args, statics = CALLS[name][number]
    copies = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
    numpy = numpy_function(name)
    kernel = make(name, numpy)
    with np.errstate(all="ignore"):
        theirs = parts(numpy(*args, **statics))
    before = pool().threads()
    answers = []
    try:
        for threads in (1, 2):
            pool().set_threads(threads)
            answers.append(parts(kernel(*args, **statics)))
    finally:
        pool().set_threads(before)
    for one, two, expected in zip(*answers, theirs, strict=True):
        assert np.shape(one) == np.shape(expected)
        assert np.asarray(one).dtype == np.asarray(expected).dtype
        assert_near(one, np.asarray(expected))
        np.testing.assert_array_equal(one, two, err_msg="depends on the number of threads")
    for x, copy in zip(args, copies, strict=True):
        if isinstance(x, np.ndarray):
            np.testing.assert_array_equal(x, copy, err_msg="an argument was changed")


def unaligned(x):
    memory = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    memory[...] = x
    return memory


@pytest.mark.parametrize("name", CALLS)
def test_unaligned_arrays(name):
    numpy = numpy_function(name)
    kernel = make(name, numpy)
    for args, statics in CALLS[name]:
        odd = [unaligned(x) if isinstance(x, np.ndarray) else x for x in args]
        with np.errstate(all="ignore"):
            expected = parts(numpy(*args, **statics))
        for one, other in zip(parts(kernel(*odd, **statics)), expected, strict=True):
            assert_near(one, np.asarray(other))


@pytest.mark.parametrize("name", ["softmax", "sum"])
def test_float64_is_left_to_numpy(name):
    x = rng.standard_normal((100, 100))
    assert make(name, lambda *args, **statics: "numpy")(x, axis=(1,)) == "numpy"
