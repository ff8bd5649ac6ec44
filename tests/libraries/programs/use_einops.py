import torch
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange

torch.manual_seed(0)
x = torch.randn(2, 3, 4, 6, requires_grad=True)
y = rearrange(x, "b c (h p) (w q) -> b (h w) (c p q)", p=2, q=3)
z = reduce(y, "b n d -> b d", "max") + repeat(torch.arange(18.0), "d -> b d", b=2)
model = torch.nn.Sequential(Rearrange("b (c d) -> b d c", c=3), torch.nn.Linear(3, 2))
loss = model(z).pow(2).mean()
loss.backward()
print(loss.item(), x.grad.norm().item(), *y.shape)
