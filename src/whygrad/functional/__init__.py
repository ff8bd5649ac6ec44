"""torch-named functions, by family. Each registers itself with `public` (see run.py)."""

from importlib import import_module

from whygrad.backends import tensor
from whygrad.base.torch_homes import python_functions
from whygrad.core.record import apply
from whygrad.functional import shape
from whygrad.functional.promotion import promote
from whygrad.functional.run import FUNCTIONS, METHODS

for _family in [
    "activation", "added_products", "arithmetic", "compare", "complex_numbers", "convert", "counting", "creation", "ctc",
    "distance", "einsum", "factor", "gathering", "indexing", "inplace_views", "joining", "linalg", "lowrank", "memory",
    "misc", "pairwise", "pointwise", "random", "rearrange", "reduction", "scan", "scatter_reduce", "segments", "shape",
    "softmax", "solve", "sorting", "sparsity", "special", "spectral", "stft", "storages", "windows"
]:
    import_module(f"{__name__}.{_family}")

# torch.functional has torch's functions in Python under their names; our modules of such names stay in sys.modules.
__all__ = [name for name in sorted({*python_functions(), "broadcast_shapes", "istft"}) if name in FUNCTIONS]
globals().update({name: FUNCTIONS[name] for name in __all__})

tensor.connect(apply=apply, promote=promote, reshape=shape.reshape_to)
