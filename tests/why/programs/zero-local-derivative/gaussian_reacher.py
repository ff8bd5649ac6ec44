# zero-local-derivative | clamp, zero/0/dead/saturat
# evidence: log_std moved: False
# parameters: log_std
import math
import torch
import torch.nn as nn

torch.manual_seed(37)

LOG_STD_MIN, LOG_STD_MAX = -5.0, 0.5


class GaussianPolicy(nn.Module):
    def __init__(self, obs_dim=4, act_dim=2, init_std=2.5):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, act_dim))
        self.log_std = nn.Parameter(torch.full((act_dim,), math.log(init_std)))  #C

    def dist(self, obs):
        log_std = torch.clamp(self.log_std, LOG_STD_MIN, LOG_STD_MAX)  #C
        return self.mu(obs), log_std.exp()

    def log_prob(self, obs, act):
        mean, std = self.dist(obs)
        z = (act - mean) / std
        return (-0.5 * z ** 2 - std.log() - 0.5 * math.log(2 * math.pi)).sum(dim=-1)

    @torch.no_grad()
    def act(self, obs):
        mean, std = self.dist(obs)
        return mean + std * torch.randn_like(mean)


def reward(obs, act):
    goal = obs[:, :2]
    return -((act - goal) ** 2).sum(dim=1)


def update(policy, opt, baseline, n=256):
    obs = torch.rand(n, 4) * 2 - 1
    act = policy.act(obs)
    r = reward(obs, act)
    adv = (r - r.mean()) / (r.std() + 1e-6)
    loss = -(policy.log_prob(obs, act) * adv).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return 0.9 * baseline + 0.1 * r.mean().item()


def main():
    policy = GaussianPolicy()
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    start = policy.log_std.detach().clone()
    smoothed = -5.0
    for it in range(50):
        smoothed = update(policy, opt, smoothed)
        if it % 10 == 0:
            print(f"iteration {it} reward {smoothed:.3f}")
    print("log_std moved:", not torch.equal(start, policy.log_std))


if __name__ == "__main__":
    main()
