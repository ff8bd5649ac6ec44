"""torch's files: programs write `from torch.distributions.normal import Normal`, and pickles name such modules."""

from __future__ import annotations

import functools
import importlib
import pickle
import pkgutil
import types

import pytest
import torch

import whygrad
from whygrad.base.torch_homes import torch_home

# Files and classes (long deprecated) that whygrad does not have there.
ABSENT = {"linear_cross_entropy", "linear_cross_entropy_options", "Container", "NLLLoss2d"}


@pytest.mark.parametrize("package", ["distributions", "optim", "nn.modules"])
def test_classes_are_where_torch_has_them(package: str) -> None:
    theirs = importlib.import_module(f"torch.{package}")
    for file in pkgutil.iter_modules(theirs.__path__):
        if file.name.startswith("_") or file.name in ABSENT:
            continue
        their_file = importlib.import_module(f"torch.{package}.{file.name}")
        our_file = importlib.import_module(f"whygrad.{package}.{file.name}")
        for name in getattr(their_file, "__all__", ()):
            expected = getattr(their_file, name)
            if isinstance(expected, type) and name not in ABSENT:
                made = getattr(our_file, name)
                assert torch_home(made) == expected.__module__, name
                assert pickle.loads(pickle.dumps(made)) is made


@pytest.mark.parametrize("space", ["", "nn.functional", "linalg", "fft", "special"])
def test_functions_are_pickled_by_name(space: str) -> None:
    """A model that holds `torch.tanh` is saved whole, a loader with `collate_fn=torch.stack` starts processes."""
    ours, theirs = [functools.reduce(getattr, filter(None, space.split(".")), t) for t in (whygrad, torch)]
    names = [name for name in dir(theirs) if not name.startswith("_") and callable(getattr(theirs, name))
             and isinstance(getattr(ours, name, None), types.FunctionType)]
    assert len(names) > 10
    for name in names:
        function = getattr(ours, name)
        assert pickle.loads(pickle.dumps(function)) is function, name
