"""Calling a module with other parameters and buffers than its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from whygrad.base.errors import warn
from whygrad.core.tensor import Tensor

__all__ = ["functional_call"]

_MISSING: Any = object()


def _functional_call(module: Any, parameters_and_buffers: dict[str, Any], args: Any = None,
                     kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*given, **(kwargs or {}))


@contextmanager
def _reparametrize_module(module: Any, parameters_and_buffers: dict[str, Any], tie_weights: bool = False,
                          strict: bool = False) -> Iterator[None]:
    """A context in which the module has these tensors. Tensors that it replaces meanwhile are in the dict afterwards."""
    wanted = _with_tied_names(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        _check_names(module, wanted)
    own: dict[str, Any] = {}
    try:
        for name, tensor in wanted.items():
            own[name] = _swap(module, name, tensor)
        yield
    finally:
        left = {name: _swap(module, name, tensor) for name, tensor in own.items()}
        parameters_and_buffers.update({name: left[name] for name in parameters_and_buffers if name in left})


def _tensors_of(module: Any) -> dict[str, Any]:
    return dict([*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)])


def _with_tied_names(module: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The given tensors, also under the names of tied parameters."""
    groups: dict[int, list[str]] = {}
    for name, tensor in _tensors_of(module).items():
        groups.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for names in groups.values():
        present = [name for name in names if name in given]
        if len({id(given[name]) for name in present}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using "
                             "tie_weights=False")
        for name in names if present else ():
            result[name] = given[present[0]]
    return result


def _check_names(module: Any, given: dict[str, Any]) -> None:
    own = set(_tensors_of(module))
    unexpected, missing = sorted(set(given) - own), sorted(own - set(given))
    messages = [f"{what} key(s): {', '.join(map(repr, names))}."
                for what, names in (("Unexpected", unexpected), ("Missing", missing)) if names]
    if messages:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(messages))


def _swap(module: Any, path: str, tensor: Any) -> Any:
    """Replace the tensor at `path` (delete it for _MISSING); returns the previous one."""
    *parents, name = path.split(".")
    for parent in parents:
        if not hasattr(module, parent):
            raise AttributeError(f"{module._get_name()} has no attribute `{parent}`")
        module = getattr(module, parent)
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    holder = next((held for held in (module._parameters, module._buffers) if name in held), None)
    if holder is None:
        old = getattr(module, name, _MISSING)
        if old is not _MISSING and old is not None and not isinstance(old, Tensor):
            raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")
        if tensor is not _MISSING:
            setattr(module, name, tensor)
        elif old is not _MISSING:
            delattr(module, name)
        return old
    old = holder[name]
    if tensor is _MISSING:
        del holder[name]
    else:
        holder[name] = tensor
    return old


def functional_call(module: Any, parameters_and_buffers: dict[str, Any], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """The old name of `torch.func.functional_call`."""
    warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
         "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
         FutureWarning)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
