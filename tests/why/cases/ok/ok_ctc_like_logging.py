# ok
# evidence: 4
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
log = {"loss": [], "acc": []}
for _ in range(4):
    x, y = torch.randn(8, 3), torch.randint(0, 3, (8,))
    logits = net(x)
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    log["loss"].append(loss.detach().item())
    log["acc"].append((logits.argmax(-1) == y).float().mean().item())
print("evidence:", len(log["acc"]))
