"""Every rule of dtypes against live torch, over all dtypes, pairs and ranks."""

import copy
import itertools
import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import oracle
import pytest
import torch

from whygrad.base import dtypes as w

INTEGERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
NAMES = ["bool", *INTEGERS, *FLOATS, "complex32", "complex64", "complex128"]
ALIASES = ["short", "int", "long", "half", "float", "double", "chalf", "cfloat", "cdouble"]
NUMBERS = [True, 3, -(2**63), 2**63 - 1, 2**63, 2**64 - 1, 2.5, 1j]
TOO_LARGE = [2**64, -(2**63) - 1]
BY_SCALAR_NAME = {d.scalar_name: d for d in w.BY_NAME.values()}


def set_defaults(name: str) -> None:
    torch.set_default_dtype(getattr(torch, name))
    w.set_default_dtype(w.BY_NAME[name])


@pytest.fixture(autouse=True)
def clean_state() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="ComplexHalf support is experimental")
        yield
    set_defaults("float32")


@pytest.fixture(params=FLOATS)
def default(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    set_defaults(name)
    return name


def text_of(f: Callable[..., Any], *args: Any) -> str:
    """The result or the error as text, comparable between the two libraries."""
    kind, result = oracle.outcome(lambda: repr(f(*args)), all_lines=True)
    return result if kind == "value" else ": ".join(result)


def both(name: str) -> tuple[w.dtype, Any]:
    return w.BY_NAME[name], getattr(torch, name)


def tensor(name: str, ndim: int) -> Any:
    return torch.empty((1,) * ndim, dtype=getattr(torch, name))


def computed_in(f: Callable[..., Any], *args: Any) -> str:
    """The dtype that torch promotes to within `f`, if need be from its complaint that a kernel lacks it."""
    text = text_of(lambda: f(*args).dtype)
    missing = re.search(r"not implemented for '(\w+)'", text)
    return repr(BY_SCALAR_NAME[missing[1]]) if missing else text


@pytest.mark.parametrize("name", NAMES + ALIASES)
def test_a_dtype_describes_itself_as_in_torch(name: str) -> None:
    ours, theirs = both(name)
    assert (repr(ours), str(ours)) == (repr(theirs), str(theirs))
    for attribute in ("is_floating_point", "is_complex", "is_signed", "itemsize"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert text_of(ours.to_real) == text_of(theirs.to_real)
    assert text_of(ours.to_complex) == text_of(theirs.to_complex)
    assert ours.tensor_type == torch.empty(0, dtype=theirs).type()


@pytest.mark.parametrize("name", NAMES)
def test_scalar_name_is_the_one_in_torchs_errors(name: str) -> None:
    ours, theirs = both(name)
    source = torch.zeros(1, dtype=torch.int32 if name == "bool" else torch.bool)
    with pytest.raises(RuntimeError, match=f"got {ours.scalar_name} for the destination"):
        torch.empty(1, dtype=theirs).index_put_((torch.tensor([0]),), source)


def test_every_name_and_alias_is_known() -> None:
    assert set(w.BY_NAME) == {*NAMES, *ALIASES}
    for name, d in w.BY_NAME.items():
        in_module = f"{name}_" if name in ("bool", "int", "float") else name
        assert getattr(w, in_module) is d
    assert len(set(w.BY_NAME.values())) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_copies_and_pickles_are_the_same_object(name: str) -> None:
    d = w.BY_NAME[name]
    assert copy.copy(d) is d
    assert copy.deepcopy([d])[0] is d
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(d, protocol)) is d


def test_dtypes_are_closed() -> None:
    assert text_of(w.dtype, "float32") == text_of(torch.dtype, "float32")
    with pytest.raises(AttributeError):
        w.float32.colour = "blue"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("bfloat16", "complex32")])
def test_numpy_storage_agrees_with_torch(name: str) -> None:
    ours, theirs = both(name)
    assert ours.numpy == torch.empty(0, dtype=theirs).numpy().dtype
    assert w.FROM_NUMPY[ours.numpy] is w.from_numpy(ours.numpy) is ours


def test_c_types_of_the_same_width_are_the_same_dtype() -> None:
    assert w.from_numpy(np.dtype(np.longlong)) is w.int64
    assert w.from_numpy(np.dtype(np.intc)) is w.int32


@pytest.mark.parametrize(
    "np_dtype", ["U1", "O", "M8[s]", ">f4", ">U1", "V4", "i4,f4", np.longdouble, np.clongdouble, "T"]
)
def test_unsupported_numpy_dtypes_fail_as_in_torch(np_dtype: Any) -> None:
    array = np.zeros(1, np_dtype)
    assert text_of(w.from_numpy, array.dtype) == text_of(torch.from_numpy, array)


