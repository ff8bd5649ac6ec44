"""From a captured run to something that can run again: what its arrays are, what it gives back, and its backward."""

from __future__ import annotations

import types
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import restore, silence
from whygrad.compilation.backward import derive
from whygrad.compilation.capture import STATEFUL, Capture
from whygrad.compilation.guards import PLAIN, Break, Guards
from whygrad.compilation.node import CompiledFunctionBackward
from whygrad.compilation.optimise import optimise
from whygrad.compilation.program import Call, Deposit, OuterTensor, Program, Value, Write
from whygrad.core.node import Node, next_sequence_number, port_of
from whygrad.core.tensor import Tensor, source, wrap
from whygrad.optim.optimizer import Optimizer


class Output:
    """One tensor among the results: a tensor from outside, or a value; `root` is the number of its gradient in the backward."""

    def __init__(self, outer: OuterTensor | None, value: Value | None, root: int | None, spent: bool, site: Any = None) -> None:
        self.outer, self.value, self.root, self.site = outer, value, root, site
        # Whether the graph that it had was freed by a backward inside.
        self.spent = spent
        self.place = 0  # among all


class Compiled:
    """What one captured run became, for the arguments that its guards accept."""

    def __init__(self, capture: Capture, guards: Guards, result: Any, before: int) -> None:
        self.guards = guards
        self.mode: Any = None
        # Whether each tensor has no gradient at the beginning, if that makes a difference.
        self.gradients: list[bool] | None = None
        self.first_number = before
        self.capture: Capture | None = capture  # until it was compared with a second run
        self.outputs: list[Output] = []
        self.roots: list[tuple[Node, Any]] = []
        self.flattened: dict[int, Output] = {}  # by the id of a tensor
        self.tree = self._flat(result)
        resolve(capture, guards)
        self.constants = [v.array for v in capture.unknown if v.source == "constant"]
        self.signature = [i.key() for i in capture.instructions], [(o.outer is None, o.value and o.value.number, o.root, o.spent)
                                                                 for o in self.outputs], self.tree_text(self.tree)

    def wait(self) -> None:
        """Keep what a comparison with a second run needs, and let go of the rest."""
        self.capture, self.roots, self.outputs, self.flattened = None, [], [], {}
        self.guards.release()

    def differs_from(self, other: Compiled) -> str | None:
        """Where two runs with the same arguments did not do the same."""
        assert other.capture is not None
        for mine, its, i in zip(self.signature[0], other.signature[0], other.capture.instructions, strict=False):
            if mine != its:
                return f"two runs were different, in line {_line(i.site)} by {i.name}"
        if self.signature != other.signature:
            return "two runs were different"
        for mine, its in zip(self.constants, other.constants, strict=True):
            if mine.dtype != its.dtype or mine.tobytes() != its.tobytes():
                return "two runs were different: a tensor was made with other values"
        return None

    def unseen_writes(self, tensors: tuple[Tensor, ...], before: list[int]) -> str | None:
        """A tensor whose values a run has changed, although its program does not: `before` are its `checksums`."""
        assert self.capture is not None
        written = {i.counts.number for i in self.capture.instructions if isinstance(i, Write) and i.counts is not None}
        for i in self.capture.instructions:
            if isinstance(i, Call) and not i.pure:
                written.update(x.number for x in i.args[0] if isinstance(x, OuterTensor))
        stepped = parameters_of_optimizers(self.capture)
        for number, (t, old, new) in enumerate(zip(tensors, before, checksums(tensors), strict=True)):
            if old != new and number not in written and id(t) not in stepped:
                return "the values of a tensor are changed in a way that was not seen"
        return None

    def tree_text(self, tree: Any) -> str:
        if isinstance(tree, Output):
            return f"tensor {tree.place}"
        if isinstance(tree, (list, tuple)):
            return f"{type(tree)}{[self.tree_text(x) for x in tree]}"
        if isinstance(tree, dict):
            return f"{type(tree)}{ {name: self.tree_text(x) for name, x in tree.items()} }"
        return f"{type(tree)}{tree!r}"

    def _flat(self, x: Any) -> Any:
        """The result with `Output`s in the place of its tensors."""
        if isinstance(x, Tensor):
            output = self.flattened.get(id(x))
            if output is None:
                output = self.flattened[id(x)] = self._output(x)
                output.place = len(self.outputs)
                self.outputs.append(output)
            return output
        if type(x) in (list, tuple) or (isinstance(x, tuple) and hasattr(x, "_fields")):
            parts = [self._flat(part) for part in x]
            return parts if type(x) is list else tuple(parts) if type(x) is tuple else type(x)(*parts)
        if type(x) is dict:
            return {name: self._flat(part) for name, part in x.items()}
        if type(x) in PLAIN:
            return x
        raise Break(f"the result is a {type(x).__name__}")

    def _output(self, t: Tensor) -> Output:
        assert self.capture is not None
        for outer in self.guards.tensors:
            if outer.tensor is t:
                return Output(outer, None, None, False)
        if type(t) is not Tensor or type(t._array) is not np.ndarray:
            raise Break(f"a result is a {type(t).__name__}")
        if any(o.tensor._array is t._array or np.may_share_memory(o.tensor._array, t._array) for o in self.guards.tensors):
            raise Break("a result shares memory with an argument")
        if t._node is None and t._view is None and t._indirect:
            raise Break("a result is a new leaf")
        if t._meta is not None and (t._meta.hooks or t._meta.retains_grad):
            raise Break("a result with a hook")
        node = source(t) if t.requires_grad else None
        value = self.capture.value(t._array)
        if node is None:
            return Output(None, value, None, False)
        if is_spent(node, self.first_number):
            return Output(None, value, None, True, node.site)
        self.roots.append((node, t))
        return Output(None, value, len(self.roots) - 1, False, node.site)

    # Building.

    def build(self) -> None:
        """Compile the programs: the forward, and if results have a history, its backward."""
        capture = self.capture
        assert capture is not None
        outer = list(self.guards.tensors)
        for t in outer:
            t.value = capture.values.get(id(t.tensor._array))
        results = [o.value for o in self.outputs if o.value is not None]
        forward = list(capture.instructions)
        self.backward: Callable[..., Any] | None = None
        saved: list[Value] = []
        if self.roots:
            self.original = list(capture.instructions)
            self.drawn = {v for i in self.original if isinstance(i, Call) and not i.pure for v in i.outputs}
            saved = self._build_backward(capture, outer)
            saved += [v for v in self.drawn if v not in saved]
            self._check_memory(saved)
            self.saved = saved
            by_value = {t.value: t for t in outer if t.value is not None}
            own = {o.value: i for i, o in enumerate(self.outputs) if o.value is not None}
            self.saved_tensors, self.saved_outputs = [by_value.get(v) for v in saved], [own.get(v) for v in saved]
        forward = optimise(forward, [*results, *saved])
        owned = [t.name for t in outer]
        self.program = Program(forward, outer, [*results, *saved])
        mark_last_uses(self.program)
        self.forward = self.program.function("forward", owned)
        self.saved_from = len(results)
        self.capture = None
        for i in (*forward, *getattr(self, "original", ()), *(self.backward_program.instructions if self.backward else ())):
            for v in (*i.inputs, *i.outputs, *(v for part in getattr(i, "parts", ()) for v in (*part.inputs, *part.outputs))):
                if v.source != "constant":
                    v.array = None
        self.roots, self.constants, self.flattened = [], [], {}
        self.guards.release()
        self.has_effects = any(isinstance(i, Deposit) or (isinstance(i, Call) and not i.pure) for i in forward)

    def _check_memory(self, saved: list[Value]) -> None:
        """Results in whose memory something else lies that a backward needs: they would have to share its version."""
        own = [o.value for o in self.outputs if o.value is not None]
        for v in own:
            for other in {*saved, *own} - {v}:
                if np.may_share_memory(v.array, other.array):
                    raise Break("a result shares memory with another one, or with what the backward needs")

    def _build_backward(self, capture: Capture, outer: list[OuterTensor]) -> list[Value]:
        """The program from the gradients of the results to those of tensors outside; gives the values it needs."""
        self.inputs = [t for t in outer if t.tensor.requires_grad]
        targets = {source(t.tensor): i for i, t in enumerate(self.inputs)}
        start = len(capture.instructions)
        gradients = [capture.new(None) for _ in self.roots]
        for (_, t), g in zip(self.roots, gradients, strict=True):
            g.array = t._array  # of its shape
        capture.derives, token = True, silence()
        try:
            found = derive(capture, [(node, g) for (node, _), g in zip(self.roots, gradients, strict=True)], targets,
                           self.first_number)
        finally:
            restore(token)
        instructions = capture.instructions[start:]
        del capture.instructions[start:]
        results = [found[target] for target in targets]
        wanted = [v for v in results if v is not None]
        instructions = optimise(instructions, wanted)
        made = {v for i in instructions for v in i.outputs} | set(gradients)
        needed = dict.fromkeys(v for i in instructions for v in i.inputs)
        needed.update(dict.fromkeys(wanted))
        saved = [v for v in needed if v not in made and v.source != "constant"]
        self.reached = [v is not None for v in results]
        program = Program(instructions, [], wanted)
        self.backward = program.function("backward", [*map(repr, gradients), *map(repr, saved)], others=True)
        self.backward_program = program
        self.site = self.roots[0][0].site
        self.shapes = [(t._array.shape, t._array.dtype) for _, t in self.roots]
        return saved

    def summary(self) -> list[str]:
        """For people: what it is for, and what it does."""
        shapes = ", ".join(t.text for t in self.guards.tensors[:4])
        more = f" and {len(self.guards.tensors) - 4} more" if len(self.guards.tensors) > 4 else ""
        lines = [f"for tensors {shapes}{more}; {len(self.guards.texts)} guards; {len(self.program.instructions)} instructions"]
        if self.backward is not None:
            lines.append(f"its backward has {len(self.backward_program.instructions)} instructions")
        return lines

    def text(self) -> str:
        """The programs as Python."""
        backward = "" if self.backward is None else self.backward.text  # type: ignore[attr-defined]
        return f"{self.forward.text}{backward}"

    # Running.

    def run(self, tensors: tuple[Tensor, ...]) -> Any:
        arrays = self.forward(*tensors)
        results: list[Tensor] = []
        place = 0
        for o in self.outputs:
            if o.outer is not None:
                results.append(tensors[o.outer.number])
            else:
                results.append(wrap(arrays[place]))
                place += 1
        if self.backward is not None:
            self._attach(tensors, results, arrays[self.saved_from:])
        for o, t in zip(self.outputs, results, strict=True):
            if o.spent:
                t._node = spent_node(o.site)
        return self._shaped(self.tree, results)

    def _attach(self, tensors: tuple[Tensor, ...], results: list[Tensor], saved: tuple[Any, ...]) -> None:
        node = CompiledFunctionBackward()
        node.compiled = self
        node.edges = tuple([source(tensors[t.number]) for t in self.inputs])
        node.seq = next_sequence_number()
        node.site_code, node.lasti = self.site
        node.cuts = node.extra = None
        node.static = ()
        node.ports = {}
        node.shapes = self.shapes
        roots = [(o.root, t) for o, t in zip(self.outputs, results, strict=True) if o.root is not None]
        for root, t in roots:
            t._node = port_of(node, root)
        counters = []
        for outer, output in zip(self.saved_tensors, self.saved_outputs, strict=True):
            of = tensors[outer.number] if outer is not None else results[output] if output is not None else None
            counter = None if of is None else of._version_counter
            counters.append((counter, 0 if counter is None else counter.value))
        node.saved = saved, counters, tensors

    def _shaped(self, tree: Any, results: Any) -> Any:
        if isinstance(tree, Output):
            return results[tree.place]
        if isinstance(tree, tuple) and type(tree) not in PLAIN:
            parts = [self._shaped(x, results) for x in tree]
            return tuple(parts) if type(tree) is tuple else type(tree)(*parts)
        if type(tree) is list:
            return [self._shaped(x, results) for x in tree]
        if type(tree) is dict:
            return {name: self._shaped(x, results) for name, x in tree.items()}
        return tree


