import einx
import torch

torch.manual_seed(0)
x = torch.randn(2, 3, 4, requires_grad=True)
out = einx.dot("b c [d], [d->e] -> b c e" if False else "a b c, c d -> a b d", x, torch.randn(4, 5))
loss = einx.sum("a [b] d", out).pow(2).sum() + einx.mean("a b [c]", x).sum()
loss.backward()
print(loss.item(), x.grad.norm().item())
