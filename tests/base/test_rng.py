"""Every draw against live torch: the numbers, and the state that the draw leaves behind."""

import importlib.util
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whygrad._rng import DEFAULT_SEED, Stream, memory_order

torch = pytest.importorskip("torch")

SEEDS = [0, 1, 42, 2**31, 2**32 + 5, 2**64 - 1, -1]
SIZES = [0, 1, 2, 5, 15, 16, 17, 31, 48, 250, 1001]
FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["bool", "uint8", "int8", "int16", "int32", "int64"]
if importlib.util.find_spec("ml_dtypes"):
    import ml_dtypes  # noqa: F401  (makes "bfloat16" a NumPy dtype)

    FLOATS.append("bfloat16")

CACHED_NORMAL = slice(24 + 8 * 624 + 8, 24 + 8 * 624 + 16)


def words_of_a_bernoulli() -> int:
    torch.manual_seed(0)
    torch.empty(1).bernoulli_(0.5)
    return int(torch.get_rng_state()[16])


# Where torch takes these two from MKL, which it does on Intel processors, there is nothing to compare.
needs_no_mkl = pytest.mark.skipif(words_of_a_bernoulli() != 2, reason="torch draws this from MKL here")
# Without vector instructions torch rounds in other places and computes normals by other formulas.
VECTORS = torch.backends.cpu.get_cpu_capability() != "DEFAULT"

Ours = Callable[[Stream], Any]
Theirs = Callable[[], Any]


def t(dtype: str) -> Any:
    return getattr(torch, dtype)


def as_numpy(tensor: Any) -> Any:
    return tensor.float().numpy() if tensor.dtype is torch.bfloat16 else tensor.numpy()


def assert_same(ours: Any, theirs: Any) -> None:
    assert str(ours.dtype) == str(theirs.dtype).removeprefix("torch.")
    assert ours.shape == tuple(theirs.shape)
    expected = as_numpy(theirs)
    ours = ours.astype(expected.dtype)
    if expected.dtype.name in ("float64", "complex128"):
        # NumPy's double precision functions and the C library's may end differently
        np.testing.assert_allclose(ours, expected, rtol=4e-15, atol=4e-15)
    elif VECTORS or expected.dtype.kind in "biu":
        np.testing.assert_array_equal(ours, expected)
    else:
        np.testing.assert_allclose(ours, expected, rtol=1e-2 if expected.itemsize == 2 else 1e-5, atol=1e-5)


def assert_same_state(stream: Stream) -> None:
    ours, theirs = stream.get_state(), torch.get_rng_state().numpy()
    np.testing.assert_allclose(
        ours[CACHED_NORMAL].view(np.float64), theirs[CACHED_NORMAL].view(np.float64), rtol=4e-15
    )
    ours[CACHED_NORMAL] = theirs[CACHED_NORMAL]
    np.testing.assert_array_equal(ours, theirs)


def check(ours: Callable[..., Any], theirs: Callable[..., Any], *args: Any, seed: int = 3) -> None:
    stream = Stream(seed)
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is out of bounds")  # torch, of floats and large integers
        assert_same(ours(stream, *args), theirs(*args))
    assert_same_state(stream)


def check_sizes(ours: Callable[[Stream, int], Any], theirs: Callable[[int], Any]) -> None:
    for size in SIZES:
        check(ours, theirs, size)


def assert_same_error(ours: Ours, theirs: Theirs) -> None:
    with pytest.raises(Exception) as expected:
        theirs()
    with pytest.raises(expected.type) as raised:
        ours(Stream())
    assert str(raised.value) == str(expected.value).splitlines()[0]


