# ok
# evidence: True
import torch

torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
data = torch.randn(20, 3)
for x in data:
    loss = torch.sigmoid(x @ w) / len(data)
    loss.backward()
full = torch.autograd.grad(torch.sigmoid(data @ w).mean(), w)[0]
print("evidence:", torch.allclose(w.grad, full, atol=1e-6))
