"""The garbage collector pauses while whygrad is imported, and never looks at what the import has made.

These 50,000 objects (functions, classes, rows, NumPy's) live as long as the process. To look through them during the import took
6 ms, and in the first full collection, which a short program has just after its imports, 12 to 17 ms.
"""

from __future__ import annotations

import gc

import numpy  # noqa: F401 (if it is missing, the collector is not left off)

_collects = gc.isenabled()
# What exists before the import is never looked at again either. In a process that has run for a while, a notebook's say, that
# could be garbage of the program, so nothing is frozen there.
_is_new_process = gc.get_stats()[2]["collections"] <= 2
gc.disable()


def finish() -> None:
    if _is_new_process:
        gc.freeze()
    if _collects:
        gc.enable()
