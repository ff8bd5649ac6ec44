# labels-shuffled | from the last element
# evidence: done
"""From the last to the first."""
import torch
import torch.nn as nn
from torch.distributions import Categorical


def rewards_to_go(rewards, gamma=0.9):
    out, total = [], torch.zeros(16)
    for r in reversed(rewards):  #C
        total = r + gamma * total
        out.append(total)  #C
    return torch.stack(out)


def main():
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 2))
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for update in range(25):
        logps, rewards = [], []
        for t in range(5):
            s = torch.randn(16, 3)
            dist = Categorical(logits=policy(s))
            a = dist.sample()
            logps.append(dist.log_prob(a))
            rewards.append((a == (s[:, 0] > 0).long()).float())
        weights = rewards_to_go(rewards)
        loss = -(torch.stack(logps) * (weights - weights.mean())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
