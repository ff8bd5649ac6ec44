"""The table of ops. Importing this package declares every row; see README.md for how to read and write one."""

from whygrad.ops import (
    activation,
    arithmetic,
    attention,
    compare,
    conv,
    convert,
    factor,
    index,
    inplace,
    layout,
    linear,
    nn,
    pointwise,
    pool,
    random,
    recurrent,
    reduction,
    resample,
    special,
    weight_norm,
)
from whygrad.ops.table import TABLE, NoGrad, Row
