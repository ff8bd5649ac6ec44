"""torch.linalg: every function that is declared with `linalg_function`."""

from whygrad.base.door import SPECS
from whygrad.base.unsupported import absent_from
from whygrad.functional import linalg as _functions
from whygrad.functional.matrices import LinAlgError
from whygrad.functional.run import linalg_function

linalg_function()(_functions.matmul)
_found = {name.rpartition(".")[2]: spec.function for name, spec in SPECS.items() if name.startswith("torch.linalg.")}
globals().update(_found)
__getattr__ = absent_from("torch.linalg")

__all__ = ["LinAlgError", *sorted(_found)]
