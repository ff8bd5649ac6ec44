"""Source code generated for a row: Python functions specialized for its exact arguments.

`recorder_source` is `record` of core/record.py, unrolled; `node_source` and `unwatched_source` are the same for in-place writes;
`gradient_source` calls the row's rules on the values that the node saved. Closures instead of generated code would make an
operation of one microsecond 5 to 15 % slower. Arguments are numbered in the code (`x0` a Tensor, `x0_x` its array, `x0_n` its
edge), so rows of one pattern have the same code: it is compiled once for all of them, and executed in the scope of each.
`print(source_of("mul", "tt"))` of core/record.py shows it.
"""

from __future__ import annotations

import atexit
import linecache
import marshal
import sys
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from types import CodeType
from typing import Any

from whygrad.base import disk_cache
from whygrad.ops.plan import RowPlan
from whygrad.ops.table import NoGrad, Rule

_compiled_texts: dict[str, CodeType] = {}
# The file that keeps them between processes: to compile a text takes 0.3 ms, to load its code 0.02 ms.
STORED = f"rows-{sys.implementation.cache_tag}"
MAX_STORED = 1 << 20  # bytes: every process reads all of it


def run_text(text: str, scope: dict[str, Any], name: str) -> Any:
    """The function `name` defined by the source code `text`, with these globals."""
    code = _compiled_texts.get(text)
    if code is None:
        filename = f"<whygrad rows {zlib.crc32(text.encode()):08x}: {name}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        stored = _stored_codes().get(disk_cache.digest_of(text))
        code = _compiled_texts[text] = compile(text, filename, "exec") if stored is None else marshal.loads(stored)
    exec(code, scope)
    return scope[name]


@cache
def _stored_codes() -> dict[bytes, bytes]:
    """By digest of the text, as earlier processes have left them. New ones are added when this process ends."""
    atexit.register(_store)
    return _read_stored()


def _read_stored() -> dict[bytes, bytes]:
    data = disk_cache.read(STORED)
    try:
        version, found = marshal.loads(data) if data else ("", {})
    except (EOFError, TypeError, ValueError):  # written by something else
        return {}
    return found if version == sys.version and type(found) is dict else {}


def _store() -> None:
    texts = {disk_cache.digest_of(text): code for text, code in _compiled_texts.items()}
    if not texts.keys() <= _stored_codes().keys():
        kept = _read_stored()  # another process may have written
        used = {digest: kept.pop(digest, b"") or marshal.dumps(code) for digest, code in texts.items()}
        disk_cache.write(STORED, marshal.dumps((sys.version, latest({**kept, **used}))))


