"""The text of a tensor against PyTorch's own, character for character."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whygrad.base import printing
from whygrad.base.printing import format_tensor

torch: Any = pytest.importorskip("torch")
ml_dtypes: Any = pytest.importorskip("ml_dtypes")

FLOATS = ("float16", "float32", "float64", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOAT8 = ("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz")
DTYPES = (*FLOATS, *COMPLEX, *INTEGERS, "bool", *FLOAT8)


class VeryLongNamedTensor(torch.Tensor):  # type: ignore[misc]
    """A subclass is printed under its own name, which moves every following line to the right."""


@pytest.fixture(autouse=True)
def restored_state() -> Iterator[None]:
    yield
    printing.set_printoptions(profile="default")
    torch.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)


def make(data: Any, dtype: str) -> np.ndarray:
    values: np.ndarray = np.asarray(data)
    if dtype not in COMPLEX:
        values = values.real
    with np.errstate(all="ignore"):
        return values.astype(getattr(ml_dtypes, dtype, dtype))


def to_torch(array: np.ndarray) -> Any:
    name = array.dtype.name
    if not hasattr(ml_dtypes, name):
        return torch.from_numpy(array)
    bits = np.ascontiguousarray(array).view(f"uint{8 * array.itemsize}").reshape(array.shape)
    return torch.from_numpy(bits).view(getattr(torch, name))


def both(array: np.ndarray, **options: Any) -> tuple[str, str]:
    with printing.printoptions(**options), torch._tensor_str.printoptions(**options):
        return format_tensor(array, dtype_name=array.dtype.name), repr(to_torch(array))


def check(array: np.ndarray, **options: Any) -> None:
    ours, theirs = both(array, **options)
    assert ours == theirs


VALUES: dict[str, Any] = {
    "scalar": 3.25,
    "scalar whole": 3.0,
    "scalar zero": 0.0,
    "scalar nan": math.nan,
    "scalar huge": 1e30,
    "scalar tiny": -1e-12,
    "scalar complex": 1 - 2j,
    "whole": [1.0, -2.0, 30.0],
    "whole with nonfinite": [1.0, math.nan, -math.inf, 100.0],
    "only nonfinite": [math.nan] * 40 + [math.inf, -math.inf],
    "zeros": [0.0, -0.0],
    "fractions": [0.1, -2.5, 100.0, math.nan],
    "ratio just below scientific": [0.5, 500.0],
    "ratio just above scientific": [0.5, 500.5],
    "largest plain": [1e8],
    "smallest scientific whole": [1e8 + 8],
    "smallest plain": [1e-4, 1e-4],
    "largest scientific": [9.9e-5],
    "three-digit exponents": [1e-300, 0.0, -1e300, math.nan, math.inf],
    "subnormal": [5e-324, 1e308],
    "rounds up": [0.99996, 9.99995, 0.00005],
    "fractions that print as whole": [1.00001, 2.00001],
    "complex": [[1 + 2j, -1.5 - 0.25j], [complex(math.nan, math.inf), complex(0.0, -0.0)]],
    "complex scientific parts": [1e-9 + 1j, 1 - 1e20j],
    "matrix": np.arange(12).reshape(3, 4) - 5,
    "cube": np.arange(24).reshape(2, 3, 4) * 0.25,
    "four dims": np.arange(48).reshape(2, 2, 3, 4) * 1.5,
    "five dims": np.arange(32).reshape(2, 2, 2, 2, 2),
    "wrapped": np.arange(100) * 1.25,
    "wrapped matrix": np.arange(120).reshape(3, 40),
    "column": np.arange(5).reshape(5, 1),
    "transposed": np.arange(12).reshape(3, 4).T,
    "empty": [],
    "empty matrix": np.empty((0, 3)),
    "empty inside": np.empty((2, 0, 3)),
    "at the threshold": np.arange(1000),
    "summary": np.arange(1001),
    "summary of matrix": np.arange(5000).reshape(50, 100) / 8,
    "summary of short axes": np.arange(1200).reshape(2, 3, 200),
    "summary of long first axis": np.arange(2000).reshape(1000, 2),
    "summary hides the wide values": np.where(np.arange(2000) == 1000, 1e30, 1.0),
    "summary in four dims": np.arange(10000).reshape(10, 10, 10, 10),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", VALUES)
def test_table(name: str, dtype: str) -> None:
    check(make(VALUES[name], dtype))


OPTIONS: list[dict[str, Any]] = [
    {"precision": 0},
    {"precision": 10},
    {"threshold": 0},
    {"threshold": math.inf},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 0},
    {"edgeitems": 0},
    {"edgeitems": 600},
    {"linewidth": 1},
    {"linewidth": 40},
    {"linewidth": 200},
    {"sci_mode": True},
    {"sci_mode": False},
    {"sci_mode": True, "precision": 1},
    {"profile": "short"},
    {"profile": "full"},
    {"profile": "short", "precision": 3},
    {"profile": "unknown"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", VALUES)
def test_options(name: str, options: dict[str, Any]) -> None:
    for dtype in ("float32", "bfloat16", "complex128", "int64", "uint8", "bool"):
        check(make(VALUES[name], dtype), **options)


def test_goldens() -> None:
    """A few by hand, so that the file can be read without PyTorch at hand."""

    def text(values: Any, dtype: str = "float32", *suffixes: str) -> str:
        return format_tensor(np.asarray(values, dtype), dtype_name=dtype, suffixes=suffixes)

    assert text([1.0, 2.0]) == "tensor([1., 2.])"
    assert text([0.5, 1e-5]) == "tensor([5.0000e-01, 1.0000e-05])"
    assert text(7, "int32") == "tensor(7, dtype=torch.int32)"
    assert text(np.empty((0, 3))) == "tensor([], size=(0, 3))"
    assert text([], "int64") == "tensor([], dtype=torch.int64)"
    assert text([True, False], "bool") == "tensor([ True, False])"
    assert text([1 - 0.5j], "complex64") == "tensor([1.-0.5000j])"
    assert text([[1, 2], [3, 4]], "float64", "requires_grad=True") == (
        "tensor([[1., 2.],\n        [3., 4.]], dtype=torch.float64, requires_grad=True)"
    )
    assert text(range(1001), "int64") == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"


@pytest.mark.parametrize("default", FLOATS)
def test_default_dtype_decides_what_is_said(default: str) -> None:
    torch.set_default_dtype(getattr(torch, default))
    names = (default, "complex128" if default == "float64" else "complex64", "int64")
    for dtype in DTYPES:
        for values in (np.ones(2), np.ones(()), np.ones((0,)), np.ones((0, 2))):
            array = make(values, dtype)
            assert format_tensor(array, dtype_name=dtype, default_dtype_names=names) == repr(to_torch(array))


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
def test_suffixes_wrap_at_every_length(dtype: str) -> None:
    for count in range(45):
        array = make(np.arange(count), dtype)
        leaf = to_torch(array).requires_grad_()
        inner = leaf * 1
        long = leaf.clone().as_strided(leaf.shape, leaf.stride())
        parameter = torch.nn.Parameter(leaf.detach())
        for tensor, suffix, prefix in (
            (leaf, "requires_grad=True", "tensor("),
            (inner, "grad_fn=<MulBackward0>", "tensor("),
            (long, "grad_fn=<AsStridedBackward0>", "tensor("),
            (leaf.as_subclass(VeryLongNamedTensor), "grad_fn=<AliasBackward0>", "VeryLongNamedTensor("),
            (parameter, "requires_grad=True", "Parameter containing:\ntensor("),
        ):
            assert format_tensor(array, dtype_name=dtype, suffixes=[suffix], prefix=prefix) == repr(tensor)


@pytest.mark.parametrize("linewidth", range(20, 100, 3))
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_several_suffixes(linewidth: int) -> None:
    array = np.arange(6.0).reshape(2, 3)
    with torch.autograd.forward_ad.dual_level():
        leaf = torch.from_numpy(array).requires_grad_()
        dual = torch.autograd.forward_ad.make_dual(leaf, torch.tensor(array))
        with printing.printoptions(linewidth=linewidth), torch._tensor_str.printoptions(linewidth=linewidth):
            suffixes = [f"grad_fn=<{type(dual.grad_fn).__name__}>", f"tangent={torch.tensor(array)}"]
            assert format_tensor(array, dtype_name="float64", suffixes=suffixes) == repr(dual)


@pytest.mark.parametrize("count", [1, 20, 50, 2000])
def test_indent_places_the_text_in_a_column(count: int) -> None:
    """A sparse tensor prints its parts as tensors inside a tensor."""
    dense = torch.arange(1.0, count + 1) / 4
    sparse = dense.to_sparse()
    opening = "tensor("
    for part, array in (("indices", sparse.indices().numpy()), ("values", sparse.values().numpy())):
        text = format_tensor(
            array, dtype_name=array.dtype.name, prefix=f"{part}=tensor(", indent=len(opening)
        )
        assert text in repr(sparse)


def test_indent_counts_for_suffixes() -> None:
    def text(indent: int) -> str:
        return format_tensor(np.arange(3), dtype_name="int64", suffixes=["grad_fn=<X>"], indent=indent)

    assert text(49) == "tensor([0, 1, 2], grad_fn=<X>)"
    assert text(50) == "tensor([0, 1, 2],\n" + " " * 57 + "grad_fn=<X>)"
    assert text(66) == "tensor([0, 1,\n" + " " * 74 + "2],\n" + " " * 73 + "grad_fn=<X>)"


def test_set_and_get_printoptions_follow_torch() -> None:
    calls: list[dict[str, Any]] = [*OPTIONS, {}, {"linewidth": 100, "sci_mode": True}, {"precision": 6}]
    for options in calls:
        printing.set_printoptions(**options)
        torch.set_printoptions(**options)
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()


def test_printoptions_restores_even_after_an_error() -> None:
    printing.set_printoptions(precision=7, sci_mode=False)
    before = printing.get_printoptions()
    with printing.printoptions(profile="full", precision=2):
        assert printing.get_printoptions()["threshold"] == math.inf
        assert printing.get_printoptions()["sci_mode"] is None
    assert printing.get_printoptions() == before
    with pytest.raises(ZeroDivisionError), printing.printoptions(precision=2):
        raise ZeroDivisionError
    assert printing.get_printoptions() == before
    with pytest.raises(TypeError, match="digits"), printing.printoptions(digits=2):
        pass
    assert printing.get_printoptions() == before


def test_the_array_is_left_alone() -> None:
    array = np.arange(3000.0).reshape(30, 100)
    array.flags.writeable = False
    format_tensor(array, dtype_name="float64")
    assert np.array_equal(array, np.arange(3000.0).reshape(30, 100))


def test_a_stand_in_array_prints_like_the_dtype_it_stands_for() -> None:
    values = make([1.5, 1e20, math.nan], "bfloat16")
    assert format_tensor(values.astype(np.float32), dtype_name="bfloat16") == repr(to_torch(values))


def exponent_floats(lowest: int, highest: int) -> st.SearchStrategy[float]:
    mantissa = st.floats(-10, 10, allow_nan=False)
    return st.builds(lambda m, e: m * 10.0**e, mantissa, st.integers(lowest, highest))


# Each array draws from one family: mixed, the extreme values would nearly always force scientific notation.
FAMILIES: list[st.SearchStrategy[float]] = [
    st.floats(),
    exponent_floats(-1, 1),
    exponent_floats(-9, 9),
    exponent_floats(-300, 300),
    st.integers(-20, 20).map(float),
    st.integers(-(2**40), 2**40).map(float),
    st.sampled_from([1e-4, 1e8, 0.1, 100.0, 1000.0, 9.99995]),
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf]),
]
NONFINITE = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0])


@st.composite
def arrays(draw: st.DrawFn, dtypes: tuple[str, ...] = DTYPES) -> np.ndarray:
    shape = draw(st.lists(st.integers(0, 9), max_size=4).filter(lambda lengths: math.prod(lengths) <= 400))
    dtype = draw(st.sampled_from(dtypes))
    # A pool that is repeated keeps the drawing cheap while the array still fills several lines.
    pool_size = draw(st.integers(1, 12))

    def numbers() -> np.ndarray:
        family = draw(st.sampled_from(FAMILIES))
        if draw(st.booleans()):
            family |= NONFINITE
        pool = draw(st.lists(family, min_size=pool_size, max_size=pool_size))
        return np.resize(np.array(pool), shape)

    if dtype in COMPLEX:
        parts = numbers(), numbers()
        values = np.empty(shape, np.complex128)
        values.real, values.imag = parts
        return make(values, dtype)
    if dtype == "bool" or dtype in INTEGERS:
        bound = np.iinfo(dtype) if dtype != "bool" else None
        low, high = (int(bound.min), int(bound.max)) if bound else (0, 1)
        small = st.integers(max(low, -9), min(high, 99))
        pool = draw(st.lists(small | st.integers(low, high), min_size=pool_size, max_size=pool_size))
        return np.resize(np.array(pool, dtype), shape)
    return make(numbers(), dtype)


PRINT_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 12),
        "threshold": st.integers(0, 60) | st.just(math.inf),
        "edgeitems": st.integers(0, 5),
        "linewidth": st.integers(1, 160),
        "profile": st.sampled_from(["default", "short", "full"]),
        "sci_mode": st.sampled_from([None, True, False]),
    },
)


@settings(max_examples=400, deadline=None)
@given(array=arrays())
def test_random_arrays(array: np.ndarray) -> None:
    check(array)


@settings(max_examples=400, deadline=None)
@given(array=arrays(), options=PRINT_OPTIONS)
def test_random_arrays_and_options(array: np.ndarray, options: dict[str, Any]) -> None:
    check(array, **options)


@settings(max_examples=200, deadline=None)
@given(array=arrays((*FLOATS, *COMPLEX)), options=PRINT_OPTIONS)
def test_random_suffixes_and_prefixes(array: np.ndarray, options: dict[str, Any]) -> None:
    leaf = to_torch(array).requires_grad_()
    with printing.printoptions(**options), torch._tensor_str.printoptions(**options):
        for tensor, suffix, prefix in (
            (leaf, "requires_grad=True", "tensor("),
            (leaf.clone(), "grad_fn=<CloneBackward0>", "tensor("),
            (leaf.as_subclass(VeryLongNamedTensor), "grad_fn=<AliasBackward0>", "VeryLongNamedTensor("),
        ):
            ours = format_tensor(array, dtype_name=array.dtype.name, suffixes=[suffix], prefix=prefix)
            assert ours == repr(tensor)


@settings(max_examples=40, deadline=None)
@given(
    shape=st.lists(st.integers(1, 40), min_size=1, max_size=4).filter(lambda s: 900 < math.prod(s) < 60000),
    dtype=st.sampled_from(DTYPES),
    spread=st.sampled_from([0.5, 5.0, 100.0]),
    seed=st.integers(0, 2**16),
)
def test_big_tensors(shape: list[int], dtype: str, spread: float, seed: int) -> None:
    check(make(np.abs(np.random.default_rng(seed).normal(size=shape) * spread), dtype))
