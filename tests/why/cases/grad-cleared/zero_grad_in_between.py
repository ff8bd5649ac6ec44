# grad-cleared | none | zero_grad
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.Adam(model.parameters())


def log_gradients(tag):
    return {n: p.grad for n, p in model.named_parameters()}  #R


x, y = torch.randn(6, 3), torch.randn(6, 1)
loss = nn.functional.l1_loss(model(x), y)
loss.backward()
opt.step()
opt.zero_grad(set_to_none=True)  #C
logged = log_gradients("step 0")
print("evidence:", all(v is None for v in logged.values()))
