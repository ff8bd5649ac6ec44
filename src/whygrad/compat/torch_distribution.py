"""The installed distribution "torch", as `importlib.metadata` tells of it while whygrad stands in for torch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, DistributionFinder
from typing import Any

from whygrad.compat.version import TORCH_VERSION


class _Torch(Distribution):
    """The distribution that `pip install torch` would leave, as far as programs read it."""

    FILES = {"METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH_VERSION}\n",
             "top_level.txt": "functorch\ntorch\ntorchgen\n"}

    def read_text(self, filename: str) -> str | None:
        return self.FILES.get(filename)

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"torch is whygrad here, and has no file {path}")


def find(asking: Any, context: Any) -> Iterator[Distribution]:
    """It, if it is asked for, and no other finder than the one that asks has it."""
    context = context or DistributionFinder.Context()
    others = [finder.find_distributions for finder in sys.meta_path
              if finder is not asking and hasattr(finder, "find_distributions")]
    if context.name not in (None, "torch"):
        return
    wanted = DistributionFinder.Context(name="torch", path=context.path)
    if not any(True for find in others for _ in find(wanted)):
        yield _Torch()
