"""A dataset for workers that start afresh: in a module of its own, which does not import torch."""

from __future__ import annotations

from typing import Any

import whygrad
from whygrad.utils.data import Dataset


class Squares(Dataset):  # type: ignore[type-arg]
    def __init__(self, length: int = 20) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> Any:
        return whygrad.tensor(i * i), i
