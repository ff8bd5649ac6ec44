"""Comparing calls, written down as expressions, between torch and whygrad: value, dtype, layout, error, warnings."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from typing import Any

import numpy as np
import torch
from oracle import assert_same

import whygrad

torch.set_num_threads(1)

SETUP = """
x = torch.tensor([[1., 2., 3.], [4., 5., 6.]])
g = torch.tensor([[1., 2., 3.], [4., 5., 6.]], requires_grad=True)
h = torch.tensor([[1., 2., 3.], [4., 5., 6.]], requires_grad=True) * 2
i = torch.tensor([1, 2])
s = torch.tensor(2.5)
c = torch.tensor([1 + 2j, 3 - 1j])
e = torch.zeros(0)
"""


def evaluate(namespace: Any, expression: str, setup: str = SETUP) -> tuple[str, Any, list[str]]:
    """("value", result, warnings), or ("error", "Class: first line", warnings)."""
    names = {"torch": namespace, "np": np, "copy": copy, "pickle": pickle}
    exec(setup, names)
    namespace.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kind, result = "value", eval(expression, names)
        except Exception as error:
            kind, result = "error", f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return kind, result, [re.sub(r" \(Triggered internally.*", "", str(w.message), flags=re.S) for w in caught]


def compare(expression: str, setup: str = SETUP) -> None:
    """The expression gives the same with both; what is not a tensor is compared by its repr."""
    kind, theirs, _ = evaluate(torch, expression, setup)
    our_kind, ours, _ = evaluate(whygrad, expression, setup)
    assert our_kind == kind, f"{expression}: torch gives {kind} {theirs!r}, we give {our_kind} {ours!r}"
    if kind == "error":
        assert ours == theirs
    elif isinstance(theirs, torch.Tensor):
        assert_same(theirs, ours, expression, rtol=1e-14)
        if theirs.numel() > 1:
            assert theirs.stride() == ours.stride()
    else:
        assert repr(ours).replace("whygrad.", "torch.") == repr(theirs)
