"""Rules for a leaf that requires grad and has none: cleared, cut off from the loss, or not used by it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from whygrad.why import engine, record
from whygrad.why.answers import Explanation
from whygrad.why.causes import CauseText, at, describe_cause
from whygrad.why.dataflow import flows_into
from whygrad.why.gradient_flow import leaves_from
from whygrad.why.locations import locate, locate_all
from whygrad.why.program_text import dotted_names, parse_expression
from whygrad.why.question import Question
from whygrad.why.record import Cause, Causes
from whygrad.why.rules import Provisional, Verdict
from whygrad.why.rules.custom import called_directly, return_places
from whygrad.why.rules.untracked import copied_out_explanation, copies_of, copy_flowing_into
from whygrad.why.run_facts import ledger_of

# Further cuts of one path that are named.
MAX_FURTHER = 3
HEADLINE = "this leaf requires grad, but its .grad is None"


def cleared(q: Question) -> Explanation | None:
    """The gradient was cleared after the last backward."""
    log = _last_clear(q)
    last = _last_storing_backward(q)
    if log is None or (last is not None and last.number > log[2]):
        return None
    return _cleared(q, log)


def cleared_earlier(q: Question) -> Verdict | None:
    """The gradient was cleared, and then a backward of a loss ran that does not use this leaf."""
    log, last = _last_clear(q), _last_storing_backward(q)
    if log is None or (last is not None and last.site == engine.notes_of(q.t).reached_by.site):
        return None
    return unless_reached_later(q, _cleared(q, log))


def _last_clear(q: Question) -> Any:
    log = engine.notes_of(q.t).grad_log[-1] if engine.notes_of(q.t).grad_log else None
    return log if engine.notes_of(q.t).reached_by is not None and log is not None and log[0] == "cleared" else None


def _cleared(q: Question, log: Any) -> Explanation:
    here = locate(log[1])
    by_zero_grad = here is None or "zero_grad" in here.source_line
    how = "zero_grad() sets .grad to None (set_to_none=True is its default)" if by_zero_grad else "there .grad was set to None"
    order = ": zero_grad(), forward, backward(), step(), in this order" if by_zero_grad else ""
    return Explanation(
        HEADLINE, "grad-cleared",
        f"backward {at(engine.notes_of(q.t).reached_by.site)} did fill it, then it was cleared {at(log[1])}: {how}.",
        f"read or apply the gradient (optimizer.step()) before it is cleared{order}.", locate_all(log[1]))


def _last_storing_backward(q: Question) -> Any:
    trace = q.storing_trace()
    return engine.last_backward() if q.watch is None else None if trace is None else trace.backward


def raised(q: Question) -> Explanation | None:
    """The backward that should have reached it raised."""
    last = q.storing_trace()
    failed = None if last is None else q.watch.failed.get(last.backward.number)
    if last is None or failed is None or q.t not in leaves_from([last.root]):
        return None
    return Explanation(HEADLINE, failed.category, f"backward {at(last.backward.site)} ended with an error before it came here. "
                       f"{failed.text}", failed.fix, list(failed.causes))


def no_backward(q: Question) -> Explanation | None:
    """No backward() ran, or only autograd.grad() of graphs without this leaf."""
    stored = q.watch is None or q.loss is not None or q.storing_trace() is not None
    if q.roots() and (stored or any(q.t in leaves_from([root]) for root, _ in q.roots())):
        return None
    if q.watch is None and not engine.current.records_always:
        return _unseen_backward()
    return Explanation(HEADLINE, "no-backward", "No backward() has reached it: none ran, or its graph is gone.",
                       "call loss.backward() first; pass loss=... to explain() if you mean a particular loss.")


def _unseen_backward() -> Explanation:
    """Nothing is recorded at present: the last backward that is known need not be the last one."""
    return Explanation(HEADLINE, "not-seen", "No backward() was seen that could have reached it: none ran, or nothing was "
                       "recorded when it ran, or its graph is gone.",
                       "start recording before the forward and the backward; pass loss=... to explain() if the loss is still "
                       "there.")


def before_backward(q: Question) -> Explanation:
    """The program uses a gradient before the first backward: `w.grad.zero_()` at the top of the first iteration."""
    return Explanation(
        "AttributeError: .grad is still None here", "no-backward",
        f"No backward() has run yet, so {q.label} has no gradient: .grad is None until the first backward() fills it, and None "
        "has no attributes.",
        "call loss.backward() first; to clear at the top of a loop, ask before (if w.grad is not None: w.grad.zero_()), write "
        "w.grad = None, or use optimizer.zero_grad(), which asks itself.", [] if q.read is None else [q.read], symptom="error")


def not_stored(q: Question) -> Explanation | None:
    """autograd.grad() returns gradients; backward(inputs=...) writes only those of its inputs."""
    latest = next(iter(q.watch.traces_latest_first()), None) if q.watch is not None and q.loss is None else None
    if latest is None or (latest.stores and not latest.only) or q.t not in leaves_from([latest.root]):
        return None
    asked = latest.backward.site
    if not latest.stores:
        return Explanation(
            HEADLINE, "returned-not-stored",
            f"The gradients were computed {at(asked)}, and torch.autograd.grad() returns them: it never writes .grad.",
            "use the tensors that autograd.grad() returns, or call loss.backward() if you want .grad.", locate_all(asked))
    return Explanation(
        HEADLINE, "returned-not-stored", f"backward was called {at(asked)} with inputs=..., and writes .grad of these tensors "
                                         "only.",
        f"add {q.name or 'it'} to inputs=, or leave inputs= out.", locate_all(asked))


def returned_none(q: Question) -> Explanation | None:
    """A custom backward returned None for the argument that leads to this leaf."""
    latest = next(iter(q.watch.traces_latest_first()), None) if q.watch is not None else None
    for step in latest.steps if latest is not None else ():
        silent = [edge for edge, left in zip(step.edges, step.outgoing, strict=False) if left == "none" and edge is not None]
        if not silent or step.incoming == "none" or not (q.t in silent or q.t in leaves_from(silent)):
            continue
        name = type(step.node).__name__.removesuffix("Backward")
        return Explanation(
            HEADLINE, "custom-backward",
            f"{name}, applied {at(step.node.site)}, leads to it, but its backward returned None for this argument (a function "
            "without a return statement returns None), so nothing goes further back.",
            f"return one gradient for each argument of {name}.forward; check it with torch.autograd.gradcheck.",
            locate_all(step.node.site) + return_places(step.node))
    return None


def switched_on_late(q: Question) -> Explanation | None:
    """requires_grad was switched on after the forward had used the tensor."""
    switched = engine.notes_of(q.t).switched_at
    if switched is None or not switched[0]:
        return None
    for root, _ in q.roots():
        for node in _breadth_first(root):
            for causes in node.cuts or ():
                old = next((cause for cause in causes if cause in engine.causes_of(q.t)), None)
                if old is None:
                    continue
                category = "frozen" if old.kind == "frozen" else "never-required-grad"
                before = f" It had been frozen {at(old.site)}." if old.kind == "frozen" else ""
                return Explanation(
                    HEADLINE, category,
                    f"requires_grad was switched on {at(switched[1])}, after the forward {at(node.site)} had used it while it "
                    f"did not require grad: the forward recorded nothing for it.{before}",
                    "call requires_grad_() before the forward, and compute the loss again.",
                    locate_all(switched[1], old.site if old.kind == "frozen" else None, node.site))
    return None


def patched_loss(q: Question) -> Explanation | None:
    """The loss has no history, and the program set requires_grad on it."""
    return next((patched(root) for root, _ in q.roots()[:1] if engine.is_tensor(root) and root is not q.t), None)


def patched(root: engine.Tensor) -> Explanation | None:
    """The explanation for a loss that is a leaf because the program set requires_grad on it."""
    if engine.notes_of(root).switched_at is None:
        return None
    real = [cause for cause in engine.causes_of(root) if cause.kind not in ("created", "frozen")
            and describe_cause(cause) is not None]
    if real:
        return _patched(root, describe_cause(real[0]), [cause.site for cause in real], "the loss")
    for cause in engine.causes_of(root):
        copy = copy_flowing_into(record.watching, locate(cause.site))
        if copy is not None:
            return _patched(root, copied_out_explanation(copy, "", "", []), [copy.site, cause.site], "the loss")
    return None


def patched_value(q: Question) -> Explanation | None:
    """The program set requires_grad on a value without history between the leaf and the loss."""
    for root, _ in q.roots():
        for node in _breadth_first(root):
            for leaf in map(engine.end_of, node.edges):
                if not engine.is_tensor(leaf) or engine.notes_of(leaf).switched_at is None or leaf is q.t:
                    continue
                real = [cause for cause in engine.causes_of(leaf) if cause.kind not in ("created", "detach", "frozen")
                        and describe_cause(cause) is not None and _is_behind(cause, q.t)]
                if real:
                    sites = [cause.site for cause in real]
                    return _patched(leaf, describe_cause(real[0]), sites, "a value on the way to the loss")
    return None


def _patched(leaf: engine.Tensor, cut: CauseText | Explanation | None, sites: list[Any], what: str) -> Explanation:
    switched = engine.notes_of(leaf).switched_at
    assert switched is not None
    assert cut is not None
    return Explanation(
        "backward() ran, but this parameter received no gradient", "loss-requires-grad-patch",
        f"{what.capitalize()} had no history, and requires_grad was switched on by hand {at(switched[1])}. That silences the "
        f"error, but makes {what} a leaf of its own, and does not connect it to the parameters: `loss.requires_grad = True` is "
        f"popular advice, and wrong. The real cut is elsewhere: {cut.text}",
        f"remove that line, and mend the cut: {cut.fix}", locate_all(switched[1], *sites))


def unless_reached_later(q: Question, answer: Explanation) -> Verdict:
    """Provisional: a later backward may still reach the leaf (a generator's, after the discriminator's)."""
    if q.watch is None or q.watch.live:
        return answer
    t, before = q.t, 0 if q.ledger is None else q.ledger.deposit_count

    def never_came() -> bool:
        ledger = ledger_of(t)
        return ledger is None or ledger.deposit_count == before

    return Provisional(answer, never_came)


def cut(q: Question) -> Verdict | None:
    """The path from the leaf to the loss is cut: by detach, no_grad, an op without derivative ..."""
    for root, _ in q.roots():
        found = _cut_leading_to(root, q.t)
        if found is None:
            continue
        cause, path, further = found
        direct = called_directly(cause.site, "none") if cause.kind in ("non-differentiable-op", "detach") else None
        if direct is not None:
            return direct
        answer = describe_cause(cause, "A value was")
        assert answer is not None
        text, fix = f"The way from {q.label} to the loss is cut. {answer.text}", answer.fix
        if engine.is_tensor(root):
            text += " backward() starts at this copy: requires_grad=True makes it a leaf of its own, and connects it to nothing."
            fix = f"call backward() on the loss as it was computed, and leave out that line; {fix}"
        others = [other.site for other in further if other.site != cause.site]
        if others:
            text += f" It is cut {at(others[0])} as well."
        causes = locate_all(cause.site, cause.origin, *others)
        return unless_reached_later(q, Explanation(HEADLINE, answer.category, text, fix, causes, path))
    return None


def copied_out(q: Question) -> Explanation | None:
    """Its value was used in the loss as a plain number, which only the program's text shows."""
    for _, backward in q.roots()[:1]:
        called = None if backward is None else locate(backward.site)
        node = None if called is None else parse_expression(called.expression)
        if called is None or node is None:
            continue
        used = dotted_names(node) - {"torch", "torch.autograd", "torch.autograd.grad"}
        for copy in copies_of(q.t, q.watch):
            taken = locate(copy.site)
            if taken is not None and taken.file == called.file and flows_into(taken.file, taken.line, used):
                return copied_out_explanation(copy, HEADLINE, "none", [])
    return None


