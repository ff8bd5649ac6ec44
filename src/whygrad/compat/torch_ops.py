"""torch.ops: custom ops made with torch.library. whygrad's own rows are in `whygrad.ops`."""

from __future__ import annotations

from types import SimpleNamespace

from whygrad.base.unsupported import answer
from whygrad.compat.library import Namespace

# Packages whose import requires their compiled ops, although most of their code does not: namespace -> {op: its result}.
_TOLERATED: dict[str, dict[str, object]] = {"_torchaudio": {"is_align_available": False, "cuda_version": None}}


def load_library(path: object) -> None:
    """Raises, except for the packages above: compiled ops cannot run here, and most packages continue without theirs."""
    if not any(package.strip("_") in str(path) for package in _TOLERATED):
        raise OSError(f"{path}: whygrad runs no compiled ops")


def __getattr__(name: str) -> object:
    """torch.ops.<namespace>: custom ops (see library.py). Other ops can be named, and raise when called."""
    if name in _TOLERATED:
        return SimpleNamespace(**{question: answer(question, value) for question, value in _TOLERATED[name].items()})
    if name.startswith("_"):
        raise AttributeError(f"module 'torch.ops' has no attribute {name!r}")
    return Namespace(name)
