"""Clipping: how much of the gradient survives it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Clip
from whygrad.why.audit.series import Series
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, grad_of
from whygrad.why.record import Site

# The share of the gradient that must survive, and a limit that is never meant to cut off more.
MIN_SHARE, USUAL_LIMIT = 1e-3, 0.01
# A norm beyond which the gradients are the problem, not the clipping.
EXPLODED = 1e4
MIN_CLIPS = 3


class Clipping(Subject):
    every_round = frozenset({"clipped"})
    checks = {"clip": "clipping leaves something of the gradients"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # By line: the last clip, the shares that survived and the norms before.
        self._clips: dict[Site, tuple[Clip, Series, Series]] = {}
        # How often each line clipped no gradient at all, for want of parameters.
        self._empty: dict[Site, int] = {}

    def clipped(self, clip: Clip) -> None:
        if clip.site not in self._clips and len(self._clips) > 64:
            return
        if not clip.parameters:
            self._empty[clip.site] = self._empty.get(clip.site, 0) + 1
        _, shares, norms = self._clips.get(clip.site, (clip, Series(), Series()))
        if clip.norm is not None:
            if clip.norm > 0:
                shares.add(self.audit.round, min(1.0, clip.limit / clip.norm))
                norms.add(self.audit.round, clip.norm)
        elif self.audit.is_observing:
            shares.add(self.audit.round, 0.0 if _all_at_limit(clip) else 1.0)
        self._clips[clip.site] = clip._replace(parameters=[]), shares, norms

    def was_seen(self, check: str) -> bool:
        return bool(self._clips)

    def findings(self) -> Iterator[Finding]:
        for site, count in self._empty.items():
            if count >= MIN_CLIPS:
                yield finding("clip", "clip-misplaced", "this clipping has no effect",
                              f"The gradients to be clipped {at(site)} were those of no parameter at all, "
                              f"{count_of(count, 'time')}: a generator such as model.parameters() can be used only once, and is "
                              "empty afterwards.",
                              "make a list of the parameters, or call model.parameters() anew each time.", causes=(site,))
        for clip, shares, norms in self._clips.values():
            values = shares.values
            if len(values) < MIN_CLIPS or median(values) > MIN_SHARE or clip.limit > USUAL_LIMIT:
                continue
            typical = median(norms.values) if norms.count else 0.0
            if typical > EXPLODED:
                continue
            what = (f"their norm is {typical:.2g} before and at most {clip.limit:g} after, so "
                    f"{median(values):.0e} of them is left"
                    if clip.norm is not None else f"nearly every element is cut down to {clip.limit:g}")
            yield finding("clip", "clip-too-tight", "clipping leaves almost nothing of the gradients",
                          f"{clip.function} {at(clip.site)} clipped the gradients in {count_of(shares.count, 'step')}: "
                          f"{what}. The steps are too small to learn from.",
                          "raise the limit (max_norm=1.0 is usual; it should only cut off outliers).", causes=(clip.site,))


def _all_at_limit(clip: Clip) -> bool:
    arrays = [array_of(grad_of(p)) for p in clip.parameters if grad_of(p) is not None]
    at_limit = sum(int(np.count_nonzero(np.abs(a) >= clip.limit * 0.999)) for a in arrays)
    there = sum(int(np.count_nonzero(a)) for a in arrays)
    return there > 0 and at_limit > 0.9 * there
