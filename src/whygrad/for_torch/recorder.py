"""The recorder: a TorchFunctionMode that hears of every call of torch's functions, and notes what explanations ask for."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, resolve_name

from whygrad.base.frames import is_internal
from whygrad.for_torch import errors
from whygrad.for_torch.arrays import array_of, has_numbers, has_own_dispatch
from whygrad.for_torch.figures import nonfinite_in
from whygrad.for_torch.lean import ring, sequence_number
from whygrad.for_torch.modes import modes
from whygrad.for_torch.nodes import KEY, Node, grad_fn_of, node_for, source_of
from whygrad.for_torch.tensor_facts import (
    DataVersion,
    causes_of,
    counted,
    facts_of,
    known_facts,
    note_write,
    operand_of,
    own_notes_of,
    quietly,
    version_of,
    version_record,
)
from whygrad.ops import TABLE
from whygrad.ops.table import NoGrad
from whygrad.why import record
from whygrad.why.audit.observation import Call
from whygrad.why.record import Cause, Causes, Site, UnfollowedCause
from whygrad.why.run_facts import ValueCopy, behind

# Why the result of a function that is no row of the table has no derivative.
REASONS = {"argsort": "indices are integers", "bernoulli": "a random draw has no derivative",
           "multinomial": "random indices are integers", "sign": "a step function",
           **dict.fromkeys(("long", "int", "short", "byte"), "integers do not change by small steps"),
           "bool": "booleans do not change by small steps"}
# Functions that copy a tensor's value out, and how it is told.
COPYING = {"item": ".item()", "tolist": ".tolist()", "numpy": ".numpy()", "__float__": "float()", "__int__": "int()",
           "__array__": "a NumPy array"}
# Functions that compute no tensor.
SILENT = frozenset({"size", "dim", "stride", "numel", "is_floating_point", "__len__", "__format__", "__repr__", "__hash__",
                    "ndimension", "element_size", "data_ptr", "is_contiguous", "storage", "untyped_storage", "__bool__",
                    "retain_grad", "is_complex", "storage_offset", "get_device", "nelement", "type", "is_pinned", "is_shared"})
VIEW_PROPERTIES = frozenset({"T", "mT", "H", "mH", "real", "imag"})
WRITING = frozenset({"__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__",
                     "__iand__", "__ior__", "__ixor__"})
# Losses whose arguments torch broadcasts with a warning.
BROADCASTING = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
# The loss functions of torch.nn.functional: those that have an option `reduction`.
LOSSES = frozenset(f"torch.nn.functional.{name}" for name, function in vars(torch.nn.functional).items()
                   if inspect.isfunction(function) and "reduction" in inspect.signature(function).parameters)
# Results that are tested for nan and infinity while they are computed.
MAX_TESTED = 4_000_000

Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


class OfThread(threading.local):
    """What one thread does with the recorder."""

    is_handling = False
    is_paused = False


class Recorder(TorchFunctionMode):
    """Records the facts of every call; while `records` is False, only what the watch wants to hear of between observed rounds."""

    def __init__(self, watch: Any) -> None:
        super().__init__()
        self.watch = watch
        # False while calls pass by as if there were no mode; see `is_paused` for those of one thread.
        self.is_on = True
        self._names: dict[Any, str] = {}
        self._events: dict[Any, str] = {}
        self._of_thread = OfThread()
        properties: dict[str, Any] = dict(vars(torch._C.TensorBase))
        special: dict[Any, Handler] = {
            properties["grad"].__set__: self._set_grad, properties["grad"].__delete__: self._set_grad,
            properties["requires_grad"].__set__: self._switch, Tensor.requires_grad_: self._switch,
            properties["data"].__get__: self._data, properties["data"].__set__: self._set_data,
            Tensor.detach: self._detach, Tensor.detach_: self._detach_in_place, Tensor.register_hook: self._register_hook,
            torch._C._set_grad_enabled: self._set_mode, torch.tensor: self._tensor, torch.as_tensor: self._tensor,
            Tensor.backward: self._call, torch.autograd.grad: self._grad, torch.autograd.backward: self._call,
        }
        for name in ("grad", "requires_grad", "grad_fn"):
            special[getattr(Tensor, name).__get__] = self._reader(name)
        for name, how in COPYING.items():
            special[getattr(Tensor, name)] = self._copier(how)
        # What to do for each function: a handler, or None for those that are of no interest.
        self._handlers: dict[Any, Handler | None] = dict(special)
        # The same between the rounds that are recorded: while losses, reads and copies are heard of, and while they are not.
        cutting = {properties["data"].__get__: self._cut_lean, Tensor.detach: self._cut_lean, torch.tensor: self._op_lean,
                   torch.as_tensor: self._op_lean}
        self._lean_op: Handler = self._op_lean
        self._lean_handlers: dict[Any, Handler | None] = {**special, **cutting}
        ignored = {getattr(Tensor, name).__get__ for name in ("requires_grad", "grad_fn")} | {
            getattr(Tensor, name) for name in COPYING}
        self._resting_handlers = {func: None if func in ignored else handler for func, handler in self._lean_handlers.items()}
        self.listen(calls=True, records=True)

    def listen(self, calls: bool, records: bool) -> None:
        """Whether facts are recorded; while they are not, whether losses, reads and copied values are told."""
        self.records, self.hears = records, calls
        self._present = self._handlers if records else self._lean_handlers if calls else self._resting_handlers

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if kwargs is None:
            kwargs = {}
        if not self.is_on or self._of_thread.is_paused:
            return func(*args, **kwargs)
        handlers = self._present
        try:
            handler = handlers[func]
        except KeyError:
            handler = handlers[func] = self._handler_for(func)
        if handler is None or (types and any(map(has_own_dispatch, types))):
            return func(*args, **kwargs)
        if handler is self._lean_op:
            return handler(func, args, kwargs)
        if is_transforming():
            return func(*args, **kwargs)
        here = self._of_thread
        outer, here.is_handling = here.is_handling, True
        try:
            return handler(func, args, kwargs)
        finally:
            here.is_handling = outer

    @property
    def is_handling(self) -> bool:
        """True inside of a call, where torch has taken this mode off its stack."""
        return self._of_thread.is_handling

    @property
    def is_paused(self) -> bool:
        """True while the present thread records nothing."""
        return self._of_thread.is_paused

    @is_paused.setter
    def is_paused(self, on: bool) -> None:
        self._of_thread.is_paused = on

    def _handler_for(self, func: Any) -> Handler | None:
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__", "__delete__"):
            of = getattr(getattr(func, "__self__", None), "__name__", "")
            is_op = name == "__get__" and of in VIEW_PROPERTIES
            return None if not is_op else self._op if self.records else self._lean_op
        if name in SILENT or "record_function" in name.lower():
            return None
        if (name.endswith("_") and not name.endswith("__")) or name in WRITING:
            return self._write if self.records else self._write_lean
        return self._op if self.records else self._lean_op

    # Ordinary functions.

    def _op(self, func: Any, args: Any, kwargs: Any) -> Any:
        since = sequence_number()
        out = self._call(func, args, kwargs)
        self._guarded(self._note, func, args, kwargs, out, False, since)
        return out

    def _write(self, func: Any, args: Any, kwargs: Any) -> Any:
        since = sequence_number()
        out = self._call(func, args, kwargs)
        self._guarded(self._note, func, args, kwargs, out, True, since)
        return out

    # The same between rounds that are recorded: see lean.py.

    def _op_lean(self, func: Any, args: Any, kwargs: Any) -> Any:
        begin = sequence_number()
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            self._guarded(errors.explain_call, self.watch, error, args)
            raise
        end = sequence_number()
        if end != begin:
            ring.add(begin, end, record.site())
        elif type(out) is Tensor and not out.requires_grad and not is_transforming():
            self._guarded(self._note_lean_cut, func, args, out)
        if self.hears:
            self._guarded(self._heard, func, args, kwargs, out)
        return out

    def _write_lean(self, func: Any, args: Any, kwargs: Any) -> Any:
        out = self._op_lean(func, args, kwargs)
        self._guarded(self._note_lean_write, args)
        return out

    def _cut_lean(self, func: Any, args: Any, kwargs: Any) -> Any:
        out = self._call(func, args, kwargs)
        self._guarded(self._note_lean_cut, func, args, out)
        return out

    def _note_lean_write(self, args: Any) -> None:
        if args and isinstance(args[0], Tensor):
            site = record.site()
            ring.add_write(args[0].shape, counted(args[0]), site)
            if known_facts(args[0]) is not None:
                note_write(args[0], site)

    def _note_lean_cut(self, func: Any, args: Any, out: Tensor) -> None:
        """The cause alone: what is behind it is not searched, and so an answer must not conclude from what it does not find."""
        known: Causes = ()
        for x in args:
            if type(x) is list or type(x) is tuple:
                x = next((y for y in x if isinstance(y, Tensor) and y.requires_grad), None)
            if not isinstance(x, Tensor):
                continue
            if x.requires_grad:
                facts_of(out).causes = (self._lean_cause(func),)
                return
            known = known or causes_of(x)
        if known and known[0].kind != "created":
            facts_of(out).causes = known

    def _lean_cause(self, func: Any) -> Cause:
        name, site = getattr(func, "__name__", ""), record.site()
        if func is Tensor.detach or name == "__get__":
            return UnfollowedCause("detach", site, ".detach()" if name == "detach" else ".data")
        if func is torch.tensor or func is torch.as_tensor:
            return UnfollowedCause("value-copied-out", site, "torch.tensor(...)")
        if torch.is_grad_enabled():
            return UnfollowedCause("non-differentiable-op", site, why_constant(name))
        return UnfollowedCause("grad-mode-off", site, modes.off_name, (), modes.off_site)

    def _call(self, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            return func(*args, **kwargs)
        except Exception as error:
            self._guarded(errors.explain_call, self.watch, error, args)
            raise

    def _guarded(self, note: Callable[..., None], *about: Any) -> None:
        """The program must not notice that it is recorded."""
        try:
            with quietly():
                note(*about)
        except Exception as error:
            self.watch.failed_in(note.__name__.strip("_"), error)

    def _note(self, func: Any, args: Any, kwargs: Any, out: Any, writes: bool, since: int) -> None:
        outs = [out] if isinstance(out, Tensor) else tensors_in((out,))
        for o in outs:
            if not has_numbers(o):
                return
        site = record.site()
        if outs or writes:
            ins = tensors_in(args)
            if kwargs:
                ins += tensors_in(kwargs.values())
            if writes or any(o is i for o in outs for i in ins[:2]):
                self._written(tensors_in((kwargs["out"],)) if "out" in kwargs else ins[:1], site)
                outs = outs or ins[:1]
            for o in outs:
                self._note_result(func, o, ins, site, writes, since)
        self._heard(func, args, kwargs, out, site)

    def _name_of(self, func: Any) -> str:
        """The name as torch knows it: "torch.relu", "Tensor.add_", "torch.nn.functional.relu"."""
        name = self._names.get(func)
        if name is None:
            found = resolve_name(func) or getattr(func, "__name__", "")
            name = self._names[func] = found.removeprefix("torch.") if found.startswith("torch.Tensor.") else found
        return name

    def _note_result(self, func: Any, o: Tensor, ins: list[Tensor], site: Site, writes: bool, since: int) -> None:
        fn = grad_fn_of(o)
        if fn is not None:
            if KEY not in fn.metadata:
                self._record(func, fn, o, ins, site, since)
        elif not o.requires_grad or (o._is_view() and not torch.is_grad_enabled()):
            if writes or not any(o is i for i in ins):
                facts_of(o).causes = self._causes(func, ins, site)
        elif known_facts(o) is None:  # a new leaf that requires grad
            facts_of(o).causes = record.created()

    def _record(self, func: Any, fn: Any, o: Tensor, ins: list[Tensor], site: Site, since: int) -> None:
        node = node_for(fn, site, since)
        name = getattr(func, "__name__", "")
        cuts = [() if i.requires_grad else causes_of(i) for i in ins]
        node.cuts = tuple(cuts) if any(cuts) else None
        node.takes_number = len(ins) == 1 and len(node.edges) <= 2
        if modes.running is None:
            node.operands = tuple([operand_of(t) for t in (*ins, o)])
            self._share_operands(node)
        if len(ins) >= 2 and ins[0].shape != ins[1].shape:
            shapes = tuple(ins[0].shape), tuple(ins[1].shape)
            if len(ins) == 2:
                node.shapes = shapes
            if name in BROADCASTING:
                self.watch.loss_broadcast(*shapes)
                for edge in node.edges:
                    if isinstance(edge, Node) and edge.site == site and edge.shapes is None:
                        edge.shapes = shapes
        if o.is_floating_point() and o.numel() <= MAX_TESTED:
            node.nonfinite = nonfinite_in(o)

    def _share_operands(self, node: Node) -> None:
        """Nodes made inside of the same call (the transposed weight of a linear layer) may have saved its arguments as well."""
        pending = list(node.edges)
        while pending:
            inner = pending.pop()
            if isinstance(inner, Node) and not inner.operands and inner.site == node.site:
                inner.operands = node.operands
                pending += inner.edges

    def _causes(self, func: Any, ins: list[Tensor], site: Site) -> Causes:
        """Why the result of a call has no history."""
        nodes: tuple[Any, ...] = ()
        causes: Causes = ()
        for x in ins:
            source = source_of(x)
            if source is not None:
                nodes += (source,)
            else:
                causes = record.merge(causes, causes_of(x))
        name = getattr(func, "__name__", "")
        if name.endswith("_like") or name.startswith("new_"):
            return record.created()  # it takes the shape and type of its argument, not its values
        if not nodes:
            return causes or record.created()
        nodes += record.alive_behind(causes)
        if not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
            if modes.running is not None:
                return (Cause("no-create-graph", modes.running.site),)
            off = "inference_mode" if torch.is_inference_mode_enabled() else modes.off_name
            return (Cause("grad-mode-off", site, off, () if off.endswith(".forward") else nodes, origin=modes.off_site),)
        return (Cause("non-differentiable-op", site, why_constant(name), nodes),)

    def _written(self, targets: list[Tensor], site: Site) -> None:
        for t in targets:
            version, now = version_record(t), counted(t)
            if isinstance(version, DataVersion):
                self.watch.data_written(version.of)
            if version.value != now or version.site is None:
                version.value, version.site = now, site

    # Functions with a meaning of their own.

    def _reader(self, what: str) -> Handler:
        def read(func: Any, args: Any, kwargs: Any) -> Any:
            value = func(*args, **kwargs)
            frame: Any = sys._getframe(2)
            while frame.f_code.co_name == "__torch_function__":  # of modes above this one, such as torch.device()
                frame = frame.f_back
            if not is_internal(frame):
                with quietly():
                    if has_numbers(args[0]):
                        self.watch.read(args[0], what, value, frame)
            return value

        return read

    def _copier(self, how: str) -> Handler:
        def copied(func: Any, args: Any, kwargs: Any) -> Any:
            value = self._call(func, args, kwargs)
            self._guarded(self._copied, args[0], how)
            return value

        return copied

    def _copied(self, t: Tensor, how: str) -> None:
        if (known := known_facts(t)) is not None:
            known.norm = None  # NumPy may write it
        source = source_of(t)
        site = record.site()
        if (source is not None or causes_of(t)) and self.watch.wants_copies_of(site):
            self.watch.copied(ValueCopy(site, how, behind(t, () if source is None else (source,))))

    def _set_grad(self, func: Any, args: Any, kwargs: Any) -> Any:
        out = self._call(func, args, kwargs)
        what = "assigned" if len(args) > 1 and args[1] is not None else "cleared"
        self._guarded(note_grad, args[0], what, record.site())
        return out

    def _switch(self, func: Any, args: Any, kwargs: Any) -> Any:
        with quietly():
            before = args[0].requires_grad
        out = self._call(func, args, kwargs)
        self._guarded(self._switched, args[0], before)
        return out

    def _switched(self, t: Tensor, before: bool) -> None:
        if t.requires_grad != before:
            site = record.site()
            own_notes_of(t).switched_at = t.requires_grad, site
            if before:
                facts_of(t).causes = (Cause("frozen", site),)

    def _data(self, func: Any, args: Any, kwargs: Any) -> Any:
        out = func(*args, **kwargs)
        self._guarded(self._data_taken, args[0], out)
        return out

    def _data_taken(self, t: Tensor, out: Tensor) -> None:
        facts_of(t).norm = None  # it may be written unseen
        facts = facts_of(out)
        facts.causes = cut(t, "detach", ".data")
        facts.version = DataVersion(version_of(t))
        facts.version.value = counted(out)

    def _set_data(self, func: Any, args: Any, kwargs: Any) -> Any:
        out = self._call(func, args, kwargs)
        self._guarded(self._data_given, args[0], args[1])
        return out

    def _data_given(self, t: Tensor, data: Tensor) -> None:
        self.watch.data_written(version_of(t))
        self.watch.data_replaced(t, data)

    def _detach(self, func: Any, args: Any, kwargs: Any) -> Any:
        out = self._call(func, args, kwargs)
        self._guarded(self._detached, func, args, kwargs, out)
        return out

    def _detached(self, func: Any, args: Any, kwargs: Any, out: Tensor) -> None:
        facts = facts_of(out)
        facts.causes = cut(args[0], "detach", ".detach()")
        facts.version = version_record(args[0])
        self._heard(func, args, kwargs, out)

    def _detach_in_place(self, func: Any, args: Any, kwargs: Any) -> Any:
        with quietly():
            causes = cut(args[0], "detach", "detach_()")
        out = self._call(func, args, kwargs)
        facts_of(args[0]).causes = causes
        return out

    def _tensor(self, func: Any, args: Any, kwargs: Any) -> Any:
        out = self._call(func, args, kwargs)
        self._guarded(self._made_of, func, args, kwargs, out)
        return out

    def _made_of(self, func: Any, args: Any, kwargs: Any, out: Tensor) -> None:
        given = args[0] if args else kwargs.get("data")
        if out is not given:
            lost = [cause for x in tensors_in((given,)) for cause in cut(x, "value-copied-out", "torch.tensor(...)")]
            facts_of(out).causes = tuple(lost[:record.MAX_CAUSES]) or record.created()
        self._heard(func, args, kwargs, out)

    def _heard(self, func: Any, args: Any, kwargs: Any, out: Any, site: Site | None = None) -> None:
        """Tell the audit: of losses, dropout and argmax always, of other calls in observed rounds."""
        event = self._events.get(func)
        if event is None:
            event = self._events[func] = event_of(self._name_of(func))
        audit = self.watch.audit
        if (event or audit.is_observing) and all(map(has_numbers, tensors_in((out, *args)))):
            call = Call(self._name_of(func), args, kwargs, out, site or record.site())
            if event:
                audit.tell(event, call)
            if audit.is_observing:
                audit.tell_called(call)

    def _register_hook(self, func: Any, args: Any, kwargs: Any) -> Any:
        t, hook = args[0], args[1] if len(args) > 1 else kwargs["hook"]
        self.watch.hook_registered(hook)
        return self._call(func, (t, WatchedHook(self.watch, hook, source_of(t))), {})

    def _grad(self, func: Any, args: Any, kwargs: Any) -> Any:
        results = self._call(func, args, kwargs)
        if isinstance(results, tuple):
            outputs = args[0] if args else kwargs["outputs"]
            create_graph = args[4] if len(args) > 4 else kwargs.get("create_graph", False)
            inputs = args[1] if len(args) > 1 else kwargs["inputs"]
            self._guarded(self.watch.told, "graded", tuple(tensors_in((outputs,))), results, bool(create_graph),
                          tuple(tensors_in((inputs,))))
        return results

    def _set_mode(self, func: Any, args: Any, kwargs: Any) -> Any:
        if not args[0] and torch.is_grad_enabled():
            modes.off_name, modes.off_site = _who_switches()
        return func(*args, **kwargs)


class WatchedHook:
    """A hook of the program; the watch hears what it did to the gradient."""

    def __init__(self, watch: Any, hook: Any, target: Any) -> None:
        self.watch, self.hook = watch, hook
        # Weak: of a leaf it is the leaf itself, which holds its hooks.
        self._target = (lambda: None) if target is None else record.Reference(target)

    def __reduce__(self) -> Any:
        return copy.copy, (self.hook,)  # what is saved is the program's hook

    def __call__(self, g: Tensor) -> Any:
        with quietly():
            before = self.watch.guarded_call("hook", self._before, g)
        result = self.hook(g)
        if before is not None:
            with quietly():
                self.watch.hook_ran(self._target(), self.hook, before, g if result is None else result)
        return result

    def _before(self, g: Tensor) -> Any:
        if not self.watch.traces or not has_numbers(g):
            return None
        if modes.running is not None and not modes.running.create_graph:
            facts_of(g).causes = modes.running.causes
        return array_of(g).copy()


class WatchedModuleHook:
    """A backward hook of a module; the watch hears what it did to the gradients."""

    def __init__(self, watch: Any, hook: Any) -> None:
        self.watch, self.hook = watch, hook
        functools.update_wrapper(self, hook)

    def __reduce__(self) -> Any:
        return copy.copy, (self.hook,)

    def __call__(self, module: Any, first: Any, *more: Any) -> Any:
        with quietly():
            before = self.watch.guarded_call("hook", self._before, first)
        result = self.hook(module, first, *more)
        if before is not None:
            with quietly():
                after = first if result is None else result if isinstance(result, tuple) else (result,)
                self.watch.hook_ran(None if modes.running is None else modes.running.at, self.hook, before, after)
        return result

    def _before(self, grads: Any) -> Any:
        if not self.watch.traces or not all(map(has_numbers, tensors_in((grads,)))):
            return None
        return tuple([None if g is None else array_of(g).copy() for g in grads])


@functools.cache
def why_constant(name: str) -> str:
    """Why a function has no derivative."""
    row = TABLE.get(name.strip("_"))
    constant = next((rule for rule in row.rules.values() if isinstance(rule, NoGrad)), None) if row is not None else None
    return REASONS.get(name) or (f"{name} has no derivative" if constant is None else constant.reason)


def event_of(name: str) -> str:
    """The event of the audit that a call of this function is, or ""."""
    last = name.rpartition(".")[2]
    if name in LOSSES:
        return "loss_called"
    if last == "scaled_dot_product_attention":
        return "attention_called"
    return "dropout_called" if "dropout" in last else "argmax_called" if last == "argmax" else ""


def tensors_in(values: Any) -> list[Tensor]:
    """The tensors among these values, and in lists and tuples among them."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, tuple) or type(value) is list:
            found += [x for x in value if isinstance(x, Tensor)]
    return found


