"""Constants: values that are computed from parameters or drawn at random must not be the same in every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, tensors_of
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.curvature import ADDING
from whygrad.why.audit.values import checksum
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_grad_enabled, is_near, is_node, is_tensor, kind_of, size_of, source_of
from whygrad.why.locations import expression_at
from whygrad.why.record import Site

MIN_SIZE, MIN_ROUNDS, MAX_SITES = 8, 6, 4096
DRAWING = {"randn", "rand", "randn_like", "rand_like", "normal", "normal_", "uniform_", "bernoulli", "bernoulli_", "randperm",
           "randint", "multinomial", "exponential_"}
# Findings that say where a constant comes from.
PARTICULAR = {"masked-all", "dropout-all", "zero-factor", "wrong-dim", "zero-local-derivative", "saturated", "output-constant",
              "loss-constant", "init-symmetric", "term-without-influence", "nan-forward", "nan-derivative", "input-degenerate",
              "softmax-before-loss", "data-constant", "learning-rate-zero", "update-too-small", "hook-modified",
              "log-softmax-twice",
              "wrong-loss-input", "diverged", "schedule-wrong"}


class Line:
    """What one call gave in the observed rounds: the number that all elements were, or the checksum of what was drawn."""

    def __init__(self, site: Site, name: str) -> None:
        self.site = site  # holds the code, so that no other has its id
        self.name = name
        self.varies = False
        self.value: float | None = None
        self.rounds: set[int] = set()
        self.optimizers = 0  # that there were at the last one

    def note(self, value: float, number: int) -> None:
        self.varies = self.value is not None and self.value != value
        self.value = value
        self.rounds.add(number)

    @property
    def is_constant(self) -> bool:
        return not self.varies and len(self.rounds) >= MIN_ROUNDS


class Constants(Subject):
    checks = {
        "values-vary": "what is computed from parameters is not the same number in every step",
        "draws-vary": "random numbers differ from step to step",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._computed: dict[tuple[int, int, str], Line] = {}
        self._drawn: dict[tuple[int, int, str], Line] = {}
        self._shapes: set[tuple[int, int, str]] = set()

    def called(self, call: Call) -> None:
        t = call.result
        if not is_tensor(t) or size_of(t) < MIN_SIZE or not is_grad_enabled():
            return
        name = call.name.rpartition(".")[2]
        if t.requires_grad:
            line = self._line(self._computed, call.site, name)
            if line is not None and not line.varies and is_near(t) and is_node(source_of(t)) and kind_of(t) == "f":
                values = array_of(t).reshape(-1)
                line.varies = bool((values != values[0]).any()) or _passes_on(name, call)
                if not line.varies:
                    line.note(float(values[0]), self.audit.round)
        elif name in DRAWING:
            line = self._line(self._drawn, call.site, name)
            if line is not None and not line.varies:
                if line.optimizers != len(self.audit.optimizers):  # another training begins, with the same seed on purpose
                    line.optimizers = len(self.audit.optimizers)
                    line.rounds.clear()
                line.note(checksum(t), self.audit.round)

    def _line(self, known: dict[tuple[int, int, str], Line], site: Site, name: str) -> Line | None:
        key = id(site[0]), site[1], name
        if key not in known and len(known) < MAX_SITES:
            known[key] = Line(site, name)
        return known.get(key)

    def was_seen(self, check: str) -> bool:
        return any(len(line.rounds) >= MIN_ROUNDS or line.varies for line in (*self._computed.values(), *self._drawn.values()))

    def findings(self) -> Iterator[Finding]:
        constant = [line for line in self._computed.values() if line.is_constant]
        for line in constant[:1]:
            sites = list(dict.fromkeys(other.site for other in constant))[:4]
            found = finding("values-vary", "values-constant", f"`{expression_at(line.site) or line.name}` is always "
                                                              f"{line.value:g}",
                            f"{line.name} {at(line.site)} is computed from what is trained, but each of its elements was "
                            f"{line.value:.6g} in {count_of(len(line.rounds), 'observed step')}: it says nothing, and what it "
                            "is computed from learns nothing through it (a value divided by or subtracted from itself, a "
                            "softmax over one element, a bound that is always reached, a product of two factors that begin as "
                            "zeros).",
                            "look at what this line is computed from.", causes=tuple(sites), symptom="zero")
            found.unless = PARTICULAR
            yield found
        for line in self._drawn.values():
            if line.is_constant:
                found = finding("draws-vary", "draws-repeated", "the same random numbers are drawn in every step",
                                f"{line.name} {at(line.site)} gave the same numbers in each of "
                                f"{count_of(len(line.rounds), 'observed step')}: its generator is seeded again before each "
                                "draw, so the model can learn these numbers by heart.",
                                "seed once, before the loop, and keep the generator.", causes=(line.site,), symptom="wrong-value")
                found.unless = {"data-constant", "target-unrelated"}
                yield found


def _passes_on(name: str, call: Call) -> bool:
    """Whether a constant result may come of another one, or still have a derivative: `log_prob - old_log_prob` is 0 at first."""
    given = [x for x in tensors_of(call) if x.requires_grad]
    if len(given) == 1 and name in ADDING:
        return True
    return any(size_of(x) > 1 and is_near(x) and (array_of(x) == array_of(x).reshape(-1)[0]).all() for x in given)
