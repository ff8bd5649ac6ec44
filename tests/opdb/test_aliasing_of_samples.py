"""Which results of torch's own samples share memory with an argument: as in torch. All samples: WHYGRAD_FULL=1."""

from __future__ import annotations

import os

import pytest
import torch
from sharing import shared, tensors_in

import whygrad

from .samples import attempt, our_variants, public_ops, samples_of
from .translate import Impossible, Missing, Translator

LIMIT = None if os.environ.get("WHYGRAD_FULL") else 2
OPS = public_ops()


def differences(name: str) -> list[str]:
    found, op = [], OPS[name]
    dtypes = [t for t in (torch.float32, torch.int64, torch.complex64, torch.bool) if t in op.supported_dtypes("cpu")]
    for dtype in dtypes if LIMIT is None else dtypes[:1]:
        for i, sample in enumerate(samples_of(op, dtype, LIMIT)):
            for variant in our_variants(op)[:2]:
                translate, theirs = Translator(), (sample.input, tuple(sample.args), dict(sample.kwargs))
                try:
                    ours = translate(theirs)
                except (Missing, Impossible):
                    continue
                sharing = []
                for lib, function, (input, args, kwargs), inputs in (
                        (torch, variant.theirs, theirs, [a for a, _ in translate.pairs]),
                        (whygrad, variant.ours, ours, [b for _, b in translate.pairs])):
                    lib.manual_seed(0)
                    result, error = attempt(lambda: function(input, *args, **kwargs))
                    sharing.append(None if error else shared(tensors_in(result), inputs))
                if None not in sharing and sharing[0] != sharing[1]:
                    found.append(f"{dtype} {i}{variant.label}: {sharing[0]}, here {sharing[1]}")
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first_letters", ["_abc", "defg", "hijkl", "mn", "opqrs", "tuvwxyzTH"])
def test_as_torch(first_letters: str) -> None:
    found = {name: found for name in OPS if name[0] in first_letters and (found := differences(name))}
    assert not found, found