def random_array(shape: Any, dtype: str, scale: float = 1.0) -> Any:
    return np.asarray(np.random.default_rng(0).random(shape) * scale).astype(dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
@pytest.mark.parametrize("bounds", [(0, 1), (-1, 1), (0.1, 0.7), (-3.3, 5.7), (1000, 1001), (2, 2), (0, 6e4)])
def test_uniform(dtype: str, bounds: tuple[float, float]) -> None:
    check_sizes(
        lambda s, n: s.uniform(n, dtype, *bounds),
        lambda n: torch.empty(n, dtype=t(dtype)).uniform_(*bounds),
    )


@pytest.mark.skipif(not VECTORS, reason="torch multiplies and adds in two steps here")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform_is_exact(dtype: str) -> None:
    """Including the fused multiply-add and the ends of the range."""
    for low, high in [(0, 1), (0.1, 0.7), (-3.3, 5.7), (1e-3, 1e3), (1e6, 1e6 + 1), (-1e3, -1e3 + 1)]:
        if dtype == "float16" and high > 65504:
            continue
        torch.manual_seed(5)
        expected = torch.empty(50_000, dtype=t(dtype)).uniform_(low, high).numpy()
        np.testing.assert_array_equal(Stream(5).uniform(50_000, dtype, low, high), expected)


def test_uniform_of_huge_range_is_finite() -> None:
    check(
        lambda s: s.uniform(9, "float64", -8e307, 8e307),
        lambda: torch.empty(9, dtype=torch.float64).uniform_(-8e307, 8e307),
    )


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
@pytest.mark.parametrize(("mean", "std"), [(0, 1), (0, 0.02), (1, 1), (0.3, 1.7), (2, 0)])
def test_normal(dtype: str, mean: float, std: float) -> None:
    check_sizes(
        lambda s, n: s.normal(n, dtype, mean, std),
        lambda n: torch.empty(n, dtype=t(dtype)).normal_(mean, std),
    )
    check_sizes(
        lambda s, n: s.normal((n, 2), dtype, mean, std, contiguous=n < 2),
        lambda n: torch.empty(n, 3, dtype=t(dtype))[:, :2].normal_(mean, std),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_normal_of_a_million(seed: int) -> None:
    check(lambda s: s.normal((1000, 1001)), lambda: torch.randn(1000, 1001), seed=seed)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shapes", [((40, 3), (3,)), ((5,), (4, 1)), (None, (30,)), ((30,), None), ((), ())])
def test_normal_around(dtype: str, shapes: tuple[Any, Any]) -> None:
    mean, std = (2.5 if shape is None else random_array(shape, dtype, 3) for shape in shapes)
    mean_t, std_t = (torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in (mean, std))
    check(lambda s: s.normal_around(mean, std), lambda: torch.normal(mean_t, std_t))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("median", "sigma"), [(0, 1), (0.3, 2.5)])
def test_cauchy(dtype: str, median: float, sigma: float) -> None:
    check_sizes(
        lambda s, n: s.cauchy(n, dtype, median, sigma),
        lambda n: torch.empty(n, dtype=t(dtype)).cauchy_(median, sigma),
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("mean", "std"), [(1, 2), (0, 0.25)])
def test_log_normal(dtype: str, mean: float, std: float) -> None:
    check_sizes(
        lambda s, n: s.log_normal(n, dtype, mean, std),
        lambda n: torch.empty(n, dtype=t(dtype)).log_normal_(mean, std),
    )


@needs_no_mkl
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rate", [1, 0.3, 20, math.inf])
def test_exponential(dtype: str, rate: float) -> None:
    check_sizes(
        lambda s, n: s.exponential(n, dtype, rate),
        lambda n: torch.empty(n, dtype=t(dtype)).exponential_(rate),
    )


BOUNDS: list[tuple[int, int | None]] = [
    *[(0, 2), (0, 10), (-5, 5), (3, 100), (7, 8), (0, 2**20), (0, 2**28 - 1), (0, 2**28), (-(2**27), 2**27)],
    *[(0, 2**31), (0, 2**32 - 1), (0, 2**32), (0, 2**32 + 1), (-(2**40), 2**41), (0, 2**62)],
    *[(-(2**63), 2**63 - 1), (-(2**63), None), (0, None), (5, None), (-7, None), (60000, None)],
    *[(0, 65504), (2049, 2051), (2049, 2050), (-(2**24) - 1, 2**24 + 1), (-(2**24) - 3, None)],
]


@pytest.mark.parametrize("dtype", [*INTEGERS, "uint16", "uint32", "uint64", *FLOATS])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_integers(dtype: str, bounds: tuple[int, int | None]) -> None:
    try:
        with warnings.catch_warnings(action="ignore"):
            torch.empty(1, dtype=t(dtype)).random_(*bounds)
    except NotImplementedError:
        pytest.skip("torch has no kernel for it")
    except RuntimeError:
        assert_same_error(
            lambda s: s.integers(*bounds, 1, dtype), lambda: torch.empty(1, dtype=t(dtype)).random_(*bounds)
        )
        return
    check_sizes(
        lambda s, n: s.integers(*bounds, n, dtype),
        lambda n: torch.empty(n, dtype=t(dtype)).random_(*bounds),
    )


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_random(dtype: str) -> None:
    check(lambda s: s.random((50, 3), dtype), lambda: torch.empty(50, 3, dtype=t(dtype)).random_())


@pytest.mark.parametrize("size", [0, 1, 2, 3, 10, 100, 623, 624, 625, 1000, 65536, 65537, 200_000])
def test_permutation(size: int) -> None:
    for seed in SEEDS if size < 2000 else SEEDS[:1]:
        check(lambda s: s.permutation(size), lambda: torch.randperm(size), seed=seed)
    check(lambda s: s.permutation(size, "int32"), lambda: torch.randperm(size, dtype=torch.int32))


@needs_no_mkl
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("p", [0, 0.3, 0.5, 1])
def test_bernoulli(dtype: str, p: float) -> None:
    check_sizes(
        lambda s, n: s.bernoulli(p, n, dtype),
        lambda n: torch.empty(n, dtype=t(dtype)).bernoulli_(p),
    )


@pytest.mark.parametrize("dtype", ["bool", "int64", *FLOATS])
@pytest.mark.parametrize("p_dtype", ["float16", "float32", "float64"])
def test_bernoulli_of_array(dtype: str, p_dtype: str) -> None:
    for shape in [(100, 7), (7,), ()]:
        p = random_array(shape, p_dtype)
        check(
            lambda s, p: s.bernoulli(p.numpy(), (100, 7), dtype),
            lambda p: torch.empty(100, 7, dtype=t(dtype)).bernoulli_(p),
            torch.from_numpy(p),
        )
        check(lambda s, p: s.bernoulli(p.numpy(), dtype=p_dtype), torch.bernoulli, torch.from_numpy(p))


@needs_no_mkl
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout(p: float) -> None:
    """Both spellings keep what a Bernoulli of 1 - p keeps; an input's layout is that of the mask."""
    x = torch.ones(30, 40, 5)
    check(lambda s: s.bernoulli(1 - p, x.shape), lambda: torch.nn.functional.dropout(x, p) != 0)
    check(lambda s: s.bernoulli(1 - p, x.shape), lambda: torch.nn.Dropout(p)(x) != 0)
    swapped = x.transpose(0, 1)
    check(
        lambda s: s.bernoulli(1 - p, x.shape).transpose(1, 0, 2),
        lambda: torch.nn.functional.dropout(swapped, p) != 0,
    )
    check(
        lambda s: s.bernoulli(1 - p, (30, 40)),
        lambda: torch.nn.functional.dropout2d(x[..., None], p)[..., 0, 0] != 0,
    )


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", *FLOATS])
@pytest.mark.parametrize("p", [0.05, 0.3, 0.99])
def test_geometric(dtype: str, p: float) -> None:
    check_sizes(
        lambda s, n: s.geometric(n, dtype, p),
        lambda n: torch.empty(n, dtype=t(dtype)).geometric_(p),
    )


@needs_no_mkl
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("samples", [1, 2, 5])
def test_multinomial(dtype: str, replacement: bool, samples: int) -> None:
    if dtype == "float16" and samples > 1 and not replacement:
        pytest.skip("half precision has equal ratios, which torch orders in its own way")
    vector, table = (torch.from_numpy(random_array(shape, dtype)) for shape in (100, (30, 6)))
    vector[2] = 0
    for weights in (vector, vector[:7], table, table.T, table[::2, 1:], table[:1]):
        for seed in SEEDS:
            check(
                lambda s, w: s.multinomial(w.numpy(), samples, replacement),
                lambda w: torch.multinomial(w, samples, replacement),
                weights,
                seed=seed,
            )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rejection_samplers(dtype: str) -> None:
    rng = np.random.default_rng(1)
    size = 400
    rates = (rng.random(size) * rng.choice([0, 1, 8, 20, 300], size)).astype(dtype)
    check(lambda s: s.poisson(rates), lambda: torch.poisson(torch.from_numpy(rates)))
    counts = np.floor(rng.random(size) * rng.choice([1, 20, 100, 1000], size)).astype(dtype)
    p = (rng.random(size) * 1.2 - 0.1).astype(dtype)
    p[7] = np.nan
    check(
        lambda s: s.binomial(counts, p), lambda: torch.binomial(torch.from_numpy(counts), torch.from_numpy(p))
    )
    alpha = (rng.random(size) * rng.choice([0.1, 1, 5, 100], size)).astype(dtype)
    check(lambda s: s.standard_gamma(alpha), lambda: torch._standard_gamma(torch.from_numpy(alpha)))
    table = alpha.reshape(-1, 4) + np.array(0.1, dtype)
    check(lambda s: s.dirichlet(table), lambda: torch._sample_dirichlet(torch.from_numpy(table)))


@pytest.mark.parametrize("layout", ["transposed", "permuted slice", "channels last", "size one"])
def test_in_place_fill_follows_memory(layout: str) -> None:
    def view(a: Any) -> Any:
        if layout == "transposed":
            return a[0, 0].T
        if layout == "permuted slice":
            return a[::2, :, 1:4].transpose(2, 0, 3, 1)
        return a.transpose(0, 3, 1, 2) if layout == "channels last" else a[:, :1].transpose(3, 1, 2, 0)

    def fill(draw: Callable[..., Any]) -> Any:
        target = view(np.empty((4, 5, 6, 7), np.float32))
        ordered = memory_order(target)
        ordered[...] = draw(ordered.shape)
        return target

    def target() -> Any:
        return torch.from_numpy(view(np.empty((4, 5, 6, 7), np.float32)))

    check(lambda s: fill(s.uniform), lambda: target().uniform_())
    check(lambda s: fill(lambda shape: s.normal(shape, contiguous=False)), lambda: target().normal_())
    check(lambda s: fill(lambda shape: s.integers(0, 9, shape)), lambda: target().random_(0, 9))


DRAWS: list[tuple[Callable[[Stream, int], Any], Callable[[int], Any]]] = [
    (lambda s, n: s.uniform(n), torch.rand),
    (lambda s, n: s.uniform(n, "float64"), lambda n: torch.rand(n, dtype=torch.float64)),
    (lambda s, n: s.normal(n), torch.randn),
    (lambda s, n: s.normal(n, "float64"), lambda n: torch.randn(n, dtype=torch.float64)),
    (lambda s, n: s.normal(n, "float16"), lambda n: torch.randn(n, dtype=torch.float16)),
    (lambda s, n: s.log_normal(n), lambda n: torch.empty(n).log_normal_()),
    (lambda s, n: s.integers(0, 7, n), lambda n: torch.randint(7, (n,))),
    (lambda s, n: s.integers(0, 2**40, n), lambda n: torch.randint(2**40, (n,))),
    (lambda s, n: s.permutation(n), torch.randperm),
    (
        lambda s, n: s.bernoulli(np.full(n, 0.4, "float32")),
        lambda n: torch.bernoulli(torch.full((n,), 0.4)) > 0,
    ),
    (
        lambda s, n: s.standard_gamma(np.full(n, 0.7)),
        lambda n: torch._standard_gamma(torch.full((n,), 0.7, dtype=torch.float64)),
    ),
]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(-(2**63), 2**64 - 1),
    steps=st.lists(
        st.tuples(st.integers(0, len(DRAWS) - 1), st.integers(0, 40) | st.integers(600, 700)), max_size=12
    ),
)
def test_mixed_draws_stay_in_step(seed: int, steps: list[tuple[int, int]]) -> None:
    stream = Stream(seed)
    torch.manual_seed(seed)
    assert stream.initial_seed == torch.initial_seed()
    for which, size in steps:
        ours, theirs = DRAWS[which]
        assert_same(ours(stream, size), theirs(size))
        assert_same_state(stream)


