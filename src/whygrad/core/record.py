"""The only door into the graph: run a row's forward, and record a node if a gradient may be asked for.

`record` is the plain way, and the specification. It serves every mode in which there is more to an application than usual;
otherwise a row is applied by a function made for its exact arguments, which does the same faster (backends/row_text.py). A
test compares both on samples of every row. The gradient functions of a row, `raw` on arrays and `graph` on Tensors, are
compiled from its rules at the first backward. What the *kinds* of arguments are says ops/plan.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from whygrad.backends import raw as raw_vocabulary
from whygrad.backends import tensor as tensor_vocabulary
from whygrad.backends.half_precision import in_float32, is_bfloat16, rounded_gradient
from whygrad.backends.memory_order import follow, in_columns, with_channels_as_in
from whygrad.backends.numpy_convert import cast_values
from whygrad.backends.row_text import (
    fill_missing,
    gradient_source,
    node_source,
    recorder_source,
    run_text,
    sum_to_shapes,
    unwatched_source,
)
from whygrad.backends.ufunc_writes import in_place
from whygrad.base import acceleration, errors
from whygrad.base.broadcasting import check_broadcast
from whygrad.base.dtypes import before_bfloat16
from whygrad.base.frames import internal_modules, user_frame
from whygrad.base.version import InferenceVersion, Swapped, Version
from whygrad.core import door
from whygrad.core.modes import grad_state, needs_slow_path, process_state
from whygrad.core.node import AccumulateGrad, Node, next_sequence_number, port_of
from whygrad.core.registered import registered
from whygrad.core.tensor import TURNED, TURNING, Tensor, View, known_source, source, wrap
from whygrad.ops.plan import RowPlan
from whygrad.ops.table import TABLE, NoGrad, Row
from whygrad.why import record as why

new = object.__new__
FLOAT32, INT64 = np.dtype(np.float32), np.dtype(np.int64)


class RowNode(Node):
    """A node that was recorded for a row. Its gradient functions are compiled when they are first called."""

    __slots__ = ()

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        gradients: tuple[Any, ...] = type(self).layout.gradient("raw")(self, g, edges)
        return gradients

    def graph(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        gradients: tuple[Any, ...] = type(self).layout.gradient("graph")(self, g, edges)
        return gradients


class RowSpecialization(RowPlan):
    """How one row is recorded for one combination of argument kinds."""

    def __init__(self, row: Row, kinds: str) -> None:
        super().__init__(row, kinds)
        self.classes: dict[str, type[Node]] = {}
        self.gradients: dict[str, Callable[..., Any]] = {}
        self.forward: Callable[..., Any] = getattr(raw_vocabulary, row.name)
        acceleration.bind_again(vars(self), "forward", self.forward)
        # Whether writes in place may become a kernel. Some words of NumPy's write by themselves.
        self.has_written_kernel = row.broadcasts and not hasattr(self.forward, "into")

    def node_class(self, name: str) -> type[Node]:
        found = self.classes.get(name)
        if found is None:
            members = {"__slots__": ("ports",) if self.several else (), "__module__": "torch.autograd.graph",
                       "layout": self, "several": self.several, **self.gradients}
            found = self.classes[name] = type(name, (RowNode,), members)
        return found

    def gradient(self, reader: str) -> Callable[..., Any]:
        """Compile a gradient function, and give it to the nodes."""
        found = run_text(gradient_source(self, reader), _gradient_scope(self, reader), reader)
        self.gradients[reader] = found
        for node_class in self.classes.values():
            setattr(node_class, reader, found)
        return found  # type: ignore[no-any-return]

    @cached_property
    def scope(self) -> dict[str, Any]:
        """The globals of the generated functions that run the row. In one place a hot forward is replaced by machine code."""
        row = self.row
        scope = {**SCOPE, "SPEC": self, "row": row, "forward": self.forward,
                 **{f"default_{name}": value for name, value in row.static_defaults.items()}}
        if self.rules and (isinstance(row.node, str) or not row.statics):
            scope["NODE"] = self.node_class(self.node_name({}))
        is_bound = acceleration.bind_again(scope, "forward", self.forward)
        if not is_bound and row.broadcasts and "dtype" not in row.statics:  # a conversion is NumPy's
            acceleration.bind_elementwise(scope, "forward", row.name, self.forward, row.forward)
        return scope

    @cached_property
    def run(self) -> Callable[..., Any]:
        """Applies the row and records it. It is called by functions behind the door, so two frames are this package's."""
        return run_text(recorder_source(self, turns=self.row.name in TURNING), self.scope, "run")  # type: ignore[no-any-return]

    @cached_property
    def run_at_door(self) -> Callable[..., Any]:
        """The same for the door's fast paths, which the user calls."""
        text = recorder_source(self, turns=self.row.name in TURNING, depth=2)
        return run_text(text, self.scope, "run")  # type: ignore[no-any-return]

    @cached_property
    def node_of(self) -> Callable[..., Node | None]:
        """Records a write: `make_node` for these arguments, for the common case."""
        return run_text(node_source(self), self.scope, "node_of")  # type: ignore[no-any-return]

    @cached_property
    def unwatched(self) -> Callable[..., bool]:
        """Writes where nobody watches the memory."""
        acceleration.bind_again(self.scope, "into", self.into)
        return run_text(unwatched_source(self, has_kernel=self.has_written_kernel), self.scope, "unwatched")  # type: ignore[no-any-return]

    @cached_property
    def into(self) -> Callable[..., None]:
        """`into(*inputs, *statics, target)` on arrays of one dtype, of which the target is one: machine code when it is hot."""
        count = len(self.row.inputs)

        def numpy(*args: Any) -> None:
            self.compute(args[:count], args[-1], dict(zip(self.row.statics, args[count:-1], strict=True)))

        acceleration.bind_row_write(vars(self), "into", self.row, numpy)
        return self.__dict__["into"]  # type: ignore[no-any-return]

    @cached_property
    def ufunc_in_place(self) -> Callable[..., Any]:
        return in_place(self.forward)  # type: ignore[arg-type]

    def compute(self, arrays: Sequence[Any], target: np.ndarray, statics: dict[str, Any], position: int = 0) -> None:
        """Write the result into `target`, which is the argument in `position` unless that had to be promoted."""
        forward: Any = self.forward
        if isinstance(forward, np.ufunc) and arrays[position] is target and not statics:
            self.ufunc_in_place(*arrays, out=target)
        elif hasattr(forward, "into") and arrays[position] is target:
            forward.into(*arrays, **statics)
        else:
            value = forward(*arrays, **statics)
            if getattr(value, "dtype", target.dtype) != target.dtype:
                value = cast_values(np.asarray(value), target.dtype)
            target[...] = value


