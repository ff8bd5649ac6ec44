"""gradcheck and gradgradcheck: compare gradients with finite differences, and say which entry is wrong.

Fast mode compares one number for each pair of input and output: the jacobian between two random vectors. Functions of
complex outputs are checked twice, once for the real and once for the imaginary part.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

import whygrad
from whygrad.autograd import forward_ad, jacobians
from whygrad.autograd import gradcheck_texts as texts
from whygrad.autograd._functions import UndefinedGrad
from whygrad.autograd.calls import grad
from whygrad.autograd.jacobians import as_tuple, is_floating, tensors_in, wants_grad
from whygrad.autograd.legacy_vmap import _vmap
from whygrad.base import dtypes
from whygrad.base.errors import warn
from whygrad.core.tensor import Tensor

__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian",
           "get_numerical_jacobian_wrt_specific_input", "gradcheck", "gradgradcheck"]

Function = Callable[..., Any]


class GradcheckError(RuntimeError):
    """A gradient is wrong."""


@dataclass
class _Tolerances:
    eps: float
    rtol: float
    atol: float
    nondet_tol: float
    check_grad_dtypes: bool
    fast_mode: bool


@dataclass
class _Part:
    """What is compared: a function whose outputs (for forward mode: inputs) are real, and which part of it that is."""

    func: Function
    inputs: tuple[Any, ...]
    all_outputs: tuple[Any, ...]
    # Positions of the complex outputs or inputs whose real or imaginary part this is about.
    complex_positions: Sequence[int] = ()
    imaginary: bool = False
    forward_mode: bool = False

    @property
    def outputs(self) -> tuple[Any, ...]:
        return _differentiable(self.all_outputs)

    def mismatch(self, i: int, j: int, numerical: Any, analytical: Any) -> str:
        partial = (j if self.forward_mode else i) in self.complex_positions
        only = texts.ONLY_PART.format(part="imaginary" if self.imaginary else "real",
                                      element="inputs" if self.forward_mode else "outputs")
        return texts.MISMATCH.format(part=only if partial else "", output=i, input=j, numerical=numerical,
                                     analytical=analytical, mode="computed with forward mode " if self.forward_mode else "")


def gradcheck(func: Function, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
              masked: bool | None = None) -> bool:
    """Check the gradients of `func` at `inputs` against finite differences; True, or GradcheckError (or False)."""
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    tolerances = _Tolerances(eps, rtol, atol, nondet_tol, check_grad_dtypes, fast_mode)
    try:
        inputs = as_tuple(inputs)
        _check_inputs(inputs)
        all_outputs = as_tuple(func(*inputs))
        outputs = _differentiable(all_outputs)
        if check_backward_ad:
            for part in _by_parts_of_outputs(func, inputs, all_outputs):
                _compare(part, tolerances)
        if check_forward_ad:
            for part in _by_parts_of_inputs(func, inputs, all_outputs):
                _compare(part, tolerances)
                if check_undefined_grad:
                    _check_missing_tangents(part)
        if check_batched_forward_grad:
            _check_batched_forward(func, inputs)
        if check_backward_ad:
            for i, out in enumerate(outputs if check_batched_grad else ()):
                _check_batched(inputs, out, i)
            _check_linear(outputs, inputs, masked)
            if check_undefined_grad:
                _check_missing_gradients(func, outputs, inputs)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Function, inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
                  rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
                  check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
                  fast_mode: bool = False, masked: bool = False) -> bool:
    """Check the second derivatives of `func`: gradcheck of its gradient, as a function of inputs and grad_outputs."""
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    inputs = as_tuple(inputs)
    if grad_outputs is None:
        starts = tuple([_random_start(out, gen_non_contig_grad_outputs) for out in _differentiable(as_tuple(func(*inputs)))])
    else:
        starts = as_tuple(grad_outputs)
    tracked = [wants_grad(x) for x in (*inputs, *starts)]

    def gradient(*args: Any) -> tuple[Any, ...]:
        args = tuple([x.requires_grad_() if track else x for x, track in zip(args, tracked, strict=True)])
        given, going_back = args[:len(inputs)], args[len(inputs):]
        outputs = _differentiable(as_tuple(func(*given)))
        wanted = [x for x, track in zip(given, tracked, strict=False) if track]
        grads = grad(outputs, wanted, going_back, create_graph=True, allow_unused=True)
        return tuple([g for g in grads if g is not None])

    return gradcheck(gradient, inputs + starts, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
                     check_batched_grad=check_batched_grad, fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev,
                     check_backward_ad=check_rev_over_rev, masked=masked)


def _random_start(out: Tensor, noncontiguous: bool) -> Tensor:
    shape = (*out.shape, 2) if noncontiguous and out._array.size > 1 else out.shape
    start = (whygrad.rand(shape, dtype=out.dtype) if not out.is_complex() else  # type: ignore[attr-defined]
             whygrad.complex(whygrad.rand(shape, dtype=out.real.dtype), whygrad.rand(shape, dtype=out.real.dtype)))  # type: ignore[attr-defined]
    start = start * 2 - 1 if not out.is_complex() else start * 2 - (1 + 1j)  # type: ignore[attr-defined]
    if noncontiguous and out._array.size > 1:
        start = start[..., 0]
    return start.detach().requires_grad_()  # type: ignore[no-any-return]


def _differentiable(outputs: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([out for out in outputs if out.requires_grad])


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    found = False
    for i, x in enumerate(inputs):
        if not wants_grad(x):
            continue
        found = True
        if x.dtype not in (dtypes.float64, dtypes.complex128):
            warn(texts.NOT_DOUBLE.format(i=i))
        if x._array.size and any(stride <= 0 and n > 1 for stride, n in zip(x._array.strides, x._array.shape, strict=True)):
            raise RuntimeError(texts.STRIDE_ZERO.format(i=i))
    if not found:
        raise ValueError(texts.NOTHING_TO_CHECK)


def _by_parts_of_outputs(func: Function, inputs: tuple[Any, ...], all_outputs: tuple[Any, ...]) -> list[_Part]:
    """The function itself; if it has complex outputs, its imaginary and its real part."""
    positions = [i for i, out in enumerate(_differentiable(all_outputs)) if out.is_complex()]
    if not any(out.is_complex() for out in all_outputs):
        return [_Part(func, inputs, all_outputs)]

    def part(take: Function, imaginary: bool) -> _Part:
        def real_valued(*args: Any) -> tuple[Any, ...]:
            return tuple([take(out) if out.is_complex() else out for out in as_tuple(func(*args))])

        return _Part(real_valued, inputs, real_valued(*inputs), positions, imaginary)

    return [part(whygrad.imag, True), part(whygrad.real, False)]


def _by_parts_of_inputs(func: Function, inputs: tuple[Any, ...], all_outputs: tuple[Any, ...]) -> list[_Part]:
    """For forward mode: as a function of the imaginary and of the real part of complex inputs."""
    positions = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.is_complex()]  # type: ignore[attr-defined]
    if not positions:
        return [_Part(func, inputs, all_outputs, forward_mode=True)]

    def part(imaginary: bool) -> _Part:
        def of_real(*args: Any) -> tuple[Any, ...]:
            whole = list(args)
            for i in positions:
                whole[i] = inputs[i].real + args[i] * 1j if imaginary else args[i] + inputs[i].imag * 1j
            return as_tuple(func(*whole))

        real_inputs = tuple([(x.imag if imaginary else x.real) if i in positions else x for i, x in enumerate(inputs)])
        return _Part(of_real, real_inputs, of_real(*real_inputs), positions, imaginary, True)

    return [part(True), part(False)]


def _compare(part: _Part, tolerances: _Tolerances) -> None:
    (_compare_vectors if tolerances.fast_mode else _compare_matrices)(part, tolerances)


def _close(a: Tensor, b: Tensor, rtol: float, atol: float) -> bool:
    dtype = whygrad.promote_types(a.dtype, b.dtype)
    return bool(whygrad.allclose(a.to(dtype=dtype), b.to(dtype=dtype), rtol, atol))  # type: ignore[attr-defined]


def _compare_matrices(part: _Part, tolerances: _Tolerances) -> None:
    eps, rtol, atol = tolerances.eps, tolerances.rtol, tolerances.atol
    by_input = jacobians.numerical(part.func, part.inputs, part.all_outputs, eps)
    if not part.outputs:
        if any(np.any(jacobian._array != 0) for row in by_input for jacobian in row):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    numerical = [column for out, column in zip(part.all_outputs, zip(*by_input, strict=True), strict=True) if out.requires_grad]
    if part.forward_mode:
        forward = jacobians.by_forward_mode(part.func, part.inputs, part.all_outputs, None, tolerances.check_grad_dtypes,
                                            GradcheckError)
    for i, (out, expected) in enumerate(zip(part.outputs, numerical, strict=True)):
        found = [row[i] for row in forward] if part.forward_mode else _backward_twice(part.inputs, out, tolerances)
        for j, (a, n) in enumerate(zip(found, expected, strict=True)):
            if not _close(a, n, rtol, atol):
                raise _wrong(part.mismatch(i, j, n, a), part, i, j, n, a)


def _wrong(text: str, part: _Part, i: int, j: int, numerical: Tensor, analytical: Tensor) -> GradcheckError:
    """torch's text shows both matrices; the note names the entry that is furthest off."""
    error = GradcheckError(text)
    off = np.abs(analytical._array - numerical._array)
    row, column = np.unravel_index(int(np.nan_to_num(off, nan=np.inf).argmax()), off.shape)
    x = [x for x in part.inputs if wants_grad(x)][j]._array
    at_input = [int(k) for k in np.unravel_index(row, x.shape)]
    at_output = [int(k) for k in np.unravel_index(column, part.outputs[i]._array.shape)]
    error.add_note(f"why: furthest off is d output {i}{at_output} / d input {j}{at_input}: analytical "
                   f"{analytical._array[row, column]:.6g}, numerical {numerical._array[row, column]:.6g}")
    return error


