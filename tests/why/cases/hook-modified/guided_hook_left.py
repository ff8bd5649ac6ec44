# hook-modified | wrong-value | hook
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


class GuidedBackprop:
    def __init__(self, model):
        self.handles = [m.register_full_backward_hook(self.rectify) for m in model if isinstance(m, nn.ReLU)]  #C

    @staticmethod
    def rectify(module, grad_in, grad_out):
        return (grad_in[0].clamp(min=0),)


explainer = GuidedBackprop(net)
x = torch.randn(2, 4)
w_true = torch.autograd.grad(nn.Sequential(net[0], nn.ReLU(), net[2])(x).sum(), net[0].weight)[0]
net(x).sum().backward()
g = net[0].weight.grad  #R
print("evidence:", not torch.allclose(g, w_true))
