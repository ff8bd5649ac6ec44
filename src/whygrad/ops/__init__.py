"""The table of ops. Importing this package declares every row; see README.md for how to read and write one."""

from importlib import import_module

from whygrad.ops.table import TABLE, NoGrad, Row

for _family in [
    "activation", "arithmetic", "attention", "bags", "bessel", "compare", "conv", "convert",
    "ctc", "factor", "fft", "index", "inplace", "layout", "linear", "lu", "misc", "nn", "orthogonal",
    "pairwise", "pointwise", "pool", "random", "recurrent", "reduction", "resample", "scan", "scatter_reduce", "solve",
    "sorting", "special", "spectral", "weight_norm"
]:
    import_module(f"{__name__}.{_family}")