@pytest.mark.parametrize("before", [0, 1, 623, 624, 625, 3000])
@pytest.mark.parametrize("normals", [0, 1, 2])
def test_state_moves_both_ways(before: int, normals: int) -> None:
    torch.manual_seed(11)
    torch.rand(before)
    torch.randn(normals)
    stream = Stream()
    stream.set_state(torch.get_rng_state().numpy())
    assert stream.initial_seed == 11
    assert_same_state(stream)
    assert_same(stream.normal(3), torch.randn(3))

    stream.uniform(before)
    state = stream.get_state()
    expected = stream.normal(5), stream.uniform(700)
    torch.set_rng_state(torch.from_numpy(state))
    for ours, theirs in zip(expected, (torch.randn(5), torch.rand(700)), strict=True):
        assert_same(ours, theirs)
    stream.set_state(state)
    np.testing.assert_array_equal(stream.normal(5), expected[0])


def test_fresh_stream_is_a_fresh_generator() -> None:
    assert torch.Generator().initial_seed() == Stream().initial_seed == DEFAULT_SEED
    np.testing.assert_array_equal(Stream().get_state(), torch.Generator().get_state().numpy())


def test_seed_from_os_reseeds() -> None:
    stream = Stream(0)
    stream.normal(1)
    seed = stream.seed_from_os()
    assert stream.initial_seed == seed != 0
    np.testing.assert_array_equal(stream.get_state(), Stream(seed).get_state())


