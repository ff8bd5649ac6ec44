# ok
# evidence: True
import torch

torch.manual_seed(0)
W = torch.randn(3, 4)
x = torch.randn(4, requires_grad=True)
y = torch.tanh(W @ x)
rows = []
for i in range(3):
    x.grad = None
    y[i].backward(retain_graph=True)
    rows.append(x.grad.clone())
J = torch.stack(rows)
exact = (1 - y.detach() ** 2)[:, None] * W
print("evidence:", torch.allclose(J, exact))
