# value-copied-out | none | item, graph/history/number
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
log_sigma = nn.Parameter(torch.tensor(0.5))
x, y = torch.randn(6, 3), torch.randn(6, 1)
sigma = torch.exp(log_sigma).item()  #C
loss = ((net(x) - y) ** 2).mean() / sigma ** 2 + sigma
loss.backward()
g = log_sigma.grad  #R
print("evidence:", g is None, net.weight.grad is not None)
