"""What the watch notes: of each leaf's gradient, of each backward, of custom Functions and of optimizers."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

from whygrad.core.node import next_sequence_number
from whygrad.core.tensor import Tensor
from whygrad.why.flow import COMPARING, Step, is_the_same, numbers_of, row_name
from whygrad.why.nonfinite import Origin
from whygrad.why.record import Cause, Site

# A line in a loop may copy values of many tensors; so many are remembered.
MOST_BEHIND = 1000


class Tensors:
    """A weak set of tensors. (weakref.WeakSet compares elements with ==, which tensors do elementwise.)"""

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[Tensor]] = {}

    def add(self, t: Tensor) -> None:
        known = self._references.get(id(t))
        if known is None or known() is not t:
            self._references[id(t)] = weakref.ref(t)

    def __iter__(self) -> Iterator[Tensor]:
        for reference in list(self._references.values()):
            t = reference()
            if t is not None:
                yield t

    def __contains__(self, t: Tensor) -> bool:
        known = self._references.get(id(t))
        return known is not None and known() is t


class Deposit:
    """One backward's contribution to a leaf, and the leaf's version at that moment."""

    __slots__ = ("after_step", "applied", "backward", "fingerprint", "reads", "state", "version")

    def __init__(self, backward: Any, version: int, state: str) -> None:
        self.backward = backward
        self.version = version
        self.state = state
        # Two backward passes that contribute the very same are hardly meant to be added up. Taken when there are two.
        self.fingerprint: Any = None
        # How often the program has looked at the gradient since, and whether an optimizer has used it.
        self.reads = 0
        self.applied = False
        # Whether it was added to a contribution of the same line that had been applied already.
        self.after_step = False


def fingerprint(g: Any) -> Any:
    array = numbers_of(g)
    return float(np.vdot(array, array).real), float(array.sum().real)


class Ledger:
    """Who has written a leaf's gradient since it was last cleared."""

    __slots__ = ("again", "applied", "begun", "cleared_times", "deposits", "first", "flowed", "held", "origin", "reached", "read",
                 "sites", "total")

    # As many deposits are kept; `total` counts on.
    KEPT = 6

    def __init__(self) -> None:
        self.deposits: list[Deposit] = []
        # The state of the first contribution, and what had written the leaf's values by then.
        self.first = ""
        # The numbers of the first backward that came here, and of the latest that brought more than zeros.
        self.begun = self.flowed = 0
        self.origin: Site | None = None
        self.total = 0
        self.cleared_times = 0
        # How many backward passes have come here, and how many of their gradients the program has looked at.
        self.reached = 0
        self.read = 0
        # Whether two came from the same line: then it stands in a loop.
        self.again = False
        self.sites: set[Site] = set()
        # Whether an optimizer that holds the leaf has stepped, and the backward passes whose gradients it applied.
        self.held = False
        self.applied: set[int] = set()

    def clear(self) -> None:
        if self.deposits:
            self.cleared_times += 1
        self.deposits = []
        self.total = 0

    def add(self, deposit: Deposit, g: Any, before: Any) -> None:
        """`g` is added to `before`."""
        if self.deposits:
            deposit.fingerprint = fingerprint(g)
            if len(self.deposits) == 1:
                self.deposits[0].fingerprint = fingerprint(before)
        deposit.after_step = any((earlier.applied or earlier.version != deposit.version)
                                 and earlier.backward.site == deposit.backward.site for earlier in self.deposits)
        self.deposits.append(deposit)
        self.begun = self.begun or deposit.backward.number
        if deposit.state != "zero":
            self.flowed = deposit.backward.number
        self.total += 1
        self.reached += 1
        self.again = self.again or deposit.backward.site in self.sites
        if not self.again:
            self.sites.add(deposit.backward.site)
        del self.deposits[:-self.KEPT]

    def look(self) -> None:
        """The program reads the gradient."""
        if self.deposits:
            self.read += not self.deposits[-1].reads
            self.deposits[-1].reads += 1

    def step(self, has_gradient: bool) -> None:
        """An optimizer that holds the leaf has stepped."""
        self.held = True
        for deposit in self.deposits if has_gradient else ():
            deposit.applied = True
            if len(self.applied) < 100:
                self.applied.add(deposit.backward.number)

    def stepped_between(self) -> bool:
        """The leaf was changed between two contributions of the same line: a loop that never clears.

        Another loss that adds to it after a step (a discriminator's, while the generator learns) does no harm.
        """
        return any(deposit.after_step for deposit in self.deposits)

    def read_between(self) -> bool:
        return any(earlier.reads and not earlier.applied for earlier in self.deposits[:-1])

    def repeated(self) -> bool:
        """The same contribution came twice, and the leaf was not changed in between."""
        return any(earlier.fingerprint is not None and earlier.fingerprint == later.fingerprint
                   and earlier.version == later.version
                   for earlier, later in zip(self.deposits, self.deposits[1:], strict=False))


