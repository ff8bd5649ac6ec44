"""Rules for custom Functions: backward is compared with finite differences of forward; forward called without apply()."""

from __future__ import annotations

import ast
import contextlib
import io
from typing import Any

import numpy as np

from whygrad.base.frames import is_of_package
from whygrad.why import engine, record
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.engine import array_of, function_of, grad_of, is_tensor, kind_of, without_grad, wrap
from whygrad.why.gradient_flow import gradient_state
from whygrad.why.locations import SourceLocation, locate_all, location_of_line
from whygrad.why.program_text import syntax_tree
from whygrad.why.question import Question
from whygrad.why.record import Site
from whygrad.why.rules import Provisional
from whygrad.why.run_facts import FunctionSample


def wrong_custom_backward(q: Question) -> Provisional | None:
    """The gradient passed a custom Function, whose backward is checked at the end of the run."""
    for sample in [] if q.trace is None else [sample for samples in q.watch.samples.values() for sample in samples]:
        node = sample.node()
        if node is not None and node in q.on_path and sample.grads is not None:
            return _provisional_mismatch(node, sample)
    return None


def called_without_apply(q: Question) -> Explanation | None:
    """The gradient passed ops recorded in the forward of a custom Function: it was called without apply()."""
    if not _custom_forwards():
        return None
    symptom = "zero" if gradient_state(grad_of(q.t)) == "zero" else "wrong-value"
    answers = (called_directly(step.node.site, symptom) for step in q.steps if step.node in q.on_path)
    return next((answer for answer in answers if answer is not None), None)


def called_directly(site: Site | None, symptom: str) -> Explanation | None:
    """The explanation for an op recorded in the forward of a custom Function: apply() records no inner ops."""
    function = None if site is None else _custom_forwards().get(site[0])
    if site is None or function is None or (record.watching is not None and function in record.watching.samples):
        return None
    name, file = function.__name__, site[0].co_filename
    lines = [n.lineno for n in ast.walk(syntax_tree(file) or ast.Module([], [])) if isinstance(n, ast.Call)
             and ast.unparse(n.func).endswith(f"{name}.forward")]
    return Explanation(
        f"the backward of {name} was never called", "custom-backward",
        f"{name}.forward was called directly, instead of {name}.apply: so its ops are recorded one by one (here {at(site)}), and "
        f"{name}.backward does not take part at all. Only apply() puts a custom Function into the graph.",
        f"call {name}.apply(...), without ctx.", [location_of_line(file, line) for line in lines] + locate_all(site),
        symptom=symptom)


def _custom_forwards() -> dict[Any, Any]:
    """Custom Functions by the code object of their forward."""
    pending: list[Any] = engine.current.function_class.__subclasses__()
    found = {}
    while pending:
        function = pending.pop()
        pending += function.__subclasses__()
        plain = vars(function).get("forward")
        if isinstance(plain, staticmethod) and not is_of_package(plain.__func__):
            found[getattr(plain.__func__, "__code__", None)] = function
    return found


def _provisional_mismatch(node: Any, sample: FunctionSample) -> Provisional:
    function = function_of(node)
    return Provisional(mismatch(function, sample.site), lambda: is_wrong(function, sample))


def mismatch(function: Any, site: Site) -> Explanation:
    """The derivative of a custom Function, applied at this site, is wrong."""
    name = function.__name__
    return Explanation(
        "this gradient is not the derivative of the forward", "custom-backward",
        f"It came through {name}, applied {at(site)}, and {name}.backward does not return the derivative of "
        f"{name}.forward: finite differences of the forward give another value. backward has to return the incoming gradient "
        "(grad_output) times the local derivative, for each argument.",
        f"correct the formula in {name}.backward; check it with torch.autograd.gradcheck on float64 inputs.",
        locate_all(site) + returns_of(function), symptom="wrong-value")


def return_places(node: Any) -> list[SourceLocation]:
    return returns_of(function_of(node))


