"""Notes that explain autograd's errors: attached after the failure, beneath torch's own first line."""

from __future__ import annotations

from typing import Any

from whygrad.why.places import place
from whygrad.why.record import Causes, Site

_whygrad_internal_ = True


def at(site: Site | None) -> str:
    found = place(site)
    if found is None:
        return "at an unknown place"
    return f"at {found.file}:{found.line}" + (f" by `{found.expression}`" if found.expression else "")


def non_scalar(shape: tuple[int, ...], computed: Site | None) -> str:
    return (f"why: the tensor has shape {list(shape)}, computed {at(computed)}. backward() computes a product of a vector with "
            "the Jacobian, and only for a single element is there an obvious vector: 1. Reduce first (.sum() or .mean()), or pass "
            "gradient=, a tensor of the same shape that says how much each element counts.")


def no_history(causes: Causes) -> str:
    from whygrad.why.explain import _CAUSE_TEXTS, _at

    for cause in causes:
        told = _CAUSE_TEXTS.get(cause.kind)
        if told is not None:
            _, text, fix = told
            return "why: " + text.format(at=_at(cause.site), origin=_at(cause.origin), detail=cause.detail) + f" Fix: {fix}"
    return "why: nothing it was computed from requires grad. Call .requires_grad_() on the leaves before the forward."


def freed(node_name: str, made: Site | None, backward: Any) -> str:
    by = f" They were freed by the backward {at(backward.site)}." if backward is not None else ""
    return (f"why: the saved values of {node_name}, made {at(made)}, are gone.{by} Compute the loss anew for each backward, detach a "
            "state that is carried over, or pass retain_graph=True to the first backward.")


def stale(saver: str, saved_at: Site | None, written_at: Site | None) -> str:
    return (f"why: {saver}, made {at(saved_at)}, saved this value for its derivative; it was overwritten {at(written_at)}. Use the "
            "out-of-place version there, or clone() before writing.")


def gradient_shape(shape: tuple[int, ...]) -> str:
    return (f"why: the gradient argument is never broadcast; it must have exactly the shape {list(shape)} of the tensor that "
            "backward() is called on.")


def leaf_inplace(view: bool) -> str:
    what = "a view of a leaf" if view else "a leaf"
    return (f"why: {what} that requires grad was about to be overwritten while gradients are recorded; its gradient would have no "
            "meaning. Wrap an update in `with torch.no_grad():`, or write an out-of-place expression into a new name.")


def unused(index: int) -> str:
    return (f"why: no operation leads from input {index} to the outputs, so there is no gradient. Check that this tensor itself (not "
            "a copy or a detached version) was used; allow_unused=True returns None for it.")
