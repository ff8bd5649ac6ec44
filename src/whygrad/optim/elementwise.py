"""The step of elementwise optimizers, which are all but LBFGS.

Such an optimizer is its defaults, the names of its buffers, and one `update`, written with operators and
`xp.<function>`. It has two readers. On NumPy arrays it runs block by block, so that a large parameter and its buffers
pass through the cache once. With `differentiable=True` it runs on Tensors, and the step itself is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import chain
from operator import attrgetter, itemgetter
from types import SimpleNamespace
from typing import Any

import numpy as np

from whygrad.autograd.grad_mode import enable_grad
from whygrad.backends.fp_warnings import restore, silence
from whygrad.base import acceleration, dtypes
from whygrad.base.meta_array import MetaArray
from whygrad.base.version import Version
from whygrad.core.modes import process_state
from whygrad.core.tensor import Tensor, wrap
from whygrad.core.write import bump
from whygrad.functional.run import FUNCTIONS
from whygrad.optim.optimizer import Optimizer
from whygrad.optim.options import as_number, with_numbers
from whygrad.why import record as why

# Elements of a block: few enough for the cache, and enough that NumPy reuses the memory of temporaries (from 256 KB).
BLOCK = 131072
FLOAT32 = np.dtype(np.float32)

Numbers = dict[str, Any]

grad_of, array_of, size_of = attrgetter("_grad"), attrgetter("_array"), attrgetter("size")

# The vocabulary of `update`, beside operators.
ARRAYS = SimpleNamespace(sqrt=np.sqrt, abs=np.abs, sign=np.sign, maximum=np.maximum, where=np.where, clip=np.clip,
                         detach=lambda x: x)


class Rounded(np.ndarray):
    """A float32 array that is rounded to bfloat16 wherever a torch op within `update` ends.

    Products, differences and quotients of arrays are not rounded before they are added to something, because torch has one
    op for both (addcmul, lerp, addcdiv). The factor of a plain addition (torch's `alpha`) is rounded too.
    """

    waits = False
    alpha: tuple[float, Any] | None = None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        plain = [x.view(np.ndarray) if isinstance(x, Rounded) else x for x in inputs]
        second = inputs[-1]
        if ufunc in (np.add, np.subtract) and isinstance(second, Rounded) and second.alpha is not None:
            number, array = second.alpha
            plain[1] = array * rounded(np.float32(number))
        result = getattr(ufunc, method)(*plain, **options)
        if out:
            out[0].view(np.ndarray)[...] = rounded(result)
            return out[0]
        ends = ufunc in (np.add, np.sqrt) or (ufunc is np.divide and not isinstance(second, Rounded))
        result = (rounded(result) if ends else result).view(Rounded)
        result.waits = not ends
        if ufunc is np.multiply and isinstance(inputs[0], (int, float)) and not second.waits:
            result.alpha = inputs[0], plain[1]
        return result

    def __setitem__(self, place: Any, values: Any) -> None:
        super().__setitem__(place, rounded(np.asarray(values)))


def rounded(values: Any) -> Any:
    return values.astype(dtypes.bfloat16.numpy).astype(FLOAT32)


class Stepping(Optimizer):
    """`step` for optimizers that define `step_group`."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure`, if given, computes the loss and its gradients anew."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        token = silence()
        try:
            for group in self.param_groups:
                self.step_group(group)
        finally:
            restore(token)
        return loss

    def step_group(self, group: dict[str, Any]) -> None:
        raise NotImplementedError


class Elementwise(Stepping):
    """`step_group` for optimizers that define `update`."""

    # The per-parameter tensors, in the order of the arguments of `update`.
    names: tuple[str, ...] = ()
    # Per-parameter scalars, stored as 0-dim tensors: name -> initial value.
    scalars: dict[str, float] = {"step": 0.0}
    # The name in torch's message about `capturable` for the tensors that must be on another device.
    capturable_tensors = "params and state_steps"
    # Sparse gradients: "" refuses them, "rows" updates only the rows present in the gradient.
    takes_sparse = ""
    # The last result of `advance` in this step.
    _numbers_now: Numbers = {}
    capturable_devices: tuple[str, ...] = ("cuda", "xpu", "hpu", "privateuseone", "xla")

    def buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        """`names`, where they do not depend on the options."""
        return self.names

    def first_value(self, name: str, group: dict[str, Any]) -> Any:
        """The initial value of a buffer or a scalar."""
        return self.scalars.get(name, 0.0)

    def advance(self, p: Tensor, state: dict[str, Any], numbers: Numbers) -> Numbers:
        """Increment the step count; returns the options for `update`, with those that depend on the parameter's state."""
        step = state["step"]._array
        count = float(step) + 1
        step.fill(count)  # a quarter of the time of `step += 1`
        if self._numbers_now.get("step") != count:  # most parameters have the same step count as the previous one
            self._numbers_now = {**numbers, "step": float(step)}
        return self._numbers_now

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        """Update `p` and the buffers in place (`+=`, `p[...] =`). `g` and all else must not be modified.

        When `update` is called, `maximize` and `weight_decay` have been applied already.
        """
        raise NotImplementedError

    def step_group(self, group: dict[str, Any]) -> None:
        differentiable = group.get("differentiable", False)
        numbers = group if differentiable else with_numbers(group)
        names = self.buffers(group)
        special = group.get("capturable") or group.get("fused")
        self._numbers_now = {}
        grouped = GroupedUpdate(self.update)
        if acceleration.enabled and not (differentiable or special or process_state.meta) and self._gather(
                group["params"], numbers, names, grouped):
            grouped.finish()
            return
        run = partial(on_tensors, self.update) if differentiable else grouped.add if acceleration.enabled else partial(
            on_arrays, self.update)
        try:
            for p in group["params"]:
                grad = p._grad if p._grad is not None else p.grad
                if grad is None:
                    continue
                if special:
                    self.check_device(p, group)
                state = self.state[p] if names else {}
                if not state:
                    self.initialize(p, state, group)
                numbers_now = self.advance(p, state, numbers)
                buffers = [state[name] for name in names]
                if type(grad._array) is np.ndarray:
                    run(p, grad, numbers_now, buffers)
                elif type(grad._array) is not MetaArray:
                    self.step_sparse(p, grad, numbers_now, buffers)
        finally:
            grouped.finish()

    def _gather(self, params: list[Tensor], numbers: Numbers, names: tuple[str, ...], grouped: GroupedUpdate) -> bool:
        """The fast path of `step_group`: `map` in place of a Python loop; False if a parameter needs the loop."""
        try:
            gradients = list(map(array_of, map(grad_of, params)))
            states = list(map(self.state.__getitem__, params)) if names else []  # made for those that have a gradient
            buffers = [list(map(array_of, map(itemgetter(name), states))) for name in names]
        except (AttributeError, KeyError):  # there is none
            return False
        if set(map(type, gradients)) != {np.ndarray}:
            return False
        together = self.advance_all(states, numbers)
        if together is None:
            return False
        grouped.numbers, grouped.params = together, params
        grouped.arrays = list(chain.from_iterable(zip(map(array_of, params), gradients, *buffers, strict=True)))
        return True

    def advance_all(self, states: list[dict[str, Any]], numbers: Numbers) -> Numbers | None:
        """`advance` for parameters of which all have the same step count; None if they have not, or are not to be advanced so."""
        if type(self).advance is not Elementwise.advance or not states:
            return None
        steps = list(map(array_of, map(itemgetter("step"), states)))
        if len(set(map(np.ndarray.item, steps))) != 1:
            return None
        count = float(steps[0]) + 1
        for step in steps:
            step.fill(count)
        return {**numbers, "step": float(steps[0])}

    def step_sparse(self, p: Tensor, grad: Any, numbers: Numbers, buffers: list[Tensor]) -> None:
        """Update the rows that are present in a sparse gradient."""
        if not self.takes_sparse:
            raise no_sparse(self)
        if numbers.get("weight_decay"):
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        on_rows(self.update, p, grad, numbers, buffers)

    def check_device(self, p: Tensor, group: dict[str, Any]) -> None:
        """Refuse options that are valid only on other devices or for some dtypes."""
        if group.get("capturable"):
            raise AssertionError(f"If capturable=True, {self.capturable_tensors} must be on supported devices: "
                                 f"{list(self.capturable_devices)}.")
        if group.get("fused") and p._array.dtype.kind == "c":
            raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported "
                               "devices: ['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone'] but "
                               f"{p.dtype} and {p.device.type}")

    def initialize(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Create the state of a parameter at its first step."""
        for name in self.scalars:
            state[name] = scalar(self.first_value(name, group))
        for name in self.buffers(group):
            value = as_number(self.first_value(name, group))
            if p._array.dtype.kind == "c":
                value = complex(value, value)
            state[name] = wrap(np.full_like(p._array, value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # Older checkpoints have plain numbers.
        for kept in self.state.values():
            for name in self.scalars:
                if name in kept and not isinstance(kept[name], Tensor):
                    kept[name] = scalar(kept[name])


class GroupedUpdate:
    """`on_arrays` for all parameters of a group with equal options: collects them for one kernel call."""

    def __init__(self, update: Callable[..., None]) -> None:
        self.update = update
        self.numbers: Numbers = {}
        self.params: list[Tensor] = []
        self.arrays: list[np.ndarray] = []  # the arrays of all collected parameters, concatenated

    def add(self, p: Tensor, grad: Tensor, numbers: Numbers, buffers: list[Tensor]) -> None:
        if p._array.dtype is not FLOAT32:
            on_arrays(self.update, p, grad, numbers, buffers)
            return
        if numbers is not self.numbers and numbers != self.numbers:
            self.finish()
            self.numbers = numbers
        self.params.append(p)
        self.arrays += [p._array, grad._array, *[b._array for b in buffers]]

    def finish(self) -> None:
        params, arrays = self.params, self.arrays
        if not params:
            return
        self.params, self.arrays = [], []
        each = len(arrays) // len(params)
        # Our updates depend on their options only. A user's may depend on more, and a cache must not keep it alive.
        ours = self.update.__module__.startswith("whygrad.optim.")
        update = _with_decay(self.update) if ours else partial(_decay_and_update, self.update)
        step = acceleration.make_step(update, self.numbers, each, sum(map(size_of, arrays[::each])), pure=ours)
        site, further = why.site(), _further_writes(self.update, self.numbers)
        done = 0
        while done < len(params):
            changed = step(arrays[done * each:]) if step is not None else 0
            for p in params[done:done + changed]:
                version = p._lazy_version
                if type(version) is Version and version.site is not None:  # `bump`, where it was called before
                    version.value += 1 + further
                    version.site = site
                    continue
                bump(p, site=site)
                if further:
                    p._version_counter.value += further
            done += changed
            if done < len(params):  # an update that cannot be compiled
                _change(self.update, params[done], arrays[done * each:(done + 1) * each], self.numbers)
                done += 1


def on_arrays(update: Callable[..., None], p: Tensor, grad: Tensor, numbers: Numbers, buffers: list[Tensor]) -> None:
    _change(update, p, [p._array, grad._array, *[b._array for b in buffers]], numbers)


def _change(update: Callable[..., None], p: Tensor, arrays: list[np.ndarray], numbers: Numbers) -> None:
    """One step of one parameter, given its array, its gradient and its buffers."""
    kind = p._array.dtype.kind
    if kind == "c":
        # A complex parameter is updated as a real one with twice as many elements.
        _in_blocks(update, [a.real for a in arrays], numbers)
        _in_blocks(update, [a.imag for a in arrays], numbers)
    elif kind == "V":
        # bfloat16: NumPy would compute in float32 in any case, and refuse to write the result back.
        wide: list[np.ndarray] = [a.astype(np.float32) for a in arrays]
        if not numbers.get("fused"):  # which is one op
            wide = [a.view(Rounded) for a in wide]
        _in_blocks(update, wide, numbers)
        for i, (narrow, result) in enumerate(zip(arrays, wide, strict=True)):
            if i != 1:
                narrow[...] = result.astype(narrow.dtype)
    else:
        _in_blocks(update, arrays, numbers)
    bump(p)
    p._version_counter.value += _further_writes(update, numbers)


def _further_writes(update: Callable[..., None], numbers: Numbers) -> int:
    """Writes into the parameter in torch's step beyond the first: decoupled decay is one, NAdam and ASGD have a second."""
    decay = numbers.get("weight_decay") and numbers.get("decoupled_weight_decay") and not numbers.get("fused")
    return bool(decay) + (update.__qualname__ in ("NAdam.update", "ASGD.update"))


def on_rows(update: Callable[..., None], p: Tensor, grad: Any, numbers: Numbers, buffers: list[Tensor]) -> None:
    """`on_arrays` for the elements present in a sparse gradient; the others are not touched."""
    gradient = grad.coalesce()._array
    index = tuple(gradient.places)
    arrays = [p._array, *[b._array for b in buffers]]
    parts = [a[index] for a in arrays]
    _decay_and_update(update, ARRAYS, numbers, parts[0], gradient.values, *parts[1:])
    for a, part in zip(arrays, parts, strict=True):
        a[index] = part
    bump(p)


def no_sparse(optimizer: Optimizer) -> RuntimeError:
    name = type(optimizer).__name__
    if name in ("Adam", "AdamW"):
        return RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")
    return RuntimeError(f"{name} does not support sparse gradients")


def _in_blocks(update: Callable[..., None], arrays: list[np.ndarray], numbers: Numbers) -> None:
    size = arrays[0].size
    if size <= BLOCK or not all(a.flags.c_contiguous for a in arrays):
        _decay_and_update(update, ARRAYS, numbers, *arrays)
        return
    flat = [a.reshape(-1) for a in arrays]
    for start in range(0, size, BLOCK):
        _decay_and_update(update, ARRAYS, numbers, *[a[start:start + BLOCK] for a in flat])


def on_tensors(update: Callable[..., None], p: Tensor, grad: Tensor, numbers: Numbers, buffers: list[Tensor]) -> None:
    if p._array.dtype.kind == "c":
        raise NotImplementedError("differentiable=True is not supported for complex parameters")
    xp = SimpleNamespace(**{name: FUNCTIONS[name] for name in ("sqrt", "abs", "sign", "where", "clip", "detach")})
    xp.maximum = lambda a, b: FUNCTIONS["maximum"](a.clone(), b)
    with enable_grad():
        # Copies, because backward may need values that the next step overwrites.
        changed: list[Any] = [p, *buffers]
        copies = [t.clone() for t in changed]
        _decay_and_update(update, xp, numbers, copies[0], grad, *copies[1:])
        for t, result in zip(changed, copies, strict=True):
            t.copy_(result)


def _decay_and_update(update: Callable[..., None], xp: Any, numbers: Numbers, p: Any, g: Any, *buffers: Any) -> None:
    if numbers["maximize"]:
        g = -g
    weight_decay = numbers.get("weight_decay", 0)
    if weight_decay != 0:
        if numbers.get("decoupled_weight_decay"):
            p *= 1 - numbers["lr"] * weight_decay
        else:
            g = g + weight_decay * p
    update(xp, p, g, numbers, *buffers)


@cache
def _with_decay(update: Callable[..., None]) -> Callable[..., None]:
    return partial(_decay_and_update, update)


def lerp_(start: Any, end: Any, weight: Any) -> None:
    """Interpolate a buffer towards `end`, with the formula that loses least precision (as torch does)."""
    if weight < 0.5:
        start += weight * (end - start)
    else:
        start[...] = end - (end - start) * (1 - weight)


def scalar(value: Any) -> Tensor:
    """A scalar of the state, in the default dtype but at least float32."""
    wide = dtypes.get_default_dtype() is dtypes.float64
    return wrap(np.array(as_number(value), np.float64 if wide else np.float32))
