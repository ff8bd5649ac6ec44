"""Constraints: sets of valid values of a parameter or a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import whygrad as torch
from whygrad import linalg
from whygrad.base import dtypes
from whygrad.core.tensor import Tensor, wrap
from whygrad.distributions.utils import Values

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
           "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
           "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
           "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
           "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval"]


class Constraint:
    """A set of valid values. `check` reduces the last `event_dim` dims, which form one event."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Values) -> Any:
        """A boolean for each event: whether it is valid."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__[1:] + "()"


class _Dependent(Constraint):
    """Placeholder for a constraint that depends on other parameters; what is known without them can be given."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def _known(self, fact: str) -> Any:
        value = getattr(self, f"_{fact}")
        if value is NotImplemented:
            raise NotImplementedError(f".{fact} cannot be determined statically")
        return value

    is_discrete = property(lambda self: self._known("is_discrete"))
    event_dim = property(lambda self: self._known("event_dim"))

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, x: Values) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether the constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):  # type: ignore[misc]
    """A property on instances, and on the class a dependent constraint."""

    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def _check_constraint(base: Any) -> None:
    if not isinstance(base, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(base).__name__}")


def _all_but(result: Values, dims: int) -> Values:
    return result.reshape((*result.shape[:dims], -1)).all(-1)


class _IndependentConstraint(Constraint):
    """Reinterprets the last dims of a constraint as event dims."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        _check_constraint(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError("reinterpreted_batch_ndims must be an int, got "
                                 f"{type(reinterpreted_batch_ndims).__name__}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value: Values) -> Any:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_but(result, result.dim() - self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: a value must be in the support of every component."""

    def __init__(self, base_constraint: Constraint) -> None:
        _check_constraint(base_constraint)
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_but(result, value.dim() - self.event_dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Bounded(Constraint):
    """A constraint with bounds, whose attribute names are in `bounds`."""

    bounds: tuple[str, ...] = ()

    def __init__(self, *values: Any, **named: Any) -> None:
        given = dict(zip(self.bounds, values, strict=False)) | named
        if set(given) != set(self.bounds) or len(values) + len(named) != len(self.bounds):
            raise TypeError(f"{type(self).__name__}() takes {' and '.join(self.bounds)}")
        self.__dict__.update(given)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={getattr(self, name)}' for name in self.bounds)})"


def _bounded(name: str, bounds: str, test: Callable[[Any, Any], Any], doc: str, discrete: bool = False) -> Any:
    members = {"bounds": tuple(bounds.split()), "check": test, "is_discrete": discrete, "__doc__": doc, "__module__": __name__}
    return type(name, (_Bounded,), members)


def _whole(value: Any, within: Any) -> Any:
    """Whether numbers are integers, and in bounds."""
    is_integral = isinstance(value, Tensor) and value._array.dtype.kind in "iub"
    return within if is_integral else (value % 1 == 0) & within


_IntegerInterval = _bounded(
    "_IntegerInterval", "lower_bound upper_bound",
    lambda self, value: _whole(value, (self.lower_bound <= value) & (value <= self.upper_bound)),
    "Integers from the lower to the upper bound, both included.", discrete=True)
_IntegerLessThan = _bounded("_IntegerLessThan", "upper_bound", lambda self, value: _whole(value, value <= self.upper_bound),
                            "Integers up to the bound.", discrete=True)
_IntegerGreaterThan = _bounded("_IntegerGreaterThan", "lower_bound",
                               lambda self, value: _whole(value, value >= self.lower_bound),
                               "Integers from the bound on.", discrete=True)
_GreaterThan = _bounded("_GreaterThan", "lower_bound", lambda self, value: self.lower_bound < value, "Above the bound.")
_GreaterThanEq = _bounded("_GreaterThanEq", "lower_bound", lambda self, value: self.lower_bound <= value,
                          "Not below the bound.")
_LessThan = _bounded("_LessThan", "upper_bound", lambda self, value: value < self.upper_bound, "Below the bound.")
_Interval = _bounded("_Interval", "lower_bound upper_bound",
                     lambda self, value: (self.lower_bound <= value) & (value <= self.upper_bound),
                     "Between the bounds, which are included.")
_HalfOpenInterval = _bounded("_HalfOpenInterval", "lower_bound upper_bound",
                             lambda self, value: (self.lower_bound <= value) & (value < self.upper_bound),
                             "Between the bounds, of which the lower is included.")


def _region(name: str, test: Callable[[Any, Any], Any], doc: str, event_dim: int = 0, discrete: bool = False) -> Any:
    """A constraint given by its test alone."""
    members = {"check": test, "event_dim": event_dim, "is_discrete": discrete, "__doc__": doc, "__module__": __name__}
    return type(name, (Constraint,), members)


def _is_bit(value: Any) -> Any:
    return (value == 0) | (value == 1)


def _is_lower_triangular(value: Any) -> Any:
    return (value.tril() == value).reshape((*value.shape[:-2], -1)).all(-1)


def _is_lower_cholesky(value: Any) -> Any:
    return _is_lower_triangular(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _is_corr_cholesky(value: Any) -> Any:
    tolerance = 10 * dtypes.finfo(value.dtype).eps * value.shape[-1]
    lengths = value.detach().pow(2).sum(-1).sqrt()
    return _is_lower_cholesky(value) & ((lengths - 1).abs() <= tolerance).all(-1)


_Boolean = _region("_Boolean", lambda self, value: _is_bit(value), "0 or 1.", discrete=True)
_OneHot = _region("_OneHot", lambda self, value: _is_bit(value).all(-1) & (value.sum(-1) == 1),
                  "Vectors with a single 1.", event_dim=1, discrete=True)
_Real = _region("_Real", lambda self, value: value == value, "Any number; not nan.")
_Simplex = _region("_Simplex", lambda self, value: (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6),
                   "Shares of one, along the last dim.", event_dim=1)
_LowerTriangular = _region("_LowerTriangular", lambda self, value: _is_lower_triangular(value),
                           "Lower triangular matrices.", event_dim=2)
_LowerCholesky = _region("_LowerCholesky", lambda self, value: _is_lower_cholesky(value),
                         "Lower triangular matrices with a positive diagonal.", event_dim=2)
_CorrCholesky = _region("_CorrCholesky", lambda self, value: _is_corr_cholesky(value),
                        "Factors of correlation matrices: lower Cholesky with rows of length one.", event_dim=2)


class _Multinomial(Constraint):
    """Counts whose sum is at most a bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Any) -> Any:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Values) -> Any:
        return torch.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=dtypes.bool_)


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        square = super().check(value)
        if not square.all():
            return square
        other = value.mT
        return ((value - other).abs() <= 1e-6 + 1e-5 * other.abs()).all(-2).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return linalg.cholesky_ex(value.detach()).info == 0 if symmetric.all() else symmetric


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices with no negative eigenvalue."""

    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return wrap(np.asarray((np.linalg.eigvalsh(value._array) >= 0).all(-1)))


class _Joined(Constraint):
    """Several constraints, one for each part of a tensor along `dim`."""

    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))

    def _check_dim(self, value: Any) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Joined):
    """Constraints of consecutive parts of the given lengths."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        parts = value.split(self.lengths, self.dim)
        return torch.cat([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Joined):
    """A constraint for each slice."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        dim: int = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        slices = value.unbind(self.dim)
        return torch.stack([c.check(part) for part, c in zip(slices, self.cseq, strict=False)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
