"""The same expression with torch and with whygrad: values, structure and errors must agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.func
import torch.utils._pytree as their_pytree
from oracle import outcome

import whygrad
import whygrad.func
from whygrad.base import pytree as our_pytree

torch.set_num_threads(1)


def agree(expression: Callable[[Any], Any], rtol: float = 1e-7) -> None:
    """`expression(torch)`, run with both libraries, gives the same."""
    (kind, theirs), (our_kind, ours) = outcome(lambda: expression(torch)), outcome(lambda: expression(whygrad))
    if "error" in (kind, our_kind):
        assert (our_kind, ours) == (kind, theirs)
        return
    their_leaves, our_leaves = their_pytree.tree_leaves(theirs), our_pytree.tree_leaves(ours)
    assert len(their_leaves) == len(our_leaves)
    for a, b in zip(their_leaves, our_leaves, strict=True):
        if not isinstance(a, torch.Tensor):
            assert a == b
            continue
        assert tuple(a.shape) == tuple(b.shape)
        assert str(a.dtype) == str(b.dtype).replace("whygrad", "torch")
        assert a.requires_grad == b.requires_grad
        np.testing.assert_allclose(b.detach().numpy(), a.detach().resolve_conj().numpy(force=True), rtol=rtol, atol=rtol)
