"""Dtypes, devices, layouts, errors, broadcasting, threads: the modules that do not depend on Tensor."""
