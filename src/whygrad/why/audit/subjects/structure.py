"""Structure: is the model built of what the program means? Repeated modules, parameters made anew, equal units, broken ties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.values import same, sample
from whygrad.why.causes import at
from whygrad.why.engine import array_of, causes_of, is_parameter, notes_of, shape_of, size_of
from whygrad.why.locations import locate
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest, ledger_of

MIN_STEPS = 4
MAX_SITES = 256
# Parameters of a line that come and go from which on it makes them in every step.
MIN_MADE = 3


class Structure(Subject):
    checks = {
        "modules-differ": "modules that are repeated are modules of their own",
        "parameters-stay": "parameters are made once, and trained",
        "units-differ": "units start with different weights",
        "ties": "tied weights stay tied",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # Parameters that got their first gradient and are in no optimizer, by the line that made them: the rounds, the shape of
        # one, and whether it was made from the values of another.
        self._passing: dict[Site, tuple[set[int], Any, bool]] = {}
        # Weights whose rows were all equal at the first step; pairs of parameters with equal values then.
        self._symmetric: list[Any] = []
        self._twins: list[tuple[Any, Any]] = []

    def deposited(self, leaf: Any, backward: Any, gradient: Any) -> None:
        if not is_parameter(leaf) or (notes_of(leaf).reached_by is not None):
            return
        if any(id(leaf) in record.held_ids for record in self.audit.optimizers.values()):
            return
        site = next((cause.site for cause in causes_of(leaf) if cause.site is not None), None)
        if site is not None:
            rounds, _, _ = self._passing.get(site, (set(), None, False))
            rounds.add(self.audit.round)
            wrapped = any(cause.kind == "parameter-rewrapped" for cause in causes_of(leaf))
            self._passing[site] = rounds, shape_of(leaf), wrapped
            drop_oldest(self._passing, MAX_SITES)

    def before_step(self, record: OptimizerRecord) -> None:
        if record.steps:
            return
        held = [p for p in record.parameters if len(shape_of(p)) >= 2 and size_of(p) >= 8]
        self._symmetric += [p for p in held if p.requires_grad and _has_equal_rows(p)]
        known = [(p, sample(p)) for p in held if np.ptp(array_of(p))]
        for i, (p, values) in enumerate(known):
            for q, others in known[i + 1:]:
                if p is not q and size_of(p) == size_of(q) and _are_copies(p, q, values, others):
                    self._twins.append((p, q))
        del self._symmetric[256:], self._twins[256:]

    def after_step(self, record: OptimizerRecord) -> None:
        if self.audit.is_observing and self._symmetric:
            self._symmetric = [p for p in self._symmetric if id(p) not in record.held_ids or _has_equal_units(p)]

    def was_seen(self, check: str) -> bool:
        return any(record.steps >= MIN_STEPS for record in self.audit.optimizers.values())

    def findings(self) -> Iterator[Finding]:
        if not self.was_seen(""):
            return
        yield from self._repeated()
        yield from self._made_anew()
        yield from self._equal_units()
        yield from self._broken_ties()

    def _repeated(self) -> Iterator[Finding]:
        """The same module several times in one container: `[Block()] * n`."""
        reported = set()
        for root in list(self.audit.modules.roots.values()):
            for path, container in root.named_modules():
                children = [child for child in container._modules.values() if child is not None]
                if type(container).__name__ not in ("ModuleList", "Sequential", "ModuleDict") or len(children) < 2:
                    continue
                again = [child for child in children if children.count(child) > 1 and any(True for _ in child.parameters())]
                if not again or id(again[0]) in reported:
                    continue
                child = again[0]
                reported.add(id(child))
                times = children.count(child)
                yield finding("modules-differ", "module-repeated", "one module is used where several are meant",
                              f"`{path or type(container).__name__}` has {len(children)} entries, but {times} of them are "
                              f"the same {type(child).__name__} object, made {at(self.audit.modules.made_at(child))}: they "
                              "share one set of weights, and the model is smaller than it looks.",
                              f"make one for each: [{type(child).__name__}(...) for _ in range({times})] instead of [...] * "
                              f"{times}.",
                              causes=(self.audit.modules.made_at(container), self.audit.modules.made_at(child)),
                              symptom="wrong-value")

    def _made_anew(self) -> Iterator[Finding]:
        for site, (rounds, shape, wrapped) in self._passing.items():
            here, count = locate(site), len(rounds)
            if count < MIN_MADE or here is None or here.function == "<module>":
                continue
            if wrapped:
                yield finding("parameters-stay", "leaf-replaced", "a parameter is replaced by a new one again and again",
                              f"nn.Parameter {at(site)} made a new parameter of shape {tuple(shape)} in "
                              f"{count_of(count, 'step')}, from the values of the old one: the optimizer still holds the "
                              "old one, and updates what the model no longer uses.",
                              "change the values in place (with torch.no_grad(): p.copy_(...)), so that the parameter stays "
                              "the same object.",
                              causes=(site,))
                continue
            yield finding("parameters-stay", "parameter-in-forward", "parameters are made anew in every step",
                          f"{count_of(count, 'parameter')} of shape {tuple(shape)} were made {at(site)}, in "
                          f"{here.function}, each used once and then thrown away: a parameter (or layer) made in forward "
                          "starts from new random values in every step, no optimizer holds it, and it is never trained.",
                          "make the layer or nn.Parameter once, in __init__, and use it in forward.", causes=(site,))

    def _equal_units(self) -> Iterator[Finding]:
        still = [p for p in self._symmetric if ledger_of(p) is not None]
        if not still:
            return
        names = [self.audit.name_of(p) or f"a tensor of shape {tuple(p.shape)}" for p in still]
        written = [ledger_of(p).written_at or next((c.site for c in causes_of(p)), None) for p in still]  # type: ignore[union-attr]
        zero = not array_of(still[0]).any()
        sites = list(dict.fromkeys(site for site in written if site is not None))
        yield finding("units-differ", "init-symmetric", "all units of a layer have the same weights, and keep them",
                      f"The weights of {listed(names)} were initialised with one constant{' (zero)' if zero else ''} "
                      f"{at(sites[0]) if sites else ''}: all units of such a layer compute the same, get the same gradient "
                      "and stay identical"
                      + (" (and zeros let no gradient through)" if zero else "") + ". The layer works as if it had one unit.",
                      "use a random initialisation (the default one, or nn.init.kaiming_uniform_, xavier_uniform_).",
                      causes=tuple(sites[:3]), parameters=names)

    def _broken_ties(self) -> Iterator[Finding]:
        for module, name, other, own, site in self.audit.modules.broken_ties:
            p, q = module._parameters.get(name), other._parameters.get(own)
            if p is None or q is None or p is q:
                continue
            names = [self.audit.name_of(x) for x in (q, p)]
            if all(names):
                yield finding("ties", "weights-untied", "tied weights were untied",
                              f"`{names[0]}` and `{names[1]}` were one parameter (tied) until the module was replaced "
                              f"{at(site)}: the new one has a parameter of its own, and the two are trained apart.",
                              "tie them again after the replacement, or copy values into the existing parameter (with "
                              "torch.no_grad(): p.copy_(...)).",
                              causes=(site,), parameters=names, symptom="wrong-value")
        for p, q in self._twins:
            ours, theirs = self.audit.modules.owner(p), self.audit.modules.owner(q)
            if ours is None or theirs is None or ours[0] is not theirs[0] or _have_equal_values(p, q):
                continue
            kinds = [type(list(self.audit.modules.modules_around(x))[-1]).__name__ for x in (p, q)]
            is_transposed = shape_of(p) != shape_of(q)
            if kinds[0] == kinds[1] and not is_transposed:
                continue  # layers that were copied from one prototype
            sites = [site for x in (q, p) for site in _copied_at(x)]
            yield finding("ties", "weights-untied", "weights that began as copies of each other drift apart",
                          f"`{ours[1]}` and `{theirs[1]}` had the same values at the first "
                          f"step{' (one is the transpose of the other)' if is_transposed else ''}, and not any more: they "
                          "are two parameters, one was made as a copy of the other. A copy is not tied: each is trained "
                          "for itself.",
                          "tie them by using one parameter in both places (decoder.weight = encoder.weight), without clone() "
                          "or a new nn.Parameter.",
                          causes=tuple(dict.fromkeys(sites))[:3], parameters=[ours[1], theirs[1]], symptom="wrong-value")


def _has_equal_rows(p: Any) -> bool:
    """Whether all units of a layer (rows of its weight) have the same weights."""
    values = array_of(p)
    if values.ndim < 2 or values.shape[0] < 2:
        return False
    rows = values.reshape(values.shape[0], -1)
    return bool((rows == rows[:1]).all())


def _has_equal_units(p: Any) -> bool:
    """The same after some steps: the gates of a recurrent layer, which lie in one weight, may differ from each other."""
    values = array_of(p)
    rows = values.reshape(values.shape[0], -1)
    gates = 4 if rows.shape[0] % 4 == 0 and rows.shape[0] > 4 else 1
    return all(np.allclose(part, part[:1], rtol=1e-4, atol=1e-7) for part in np.split(rows, gates))


def _are_copies(p: Any, q: Any, values: np.ndarray, others: np.ndarray) -> bool:
    if shape_of(p) == shape_of(q):
        return same(values, others)
    return _have_equal_values(p, q)


def _have_equal_values(p: Any, q: Any) -> bool:
    a, b = array_of(p), array_of(q)
    if a.shape == b.shape:
        return bool(np.array_equal(a, b))
    return a.ndim == 2 and a.shape == b.T.shape and bool(np.array_equal(a, b.T))


def _copied_at(p: Any) -> list[Site]:
    """The lines that made or overwrote a parameter before training."""
    ledger = ledger_of(p)
    sites = [] if ledger is None or ledger.written_at is None else [ledger.written_at]
    return sites + [cause.site for cause in causes_of(p) if cause.site is not None]
