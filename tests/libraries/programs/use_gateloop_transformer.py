import torch
from gateloop_transformer import SimpleGateLoopLayer

torch.manual_seed(0)
layer = SimpleGateLoopLayer(8)
x = torch.randn(1, 12, 8, requires_grad=True)
out = layer(x)
out.sum().backward()
print(out.norm().item(), x.grad.norm().item())