def is_spent(root: Node, first_number: int) -> bool:
    """Whether a node in a graph that began with this number was freed."""
    stack, seen = [root], {root}
    while stack:
        node = stack.pop()
        if node.saved is None:
            return True
        for edge in node.edges:
            if edge is not None and edge.seq >= first_number and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    return False


def spent_node(site: Any) -> CompiledFunctionBackward:
    """The history of a result whose graph was freed by a backward inside the function."""
    node = CompiledFunctionBackward()
    node.edges, node.saved, node.cuts, node.extra, node.shapes, node.static = (), None, None, None, None, ()
    node.seq, node.freed = next_sequence_number(), None
    node.site_code, node.lasti = site
    return node


def parameters_of_optimizers(capture: Capture) -> set[int]:
    """The ids of tensors that optimizers change when they are called."""
    called = [x for i in capture.instructions if isinstance(i, Call) for x in i.args[0] if isinstance(x, Optimizer)]
    return {id(p) for optimizer in called for group in optimizer.param_groups for p in group["params"]}


def checksums(tensors: tuple[Tensor, ...]) -> list[int]:
    return [zlib.crc32(t._array.tobytes()) for t in tensors]


def resolve(capture: Capture, guards: Guards) -> None:
    """Find out where arrays come from that the capture has not seen made, and which tensors are written."""
    for v in capture.unknown:
        outer = guards.by_array.get(id(v.array))
        if outer is not None:
            v.source = "outer"
        elif v.source == "unknown" and v.array.size == 0:
            v.source = "constant"
        elif v.source == "unknown":
            raise Break(f"an array of shape {v.array.shape} comes from somewhere that is not guarded")
    for v in capture.unknown:
        if v.source == "constant":
            v.array = v.array if v.array.flags.c_contiguous else v.array.copy("K")
    by_version = {id(t.tensor._lazy_version): t for t in guards.tensors if t.tensor._lazy_version is not None}
    by_tensor = {id(t.tensor): t for t in guards.tensors}
    guarded = {id(x) for x in guards.kept}

    def from_outside(x: Any) -> Any:
        """Tensors and objects that are given to functions which are called again."""
        if isinstance(x, Tensor):
            if id(x) not in by_tensor:
                raise Break("a tensor made inside is given to a function that is called again")
            return by_tensor[id(x)]
        if isinstance(x, STATEFUL) and id(x) not in guarded:
            raise Break(f"a {type(x).__name__} is not guarded")
        if isinstance(x, types.FunctionType):
            return x
        if type(x) is tuple:
            return tuple(map(from_outside, x))
        return x

    for i in capture.instructions:
        if isinstance(i, Call):
            args, kwargs = i.args
            i.args = from_outside(args), {name: from_outside(x) for name, x in kwargs.items()}
    counted: dict[int, int] = {}
    for write, version in capture.writes:
        write.counts = by_version.get(id(version))
        counted[id(version)] = counted.get(id(version), 0) + 1
        outer = write.counts
        if outer is not None and (outer.tensor._node is not None or outer.tensor._view is not None):
            raise Break("a tensor from outside gets another history, by a write in place")
    for t in capture.turned:
        key = id(t._version_counter)
        if key in by_version:
            raise Break("a tensor from outside is transposed in place")
        counted[key] = counted.get(key, 0) + 1
    for t in capture.switched:
        if id(t) in by_tensor:
            raise Break("requires_grad of a tensor from outside is switched")
    switched = {id(t) for t in capture.switched}
    for deposit, leaf in capture.deposits:
        found = by_tensor.get(id(leaf))
        if found is not None:
            deposit.leaf = found
        elif id(leaf) in switched:  # a leaf of the function's own: its gradient is a copy
            place = capture.instructions.index(deposit)
            copied = Call(np.ndarray.copy, deposit.args, {}, deposit.outputs, None, several=False, pure=True)
            capture.instructions[place] = copied
        else:
            raise Break("a gradient reaches a leaf that is not guarded")
    stepped = parameters_of_optimizers(capture)
    for key, (version, value) in capture.versions.items():
        if key in by_version and id(by_version[key].tensor) in stepped:
            continue  # an optimizer counts versions of parameters up
        if int(version.value) != value + counted.get(key, 0):
            raise Break("a tensor is written in a way that was not seen")


def mark_last_uses(program: Program) -> None:
    """Say which gradients nobody needs but the leaf that they are for."""
    uses: dict[Value, int] = {}
    for i in program.instructions:
        for v in i.inputs:
            uses[v] = uses.get(v, 0) + 1
    for i in program.instructions:
        if isinstance(i, Deposit):
            i.is_last = uses[i.args[0]] == 1 and i.args[0] not in program.results and i.args[0].source == "made"


def _line(site: Any) -> str:
    if not site:
        return "?"
    code, lasti = site
    positions = list(code.co_positions())
    return f"{positions[lasti // 2][0]} of {code.co_filename}"
