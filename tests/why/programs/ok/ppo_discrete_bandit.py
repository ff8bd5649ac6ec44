# ok
# evidence: ratio is one in the first epoch: True, reward improved: True
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class PPOConfig:
    iterations: int = 12
    batch: int = 128
    epochs: int = 4
    clip: float = 0.2
    lr: float = 2e-2
    entropy: float = 0.01


class Agent(nn.Module):
    def __init__(self, obs=5, actions=4):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, actions))
        self.vf = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))

    def log_probs(self, s):
        return self.pi(s).log_softmax(-1)

    def value(self, s):
        return self.vf(s).squeeze(-1)


def collect(agent, n):
    s = torch.randn(n, 5)
    with torch.no_grad():
        logp = agent.log_probs(s)
        a = torch.multinomial(logp.exp(), 1)
        old = logp.gather(1, a).squeeze(1)
        r = s[:, :4].gather(1, a).squeeze(1)
        adv = r - agent.value(s)
    return s, a, old, r, (adv - adv.mean()) / (adv.std() + 1e-8)


def main():
    torch.manual_seed(63)
    cfg = PPOConfig()
    agent = Agent()
    opt = torch.optim.Adam(agent.parameters(), lr=cfg.lr)
    rewards, first_ratio_one = [], True
    for it in range(cfg.iterations):
        s, a, old, r, adv = collect(agent, cfg.batch)
        rewards.append(r.mean().item())
        for epoch in range(cfg.epochs):
            logp = agent.log_probs(s)
            ratio = (logp.gather(1, a).squeeze(1) - old).exp()
            if epoch == 0:
                first_ratio_one = first_ratio_one and bool((ratio - 1).abs().max() < 1e-4)
            clipped = ratio.clamp(1 - cfg.clip, 1 + cfg.clip)
            policy_loss = -torch.min(ratio * adv, clipped * adv).mean()
            value_loss = (agent.value(s) - r).pow(2).mean()
            entropy = -(logp.exp() * logp).sum(-1).mean()
            loss = policy_loss + 0.5 * value_loss - cfg.entropy * entropy
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            opt.step()
        if it % 3 == 2:
            print(f"iter {it + 1} reward {rewards[-1]:+.3f} loss {loss.item():+.3f}")
    print(f"ratio is one in the first epoch: {first_ratio_one}, "
          f"reward improved: {sum(rewards[-3:]) > sum(rewards[:3])}")


if __name__ == "__main__":
    main()
