# ok
# evidence: updates: 60, log std moved: True, reward improved: True
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GaussianPolicy(nn.Module):
    def __init__(self, obs=3, act=2):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, act))
        self.log_std = nn.Parameter(torch.zeros(act))

    def log_prob(self, s, a):
        z = (a - self.mu(s)) / self.log_std.exp()
        return (-0.5 * z.pow(2) - self.log_std - 0.5 * math.log(2 * math.pi)).sum(-1)

    @torch.no_grad()
    def sample(self, s):
        mu = self.mu(s)
        return mu + self.log_std.exp() * torch.randn_like(mu)


def reward(s, a):
    return -(a - s[:, :2]).pow(2).sum(1)


def ppo_iteration(policy, opt, epochs=3):
    s = torch.randn(128, 3)
    a = policy.sample(s)
    r = reward(s, a)
    old = policy.log_prob(s, a).detach()
    adv = (r - r.mean()) / (r.std() + 1e-6)
    updates = 0
    loader = DataLoader(TensorDataset(s, a, old, adv), batch_size=64, shuffle=True)
    for _ in range(epochs):
        for sb, ab, ob, advb in loader:
            ratio = torch.exp(policy.log_prob(sb, ab) - ob)
            loss = -torch.minimum(ratio * advb, ratio.clamp(0.8, 1.2) * advb).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            updates += 1
    return r.mean().item(), updates


def main():
    torch.manual_seed(71)
    policy = GaussianPolicy()
    std0 = policy.log_std.detach().clone()
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    rewards, total = [], 0
    for it in range(10):
        r, n = ppo_iteration(policy, opt)
        rewards.append(r)
        total += n
        print(f"iter {it} reward {r:.3f}")
    print(f"updates: {total}, log std moved: {not torch.equal(std0, policy.log_std.detach())}, "
          f"reward improved: {sum(rewards[-3:]) > sum(rewards[:3])}")


if __name__ == "__main__":
    main()
