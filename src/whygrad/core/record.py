"""The only door into the graph: run a row's forward, and record a node if somebody will want the gradient.

A row is compiled on first use into Python functions made for its exact arguments: one that runs and records
(`mul(a, b)`), and two that give the gradients (`raw` on arrays, `graph` on Tensors). Their source is plain and can be
read with `print(source_of("mul", "tt"))`. The kinds of the arguments are a string, one letter for each: "t" a Tensor,
"s" a Python number or None. The slow twin of the compiled function, `record`, is written out below; it serves the rare
cases (several outputs, hooks on saved values, anomaly mode) and says what the compiled one must do.
"""

from __future__ import annotations

import linecache
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from whygrad import kernels
from whygrad.backends import raw as raw_vocabulary
from whygrad.backends.memory_order import follow, in_columns, with_channels_as_in
from whygrad.backends.numpy_convert import cast_values
from whygrad.base import errors
from whygrad.base.broadcasting import check_broadcast
from whygrad.base.frames import internal_modules
from whygrad.core.conj_neg import TURNED, TURNING, turn_over
from whygrad.core.modes import modes, special, unusual
from whygrad.core.node import Cast, Node, next_sequence_number, port_of
from whygrad.core.row_source import (
    apply_source,
    graph_source,
    node_source,
    plain_write_source,
    raw_source,
    record_source,
)
from whygrad.core.tensor import InferenceCounter, Swapped, Tensor, View, known_source, source, wrap
from whygrad.ops.table import TABLE, NoGrad, Row, Rule, rule_names
from whygrad.why import record as why

new = object.__new__
FLOAT32, INT64 = np.dtype(np.float32), np.dtype(np.int64)


class Layout:
    """How one row is recorded for one combination of argument kinds."""

    def __init__(self, row: Row, kinds: str) -> None:
        self.row = row
        self.kinds = kinds
        self.rules: dict[str, Rule] = {}
        for name, kind in zip(row.inputs, kinds, strict=True):
            rule = row.rules[name]
            if kind in "tv" and isinstance(rule, Rule):
                self.rules[name] = rule
        named = rule_names(self.rules.values())
        self.saved = [name for name in (*row.inputs, *row.output_names) if name in named]
        # Arguments that are Python numbers or None: saved, but they have no version.
        self.numbers = {name for name, kind in zip(row.inputs, kinds, strict=True) if kind == "s"}
        self.wanted_by = {name: [x for x, rule in self.rules.items() if name in rule.names] for name in self.saved}
        # True if it can happen that nothing has to be saved.
        self.may_save_nothing = not self.saved or any(
            not set(rule.names).intersection(self.saved) for rule in self.rules.values())
        self.static = [name for name in row.statics if name in named]
        self.static += [f"{name}_shape" for name in row.inputs if f"{name}_shape" in named]
        self.classes: dict[str, type[Node]] = {}
        self.differentiable_outputs = (None if row.outputs == "list" else
                                       [i for i, out in enumerate(row.outputs) if not isinstance(out, NoGrad)])
        self.several = self.differentiable_outputs is None or len(self.differentiable_outputs) > 1
        self.one_output = row.outputs != "list" and len(row.outputs) == 1
        self.forward: Callable[..., Any] = getattr(raw_vocabulary, row.name)
        # Whether writes in place may become a kernel. Some words of NumPy's write by themselves.
        self.has_written_kernel = row.broadcasts and not hasattr(self.forward, "into")
        if isinstance(self.forward, kernels.JitSlot):
            self.forward.put(vars(self), "forward")

    def node_class(self, name: str) -> type[Node]:
        found = self.classes.get(name)
        if found is None:
            members = {"__slots__": ("ports",) if self.several else (), "__module__": "torch.autograd.graph",
                       "layout": self, "several": self.several,
                       "raw": compile_source(self, "raw", raw_source(self)),
                       "graph": compile_source(self, "graph", graph_source(self))}
            found = self.classes[name] = type(name, (Node,), members)
        return found

    @cached_property
    def plain_write(self) -> Callable[..., bool]:
        """`run_inplace` where nothing is in the way (see `plain_write_source`)."""
        return compile_source(self, "plain_write", plain_write_source(self))

    @cached_property
    def into(self) -> Callable[..., None]:
        """`into(*inputs, *statics, target)` on arrays of one dtype, of which the target is one: machine code when it is hot."""
        count = len(self.row.inputs)

        def numpy(*args: Any) -> None:
            self.compute(args[:count], args[-1], dict(zip(self.row.statics, args[count:-1], strict=True)))

        if not kernels.enabled:
            return numpy
        kernels.warm_write(self.row, numpy).put(vars(self), "into")
        return self.__dict__["into"]  # type: ignore[no-any-return]

    def compute(self, arrays: Sequence[Any], target: np.ndarray, statics: dict[str, Any], position: int = 0) -> None:
        """Write the result into `target`, which is the argument in `position` unless that had to be promoted."""
        forward: Any = self.forward
        if isinstance(forward, np.ufunc) and arrays[position] is target and not statics:
            forward(*arrays, out=target)
        elif hasattr(forward, "into") and arrays[position] is target:
            forward.into(*arrays, **statics)
        else:
            value = forward(*arrays, **statics)
            if getattr(value, "dtype", target.dtype) != target.dtype:
                value = cast_values(np.asarray(value), target.dtype)
            target[...] = value

    @cached_property
    def write(self) -> Callable[..., Node | None]:
        """Records a write: `make_node` for these arguments, where nothing is unusual."""
        return compile_source(self, "write", node_source(self))

    def node_name(self, statics: dict[str, Any]) -> str:
        node = self.row.node
        return node if isinstance(node, str) else node(self.kinds, statics)


