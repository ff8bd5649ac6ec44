import torch

a = torch.tensor([1.0, 2.0], requires_grad=False)

b = torch.tensor([3.0, 4.0], requires_grad=True)

c = a * b

loss = c.mean()
loss.backward()

try:
    a.grad = torch.tensor([5.0, 6.0])
except RuntimeError as e:
    print(e)

print("a.grad:", a.grad)
print("b.grad:", b.grad)