def latest(stored: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """The last of these codes, which were used latest, as many as MAX_STORED allows."""
    excess = sum(map(len, stored.values())) - MAX_STORED
    for digest in list(stored):
        if excess <= 0:
            break
        excess -= len(stored.pop(digest))
    return stored


class _Names:
    """The names of a row's arguments and results in the generated code."""

    def __init__(self, plan: RowPlan) -> None:
        row = plan.row
        self.inputs = [f"x{i}" for i in range(len(row.inputs))]
        self.tensors = [x for x, kind in zip(self.inputs, plan.kinds, strict=True) if kind == "t"]
        self.arrays = [f"{x}_x" if x in self.tensors else x for x in self.inputs]
        self.tracked = [x for x, name in zip(self.inputs, row.inputs, strict=True) if name in plan.rules]
        self.of = dict(zip(row.inputs, self.inputs, strict=True))
        self.outs = [f"out{i}" for i in range(len(row.outputs))]
        self.results = [f"t{i}" for i in range(len(row.outputs))]
        self.signature = [f"{name}=default_{name}" if name in row.static_defaults else name for name in row.statics]
        self.statics = "{" + ", ".join(f"'{name}': {name}" for name in row.statics) + "}"
        self.keywords = "".join(f", {name}={name}" for name in row.statics)


def _tuple(parts: Iterable[str]) -> str:
    return "(" + "".join(f"{part}, " for part in parts) + ")"


def recorder_source(plan: RowPlan, *, turns: bool = False, depth: int = 3) -> str:
    """Source of the function that runs the row and records it. `turns`: the conj or neg bit of its result is flipped.

    The user's frame is at least `depth` frames out.
    """
    row, names = plan.row, _Names(plan)
    if row.outputs == "list":
        return _list_source(plan, names, depth)
    inputs = ["*inputs"] if row.variadic else [*names.inputs, "*"] if row.statics else names.inputs
    given = "inputs" if row.variadic else _tuple(names.inputs)
    call = f"forward({'*arrays' if row.variadic else ', '.join(names.arrays)}{names.keywords})"
    outs = ", ".join(names.outs) + ("" if plan.one_output else ",")
    # In a mode such as no_grad the forward runs as usual, unless the row has a handler (see door.py).
    whole = plan.one_output and not row.variadic
    handled = " and (grad_state.levels or process_state.listeners or process_state.meta)" if whole else ""
    lines = [f"def run({', '.join([*inputs, *names.signature])}):",
             "    busy = process_state.any_mode_active and needs_slow_path()",
             f"    if busy{handled}: return record(SPEC, {given}, {names.statics})"]
    if row.variadic:
        lines += ["    arrays = [x._array for x in inputs]"]
    lines += [f"    {x}_x = {x}.{'_memory' if row.view else '_array'}" for x in names.tensors]
    if row.broadcasts and len(names.tensors) > 1:
        lines += [f"    try: {outs} = {call}",
                  "    except ValueError:",
                  f"        check_broadcast({_tuple(f'{x}_x' for x in names.tensors)})",
                  "        raise"]
    else:
        lines += [f"    {outs} = {call}"]
    for i, (out, t) in enumerate(zip(names.outs, names.results, strict=True)):
        lines += [f"    if type({out}) is not ndarray: {out} = asarray({out})", *_memory_order_lines(plan, names, i),
                  *([f"    if busy: return record_result(SPEC, {given}, {names.statics}, out0)"] if whole else []),
                  *_fresh_lines(t, out, view=row.view)]
    if row.view:
        lines += [*_view_lines(names), *(["    TURNING[row.name](t0)"] if turns else [])]
    if row.variadic and plan.rules:
        lines += ["    nodes = [source(x) if x._node is None and x._indirect else x._node for x in inputs]",
                  "    _missing = len([1 for node in nodes if node is None])"]
        untracked = "_missing == len(nodes)"
    else:
        lines += _edge_lines(names)
        untracked = " and ".join(f"{x}_n is None" for x in names.tracked)
    # A view of an inference tensor is not tracked as a view, and has no history.
    untracked = f"t0._view is None or {untracked}" if row.view else untracked
    results = names.results[0] if plan.one_output else f"[{', '.join(names.results)}]"
    causes = f"untracked_causes(row, {given})"
    if not row.variadic and len(names.tracked) == len(names.tensors):
        causes = f"{names.tensors[0]}._cause"
        for x in names.tensors[1:]:
            causes = f"merge({causes}, {x}._cause)"
    if not plan.rules:
        lines += [f"    {' = '.join(f'{t}._cause' for t in names.results)} = {causes}"]
    else:
        lines += [f"    if {untracked}:",
                  f"        {' = '.join(f'{t}._cause' for t in names.results)} = {causes}",
                  f"        return {results}",
                  *_node_lines(plan, names, depth)]
        for i, t in enumerate(names.results):
            node = f"port_of(node, {i})" if plan.several else "node"
            if isinstance(row.outputs[i], NoGrad):
                where = "(node.site_code, node.lasti)"
                lines += [f"    {t}._cause = (Cause('non-differentiable-op', {where}, row.outputs[{i}].reason, (node,)),)"]
            else:
                lines += [f"    {t}.{'_view.node' if row.view else '_node'} = {node}", f"    {t}._cause = ()"]
    return "\n".join([*lines, f"    return {results}"]) + "\n"


def _list_source(plan: RowPlan, names: _Names, depth: int) -> str:
    """Source for a row that returns a list of views of one tensor; other lists are recorded by `record`."""
    row = plan.row
    if not row.view or row.variadic or len(row.inputs) > 1 or plan.saved:
        return "def run(*inputs, **statics): return record(SPEC, inputs, {**row.static_defaults, **statics})\n"
    return "\n".join([
        f"def run(x0, *, {', '.join(names.signature)}):",
        f"    if process_state.any_mode_active and needs_slow_path(): return record(SPEC, (x0,), {names.statics})",
        "    x0_x = x0._memory",
        f"    outs = forward(x0_x{names.keywords})",
        f"    statics = {names.statics}",
        "    results = []",
        "    for out in outs:",
        *[f"    {line}" for line in _fresh_lines("t", "out", view=True)],
        "        make_view(t, x0, row, statics, len(results))",
        "        results.append(t)",
        *_edge_lines(names),
        "    if x0_n is None or not results or results[0]._view is None:",
        "        causes = untracked_causes(row, (x0,))",
        "        for t in results: t._cause = causes",
        "        return results",
        *_node_lines(plan, names, depth),
        "    for i, t in enumerate(results):",
        "        t._view.node = port_of(node, i)",
        "        t._cause = ()",
        "    return results"]) + "\n"


def _fresh_lines(t: str, out: str, *, view: bool) -> list[str]:
    lines = [f"    {t} = new(Tensor)",
             f"    {t}._array = {out}",
             f"    {t}._node = {t}._grad = {t}._view = {t}._meta = {t}._lazy_version = None"]
    return lines if view else [*lines, f"    {t}._indirect = False"]


def _version_lines(x: str) -> list[str]:
    """`x_v` is the version of the tensor `x`: its property `_version_counter`, unrolled."""
    return [f"    {x}_v = {x}._lazy_version",
            f"    if {x}_v is None:",
            f"        {x}_v = {x}._lazy_version = Version()",
            f"        {x}_v.value = 0",
            f"        {x}_v.site = None"]


def _view_lines(names: _Names) -> list[str]:
    """`make_view`, unrolled for the common case."""
    step = f"row, {names.statics}, None, x0_x.shape"
    return [*_version_lines("x0"),
            "    if process_state.any_mode_active or type(x0_v) is not Version or type(x0) in TURNED:",
            f"        make_view(t0, x0, row, {names.statics})",
            "    else:",
            "        t0._indirect = True",
            "        t0._lazy_version = x0_v",
            "        _parent = x0._view",
            "        _link = t0._view = new(View)",
            f"        if _parent is None: _link.base, _link.steps, _link.creation = x0, (None, {step}), ''",
            f"        else: _link.base, _link.steps, _link.creation = _parent.base, (_parent.steps, {step}), _parent.creation",
            "        _link.node, _link.requires_grad, _link.version = None, False, x0_v.value"]


def _memory_order_lines(plan: RowPlan, names: _Names, i: int) -> list[str]:
    """Contiguous inputs give a contiguous result, in NumPy as in torch; others need torch's rule (memory_order.py)."""
    memory, out = plan.row.memory, names.outs[i]
    if memory == "columns" and i in plan.row.matrices:
        return [f"    if {out}.ndim > 1: {out} = in_columns({out})"]
    if memory in ("contiguous", "columns"):
        return [f"    if {out}.ndim > 1 and not {out}.flags.c_contiguous: {out} = ascontiguousarray({out})"]
    if memory == "channels":
        first = f"{names.tensors[0]}_x"
        usual = f"{out}.flags.c_contiguous and {first}.flags.c_contiguous"
        return [f"    if {out}.ndim > 1 and not ({usual}): {out} = with_channels_as_in({out}, {first})"]
    if memory == "follow" and names.tensors:
        usual = " and ".join(f"{x}_x.flags.c_contiguous" for x in names.tensors)
        return [f"    if {out}.ndim > 1 and not ({usual}): {out} = follow({out}, {_tuple(f'{x}_x' for x in names.tensors)})"]
    return []


def _edge_lines(names: _Names) -> list[str]:
    """`source`, unrolled for results, and for leaves that have a node already."""
    lines = []
    for x in names.tracked:
        lines += [f"    {x}_n = {x}._node",
                  f"    if {x}_n is None and {x}._indirect:",
                  f"        {x}_n = {x}._view is None and {x}._meta is not None and {x}._meta.accumulator() or source({x})"]
    return lines


def _node_lines(plan: RowPlan, names: _Names, depth: int) -> list[str]:
    """The node of an application whose edges are known."""
    row = plan.row
    fixed = isinstance(row.node, str) or not row.statics
    edges = "tuple(nodes)" if row.variadic else _tuple(f"{x}_n" if x in names.tracked else "None" for x in names.inputs)
    lines = [f"    node = {'NODE' if fixed else f'SPEC.node_class(SPEC.node_name({names.statics}))'}()",
             f"    node.edges = {edges}",
             *_saved_lines(plan, names)]
    if plan.static:
        shapes = ["[x.shape for x in arrays]"] if row.variadic else [f"{names.arrays[i]}.shape" for i in plan.shaped]
        static = [name for name in plan.static if name in row.statics] + shapes[:len(plan.shaped)]
        lines += [f"    node.static = {_tuple(static)}"]
    if plan.several:
        each = ", ".join(f"({out}.shape, {out}.dtype)" for out in names.outs)
        each = "(out.shape, out.dtype) for out in outs" if row.outputs == "list" else each
        lines += [f"    node.shapes = [{each}]", "    node.ports = {}"]
    elif row.broadcasts and len(names.tensors) > 1:
        shapes = [f"{x}_x.shape" if x in names.tensors else "()" for x in names.inputs]
        lines += [f"    node.shapes = None if {' == '.join(f'{x}_x.shape' for x in names.tensors)} else {_tuple(shapes)}"]
    else:
        lines += ["    node.shapes = None"]
    causes = _tuple(f"{x}._cause" if x in names.tensors else "()" for x in names.inputs)
    if row.variadic:
        lines += ["    node.cuts = tuple([x._cause for x in inputs]) if _missing else None"]
    elif len(names.tensors) == 1:
        lines += ["    node.cuts = None"]
    elif len(names.tracked) < len(names.tensors):
        lines += [f"    node.cuts = {causes}"]
    else:
        lines += [f"    node.cuts = None if {' and '.join(f'{x}_n is not None' for x in names.tracked)} else {causes}"]
    return [*lines,
            "    node.seq = next_sequence_number()",
            "    node.extra = None",
            *_frame_lines(depth),
            "    node.site_code = frame.f_code",
            "    node.lasti = frame.f_lasti"]


def _frame_lines(depth: int) -> list[str]:
    # A frame that is looked at costs 0.1 µs, so those that are known to be this package's are not.
    return [f"    frame = getframe({depth})",
            "    try:",
            "        while internal_modules[frame.f_globals['__name__']]: frame = frame.f_back",
            "    except (KeyError, AttributeError): frame = user_frame(1)"]


def _saved_lines(plan: RowPlan, names: _Names) -> list[str]:
    """Only the values that the rules of tracked arguments name, each with its version and the value of that."""
    row = plan.row
    lines, parts = [], []
    conditions = set()
    for name in plan.saved:
        wanted_by = plan.wanted_by[name]
        condition = None
        if len(wanted_by) < len(names.tracked):
            condition = " or ".join(f"{names.of[x]}_n is not None" for x in wanted_by)
        conditions.add(condition)
        if name in row.output_names:
            i = row.output_names.index(name)
            tensor, value = names.results[i], names.outs[i]
        else:
            tensor = names.of[name]
            value = f"{tensor}_x"
        if row.variadic and name in row.inputs:
            parts.append("tuple(arrays), [x._version_counter for x in inputs], [x._version_counter.value for x in inputs]")
        elif name in plan.numbers:
            parts.append(f"{tensor}, None, None")
        elif condition is None:
            lines += _version_lines(tensor)
            parts.append(f"{value}, {tensor}_v, {tensor}_v.value")
        else:
            lines += [f"    {tensor}_v = None", f"    if {condition}:", *[f"    {line}" for line in _version_lines(tensor)]]
            parts.append(f"None if {tensor}_v is None else {value}, {tensor}_v, 0 if {tensor}_v is None else {tensor}_v.value")
    if not parts:
        return ["    node.saved = ()"]
    values = f"({', '.join(parts)})"
    if None not in conditions and len(conditions) < len(names.tracked):
        # If only rules without saved values apply, nothing is saved: such a node can be walked twice.
        values += " if " + " or ".join(sorted(c for c in conditions if c)) + " else ()"
    return [*lines, f"    node.saved = {values}"]


def node_source(plan: RowPlan) -> str:
    """Source of the function that records a write into the tensor `t0`, whose array is `out0`: `make_node`, unrolled."""
    names = _Names(plan)
    lines = ["def node_of(inputs, arrays, statics, t0, out0):",
             f"    {', '.join(names.inputs)}, = inputs",
             f"    {', '.join(names.arrays)}, = arrays",
             *[f"    {name} = statics['{name}']" for name in plan.row.statics],
             *_edge_lines(names)]
    if names.tracked:
        lines += [f"    if {' and '.join(f'{x}_n is None' for x in names.tracked)}: return None",
                  *_node_lines(plan, names, depth=5)]  # below `perform` and what calls it
    return "\n".join([*lines, f"    return {'node' if names.tracked else 'None'}"]) + "\n"


def unwatched_source(plan: RowPlan, *, has_kernel: bool) -> str:
    """Source of the fast path of a write into the first argument: nothing to record, to promote or to broadcast, and no views.

    The function returns False if the fast path does not apply. Its argument `_recorded` tells whether operations are recorded.
    """
    names = _Names(plan)
    others = names.tensors[1:]

    def has_history(x: str) -> str:
        return f"_recorded and ({x}._node is not None or {x}._indirect)"

    signature = ["_recorded", *names.inputs, *(["*"] if names.signature else []), *names.signature]
    lines = [f"def unwatched({', '.join(signature)}):",
             "    x0_x = x0._array",
             "    x0_v, _dtype, _base = x0._lazy_version, x0_x.dtype, x0_x.base",
             f"    if (x0_v is not None and type(x0_v) is not Version) or 0 in x0_x.strides or {has_history('x0')}: return False",
             "    if _base is not None and (",
             "            x0._view is not None or type(_base) is not ndarray or type(x0) in TURNED): return False"]
    for x in others:
        lines += [f"    {x}_x = {x}._array",
                  f"    if {x}_x.dtype is not _dtype or {x}_x.shape != x0_x.shape: return False",
                  f"    if {has_history(x)}: return False",
                  f"    if {x}_x is not x0_x and ({x}_x.base is x0_x or _base is not None and (",
                  f"            {x}_x is _base or {x}_x.base is _base)): return False"]
    for x in names.inputs:
        if x not in names.tensors:
            lines += [f"    if type({x}) is int: _plain = _dtype.kind in 'fc' or _dtype is int64",
                      f"    else: _plain = {x} is None or type({x}) is float and _dtype.kind in 'fc'",
                      "    if not _plain: return False"]
    compute = f"SPEC.compute({_tuple(names.arrays)}, x0_x, {names.statics})"
    if has_kernel:
        lines += [f"    if _dtype is float32: into({', '.join([*names.arrays, *plan.row.statics, 'x0_x'])})",
                  f"    else: {compute}"]
    else:
        lines += [f"    {compute}"]
    lines += [*_version_lines("x0"),
              "    x0_v.value += 1",
              "    if x0_v.site is None: x0_v.dtype = _dtype",
              *_frame_lines(3),  # below a function that is behind the door
              "    x0_v.site = (frame.f_code, frame.f_lasti)"]
    if others:
        causes = "x0._cause"
        for x in others:
            causes = f"merge({causes}, {x}._cause)"
        lines += [f"    if x0._node is None and not x0._indirect: x0._cause = {causes}"]
    return "\n".join([*lines, "    return True"]) + "\n"


def gradient_source(plan: RowPlan, reader: str) -> str:
    """Source of the gradient function: "raw" on arrays; "graph" on Tensors, with saved values lifted back into the graph.

    `v0` is the first saved value, `v0_c` its version counter and `v0_v` its version; `k0` is the first static.
    """
    row = plan.row
    names = {name: f"v{k}" for k, name in enumerate(plan.saved)} | {name: f"k{k}" for k, name in enumerate(plan.static)}
    lines = [f"def {reader}(node, g, edges):"]
    if plan.saved:
        lines += ["    saved = node.saved",
                  "    if type(saved) is not tuple: saved = open_saved(node)",
                  "    " + ("if saved: " if plan.may_save_nothing else "")
                  + ", ".join(f"v{k}, v{k}_c, v{k}_v" for k in range(len(plan.saved))) + " = saved"]
    if plan.static:
        lines.append("    " + "".join(f"k{k}, " for k in range(len(plan.static))) + "= node.static")
    if plan.several and not row.partial:
        lines.append("    g = fill_missing(node.shapes, g, zeros, never)")
    if reader == "raw" and row.at_once is not None and len(plan.rules) == len(row.inputs):
        lines += [f"    if {' and '.join(f'edges[{i}] is not None' for i in range(len(row.inputs)))}:",
                  *[f"        {line}" for line in _check_lines(plan, row.at_once)],
                  f"        return at_once({', '.join(names.get(n, n) for n in row.at_once.names)})"]
    for i, name in enumerate(row.inputs):
        rule = plan.rules.get(name)
        if rule is None:
            continue
        # On arrays the rule of an elementwise row may be a kernel, which takes no vocabulary.
        bound = reader == "raw" and row.broadcasts
        arguments = ", ".join(names.get(n, n) for n in rule.names if n != "xp" or not bound)
        body = [*_check_lines(plan, rule), *(_lift_lines(plan, rule) if reader == "graph" else ()),
                f"g{i} = rule{i}({arguments})"]
        if len(plan.rules) == 1:
            lines += [f"    {line}" for line in body]
        else:
            lines += [f"    if edges[{i}] is None: g{i} = None", "    else:", *(f"        {line}" for line in body)]
    if row.variadic:
        return "\n".join([*lines, f"    return {'g0' if plan.rules else 'None'}"]) + "\n"
    gradients = _tuple(f"g{i}" if name in plan.rules else "None" for i, name in enumerate(row.inputs))
    if row.broadcasts and len(row.inputs) > 1:
        lines.append(f"    if node.shapes is not None: return sum_to_shapes(node.shapes, {gradients}, xp)")
    return "\n".join([*lines, f"    return {gradients}"]) + "\n"


def _check_lines(plan: RowPlan, rule: Rule) -> list[str]:
    """Raise if a saved value of this rule was changed in place since it was saved; use the new value if it was swapped."""
    lines = []
    for k, name in enumerate(plan.saved):
        if name not in rule.names or name in plan.numbers:
            continue
        if plan.row.variadic and name in plan.row.inputs:
            lines.append(f"check_all(node, {k}, v{k}, v{k}_c, v{k}_v)")
        else:
            lines.append(f"if v{k}_c.value != v{k}_v: v{k} = changed(node, {k}, v{k}, v{k}_c, v{k}_v)")
    return lines


def _lift_lines(plan: RowPlan, rule: Rule) -> list[str]:
    row, lines = plan.row, []
    for k, name in enumerate(plan.saved):
        if name not in rule.names:
            continue
        if name in row.output_names:
            lines.append(f"v{k} = lift_output(v{k}, node, {plan.several}, {row.output_names.index(name)}, v{k}_c)")
        elif row.variadic:
            lines.append(f"v{k} = [lift(x, edge, c) for x, edge, c in zip(v{k}, node.edges, v{k}_c)]")
        else:
            lines.append(f"v{k} = lift(v{k}, node.edges[{row.inputs.index(name)}], v{k}_c)")
    return lines


def sum_to_shapes(shapes: tuple[Any, ...], grads: tuple[Any, ...], vocabulary: Any) -> tuple[Any, ...]:
    """Undo broadcasting: sum each gradient to the shape of its argument."""
    return tuple([g if g is None or g.shape == shape else vocabulary.sum_to(g, shape=shape)
                  for g, shape in zip(grads, shapes, strict=True)])


def fill_missing(shapes: list[Any], grads: list[Any], zeros: Callable[..., Any], never: tuple[int, ...]) -> list[Any]:
    """The gradients of the outputs, with zeros for missing ones, except for the outputs in `never`, which never have one."""
    return [zeros(*shapes[i]) if g is None and i not in never else g for i, g in enumerate(grads)]
