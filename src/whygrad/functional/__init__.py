"""torch-named functions, by family. Each registers itself with `public` (see run.py)."""

from whygrad.functional import convert, creation, indexing, linalg, pointwise, random, reduction, shape
from whygrad.functional.run import FUNCTIONS, METHODS

__all__ = ["FUNCTIONS", "METHODS", "convert", "creation", "indexing", "linalg", "pointwise", "random", "reduction", "shape"]
