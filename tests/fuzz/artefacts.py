"""Where torch itself has no definite answer. Such statements are not made, or not compared, for the reason that is given."""

from __future__ import annotations

import re
from typing import Any

import torch

REASONS = {
    "overlap": "reading what is being written: torch's result depends on the order in which it works",
    "integer history": "torch may call an integer tensor one that requires grad after a tracked value was written into it",
    "gelu": "torch's own vectors give NaN for inf in float32 where its scalars give inf",
    "select of a number": "torch's message about a 0-dim tensor shows a size that it does not have, and not always the same",
    "expanded gradient": "torch may hand out an expanded gradient that cannot be written to; ours is always the user's own",
    "inference": "of an inference tensor outside the mode, torch writes before it refuses to, and counts its own inner writes as "
                 "versions of results: no such statement is in the tables",
    "resized": "an `out=` of another shape is resized inside its storage, which its views show, and before some functions "
               "refuse it: then the program ends",
    "inner views": "tensordot and einsum give views of their inner results, whose strides and nodes show: not in the tables",
    "bits": "view(dtype) shows the bits of a NaN, whose sign is not the same on both sides: not in the tables",
    "hook of a view": "torch 2.13 crashes in register_hook of a view whose base was written, unless its grad_fn was looked at "
                      "before: it is, after every statement",
    "jumps": "sign, remainder, floor or a comparison of what is 0 but for rounding: the tables compare with numbers beside 0; "
             "integers of what is one but for rounding",
    "booleans": "torch's derivative of logaddexp subtracts booleans, which it refuses",
    "mixed kinds": "torch's derivatives of where of real and complex numbers, and of addcdiv and addcmul of integers, fail",
    "half sums": "torch adds half precision in another order in each of its kernels: compared in float64 alone",
}


def avoided(statement: str, names: dict[str, Any]) -> str | None:
    """The reason not to make a statement of the variables that torch has."""
    if into := re.search(r"out=(v\d+)", statement):
        target = names.get(into[1])
        if len(re.findall(rf"\b{into[1]}\b", statement)) > 1 or (isinstance(target, torch.Tensor) and any(
                name != into[1] and isinstance(t, torch.Tensor) and _share_memory(target, t) for name, t in names.items())):
            return REASONS["resized"]
    used = [t for name in dict.fromkeys(re.findall(r"\bv\d+\b", statement)) if isinstance(t := names.get(name), torch.Tensor)]
    writes = re.match(r"(?:with .*?: )?(v\d+)(\.\w+_\(|\[.*\] =|\.data)", statement) or re.search(r"out=(v\d+)", statement)
    if writes:
        target = names.get(writes[1])
        if isinstance(target, torch.Tensor):
            others = [t for t in used if t is not target]
            if any(_share_memory(target, t) for t in others):
                return REASONS["overlap"]
            if not (target.is_floating_point() or target.is_complex()) and any(t.requires_grad for t in others):
                return REASONS["integer history"]
    if re.search(r"\.(tril|triu)_", statement) and any(0 in t.stride() for t in used):
        return REASONS["overlap"]
    if re.search(r"\.(to\(torch\.u?int|long\(|int\()", statement) and any(_rounds_to_some_integers(t) for t in used):
        return REASONS["jumps"]
    if "gelu" in statement and any(t.dtype is torch.float32 and t.isinf().any() for t in used):
        return REASONS["gelu"]
    kinds = {"complex" if t.is_complex() else "real" if t.is_floating_point() else "integer" for t in used}
    if ("where(" in statement and {"complex", "real"} <= kinds) or ("torch.addc" in statement and "integer" in kinds):
        return REASONS["mixed kinds"]
    if "logaddexp" in statement and any(t.dtype is torch.bool for t in used):
        return REASONS["booleans"]
    if re.search(r"v\d+\[-?\d+\]", statement) and any(not t.dim() for t in used):
        return REASONS["select of a number"]
    return None


def _rounds_to_some_integers(t: torch.Tensor) -> bool:
    """Whether some elements, but not all, are integers but for rounding, as of a saturated tanh."""
    if not t.is_floating_point() or not t.numel():
        return False
    near = (t.detach().double() - t.detach().double().round()).abs() < 1e-9
    return bool(near[t.detach() != 0].any()) and not bool(near.all())


def _share_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() and a.numel() > 0


def same_error(theirs: Exception | None, ours: Exception | None, texts: bool, statement: str, names: dict[str, Any]) -> bool:
    """No error, the same error, or two with different texts for which a reason is known."""
    if "INTERNAL ASSERT FAILED" in str(theirs):  # torch's own fault
        return True
    if theirs is None or ours is None:
        return theirs is ours
    if "setStorage: sizes" in str(theirs):  # of an index into nothing, torch shows what its kernel does
        return True
    if not texts:  # two things may be wrong at once; NotImplementedError is a RuntimeError, and says that of a dtype
        both = isinstance(ours, RuntimeError) and isinstance(theirs, RuntimeError)
        return both or type(theirs).__name__ == type(ours).__name__
    if type(theirs).__name__ != type(ours).__name__:
        return False
    if _first_line(theirs) == _first_line(ours):
        return True
    if "its base or another view of its base has been modified" in str(theirs):
        # torch looks at this before shapes. If both are wrong we name the shapes, but we must know of the view too.
        return any(_refuses(names[name]) for name in re.findall(r"\bv\d+\b", statement) if name in names)
    return False


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]


def _refuses(t: Any) -> bool:
    try:
        t.grad_fn  # noqa: B018
    except RuntimeError:
        return True
    return False
