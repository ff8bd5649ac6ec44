# grad-mode-off | none | no_grad/set_grad_enabled/grad mode
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
extra = nn.Parameter(torch.ones(3))
net = nn.Linear(3, 1)


def evaluate(x):
    prev = torch.is_grad_enabled()
    torch.set_grad_enabled(False)  #C
    score = net(x).mean().item()
    if score > 1e9:
        torch.set_grad_enabled(prev)
    return score


x = torch.randn(4, 3)
evaluate(x)
scaled = x * extra  #C
torch.set_grad_enabled(True)
loss = net(scaled).pow(2).mean()
loss.backward()
g = extra.grad  #R
print("evidence:", g is None)
