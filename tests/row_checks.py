"""What must hold for every row: checked on one sample of its arguments at a time, without the torch-named functions.

Derivatives are compared with finite differences. Of a complex number the real and the imaginary part are moved, and a
gradient is the pair of both slopes, as in torch; inside the graph gradients travel conjugated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

import whygrad
from whygrad.backends import raw
from whygrad.core.node import Node, row_node
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, grad_fn, wrap
from whygrad.functional.conj_neg import turning
from whygrad.ops.table import TABLE, NoGrad, Row, Rule
from whygrad.ops.vocabulary import Vocabulary

STEP = 1e-5
SHORTER = {np.dtype(np.float64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.complex64)}

EXTREMES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e300, -1e-300, 0.5])

# Rows that may give back memory of an argument although they are not views, and why that is right.
MAY_SHARE = {
    "copy": "the writer copies", "fill": "the writer copies",
    "no_phase": "it only looks at its argument",
    "reshape": "only for results that nobody else can see, and in rules",
    "sum_to": "only in rules; where nothing is to be summed there is nothing to do",
    "unsafe_split": "the pieces are views that are not counted as such",
    "unsafe_split_with_sizes": "the pieces are views that are not counted as such",
}

# Rows that are about the layout of their argument, and need the one in the sample.
OF_LAYOUT = {"as_strided", "reshape_alias", "view", "view_as_complex"}


class Constant(NamedTuple):
    """An argument that is a tensor without gradient, although its dtype could have one."""

    array: np.ndarray


class Sample(NamedTuple):
    """Arguments for a row, and what is special about them."""

    inputs: tuple[Any, ...]
    statics: dict[str, Any]
    # Not smooth at this place: there is a gradient by convention, and no finite difference.
    kink: bool = False
    # What the rule raises, or what differentiating the gradient again raises, where torch has no derivative either.
    fails: type[Exception] | None = None
    second_fails: type[Exception] | None = None
    # The function that the rule differentiates, if it is not the forward itself.
    like: Callable[..., Any] | None = None
    # By position, arguments that cannot move freely: projections to where they must stay.
    within: dict[int, Callable[[np.ndarray], np.ndarray]] = {}
    # Why the second derivative is not the slope of the first, where torch's is not either.
    second_differs: str = ""
    # The results that are differentiated, if not all that can be.
    results: tuple[int, ...] | None = None
    tolerance: float = 1e-6

    def arrays(self) -> list[Any]:
        """The arguments, where they are arrays as fresh ones that nobody may write into."""
        return [read_only(x) for x in (x.array if isinstance(x, Constant) else x for x in self.inputs)]

    def tracked(self, row: Row) -> list[int]:
        """Positions of the arguments that have a gradient."""
        return [i for i, x in enumerate(self.inputs) if isinstance(x, np.ndarray) and x.dtype.kind in "fc"
                and isinstance(rule_of(row, i), Rule)]

    def single(self) -> Sample:
        """The same in single precision."""
        return self._replace(inputs=tuple([Constant(shorter(x.array)) if isinstance(x, Constant) else shorter(x)
                                           for x in self.inputs]),
                             statics={name: shorter(value) for name, value in self.statics.items()})


def read_only(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        x = x.copy("K")
        x.flags.writeable = False
    return x


def shorter(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.astype(SHORTER.get(x.dtype, x.dtype))
    if type(x) is tuple:
        return tuple([shorter(part) for part in x])
    return SHORTER.get(x, x) if isinstance(x, np.dtype) else x


def rule_of(row: Row, position: int) -> Rule | NoGrad:
    return row.rules[row.inputs[0 if row.variadic else position]]


def as_list(row: Row, results: Any) -> list[Any]:
    return [results] if row.outputs != "list" and len(row.outputs) == 1 else list(results)


def in_memory(row: Row, arrays: list[Any], statics: dict[str, Any]) -> list[np.ndarray]:
    """The results on bare arrays, as the backend gives them."""
    with np.errstate(all="ignore"):
        return [np.asarray(x) for x in as_list(row, getattr(raw, row.name)(*arrays, **statics))]


def forward(row: Row, arrays: list[Any], statics: dict[str, Any]) -> list[np.ndarray]:
    """The results as they are read: some views are conjugated or negated then."""
    turn = turning((None, row, statics, None, ())) or np.asarray
    return [turn(x) for x in in_memory(row, arrays, statics)]


class Application:
    """A row applied to a sample, or to other arrays in its place: tensors, results, and the node if there is one."""

    def __init__(self, row: Row, sample: Sample, arrays: list[Any] | None = None,
                 tracked: list[int] | None = None) -> None:
        self.row = row
        self.tracked = sample.tracked(row) if tracked is None else tracked
        self.tensors = [wrap(x) if isinstance(x, np.ndarray) else x
                        for x in (sample.arrays() if arrays is None else arrays)]
        for i in self.tracked:
            self.tensors[i].requires_grad = True
        with np.errstate(all="ignore"):
            self.results: list[Tensor] = as_list(row, apply(row, *self.tensors, **sample.statics))
        nodes = [row_node(grad_fn(t))[0] for t in self.results if t.requires_grad]
        self.node: Node | None = nodes[0] if nodes else None
        # Positions of the results that get a gradient.
        chosen = range(len(self.results)) if sample.results is None else sample.results
        self.chosen = [i for i in chosen if self.results[i].requires_grad]

    def weights(self) -> list[np.ndarray]:
        """A gradient to start with for each of the chosen results."""
        found = []
        for i in self.chosen:
            array = self.results[i]._array
            like = array if array.dtype.kind in "fc" else self.tensors[self.tracked[0]]._array
            found.append(random_like(array.shape, like.dtype, i))
        return found

    def gradients(self, weights: list[Any], reader: str = "raw") -> list[Any]:
        """What the rules give for the tracked arguments, exactly as they give it. A weight may be None."""
        assert self.node is not None
        g: Any = weights[0]
        if self.node.several:
            g = [None] * len(self.results)
            for i, weight in zip(self.chosen, weights, strict=True):
                g[i] = weight
        with np.errstate(all="ignore"):
            found = getattr(self.node, reader)(g, self.node.edges)
        return [found[i] for i in self.tracked]


def random_like(shape: tuple[int, ...], dtype: np.dtype, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    values = generator.uniform(-1.5, 1.5, shape)
    return np.asarray(values + 1j * generator.uniform(-1.5, 1.5, shape) if dtype.kind == "c" else values, dtype)


def check_sample(row: Row, sample: Sample) -> None:
    """All checks of this file."""
    single = sample.single()
    for each in (sample, single):
        check_definition(row, each)
        check_memory(row, each)
    check_single_precision(row, sample, single)
    if row.broadcasts:
        check_extremes(row, sample)
    if not sample.tracked(row):
        check_untracked(row, sample)
    elif sample.fails:
        check_fails(row, sample, sample.fails)
    else:
        check_saved(row, sample)
        check_readers(row, sample)
        check_readers(row, single)
        check_layouts(row, sample)
        check_alone(row, sample)
        if not sample.kink:
            check_first(row, sample)
        if sample.second_fails:
            check_second_fails(row, sample, sample.second_fails)
        elif not sample.kink and not sample.second_differs:
            check_second(row, sample)


def check_reasons(row: Row) -> None:
    """A missing derivative says why."""
    outputs = () if row.outputs == "list" else row.outputs
    for missing in (x for x in (*row.rules.values(), *outputs) if isinstance(x, NoGrad)):
        assert isinstance(missing.reason, str), f"{row.name}: a NoGrad without a reason"
        assert missing.reason.strip(), f"{row.name}: a NoGrad without a reason"


def assert_near(found: np.ndarray, expected: np.ndarray, rtol: float, text: str) -> None:
    """Relative to each number, and to the largest one where others cancel. What should be zero is next to nothing."""
    sizes = np.abs(expected[np.isfinite(expected)]) if expected.dtype.kind in "fc" else np.zeros(1)
    size = max(min(1.0, sizes.max(initial=0.0)), 1e-6)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * size, err_msg=text)


class IsPrimitive(Exception):
    """The row's forward is the backend's function of the same name."""


class Definition(Vocabulary):
    """The raw vocabulary, without the one word that is being defined."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, word: str) -> Any:
        if word == self._name:
            raise IsPrimitive
        if word not in TABLE:
            raise AttributeError(word)
        return getattr(raw, word)


