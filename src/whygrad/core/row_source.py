"""The text of a compiled row: Python functions made for its exact arguments.

`apply_source` is `record` of core/record.py, unrolled; `raw_source` and `graph_source` call the row's rules on what the node
saved. The text is plain: `print(source_of("mul", "tt"))` of core/record.py shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from whygrad.core.conj_neg import TURNING
from whygrad.ops.table import NoGrad, Row, Rule

if TYPE_CHECKING:
    from whygrad.core.record import Layout


def apply_source(layout: Layout) -> str:
    """Text of the function that runs the row and records it: `record`, unrolled for these arguments."""
    row = layout.row
    tensors = [name for name, kind in zip(row.inputs, layout.kinds, strict=True) if kind == "t"]
    array = {name: f"{name}_x" if name in tensors else name for name in row.inputs}
    differentiable = [name for name in tensors if name in layout.rules]
    statics = ", ".join(f"{name}=default_{name}" if name in row.static_defaults else name for name in row.statics)
    signature = ", ".join(row.inputs) + (f", *, {statics}" if statics else "")
    call = ", ".join([array[name] for name in row.inputs] + [f"{name}={name}" for name in row.statics])
    statics_dict = _dict_of(row.statics)
    inputs_tuple = "(" + "".join(f"{name}, " for name in row.inputs) + ")"

    lines = [f"def {row.name}({signature}):",
             "    busy = special.on and unusual()",
             f"    if busy and modes.levels: return record(layout, {inputs_tuple}, {statics_dict})"]
    lines += [f"    {name}_x = {name}.{'_memory' if row.view else '_array'}" for name in tensors]
    if row.broadcasts and len(tensors) > 1:
        lines += [f"    try: out = forward({call})",
                  "    except ValueError:",
                  "        check_broadcast((" + "".join(f"{name}_x, " for name in tensors) + "))",
                  "        raise"]
    else:
        lines += [f"    out = forward({call})"]
    lines += ["    if type(out) is not ndarray: out = asarray(out)",
              *_memory_order_lines(row, tensors),
              f"    if busy: return record(layout, {inputs_tuple}, {statics_dict}, out)",
              *_edge_lines(differentiable),
              "    t = new(Tensor)",
              "    t._array = out",
              "    t._node = t._grad = t._view = t._meta = None"]
    if row.view:
        lines += _view_lines(tensors[0], statics_dict)
        if row.name in TURNING:
            lines += [f"    turn_over(t, '{row.name}')"]
    else:
        lines += ["    t._lookup = False",
                  "    t._counter = [0]"]
    if not differentiable:
        lines += [f"    t._cause = untracked_causes(row, {inputs_tuple})",
                  "    return t"]
        return "\n".join(lines) + "\n"
    causes = tensors[0] + "._cause"
    for name in tensors[1:]:
        causes = f"merge({causes}, {name}._cause)"
    # A view of an inference tensor is no view, and has no history.
    untracked = "t._view is None" if row.view else " and ".join(f"{name}_n is None" for name in differentiable)
    if row.view:
        untracked += f" or {differentiable[0]}_n is None"
    lines += [f"    if {untracked}:",
              f"        t._cause = {causes}" if len(differentiable) == len(tensors)
              else f"        t._cause = untracked_causes(row, {inputs_tuple})",
              "        return t",
              *_node_lines(layout, tensors, differentiable, array),
              "    t._view.node = node" if row.view else "    t._node = node",
              "    t._cause = ()",
              "    return t"]
    return "\n".join(lines) + "\n"


def _view_lines(x: str, statics: str) -> list[str]:
    """`make_view`, unrolled for where nothing is unusual."""
    step = f"(row, {statics}, None, {x}_x.shape)"
    return [f"    _counter = {x}._counter",
            f"    if special.on or type(_counter) is not list or type({x}) in TURNED: make_view(t, {x}, row, {statics})",
            "    else:",
            "        t._lookup = True",
            "        t._counter = _counter",
            f"        _parent = {x}._view",
            "        _view = t._view = new(View)",
            f"        if _parent is None: _view.base, _view.steps, _view.creation = {x}, ({step},), ''",
            "        else:",
            "            _view.base, _view.creation = _parent.base, _parent.creation",
            f"            _view.steps = (*_parent.steps, {step})",
            "        _view.node, _view.requires_grad, _view.version = None, False, _counter[0]"]


def node_source(layout: Layout) -> str:
    """Text of the function that records a write into the tensor `t`, whose array is `out`: `make_node`, unrolled."""
    row = layout.row
    tensors = [name for name, kind in zip(row.inputs, layout.kinds, strict=True) if kind == "t"]
    array = {name: f"{name}_x" if name in tensors else name for name in row.inputs}
    differentiable = [name for name in tensors if name in layout.rules]
    lines = ["def write(inputs, arrays, statics, t, out):",
             f"    {', '.join(row.inputs)}, = inputs",
             f"    {', '.join(array.values())}, = arrays",
             *[f"    {name} = statics['{name}']" for name in row.statics],
             *_edge_lines(differentiable)]
    if not differentiable:
        return "\n".join([*lines, "    return None"]) + "\n"
    lines += [f"    if {' and '.join(f'{name}_n is None' for name in differentiable)}: return None",
              *_node_lines(layout, tensors, differentiable, array),
              "    return node"]
    return "\n".join(lines) + "\n"


def plain_write_source(layout: Layout) -> str:
    """Text of the short way of a write into the first argument, for when there is nothing to record, to promote or to broadcast,
    and nobody else in the target's memory: False if it is not so. `_recorded` says whether operations are recorded.
    """
    row = layout.row
    tensors = [name for name, kind in zip(row.inputs, layout.kinds, strict=True) if kind == "t"]
    target, *others = tensors
    statics = [f"{name}=default_{name}" if name in row.static_defaults else name for name in row.statics]
    arrays = [f"{name}_x" if name in tensors else name for name in row.inputs]

    def has_history(name: str) -> str:
        return f"_recorded and ({name}._node is not None or {name}._lookup)"

    lines = [f"def plain_write({', '.join(['_recorded', *row.inputs, *(['*'] if statics else []), *statics])}):",
             f"    {target}_x = {target}._array",
             f"    _counter, _dtype, _base = {target}._counter, {target}_x.dtype, {target}_x.base",
             f"    if type(_counter) is not list or 0 in {target}_x.strides or {has_history(target)}: return False",
             "    if _base is not None and (",
             f"            {target}._view is not None or type(_base) is not ndarray or type({target}) in TURNED): return False"]
    for name in others:
        lines += [f"    {name}_x = {name}._array",
                  f"    if {name}_x.dtype is not _dtype or {name}_x.shape != {target}_x.shape: return False",
                  f"    if {has_history(name)}: return False",
                  f"    if {name}_x is not {target}_x and ({name}_x.base is {target}_x or _base is not None and (",
                  f"            {name}_x is _base or {name}_x.base is _base)): return False"]
    for name in row.inputs:
        if name not in tensors:
            lines += [f"    if type({name}) is int: plain = _dtype.kind in 'fc' or _dtype is int64",
                      f"    else: plain = {name} is None or type({name}) is float and _dtype.kind in 'fc'",
                      "    if not plain: return False"]
    compute = f"layout.compute(({', '.join(arrays)},), {target}_x, {_dict_of(row.statics)})"
    if layout.has_written_kernel:
        lines += [f"    if _dtype is float32: into({', '.join([*arrays, *row.statics, f'{target}_x'])})",
                  f"    else: {compute}"]
    else:
        lines += [f"    {compute}"]
    lines += ["    if len(_counter) == 1: _counter += (None, None, _dtype)",
              "    _counter[0] += 1",
              *_frame_lines(),
              "    _counter[1] = (frame.f_code, frame.f_lasti)"]
    if others:
        causes = f"{target}._cause"
        for name in others:
            causes = f"merge({causes}, {name}._cause)"
        lines += [f"    if {target}._node is None and not {target}._lookup: {target}._cause = {causes}"]
    return "\n".join([*lines, "    return True"]) + "\n"


def _dict_of(names: Iterable[str]) -> str:
    return "{" + ", ".join(f"'{name}': {name}" for name in names) + "}"


def _edge_lines(differentiable: list[str]) -> list[str]:
    lines = []
    for name in differentiable:
        lines += [f"    {name}_n = {name}._node",
                  f"    if {name}_n is None and {name}._lookup: {name}_n = source({name})"]
    return lines


def _node_lines(layout: Layout, tensors: list[str], differentiable: list[str], array: dict[str, str]) -> list[str]:
    row = layout.row
    return [f"    node = new({_node_class_expression(layout)})",
            "    node.edges = (" + "".join(f"{name}_n, " if name in differentiable else "None, " for name in row.inputs) + ")",
            *_saved_lines(layout, array, differentiable),
            "    node.shapes = " + _shapes_expression(row, tensors, array),
            *_cuts_lines(row, tensors, differentiable),
            *_place_lines()]


def _place_lines() -> list[str]:
    """When and where."""
    return ["    node.seq = next_sequence_number()",
            "    node.extra = None",
            *_frame_lines(),
            "    node.site_code = frame.f_code",
            "    node.lasti = frame.f_lasti"]


def _frame_lines() -> list[str]:
    # Whoever calls a compiled row is one of us: the user's frame is further out.
    return ["    frame = getframe(2)",
            "    while internal_modules[frame.f_globals.get('__name__', '')] and frame.f_back is not None: frame = frame.f_back"]


def _memory_order_lines(row: Row, tensors: list[str], out: str = "out") -> list[str]:
    """Inputs in the usual order give a result in the usual order, in NumPy as in torch; for others torch's rule is needed."""
    if row.memory == "columns" and row.output_names.index(out) in row.matrices:
        return [f"    if {out}.ndim > 1: {out} = in_columns({out})"]
    if row.memory in ("contiguous", "columns"):
        return [f"    if {out}.ndim > 1 and not {out}.flags.c_contiguous: {out} = ascontiguousarray({out})"]
    if row.memory == "channels":
        first = f"{tensors[0]}_x"
        usual = f"{out}.flags.c_contiguous and {first}.flags.c_contiguous"
        return [f"    if {out}.ndim > 1 and not ({usual}): {out} = with_channels_as_in({out}, {first})"]
    if row.memory == "follow" and tensors:
        usual = " and ".join(f"{name}_x.flags.c_contiguous" for name in tensors)
        models = ", ".join(f"{name}_x" for name in tensors)
        return [f"    if {out}.ndim > 1 and not ({usual}): {out} = follow({out}, ({models},))"]
    return []


