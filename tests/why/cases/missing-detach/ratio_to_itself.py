# missing-detach, zero-factor | zero, unwanted | detach/cancel
# evidence: 0.0
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), lr=3e-4)
states = torch.randn(32, 4)
actions = Categorical(logits=policy(states)).sample()
adv = torch.randn(32)
for k in range(4):
    dist = Categorical(logits=policy(states))
    logp = dist.log_prob(actions)
    old_logp = logp
    ratio = torch.exp(logp - old_logp)  #C
    loss = -(ratio * adv).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("evidence:", policy[0].weight.grad.abs().max().item())  #R
