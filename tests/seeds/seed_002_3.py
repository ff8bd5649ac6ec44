import torch

x = torch.randn(10, requires_grad=True)
w = torch.randn(10, requires_grad=True)
b = torch.randn(1, requires_grad=True)

with torch.no_grad():
    intermediate = torch.mm(x, w)
    output = intermediate + b

loss = output.sum()
loss.backward()

print(output.grad)
print(x.grad)