def test_bfloat16_is_stored_by_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert w.bfloat16.numpy == np.dtype(ml_dtypes.bfloat16)
    assert w.FROM_NUMPY[np.dtype(ml_dtypes.bfloat16)] is w.bfloat16
    with pytest.raises(TypeError, match=r"np.ndarray of type ml_dtypes.float8_e5m2\."):
        w.from_numpy(np.dtype(ml_dtypes.float8_e5m2))


def test_bfloat16_arrays_are_known_before_ours_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    monkeypatch.setattr(w.bfloat16, "_numpy", None)
    monkeypatch.delitem(w.FROM_NUMPY, np.dtype(ml_dtypes.bfloat16), raising=False)
    assert w.from_numpy(np.dtype(ml_dtypes.bfloat16)) is w.bfloat16


def test_ml_dtypes_is_imported_only_when_needed() -> None:
    """Once it is there, gradients of every dtype look whether they have to be rounded."""
    program = (
        "import sys; from whygrad import dtypes as w, nn, optim, func, distributions, amp; from whygrad.utils import data;"
        "w.finfo(w.bfloat16); print('ml_dtypes' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_ml_dtypes_bfloat16_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(w.bfloat16, "_numpy", None)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(
        ImportError, match=re.escape("torch.bfloat16 needs ml_dtypes, which is not installed: pip install ml_dtypes")
    ):
        _ = w.bfloat16.numpy


def test_complex32_has_a_name_but_no_storage() -> None:
    with pytest.raises(NotImplementedError, match=r"torch\.complex32 holds no data"):
        _ = w.complex32.numpy


@pytest.mark.parametrize("a", NAMES)
def test_promote_types_and_can_cast(a: str) -> None:
    for b in NAMES:
        (ours_a, theirs_a), (ours_b, theirs_b) = both(a), both(b)
        assert text_of(w.promote_types, ours_a, ours_b) == text_of(torch.promote_types, theirs_a, theirs_b), b
        assert w.can_cast(ours_a, ours_b) is torch.can_cast(theirs_a, theirs_b), b


@pytest.mark.parametrize("function", ["promote_types", "can_cast"])
@pytest.mark.parametrize(
    "args", [(3, "float32"), ("float32", None), (int, "float32"), (bool, complex), (str, int)]
)
def test_arguments_that_are_not_dtypes(function: str, args: tuple[Any, Any]) -> None:
    ours = [w.BY_NAME[a] if isinstance(a, str) else a for a in args]
    theirs = [getattr(torch, a) if isinstance(a, str) else a for a in args]
    assert text_of(getattr(w, function), *ours) == text_of(getattr(torch, function), *theirs)


@pytest.mark.parametrize("a", NAMES)
@pytest.mark.parametrize("ndims", list(itertools.product([0, 1], repeat=2)))
def test_result_of_two_tensors(a: str, ndims: tuple[int, int]) -> None:
    n, m = ndims
    for b in NAMES:
        expected = text_of(torch.result_type, tensor(a, n), tensor(b, m))
        x, y = w.BY_NAME[a], w.BY_NAME[b]
        assert text_of(w.result_dtype, [(x, n), (y, m)]) == expected, b


def test_result_of_a_tensor_and_a_number(default: str) -> None:
    for name, ndim, number in itertools.product(NAMES, [0, 1], [*NUMBERS, *TOO_LARGE]):
        d = w.BY_NAME[name]
        expected = text_of(torch.result_type, tensor(name, ndim), number)
        assert text_of(w.result_dtype, [(d, ndim), number]) == expected, (name, number)
        assert text_of(w.result_dtype, [number, (d, ndim)]) == expected, (name, number)


def test_result_of_two_numbers(default: str) -> None:
    for pair in itertools.product(NUMBERS, [*NUMBERS, *TOO_LARGE]):
        assert text_of(w.result_dtype, pair) == text_of(torch.result_type, *pair), pair


@pytest.mark.parametrize("ndims", list(itertools.product([0, 2], repeat=3)))
def test_result_of_three_tensors(ndims: tuple[int, ...]) -> None:
    for names in itertools.product(NAMES, repeat=3):
        expected = computed_in(torch.addcmul, *map(tensor, names, ndims))
        operands = [(w.BY_NAME[name], ndim) for name, ndim in zip(names, ndims, strict=True)]
        assert text_of(w.result_dtype, operands) == expected, names


