"""The largest sum of tensors' bytes during a step, beyond what was there before."""

from __future__ import annotations

from collections.abc import Callable


def peak_of(library: str, step: Callable[[], None]) -> int:
    return _peak_of_torch(step) if library == "torch" else _peak_of_whygrad(step)


def _peak_of_whygrad(step: Callable[[], None]) -> int:
    """NumPy reports its arrays to tracemalloc."""
    import tracemalloc

    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    step()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak


def _peak_of_torch(step: Callable[[], None]) -> int:
    """torch's profiler reports every allocation and release."""
    import torch

    with torch.profiler.profile(profile_memory=True) as profile:
        step()
    held = peak = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak
