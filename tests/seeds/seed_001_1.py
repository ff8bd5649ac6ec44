import torch

a = torch.tensor([1.0, 2.0], requires_grad=False)
print("a.requires_grad:", a.requires_grad)
print("a.grad:", a.grad)

b = torch.tensor([3.0, 4.0], requires_grad=True)

c = a * b
print("c.requires_grad:", c.requires_grad)

loss = c.mean()
loss.backward()

print("a.grad:", a.grad)
print("b.grad:", b.grad)
