"""The table of ops. Importing this package declares every row; see README.md for how to read and write one."""

from whygrad.ops import (
    activation,
    arithmetic,
    compare,
    conv,
    convert,
    index,
    inplace,
    layout,
    linear,
    nn,
    pointwise,
    random,
    recurrent,
    reduction,
)
from whygrad.ops.table import TABLE, NoGrad, Row
