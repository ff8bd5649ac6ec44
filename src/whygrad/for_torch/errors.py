"""torch's own errors, told apart by their text, with the note that why/error_notes.py has for each."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from torch import Tensor

from whygrad.for_torch.lean import ring
from whygrad.for_torch.nodes import Node, source_of
from whygrad.for_torch.tensor_facts import causes_of
from whygrad.why import error_notes, late_notes
from whygrad.why.gradient_flow import leaves_from


def tell(watch: Any, error: BaseException, note: str, *about: Any) -> None:
    if late_notes.has_note(error):
        return
    try:
        category, text, sites = getattr(error_notes, note)(*about)
        late_notes.keep(error, text)
    except Exception as failure:
        watch.failed_in(note, failure)
        return
    watch.error(error, category, text.removeprefix("why: "), sites)


def explain_backward(watch: Any, error: Exception, running: Any, outputs: Any, inputs: Any) -> None:
    """backward() or autograd.grad() has raised. `running` is the backward.Pass, or None if it did not begin."""
    text = str(error)
    at: Node | None = None if running is None else running.backward.at
    # In the order in which they run: the latest first.
    known = [] if running is None else [node for node in running.nodes if node.fn is not None]
    nodes: list[Node] = sorted(known, key=lambda node: -node.fn._sequence_nr())
    if "does not require grad and does not have a grad_fn" in text:
        tell(watch, error, "no_grad_fn", next((t for t in outputs if not t.requires_grad), outputs[0]))
    elif "backward through the graph a second time" in text or "saved tensors after they have already been freed" in text:
        node = at if at is not None and at.freed is not None else next((n for n in nodes if n.freed is not None), at)
        node = node or next((n for n in nodes if n.fn is not None and n.is_freed()), None)
        if node is not None:
            tell(watch, error, "graph_freed", node, node.freed)
    elif "modified by an inplace operation" in text:
        stale = _stale(at, nodes)
        if stale is not None:
            tell(watch, error, "inplace_saved", stale, _writer(stale, text))
    elif "appears to not have been used in the graph" in text or "Set allow_unused=True" in text:
        reached = leaves_from([source_of(t) for t in outputs if isinstance(t, Tensor)])
        unused = next(((i, t) for i, t in enumerate(inputs) if not any(t is leaf for leaf in reached)), None)
        if unused is not None:
            tell(watch, error, "unused_input", *unused)
    elif "One of the differentiated Tensors does not require grad" in text:
        tell(watch, error, "does_not_require_grad", next((t for t in inputs if not t.requires_grad), inputs[0]))
    elif m := re.search(r"[Ff]unction (\w+) (returned an? (?:invalid|incorrect|gradient different).*)", text):
        node = next((n for n in nodes if type(n).__name__ == m[1]), at)
        if node is not None:
            tell(watch, error, "custom_returns", node, m[2].partition("\n")[0])
    elif "You must implement either the backward or vjp method" in text and at is not None:
        tell(watch, error, "custom_without_backward", at)
    elif "returned nan values in its" in text and running is not None and running.latest is not None:  # anomaly mode
        tell(watch, error, "anomaly", running.latest, running.infinite or running.latest)
    elif "derivative for" in text and "is not implemented" in text and at is not None:
        tell(watch, error, "without_derivative", at)


def explain_reduction(watch: Any, error: Exception, wrapper: Any, parameters: list[Any] | None) -> None:
    """DistributedDataParallel begins a forward, and its last averaging has not ended. `parameters` are those that it counts: that
    required grad when it was made, which may have changed since."""
    said = re.search(r"did not receive grad for rank \d+: ([\d ]+)", str(error))
    if "Expected to have finished reduction" not in str(error) or said is None:
        return
    names = {id(p): name for name, p in wrapper.module.named_parameters()}
    trained = [(names.get(id(p), ""), p) for p in parameters or ()]
    left_out = [trained[int(i)] for i in said[1].split() if int(i) < len(trained)]
    if left_out:
        tell(watch, error, "reduction_unfinished", wrapper.module, left_out)


def _stale(at: Node | None, nodes: list[Node]) -> Node | None:
    """The node whose saved value was written since: torch says so again if it is asked for that value."""
    for node in nodes if at is None else [at, *[n for n in nodes if n is not at]]:
        for name in node.readable():
            try:
                getattr(node.fn, f"_saved_{name}")
            except RuntimeError as error:
                if "modified by an inplace operation" in str(error):
                    return node
    return at


def _writer(node: Node, text: str) -> Any:
    """Where the value was written: from the versions when the op ran, or from what was written since (see lean.py)."""
    known = next((version.site for version, value, _ in node.operands if version.value > value and version.site), None)
    said = re.search(r"Tensor \[([\d, ]*)\]\].* is at version (\d+)", text)
    if known is not None or said is None or node.fn is None:
        return known
    return ring.writer(node.fn._sequence_nr(), tuple([int(x) for x in said[1].split(",") if x.strip()]), int(said[2]))


def _shapes(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    found = [tuple([int(x) for x in sizes.split(",") if x.strip()])
             for sizes in re.findall(r"torch\.Size\(\[([\d, ]*)\]\)", text)]
    return (*found, (), ())[:2]  # type: ignore[return-value]


def _entered_inference(tensors: list[Tensor]) -> Any:
    causes = [cause for t in tensors for cause in causes_of(t)]
    return next((cause.origin or cause.site for cause in causes if cause.kind == "grad-mode-off"),
                next((cause.site for cause in causes), None))


# A part of torch's text -> the note, and what it is about, from (tensors among the arguments, all arguments, text).
Arguments = Callable[[list[Any], Any, str], tuple[Any, ...]]


def _first(tensors: list[Any], args: Any, text: str) -> tuple[Any, ...]:
    return (tensors[0] if tensors else None,)


CALLS: list[tuple[str, str, Arguments]] = [
    ("implicitly created only for scalar outputs", "non_scalar_backward", _first),
    ("can be implicitly created only for real scalar", "complex_root", _first),
    ("leaf Variable that requires grad is being used in an in-place", "leaf_inplace",
     lambda t, a, text: ("view of a leaf" in text,)),
    ("leaf variable has been moved", "leaf_inplace", lambda t, a, text: (False,)),
    ("Mismatch in shape", "gradient_shape", lambda t, a, text: _shapes(text)),
    ("call numpy() on Tensor that requires grad", "numpy_of_tracked", _first),
    ("can only change requires_grad flags of leaf", "flag_of_non_leaf",
     lambda t, a, text: (t[0], bool(a[1]) if len(a) > 1 else True)),
    ("can require gradients", "integers_require_grad", lambda t, a, text: (t[0].dtype if t else None,)),
    ("Only Tensors created explicitly by the user", "deepcopy_non_leaf", _first),
    ("Inference tensors cannot be saved for backward", "inference_tensor", lambda t, a, text: (_entered_inference(t),)),
    ("is a view and is being modified inplace", "forbidden_view", _first),
    ("is a view and its base or another view of its base has been modified", "forbidden_view", _first),
    ("on a tensor that doesn't require gradient", "does_not_require_grad", _first),
    ("can't retain_grad on Tensor", "does_not_require_grad", _first),
    ("assigned grad has data of a different", "assigned_gradient", _first),
]


def explain_call(watch: Any, error: Exception, args: Any) -> None:
    """A function of torch has raised."""
    if late_notes.has_note(error):
        return
    text = str(error)
    for part, note, about in CALLS:
        if part in text:
            tensors = [x for a in args for x in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(x, Tensor)]
            tell(watch, error, note, *about(tensors, args, text))
            return
