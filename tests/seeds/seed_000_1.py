import torch

x = torch.randn(3, requires_grad=True)
y = x * 2
z = y.mean()
z.backward()

print(x.grad)
print(y.requires_grad)
print(z.requires_grad)
print(z.grad)
