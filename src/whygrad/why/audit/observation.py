"""What is heard of only while a round is observed: calls of functions, methods and modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from whygrad.why.engine import is_tensor
from whygrad.why.record import Site

Listener = TypeVar("Listener", bound=Callable[..., None])


def of_functions(*names: str, and_those: Callable[[str], bool] = lambda name: False) -> Callable[[Listener], Listener]:
    """A listener that hears only of calls of the functions with these names."""
    def mark(listener: Listener) -> Listener:
        listener.wants = lambda name: name in names or and_those(name)  # type: ignore[attr-defined]
        return listener

    return mark


def of_outermost(listener: Listener) -> Listener:
    """A listener that hears only of modules that no other module has called."""
    listener.wants = lambda depth: not depth  # type: ignore[attr-defined]
    return listener


def that_want(listeners: Iterable[Callable[..., None]], what: Any) -> list[Callable[..., None]]:
    """Of the listeners to calls of functions or modules, those to which a name or depth is of interest."""
    return [listener for listener in listeners if getattr(listener, "wants", _everything)(what)]


def _everything(what: Any) -> bool:
    return True


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
    nested: list[Any] = []
    for x in (*call.args, *call.kwargs.values()) if call.kwargs else call.args:
        if is_tensor(x):
            found.append(x)
        elif isinstance(x, (tuple, list)):
            nested += x
    while nested:
        x = nested.pop(0)
        if is_tensor(x):
            found.append(x)
        elif isinstance(x, (tuple, list)):
            nested += x
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