_specializations: dict[tuple[str, str], RowSpecialization] = {}
# What applies a row, by the row and the types of its arguments.
_by_types: dict[tuple[Any, ...], Callable[..., Any]] = {}


def specialization_of(row: Row, kinds: str) -> RowSpecialization:
    found = _specializations.get((row.name, kinds))
    if found is None:
        found = _specializations[row.name, kinds] = RowSpecialization(row, kinds)
    return found


def compiled(row: Row, kinds: str, *, at_door: bool = False) -> Callable[..., Any]:
    """The function that applies `row` to arguments of these kinds and records it; `at_door`: where the user calls its caller."""
    found = specialization_of(row, kinds)
    return found.run_at_door if at_door else found.run


def apply(row: Row, *inputs: Any, **statics: Any) -> Any:
    """Apply a row to Tensors and numbers of one dtype."""
    if row.variadic:
        return compiled(row, "v")(*inputs, **statics)
    types = row, *map(type, inputs)
    found = _by_types.get(types)
    if found is None:
        found = _by_types[types] = compiled(row, kinds_of(inputs))
    return found(*inputs, **statics)


def kinds_of(inputs: tuple[Any, ...]) -> str:
    return "".join(["t" if isinstance(x, Tensor) else "s" for x in inputs])


def source_of(name: str, kinds: str) -> str:
    """The Python text that was generated for a row."""
    spec = specialization_of(TABLE[name], kinds)
    return "\n\n".join((recorder_source(spec), gradient_source(spec, "raw"), gradient_source(spec, "graph")))


