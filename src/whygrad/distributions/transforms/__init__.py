"""Invertible transforms with known log |det J|."""

from whygrad.distributions.transforms import base, joined, pointwise, vectors
from whygrad.distributions.transforms.base import *  # noqa: F403
from whygrad.distributions.transforms.base import _InverseTransform
from whygrad.distributions.transforms.joined import *  # noqa: F403
from whygrad.distributions.transforms.pointwise import *  # noqa: F403
from whygrad.distributions.transforms.pointwise import _clipped_sigmoid
from whygrad.distributions.transforms.vectors import *  # noqa: F403

__all__ = sorted([*base.__all__, *joined.__all__, *pointwise.__all__, *vectors.__all__])
