"""Join: ranks that have fewer batches answer the collectives of the others, until all are done.

A rank that leaves the context early calls the `main_hook` of every joinable once for each step of a rank that still trains. In
each step one all_reduce counts those: the first joinable asks for it before its own collectives (`notify_join_context`).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from whygrad.core.tensor import wrap
from whygrad.distributed import collectives


class JoinHook:
    """What a rank does that has joined: `main_hook` for each step of the others, `post_hook` at the end."""

    def main_hook(self) -> None:
        """Answer the collectives of one step."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """All ranks have joined. `is_last_joiner` says whether this one has done the last step."""


class Joinable:
    """Something with collectives in each step. In a `Join` it has a `join_context`."""

    join_context: Join | None = None

    def join_hook(self, **kwargs: Any) -> JoinHook:
        raise NotImplementedError(f"{type(self).__name__}.join_hook")

    @property
    def join_device(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.join_device")

    @property
    def join_process_group(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.join_process_group")


class Join:
    """The context of a training loop whose number of steps differs between the ranks."""

    def __init__(self, joinables: Sequence[Joinable], enable: bool = True, throw_on_early_termination: bool = False,
                 **kwargs: Any) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = {id(joinable.join_process_group) for joinable in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self.joinables = list(joinables)
        self.hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self.group = joinables[0].join_process_group
        self.is_enabled = enable
        self.throws = throw_on_early_termination

    def __enter__(self) -> None:
        if self.is_enabled:
            for joinable in self.joinables:
                joinable.join_context = self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if not self.is_enabled:
            return
        for joinable in self.joinables:
            joinable.join_context = None
        if kind is not None:
            return
        is_last = True
        while self.count_active(0):
            if self.throws:
                raise RuntimeError(f"Rank {self.group.rank()} exhausted all inputs.")
            is_last = False
            for hook in self.hooks:
                hook.main_hook()
        for hook in self.hooks:
            hook.post_hook(is_last)

    def count_active(self, own: int) -> int:
        """How many ranks do a step now; all ranks ask this before one."""
        count = np.full(1, own, np.int64)
        collectives.all_reduce(wrap(count), group=self.group)
        if own and self.throws and count[0] < self.group.size():
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return int(count[0])

    @staticmethod
    def notify_join_context(joinable: Joinable) -> int | None:
        """Tell the ranks that have joined that a step begins. The number of ranks that do it; None if there is nobody to tell."""
        context = joinable.join_context
        if context is None or context.joinables[0] is not joinable:
            return None
        return context.count_active(1)
