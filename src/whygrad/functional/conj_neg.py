"""Views of complex numbers whose conjugate, and views of any whose negative, is taken when they are read.

In the memory of such a view lies what it was taken of: `_memory`. Its `_array` is a copy with the numbers it stands for,
laid out like the memory, and cannot be written to: whoever writes into a turned view does it with `put`. Rows that give
views work on the memory, so a view of a turned view is turned as well.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from whygrad.base import errors
from whygrad.base.linked import in_order
from whygrad.core.modes import grad_state
from whygrad.core.tensor import TURNED, TURNING, Tensor, cut, wrap
from whygrad.functional.overriding import as_instance, rebuild


class Turned(Tensor):
    """A view whose numbers are conjugated, negated, or both."""

    __slots__ = ()

    _prints_as_tensor = True
    conjugated = False
    negated = False

    @classmethod
    def turn(cls, array: np.ndarray) -> np.ndarray:
        """From memory to numbers, and back."""
        if cls.conjugated:
            array = np.conj(array)
        return np.negative(array) if cls.negated else array

    @property
    def _array(self) -> np.ndarray:
        return copied_out(type(self), self._memory)

    @_array.setter
    def _array(self, array: np.ndarray) -> None:
        """Other numbers, just as they are: nothing is left to be turned."""
        self._memory = array
        self.__class__ = Tensor  # type: ignore[assignment]

    def put(self, numbers: np.ndarray) -> None:
        """Write numbers into the memory."""
        self._memory[...] = self.turn(numbers)

    @property  # type: ignore[misc]
    def data(self) -> Tensor:
        result: Tensor = as_instance(type(self), wrap(self._memory))
        result._cause = cut(self, "detach", ".data")
        return result

    @data.setter
    def data(self, value: Any) -> None:
        Tensor.data.fset(self, value)  # type: ignore[attr-defined]

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The numbers, if the copy is asked for."""
        if force:
            return np.array(self._array)
        if grad_state.grad and self.requires_grad:
            raise errors.noted(RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                                            "instead."), "numpy_of_tracked", self)
        bit, way = ("conjugate", "conj") if self.conjugated else ("negative", "neg")
        raise RuntimeError(f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.resolve_{way}().numpy() instead.")

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuild, (type(self), self._memory, self.requires_grad, self.__dict__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) not in memo:
            if not self.is_leaf:
                raise errors.noted(RuntimeError(errors.DEEPCOPY_NON_LEAF), "deepcopy_non_leaf", self)
            memo[id(self)] = wrap(np.array(self._array)).requires_grad_(self.requires_grad)  # type: ignore[attr-defined]
        return memo[id(self)]  # type: ignore[no-any-return]


class Conjugated(Turned):
    __slots__ = ()
    conjugated = True


class Negated(Turned):
    __slots__ = ()
    negated = True


class ConjugatedAndNegated(Turned):
    __slots__ = ()
    conjugated = negated = True


# By whether it conjugates and whether it negates.
KINDS: dict[tuple[bool, bool], type[Tensor]] = {
    (kind.conjugated, kind.negated): kind for kind in (Conjugated, Negated, ConjugatedAndNegated)} | {(False, False): Tensor}
TURNED.update({Conjugated, Negated, ConjugatedAndNegated})


def kind_of(t: Any) -> type[Turned]:
    """How a tensor is turned; of one that stands for a batch, how the batch is."""
    while hasattr(t, "_whole"):
        t = t._whole
    return type(t) if isinstance(t, Turned) else Turned


def resolved(t: Tensor) -> Tensor:
    """A plain tensor with the numbers of a turned one; any other itself."""
    return wrap(np.array(t._array)) if isinstance(t, Turned) else t


def turn_over(result: Tensor, *, conjugated: bool = False, negated: bool = False) -> None:
    """What a row that conjugates or negates does to the view it has made."""
    kind = kind_of(result)
    result.__class__ = KINDS[kind.conjugated ^ conjugated, kind.negated ^ negated]  # type: ignore[assignment]


TURNING["conj_view"] = partial(turn_over, conjugated=True)
TURNING["neg_view"] = partial(turn_over, negated=True)


def turning(steps: Any) -> Any:
    """What the turning steps among these do to the numbers."""
    names = [step[1].name for step in in_order(steps)]
    kind = KINDS[names.count("conj_view") % 2 == 1, names.count("neg_view") % 2 == 1]
    return kind.turn if issubclass(kind, Turned) else None


class _Copy(np.ndarray):
    """Owns the numbers of a turned view. By its type in-place writers see that to write into them would change nothing."""


def copied_out(kind: type[Turned], memory: np.ndarray) -> np.ndarray:
    """The numbers of a turned view, with the strides of its memory, only to be read."""
    reach = sum([(n - 1) * stride for n, stride in zip(memory.shape, memory.strides, strict=True)]) if memory.size else 0
    room = _Copy(reach // memory.itemsize + 1, memory.dtype)
    numbers = np.ndarray(memory.shape, memory.dtype, room, 0, memory.strides)
    numbers[...] = kind.turn(memory)
    numbers.flags.writeable = False
    return numbers