def not_seen(q: Question) -> Verdict | None:
    """A part of the graph was made while nothing, or nothing but lines, was recorded: it may be cut there."""
    if q.watch is None and q.loss is None and not engine.current.records_always:
        return _unseen_backward()
    for root, backward in q.roots()[:1]:
        if any(not engine.was_seen(node) or any(not cause.is_followed for causes in node.cuts or () for cause in causes)
               for node in _breadth_first(root)):
            where = "" if backward is None else f" {at(backward.site)}"
            return unless_reached_later(q, Explanation(
                HEADLINE, "not-seen",
                f"The loss that was differentiated{where} has no way to {q.label}, but a part of its graph was not seen: it was "
                "made while nothing was recorded. A detach(), a no_grad() or a copied value there would cut it off; or the loss "
                "does not use it.",
                "record the forward as well: start recording before it, and run it again.",
                locate_all(None if backward is None else backward.site)))
    return None


def not_traced(q: Question) -> Explanation | None:
    """The latest backward ran in a round that was not recorded: what is known of gradients is older."""
    last = engine.last_backward()
    if q.watch is None or q.loss is not None or last is None or engine.current.records_always:
        return None
    if q.watch.trace_of(last) is not None:
        return None
    q.watch.audit.arm()
    has = "this tensor has a gradient" if engine.grad_of(q.t) is not None else "this tensor has no gradient"
    return Explanation(has, "not-seen", f"The latest backward, {at(last.site)}, was not recorded in full: in a long run that is "
                       "done in the first steps and now and then, so where its gradients came from was not seen.",
                       "ask again after the next step, which is recorded in full.", locate_all(last.site), symptom="ok")