_layouts: dict[tuple[str, str], Layout] = {}
_compiled: dict[tuple[str, str], Callable[..., Any]] = {}
# The same functions by the row and the types of its arguments.
_by_types: dict[tuple[Any, ...], Callable[..., Any]] = {}
# Every function that was ever in `_compiled`, as long as somebody uses it; and who is told of new ones (see _listening.py).
applying: weakref.WeakSet[Any] = weakref.WeakSet()
on_compiled: Callable[[Callable[..., Any]], None] | None = None


def layout_of(row: Row, kinds: str) -> Layout:
    found = _layouts.get((row.name, kinds))
    if found is None:
        found = _layouts[row.name, kinds] = Layout(row, kinds)
    return found


def compiled(row: Row, kinds: str) -> Callable[..., Any]:
    """The function that applies `row` to arguments of these kinds and records it."""
    found = _compiled.get((row.name, kinds))
    if found is None:
        layout = layout_of(row, kinds)
        plain = not row.variadic and layout.one_output
        found = compile_source(layout, row.name, apply_source(layout) if plain else record_source(layout))
        _compiled[row.name, kinds] = found
        applying.add(found)
        if on_compiled is not None:
            on_compiled(found)
    return found


def apply(row: Row, *inputs: Any, **statics: Any) -> Any:
    """Apply a row to Tensors and numbers of one dtype."""
    if row.variadic:
        return compiled(row, "v")(*inputs, **statics)
    types = row, *map(type, inputs)
    found = _by_types.get(types)
    if found is None:
        kinds = "".join(["t" if isinstance(x, Tensor) else "s" for x in inputs])
        found = _by_types[types] = compiled(row, kinds)
    return found(*inputs, **statics)


def source_of(name: str, kinds: str) -> str:
    """The Python text that a row is compiled to."""
    layout = layout_of(TABLE[name], kinds)
    return "\n\n".join((apply_source(layout), raw_source(layout), graph_source(layout)))


