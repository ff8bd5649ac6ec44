"""Notes that explain autograd's errors; errors.noted() attaches them by name, below torch's own message.

Each function returns the category, the note and the sites, root cause first. The text after " Fix: " is the fix. Those that
ask the rules of explanations are in rule_notes.py, which takes 7 ms to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whygrad.why import record
from whygrad.why.engine import causes_of, end_of, function_of, is_node, shape_of, source_of
from whygrad.why.locations import SourceLocation, expression_at, locate
from whygrad.why.program_text import rebound_names, statement_of, subject_of
from whygrad.why.record import Site

Note = tuple[str, str, tuple[Site | SourceLocation | None, ...]]


def at(site: Site | None) -> str:
    """The location of a site as a phrase, with the file: unlike an answer, a note has no heading that names it."""
    found = locate(site)
    if found is None:
        return "at an unknown place"
    return f"at {found.where}" + (f" by {found.quoted()}" if found.expression else "")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module("whygrad.why.rule_notes"), name)


def at_line(line: SourceLocation) -> str:
    return f"in {line.where} `{line.source_line.strip()}`"


def _made(t: Any) -> Site | None:
    """The site where a tensor was computed or created."""
    node = end_of(source_of(t))
    if node is not None and hasattr(node, "site"):
        site: Site = node.site
        return site
    return causes_of(t)[0].site if causes_of(t) else None


def non_scalar_backward(t: Any) -> Note:
    made = _made(t)
    return "non-scalar-backward", (
        f"why: the tensor has shape {list(shape_of(t))}, computed {at(made)}. backward() computes a product of a vector with "
        "the Jacobian, and only for a single element (a scalar) is there an obvious vector: 1. Fix: reduce it first (.sum() or "
        ".mean()), or pass gradient= (grad_outputs= of autograd.grad), a tensor of the same shape that says how much each "
        "element counts, such as torch.ones_like(...)."), (made,)


def _carried_over(site: Site | None) -> str:
    """Code that detaches a state carried over between iterations, `h = cell(x, h)`; empty if there is none."""
    names = rebound_names(statement_of(locate(site)))
    return f"{', '.join(names)} = {', '.join(f'{name}.detach()' for name in names)}" if names else ""


def graph_freed(node: Any, backward: Any) -> Note:
    by = f" They were freed by the backward {at(backward.site)}." if backward is not None else ""
    same = backward is not None and record.is_same(backward.site, record.site())
    carried = (" It is the same line: something from an earlier turn of the loop (a state that is carried over, or a part "
               "computed once before the loop) is still in this graph." if same else "")
    detach = _carried_over(node.site) or "h = h.detach()"
    return "graph-freed", (
        f"why: this backward reached {type(node).__name__}, made {at(node.site)}, a second time, and its saved values are gone: "
        f"freed.{by}{carried} Fix: if a state is carried over from an earlier step, detach() it there ({detach}; of a tuple "
        "such as an LSTM's state each tensor); otherwise compute that part again for each backward, or add the losses together "
        "and call backward once. retain_graph=True on the first backward is the last resort, and no remedy for a carried state: "
        "memory and time grow with each step."), (
            node.site, None if backward is None else backward.site)


def inplace_saved(node: Any, written_at: Site | None) -> Note:
    makers = [end_of(edge) for edge in node.edges]
    names = " and ".join(dict.fromkeys(f"{type(m).__name__} {at(m.site)}" for m in makers if is_node(m)))
    origin = f" Its inputs come from {names}." if names else ""
    steps = ".step(" in expression_at(written_at)
    detach = _carried_over(node.site) if steps else ""
    fix = (f"an earlier turn of the loop is still in this graph, through what it hands on to the next: cut it before the next "
           f"forward, {detach} (of a tuple each tensor). An optimizer's step() changes the parameters in place, so a backward "
           "through an earlier turn must fail; retain_graph=True does not help." if detach else
           "an optimizer's step() changes the parameters in place: call all backward()s that need the old values before it, or "
           "compute the forward again after it; retain_graph=True does not help." if steps else
           "use the out-of-place version there (x = x + 1 instead of x += 1), or clone() before writing.")
    return "inplace-saved-tensor", (
        f"why: {type(node).__name__}, made {at(node.site)}, saved this value for its derivative; it was modified in place "
        f"(overwritten) {at(written_at)}.{origin} Fix: {fix}"), (written_at, node.site)


def gradient_shape(given: tuple[int, ...], shape: tuple[int, ...]) -> Note:
    return "gradient-shape-mismatch", (
        f"why: the gradient handed over {at(record.site())} has shape {list(given)}, but it is never broadcast: it must have "
        f"exactly the shape {list(shape)} of the tensor that backward() is called on. Fix: pass a gradient of shape "
        f"{list(shape)}, such as torch.ones_like of that tensor."), (record.site(),)


def leaf_inplace(view: bool) -> Note:
    what = "a view of a leaf" if view else "a leaf"
    return "leaf-inplace", (
        f"why: {what} that requires grad was about to be changed in place {at(record.site())} while gradients are recorded; its "
        "gradient would have no meaning. Fix: wrap an update in `with torch.no_grad():`; `w = w - lr * w.grad` is often advised, "
        "but makes w a non-leaf without .grad, and .data hides the change from autograd."), (record.site(),)


def unused_input(index: int, t: Any) -> Note:
    return "unused-in-loss", (
        f"why: no operation leads from input {index} to the outputs {at(record.site())}, so there is no gradient: the loss does "
        "not depend on it, it is unused. Fix: check that this tensor itself (not a copy or a detached version) was used; "
        "allow_unused=True gives None for it."), (record.site(), _made(t))


def optimize_non_leaf(t: Any) -> Note:
    made = _made(t)
    here = locate(made)
    subject = f" ({subject_of(here)})" if subject_of(here) else ""
    return "leaf-replaced", (
        f"why: this tensor{subject} is not a leaf but the result of an operation, computed {at(made)}: the leaf it was made from "
        "is another object, and an optimizer can only update leaves. Fix: create it in its final form (dtype, device, scale) and "
        "then call requires_grad_(), or give the optimizer the leaf."), (made,)


def empty_parameter_list() -> Note:
    return "not-in-optimizer", (
        f"why: the optimizer was given no parameters at all {at(record.site())}: a module registers nn.Parameter and submodules "
        "that are its attributes, not plain tensors and not what stands in a Python list or dict; and a generator such as "
        "model.parameters() can be used only once. Fix: use nn.Parameter, nn.ModuleList or nn.ParameterList, and call "
        "model.parameters() anew."), (record.site(),)


def numpy_of_tracked(t: Any) -> Note:
    made = _made(t)
    return "value-copied-out", (
        f"why: NumPy, asked for {at(record.site())}, cannot carry gradients, and this tensor, computed {at(made)}, is part of a "
        "graph: what numpy() gives would lose its history silently. Fix: for plotting or printing call tensor.detach().numpy(); "
        "where the gradient is needed, use torch functions instead of NumPy's."), (record.site(), made)


def integers_require_grad(dtype: Any = None) -> Note:
    of = "" if dtype is None else f" ({dtype})"
    return "never-required-grad", (
        f"why: an integer (or bool) tensor{of} cannot require grad {at(record.site())}: a derivative needs values that can "
        "change by small steps, floating point or complex ones. Fix: create it from floats (1.0 instead of 1), with "
        "dtype=torch.float32, or call .float() first and requires_grad_() last."), (record.site(),)


def flag_of_non_leaf(t: Any, value: bool) -> Note:
    made = _made(t)
    advice = ("it requires grad already, because what it was computed from does" if value else
              "to use its value without gradients, write detach(); to freeze a layer, switch off its parameters")
    return "non-leaf-requires-grad", (
        f"why: this tensor is not a leaf: it was computed {at(made)}, and whether it requires grad follows from what it was "
        f"computed from. Fix: {advice}."), (record.site(), made)


def deepcopy_non_leaf(t: Any) -> Note:
    made = _made(t)
    return "deepcopy-nonleaf", (
        f"why: the object to be copied holds a tensor with history (not a leaf), computed {at(made)}: a graph cannot be copied. "
        "Often a module has stored an activation on itself. Fix: store it detached (self.last = out.detach()), or delete it "
        "before copying."), (made, record.program_site())


def custom_without_backward(node: Any) -> Note:
    name = function_of(node).__name__
    applied = node.site
    return "custom-backward", (
        f"why: {name} was applied {at(applied)}, but has no backward: the pass back cannot go through it. Fix: define a static "
        "backward(ctx, *grad_outputs) that returns one gradient for each argument of forward."), (applied, record.site())


def once_differentiable(site: Site | None) -> Note:
    return "custom-backward", (
        f"why: the backward of that function, run {at(site)}, is marked @once_differentiable: it computes a gradient, but not "
        "one that can be differentiated again. Fix: write its backward with differentiable tensor operations and drop the mark, "
        "or do not ask for a second derivative."), (site,)


def hook_returned(hook: Any) -> Note:
    code = getattr(hook, "__code__", None)
    defined = None if code is None else (code, 0)
    return "hook-modified", (
        f"why: the hook `{getattr(hook, '__name__', type(hook).__name__)}`, defined {at(defined)} and called by the backward "
        f"{at(record.site())}, gave back something that cannot take the place of the gradient it was given: it must return None, "
        "or a tensor of the same shape and dtype. Fix: return nothing from a hook that only looks."), (defined, record.site())


def inference_tensor(origin: Site | None) -> Note:
    entered = f" (entered {at(origin)})" if origin is not None else ""
    return "grad-mode-off", (
        f"why: {at(record.site())} uses a tensor that was made in inference mode{entered}: it has no version counter, so "
        "autograd cannot save it, and it can never take part in training. Fix: compute it under torch.no_grad() instead of "
        "torch.inference_mode(), or clone() it outside."), (origin, record.site())


def forbidden_view(t: Any) -> Note:
    made = _made(t)
    return "view-inplace", (
        f"why: the tensor that is changed in place {at(record.site())} is a view, made {at(made)}, whose history an in-place "
        "change cannot be added to. Fix: write out of place (x = x * 2), or clone() the view first."), (record.site(), made)


def without_derivative(node: Any) -> Note:
    return "non-differentiable-op", (
        f"why: {type(node).__name__}, made {at(node.site)}, has no derivative in PyTorch: it can be computed, but backward() "
        "cannot go through it. Fix: use a differentiable operation in its place, or detach() its argument if no gradient is "
        "needed there."), (
            node.site,)


def assigned_gradient(t: Any) -> Note:
    return "gradient-shape-mismatch", (
        f"why: a .grad must have the shape, dtype and device of its tensor, here {list(shape_of(t))} and {t.dtype}; it is "
        f"assigned {at(record.site())}. Fix: convert or reshape the value, or assign None to clear the "
        "gradient."), (record.site(),)


def complex_root(t: Any) -> Note:
    made = _made(t)
    return "non-scalar-backward", (
        f"why: the tensor, computed {at(made)}, is not real: there is no obvious gradient to start from. Fix: reduce it to one "
        "real number (.abs(), .real), or pass gradient=."), (made,)