def record_source(layout: Layout) -> str:
    """The same for rows with several results or any number of arguments: unrolled as far as it goes, else the general way."""
    row = layout.row
    if row.variadic:
        lines = _variadic_lines(layout) if layout.rules and row.outputs != "list" and not row.view else None
    elif row.outputs == "list":
        lines = _views_lines(layout) if row.view and len(row.inputs) == 1 and not layout.saved else None
    else:
        lines = None if layout.several or row.view or not layout.rules else _values_lines(layout)
    if lines is None:
        lines = [f"def {row.name}(*inputs, **statics):",
                 "    return record(layout, inputs, {**row.static_defaults, **statics})"]
    return "\n".join(lines) + "\n"


def _head_lines(layout: Layout) -> list[str]:
    row = layout.row
    inputs = ["*inputs"] if row.variadic else [*row.inputs, "*"] if row.statics else list(row.inputs)
    statics = [f"{name}=default_{name}" if name in row.static_defaults else name for name in row.statics]
    given = "inputs" if row.variadic else "(" + "".join(f"{name}, " for name in row.inputs) + ")"
    return [f"def {row.name}({', '.join(inputs + statics)}):",
            f"    if special.on and unusual(): return record(layout, {given}, {_dict_of(row.statics)})"]


def _fresh_lines(name: str, array: str, indent: str = "    ") -> list[str]:
    return [f"{indent}{name} = new(Tensor)",
            f"{indent}{name}._array = {array}",
            f"{indent}{name}._node = {name}._grad = {name}._view = {name}._meta = None"]


