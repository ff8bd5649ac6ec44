# grad-cleared | none | was set to none
# evidence: None
import torch

p = torch.ones(1, requires_grad=True)
p.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))  #C
(p * 2).backward()
print("evidence:", p.grad)  #R
