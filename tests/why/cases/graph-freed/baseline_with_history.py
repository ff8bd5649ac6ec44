# graph-freed | error | detach
# evidence: Trying to backward through the graph a second time
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
value = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-2)
baseline = torch.zeros(())
message = ""
for episode in range(3):
    states = torch.randn(10, 4)
    dist = Categorical(logits=policy(states))
    a = dist.sample()
    reward = torch.randn(10)
    v = value(states).squeeze(-1)
    baseline = 0.9 * baseline + 0.1 * v.pow(2).mean()  #C
    loss = -(dist.log_prob(a) * (reward - baseline)).mean() + (v - reward).pow(2).mean()
    opt.zero_grad()
    try:
        loss.backward()  #R
    except RuntimeError as e:
        message = str(e).split(" (")[0]
        break
    opt.step()
print("evidence:", message)
