"""What torch's functions do under autocast on the CPU: first bring their arguments into the dtype that fits them.

While no autocast is on, nothing of this is in the way. To switch it on swaps the code of the functions in the tables below for
a line that casts and then runs the original; to switch it off swaps it back. An op that runs this way is itself without
autocast, so what it consists of is left alone.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import FunctionType
from typing import Any, cast

from whygrad.autograd.grad_mode import enable_grad
from whygrad.base import dtypes
from whygrad.core.modes import inherited
from whygrad.core.tensor import Tensor
from whygrad.ops.table import TABLE

# Errors look through these frames: the user called the function behind (see functional/arguments.py).
_passes_calls_on_ = True

# In autocast's dtype.
LOWER = """
    addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    functional.einsum._contract functional.linalg._sum_products linalg.vecdot linear matmul mm prelu
    scaled_dot_product_attention"""
# In float32.
FULL = """
    adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist cholesky
    cholesky_inverse cholesky_solve cosine_embedding_loss cross_entropy ctc_loss fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft
    fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn fractional_max_pool2d
    fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices geqrf grid_sample grid_sampler
    grid_sampler_2d grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div l1_loss linalg.cholesky linalg.cholesky_ex
    linalg.cond linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.householder_product linalg.inv linalg.inv_ex
    linalg.lstsq linalg.matrix_rank linalg.qr linalg.solve linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve
    lu_solve local_response_norm margin_ranking_loss max_pool3d max_unpool2d max_unpool3d mse_loss multi_margin_loss
    multilabel_margin_loss nanquantile nll_loss orgqr ormqr pad pinverse poisson_nll_loss polar prod qr quantile
    smooth_l1_loss soft_margin_loss stft svd trace triangular_solve triplet_margin_loss view_as_complex"""
# In float32 if one of them is, else in autocast's dtype.
WIDEST = "cat concat concatenate index_copy stack"


def _kept_sizes(a: Tensor, b: Tensor, a_labels: tuple[int, ...], b_labels: tuple[int, ...], kept: tuple[int, ...]) -> list[int]:
    sizes = dict(zip(a_labels + b_labels, a._array.shape + b._array.shape, strict=True))
    return [sizes[label] for label in kept]


# Functions of which only some calls are concerned. Of einsum it is the sums of products: torch does them by bmm; of tensordot
# those that it does by mm, which a single number is not.
ONLY_IF: dict[str, Callable[[dict[str, Any]], bool]] = {
    "_contract": lambda given: bool(set(given["a_labels"]) - set(given["kept"])),
    "local_response_norm": lambda given: given["input"].ndim > 3,
    "_sum_products": lambda given: any(n != 1 for n in _kept_sizes(**given)),
    "max_pool3d": lambda given: not given.get("return_indices"),
    "pad": lambda given: given["mode"] == "replicate" or (given["mode"] == "reflect" and len(given["pad"]) <= 4),
}


class State(threading.local):
    """The switches of one thread."""

    def __init__(self) -> None:
        self.enabled: set[str] = set()
        self.dtypes: dict[str, dtypes.dtype] = {}
        self.cache_enabled = True
        self.nesting = 0
        # Weights that were cast, by their id, with the result.
        self.cache: dict[int, tuple[Tensor, Tensor]] = {}
        # What ops are to cast to: None while autocast is off, and inside of an op that has cast.
        self.current: dtypes.dtype | None = None
        # As long as there is one, the functions cast.
        self.user: _User | None = None

    def switch(self, device: str, enabled: bool) -> None:
        if enabled is (device in self.enabled):
            return
        (self.enabled.add if enabled else self.enabled.discard)(device)
        if device == "cpu":
            self.user = _User() if enabled else None
            self.refresh()

    def refresh(self) -> None:
        self.current = self.dtypes.get("cpu", dtypes.bfloat16) if "cpu" in self.enabled else None


state = State()
inherited.append(state)


def is_eligible(t: Any) -> bool:
    return isinstance(t, Tensor) and t.dtype.is_floating_point and t.dtype is not dtypes.float64


def in_dtype(t: Any, wanted: dtypes.dtype) -> Any:
    """`t` in that dtype, if autocast may touch it. A weight is cast once in a block."""
    if not is_eligible(t) or t.dtype is wanted:
        return t
    is_weight = (state.cache_enabled and wanted is state.current and t.dtype is dtypes.float32 and t.requires_grad and t.is_leaf
                 and t._view is None)
    if not is_weight:
        return t.to(wanted)
    known = state.cache.get(id(t))
    if known is None:
        with enable_grad():
            known = state.cache[id(t)] = t, t.to(wanted)
    return known[1]


def _each(values: Any) -> Iterator[Any]:
    """The arguments, and those inside of a list."""
    for value in values:
        if type(value) in (tuple, list):
            yield from value
        else:
            yield value


def _widest(args: tuple[Any, ...], kwargs: dict[str, Any], lower: dtypes.dtype) -> dtypes.dtype:
    for t in _each((*args, *kwargs.values())):
        if is_eligible(t) and t.dtype is dtypes.float32:
            return dtypes.float32
        if is_eligible(t) and t.dtype is not lower:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return lower


def _cast(value: Any, wanted: dtypes.dtype) -> Any:
    if type(value) in (tuple, list) and any(isinstance(t, Tensor) for t in value):
        return [in_dtype(t, wanted) for t in value]
    return in_dtype(value, wanted)


def _casting(name: str, policy: str, original: FunctionType) -> Callable[..., Any]:
    """What is called with the arguments of a function that is under autocast."""
    is_concerned = ONLY_IF.get(name)
    names = original.__code__.co_varnames[:original.__code__.co_argcount]
    defaults = dict(zip(reversed(names), reversed(original.__defaults__ or ()), strict=False))

    def casting(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        current = state.current
        if current is None or kwargs.get("out") is not None:
            return original(*args, **kwargs)
        if is_concerned is not None and not is_concerned(defaults | dict(zip(names, args, strict=False)) | kwargs):
            return original(*args, **kwargs)
        wanted = current if policy == LOWER else dtypes.float32 if policy == FULL else _widest(args, kwargs, current)
        args = tuple([_cast(x, wanted) for x in args])
        kwargs = {key: _cast(x, wanted) for key, x in kwargs.items()}
        state.current = None
        try:
            return original(*args, **kwargs)
        finally:
            state.current = current

    return casting


def _casting_layer(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a layer of a recurrent network: torch's kernel for a whole one is a product, others are composed."""

    def casting(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from whygrad.amp.recurrent import has_projection, run_layer

        current = state.current
        if current is None:
            return original(*args, **kwargs)
        cell, *given = args[1:]
        if cell != "lstm" or given[3] is not None or has_projection(given[2]):
            return run_layer(cell, *given)
        state.current = None
        try:
            return original(TABLE["mkldnn_rnn_layer"], cell, *[_cast(x, current) for x in given])
        finally:
            state.current = current

    return casting


def _entry(*args, _casting, **kwargs):  # type: ignore[no-untyped-def]
    # Runs as the code of a torch function, whose keyword default `_casting` then is: see `_with_autocast`.
    return _casting(args, kwargs)


class _Swapped:
    """A function with its two codes."""

    def __init__(self, function: FunctionType, casting: Callable[[FunctionType], Any]) -> None:
        self.function = function
        self.plain = code = function.__code__
        original = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
        original.__kwdefaults__ = function.__kwdefaults__
        # The name is the function's, so that errors find it in the stack; the free variables are there because it has them.
        self.entry = _entry.__code__.replace(co_name=code.co_name, co_qualname=code.co_qualname, co_freevars=code.co_freevars)
        # A default that the plain code has no parameter for is no default of it.
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "_casting": casting(original)}