def check_definition(row: Row, sample: Sample) -> None:
    """Where the forward is a composition, the backend's function does the same."""
    try:
        with np.errstate(all="ignore"):
            defined = as_list(row, row.forward(Definition(row.name), *sample.arrays(), **sample.statics))
    except IsPrimitive:
        return
    for i, (ours, theirs) in enumerate(zip(in_memory(row, sample.arrays(), sample.statics), defined, strict=True)):
        theirs = np.asarray(theirs)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), (
            f"result {i}: the backend gives {ours.dtype}{ours.shape}, the definition {theirs.dtype}{theirs.shape}")
        rtol = 2e-5 if ours.dtype.itemsize <= 4 or ours.dtype == np.complex64 else 1e-12
        assert_near(ours, theirs, rtol, f"result {i}: the backend and the definition differ")


def check_memory(row: Row, sample: Sample) -> None:
    """The forward writes into no argument. A view shares memory with the first one, other results with none."""
    arrays = sample.arrays()
    before = [x.tobytes() if isinstance(x, np.ndarray) else None for x in arrays]
    results = in_memory(row, arrays, sample.statics)
    after = [x.tobytes() if isinstance(x, np.ndarray) else None for x in arrays]
    assert before == after, "the forward wrote into an argument"
    for i, result in enumerate(results):
        sharing = [k for k, x in enumerate(arrays) if isinstance(x, np.ndarray) and np.shares_memory(result, x)]
        if row.view:
            assert sharing == [0] or not result.size, f"result {i} of a view does not share memory with its source"
        elif row.name not in MAY_SHARE:
            assert not sharing, f"result {i} shares memory with argument {sharing}"