def test_result_of_a_tensor_and_two_numbers(default: str) -> None:
    for name, ndim in itertools.product(["bool", *INTEGERS, *FLOATS], [0, 1]):
        for low, high in itertools.product([True, 3, 2.5], repeat=2):
            expected = computed_in(torch.clamp, tensor(name, ndim), low, high)
            assert repr(w.result_dtype([low, (w.BY_NAME[name], ndim), high])) == expected, (
                name,
                low,
                high,
            )


@pytest.mark.parametrize(
    "number", [np.int8(1), np.uint64(1), np.float16(1), np.float64(1), np.bool_(True), np.complex128(1j)]
)
def test_numpy_scalars_count_as_numbers(number: Any, default: str) -> None:
    for name in NAMES:
        expected = text_of(torch.result_type, tensor(name, 1), number)
        assert text_of(w.result_dtype, [(w.BY_NAME[name], 1), number]) == expected, name


def test_numpy_complex64_keeps_its_imaginary_part() -> None:
    """torch reads it as a float, which is not worth following."""
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert torch.result_type(tensor("int8", 1), np.complex64(1j)) is torch.float32
    assert w.result_dtype([(w.int8, 1), np.complex64(1j)]) is w.complex64  # type: ignore[arg-type]


def test_subclasses_of_int_are_judged_by_their_value() -> None:
    class Count(int):
        pass

    for count in (Count(1), Count(2**63), Count(2**64), Count(1)):
        expected = text_of(torch.result_type, tensor("bool", 1), count)
        assert text_of(w.result_dtype, [(w.bool_, 1), count]) == expected, count


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a number, not str"):
        w.result_dtype([(w.int8, 1), "1"])
    with pytest.raises(ValueError, match="at least one operand"):
        w.result_dtype([])


def test_default_dtype(default: str) -> None:
    assert repr(w.get_default_dtype()) == repr(torch.get_default_dtype()) == f"torch.{default}"
    assert repr(w.get_default_complex_dtype()) == repr(torch.result_type(1j, 1j))
    assert repr(w.finfo()) == repr(torch.finfo())


def test_changing_the_default_changes_results() -> None:
    assert w.result_dtype([(w.int64, 1), 1.0]) is w.float32
    w.set_default_dtype(w.float64)
    assert w.result_dtype([(w.int64, 1), 1.0]) is w.float64
    assert w.result_dtype([(w.float32, 1), 1.0]) is w.float32


@pytest.mark.parametrize("name", [n for n in NAMES if n not in FLOATS])
def test_only_floating_dtypes_can_be_the_default(name: str) -> None:
    ours, theirs = both(name)
    assert text_of(w.set_default_dtype, ours) == text_of(torch.set_default_dtype, theirs)
    assert w.get_default_dtype() is w.float32


@pytest.mark.parametrize("value", ["float32", None, float, 3])
def test_the_default_has_to_be_a_dtype(value: Any) -> None:
    assert text_of(w.set_default_dtype, value) == text_of(torch.set_default_dtype, value)


@pytest.mark.parametrize("name", NAMES)
def test_finfo_and_iinfo(name: str) -> None:
    ours, theirs = both(name)
    assert text_of(w.finfo, ours) == text_of(torch.finfo, theirs)
    assert text_of(w.iinfo, ours) == text_of(torch.iinfo, theirs)
    if ours.category > 1:
        for attribute in ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny"):
            assert getattr(w.finfo(ours), attribute) == getattr(torch.finfo(theirs), attribute), attribute
    elif ours.category == 1:
        for attribute in ("bits", "dtype", "max", "min"):
            assert getattr(w.iinfo(ours), attribute) == getattr(torch.iinfo(theirs), attribute), attribute


def test_finfo_and_iinfo_compare_by_type() -> None:
    for lib, names in ((w, w.BY_NAME), (torch, vars(torch))):
        f4, f8, c8, i4 = (names[n] for n in ("float32", "float64", "complex64", "int32"))
        assert lib.finfo(f4) == lib.finfo(f4) == lib.finfo(c8)
        assert lib.finfo(f4) != lib.finfo(f8)
        assert lib.iinfo(i4) == lib.iinfo(i4)
        assert lib.finfo(f4) != lib.iinfo(i4)
        with pytest.raises(TypeError, match="unhashable"):
            hash(lib.finfo(f4))
        with pytest.raises(AttributeError):
            lib.finfo(f4).eps = 1.0


@pytest.mark.parametrize("argument", [float, complex, int, bool, 3, "float32"])
def test_finfo_and_iinfo_of_something_else(argument: Any) -> None:
    assert text_of(w.finfo, argument) == text_of(torch.finfo, argument)
    assert text_of(w.iinfo, argument) == text_of(torch.iinfo, argument)
