"""Registries of transforms from unconstrained reals to constrained sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.distributions import constraints, transforms
from whygrad.distributions.utils import _Number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """Maps the class of a constraint to a factory of transforms."""

    def __init__(self) -> None:
        self._registry: dict[type[Any], Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Register for the class of a constraint; without a factory, as a decorator of it."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not (isinstance(constraint, type) and issubclass(constraint, constraints.Constraint)):
            raise TypeError("Expected constraint to be either a Constraint subclass or instance, but got "
                            f"{constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> transforms.Transform:
        """The transform onto this constraint's set."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _beyond(bound: str, scale: int) -> Factory:
    return lambda c: transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(getattr(c, bound), scale)])


def _into_interval(c: Any) -> transforms.Transform:
    low, high = c.lower_bound, c.upper_bound
    if isinstance(low, _Number) and low == 0 and isinstance(high, _Number) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


# constraint classes; the transform for both registries, or one for each (None: not registered)
_BOTH: list[tuple[tuple[Any, ...], Factory]] = [
    ((constraints.real,), lambda c: transforms.identity_transform),
    ((constraints.greater_than, constraints.greater_than_eq), _beyond("lower_bound", 1)),
    ((constraints.less_than,), _beyond("upper_bound", -1)),
    ((constraints.interval, constraints.half_open_interval), _into_interval),
    ((constraints.corr_cholesky,), lambda c: transforms.CorrCholeskyTransform()),
]
for _kinds, _factory in _BOTH:
    for _kind in _kinds:
        biject_to.register(_kind, _factory)
        transform_to.register(_kind, _factory)


def _register_composed(to: ConstraintRegistry) -> None:
    """Composite constraints: their transforms are composed of transforms from the same registry."""
    to.register(constraints.independent,
                lambda c: transforms.IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims))
    to.register(constraints.cat, lambda c: transforms.CatTransform([to(part) for part in c.cseq], c.dim, c.lengths))
    to.register(constraints.stack, lambda c: transforms.StackTransform([to(part) for part in c.cseq], c.dim))


for _registry in (biject_to, transform_to):
    _register_composed(_registry)

biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda c: transforms.PositiveDefiniteTransform())
