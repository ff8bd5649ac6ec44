"""Running one operator's samples on both sides."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import mpmath
import numpy as np
import torch

import whygrad

from .tables import ErrorInput, OpInfo, SampleInput, op_db
from .translate import Impossible, Missing, Translator, our_function

DTYPES = (torch.float64, torch.float32, torch.int64, torch.bool)
EXTRA_DTYPES = (torch.complex128,)  # counted on their own

# What such a function returns is whatever the memory held: shape and dtype are compared.
UNDEFINED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_",
             "resize_as_")

# Of larger samples, second derivatives are left out.
LARGE = 100_000

# torch does not say which one of several equal elements is meant: an index is right if it points at the same value.
ANY_OF_EQUALS = ("sort", "argsort", "topk", "kthvalue", "mode")

# Where torch's own result in float64 is off (by 1e-7 between 5 and 8): what is closer to the exact value is right.
EXACT = {"special.bessel_j0": lambda x: mpmath.besselj(0, x), "special.bessel_j1": lambda x: mpmath.besselj(1, x),
         "special.bessel_y0": lambda x: mpmath.bessely(0, x), "special.bessel_y1": lambda x: mpmath.bessely(1, x)}

# Not part of what programs call, or not for the CPU: left out, with the reason that the page gives.
LEFT_OUT = {
    "jiterator_": "compiles CUDA source",
    "slice$": "internal kernel",
    "torch.": "internal kernel",
    "_": "private",
    "native_dropout": "internal kernel",
    "max_pool2d_with_indices_backward": "internal kernel",
    "sparse.": "sparse layout",
    "to_sparse": "sparse layout",
    "bmm.triton_optimized": "for Triton",
}


def full_name(op: OpInfo) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def reason_left_out(name: str) -> str | None:
    for start, reason in LEFT_OUT.items():
        if f"{name}$".startswith(start) and not name.startswith("__"):
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
        passed, total = (self.passed, self.total) if self.total else (self.complex_passed, self.complex_total)
        if self.missing or not passed:
            return "missing"
        return "supported" if passed == total else "partly"

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


class Side(NamedTuple):
    """A library, the function as it is called there, its arguments and those of them that want a gradient."""

    lib: Any
    function: Callable[..., Any]
    arguments: tuple[Any, tuple[Any, ...], dict[str, Any]]
    leaves: list[Any]


class Sample:
    """One sample on both sides, compared step by step; `check` gives the first difference."""

    def __init__(self, op: OpInfo, variant: Variant, sample: SampleInput, order: int) -> None:
        self.op, self.sample, self.variant = op, sample, variant
        self.order = order if op.supports_gradgrad or order < 2 else 1
        translate = Translator()
        theirs = changed((sample.input, tuple(sample.args), dict(sample.kwargs)), as_leaf)
        ours = translate(theirs)
        pairs = [(a, b) for a, b in translate.pairs if a.requires_grad]
        if sum(a.numel() for a, _ in pairs) > LARGE:
            self.order = min(self.order, 1)
        self.sides = [Side(torch, variant.theirs, theirs, [a for a, _ in pairs]),
                      Side(whygrad, variant.here(), ours, [b for _, b in pairs])]

    def check(self) -> str | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            difference = self._difference(self.sides)
            if difference and any(t.dtype is torch.float32 for t in flatten(self.sides[0].arguments)):
                # In float32 the one who is closer to the result in float64 is right.
                known: dict[int, Any] = {}
                arguments = changed(self.sides[0].arguments, as_double, known)
                leaves = [known[id(t)] for t in self.sides[0].leaves]
                difference = self._difference([*self.sides, Side(torch, self.variant.theirs, arguments, leaves)])
            return difference

    def _difference(self, sides: list[Side]) -> str | None:
        results, errors = zip(*[attempt(lambda: self._call(side)) for side in sides], strict=True)
        if any(errors):
            return compare_errors(*errors[:2])
        return self._compare_results(results) or self._compare_gradients(sides, results)

    def _call(self, side: Side) -> Any:
        input, args, kwargs = side.arguments
        if self.variant.label == " in place" and isinstance(input, side.lib.Tensor):
            input = input.clone()
        side.lib.manual_seed(42)
        out = side.function(input, *args, **kwargs)
        process = self.sample.output_process_fn_grad
        return process(out) if side.lib is torch else our_function(process)(out)

    def _compare_results(self, results: Sequence[Any]) -> str | None:
        difference = compare(results, values=self.op.name not in UNDEFINED)
        if difference and self.op.name in EXACT and len(results) == 2:
            exact = np.vectorize(lambda x: float(EXACT[self.op.name](x).real), [np.float64])(self.sides[1].arguments[0]._array)
            return compare([*results, torch.from_numpy(exact)])
        if difference and self.op.name in ANY_OF_EQUALS and not self.sample.kwargs.get("stable"):
            theirs, ours = results[:2]
            if isinstance(theirs, tuple):
                if compare((theirs[0], ours[0])):
                    return difference
                theirs, ours = theirs[1], ours[1]
            x = self.sides[1].arguments[0]
            return None if points_at_equals(x._array, theirs.numpy(), ours._array) else difference
        return difference

    def _compare_gradients(self, sides: list[Side], results: Sequence[Any]) -> str | None:
        if not sides[0].leaves:
            return None
        outs = differentiable(results)
        for order in range(1, self.order + 1):
            if not outs:
                return None
            grads, errors = zip(*[attempt(lambda: side.lib.autograd.grad(
                values, side.leaves, [weights(out, side.lib) for out in values], create_graph=order < self.order,
                allow_unused=True)) for side, values in zip(sides, zip(*outs, strict=True), strict=True)], strict=True)
            if errors[0] and order > 1:
                return None
            if any(errors):
                difference = compare_errors(*errors[:2])
            else:
                if order > 1:
                    grads = [[zeros_for(g, leaf, side.lib) for g, leaf in zip(gs, side.leaves, strict=True)]
                             for gs, side in zip(grads, sides, strict=True)]
                difference = compare(grads, loose=10.0 ** order, noise=rounding(grads[0]), history=False)
            if difference:
                return f"gradient {order}: {difference}"
            outs = differentiable(grads)
        return None


def zeros_for(gradient: Any, leaf: Any, lib: Any) -> Any:
    """Of second derivatives, None is as good as zeros."""
    return lib.zeros_like(leaf) if gradient is None else gradient


def rounding(gradients: Any) -> float:
    """In float32, what cancels out leaves noise in proportion to the largest number around."""
    sizes = [t.detach().abs().nan_to_num(0, 0, 0).amax().item() for t in flatten(gradients)
             if t.dtype is torch.float32 and t.numel()]
    return TOLERANCE[torch.float32] * max([0.0, *sizes])


def changed(value: Any, change: Callable[[Any], Any], known: dict[int, Any] | None = None) -> Any:
    """A structure with every tensor and dtype changed; one tensor used twice stays one tensor, as `known` tells by its id."""
    known = {} if known is None else known
    if isinstance(value, (tuple, list)):
        return type(value)([changed(v, change, known) for v in value])
    if isinstance(value, dict):
        return {k: changed(v, change, known) for k, v in value.items()}
    if isinstance(value, (torch.Tensor, torch.dtype)):
        if id(value) not in known:
            known[id(value)] = change(value)
        return known[id(value)]
    return value


def as_double(value: Any) -> Any:
    """float64 for float32."""
    if isinstance(value, torch.dtype):
        return torch.float64 if value is torch.float32 else value
    return value.detach().double().requires_grad_(value.requires_grad) if value.dtype is torch.float32 else value


def as_leaf(value: Any) -> Any:
    """Some samples are views, made in no_grad mode, of a tensor that requires grad: what they ask for goes to that one."""
    is_stray = isinstance(value, torch.Tensor) and value.requires_grad and value.is_leaf and value._base is not None
    return value.detach().requires_grad_() if is_stray else value


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


def compare(results: Sequence[Any], where: str = "", *, values: bool = True, loose: float = 1.0, noise: float = 0.0,
            history: bool = True) -> str | None:
    """The first difference in structure, dtype, shape, requires_grad and values.

    `results` are torch's and ours; a third one may be what torch computes in float64.
    """
    theirs, ours = results[:2]
    if isinstance(theirs, (tuple, list)):
        if not isinstance(ours, (tuple, list)) or len(theirs) != len(ours):
            return f"{where} {type(theirs).__name__} of {len(theirs)}, here {str(ours)[:80]}"
        for i, items in enumerate(zip(*results, strict=True)):
            difference = compare(items, f"{where}[{i}]", values=values, loose=loose, noise=noise, history=history)
            if difference:
                return difference
        return None
    if not isinstance(theirs, torch.Tensor):
        same = str(theirs) == str(ours) or (isinstance(theirs, (float, complex)) and np.isclose(
            theirs, ours, rtol=1e-6, equal_nan=True))
        return None if same else f"{where} {str(theirs)[:80]}, here {str(ours)[:80]}"
    if not isinstance(ours, whygrad.Tensor):
        return f"{where} a tensor, here {type(ours).__name__}"
    if str(theirs.dtype) != str(ours.dtype):
        return f"{where} dtype {theirs.dtype}, here {ours.dtype}"
    if tuple(theirs.shape) != tuple(ours.shape):
        return f"{where} shape {tuple(theirs.shape)}, here {tuple(ours.shape)}"
    if history and theirs.requires_grad != ours.requires_grad:
        return f"{where} requires_grad {theirs.requires_grad}"
    return compare_values(results, where, loose, noise) if values else None


def compare_values(results: Sequence[Any], where: str, loose: float, noise: float) -> str | None:
    expected, found, *truth = [as_array(t) for t in results]
    tolerance = TOLERANCE.get(results[0].dtype, 0) * loose
    if not tolerance:
        good = np.asarray(found == expected)
    else:
        good = np.isclose(found, expected, rtol=tolerance, atol=max(tolerance, noise), equal_nan=True)
        if truth:
            good |= np.abs(found - truth[0]) <= np.abs(expected - truth[0])
    if good.all():
        return None
    place = tuple(np.argwhere(~good)[0].tolist())
    return f"{where} {expected[place]} at {list(place)}, here {found[place]} ({np.sum(~good)} of {good.size})"


def as_array(t: Any) -> np.ndarray:
    """In a dtype that NumPy knows."""
    if isinstance(t, whygrad.Tensor):
        return t._array.astype(np.float32) if str(t.dtype) == "torch.bfloat16" else t._array
    t = t.detach().resolve_conj().resolve_neg()
    wider = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
    return t.to(wider.get(t.dtype, t.dtype)).numpy(force=True)


def flatten(value: Any) -> list[Any]:
    """All tensors in a structure."""
    if isinstance(value, (torch.Tensor, whygrad.Tensor)):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [t for v in values for t in flatten(v)]


def differentiable(results: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The tensors that have a history on all sides."""
    return [ts for ts in zip(*map(flatten, results), strict=True) if all(t.requires_grad for t in ts)]


def weights(like: Any, lib: Any) -> Any:
    """Fixed numbers as the incoming gradient, so that every element counts for itself."""
    rng = np.random.default_rng(like.numel())
    values = rng.uniform(0.5, 1.5, tuple(like.shape))
    if like.is_complex():
        values = values + 1j * rng.uniform(-1, 1, tuple(like.shape))
    return lib.from_numpy(np.asarray(values)).to(getattr(lib, str(like.dtype).removeprefix("torch.")))
