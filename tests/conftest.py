"""What holds for every test: one thread each (the runner takes a process for each core), and the same examples every time."""

from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

from hypothesis import settings  # noqa: E402

settings.register_profile("same", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("same")