def _backward_twice(inputs: Any, output: Tensor, tolerances: _Tolerances, v: Tensor | None = None) -> list[Tensor]:
    """The jacobian by backward (or its product with `v`), computed a second time to see that it is the same."""
    first, second = [jacobians.by_backward(inputs, output, jacobians.unit_vectors(output) if v is None else
                                           [v.reshape(output.shape)])  # type: ignore[attr-defined]
                     for _ in range(2)]
    if not _same(first, second, tolerances.nondet_tol):
        raise GradcheckError(texts.NOT_REENTRANT.format(tolerance=tolerances.nondet_tol))
    return first


def _same(first: list[Tensor], second: list[Tensor], tolerance: float) -> bool:
    return not any(a._array.size and np.abs(a._array - b._array).max() > tolerance for a, b in zip(first, second, strict=True))


def _compare_vectors(part: _Part, tolerances: _Tolerances) -> None:
    """Fast mode: u and v are random, and v' J u is compared; in forward mode J u."""
    eps = tolerances.eps
    generator = whygrad.Generator()
    inputs = [x for x in part.inputs if wants_grad(x)]
    us = [(jacobians.random_vector(x, generator, True), jacobians.random_vector(x, generator, True)) if x.is_complex() else  # type: ignore[attr-defined]
          jacobians.random_vector(x, generator, True) for x in inputs]
    vs = None if part.forward_mode else [jacobians.random_vector(out, generator, False) for out in part.outputs]
    floating = [is_floating(out) for out in part.all_outputs]
    numerical: list[list[Tensor]] = []
    for x, u in zip(inputs, us, strict=True):
        products = jacobians.numerical_along(part.func, part.inputs, x, u, eps)
        along = [c for c, keep in zip(products, floating, strict=True) if keep]
        if not part.forward_mode and not part.outputs and any(
                c._array.size and np.abs(c._array).max() > tolerances.nondet_tol for c in along):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        numerical.append(along if vs is None else [(v * c).sum() for v, c in zip(vs, along, strict=False)])  # type: ignore[operator]
    analytical: list[list[Tensor]]
    if vs is None:
        analytical = jacobians.by_forward_mode(part.func, part.inputs, part.all_outputs, us, tolerances.check_grad_dtypes,  # type: ignore[arg-type]
                                               GradcheckError)
    else:
        by_output = [[_dot(row, u) for row, u in zip(_backward_twice(part.inputs, out, tolerances, v), us, strict=True)]
                     for out, v in zip(part.outputs, vs, strict=True)]
        analytical = [list(column) for column in zip(*by_output, strict=True)]
    for j, (expected, found) in enumerate(zip(numerical, analytical, strict=False)):
        for i, (n, a) in enumerate(zip(expected, found, strict=True)):
            scale = sum([float(u._array.sum()) for u in as_tuple(us[j])]) * (1.0 if vs is None else float(vs[i]._array.sum()))
            if not _close(a, n, tolerances.rtol, tolerances.atol * scale):
                slow_n, slow_a = _in_slow_mode(part, i, j, tolerances)
                text = texts.IN_SLOW_MODE.format(numerical=slow_n, analytical=slow_a,
                                                 difference=(slow_n - slow_a).abs().max())  # type: ignore[operator]
                if whygrad.allclose(slow_a, slow_n, tolerances.rtol, tolerances.atol):
                    text += texts.FINE_IN_SLOW_MODE
                raise _wrong(part.mismatch(i, j, n, a) + text, part, i, j, slow_n, slow_a)


