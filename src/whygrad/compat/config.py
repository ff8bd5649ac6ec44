"""torch.__config__: how the library was built."""

from __future__ import annotations


def show() -> str:
    import numpy

    from whygrad.alias import TORCH_VERSION

    return f"whygrad, which follows PyTorch {TORCH_VERSION}, on:\n  - NumPy {numpy.__version__}\n  - CPU only, USE_CUDA=0\n"


def parallel_info() -> str:
    import os

    from whygrad.base.threads import number_of_threads

    return (f"whygrad's kernels and NumPy's matrix products: {number_of_threads()} threads\n"
            f"OMP_NUM_THREADS: {os.environ.get('OMP_NUM_THREADS', '[not set]')}\n")
