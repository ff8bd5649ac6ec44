"""L-BFGS: a quasi-Newton method that evaluates the loss several times a step.

Inside, all parameters are one flat vector. The state is kept as torch keeps it, as tensors under the first parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from whygrad.autograd.grad_mode import enable_grad, no_grad
from whygrad.core.tensor import Tensor, wrap
from whygrad.core.write import bump
from whygrad.optim.optimizer import Optimizer
from whygrad.optim.options import as_number, check_options

# Loss and flat gradient, `step_size` along `direction` away from the start of a line search.
Evaluate = Callable[[Any, np.ndarray], tuple[float, np.ndarray]]


class LBFGS(Optimizer):
    """Steps along `-H g`, where `H` is built from the last `history_size` changes of the gradient."""

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check_options(lr=lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_eval, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Iterate up to `max_iter` times; `closure` clears the gradients, computes the loss and calls backward."""
        group = self.param_groups[0]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        max_iter, max_eval = group["max_iter"], group["max_eval"]
        lr = as_number(group["lr"])
        search = group["line_search_fn"]
        closure = enable_grad()(closure)

        kept = self.state[self._params[0]]
        kept.setdefault("func_evals", 0)
        kept.setdefault("n_iter", 0)
        first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        kept["func_evals"] += 1
        gradient = self._flat_gradient()
        if np.abs(gradient).max() <= tolerance_grad:
            return first_loss

        history = History({key: lowered(value) for key, value in kept.items()}, group["history_size"])
        iterations = 0
        while iterations < max_iter:
            iterations += 1
            kept["n_iter"] += 1
            first = kept["n_iter"] == 1
            direction = history.first_direction(gradient) if first else history.direction(gradient)
            history.gradient = gradient.copy()
            previous_loss = history.loss = loss
            t: Any = min(1.0, 1.0 / np.abs(gradient).sum()) * lr if first else lr
            history.t = t
            slope = gradient.dot(direction)
            if slope > -tolerance_change:
                break
            new_evaluations = 0
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                evaluate = self._evaluate_from([p._array.copy() for p in self._params], closure)
                loss, gradient, t, new_evaluations = strong_wolfe(evaluate, t, direction, loss, gradient, slope,
                                                                  max_ls=max_eval - evaluations)
                history.t = t
                self._move(t, direction)
            else:
                self._move(t, direction)
                if iterations != max_iter:
                    loss = float(closure())
                    gradient = self._flat_gradient()
                    new_evaluations = 1
            evaluations += new_evaluations
            kept["func_evals"] += new_evaluations
            if (iterations == max_iter or evaluations >= max_eval or np.abs(gradient).max() <= tolerance_grad
                    or np.abs(direction * t).max() <= tolerance_change or abs(loss - previous_loss) < tolerance_change):
                break
        kept.update({key: lifted(value) for key, value in history.state().items()})
        return first_loss

    def _flat_gradient(self) -> np.ndarray:
        return np.concatenate([_flat(np.zeros_like(p._array) if p.grad is None else p.grad.to_dense()._array)
                               for p in self._params])

    def _move(self, t: Any, direction: np.ndarray) -> None:
        offset = 0
        for p in self._params:
            array = p._array
            parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
            for i, part in enumerate(parts):
                part += t * direction[offset + i:offset + array.size * len(parts):len(parts)].reshape(array.shape)
            bump(p)
            offset += array.size * len(parts)

    def _evaluate_from(self, start: list[np.ndarray], closure: Callable[[], Any]) -> Evaluate:
        def evaluate(t: Any, direction: np.ndarray) -> tuple[float, np.ndarray]:
            self._move(t, direction)
            loss = float(closure())
            gradient = self._flat_gradient()
            for p, array in zip(self._params, start, strict=True):
                p._array[...] = array
                bump(p)
            return loss, gradient

        return evaluate


