import torch

x = torch.randn(10, requires_grad=False)
w = torch.randn(10, requires_grad=True)
b = torch.randn(1, requires_grad=True)

output = torch.mm(x, w) + b

loss = output.sum()
loss.backward()

print(output.grad)
print(w.grad)
