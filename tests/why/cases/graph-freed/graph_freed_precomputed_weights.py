# graph-freed | error | second time/freed
# evidence: True
import torch

log_w = torch.zeros(3, requires_grad=True)
w = log_w.exp()  #C
failed = False
for x in torch.randn(3, 3):
    try:
        (w * x).sum().backward()  #R
    except RuntimeError:
        failed = True
        break
print("evidence:", failed)