def _dot(column: Tensor, u: Any) -> Tensor:
    """The product of a gradient with a direction; of a complex one, part by part."""
    flat: Any = column.reshape(-1)  # type: ignore[attr-defined]
    if not isinstance(u, tuple):
        return flat.dot(u)  # type: ignore[no-any-return]
    return flat.real.dot(u[0]) + 1j * flat.imag.dot(u[1])  # type: ignore[no-any-return]


def _in_slow_mode(part: _Part, i: int, j: int, tolerances: _Tolerances) -> tuple[Tensor, Tensor]:
    """The whole jacobian of one output with respect to one input: numerical, analytical."""
    numerical = jacobians.numerical(part.func, part.inputs, part.all_outputs, tolerances.eps)
    position = next(k for k, out in enumerate(part.all_outputs) if out is part.outputs[i])
    if part.forward_mode:
        analytical = jacobians.by_forward_mode(part.func, part.inputs, part.all_outputs, None, False, GradcheckError)[j][i]
    else:
        analytical = jacobians.by_backward(part.inputs, part.outputs[i], jacobians.unit_vectors(part.outputs[i]))[j]
    return numerical[j][position], analytical


def _check_linear(outputs: tuple[Any, ...], inputs: tuple[Any, ...], masked: bool | None) -> None:
    """Zero sent back must come out as zero, in the dtype and shape of the inputs."""
    wanted = list(tensors_in(inputs))
    if not wanted:
        raise GradcheckError("no Tensors requiring grad found in input")
    if not outputs:
        return
    grads = grad(outputs, wanted, [whygrad.zeros_like(out) for out in outputs], allow_unused=True)
    for g, x in zip(grads, wanted, strict=True):
        if g is None:
            continue
        if not (np.allclose(g._array, 0) if masked else np.all(g._array == 0)):
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype is not x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.shape != x.shape:
            raise GradcheckError("grad is incorrect size")


