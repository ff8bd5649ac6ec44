"""The table of ops. Importing this package declares every row; see README.md for how to read and write one."""

from whygrad.ops import (
    activation,
    arithmetic,
    attention,
    bags,
    bessel,
    compare,
    complex_numbers,
    conv,
    convert,
    counting,
    ctc,
    factor,
    fft,
    index,
    inplace,
    layout,
    ldl,
    linear,
    lu,
    misc,
    nn,
    orthogonal,
    pairwise,
    pointwise,
    pool,
    random,
    recurrent,
    reduction,
    resample,
    scan,
    scatter_reduce,
    solve,
    sorting,
    special,
    spectral,
    weight_norm,
)
from whygrad.ops.table import TABLE, NoGrad, Row

# A package that cannot be imported without its compiled ops, though much of it needs none; and what it asks them then.
_TOLERATED: dict[str, dict[str, object]] = {"_torchaudio": {"is_align_available": False, "cuda_version": None}}


def load_library(path: object) -> None:
    """torch.ops.load_library. Packages that bring compiled ops try it, and most go on without them if it fails."""
    if not any(package.strip("_") in str(path) for package in _TOLERATED):
        raise OSError(f"{path}: whygrad runs no compiled ops")


def __getattr__(name: str) -> object:
    """torch.ops.<namespace>: ops that the program has made, see library.py. Others can be named, and raise when called."""
    if name in _TOLERATED:
        from types import SimpleNamespace

        from whygrad.compat.missing import answer

        return SimpleNamespace(**{question: answer(question, value) for question, value in _TOLERATED[name].items()})
    if name.startswith("_"):
        raise AttributeError(f"module 'torch.ops' has no attribute {name!r}")
    from whygrad.compat.library import Namespace

    return Namespace(name)
