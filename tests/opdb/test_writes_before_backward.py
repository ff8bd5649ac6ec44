"""What may be written in place between the forward pass and backward(): as in torch, which says what a node has saved."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from sharing import tensors_in

import whygrad

from .samples import attempt, our_variants, public_ops, samples_of
from .translate import Impossible, Missing, Translator

KNOWN = {
    "combinations": "torch selects of a copy that it makes, we of the input",
    "frexp": "our rule reads the mantissa, torch's the exponent",
    "kron": "torch multiplies copies",
    "nn.functional.linear_cross_entropy.chunked": "torch computes the gradient in the forward pass",
    "nn.functional.pad.reflect": "torch keeps the input, for its shape; circular padding, the same row, does not",
    "nn.functional.pad.replicate": "the same",
    "nn.functional.pad.replicate_negative": "the same",
    "stft": "the same",
    "nn.functional.rrelu": "torch keeps the input, whose sign the slopes have already",
    "native_group_norm": "torch keeps mean and rstd; we compute them again",
    "native_layer_norm": "torch keeps the bias too, whose gradient does not need it",
    "nn.functional.layer_norm": "the same",
    "ormqr": "torch keeps the result and does not read it",
    "linalg.householder_product": "torch reads the result, we the reflections",
    "special.ndtr": "torch's function is made of others, which keep copies",
    "triangular_solve": "torch keeps an input of which only the shape is needed; linalg.solve_triangular, the same row, does not",
}

LIMIT = None if os.environ.get("WHYGRAD_FULL") else 2
OPS = public_ops()


def refused(lib: Any, function: Callable[..., Any], arguments: Any, leaves: list[Any], place: int) -> bool | None:
    """Whether backward() refuses after a write into argument number `place`, or (negative) a result; None if there is none."""
    copies = {id(leaf): leaf * 1 for leaf in leaves}
    input, args, kwargs = _with_copies(arguments, copies)
    lib.manual_seed(0)
    results, error = attempt(lambda: function(input, *args, **kwargs))
    outs = [] if error else [t for t in tensors_in(results) if t.requires_grad]
    written = [*copies.values()] if place >= 0 else outs[::-1]
    if not outs or not -len(outs) <= place < len(leaves):
        return None
    target = written[place]
    _, error = attempt(lambda: target.mul_(1) if target.is_floating_point() or target.is_complex() else target.add_(0))
    if error:
        return None
    _, error = attempt(lambda: lib.autograd.grad([t.sum() for t in outs], leaves, allow_unused=True))
    return error is not None and "modified by an inplace operation" in str(error)


def _with_copies(value: Any, copies: dict[int, Any]) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)([_with_copies(v, copies) for v in value])
    if isinstance(value, dict):
        return {k: _with_copies(v, copies) for k, v in value.items()}
    return copies.get(id(value), value)


def differences(name: str) -> list[str]:
    found, op = [], OPS[name]
    if torch.float64 not in op.supported_dtypes("cpu") or not op.supports_autograd:
        return []
    for i, sample in enumerate(samples_of(op, torch.float64, LIMIT)):
        variant = our_variants(op)[0]
        translate, theirs = Translator(), (sample.input, tuple(sample.args), dict(sample.kwargs))
        try:
            ours = translate(theirs)
        except (Missing, Impossible):
            continue
        pairs = [(a, b) for a, b in translate.pairs if a.requires_grad]
        for place in (0, 1, 2, -1, -2):
            a = refused(torch, variant.theirs, theirs, [a for a, _ in pairs], place)
            b = refused(whygrad, variant.ours, ours, [b for _, b in pairs], place)
            if a is not None and b is not None and a != b:
                found.append(f"{i}, place {place}: torch {'refuses' if a else 'allows it'}")
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first_letters", ["_abc", "defg", "hijkl", "mn", "opqrs", "tuvwxyzTH"])
def test_as_torch(first_letters: str) -> None:
    found = {name: found for name in OPS if name[0] in first_letters and name not in KNOWN and (found := differences(name))}
    assert not found, found
