"""What a watch hears of a program on torch: functions that a TorchFunctionMode does not see are replaced while it listens."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.variable import VariableMeta
from torch.nn import Module, Parameter
from torch.optim import lr_scheduler
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils import _contextlib
from torch.utils.checkpoint import CheckpointFunction
from torch.utils.data import DataLoader, WeightedRandomSampler, default_collate, get_worker_info
from torch.utils.data._utils.fetch import _BaseDatasetFetcher

from whygrad.base.frames import is_internal
from whygrad.for_torch import backward, errors
from whygrad.for_torch.compiling import Compiling, captures
from whygrad.for_torch.distributed import explain_unfinished_reductions
from whygrad.for_torch.lean import ring, sequence_number
from whygrad.for_torch.line_events import LineEvents
from whygrad.for_torch.mode_stack import ModeSwitch
from whygrad.for_torch.modes import modes
from whygrad.for_torch.nodes import KEY, grad_fn_of, node_for, source_of
from whygrad.for_torch.patches import listen, put
from whygrad.for_torch.recorder import Recorder, WatchedModuleHook, cut, tensors_in
from whygrad.for_torch.tensor_facts import (
    causes_of,
    exchange,
    facts_of,
    note_cleared,
    note_step,
    note_write,
    operand_of,
    quietly,
    version_record,
)
from whygrad.for_torch.traceback_lines import leave_out_the_recorder
from whygrad.for_torch.warning_places import name_the_programs_lines
from whygrad.why import record
from whygrad.why.engine import Undo
from whygrad.why.record import Cause, Reference

CLIPPING = {"clip_grad_norm_": "max_norm", "clip_grad_value_": "clip_value"}


class Instruments:
    """Everything that listens for one watch."""

    def __init__(self, watch: Any, optimizers: Any, made_at: Any) -> None:
        self.watch = watch
        self.recorder = Recorder(watch)
        self.switch = ModeSwitch(self.recorder)
        self.compiling = Compiling(watch, self._settle)
        self.lines = LineEvents(self._on_new_line)
        # Whether a line runs in this round that has not run before, as far as it is known.
        self._is_new_ground = False
        self._optimizers, self._made_at = optimizers, made_at

    def install(self) -> list[Undo]:
        watch = self.watch
        ring.clear()  # the numbers are those of the present thread
        before = register_optimizer_step_pre_hook(self._before_step)
        after = register_optimizer_step_post_hook(self._after_step)
        undo: list[Undo] = [before.remove, after.remove]
        run = torch.autograd._engine_run_backward
        heard = backward.listening(watch, run, self.switch.again, self._on_known_ground)
        undo.append(put(torch.autograd, "_engine_run_backward", heard))
        undo += self._modules()
        undo += self._optimizers_and_schedulers()
        undo += [undo for name in CLIPPING for undo in self._clipping(name)]
        undo += self._scaler()
        undo += [*_parameters(watch), _functions(watch), *_grad_modes(watch), *_constructors(watch)]
        undo += [*_profiler_marks(), *_swapping(watch), *explain_unfinished_reductions(watch), self._threads()]
        undo += [self._module_hooks(name) for name in ("register_full_backward_hook", "register_full_backward_pre_hook")]
        undo.append(self._loading())
        undo += [listen(watch, DataLoader, "__iter__", before=self._telling("iterated")),
                 listen(watch, torch.autocast, "__enter__", after=self._telling("autocast_entered")),
                 listen(watch, torch.autocast, "__exit__", before=self._telling("autocast_left")),
                 listen(watch, _BaseDatasetFetcher, "__init__", after=self._collating),
                 listen(watch, WeightedRandomSampler, "__init__", after=self._telling("sampler_made")),
                 listen(watch, torch, "manual_seed", before=lambda *_: watch.told("seeded")),
                 name_the_programs_lines(), *leave_out_the_recorder()]
        undo += [*self.compiling.install(), *captures(watch.suspend), *self.lines.start()]
        self.switch.turn(True)
        undo += [ring.clear, lambda: self.switch.turn(False)]
        return undo

    def listen(self, calls: bool, records: bool) -> None:
        self.recorder.listen(calls, records)
        self._settle()

    def _settle(self) -> None:
        is_wanted = self.recorder.records or self.recorder.hears
        if self.compiling.is_used:
            self.lines.stop()  # a compiler would have to compile the events, too
            self.compiling.run_eagerly(self.recorder.records)
            self.switch.turn(self.recorder.records)
        elif self.lines.is_on:
            self.switch.turn(is_wanted or self._is_new_ground)

    def _on_new_line(self) -> None:
        if not self._is_new_ground:
            self._is_new_ground = True
            self._settle()

    def _on_known_ground(self) -> None:
        """A pass or a step has ended: lines that have run are known."""
        if self._is_new_ground:
            self._is_new_ground = False
            self._settle()

    def _telling(self, event: str) -> Callable[..., None]:
        def tell(owner: Any, *_: Any) -> None:
            self.watch.told(event, owner)

        return tell

    # Modules.

    def _modules(self) -> list[Undo]:
        watch = self.watch

        def loading(module: Any, state: Any = None, *_: Any) -> None:
            if not is_internal(sys._getframe(3)):  # of who called load_state_dict, past `heard` and `guarded_call`
                watch.loading(module, state)
                watch.told("state_loaded", module)

        def loaded(module: Any, *_: Any) -> None:
            for p in module.parameters():
                note_write(p, record.site())

        def converting(module: Any, *args: Any) -> None:
            if any(isinstance(x, (torch.dtype, Tensor)) for x in args):
                watch.told("converted", module)

        plain = Module.__setattr__

        @functools.wraps(plain)
        def __setattr__(module: Any, name: str, value: Any) -> None:
            if name == "requires_grad":
                watch.module_flagged(module, value)
            plain(module, name, value)

        return [listen(watch, Module, "__init__", after=self._telling("module_made")),
                listen(watch, Module, "train", before=lambda module, mode=True, *_: watch.told("mode_set", module, mode)),
                listen(watch, Module, "load_state_dict", before=loading, after=loaded),
                listen(watch, Module, "to", before=converting),
                self._zeroing(Module, lambda module: module.parameters()), put(Module, "__setattr__", __setattr__)]

    def _module_hooks(self, name: str) -> Undo:
        watch, plain = self.watch, getattr(Module, name)

        @functools.wraps(plain)
        def register(module: Any, hook: Any, *args: Any, **kwargs: Any) -> Any:
            watch.hook_registered(hook)
            return plain(module, WatchedModuleHook(watch, hook), *args, **kwargs)

        return put(Module, name, register)

    # Optimizers.

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        with quietly():
            if self.recorder.records:
                self.watch.guarded_call("before_step", note_step, held_by(optimizer), None)  # by whom was not seen
            self.watch.before_step(optimizer)
        if len(args) < 2 and not kwargs.get("closure"):  # torch passes the optimizer itself first
            self.switch.pause(True)

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.switch.pause(False)
        with quietly():
            site = record.site()
            ring.add_write(None, 0, site)
            self.watch.guarded_call("after_step", note_step, held_by(optimizer), site)
            self.watch.after_step(optimizer)
            self._on_known_ground()

    def _zeroing(self, owner: Any, parameters_of: Callable[[Any], Any]) -> Undo:
        """zero_grad() reads and sets each gradient: it is heard of as one event."""
        plain = owner.zero_grad

        @functools.wraps(plain)
        def zero_grad(of: Any, *args: Any, **kwargs: Any) -> Any:
            with quietly():
                self.watch.guarded_call("zero_grad", self._clear, of, parameters_of(of))
            self.switch.pause(True)
            try:
                return plain(of, *args, **kwargs)
            finally:
                self.switch.pause(False)

        return put(owner, "zero_grad", zero_grad)

    def _clear(self, owner: Any, parameters: Any) -> None:
        """Gradients are about to be cleared."""
        self.watch.told("zeroed", owner)
        note_cleared(parameters, [("cleared", record.site(), backward.count_backwards())])

    def _optimizers_and_schedulers(self) -> list[Undo]:
        watch = self.watch
        plain = Optimizer.__init__

        @functools.wraps(plain)
        def __init__(optimizer: Any, params: Any, defaults: Any) -> None:
            self._made_at[optimizer] = record.site()
            if not isinstance(params, (Tensor, dict)):
                params = list(params)
            try:
                plain(optimizer, params, defaults)
            except ValueError as error:
                with quietly():
                    self._explain_construction(error, params)
                raise
            self._optimizers.add(optimizer)
            watch.told("optimizer_constructed", optimizer)

        schedulers = [kind for kind in vars(lr_scheduler).values() if inspect.isclass(kind) and "step" in vars(kind)
                      and issubclass(kind, lr_scheduler.LRScheduler)]
        return [put(Optimizer, "__init__", __init__), self._zeroing(Optimizer, held_by),
                listen(watch, Optimizer, "load_state_dict", after=self._telling("state_loaded")),
                *[listen(watch, kind, "step", before=self._telling("scheduler_stepped")) for kind in schedulers],
                *[listen(watch, kind, "__init__", after=self._telling("scheduler_made"))
                  for kind in (lr_scheduler.LRScheduler, lr_scheduler.ReduceLROnPlateau, lr_scheduler.SequentialLR,
                               lr_scheduler.ChainedScheduler)]]

    def _explain_construction(self, error: ValueError, params: Any) -> None:
        if "can't optimize a non-leaf" in str(error):
            flat = [p for group in params for p in (tensors_in((group["params"],)) if isinstance(group, dict) else [group])]
            errors.tell(self.watch, error, "optimize_non_leaf", next(p for p in flat if not p.is_leaf))
        elif "empty parameter list" in str(error):
            errors.tell(self.watch, error, "empty_parameter_list")

    def _clipping(self, name: str) -> list[Undo]:
        """Programs have often imported the name from one of two modules."""
        watch, plain = self.watch, getattr(torch.nn.utils, name)

        @functools.wraps(plain)
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(parameters, (Tensor, list, tuple)):
                parameters = list(parameters)  # a generator, which can be used only once
            with quietly():
                watch.clipping(parameters)
            self.switch.pause(True)
            try:
                result = plain(parameters, *args, **kwargs)
            finally:
                self.switch.pause(False)
            with quietly():
                watch.clipped(name, parameters, args[0] if args else kwargs[CLIPPING[name]], result)
            return result

        return [put(module, name, clip) for module in (torch.nn.utils, sys.modules["torch.nn.utils.clip_grad"])]

    def _scaler(self) -> list[Undo]:
        watch = self.watch
        scaler = torch.amp.GradScaler

        def scaling(owner: Any, *_: Any) -> None:
            watch.scaling(owner)
            if owner.is_enabled():
                watch.told("scaled", owner)

        def unscaling(owner: Any, *args: Any) -> None:
            watch.unscaling()
            watch.told("unscaled", owner, args[0] if args else None)

        return [listen(watch, scaler, "scale", before=scaling), listen(watch, scaler, "unscale_", before=unscaling),
                listen(watch, scaler, "step", before=lambda *_: watch.unscaling()),
                listen(watch, scaler, "update", before=self._telling("scaler_updated"))]

    def _loading(self) -> Undo:
        plain = torch.load

        @functools.wraps(plain)
        def load(*args: Any, **kwargs: Any) -> Any:
            content = plain(*args, **kwargs)
            with quietly():
                self.watch.told("file_loaded", content)
            return content

        return put(torch, "load", load)

    def _collating(self, fetcher: Any, *_: Any) -> None:
        """The program's own function joins samples to a batch; workers do so in processes of their own."""
        if fetcher.auto_collation and fetcher.collate_fn is not default_collate and get_worker_info() is None:
            fetcher.collate_fn = Collating(self.watch, fetcher.collate_fn)

    def _threads(self) -> Undo:
        """A TorchFunctionMode is in force in one thread only."""
        plain = threading.Thread.run

        @functools.wraps(plain)
        def run(thread: threading.Thread) -> None:
            if type(thread).__module__.startswith("torch"):
                plain(thread)
                return
            with self.switch.again():
                plain(thread)

        return put(threading.Thread, "run", run)