def from_list(values: list[float]) -> tuple[Any, Any]:
    return np.array(values, np.float32), torch.tensor(values)


HALF = from_list([0.5, 0.5])
NEGATIVE = from_list([0.5, -1.0])
BAD_WEIGHTS = [[0.5, -1.0], [0.5, math.nan], [0.5, math.inf], [0.0, 0.0]]
ERRORS: dict[str, tuple[Ours, Theirs]] = {
    "seed too large": (lambda s: s.seed(2**64), lambda: torch.manual_seed(2**64)),
    "seed too small": (lambda s: s.seed(-(2**63) - 1), lambda: torch.manual_seed(-(2**63) - 1)),
    "state size": (
        lambda s: s.set_state(np.zeros(9, np.uint8)),
        lambda: torch.set_rng_state(torch.zeros(9, dtype=torch.uint8)),
    ),
    "state dtype": (lambda s: s.set_state(np.zeros(5056)), lambda: torch.set_rng_state(torch.zeros(5056))),
    "state invalid": (
        lambda s: s.set_state(np.zeros(5056, np.uint8)),
        lambda: torch.set_rng_state(torch.zeros(5056, dtype=torch.uint8)),
    ),
    "uniform order": (lambda s: s.uniform(2, "float32", 2, 1.5), lambda: torch.empty(2).uniform_(2, 1.5)),
    "uniform bound": (lambda s: s.uniform(2, "float32", 0, 1e39), lambda: torch.empty(2).uniform_(0, 1e39)),
    "uniform range": (
        lambda s: s.uniform(2, "float32", -3e38, 3e38),
        lambda: torch.empty(2).uniform_(-3e38, 3e38),
    ),
    "normal": (lambda s: s.normal(2, "float32", 0, -1), lambda: torch.empty(2).normal_(0, -1)),
    "normal_around": (
        lambda s: s.normal_around(HALF[0], NEGATIVE[0]),
        lambda: torch.normal(HALF[1], NEGATIVE[1]),
    ),
    "exponential": (lambda s: s.exponential(2, "float32", 0), lambda: torch.empty(2).exponential_(0)),
    "cauchy": (lambda s: s.cauchy(2, "float32", 0, -0.5), lambda: torch.empty(2).cauchy_(0, -0.5)),
    "log_normal": (lambda s: s.log_normal(2, "float32", 0, 0), lambda: torch.empty(2).log_normal_(0, 0)),
    "bernoulli": (lambda s: s.bernoulli(1.5, 2), lambda: torch.empty(2).bernoulli_(1.5)),
    "bernoulli of array": (lambda s: s.bernoulli(NEGATIVE[0]), lambda: torch.bernoulli(NEGATIVE[1])),
    "geometric": (lambda s: s.geometric(2, "float32", 1), lambda: torch.empty(2).geometric_(1)),
    "poisson": (lambda s: s.poisson(NEGATIVE[0]), lambda: torch.poisson(NEGATIVE[1])),
    "multinomial none": (lambda s: s.multinomial(HALF[0], 0), lambda: torch.multinomial(HALF[1], 0)),
    "multinomial many": (lambda s: s.multinomial(HALF[0], 3), lambda: torch.multinomial(HALF[1], 3)),
    "multinomial ndim": (
        lambda s: s.multinomial(HALF[0].reshape(1, 1, 2), 1),
        lambda: torch.multinomial(HALF[1].reshape(1, 1, 2), 1),
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    assert_same_error(*ERRORS[name])


@pytest.mark.parametrize("weights", BAD_WEIGHTS, ids=str)
@pytest.mark.parametrize("samples", [1, 2])
@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial_errors(weights: list[float], samples: int, replacement: bool) -> None:
    ours, theirs = from_list(weights)
    assert_same_error(
        lambda s: s.multinomial(ours, samples, replacement),
        lambda: torch.multinomial(theirs, samples, replacement),
    )