class Edit(NamedTuple):
    """A write past the version counter, between the forward and the backward."""

    node: Any
    site: Site | None
    how: str


class HookChange(NamedTuple):
    """A hook that gave another gradient than it got."""

    target: Any
    site: Site | None
    name: str
    how: str
    masks: bool
    wipes: bool


class Broadcast(NamedTuple):
    """Operands of a loss that were broadcast against each other."""

    node: Any
    first: tuple[int, ...]
    second: tuple[int, ...]


class Trace:
    """One backward, as far as answers may need it later."""

    def __init__(self, backward: Any, stores: bool, targets: Any) -> None:
        self.backward = backward
        # False for autograd.grad, which writes no `.grad`.
        self.stores = stores
        # The only tensors it was asked for, if it was (`inputs=`).
        self.only = targets
        self.root = backward.root()
        self.steps: list[Step] = []
        self.edits: list[Edit] = []
        self.hooks: list[HookChange] = []
        self.broadcasts: list[Broadcast] = []
        self.origin: Origin | None = None
        self.leaves = Tensors()

    @cached_property
    def users(self) -> dict[Any, list[Any]]:
        """For each node or leaf the nodes that use it."""
        found: dict[Any, list[Any]] = {}
        for step in self.steps:
            for edge in step.edges:
                if edge is not None:
                    found.setdefault(edge, []).append(step.node)
        return found

    @cached_property
    def terms(self) -> list[Step]:
        """The steps at the root that only add up terms of the loss."""
        found: list[Step] = []
        reached = {self.steps[0].node} if self.steps else set()
        for step in self.steps:
            scalar = step.shape is not None and prod(step.shape) == 1
            if step.node in reached and scalar and row_name(step.node) in ("add", "sub", "mul", "div", "neg"):
                found.append(step)
                reached.update(edge for edge in step.edges if edge is not None)
        return found

    @cached_property
    def comparisons(self) -> list[Step]:
        """The steps that compare two computed values, as a loss does."""
        return [step for step in self.steps if row_name(step.node) in COMPARING and len(step.edges) == 2
                and None not in step.edges]

    def leading_to(self, leaf: Any) -> set[Any]:
        """The nodes from which `leaf` is reached, and itself."""
        found, pending = {leaf}, [leaf]
        while pending:
            for node in self.users.get(pending.pop(), ()):
                if node not in found:
                    found.add(node)
                    pending.append(node)
        return found

    def consumers(self, leaf: Any) -> list[Any]:
        """The nodes that use a leaf itself; a view or cast of it counts as itself."""
        found: list[Any] = []
        pending = [leaf]
        while pending:
            for node in self.users.get(pending.pop(), ()):
                (pending if is_the_same(node) else found).append(node)
        return found


class Copy:
    """A value that left as a plain number or array: where, how, and the leaves it was computed from."""

    __slots__ = ("behind", "how", "moment", "site")

    def __init__(self, site: Site, how: str, behind: tuple[Any, ...]) -> None:
        self.site = site
        self.how = how
        self.behind = behind
        self.moment = next_sequence_number()

    def leads_to(self, t: Tensor) -> bool:
        return any(reference() is t for reference in self.behind)


class DataCounter(list[Any]):
    """The version counter of what `.data` gives: it counts apart from the tensor's own, and tells the watch of writes."""

    __slots__ = ("note", "of")

    def __init__(self, of: list[Any], note: Any) -> None:
        super().__init__((0,))
        self.of = of
        self.note = note

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        if index == 0:
            self.note(self.of)


class Sample:
    """One application of a custom Function, kept to check its derivative when the program has ended."""

    __slots__ = ("args", "grads", "incoming", "node", "site")

    def __init__(self, node: Any, args: tuple[Any, ...]) -> None:
        self.node = weakref.ref(node)
        self.site = node.site
        self.args = args
        self.incoming: Any = None
        self.grads: Any = None


def behind(t: Tensor, sources: tuple[Any, ...]) -> tuple[Any, ...]:
    """Weak references to the leaves a value was computed from, also through cuts."""
    if sources:
        return Cause("", None, "", sources).behind
    return together(*[cause.behind for cause in t._cause])


def together(*several: tuple[Any, ...]) -> tuple[Any, ...]:
    """Weak references to what is still there, each once, and not too many."""
    found = {id(reference()): reference for references in several for reference in references if reference() is not None}
    return tuple(found.values())[-MOST_BEHIND:]
