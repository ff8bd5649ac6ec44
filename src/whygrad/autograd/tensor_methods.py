"""The methods of Tensor that concern its gradient; what they do is in `whygrad.autograd`."""

from whygrad.autograd.calls import tensor_backward
from whygrad.autograd.hooks import register_hook, register_post_accumulate_grad_hook, retain_grad
from whygrad.functional.run import public

public(function=False, name="backward")(tensor_backward)
for _method in (register_hook, register_post_accumulate_grad_hook, retain_grad):
    public(function=False)(_method)
