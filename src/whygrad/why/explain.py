"""`explain(t)`: why a tensor has, or has not, the gradient it has."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

from whygrad._tensor import Tensor, grad_fn
from whygrad.autograd import engine
from whygrad.autograd.node import Node, row_node
from whygrad.why import record
from whygrad.why.answers import Explanation
from whygrad.why.causes import at, told
from whygrad.why.flow import FLAT, row_name, state, where_it_turned
from whygrad.why.places import Place, place
from whygrad.why.record import Cause, Site

if TYPE_CHECKING:
    from whygrad.nn.module import Module
    from whygrad.why.parameters import ParameterTable

_whygrad_internal_ = True


@overload
def explain(t: Tensor, *, loss: Tensor | None = None) -> Explanation: ...


@overload
def explain(t: Module, *, loss: Tensor | None = None) -> ParameterTable: ...


def explain(t: Any, *, loss: Tensor | None = None) -> Any:
    """Say why `t.grad` is what it is. `loss` names the backward in question; without it, the last one is meant.

    Of a module: one table with all its parameters.
    """
    if not isinstance(t, Tensor):
        from whygrad.why.parameters import explain_module  # which explains each parameter by this function

        return explain_module(t, loss)
    if t._grad is not None:
        return _has_gradient(t)
    if grad_fn(t) is not None:
        return _non_leaf(t)
    if not t.requires_grad:
        return no_history(t)
    return _leaf_without_gradient(t, loss)


def _has_gradient(t: Tensor) -> Explanation:
    """The rules for a gradient that is there, most specific first."""
    if not t.requires_grad:
        return _gradient_without_requires_grad(t)
    for rule in (_not_finite, _zero, _accumulated, _broadcast_loss, _not_in_optimizer):
        answer = rule(t)
        if answer is not None:
            return answer
    return _in_order(t)


def _in_order(t: Tensor) -> Explanation:
    reached, assigned = t.meta.reached_by, _assigned_at(t)
    if assigned is not None:
        return Explanation("this tensor has a gradient", "ok", f"It was assigned by hand {at(assigned)}; backward adds to what "
                           "it finds there.", causes=places(assigned))
    how = f"It was computed by the backward {at(reached.site)}." if reached is not None else "retain_grad() kept it."
    return Explanation("this tensor has a gradient", "ok", how, causes=places(reached.site if reached else None))


def _assigned_at(t: Tensor) -> Site | None:
    """Where `.grad` was set by hand, if no backward has written it since."""
    log = t.meta.grad_log[-1] if t.meta.grad_log else None
    if log is None or log[0] != "assigned":
        return None
    reached = t.meta.reached_by
    where: Site = log[1]
    return where if reached is None or reached.number <= log[2] else None


def _gradient_without_requires_grad(t: Tensor) -> Explanation:
    symptom = "requires_grad is False, yet .grad has a value"
    assigned = _assigned_at(t)
    if assigned is not None:
        return Explanation(
            symptom, "grad-assigned",
            f"The value was assigned by hand {at(assigned)}. requires_grad=False only means that backward computes nothing for "
            "this tensor: it neither writes .grad nor clears what is there, so an assigned value stays. A tensor that does not "
            "require grad never collects a gradient by taking part in tracked operations.",
            "set .grad = None to remove it.", places(assigned))
    reached = t.meta.reached_by.site if t.meta.reached_by is not None else None
    frozen = t.meta.switched_at[1] if t.meta.switched_at is not None else None
    return Explanation(
        symptom, "stale-grad-after-freeze",
        f"The value is left over from the earlier backward {at(reached)}, when the tensor still required grad. Switching "
        f"requires_grad off {at(frozen)} stops new gradients but does not erase the old one, and an optimizer that holds the "
        "tensor will still apply it.",
        "clear it when you freeze the tensor: set .grad = None, or call zero_grad().", places(frozen, reached))


def _not_finite(t: Tensor) -> Explanation | None:
    if state(t._grad) != "bad":
        return None
    turn = where_it_turned(_steps(t), t, "bad")
    symptom = "this gradient is nan or infinite"
    if turn is None:
        return Explanation(symptom, "nan-derivative", "The gradient was not finite when backward started: look at the loss.",
                           "find the first nan of the forward: print the loss and its parts.", places(_reached_site(t)))
    name = row_name(turn.node)
    return Explanation(
        symptom, "nan-derivative",
        f"It turned nan in the derivative of {name} {at(turn.node.site)}: at these values the local derivative of {name} is "
        "infinite or undefined, and 0 * inf = nan. A branch that torch.where does not select still sends its gradient (a zero) "
        f"back through {name}; so does a mask applied after it.",
        f"make the input of {name} safe before it is applied (for example replace the bad values with torch.where first).",
        places(turn.node.site))


def _zero(t: Tensor) -> Explanation | None:
    if state(t._grad) != "zero" or t.meta.reached_by is None:
        return None
    turn = where_it_turned(_steps(t), t, "zero")
    if turn is None:
        return None
    name, symptom = row_name(turn.node), "this gradient is exactly zero"
    if name in FLAT:
        return Explanation(
            symptom, "zero-local-derivative",
            f"The path is there, but {name} {at(turn.node.site)} has derivative exactly 0 at these values: for a relu every "
            "input is negative (a dead unit), a sigmoid or tanh is saturated, a clamp is outside its bounds, a round or sign is "
            "flat everywhere.",
            "change the initialisation or scale so that its inputs lie where it has a slope, or use one that is not flat "
            "(LeakyReLU, a straight-through estimator).",
            places(turn.node.site))
    return Explanation(
        symptom, "zero-factor",
        f"The path is there, but in {name} {at(turn.node.site)} the gradient is multiplied by something that is exactly zero "
        "here: a zero weight, a mask, a loss weight of 0 or a layer initialised with zeros.",
        "look at the other operand of that expression.", places(turn.node.site))


def _accumulated(t: Tensor) -> Explanation | None:
    facts = t.meta.watched
    if facts is None or not facts.piled_up():
        return None
    sites = [deposit.backward.site for deposit in facts.deposits]
    return Explanation(
        "this gradient is the sum of several backward passes", "grad-accumulated",
        f"{len(sites)} backward passes have added to it since it was last cleared, the last one {at(sites[-1])}, and the values "
        "were used in between: backward accumulates into .grad, it does not replace it.",
        "call optimizer.zero_grad() (or set .grad = None) before each backward.", places(sites[-1]))


def _broadcast_loss(t: Tensor) -> Explanation | None:
    steps = _steps(t)
    for step in steps:
        shapes = step.node.shapes
        if not isinstance(shapes, tuple) or row_name(step.node) not in ("sub", "rsub", "mse_loss", "l1_loss", "smooth_l1_loss",
                                                                        "huber_loss"):
            continue
        if len(shapes) == 2 and _mutually_broadcast(*shapes):
            a, b = shapes
            return Explanation(
                "this gradient comes from a broadcast difference", "broadcast-loss",
                f"{at(step.node.site).capitalize()} the shapes {list(a)} and {list(b)} were broadcast against each other, so "
                "every prediction is compared with every target.",
                "give prediction and target the same shape (squeeze or unsqueeze one of them).", places(step.node.site))
    return None


def _mutually_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """(N, 1) against (N,): as many elements, but neither has the shape of the result."""
    count = 1
    for n in a:
        count *= n
    other = 1
    for n in b:
        other *= n
    return count == other > 1 and sorted(n for n in a if n > 1) == sorted(n for n in b if n > 1) and a != b and (
        len(a) != len(b)) and a[-len(b):] != b and b[-len(a):] != a


def _not_in_optimizer(t: Tensor) -> Explanation | None:
    if record.watching is None:
        return None
    from whygrad.optim.optimizer import OPTIMIZERS
    from whygrad.parameter import Parameter

    stepped = [o for o in OPTIMIZERS if record.watching.has_stepped(o)]
    if not isinstance(t, Parameter) or not stepped:
        return None
    held = {id(p) for o in OPTIMIZERS for group in o.param_groups for p in group["params"]}
    if id(t) in held or t._counter[0] > t.meta.watched_version:
        return None
    where = vars(stepped[0])["_site"]
    return Explanation(
        "this parameter has a gradient, but nothing updates it", "not-in-optimizer",
        f"No optimizer holds it: the one made {at(where)} was never given this parameter. Either it is not registered (a plain "
        "Python list of layers does not register them; nn.ModuleList does), or it was made after the optimizer.",
        "hold layers in nn.ModuleList (tensors in nn.Parameter) and build the optimizer from model.parameters() last.",
        places(where))


def _non_leaf(t: Tensor) -> Explanation:
    node, _ = row_node(grad_fn(t))
    return Explanation(
        "this tensor's .grad is None", "non-leaf-no-retain",
        f"It is not a leaf: it was computed {at(node.site)} ({type(node).__name__}). backward() does pass a gradient through it, "
        "but only leaf tensors keep theirs in .grad, so that memory for intermediate results can be freed. Whether its inputs "
        "require grad has nothing to do with it.",
        "call .retain_grad() on it before backward(), or use torch.autograd.grad(loss, tensor).", places(node.site))


def no_history(t: Tensor, symptom: str = "this tensor's .grad is None, and it does not require grad") -> Explanation:
    for cause in t._cause:
        answer = told(cause)
        if answer is not None:
            return Explanation(symptom, answer.category, answer.text, answer.fix, places(cause.site, cause.origin))
    return Explanation(symptom, "never-required-grad", "No gradient was ever asked for: it is a leaf with requires_grad=False.",
                       "create it with requires_grad=True, or call .requires_grad_() before the forward.")


def _leaf_without_gradient(t: Tensor, loss: Tensor | None) -> Explanation:
    symptom = "this leaf requires grad, but its .grad is None"
    log = t.meta.grad_log[-1] if t.meta.grad_log else None
    if t.meta.reached_by is not None and log is not None and log[0] == "cleared":
        return Explanation(symptom, "grad-cleared", f"backward {at(t.meta.reached_by.site)} did fill it, then it was cleared "
                           f"{at(log[1])}.", "read or apply the gradient before it is cleared.", places(log[1]))
    root, called = _root_of(loss)
    if root is None:
        return Explanation(symptom, "no-backward", "No backward() has reached it: none ran, or its graph is gone.",
                           "call loss.backward() first; pass loss=... to explain() if you mean a particular loss.")
    empty_handed = _returned_none(t)
    if empty_handed is not None:
        return empty_handed
    patched = _patched_loss(root)
    if patched is not None:
        return patched
    found = _cut_leading_to(root, t)
    if found is not None:
        cause, path = found
        answer = told(cause, "A value was")
        assert answer is not None
        return Explanation(symptom, answer.category, f"The way from this tensor to the loss is cut. {answer.text}", answer.fix,
                           places(cause.site, cause.origin), path)
    where = f" {at(called)}" if called is not None else ""
    return Explanation(symptom, "unused-in-loss", f"No operation leads from it to the tensor that was differentiated{where}: "
                       "the loss does not depend on it, so it is not part of this backward.",
                       "use it in the computation of the loss, or leave it out.",
                       places(root.site if isinstance(root, Node) else None))


def _returned_none(t: Tensor) -> Explanation | None:
    """The walk did come to this leaf, but a custom backward had nothing for it."""
    last = engine.last_backward()
    if record.watching is None or last is None:
        return None
    for step in record.watching.steps_of(last):
        for edge, left in zip(step.edges, step.left, strict=False):
            if edge is t and left == "none":
                name = type(step.node).__name__
                return Explanation(
                    "this leaf requires grad, but its .grad is None", "custom-backward",
                    f"{name}, applied {at(step.node.site)}, leads to it, but its backward returned None for this argument.",
                    "return one gradient for each argument of forward; check it with torch.autograd.gradcheck.",
                    places(step.node.site))
    return None


def _patched_loss(root: Any) -> Explanation | None:
    """The loss had no history and was made to require grad by hand."""
    if not isinstance(root, Tensor) or root.meta.switched_at is None or not root._cause:
        return None
    switched = root.meta.switched_at[1]
    reason = next((told(cause) for cause in root._cause if cause.kind != "created"), None)
    if reason is None:
        return None
    return Explanation(
        "backward() ran, but no parameter received a gradient", "loss-requires-grad-patch",
        f"The loss had no history, and requires_grad was switched on by hand {at(switched)}. That makes the loss a leaf of its "
        f"own; it does not connect it to the parameters. The real cut is elsewhere: {reason.text}",
        f"remove that line, and mend the cut: {reason.fix}",
        places(switched, *[cause.site for cause in root._cause if cause.kind != "created"]))


def _steps(t: Tensor) -> Any:
    """What the watch saw of the last backward that reached this leaf."""
    if record.watching is None or t.meta.reached_by is None:
        return []
    return record.watching.steps_of(t.meta.reached_by)


def _reached_site(t: Tensor) -> Site | None:
    return t.meta.reached_by.site if t.meta.reached_by is not None else None


def _root_of(loss: Tensor | None) -> tuple[Any, Site | None]:
    if loss is not None:
        return grad_fn(loss) or loss, None
    last = engine.last_backward()
    return (None, None) if last is None else (last.root(), last.site)


def _cut_leading_to(root: Any, t: Tensor) -> tuple[Cause, list[str]] | None:
    """The cut nearest to `root` that has `t` on its other side, and the ops between the cut and the root."""
    came_from: dict[Node, Node | None] = {root: None} if isinstance(root, Node) else {}
    seen: set[Any] = set()
    for node in _nearest_first(came_from):
        cut_off = list(node.cuts or ())
        # A leaf that was made from values copied out of the graph is a cut as well.
        cut_off += [edge._cause for edge in node.edges if isinstance(edge, Tensor)]
        for causes in cut_off:
            for cause in causes:
                if told(cause) is not None and any(_leads_to(reference(), t, seen) for reference in cause.behind):
                    return cause, _path_to_root(node, came_from)
    return None


def _leads_to(target: Any, t: Tensor, seen: set[Any]) -> bool:
    """True if `target` is `t`, or a node (still alive) from which it can be reached. `seen` did not lead to it before."""
    pending = [target]
    while pending:
        target = pending.pop()
        if target is t:
            return True
        if isinstance(target, Node) and target not in seen:
            seen.add(target)
            pending.extend(target.edges)
    return False


def _path_to_root(node: Node, came_from: dict[Node, Node | None]) -> list[str]:
    """The names of the nodes from here to the root."""
    path: list[str] = []
    step: Node | None = node
    while step is not None:
        if step.visible:
            path.append(type(step).__name__)
        step = came_from[step]
    return path


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


def places(*sites: Site | None) -> list[Place]:
    found = [place(site) for site in sites]
    return [x for x in found if x is not None]
