"""whygrad: PyTorch's autograd on NumPy, which can always tell you why."""

import whygrad.autograd.calls
from whygrad._methods import install
from whygrad._tensor import Size, Tensor
from whygrad.functional.run import FUNCTIONS

install()
globals().update(FUNCTIONS)
autograd.grad = autograd.calls.grad
autograd.backward = autograd.calls.backward
