"""The safetensors format, through the library of that name (`pip install safetensors`)."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from whygrad.core.tensor import Tensor
from whygrad.functional.fresh import fresh
from whygrad.io.atomic import replacing


def _library() -> Any:
    try:
        return import_module("safetensors.numpy")
    except ImportError as error:
        raise RuntimeError("Attempting to load a safetensors file but safetensors is not installed. Please install "
                           "safetensors with: pip install safetensors") from error


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """A dict of the tensors in a file by name."""
    return {name: fresh(array) for name, array in _library().load_file(path).items()}


def save_safetensors(tensors: dict[str, Tensor], path: str | os.PathLike[str],
                     metadata: dict[str, str] | None = None) -> None:
    """Write named tensors; a file at `path` is replaced atomically."""
    data = _library().save({name: np.ascontiguousarray(t._array) for name, t in tensors.items()}, metadata)
    with replacing(os.fspath(path)) as file:
        file.write(data)
