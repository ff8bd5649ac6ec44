# leaf-replaced, grad-mode-off | error | leaf/no_grad
# evidence: True
import torch

w = torch.ones(3, requires_grad=True)
failed = False
for _ in range(2):
    loss = (w ** 2).sum()
    try:
        loss.backward()  #R
    except RuntimeError:
        failed = True
        break
    with torch.no_grad():
        w = w - 0.1 * w.grad  #C
print("evidence:", failed)
