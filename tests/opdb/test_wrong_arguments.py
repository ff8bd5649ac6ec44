"""Values of the wrong type in the place of each argument of torch's samples: no error shows what NumPy or Python found inside.

`functional/test_bad_input.py` compares classes and texts of chosen calls; here every function gets every kind of value.
All samples: WHYGRAD_FULL=1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import whygrad

from .samples import OpInfo, attempt, our_variants, public_ops, samples_of
from .translate import Impossible, Missing, Translator

LIMIT = None if os.environ.get("WHYGRAD_FULL") else 1
OPS = public_ops()
DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
VALUES: tuple[Any, ...] = (None, "a", object(), [1, "a"], {}, [1.5], 1.5, 1j)
INSIDE = re.compile(r"has no attribute '_|ufunc|could not be broadcast|broadcast together|numpy\.ndarray'|NumPy arrays|"
                    "setting an array")
# For these Python's own words are right.
OPERATOR = re.compile("__r?[a-z]+__")


def errors(op: OpInfo) -> Iterator[tuple[str, Exception]]:
    dtype = next((t for t in DTYPES if t in op.supported_dtypes("cpu")), None)
    for sample in [] if dtype is None else samples_of(op, dtype, LIMIT):
        try:
            args, kwargs = Translator()(((sample.input, *sample.args), dict(sample.kwargs)))
        except (Missing, Impossible):
            continue
        function = our_variants(op)[0].ours
        for value in VALUES:
            for place in (*range(len(args)), *kwargs):
                given = {**kwargs, place: value} if place in kwargs else kwargs
                _, error = attempt(lambda: function(*[value if i == place else x for i, x in enumerate(args)], **given))
                if error is not None:
                    yield f"{place} = {value!r}", error


def shown(name: str) -> list[str]:
    whygrad.manual_seed(0)
    return [f"{place}: {type(error).__name__}: {error}"[:150] for place, error in errors(OPS[name])
            if INSIDE.search(str(error)) or type(error).__name__ == "UFuncTypeError"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first_letters", ["_abc", "defg", "hijkl", "mn", "opqrs", "tuvwxyzTH"])
def test_nothing_of_numpy_shows(first_letters: str) -> None:
    found = {name: found for name in OPS if name[0] in first_letters and not OPERATOR.fullmatch(name) and (found := shown(name))}
    assert not found, found
