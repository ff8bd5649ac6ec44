"""Rules for a gradient that is unwanted, stale, or never applied."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.engine import Tensor, causes_of, is_parameter, notes_of, version_of
from whygrad.why.gradient_flow import leaves_from
from whygrad.why.locations import SourceLocation, locate_all, location_of_line
from whygrad.why.module_owners import Owner, parts_leading_to, unregistered
from whygrad.why.program_text import called_name, statements, targets_of
from whygrad.why.question import Question
from whygrad.why.record import Site
from whygrad.why.rules import Provisional

# Names of networks that are not to be trained.
_CONSTANT = re.compile(r"teacher|target|frozen|ema|old|ref|prior|pretrained|momentum|critic|fixed|extractor|vgg|shadow|baseline",
                       re.IGNORECASE)


def assigned_at(t: Tensor) -> Site | None:
    """The site that assigned `.grad`, if no backward has written it since."""
    log = notes_of(t).grad_log[-1] if notes_of(t).grad_log else None
    if log is None or log[0] != "assigned":
        return None
    reached = notes_of(t).reached_by
    where: Site = log[1]
    return where if reached is None or reached.number <= log[2] else None


def without_requires_grad(q: Question) -> Explanation | None:
    """`.grad` has a value although the tensor does not require grad."""
    if q.t.requires_grad:
        return None
    headline = "requires_grad is False, yet .grad has a value"
    assigned = assigned_at(q.t)
    if assigned is not None:
        return Explanation(
            headline, "grad-assigned",
            f"The value was assigned by hand {at(assigned)}. requires_grad=False only means that backward computes nothing for "
            "this tensor: it neither writes .grad nor clears what is there, so an assigned value stays. A tensor that does not "
            "require grad never collects a gradient by taking part in tracked operations.",
            "set .grad = None to remove it.", locate_all(assigned), symptom="stale")
    reached = notes_of(q.t).reached_by.site if notes_of(q.t).reached_by is not None else None
    switched = notes_of(q.t).switched_at
    frozen = None if switched is None else switched[1]
    return Explanation(
        headline, "stale-grad-after-freeze",
        f"The value is stale: left over from the earlier backward {at(reached)}, when the tensor still required grad. Switching "
        f"requires_grad off {at(frozen)} stops new gradients but does not erase the old one, and an optimizer that holds the "
        "tensor will still apply it.",
        "clear it when you freeze the tensor: set .grad = None, or call zero_grad().", locate_all(frozen, reached),
        symptom="stale")


def frozen_without_effect(q: Question) -> Explanation | None:
    """`module.requires_grad = False`, or a misspelled attribute of a tensor, freezes nothing."""
    noted = None if q.watch is None else q.watch.module_flag_set(q.t)
    if noted is not None and noted[1] is False:
        return Explanation(
            "this tensor was to be frozen, but has a gradient", "frozen",
            f"It is not frozen: assigning requires_grad = False on a Module {at(noted[0])} only sets a Python attribute of the "
            "module, and its parameters still require grad.",
            "call module.requires_grad_(False), which switches all its parameters.", locate_all(noted[0]), symptom="unwanted")
    wrong = next((name for name in q.t.__dict__ if re.fullmatch(r"requires?_?grads?(ient)?s?", name)), None)
    if wrong is None:
        return None
    line = _line_assigning(q, wrong)
    return Explanation(
        "this tensor was to be frozen, but has a gradient", "frozen",
        f"It is not frozen: `{wrong}` is not an attribute that PyTorch knows, so assigning it changed nothing; requires_grad is "
        "still True.", f"write requires_grad instead of {wrong}.", [] if line is None else [line], symptom="unwanted")


def mode_not_entered(q: Question) -> Explanation | None:
    """`torch.no_grad()` as a statement creates a context manager that is never entered."""
    for statement in statements(q.read.file) if q.read is not None else ():
        call = statement.value if isinstance(statement, ast.Expr) else None
        name = called_name(call) if isinstance(call, ast.Call) else ""
        if name in ("no_grad", "inference_mode") and q.read is not None and statement.lineno < q.read.line:
            return Explanation(
                "gradients are recorded, although the program seems to switch that off", "grad-mode-off",
                f"Line {statement.lineno} calls {name}() and does nothing with what it gives: a mode is in force only inside a "
                f"`with` block (or in a function that it decorates), so gradient recording stayed on.",
                f"write `with torch.{name}():` and put the computation inside the block, or call torch.set_grad_enabled(False).",
                [location_of_line(q.read.file, statement.lineno)], symptom="unwanted")
    return None


def _line_assigning(q: Question, attribute: str) -> SourceLocation | None:
    for statement in statements(q.read.file) if q.read is not None else ():
        if any(name.endswith(f".{attribute}") for name in targets_of(statement)):
            assert q.read is not None
            return location_of_line(q.read.file, statement.lineno)
    return None


def missing_detach(q: Question) -> Provisional | None:
    """A network that is not trained by this backward received a gradient: its output was not detached."""
    trace = q.trace
    count = 0 if trace is None else q.watch.count_optimizers()
    if trace is None or not trace.stores or not count:
        return None
    holders = q.watch.holders(q.t)
    if count < 2 if holders else not _is_untrained_network(q, q.owner):
        return None
    used = trace.consumers(q.t)
    if not used:
        return None
    behind = leaves_from(used)
    site = used[-1].site
    meeting = _meeting_point(q, behind | q.watch.held_together_with(q.t) | _parameters_of(q.owner))
    sites = (meeting, site) if holders else (site, meeting)
    ledger = q.ledger
    explanation = Explanation(
        "this gradient is unwanted: what is trained here does not need it", "missing-detach",
        f"{q.label_start} took part {at(site)} in the loss of the backward {at(trace.backward.site)}, and nothing was detached, "
        f"so the gradient flows into it as well, although {'another optimizer' if holders else 'no optimizer'} is to train it: "
        "for this step its output is a constant. eval() does not stop gradients.",
        "detach its output before it enters this loss (output.detach()), or compute it inside with torch.no_grad().",
        locate_all(*sites, trace.backward.site), symptom="unwanted")
    number, leaves = trace.backward.number, set(trace.leaves)

    def only_others_stepped() -> bool:
        """True if the optimizer that stepped after that backward trains only leaves that are not behind this tensor's ops."""
        if ledger is not None and number in ledger.applied_backwards:
            return False
        for held in q.watch.parameters_stepped_after(number):
            reached = held & leaves
            if reached and q.t not in held and not reached & behind:
                return True
        return False

    return Provisional(explanation, only_others_stepped)