_swapping = threading.Lock()
_users = 0
_found: list[_Swapped] = []


def _begin() -> None:
    global _users
    with _swapping:
        _users += 1
        if _users == 1:
            for swapped in _found or _find():
                swapped.function.__code__ = swapped.entry


class _User:
    """Keeps the functions swapped while it lives: no longer than its thread, even if that ends inside of autocast."""

    def __init__(self) -> None:
        _begin()
        weakref.finalize(self, _end).atexit = False


def _end() -> None:
    global _users
    with _swapping:
        _users -= 1
        if _users == 0:
            for swapped in _found:
                swapped.function.__code__ = swapped.plain


def _find() -> list[_Swapped]:
    """All functions that stand for the names in the tables: in torch, on Tensor, in nn.functional, and those behind."""
    import whygrad
    from whygrad.functional.run import FUNCTIONS, METHODS
    from whygrad.nn import functional as F
    from whygrad.nn.functional import recurrent, torch_names

    seen: set[int] = set()
    _found.append(_Swapped(cast(FunctionType, recurrent.run_layer), _casting_layer))
    for policy in (LOWER, FULL, WIDEST):
        for name in policy.split():
            space, _, last = name.rpartition(".")
            homes = ([vars(import_module(f"whygrad.{space}"))] if space else
                     [vars(whygrad), FUNCTIONS, METHODS, vars(Tensor), vars(F), vars(torch_names)])
            for home in homes:
                function: Any = home.get(last)
                while hasattr(function, "__wrapped__"):  # sparse tensors are asked first (see sparse/dispatch.py)
                    function = function.__wrapped__
                if isinstance(function, FunctionType) and id(function) not in seen:
                    seen.add(id(function))
                    _found.append(_Swapped(function, partial(_casting, last, policy)))
    return _found
