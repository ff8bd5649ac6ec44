# saturated, zero-local-derivative | tanh, saturat
# evidence: actor weights identical to their initial values: True
# parameters: fc1.weight, fc1.bias, fc2.weight, fc2.bias, mu.weight, mu.bias
import torch
from torch import nn
import torch.nn.functional as F


def init_layer(layer, std, bias=0.0):
    nn.init.normal_(layer.weight, std=std)
    nn.init.constant_(layer.bias, bias)
    return layer


class Actor(nn.Module):
    def __init__(self, n_obs=4, n_act=2, hidden=32, limit=1.0):
        super().__init__()
        self.fc1 = init_layer(nn.Linear(n_obs, hidden), 0.5)
        self.fc2 = init_layer(nn.Linear(hidden, hidden), 0.25)
        self.mu = init_layer(nn.Linear(hidden, n_act), 0.02, bias=20.0)  #C
        self.limit = limit

    def forward(self, obs):
        h = F.softplus(self.fc2(torch.tanh(self.fc1(obs))))
        return self.limit * torch.tanh(self.mu(h))  #C


class Critic(nn.Module):
    def __init__(self, n_obs=4, n_act=2, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs + n_act, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], dim=1)).squeeze(1)


def reward(obs, act):
    """Arm position (first two) should be moved onto the goal (last two)."""
    return -((obs[:, :2] + act - obs[:, 2:]) ** 2).sum(dim=1)


class Agent:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=3e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-2)

    def update(self, n=64):
        obs = torch.rand(n, 4) - 0.5
        for _ in range(4):
            with torch.no_grad():
                act = (self.actor(obs) + 0.7 * torch.randn(n, 2)).clamp(-1, 1)
            q_loss = F.mse_loss(self.critic(obs, act), reward(obs, act))
            self.critic_opt.zero_grad()
            q_loss.backward()
            self.critic_opt.step()

        pi_loss = -self.critic(obs, self.actor(obs)).mean()
        self.actor_opt.zero_grad()
        pi_loss.backward()
        self.actor_opt.step()
        return q_loss.item(), pi_loss.item()


def main():
    torch.manual_seed(0)
    agent = Agent()
    start = [p.detach().clone() for p in agent.actor.parameters()]
    for step in range(60):
        q_loss, pi_loss = agent.update()
        if step % 15 == 0:
            with torch.no_grad():
                obs = torch.rand(100, 4) - 0.5
                mean = reward(obs, agent.actor(obs)).mean().item()
            print(f"step {step}: critic {q_loss:.3f} actor {pi_loss:.3f} reward {mean:.3f}")
    same = all(torch.equal(a, b) for a, b in zip(start, agent.actor.parameters()))
    print("actor weights identical to their initial values:", same)


if __name__ == "__main__":
    main()
