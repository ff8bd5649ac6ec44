"""The log of a watched run: backward passes, optimizer steps, copied values, `.data` writes; and queries for the rules."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from whygrad.base.frames import is_of_package
from whygrad.why import engine, record, run_facts
from whygrad.why import gradient_flow as flow
from whygrad.why.hook_effects import Closure, closures_of, describe_effect, registration_key, user_hook
from whygrad.why.nonfinite_origin import forward_origin
from whygrad.why.optimizer_usage import optimizer_parameters, usage_of
from whygrad.why.record import Site
from whygrad.why.rules.altered import is_suspicious
from whygrad.why.signal_errors import is_of_handler
from whygrad.why.zero_origin import zero_reasons

# Backward passes whose traces are kept.
MAX_TRACES = 6
# Variables of hooks.
MAX_CLOSURES = 512
# Optimizer steps logged; entries kept of each other kind; copies followed for one line, which may be in a loop.
MAX_STEPS, MAX_KEPT, MAX_COPIES_PER_LINE = 5000, 512, 50
# Applications checked for each custom Function, and the largest number of elements of an argument.
MAX_SAMPLES, MAX_SAMPLE_SIZE = 3, 20_000


def guarded(method: Callable[..., None]) -> Callable[..., None]:
    """Catch exceptions of a method: an error in the watch must not change what the program does."""

    @functools.wraps(method)
    def wrapper(self: EventLog, *args: Any) -> None:
        try:
            method(self, *args)
        except Exception as error:
            self.failed_in(method.__name__.strip("_"), error)

    return wrapper


class LoggedStep(NamedTuple):
    """A step of an optimizer, and the number of backward passes before it."""

    backwards: int
    optimizer: weakref.ref[Any]
    site: Site


class EventLog:
    """Every collection is bounded, so that memory does not grow with the length of the run."""

    def __init__(self) -> None:
        # Events (see audit/README.md) that nobody wants at present.
        self.unheard: set[str] = set()
        # Exceptions of the watch itself, reported at the end of the run.
        self.failures: list[str] = []
        # What the program's user should know of how it was recorded.
        self.remarks: list[str] = []
        self._traces: dict[int, run_facts.BackwardTrace] = {}
        # Leaves that a backward has reached; roots of backward passes with their sites, to recognize sums of past losses.
        self.reached = run_facts.WeakTensorSet()
        self.roots: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.step_log: list[LoggedStep] = []
        self.samples: dict[Any, list[run_facts.FunctionSample]] = {}
        self._copies: dict[Any, run_facts.ValueCopy] = {}
        self._copies_at: dict[Any, int] = {}
        # Writes through `.data` by id of the version counter: (counter, sequence number, site).
        self._data_writes: dict[int, tuple[Any, int, Site]] = {}
        # Ids of the version counters of tensors that were written through `.data` since the last step.
        self._written_since_step: set[int] = set()
        self._data_replacements: dict[int, tuple[weakref.ref[engine.Tensor], record.Causes]] = {}
        self._data_sites: dict[int, tuple[Site, int]] = {}
        self._hook_sites: dict[Any, Any] = {}
        self._closures: list[Closure] = []
        self._loop_variables: list[Any] = []
        # By the code of hooks that ran after a loop had bound their variable anew: its name, and the hooks.
        self.late_hooks: dict[Any, tuple[str, set[int]]] = {}
        self._module_flags: list[tuple[weakref.ref[Any], Any, bool]] = []
        self.broadcasts: dict[Any, run_facts.Broadcast] = {}
        self._shapes_in_losses: dict[Any, Any] = {}
        self.loaded: weakref.WeakSet[Any] = weakref.WeakSet()
        # What load_state_dict was last given.
        self.loading_state: dict[str, Any] | None = None

    def failed_in(self, what: str, error: Exception) -> None:
        """Keep an error of the watch; one that a signal handler of the program has raised meanwhile goes on its way."""
        if is_of_handler(error):
            raise error
        if len(self.failures) < 20:
            self.failures.append(f"{what}: {type(error).__name__}: {error}")

    def guarded_call(self, what: str, function: Callable[..., Any], *args: Any) -> Any:
        """The function's result; None if it failed."""
        try:
            return function(*args)
        except Exception as error:
            self.failed_in(what, error)
            return None

    # Events from the engine.

    @guarded
    def begin(self, backward: Any, captures: Any, deposits: bool) -> None:
        stores = captures is None or deposits
        trace = self._traces[backward.number] = run_facts.BackwardTrace(backward, stores, captures)
        for number in sorted(self._traces)[:-MAX_TRACES]:
            del self._traces[number]
        if stores and engine.is_node(trace.root):
            self.roots[trace.root] = backward.site

    @guarded
    def ran(self, backward: Any, node: Any, g: Any, edges: tuple[Any, ...], grads: tuple[Any, ...]) -> None:
        trace = self._traces.get(backward.number)
        if trace is None:
            return
        incoming, outgoing = flow.gradient_state(g), tuple([flow.gradient_state(x) for x in grads])
        may_become_zero = incoming == "fine" and ("zero" in outgoing or flow.row_name(node) == "softmax")
        trace.steps.append(flow.BackwardStep(
            node, edges, incoming, outgoing, flow.stopped_share(node, g, grads), getattr(g, "shape", None),
            incoming == "zero" and flow.has_zero_operand(node),
            zero_reasons(node, g, edges, outgoing) if may_become_zero else ()))
        if incoming == "fine" and "bad" in outgoing and trace.origin is None and node.visible:
            trace.origin = forward_origin(node)
        compares = self._shapes_in_losses and flow.row_name(node) in flow.COMPARING
        shapes = self._shapes_in_losses.get(node.site) if compares else None
        if shapes is None and node.shapes is not None and is_suspicious(node, node.shapes):
            shapes = node.shapes
        if shapes is not None and trace.stores:
            found = run_facts.Broadcast(node, *shapes)
            trace.broadcasts.append(found)
            self.broadcasts.setdefault(node.site, found)
        if self._data_writes:
            self._find_data_writes(trace, node)

    def _find_data_writes(self, trace: run_facts.BackwardTrace, node: Any) -> None:
        for counter in engine.versions_saved_by(node):
            written = self._data_writes.get(id(counter))
            if written is not None and written[0] is counter and written[1] > node.seq:
                trace.data_writes.append(run_facts.DataWrite(node, written[2]))

    @guarded
    def depositing(self, leaf: engine.Tensor, backward: Any, g: Any) -> None:
        """A gradient is about to be added to a leaf."""
        meta = engine.own_notes_of(leaf)
        if meta.watched is None:
            meta.watched = run_facts.GradLedger()
            meta.watched_version = engine.version_of(leaf).value
            meta.watched.first_state = flow.gradient_state(g)
            meta.watched.first_sequence = engine.next_sequence_number()
            meta.watched.written_at = engine.version_of(leaf).site
        before = engine.grad_of(leaf)
        if before is None or (engine.norms_of([before])[0] is None and not engine.array_of(before).any()):
            meta.watched.clear()
        meta.watched.add(run_facts.Deposit(backward, engine.version_of(leaf).value, flow.gradient_state(g)), g, before)
        self.reached.add(leaf)
        trace = self._traces.get(backward.number)
        if trace is not None:
            trace.leaves.add(leaf)

    @guarded
    def loss_broadcast(self, first: tuple[int, ...], second: tuple[int, ...]) -> None:
        """A loss function got a prediction and a target of different shapes."""
        if first and second:
            self._shapes_in_losses[record.site()] = first, second

    @guarded
    def hook_registered(self, hook: Any) -> None:
        if hook is user_hook(hook):
            self._hook_sites[registration_key(hook)] = record.site()
            for closure in closures_of(hook):
                # A variable of a loop: another hook was registered with another tensor in it.
                if any(known.cell is closure.cell and known.is_rebound() for known in self._closures):
                    self._loop_variables.append(closure.cell)
                self._closures.append(closure)
            del self._closures[:-MAX_CLOSURES], self._loop_variables[:-MAX_CLOSURES]

    @guarded
    def hook_ran(self, target: Any, hook: Any, before: Any, after: Any) -> None:
        """A hook was called with the gradient `before` and returned `after`."""
        for known in self._closures:
            if known.hook() is hook and known.is_rebound() and any(known.cell is cell for cell in self._loop_variables):
                self.late_hooks.setdefault(known.code, (known.name, set()))[1].add(id(hook))
        trace = self._traces.get(getattr(engine.running_backward(), "number", -1))
        effect = describe_effect(hook, before, after)
        if trace is not None and effect is not None:
            trace.hooks.append(run_facts.HookChange(target, self._hook_sites.get(registration_key(hook)), effect))

    @guarded
    def applied_function(self, node: Any, args: tuple[Any, ...]) -> None:
        """A custom Function is applied: keep samples to check its derivative."""
        function = engine.function_of(node)
        if is_package_function(function):
            return
        samples = self.samples.setdefault(function, [])
        small = all(engine.size_of(a) <= MAX_SAMPLE_SIZE for a in args if engine.is_tensor(a))
        if node.recorded and len(samples) < MAX_SAMPLES and small:
            copies = [engine.wrap(engine.array_of(a).copy()) if engine.is_tensor(a) else a for a in args]
            samples.append(run_facts.FunctionSample(node, tuple(copies)))

    @guarded
    def function_ran(self, node: Any, incoming: Any, results: Any) -> None:
        for sample in self.samples.get(engine.function_of(node), ()):
            if sample.node() is node and sample.grads is None and len(incoming) == 1 and engine.is_tensor(incoming[0]):
                sample.incoming = engine.array_of(incoming[0]).copy()
                sample.grads = [engine.array_of(r).copy() if engine.is_tensor(r) else r for r in results]

    # Events from the program.

    @guarded
    def after_step(self, optimizer: Any) -> None:
        if len(self.step_log) < MAX_STEPS:
            self.step_log.append(LoggedStep(engine.count_backwards(), weakref.ref(optimizer), record.site()))
        held = optimizer_parameters(optimizer)
        usage_of(optimizer).stepped(any(engine.grad_of(p) is not None for p in held), engine.count_backwards())
        for p in held:
            ledger = run_facts.ledger_of(p)
            if ledger is not None:
                ledger.note_step(engine.grad_of(p) is not None)

    @guarded
    def loading(self, module: Any, state: Any = None) -> None:
        self.loaded.add(module)
        self.loading_state = dict(state) if isinstance(state, Mapping) else None

    @guarded
    def copied(self, copy: run_facts.ValueCopy) -> None:
        if copy.behind:
            known = self._copies.get(copy.site)
            if known is not None:
                copy.behind = run_facts.merge_references(known.behind, copy.behind)
            self._copies[copy.site] = copy
            run_facts.drop_oldest(self._copies, MAX_KEPT)

    def wants_copies_of(self, site: Any) -> bool:
        """False once a line has been followed often enough: in a loop it copies the same values."""
        count = self._copies_at[site] = self._copies_at.get(site, 0) + 1
        return count <= MAX_COPIES_PER_LINE

    @guarded
    def data_written(self, counter: Any) -> None:
        self._data_writes[id(counter)] = (counter, engine.next_sequence_number(), record.site())
        self._written_since_step.add(id(counter))
        run_facts.drop_oldest(self._data_writes, MAX_KEPT)

    @guarded
    def data_replaced(self, t: engine.Tensor, value: Any) -> None:
        """`t.data = value` drops the value's history: remember its source, or the causes that cut it off."""
        self._data_sites[id(t)] = record.site(), engine.next_sequence_number()
        run_facts.drop_oldest(self._data_sites, MAX_KEPT)
        source = engine.source_of(value)
        causes = engine.causes_of(value) if source is None else (record.Cause("detach", record.site(), ".data", (source,)),)
        if any(cause.behind for cause in causes):
            self._data_replacements[id(t)] = record.Reference(t), causes
        run_facts.drop_oldest(self._data_replacements, MAX_KEPT)

    @guarded
    def module_flagged(self, module: Any, value: Any) -> None:
        self._module_flags.append((weakref.ref(module), record.site(), bool(value)))
        del self._module_flags[:-MAX_KEPT]

    # Queries.

    def data_replacement_causes(self, t: engine.Tensor) -> record.Causes:
        """The causes that cut off the value last assigned by `t.data = ...`."""
        found = self._data_replacements.get(id(t))
        return found[1] if found is not None and found[0]() is t else ()

    def trace_of(self, backward: Any) -> run_facts.BackwardTrace | None:
        return self._traces.get(backward.number)

    def traces_latest_first(self) -> Iterable[run_facts.BackwardTrace]:
        return [self._traces[number] for number in sorted(self._traces, reverse=True)]

    def copies(self) -> list[run_facts.ValueCopy]:
        return sorted(self._copies.values(), key=lambda copy: copy.moment)

    def module_flag_set(self, t: engine.Tensor) -> tuple[Any, bool] | None:
        """The site and value of the last `module.requires_grad = ...` on a module that has this parameter."""
        for reference, site, value in reversed(self._module_flags):
            module = reference()
            if module is not None and any(p is t for p in module.parameters()):
                return site, value
        return None

    def flagged_modules(self) -> list[tuple[Any, Site, bool]]:
        """`module.requires_grad = ...`: the modules that are still alive, the lines and the values."""
        return [(module, site, value) for reference, site, value in self._module_flags if (module := reference()) is not None]

    def hook_sites(self, code: Any) -> list[Site]:
        """Where hooks with this code were registered."""
        return [site for key, site in self._hook_sites.items() if key is code]

    def data_replaced_at(self, t: engine.Tensor) -> Site | None:
        """Where `t.data = ...` last replaced the values of a leaf."""
        known = self._data_sites.get(id(t))
        return None if known is None else known[0]

    def data_replaced_since(self, t: engine.Tensor, is_before: Callable[[int], bool]) -> Site | None:
        """The same, unless it was before something else; `is_before` takes a sequence number."""
        known = self._data_sites.get(id(t))
        return None if known is None or is_before(known[1]) else known[0]

    def optimizers(self) -> list[Any]:
        return engine.optimizers()

    def was_data_written(self, p: engine.Tensor) -> bool:
        """True if the leaf was written through `.data` since the last step."""
        return id(engine.version_of(p)) in self._written_since_step

    def data_write_site(self, p: engine.Tensor) -> Site | None:
        written = self._data_writes.get(id(engine.version_of(p)))
        return written[2] if written is not None and self.was_data_written(p) else None

    def forget_data_writes(self) -> None:
        self._written_since_step.clear()

    def is_unchanged(self, p: engine.Tensor) -> bool:
        """True if the leaf was not written since the first backward reached it."""
        version, ledger = engine.version_of(p), run_facts.ledger_of(p)
        written = self._data_writes.get(id(version))
        is_written = written is not None and written[0] is version and (ledger is None or written[1] > ledger.first_sequence)
        return version.value <= engine.notes_of(p).watched_version and not is_written

    def holders(self, t: engine.Tensor) -> list[Any]:
        """The optimizers that hold a tensor; [True] if one has stepped, which may be deleted by now."""
        ledger = run_facts.ledger_of(t)
        if ledger is not None and ledger.held:
            return [True]
        return [o for o in self.optimizers() if any(p is t for p in optimizer_parameters(o))]

    def held_together_with(self, t: engine.Tensor) -> set[Any]:
        """The parameters of all optimizers that hold this tensor."""
        return {p for o in self.optimizers() if any(p is t for p in optimizer_parameters(o)) for p in optimizer_parameters(o)}

    def count_optimizers(self) -> int:
        return len(self.optimizers())

    def optimizer_sites(self, trace: run_facts.BackwardTrace | None) -> list[Any]:
        """The sites where (two) optimizers were created, first those that hold a leaf reached by this backward."""
        leaves = set() if trace is None else set(trace.leaves)
        made = sorted(self.optimizers(), key=lambda o: not leaves.intersection(optimizer_parameters(o)))
        return [engine.made_at(o) for o in made[:2]]

    def holds_plain_tensors(self) -> bool:
        return any(not engine.is_parameter(p) for o in self.optimizers() for p in optimizer_parameters(o))

    def steps_since(self, number: int) -> list[LoggedStep]:
        """The optimizer steps after a backward."""
        return [step for step in self.step_log if step.backwards >= number]

    def parameters_stepped_after(self, number: int) -> list[set[Any]]:
        """The parameters of each optimizer that stepped next after a backward."""
        later = self.steps_since(number)
        first = min([step.backwards for step in later], default=0)
        alive = [step.optimizer() for step in later if step.backwards == first]
        return [set(optimizer_parameters(o)) for o in alive if o is not None]


def is_package_function(function: Any) -> bool:
    """True for a Function of this package (sparse products, module hooks), whose derivative is not the program's concern."""
    return is_of_package(getattr(function, "forward", None))
