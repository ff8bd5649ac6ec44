# leaf-replaced, grad-mode-off | none | no_grad/leaf
# evidence: [False, True]
import torch

torch.manual_seed(0)
x, y = torch.randn(10), torch.randn(10)
w = torch.tensor(0.0, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)
seen = []
for _ in range(2):
    loss = ((w * x + b - y) ** 2).mean()
    loss.backward()
    gw = w.grad  #R
    seen.append(gw is None)
    if gw is None:
        break
    with torch.no_grad():
        w = w - 0.1 * gw  #C
print("evidence:", seen)
