# accumulation-undivided, grad-accumulated | accum/sum/rollout/episode, divid/averag/times/mean
# evidence: update length over that of the mean loss: 6
import torch
import torch.nn as nn
from torch.distributions import Normal

LR, EPISODES = 0.05, 6


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(2, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, obs):
        return Normal(self.mean(obs), self.log_std.exp())


def episode(policy, length=12):
    """Push a point mass towards the origin."""
    obs = torch.randn(1, 2)
    logp, reward = [], []
    for _ in range(length):
        dist = policy(obs)
        force = dist.sample()
        logp.append(dist.log_prob(force).sum())
        velocity = 0.8 * obs[:, 1:] + 0.1 * force
        obs = torch.cat([obs[:, :1] + 0.2 * velocity, velocity], dim=1)
        reward.append(-obs[:, 0].pow(2).mean())
    gains = torch.stack(reward).flip(0).cumsum(0).flip(0)
    gains = (gains - gains.mean()) / (gains.std() + 1e-6)
    return -(torch.stack(logp) * gains).mean()


class Learner:
    def __init__(self):
        self.policy = GaussianPolicy()
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=LR)

    def update(self):
        """One step on the average of several episodes."""
        self.optimizer.zero_grad()
        total = 0.0
        for _ in range(EPISODES):
            loss = episode(self.policy)  #C
            loss.backward()  #C
            total += loss.item()
        self.optimizer.step()  #C
        return total / EPISODES


def update_ratio(learner, seed=7):
    """Length of an update relative to lr * slope of the mean loss of the same episodes."""
    weight = learner.policy.mean.weight
    torch.manual_seed(seed)
    mean_loss = sum(episode(learner.policy) for _ in range(EPISODES)) / EPISODES
    slope = torch.autograd.grad(mean_loss, weight)[0]
    torch.manual_seed(seed)
    before = weight.detach().clone()
    learner.update()
    return round(((weight.detach() - before).norm() / (LR * slope.norm())).item())


def main():
    torch.manual_seed(41)
    learner = Learner()
    for it in range(12):
        loss = learner.update()
        if it % 3 == 0:
            print(f"update {it} loss {loss:.4f}")
    print("update length over that of the mean loss:", update_ratio(learner))


if __name__ == "__main__":
    main()
