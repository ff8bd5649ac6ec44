"""Fetching of a batch: samples by index, then collation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.core.tensor import Tensor
from whygrad.functional.fresh import fresh
from whygrad.utils.data.collate import default_collate
from whygrad.utils.data.dataset import Subset, TensorDataset, _many
from whygrad.why import record as why


class _DatasetKind:
    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any],
                       drop_last: bool) -> Fetcher:
        return MakeFetcher(kind, auto_collation, collate_fn, drop_last)(dataset)


class Fetcher:
    """Fetches from a map-style dataset."""

    streams = False

    def __init__(self, dataset: Any, batched: bool, collate: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.batched = batched
        self.collate = collate
        self.drop_last = drop_last

    def fetch(self, indices: Any) -> Any:
        if not self.batched:
            return self.collate(self.dataset[indices])
        if self.collate is default_collate:
            at_once = gather(self.dataset, indices)
            if at_once is not None:
                return at_once
        return self._collated(_many(self.dataset, indices))

    def _collated(self, samples: Any) -> Any:
        batch = self.collate(samples)
        if self.collate is not default_collate:
            why.tell("collated", samples, batch)
        return batch


def gather(dataset: Any, indices: Any) -> list[Tensor] | None:
    """A batch of a TensorDataset (or of subsets of one) by one indexing operation per tensor.

    None if the result could differ: samples require grad, or an index is not a plain integer in range.
    """
    while type(dataset) is Subset:
        indices = [dataset.indices[i] for i in indices]
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or any(tensor.requires_grad for tensor in dataset.tensors):
        return None
    rows = np.asarray(indices)
    if rows.ndim != 1 or rows.dtype.kind != "i":
        return None
    try:
        batch = [fresh(tensor._array[rows]) for tensor in dataset.tensors]
    except IndexError:
        return None  # the slow path raises torch's error
    why.tell("gathered", dataset.tensors, batch)
    return batch


class StreamFetcher(Fetcher):
    """Fetches from an iterable dataset: only the number of indices matters. Raises StopIteration at the end."""

    streams = True

    def __init__(self, dataset: Any, batched: bool, collate: Callable[[Any], Any], drop_last: bool) -> None:
        super().__init__(dataset, batched, collate, drop_last)
        self.samples = iter(dataset)
        self.ended = False

    def fetch(self, indices: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.batched:
            return self.collate(next(self.samples))
        batch = []
        for _ in indices:
            try:
                batch.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(indices)):
            raise StopIteration
        return self._collated(batch)


class MakeFetcher:
    """A picklable factory of fetchers, sent to the workers."""

    def __init__(self, kind: int, batched: bool, collate: Callable[[Any], Any], drop_last: bool) -> None:
        self.kind = kind
        self.options = (batched, collate, drop_last)

    def __call__(self, dataset: Any) -> Fetcher:
        return (StreamFetcher if self.kind == _DatasetKind.Iterable else Fetcher)(dataset, *self.options)
