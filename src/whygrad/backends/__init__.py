"""The vocabularies: what `xp` can be. Both are generated from the table, name by name, when first used."""

from __future__ import annotations

from functools import partial
from typing import Any

from whygrad.backends import numpy_backend, numpy_pointwise
from whygrad.ops import TABLE

_whygrad_internal_ = True


class RawVocabulary:
    """Rows on bare arrays: NumPy's function where `numpy_backend` has one, else the row's own definition."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(numpy_pointwise, name, None) or getattr(numpy_backend, name, None)
        if found is None:
            if name not in TABLE:
                raise AttributeError(f"no row is called '{name}'")
            found = partial(TABLE[name].forward, self)
        self.__dict__[name] = found
        return found


class TensorVocabulary:
    """Rows on Tensors: applied and recorded."""

    def __getattr__(self, name: str) -> Any:
        from whygrad._apply import apply
        from whygrad.promotion import promote

        if name not in TABLE:
            raise AttributeError(f"no row is called '{name}'")
        row = TABLE[name]

        if name == "where":
            def found(condition: Any, a: Any, b: Any) -> Any:
                return apply(row, condition, *promote(name, a, b))
        elif row.broadcasts and len(row.inputs) > 1:
            def found(*inputs: Any, **statics: Any) -> Any:
                return apply(row, *promote(row.name, *inputs), **statics)
        else:
            found = partial(apply, row)
        self.__dict__[name] = found
        return found


raw = RawVocabulary()
tensor = TensorVocabulary()
