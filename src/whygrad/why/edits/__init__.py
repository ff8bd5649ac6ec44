"""Edits of the source that may fix what an answer explains.

A fixer (one for each category) gets the AST nodes at the answer's locations and yields changes, the likeliest first. The
first is the `edit` of the answer; `whygrad fix` tries them in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whygrad.why.answers import Edit, Explanation
from whygrad.why.edits import backward_calls, cuts, inplace_writes, leaves, optimizer_parameters, values
from whygrad.why.edits.changes import Changes
from whygrad.why.edits.fix_context import FixContext

FIXERS: dict[str, Callable[[FixContext], Iterator[Changes]]] = {
    "non-leaf-no-retain": leaves.retain_grad,
    "never-required-grad": leaves.require_grad,
    "frozen": leaves.unfreeze,
    "stale-grad-after-freeze": leaves.clear_when_freezing,
    "leaf-replaced": leaves.keep_leaf,
    "detach": cuts.drop_detach,
    "value-copied-out": cuts.stay_in_tensors,
    "grad-mode-off": cuts.enable_recording,
    "non-differentiable-op": cuts.use_surrogate,
    "parameter-rewrapped": cuts.unwrap_parameter,
    "loss-requires-grad-patch": cuts.remove_requires_grad_patch,
    "grad-accumulated": backward_calls.clear_before_backward,
    "grad-cleared": backward_calls.move_clearing_before_backward,
    "graph-freed": backward_calls.separate_passes,
    "non-scalar-backward": backward_calls.reduce_loss,
    "gradient-shape-mismatch": backward_calls.match_gradient_shape,
    "no-create-graph": backward_calls.pass_create_graph,
    "unused-in-loss": backward_calls.allow_unused,
    "leaf-inplace": inplace_writes.wrap_in_no_grad,
    "inplace-saved-tensor": inplace_writes.write_out_of_place,
    "silent-data-edit": inplace_writes.update_after_backward,
    "view-inplace": inplace_writes.clone_view,
    "not-in-optimizer": optimizer_parameters.give_to_optimizer,
    "broadcast-loss": values.match_shapes,
    "nan-derivative": values.guard_input,
    "zero-local-derivative": values.replace_flat_op,
    "zero-factor": values.replace_flat_op,
    "custom-backward": values.complete_backward,
    "hook-modified": values.remove_hook,
    "missing-detach": values.detach_target,
    "step-missing": backward_calls.step,
    "no-backward": backward_calls.add_backward,
    "returned-not-stored": backward_calls.store_returned_grads,
    "clip-misplaced": backward_calls.clip_before_step,
    "non-leaf-requires-grad": leaves.detach_instead,
    "deepcopy-nonleaf": leaves.store_detached,
    "checkpoint-no-grad-input": values.use_non_reentrant_checkpoint,
}


def edits_for(explanation: Explanation) -> list[Edit]:
    """The edits that may fix what is explained, the likeliest first; empty if there is no mechanical change."""
    fixer = FIXERS.get(explanation.category)
    found: list[Edit] = []
    for changes in fixer(FixContext(explanation)) if fixer is not None else ():
        edit = changes.edit()
        if edit is not None and edit not in found:
            found.append(edit)
    return found
