"""Gradient scale: do gradients vanish or explode between the layers of a model?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

from whygrad.why.audit.finding import Finding, finding
from whygrad.why.audit.series import Series
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.values import norm
from whygrad.why.causes import at
from whygrad.why.engine import causes_of, is_parameter, shape_of, size_of
from whygrad.why.far_array import is_array
from whygrad.why.gradient_flow import is_pass_through, row_name
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

# The ratio of two layers' gradients, per element, from which on the smaller one cannot learn beside the larger.
RATIO = 1e6
# Norm of a model's gradients that no rate or clipping can make useful.
HUGE = 1e6
MIN_ROUNDS = 3
MAX_SITES = 4096


class Factor(NamedTuple):
    """How much the ops of one line have scaled the gradients: the sum of the logarithms, and their number."""

    name: str
    site: Site
    log: float
    number: int


class GradientScale(Subject):
    checks = {
        "vanishing": "gradients do not vanish between layers",
        "exploding": "gradients do not explode between layers",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # By id of a weight: the weight, and the root mean square of its gradients.
        self._scales: dict[int, tuple[Any, Series]] = {}
        # How much the ops of each line scaled the gradient that passed them.
        self._factors: dict[tuple[str, Site], Factor] = {}

    def deposited(self, leaf: Any, backward: Any, gradient: Any) -> None:
        if not self.audit.is_observing or len(shape_of(leaf)) < 2 or not is_parameter(leaf):
            return
        series = self._scales.setdefault(id(leaf), (leaf, Series()))[1]
        series.add(self.audit.round, norm(gradient) / math.sqrt(max(size_of(leaf), 1)))

    def node_ran(self, node: Any, g: Any, grads: tuple[Any, ...]) -> None:
        if not is_array(g) or not node.visible or is_pass_through(node) or g.size < 2:
            return
        arrays = [x for x in grads if is_array(x)]
        # Of a layer's gradients that of its input, which has a row for each of g's; not those of weight and bias.
        passed = next((x for x in arrays if x.ndim == g.ndim and x.shape[:1] == g.shape[:1]), arrays[0] if arrays else None)
        if passed is None:
            return
        before, after = norm(g), norm(passed)
        if before > 0 and after > 0 and math.isfinite(before) and math.isfinite(after):
            key = row_name(node), node.site
            log, count = math.log10(after / before), 1
            known = self._factors.get(key)
            if known is not None:
                log, count = known.log + log, known.number + 1
            self._factors[key] = Factor(*key, log, count)
            drop_oldest(self._factors, MAX_SITES)

    def was_seen(self, check: str) -> bool:
        return len(self._scales) > 1

    def findings(self) -> Iterator[Finding]:
        for root in list(self.audit.modules.roots.values()):
            layers = self._layers(root)
            if len(layers) >= 2:
                yield from self._judge(layers)

    def _layers(self, root: Any) -> list[tuple[str, float]]:
        """(name, typical scale of the gradients) of the weights of a model, in its order."""
        found = []
        for name, p in root.named_parameters():
            known = self._scales.get(id(p))
            values = [] if known is None or known[0] is not p else [v for v in known[1].values if v > 0 and math.isfinite(v)]
            if len(values) >= MIN_ROUNDS:
                found.append((name, median(values)))
        return found

    def _judge(self, layers: list[tuple[str, float]]) -> Iterator[Finding]:
        low, (last, high) = layers[0][1], layers[-1]
        smallest, largest = min(layers, key=_scale), max(layers, key=_scale)
        if largest[1] / smallest[1] > RATIO and layers.index(smallest) < layers.index(largest):
            low_name = smallest[0]
            worst = min(self._factors.values(), key=lambda factor: factor.log, default=None)
            affected = [name for name, scale in layers if scale * RATIO < largest[1]]
            yield finding(
                "vanishing", "vanishing-gradient", "gradients vanish on their way to the first layers",
                f"The gradients of `{low_name}` ({smallest[1]:.1e} per element) are {largest[1] / smallest[1]:.0e} times smaller "
                f"than those of `{largest[0]}` ({largest[1]:.1e}): with one learning rate for both, the earlier layers do not "
                "learn." + _blame(worst, "shrinks"),
                "use an activation that does not saturate (ReLU, GELU), residual connections or normalisation, and an "
                "initialisation that keeps the scale; for long sequences, gates or truncation.",
                causes=_sites(worst, self._made_at(low_name, layers)), parameters=affected)
        elif high > 0 and (low / high > RATIO or largest[1] > HUGE) and layers.index(largest) < len(layers) - 1:
            worst = max(self._factors.values(), key=lambda factor: factor.log, default=None)
            yield finding(
                "exploding", "exploding-gradient", "gradients explode on their way to the first layers",
                f"The gradients of `{largest[0]}` ({largest[1]:.1e} per element) are {largest[1] / high:.0e} times larger "
                f"than those of `{last}` ({high:.1e})." + _blame(worst, "multiplies"),
                "scale the initialisation down (or use the default one), normalise between layers, or use residual connections; "
                "clipping only hides it.", causes=_sites(worst, self._made_at(largest[0], layers)), parameters=[largest[0]],
                symptom="wrong-value")

    def _made_at(self, name: str, layers: list[tuple[str, float]]) -> list[Site]:
        """The lines that made and last initialised the weights between which the scale changes."""
        for root in list(self.audit.modules.roots.values()):
            found = dict(root.named_parameters()).get(name)
            if found is not None:
                return [cause.site for cause in causes_of(found) if cause.site is not None]
        return []


def _scale(layer: tuple[str, float]) -> float:
    return layer[1]


def _blame(worst: Factor | None, does: str) -> str:
    if worst is None or abs(worst.log) < 1:
        return ""
    return (f" Most of it happens in {worst.name} {at(worst.site)}: it {does} the gradient, by "
            f"1e{worst.log / worst.number:+.1f} each time.")


def _sites(worst: Factor | None, made: list[Site]) -> tuple[Site, ...]:
    return tuple(made) if worst is None else (worst.site, *made)