def check_single_precision(row: Row, sample: Sample, single: Sample) -> None:
    """float32 comes in, float32 comes out, and it is the same number."""
    double = forward(row, sample.arrays(), sample.statics)
    for i, (long, short) in enumerate(zip(double, forward(row, single.arrays(), single.statics), strict=True)):
        wanted = SHORTER.get(long.dtype, long.dtype)
        assert (short.dtype, short.shape) == (wanted, long.shape), (
            f"result {i} of float32 is {short.dtype}{short.shape}")
        assert_near(short, long, 2e-5, f"result {i} in float32")


def check_quiet(row: Row, sample: Sample) -> None:
    """inf and nan are answers, not events: NumPy says nothing about them, but for the rows that are too short for silence."""
    if not row.traits.quiet or "_backward" in row.name:
        return  # the latter run in backward passes only, which are silent as a whole
    for shift in range(len(EXTREMES)):
        arrays = [np.resize(np.roll(EXTREMES, shift * (k + 1)), x.shape).astype(x.dtype)
                  if isinstance(x, np.ndarray) and x.dtype.kind in "fc" else x for k, x in enumerate(sample.arrays())]
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                getattr(raw, row.name)(*arrays, **sample.statics)
            except RuntimeWarning as warning:
                raise AssertionError(f"NumPy warns: {warning}") from None
            except Exception:
                continue  # such numbers are refused


def check_extremes(row: Row, sample: Sample) -> None:
    """The backend and the definition, and both readers, agree about zeros, infinities and NaN too."""
    extreme = sample._replace(inputs=tuple([
        np.resize(EXTREMES[k:], x.shape).astype(x.dtype) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
        for k, x in enumerate(sample.inputs)]))
    check_definition(row, extreme)
    if sample.tracked(row) and not sample.fails:
        check_readers(row, extreme)


