# values-constant
# evidence: done
# PPO on a contextual one-step control task (pick the matching arm).
import torch
import torch.nn as nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, n_act, hidden=64):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, n_act))
        self.v = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def dist(self, obs):
        return Categorical(logits=self.pi(obs))

    def value(self, obs):
        return self.v(obs).squeeze(-1)


class MatchEnv:
    def __init__(self, n_act=5, noise=0.1):
        self.n_act, self.noise = n_act, noise
        self.w = torch.randn(8, n_act)

    def sample(self, n):
        return torch.randn(n, 8)

    def reward(self, obs, act):
        best = (obs @ self.w).argmax(-1)
        return (act == best).float() + self.noise * torch.randn(len(act))


class PPO:
    def __init__(self, env, clip=0.2, epochs=4, minibatch=128, ent=0.005):
        self.env, self.clip, self.epochs, self.minibatch, self.ent = env, clip, epochs, minibatch, ent
        self.net = ActorCritic(8, env.n_act)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)

    @torch.no_grad()
    def collect(self, n=512):
        obs = self.env.sample(n)
        act = self.net.dist(obs).sample()
        rew = self.env.reward(obs, act)
        adv = rew - self.net.value(obs)
        return obs, act, rew, (adv - adv.mean()) / (adv.std() + 1e-8)

    def update(self, obs, act, ret, adv):
        for _ in range(self.epochs):
            for idx in torch.randperm(len(obs)).split(self.minibatch):
                dist = self.net.dist(obs[idx])
                logp = dist.log_prob(act[idx])
                logp_old = self.net.dist(obs[idx]).log_prob(act[idx])  #C
                ratio = torch.exp(logp - logp_old)  #C
                surr = torch.min(ratio * adv[idx], ratio.clamp(1 - self.clip, 1 + self.clip) * adv[idx])
                v_loss = (self.net.value(obs[idx]) - ret[idx]).pow(2).mean()
                loss = -surr.mean() + 0.5 * v_loss - self.ent * dist.entropy().mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()


def main():
    torch.manual_seed(0)
    agent = PPO(MatchEnv())
    for it in range(3):
        obs, act, ret, adv = agent.collect()
        agent.update(obs, act, ret, adv)
        if it % 1 == 0:
            print(f"iter {it} mean reward {ret.mean().item():.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
