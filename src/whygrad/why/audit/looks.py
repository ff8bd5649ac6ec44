"""Looks: further questions to a model that is run again, which `subjects/dependence.py` asks: its place, and its arguments."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whygrad.why.audit.finding import Finding, finding
from whygrad.why.audit.rerun import Example, Rerun, Result, aligned, differ
from whygrad.why.causes import at
from whygrad.why.record import Site

# A prediction depends on its place if it changes by this share of the largest one.
MOVED = 0.05
# What has no influence changes results by no more than this share.
NOTHING = 1e-6
# Calls by which what comes first in a batch may be served first (experts with a capacity).
ORDERED = {"cumsum", "argsort", "sort", "topk"}


def place_matters(rerun: Rerun, straight: Example, turned: Example, size: int) -> Iterator[Finding]:
    """`turned` has the samples in reverse order: the predictions must be those of `straight`, in reverse order."""
    base, other = rerun.run(straight), rerun.run(turned)
    if not base or not other or base[-1].array.shape != other[-1].array.shape or base[-1].array.shape.count(size) != 1:
        return
    if any(result.name in ORDERED for result in base) or not _is_elsewhere(base[-1].array, other[-1].array, size):
        return
    if rerun.draws(straight):
        return  # its random numbers have places in the batch
    lines = next(([a.site] for a, b in aligned(base, other) if a.is_real and _is_elsewhere(a.array, b.array, size)), [])
    yield finding("rows-apart", "wrong-dim", "a prediction depends on the sample's place in the batch",
                  f"{type(straight.module).__name__}, called {at(straight.site)}, was run again with the samples of a batch in "
                  "the reverse order, and gave other predictions for them. The samples stand in a random order, so their place "
                  f"says nothing.{_told(lines)}",
                  "what belongs to places in a sequence (positions, a bias, a mask) must run along the dimension of "
                  "the sequence, not along that of the samples, which is dimension 0.",
                  causes=(*lines, straight.site), symptom="wrong-value")


def _is_elsewhere(a: np.ndarray, b: np.ndarray, size: int) -> bool:
    """Whether two results differ when the rows of the second are put back; False where no axis is that of the samples."""
    axes = [i for i, length in enumerate(a.shape) if length == size]
    return len(axes) == 1 and a.shape == b.shape and differ(np.flip(a, axes[0]), b, MOVED)


def ignored_arguments(rerun: Rerun, example: Example) -> Iterator[Finding]:
    """Give each sample another one's second argument (a time, a class, a condition): some result must change."""
    arrays = example.arrays()
    for i, given in enumerate(arrays):
        changed = np.roll(given, 1, axis=0) if i and given.ndim and len(given) > 1 else given
        if i == 0 or (changed == given).all():
            continue
        lines: list[Site] = []
        for training in (False, True):
            base = rerun.run(example, training)
            other = rerun.run(example.changed([*arrays[:i], changed, *arrays[i + 1:]]), training)
            if not base or not other or _has_influence(base, other):
                break
            lines = lines or _last_that_differs(base, other)
        else:
            yield finding("inputs-count", "input-ignored", "an argument of the model has no influence",
                          f"{type(example.module).__name__}, called {at(example.site)}, was run again with its argument number "
                          f"{i + 1} taken from other samples of the batch: nothing that it returns has changed, for any sample."
                          f"{_told(lines)}",
                          "look at what is computed from it: rounding or an integer division may make it constant.",
                          causes=(*lines, example.site), symptom="wrong-value")
            return


def sees_its_target(rerun: Rerun, example: Example, place: int) -> Iterator[Finding]:
    """An argument that is the target as well (for teacher forcing): a prediction must not depend on its own target."""
    arrays = example.arrays()
    given = arrays[place]
    changed = given.copy()
    changed[:, -1] = np.roll(given[:, -1], 1)
    base, other = rerun.run(example), rerun.run(example.changed([*arrays[:place], changed, *arrays[place + 1:]]))
    length = given.shape[1]
    if (changed == given).all() or not base or not other or base[-1].array.ndim < 3 or base[-1].array.shape[1] != length:
        return
    if differ(base[-1].array[:, -1], other[-1].array[:, -1], NOTHING):
        yield finding("sees-past-only", "target-equals-input", "every prediction sees what it is to predict",
                      f"Argument number {place + 1} of {type(example.module).__name__} {at(example.site)} is the target itself. "
                      "Run again with another value at the last place, it gave another prediction for the last place: each "
                      "prediction depends on its own target, and the model learns to copy.",
                      "give the decoder the targets one place late: a start token, and all targets but the last.",
                      causes=(example.site,), symptom="wrong-value")


def _has_influence(base: list[Result], other: list[Result]) -> bool:
    ours, theirs = ([r for r in results if r.name in ("", "output")] for results in (base, other))
    return len(ours) != len(theirs) or any(differ(a.array, b.array, NOTHING) for a, b in zip(ours, theirs, strict=True))


def _last_that_differs(base: list[Result], other: list[Result]) -> list[Site]:
    """The line of the last call whose result still differs, and of the one after it; of the first call if none does."""
    pairs = list(aligned(base, other))
    last = max((i for i, (a, b) in enumerate(pairs) if differ(a.array, b.array, NOTHING)), default=-1)
    return list(dict.fromkeys(a.site for a, _ in pairs[max(last, 0):last + 2]))


def _told(lines: list[Site]) -> str:
    return f" The first result that shows it is made {at(lines[0])}." if lines else ""
