"""The thin recording interface: what the engine notes while it runs, so that it can answer later.

A *site* is `(code object, instruction offset)` of the nearest frame outside this package. It costs about 0.1 µs to
take; file, line, column and source text are looked up only when somebody asks. A *cause* says why a tensor has no
history. Nothing here imports the rest of the package, and the rest imports nothing else of `why`.
"""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Any

from whygrad.base.frames import is_internal, is_of_standard_library, program_frame, user_frame

Site = tuple[CodeType, int]

# The watch of `whygrad run` (see watch.py), which wants to hear of errors and gradients as they happen; else None.
watching: Any = None


def tell(event: str, *facts: Any) -> None:
    """Tell the watch, if there is one, what a module, optimizer, scheduler, scaler or loader does (see audit/README.md)."""
    if watching is not None and event not in watching.unheard:
        watching.told(event, *facts)


def program_site() -> Site:
    frame = program_frame(1)
    return frame.f_code, frame.f_lasti


def site(depth: int = 1) -> Site:
    """Where the user is. So many frames are known to be of this package."""
    frame = user_frame(depth)
    return frame.f_code, frame.f_lasti


def is_same(a: Site, b: Site) -> bool:
    """True for the same line of the same code. Code objects of two equal cells of a notebook are equal, and yet not the same."""
    return a[0] is b[0] and a[1] == b[1]


def _outer(frame: Any) -> Any:
    """The frame that called another one; None for the program's own text, which is run by us, or by Python."""
    is_program = frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"
    return None if is_program else frame.f_back


def callers(limit: int = 2) -> tuple[Site, ...]:
    """Where the user's function was called from, and so on outwards."""
    found: list[Site] = []
    frame = _outer(program_frame(1))
    while frame is not None and len(found) < limit:
        if is_of_standard_library(frame):
            break  # runpy, which runs the program
        if not is_internal(frame):
            found.append((frame.f_code, frame.f_lasti))
        frame = _outer(frame)
    return tuple(found)


# Nodes visited in search of the leaves behind a cut. A watch sets the limit higher than the default.
DEFAULT_SEARCH_LIMIT = 32
search_limit = DEFAULT_SEARCH_LIMIT

# Visits beyond the default limit: a budget for the run, and an allowance for each cut. A program that extends one graph
# and cuts it at every step would otherwise take quadratic time.
SEARCH_BUDGET = search_budget = 500_000
BUDGET_PER_CUT = 64


class Reference(weakref.ref[Any]):
    """A weak reference of ours. It can be told from the program's own: torch refuses to swap tensors that have any of those."""

    __slots__ = ()


class Cause:
    """Why a tensor has no history: the first thing that cut it off, and where.

    `behind` has weak references to what was cut off: leaves found within `search_limit` nodes, and the nodes where the
    search ended. An explanation can name them, and a detached value that is kept for a log does not keep its graph alive.
    """

    __slots__ = ("behind", "detail", "kind", "origin", "site")

    # Whether `behind` has everything that was cut off.
    is_followed = True

    def __init__(self, kind: str, where: Site | None, detail: str = "", sources: tuple[Any, ...] = (),
                 origin: Site | None = None) -> None:
        self.kind = kind
        self.site = where
        self.detail = detail
        self.origin = origin
        if not sources:
            self.behind: tuple[Any, ...] = ()
            return
        # Comparisons are frequent and rarely explained: without a watch their leaves are not searched.
        is_cheap = kind == "non-differentiable-op" and search_limit <= DEFAULT_SEARCH_LIMIT
        self.behind = tuple([Reference(target) for target in (sources if is_cheap else leaves_behind(sources))])

    def __repr__(self) -> str:
        return f"<cause {self.kind} {self.detail}>"


class UnfollowedCause(Cause):
    """A cause that was noted in passing, without a search for what it cut off."""

    __slots__ = ()
    is_followed = False


class Created(Cause):
    """The tensor was created here from values without history. Every new tensor has one, so it stores only its site."""

    __slots__ = ()
    kind, detail, behind, origin = "created", "", (), None  # type: ignore[misc]


def created(depth: int = 1) -> Causes:
    """A Created cause for the user's line. So many frames are known to be of this package."""
    frame = user_frame(depth)
    cause = object.__new__(Created)
    cause.site = frame.f_code, frame.f_lasti
    return (cause,)


def alive_behind(causes: Causes) -> tuple[Any, ...]:
    """The leaves and nodes behind these causes that are still alive."""
    found = {id(x): x for x in [reference() for cause in causes for reference in cause.behind] if x is not None}
    return tuple(found.values())


def leaves_behind(sources: tuple[Any, ...]) -> list[Any]:
    """The leaves behind these nodes (or leaves), and the nodes at which the search ended.

    An edge leads to a node, to a leaf, or to the node that accumulates a leaf's gradient, which does not outlive the graph.
    """
    global search_budget
    if len(sources) == 1 and not hasattr(sources[0], "edges"):
        return [sources[0]]
    leaves = []
    limit = search_limit if search_budget > 0 else DEFAULT_SEARCH_LIMIT
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
            # Leaves behind earlier cuts are behind this one as well.
            edges += alive_behind(tuple([cause for causes in target.cuts for cause in causes]))
        for edge in edges:
            end = edge if getattr(edge, "leaf", None) is None else edge.leaf
            if end is not None and end not in seen:
                seen.add(end)
                pending.append(end)
    if search_limit > DEFAULT_SEARCH_LIMIT:
        search_budget += BUDGET_PER_CUT - walked
    return leaves + pending


Causes = tuple[Cause, ...]

# Causes kept for a value computed from many values without history.
MAX_CAUSES = 4


def merge(first: Causes, second: Causes) -> Causes:
    """The causes of a value computed from two others; cuts come before plain constants."""
    if first is second or not second:
        return first
    if not first:
        return second
    if len(first) == MAX_CAUSES and len(second) == 1 and second[0].kind == "created":
        return first  # full, and a plain constant would come last
    more = [cause for cause in second if cause not in first]
    if not more:
        return first
    if _rank(first[-1]) > _rank(more[0]) or len(first) + len(more) > MAX_CAUSES:
        return tuple(sorted((*first, *more), key=_rank)[:MAX_CAUSES])
    return (*first, *more)


def _rank(cause: Cause) -> int:
    """What is kept if there are too many: cuts, then frozen parameters, which are meant, then plain constants."""
    return 2 if cause.kind == "created" else int(cause.kind == "frozen")
