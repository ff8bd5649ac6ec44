"""Capture: a function runs once, eagerly and observably, and what passes the row door is written down as a program.

Listeners of the row door hear of rows, writes in place, nodes of a backward and leaves. A function declared as `outside_rows`
becomes one instruction. `Observer` (observe.py) sees which code runs, and what a replay could not repeat.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad._rng import Stream
from whygrad.backends.numpy_convert import cast_values
from whygrad.base.dtypes import bfloat16, dtype
from whygrad.base.frames import is_of_package, program_frame
from whygrad.compilation.backward import FunctionLike, contributions_to, node_gradients
from whygrad.compilation.guards import Break, Executed
from whygrad.compilation.observe import Observer
from whygrad.compilation.program import Call, Deposit, Instruction, RowCall, Value, Write
from whygrad.core import door
from whygrad.core.modes import grad_state
from whygrad.core.node import AccumulateGrad, Node, next_sequence_number
from whygrad.core.record import RowNode, RowSpecialization
from whygrad.core.tensor import Tensor
from whygrad.functional.parameter import Buffer, Parameter
from whygrad.nn.module import Module
from whygrad.optim.optimizer import Optimizer

# Objects that may be given to functions which programs call again.
STATEFUL = (Tensor, Module, Optimizer)


class Capture:
    """The listener. After the run, `instructions` is the program, and `unknown` are the arrays that it did not see made."""

    hears_calls = True

    def __init__(self, code: types.CodeType | None) -> None:
        self.code = code  # of the function that is captured
        self.line: int | None = None  # in that function, of what broke
        self.mutated: list[tuple[Any, int | None]] = []  # lists, dicts and sets that were written, and in which line
        self.instructions: list[Instruction] = []
        self.values: dict[int, Value] = {}  # id of an array -> its value; `kept` keeps the ids valid
        self.kept: list[Any] = []
        self.unknown: list[Value] = []
        self.constants: set[int] = set()  # ids of arrays that were made from no other arrays
        self.executed = Executed()
        self.reason: str | None = None
        self.thread = threading.get_ident()  # others are not heard
        self.muted = False
        self.depth = 0  # of what is being done inside a row, a rule or a call
        self.events: list[dict[str, Any]] = []
        self.backwards: dict[Any, dict[Any, list[Value]]] = {}
        self.writes: list[tuple[Write, Any]] = []  # and the version that each counts up
        self.versions: dict[int, tuple[Any, int]] = {}
        self.deposits: list[tuple[Deposit, Tensor]] = []
        self.storing: int | None = None  # the first line that called code which writes into objects
        self.turned: list[Tensor] = []  # tensors that became views of themselves, as by `transpose_`
        self.switched: list[Tensor] = []  # tensors that began to require grad
        self.first_number = next_sequence_number()  # nodes with smaller ones are of somebody else's graph
        self.derives = False  # a backward is derived after the run: then values are computed at once

    # Values.

    def broke(self, reason: str) -> None:
        """Remember the first reason why there will be no program, and go on eagerly."""
        if self.reason is None:
            frame = program_frame(2)
            where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            self.reason = f"{where}: {reason}"
            self.line = self.line_now()

    def line_now(self) -> int | None:
        """Where the function is that is captured."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        return None if frame is None else frame.f_lineno

    def new(self, array: Any) -> Value:
        value = Value(len(self.kept), array)
        self.kept.append(array)
        if isinstance(array, np.ndarray):
            if bfloat16.numpy == array.dtype:
                self.broke(f"the dtype {array.dtype} is not compiled")
            self.values[id(array)] = value
        return value

    def value(self, array: Any) -> Value:
        found = self.values.get(id(array))
        if found is None:
            found = self.new(array)
            found.source = "unknown"
            if id(array) in self.constants:
                found.source, found.array = "constant", array.copy("K")  # it may be written soon
            self.unknown.append(found)
        return found

    def copied(self, array: Any, copy: Any) -> None:
        """A gradient is given to the user, who gets a copy if somebody else has it too."""
        if copy is not array and isinstance(copy, np.ndarray):
            source = self.value(array)
            self.add(Call(np.ndarray.copy, (source,), {}, [self.new(copy)], None, several=False, pure=True))

    def atoms(self, x: Any) -> Any:
        """Arguments with values in the place of arrays."""
        if isinstance(x, Tensor):
            self._watch_version(x)
            return self.value(x._array)
        if isinstance(x, np.ndarray):
            return self.value(x)
        if type(x) in (tuple, list):
            return type(x)([self.atoms(part) for part in x])
        if type(x) is dict:
            return {name: self.atoms(part) for name, part in x.items()}
        return x

    def _watch_version(self, t: Tensor) -> None:
        version = t._lazy_version
        if version is not None:
            self.versions.setdefault(id(version), (version, int(version.value)))

    def add(self, instruction: Instruction) -> None:
        self.instructions.append(instruction)

    # What the row door tells.

    def begin(self, name: str, inputs: tuple[Any, ...], run_with: tuple[Any, ...]) -> Any:
        if self.muted or threading.get_ident() != self.thread:
            return None
        self.depth += 1
        event: dict[str, Any] = {"kind": None, "run": run_with, "leaf": True}
        for outer in self.events:
            outer["leaf"] = False
        self.events.append(event)
        first = run_with[0]
        try:
            if type(first) is RowSpecialization:
                event["kind"] = "row" if len(run_with) == 3 else "write"
                if event["kind"] == "write":
                    self._begin_write(event, *run_with)
            elif len(run_with) == 6 and isinstance(run_with[1], AccumulateGrad):
                event["kind"] = "leaf"
                self._begin_leaf(*run_with)
            elif len(run_with) == 6 and isinstance(run_with[1], Node):
                event["kind"] = "node"
                self._begin_node(event, *run_with)
                if event.get("transparent"):
                    self.depth -= 1
        except Exception as reason:  # a Break, or an error of ours, which is not the function's
            self.broke(described(reason))
        return event

    def end(self, event: dict[str, Any] | None, result: Any) -> None:
        if event is None:
            return
        self.depth -= not event.get("transparent", False)
        self.events.pop()
        if result is None and event["kind"] != "leaf":
            return
        try:
            if event["kind"] == "row" and event["leaf"]:
                self._end_row(event["run"], result)
            elif event["kind"] == "write":
                self._end_write(event)
            elif event["kind"] == "leaf":
                self._end_leaf(*event["run"])
            elif event["kind"] == "node":
                self._end_node(event, result)
        except Exception as reason:  # a Break, or an error of ours, which is not the function's
            self.broke(described(reason))

    def _end_row(self, application: Any, result: Any) -> None:
        spec, inputs, statics = application
        if grad_state.levels or grad_state.saved_hooks:
            raise Break("a transform of torch.func, or hooks on saved tensors")
        row = spec.row
        arrays = [x._memory if row.view and isinstance(x, Tensor) else x for x in inputs]
        if any(isinstance(x, Tensor) and type(x) not in (Tensor, Parameter, Buffer) for x in inputs):
            raise Break("a subclass of Tensor")
        args = [self.atoms(x) for x in arrays]
        statics = {name: self.atoms(x) for name, x in statics.items()}
        results = [result] if spec.one_output else list(result)
        outputs = [self.new(t._memory) for t in results]
        for t in results:
            self._watch_version(t)
            self.kept.append(t)
        contiguous = all(x.flags.c_contiguous for x in map(array_of, arrays) if x is not None)
        history = (*[isinstance(x, Tensor) and x.requires_grad for x in inputs], any(t.requires_grad for t in results))
        self.add(RowCall(spec, args, statics, outputs, self._site(), contiguous, history))

    def _site(self) -> Any:
        frame = program_frame(3)
        return frame.f_code, frame.f_lasti

    def _begin_write(self, event: dict[str, Any], spec: RowSpecialization, target: Tensor, position: int, inputs: tuple[Any, ...],
                     statics: dict[str, Any]) -> None:
        self._watch_version(target)
        args = [self.atoms(x) for x in inputs]
        name = spec.row.inputs[position] if not spec.row.variadic else ""
        event["old"] = target._array.copy() if name in spec.saved else None
        known = {key: self.atoms(x) for key, x in statics.items()}
        event["write"] = Write(spec, args, known, self.value(target._array), position, self._site())

    def _end_write(self, event: dict[str, Any]) -> None:
        if not event["leaf"]:
            raise Break("a write inside a transform")
        spec, target = event["run"][0], event["run"][1]
        node = target._node if target._view is None else None
        if event["old"] is not None and isinstance(node, RowNode) and type(node).layout is spec and node.saved:
            position = spec.saved.index(spec.row.inputs[event["run"][2]])
            old = node.saved[3 * position]
            if old is not None and id(old) not in self.values:
                self.add(Call(np.ndarray.copy, (event["write"].target,), {}, [self.new(old)], None, several=False))
        self.add(event["write"])
        self.versions.setdefault(id(target._version_counter), (target._version_counter, int(target._version_counter.value) - 1))
        self.writes.append((event["write"], target._version_counter))

    # The backward. What the engine adds up is not heard of, so it is followed here.

    def _begin_node(self, event: dict[str, Any], this: Any, node: Node, g: Any, keep: bool, captures: Any,
                    deposits: bool) -> None:
        pending = self.backwards.setdefault(this, {})
        if this.create_graph:
            event["transparent"] = True  # its rules are rows, and heard of
            return
        if node.extra is not None and (node.extra.tensor_hooks or node.extra.pre_hooks or node.extra.post_hooks
                                       or node.extra.retained is not None):
            raise Break("a hook in a backward")
        value = contributions_to(node, pending, self)
        if value is None or (isinstance(value, list) and all(v is None for v in value)):
            value = [None if x is None else self.value(x) for x in g] if isinstance(g, list) else self.value(g)
        elif node in this.roots:
            raise Break("a backward that begins at two nodes, of which one leads to the other")
        if isinstance(node, FunctionLike) and node.seq >= self.first_number:
            event["transparent"] = True
            for array, v in zip(g, value, strict=True) if isinstance(g, list) else ((g, value),):
                if array is not None:
                    self.values[id(array)] = v
                    self.kept.append(array)
            return
        if isinstance(value, Value) and isinstance(g, np.ndarray):
            self.values[id(g)] = value
            self.kept.append(g)
        edges = node.edges if captures is None else tuple([t if t in this.targets else None for t in node.edges])
        if node.seq < self.first_number:
            raise Break("a backward goes through a graph that was there before")
        event["gradients"] = [None] * len(edges)
        if any(t is not None for t in edges):
            event["gradients"] = node_gradients(self, node, value, edges)

    def _end_node(self, event: dict[str, Any], result: Any) -> None:
        this = event["run"][0]
        if this.create_graph or self.reason:
            return
        edges, grads = result
        values = event.get("gradients")
        if values is None:
            values = [None if g is None else self.atoms(g._array if isinstance(g, Tensor) else g) for g in grads]
        for edge, g, v in zip(edges, grads, values, strict=False):
            if g is None or v is None:
                continue
            if isinstance(g, np.ndarray):
                v.array = g
                self.values[id(g)] = v
                self.kept.append(g)
            if edge is not None:
                self.backwards[this].setdefault(edge, []).append(v)

    def _begin_leaf(self, this: Any, target: AccumulateGrad, total: Any, captures: Any, deposits: bool, held: int) -> None:
        if total is None or this.create_graph:
            if this.create_graph and (captures is None or deposits):
                raise Break("backward(create_graph=True)")
            return
        leaf = target.leaf
        if target.extra is not None and (target.extra.tensor_hooks or target.extra.pre_hooks or target.extra.post_hooks):
            raise Break("a hook on a leaf")
        if leaf._meta.post_accumulate_hooks or leaf._array.dtype.kind == "c" or not isinstance(total, np.ndarray):
            raise Break("a hook on a leaf, or an unusual gradient")
        value = contributions_to(target, self.backwards.setdefault(this, {}), self)
        if value is None:
            value = self.value(total)
        self.values[id(total)] = value
        self.kept.append(total)

    def _end_leaf(self, this: Any, target: AccumulateGrad, total: Any, captures: Any, deposits: bool, held: int) -> None:
        leaf = target.leaf
        if total is None or this.create_graph or self.reason or (captures is not None and not deposits):
            return
        if leaf._array.dtype != total.dtype or leaf._array.shape != total.shape or leaf._grad is None:
            raise Break("a gradient of another dtype or shape")
        output = self.new(leaf._grad._array)
        self._watch_version(leaf._grad)
        instruction = Deposit(None, self.values[id(total)], output, this)  # type: ignore[arg-type]
        self.deposits.append((instruction, leaf))
        self.add(instruction)

    # Functions that work past the rows.

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.depth or threading.get_ident() != self.thread:
            return function(*args, **kwargs)
        given = self._call_atoms(args), {name: self._call_atoms(x) for name, x in kwargs.items()}
        self.depth += 1
        self.muted = True
        try:
            result = function(*args, **kwargs)
        finally:
            self.muted = False
            self.depth -= 1
        if result is None:
            outputs = []
        elif isinstance(result, np.ndarray):
            if id(result) in self.values:  # an argument itself; another time it may be something else
                result = result.view()
            outputs = [self.new(result)]
        elif type(result) is tuple and all(isinstance(x, np.ndarray) for x in result):
            outputs = [self.new(x) for x in result]
        else:
            self.broke(f"what {function.__qualname__} returns")
            return result
        self.add(Call(function, *given, outputs, self._site(), several=type(result) is tuple, pure=function is cast_values))
        return result

    def _call_atoms(self, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return self.value(x)
        if type(x) is tuple:
            return tuple([self._call_atoms(part) for part in x])
        if isinstance(x, (*STATEFUL, Stream, dtype)) or x is None or isinstance(x, (bool, int, float, str, np.generic, np.dtype)):
            return x
        if isinstance(x, types.FunctionType) and is_of_package(x):  # what it closes over is baked in
            for cell in x.__closure__ or ():
                if isinstance(cell.cell_contents, STATEFUL):
                    self.broke("a tensor is given to a function that is called again")
                self._call_atoms(cell.cell_contents)
            return x
        self.broke(f"a {type(x).__name__} is given to a function that is called again")
        return x


def described(reason: Exception) -> str:
    return str(reason) if isinstance(reason, Break) else f"internal error: {type(reason).__name__}: {reason}"


def array_of(x: Any) -> Any:
    return x._array if isinstance(x, Tensor) else x if isinstance(x, np.ndarray) else None


@contextlib.contextmanager
def captured(code: types.CodeType | None) -> Iterator[Capture]:
    """Inside, this thread's run is captured, of the function with this code."""
    capture = Capture(code)
    collects = gc.isenabled()
    gc.disable()  # it calls code that is not the function's
    door.start(capture)
    sys.setprofile(Observer(capture))
    try:
        yield capture
    finally:
        sys.setprofile(None)
        door.stop(capture)
        if collects:
            gc.enable()
