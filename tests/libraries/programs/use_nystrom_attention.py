import torch
from nystrom_attention import Nystromformer

torch.manual_seed(0)
model = Nystromformer(dim=16, depth=1, heads=2, dim_head=8, num_landmarks=4)
x = torch.randn(1, 16, 16, requires_grad=True)
out = model(x)
out.pow(2).sum().backward()
print(out.norm().item(), x.grad.norm().item())