def check_untracked(row: Row, sample: Sample) -> None:
    """No argument has a derivative: the result has no history, and says why."""
    floating = [i for i, x in enumerate(sample.inputs) if isinstance(x, np.ndarray) and x.dtype.kind in "fc"]
    applied = Application(row, sample, tracked=floating)
    assert applied.node is None
    if floating:
        assert all(t._cause for t in applied.results), "a result without history has no cause"


def check_fails(row: Row, sample: Sample, error: type[Exception]) -> None:
    """torch has no derivative here: both readers say so."""
    applied = Application(row, sample)
    must_raise(error, lambda: applied.gradients(applied.weights()))
    must_raise(error, lambda: applied.gradients([wrap(w) for w in applied.weights()], "graph"))


def must_raise(error: type[Exception], call: Callable[[], Any]) -> None:
    try:
        call()
    except error as failure:
        raised: Exception = failure
    else:
        raise AssertionError(f"should have raised {error.__name__}")
    assert type(raised) is error, f"{type(raised).__name__} instead of {error.__name__}"
    assert str(raised), "an error without a message"


def check_saved(row: Row, sample: Sample) -> None:
    """A node keeps what the rules of its tracked arguments name, the very same arrays, and nothing else."""
    everything = sample.tracked(row)
    for tracked in [everything] if row.variadic else [everything, *([i] for i in everything)]:
        applied = Application(row, sample, tracked=tracked)
        node = applied.node
        assert node is not None, "no node was recorded"
        if row.variadic:
            values: dict[str, Any] = {row.inputs[0]: tuple([t._array for t in applied.tensors])}
            shapes: dict[str, Any] = {f"{row.inputs[0]}_shape": [t._array.shape for t in applied.tensors]}
        else:
            values = {name: t._array if isinstance(t, Tensor) else t
                      for name, t in zip(row.inputs, applied.tensors, strict=True)}
            shapes = {f"{name}_shape": np.shape(x) for name, x in values.items()}
        values.update(zip(row.output_names, [t._array for t in applied.results], strict=False))
        of_tensors = [rule_of(row, i) for i, t in enumerate(applied.tensors) if isinstance(t, Tensor)]
        named = {name for rule in of_tensors if isinstance(rule, Rule) for name in rule.names}
        wanted = {name for i in tracked for name in rule_of(row, i).names}  # type: ignore[union-attr]
        check_saved_values(node, {name: value if name in wanted else None for name,
                                  value in values.items() if name in named})
        statics = {**row.static_defaults, **sample.statics, **shapes}
        options = [statics[name] for name in (*row.statics, *shapes) if name in named]
        kept = getattr(node, "static", ()) if options else ()
        assert len(kept) == len(options), f"{len(kept)} shapes and options are kept, the rules name {len(options)}"
        assert all(a is b or a == b for a, b in zip(kept, options, strict=True)), "another shape or option is kept"


def check_saved_values(node: Node, expected: dict[str, Any]) -> None:
    if all(value is None for value in expected.values()):
        assert not any(isinstance(x, np.ndarray) for x in node.saved), "saved although no rule names anything"
        return
    kept = dict(zip(expected, node.saved[::3], strict=True))
    for name, value in expected.items():
        if isinstance(value, tuple):
            assert all(a is b for a, b in zip(kept[name], value, strict=True)), f"`{name}` was saved as something else"
        elif isinstance(value, np.ndarray) or isinstance(kept[name], np.ndarray):
            assert kept[name] is value, f"`{name}` was saved as something else, or needlessly"


