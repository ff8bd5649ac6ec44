"""torch.nn.utils._named_member_accessor: tensors and submodules of a module by their dotted names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.nn.module import Module

_MISSING: Any = object()


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Put a tensor in the place of a parameter, buffer or attribute; a parameter's place may hold a plain tensor."""
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Exchange the tensor of this name, and return the one that was there; `_MISSING` stands for none."""
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for place in (module._parameters, module._buffers):
        if name in place:
            before: Any = place[name]
            if tensor is _MISSING:
                del place[name]
            else:
                place[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _MISSING and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif hasattr(module, name):
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('submodule name can\'t contain "."')
    if name == "":
        raise KeyError('submodule name can\'t be empty string ""')
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if not isinstance(before, Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """Reads, sets and exchanges the members of a module; submodules are looked up once."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memo: dict[str, Module] = {}

    def get_submodule(self, name: str) -> Module:
        if name not in self.memo:
            self.memo[name] = self.module.get_submodule(name)
        return self.memo[name]

    def _place(self, name: str) -> tuple[Module, str]:
        prefix, _, last = name.rpartition(".")
        return self.get_submodule(prefix), last

    def swap_submodule(self, path: str, value: Module) -> Module:
        return swap_submodule(*self._place(path), value)

    def get_tensor(self, name: str) -> Tensor:
        module, last = self._place(name)
        try:
            found = getattr(module, last)
        except AttributeError as error:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`") from error
        if not isinstance(found, Tensor) and found is not None:
            raise TypeError(f"{found} is not an instance of torch.Tensor")
        return found  # type: ignore[return-value]

    def set_tensor(self, name: str, value: Tensor) -> None:
        set_tensor(*self._place(name), value)

    def del_tensor(self, name: str) -> None:
        swap_tensor(*self._place(name), _MISSING)

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> Tensor:
        return swap_tensor(*self._place(name), value, allow_missing=allow_missing)  # type: ignore[no-any-return]

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        for name, value in _pairs(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Tensor], allow_missing: bool = False) -> list[Tensor]:
        return [self.swap_tensor(name, value, allow_missing) for name, value in _pairs(names, values)]

    def swap_tensors_dict(self, named_tensors: dict[str, Tensor], allow_missing: bool = False
                          ) -> tuple[dict[str, Tensor], list[str]]:
        """What was there, and the names of those that were missing; nothing is exchanged if one cannot be."""
        before: dict[str, Tensor] = {}
        missing: list[str] = []
        try:
            for name, value in named_tensors.items():
                try:
                    before[name] = self.swap_tensor(name, value, allow_missing=True)
                except AttributeError:
                    missing.append(name)
                else:
                    if before[name] is _MISSING:
                        missing.append(name)
        except BaseException:
            self.swap_tensors_dict(before, allow_missing=True)
            raise
        if missing and not allow_missing:
            self.swap_tensors_dict(before, allow_missing=True)
            raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names of tensors that are not among the keys, and the keys that name no tensor."""
        given, present = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(present - given), sorted(given - present)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)


def _pairs(names: Iterable[str], values: Iterable[Tensor]) -> Iterable[tuple[str, Tensor]]:
    names, values = list(names), list(values)
    if len(names) != len(values):
        raise AssertionError(f"names and values must have the same length, got {len(names)} names and {len(values)} values")
    return zip(names, values, strict=True)
