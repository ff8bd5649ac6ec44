"""TORCH_LOGS and torch._logging.set_logs: what compilation does, on stderr while it happens."""

from __future__ import annotations

import os
import sys

# What can be told: why functions stay eager, which guard failed, what a program is guarded by, and its text.
ARTIFACTS = ("graph_breaks", "recompiles", "guards", "output_code")

told = {name for name in ARTIFACTS
        for word in os.environ.get("TORCH_LOGS", "").split(",") if word.strip().lstrip("+") in (name, "dynamo", "all")}


def set_logs(**levels: object) -> None:
    """Tell these from now on, and no others; names that are torch's alone make no difference."""
    told.clear()
    told.update(name for name in ARTIFACTS if levels.get(name) or levels.get("all") or levels.get("dynamo"))


def tell(artifact: str, name: str, text: str) -> None:
    if artifact in told:
        print(f"[{artifact}] {name}: {text}", file=sys.stderr)
