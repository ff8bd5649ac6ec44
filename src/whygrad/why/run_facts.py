"""Records of what the watch observed: deposits into each leaf's gradient, backward passes, copied values, custom Functions."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

from whygrad.why.engine import Tensor, array_of, causes_of, next_sequence_number, notes_of
from whygrad.why.gradient_flow import ARITHMETIC, COMPARING, BackwardStep, is_pass_through, row_name
from whygrad.why.hook_effects import HookEffect
from whygrad.why.nonfinite_origin import NonfiniteOrigin
from whygrad.why.record import Cause, Reference, Site

# Leaves remembered for one line that copies values out: in a loop it may copy values of many tensors.
MAX_REFERENCES = 1000
MAX_DEPOSITS = 6


class WeakTensorSet:
    """A weak set of tensors. (weakref.WeakSet compares elements with ==, which tensors do elementwise.)"""

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[Tensor]] = {}

    def add(self, t: Tensor) -> None:
        known = self._references.get(id(t))
        if known is None or known() is not t:
            self._references[id(t)] = Reference(t)

    def __iter__(self) -> Iterator[Tensor]:
        for reference in list(self._references.values()):
            t = reference()
            if t is not None:
                yield t

    def __contains__(self, t: Tensor) -> bool:
        known = self._references.get(id(t))
        return known is not None and known() is t


@dataclass(slots=True, eq=False)
class Deposit:
    """One backward's contribution to a leaf, and the leaf's version at that moment."""

    backward: Any
    version: int
    state: str
    # Recognizes two identical contributions, which are hardly meant to be added up. Computed from the second deposit on.
    fingerprint: Any = None
    # Number of reads of the gradient since, and whether an optimizer has applied it.
    reads: int = 0
    applied: bool = False
    # True if it was added to a contribution of the same line that had been applied already.
    after_step: bool = False


def ledger_of(t: Any) -> GradLedger | None:
    ledger: GradLedger | None = notes_of(t).watched
    return ledger


def was_reached(t: Any) -> bool:
    """True if a backward has deposited a gradient into this leaf."""
    return notes_of(t).reached_by is not None


def drop_oldest(entries: dict[Any, Any], limit: int) -> None:
    if len(entries) > limit:
        del entries[next(iter(entries))]


def fingerprint(g: Any) -> Any:
    array = array_of(g)
    with np.errstate(all="ignore"):  # a sum of infinities is the program's own affair
        return float(np.vdot(array, array).real), float(array.sum().real)


@dataclass(slots=True, eq=False)
class GradLedger:
    """The deposits into a leaf's `.grad` since it was last cleared, and counts over the whole run."""

    # The last MAX_DEPOSITS deposits, and the number of all since the last clear.
    deposits: list[Deposit] = field(default_factory=list)
    total: int = 0
    times_cleared: int = 0
    # Gradient state of the first deposit, the sequence number at that moment, and the site that had written the leaf's values.
    first_state: str = ""
    first_sequence: int = 0
    written_at: Site | None = None
    # Numbers of the first backward that deposited here, and of the latest that deposited more than zeros.
    first_backward: int = 0
    last_nonzero: int = 0
    # Deposits during the run, and how many of them the program read.
    deposit_count: int = 0
    read_count: int = 0
    # True if two deposits came from the same line, which therefore is in a loop.
    in_loop: bool = False
    sites: set[Site] = field(default_factory=set)
    # True if an optimizer that holds the leaf has stepped; numbers of the backward passes whose gradients it applied.
    held: bool = False
    applied_backwards: set[int] = field(default_factory=set)

    def clear(self) -> None:
        if self.deposits:
            self.times_cleared += 1
        self.deposits = []
        self.total = 0

    def add(self, deposit: Deposit, g: Any, before: Any) -> None:
        """Record that `g` is added to the gradient `before`."""
        if self.deposits:
            deposit.fingerprint = fingerprint(g)
            if len(self.deposits) == 1:
                self.deposits[0].fingerprint = fingerprint(before)
        deposit.after_step = any((earlier.applied or earlier.version != deposit.version)
                                 and earlier.backward.site == deposit.backward.site for earlier in self.deposits)
        self.deposits.append(deposit)
        self.first_backward = self.first_backward or deposit.backward.number
        if deposit.state != "zero":
            self.last_nonzero = deposit.backward.number
        self.total += 1
        self.deposit_count += 1
        self.in_loop = self.in_loop or deposit.backward.site in self.sites
        if not self.in_loop:
            self.sites.add(deposit.backward.site)
        del self.deposits[:-MAX_DEPOSITS]

    def note_read(self) -> None:
        """The program has read the gradient."""
        if self.deposits:
            self.read_count += not self.deposits[-1].reads
            self.deposits[-1].reads += 1

    def note_step(self, has_gradient: bool) -> None:
        """An optimizer that holds the leaf has stepped."""
        self.held = True
        for deposit in self.deposits if has_gradient else ():
            deposit.applied = True
            if len(self.applied_backwards) < 100:
                self.applied_backwards.add(deposit.backward.number)

    def stepped_between(self) -> bool:
        """True if the leaf was updated between two deposits of the same line: a loop that never clears the gradient.

        A deposit by another line after a step is normal: a discriminator's loss while the generator is trained.
        """
        return any(deposit.after_step for deposit in self.deposits)

    def read_between(self) -> bool:
        return any(earlier.reads and not earlier.applied for earlier in self.deposits[:-1])

    def repeated(self) -> bool:
        """True if the same contribution was added twice without an update of the leaf in between."""
        return any(earlier.fingerprint is not None and earlier.fingerprint == later.fingerprint
                   and earlier.version == later.version
                   for earlier, later in zip(self.deposits, self.deposits[1:], strict=False))


