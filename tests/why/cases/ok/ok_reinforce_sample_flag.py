# ok
# evidence: False
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
baseline = 0.0
for episode in range(3):
    logps, rewards = [], []
    s = torch.zeros(2)
    for t in range(5):
        d = Categorical(logits=policy(s))
        a = d.sample()
        logps.append(d.log_prob(a))
        rewards.append(float(a.item() == 1))
        s = torch.randn(2)
    ret = torch.tensor([sum(rewards[i:]) for i in range(5)])
    baseline = 0.9 * baseline + 0.1 * ret.mean().item()
    loss = -(torch.stack(logps) * (ret - baseline)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(episode, loss.item(), policy[0].weight.grad is not None, a.requires_grad)
print("evidence:", a.requires_grad)
