"""What is known of torch's tensors, in a side table by id: in `t.__dict__`, torch.save and deepcopy would carry it along."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from whygrad.why.record import Causes, Reference, Site


class TensorNotes:
    """See why/engine.py, Notes."""

    __slots__ = ("grad_log", "reached_by", "switched_at", "watched", "watched_version")

    def __init__(self) -> None:
        self.reached_by: Any = None
        self.grad_log: list[tuple[str, Site, int]] = []
        self.switched_at: tuple[bool, Site] | None = None
        self.watched: Any = None
        self.watched_version = 0


NO_NOTES = TensorNotes()


class Version:
    """torch's version counter as it was last seen, and where it was raised. Tensors that share the counter share this."""

    __slots__ = ("__weakref__", "site", "value")

    def __init__(self, value: int) -> None:
        self.value = value
        self.site: Site | None = None


class DataVersion(Version):
    """The version of what `.data` gives: it has its own counter, and a write through it changes another tensor's values."""

    __slots__ = ("of",)

    def __init__(self, of: Version) -> None:
        super().__init__(0)
        self.of = of


class TensorFacts:
    __slots__ = ("causes", "norm", "notes", "reference", "version")

    def __init__(self, reference: weakref.ref[Tensor]) -> None:
        self.reference = reference
        self.causes: Causes = ()
        self.version: Version | None = None
        self.notes: TensorNotes | None = None
        # Of a gradient: its norm as a backward pass has found it, and torch's version counter then.
        self.norm: tuple[float, int] | None = None


_facts: dict[int, TensorFacts] = {}


def facts_of(t: Tensor) -> TensorFacts:
    """The facts of a tensor, to be written."""
    key = id(t)
    found = _facts.get(key)
    if found is None:
        # Forgotten by C alone, `pop(key, reference)`: Python would run signal handlers in a callback, and lose what they raise.
        found = _facts[key] = TensorFacts(Reference(t, partial(_facts.pop, key)))
    return found


def known_facts(t: Tensor) -> TensorFacts | None:
    return _facts.get(id(t))


def causes_of(t: Tensor) -> Causes:
    found = _facts.get(id(t))
    return () if found is None else found.causes


def notes_of(t: Tensor) -> TensorNotes:
    found = _facts.get(id(t))
    return NO_NOTES if found is None or found.notes is None else found.notes


def own_notes_of(t: Tensor) -> TensorNotes:
    facts = facts_of(t)
    if facts.notes is None:
        facts.notes = TensorNotes()
    return facts.notes


def version_record(t: Tensor) -> Version:
    """The record of the counter that `t` shares with its views; `value` is what was last seen."""
    facts = facts_of(t)
    if facts.version is None:
        base = t._base
        facts.version = Version(counted(t)) if base is None else version_record(base)
    return facts.version


def version_of(t: Tensor) -> Version:
    """The record, brought up to date."""
    version = version_record(t)
    version.value = counted(t)
    return version


def operand_of(t: Tensor) -> tuple[Version, int, int]:
    """What a node remembers of an argument or result: its version record and value, and the address of its memory."""
    facts = _facts.get(id(t))
    version = version_record(t) if facts is None or facts.version is None else facts.version
    version.value = now = 0 if t.is_inference() else t._version
    try:
        return version, now, t.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # a tensor without memory of its own
        return version, now, 0


def note_write(t: Tensor, site: Site | None) -> None:
    """If the tensor was written since it was last looked at: it was there."""
    version, now = version_record(t), counted(t)
    if version.value != now:
        version.value, version.site = now, site


def note_step(parameters: list[Tensor], site: Site | None) -> None:
    """An optimizer has stepped at this site: it wrote those that were written since they were last looked at. (`note_write` of
    each, without its calls: this is done in every step of a long run.)"""
    for p in parameters:
        facts = _facts.get(id(p))
        if facts is None or facts.version is None:
            version_record(p)
        elif not p.requires_grad:
            note_write(p, site)  # it may be a tensor of inference mode, which has no version
        elif facts.version.value != p._version:
            facts.version.value, facts.version.site = p._version, site


def note_cleared(parameters: list[Tensor], log: list[tuple[str, Site, int]]) -> None:
    """Those that have a gradient are about to lose it."""
    for p in parameters:
        if p.grad is not None:
            facts = _facts.get(id(p))
            notes = own_notes_of(p) if facts is None or facts.notes is None else facts.notes
            notes.grad_log = log


def counted(t: Tensor) -> int:
    return 0 if t.is_inference() else t._version


def exchange(a: Tensor, b: Tensor) -> None:
    """torch has swapped the contents of two tensors: a version counter goes with its content, the rest is of the object."""
    first, second = facts_of(a), facts_of(b)
    first.version, second.version = second.version, first.version


def forget_gradients() -> None:
    """Forget what happened to `.grad` of each tensor; how it was made stays known."""
    for facts in list(_facts.values()):
        if facts.notes is not None:
            kept = facts.notes.switched_at
            facts.notes = TensorNotes()
            facts.notes.switched_at = kept


def forget_all() -> None:
    _facts.clear()


def count() -> int:
    """How many tensors are known."""
    return len(_facts)


def quietly() -> Any:
    """A context in which torch's functions tell nobody of themselves, modes and subclasses of the program included."""
    return _unnoticed() if torch._C._len_torch_dispatch_stack() else torch._C.DisableTorchFunction()


@contextmanager
def _unnoticed() -> Iterator[None]:
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        yield
