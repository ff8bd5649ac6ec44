"""Signs: does each step make smaller what is to become smaller? Divergences, errors, policy gradients, adversaries."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, ModuleCall, of_outermost, tensors_of
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, causes_of, is_grad_enabled, is_node, is_tensor, shape_of, size_of, source_of
from whygrad.why.gradient_flow import leaves_from
from whygrad.why.locations import SourceLocation, locate
from whygrad.why.program_text import lines_matching, parse_expression, statement_of, targets_of
from whygrad.why.record import Site, alive_behind
from whygrad.why.run_facts import drop_oldest

MIN_ROUNDS, MIN_LIVE = 4, 3
MAX_SITES, MAX_WAITING, MAX_SIZE = 256, 256, 4_000_000
MIN_ELEMENTS = 4
# Names of quantities that cannot be negative, and that are never made larger on purpose.
DISTANCES = re.compile(r"(^|[._])(kld?|mse|mae|l1|l2|penalty)(_(loss|div|divergence|term|penalty|reg))?$", re.IGNORECASE)
ENTROPIES = re.compile(r"(^|[._])ent(ropy)?(_(loss|bonus|term))?$", re.IGNORECASE)
PROBABILITIES = re.compile(r"log_?p|logprob|ratio|surr", re.IGNORECASE)
GAINS = re.compile(r"adv|reward|return|\bret|\bR\b|\bG\b|delta|\btd|gain", re.IGNORECASE)
SUBTRACTIONS = {"sub", "__sub__", "__rsub__", "subtract"}
PRODUCTS = {"mul", "__mul__", "__rmul__"}


class Scalar:
    """What a line computes: how often, how often it was negative, and the signs of its gradients."""

    def __init__(self) -> None:
        self.rounds: set[int] = set()
        self.count = self.negative = 0
        self.gradients: list[float] = []


class Waiting(NamedTuple):
    """A node whose backward has not come yet. `kind` is what it was noted for."""

    kind: str
    site: Site
    about: Any = None


class Signs(Subject):
    checks = {"signs": "what the steps make smaller is what should become smaller"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._scalars: dict[Site, Scalar] = {}
        self._waiting: dict[int, Waiting] = {}
        # By line: rounds, and whether the gradient of each element of the difference (or product) was positive, or the same.
        self._products: dict[Site, dict[int, bool]] = {}
        self._differences: dict[Site, dict[int, bool]] = {}
        # What is differentiated at present.
        self._root: Any = None
        # The difference that was computed last, and by its line the one that reduces it to a number.
        self._last_difference: Site | None = None
        self._reduced: dict[Site, Site] = {}
        # By id of a module that judges what others make: the signs of its output's gradient, with and without their graph.
        self._judged: dict[int, tuple[Any, dict[str, list[tuple[float, Site]]]]] = {}

    def called(self, call: Call) -> None:
        result, name = call.result, call.name.rpartition(".")[2]
        if not is_tensor(result) or not result.requires_grad or not is_node(node := source_of(result)):
            return
        if size_of(result) == 1:
            known = self._scalars.setdefault(call.site, Scalar())
            drop_oldest(self._scalars, MAX_SITES)
            known.rounds.add(self.audit.round)
            known.count += 1
            known.negative += bool(array_of(result).reshape(-1)[0] < 0)
            self._wait(node, Waiting("scalar", call.site))
            if self._last_difference is not None and self._last_difference[0] is call.site[0]:
                self._reduced.setdefault(self._last_difference, call.site)
            self._last_difference = None
        if name in SUBTRACTIONS and size_of(result) >= MIN_ELEMENTS and _has_data(call):
            self._wait(node, Waiting("difference", call.site))
            self._last_difference = call.site
        elif name in PRODUCTS and any(is_tensor(x) and not x.requires_grad for x in call.args):
            self._wait(node, Waiting("product", call.site))

    def _wait(self, node: Any, waiting: Waiting) -> None:
        self._waiting[node.seq] = waiting
        drop_oldest(self._waiting, MAX_WAITING)

    @of_outermost
    def module_called(self, call: ModuleCall) -> None:
        """A module with one output is given what another one has made."""
        output = call.output
        if not is_grad_enabled() or not is_tensor(output) or not is_node(node := source_of(output)):
            return
        if size_of(output) != (shape_of(output) or (1,))[0]:
            return
        own = set(map(id, call.module.parameters()))
        for x in tensors_of(call):
            source = source_of(x) if x.requires_grad else None
            behind = [leaf for leaf in (leaves_from([source]) if source is not None else _behind(x)) if id(leaf) not in own]
            if own and behind and all(getattr(leaf, "requires_grad", False) for leaf in behind):
                kind = "live" if source is not None else "cut off"
                self._wait(node, Waiting("judged", call.site, (call.module, kind)))
                return

    def backward_begun(self, backward: Any, root: Any) -> None:
        self._root = root if self.audit.is_observing and is_node(root) else None

    def backward_done(self, trace: Any) -> None:
        self._root = None

    def node_ran(self, node: Any, g: Any, grads: tuple[Any, ...]) -> None:
        waiting = self._waiting.pop(node.seq, None) if self._waiting else None
        if waiting is None:
            return
        values = np.asarray(array_of(g))
        if not 0 < values.size <= MAX_SIZE or not values.any():
            return
        low, high = float(values.min()), float(values.max())
        if waiting.kind == "scalar":
            known = self._scalars.get(waiting.site)
            if known is not None and len(known.gradients) < MAX_SITES:
                known.gradients.append(low)
        elif waiting.kind == "product":
            self._products.setdefault(waiting.site, {})[self.audit.round] = low >= 0
        elif waiting.kind == "difference":
            is_all = self._root is not None and leaves_from([node]) == leaves_from([self._root])  # else it is one part of a loss
            self._differences.setdefault(waiting.site, {})[self.audit.round] = low == high and is_all
        elif low > 0 or high < 0:
            module, kind = waiting.about
            signs = self._judged.setdefault(id(module), (module, {}))[1].setdefault(kind, [])
            signs.append((low, waiting.site))
            del signs[:-MAX_SITES]

    def was_seen(self, check: str) -> bool:
        return any(known.gradients for known in self._scalars.values())

    def findings(self) -> Iterator[Finding]:
        yield from self._distances()
        yield from self._policy()
        yield from self._errors()
        yield from self._adversaries()

    def _distances(self) -> Iterator[Finding]:
        for site, known in self._scalars.items():
            if len(known.rounds) < MIN_ROUNDS or not known.gradients:
                continue
            if self._has_policy() and (bonus := _bound_to(site, ENTROPIES)) and all(
                    g > 0 for g in known.gradients) and not known.negative:
                yield finding("signs", "loss-negated", "the entropy of the policy is made smaller",
                              f"`{bonus}` {at(site)} enters the loss with a positive factor in each of "
                              f"{count_of(len(known.rounds), 'observed step')}: beside a policy gradient it is a bonus for "
                              "trying, but here the policy is punished for it, and settles on one action early.",
                              "subtract it: loss = policy_loss - beta * entropy.",
                              causes=(*self._sums(site), site), symptom="wrong-value")
            if (name := _bound_to(site, DISTANCES)) is None:
                continue
            if known.negative == known.count and all(g > 0 for g in known.gradients):
                how = (f"`{name}` {at(site)} was negative in each of {count_of(len(known.rounds), 'observed step')}; a "
                       "divergence, distance or penalty never is: its formula has the wrong sign")
            elif known.negative == 0 and all(g < 0 for g in known.gradients):
                how = (f"`{name}` {at(site)} was positive, and entered the loss with a negative factor in each of "
                       f"{count_of(len(known.rounds), 'observed step')}: it is subtracted, not added")
            else:
                continue
            yield finding("signs", "loss-negated", f"the steps make `{name}` larger",
                          f"{how}. Each step of the optimizer makes it larger, without end.", "change the sign.",
                          causes=(site,), symptom="wrong-value")

    def _has_policy(self) -> bool:
        """Whether the probabilities of actions are multiplied by what they have brought."""
        return any(len(rounds) >= MIN_ROUNDS and _sides(site) is not None for site, rounds in self._products.items())

    def _sums(self, site: Site) -> list[SourceLocation]:
        """The lines that use the name that a line binds, behind it."""
        here = locate(site)
        statement = statement_of(here)
        return [] if here is None or statement is None else [
            line for name in targets_of(statement) for line in lines_matching(here.file, rf"[-+*]\s*{re.escape(name)}\b")
            if line.line > here.line][:2]

    def _policy(self) -> Iterator[Finding]:
        for site, rounds in self._products.items():
            sides = _sides(site) if len(rounds) >= MIN_ROUNDS else None
            if sides is None:
                continue
            is_negated = sum(side.startswith("-") for side in sides) % 2
            if (is_negated and not any(rounds.values())) or (not is_negated and all(rounds.values())):
                yield finding("signs", "loss-negated", "the steps make rewarded actions less likely",
                              f"`{sides[0].lstrip('-')}` times `{sides[1].lstrip('-')}` {at(site)} enters the loss with a "
                              f"positive factor in {count_of(len(rounds), 'observed step')}: the optimizer makes the loss "
                              "smaller, so what was rewarded becomes less likely.",
                              "maximise it: loss = -(log_prob * advantage).mean().", causes=(site,), symptom="wrong-value")
                return

    def _errors(self) -> Iterator[Finding]:
        for site, rounds in self._differences.items():
            if len(rounds) >= MIN_ROUNDS and all(rounds.values()):
                yield finding("signs", "loss-unbounded", "the loss is the error itself, with its sign",
                              f"The difference {at(site)} enters the loss with the same factor for every element, in each of "
                              f"{count_of(len(rounds), 'observed step')}: errors of both signs cancel, what is too small by 1 "
                              "makes up for what is too large by 1, and the loss has no lower bound.",
                              "take the square or the absolute value of the difference before the mean (or torch.maximum of "
                              "both sides of a quantile loss).", causes=(site, self._reduced.get(site)), symptom="wrong-value")
                return

    def _adversaries(self) -> Iterator[Finding]:
        for module, signs in self._judged.values():
            live, cut = signs.get("live", []), signs.get("cut off", [])
            if len(live) < MIN_LIVE or len(cut) < MIN_ROUNDS or len({value > 0 for value, _ in (*live, *cut)}) != 1:
                continue
            sites = [live[-1][1], cut[-1][1]]
            yield finding("signs", "loss-negated", "two networks that should compete want the same",
                          f"{type(module).__name__} judges what another network makes. The loss of the one {at(sites[1])} and "
                          f"that of the other {at(sites[0])} both want its output to become "
                          f"{'smaller' if live[-1][0] > 0 else 'larger'}: what is made is trained to be recognized, not to "
                          "deceive.",
                          "let the two losses have opposite signs (or targets) for what is made.",
                          causes=tuple(sites), symptom="wrong-value")
            return


def _sides(site: Site) -> tuple[str, str] | None:
    """The two factors of a policy gradient at a line: the probability of an action, and what it has brought."""
    here = locate(site)
    expression = None if here is None else parse_expression(here.expression)
    if not isinstance(expression, ast.BinOp) or not isinstance(expression.op, ast.Mult):
        return None
    sides = [ast.unparse(expression.left), ast.unparse(expression.right)]
    chances = [side for side in sides if PROBABILITIES.search(side)]
    gains = [side for side in sides if GAINS.search(side) and side not in chances]
    return (chances[0], gains[0]) if len(chances) == len(gains) == 1 else None


def _has_data(call: Call) -> bool:
    """Whether a call has one operand with a gradient, and one of the same shape that nothing trained has made."""
    tensors = [x for x in call.args if is_tensor(x)]
    if len(tensors) != 2 or tensors[0].requires_grad == tensors[1].requires_grad or shape_of(tensors[0]) != shape_of(tensors[1]):
        return False
    return not _behind(next(x for x in tensors if not x.requires_grad))


def _behind(t: Any) -> list[Any]:
    """The leaves from which a tensor was cut off."""
    found = [x for x in alive_behind(causes_of(t)) if x is not None]
    return [*leaves_from([x for x in found if is_node(x)]), *(x for x in found if not is_node(x))]


def _bound_to(site: Site, names_of: re.Pattern[str]) -> str | None:
    """The name that is bound to the very result of a call, if it is one of those."""
    here = locate(site)
    statement = statement_of(here)
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Return)) else None
    expression = None if here is None else parse_expression(here.expression)
    if value is None or expression is None or here is None or ast.unparse(expression) != ast.unparse(value):
        return None
    names = [here.function] if isinstance(statement, ast.Return) else targets_of(statement)
    return next((name for name in names if names_of.search(name)), None)