def unused(q: Question) -> Verdict | None:
    roots = q.roots()
    if not roots:
        return None
    root, backward = roots[0]
    where = f" {at(backward.site)}" if backward is not None else ""
    return unless_reached_later(q, Explanation(
        HEADLINE, "unused-in-loss",
        f"No operation leads from {q.label} to the loss that was differentiated{where}: the loss does not depend on it (it is "
        "unused, not part of this graph), so backward never reaches it.",
        "use it in the computation of the loss, or leave it out.",
        locate_all(root.site if engine.is_node(root) else None, None if backward is None else backward.site)))


def _is_behind(cause: Cause, t: engine.Tensor) -> bool:
    return any(_leads_to(reference(), t, set()) for reference in cause.behind)


def _cut_leading_to(root: Any, t: engine.Tensor) -> tuple[Cause, list[str], list[Cause]] | None:
    """The cut nearest to `root` that has `t` behind it, the ops between the cut and the root, and further such cuts."""
    predecessors: dict[Any, Any] = {}
    seen: set[Any] = set()

    def leading(causes: Causes) -> Cause | None:
        return next((cause for cause in causes if cause.kind != "frozen" and describe_cause(cause) is not None
                     and any(_leads_to(reference(), t, seen) for reference in cause.behind)), None)

    if engine.is_tensor(root):  # torch.tensor(loss, requires_grad=True)
        cause = leading(engine.causes_of(root))
        return None if cause is None else (cause, [], [])
    found: tuple[Cause, list[str], list[Cause]] | None = None
    for node in _breadth_first(root, predecessors):
        # A leaf made from values copied out of the graph is a cut as well.
        leaves = [(*engine.causes_of(leaf), *_data_replacement_causes(leaf)) for leaf in map(engine.end_of, node.edges)
                  if engine.is_tensor(leaf) and leaf is not t]
        for causes in (*(node.cuts or ()), *leaves):
            cause = leading(causes)
            if cause is not None and found is None:
                found = cause, _path_to_root(node, predecessors), []
            elif cause is not None and found is not None and len(found[2]) < MAX_FURTHER:
                found[2].append(cause)
    return found


