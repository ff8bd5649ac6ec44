# graph-freed | error | freed/second time, retain_graph
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(3, 6), nn.Tanh())
policy, value = nn.Linear(6, 2), nn.Linear(6, 1)
h = trunk(torch.randn(4, 3))  #C
policy_loss = -torch.log_softmax(policy(h), -1)[:, 0].mean()
value_loss = value(h).pow(2).mean()
policy_loss.backward()
err = None
try:
    value_loss.backward()  #R
except RuntimeError as e:
    err = e
print("evidence:", err is not None and "second time" in str(err))
