"""Collation of a list of samples into a batch: tensors are stacked, containers keep their structure."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.core.tensor import Tensor
from whygrad.functional.from_data import as_tensor, tensor
from whygrad.functional.run import FUNCTIONS

WRONG_TYPE = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"

CollateMap = dict[type | tuple[type, ...], Callable[..., Any]]


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Collate samples by the functions of a map (type of a sample -> function); containers element by element."""
    sample = batch[0]
    function = _function_for(sample, collate_fn_map or {})
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)

    def inner(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(sample, Mapping):
        return _rebuild_mapping(sample, {key: inner([other[key] for other in batch]) for key in sample})
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*[inner(values) for values in zip(*batch, strict=False)])
    if isinstance(sample, Sequence):
        if not all(len(other) == len(sample) for other in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [inner(values) for values in zip(*batch, strict=True)]
        return columns if isinstance(sample, tuple) else _rebuild_sequence(sample, columns)
    raise TypeError(WRONG_TYPE.format(type(sample)))


def _function_for(sample: Any, collate_fn_map: CollateMap) -> Callable[..., Any] | None:
    """The function for the class of the sample, else for the first class that it is an instance of."""
    if type(sample) in collate_fn_map:
        return collate_fn_map[type(sample)]
    return next((function for kind, function in collate_fn_map.items() if isinstance(sample, kind)), None)


def _rebuild_mapping(model: Any, items: dict[Any, Any]) -> Any:
    """A mapping of the class of `model` if it can be built, else a dict."""
    try:
        if isinstance(model, MutableMapping):
            clone = copy.copy(model)
            clone.update(items)
            return clone
        return type(model)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def _rebuild_sequence(model: Any, items: list[Any]) -> Any:
    try:
        if isinstance(model, MutableSequence):
            clone = copy.copy(model)
            for i, item in enumerate(items):
                clone[i] = item
            return clone
        return type(model)(items)
    except TypeError:
        return items


def _collate_tensors(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return FUNCTIONS["stack"](batch, 0)


def _collate_arrays(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    if batch[0].dtype.kind in "SUO":
        raise TypeError(WRONG_TYPE.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def _collate_array_scalars(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return as_tensor(batch)


def _collate_floats(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return tensor(batch, dtype=dtypes.float64)


def _collate_integers(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return tensor(batch)


def _collate_texts(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return batch


default_collate_fn_map: CollateMap = {
    Tensor: _collate_tensors,
    np.ndarray: _collate_arrays,
    (np.bool_, np.number, np.object_): _collate_array_scalars,
    float: _collate_floats,
    int: _collate_integers,
    str: _collate_texts,
    bytes: _collate_texts,
}


def default_collate(batch: Any) -> Any:
    """The default `collate_fn` for batches."""
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """The default `collate_fn` without batching: arrays become tensors."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, (np.str_, np.bytes_)):
        return data if isinstance(data, np.ndarray) and data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuild_sequence(data, [default_convert(item) for item in data])
    return data
