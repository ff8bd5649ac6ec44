"""What is heard of only while a round is observed: calls of functions, methods and modules."""

from __future__ import annotations

from typing import Any, NamedTuple

from whygrad.why.engine import is_tensor
from whygrad.why.record import Site


class Call(NamedTuple):
    """A public function or method has returned. `name` as torch knows it: "torch.relu", "Tensor.add_",
    "torch.nn.functional.cross_entropy"."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    site: Site

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        return self.args[position] if len(self.args) > position else self.kwargs.get(name, default)


def tensors_of(call: Call | ModuleCall) -> list[Any]:
    """The tensors that a function or module was given, those in lists and tuples as well."""
    found: list[Any] = []
    pending = [*call.args, *call.kwargs.values()]
    while pending:
        x = pending.pop(0)
        if is_tensor(x):
            found.append(x)
        elif isinstance(x, (tuple, list)):
            pending += x
    return found


class ModuleCall(NamedTuple):
    """A module's forward has returned. `depth` is 0 if no other module called it."""

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Any
    depth: int
    site: Site


class Clip(NamedTuple):
    """Gradients were clipped. `norm` is the total before, for clip_grad_norm_."""

    function: str
    parameters: list[Any]
    limit: float
    norm: float | None
    site: Site
