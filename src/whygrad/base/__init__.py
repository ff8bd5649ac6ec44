"""Dtypes, devices, layouts, errors, broadcasting, threads: what knows nothing of tensors."""