def record(spec: RowSpecialization, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """Run and record in the general way, through the listeners and levels of the row door."""
    if process_state.listeners:
        return door.tell(spec.aten_name, inputs, _record_under_levels, spec, inputs, statics)
    return _record_under_levels(spec, inputs, statics)


def _record_under_levels(spec: RowSpecialization, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    if grad_state.levels:
        return door.under_levels(spec.row, inputs, statics, spec.run)
    return record_result(spec, inputs, statics)


def record_result(spec: RowSpecialization, inputs: tuple[Any, ...], statics: dict[str, Any], out: Any = None) -> Any:
    """`record` without the door. `out`: the forward has run already."""
    row = spec.row
    if out is not None and not row.view and not grad_state.grad and not grad_state.inference:
        result = wrap(out)
        result._cause = untracked_causes(row, inputs)
        return result
    arrays = [x._memory for x in inputs] if row.view else [x._array if isinstance(x, Tensor) else x for x in inputs]
    outs = [out] if out is not None else _results_in_order(spec, arrays, statics)
    results = _wrap_results(spec, inputs, statics, outs)
    node = make_node(spec, inputs, arrays, statics, outs, results)
    if row.view and results and results[0]._view is None:
        node = None  # a view of an inference tensor is no view, and has no history
    if node is None:
        causes = untracked_causes(row, inputs)
        for result in results:
            result._cause = causes
    else:
        for i, result in enumerate(results):
            declared = None if row.outputs == "list" else row.outputs[i]
            if isinstance(declared, NoGrad):
                result._cause = (why.Cause("non-differentiable-op", node.site, declared.reason, sources=(node,)),)
            else:
                attach(result, port_of(node, i) if spec.several else node)
        if node.saved and grad_state.saved_hooks:
            registered.saved_hooks.pack(node, inputs, results)
    return results[0] if spec.one_output else results


def _results_in_order(spec: RowSpecialization, arrays: list[Any], statics: dict[str, Any]) -> list[np.ndarray]:
    """Run the forward. Its results lie in memory as torch's do."""
    row = spec.row
    if process_state.meta and (results := process_state.meta.results(row, arrays, statics)) is not None:
        return results  # type: ignore[no-any-return]
    try:
        out = spec.scope["forward"](*arrays, **statics)
    except ValueError:
        if row.broadcasts and len(arrays) > 1:
            check_broadcast(arrays)
        raise
    outs = [x if type(x) is np.ndarray else np.asarray(x) for x in ((out,) if spec.one_output else out)]
    for i, x in enumerate(outs):
        if x.ndim < 2 or row.memory == "own":
            continue
        if row.memory == "follow":
            if not all(array.flags.c_contiguous for array in arrays if isinstance(array, np.ndarray)):
                outs[i] = follow(x, arrays)
        elif row.memory == "channels":
            outs[i] = with_channels_as_in(x, arrays[0])
        else:
            outs[i] = in_columns(x) if row.memory == "columns" and i in row.matrices else np.ascontiguousarray(x)
    return outs


def attach(result: Tensor, node: Node) -> None:
    """Give a fresh result its place in the graph."""
    if result._view is None:
        result._node = node
    else:
        result._view.node = node


def _wrap_results(spec: RowSpecialization, inputs: tuple[Any, ...], statics: dict[str, Any],
                  outs: Sequence[np.ndarray]) -> list[Tensor]:
    row = spec.row
    if not row.view:
        results = [wrap(x) for x in outs]
        if grad_state.inference:
            for result in results:
                result._lazy_version = InferenceVersion(grad_state.off_site)
        return results
    several = len(outs) > 1 or not spec.one_output
    results = []
    for i, x in enumerate(outs):
        result = wrap(x)
        make_view(result, inputs[0], row, statics, i if several else None)
        if row.name in TURNING:
            TURNING[row.name](result)
        results.append(result)
    return results


def make_view(result: Tensor, of: Tensor, row: Row, statics: dict[str, Any], index: int | None = None) -> None:
    """Mark `result` as a view of `of`, if it does share its memory."""
    if type(of) is not Tensor and type(of) in TURNED:
        result.__class__ = type(of)
    version = result._lazy_version = of._version_counter
    if type(version) is InferenceVersion:
        result._indirect = False
        return
    parent = of._view
    result._indirect = True
    steps = (None if parent is None else parent.steps, row, statics, index, of._array.shape)
    creation = ""
    if process_state.any_mode_active:
        creation = "inference" if grad_state.inference else "" if grad_state.grad else "no_grad"
    if index is not None and not creation:
        creation = "multi"
    if parent is None:
        result._view = View(of, steps, creation)
    else:
        result._view = View(parent.base, steps, creation or parent.creation)
    result._view.version = version.value


def tracked_nodes(inputs: tuple[Any, ...]) -> list[Any]:
    """For each argument where its gradient goes, or None."""
    nodes = []
    for x in inputs:
        if isinstance(x, Tensor):
            node = x._node
            nodes.append(source(x) if node is None and x._indirect else node)
        else:
            nodes.append(None)
    return nodes


def make_node(spec: RowSpecialization, inputs: tuple[Any, ...], arrays: list[Any], statics: dict[str, Any],
              outs: Sequence[np.ndarray], results: Sequence[Tensor]) -> Node | None:
    """Record one application, or give None if no input requires a gradient."""
    row = spec.row
    if process_state.any_mode_active and not (grad_state.grad and not grad_state.inference):
        return None
    nodes = tracked_nodes(inputs)
    if row.variadic:
        tracked = {row.inputs[0]} if any(n is not None for n in nodes) and spec.rules else set()
    else:
        tracked = {name for name, n in zip(row.inputs, nodes, strict=True) if n is not None and name in spec.rules}
        if len(spec.rules) < len(nodes):
            nodes = [n if name in tracked else None for name, n in zip(row.inputs, nodes, strict=True)]
    if not tracked:
        return None
    node = spec.node_class(spec.node_name(statics))()
    node.edges = tuple(nodes)
    node.seq = next_sequence_number()
    untracked = [x for x, n in zip(inputs, nodes, strict=True) if n is None and isinstance(x, Tensor)]
    node.cuts = tuple([x._cause if isinstance(x, Tensor) else () for x in inputs]) if untracked else None
    node.extra = None
    node.site_code, node.lasti = why.site()
    if spec.saved or spec.static:
        node.saved, node.static = _saved_values(spec, inputs, arrays, statics, outs, results, tracked)
    else:
        node.saved = node.static = ()
    if spec.several:
        node.shapes = [(x.shape, x.dtype) for x in outs]
        node.ports = {}  # type: ignore[attr-defined]
    elif row.broadcasts and len({x.shape for x, kind in zip(arrays, spec.kinds, strict=True) if kind == "t"}) > 1:
        node.shapes = tuple([np.shape(x) for x in arrays])
    else:
        node.shapes = None
    if process_state.anomaly:
        registered.anomaly.keep_trace(node)
    return node


def _saved_values(spec: RowSpecialization, inputs: tuple[Any, ...], arrays: list[Any], statics: dict[str, Any],
                  outs: Sequence[np.ndarray], results: Sequence[Tensor],
                  tracked: set[str]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    row = spec.row
    saved: list[Any] = []
    needed = False
    for name in spec.saved:
        if not tracked.intersection(spec.wanted_by[name]):
            saved += (None, None, None)
            continue
        needed = True
        if name in row.output_names:
            i = row.output_names.index(name)
            saved += (outs[i], results[i]._version_counter, results[i]._version_counter.value)
        elif row.variadic:
            counters = [x._version_counter for x in inputs]
            saved += (tuple(arrays), counters, [c.value for c in counters])
        else:
            i = row.inputs.index(name)
            x = inputs[i]
            if isinstance(x, Tensor):
                saved += (arrays[i], x._version_counter, x._version_counter.value)
            else:
                saved += (x, None, None)
    static: list[Any] = []
    for name in spec.static:
        if name in statics:
            static.append(statics[name])
        elif row.variadic:
            static.append([x.shape for x in arrays])
        else:
            static.append(np.shape(arrays[row.inputs.index(name.removesuffix("_shape"))]))
    return tuple(saved) if needed else (), tuple(static)


def untracked_causes(row: Row, inputs: tuple[Any, ...]) -> why.Causes:
    """Why the result of this application has no history."""
    nodes: tuple[Any, ...] = ()
    causes: why.Causes = ()
    for x in inputs:
        if isinstance(x, Tensor):
            node = x._node
            if node is None and x._indirect:
                node = known_source(x)
            if node is not None:
                nodes += (node,)
            elif x._cause:
                causes = why.merge(causes, x._cause)
    if not nodes:
        return causes
    if why.watching is not None:
        nodes += why.alive_behind(causes)
    if not grad_state.grad or grad_state.inference:
        if grad_state.off_name == "backward" and not grad_state.inference:
            return (why.Cause("no-create-graph", grad_state.off_site),)
        mode = "inference_mode" if grad_state.inference else grad_state.off_name
        # Inside a custom forward everything is off, and what it returns gets a history of its own.
        cut_off = () if mode.endswith(".forward") else nodes
        return (why.Cause("grad-mode-off", why.site(3), mode, cut_off, origin=grad_state.off_site),)
    reasons = [rule.reason for rule in row.rules.values() if isinstance(rule, NoGrad)]
    return (why.Cause("non-differentiable-op", why.site(), reasons[0] if reasons else row.name, nodes),)


def _gradient_scope(spec: RowSpecialization, reader: str) -> dict[str, Any]:
    """The globals of a gradient function."""
    row, raw = spec.row, reader == "raw"
    never = () if row.outputs == "list" else tuple([i for i, out in enumerate(row.outputs) if isinstance(out, NoGrad)])
    scope: dict[str, Any] = {
        "__name__": __name__, "open_saved": open_saved, "changed": changed, "check_all": check_all, "lift": lift,
        "lift_output": lift_output, "fill_missing": fill_missing, "sum_to_shapes": sum_to_shapes,
        "never": never, "xp": raw_vocabulary if raw else tensor_vocabulary,
        "zeros": np.zeros if raw else lambda shape, dtype: wrap(np.zeros(shape, dtype))}
    # Beside a Python number, NumPy goes on in float32 from bfloat16. A conversion gives the dtype that it is asked for.
    rounds = raw and not before_bfloat16 and "dtype" not in row.statics
    if row.at_once is not None:
        scope["at_once"] = rounded_gradient(row.at_once.function) if rounds else row.at_once.function
    for i, name in enumerate(row.inputs):
        rule = spec.rules.get(name)
        if rule is None:
            continue
        key = f"rule{i}"
        scope[key] = rounded_gradient(rule.function) if rounds else rule.function
        if raw and row.broadcasts:  # NumPy's, until it is hot and becomes machine code
            numpy = partial(rule.function, raw_vocabulary) if "xp" in rule.names else rule.function
            numpy = in_float32(numpy, is_bfloat16) if rounds else numpy
            acceleration.bind_elementwise(
                scope, key, f"d_{row.name}_d_{name}", numpy, rule.function, takes_vocabulary="xp" in rule.names,
                may_overwrite=len(spec.rules) == 1 and next(word for word in rule.names if word != "xp") == "g")
    return scope


def compile_again() -> None:
    """Forget the gradient functions on arrays: from now on they have to round."""
    for spec in _specializations.values():
        if spec.gradients.pop("raw", None) is not None:
            for node_class in spec.classes.values():
                del node_class.raw


before_bfloat16.append(compile_again)


def open_saved(node: Node) -> tuple[Any, ...]:
    """The saved values when they are not plainly there: freed, or packed by saved_tensors_hooks."""
    if node.saved is None:
        raise errors.graph_freed(node)
    values: tuple[Any, ...] = node.saved.unpack(node)
    return values


def changed(node: Node, k: int, value: Any, counter: Any, version: int) -> Any:
    """The `k`-th saved value, whose version is not what it was: an error, unless its tensor was only given other `.data`."""
    name = type(node).layout.saved[k]
    if int(counter.value) != int(version):
        raise registered.errors.stale_saved(node, name, value, counter, version)
    if name in type(node).layout.row.output_names or not isinstance(counter.value, Swapped):
        return value
    return counter.value.newest(value)


def lift(array: Any, edge: Any, counter: Any) -> Any:
    """A saved argument as a Tensor again, with its place in the graph and its version. Numbers stay, but for bfloat16 ones."""
    if not isinstance(array, np.ndarray):
        return float(array) if is_bfloat16(array) else array
    if type(edge) is AccumulateGrad and edge.leaf._array is array:
        return edge.leaf
    result = wrap(array)
    result._node = edge
    result._lazy_version = counter
    return result


def lift_output(array: Any, node: Node, several: bool, index: int, counter: Any) -> Any:
    return lift(array, port_of(node, index) if several else node, counter)


def check_all(node: Node, k: int, values: Any, counters: list[Any], versions: list[int]) -> None:
    """Raise if one of the arguments of a row with any number of them was changed since it was saved."""
    for i, (counter, version) in enumerate(zip(counters, versions, strict=True)):
        if counter.value != version and int(counter.value) != int(version):
            error = registered.errors.stale_saved(node, type(node).layout.saved[k], values[i], counter, version, i)
            if error is not None:
                raise error


SCOPE: dict[str, Any] = {
    "__name__": __name__, "internal_modules": internal_modules, "user_frame": user_frame,
    "getframe": sys._getframe, "asarray": np.asarray,
    "ascontiguousarray": np.ascontiguousarray, "ndarray": np.ndarray, "float32": FLOAT32, "int64": INT64,
    "check_broadcast": check_broadcast, "follow": follow, "in_columns": in_columns, "with_channels_as_in": with_channels_as_in,
    "new": new, "next_sequence_number": next_sequence_number, "port_of": port_of, "source": source, "Tensor": Tensor,
    "Version": Version, "View": View, "TURNED": TURNED, "TURNING": TURNING, "process_state": process_state,
    "needs_slow_path": needs_slow_path, "grad_state": grad_state,
    "record": record, "record_result": record_result, "make_view": make_view, "merge": why.merge, "Cause": why.Cause,
    "untracked_causes": untracked_causes}
