"""torch-named functions, by family. Each registers itself with `public` (see run.py)."""

from whygrad.backends import tensor
from whygrad.core.record import apply
from whygrad.functional import (
    activation,
    added_products,
    arithmetic,
    compare,
    complex_numbers,
    convert,
    counting,
    creation,
    ctc,
    distance,
    einsum,
    factor,
    gathering,
    indexing,
    inplace_views,
    joining,
    linalg,
    lowrank,
    memory,
    misc,
    pairwise,
    pointwise,
    random,
    rearrange,
    reduction,
    scan,
    scatter_reduce,
    shape,
    softmax,
    solve,
    sorting,
    sparsity,
    special,
    spectral,
    stft,
    storages,
    windows,
)
from whygrad.functional.promotion import promote
from whygrad.functional.run import FUNCTIONS, METHODS

tensor.connect(apply=apply, promote=promote, reshape=shape.reshape_to)
