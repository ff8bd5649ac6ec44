# grad-accumulated | zero_grad/accumulat/cleared
# evidence: critic closer to the rewards than a constant: False
# parameters: fc1.weight, fc1.bias, fc2.weight, fc2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Actor(nn.Module):
    def __init__(self, n_obs=4, n_actions=3):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(n_obs, 16), nn.Tanh(), nn.Linear(16, n_actions))

    def forward(self, obs):
        return Categorical(logits=self.policy(obs))


class Critic(nn.Module):
    def __init__(self, n_obs=4):
        super().__init__()
        self.fc1 = nn.Linear(n_obs, 16)
        self.fc2 = nn.Linear(16, 1)

    def forward(self, obs):
        return self.fc2(torch.tanh(self.fc1(obs))).squeeze(-1)


class ContextualBandit:
    def __init__(self, n_obs=4):
        self.slope = torch.tensor([1.0, -1.0, 0.5, 0.0])

    def observe(self, n=32):
        return torch.randn(n, 4)

    def reward(self, obs, action):
        base = obs @ self.slope
        return base + 0.5 * (action == (obs[:, 3] > 0).long()).float()


class Agent:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=5e-3)
        self.critic_opt = torch.optim.SGD(self.critic.parameters(), lr=0.1)

    def learn(self, obs, dist, action, reward):
        value = self.critic(obs)
        advantage = (reward - value).detach()
        actor_loss = -(dist.log_prob(action) * advantage).mean()
        critic_loss = F.mse_loss(value, reward)

        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()

        critic_loss.backward()  #C
        self.critic_opt.step()  #C
        return actor_loss.item(), critic_loss.item()


def main():
    torch.manual_seed(3)
    env, agent = ContextualBandit(), Agent()
    for it in range(60):  #C
        obs = env.observe()
        dist = agent.actor(obs)
        action = dist.sample()
        a, c = agent.learn(obs, dist, action, env.reward(obs, action))
        if it % 15 == 0:
            print(f"it {it} actor {a:.3f} critic {c:.3f}")
    obs = env.observe(256)
    with torch.no_grad():
        reward = env.reward(obs, agent.actor(obs).sample())
        err = F.mse_loss(agent.critic(obs), reward).item()
    print("critic closer to the rewards than a constant:", err < reward.var().item())


if __name__ == "__main__":
    main()
