"""torch-named functions, by family. Each registers itself with `public` (see run.py)."""

from whygrad.functional import activation, arithmetic, compare, convert, creation, einsum, gathering, gradient, indexing, inplace_views, joining, linalg, memory, pointwise, random, rearrange, reduction, shape, softmax, distance
from whygrad.functional.run import FUNCTIONS, METHODS

__all__ = ["FUNCTIONS", "METHODS", "activation", "arithmetic", "compare", "convert", "creation", "einsum", "gathering", "gradient", "indexing", "inplace_views", "joining", "linalg", "memory", "pointwise", "random", "rearrange", "reduction", "shape"]