def _check_missing_gradients(func: Function, outputs: tuple[Any, ...], inputs: tuple[Any, ...]) -> None:
    """Backward must cope with outputs that get no gradient: all of them, then each one."""
    wanted = list(tensors_in(inputs))

    def missing(which: int | None) -> list[Any]:
        found = [out for out in _differentiable(as_tuple(func(*inputs))) if isinstance(out, Tensor)]
        return [UndefinedGrad()(out) if which in (None, i) else out for i, out in enumerate(found)]

    for which in [None, *range(len(outputs))] if len(outputs) > 1 else [None]:
        roots = missing(which)
        if not roots:
            continue
        try:
            grads = grad(roots, wanted, [whygrad.zeros_like(out) for out in roots], allow_unused=True)
        except RuntimeError as error:
            warn(texts.UNDEFINED_IS_NEW)
            raise GradcheckError(texts.UNDEFINED_FAILS) from error
        if any(g is not None and np.any(g._array != 0) for g in grads):
            warn(texts.UNDEFINED_IS_NEW)
            raise GradcheckError(texts.UNDEFINED_NOT_ZERO)


def _check_missing_tangents(part: _Part) -> None:
    """A missing tangent must be the same as one of zeros."""
    generator = whygrad.Generator()
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x.detach(), jacobians.random_vector(x, generator, True).view_as(x))  # type: ignore[attr-defined]
                 if wants_grad(x) else x for x in part.inputs]
        for i, x in enumerate(part.inputs):
            if not wants_grad(x):
                continue
            plain = x.detach()
            tangents = []
            for instead in (forward_ad.make_dual(plain, whygrad.zeros_like(x)), plain):
                results = as_tuple(part.func(*duals[:i], instead, *duals[i + 1:]))
                tangents.append([forward_ad.unpack_dual(out)[1] for out in results if is_floating(out)])
            for k, (zero, none) in enumerate(zip(*tangents, strict=True)):
                if zero is not None and none is not None and not whygrad.allclose(zero, none):
                    raise GradcheckError("Mismatch in tangent values for output with index: ", k, " when input: ", x,
                                         " has an undefined tangent value. ", " Got: ", zero, " but expected: ", none)