def _variadic_lines(layout: Layout) -> list[str]:
    """Any number of Tensors."""
    row = layout.row
    (name,) = row.inputs
    outs = row.output_names
    known = {f"{name}_shape": "[x.shape for x in arrays]"}
    static = "".join([f"{known.get(word, word)}, " for word in layout.static])
    call = "".join([f", {word}={word}" for word in row.statics])
    saved = [f"{word}, t_{word}._counter, 0" if word in outs else "tuple(arrays), counters, [x[0] for x in counters]"
             for word in layout.saved]
    lines = [*_head_lines(layout),
             "    arrays = [x._array for x in inputs]",
             f"    {', '.join(outs)}{'' if layout.one_output else ','} = forward(*arrays{call})"]
    for out in outs:
        lines += _result_lines(row, [], out)
    lines += ["    nodes = [source(x) if x._node is None and x._lookup else x._node for x in inputs]",
              "    untracked = nodes.count(None)",
              "    if untracked == len(nodes):",
              "        causes = inputs[0]._cause",
              "        for x in inputs: causes = merge(causes, x._cause)",
              f"        {' = '.join(f't_{out}._cause' for out in outs)} = causes",
              f"        return {_results(layout)}",
              f"    node = new({_node_class_expression(layout)})",
              "    node.edges = tuple(nodes)",
              *(["    counters = [x._counter for x in inputs]"] if name in layout.saved else []),
              f"    node.saved = ({''.join(f'{part}, ' for part in saved)})",
              f"    node.static = ({static})",
              f"    node.shapes = {_shapes_of_results(layout)}",
              *(["    node.ports = {}"] if layout.several else []),
              "    node.cuts = tuple([x._cause for x in inputs]) if untracked else None",
              *_place_lines()]
    return [*lines, *_attach_lines(layout), f"    return {_results(layout)}"]


