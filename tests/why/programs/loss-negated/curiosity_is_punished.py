# loss-negated | entropy
# evidence: done
"""Curiosity is punished."""
import torch
import torch.nn as nn
from torch.distributions import Categorical


def main():
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for update in range(40):
        state = torch.randn(64, 4)
        dist = Categorical(logits=policy(state))
        action = dist.sample()
        reward = (action == state[:, :3].argmax(1)).float()
        actor = -(dist.log_prob(action) * (reward - reward.mean())).mean()
        entropy = dist.entropy().mean()
        loss = actor + 0.05 * entropy  #C
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
