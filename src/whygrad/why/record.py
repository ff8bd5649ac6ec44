"""The thin recording interface: what the engine notes while it runs, so that it can answer later.

A *site* is `(code object, instruction offset)` of the nearest frame outside this package. It costs about 0.1 µs to
take; file, line, column and source text are looked up only when somebody asks. A *cause* says why a tensor has no
history. Nothing here imports the rest of the package, and the rest imports nothing else of `why`.
"""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Any

from whygrad.base.frames import program_frame, user_frame

Site = tuple[CodeType, int]

# The watch of `whygrad run` (see watch.py), which wants to hear of errors and gradients as they happen; else None.
watching: Any = None


def program_site() -> Site:
    frame = program_frame(1)
    return frame.f_code, frame.f_lasti


def site() -> Site:
    frame = user_frame(1)
    return frame.f_code, frame.f_lasti


# How many nodes are looked at to find the leaves behind a cut. Set higher when explanations matter more than speed.
NEAR = 32
reach = NEAR

# So many nodes may be looked at beyond NEAR: some at once, and some more with every cut. A program that grows one graph and
# cuts it at every step would otherwise take time that is quadratic in its steps.
credit = 500_000
MORE_CREDIT = 64


class Cause:
    """Why a tensor has no history: the first thing that cut it off, and where.

    `behind` are weak references to what was cut off: leaf tensors, as far as they were found within `reach` nodes, else the
    nodes themselves. So an explanation can name them, and a detached value kept for a log does not keep its graph.
    """

    __slots__ = ("behind", "detail", "kind", "origin", "site")

    def __init__(self, kind: str, where: Site | None, detail: str = "", sources: tuple[Any, ...] = (),
                 origin: Site | None = None) -> None:
        self.kind = kind
        self.site = where
        self.detail = detail
        self.origin = origin
        if not sources:
            self.behind: tuple[Any, ...] = ()
            return
        # A comparison makes a mask: cheap, frequent, and hardly ever asked about. It keeps to the nodes.
        looked_at = sources if kind == "non-differentiable-op" and reach <= NEAR else leaves_behind(sources)
        self.behind = tuple([weakref.ref(target) for target in looked_at])

    def __repr__(self) -> str:
        return f"<cause {self.kind} {self.detail}>"


class Created(Cause):
    """That a tensor was made here, of nothing that has a history: every new tensor has one of these."""

    __slots__ = ()
    kind, detail, behind, origin = "created", "", (), None  # type: ignore[misc]


def created() -> Causes:
    """Here, as the only cause."""
    frame = user_frame(1)
    cause = object.__new__(Created)
    cause.site = frame.f_code, frame.f_lasti
    return (cause,)


def alive_behind(causes: Causes) -> tuple[Any, ...]:
    """What was cut off by these causes, as far as it still exists."""
    found = {id(x): x for x in [reference() for cause in causes for reference in cause.behind] if x is not None}
    return tuple(found.values())


def leaves_behind(sources: tuple[Any, ...]) -> list[Any]:
    """The leaves that these nodes (or leaves) lead to, and the nodes beyond which nobody looked."""
    global credit
    if len(sources) == 1 and not hasattr(sources[0], "edges"):
        return [sources[0]]
    leaves = []
    limit = reach if credit > 0 else NEAR
    seen = set(sources)
    pending = list(sources)
    walked = 0
    while pending and walked <= limit:
        target = pending.pop()
        edges = getattr(target, "edges", None)
        if edges is None:
            leaves.append(target)
            continue
        walked += 1
        if watching is not None and target.cuts is not None:
            # What was cut off earlier on the way is behind this cut as well.
            edges += alive_behind(tuple([cause for causes in target.cuts for cause in causes]))
        for edge in edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                pending.append(edge)
    if reach > NEAR:
        credit += MORE_CREDIT - walked
    return leaves + pending


Causes = tuple[Cause, ...]

# A value made from many cut-off values keeps this many causes: enough for an answer, and bounded.
MOST_CAUSES = 4


def merge(first: Causes, second: Causes) -> Causes:
    """The causes of a value made from two others; real cuts come before plain constants."""
    if first is second or not second:
        return first
    if not first:
        return second
    if len(first) == MOST_CAUSES and len(second) == 1 and second[0].kind == "created":
        return first  # full, and a plain constant would come last
    more = [cause for cause in second if cause not in first]
    if not more:
        return first
    if first[-1].kind == "created" and more[0].kind != "created":
        more = sorted((*first, *more), key=_is_plain_constant)
        return tuple(more[:MOST_CAUSES])
    return (*first, *more)[:MOST_CAUSES]


def _is_plain_constant(cause: Cause) -> bool:
    return cause.kind == "created"
