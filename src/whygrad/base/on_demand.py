"""What packages ask of higher ones that `import whygrad` does not load. whygrad/on_demand.py registers how to load them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


class OnDemand:
    # Composes the note of an error: `compose_note(name of a function of why/error_notes.py, ...)` -> category, text, sites.
    compose_note: Callable[..., tuple[str, str, tuple[Any, ...]]]
    # Explains a tensor's gradient: `explain(tensor, loss=...)`.
    explain: Callable[..., Any]
    # Loads the package of sparse tensors, which installs its handler at the function door.
    load_sparse: Callable[[], ModuleType]
    # Loads what applies rows to tensors on the meta device.
    load_meta: Callable[[], ModuleType]
    # Loads torch.compiler.
    load_compiler: Callable[[], ModuleType]
    # Loads torch.distributed.
    load_distributed: Callable[[], ModuleType]


on_demand = OnDemand()
