# leaf-replaced | none | leaf
# evidence: False
import torch

torch.manual_seed(0)
W1 = torch.randn(5, 8, requires_grad=True) * 0.1  #C
b1 = torch.zeros(8, requires_grad=True)
W2 = torch.randn(8, 1, requires_grad=True)
x, y = torch.randn(20, 5), torch.randn(20, 1)
h = torch.tanh(x @ W1 + b1)
loss = ((h @ W2 - y) ** 2).mean()
loss.backward()
for name, t in {"W1": W1, "b1": b1, "W2": W2}.items():
    g = t.grad  #R
    print(name, None if g is None else tuple(g.shape))
print("evidence:", W1.is_leaf)