def check_readers(row: Row, sample: Sample) -> None:
    """Both readers give the same gradients, of the argument's own dtype and shape, and write into nothing."""
    arrays = sample.arrays()
    applied = Application(row, sample, arrays)
    weights = [read_only(w) for w in applied.weights()]
    watched = [x for x in (*arrays, *weights, *(t._array for t in applied.results)) if isinstance(x, np.ndarray)]
    for x in watched:
        x.flags.writeable = False
    before = [x.tobytes() for x in watched]
    on_arrays = applied.gradients(weights)
    assert before == [x.tobytes() for x in watched], "a rule wrote into its arguments"
    on_tensors = applied.gradients([wrap(w) for w in weights], "graph")
    assert before == [x.tobytes() for x in watched], "a rule wrote into its arguments"
    for i, bare, recorded in zip(applied.tracked, on_arrays, on_tensors, strict=True):
        wanted = arrays[i].dtype, arrays[i].shape
        assert (bare is None) == (recorded is None), f"gradient {i}: one reader gives None"
        if bare is None:
            continue
        bare, recorded = np.asarray(bare), recorded._array
        for reader, gradient in (("raw", bare), ("graph", recorded)):
            assert (gradient.dtype, gradient.shape) == wanted, (
                f"gradient {i} ({reader}) is {gradient.dtype}{gradient.shape} for {wanted[0]}{wanted[1]}")
        tolerance = 1e-4 if arrays[i].dtype in SHORTER.values() else 1e-9
        np.testing.assert_allclose(bare, recorded, rtol=tolerance, atol=tolerance,
                                   err_msg=f"gradient {i}: raw reader and graph reader differ")


def check_layouts(row: Row, sample: Sample) -> None:
    """Another order in memory, of arguments or of gradients, changes nothing; nor does a gradient of stride 0."""
    plain = Application(row, sample)
    weights = plain.weights()
    constant = [np.broadcast_to(np.asarray(1.5, w.dtype), w.shape) for w in weights]
    expected = plain.gradients(weights)
    same(plain.gradients([apart(w) for w in weights]), expected, "with a gradient of another layout")
    same(plain.gradients(constant), plain.gradients([w.copy() for w in constant]), "with a gradient of stride 0")
    if row.name in OF_LAYOUT:
        return
    spread = Application(row, sample, [apart(x) for x in sample.arrays()])
    same([t._array for t in spread.results], [t._array for t in plain.results], "of arguments of another layout")
    same(spread.gradients(weights), expected, "for arguments of another layout")


def apart(x: Any) -> Any:
    """The same numbers, column-major and with gaps between them."""
    if not isinstance(x, np.ndarray) or not x.ndim:
        return x
    memory = np.zeros([2 * n for n in reversed(x.shape)], x.dtype)
    result = memory[(slice(None, None, 2),) * x.ndim].T
    result[...] = x
    result.flags.writeable = False
    return result


def same(ours: list[Any], expected: list[Any], where: str) -> None:
    for a, b in zip(ours, expected, strict=True):
        if b is not None:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=f"different {where}")


def check_alone(row: Row, sample: Sample) -> None:
    """One argument alone has the gradient that it has among others; and the results' contributions add up."""
    together = Application(row, sample)
    weights = together.weights()
    expected = together.gradients(weights)
    for i, gradient in zip(together.tracked, expected, strict=True):
        alone = Application(row, sample, tracked=[i])
        same(alone.gradients(weights), [gradient], f"if argument {i} is alone")
    if together.node is not None and together.node.several:
        parts = [together.gradients([w if k == i else None for k, w in enumerate(weights)])
                 for i in range(len(weights))]
        same([np.sum(contributions, axis=0) for contributions in zip(*parts, strict=True)], expected,
             "result by result")


