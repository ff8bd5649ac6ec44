"""torch.testing.assert_close: compare tensors, numbers and containers of them, and say exactly where they differ."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.unsupported import absent_from
from whygrad.core.tensor import Size, Tensor
from whygrad.functional.from_data import from_numpy
from whygrad.testing.random_tensors import make_tensor

__getattr__ = absent_from("torch.testing")

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

# dtype -> (rtol, atol); integers must be equal.
TOLERANCES = {
    dtypes.float16: (0.001, 1e-5), dtypes.bfloat16: (0.016, 1e-5), dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7), dtypes.complex64: (1.3e-6, 1e-5), dtypes.complex128: (1e-7, 1e-7)}

Item = tuple[Any, ...]


class _Mismatch(Exception):
    """A difference, and the path of the item in nested containers where it was found."""

    def __init__(self, kind: type[Exception], message: str, item: Item) -> None:
        super().__init__(message)
        self.kind = kind
        place = "".join([f"[{i!r}]" for i in item])
        self.message = f"{message}\n\nThe failure occurred for item {place}" if item else message


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
                 check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
                 msg: str | Callable[[str], str] | None = None) -> None:
    """Raise AssertionError unless both are close: `abs(actual - expected) <= atol + rtol * abs(expected)`."""
    __tracebackhide__ = True
    options = _Options(allow_subclasses, rtol, atol, equal_nan, check_dtype, check_stride)
    try:
        options.compare(actual, expected, ())
    except _Mismatch as mismatch:
        text = msg(mismatch.message) if callable(msg) else mismatch.message if msg is None else msg
        error = mismatch.kind(text)
    else:
        return
    raise error


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
                    equal_nan: bool = True, msg: str = "") -> None:
    """The deprecated predecessor of `assert_close`: it converts arrays and numbers to tensors and ignores dtypes."""
    warnings.warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please "
                  "use `torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
                  "https://github.com/pytorch/pytorch/issues/61844.", FutureWarning, stacklevel=2)
    actual, expected = (x if isinstance(x, Tensor) else from_numpy(np.array(x)) for x in (actual, expected))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


class _Options:
    def __init__(self, allow_subclasses: bool, rtol: float | None, atol: float | None, equal_nan: bool,
                 check_dtype: bool, check_stride: bool) -> None:
        self.allow_subclasses = allow_subclasses
        self.rtol = rtol
        self.atol = atol
        self.equal_nan = equal_nan
        self.check_dtype = check_dtype
        self.check_stride = check_stride

    def compare(self, actual: Any, expected: Any, item: Item) -> None:
        """Compare two values by their types; containers item by item."""
        both = (actual, expected)
        if all(isinstance(x, Sequence) and not isinstance(x, (str, bytes)) for x in both):
            if len(actual) != len(expected):
                raise _Mismatch(AssertionError,
                                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", item)
            for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
                self.compare(a, b, (*item, i))
        elif all(isinstance(x, Mapping) for x in both):
            self._compare_mappings(actual, expected, item)
        elif any(x is None for x in both):
            if actual is not expected:
                raise _Mismatch(AssertionError, f"None mismatch: {actual} is not {expected}", item)
        elif all(isinstance(x, (bool, np.bool_)) for x in both):
            if bool(actual) is not bool(expected):
                raise _Mismatch(AssertionError, f"Booleans mismatch: {bool(actual)} is not {bool(expected)}", item)
        elif all(isinstance(x, (int, float, complex, np.number)) for x in both):
            self._compare_numbers(actual, expected, item)
        elif all(isinstance(x, np.ndarray) for x in both):
            self._compare_tensors(from_numpy(actual.copy()), from_numpy(expected.copy()), item)
        elif all(isinstance(x, Tensor) for x in both) and (self.allow_subclasses or type(actual) is type(expected)):
            self._compare_tensors(actual, expected, item)
        else:
            raise _Mismatch(TypeError, f"No comparison pair was able to handle inputs of type {type(actual)} and "
                                       f"{type(expected)}.", item)

    def _compare_mappings(self, actual: Any, expected: Any, item: Item) -> None:
        if actual.keys() != expected.keys():
            missing, extra = sorted(expected.keys() - actual.keys()), sorted(actual.keys() - expected.keys())
            raise _Mismatch(AssertionError, "The keys of the mappings do not match:\n"
                            f"Missing keys in the actual mapping: {missing}\n"
                            f"Additional keys in the actual mapping: {extra}", item)
        for key in sorted(actual) if all(isinstance(key, str) for key in actual) else actual:
            self.compare(actual[key], expected[key], (*item, key))

    def _tolerances(self, item: Item, *kinds: dtypes.dtype) -> tuple[float, float]:
        if (self.rtol is None) != (self.atol is None):
            absent = "rtol" if self.rtol is None else "atol"
            raise _Mismatch(ValueError,
                            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent}.", item)
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        found = [TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds]
        return max(rtol for rtol, _ in found), max(atol for _, atol in found)

    def _compare_numbers(self, actual: Any, expected: Any, item: Item) -> None:
        actual, expected = (x.item() if isinstance(x, np.number) else x for x in (actual, expected))
        rtol, atol = self._tolerances(item, _dtype_of(actual), _dtype_of(expected))
        if self.check_dtype and type(actual) is not type(expected):
            raise _Mismatch(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.", item)
        if not _are_close(np.asarray(actual), np.asarray(expected), rtol, atol, self.equal_nan):
            raise _Mismatch(AssertionError, _numbers_differ(actual, expected, rtol, atol), item)

    def _compare_tensors(self, actual: Tensor, expected: Tensor, item: Item) -> None:
        rtol, atol = self._tolerances(item, actual.dtype, expected.dtype)
        attributes: list[tuple[str, Any, Any]] = [("shape", Size(actual.shape), Size(expected.shape))]
        if self.check_dtype:
            attributes.append(("dtype", actual.dtype, expected.dtype))
        if self.check_stride:
            attributes.append(("stride()", _strides(actual._array), _strides(expected._array)))
        for name, a, b in attributes:
            if a != b:
                raise _Mismatch(AssertionError, f"The values for attribute '{name}' do not match: {a} != {b}.", item)
        if actual.dtype is not expected.dtype:
            common = dtypes.promote_types(actual.dtype, expected.dtype).numpy
            a, b = actual._array.astype(common), expected._array.astype(common)
        else:
            a, b = actual._array, expected._array
        with np.errstate(all="ignore"):
            matches = np.asarray(_are_close(a, b, rtol, atol, self.equal_nan))
            if matches.all():
                return
            if not a.ndim:
                text = _numbers_differ(a.item(), b.item(), rtol, atol)
            else:
                text = _tensors_differ(_wide(a), _wide(b), matches, rtol, atol)
        raise _Mismatch(AssertionError, text, item)


def _strides(array: np.ndarray) -> tuple[int, ...]:
    return tuple([step // array.itemsize for step in array.strides])


def _dtype_of(number: Any) -> dtypes.dtype:
    return dtypes.FROM_PYTHON[next(kind for kind in (bool, int, float, complex) if isinstance(number, kind))]


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.int64) if array.dtype.kind in "biu" else array


def _are_close(a: np.ndarray, b: np.ndarray, rtol: float, atol: float, equal_nan: bool) -> Any:
    a, b = _wide(a), _wide(b)
    with np.errstate(all="ignore"):
        close = a == b
        if rtol or atol:
            close = close | (np.isfinite(b) & (abs(a - b) <= atol + abs(rtol * b)))
        return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


def _differ(what: str, rtol: float, atol: float, extra: str, lines: tuple[tuple[str, float], ...]) -> str:
    exact = rtol == 0 and atol == 0
    allowed = ["" if exact else f" (up to {tolerance} allowed)" for tolerance in (atol, rtol)]
    (absolute, a), (relative, r) = lines
    return (f"{what} are not {'equal' if exact else 'close'}!\n\n{extra}\n{absolute.format(a)}{allowed[0]}\n"
            f"{relative.format(r)}{allowed[1]}")


def _numbers_differ(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    return _differ("Scalars", rtol, atol, f"Expected {expected} but got {actual}.",
                   (("Absolute difference: {}", absolute), ("Relative difference: {}", relative)))


def _tensors_differ(a: np.ndarray, b: np.ndarray, matches: np.ndarray, rtol: float, atol: float) -> str:
    wrong = matches.size - int(matches.sum())
    absolute = abs(a - b)
    absolute[matches] = 0
    # torch divides integers in its default dtype, float32.
    relative = absolute / abs(b) if a.dtype.kind != "i" else absolute.astype(np.float32) / abs(b).astype(np.float32)
    relative[matches] = 0
    lines = []
    for name, difference in (("absolute", absolute), ("relative", relative)):
        at = np.unravel_index(np.argmax(difference), difference.shape)
        index = tuple([int(i) for i in at])
        lines.append((f"Greatest {name} difference: {{}} at index {index}", difference[at].item()))
    extra = f"Mismatched elements: {wrong} / {matches.size} ({wrong / matches.size:.1%})"
    return _differ("Tensor-likes", rtol, atol, extra, (lines[0], lines[1]))