class History:
    """The curvature history: the last changes of the gradient and the steps that caused them."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.size = size
        self.d: Any = state.get("d")
        self.t: Any = state.get("t")
        self.changes: list[Any] = state.get("old_dirs", [])
        self.steps: list[Any] = state.get("old_stps", [])
        # One over (change dot step).
        self.ro: list[Any] = state.get("ro", [])
        self.scale: Any = state.get("H_diag", 1)
        self.gradient: Any = state.get("prev_flat_grad")
        self.loss: Any = state.get("prev_loss")
        self.al: list[Any] | None = state.get("al")

    def state(self) -> dict[str, Any]:
        state = {"d": self.d, "t": self.t, "old_dirs": self.changes, "old_stps": self.steps, "ro": self.ro,
                 "H_diag": self.scale, "prev_flat_grad": self.gradient, "prev_loss": self.loss}
        return state if self.al is None else {**state, "al": self.al}

    def first_direction(self, gradient: np.ndarray) -> np.ndarray:
        self.d = -gradient
        return self.d

    @np.errstate(all="ignore")
    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Append the last step, then apply the implied inverse Hessian by the two-loop recursion."""
        change = gradient - self.gradient
        step = self.d * self.t
        curvature = change.dot(step)
        if curvature > 1e-10:
            if len(self.changes) == self.size:
                for past in (self.changes, self.steps, self.ro):
                    past.pop(0)
            self.changes.append(change)
            self.steps.append(step)
            self.ro.append(1.0 / curvature)
            self.scale = curvature / change.dot(change)
        if self.al is None:
            self.al = [None] * self.size
        q = -gradient
        for i in reversed(range(len(self.changes))):
            self.al[i] = self.steps[i].dot(q) * self.ro[i]
            q -= self.al[i] * self.changes[i]
        q *= self.scale
        for i in range(len(self.changes)):
            q += (self.al[i] - self.changes[i].dot(q) * self.ro[i]) * self.steps[i]
        self.d = q
        return q


def strong_wolfe(evaluate: Evaluate, t: Any, d: np.ndarray, f: float, g: np.ndarray, gtd: Any, c1: float = 1e-4,
                 c2: float = 0.9, tolerance_change: float = 1e-9, max_ls: int = 25
                 ) -> tuple[float, np.ndarray, Any, int]:
    """A line search for a step along `d` that satisfies the strong Wolfe conditions: (loss, gradient, step, evaluations).

    A point is (step, loss, gradient, slope along `d`). First the step grows until two points bracket a good one, then
    the bracket shrinks.
    """
    d_norm = np.abs(d).max()

    def point(t: Any) -> tuple[Any, float, np.ndarray, Any]:
        loss, gradient = evaluate(t, d)
        return t, loss, gradient, gradient.dot(d)

    start = previous = (0, f, g, gtd)
    new = point(t)
    evaluations = 1
    iterations = 0
    done = False
    bracket = None
    while iterations < max_ls:
        t, f_new, _, gtd_new = new
        if f_new > f + c1 * t * gtd or (iterations > 1 and f_new >= previous[1]):
            bracket = [previous, new]
        elif abs(gtd_new) <= -c2 * gtd:
            bracket = [new]
            done = True
        elif gtd_new >= 0:
            bracket = [previous, new]
        if bracket is not None:
            break
        bounds = t + 0.01 * (t - previous[0]), t * 10
        t = cubic_interpolate(previous, new, bounds)
        previous, new = new, point(t)
        evaluations += 1
        iterations += 1
    if bracket is None:
        bracket = [start, new]

    stuck = False
    low, high = (0, 1) if bracket[0][1] <= bracket[-1][1] else (1, 0)
    while not done and iterations < max_ls:
        left, right = sorted((bracket[0][0], bracket[1][0]))
        if (right - left) * d_norm < tolerance_change:
            break
        t = cubic_interpolate(bracket[0], bracket[1])
        # A step too close to an end of the bracket twice in a row, or outside it, is moved inwards.
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = point(t)
        evaluations += 1
        iterations += 1
        _, f_new, _, gtd_new = new
        if f_new > f + c1 * t * gtd or f_new >= bracket[low][1]:
            bracket[high] = new
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if abs(gtd_new) <= -c2 * gtd:
                done = True
            elif gtd_new * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new
    t, f_new, g_new, _ = bracket[low]
    return f_new, g_new, t, evaluations


@np.errstate(all="ignore")
def cubic_interpolate(a: tuple[Any, ...], b: tuple[Any, ...], bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimum of the cubic through two points with their slopes, within `bounds`."""
    (x1, f1, _, g1), (x2, f2, _, g2) = a, b
    low, high = bounds or ((x1, x2) if x1 <= x2 else (x2, x1))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    d2_square = d1**2 - g1 * g2
    if not d2_square >= 0:
        return (low + high) / 2.0
    d2 = np.sqrt(d2_square)
    if x1 <= x2:
        lowest = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        lowest = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(lowest, low), high)


def _flat(array: np.ndarray) -> np.ndarray:
    flat = array.reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def lowered(value: Any) -> Any:
    """A value of the state for computation: tensors become arrays, 0-dim tensors NumPy scalars."""
    if isinstance(value, list):
        return [lowered(x) for x in value]
    return value._array[()] if isinstance(value, Tensor) else value


def lifted(value: Any) -> Any:
    """The inverse of `lowered`."""
    if isinstance(value, list):
        return [lifted(x) for x in value]
    return wrap(np.asarray(value)) if isinstance(value, np.ndarray | np.generic) else value