class DataWrite(NamedTuple):
    """A write to a saved value through `.data` between forward and backward, which the version counter does not see."""

    node: Any
    site: Site | None


class HookChange(NamedTuple):
    """A hook that changed the gradient of `target`, and the site that registered it."""

    target: Any
    site: Site | None
    effect: HookEffect


class Broadcast(NamedTuple):
    """The shapes of two operands of a loss that were broadcast against each other."""

    node: Any
    first: tuple[int, ...]
    second: tuple[int, ...]


class BackwardTrace:
    """One backward pass, as far as rules may need it later."""

    def __init__(self, backward: Any, stores: bool, targets: Any) -> None:
        self.backward = backward
        # False for autograd.grad, which writes no `.grad`.
        self.stores = stores
        # The tensors given as `inputs=`, or None.
        self.only = targets
        self.root = backward.root()
        self.steps: list[BackwardStep] = []
        self.data_writes: list[DataWrite] = []
        self.hooks: list[HookChange] = []
        self.broadcasts: list[Broadcast] = []
        self.origin: NonfiniteOrigin | None = None
        self.leaves = WeakTensorSet()

    @cached_property
    def users(self) -> dict[Any, list[Any]]:
        """The nodes that use each node or leaf."""
        found: dict[Any, list[Any]] = {}
        for step in self.steps:
            for edge in step.edges:
                if edge is not None:
                    found.setdefault(edge, []).append(step.node)
        return found

    @cached_property
    def terms(self) -> list[BackwardStep]:
        """The steps next to the root that only combine scalar terms of the loss."""
        found: list[BackwardStep] = []
        reached = {self.steps[0].node} if self.steps else set()
        for step in self.steps:
            scalar = step.shape is not None and prod(step.shape) == 1
            if step.node in reached and scalar and row_name(step.node) in ARITHMETIC:
                found.append(step)
                reached.update(edge for edge in step.edges if edge is not None)
        return found

    @cached_property
    def comparisons(self) -> list[BackwardStep]:
        """The steps that compare two computed values, as a loss does."""
        return [step for step in self.steps if row_name(step.node) in COMPARING and len(step.edges) == 2
                and None not in step.edges]

    def leading_to(self, leaf: Any) -> set[Any]:
        """The nodes from which `leaf` is reached, and the leaf itself."""
        found, pending = {leaf}, [leaf]
        while pending:
            for node in self.users.get(pending.pop(), ()):
                if node not in found:
                    found.add(node)
                    pending.append(node)
        return found

    def consumers(self, leaf: Any) -> list[Any]:
        """The nodes that use a leaf, or a view or cast of it."""
        found: list[Any] = []
        pending = [leaf]
        while pending:
            for node in self.users.get(pending.pop(), ()):
                (pending if is_pass_through(node) else found).append(node)
        return found


@dataclass(slots=True, eq=False)
class ValueCopy:
    """A tensor's value that was copied out as a Python number or NumPy array, and the leaves it was computed from."""

    site: Site
    how: str
    behind: tuple[Any, ...]
    moment: int = field(default_factory=lambda: next_sequence_number())

    def leads_to(self, t: Tensor) -> bool:
        return any(reference() is t for reference in self.behind)


class FunctionSample:
    """One application of a custom Function, kept to check its derivative at the end of the run."""

    __slots__ = ("args", "grads", "incoming", "node", "site")

    def __init__(self, node: Any, args: tuple[Any, ...]) -> None:
        self.node = weakref.ref(node)
        self.site = node.site
        self.args = args
        self.incoming: Any = None
        self.grads: Any = None


def behind(t: Tensor, sources: tuple[Any, ...]) -> tuple[Any, ...]:
    """Weak references to the leaves that a value was computed from, including those behind cuts."""
    if sources:
        return Cause("", None, "", sources).behind
    return merge_references(*[cause.behind for cause in causes_of(t)])


def merge_references(*several: tuple[Any, ...]) -> tuple[Any, ...]:
    """The references that are still alive, without duplicates, at most MAX_REFERENCES."""
    found = {id(reference()): reference for references in several for reference in references if reference() is not None}
    return tuple(found.values())[-MAX_REFERENCES:]
