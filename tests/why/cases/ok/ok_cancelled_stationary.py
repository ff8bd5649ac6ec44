# ok
# evidence: True True True True
import torch
import torch.nn.functional as F

b = torch.zeros(1, requires_grad=True)
((b - torch.tensor([1.0, -1.0])) ** 2).mean().backward()
lv = torch.zeros(2, requires_grad=True)
(-0.5 * (1 + lv - lv.exp()).sum()).backward()
uniform = torch.zeros(4, requires_grad=True)
uniform.softmax(0).square().sum().backward()
perfect = torch.tensor([[1000.0, 0.0]], requires_grad=True)
F.cross_entropy(perfect, torch.tensor([0])).backward()
print("evidence:", *[bool((t.grad == 0).all()) for t in (b, lv, uniform, perfect)])
