# broadcast-loss | wrong-value | broadcast/shape
# evidence: (7, 7)
import torch
import torch.nn as nn

torch.manual_seed(0)
policy = nn.Linear(3, 1)
logp = nn.functional.logsigmoid(policy(torch.randn(7, 3)))
returns = torch.randn(7)
weighted = logp * returns  #C
loss = -weighted.mean()
loss.backward()
g = policy.weight.grad  #R
print("evidence:", tuple(weighted.shape))
