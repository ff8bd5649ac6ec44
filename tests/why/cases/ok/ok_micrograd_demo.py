# ok
# evidence: 138.8338
import torch

x1 = torch.Tensor([2.0]).double(); x1.requires_grad = True
x2 = torch.Tensor([0.5]).double(); x2.requires_grad = True
w1 = torch.Tensor([-3.0]).double(); w1.requires_grad = True
w2 = torch.Tensor([1.0]).double(); w2.requires_grad = True
b = torch.Tensor([6.88]).double(); b.requires_grad = True
n = x1 * w1 + x2 * w2 + b
o = torch.tanh(n)
o.backward()
print(x1.grad.item() < 0, w2.grad.item())
a = torch.tensor(-4.0, requires_grad=True)
bb = torch.tensor(2.0, requires_grad=True)
c = a + bb
d = a * bb + bb ** 3
c = c + c + 1
c = c + 1 + c + (-a)
d = d + d * 2 + (bb + a).relu()
d = d + 3 * d + (bb - a).relu()
e = c - d
f = e ** 2
g = f / 2.0
g = g + 10.0 / f
g.backward()
print("evidence:", round(a.grad.item(), 4))