def _result_lines(row: Row, tensors: list[str], out: str) -> list[str]:
    """A Tensor `t_<out>` around a result."""
    return [f"    if type({out}) is not ndarray: {out} = asarray({out})",
            *_memory_order_lines(row, tensors, out),
            *_fresh_lines(f"t_{out}", out),
            f"    t_{out}._lookup = False",
            f"    t_{out}._counter = [0]"]


def _results(layout: Layout) -> str:
    results = ", ".join(f"t_{out}" for out in layout.row.output_names)
    return results if layout.one_output else f"[{results}]"


def _shapes_of_results(layout: Layout) -> str:
    """Gradients of some results may be missing; then zeros are made that look like them."""
    outs = layout.row.output_names
    return f"[{', '.join(f'({out}.shape, {out}.dtype)' for out in outs)}]" if layout.several else "None"


def _attach_lines(layout: Layout) -> list[str]:
    """Give each result its place in the graph, or say why it has none."""
    lines = []
    for i, name in enumerate(layout.row.output_names):
        if i in (layout.differentiable_outputs or ()):
            node = f"port_of(node, {i})" if layout.several else "node"
            lines += [f"    t_{name}._node = {node}", f"    t_{name}._cause = ()"]
        else:
            cause = f"Cause('non-differentiable-op', (node.site_code, node.lasti), row.outputs[{i}].reason, (node,))"
            lines += [f"    t_{name}._cause = ({cause},)"]
    return lines


def _values_lines(layout: Layout) -> list[str]:
    """Several results of which one has a derivative: values, and where they were found."""
    row = layout.row
    tensors = [name for name, kind in zip(row.inputs, layout.kinds, strict=True) if kind == "t"]
    array = {name: f"{name}_x" if name in tensors else name for name in row.inputs}
    differentiable = [name for name in tensors if name in layout.rules]
    call = ", ".join([array[name] for name in row.inputs] + [f"{name}={name}" for name in row.statics])
    lines = _head_lines(layout)
    lines += [f"    {name}_x = {name}._array" for name in tensors]
    outs = row.output_names
    lines += [f"    {', '.join(outs)}, = forward({call})"]
    for name in outs:
        lines += _result_lines(row, tensors, name)
    inputs = "(" + "".join(f"{name}, " for name in row.inputs) + ")"
    lines += [*_edge_lines(differentiable),
              f"    if {' and '.join(f'{name}_n is None' for name in differentiable)}:",
              f"        {' = '.join(f't_{name}._cause' for name in outs)} = untracked_causes(row, {inputs})",
              f"        return {_results(layout)}",
              *_node_lines(layout, tensors, differentiable, array)]
    return [*lines, *_attach_lines(layout), f"    return {_results(layout)}"]


