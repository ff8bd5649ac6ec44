"""What the watch remembers of a program: its backward passes, steps, copies and writes; and what the rules ask of it."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from whygrad.base.frames import is_of_package
from whygrad.core import engine
from whygrad.core.node import Node, next_sequence_number
from whygrad.core.tensor import Tensor, known_source, wrap
from whygrad.why import record
from whygrad.why.facts import Broadcast, Copy, Deposit, Edit, HookChange, Ledger, Sample, Tensors, Trace, together
from whygrad.why.flow import COMPARING, Step, has_zero_operand, numbers_of, row_name, state, stopped_share
from whygrad.why.hooks_seen import describe_change, registration_key, the_users
from whygrad.why.nonfinite import forward_origin
from whygrad.why.rules.altered import is_suspicious
from whygrad.why.usage import held_by, usage_of

# How many backward passes back the flow of gradients is remembered.
REMEMBERED = 6
# So many steps of optimizers are logged; so many copies and writes are kept.
MOST_STEPS, MOST_KEPT, MOST_FOLLOWED = 5000, 512, 50
# Of each custom Function so many applications are checked, if they are not larger than this.
MOST_SAMPLES, LARGEST_SAMPLE = 3, 20_000


def guarded(method: Callable[..., None]) -> Callable[..., None]:
    """A watch may fail, but the program it looks at must not notice."""

    @functools.wraps(method)
    def careful(self: Memory, *args: Any) -> None:
        try:
            method(self, *args)
        except Exception as error:
            if len(self.failures) < 20:
                self.failures.append(f"{method.__name__.strip('_')}: {type(error).__name__}: {error}")

    return careful


class Memory:
    """Everything is bounded: what a long program does over and over takes no more room than what it does once."""

    def __init__(self) -> None:
        # What went wrong in here: it is told at the end, and never stops the program.
        self.failures: list[str] = []
        self._traces: dict[int, Trace] = {}
        # Leaves that a backward has reached; roots of backwards, to recognise sums of them.
        self.reached = Tensors()
        self.roots: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        # Every step: the number of the latest backward, the optimizer, the line.
        self.step_log: list[tuple[int, weakref.ref[Any], Any]] = []
        self.samples: dict[Any, list[Sample]] = {}
        self._copies: dict[Any, Copy] = {}
        self._copies_at: dict[Any, int] = {}
        self._data_writes: dict[int, tuple[Any, int, Any, str]] = {}
        self._poured: dict[int, tuple[weakref.ref[Tensor], record.Causes]] = {}
        self._hook_sites: dict[Any, Any] = {}
        self._flags: list[tuple[weakref.ref[Any], Any, bool]] = []
        self.broadcasts: dict[Any, Broadcast] = {}
        self._shapes_in_losses: dict[Any, Any] = {}
        self.loaded: weakref.WeakSet[Any] = weakref.WeakSet()

    # The engine's side.

    @guarded
    def begin(self, backward: Any, captures: Any, deposits: bool) -> None:
        stores = captures is None or deposits
        trace = self._traces[backward.number] = Trace(backward, stores, captures)
        for number in sorted(self._traces)[:-REMEMBERED]:
            del self._traces[number]
        if stores and isinstance(trace.root, Node):
            self.roots[trace.root] = backward.site

    @guarded
    def ran(self, backward: Any, node: Any, g: Any, edges: tuple[Any, ...], grads: tuple[Any, ...]) -> None:
        trace = self._traces.get(backward.number)
        if trace is None:
            return
        came, left = state(g), tuple([state(x) for x in grads])
        trace.steps.append(Step(node, edges, came, left, stopped_share(node, g, grads), getattr(g, "shape", None),
                                came == "zero" and has_zero_operand(node),
                                _how_zeroed(node, g, edges, left) if came == "fine" and _may_vanish(node, left) else ()))
        if came == "fine" and "bad" in left and trace.origin is None and node.visible:
            trace.origin = forward_origin(node)
        shapes = self._shapes_in_losses.get(node.site) if self._shapes_in_losses and row_name(node) in COMPARING else None
        if shapes is None and node.shapes is not None and is_suspicious(node, node.shapes):
            shapes = node.shapes
        if shapes is not None and trace.stores:
            found = Broadcast(node, *shapes)
            trace.broadcasts.append(found)
            self.broadcasts.setdefault(node.site, found)
        if self._data_writes and type(node.saved) is tuple:
            self._look_for_edits(trace, node)

    def _look_for_edits(self, trace: Trace, node: Any) -> None:
        for counter in node.saved[1::3]:
            written = self._data_writes.get(id(counter))
            if written is not None and written[0] is counter and written[1] > node.seq:
                trace.edits.append(Edit(node, written[2], written[3]))

    @guarded
    def depositing(self, leaf: Tensor, backward: Any, g: Any) -> None:
        """Called before a gradient is added to a leaf."""
        meta = leaf.meta
        if meta.watched is None:
            meta.watched = Ledger()
            meta.watched_version = leaf._version_counter[0]
            meta.watched.first = state(g)
            meta.watched.origin = leaf._version_counter[1] if len(leaf._version_counter) > 1 else None
        if leaf._grad is None or not numbers_of(leaf._grad).any():
            meta.watched.clear()
        meta.watched.add(Deposit(backward, leaf._version_counter[0], state(g)), g, leaf._grad)
        self.reached.add(leaf)
        trace = self._traces.get(backward.number)
        if trace is not None:
            trace.leaves.add(leaf)

    @guarded
    def loss_broadcast(self, first: tuple[int, ...], second: tuple[int, ...]) -> None:
        """A loss was given a prediction and a target of different shapes."""
        if first and second:
            self._shapes_in_losses[record.site()] = first, second

    @guarded
    def hook_registered(self, hook: Any) -> None:
        if hook is the_users(hook):
            self._hook_sites[registration_key(hook)] = record.site()

    @guarded
    def hook_ran(self, target: Any, hook: Any, before: Any, after: Any) -> None:
        """A hook was given one gradient; `after` is what it gave back (None: nothing)."""
        trace = self._traces.get(getattr(engine.current(), "number", -1))
        change = describe_change(hook, before, after)
        if trace is not None and change is not None:
            key = registration_key(change.hook)
            trace.hooks.append(HookChange(target, self._hook_sites.get(key), change.name, change.how, change.masks,
                                          change.wipes))

    @guarded
    def applied_function(self, node: Any, args: tuple[Any, ...]) -> None:
        """A custom Function is applied: keep a few for a check of its derivative."""
        function = node.ctx._forward_cls
        if is_ours(function):
            return
        samples = self.samples.setdefault(function, [])
        small = all(a._array.size <= LARGEST_SAMPLE for a in args if isinstance(a, Tensor))
        if node.recorded and len(samples) < MOST_SAMPLES and small:
            samples.append(Sample(node, tuple([wrap(a._array.copy()) if isinstance(a, Tensor) else a for a in args])))

    @guarded
    def function_ran(self, node: Any, incoming: Any, results: Any) -> None:
        for sample in self.samples.get(node.ctx._forward_cls, ()):
            if sample.node() is node and sample.grads is None and len(incoming) == 1 and isinstance(incoming[0], Tensor):
                sample.incoming = incoming[0]._array.copy()
                sample.grads = [r._array.copy() if isinstance(r, Tensor) else r for r in results]

    # What the program does.

    @guarded
    def after_step(self, optimizer: Any) -> None:
        if len(self.step_log) < MOST_STEPS:
            self.step_log.append((engine.count_backwards(), weakref.ref(optimizer), record.site()))
        held = held_by(optimizer)
        usage_of(optimizer).stepped(any(p._grad is not None for p in held), engine.count_backwards())
        for p in held:
            if p._meta is not None and p._meta.watched is not None:
                p._meta.watched.step(p._grad is not None)

    @guarded
    def loading(self, module: Any, *args: Any) -> None:
        self.loaded.add(module)

    @guarded
    def copied(self, copy: Copy) -> None:
        if copy.behind:
            known = self._copies.get(copy.site)
            if known is not None:
                copy.behind = together(known.behind, copy.behind)
            self._copies[copy.site] = copy
            if len(self._copies) > MOST_KEPT:
                del self._copies[next(iter(self._copies))]

    def wants_copies_of(self, site: Any) -> bool:
        """A line in a loop copies the same over and over: it is enough to follow it a few times."""
        count = self._copies_at[site] = self._copies_at.get(site, 0) + 1
        return count <= MOST_FOLLOWED

    @guarded
    def data_written(self, counter: Any) -> None:
        site = record.site()
        self._data_writes[id(counter)] = (counter, next_sequence_number(), site, ".data")
        if len(self._data_writes) > MOST_KEPT:
            del self._data_writes[next(iter(self._data_writes))]

    @guarded
    def data_replaced(self, t: Tensor, value: Any) -> None:
        """`t.data = value`: the value's history, or what cut it off, does not come along."""
        source = known_source(value)
        causes = value._cause if source is None else (record.Cause("detach", record.site(), ".data", (source,)),)
        if any(cause.behind for cause in causes):
            self._poured[id(t)] = weakref.ref(t), causes
        if len(self._poured) > MOST_KEPT:
            del self._poured[next(iter(self._poured))]

    @guarded
    def module_flagged(self, module: Any, value: Any) -> None:
        self._flags.append((weakref.ref(module), record.site(), bool(value)))
        del self._flags[:-MOST_KEPT]

    # What the rules ask.

    def poured_into(self, t: Tensor) -> record.Causes:
        """What cut off the values that were last put into a leaf by `t.data = ...`."""
        found = self._poured.get(id(t))
        return found[1] if found is not None and found[0]() is t else ()

    def trace_of(self, backward: Any) -> Trace | None:
        return self._traces.get(backward.number)

    def latest_first(self) -> Iterable[Trace]:
        return [self._traces[number] for number in sorted(self._traces, reverse=True)]

    def copies(self) -> list[Copy]:
        return sorted(self._copies.values(), key=lambda copy: copy.moment)

    def module_attribute(self, t: Tensor) -> tuple[Any, bool] | None:
        """Where `requires_grad` was last assigned on a module that holds this parameter, and the value."""
        for reference, site, value in reversed(self._flags):
            module = reference()
            if module is not None and any(p is t for p in module.parameters()):
                return site, value
        return None

    def optimizers(self) -> list[Any]:
        from whygrad.optim.optimizer import OPTIMIZERS

        return list(OPTIMIZERS)

    def is_unchanged(self, p: Tensor) -> bool:
        """True if nothing has written a leaf since the first backward reached it."""
        written = self._data_writes.get(id(p._version_counter))
        return p._version_counter[0] <= p.meta.watched_version and (written is None or written[0] is not p._version_counter)

    def holders(self, t: Tensor) -> list[Any]:
        """The optimizers that hold a tensor (of one that has stepped only a sign; it may be gone)."""
        if t._meta is not None and t._meta.watched is not None and t._meta.watched.held:
            return [True]
        return [o for o in self.optimizers() if any(p is t for p in held_by(o))]

    def held_with(self, t: Tensor) -> set[Any]:
        """All that the optimizers hold which hold this tensor."""
        return {p for o in self.optimizers() if any(p is t for p in held_by(o)) for p in held_by(o)}

    def count_optimizers(self) -> int:
        from whygrad.optim.optimizer import OPTIMIZERS

        return len(OPTIMIZERS)

    def optimizer_sites(self, trace: Trace | None) -> list[Any]:
        """Where optimizers were made: those that hold something this backward reached first."""
        leaves = set() if trace is None else set(trace.leaves)
        made = sorted(self.optimizers(), key=lambda o: not leaves.intersection(held_by(o)))
        return [vars(o)["_site"] for o in made[:2]]

    def holds_plain_tensors(self) -> bool:
        from whygrad.functional.parameter import Parameter

        return any(not isinstance(p, Parameter) for o in self.optimizers() for p in held_by(o))

    def steps_since(self, number: int) -> list[tuple[int, weakref.ref[Any], Any]]:
        """The steps of optimizers after a backward."""
        return [entry for entry in self.step_log if entry[0] >= number]

    def stepped_after(self, number: int) -> list[set[Any]]:
        """What those optimizers hold that stepped first after a backward."""
        later = self.steps_since(number)
        first = min([entry[0] for entry in later], default=0)
        alive = [entry[1]() for entry in later if entry[0] == first]
        return [set(held_by(o)) for o in alive if o is not None]


def is_ours(function: Any) -> bool:
    """A Function of this package (sparse products, the borders of modules), whose derivative is no question of the program."""
    return is_of_package(getattr(function, "forward", None))


def _may_vanish(node: Any, left: tuple[str, ...]) -> bool:
    return "zero" in left or row_name(node) == "softmax"


def _how_zeroed(node: Any, g: Any, edges: tuple[Any, ...], left: tuple[str, ...]) -> tuple[str, ...]:
    from whygrad.why.zeroed import how_zeroed

    return how_zeroed(node, g, edges, left)
