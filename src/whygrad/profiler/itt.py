"""torch.profiler.itt: marks for Intel's tools, which there are none of."""

_whygrad_internal_ = True


def is_available() -> bool:
    return False
