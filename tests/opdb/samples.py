"""Running one operator's samples on both sides."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import ErrorInput, OpInfo, SampleInput

import whygrad

from .translate import Impossible, Missing, Translator, our_function

DTYPES = (torch.float64, torch.float32, torch.int64, torch.bool)
EXTRA_DTYPES = (torch.complex128,)  # counted on their own

# What such a function returns is whatever the memory held: shape and dtype are compared.
UNDEFINED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_",
             "resize_as_")

# torch does not say which one of several equal elements is meant: an index is right if it points at the same value.
ANY_OF_EQUALS = ("sort", "argsort", "topk", "kthvalue", "mode")

# Not part of what programs call, or not for the CPU: left out, with the reason that the page gives.
LEFT_OUT = {
    "jiterator_": "compiles CUDA source",
    "torch.": "internal kernel",
    "_": "private",
    "native_": "internal kernel",
    "max_pool2d_with_indices_backward": "internal kernel",
    "sparse.": "sparse layout",
    "to_sparse": "sparse layout",
    "bmm.triton_optimized": "for Triton",
}


def full_name(op: OpInfo) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def reason_left_out(name: str) -> str | None:
    for start, reason in LEFT_OUT.items():
        if name.startswith(start) and not name.startswith("__"):
            return reason
    return None


def public_ops() -> dict[str, OpInfo]:
    ops = {full_name(op): op for op in op_db}
    return {name: op for name, op in ops.items() if reason_left_out(name) is None and op.supported_dtypes("cpu")}


@dataclass
class Report:
    """What became of an operator's samples."""

    passed: int = 0
    total: int = 0
    complex_passed: int = 0
    complex_total: int = 0
    missing: bool = False
    failures: list[str] = field(default_factory=list)

    @property
    def state(self) -> str:
        if self.missing or not self.passed:
            return "missing"
        return "supported" if self.passed == self.total else "partly"

    def count(self, good: bool, is_complex: bool) -> None:
        if is_complex:
            self.complex_total += 1
            self.complex_passed += good
        else:
            self.total += 1
            self.passed += good


def check_op(op: OpInfo, limit: int | None = None, order: int = 2, errors: bool = True,
             dtypes: tuple[Any, ...] = (*DTYPES, *EXTRA_DTYPES)) -> Report:
    """Run all samples, or the first `limit` of each dtype. Methods and in-place methods run on three of each dtype."""
    report = Report()
    variants = our_variants(op)
    report.missing = variants[0].ours is None
    for dtype in dtypes:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        name, is_extra = str(dtype).removeprefix("torch."), dtype in EXTRA_DTYPES
        for i, sample in enumerate(samples_of(op, dtype, limit)):
            for variant in variants if i < 3 else variants[:1]:
                _judge(report, f"{name} {i}{variant.label}", lambda: Sample(op, variant, sample, order).check(), is_extra)
    if errors and op.error_inputs_func is not None:
        for i, error in enumerate(itertools.islice(op.error_inputs("cpu"), limit)):
            _judge(report, f"error {i}", lambda: check_error(variants[0], error), False)
    return report


def _judge(report: Report, where: str, check: Callable[[], str | None], is_complex: bool) -> None:
    try:
        difference = check()
    except Impossible:
        return
    except Missing as missing:
        difference = f"no {missing}"
    except Exception as error:
        difference = describe(error)
    report.count(difference is None, is_complex)
    if difference is not None:
        report.failures.append(f"{where}: {difference}")


class Variant(NamedTuple):
    """A way to call an operator: as a function, a method, or the method that works in place."""

    label: str
    theirs: Callable[..., Any]
    ours: Callable[..., Any] | None
    name: str

    def here(self) -> Callable[..., Any]:
        if self.ours is None:
            raise Missing(self.name)
        return self.ours


def our_variants(op: OpInfo) -> list[Variant]:
    """The function first."""
    variants = []
    for label, theirs in (("", op.get_op()), (" method", op.get_method()), (" in place", op.get_inplace())):
        if theirs is None:
            continue
        try:
            variants.append(Variant(label, theirs, our_function(theirs), ""))
        except Missing as missing:
            variants.append(Variant(label, theirs, None, str(missing)))
    return variants


