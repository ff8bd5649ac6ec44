import torch

x = torch.randn(3, requires_grad=True)
y = x * 2
z = y.mean()

grad_z = torch.tensor([0.1, 0.5, 0.4])
z.backward(gradient=grad_z)

print(x.grad)
print(y.requires_grad)
print(grad_z.requires_grad)
