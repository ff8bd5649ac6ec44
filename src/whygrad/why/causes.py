"""What each kind of cause means, in words."""

from __future__ import annotations

from typing import NamedTuple

from whygrad.why.places import place
from whygrad.why.record import Cause, Site

_whygrad_internal_ = True


class Told(NamedTuple):
    category: str
    text: str
    fix: str


def at(site: Site | None) -> str:
    found = place(site)
    if found is None:
        return "somewhere"
    return f"in line {found.line} by `{found.expression}`" if found.expression else f"in line {found.line}"


def told(cause: Cause, subject: str = "It was") -> Told | None:
    """The answer a cause gives by itself."""
    found = _KINDS.get(cause.kind)
    if found is None:
        return None
    text = found.text.format(subject=subject, at=at(cause.site), origin=at(cause.origin), detail=cause.detail)
    return Told(found.category, text, found.fix)


_KINDS = {
    "created": Told("never-required-grad",
                    "{subject} created {at} without requires_grad=True, so nothing that is done with it asks for its gradient.",
                    "create it with requires_grad=True, or call .requires_grad_() before the forward."),
    "detach": Told("detach",
                   "{subject} taken out of the graph by {detail} {at}: the values are the same, the history is gone, and no "
                   "gradient passes that point.",
                   "do not detach on the path between the parameters and the loss; detach only the copy you keep."),
    "grad-mode-off": Told("grad-mode-off",
                          "{subject} computed {at} while gradient recording was off: {detail} was entered {origin} (a with "
                          "block, a decorator or a call that switches grad mode).",
                          "move the computation out of the no_grad block; keep no_grad for evaluation."),
    "non-differentiable-op": Told("non-differentiable-op",
                                  "{subject} computed {at}, an operation that has no derivative ({detail}); history ends there.",
                                  "train on a differentiable surrogate of that operation, and keep it for reporting only."),
    "value-copied-out": Told("value-copied-out",
                             "{subject} made {at} from plain numbers copied out of the graph ({detail}): a new leaf without "
                             "history.",
                             "stay in tensors: use torch.stack or tensor operations instead of copying values."),
    "parameter-rewrapped": Told("parameter-rewrapped",
                                "{subject} wrapped {at} as a new Parameter: a fresh leaf that shares the numbers but not the "
                                "history.",
                                "use the computed tensor itself instead of wrapping it in nn.Parameter."),
    "frozen": Told("frozen", "requires_grad was switched off {at}.",
                   "call .requires_grad_() to train it again."),
    "no-create-graph": Told("no-create-graph",
                            "{subject} computed by the backward {at}, which was not recorded: a gradient is a plain value "
                            "unless the backward pass itself is asked to be differentiable.",
                            "pass create_graph=True to that backward() or autograd.grad() call."),
}