def _views_lines(layout: Layout) -> list[str]:
    """A list of views of one tensor."""
    row = layout.row
    (x,) = row.inputs
    call = "".join([f", {name}={name}" for name in row.statics])
    static = "".join([f"{x}._memory.shape, " if name == f"{x}_shape" else f"{name}, " for name in layout.static])
    return [*_head_lines(layout),
            f"    outs = forward({x}._memory{call})",
            f"    statics = {_dict_of(row.statics)}",
            "    results = []",
            "    for out in outs:",
            *_fresh_lines("t", "out", "        "),
            f"        make_view(t, {x}, row, statics, len(results))",
            "        results.append(t)",
            *_edge_lines([x]),
            f"    if {x}_n is None or not results or results[0]._view is None:",
            f"        causes = untracked_causes(row, ({x},))",
            "        for t in results: t._cause = causes",
            "        return results",
            f"    node = new({_node_class_expression(layout)})",
            f"    node.edges = ({x}_n,)",
            "    node.saved = ()",
            f"    node.static = ({static})",
            "    node.shapes = [(out.shape, out.dtype) for out in outs]",
            "    node.ports = {}",
            "    node.cuts = None",
            *_place_lines(),
            "    for i, t in enumerate(results):",
            "        t._view.node = port_of(node, i)",
            "        t._cause = ()",
            "    return results"]


def _node_class_expression(layout: Layout) -> str:
    row = layout.row
    if isinstance(row.node, str) or not row.statics:
        name = layout.node_name({})
        layout.node_class(name)
        return f"layout.classes['{name}']"
    statics = _dict_of(row.statics)
    return f"layout.node_class(layout.node_name({statics}))"


def _saved_lines(layout: Layout, array: dict[str, str], differentiable: list[str]) -> list[str]:
    """Save what the rules of tracked arguments name, and nothing else."""
    row = layout.row
    parts = []
    conditions = set()
    for name in layout.saved:
        wanted_by = layout.wanted_by[name]
        condition = None
        if len(wanted_by) < len(differentiable):
            condition = " or ".join(f"{x}_n is not None" for x in wanted_by)
        conditions.add(condition)
        is_result = name in row.output_names
        tensor = "t" if name == "out" else f"t_{name}" if is_result else name
        value = name if is_result else array[name]
        if array.get(name) == name:
            parts.append(f"{value}, None, None")
        elif condition is None:
            parts.append(f"{value}, _counter := {tensor}._counter, _counter[0]")
        else:
            parts.append(f"{value} if {condition} else None, _counter := {tensor}._counter, _counter[0] if {condition} else 0")
    values = "(" + ", ".join(parts) + ")" if parts else "()"
    if parts and None not in conditions and len(conditions) < len(differentiable):
        # Some of the rules save nothing: a node that saved nothing can be walked twice.
        values += " if " + " or ".join(sorted(c for c in conditions if c)) + " else ()"
    lines = [f"    node.saved = {values}"]
    if layout.static:
        statics = [name if name in row.statics else f"{array[name.removesuffix('_shape')]}.shape"
                   for name in layout.static]
        lines.append(f"    node.static = ({', '.join(statics)},)")
    return lines


def _shapes_expression(row: Row, tensors: list[str], array: dict[str, str]) -> str:
    if not row.broadcasts or len(tensors) < 2:
        return "None"
    same = " == ".join(f"{name}_x.shape" for name in tensors)
    shapes = ", ".join(f"{name}_x.shape" if name in tensors else "()" for name in row.inputs)
    return f"None if {same} else ({shapes})"


def _cuts_lines(row: Row, tensors: list[str], differentiable: list[str]) -> list[str]:
    if len(tensors) == 1:
        return ["    node.cuts = None"]
    causes = ", ".join(f"{name}._cause" if name in tensors else "()" for name in row.inputs)
    if len(differentiable) < len(tensors):
        return [f"    node.cuts = ({causes})"]
    tracked = " and ".join(f"{name}_n is not None" for name in differentiable)
    return [f"    node.cuts = None if {tracked} else ({causes})"]


def _unpack_lines(layout: Layout) -> list[str]:
    lines = []
    if layout.saved:
        names = ", ".join(f"{name}, {name}_c, {name}_v" for name in layout.saved)
        lines += ["    saved = node.saved",
                  "    if type(saved) is not tuple: saved = open_saved(node)",
                  f"    {'if saved: ' if layout.may_save_nothing else ''}{names} = saved"]
    if layout.static:
        lines.append(f"    {', '.join(layout.static)}, = node.static")
    return lines


