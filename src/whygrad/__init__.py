"""whygrad: PyTorch's autograd on NumPy, which can always tell you why."""

import whygrad.autograd.calls
from whygrad._methods import install
from whygrad._tensor import Size, Tensor
from whygrad.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from whygrad.functional.run import FUNCTIONS

install()
globals().update(FUNCTIONS)
autograd.grad = autograd.calls.grad
autograd.backward = autograd.calls.backward
