# nan-derivative | nan | nan/inf/overflow
# evidence: True
import torch

torch.manual_seed(0)
x = torch.randn(30, 1) * 10
y = 3 * x
w = torch.zeros(1, 1, requires_grad=True)
for step in range(60):
    loss = ((x @ w - y) ** 2).mean()  #C
    loss.backward()  #C
    with torch.no_grad():
        w -= 10.0 * w.grad  #C
        last = w.grad.clone()
        w.grad = None
final = ((x @ w - y) ** 2).mean()
final.backward()
g = w.grad  #R
print("evidence:", not bool(torch.isfinite(g).all()))
