"""The base of all distributions: shapes, validation, expansion, printing."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from whygrad.autograd.grad_mode import no_grad
from whygrad.base.errors import warn
from whygrad.base.torch_homes import own_module
from whygrad.core.tensor import Size, Tensor
from whygrad.distributions import constraints
from whygrad.distributions.utils import Real, Values, broadcast_all, lazy_property

__all__ = ["Distribution", "Real"]

Shape = Sequence[int]


def validated(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Decorates a method of a value: with `validate_args`, check first that the value is in the support."""

    @functools.wraps(method)
    def checked(self: Any, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return method(self, value)

    return checked


class Distribution:
    """A batch of probability distributions.

    `expand` reads what a subclass declares: its parameters are the names in `arg_constraints` (unless that is a property),
    `_parts` are further attributes that begin with the batch shape (tensors or distributions), and `_constants` do not
    depend on the batch.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _parts: tuple[str, ...] = ()
    _constants: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set the default of `validate_args`."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Shape = (), event_shape: Shape = (),
                 validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warn(f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                 "initialize the distribution with `validate_args=False` to turn off validation.")
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}")

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            """Parameters are stored by name."""

    def _broadcast(self, **parameters: Any) -> Size:
        """Store the parameters, broadcast to tensors of one shape, which is returned."""
        tensors = broadcast_all(*parameters.values())
        self.__dict__.update(zip(parameters, tensors, strict=True))
        return tensors[0].shape

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """The distribution with an expanded batch shape, without copies or validation."""
        new = self._copy_of_parts(batch_shape, _instance)
        Distribution.__init__(new, Size(batch_shape), self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _copy_of_parts(self, batch_shape: Shape, _instance: Any) -> Any:
        ours: Any = next(c for c in type(self).__mro__ if own_module(c).startswith(f"{__package__}."))
        if ours.__init__ is Distribution.__init__:
            raise NotImplementedError
        new = self._get_checked_instance(ours, _instance)
        parameters = ours.arg_constraints
        for name in (*([] if isinstance(parameters, property) else parameters), *ours._parts):
            if name in self.__dict__:
                setattr(new, name, self._expanded(getattr(self, name), Size(batch_shape)))
        for name in ours._constants:
            setattr(new, name, getattr(self, name))
        return new

    def _expanded(self, part: Any, batch_shape: Size) -> Any:
        if isinstance(part, Distribution):
            return part.expand(batch_shape)
        return part.expand(batch_shape + part.shape[len(self._batch_shape):])

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters' batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint of each parameter."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Values:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Values:
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Values:
        """The expected square of the distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Values:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Values:
        """Samples without gradients, of shape sample_shape + batch_shape + event_shape."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Values:
        """Samples that are differentiable functions of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Values:
        """n samples. torch advises `sample((n,))` instead."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample(Size((n,)))

    def log_prob(self, value: Values) -> Values:
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value: Values) -> Values:
        """The probability of being at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Values) -> Values:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Values:
        """All values of a discrete distribution along dim 0; expanded over the batch if `expand`."""
        raise NotImplementedError

    def entropy(self) -> Values:
        """The expectation of -log_prob."""
        raise NotImplementedError

    def perplexity(self) -> Values:
        """exp of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Shape = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _enumerated(self, values: Values, expand: bool) -> Values:
        """Values along dim 0, with a size-1 dim for each batch dim, expanded if `expand`."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, event = value.shape, self._event_shape
        if shape[len(shape) - len(event):] != event:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {event}.")
        expected = Size((*self._batch_shape, *event))
        for i, j in zip(reversed(shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warn(f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                 "distribution with `validate_args=False` to turn off validation.")
            return
        if not support.check(value).all():
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the "
                             f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def _get_checked_instance(self, cls: type[Any], _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ "
                                      "method must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        known = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        shown = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in known.items()]
        return f"{type(self).__name__}({', '.join(shown)})"
