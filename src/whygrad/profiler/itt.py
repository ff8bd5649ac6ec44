"""torch.profiler.itt: marks for Intel's tools, which there are none of."""


def is_available() -> bool:
    return False
