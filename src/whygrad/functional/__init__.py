"""torch-named functions, by family. Each registers itself with `public` (see run.py)."""

from whygrad.functional import (
    activation,
    arithmetic,
    compare,
    convert,
    creation,
    distance,
    einsum,
    factor,
    gathering,
    gradient,
    indexing,
    inplace_views,
    joining,
    linalg,
    memory,
    pointwise,
    random,
    rearrange,
    reduction,
    shape,
    softmax,
    special,
)
from whygrad.functional.run import FUNCTIONS, METHODS
