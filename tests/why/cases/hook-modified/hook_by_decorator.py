# hook-modified | wrong-value | hook
# evidence: False
import torch
import torch.nn as nn

torch.manual_seed(0)
lin = nn.Linear(3, 1, bias=False)


@lin.weight.register_hook  #C
def soften(grad):
    return grad * 0.1


x = torch.randn(5, 3)
lin(x).sum().backward()
got, want = lin.weight.grad, x.sum(0, keepdim=True)  #R
print("as computed by hand:", torch.allclose(got, want))
print("evidence:", torch.allclose(got, want))