def _check_batched(inputs: tuple[Any, ...], out: Tensor, i: int) -> None:
    """Two gradients sent back as a batch must give what they give one after the other."""
    wanted = list(tensors_in(inputs))
    starts = [whygrad.randn_like(out) for _ in range(2)]
    expected = [grad(out, wanted, v, retain_graph=True, allow_unused=True) for v in starts]
    try:
        found = grad(out, wanted, whygrad.stack(starts), retain_graph=True, allow_unused=True, is_grads_batched=True)
    except RuntimeError as error:
        raise GradcheckError(texts.WHILE_BATCHED.format(error=error, advice=texts.BATCHED)) from error
    for j, (got, *one_by_one) in enumerate(zip(found, *expected, strict=True)):
        if got is None or one_by_one[0] is None:
            continue
        stacked = whygrad.stack(one_by_one)
        if not whygrad.allclose(got, stacked):
            raise GradcheckError(texts.BATCHED_DIFFERS.format(output=i, input=j, advice=texts.BATCHED, got=got, expected=stacked))


def _check_batched_forward(func: Function, inputs: tuple[Any, ...]) -> None:
    """Two tangents as a batch must give what they give one after the other."""
    for i, x in enumerate(inputs):
        if not wants_grad(x):
            continue

        def along(tangent: Tensor, i: int = i, x: Tensor = x) -> tuple[Any, ...]:
            with forward_ad.dual_level():
                plain = [y.detach() if isinstance(y, Tensor) else y for y in inputs]  # type: ignore[attr-defined]
                plain[i] = forward_ad.make_dual(x.detach(), tangent)  # type: ignore[attr-defined]
                unpacked = [forward_ad.unpack_dual(out) for out in as_tuple(func(*plain)) if out is not None]
                return tuple([whygrad.zeros_like(value) if t is None else t for value, t in unpacked])

        tangents = [whygrad.randn_like(x) for _ in range(2)]
        expected = [whygrad.stack(pair) for pair in zip(*[along(t) for t in tangents], strict=True)]
        try:
            found = _vmap(along)(whygrad.stack(tangents))
        except RuntimeError as error:
            raise GradcheckError(texts.WHILE_BATCHED.format(error=error, advice=texts.BATCHED_FORWARD)) from error
        for k, (got, wanted) in enumerate(zip(found, expected, strict=True)):
            if not whygrad.allclose(got, wanted):
                raise GradcheckError(texts.BATCHED_DIFFERS.format(output=k, input=k, advice=texts.BATCHED_FORWARD, got=got,
                                                                  expected=wanted))


def _deprecated(name: str, grad_out: float) -> None:
    warn(texts.DEPRECATED.format(name=name), FutureWarning)
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def get_numerical_jacobian(fn: Function, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0) -> Any:
    """The jacobians of the first output of `fn(inputs)` with respect to the tensors in `target`."""
    _deprecated("get_numerical_jacobian", grad_out)
    outputs = as_tuple(fn(inputs))
    wanted = list(tensors_in(inputs if target is None else target))
    return tuple([get_numerical_jacobian_wrt_specific_input(lambda *args: fn(args), None, inputs, outputs, eps, x)[0]
                  for x in wanted])


def get_numerical_jacobian_wrt_specific_input(fn: Function, input_idx: Any, inputs: Any, outputs: Any, eps: float,
                                              input: Tensor | None = None, is_forward_ad: bool = False) -> Any:
    """The jacobian of each output of `fn(*inputs)` with respect to one input."""
    x = inputs[input_idx] if input is None else input
    if not x.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    return tuple(jacobians.numerical(lambda _: fn(*as_tuple(inputs)), (x,), outputs, eps)[0])


def get_analytical_jacobian(inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0) -> Any:
    """(jacobians, whether a second backward gave the same, sizes are right, dtypes are right)."""
    _deprecated("get_analytical_jacobian", grad_out)
    if output.is_complex():  # type: ignore[attr-defined]
        raise ValueError("Expected output to be non-complex. get_analytical_jacobian no longer supports functions that return "
                         "complex outputs.")
    first, second = [jacobians.by_backward(inputs, output, jacobians.unit_vectors(output)) for _ in range(2)]
    return tuple(first), _same(first, second, nondet_tol), True, True


class _CallableModule(ModuleType):
    """`torch.autograd.gradcheck` is the function, and also a module from which names are imported."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