def samples_of(op: OpInfo, dtype: torch.dtype, limit: int | None) -> Iterator[SampleInput]:
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    differentiable = (op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
                      and (dtype.is_floating_point or dtype.is_complex))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=differentiable), limit)


class Sample:
    """One sample on both sides, compared step by step; `check` gives the first difference."""

    def __init__(self, op: OpInfo, variant: Variant, sample: SampleInput, order: int) -> None:
        self.op, self.sample = op, sample
        self.theirs, self.ours = variant.theirs, variant.here()
        self.order = order if op.supports_gradgrad or order < 2 else 1
        self.translate = Translator()
        self.input = self.translate(sample.input)
        self.args = self.translate(tuple(sample.args))
        self.kwargs = self.translate(dict(sample.kwargs))
        self.in_place = variant.label == " in place"

    def check(self) -> str | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs, their_error = attempt(lambda: self._call(self.theirs, self.sample.input, self.sample.args,
                                                             self.sample.kwargs, torch))
            ours, our_error = attempt(lambda: self._call(self.ours, self.input, self.args, self.kwargs, whygrad))
            if their_error or our_error:
                return compare_errors(their_error, our_error)
            return self._compare(theirs, ours) or self._compare_gradients(theirs, ours)

    def _call(self, function: Any, input: Any, args: Any, kwargs: Any, lib: Any) -> Any:
        if self.in_place and isinstance(input, lib.Tensor):
            input = input.clone()
        lib.manual_seed(42)
        out = function(input, *args, **kwargs)
        process = self.sample.output_process_fn_grad
        return process(out) if lib is torch else our_function(process)(out)

    def _compare(self, theirs: Any, ours: Any) -> str | None:
        difference = compare(theirs, ours, values=self.op.name not in UNDEFINED)
        if difference and self.op.name in ANY_OF_EQUALS and not self.sample.kwargs.get("stable"):
            many = isinstance(theirs, tuple)
            if many and compare(theirs[0], ours[0]):
                return difference
            a, b = (theirs[1], ours[1]) if many else (theirs, ours)
            return None if points_at_equals(self.input._array, a.numpy(), b._array) else difference
        return difference

    def _compare_gradients(self, theirs: Any, ours: Any) -> str | None:
        leaves = [(a, b) for a, b in self.translate.pairs if a.requires_grad]
        outs = differentiable_pairs(theirs, ours)
        for order in range(1, self.order + 1):
            if not leaves or not outs:
                return None
            create = order < self.order
            (their_grads, their_error), (our_grads, our_error) = [
                attempt(lambda side=side, lib=lib: lib.autograd.grad(
                    [pair[side] for pair in outs], [pair[side] for pair in leaves],
                    [weights(pair[0], lib) for pair in outs], create_graph=create, allow_unused=True))
                for side, lib in enumerate((torch, whygrad))]
            if their_error and order > 1:
                return None
            if their_error or our_error:
                difference = compare_errors(their_error, our_error)
                return difference and f"gradient {order}: {difference}"
            difference = compare(tuple(their_grads), tuple(our_grads), f"gradient {order}", loose=10.0 ** order,
                                 history=False)
            if difference:
                return difference
            outs = differentiable_pairs(their_grads, our_grads)
        return None


def points_at_equals(x: np.ndarray, theirs: np.ndarray, ours: np.ndarray) -> bool:
    """Whether two indices along some axis find the same values, none of them twice."""
    for axis in range(x.ndim):
        a, b = (i if i.ndim == x.ndim else np.expand_dims(i, axis) for i in (theirs, ours))
        if [n for d, n in enumerate(a.shape) if d != axis] != [n for d, n in enumerate(x.shape) if d != axis]:
            continue
        in_order = np.sort(b, axis)
        if (np.array_equal(np.take_along_axis(x, a % x.shape[axis], axis), np.take_along_axis(x, b, axis))
                and np.all(np.diff(in_order, axis=axis) > 0)):
            return True
    return False