def held_by(optimizer: Any) -> list[Any]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _parameters(watch: Any) -> list[Undo]:
    """nn.Parameter(...) and its deepcopy."""
    plain, plain_copy = Parameter.__new__, Parameter.__deepcopy__

    def made(result: Any, data: Any, name: str) -> None:
        facts = facts_of(result)
        facts.version = version_record(data)
        if data.requires_grad:
            facts.causes = cut(data, "parameter-rewrapped", name)
            return
        lost = next((cause for cause in causes_of(data) if cause.behind), None)
        if lost is None:
            facts.causes = record.created()
        else:
            facts.causes = (Cause("parameter-rewrapped", record.site(), f"{name} of a value taken out by {lost.detail}",
                                  record.alive_behind((lost,)), lost.site),)

    @functools.wraps(plain)
    def __new__(cls: Any, data: Any = None, requires_grad: bool = True, **more: Any) -> Any:
        result = plain(cls, data, requires_grad, **more)
        if isinstance(data, Tensor) and not watch.audit.is_rerunning:
            with quietly():
                watch.guarded_call("Parameter", made, result, data, cls.__name__)
        return result

    @functools.wraps(plain_copy)
    def __deepcopy__(parameter: Any, memo: Any) -> Any:
        is_known = id(parameter) in memo
        result = plain_copy(parameter, memo)
        if not is_known and not watch.audit.is_rerunning:
            facts_of(result).causes = (Cause("parameter-rewrapped", record.program_site(), "a deepcopy", (parameter,)),)
        return result

    return [put(Parameter, "__new__", staticmethod(__new__)), put(Parameter, "__deepcopy__", __deepcopy__)]


