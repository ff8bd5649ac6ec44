# loss-negated | log_prob
# evidence: done
"""Rewards made rare."""
import torch
import torch.nn as nn
from torch.distributions import Categorical


def main():
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for update in range(60):
        s = torch.randn(64, 4)
        dist = Categorical(logits=policy(s))
        a = dist.sample()
        reward = (a == s[:, :3].argmax(1)).float()
        loss = (dist.log_prob(a) * (reward - reward.mean())).mean()  #C
        opt.zero_grad()
        loss.backward()
        opt.step()
        if update % 20 == 0:
            print(update, reward.mean().item())


main()
print("evidence: done")