def attempt(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return call(), None
    except Exception as error:
        return None, error


def compare_errors(theirs: Exception | None, ours: Exception | None) -> str | None:
    if theirs is None:
        return f"raises {describe(ours)}"
    if ours is None:
        return f"does not raise {describe(theirs)}"
    if type(theirs).__name__ == type(ours).__name__:
        return None
    return f"raises {describe(ours)} instead of {describe(theirs)}"


def describe(error: Exception | None) -> str:
    text = str(error).split("\n")[0]
    return f"{type(error).__name__}: {text[:150]}"


def check_error(variant: Variant, error: ErrorInput) -> str | None:
    sample = error.sample_input
    theirs, ours = variant.theirs, variant.here()
    translate = Translator()
    arguments = translate((sample.input, tuple(sample.args), dict(sample.kwargs)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, their_error = attempt(lambda: theirs(sample.input, *sample.args, **sample.kwargs))
        _, our_error = attempt(lambda: ours(arguments[0], *arguments[1], **arguments[2]))
    if their_error is None:
        return None  # torch's own test wants a warning, or another build
    return compare_errors(their_error, our_error)


TOLERANCE = {torch.float64: 1e-8, torch.complex128: 1e-8, torch.float32: 2e-5, torch.complex64: 2e-5,
             torch.float16: 2e-3, torch.bfloat16: 2e-2}


def compare(theirs: Any, ours: Any, where: str = "result", *, values: bool = True, loose: float = 1.0,
            history: bool = True) -> str | None:
    """The first difference in structure, dtype, shape, requires_grad and values."""
    if isinstance(theirs, (tuple, list)):
        if not isinstance(ours, (tuple, list)) or len(theirs) != len(ours):
            return f"{where}: {type(theirs).__name__} of {len(theirs)}, here {str(ours)[:80]}"
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            difference = compare(a, b, f"{where}[{i}]", values=values, loose=loose, history=history)
            if difference:
                return difference
        return None
    if not isinstance(theirs, torch.Tensor):
        same = str(theirs) == str(ours) or (isinstance(theirs, (float, complex)) and np.isclose(
            theirs, ours, rtol=1e-6, equal_nan=True))
        return None if same else f"{where}: {str(theirs)[:80]}, here {str(ours)[:80]}"
    if not isinstance(ours, whygrad.Tensor):
        return f"{where}: a tensor, here {type(ours).__name__}"
    if str(theirs.dtype) != str(ours.dtype):
        return f"{where}: dtype {theirs.dtype}, here {ours.dtype}"
    if tuple(theirs.shape) != tuple(ours.shape):
        return f"{where}: shape {tuple(theirs.shape)}, here {tuple(ours.shape)}"
    if history and theirs.requires_grad != ours.requires_grad:
        return f"{where}: requires_grad {theirs.requires_grad}"
    return compare_values(theirs, ours, where, loose) if values else None


def compare_values(theirs: torch.Tensor, ours: whygrad.Tensor, where: str, loose: float) -> str | None:
    a = theirs.detach().resolve_conj().resolve_neg()
    tolerance = TOLERANCE.get(a.dtype, 0) * loose
    if a.dtype in (torch.bfloat16, torch.complex32):
        a, b = a.to(torch.complex64 if a.is_complex() else torch.float32), ours._array.astype(
            np.complex64 if a.is_complex() else np.float32)
    else:
        b = ours._array
    expected = a.numpy(force=True)
    good = np.isclose(b, expected, rtol=tolerance, atol=tolerance, equal_nan=True) if tolerance else b == expected
    if np.all(good):
        return None
    worst = np.argwhere(~np.asarray(good))[0]
    place = tuple(worst.tolist())
    return f"{where}: {expected[place]} at {list(place)}, here {b[place]} ({np.sum(~np.asarray(good))} of {b.size})"


def differentiable_pairs(theirs: Any, ours: Any) -> list[tuple[Any, Any]]:
    if isinstance(theirs, torch.Tensor):
        return [(theirs, ours)] if theirs.requires_grad and ours.requires_grad else []
    if isinstance(theirs, (tuple, list)):
        return [pair for a, b in zip(theirs, ours, strict=True) for pair in differentiable_pairs(a, b)]
    return []


def weights(like: torch.Tensor, lib: Any) -> Any:
    """Fixed numbers as the incoming gradient, so that every element counts for itself."""
    rng = np.random.default_rng(like.numel())
    values = rng.uniform(0.5, 1.5, tuple(like.shape))
    if like.is_complex():
        values = values + 1j * rng.uniform(-1, 1, tuple(like.shape))
    dtype = getattr(lib, str(like.dtype).removeprefix("torch."))
    return lib.tensor(values.tolist(), dtype=dtype).reshape(tuple(like.shape))
