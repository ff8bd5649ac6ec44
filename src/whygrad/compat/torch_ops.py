"""torch.ops: the ops a program has made with torch.library. whygrad's own rows are in `whygrad.ops`."""

from __future__ import annotations

from types import SimpleNamespace

from whygrad.base.unsupported import answer
from whygrad.compat.library import Namespace

# A package that cannot be imported without its compiled ops, though much of it needs none; and what it asks them then.
_TOLERATED: dict[str, dict[str, object]] = {"_torchaudio": {"is_align_available": False, "cuda_version": None}}


def load_library(path: object) -> None:
    """torch.ops.load_library. Packages that bring compiled ops try it, and most go on without them if it fails."""
    if not any(package.strip("_") in str(path) for package in _TOLERATED):
        raise OSError(f"{path}: whygrad runs no compiled ops")


def __getattr__(name: str) -> object:
    """torch.ops.<namespace>: ops that the program has made, see library.py. Others can be named, and raise when called."""
    if name in _TOLERATED:
        return SimpleNamespace(**{question: answer(question, value) for question, value in _TOLERATED[name].items()})
    if name.startswith("_"):
        raise AttributeError(f"module 'torch.ops' has no attribute {name!r}")
    return Namespace(name)