def note_grad(t: Tensor, what: str, site: Site) -> None:
    """Remember the latest hand on `.grad`."""
    from whygrad.for_torch.backward import count_backwards

    own_notes_of(t).grad_log = [(what, site, count_backwards())]


def cut(t: Tensor, kind: str, detail: str) -> Causes:
    """Why what was taken from `t` has no history."""
    source = source_of(t)
    return causes_of(t) if source is None else (Cause(kind, record.site(), detail, (source,)),)


def is_transforming() -> bool:
    """Inside of torch.func's transforms tensors are wrappers, of which nothing is noted; nor of those of a compiler, nor while
    torch.jit.trace records."""
    return _interpreters() is not None or _tracing_state() is not None or torch.compiler.is_compiling()


_interpreters, _tracing_state = torch._C._functorch.peek_interpreter_stack, torch._C._get_tracing_state


def _who_switches() -> tuple[str, Site]:
    """The mode that is being entered, and where it stands in the program."""
    frame: Any = sys._getframe(2)
    name, where = "set_grad_enabled", None
    while frame is not None and is_internal(frame):
        mode = frame.f_locals.get("self")
        kind = type(mode).__name__
        if kind in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode"):
            name, where = kind, vars(mode).get("_whygrad_site") or where
        frame = frame.f_back
    return name, where or record.site()