def _functions(watch: Any) -> Undo:
    """Function.apply."""
    plain = torch.autograd.Function.apply.__func__  # type: ignore[attr-defined]

    def applied(function: Any, args: Any, out: Any, since: int) -> None:
        site = record.site()
        if not watch.traces:
            ring.add(since, sequence_number(), site)
            return
        ins = tensors_in(args)
        for o in tensors_in((out,)):
            fn = grad_fn_of(o)
            if fn is not None and KEY not in fn.metadata:
                node = node_for(fn, site, since)
                cuts = tuple([() if i.requires_grad else causes_of(i) for i in ins])
                node.cuts = cuts if any(cuts) else None
                node.operands = tuple([operand_of(t) for t in (*ins, o)])
                watch.applied_function(node, args)
            elif fn is None and not o.requires_grad:
                sources = tuple([source for i in ins if (source := source_of(i)) is not None])
                if sources and torch.is_grad_enabled():
                    facts_of(o).causes = (Cause("non-differentiable-op", site, f"{function.__name__} marks it so", sources),)
                elif sources:
                    facts_of(o).causes = (Cause("grad-mode-off", site, modes.off_name, sources, origin=modes.off_site),)

    def passed_on(out: Any, since: int) -> None:
        """DistributedDataParallel sends the outputs through a function that changes nothing, and hides nothing behind it."""
        for o in tensors_in((out,)):
            fn = grad_fn_of(o)
            if fn is not None and KEY not in fn.metadata:
                node_for(fn, record.site(), since)

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        outer, since = (modes.off_name, modes.off_site), sequence_number()
        if torch.is_grad_enabled():
            # A reentrant checkpoint without an input that requires grad cuts off what it computes; other forwards do not.
            name = "checkpoint" if cls is CheckpointFunction else f"{cls.__name__}.forward"
            modes.off_name, modes.off_site = name, record.site()
        try:
            out = plain(cls, *args, **kwargs)
        finally:
            modes.off_name, modes.off_site = outer
        if not is_internal_function(cls):
            with quietly():
                watch.guarded_call("apply", applied, cls, args, out, since)
        elif cls.__module__ == "torch.nn.parallel.distributed" and watch.traces:
            with quietly():
                watch.guarded_call("apply", passed_on, out, since)
        return out

    return put(torch.autograd.Function, "apply", classmethod(apply))