def slopes(function: Callable[[list[np.ndarray]], float], arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Finite differences of a number with respect to each element of each array."""
    found = []
    for k, x in enumerate(arrays):
        slope = np.zeros(x.shape, x.dtype)
        for place in np.ndindex(x.shape):
            for direction in (1, 1j) if x.dtype.kind == "c" else (1,):
                ends = []
                for sign in (1, -1):
                    moved = x.copy()
                    moved[place] += sign * STEP * direction
                    ends.append(function([*arrays[:k], moved, *arrays[k + 1:]]))
                slope[place] += direction * (ends[0] - ends[1]) / (2 * STEP)
        found.append(slope)
    return found


def contracted(values: Iterable[Any], weights: Iterable[np.ndarray]) -> float:
    """One real number out of many, in which each of them, or each of its two parts, counts differently."""
    return float(sum(np.sum((np.conj(w) * np.asarray(x)).real) for x,
                     w in zip(values, weights, strict=True) if x is not None))


def moved_to(sample: Sample, row: Row, moved: list[Any]) -> list[Any]:
    """The sample's arguments, with others in place of the tracked ones."""
    result = sample.arrays()
    for i, x in zip(sample.tracked(row), moved, strict=True):
        result[i] = sample.within[i](x) if i in sample.within else x
    return result


def close(ours: Any, expected: np.ndarray, sample: Sample, position: int, where: str) -> None:
    if ours is None:
        ours = np.zeros_like(expected)
    elif position in sample.within:
        ours = sample.within[position](ours)
    scale = 1 + np.abs(expected).max(initial=0)
    np.testing.assert_allclose(ours, expected, rtol=sample.tolerance, atol=sample.tolerance * scale, err_msg=where)


def check_first(row: Row, sample: Sample) -> None:
    """The gradients are the slopes of the forward."""
    arrays, tracked = sample.arrays(), sample.tracked(row)
    applied = Application(row, sample)
    weights = applied.weights()

    def function(moved: list[np.ndarray]) -> float:
        values = moved_to(sample, row, moved)
        if sample.like is not None:
            return contracted([sample.like(*values)], weights)
        results = forward(row, values, sample.statics)
        return contracted([results[i] for i in applied.chosen], weights)

    gradients = applied.gradients([np.asarray(np.conj(w)) for w in weights])
    for i, gradient, slope in zip(tracked, gradients, slopes(function, [arrays[i] for i in tracked]), strict=True):
        close(None if gradient is None else np.conj(gradient), slope, sample, i, f"derivative for argument {i}")


def second_derivative(row: Row, sample: Sample) -> tuple[list[np.ndarray], list[np.ndarray], list[Any]]:
    """Arguments and weights, directions for the gradients, and the derivative of the contracted graph gradients."""
    arrays, tracked = sample.arrays(), sample.tracked(row)
    applied = Application(row, sample)
    weights = applied.weights()
    g = [wrap(w) for w in weights]
    for t in g:
        t.requires_grad = True
    gradients = applied.gradients(g, "graph")
    directions = [random_like(arrays[i].shape, arrays[i].dtype, 100 + i) for i in tracked]
    recorded = [(t, d) for t, d in zip(gradients, directions, strict=True) if t is not None and t.requires_grad]
    inputs = [*(applied.tensors[i] for i in tracked), *g]
    if not recorded:
        return [t._array for t in inputs], directions, [None] * len(inputs)
    found = whygrad.autograd.grad([t for t, _ in recorded], inputs, [wrap(d) for _, d in recorded], allow_unused=True)
    return [t._array for t in inputs], directions, [None if t is None else t._array for t in found]


def check_second(row: Row, sample: Sample) -> None:
    """The derivative of the graph reader's gradients is the slope of the raw reader's; for the incoming gradient too."""
    tracked = sample.tracked(row)
    at, directions, found = second_derivative(row, sample)

    def function(moved: list[np.ndarray]) -> float:
        applied = Application(row, sample, moved_to(sample, row, moved[:len(tracked)]))
        return contracted(applied.gradients(moved[len(tracked):]), directions)

    names = [*tracked, *([-1] * (len(at) - len(tracked)))]
    for i, derivative, slope in zip(names, found, slopes(function, at), strict=True):
        close(derivative, slope, sample, i,
              f"second derivative for {'the incoming gradient' if i < 0 else f'argument {i}'}")


def check_second_fails(row: Row, sample: Sample, error: type[Exception]) -> None:
    must_raise(error, lambda: second_derivative(row, sample))
