"""Containers: modules and parameters in sequences, lists and dicts."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self

from whygrad.core.tensor import Tensor
from whygrad.functional.parameter import Parameter
from whygrad.nn.module import Module, indented, typename, with_lines


class _NumberedModules(Module):
    """Modules under the names "0", "1", ..."""

    def _position(self, index: Any) -> int:
        """`index` as a non-negative position."""
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return int(index) % len(self)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, list(self._modules)[self._position(index)], module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [names[self._position(index)]]:
            delattr(self, name)
        self._modules = OrderedDict((str(i), module) for i, module in enumerate(self))

    def append(self, module: Module) -> Any:
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        found = self[key]  # type: ignore[index]
        del self[key]
        return found

    def _insert(self, index: int, module: Module) -> None:
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module


class Sequential(_NumberedModules):
    """Modules called one after the other; an OrderedDict gives them names."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], OrderedDict)
        for name, module in args[0].items() if named else [(str(i), module) for i, module in enumerate(args)]:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return list(self)[self._position(index)]

    def __add__(self, other: Any) -> Sequential:
        _check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        _check_sequential(other)
        self.extend(list(other))
        return self

    def __mul__(self, count: int) -> Sequential:
        self._check_count(count)
        return Sequential(*list(self) * count)

    __rmul__ = __mul__

    def __imul__(self, count: int) -> Self:
        self._check_count(count)
        self.extend(list(self) * (count - 1))
        return self

    def _check_count(self, count: Any) -> None:
        if not isinstance(count, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(count)}")
        if count <= 0:
            raise ValueError(f"Non-positive multiplication factor {count} for {type(self)}")

    def insert(self, index: int, module: Module) -> Any:
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        self._insert(index + count if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Any:
        for module in sequential:
            self.append(module)
        return self


def _check_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")


class ModuleList(_NumberedModules):
    """A list of modules, registered as children."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[str(self._position(index))]

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def insert(self, index: int, module: Module) -> None:
        self._insert(index, module)

    def extend(self, modules: Iterable[Module]) -> Any:
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        offset = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(offset + i), module)
        return self

    def __repr__(self) -> str:
        # Equal neighbours are shown once: "(0-2): 3 x Linear(...)".
        blocks: list[list[Any]] = []
        for i, text in enumerate([repr(module) for module in self]):
            if blocks and blocks[-1][2] == text:
                blocks[-1][1] = i
            else:
                blocks.append([i, i, text])
        lines = [indented(f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}")
                 for first, last, text in blocks]
        return with_lines(self._get_name(), [], lines)


class _Named(Module):
    """Base of containers with the methods of a dict. The keys are those of `_table`."""

    def _table(self) -> dict[str, Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._table())

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __contains__(self, key: str) -> bool:
        return key in self._table()

    def keys(self) -> KeysView[str]:
        return self._table().keys()

    def clear(self) -> None:
        for key in list(self):
            del self[key]  # type: ignore[attr-defined]

    def pop(self, key: str) -> Any:
        value = self[key]  # type: ignore[index]
        del self[key]  # type: ignore[attr-defined]
        return value


class ModuleDict(_Named):
    """A dict of modules, registered as children."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def _table(self) -> dict[str, Any]:
        return self._modules

    def items(self) -> ItemsView[str, Any]:
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the pairs of a mapping or of an iterable of pairs."""
        if isinstance(modules, Iterable):
            ordered = modules.items() if isinstance(modules, (ModuleDict, Mapping)) else _pairs("ModuleDict", modules)
            for key, module in ordered:
                self[key] = module
        else:
            raise TypeError("ModuleDict.update should be called with an iterable of key/value pairs, but got "
                            f"{type(modules).__name__}")


def _pairs(container: str, values: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for i, pair in enumerate(values):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{container} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        listed = tuple(pair)
        if len(listed) != 2:
            raise ValueError(f"{container} update sequence element #{i} has length {len(listed)}; 2 is required")
        yield listed


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _describe(key: Any, value: Any, kind: str) -> str:
    """One line of the repr of a parameter container."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    size = "x".join(str(n) for n in value.shape)
    name = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {name} containing: [{kind} of size {size}]"


class ParameterList(Module):
    """A list of parameters; tensors become parameters, other values are stored as they are."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name(self, index: Any) -> str:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return str(index % len(self))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(len(self))[index]])
        return getattr(self, self._name(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values: Iterable[Any]) -> Any:
        return self.extend(values)

    def append(self, value: Any) -> Any:
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_describe(i, value, str(getattr(value, "dtype", ""))) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(_Named):
    """A dict of parameters; tensors become parameters, other values are stored as they are."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, Any] = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                            f"'{type(key).__name__}'). Open an issue on github if you need non-string keys.")
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, self._attribute(key), _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attribute(key))

    def _table(self) -> dict[str, Any]:
        return self._keys

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def copy(self) -> ParameterDict:
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        return ParameterDict((key, default) for key in keys)

    def items(self) -> Iterable[tuple[str, Any]]:
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add the pairs of a mapping (a plain dict in sorted order, as in torch) or of an iterable of pairs."""
        if not isinstance(parameters, Iterable):
            raise TypeError("ParametersDict.update should be called with an iterable of key/value pairs, but got "
                            f"{type(parameters).__name__}")
        pairs: Iterable[tuple[str, Any]]
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        else:
            pairs = _pairs("ParameterDict", parameters)
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(_describe(key, value, typename(value)) for key, value in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
