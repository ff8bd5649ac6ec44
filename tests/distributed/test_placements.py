"""Placements of torch.distributed.tensor, which need no ranks."""

from __future__ import annotations

from typing import Any

import pytest
from torch.distributed import tensor as torch_tensor
from torch.distributed.tensor import placement_types as torch_types

from whygrad.distributed import tensor
from whygrad.distributed.tensor import placement_types

MAKERS = {"Shard(1)": lambda lib: lib.Shard(1), "Shard(-1)": lambda lib: lib.Shard(-1),
          "Replicate()": lambda lib: lib.Replicate(), "Partial()": lambda lib: lib.Partial(),
          "Partial(avg)": lambda lib: lib.Partial("avg"),
          "_StridedShard": lambda lib: lib._StridedShard(0, split_factor=2)}


def facts(made: Any, lib: Any) -> list[Any]:
    return [repr(made), str(made), made.is_shard(), made.is_shard(1), made.is_replicate(), made.is_partial(),
            made.is_partial("sum"), made == lib.Shard(1), isinstance(made, lib.Placement)]


@pytest.mark.parametrize("name", MAKERS)
def test_placement(name: str) -> None:
    make = MAKERS[name]
    assert facts(make(placement_types), placement_types) == facts(make(torch_types), torch_types)
    assert make(placement_types) == make(placement_types)
    assert hash(make(placement_types)) == hash(make(placement_types))


def test_tensors_over_ranks_are_refused() -> None:
    assert hasattr(torch_tensor, "DTensor")
    with pytest.raises(NotImplementedError, match=r"torch\.distributed\.tensor\.DTensor"):
        tensor.DTensor(None)
