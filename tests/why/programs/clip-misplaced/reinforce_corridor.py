# clip-misplaced | clip, step
# evidence: longest update within lr * max_norm: False
import torch
import torch.nn as nn
from torch.distributions import Bernoulli

LR, MAX_NORM = 0.1, 0.2


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 16)
        self.fc2 = nn.Linear(16, 1)

    def forward(self, obs):
        return Bernoulli(logits=self.fc2(torch.tanh(self.fc1(obs))).squeeze(-1))


class Corridor:
    """Walk to the right; ten steps of time, 16 walkers in parallel."""

    def __init__(self, walkers=16):
        self.walkers = walkers

    def rollout(self, policy, horizon=10):
        pos = torch.zeros(self.walkers)
        log_probs, rewards = [], []
        for t in range(horizon):
            obs = torch.stack([pos / 5, torch.full_like(pos, t / horizon)], dim=1)
            dist = policy(obs)
            right = dist.sample()
            log_probs.append(dist.log_prob(right))
            pos = pos + (2 * right - 1)
            rewards.append(pos)
        return torch.stack(log_probs), torch.stack(rewards)


def returns(rewards, gamma=0.95):
    out, running = [], torch.zeros_like(rewards[0])
    for r in reversed(list(rewards)):
        running = r + gamma * running
        out.append(running)
    return torch.stack(out[::-1])


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


class Reinforce:
    def __init__(self):
        self.policy = Policy()
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=LR)
        self.longest = 0.0

    def update(self, log_probs, rewards):
        ret = returns(rewards)
        baseline = ret.mean(dim=1, keepdim=True)
        loss = -(log_probs * (ret - baseline)).sum(0).mean()
        before = flat(self.policy)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()  #C
        nn.utils.clip_grad_norm_(self.policy.parameters(), MAX_NORM)  #C
        self.longest = max(self.longest, (flat(self.policy) - before).norm().item())
        return loss.item()


def main():
    torch.manual_seed(5)
    agent, env = Reinforce(), Corridor()
    for it in range(20):
        log_probs, rewards = env.rollout(agent.policy)
        loss = agent.update(log_probs, rewards)
        if it % 5 == 0:
            print(f"it {it} loss {loss:.3f} final position {rewards[-1].mean().item():.2f}")
    print("longest update within lr * max_norm:", agent.longest <= LR * MAX_NORM * 1.01)


if __name__ == "__main__":
    main()
