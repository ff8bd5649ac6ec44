"""Mechanical changes of the source that mend what an answer explains.

An answer names places; the syntax tree says what stands there; a *mender* (one for each category) says how it is changed.
A mender gives its changes in the order of their likelihood: the first is the `edit` of the answer, and `whygrad fix` tries
them until one has the effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whygrad.why.answers import Edit, Explanation
from whygrad.why.edits import cuts, leaves, passes, values, writes
from whygrad.why.edits.case import Case
from whygrad.why.edits.changes import Changes

MENDERS: dict[str, Callable[[Case], Iterator[Changes]]] = {
    "non-leaf-no-retain": leaves.retain,
    "never-required-grad": leaves.ask,
    "frozen": leaves.unfreeze,
    "stale-grad-after-freeze": leaves.clear_when_freezing,
    "leaf-replaced": leaves.keep_the_leaf,
    "detach": cuts.undetach,
    "value-copied-out": cuts.stay_in_tensors,
    "grad-mode-off": cuts.record_again,
    "non-differentiable-op": cuts.surrogate,
    "parameter-rewrapped": cuts.unwrap,
    "loss-requires-grad-patch": cuts.without_the_patch,
    "grad-accumulated": passes.clear_before,
    "grad-cleared": passes.clear_earlier,
    "graph-freed": passes.separate_passes,
    "non-scalar-backward": passes.reduce,
    "gradient-shape-mismatch": passes.fitting_gradient,
    "no-create-graph": passes.record_the_backward,
    "unused-in-loss": passes.allow_unused,
    "leaf-inplace": writes.without_recording,
    "inplace-saved-tensor": writes.out_of_place,
    "silent-data-edit": writes.update_after_backward,
    "view-inplace": writes.view_on_a_clone,
    "not-in-optimizer": values.hold,
    "broadcast-loss": values.same_shape,
    "nan-derivative": values.safe_input,
    "zero-local-derivative": values.with_a_slope,
    "zero-factor": values.with_a_slope,
    "custom-backward": values.complete_backward,
    "hook-modified": values.without_the_hook,
    "missing-detach": values.detach_target,
    "step-missing": passes.step,
    "no-backward": passes.differentiate,
    "returned-not-stored": passes.store,
    "clip-misplaced": passes.clip_before_step,
    "non-leaf-requires-grad": leaves.detach_instead,
    "deepcopy-nonleaf": leaves.store_detached,
    "checkpoint-no-grad-input": values.not_reentrant,
}


def edits_for(told: Explanation) -> list[Edit]:
    """The edits that may mend what is explained, the likeliest first; none if it cannot be done mechanically."""
    mender = MENDERS.get(told.category)
    found: list[Edit] = []
    for changes in mender(Case(told)) if mender is not None else ():
        edit = changes.edit()
        if edit is not None and edit not in found:
            found.append(edit)
    return found