def _check_lines(layout: Layout, rule: Rule, indent: str) -> list[str]:
    """Raise if a saved value that this rule uses was changed in place since; take the new one if it was swapped."""
    lines = []
    for name in layout.saved:
        if name not in rule.names or name in layout.numbers:
            continue
        if layout.row.variadic and name in layout.row.inputs:
            lines += [f"{indent}which = variadic_stale({name}_c, {name}_v)",
                      (f"{indent}if which is not None: raise stale(node, '{name}', {name}[which], {name}_c[which], "
                       f"{name}_v[which], which)")]
        else:
            lines.append(f"{indent}if {name}_c[0] != {name}_v: {name} = changed(node, '{name}', {name}, {name}_c, {name}_v)")
    return lines


def raw_source(layout: Layout) -> str:
    """Text of the gradient function on bare arrays."""
    return _gradient_source(layout, "raw", lambda rule: [])


def graph_source(layout: Layout) -> str:
    """Text of the gradient function on Tensors: as `raw`, with saved values lifted back into the graph."""
    row = layout.row

    def lift_lines(rule: Rule) -> list[str]:
        lines = []
        for name in layout.saved:
            if name not in rule.names:
                continue
            if name in row.output_names:
                i = row.output_names.index(name)
                lines.append(f"{name} = lift_output({name}, node, {layout.several}, {i}, {name}_c)")
            elif row.variadic:
                lines.append(f"{name} = [lift(x, edge, c) for x, edge, c in zip({name}, node.edges, {name}_c)]")
            else:
                lines.append(f"{name} = lift({name}, node.edges[{row.inputs.index(name)}], {name}_c)")
        return lines

    return _gradient_source(layout, "graph", lift_lines)


def _gradient_source(layout: Layout, reader: str, lift_lines: Callable[[Rule], list[str]]) -> str:
    row = layout.row
    xp = "raw_xp" if reader == "raw" else "tensor_xp"
    lines = [f"def {reader}(node, g, edges):", *_unpack_lines(layout)]
    if layout.several and not row.partial:
        zeros = "raw_zeros" if reader == "raw" else "tensor_zeros"
        never = () if row.outputs == "list" else tuple([i for i, out in enumerate(row.outputs) if isinstance(out, NoGrad)])
        lines.append(f"    g = fill_missing(node.shapes, g, {zeros}, {never})")
    if reader == "raw" and row.at_once is not None and len(layout.rules) == len(row.inputs):
        all_wanted = " and ".join(f"edges[{i}] is not None" for i in range(len(row.inputs)))
        lines += [f"    if {all_wanted}:", *_check_lines(layout, row.at_once, "        "),
                  f"        return at_once({', '.join('raw_xp' if n == 'xp' else n for n in row.at_once.names)})"]
    for position, name in enumerate(row.inputs):
        rule = layout.rules.get(name)
        if rule is None:
            lines.append(f"    g_{name} = None")
            continue
        # On arrays a rule of an elementwise row may be machine code, which has no use for a vocabulary (see `_scope`).
        bound = reader == "raw" and row.broadcasts
        arguments = ", ".join(xp if n == "xp" else n for n in rule.names if n != "xp" or not bound)
        body = [*_check_lines(layout, rule, ""), *lift_lines(rule), f"g_{name} = rule_{name}({arguments})"]
        if len(layout.rules) == 1:
            lines += [f"    {line}" for line in body]
        else:
            lines += [f"    if edges[{position}] is None: g_{name} = None",
                      "    else:", *(f"        {line}" for line in body)]
    if row.variadic:
        lines.append(f"    return g_{row.inputs[-1]}")
        return "\n".join(lines) + "\n"
    gradients = "(" + "".join(f"g_{name}, " for name in row.inputs) + ")"
    if row.broadcasts and len(row.inputs) > 1:
        lines.append(f"    if node.shapes is not None: return sum_to_shapes(node.shapes, {gradients}, {xp})")
    lines.append(f"    return {gradients}")
    return "\n".join(lines) + "\n"
