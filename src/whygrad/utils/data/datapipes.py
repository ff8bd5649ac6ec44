"""torch.utils.data.datapipes.datapipe: the base classes of data pipes, whose ready-made pipes are in packages of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from whygrad.utils.data.dataset import Dataset, IterableDataset


class _Registered:
    """Functions registered under a name are methods of every pipe of the kind: `pipe.map(f)`."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            return functools.partial(type(self).functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Callable[..., Any],
                                      enable_df_api_tracing: bool = False) -> None:
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register


class IterDataPipe(_Registered, IterableDataset[Any]):
    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __iter__(self) -> Iterator[Any]:
        return self  # type: ignore[return-value]


class MapDataPipe(_Registered, Dataset[Any]):
    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