def returns_of(function: Any) -> list[SourceLocation]:
    """The return statements of a custom backward; its last line if there is none."""
    code = getattr(getattr(function, "backward", None), "__code__", None)
    module = None if code is None else syntax_tree(code.co_filename)
    if code is None or module is None:
        return []
    for n in ast.walk(module):
        first = min([n.lineno, *[d.lineno for d in n.decorator_list]]) if isinstance(n, ast.FunctionDef) else 0
        if isinstance(n, ast.FunctionDef) and first == code.co_firstlineno:
            lines = [r.lineno for r in ast.walk(n) if isinstance(r, ast.Return)] or [n.body[-1].lineno]
            return [location_of_line(code.co_filename, line, code.co_name) for line in lines]
    return []


def is_wrong(function: Any, sample: FunctionSample) -> bool:
    """True if the backward of a custom Function contradicts finite differences of its forward.

    Deliberate deviations are accepted: an identity with another gradient (gradient reversal, clipping), a step function
    with a surrogate gradient (straight-through estimators).
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return _contradicts(function, sample)
    except Exception:  # the program's own code, run once more, may raise anything
        return False


def _contradicts(function: Any, sample: FunctionSample) -> bool:
    moving = [i for i, a in enumerate(sample.args) if is_tensor(a) and kind_of(a) == "f"
              and i < len(sample.grads) and isinstance(sample.grads[i], np.ndarray)]
    return any(_contradicts_at(function, sample, i) for i in moving)


def _forward(function: Any, sample: FunctionSample, i: int, shift: Any) -> np.ndarray | None:
    args = list(sample.args)
    for k, a in enumerate(args):
        if is_tensor(a):
            exact = array_of(a).astype(np.float64) if kind_of(a) == "f" else array_of(a).copy()
            args[k] = wrap(exact + shift if k == i else exact)

    with without_grad():
        result = function.apply(*args)
    return array_of(result).astype(np.float64) if is_tensor(result) else None


def _contradicts_at(function: Any, sample: FunctionSample, i: int) -> bool:
    x = array_of(sample.args[i]).astype(np.float64)
    given = np.asarray(sample.grads[i], np.float64)
    incoming = np.asarray(sample.incoming, np.float64)
    unshifted, again = _forward(function, sample, i, 0.0), _forward(function, sample, i, 0.0)
    if unshifted is None or unshifted.shape != incoming.shape or not np.array_equal(unshifted, again):  # type: ignore[arg-type]
        return False
    if unshifted.shape == x.shape and np.allclose(unshifted, x):
        return False  # an identity exists for its gradient
    if given.shape != x.shape:
        return False
    if unshifted.shape == x.shape and _is_elementwise(function, sample, i, x, unshifted):
        slope = _derivative_along(function, sample, i, np.ones_like(x), x)
        # Where the forward is flat, a surrogate gradient may be intended.
        telling = np.zeros(x.shape, bool) if slope is None else slope != 0
        expected = incoming * (0 if slope is None else slope)
        return not np.allclose(given[telling], expected[telling], rtol=0.02, atol=1e-3 * _max_abs(expected))
    direction = np.random.default_rng(0).standard_normal(x.shape)
    slope = _derivative_along(function, sample, i, direction, x)
    if slope is None or not slope.any():
        return False
    wanted, found = float((incoming * slope).sum()), float((given * direction).sum())
    return abs(wanted - found) > 0.02 * max(abs(wanted), abs(found)) + 1e-4


def _is_elementwise(function: Any, sample: FunctionSample, i: int, x: np.ndarray, unshifted: np.ndarray) -> bool:
    half = (np.arange(x.size) % 2 == 0).reshape(x.shape)
    moved = _forward(function, sample, i, half * 1e-3)
    return moved is not None and np.array_equal(moved[~half], unshifted[~half])


def _max_abs(x: np.ndarray) -> float:
    return float(np.abs(x).max()) if x.size else 0.0


def _derivative_along(function: Any, sample: FunctionSample, i: int, direction: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """The directional derivative; None if two step sizes disagree (a kink or a jump)."""
    slopes = []
    for step in (1e-5, 1e-4):
        width = step * (1 + np.abs(x).max())
        above, below = (_forward(function, sample, i, sign * width * direction) for sign in (1, -1))
        if above is None or below is None or above.shape != below.shape:
            return None
        slopes.append((above - below) / (2 * width))
    tolerance = 1e-3 * _max_abs(slopes[0]) + 1e-15
    if not np.isfinite(slopes[0]).all() or not np.allclose(slopes[0], slopes[1], rtol=1e-2, atol=tolerance):
        return None
    return slopes[0]
