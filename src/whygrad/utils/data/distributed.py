"""DistributedSampler: the part of a dataset for one of several processes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from whygrad._rng import Stream
from whygrad.base.on_demand import on_demand
from whygrad.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, from `rank` on; by default those of the process group."""

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
                 seed: int = 0, drop_last: bool = False) -> None:
        distributed = on_demand.load_distributed()
        if (num_replicas is None or rank is None) and not distributed.is_available():
            raise RuntimeError("Requires distributed package to be available")
        num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
        rank = distributed.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        count = len(dataset)
        fits = drop_last and count % num_replicas != 0
        self.num_samples = math.ceil((count - num_replicas) / num_replicas) if fits else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        indices = Stream(self.seed + self.epoch).permutation(count).tolist() if self.shuffle else list(range(count))
        if not self.drop_last:
            indices = (indices * math.ceil(self.total_size / max(count, 1)))[:self.total_size]
        return iter(indices[self.rank:self.total_size:self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which seeds the order in all processes."""
        self.epoch = epoch
