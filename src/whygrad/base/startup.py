"""The garbage collector pauses while whygrad is imported, and never looks at what the import has made.

These 50,000 objects (functions, classes, rows, NumPy's) live as long as the process. To look through them during the import took
6 ms, and in the first full collection, which a short program has just after its imports, 12 to 17 ms.
"""

from __future__ import annotations

import gc

import numpy  # noqa: F401 (if it is missing, the collector is not left off)

_collects = gc.isenabled()
gc.disable()


def finish() -> None:
    gc.freeze()
    if _collects:
        gc.enable()