def record(layout: Layout, inputs: tuple[Any, ...], statics: dict[str, Any], out: Any = None) -> Any:
    """Run and record in the general way."""
    row = layout.row
    if out is not None and not row.view and not modes.grad and not modes.inference:
        result = wrap(out)
        result._cause = untracked_causes(row, inputs)
        return result
    if out is None and special.on and modes.levels:
        from whygrad.core.levels import interpret
        return interpret(row, inputs, statics)
    arrays = [x._memory for x in inputs] if row.view else [x._array if isinstance(x, Tensor) else x for x in inputs]
    if out is None:
        out = layout.forward(*arrays, **statics)
    outs = (out,) if layout.one_output else tuple(out)
    outs = tuple([x if type(x) is np.ndarray else np.asarray(x) for x in outs])
    if row.memory == "contiguous":
        outs = tuple([x if x.ndim < 2 or x.flags.c_contiguous else np.ascontiguousarray(x) for x in outs])
    elif row.memory == "channels":
        outs = tuple([with_channels_as_in(x, arrays[0]) for x in outs])
    elif row.memory == "columns":
        outs = tuple([in_columns(x) if i in row.matrices and x.ndim > 1 else np.ascontiguousarray(x) if x.ndim else x
                      for i, x in enumerate(outs)])
    results = _wrap_results(layout, inputs, statics, outs)
    node = make_node(layout, inputs, arrays, statics, outs, [t._counter for t in results])
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
                attach(result, port_of(node, i) if layout.several else node)
        if node.saved and modes.saved_hooks:
            from whygrad.autograd.saved_hooks import pack
            pack(node, inputs, results)
    return results[0] if layout.one_output else results


def attach(result: Tensor, node: Node) -> None:
    """Give a fresh result its place in the graph."""
    if result._view is None:
        result._node = node
    else:
        result._view.node = node


def _wrap_results(layout: Layout, inputs: tuple[Any, ...], statics: dict[str, Any],
                  outs: tuple[np.ndarray, ...]) -> list[Tensor]:
    row = layout.row
    if not row.view:
        results = [wrap(x) for x in outs]
        if modes.inference:
            for result in results:
                result._counter = InferenceCounter()
        return results
    several = len(outs) > 1 or not layout.one_output
    results = []
    for i, x in enumerate(outs):
        result = wrap(x)
        make_view(result, inputs[0], row, statics, i if several else None)
        if row.name in TURNING:
            turn_over(result, row.name)
        results.append(result)
    return results


def make_view(result: Tensor, of: Tensor, row: Row, statics: dict[str, Any], index: int | None = None) -> None:
    """Mark `result` as a view of `of`, if it does share its memory."""
    if type(of) is not Tensor and type(of) in TURNED:
        result.__class__ = type(of)
    if type(of._counter) is InferenceCounter:
        result._counter = of._counter
        result._lookup = False
        return
    parent = of._view
    result._lookup = True
    result._counter = of._counter
    step = (row, statics, index, of._array.shape)
    creation = ""
    if special.on:
        creation = "inference" if modes.inference else "" if modes.grad else "no_grad"
    if index is not None and not creation:
        creation = "multi"
    if parent is None:
        result._view = View(of, (step,), creation)
    else:
        result._view = View(parent.base, (*parent.steps, step), creation or parent.creation)
    result._view.version = of._counter[0]


def tracked_nodes(inputs: tuple[Any, ...]) -> list[Any]:
    """For each argument where its gradient goes, or None."""
    nodes = []
    for x in inputs:
        if isinstance(x, Tensor):
            node = x._node
            nodes.append(source(x) if node is None and x._lookup else node)
        else:
            nodes.append(None)
    return nodes


def make_node(layout: Layout, inputs: tuple[Any, ...], arrays: list[Any], statics: dict[str, Any],
              outs: tuple[np.ndarray, ...], out_counters: list[list[Any]]) -> Node | None:
    """Record one application, or give None if nobody can want its gradient."""
    row = layout.row
    if special.on and not (modes.grad and not modes.inference):
        return None
    nodes = tracked_nodes(inputs)
    if row.variadic:
        tracked = {row.inputs[0]} if any(n is not None for n in nodes) and layout.rules else set()
    else:
        tracked = {name for name, n in zip(row.inputs, nodes, strict=True) if n is not None and name in layout.rules}
        if len(layout.rules) < len(nodes):
            nodes = [n if name in tracked else None for name, n in zip(row.inputs, nodes, strict=True)]
    if not tracked:
        return None
    node = new(layout.node_class(layout.node_name(statics)))
    node.edges = tuple(nodes)
    node.seq = next_sequence_number()
    node.cuts = None
    for n in nodes:
        if n is None:
            node.cuts = tuple([x._cause if isinstance(x, Tensor) else () for x in inputs])
            break
    node.extra = None
    node.site_code, node.lasti = why.site()
    if layout.saved or layout.static:
        node.saved, node.static = _saved_values(layout, inputs, arrays, statics, outs, out_counters, tracked)
    else:
        node.saved = node.static = ()
    if layout.several:
        node.shapes = [(x.shape, x.dtype) for x in outs]
        node.ports = {}  # type: ignore[attr-defined]
    elif row.broadcasts and len({x.shape for x, kind in zip(arrays, layout.kinds, strict=True) if kind == "t"}) > 1:
        node.shapes = tuple([np.shape(x) for x in arrays])
    else:
        node.shapes = None
    if special.anomaly:
        from whygrad.autograd.anomaly import keep_trace
        keep_trace(node)
    return node


