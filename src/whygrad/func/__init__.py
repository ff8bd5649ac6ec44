"""torch.func: function transforms. vmap and derivatives in forward and reverse mode, which nest freely.

Reading order: core/door.py (what a running transform is); in autograd, batched.py and batching/ (vmap), dual.py and
push_forward.py (forward mode), pull_back.py (reverse mode below both); then the public functions here: vmap.py, reverse.py,
forward.py, modules.py.
"""

from whygrad.func.forward import hessian, jacfwd, jvp, linearize
from whygrad.func.modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from whygrad.func.reverse import grad, grad_and_value, jacrev, vjp
from whygrad.func.unwrapping import debug_unwrap, functionalize
from whygrad.func.vmap import vmap

__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "linearize", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
