"""The vocabularies: what `xp` can be. Both are generated from the table, name by name, when first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from numpy import asarray, generic

from whygrad.backends import numpy_layout
from whygrad.backends.fp_warnings import quiet
from whygrad.backends.half_precision import in_float32, is_bfloat16, is_half, rounds_once
from whygrad.base import acceleration
from whygrad.ops import TABLE, Row
from whygrad.ops.vocabulary import Vocabulary

# The modules with NumPy's functions, in the order in which they are searched.
FAMILIES = [import_module(f"whygrad.backends.numpy_{family}") for family in [
    "pointwise", "choice", "activation", "reduction", "linear", "layout", "index", "conv", "pool", "resample", "convert",
    "nn", "recurrent", "attention", "special", "implicit", "factor", "fft", "solve", "spectral", "sorting", "counting",
    "scan", "pairwise", "scatter_reduce", "bags", "ctc", "misc", "bessel", "polynomials"
]]


class RawVocabulary(Vocabulary):
    """Rows on bare arrays: NumPy's function where one of the families has it, else the row's own definition."""

    def __init__(self) -> None:
        self._passes: dict[Any, Any] = {}

    def fused(self, definition: Any, *arrays: Any, **statics: Any) -> Any:
        """The NumPy function of the definition's name, if one of the families has it, and perhaps a kernel."""
        found = self.__dict__.get(definition.__name__)
        if found is None:
            found = self._bind(definition.__name__, partial(definition, self))
        return found(*arrays, **statics)

    def joined(self, *gradients: Any, axis: int) -> Any:
        """No copy if the parts lie end to end in memory."""
        whole = numpy_layout.lying_end_to_end(gradients, axis)
        return self.cat(*gradients, axis=axis) if whole is None else whole

    def in_one_pass(self, function: Any, *args: Any) -> Any:
        found = self._passes.get(function)
        if found is None:
            numpy = quiet(partial(function, self))
            acceleration.bind_elementwise(self._passes, function, function.__name__, numpy, function, is_pass=True)
            found = self._passes[function]
        return found(*[asarray(x) if isinstance(x, generic) else x for x in args])

    def _defined(self, row: Row) -> Any:
        """The row's own definition, silenced where that is needed: views compute nothing, and backward is silent as a whole."""
        found = partial(row.forward, self)
        return quiet(found) if row.traits.quiet and not row.view and not row.name.endswith("_backward") else found

    def __getattr__(self, name: str) -> Any:
        return self._bind(name, self._defined(TABLE[name]) if name in TABLE else None)

    def _bind(self, name: str, definition: Any) -> Any:
        found = next((function for family in FAMILIES if (function := getattr(family, name, None)) is not None), definition)
        if found is None:
            raise AttributeError(f"no row is called '{name}'")
        half = TABLE[name].traits.half if name in TABLE and not rounds_once(found) else "native"
        if half != "native":
            found = in_float32(found, is_bfloat16 if half == "bfloat16" else is_half)
        return acceleration.bind_row(name, found, self.__dict__)


class TensorVocabulary(Vocabulary):
    """Rows on Tensors: applied and recorded, by functions of the packages above (see functional/__init__.py)."""

    def connect(self, *, apply: Callable[..., Any], promote: Callable[..., Any], reshape: Callable[..., Any]) -> None:
        self._apply, self._promote, self._reshape = apply, promote, reshape

    def kept(self, values: Any, again: Any) -> Any:
        return again()

    def reshape(self, x: Any, *, shape: tuple[int, ...]) -> Any:
        """A view or a copy, as the strides allow: two different rows."""
        return self._reshape(x, shape)

    def __getattr__(self, name: str) -> Any:
        if name not in TABLE:
            raise AttributeError(f"no row is called '{name}'")
        row, apply, promote = TABLE[name], self._apply, self._promote

        def promoted(*inputs: Any, **statics: Any) -> Any:
            return apply(row, *promote(name, *inputs), **statics)

        def chosen(condition: Any, a: Any, b: Any) -> Any:
            return apply(row, condition, *promote(name, a, b))

        found = chosen if name == "where" else promoted if row.broadcasts and len(row.inputs) > 1 else partial(apply, row)
        self.__dict__[name] = found
        return found


raw = RawVocabulary()
tensor = TensorVocabulary()