def _saved_values(layout: Layout, inputs: tuple[Any, ...], arrays: list[Any], statics: dict[str, Any],
                  outs: tuple[np.ndarray, ...], out_counters: list[list[Any]],
                  tracked: set[str]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    row = layout.row
    saved: list[Any] = []
    needed = False
    for name in layout.saved:
        if not tracked.intersection(layout.wanted_by[name]):
            saved += (None, None, None)
            continue
        needed = True
        if name in row.output_names:
            i = row.output_names.index(name)
            saved += (outs[i], out_counters[i], out_counters[i][0])
        elif row.variadic:
            counters = [x._counter for x in inputs]
            saved += (tuple(arrays), counters, [c[0] for c in counters])
        else:
            i = row.inputs.index(name)
            x = inputs[i]
            if isinstance(x, Tensor):
                saved += (arrays[i], x._counter, x._counter[0])
            else:
                saved += (x, None, None)
    static: list[Any] = []
    for name in layout.static:
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
            if node is None and x._lookup:
                node = known_source(x)
            if node is not None:
                nodes += (node,)
            elif x._cause:
                causes = why.merge(causes, x._cause)
    if not nodes:
        return causes
    if why.watching is not None:
        nodes += why.alive_behind(causes)
    if not modes.grad or modes.inference:
        if modes.off_name == "backward" and not modes.inference:
            return (why.Cause("no-create-graph", modes.off_site),)
        mode = "inference_mode" if modes.inference else modes.off_name
        # Inside a custom forward everything is off, and what it returns gets a history of its own.
        cut_off = () if mode.endswith(".forward") else nodes
        return (why.Cause("grad-mode-off", why.site(), mode, cut_off, origin=modes.off_site),)
    reasons = [rule.reason for rule in row.rules.values() if isinstance(rule, NoGrad)]
    return (why.Cause("non-differentiable-op", why.site(), reasons[0] if reasons else row.name, nodes),)


def sum_to_shapes(shapes: tuple[Any, ...], grads: tuple[Any, ...], vocabulary: Any) -> tuple[Any, ...]:
    """Undo broadcasting: bring each gradient back to the shape of its argument."""
    return tuple([g if g is None or g.shape == shape else vocabulary.sum_to(g, shape=shape)
                  for g, shape in zip(grads, shapes, strict=True)])


def fill_missing(shapes: list[Any], grads: list[Any], zeros: Callable[..., Any], never: tuple[int, ...]) -> list[Any]:
    """Zeros for the outputs that received no gradient, except for those that `never` do."""
    return [zeros(*shapes[i]) if g is None and i not in never else g for i, g in enumerate(grads)]


def compile_source(layout: Layout, name: str, text: str) -> Callable[..., Any]:
    filename = f"<whygrad row {layout.row.name}/{layout.kinds}: {name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = _scope(layout)
    if name == "plain_write":
        into = layout.into
        scope |= {"into": into, "float32": FLOAT32, "int64": INT64}
        if isinstance(into, kernels.JitSlot):
            into.put(scope, "into")
    elif isinstance(layout.forward, kernels.JitSlot):
        layout.forward.put(scope, "forward")
    elif layout.row.broadcasts and name != "graph":
        _bind_elementwise(layout, scope, name)
    exec(compile(text, filename, "exec"), scope)
    function: Callable[..., Any] = scope[name]
    return function


def _scope(layout: Layout) -> dict[str, Any]:
    from whygrad.backends import tensor as tensor_vocabulary

    row = layout.row
    scope: dict[str, Any] = {
        "__name__": "whygrad.core.rows", "internal_modules": internal_modules,
        "asarray": np.asarray, "ascontiguousarray": np.ascontiguousarray,
        "check_broadcast": check_broadcast, "fill_missing": fill_missing,
        "follow": follow, "forward": layout.forward,
        "getframe": sys._getframe, "layout": layout, "make_view": make_view, "merge": why.merge, "modes": modes,
        "ndarray": np.ndarray,
        "new": new, "next_sequence_number": next_sequence_number, "raw_xp": raw_vocabulary, "record": record,
        "row": row, "source": source, "special": special, "sum_to_shapes": sum_to_shapes, "Tensor": Tensor,
        "tensor_xp": tensor_vocabulary, "open_saved": open_saved, "changed": changed, "stale": errors.stale_saved, "lift": lift,
        "lift_output": lift_output, "untracked_causes": untracked_causes, "unusual": unusual, "variadic_stale": variadic_stale,
        "raw_zeros": np.zeros, "tensor_zeros": _tensor_zeros, "turn_over": turn_over, "with_channels_as_in": with_channels_as_in,
        "in_columns": in_columns,
        "port_of": port_of, "Cause": why.Cause, "View": View, "TURNED": TURNED,
    }
    for name, rule in layout.rules.items():
        scope[f"rule_{name}"] = rule.function
    if row.at_once is not None:
        scope["at_once"] = row.at_once.function
    for name, value in row.static_defaults.items():
        scope[f"default_{name}"] = value
    return scope


def _bind_elementwise(layout: Layout, scope: dict[str, Any], name: str) -> None:
    """Forward and rules on arrays: NumPy's, until they are hot and become machine code."""
    row = layout.row
    if name != "raw":
        if kernels.enabled and "dtype" not in row.statics:  # a conversion is NumPy's
            kernels.warm(row.name, layout.forward, row.forward).put(scope, "forward")
        return
    for argument, rule in layout.rules.items():
        numpy = partial(rule.function, raw_vocabulary) if "xp" in rule.names else rule.function
        scope[f"rule_{argument}"] = numpy
        if kernels.enabled:
            warm = kernels.warm(f"d_{row.name}_d_{argument}", numpy, rule.function, "xp" in rule.names,
                                last=len(layout.rules) == 1 and next(name for name in rule.names if name != "xp") == "g")
            warm.put(scope, f"rule_{argument}")


def _tensor_zeros(shape: Any, dtype: Any) -> Tensor:
    return wrap(np.zeros(shape, dtype))


def open_saved(node: Node) -> tuple[Any, ...]:
    """The saved values when they are not plainly there: freed, or packed by saved_tensors_hooks."""
    if node.saved is None:
        raise errors.graph_freed(node)
    values: tuple[Any, ...] = node.saved.unpack(node)
    return values


def changed(node: Node, name: str, value: Any, counter: Any, version: int) -> Any:
    """A saved value whose version is not what it was: an error, unless its tensor was only given other `.data`."""
    if int(counter[0]) != int(version):
        raise errors.stale_saved(node, name, value, counter, version)
    if name in type(node).layout.row.output_names or not isinstance(counter[0], Swapped):
        return value
    return counter[0].newest(value)


def lift(array: Any, edge: Any, counter: Any) -> Any:
    """A saved argument as a Tensor again, with its place in the graph and its version. Numbers stay as they are."""
    if not isinstance(array, np.ndarray):
        return array
    if isinstance(edge, Tensor):
        if edge._array is array:
            return edge
        # A leaf whose data was swapped since: route to the leaf through a node that changes nothing.
        edge = Cast(edge, array.dtype)
    result = wrap(array)
    result._node = edge
    result._counter = counter
    return result


def lift_output(array: Any, node: Node, several: bool, index: int, counter: Any) -> Any:
    return lift(array, port_of(node, index) if several else node, counter)


def variadic_stale(counters: list[Any], versions: list[int]) -> int | None:
    """Index of the first saved argument that was changed since, if any."""
    for i, (counter, version) in enumerate(zip(counters, versions, strict=True)):
        if counter[0] != version and int(counter[0]) != int(version):
            return i
    return None