def _parameters_of(owner: Owner | None) -> set[Any]:
    return set() if owner is None else set(owner.module.parameters())


def _meeting_point(q: Question, own: set[Any]) -> Site | None:
    """The site where values computed from the tensor meet the trained parameters: there it should have been detached."""
    for step in reversed(q.steps):
        others = [edge for edge in step.edges if edge is not None and edge not in q.on_path]
        if step.node in q.on_path and others and not leaves_from(others) <= own:
            site: Site = step.node.site
            return site
    return None


def _is_untrained_network(q: Question, owner: Owner | None) -> bool:
    """True for a network in no optimizer that looks like a teacher, a target network or a moving average."""
    if owner is None or not owner.registered:
        return False
    alone = next(((name, part) for name, part in parts_leading_to(owner)
                  if not any(q.watch.holders(p) for p in part.parameters())), None)
    if alone is None:
        return False
    name, part = alone
    copied = part in q.watch.loaded or any(cause.kind == "parameter-rewrapped" for cause in causes_of(q.t))
    return copied or not part.training or bool(_CONSTANT.search(name))


def not_in_optimizer(q: Question) -> Provisional | None:
    """The gradient is fine, but the tensor is in no optimizer."""
    if q.watch is None or not q.watch.count_optimizers() or notes_of(q.t).reached_by is None or q.watch.holders(q.t):
        return None
    if not _is_to_be_learned(q):
        return None
    t, version = q.t, notes_of(q.t).watched_version
    sites = q.watch.optimizer_sites(q.trace)
    explanation = not_in_optimizer_explanation(q.owner, sites, q.label)

    def never_updated() -> bool:
        begun = 0 if q.ledger is None else q.ledger.first_backward
        # Without a later step the gradient is only read.
        return bool(q.watch.steps_since(begun)) and not q.watch.holders(t) and version_of(t).value <= version

    return Provisional(explanation, never_updated)


def _is_to_be_learned(q: Question) -> bool:
    """True for a Parameter, a tensor attribute of a module, or a plain tensor if an optimizer holds other plain tensors."""
    if is_parameter(q.t) or (q.owner is not None and not q.owner.registered):
        return True
    ledger = q.ledger
    return bool(notes_of(q.t).switched_at is None and ledger is not None and q.watch.holds_plain_tensors()
                and ledger.deposit_count > 1)


def not_in_optimizer_explanation(owner: Owner | None, sites: Sequence[Site | None], it: str) -> Explanation:
    reason, fix = ("It was made or replaced after the optimizer, or the optimizer was given other parameters",
                   ("build the optimizer last, from all parameters that are to be trained (model.parameters()), or add this one "
                   "with optimizer.add_param_group"))
    found: list[SourceLocation] = []
    if owner is not None and not owner.registered:
        attribute = re.split(r"[.\[]", owner.path.removeprefix(f"{owner.name}."))[0]
        container = owner.module.__dict__.get(attribute)
        kind, better = (("a plain Python dict", "nn.ModuleDict (nn.ParameterDict)") if isinstance(container, dict) else
                        ("a plain Python list", "nn.ModuleList (nn.ParameterList)") if isinstance(container, (list, tuple)) else
                        ("a plain tensor attribute", "nn.Parameter"))
        reason = (f"It is not registered: `{attribute}` is {kind} of the module, and {owner.name}.parameters() does not see what "
                  "is in there")
        fix = f"hold it in {better}, so that parameters() and therefore the optimizer see it"
        found = _attribute_line(owner, attribute)
    what = "them" if it.startswith("the parameters") else "it"
    where = f"the one made {at(sites[0])} was never given {what}" if sites else f"none was given {what}"
    return Explanation("this tensor has a gradient, but nothing updates it", "not-in-optimizer",
                       f"No optimizer holds {it}: {where}. {reason}.", f"{fix}.", locate_all(*sites) + found, symptom="no-update")


def _attribute_line(owner: Owner, attribute: str) -> list[SourceLocation]:
    """The line of the class that assigns `self.<attribute>`."""
    code: Any = getattr(type(owner.module).__init__, "__code__", None)
    for statement in statements(code.co_filename) if code is not None else ():
        if f"self.{attribute}" in targets_of(statement) and statement.lineno >= code.co_firstlineno:
            return [location_of_line(code.co_filename, statement.lineno)]
    return []


def unregistered_of(module: Any) -> dict[int, str]:
    """id -> path of the tensors in a module that `parameters()` does not find."""
    known = {id(p) for p in module.parameters()}
    return {id(t): path for path, t in unregistered(module) if id(t) not in known}