def is_internal_function(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] == "torch"


def _grad_modes(watch: Any) -> list[Undo]:
    """Where a decorator such as @torch.no_grad() stands; and inference mode."""
    base: Any = _contextlib._DecoratorContextManager
    plain_call, plain_enter = base.__call__, torch.inference_mode.__enter__

    @functools.wraps(plain_call)
    def __call__(mode: Any, function: Any) -> Any:
        site, clone = record.site(), mode.clone

        def cloned() -> Any:
            made = clone()
            made._whygrad_site = site
            return made

        mode.clone = cloned
        return plain_call(mode, function)

    @functools.wraps(plain_enter)
    def __enter__(mode: Any) -> Any:
        if mode.mode:
            modes.off_name, modes.off_site = "inference_mode", vars(mode).get("_whygrad_site") or record.site()
        return plain_enter(mode)

    return [put(base, "__call__", __call__), put(torch.inference_mode, "__enter__", __enter__)]


def _constructors(watch: Any) -> list[Undo]:
    """torch.from_numpy(), and Variable() of the old days."""
    plain, plain_variable = torch.from_numpy, VariableMeta.__call__

    @functools.wraps(plain)
    def from_numpy(array: Any) -> Any:
        result = plain(array)
        facts_of(result).causes = record.created()
        return result

    def __call__(cls: Any, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        result = plain_variable(cls, data, *args, **kwargs)
        if isinstance(data, Tensor):
            with quietly():
                facts_of(result).causes = cut(data, "detach", "Variable(...)") or record.created()
        return result

    return [put(torch, "from_numpy", from_numpy), put(VariableMeta, "__call__", __call__)]


def _profiler_marks() -> list[Undo]:
    """Optimizers mark their steps for the profiler by calls of torch's own, which need not pass the recorder."""
    kind = torch.autograd.profiler.record_function

    def unheard(plain: Any) -> Any:
        @functools.wraps(plain)
        def method(mark: Any, *args: Any) -> Any:
            with torch._C.DisableTorchFunction():
                return plain(mark, *args)

        return method

    return [put(kind, name, unheard(getattr(kind, name))) for name in ("__enter__", "__exit__")]


class Collating:
    """A collate function of the program; the watch hears what it made."""

    def __init__(self, watch: Any, plain: Any) -> None:
        self.watch, self.plain = watch, plain

    def __call__(self, samples: Any) -> Any:
        batch = self.plain(samples)
        with quietly():
            self.watch.guarded_call("collated", self.watch.told, "collated", samples, batch)
        return batch


class OtherReferences:
    """The module `weakref` for torch.utils.swap_tensors, which refuses tensors with weak references: ours do not count."""

    def __getattr__(self, name: str) -> Any:
        return getattr(weakref, name)

    def getweakrefs(self, t: Any) -> list[Any]:
        return [reference for reference in weakref.getweakrefs(t) if not isinstance(reference, Reference)]


def _swapping(watch: Any) -> list[Undo]:
    """torch.utils.swap_tensors, by which modules may convert their parameters."""
    plain = torch._C._swap_tensor_impl

    def swap(a: Any, b: Any) -> None:
        plain(a, b)
        with quietly():
            watch.guarded_call("swap_tensors", exchange, a, b)

    return [put(torch.utils, "weakref", OtherReferences()), put(torch._C, "_swap_tensor_impl", swap)]