def _data_replacement_causes(leaf: engine.Tensor) -> Causes:
    return () if record.watching is None else record.watching.data_replacement_causes(leaf)


def _leads_to(target: Any, t: engine.Tensor, seen: set[Any]) -> bool:
    """True if `target` is `t` or a live node that leads to it. `seen` are nodes known not to."""
    pending = [target]
    while pending:
        target = engine.end_of(pending.pop())
        if target is t:
            return True
        if engine.is_node(target) and target not in seen:
            seen.add(target)
            pending.extend(target.edges)
    return False


def _path_to_root(node: engine.Node, predecessors: dict[Any, Any]) -> list[str]:
    """The names of the nodes from `node` to the root."""
    path: list[str] = []
    step: engine.Node | None = node
    while step is not None:
        if step.visible:
            path.append(type(step).__name__)
        step = predecessors[step]
    return path


def _breadth_first(root: Any, predecessors: dict[Any, Any] | None = None) -> Iterator[engine.Node]:
    """The nodes behind the root, breadth first; `came_from` gets the predecessor of each."""
    predecessors = {} if predecessors is None else predecessors
    if engine.is_node(root):
        predecessors[root] = None
    queue = deque(predecessors)
    while queue:
        node = queue.popleft()
        yield node
        for end in map(engine.end_of, node.edges):
            if engine.is_node(end) and end not in predecessors:
                predecessors[end] = node
                queue.append(end)
