"""Notes that explain autograd's errors: attached after the failure, beneath torch's own first line."""

from __future__ import annotations

from typing import Any

from whygrad.why.causes import told
from whygrad.why.places import place
from whygrad.why.record import Site

_whygrad_internal_ = True


def at(site: Site | None) -> str:
    found = place(site)
    if found is None:
        return "at an unknown place"
    return f"at {found.file}:{found.line}" + (f" by `{found.expression}`" if found.expression else "")


def non_scalar(shape: tuple[int, ...], computed: Site | None) -> str:
    return (f"why: the tensor has shape {list(shape)}, computed {at(computed)}. backward() computes a product of a vector with "
            "the Jacobian, and only for a single element (a scalar) is there an obvious vector: 1. Reduce first (.sum() or "
            ".mean()), or pass gradient=, a tensor of the same shape that says how much each element counts.")


def no_history(t: Any) -> tuple[str, str, tuple[Site | None, ...]]:
    """Category, note and sites for a tensor on which backward() makes no sense."""
    for cause in t._cause:
        answer = told(cause)
        if answer is not None:
            return answer.category, f"why: {answer.text} Fix: {answer.fix}", (cause.site, cause.origin)
    note = "why: nothing it was computed from requires grad. Call .requires_grad_() on the leaves before the forward."
    return "never-required-grad", note, ()


def freed(node_name: str, made: Site | None, backward: Any) -> str:
    by = f" They were freed by the backward {at(backward.site)}." if backward is not None else ""
    return (f"why: this backward reached {node_name}, made {at(made)}, a second time, and its saved values are gone.{by} If a "
            "state is carried over from an earlier step, detach() it there; otherwise compute the loss anew for each backward. "
            "retain_graph=True on the first backward is the last resort: it keeps everything in memory.")


def stale(node: Any, written_at: Site | None) -> str:
    from whygrad.autograd.node import Node, row_node

    makers = [row_node(edge)[0] for edge in node.edges]
    names = " and ".join(dict.fromkeys(f"{type(m).__name__} {at(m.site)}" for m in makers if isinstance(m, Node)))
    origin = f" Its inputs come from {names}." if names else ""
    return (f"why: {type(node).__name__}, made {at(node.site)}, saved this value for its derivative; it was modified in place "
            f"{at(written_at)}.{origin} Use the out-of-place version there (x = x + 1 instead of x += 1), or clone() before "
            "writing; if it is an optimizer's step, call backward() before it.")


def gradient_shape(given: tuple[int, ...], shape: tuple[int, ...]) -> str:
    return (f"why: the gradient has shape {list(given)}, but it is never broadcast: it must have exactly the shape {list(shape)} "
            "of the tensor that backward() is called on.")


def leaf_inplace(view: bool) -> str:
    what = "a view of a leaf" if view else "a leaf"
    return (f"why: {what} that requires grad was about to be changed in place while gradients are recorded; its gradient would "
            "have no meaning. Wrap an update in `with torch.no_grad():`, or write an out-of-place expression into a new name.")


def unused(index: int) -> str:
    return (f"why: no operation leads from input {index} to the outputs, so there is no gradient: the loss does not depend on "
            "it. Check that this tensor itself (not a copy or a detached version) was used; allow_unused=True gives None for it.")
