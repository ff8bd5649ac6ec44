"""The same programs on PyTorch and on whygrad, timed in alternating processes. Run with `python -m benchmarks`."""
