"""`explain(t)`: why a tensor has, or has not, the gradient it has."""

from __future__ import annotations

import html
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from whygrad._tensor import Tensor, grad_fn
from whygrad.autograd import engine
from whygrad.autograd.node import Node, row_node
from whygrad.why.places import Place, place
from whygrad.why.record import Cause, Site

_whygrad_internal_ = True


@dataclass
class Explanation:
    """An answer: what is seen, why, where, and what to do about it."""

    symptom: str
    category: str
    text: str
    fix: str = ""
    causes: list[Place] = field(default_factory=list)
    # The ops from the tensor towards the loss, up to where the path is cut.
    path: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.symptom} [{self.category}]", self.text]
        for cause in self.causes:
            lines.append(f"  {cause}: {cause.expression or cause.source_line.strip()}")
        if self.path:
            lines.append("  path: " + " -> ".join(self.path))
        if self.fix:
            lines.append(f"Fix: {self.fix}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rest = str(self).split("\n")
        return f"<div><b>{html.escape(head)}</b><pre>{html.escape(chr(10).join(rest))}</pre></div>"

    def to_dict(self) -> dict[str, Any]:
        return {"symptom": self.symptom, "category": self.category, "text": self.text, "fix": self.fix, "path": self.path,
                "causes": [{"file": c.file, "line": c.line, "column": c.column, "end_line": c.end_line,
                            "end_column": c.end_column, "function": c.function, "expression": c.expression}
                           for c in self.causes]}


def explain(t: Tensor, *, loss: Tensor | None = None) -> Explanation:
    """Say why `t.grad` is what it is. `loss` names the backward in question; without it, the last one is meant."""
    if not isinstance(t, Tensor):
        raise TypeError(f"explain() takes a Tensor, not {type(t).__name__}")
    if t._grad is not None:
        return _has_gradient(t)
    if grad_fn(t) is not None:
        return _non_leaf(t)
    if not t.requires_grad:
        return _no_history(t)
    return _leaf_without_gradient(t, loss)


def _has_gradient(t: Tensor) -> Explanation:
    meta = t.meta
    reached = meta.reached_by
    log = meta.grad_log[-1] if meta.grad_log else None
    assigned = log is not None and log[0] == "assigned"
    if t.requires_grad:
        if assigned and (reached is None or reached.number < log[2]):
            return Explanation("this tensor has a gradient", "ok", f"It was assigned by hand {_at(log[1])}; backward adds to "
                               "what it finds there.", causes=_places(log[1]))
        how = f"It was computed by the backward {_at(reached.site)}." if reached is not None else "retain_grad() kept it."
        return Explanation("this tensor has a gradient", "ok", how, causes=_places(reached.site if reached else None))
    symptom = "requires_grad is False, yet .grad has a value"
    if assigned and (reached is None or reached.number < log[2]):
        return Explanation(
            symptom, "grad-assigned",
            f"The value was assigned by hand {_at(log[1])}. requires_grad=False only means that backward computes nothing for "
            "this tensor: it neither writes .grad nor clears what is there, so an assigned value stays. A tensor that does not "
            "require grad never collects a gradient by taking part in tracked operations.",
            "set .grad = None to remove it.", _places(log[1]))
    frozen = meta.switched_at[1] if meta.switched_at is not None else None
    return Explanation(
        symptom, "stale-grad-after-freeze",
        f"The value is left over from the backward {_at(reached.site if reached else None)}, when the tensor still required "
        f"grad. Switching requires_grad off {_at(frozen)} stops new gradients but does not erase the old one, and an optimizer "
        "that holds the tensor will still apply it.",
        "set .grad = None (or call zero_grad()) when you freeze the tensor.", _places(frozen, reached.site if reached else None))


def _non_leaf(t: Tensor) -> Explanation:
    node, _ = row_node(grad_fn(t))
    return Explanation(
        "this tensor's .grad is None", "non-leaf-no-retain",
        f"It is not a leaf: it was computed {_at(node.site)} ({type(node).__name__}). backward() does pass a gradient through "
        "it, but only leaf tensors keep theirs in .grad, so that memory for intermediate results can be freed. Whether its "
        "inputs require grad has nothing to do with it.",
        "call .retain_grad() on it before backward(), or use torch.autograd.grad(loss, tensor).", _places(node.site))


def _no_history(t: Tensor) -> Explanation:
    symptom = "this tensor's .grad is None, and it does not require grad"
    for cause in t._cause:
        told = _CAUSE_TEXTS.get(cause.kind)
        if told is not None:
            category, text, fix = told
            return Explanation(symptom, category, text.format(at=_at(cause.site), origin=_at(cause.origin), detail=cause.detail),
                               fix, _places(cause.site, cause.origin))
    return Explanation(symptom, "never-required-grad", "No gradient was ever asked for: it is a leaf with requires_grad=False.",
                       "create it with requires_grad=True, or call .requires_grad_() before the forward.")


# kind of cause -> (category, text, fix)
_CAUSE_TEXTS = {
    "created": ("never-required-grad",
                "It was created {at} without requires_grad=True, so nothing that is done with it asks for its gradient.",
                "create it with requires_grad=True, or call .requires_grad_() before the forward."),
    "detach": ("detach",
               ("It was taken out of the graph by {detail} {at}: the values are the same, the history is gone, and no gradient "
                "passes that point."),
               "do not detach on the path between the parameters and the loss."),
    "grad-mode-off": ("grad-mode-off", "It was computed {at} while gradient recording was off: {detail} was entered {origin}.",
                      "move the computation out of the no_grad block."),
    "non-differentiable-op": ("non-differentiable-op", "The operation {at} has no derivative ({detail}), so history ends there.",
                              "use a differentiable surrogate for that operation."),
    "value-copied-out": ("value-copied-out", "The value left the graph as plain numbers {at} and came back as a new leaf.",
                         "stay in tensors: use torch.stack or plain tensor operations instead of copying values."),
    "frozen": ("frozen", "Its requires_grad was switched off {at}.", "call .requires_grad_() to train it again."),
    "no-create-graph": ("no-create-graph",
                        ("It is a gradient, computed by the backward {at}, which was not recorded. Gradients are plain values "
                         "unless the backward pass itself is asked to be differentiable."),
                        "pass create_graph=True to that backward() or autograd.grad() call."),
}


def _leaf_without_gradient(t: Tensor, loss: Tensor | None) -> Explanation:
    symptom = "this leaf requires grad, but its .grad is None"
    log = t.meta.grad_log[-1] if t.meta.grad_log else None
    if t.meta.reached_by is not None and log is not None and log[0] == "cleared":
        return Explanation(symptom, "grad-cleared", f"backward {_at(t.meta.reached_by.site)} did fill it, then it was cleared "
                           f"{_at(log[1])}.", "read the gradient before it is cleared.", _places(log[1]))
    root, called = _root_of(loss)
    if root is None:
        return Explanation(symptom, "no-backward", "No backward() has reached it: none ran, or its graph is gone.",
                           "call loss.backward() first; pass loss=... to explain() if you mean a particular loss.")
    found = _cut_leading_to(root, t)
    if found is not None:
        cause, path = found
        category, text, fix = _CAUSE_TEXTS.get(cause.kind, ("unused-in-loss", "The path ends {at}.", ""))
        told = text.format(at=_at(cause.site), origin=_at(cause.origin), detail=cause.detail).replace("It was", "A value was")
        return Explanation(symptom, category, f"The way from this tensor to the loss is cut. {told}", fix,
                           _places(cause.site, cause.origin), path)
    where = f" {_at(called)}" if called is not None else ""
    return Explanation(symptom, "unused-in-loss", f"No operation leads from it to the tensor that was differentiated{where}: "
                       "the loss does not depend on it.", "use it in the computation of the loss, or leave it out.",
                       _places(t.meta.switched_at[1] if t.meta.switched_at else None))


def _root_of(loss: Tensor | None) -> tuple[Any, Site | None]:
    if loss is not None:
        return grad_fn(loss), None
    last = engine.last_backward()
    return (None, None) if last is None else (last.root(), last.site)


def _cut_leading_to(root: Any, t: Tensor) -> tuple[Cause, list[str]] | None:
    """The cut nearest to `root` that has `t` on its other side, and the ops between the cut and the root."""
    for node, path in _paths_from(root):
        for causes in node.cuts or ():
            for cause in causes:
                if any(_leads_to(reference(), t) for reference in cause.behind):
                    return cause, path
    return None


def _leads_to(target: Any, t: Tensor) -> bool:
    """True if `target` is `t`, or a node (still alive) from which it can be reached."""
    if not isinstance(target, Node):
        return target is t
    return any(edge is t for node in _nearest_first({target: None}) for edge in node.edges)


def _paths_from(root: Any) -> Iterator[tuple[Node, list[str]]]:
    """Every node behind `root`, nearest first, with the names of the nodes from it to the root."""
    came_from: dict[Node, Node | None] = {root: None} if isinstance(root, Node) else {}
    for node in _nearest_first(came_from):
        path, at = [], node
        while at is not None:
            if at.visible:
                path.append(type(at).__name__)
            at = came_from[at]
        yield node, path


def _nearest_first(came_from: dict[Node, Node | None]) -> Iterator[Node]:
    """Walk back from the given nodes, noting for each further one where it was come from."""
    queue = deque(came_from)
    while queue:
        node = queue.popleft()
        yield node
        for edge in node.edges:
            if isinstance(edge, Node) and edge not in came_from:
                came_from[edge] = node
                queue.append(edge)


def _at(site: Site | None) -> str:
    found = place(site)
    if found is None:
        return "somewhere"
    return f"in line {found.line} by `{found.expression}`" if found.expression else f"in line {found.line}"


def _places(*sites: Site | None) -> list[Place]:
    found = [place(site) for site in sites]
    return [x for x in found if x is not None]
